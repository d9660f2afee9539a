/*
 * The natives that published programs expect: an input file, an output file, a file to compare with, and a display without a
 * screen, which writes pictures to a file.
 */
#include "headrace_main.h"

#include <stdlib.h>

/* A file that is read when it is first asked for. */
struct content {
    uint8_t *bytes;
    size_t n;
    size_t at;
    bool there;
};

static struct content source, golden;
static uint32_t loops_done;
static unsigned long pictures_compared;
static int64_t video_width, video_height;
static const char *video_colours;
static char told[256];

static bool open_content(struct content *content, const char *path, const char *option, const char **error) {
    if (content->there) {
        return true;
    }
    if (path == NULL) {
        snprintf(told, sizeof told, "the program reads a file; %s FILE names it", option);
        *error = told;
        return false;
    }
    content->bytes = headrace_read(path, &content->n);
    content->there = content->bytes != NULL;
    if (!content->there) {
        *error = "its file cannot be read";
    }
    return content->there;
}

static void complain(struct headrace_world *world, int *exit_status) {
    fflush(stdout);
    fprintf(stderr, "warning: %s\n", told);
    world->complaints++;
    *exit_status = HEADRACE_WRONG;
}

/* Compares what comes next in the golden file. False: it differs, which `told` says. */
static bool compare(const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (golden.at + i >= golden.n) {
            snprintf(told, sizeof told, "the golden file ends after %zu bytes and more came", golden.n);
            return false;
        }
        if (bytes[i] != golden.bytes[golden.at + i]) {
            snprintf(told, sizeof told, "byte %zu is 0x%02x and the golden file has 0x%02x", golden.at + i, bytes[i],
                     golden.bytes[golden.at + i]);
            return false;
        }
    }
    golden.at += n;
    return true;
}

/* Y4M has no red, green and blue: luma and chroma of ITU-R BT.601 in studio range, rounded. */
static void write_rgb(FILE *file, const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t n) {
    static const int FACTORS[3][4] = {{66, 129, 25, 16}, {-38, -74, 112, 128}, {112, -94, -18, 128}};
    for (int plane = 0; plane < 3; plane++) {
        for (size_t i = 0; i < n; i++) {
            const int *f = FACTORS[plane];
            const int sum = f[0] * r[i] + f[1] * g[i] + f[2] * b[i] + 128;
            const int value = (sum < 0 ? -((-sum + 255) / 256) : sum / 256) + f[3];
            putc(value < 0 ? 0 : value > 255 ? 255 : value, file);
        }
    }
}

/* Width and height of a plane. */
static size_t plane_size(const char *colours, int plane, int64_t width, int64_t height) {
    const bool half = strcmp(colours, "420jpeg") == 0 && plane > 0;
    return half ? (size_t)((width + 1) / 2) * (size_t)((height + 1) / 2) : (size_t)width * (size_t)height;
}

static bool check_picture(const struct headrace_argument *planes, const char *colours, int64_t width, int64_t height,
                          const char **error) {
    const int n = strcmp(colours, "mono") == 0 ? 1 : 3;
    for (int plane = 0; plane < n; plane++) {
        if (width < 0 || height < 0 || plane_size(colours, plane, width, height) > planes[plane].n_bytes) {
            snprintf(told, sizeof told, "plane %d of a picture of %lldx%lld does not fit a list of %lu", plane,
                     (long long)width, (long long)height, (unsigned long)planes[plane].n_bytes);
            *error = told;
            return false;
        }
    }
    return true;
}

static void show(struct headrace_world *world, const struct headrace_argument *planes, const char *colours, int64_t width,
                 int64_t height, const char **error) {
    FILE *file = world->video.file;
    const char *name = strcmp(colours, "rgb") == 0 ? "444" : colours;
    const int n = strcmp(colours, "mono") == 0 ? 1 : 3;
    if (!check_picture(planes, colours, width, height, error) || file == NULL) {
        return;
    }
    if (world->is_y4m) {
        if (video_colours == NULL) {
            fprintf(file, "YUV4MPEG2 W%lld H%lld F25:1 Ip A1:1 C%s\n", (long long)width, (long long)height, name);
            video_colours = name;
            video_width = width;
            video_height = height;
        } else if (strcmp(video_colours, name) != 0 || video_width != width || video_height != height) {
            *error = "pictures of several sizes do not go into one Y4M file; --video FILE.yuv takes them";
            return;
        }
        fputs("FRAME\n", file);
        if (strcmp(colours, "rgb") == 0) {
            write_rgb(file, planes[0].bytes, planes[1].bytes, planes[2].bytes, (size_t)width * (size_t)height);
            return;
        }
    }
    for (int plane = 0; plane < n; plane++) {
        const size_t size = plane_size(colours, plane, width, height);
        if (fwrite(planes[plane].bytes, 1, size, file) != size) {
            *error = "the file of --video cannot be written";
        }
    }
}

