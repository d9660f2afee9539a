//! Cores with the LWC hardware API: its ports around the network of a core, messages as files, and a bench that plays them.

use super::litex::Wrapper;
use super::project::{Language, Part, head};
use crate::Options;
use crate::project::Files;
use headrace_ir::Network;
use headrace_library::lwc::{Core, Script};
use headrace_source::Diagnostic;

/// The top module, which the API names.
const TOP: &str = "LWC";

/// What a language needs for the API.
pub(crate) struct Texts {
    /// The top module around CORE, with gaps for the port for keys.
    pub(crate) top: &'static str,
    /// The bench.
    pub(crate) bench: &'static str,
    /// The bench for cocotb, with a gap for the sources; empty where there is none.
    pub(crate) cocotb: &'static str,
    /// What fills the gaps where there is that port: connections, and what is said of signals that nobody reads.
    pub(crate) with_keys: [&'static str; 2],
    /// The same where there is none.
    pub(crate) without_keys: [&'static str; 2],
}

impl Language {
    /// A folder for a core with the LWC hardware API: `network` is [`Core::network`] of the core, `script` are messages for its bench.
    ///
    /// # Errors
    ///
    /// What has no place in hardware, with where it stands.
    pub(crate) fn of_lwc(
        &self,
        title: &str,
        core: &Core<'_>,
        network: &Network,
        script: &Script,
        options: &Options,
    ) -> Result<Files, Vec<Diagnostic>> {
        let design = super::project::design(network, options)?;
        let about = format!("{} LWC hardware API, words of {} bits.", core.about(), script.word_bits());
        let mut part = Part::of(&design, "", about);
        let head = head(options);
        let mut files = (self.modules)(&design, &head, &part.folder);
        let inner = std::mem::replace(&mut part.top, TOP.to_owned());
        part.modules.push(TOP.to_owned());
        part.is_timed = false;
        part.litex = Wrapper::of_lwc(script.word_bits());
        let (comment, ending, texts) = (self.comment, self.ending, &self.lwc);
        let [ports, unused] = if matches!(core, Core::Aead { .. }) { texts.with_keys } else { texts.without_keys };
        let bits = script.word_bits();
        let top = (bits - 1).to_string();
        let top = texts
            .top
            .replace("WORD_TOP", &top)
            .replace("CORE", &inner)
            .replace("SDI_PORTS\n", ports)
            .replace("SDI_UNUSED\n", unused);
        files.insert(format!("rtl/{TOP}.{ending}"), format!("{comment} {head}\n{top}").into_bytes());
        let script_files = script.files(&head);
        let most_lines = script_files.iter().map(|(_, text)| text.lines().count()).max().unwrap_or(0);
        let bench = texts.bench.replace("WORDS", &most_lines.to_string());
        let bench = bench.replace("WORD_BITS_OF_CORE", &bits.to_string());
        files.insert(format!("tb/{TOP}_tb.{ending}"), format!("{comment} {head}\n{bench}").into_bytes());
        for (name, text) in script_files {
            part.tokens.push(format!("kat/{name}"));
            files.insert(format!("kat/{name}"), text.into_bytes());
        }
        for (name, text) in script.pieces().into_iter().flat_map(|pieces| pieces.files(&head)) {
            files.insert(format!("kat/pieces/{name}"), text.into_bytes());
        }
        if !texts.cocotb.is_empty() {
            let sources: Vec<String> = part.sources(ending).iter().map(|source| format!("\"{source}\"")).collect();
            let cocotb = texts.cocotb.replace("[SOURCES]", &format!("[{}]", sources.join(", ")));
            files.insert(format!("test/test_{TOP}.py"), format!("# {head}\n{cocotb}").into_bytes());
        }
        let text = format!(
            "## `{TOP}`\n\n{about} The top is in `rtl/{TOP}.{ending}`, around the network `{network}`; `lwc.core` describes it to FuseSoC, `lwc_litex.py` makes a module for LiteX of it.\n\n{api}\
             \n`kat` holds {n} messages in the form that the benches of the API read.{cut}{cocotb}\n",
            about = part.about,
            network = network.name,
            api = API.replace("WORD_BITS", &bits.to_string()),
            n = script.messages(),
            cut = if script.pieces().is_some() { PIECES } else { "" },
            cocotb = if texts.cocotb.is_empty() { "" } else { COCOTB },
        );
        self.frame(title, &text, &[part], options, &mut files);
        Ok(files)
    }
}

/// What a README says of messages in pieces, and of the bench for cocotb.
const PIECES: &str = " Strings may come in several segments of whole blocks: `kat/pieces` has messages that do, and others cut within a block, whose status is \
                      failure.";
const COCOTB: &str = " `python3 test/test_LWC.py` plays them by cocotb 2; `KAT` names another folder of messages.";

/// The ports, for a README.
const API: &str = "\
| port | bits | direction | |
| --- | ---: | --- | --- |
| `clk` | 1 | in | all registers change at its rising edge |
| `rst` | 1 | in | active high; its release must be synchronous to `clk` |
| `pdi_data`, `pdi_valid`, `pdi_ready` | WORD_BITS, 1, 1 | in | instructions, nonces, associated data, texts, tags |
| `sdi_data`, `sdi_valid`, `sdi_ready` | 32, 1, 1 | in | keys; a hash function never takes any |
| `do_data`, `do_valid`, `do_ready`, `do_last` | WORD_BITS, 1, 1, 1 | out | texts, tags, digests, status; `do_last` comes with the status |

A word moves at a rising edge at which valid and ready are set. Words are big-endian: the first byte of a string is in the top
bits. Plaintext goes out as it is decrypted, as the API lets it: nobody may use it before the status word says success. A segment of
text must be complete before the next instruction; an empty one is sent, too.
";
