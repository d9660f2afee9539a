//! Adapter of base64-simd.

include!("../../abi.rs");

use base64_simd::{AsOut, STANDARD};

const VERSION: &CStr = c"0.8.0";

/// Text is longer than its bytes.
fn output_bytes(n_bytes: usize) -> usize {
    2 * n_bytes
}

/// Opens an operation.
fn open(operation: &str, _key: &[u8], _iv: &[u8]) -> Option<Operation> {
    match operation {
        "base64 encode" => Some(Box::new(|input, output| Some(STANDARD.encode(input, output.as_out()).len()))),
        "base64 decode" => {
            Some(Box::new(|input, output| STANDARD.decode(input, output.as_out()).ok().map(|bytes| bytes.len())))
        }
        _ => None,
    }
}
