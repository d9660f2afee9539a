// Messages through generated networks: what stands between the methods of an operation and the ports of its network.
//
// An operation is described by a table (`Operation`): which string stands on which port, what lengths it may have. The
// functions here are the same for all of them. Tokens go in as there is room for them and out as there is room in the
// caller's buffer, so no memory is needed beyond the network's own.
#pragma once

#include "support.hpp"

#include <limits>
#include <stdexcept>

namespace headrace {

/// Why there is no result. After any but `refused` the message is lost, and one under a key needs its key again.
enum class Reason {
    /// The key has a length that is not allowed.
    key_length,
    /// The initial block, nonce, associated data, seed or tag has.
    string_length,
    /// The input has; or more words are asked for than a request may.
    input_length,
    /// A buffer for output is too small.
    room,
    /// No key or seed yet, or a message goes on that was not begun.
    order,
    /// The network stopped: a mistake of the network.
    stuck,
    /// The message is not authentic or not well-formed, or the generator must be seeded anew: there is no output.
    refused,
};

/// There is no result.
class Error : public std::runtime_error {
public:
    explicit Error(Reason reason) : std::runtime_error(text(reason)), reason_(reason) {}

    [[nodiscard]] Reason reason() const noexcept { return reason_; }

private:
    static const char* text(Reason reason) {
        switch (reason) {
        case Reason::key_length: return "the key has a length that is not allowed";
        case Reason::string_length: return "a string beside the input has a length that is not allowed";
        case Reason::input_length: return "the input has a length that is not allowed";
        case Reason::room: return "a buffer for output is too small";
        case Reason::order: return "there is no key yet, or no message was begun";
        case Reason::stuck: return "the network stopped";
        case Reason::refused: return "the message is refused";
        }
        return "";
    }

    Reason reason_;
};

/// How many bytes came out of what gives several strings.
struct Came {
    std::size_t secret_nonce_out = 0;
    std::size_t out = 0;
    std::size_t tag = 0;
};

namespace detail {

using Bytes = std::span<const std::uint8_t>;

/// One legal range of lengths in bytes: from `min` to `max` in multiples of `multiple`.
struct Lengths {
    std::uint64_t min;
    std::uint64_t max;
    std::uint64_t multiple;
};

inline constexpr int NONE = -1;

/// A string at the edge of a network.
struct Port {
    int port = NONE;
    /// Where its chunk sizes go, when its length can vary.
    int sizes = NONE;
    /// A length must be in one of these.
    std::span<const Lengths> lengths{};

    [[nodiscard]] constexpr bool exists() const { return port != NONE; }

    [[nodiscard]] constexpr bool allows(std::uint64_t length) const {
        return std::ranges::any_of(lengths, [length](const Lengths& range) {
            return range.min <= length && length <= range.max && length % range.multiple == 0;
        });
    }
};

/// The strings of a message, in the order in which they are given.
enum String : std::size_t {
    KEY,
    NONCE,
    IV,
    SECRET_NONCE,
    AD,
    SEED,
    ENTROPY,
    INPUT,
    TAG_IN,
    SECRET_NONCE_OUT,
    OUTPUT,
    TAG,
    N_STRINGS,
};

/// An operation: what the ports of its network are for.
struct Operation {
    std::array<Port, N_STRINGS> strings;
    int rekey;
    int decrypt;
    int reseed;
    int blocks;
    int verified;
    /// That a generator makes at once.
    std::uint64_t most_words;
    /// Of a core; else 0.
    std::size_t block_bytes;
    /// What `decrypt` is told.
    bool decrypts;
    /// The input must be one chunk.
    bool single_chunk;
    /// Output is only for messages that are verified.
    bool withholds;

    [[nodiscard]] constexpr bool streams() const { return strings[OUTPUT].exists() && strings[OUTPUT].sizes != NONE; }

    [[nodiscard]] constexpr bool allows(std::size_t string, std::uint64_t length) const {
        return !strings[string].exists() || strings[string].allows(length);
    }
};

/// The strings that are given.
using Given = std::array<std::optional<Bytes>, TAG_IN + 1>;

/// Room for a string that comes out, and how much of it is used.
struct Room {
    std::span<std::uint8_t> bytes{};
    std::size_t used = 0;

    [[nodiscard]] std::span<std::uint8_t> left() const { return bytes.subspan(used); }
    [[nodiscard]] bool is_full() const { return used == bytes.size(); }
};

/// Room for what comes out at the end.
struct Rooms {
    Room secret_nonce_out{};
    Room out{};
    Room tag{};
};

/// Messages through a network. What an operation has not takes no time: its table is known to compilers.
template <class Network, const Operation& OPERATION>
class Flow {
public:

