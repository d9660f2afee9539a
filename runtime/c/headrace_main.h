/*
 * A program around one network: its command line, its files, and what it prints.
 */
#ifndef HEADRACE_MAIN_H
#define HEADRACE_MAIN_H

#include "headrace.h"
#include <stdio.h>

/* What the tokens of a port are. */
enum headrace_kind { HEADRACE_BOOL, HEADRACE_UNSIGNED, HEADRACE_SIGNED, HEADRACE_REAL };

/* A port. Tokens take `storage` bytes in memory. */
struct headrace_main_port {
    const char *name;
    uint32_t width;
    uint32_t storage;
    enum headrace_kind kind;
};

/* A network, and what else the program knows of it. */
struct headrace_main {
    const char *name;
    const struct headrace_network *network;
    const struct headrace_main_port *inputs;
    uint32_t n_inputs;
    const struct headrace_main_port *outputs;
    uint32_t n_outputs;
    const char *const *instances; /* their names */
    uint32_t n_instances;
    const char *const *places; /* of run-time errors: the action or procedure */
    uint32_t n_places;
    /* Natives that are linked to the program; null: all are those of the runtime. Sets `known` to whether it is one. */
    int64_t (*native)(const char *name, struct headrace_argument *arguments, bool *known);
    /* Says more of a network that has run; null: there is nothing to say. */
    void (*tell)(const void *context);
};

/* What a program exits with, as `headrace run` does. */
enum headrace_exit { HEADRACE_DONE = 0, HEADRACE_WRONG = 1, HEADRACE_USAGE = 2, HEADRACE_STOPPED = 3 };

/* Runs the program. */
int headrace_main(int argc, char **argv, const struct headrace_main *program);

/* --- between the files of the runtime ---------------------------------------------------------------------------- */

/* A file that appears under its name when all of it is there; a pipe or device, and `-`, as it is written. */
struct headrace_file {
    FILE *file;
    char *path;
    char *hidden; /* the name until then; null for streams */
};

/* Tokens of one port on their way in. */
struct headrace_input {
    uint8_t *tokens; /* null: none yet */
    size_t n;        /* their bytes */
    size_t room;     /* bytes that there is memory for */
    size_t taken;    /* bytes that the network has */
    size_t strings;
    bool given;
};

enum headrace_form { HEADRACE_DROPPED, HEADRACE_BYTES, HEADRACE_HEXADECIMAL, HEADRACE_NUMBERS };

/* Where the tokens of one port go. */
struct headrace_output {
    enum headrace_form form;
    bool big_endian;
    struct headrace_file file;
    uint64_t n_tokens;
    unsigned bits, n_bits;
};

/* The files and settings of the natives of the runtime. */
struct headrace_world {
    const char *source;
    uint32_t loops;
    const char *golden;
    struct headrace_file writer;
    struct headrace_file video;
    bool is_y4m;
    int64_t frames; /* how many pictures are to be shown, or -1 */
    unsigned long complaints;
};

/* Opens a file to be written. False: it was told why not. */
bool headrace_create(struct headrace_file *file, const char *path);
/* Makes it appear, or removes what was written. False: it was told why not. */
bool headrace_finish(struct headrace_file *file, bool keep);
/* All of a file, or of standard input for `-`, which the caller frees; null: it was told why not. */
uint8_t *headrace_read(const char *path, size_t *bytes);
/* Says what the system said of a file; false. */
bool headrace_told(const char *path);
/* Has files that are not complete removed when the program ends before they are, by itself or by a signal. */
void headrace_watch_files(void);
/* Adds a token, whose bytes stand least significant first. */
void headrace_push(struct headrace_input *input, const uint8_t *token, size_t storage);
/* Adds the tokens of a source: a path, `-`, hex:, text: or int:. False: it was told what is wrong with it. */
bool headrace_take(struct headrace_input *input, const struct headrace_main_port *port, bool big, const char *source);
/* Writes tokens as memory has them, which are changed. */
void headrace_put(struct headrace_output *output, const struct headrace_main_port *port, uint8_t *tokens, size_t n);
/* Writes what is left, and makes the file appear or removes it. False: it was told why not. */
bool headrace_finish_output(struct headrace_output *output, bool keep);
/* Prints a real with the fewest digits that read back to it, as the interpreter does. */
void headrace_print_real(void *user, double value, int bits);
/* Memory, or the end of the program. */
void *headrace_memory(void *old, size_t bytes);

/* A native of the runtime. `error` gets a text where it cannot do its work, `exit_status` where it ends the program; false:
   there is none of this name. */
bool headrace_world_native(struct headrace_world *world, const char *name, struct headrace_argument *arguments,
                           int64_t *result, const char **error, int *exit_status);

#endif
