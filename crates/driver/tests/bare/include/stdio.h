/* What the tests of projects need of a C library: no more is there. */
#include <stddef.h>

int printf(const char *format, ...);
