/* A program without a C library: where it starts, how it writes and ends by system calls of Linux, and the functions that
 * a program without such a library must have. */
#include "stdio.h"

#include <stdarg.h>
#include <stdint.h>

int main(void);

#if defined(__x86_64__)
enum { WRITE = 1, EXIT = 60 };

static long call(long number, long a, long b, long c)
{
    long result;
    __asm__ __volatile__("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall begin\n");
#elif defined(__aarch64__)
enum { WRITE = 64, EXIT = 93 };

static long call(long number, long a, long b, long c)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ __volatile__("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}

__asm__(".globl _start\n_start:\n\tmov x29, xzr\n\tmov x30, xzr\n\tb begin\n");
#elif defined(__arm__)
enum { WRITE = 4, EXIT = 1 };

static long call(long number, long a, long b, long c)
{
    /* r7 may be the pointer to the frame. */
    register long r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c, r3 __asm__("r3") = number;
    __asm__ __volatile__("push {r7}\n\tmov r7, r3\n\tsvc 0\n\tpop {r7}" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r3) : "memory");
    return r0;
}

__asm__(".globl _start\n_start:\n\tmov r0, sp\n\tbic r0, r0, #7\n\tmov sp, r0\n\tb begin\n");
#elif defined(__riscv)
enum { WRITE = 64, EXIT = 93 };

static long call(long number, long a, long b, long c)
{
    register long a7 __asm__("a7") = number, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
    __asm__ __volatile__("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
    return a0;
}

__asm__(".globl _start\n_start:\n\t.option push\n\t.option norelax\n\tla gp, __global_pointer$\n\t.option pop\n\ttail begin\n");
#endif

void begin(void);

void begin(void)
{
    const int status = main();
    for (;;)
        (void)call(EXIT, status, 0, 0);
}

/* Compilers must not make calls of these out of their own loops: the flags say so. */
void *memcpy(void *to, const void *from, size_t n)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    while (n-- != 0)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    if ((uintptr_t)t <= (uintptr_t)f)
        return memcpy(to, from, n);
    while (n-- != 0)
        t[n] = f[n];
    return to;
}

void *memset(void *to, int byte, size_t n)
{
    unsigned char *t = to;
    while (n-- != 0)
        *t++ = (unsigned char)byte;
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;
    for (; n != 0; n--, x++, y++)
        if (*x != *y)
            return *x < *y ? -1 : 1;
    return 0;
}

static void say(const char *text, size_t n)
{
    (void)call(WRITE, 1, (long)text, (long)n);
}

/* %s, %u and %zu. */
int printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    for (; *format != 0; format++) {
        char digits[24];
        size_t n = sizeof digits;
        unsigned long long number;
        if (*format != '%') {
            say(format, 1);
            continue;
        }
        format++;
        if (*format == 's') {
            const char *text = va_arg(arguments, const char *);
            for (n = 0; text[n] != 0; n++) {
            }
            say(text, n);
            continue;
        }
        if (*format == 'z') {
            format++;
            number = va_arg(arguments, size_t);
        } else {
            number = va_arg(arguments, unsigned);
        }
        do {
            digits[--n] = (char)('0' + (int)(number % 10));
            number /= 10;
        } while (number != 0);
        say(digits + n, sizeof digits - n);
    }
    va_end(arguments);
    return 0;
}

#ifdef __arm__
int raise(int signal);

/* The compiler's library for Linux tells of divisions by zero in this way; that for machines without a system does not. */
int raise(int signal)
{
    for (;;)
        (void)call(EXIT, 128 + signal, 0, 0);
}
#endif
