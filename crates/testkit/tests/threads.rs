//! Generated networks on POSIX threads, under the thread sanitizer: no two threads touch the same memory without an order
//! between them, and what comes out is what one thread gives.

#[path = "sanitizer/mod.rs"]
mod sanitizer;

use headrace_targets::c;
use headrace_testkit::differential::{mapping, program};
use headrace_testkit::generate::{Cuts, Knobs, generate};
use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;

const SEEDS: std::ops::Range<u64> = 300..312;

/// Runs a network in one thread and in several, on the same made-up tokens, and compares.
const MAIN: &str = r#"
#include "headrace_threads.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct headrace_network net_network;
extern const struct headrace_partitions net_partitions;

static void *made(void) {
    void *context = aligned_alloc(64, (net_network.size + 63) / 64 * 64);
    if (context != NULL) {
        net_network.init(context, NULL);
    }
    return context;
}

int main(void) {
    void *const one = made();
    void *const many = made();
    static unsigned char in[4096], a[65536], b[65536];
    uint32_t x = 1;
    size_t total = 0;
    if (one == NULL || many == NULL) {
        return 2;
    }
    for (int round = 0; round < 20; round++) {
        for (uint32_t port = 0; port < N_INPUTS; port++) {
            for (size_t at = 0; at < sizeof in; at++) {
                x = x * 1664525u + 1013904223u;
                in[at] = (unsigned char)(x >> 24);
            }
            if (net_network.write(one, port, in, 40) != net_network.write(many, port, in, 40)) {
                printf("round %d: input %u takes another number of tokens\n", round, (unsigned)port);
                return 1;
            }
        }
        const uint32_t first = net_network.run(one, UINT64_MAX);
        const int other = headrace_run_threads(&net_partitions, many, UINT64_MAX);
        if ((int)first != other) {
            printf("round %d: %u and %d\n", round, (unsigned)first, other);
            return 1;
        }
        for (uint32_t port = 0; port < N_OUTPUTS; port++) {
            memset(a, 0, sizeof a);
            memset(b, 0, sizeof b);
            const size_t n = net_network.read(one, port, a, 512);
            if (n != net_network.read(many, port, b, 512) || memcmp(a, b, sizeof a) != 0) {
                printf("round %d: output %u differs\n", round, (unsigned)port);
                return 1;
            }
            total += n;
        }
    }
    printf("%zu tokens\n", total);
    free(one);
    free(many);
    return 0;
}
"#;

#[test]
fn threads_never_touch_the_same_memory_unordered() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let Some(compiler) = sanitizer::compiler(folder.path()) else {
        eprintln!("not run: no compiler with a thread sanitizer");
        return;
    };
    let mut tokens = 0u64;
    for seed in SEEDS {
        let case = generate(seed, &Knobs::default());
        let network = program::elaborate(&case, &Cuts::default()).unwrap_or_else(|verdict| panic!("{verdict}"));
        let options = c::Options {
            prefix: Some("net".to_owned()),
            fifo_tokens: if seed % 2 == 0 { 2 } else { 64 },
            mapping: Some(Arc::new(mapping::random(&network, seed))),
            ..c::Options::default()
        };
        let emission = c::emit(&network, &options).unwrap_or_else(|problems| panic!("seed {seed}: {problems:?}"));
        let files = emission.files.iter().map(|(name, text)| (name.as_str(), text.as_slice()));
        let host = c::RUNTIME_THREADS.iter().map(|(name, text)| (*name, text.as_bytes()));
        for (name, text) in files.chain(host) {
            std::fs::write(folder.path().join(name), text).expect("the folder is writable");
        }
        let mut main = String::new();
        let _ =
            writeln!(main, "#define N_INPUTS {}u\n#define N_OUTPUTS {}u", network.inputs.len(), network.outputs.len());
        main.push_str(MAIN);
        std::fs::write(folder.path().join("main.c"), main).expect("the folder is writable");
        let flags = ["-std=c11", "-g", "-O1", "-w", "-fsanitize=thread", "-pthread", "-ffp-contract=off"];
        let sources = ["main.c", "net.c", "headrace_threads.c", "-o", "both", "-lm"];
        sanitizer::run(folder.path(), Command::new(compiler).args(flags).args(sources))
            .unwrap_or_else(|text| panic!("{text}"));
        let said = sanitizer::run(folder.path(), &mut Command::new(folder.path().join("both")));
        let said = said.unwrap_or_else(|text| panic!("seed {seed}: {text}"));
        tokens += said.split_whitespace().next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    }
    assert!(tokens > 0, "nothing came out of any network");
}