    /// Takes a key, which is used from the next message on.
    void key(Bytes key) {
        constexpr const Operation& operation = OPERATION;
        state_ = State::no_key;
        sure(operation.allows(KEY, key.size()), Reason::key_length);
        network_.restart();
        put_flag(operation.rekey, true);
        const bool core = operation.block_bytes != 0;
        if (core) {
            // The key of a core comes with a burst: an empty one.
            put_flag(operation.decrypt, operation.decrypts);
        }
        put_string<KEY>(key);
        if (core) {
            put_word(operation.blocks, 0);
        }
        state_ = core ? State::keyed : State::new_key;
    }

    /// All that comes before the input; `input_size` is the token of an input that must be one chunk.
    void begin(const Given& strings, std::uint32_t input_size = 0) {
        constexpr const Operation& operation = OPERATION;
        const bool keyed = operation.rekey != NONE;
        const bool seeds = keyed && operation.strings[SEED].exists() && strings[SEED].has_value();
        const State before = state_;
        sure(!keyed || seeds || before == State::new_key || before == State::keyed, Reason::order);
        before_input([&](auto role) {
            sure(!is_sent<role>(strings) || operation.allows(role, given(strings, role).size()), Reason::string_length);
        });
        state_ = State::no_key;
        if (!keyed || seeds) {
            network_.restart();
        }
        if (keyed && before != State::new_key) {
            put_flag(operation.rekey, seeds);
        }
        put_flag(operation.decrypt, operation.decrypts);
        put_flag(operation.reseed, strings[ENTROPY].has_value());
        if (operation.single_chunk) {
            put_word(operation.strings[INPUT].sizes, input_size);
        }
        before_input([&](auto role) {
            if (is_sent<role>(strings)) {
                put_string<role>(given(strings, role));
            }
        });
        input_bytes_ = 0;
        state_ = State::open;
    }

    /// Takes a piece of input and says how much came out.
    std::size_t update(Bytes input, std::span<std::uint8_t> out) {
        sure(state_ == State::open, Reason::order);
        Room room{out};
        try {
            while (!input.empty()) {
                const Bytes piece = input.first(std::min(input.size(), CHUNK_MOST));
                chunk(piece, 0, room);
                input_bytes_ += piece.size();
                input = input.subspan(piece.size());
            }
        } catch (const Error& error) {
            ended(error.reason());
            throw;
        }
        return room.used;
    }

    /// Ends a message that was begun.
    void end(const Given& strings, Rooms& rooms) {
        sure(state_ == State::open, Reason::order);
        attempt([&] {
            sure(OPERATION.allows(INPUT, input_bytes_), Reason::input_length);
            sure(tag_fits(strings), Reason::string_length);
            put_word(OPERATION.strings[INPUT].sizes, LAST_CHUNK);
            finish(strings, rooms, false);
        });
    }

    /// A whole message.
    void whole(const Given& strings, Rooms& rooms) {
        constexpr const Operation& operation = OPERATION;
        Bytes input = given(strings, INPUT);
        const bool one_chunk = !operation.single_chunk || input.size() < LAST_CHUNK;
        sure(operation.allows(INPUT, input.size()) && one_chunk, Reason::input_length);
        sure(tag_fits(strings), Reason::string_length);
        begin(strings, LAST_CHUNK | static_cast<std::uint32_t>(input.size()));
        try {
            attempt([&] {
                if (operation.single_chunk) {
                    pump(input, rooms.out);
                } else {
                    for (; input.size() > CHUNK_MOST; input = input.subspan(CHUNK_MOST)) {
                        chunk(input.first(CHUNK_MOST), 0, rooms.out);
                    }
                    chunk(input, LAST_CHUNK, rooms.out);
                }
                finish(strings, rooms, true);
            });
        } catch (const Error&) {
            if (operation.withholds) {
                for (Room* room : {&rooms.secret_nonce_out, &rooms.out, &rooms.tag}) {
                    overwrite_bytes(room->bytes.first(room->used));
                    room->used = 0;
                }
            }
            throw;
        }
    }