static void compare_picture(struct headrace_world *world, const struct headrace_argument *planes, const char *colours,
                            const char *names, const char **error, int *exit_status) {
    const int64_t width = planes[3].scalar, height = planes[4].scalar;
    if (world->golden == NULL) {
        return;
    }
    if (!open_content(&golden, world->golden, "--golden", error) ||
        !check_picture(planes, colours, width, height, error)) {
        return;
    }
    for (int plane = 0; plane < 3; plane++) {
        const size_t row = (size_t)(strcmp(colours, "420jpeg") == 0 && plane > 0 ? (width + 1) / 2 : width);
        const size_t size = plane_size(colours, plane, width, height);
        const size_t before = golden.at;
        if (!compare(planes[plane].bytes, size)) {
            size_t at = 0;
            while (at < size && before + at < golden.n && planes[plane].bytes[at] == golden.bytes[before + at]) {
                at++;
            }
            if (before + at < golden.n && row != 0) {
                const size_t n = strlen(told);
                snprintf(told + n, sizeof told - n, " (picture %lu, plane %c, column %zu, row %zu)", pictures_compared,
                         names[plane], at % row, at / row);
            }
            complain(world, exit_status);
            return;
        }
    }
    pictures_compared++;
}

static void find_bytes(struct headrace_world *world, const struct headrace_argument *a, const char **error, int *exit_status) {
    const int64_t n = a[1].scalar;
    if (!open_content(&golden, world->golden, "--golden", error)) {
        return;
    }
    if (n < 0 || n > (int64_t)a[0].n_bytes) {
        snprintf(told, sizeof told, "%lld bytes are wanted of a list of %lu", (long long)n, (unsigned long)a[0].n_bytes);
        *error = told;
        return;
    }
    while (n != 0) {
        if (golden.n - golden.at < (size_t)n) {
            snprintf(told, sizeof told, "the golden file has no %lld bytes like these from byte %zu", (long long)n, golden.at);
            complain(world, exit_status);
            return;
        }
        const bool equal = memcmp(golden.bytes + golden.at, a[0].bytes, (size_t)n) == 0;
        golden.at += (size_t)n;
        if (equal) {
            return;
        }
        if (a[2].scalar != 0) {
            printf("%lld \n", (long long)(uint8_t)a[2].scalar);
        }
    }
}

static void compare_bytes(struct headrace_world *world, const uint8_t *bytes, int64_t n, size_t room, const char **error,
                          int *exit_status) {
    if (!open_content(&golden, world->golden, "--golden", error)) {
        return;
    }
    if (n < 0 || (size_t)n > room) {
        snprintf(told, sizeof told, "%lld bytes are wanted of a list of %zu", (long long)n, room);
        *error = told;
    } else if (!compare(bytes, (size_t)n)) {
        complain(world, exit_status);
    }
}

static int64_t of_source(struct headrace_world *world, const char *name, struct headrace_argument *a, const char **error,
                         int *exit_status, bool *known) {
    if (strcmp(name, "getNbLoop") == 0) {
        return world->loops == 0 ? INT32_MAX : world->loops;
    }
    if (strcmp(name, "isMaxLoopsReached") == 0) {
        return world->loops != 0 && loops_done >= world->loops;
    }
    if (strcmp(name, "decrementNbLoops") == 0) {
        loops_done += loops_done != UINT32_MAX;
        return 0;
    }
    if (strcmp(name, "close") == 0) {
        return 0;
    }
    if (strcmp(name, "exit") == 0) {
        *exit_status = (int)(a[0].scalar & 0xff);
        return 0;
    }
    if (!open_content(&source, world->source, "--source", error)) {
        return 0;
    }
    if (strcmp(name, "init") == 0) {
        source.at = 0;
        loops_done = 0;
        return 0;
    }
    if (strcmp(name, "rewind") == 0) {
        source.at = 0;
        return 0;
    }
    if (strcmp(name, "sizeOfFile") == 0) {
        if (source.n > INT32_MAX) {
            *error = "the input file is larger than `source_sizeOfFile` can say";
        }
        return (int64_t)source.n;
    }
    if (strcmp(name, "readByte") == 0) {
        source.at = source.at < source.n ? source.at : 0;
        if (source.n == 0) {
            *error = "the input file is empty";
            return 0;
        }
        return source.bytes[source.at++];
    }
    if (strcmp(name, "readNBytes") == 0) {
        const int64_t n = (int64_t)(uint32_t)a[1].scalar;
        if (n > (int64_t)a[0].n_bytes) {
            snprintf(told, sizeof told, "%lld bytes do not fit a list of %lu", (long long)n, (unsigned long)a[0].n_bytes);
            *error = told;
        } else if ((size_t)n > source.n - source.at) {
            snprintf(told, sizeof told, "%lld bytes are wanted of the input file, of which %zu are left", (long long)n,
                     source.n - source.at);
            *error = told;
        } else {
            memcpy(a[0].bytes, source.bytes + source.at, (size_t)n);
            source.at += (size_t)n;
        }
        return 0;
    }
    *known = false;
    return 0;
}

