/*
 * Tokens on their way in and out of a program: bytes, hexadecimal digits, numbers.
 */
#include "headrace_main.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Between memory and least significant byte first: words of up to 8 bytes, or of 4 in wide integers. */
static void swap_words(uint8_t *token, size_t storage) {
    const uint16_t one = 1;
    const size_t word = storage <= 8 ? storage : 4;
    if (*(const uint8_t *)&one == 1) {
        return;
    }
    for (size_t at = 0; at < storage; at += word) {
        for (size_t i = 0; i < word / 2; i++) {
            const uint8_t byte = token[at + i];
            token[at + i] = token[at + word - 1 - i];
            token[at + word - 1 - i] = byte;
        }
    }
}

void headrace_push(struct headrace_input *input, const uint8_t *token, size_t storage) {
    if (input->n + storage > input->room) {
        input->room = 2 * (input->n + storage);
        input->tokens = headrace_memory(input->tokens, input->room);
    }
    memcpy(input->tokens + input->n, token, storage);
    swap_words(input->tokens + input->n, storage);
    input->n += storage;
}

/* Tokens from bytes: whole bytes each, bits packed, most significant first. */
static bool take_bytes(struct headrace_input *input, const struct headrace_main_port *port, bool big, const uint8_t *bytes,
                       size_t n) {
    const size_t size = (port->width + 7) / 8;
    const unsigned excess = port->width % 8;
    if (port->width == 1) {
        for (size_t i = 0; i < 8 * n; i++) {
            const uint8_t bit = bytes[i / 8] >> (7 - i % 8) & 1u;
            const uint8_t token = port->kind == HEADRACE_SIGNED && bit != 0 ? 0xff : bit;
            headrace_push(input, &token, 1);
        }
        return true;
    }
    if (n % size != 0) {
        fprintf(stderr, "error: --in %s: ends inside a token of %zu bytes\n", port->name, size);
        return false;
    }
    for (size_t at = 0; at < n; at += size) {
        uint8_t token[1024] = {0};
        for (size_t i = 0; i < size; i++) {
            token[i] = bytes[at + (big ? size - 1 - i : i)];
        }
        if (excess != 0 && token[size - 1] >> excess != 0) {
            fprintf(stderr, "error: --in %s: token %zu has bits set beyond the %" PRIu32 " of its type\n", port->name,
                    at / size, port->width);
            return false;
        }
        if (port->kind == HEADRACE_SIGNED && (token[(port->width - 1) / 8] >> (port->width - 1) % 8 & 1) != 0) {
            token[size - 1] |= excess == 0 ? 0 : (uint8_t)(0xff << excess);
            memset(token + size, 0xff, port->storage - size);
        }
        headrace_push(input, token, port->storage);
    }
    return true;
}

/* A number of up to 64 bits. False: it is none, or does not fit. */
static bool number(const char *text, const char *end, const struct headrace_main_port *port, uint8_t *token) {
    char digits[96], *stop;
    const bool negative = text < end && *text == '-';
    const char *first = text + (negative ? 1 : 0);
    const size_t n = (size_t)(end - first);
    const char *at = digits, *allowed = "0123456789";
    int base = 10;
    uint64_t value;
    if (port->kind == HEADRACE_BOOL && n == 4 && memcmp(first, "true", 4) == 0) {
        token[0] = 1;
        return !negative;
    }
    if (port->kind == HEADRACE_BOOL && n == 5 && memcmp(first, "false", 5) == 0) {
        return !negative;
    }
    if (n == 0 || n >= sizeof digits) {
        return false;
    }
    memcpy(digits, first, n);
    digits[n] = 0;
    if (port->kind == HEADRACE_REAL) {
        double real = strtod(digits, &stop);
        if (negative && (digits[0] == '-' || digits[0] == '+')) {
            return false;
        }
        const float single = (float)(negative ? -real : real);
        const uint16_t half = hr_half_bits(negative ? -real : real);
        real = negative ? -real : real;
        const void *stored = port->storage == 8 ? (const void *)&real : port->storage == 4 ? (const void *)&single : &half;
        memcpy(token, stored, port->storage);
        swap_words(token, port->storage);
        return *stop == 0;
    }
    if (digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B')) {
        at += 2;
        allowed = "01";
        base = 2;
    } else if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
        at += 2;
        allowed = "0123456789abcdefABCDEF";
        base = 16;
    }
    /* `strtoull` takes more: signs, blanks, further prefixes, and nothing at all. */
    if (*at == 0 || at[strspn(at, allowed)] != 0) {
        return false;
    }
    errno = 0;
    value = strtoull(at, NULL, base);
    if (errno != 0) {
        return false;
    }
    if (port->width < 64 || port->kind == HEADRACE_SIGNED) {
        const unsigned width = port->width < 64 ? port->width : 64;
        const uint64_t most = port->kind == HEADRACE_SIGNED ? ((uint64_t)1 << (width - 1)) - 1 : ((uint64_t)1 << width) - 1;
        if (negative ? port->kind != HEADRACE_SIGNED ? value != 0 : value > most + 1 : value > most) {
            return false;
        }
    } else if (negative && value != 0) {
        return false;
    }
    value = negative ? 0 - value : value;
    memset(token, negative && value != 0 ? 0xff : 0, port->storage);
    for (size_t i = 0; i < 8 && i < port->storage; i++) {
        token[i] = (uint8_t)(value >> 8 * i);
    }
    return true;
}

