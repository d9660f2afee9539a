//! Programs around modules of WebAssembly.

use super::{Language, One, refused, rounds_before};
use headrace_program::Module;
use headrace_targets::project::Files;
use headrace_targets::toolchain::{Step, Toolchain};
use headrace_targets::wasm::project::{WRAPPER, printed};

pub(super) const WASM: Language = Language { name: "wasm", files, build: |_| Vec::new(), run };

/// Moves tokens through every network until nothing moves, and shows streams and prints.
pub const RUNNER: &str = r"
import { readFileSync } from 'node:fs';
import { Network, Status, load } from './network.js';

const KINDS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, u64: BigUint64Array, i8: Int8Array, i16: Int16Array,
  i32: Int32Array, i64: BigInt64Array, f32: Float32Array, f64: Float64Array };
const cases = JSON.parse(readFileSync('cases.json', 'utf8'));
for (const [at, { before, inputs, outputs }] of cases.entries()) {
  const code = await load(new URL(`./case_${at}.wasm`, import.meta.url));
  const other = new Network(code, inputs, outputs);
  const network = new Network(code, inputs, outputs);
  // After some rounds the network is begun anew, and shown.
  for (const rounds of [before, Infinity]) {
    network.restart();
    const left = inputs.map(({ element, hex }) => new KINDS[element](new Uint8Array(Buffer.from(hex, 'hex')).buffer));
    const made = outputs.map(() => []);
    const printed = [];
    const host = { print: (bytes) => printed.push(Buffer.from(bytes).toString('hex')) };
    let status = Status.IDLE;
    for (let moved = 1, round = 0; moved > 0 && status === Status.IDLE && round < rounds; round += 1) {
      moved = 0;
      inputs.forEach(({ words }, port) => {
        const n = network.write(port, left[port]);
        left[port] = left[port].subarray(n * words);
        moved += n;
      });
      status = network.run(undefined, host);
      outputs.forEach((_, port) => {
        const tokens = network.read(port);
        made[port].push(Buffer.from(tokens.buffer).toString('hex'));
        moved += tokens.length;
      });
    }
    if (rounds < Infinity) continue;
    made.forEach((pieces, port) => console.log(`${at} ${port} ${pieces.join('')}`));
    console.log(`${at} printed ${printed.join('')}`);
    console.log(`${at} ended ${status}`);
  }
  network.clear();
  other.clear();
}
";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A network as [`RUNNER`] takes it at a position, with what goes into each input.
pub fn case(at: usize, module: &Module, inputs: &[Vec<u8>]) -> String {
    let name = |id: headrace_program::FunctionId| &module.function(id).name;
    let inputs = module.interface.inputs.iter().zip(inputs).map(|(port, tokens)| {
        let (element, words, tokens) = (port.element, port.words, hex(tokens));
        let write = name(port.write);
        format!(r#"{{ "write": "{write}", "element": "{element}", "words": {words}, "hex": "{tokens}" }}"#)
    });
    let outputs = module.interface.outputs.iter().map(|port| {
        let (read, waiting) = (name(port.read), name(port.waiting));
        let (element, words) = (port.element, port.words);
        format!(r#"{{ "read": "{read}", "waiting": "{waiting}", "element": "{element}", "words": {words} }}"#)
    });
    let (inputs, outputs): (Vec<String>, Vec<String>) = (inputs.collect(), outputs.collect());
    let before = rounds_before(at);
    format!(r#"{{ "before": {before}, "inputs": [{}], "outputs": [{}] }}"#, inputs.join(", "), outputs.join(", "))
}

fn files(all: &[One]) -> Result<Files, String> {
    let mut program = Files::new();
    let mut cases = Vec::new();
    for (at, one) in all.iter().enumerate() {
        let printed = printed(&one.network, &one.options()).map_err(|problems| refused(one, &problems))?;
        let inputs: Vec<Vec<u8>> = (0..one.network.inputs.len()).map(|number| one.input(number)).collect();
        cases.push(case(at, &printed.lowered, &inputs));
        program.insert(format!("case_{at}.wasm"), printed.binary);
    }
    program.extend(WRAPPER.map(|(name, text)| (name.to_owned(), text.into())));
    program.insert("main.js".into(), RUNNER.into());
    program.insert("cases.json".into(), format!("[{}]", cases.join(",\n")).into_bytes());
    Ok(program)
}

/// With a stack for calls that nest as deep as they may.
fn run(_: &Toolchain, tools: &[String]) -> Step {
    Step::new([tools[0].as_str(), "--stack-size=7000", "main.js"])
}