static void write_byte(struct headrace_world *world, int64_t byte, const char **error) {
    if (world->writer.file == NULL) {
        *error = "the program writes a file; --writer FILE names it";
    } else if (putc((int)(byte & 0xff), world->writer.file) == EOF) {
        *error = "the file of --writer cannot be written";
    }
}

/* Natives that do nothing where there is no screen, no loudspeaker and nobody who clicks. */
static bool is_nothing(const char *name) {
    static const char *const NAMES[] = {
        "Writer_close", "Writer_init", "audio_bufferFull", "audio_close", "audio_initAudioFormat", "audio_play",
        "compare_close", "displayRGB444_init", "displayRGB_getEvent", "displayRGB_init", "displayYUV444_init",
        "displayYUV_getEvent", "displayYUV_init", "fpsPrintInit", "fpsPrintNewPicDecoded", "getXY", "initDisplayGray",
        "initDisplayRGB", "print_cyclecount", "throw_away",
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strcmp(name, NAMES[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool headrace_world_native(struct headrace_world *world, const char *name, struct headrace_argument *a, int64_t *result,
                           const char **error, int *exit_status) {
    bool known = true;
    *result = 0;
    if (is_nothing(name)) {
        return true;
    }
    if (strncmp(name, "source_", 7) == 0) {
        *result = of_source(world, name + 7, a, error, exit_status, &known);
        return known;
    }
    if (strcmp(name, "Writer_write") == 0) {
        write_byte(world, a[0].scalar, error);
    } else if (strcmp(name, "audio_receive") == 0) {
        if (world->writer.file != NULL) {
            write_byte(world, a[0].scalar, error);
        }
    } else if (strcmp(name, "compare_init") == 0) {
        golden.at = 0;
        open_content(&golden, world->golden, "--golden", error);
    } else if (strcmp(name, "compare_byte") == 0 || strcmp(name, "compare_readByte") == 0) {
        const uint8_t byte = (uint8_t)a[0].scalar;
        compare_bytes(world, &byte, 1, 1, error, exit_status);
    } else if (strcmp(name, "compare_NBytes") == 0) {
        compare_bytes(world, a[0].bytes, a[1].scalar, a[0].n_bytes, error, exit_status);
    } else if (strcmp(name, "compare_NBytesNext") == 0) {
        find_bytes(world, a, error, exit_status);
    } else if (strcmp(name, "compareYUV_init") == 0 || strcmp(name, "compareRGB_init") == 0) {
        golden.at = 0;
        pictures_compared = 0;
    } else if (strcmp(name, "compareYUV_comparePicture") == 0) {
        compare_picture(world, a, "420jpeg", "YUV", error, exit_status);
    } else if (strcmp(name, "compareRGB_comparePicture") == 0) {
        compare_picture(world, a, "rgb", "RGB", error, exit_status);
    } else if (strcmp(name, "displayYUV_displayPicture") == 0) {
        show(world, a, "420jpeg", a[3].scalar, a[4].scalar, error);
    } else if (strcmp(name, "displayYUV444_displayPicture") == 0) {
        show(world, a, "444", a[3].scalar, a[4].scalar, error);
    } else if (strncmp(name, "displayRGB444_displayPicture", 28) == 0 || strcmp(name, "displayRGB_displayPicture") == 0 ||
               strcmp(name, "displayRGB_displayRect") == 0) {
        show(world, a, "rgb", a[3].scalar, a[4].scalar, error);
    } else if (strcmp(name, "displayGray") == 0) {
        show(world, a + 2, "mono", a[0].scalar, a[1].scalar, error);
    } else if (strcmp(name, "displayRGB") == 0) {
        show(world, a + 2, "rgb", a[0].scalar, a[1].scalar, error);
    } else if (strcmp(name, "displayYUV_getFlags") == 0 || strcmp(name, "displayRGB_getFlags") == 0) {
        *result = 1 | 2; /* ready for a picture, and enabled */
    } else if (strcmp(name, "displayYUV_getNbFrames") == 0 || strcmp(name, "displayRGB_getNbFrames") == 0) {
        *result = world->frames;
    } else {
        known = false;
    }
    return known;
}
