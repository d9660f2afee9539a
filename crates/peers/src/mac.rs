//! To come.
use crate::Peer;
pub fn peer(_set: &str, _operation: &str) -> Option<Peer> {
    None
}
