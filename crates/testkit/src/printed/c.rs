//! Programs in C around networks in C and in LLVM IR, which have the same table of functions.

use super::{Language, One, refused};
use headrace_targets::Options;
use headrace_targets::c::{self, RUNTIME};
use headrace_targets::llvm::project::{CALLS, emit};
use headrace_targets::project::Files;
use headrace_targets::toolchain::Step;
use std::fmt::Write as _;

pub(super) const HERE: Language = c_of("c");
pub(super) const AARCH64: Language = c_of("c-aarch64");
pub(super) const ARM: Language = c_of("c-arm");
pub(super) const RISCV64: Language = c_of("c-riscv64");

/// Networks in C with a toolchain.
const fn c_of(name: &'static str) -> Language {
    Language {
        name,
        files: in_c,
        build: |tools| vec![compiled(tools, &[])],
        run: |toolchain, tools| toolchain.running(tools, "./networks"),
    }
}

pub(super) const LLVM: Language = Language {
    name: "llvm",
    files: in_modules,
    build: |tools| vec![compiled(tools, &["-Wno-override-module"])],
    run: |_, _| Step::new(["./networks"]),
};

/// What every program has beside its networks.
const HARNESS: &str = r#"
#include <stdio.h>
#include <stdlib.h>

struct stream {
    const uint8_t *bytes;
    size_t n_bytes, token_bytes;
};

struct collected {
    uint8_t *bytes;
    size_t n_bytes;
};

static void *sure(void *memory) {
    if (memory == NULL) {
        exit(3);
    }
    return memory;
}

static void collect(struct collected *to, const void *bytes, size_t n_bytes) {
    if (n_bytes > 0) {
        to->bytes = sure(realloc(to->bytes, to->n_bytes + n_bytes));
        memcpy(to->bytes + to->n_bytes, bytes, n_bytes);
        to->n_bytes += n_bytes;
    }
}

static void print(void *user, const char *text, size_t bytes) {
    collect(user, text, bytes);
}

static void print_real(void *user, double value, int bits) {
    (void)user;
    (void)value;
    (void)bits;
}

static void show(struct collected *what) {
    for (size_t i = 0; i < what->n_bytes; i++) {
        printf("%02x", what->bytes[i]);
    }
    printf("\n");
    free(what->bytes);
}

enum { AT_ONCE = 40, MOST_PORTS = 64 };

static void run(unsigned at, const struct headrace_network *network, const struct stream *inputs, unsigned n_inputs,
                const size_t *outputs, unsigned n_outputs) {
    struct collected made[MOST_PORTS] = {{NULL, 0}}, printed = {NULL, 0};
    const struct headrace_host host = {&printed, print, print_real, NULL};
    const size_t room = (network->size + network->alignment - 1) / network->alignment * network->alignment;
    void *context = sure(aligned_alloc(network->alignment, room));
    size_t written[MOST_PORTS] = {0}, moved;
    uint32_t status;
    if (n_inputs > MOST_PORTS || n_outputs > MOST_PORTS) {
        exit(4);
    }
    network->init(context, &host);
    do {
        moved = 0;
        for (unsigned port = 0; port < n_inputs; port++) {
            /* Elements stand where those of any size may. */
            const size_t left = inputs[port].n_bytes - written[port];
            void *tokens = sure(malloc(left + 1));
            size_t n;
            memcpy(tokens, inputs[port].bytes + written[port], left);
            n = network->write(context, port, tokens, left / inputs[port].token_bytes);
            written[port] += n * inputs[port].token_bytes;
            moved += n;
            free(tokens);
        }
        status = network->run(context, 2000000);
        for (unsigned port = 0; port < n_outputs; port++) {
            void *tokens = sure(malloc(AT_ONCE * outputs[port]));
            const size_t n = network->read(context, port, tokens, AT_ONCE);
            collect(&made[port], tokens, n * outputs[port]);
            moved += n;
            free(tokens);
        }
    } while (moved != 0 && status == HEADRACE_IDLE);
    for (unsigned port = 0; port < n_outputs; port++) {
        printf("%u %u ", at, port);
        show(&made[port]);
    }
    printf("%u printed ", at);
    show(&printed);
    printf("%u ended %u\n", at, (unsigned)status);
    network->clear(context);
    free(context);
}
"#;

