/*
 * A circuit as a network: a model that Verilator has made, behind `struct headrace_network`. Its streams take and give tokens of
 * queues, and its clock ticks until control rests.
 */
#ifndef HEADRACE_CIRCUIT_HPP
#define HEADRACE_CIRCUIT_HPP

#include "headrace.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>
#include <verilated.h>

namespace headrace {

/* What a stream carries: tokens of so many bits, which take so many bytes in memory, and how many of them move at once. */
struct stream {
    uint32_t width;
    uint32_t storage;
    uint32_t beat;
    bool is_signed;
};

/* The signals of a stream. */
struct wires {
    void *data;
    size_t bytes;
    CData *valid;
    CData *ready;
};

template <class Data> wires wires_of(Data &data, CData &valid, CData &ready) {
    return {&data, sizeof data, &valid, &ready};
}

/* Memory that is wiped before it is given back: there may have been a key in it. */
template <class T> struct wiping {
    using value_type = T;
    wiping() = default;
    template <class U> wiping(const wiping<U> &) {}
    T *allocate(size_t n) { return std::allocator<T>().allocate(n); }
    void deallocate(T *memory, size_t n) {
        hr_wipe(memory, n * sizeof(T));
        std::allocator<T>().deallocate(memory, n);
    }
    friend bool operator==(const wiping &, const wiping &) { return true; }
    friend bool operator!=(const wiping &, const wiping &) { return false; }
};

/* Tokens that wait, as memory has them. */
class queue {
    std::vector<uint8_t, wiping<uint8_t>> bytes;
    size_t first = 0;

public:
    size_t size() const { return bytes.size() - first; }
    const uint8_t *front() const { return bytes.data() + first; }
    void drop(size_t n) {
        first += n;
        if (first == bytes.size()) {
            bytes.clear();
            first = 0;
        } else if (first > (1u << 20)) {
            bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(first));
            first = 0;
        }
    }
    uint8_t *more(size_t n) {
        bytes.resize(bytes.size() + n);
        return bytes.data() + bytes.size() - n;
    }
};

/* Puts tokens into signals, the first in the lowest bits. */
inline void pack(const stream &of, const uint8_t *tokens, const wires &to) {
    uint8_t *data = static_cast<uint8_t *>(to.data);
    std::memset(data, 0, to.bytes);
    if (of.width % 8 == 0) {
        for (uint32_t i = 0; i < of.beat; i++) {
            std::memcpy(data + size_t{i} * (of.width / 8), tokens + size_t{i} * of.storage, of.width / 8);
        }
        return;
    }
    for (uint32_t i = 0; i < of.beat; i++) {
        for (uint32_t bit = 0; bit < of.width; bit++) {
            const size_t at = size_t{i} * of.width + bit;
            const unsigned set = tokens[size_t{i} * of.storage + bit / 8] >> bit % 8 & 1u;
            data[at / 8] = static_cast<uint8_t>(data[at / 8] | set << at % 8);
        }
    }
}

/* Takes tokens out of signals. */
inline void unpack(const stream &of, const wires &from, uint8_t *tokens) {
    const uint8_t *data = static_cast<const uint8_t *>(from.data);
    std::memset(tokens, 0, size_t{of.beat} * of.storage);
    for (uint32_t i = 0; i < of.beat; i++) {
        uint8_t *token = tokens + size_t{i} * of.storage;
        if (of.width % 8 == 0) {
            std::memcpy(token, data + size_t{i} * (of.width / 8), of.width / 8);
        } else {
            for (uint32_t bit = 0; bit < of.width; bit++) {
                const size_t at = size_t{i} * of.width + bit;
                token[bit / 8] = static_cast<uint8_t>(token[bit / 8] | (data[at / 8] >> at % 8 & 1u) << bit % 8);
            }
        }
        if (of.is_signed && (token[(of.width - 1) / 8] >> (of.width - 1) % 8 & 1u) != 0) {
            for (uint32_t bit = of.width; bit < 8 * of.storage; bit++) {
                token[bit / 8] = static_cast<uint8_t>(token[bit / 8] | 1u << bit % 8);
            }
        }
    }
}

