//! Fused code with helpers, under the thread sanitizer where there is one: loops that are divided, and chains that run ahead.

#[path = "sanitizer/mod.rs"]
mod sanitizer;

use headrace_frontend::{Session, SourceKind, SourceProvider, SourceText, Top, elaborate};
use headrace_targets::automata::automaton_of_operation;
use headrace_targets::c;
use headrace_testkit::peers::library::Shipped;
use std::path::Path;
use std::process::Command;

/// A hash of four bytes, in steps that need each other.
const FOLD: &str = "
actor Fold() uint(size=32) InputSize, uint(size=8) Input ==> uint(size=8) Output :
    uint(size=32) sum := 1;
    uint(size=32) left;
    bool last;

    chunk: action InputSize:[n] ==> do left := n & 0x7fffffff; last := n >= 0x80000000; end

    words: action Input:[x] repeat 4 ==>
    guard left >= 4
    do
        sum := (sum ^ (x[0] << 24 | x[1] << 16 | x[2] << 8 | x[3])) * 16777619 + 1;
        left := left - 4;
    end

    byte: action Input:[x] ==>
    guard left > 0, left < 4
    do
        sum := (sum ^ x) * 16777619 + 1;
        left := left - 1;
    end

    more: action ==> guard left = 0, not last end

    finish: action ==> Output:[d] repeat 4
    guard left = 0, last
    var List(type:uint(size=8), size=4) d
    do
        foreach int i in 0 .. 3 do d[i] := (sum >> 8 * i) & 0xff; end
        sum := 1;
    end

    schedule fsm idle :
        idle (chunk) --> bytes;
        bytes (words) --> bytes;
        bytes (byte) --> bytes;
        bytes (more) --> idle;
        bytes (finish) --> idle;
    end
end
";

/// The halves of a message side by side, and what comes of both: two chains.
const TREE: &str = "ctl.hash.hash_tree.HashTree(Hash = Fold, DIGEST_BYTES = 4, ARITY = 2)";

/// Runs a message alone and with helpers of all kinds, and compares.
const MAIN: &str = r#"
#include "net.c"
#include "headrace_helpers.h"

#include <stdio.h>

enum { BYTES = 120000, LAST = 1u << 31 };

static uint8_t in[BYTES], alone[2 * BYTES], helped[2 * BYTES];
static uint32_t n_parts_done, n_ahead;
static bool spoils;

/* The whole message; how many bytes came out. */
static size_t message(const struct headrace_helpers *helpers, uint8_t *out) {
    static struct net context;
    const uint32_t size = (uint32_t)BYTES | (uint32_t)LAST;
    size_t room = 2 * BYTES, sent;
    uint32_t status;
    net_network.init(&context, NULL);
    net_network.help(&context, helpers);
    if (net_network.write(&context, 0, &size, 1) != 1) {
        return 0;
    }
    sent = net_network.stream(&context, 1, in, BYTES, OUTPUT, out, &room, &status);
    return sent == BYTES && (status == HEADRACE_IDLE || status == HEADRACE_DRY) ? room : 0;
}

/* One thread that is its own helper: parts from the last to the first. */
static void backwards(const struct headrace_helpers *helpers, uint32_t n_parts, void (*work)(void *job, uint32_t part), void *job) {
    (void)helpers;
    while (n_parts != 0) {
        work(job, --n_parts);
        n_parts_done++;
#ifdef AHEAD
        if (n_parts == 1) {
            struct net_ahead *const ahead = &((struct net_helped *)job)->ahead;
            for (size_t at = 0; at < sizeof ahead->claims / sizeof *ahead->claims; at++) {
                n_ahead += ahead->claims[at].state == 4;
                if (spoils && ahead->claims[at].state == 4) {
                    memset(&ahead->claims[at].before, 0x55, sizeof ahead->claims[at].before);
                    memset(&ahead->claims[at].after, 0x55, sizeof ahead->claims[at].after);
                }
            }
        }
#endif
    }
}

static void rest(const struct headrace_helpers *helpers) {
    (void)helpers;
}

