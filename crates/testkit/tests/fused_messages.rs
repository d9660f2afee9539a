//! Messages as protocols have them stay in the automaton of fused code, whatever lengths their strings have.

use headrace_exchange::Running;
use headrace_library::Role;
use headrace_library::framing::Message;
use headrace_native::{Batch, Compiler, Options};
use headrace_targets::automata::automaton_of_operation;
use headrace_testkit::peers::library::Shipped;
use std::path::Path;
use std::sync::Arc;

/// Bytes of associated data: every rest of a block, below a block and above.
const AD_BYTES: std::ops::Range<usize> = 0..40;

/// Bytes of texts.
const TEXT_BYTES: [usize; 7] = [0, 1, 15, 16, 31, 48, 100];

fn message(ad_bytes: usize, text_bytes: usize, rekey: bool) -> Message {
    let mut message = Message::new();
    message.rekey = rekey;
    for (role, n) in [(Role::Key, 16), (Role::Nonce, 12), (Role::Ad, ad_bytes), (Role::Input, text_bytes)] {
        message.set(role, vec![n as u8; n]);
    }
    message
}

#[test]
fn every_rest_of_associated_data_is_known() {
    if Compiler::find().is_none() {
        eprintln!("not run: native code (no C compiler)");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shipped = Shipped::read(&root).expect("the library is there");
    let spec = shipped.library.operation("aes128-gcm", "aead-encrypt").expect("it is in the library");
    let network = shipped.network(spec, "standard").expect("it is right");
    let automaton = automaton_of_operation(spec, &network).expect("it has an automaton");
    let flags = ["-std=c11", "-O0"].map(str::to_owned).to_vec();
    let options = Options { flags, ..Options::default() };
    let batch = Batch::compile_fused(&network, &automaton, &options).expect("it compiles");
    let fresh = || Running::new(spec, &network, Box::new(batch.engine(0, Arc::clone(&network)).expect("it loads")));
    // Automata count no firings, schedulers do.
    let has_left = |running: &mut Running| running.engine().firings().iter().flatten().any(|&n| n > 0);
    let mut left: Vec<(&str, usize, usize)> = Vec::new();
    let mut kept = fresh();
    for (number, ad_bytes) in AD_BYTES.enumerate() {
        for text_bytes in TEXT_BYTES {
            let mut first = fresh();
            first.perform(&message(ad_bytes, text_bytes, true)).expect("it is made");
            if has_left(&mut first) {
                left.push(("first", ad_bytes, text_bytes));
            }
            kept.perform(&message(ad_bytes, text_bytes, number % 3 == 0)).expect("it is made");
            if has_left(&mut kept) {
                left.push(("later", ad_bytes, text_bytes));
                kept = fresh();
                kept.perform(&message(0, 0, true)).expect("it is made");
            }
        }
    }
    assert_eq!(left, []);
}