/* A circuit that runs. `Of` says which: its type `model`, its streams, and what they and the clock are connected to. */
template <class Of> class circuit {
    /* Tokens that wait at a port at most: beyond that an input takes none, and an output stalls the circuit. */
    static constexpr size_t ROOM = size_t{1} << 16;

    headrace_control control = {};
    std::unique_ptr<VerilatedContext> world;
    std::unique_ptr<typename Of::model> model;
    std::vector<wires> in, out;
    std::vector<queue> coming, gone;
    uint64_t n_cycles = 0;

    circuit()
        : world(new VerilatedContext), model(new typename Of::model(world.get(), "circuit")), in(Of::N_INPUTS), out(Of::N_OUTPUTS),
          coming(Of::N_INPUTS), gone(Of::N_OUTPUTS) {
        Of::connect(*model, in.data(), out.data());
        for (const wires &port : in) {
            *port.valid = 0;
        }
        for (const wires &port : out) {
            *port.ready = 0;
        }
        Of::reset(*model, 1);
        edge(0);
        Of::reset(*model, 0);
        edge(0);
        edge(1);
        edge(0);
        Of::reset(*model, 1);
        edge(0);
    }

    ~circuit() { model->final(); }

    void edge(CData clock) {
        Of::clock(*model, clock);
        model->eval();
    }

    /* A clock cycle, if anything happens in it. Whether it does: if not, nothing ever will, as long as nobody gives or takes
       tokens. */
    bool cycle() {
        for (uint32_t i = 0; i < Of::N_INPUTS; i++) {
            const stream &of = Of::INPUTS[i];
            *in[i].valid = coming[i].size() >= size_t{of.beat} * of.storage;
            if (*in[i].valid != 0) {
                pack(of, coming[i].front(), in[i]);
            }
        }
        for (uint32_t i = 0; i < Of::N_OUTPUTS; i++) {
            *out[i].ready = gone[i].size() < ROOM * Of::OUTPUTS[i].storage;
        }
        edge(0);
        bool moved = false;
        for (uint32_t i = 0; i < Of::N_INPUTS; i++) {
            if (*in[i].valid != 0 && *in[i].ready != 0) {
                coming[i].drop(size_t{Of::INPUTS[i].beat} * Of::INPUTS[i].storage);
                moved = true;
            }
        }
        for (uint32_t i = 0; i < Of::N_OUTPUTS; i++) {
            if (*out[i].valid != 0 && *out[i].ready != 0) {
                const stream &of = Of::OUTPUTS[i];
                unpack(of, out[i], gone[i].more(size_t{of.beat} * of.storage));
                moved = true;
            }
        }
        if (!moved && !Of::works(*model)) {
            return false;
        }
        edge(1);
        n_cycles++;
        return true;
    }

    static circuit &of(void *context) { return *static_cast<circuit *>(context); }
    static const circuit &of(const void *context) { return *static_cast<const circuit *>(context); }

    static void init(void *context, const headrace_host *host) {
        circuit *made = new (context) circuit;
        made->control.host = host;
    }

    static size_t write(void *context, uint32_t port, const void *tokens, size_t n_tokens) {
        queue &to = of(context).coming[port];
        const size_t storage = Of::INPUTS[port].storage, there = to.size() / storage;
        const size_t room = there < ROOM ? ROOM - there : 0, n = n_tokens < room ? n_tokens : room;
        if (n != 0) {
            std::memcpy(to.more(n * storage), tokens, n * storage);
        }
        return n;
    }

    static size_t read(void *context, uint32_t port, void *tokens, size_t n_tokens) {
        queue &from = of(context).gone[port];
        const size_t storage = Of::OUTPUTS[port].storage, there = from.size() / storage;
        const size_t n = n_tokens < there ? n_tokens : there;
        if (n != 0) {
            std::memcpy(tokens, from.front(), n * storage);
            from.drop(n * storage);
        }
        return n;
    }

    /* What software counts as firings are clock cycles here. */
    static uint32_t run(void *context, uint64_t most) {
        for (uint64_t i = 0; i < most; i++) {
            if (!of(context).cycle()) {
                return HEADRACE_IDLE;
            }
        }
        return HEADRACE_LIMIT;
    }

    static void clear(void *context) { of(context).~circuit(); }
    static void inspect(const void *, uint32_t *, uint32_t *, uint32_t *) {}
    static void firings(const void *, uint64_t *) {}
    static const headrace_control *controlled(const void *context) { return &of(context).control; }

    static void copy(void *, const void *) {
        std::fputs("error: a circuit cannot be copied\n", stderr);
        std::abort();
    }

public:
    static uint64_t cycles(const void *context) { return of(context).n_cycles; }

    static constexpr headrace_network network(const char *name) {
        return {name,    sizeof(circuit), alignof(circuit), init,    write,   read,    run,
                clear,   inspect,         firings,          controlled, nullptr, nullptr, nullptr,
                copy};
    }
};

} // namespace headrace

#endif
