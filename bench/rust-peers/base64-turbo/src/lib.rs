//! Adapter of base64-turbo.

include!("../../abi.rs");

use base64_turbo::STANDARD;

const VERSION: &CStr = c"0.5.0";

/// Text is longer than its bytes.
fn output_bytes(n_bytes: usize) -> usize {
    2 * n_bytes
}

/// Opens an operation.
fn open(operation: &str, _key: &[u8], _iv: &[u8]) -> Option<Operation> {
    match operation {
        "base64 encode" => Some(Box::new(|input, output| STANDARD.encode_slice(input, output).ok())),
        "base64 decode" => Some(Box::new(|input, output| STANDARD.decode_slice(input, output).ok())),
        _ => None,
    }
}