fn prefix(at: usize) -> String {
    format!("case_{at}")
}

/// The function that runs a network.
fn runner(at: usize, one: &One) -> String {
    let (mut bytes, mut inputs, mut outputs) = (String::new(), String::new(), String::new());
    for (number, port) in one.network.inputs.iter().enumerate() {
        let tokens = one.input(number);
        let items: String = tokens.iter().map(|byte| format!("{byte},")).collect();
        // C has no empty arrays.
        let items = if items.is_empty() { "0".to_owned() } else { items };
        let _ = writeln!(bytes, "    static const uint8_t in_{number}[] = {{{items}}};");
        let _ = write!(inputs, "{{in_{number}, {}, {}}}, ", tokens.len(), port.ty.storage_bytes());
    }
    for port in &one.network.outputs {
        let _ = write!(outputs, "{}, ", port.ty.storage_bytes());
    }
    let (n_inputs, n_outputs) = (one.network.inputs.len(), one.network.outputs.len());
    format!(
        "\nstatic void run_{at}(void) {{\n{bytes}    const struct stream inputs[] = {{{inputs}{{NULL, 0, 1}}}};\n    \
         const size_t outputs[] = {{{outputs}0}};\n    run({at}, &{}_network, inputs, {n_inputs}, outputs, {n_outputs});\n}}\n",
        prefix(at)
    )
}

/// A program of networks, each of which this prints with a prefix.
fn program(all: &[One], print: impl Fn(&One, &str) -> Result<Files, String>) -> Result<Files, String> {
    let mut program = Files::new();
    let (mut includes, mut functions, mut calls) = (String::new(), String::new(), String::new());
    let mut sources = String::from("main.c\n");
    for (at, one) in all.iter().enumerate() {
        let files = print(one, &prefix(at))?;
        for path in files.keys().filter(|path| path.ends_with(".c") || path.ends_with(".ll")) {
            let _ = writeln!(sources, "{path}");
        }
        program.extend(files);
        let _ = writeln!(includes, "#include \"{}.h\"", prefix(at));
        let _ = writeln!(calls, "    run_{at}();");
        functions.push_str(&runner(at, one));
    }
    let main = format!("{includes}{HARNESS}{functions}\nint main(void) {{\n{calls}    return 0;\n}}\n");
    program.insert("main.c".into(), main.into_bytes());
    program.insert("sources".into(), sources.into_bytes());
    Ok(program)
}

fn in_c(all: &[One]) -> Result<Files, String> {
    program(all, |one, prefix| {
        let options = Options { prefix: Some(prefix.to_owned()), ..one.options() };
        c::emit(&one.network, &options.of_c()).map(|made| made.files).map_err(|problems| refused(one, &problems))
    })
}

fn in_modules(all: &[One]) -> Result<Files, String> {
    let mut files = program(all, |one, prefix| {
        emit(&one.network, prefix, &one.options()).map_err(|problems| refused(one, &problems))
    })?;
    for (path, text) in RUNTIME.iter().chain(CALLS) {
        files.insert((*path).to_owned(), text.as_bytes().to_vec());
    }
    if let Some(sources) = files.get_mut("sources") {
        sources.extend(b"headrace_calls.c\n");
    }
    Ok(files)
}

/// All sources at once, without a warning.
fn compiled(tools: &[String], more: &[&str]) -> Step {
    let flags = ["-std=c11", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"];
    let words = [tools[0].as_str()].into_iter().chain(flags).chain(more.iter().copied());
    Step::new(words.chain(["-o", "networks", "@sources", "-lm"]))
}