    /// Blocks of a core.
    void blocks(Bytes input, std::span<std::uint8_t> out) {
        constexpr const Operation& operation = OPERATION;
        sure(state_ == State::keyed, Reason::order);
        const std::size_t n_blocks = input.size() / operation.block_bytes;
        const bool is_whole = input.size() % operation.block_bytes == 0;
        sure(is_whole && n_blocks <= std::numeric_limits<std::uint32_t>::max(), Reason::input_length);
        sure(out.size() == input.size(), Reason::room);
        attempt([&] {
            put_flag(operation.rekey, false);
            put_flag(operation.decrypt, operation.decrypts);
            put_word(operation.blocks, static_cast<std::uint32_t>(n_blocks));
            Room room{out};
            straight(input, room, true);
            out = room.left();
            while (!out.empty()) {
                const std::size_t n_in = network_.put(operation.strings[INPUT].port, input);
                input = input.subspan(n_in);
                sure(network_.run(), Reason::stuck);
                const std::size_t n_out = network_.get(operation.strings[OUTPUT].port, out);
                out = out.subspan(n_out);
                sure(n_in + n_out > 0, Reason::stuck);
            }
        });
    }

    /// Words of a generator: how many bytes they have.
    std::size_t words(std::uint32_t n_words, const Given& strings, std::span<std::uint8_t> out) {
        constexpr const Operation& operation = OPERATION;
        sure(n_words <= operation.most_words, Reason::input_length);
        begin(strings);
        Room room{out};
        attempt([&] {
            put_word(operation.blocks, n_words);
            const int port = operation.strings[OUTPUT].port;
            for (;;) {
                sure(network_.run(), Reason::stuck);
                if (room.is_full()) {
                    nothing_more(port);
                    break;
                }
                const std::size_t n = network_.get(port, room.left());
                room.used += n;
                if (n == 0) {
                    break;
                }
            }
            verified();
        });
        return room.used;
    }

private:
    enum class State {
        no_key,
        /// A key is sent as soon as it is given; `Rekey` says of the next message that it is there already.
        new_key,
        keyed,
        open,
    };

    /// The top bit of a chunk size marks the last chunk of its string.
    static constexpr std::uint32_t LAST_CHUNK = 1u << 31;
    static constexpr std::size_t CHUNK_MOST = std::size_t{1} << 30;
    /// Bytes of input from which on it is worth asking whether they can be taken where they lie.
    static constexpr std::size_t LONG = 512;

    static void sure(bool condition, Reason reason) {
        if (!condition) {
            throw Error(reason);
        }
    }

    /// Does something for each string that comes before the input, by a constant.
    template <class Body>
    static void before_input(Body body) {
        const auto all = [&]<std::size_t... AT>(std::index_sequence<AT...>) {
            (body(std::integral_constant<std::size_t, NONCE + AT>{}), ...);
        };
        all(std::make_index_sequence<ENTROPY - NONCE + 1>{});
    }

    static Bytes given(const Given& strings, std::size_t role) { return strings[role].value_or(Bytes{}); }

    /// A message that is not authentic was processed to its end like any other, so its key is still good.
    void ended(std::optional<Reason> failed) {
        const bool is_whole = !failed.has_value() || *failed == Reason::refused;
        state_ = is_whole && OPERATION.rekey != NONE ? State::keyed : State::no_key;
    }

    template <class Body>
    void attempt(Body body) {
        try {
            body();
        } catch (const Error& error) {
            ended(error.reason());
            throw;
        }
        ended(std::nullopt);
    }

    // --- tokens in ---

    void put(int port, Bytes bytes) {
        while (!bytes.empty()) {
            std::size_t n = network_.put(port, bytes);
            if (n == 0) {
                sure(network_.run(), Reason::stuck);
                n = network_.put(port, bytes);
                sure(n > 0, Reason::stuck);
            }
            bytes = bytes.subspan(n);
        }
    }

    void put_word(int port, std::uint32_t word) {
        if (port != NONE && !network_.put_word(port, word)) {
            sure(network_.run() && network_.put_word(port, word), Reason::stuck);
        }
    }

    void put_flag(int port, bool flag) { put_word(port, flag ? 1 : 0); }

    /// A string that is known whole.
    template <std::size_t ROLE>
    void put_string(Bytes bytes) {
        constexpr const Port& string = OPERATION.strings[ROLE];
        if (!string.exists()) {
            return;
        }
        if (string.sizes == NONE) {
            put(string.port, bytes);
            return;
        }
        for (; bytes.size() > CHUNK_MOST; bytes = bytes.subspan(CHUNK_MOST)) {
            put_word(string.sizes, static_cast<std::uint32_t>(CHUNK_MOST));
            put(string.port, bytes.first(CHUNK_MOST));
        }
        put_word(string.sizes, LAST_CHUNK | static_cast<std::uint32_t>(bytes.size()));
        put(string.port, bytes);
    }

