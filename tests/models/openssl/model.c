/* The loop of the model-based test: makes sequences, shrinks and prints what differs; see model.h. */
#include "model.h"

#include <inttypes.h>
#include <time.h>

OSSL_LIB_CTX *ours, *theirs;

static uint64_t state;

unsigned below(unsigned bound) {
    /* A linear congruential generator modulo 2^64 (Knuth's MMIX constants); its upper bits are the arbitrary ones. */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((state >> 33) % bound);
}

static void seed_with(uint64_t seed, uint64_t number) {
    state = seed * 0x9e3779b97f4a7c15u + number * 0xd1b54a32d192ed03u;
    below(2);
    below(2);
}

unsigned some_length(void) {
    switch (below(8)) {
    case 0:
        return 0;
    case 1:
        return 1 + below(5);
    case 2:
        return 16 * (1 + below(6));
    case 3:
        return 15 + below(3);
    case 4:
        return below(TEXT_MOST);
    default:
        return below(100);
    }
}

void bytes_of(unsigned number, uint8_t *bytes, size_t n_bytes) {
    uint64_t x = number * 0x9e3779b97f4a7c15u + 12345;
    for (size_t i = 0; i < n_bytes; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(x >> 56);
    }
}

void add_call(struct sequence *s, unsigned kind, unsigned a, unsigned b, unsigned c) {
    if (s->n < CALLS_MOST) {
        s->calls[s->n++] = (struct call){kind, a, b, c};
    }
}

void begin_outcome(struct outcome *outcome) {
    ERR_clear_error();
    outcome->good = outcome->has_reason = false;
    outcome->n = 0;
}

void end_outcome(struct outcome *outcome, bool good) {
    const unsigned long error = ERR_peek_last_error();
    outcome->good = good;
    outcome->has_reason = error != 0 && ERR_reason_error_string(error) != NULL;
    if (!good) {
        /* What stands in buffers after a call that failed is nobody's business. */
        outcome->n = 0;
    }
    ERR_clear_error();
}

void put_number(struct outcome *outcome, uint64_t number) {
    memcpy(outcome->bytes + outcome->n, &number, sizeof number);
    outcome->n += sizeof number;
}

void put_list(struct outcome *outcome, const OSSL_PARAM *own, const OSSL_PARAM *wanted, bool has_types) {
    for (const OSSL_PARAM *p = wanted; p != NULL && p->key != NULL; p++) {
        const OSSL_PARAM *const same = own == NULL ? NULL : OSSL_PARAM_locate_const(own, p->key);
        outcome->bytes[outcome->n++] = (uint8_t)(same == NULL ? 0 : has_types ? same->data_type : 1);
    }
}

void refuse(struct outcome *outcome) {
    begin_outcome(outcome);
    end_outcome(outcome, false);
}

void compare(struct difference *difference, size_t at) {
    const struct outcome *const mine = &difference->mine, *const other = &difference->other;
    /* Who fails says why; OpenSSL's own does not always. */
    const bool are_alike = mine->good == other->good && mine->n == other->n && memcmp(mine->bytes, other->bytes, mine->n) == 0 &&
                           (mine->good || mine->has_reason || !other->has_reason);
    difference->is_there = !are_alike;
    difference->at = at;
    difference->known = NULL;
}

static const struct family *const families[] = {&ciphers, &digests, &macs};
#define N_FAMILIES (sizeof families / sizeof families[0])

/* The table of known differences: a name, the algorithms it is of (a part of their names, a whole one behind =, or *), a
   sentence. */
struct known {
    char name[48], of[32];
    uint64_t times;
};
static struct known table[64];
static size_t n_known;

static bool read_table(const char *path) {
    char line[2048];
    FILE *const file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    while (fgets(line, sizeof line, file) != NULL && n_known < sizeof table / sizeof table[0]) {
        if (line[0] != '#' && sscanf(line, "%47s %31s", table[n_known].name, table[n_known].of) == 2) {
            n_known++;
        }
    }
    fclose(file);
    return n_known != 0;
}

