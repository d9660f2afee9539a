/*
 * A program around one network: reads tokens from files, runs the network, writes tokens to files.
 */
#include "headrace_main.h"

#include <inttypes.h>
#include <stdlib.h>

struct run {
    const struct headrace_main *program;
    struct headrace_world world;
    struct headrace_input *inputs;
    struct headrace_output *outputs;
    bool ended; /* by itself */
};

/* Room for the name of an option. */
enum { NAME_ROOM = 16 };

static const size_t TOKENS_AT_A_TIME = 4096;

/* Firings after which an actor that moves no token lets the others have a turn. */
static const uint64_t TURN = UINT64_C(1) << 24;

static int usage(const char *what, const char *of) {
    fflush(stdout);
    fprintf(stderr, "error: %s%s\n", what, of);
    return HEADRACE_USAGE;
}

static void print(void *user, const char *text, size_t bytes) {
    (void)user;
    fwrite(text, 1, bytes, stdout);
}

static int64_t native(void *user, const char *name, struct headrace_argument *arguments, uint32_t n_arguments,
                      struct headrace_control *control) {
    struct run *run = user;
    bool known = false;
    int64_t result = 0;
    const char *error = NULL;
    int exit_status = -1;
    (void)n_arguments;
    if (run->program->native != NULL) {
        result = run->program->native(name, arguments, &known);
    }
    if (!known && !headrace_world_native(&run->world, name, arguments, &result, &error, &exit_status)) {
        error = "nobody supplies it";
    }
    if (exit_status >= 0) {
        control->stopped = HEADRACE_EXITED;
        control->exit_status = exit_status;
    } else if (error != NULL) {
        fflush(stdout);
        fprintf(stderr, "error: native `%s`: %s\n", name, error);
        control->stopped = HEADRACE_TRAPPED;
        control->trap.code = HEADRACE_TRAP_NATIVE;
    }
    return result;
}

/* --- the command line -------------------------------------------------------------------------------------------- */

static void help(const struct headrace_main *program, const char *name) {
    printf("%s: the network %s\n\nUsage: %s [OPTIONS]\n\n", name, program->name, name);
    puts("  --in PORT[:be]=SRC    tokens of an input port: a path, - (standard input), hex:..., text:... or int:1,2,3\n"
         "  --out PORT[:be]=DST   where the tokens of an output port go: a path, -, hex: or int:\n"
         "  --source FILE         the file that std.stdio.Source reads\n"
         "  --loops N             how many times it is read; 0 for without end [default: 1]\n"
         "  --writer FILE         the file that std.stdio.Writer writes\n"
         "  --golden FILE         the file that std.util.Compare compares with\n"
         "  --video FILE          where pictures go that are shown (.yuv or .y4m)\n"
         "  --frames N            how many pictures are to be shown [default: all]\n");
    for (uint32_t i = 0; i < program->n_inputs; i++) {
        printf("input   %s, %" PRIu32 " bits\n", program->inputs[i].name, program->inputs[i].width);
    }
    for (uint32_t i = 0; i < program->n_outputs; i++) {
        printf("output  %s, %" PRIu32 " bits\n", program->outputs[i].name, program->outputs[i].width);
    }
    puts("\nExit status: 0 done; 1 the input is wrong, a check failed or the program stopped with an error; 2 wrong usage; 3 it\n"
         "stopped with input undelivered.");
}

/* The value behind the equals sign of an option, whose name goes to `name`; null: it is the next argument. */
static const char *value_of(const char *option, char name[NAME_ROOM]) {
    const char *equals = strchr(option, '=');
    if (option[0] != '-' || equals == NULL || equals - option >= NAME_ROOM) {
        return NULL;
    }
    memcpy(name, option, (size_t)(equals - option));
    name[equals - option] = 0;
    return equals + 1;
}

/* Whether help is wanted, which comes before any file is looked at. */
static bool wants_help(int argc, char **argv) {
    char name[NAME_ROOM];
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
        if (argv[i][0] == '-' && value_of(argv[i], name) == NULL) {
            i++;
        }
    }
    return false;
}