static int compare(const char *how, const struct headrace_helpers *helpers, size_t n) {
    memset(helped, 0, sizeof helped);
    if (message(helpers, helped) != n || memcmp(alone, helped, sizeof alone) != 0) {
        printf("%s: another result\n", how);
        return 1;
    }
    return 0;
}

int main(void) {
    const struct headrace_helpers own = {NULL, 2, 64, backwards, rest};
    const size_t n = message(NULL, alone);
    int failed = n == 0;
    for (size_t at = 0; at < BYTES; at++) {
        in[at] = (uint8_t)(at * 7 + (at >> 8));
    }
    (void)message(NULL, alone);
    failed += compare("backwards", &own, n);
    printf("%u parts, %u ahead\n", (unsigned)n_parts_done, (unsigned)n_ahead);
    spoils = true;
    failed += compare("what helpers began with is not there", &own, n);
    for (uint32_t round = 0; round < 60; round++) {
        struct headrace_helpers threads = headrace_threads(1 + round % 4);
        threads.start_cycles = 64;
        failed += compare("threads", &threads, n);
    }
    return failed;
}
"#;

/// The library, and [`FOLD`].
struct Sources<'s>(&'s Shipped);

impl SourceProvider for Sources<'_> {
    fn find(&self, name: &str) -> Result<Option<SourceText>, String> {
        match name {
            "Fold" => Ok(Some(SourceText { display: "Fold.cal".into(), text: FOLD.into(), kind: SourceKind::Cal })),
            _ => self.0.find(name),
        }
    }

    fn similar(&self, name: &str) -> Vec<String> {
        self.0.similar(name)
    }

    fn places(&self) -> Vec<String> {
        self.0.places()
    }
}

/// What the program says of a network that is fed like an operation of the library: parts that were run, and loops ahead.
fn helped(text: &str, set: &str, operation: &str, define: &[&str]) -> (u32, u32) {
    let shipped = Shipped::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the library is right");
    let spec = shipped.library.operation(set, operation).expect("the library has it");
    let top = Top::Expression(text.to_owned());
    let network = elaborate(&mut Session::new(), &Sources(&shipped), &top, &[]).expect("it elaborates");
    let automaton = automaton_of_operation(spec, &network).expect("it has an automaton");
    let options = c::Options { prefix: Some("net".to_owned()), ..c::Options::default() };
    let made = c::emit_with(&network, Some(&automaton), &options).expect("it can be printed");
    assert!(made.fused);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let files = made.files.iter().map(|(name, text)| (name.as_str(), text.as_slice()));
    let helpers = c::RUNTIME_HELPERS.iter().map(|(name, text)| (*name, text.as_bytes()));
    for (name, text) in files.chain(helpers).chain([("main.c", MAIN.as_bytes())]) {
        std::fs::write(folder.path().join(name), text).expect("the folder is writable");
    }
    let sanitized = sanitizer::compiler(folder.path());
    let mut command = Command::new(sanitized.unwrap_or("cc"));
    command.args(["-std=c11", "-g", "-O1", "-w", "-pthread", "-ffp-contract=off"]).args(define);
    command.args(sanitized.map(|_| "-fsanitize=thread"));
    command.args(["main.c", "headrace_helpers.c", "-o", "helped", "-lm"]);
    sanitizer::run(folder.path(), &mut command).unwrap_or_else(|text| panic!("{text}"));
    let said = sanitizer::run(folder.path(), &mut Command::new(folder.path().join("helped")));
    let said = said.unwrap_or_else(|text| panic!("{text}"));
    let mut numbers = said.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[test]
fn iterations_that_do_not_need_each_other_are_divided() {
    let (parts, _) = helped("ctl.codec.base64.Base64Encode", "base64", "encode", &["-DOUTPUT=1"]);
    assert!(parts > 2, "{parts} parts");
}

#[test]
fn chains_run_ahead_and_count_only_where_they_began_with_what_is_there() {
    let (parts, ahead) = helped(TREE, "sha256-tree4", "hash", &["-DOUTPUT=0", "-DAHEAD"]);
    assert_eq!((parts, ahead), (2, 1));
}