static struct known *in_table(const char *name) {
    for (size_t i = 0; name != NULL && i < n_known; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

static bool shows(const struct family *family, const struct sequence *sequence) {
    static struct difference difference;
    family->run(sequence, &difference);
    return difference.is_there && in_table(difference.known) == NULL;
}

static void shrink(const struct family *family, struct sequence *s) {
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = s->n; i-- > 0;) {
            struct sequence fewer = *s;
            memmove(&fewer.calls[i], &fewer.calls[i + 1], (s->n - i - 1) * sizeof s->calls[0]);
            fewer.n--;
            if (shows(family, &fewer)) {
                *s = fewer;
                changed = true;
            }
        }
        for (size_t i = 0; i < s->n * 3; i++) {
            unsigned before, to[3];
            struct call *const call = &s->calls[i / 3];
            unsigned *const argument = i % 3 == 0 ? &call->a : i % 3 == 1 ? &call->b : &call->c;
            before = *argument;
            to[0] = 0;
            to[1] = before / 2;
            to[2] = before - 1;
            for (size_t k = 0; k < 3 && before != 0; k++) {
                *argument = to[k];
                if (to[k] < before && shows(family, s)) {
                    changed = true;
                    break;
                }
                *argument = before;
            }
        }
    }
}

static void print_outcome(const char *whose, const struct outcome *outcome) {
    printf("    %s: %s%s, %zu bytes", whose, outcome->good ? "1" : "0", outcome->good || outcome->has_reason ? "" : " without a reason",
           outcome->n);
    for (size_t i = 0; i < outcome->n && i < 48; i++) {
        printf("%s%02x", i == 0 ? " " : "", outcome->bytes[i]);
    }
    printf("\n");
}

static void print_sequence(const struct family *family, const struct sequence *s) {
    static struct difference difference;
    family->run(s, &difference);
    printf("%s%s, prepared: tag %u, nonce %u, text %u, associated data %u bytes\n", family->algorithm(s->algorithm),
           s->verifies_first ? ", verifies first" : "", s->lengths[0],
           s->lengths[1], s->lengths[2], s->lengths[3]);
    for (size_t i = 0; i < s->n && i <= difference.at; i++) {
        printf("  %zu %s a=%u b=%u c=%u\n", i, family->calls[s->calls[i].kind], s->calls[i].a, s->calls[i].b, s->calls[i].c);
    }
    print_outcome("ours", &difference.mine);
    print_outcome("OpenSSL's", &difference.other);
    if (difference.known != NULL) {
        printf("    which is called %s, but the table has none of that name\n", difference.known);
    }
}

