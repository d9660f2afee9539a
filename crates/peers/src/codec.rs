//! Codecs.

use crate::{Peer, input, output};
use base64ct::Encoding;
use headrace_library::framing::Outcome;

/// A codec by what it makes of bytes and of text.
fn codec(
    by: &'static str,
    operation: &str,
    encode: fn(&[u8]) -> String,
    decode: fn(&str) -> Option<Vec<u8>>,
) -> Option<Peer> {
    match operation {
        "encode" => Some(Peer::new(&[by], move |m| output(encode(input(m))))),
        "decode" => Some(Peer::new(&[by], move |m| {
            let bytes = std::str::from_utf8(input(m)).ok().and_then(decode);
            Some(bytes.map_or(Outcome::Rejected, |bytes| output(bytes).unwrap_or(Outcome::Rejected)))
        })),
        _ => None,
    }
}

fn base64<E: Encoding>(operation: &str) -> Option<Peer> {
    codec("base64ct", operation, E::encode_string, |text| E::decode_vec(text).ok())
}

pub fn peer(set: &str, operation: &str) -> Option<Peer> {
    match set {
        "base64" => base64::<base64ct::Base64>(operation),
        "base64url" => base64::<base64ct::Base64Url>(operation),
        "base64-nopad" => base64::<base64ct::Base64Unpadded>(operation),
        "base64url-nopad" => base64::<base64ct::Base64UrlUnpadded>(operation),
        "hex" => {
            codec("base16ct", operation, base16ct::lower::encode_string, |text| base16ct::mixed::decode_vec(text).ok())
        }
        "base16" => {
            codec("base16ct", operation, base16ct::upper::encode_string, |text| base16ct::mixed::decode_vec(text).ok())
        }
        _ => None,
    }
}
