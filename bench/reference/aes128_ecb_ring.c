/* The hand-written ring: the four steps of FIPS 197 as four functions that pass bytes through ring buffers, with up to
 * 16 blocks on their way round. The round of a block travels beside its bytes, as in the dataflow network.
 *
 *   input --> add_round_key --> sub_bytes --> shift_rows --> mix_columns --+
 *                ^   |                                                     |
 *                |   +--> output                                           |
 *                +---------------------------------------------------------+
 *
 * Every step works on as many tokens as its input holds and its output has room for. Blocks are admitted by count: as
 * many as the ring can carry.
 */
#include "aes_tables.h"
#include "reference.h"

enum { FIFO_BYTES = 512, FIFO_MASK = FIFO_BYTES - 1, BLOCKS_IN_FLIGHT = 16 };

/* Indices run freely; their difference is the number of tokens. */
struct fifo {
    uint8_t data[FIFO_BYTES];
    unsigned read, write;
};

static struct fifo to_sub, to_shift, to_mix, to_key;
static struct fifo shift_round, mix_round, key_round, sub_round;
static uint8_t round_keys[AES_BLOCK * (AES_ROUNDS + 1)];

static inline unsigned tokens(const struct fifo *f)
{
    return f->write - f->read;
}

static inline unsigned room(const struct fifo *f)
{
    return FIFO_BYTES - (f->write - f->read);
}

static inline uint8_t peek(const struct fifo *f, unsigned at)
{
    return f->data[(f->read + at) & FIFO_MASK];
}

static inline void poke(struct fifo *f, unsigned at, uint8_t value)
{
    f->data[(f->write + at) & FIFO_MASK] = value;
}

static inline unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static inline void forward_round(struct fifo *from, struct fifo *to)
{
    poke(to, 0, peek(from, 0));
    from->read++;
    to->write++;
}

/* Section 5.1.4. New blocks enter with round 0; blocks that have seen the last key leave. Returns the number that left. */
static unsigned add_round_key(const uint8_t **in, unsigned n_new, uint8_t **out)
{
    unsigned left = 0;
    while (n_new > 0 && room(&to_sub) >= AES_BLOCK) {
        for (unsigned i = 0; i < AES_BLOCK; i++)
            poke(&to_sub, i, (*in)[i] ^ round_keys[i]);
        to_sub.write += AES_BLOCK;
        poke(&sub_round, 0, 1);
        sub_round.write++;
        *in += AES_BLOCK;
        n_new--;
    }
    while (tokens(&key_round) > 0 && tokens(&to_key) >= AES_BLOCK) {
        unsigned round = peek(&key_round, 0);
        const uint8_t *key = round_keys + AES_BLOCK * round;
        if (round == AES_ROUNDS) {
            for (unsigned i = 0; i < AES_BLOCK; i++)
                (*out)[i] = peek(&to_key, i) ^ key[i];
            *out += AES_BLOCK;
            left++;
        } else {
            if (room(&to_sub) < AES_BLOCK)
                break;
            for (unsigned i = 0; i < AES_BLOCK; i++)
                poke(&to_sub, i, peek(&to_key, i) ^ key[i]);
            to_sub.write += AES_BLOCK;
            poke(&sub_round, 0, (uint8_t)(round + 1));
            sub_round.write++;
        }
        key_round.read++;
        to_key.read += AES_BLOCK;
    }
    return left;
}

/* Section 5.1.1, byte by byte; the rounds pass to ShiftRows by a FIFO of their own. */
static void sub_bytes(void)
{
    unsigned n = least(tokens(&to_sub), room(&to_shift));
    for (unsigned i = 0; i < n; i++)
        poke(&to_shift, i, aes_sbox[peek(&to_sub, i)]);
    to_sub.read += n;
    to_shift.write += n;
    while (tokens(&sub_round) > 0)
        forward_round(&sub_round, &shift_round);
}

/* Section 5.1.2. */
static void shift_rows(void)
{
    static const uint8_t from[AES_BLOCK] = {0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11};
    while (tokens(&shift_round) > 0 && tokens(&to_shift) >= AES_BLOCK && room(&to_mix) >= AES_BLOCK) {
        for (unsigned i = 0; i < AES_BLOCK; i++)
            poke(&to_mix, i, peek(&to_shift, from[i]));
        to_shift.read += AES_BLOCK;
        to_mix.write += AES_BLOCK;
        forward_round(&shift_round, &mix_round);
    }
}

/* Section 5.1.3, column by column; the last round passes through. */
static void mix_columns(void)
{
    while (tokens(&mix_round) > 0 && tokens(&to_mix) >= AES_BLOCK && room(&to_key) >= AES_BLOCK) {
        if (peek(&mix_round, 0) == AES_ROUNDS) {
            for (unsigned i = 0; i < AES_BLOCK; i++)
                poke(&to_key, i, peek(&to_mix, i));
        } else {
            for (unsigned c = 0; c < AES_BLOCK; c += 4) {
                uint8_t a = peek(&to_mix, c), b = peek(&to_mix, c + 1);
                uint8_t d = peek(&to_mix, c + 2), e = peek(&to_mix, c + 3);
                uint8_t all = a ^ b ^ d ^ e;
                poke(&to_key, c, a ^ all ^ aes_xtime(a ^ b));
                poke(&to_key, c + 1, b ^ all ^ aes_xtime(b ^ d));
                poke(&to_key, c + 2, d ^ all ^ aes_xtime(d ^ e));
                poke(&to_key, c + 3, e ^ all ^ aes_xtime(e ^ a));
            }
        }
        to_mix.read += AES_BLOCK;
        to_key.write += AES_BLOCK;
        forward_round(&mix_round, &key_round);
    }
}

int reference_setup(const uint8_t key[16], const uint8_t iv[16])
{
    (void)iv;
    aes_make_sbox();
    aes_expand_key(key, round_keys);
    return 0;
}

int reference_run(const uint8_t *in, uint8_t *out, size_t n_bytes)
{
    size_t waiting = n_bytes / AES_BLOCK, unfinished = waiting;
    unsigned in_flight = 0;
    while (unfinished > 0) {
        unsigned n_new = BLOCKS_IN_FLIGHT - in_flight;
        if (n_new > waiting)
            n_new = (unsigned)waiting;
        const uint8_t *before = in;
        unsigned left = add_round_key(&in, n_new, &out);
        unsigned admitted = (unsigned)((size_t)(in - before) / AES_BLOCK);
        waiting -= admitted;
        in_flight += admitted;
        in_flight -= left;
        unfinished -= left;
        sub_bytes();
        shift_rows();
        mix_columns();
    }
    return 0;
}

const char *reference_version(void)
{
    return "hand-written ring of the four FIPS 197 steps over byte FIFOs, 16 blocks in flight";
}