/* Differences of the table that did not show, though what they are of is there. */
static unsigned gone(void) {
    unsigned n = 0;
    for (size_t i = 0; i < n_known; i++) {
        bool applies = strcmp(table[i].of, "*") == 0;
        for (size_t f = 0; f < N_FAMILIES; f++) {
            for (size_t k = 0; k < families[f]->collect(); k++) {
                const char *const name = families[f]->algorithm(k);
                applies = applies || (table[i].of[0] == '=' ? strcmp(name, table[i].of + 1) == 0 : strstr(name, table[i].of) != NULL);
            }
        }
        if (applies && table[i].times == 0) {
            printf("GONE: %s is in the table, and did not show\n", table[i].name);
            n++;
        }
    }
    return n;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct options {
    uint64_t seed, first, sequences, most; /* `most` differences are printed */
    double seconds;
    bool verbose;
    const char *only;
};

static int usage(void) {
    fprintf(stderr, "usage: model FOLDER-OF-THE-PROVIDER DIFFERENCES [--seed N] [--first N] [--sequences N] [--seconds N] "
                    "[--most N] [--only ALGORITHM] [--verbose]\n");
    return 2;
}

static bool read_options(int n, char **arguments, struct options *o) {
    for (int i = 3; i < n; i++) {
        const bool has_value = i + 1 < n;
        if (strcmp(arguments[i], "--verbose") == 0) {
            o->verbose = true;
        } else if (!has_value) {
            return false;
        } else if (strcmp(arguments[i], "--seed") == 0) {
            o->seed = strtoull(arguments[++i], NULL, 10);
        } else if (strcmp(arguments[i], "--first") == 0) {
            o->first = strtoull(arguments[++i], NULL, 10);
        } else if (strcmp(arguments[i], "--sequences") == 0) {
            o->sequences = strtoull(arguments[++i], NULL, 10);
        } else if (strcmp(arguments[i], "--most") == 0) {
            o->most = strtoull(arguments[++i], NULL, 10);
        } else if (strcmp(arguments[i], "--seconds") == 0) {
            o->seconds = strtod(arguments[++i], NULL);
        } else if (strcmp(arguments[i], "--only") == 0) {
            o->only = arguments[++i];
        } else {
            return false;
        }
    }
    /* What was not run proves nothing. */
    return n >= 3 && o->sequences != 0;
}

int main(int n_arguments, char **arguments) {
    struct options o = {.seed = 1, .sequences = 10000, .most = 5, .seconds = 1e9};
    uint64_t n = 0, differences = 0, known = 0;
    unsigned missing = 0;
    const double begin = now();
    size_t n_algorithms = 0;
    if (!read_options(n_arguments, arguments, &o)) {
        return usage();
    }
    ours = OSSL_LIB_CTX_new();
    theirs = OSSL_LIB_CTX_new();
    if (!read_table(arguments[2]) || !OSSL_PROVIDER_set_default_search_path(ours, arguments[1]) ||
        OSSL_PROVIDER_load(ours, "headrace") == NULL || OSSL_PROVIDER_load(theirs, "default") == NULL) {
        ERR_print_errors_fp(stderr);
        return usage();
    }
    OSSL_PROVIDER_load(theirs, "legacy");
    for (size_t f = 0; f < N_FAMILIES; f++) {
        n_algorithms += families[f]->collect();
    }
    if (n_algorithms == 0) {
        fprintf(stderr, "the provider offers nothing that OpenSSL has\n");
        return 1;
    }
    for (; n < o.sequences && differences < o.most && now() - begin < o.seconds; n++) {
        static struct difference difference;
        struct sequence s = {0};
        const struct family *family;
        size_t f = 0, number;
        seed_with(o.seed, o.first + n);
        for (number = below((unsigned)n_algorithms); number >= families[f]->collect(); f++) {
            number -= families[f]->collect();
        }
        family = families[f];
        s.algorithm = number;
        if (o.only != NULL && strcmp(o.only, family->algorithm(number)) != 0) {
            continue;
        }
        family->make(&s);
        family->run(&s, &difference);
        if (difference.is_there && in_table(difference.known) != NULL) {
            in_table(difference.known)->times++;
            known++;
        } else if (difference.is_there) {
            differences++;
            printf("DIFFERENCE (--seed %" PRIu64 " --first %" PRIu64 " --sequences 1): ", o.seed, o.first + n);
            shrink(family, &s);
            print_sequence(family, &s);
        }
    }
    /* What is rare shows in many sequences only. */
    if (o.only == NULL && n >= 10000) {
        missing = gone();
    }
    for (size_t i = 0; o.verbose && i < n_known; i++) {
        printf("%8" PRIu64 " times %s\n", table[i].times, table[i].name);
    }
    printf("%zu algorithms, %" PRIu64 " of the sequences with a difference that is known\n", n_algorithms, known);
    printf("%" PRIu64 " sequences, %" PRIu64 " differences\n", n, differences);
    return differences != 0 || missing != 0;
}
