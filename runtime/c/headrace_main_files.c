/*
 * The files of a program: read whole, and appearing under their names when all of them is there.
 */
#define _POSIX_C_SOURCE 200809L
#include "headrace_main.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void *headrace_memory(void *old, size_t bytes) {
    void *memory = realloc(old, bytes == 0 ? 1 : bytes);
    if (memory == NULL) {
        fputs("error: there is no memory left\n", stderr);
        exit(HEADRACE_WRONG);
    }
    return memory;
}

/* Names of unfinished files, for whoever ends the program. */
static char *volatile unfinished[64];

static void note_unfinished(char *hidden, char *instead) {
    for (size_t i = 0; i < sizeof unfinished / sizeof *unfinished; i++) {
        if (unfinished[i] == hidden) {
            unfinished[i] = instead;
            return;
        }
    }
}

/* In a signal handler, too: no other function of the library is called. */
static void remove_unfinished(void) {
    for (size_t i = 0; i < sizeof unfinished / sizeof *unfinished; i++) {
        if (unfinished[i] != NULL) {
            unlink(unfinished[i]);
        }
    }
}

static void interrupted(int number) {
    remove_unfinished();
    signal(number, SIG_DFL);
    raise(number);
}

void headrace_watch_files(void) {
    static const int signals[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM};
    /* Natives may call `exit`, and so does who finds no memory. */
    atexit(remove_unfinished);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (signal(signals[i], interrupted) == SIG_IGN) {
            /* As `nohup` wants it. */
            signal(signals[i], SIG_IGN);
        }
    }
}

bool headrace_told(const char *path) {
    fflush(stdout);
    fprintf(stderr, "error: %s: %s\n", path, strerror(errno));
    return false;
}

bool headrace_create(struct headrace_file *file, const char *path) {
    struct stat known;
    const bool exists = stat(path, &known) == 0;
    const size_t length = strlen(path);
    *file = (struct headrace_file){NULL, NULL, NULL};
    if (strcmp(path, "-") == 0) {
        file->file = stdout;
        return true;
    }
    file->path = headrace_memory(NULL, length + 1);
    memcpy(file->path, path, length + 1);
    if (exists && !S_ISREG(known.st_mode)) {
        file->file = fopen(path, "wb");
    } else {
        file->hidden = headrace_memory(NULL, length + 16);
        snprintf(file->hidden, length + 16, "%s.%lu.part", path, (unsigned long)getpid() % 1000000);
        file->file = fopen(file->hidden, "wbx");
        if (file->file != NULL) {
            note_unfinished(NULL, file->hidden);
        }
    }
    return file->file != NULL || headrace_told(path);
}

bool headrace_finish(struct headrace_file *file, bool keep) {
    bool good = true;
    if (file->file != NULL) {
        /* Writing may have failed before, of which closing says nothing. */
        good = ferror(file->file) == 0;
        errno = 0;
        good = (file->path == NULL ? fflush(file->file) : fclose(file->file)) == 0 && good;
        if (file->hidden != NULL && keep && good) {
            good = rename(file->hidden, file->path) == 0;
        }
        if (!good) {
            errno = errno == 0 ? EIO : errno;
            headrace_told(file->path == NULL ? "standard output" : file->path);
        }
        if (file->hidden != NULL) {
            if (!keep || !good) {
                unlink(file->hidden);
            }
            note_unfinished(file->hidden, NULL);
        }
    }
    free(file->hidden);
    free(file->path);
    *file = (struct headrace_file){NULL, NULL, NULL};
    return good;
}

uint8_t *headrace_read(const char *path, size_t *bytes) {
    const bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    uint8_t *all = NULL;
    size_t n = 0, room = 0, got;
    if (file == NULL) {
        headrace_told(path);
        return NULL;
    }
    do {
        if (n == room) {
            room = room == 0 ? 65536 : 2 * room;
            all = headrace_memory(all, room);
        }
        errno = 0;
        got = fread(all + n, 1, room - n, file);
        n += got;
    } while (got != 0);
    if (ferror(file) != 0) {
        headrace_told(path);
        free(all);
        all = NULL;
    }
    if (!standard) {
        fclose(file);
    }
    *bytes = n;
    return all;
}