/* Splits PORT[:be]=REST. Gives the position of the port, or -1. */
static int find_port(const char *text, const struct headrace_main_port *ports, uint32_t n, bool *big, const char **rest) {
    const char *equals = strchr(text, '=');
    const char *end = equals;
    *big = false;
    if (equals == NULL) {
        return -1;
    }
    if (end - text > 3 && (strncmp(end - 3, ":be", 3) == 0 || strncmp(end - 3, ":le", 3) == 0)) {
        *big = end[-2] == 'b';
        end -= 3;
    }
    *rest = equals + 1;
    for (uint32_t i = 0; i < n; i++) {
        if (strlen(ports[i].name) == (size_t)(end - text) && strncmp(ports[i].name, text, (size_t)(end - text)) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static bool count(const char *text, uint32_t *value) {
    char *end;
    const unsigned long long read = strtoull(text, &end, 10);
    *value = (uint32_t)read;
    return *text >= '0' && *text <= '9' && *end == 0 && read <= INT32_MAX;
}

static int input_option(struct run *run, const char *value) {
    const struct headrace_main *program = run->program;
    bool big;
    const char *rest = NULL;
    const int at = find_port(value, program->inputs, program->n_inputs, &big, &rest);
    char name[256];
    if (at < 0) {
        return usage("--in: there is no such input: ", value);
    }
    struct headrace_input *input = &run->inputs[at];
    const size_t before = input->n / program->inputs[at].storage;
    if (!headrace_take(input, &program->inputs[at], big, rest)) {
        return HEADRACE_WRONG;
    }
    input->given = true;
    input->strings++;
    /* Its companion carries the sizes of its chunks, the last one with a bit that says so. */
    snprintf(name, sizeof name, "%sSize", program->inputs[at].name);
    for (uint32_t i = 0; i < program->n_inputs; i++) {
        const struct headrace_main_port *other = &program->inputs[i];
        if (strcmp(other->name, name) == 0 && other->width == 32 && program->inputs[at].width == 8 && !run->inputs[i].given) {
            size_t left = input->n - before;
            bool last;
            do {
                const uint32_t chunk = left < (1u << 30) ? (uint32_t)left : 1u << 30;
                last = left == chunk;
                const uint32_t size = chunk | (last ? 1u << 31 : 0);
                const uint8_t token[4] = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16), (uint8_t)(size >> 24)};
                headrace_push(&run->inputs[i], token, 4);
                left -= chunk;
            } while (!last);
        }
    }
    return HEADRACE_DONE;
}

/* Tells for each message whether it has a key of its own, where nobody did. */
static void fill_in_rekey(struct run *run) {
    size_t keys = 0, messages = 0;
    struct headrace_input *rekey = NULL;
    for (uint32_t i = 0; i < run->program->n_inputs; i++) {
        const struct headrace_main_port *port = &run->program->inputs[i];
        if (strcmp(port->name, "Rekey") == 0 && port->kind == HEADRACE_BOOL) {
            rekey = &run->inputs[i];
        } else if (strcmp(port->name, "Key") == 0) {
            keys = run->inputs[i].strings;
        } else if (run->inputs[i].strings > messages) {
            messages = run->inputs[i].strings;
        }
    }
    if (rekey == NULL || rekey->given || keys == 0) {
        return;
    }
    for (size_t i = 0; i < messages || i < keys; i++) {
        const uint8_t token = i < keys;
        headrace_push(rekey, &token, 1);
    }
}

static int output_option(struct run *run, const char *value) {
    const struct headrace_main *program = run->program;
    bool big;
    const char *rest = NULL;
    const int at = find_port(value, program->outputs, program->n_outputs, &big, &rest);
    if (at < 0) {
        return usage("--out: there is no such output: ", value);
    }
    struct headrace_output *output = &run->outputs[at];
    if (output->form != HEADRACE_DROPPED) {
        return usage("--out is given twice: ", value);
    }
    output->big_endian = big;
    output->form = HEADRACE_BYTES;
    if (strcmp(rest, "hex:") == 0 || strcmp(rest, "int:") == 0) {
        output->form = rest[0] == 'h' ? HEADRACE_HEXADECIMAL : HEADRACE_NUMBERS;
    }
    return headrace_create(&output->file, output->form == HEADRACE_BYTES ? rest : "-") ? HEADRACE_DONE : HEADRACE_WRONG;
}

static int option(struct run *run, const char *name, const char *value) {
    struct headrace_world *world = &run->world;
    const size_t length = strlen(value);
    uint32_t n;
    if (strcmp(name, "--in") == 0) {
        return input_option(run, value);
    }
    if (strcmp(name, "--out") == 0) {
        return output_option(run, value);
    }
    if (strcmp(name, "--source") == 0) {
        world->source = value;
        return HEADRACE_DONE;
    }
    if (strcmp(name, "--golden") == 0) {
        world->golden = value;
        return HEADRACE_DONE;
    }
    if (strcmp(name, "--loops") == 0) {
        return count(value, &world->loops) ? HEADRACE_DONE : usage("--loops takes a number, not ", value);
    }
    if (strcmp(name, "--frames") == 0) {
        if (!count(value, &n) || n == 0) {
            return usage("--frames takes a number, not ", value);
        }
        world->frames = n;
        return HEADRACE_DONE;
    }
    if (strcmp(name, "--writer") == 0) {
        return world->writer.file != NULL            ? usage("--writer is given twice", "")
               : headrace_create(&world->writer, value) ? HEADRACE_DONE
                                                        : HEADRACE_WRONG;
    }
    if (strcmp(name, "--video") == 0) {
        world->is_y4m = length > 4 && strcmp(value + length - 4, ".y4m") == 0;
        if (!world->is_y4m && (length <= 4 || strcmp(value + length - 4, ".yuv") != 0)) {
            return usage("--video: the file must end in .yuv or .y4m: ", value);
        }
        return world->video.file != NULL            ? usage("--video is given twice", "")
               : headrace_create(&world->video, value) ? HEADRACE_DONE
                                                       : HEADRACE_WRONG;
    }
    return usage("there is no option ", name);
}

/* --- running ----------------------------------------------------------------------------------------------------- */

static void tell_trap(const struct headrace_main *program, const struct headrace_control *control) {
    const struct headrace_trap *trap = &control->trap;
    fflush(stdout);
    fputs("error: ", stderr);
    switch (trap->code) {
    case HEADRACE_TRAP_INDEX:
        fprintf(stderr, "index %" PRId64 " is outside 0..%" PRId64, trap->a, trap->b - 1);
        break;
    case HEADRACE_TRAP_DIVISION:
        fputs("division by zero", stderr);
        break;
    case HEADRACE_TRAP_MODULUS:
        fputs("`mod` needs a positive modulus", stderr);
        break;
    case HEADRACE_TRAP_SHIFT:
        fputs(trap->a < 0 ? "shift by a negative count" : "left shift by more than 2048 where the value is not stored", stderr);
        break;
    case HEADRACE_TRAP_DEPTH:
        fprintf(stderr, "more than %" PRId64 " calls are open", trap->a);
        break;
    default:
        fputs("the program stopped", stderr);
    }
    if (control->instance < program->n_instances) {
        fprintf(stderr, " (in `%s`", program->instances[control->instance]);
        fprintf(stderr, trap->place < program->n_places ? ", `%s`)" : ")", program->places[trap->place]);
    }
    fputc('\n', stderr);
}

/* Moves tokens until nothing moves. */
static uint32_t drive(struct run *run, void *context, uint8_t *buffer) {
    const struct headrace_main *program = run->program;
    for (;;) {
        size_t moved = 0;
        for (uint32_t i = 0; i < program->n_inputs; i++) {
            struct headrace_input *input = &run->inputs[i];
            const size_t storage = program->inputs[i].storage;
            const size_t left = (input->n - input->taken) / storage;
            /* Where no token is, there is no memory either. */
            const size_t n = left == 0 ? 0 : program->network->write(context, i, input->tokens + input->taken, left);
            input->taken += n * storage;
            moved += n;
        }
        const uint32_t status = program->network->run(context, TURN);
        for (uint32_t i = 0; i < program->n_outputs; i++) {
            size_t n;
            while ((n = program->network->read(context, i, buffer, TOKENS_AT_A_TIME)) != 0) {
                headrace_put(&run->outputs[i], &program->outputs[i], buffer, n);
                moved += n;
            }
        }
        if (status == HEADRACE_EXITED || status == HEADRACE_TRAPPED || (status == HEADRACE_IDLE && moved == 0)) {
            return status;
        }
    }
}

static int conclude(struct run *run, void *context, uint32_t status) {
    const struct headrace_main *program = run->program;
    const struct headrace_control *control = program->network->control(context);
    int result = HEADRACE_DONE;
    if (status == HEADRACE_TRAPPED) {
        /* Of a native it was told at once. */
        if (control->trap.code != HEADRACE_TRAP_NATIVE) {
            tell_trap(program, control);
        }
        return HEADRACE_WRONG;
    }
    if (status == HEADRACE_EXITED) {
        run->ended = true;
        return control->exit_status & 0xff;
    }
    for (uint32_t i = 0; i < program->n_inputs; i++) {
        if (run->inputs[i].taken < run->inputs[i].n) {
            fflush(stdout);
            fprintf(stderr, "error: the run stopped; %zu tokens of %s were left undelivered\n",
                    (run->inputs[i].n - run->inputs[i].taken) / program->inputs[i].storage, program->inputs[i].name);
            result = HEADRACE_STOPPED;
        }
    }
    return result;
}

static int run_program(struct run *run, int argc, char **argv) {
    const struct headrace_main *program = run->program;
    const struct headrace_host host = {run, print, headrace_print_real, native};
    const char *only = NULL;
    size_t widest = 8;
    int result = HEADRACE_DONE;
    if (wants_help(argc, argv)) {
        help(program, argv[0]);
        return HEADRACE_DONE;
    }
    for (int i = 1; i < argc; i++) {
        char name[NAME_ROOM];
        const char *value = value_of(argv[i], name);
        if (value != NULL) {
            result = option(run, name, value);
        } else if (i + 1 == argc || argv[i][0] != '-') {
            return usage("what is this? --help tells what there is: ", argv[i]);
        } else {
            result = option(run, argv[i], argv[i + 1]);
            i++;
        }
        if (result != HEADRACE_DONE) {
            return result;
        }
    }
    fill_in_rekey(run);
    /* The only output of which nothing is said goes to standard output. */
    for (uint32_t i = 0; i < program->n_outputs; i++) {
        widest = widest < program->outputs[i].storage ? program->outputs[i].storage : widest;
        if (run->outputs[i].form == HEADRACE_DROPPED) {
            only = only == NULL ? program->outputs[i].name : "";
        }
    }
    for (uint32_t i = 0; only != NULL && i < program->n_outputs; i++) {
        if (run->outputs[i].form == HEADRACE_DROPPED && strcmp(program->outputs[i].name, only) == 0) {
            run->outputs[i].form = HEADRACE_BYTES;
            run->outputs[i].file.file = stdout;
        }
    }
    uint8_t *buffer = headrace_memory(NULL, widest * TOKENS_AT_A_TIME);
    const size_t alignment = program->network->alignment < 16 ? 16 : program->network->alignment;
    uint8_t *memory = headrace_memory(NULL, program->network->size + alignment);
    void *context = memory + (alignment - (uintptr_t)memory % alignment);
    program->network->init(context, &host);
    result = conclude(run, context, drive(run, context, buffer));
    if (program->tell != NULL) {
        program->tell(context);
    }
    program->network->clear(context);
    free(memory);
    free(buffer);
    return result;
}

int headrace_main(int argc, char **argv, const struct headrace_main *program) {
    struct run run = {.program = program, .world = {.loops = 1, .frames = -1}};
    int result;
    bool keep, good = true;
    run.inputs = calloc(program->n_inputs + 1u, sizeof *run.inputs);
    run.outputs = calloc(program->n_outputs + 1u, sizeof *run.outputs);
    if (run.inputs == NULL || run.outputs == NULL) {
        return HEADRACE_WRONG;
    }
    headrace_watch_files();
    result = run_program(&run, argc, argv);
    if (result == HEADRACE_DONE && run.world.complaints != 0) {
        result = HEADRACE_WRONG;
    }
    /* A program that ends by itself has made what it made; what went wrong leaves no file. */
    keep = result == HEADRACE_DONE || run.ended || run.world.complaints != 0;
    for (uint32_t i = 0; i < program->n_outputs; i++) {
        good = headrace_finish_output(&run.outputs[i], keep) && good;
    }
    good = headrace_finish(&run.world.writer, keep) && good;
    good = headrace_finish(&run.world.video, keep) && good;
    for (uint32_t i = 0; i < program->n_inputs; i++) {
        free(run.inputs[i].tokens);
    }
    free(run.inputs);
    free(run.outputs);
    if (good) {
        struct headrace_file standard = {stdout, NULL, NULL};
        good = headrace_finish(&standard, keep);
    }
    return good || result != HEADRACE_DONE ? result : HEADRACE_WRONG;
}