bool headrace_take(struct headrace_input *input, const struct headrace_main_port *port, bool big, const char *source) {
    uint8_t *bytes = NULL;
    size_t n = 0;
    bool good = true;
    if (strncmp(source, "int:", 4) == 0) {
        const char *at = source + 4;
        while (*at != 0) {
            const char *end = strchr(at, ',');
            uint8_t token[1024] = {0};
            end = end == NULL ? at + strlen(at) : end;
            if (!number(at, end, port, token)) {
                fprintf(stderr, "error: --in %s: `%.*s` is no number of the port's type\n", port->name, (int)(end - at), at);
                return false;
            }
            headrace_push(input, token, port->storage);
            at = *end == 0 ? end : end + 1;
        }
        return true;
    }
    if (strncmp(source, "hex:", 4) == 0) {
        unsigned nibbles = 0;
        bytes = headrace_memory(NULL, strlen(source));
        for (const char *at = source + 4; *at != 0; at++) {
            static const char DIGITS[] = "0123456789abcdef0123456789ABCDEF";
            const char *digit = strchr(DIGITS, *at);
            if (*at == ' ' || *at == '_') {
                continue;
            }
            if (digit == NULL) {
                fprintf(stderr, "error: --in %s: `%c` is not a hexadecimal digit\n", port->name, *at);
                free(bytes);
                return false;
            }
            if (nibbles % 2 == 0) {
                bytes[n] = (uint8_t)(((digit - DIGITS) & 15) << 4);
            } else {
                bytes[n++] |= (uint8_t)((digit - DIGITS) & 15);
            }
            nibbles++;
        }
        if (nibbles % 2 != 0) {
            fprintf(stderr, "error: --in %s: %u hexadecimal digits do not make whole bytes\n", port->name, nibbles);
            free(bytes);
            return false;
        }
    } else if (strncmp(source, "text:", 5) == 0) {
        n = strlen(source + 5);
        bytes = headrace_memory(NULL, n);
        memcpy(bytes, source + 5, n);
    } else {
        bytes = headrace_read(source, &n);
    }
    good = bytes != NULL && take_bytes(input, port, big, bytes, n);
    free(bytes);
    return good;
}

