/* Hashes of the model-based test; see model.h. */
#include "model.h"

#define DIGESTS_MOST 64

enum { INIT, UPDATE, FINAL, FINAL_XOF, SET_SIZE, COPY, SWAP, GET, AT_ONCE, LISTS, RESET };
static const char *const calls[] = {"init", "update", "final",   "final-xof", "xoflen", "copy",
                                    "swap", "get",    "at-once", "lists",     "reset"};

static EVP_MD *list[2][DIGESTS_MOST];
static size_t n_listed;
static bool is_collected;

static void collect_one(EVP_MD *digest, void *none) {
    EVP_MD *const other = EVP_MD_fetch(theirs, EVP_MD_get0_name(digest), NULL);
    (void)none;
    if (other != NULL && n_listed < DIGESTS_MOST) {
        EVP_MD_up_ref(digest);
        list[0][n_listed] = digest;
        list[1][n_listed++] = other;
    }
    ERR_clear_error();
}

static size_t collect(void) {
    if (!is_collected) {
        EVP_MD_do_all_provided(ours, collect_one, NULL);
        is_collected = true;
    }
    return n_listed;
}

static const char *algorithm(size_t number) {
    return EVP_MD_get0_name(list[0][number]);
}

static void some_call(struct sequence *s) {
    static const unsigned kinds[] = {INIT,     INIT, UPDATE, UPDATE, UPDATE, FINAL,   FINAL, FINAL_XOF,
                                     SET_SIZE, COPY, COPY,   SWAP,   GET,    AT_ONCE, LISTS, RESET};
    const unsigned kind = kinds[below(sizeof kinds / sizeof kinds[0])];
    const bool is_length = kind == FINAL_XOF || kind == SET_SIZE;
    const unsigned length = kind == UPDATE || kind == AT_ONCE    ? some_length()
                            : is_length && below(2) == 0 ? below(600)
                                                         : below(64);
    add_call(s, kind, length, below(2), 0);
}

static void make(struct sequence *s) {
    add_call(s, INIT, 0, 1, 0);
    for (unsigned i = 2 + below(CALLS_MOST - 4); i-- > 0;) {
        some_call(s);
    }
}

static void act(EVP_MD_CTX *context, EVP_MD_CTX *wanted, size_t side, const struct sequence *s, const struct call *call,
                struct outcome *o) {
    static uint8_t in[TEXT_MOST];
    const size_t n = n_of(call);
    EVP_MD *const digest = list[side][s->algorithm];
    size_t size = call->a;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_size_t(OSSL_DIGEST_PARAM_XOFLEN, &size), OSSL_PARAM_construct_end()};
    unsigned made = 0;
    bool good = false;
    begin_outcome(o);
    bytes_of(call->a, in, sizeof in);
    switch (call->kind) {
    case INIT:
        end_outcome(o, EVP_DigestInit_ex2(context, call->b != 0 ? digest : NULL, call->a % 8 == 7 ? params : NULL) > 0);
        break;
    case UPDATE:
        end_outcome(o, EVP_DigestUpdate(context, in, n) > 0);
        break;
    case FINAL:
        good = EVP_DigestFinal_ex(context, o->bytes, &made) > 0;
        o->n = made < ROOM ? made : 0;
        end_outcome(o, good);
        break;
    case FINAL_XOF:
        good = EVP_DigestFinalXOF(context, o->bytes, call->a) > 0;
        o->n = call->a;
        end_outcome(o, good);
        break;
    case SET_SIZE:
        end_outcome(o, EVP_MD_CTX_set_params(context, params) > 0);
        break;
    case GET:
        put_number(o, (uint64_t)EVP_MD_CTX_get_size(context));
        put_number(o, (uint64_t)EVP_MD_CTX_get_block_size(context));
        put_number(o, EVP_MD_get_flags(digest));
        end_outcome(o, true);
        break;
    case AT_ONCE: {
        size_t n_made = ROOM;
        good = EVP_Q_digest(side == 0 ? ours : theirs, EVP_MD_get0_name(list[0][s->algorithm]), NULL, in, n, o->bytes, &n_made) > 0;
        o->n = n_made < ROOM ? n_made : 0;
        end_outcome(o, good);
        break;
    }
    case LISTS: {
        const OSSL_PARAM *const own[] = {EVP_MD_CTX_gettable_params(context), EVP_MD_CTX_settable_params(context),
                                         EVP_MD_gettable_params(digest)};
        const OSSL_PARAM *const other[] = {EVP_MD_CTX_gettable_params(wanted), EVP_MD_CTX_settable_params(wanted),
                                           EVP_MD_gettable_params(list[1][s->algorithm])};
        for (size_t i = 0; i < 3; i++) {
            put_list(o, own[i], other[i], false);
        }
        end_outcome(o, true);
        break;
    }
    default:
        end_outcome(o, EVP_MD_CTX_reset(context) > 0);
        break;
    }
}