    /// A generator that goes on is sent neither seed nor entropy.
    template <std::size_t ROLE>
    static bool is_sent(const Given& strings) {
        constexpr bool optional = OPERATION.reseed != NONE && (ROLE == SEED || ROLE == ENTROPY);
        return OPERATION.strings[ROLE].exists() && (!optional || strings[ROLE].has_value());
    }

    // --- input and output together ---

    /// Moves input in, and output that streams out, until all is taken and nothing moves any more.
    void pump(Bytes input, Room& out) {
        constexpr bool streams = OPERATION.streams();
        constexpr const Port& from = OPERATION.strings[INPUT];
        constexpr const Port& to = OPERATION.strings[OUTPUT];
        std::size_t moved = 0;
        straight(input, out, streams);
        do {
            moved = 0;
            if (from.exists() && !input.empty()) {
                const std::size_t n = network_.put(from.port, input);
                input = input.subspan(n);
                moved += n;
            }
            sure(network_.run(), Reason::stuck);
            if (streams) {
                for (std::size_t n = 1; n != 0 && !out.is_full(); out.used += n, moved += n) {
                    n = network_.get(to.port, out.left());
                }
                while (network_.get_word(to.sizes).has_value()) {
                    ++moved;
                }
            }
        } while (moved != 0 && (!input.empty() || (streams && network_.wants_room())));
        if (streams && out.is_full()) {
            nothing_more(to.port);
        }
        sure(input.empty(), Reason::stuck);
    }

    /// Moves input through the network without copies, as far as that goes where output does not lie over it.
    void straight(Bytes& input, Room& out, bool streams) {
        constexpr const Port& from = OPERATION.strings[INPUT];
        const int to = streams ? OPERATION.strings[OUTPUT].port : NONE;
        const auto address = [](const std::uint8_t* at) { return reinterpret_cast<std::uintptr_t>(at); };
        const bool is_apart = !streams || address(input.data() + input.size()) <= address(out.bytes.data()) ||
                              address(out.bytes.data() + out.bytes.size()) <= address(input.data());
        if (!from.exists() || input.size() < LONG || !is_apart) {
            return;
        }
        for (std::uint64_t moved = 1; moved != 0;) {
            moved = network_.stream(from.port, input, to, streams ? out.left() : std::span<std::uint8_t>{});
            input = input.subspan(static_cast<std::uint32_t>(moved));
            out.used += static_cast<std::size_t>(moved >> 32);
        }
    }

    void nothing_more(int port) {
        std::array<std::uint8_t, 1> more{};
        const std::size_t n = network_.get(port, more);
        overwrite(more);
        sure(n == 0, Reason::room);
    }

    /// A further chunk of input.
    void chunk(Bytes input, std::uint32_t last, Room& out) {
        put_word(OPERATION.strings[INPUT].sizes, static_cast<std::uint32_t>(input.size()) | last);
        pump(input, out);
    }

    /// A string that came out whole.
    template <std::size_t ROLE>
    void take(Room& to) {
        constexpr const Port& string = OPERATION.strings[ROLE];
        if (!string.exists()) {
            return;
        }
        to.used = network_.get(string.port, to.bytes);
        if (to.is_full()) {
            nothing_more(string.port);
        }
        if (string.sizes != NONE) {
            while (network_.get_word(string.sizes).has_value()) {
            }
        }
        sure(string.allows(to.used), Reason::stuck);
    }

    void verified() {
        if (OPERATION.verified != NONE) {
            const std::optional<std::uint32_t> verified = network_.get_word(OPERATION.verified);
            sure(verified.has_value(), Reason::stuck);
            sure(*verified != 0, Reason::refused);
        }
    }

    /// All that follows the last input.
    void finish(const Given& strings, Rooms& rooms, bool is_pumped) {
        put_string<TAG_IN>(given(strings, TAG_IN));
        if (OPERATION.strings[TAG_IN].exists() || !is_pumped) {
            pump({}, rooms.out);
        }
        take<SECRET_NONCE_OUT>(rooms.secret_nonce_out);
        if (!OPERATION.streams()) {
            take<OUTPUT>(rooms.out);
        }
        take<TAG>(rooms.tag);
        verified();
    }

    bool tag_fits(const Given& strings) const { return OPERATION.allows(TAG_IN, given(strings, TAG_IN).size()); }

    Network network_{};
    State state_ = State::no_key;
    std::uint64_t input_bytes_ = 0;
};

}  // namespace detail
}  // namespace headrace