/* The text of a real: the fewest digits that read back to it, as the interpreter prints them. */
void headrace_print_real(void *user, double value, int bits) {
    const int most = bits == 16 ? 5 : bits == 32 ? 9 : 17;
    const double magnitude = value < 0 ? -value : value;
    char text[64], digits[32];
    int n = 0, exponent;
    (void)user;
    if (value != value) {
        fputs("nan", stdout);
        return;
    }
    if (value < 0 || (value == 0 && 1 / value < 0)) {
        putchar('-');
    }
    if (magnitude == 0 || magnitude > DBL_MAX) {
        fputs(magnitude == 0 ? "0.0" : "inf", stdout);
        return;
    }
    for (int after_point = 0; after_point < most; after_point++) {
        double back;
        snprintf(text, sizeof text, "%.*e", after_point, magnitude);
        back = bits == 32 ? (double)strtof(text, NULL) : strtod(text, NULL);
        if ((bits == 16 ? hr_half_round(back) : back) == magnitude) {
            break;
        }
    }
    exponent = atoi(strchr(text, 'e') + 1);
    for (const char *at = text; *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9') {
            digits[n++] = *at;
        }
    }
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    if (exponent < -5 || exponent >= 16) {
        printf("%c%s%.*se%d", digits[0], n > 1 ? "." : "", n - 1, digits + 1, exponent);
    } else if (exponent < 0) {
        printf("0.%.*s%.*s", -exponent - 1, "0000", n, digits);
    } else if (n <= exponent + 1) {
        printf("%.*s%.*s.0", n, digits, exponent + 1 - n, "0000000000000000");
    } else {
        printf("%.*s.%.*s", exponent + 1, digits, n - exponent - 1, digits + exponent + 1);
    }
}

/* The bytes of a token outside, least significant first. */
void headrace_put(struct headrace_output *output, const struct headrace_main_port *port, uint8_t *tokens, size_t n) {
    FILE *file = output->file.file;
    const size_t size = (port->width + 7) / 8;
    for (size_t at = 0; at < n; at++, output->n_tokens++) {
        uint8_t *token = tokens + at * port->storage;
        const uint8_t *first = token;
        if (output->form == HEADRACE_DROPPED) {
            continue;
        }
        if (output->form == HEADRACE_NUMBERS) {
            uint64_t value = 0;
            fputs(output->n_tokens == 0 ? "" : ",", file);
            if (port->kind == HEADRACE_REAL) {
                double real = 0;
                float single;
                uint16_t half;
                memcpy(&single, first, sizeof single < port->storage ? sizeof single : port->storage);
                memcpy(&half, first, sizeof half);
                memcpy(&real, first, port->storage == 8 ? 8 : 0);
                real = port->storage == 8 ? real : port->storage == 4 ? (double)single : hr_half_value(half);
                headrace_print_real(NULL, real, (int)(8 * port->storage));
                continue;
            }
            swap_words(token, port->storage);
            for (size_t i = 0; i < 8 && i < port->storage; i++) {
                value |= (uint64_t)first[i] << 8 * i;
            }
            if (port->width > 64) {
                fputs("0x", file);
                for (size_t i = size; i-- > 0;) {
                    fprintf(file, "%02x", first[i]);
                }
            } else if (port->kind == HEADRACE_SIGNED) {
                fprintf(file, "%" PRId64, hr_signed64(value, 8 * port->storage));
            } else {
                fprintf(file, "%" PRIu64, value);
            }
            continue;
        }
        if (port->width == 1) {
            output->bits = output->bits << 1 | (first[0] & 1u);
            if (++output->n_bits == 8) {
                fprintf(file, output->form == HEADRACE_HEXADECIMAL ? "%02x" : "%c", output->bits & 0xff);
                output->n_bits = 0;
            }
            continue;
        }
        swap_words(token, port->storage);
        for (size_t i = 0; i < size; i++) {
            const size_t from = output->big_endian ? size - 1 - i : i;
            const unsigned excess = port->width % 8;
            const unsigned byte = from + 1 == size && excess != 0 ? first[from] & (0xffu >> (8 - excess)) : first[from];
            if (output->form == HEADRACE_HEXADECIMAL) {
                fprintf(file, "%02x", byte);
            } else {
                putc((int)byte, file);
            }
        }
    }
}

bool headrace_finish_output(struct headrace_output *output, bool keep) {
    if (output->n_bits != 0) {
        const unsigned byte = output->bits << (8 - output->n_bits) & 0xff;
        fprintf(output->file.file, output->form == HEADRACE_HEXADECIMAL ? "%02x" : "%c", byte);
        fprintf(stderr, "note: the last byte was filled up with %u zero bits\n", 8 - output->n_bits);
    }
    if (output->form == HEADRACE_HEXADECIMAL || output->form == HEADRACE_NUMBERS) {
        putc('\n', output->file.file);
    }
    return headrace_finish(&output->file, keep);
}