static const char *known(const char *name, const struct call *call, const struct outcome *mine, const struct outcome *other) {
    const bool is_refused = !mine->good && other->good;
    const bool is_of_parameters = call->kind == LISTS || (is_refused && (call->kind == SET_SIZE || call->kind == FINAL_XOF));
    return is_of_parameters && strcmp(name, "SHA1") == 0 ? "parameters-of-sha1" : NULL;
}

static void run(const struct sequence *s, struct difference *difference) {
    EVP_MD_CTX *contexts[N_SLOTS][2];
    bool has_digest[N_SLOTS] = {false}, is_over[N_SLOTS] = {false};
    bool ends_twice;
    size_t current = 0;
    difference->is_there = false;
    for (size_t i = 0; i < N_SLOTS; i++) {
        contexts[i][0] = EVP_MD_CTX_new();
        contexts[i][1] = EVP_MD_CTX_new();
    }
    for (size_t i = 0; i < s->n && !difference->is_there; i++) {
        const struct call *const call = &s->calls[i];
        struct outcome *const outcomes[] = {&difference->mine, &difference->other};
        if (call->kind == SWAP) {
            current = 1 - current;
            continue;
        }
        if (!has_digest[current] && (call->kind != INIT || call->b == 0)) {
            continue;
        }
        if (is_over[current] && call->kind == FINAL_XOF) {
            continue;
        }
        ends_twice = is_over[current] && ((call->kind == UPDATE && call->a != 0) || call->kind == FINAL);
        for (size_t side = 0; side < (ends_twice ? 1 : 2); side++) {
            if (call->kind == COPY) {
                begin_outcome(outcomes[side]);
                end_outcome(outcomes[side], EVP_MD_CTX_copy_ex(contexts[1 - current][side], contexts[current][side]) > 0);
            } else {
                act(contexts[current][side], contexts[current][1], side, s, call, outcomes[side]);
            }
        }
        if (call->kind == COPY) {
            has_digest[1 - current] = has_digest[current];
            is_over[1 - current] = is_over[current];
        }
        if (ends_twice) {
            refuse(&difference->other);
        }
        compare(difference, i);
        if (difference->is_there) {
            difference->known = known(algorithm(s->algorithm), call, &difference->mine, &difference->other);
        }
        is_over[current] = ((call->kind == FINAL || call->kind == FINAL_XOF) && difference->other.good) ||
                           (is_over[current] && !(call->kind == INIT && difference->other.good));
        has_digest[current] = (has_digest[current] || call->kind == INIT) && call->kind != RESET;
    }
    for (size_t i = 0; i < N_SLOTS; i++) {
        EVP_MD_CTX_free(contexts[i][0]);
        EVP_MD_CTX_free(contexts[i][1]);
    }
}

const struct family digests = {"digests", collect, algorithm, make, run, calls};
