//! Texts whose output may take the place of their input, as traits give them.

#![allow(dead_code, reason = "each operation uses the part of it that its shape needs")]

use super::inout::InOutBuf;
use crate::text::{Text, wipe};

/// A text that lies in one piece.
pub(crate) struct InPlace<'i, 'o> {
    buffer: InOutBuf<'i, 'o, u8>,
    sent: usize,
    got: usize,
}

impl<'i, 'o> InPlace<'i, 'o> {
    pub(crate) fn new(buffer: InOutBuf<'i, 'o, u8>) -> Self {
        Self { buffer, sent: 0, got: 0 }
    }

    /// How many bytes it has.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether all output came.
    pub(crate) fn is_whole(&self) -> bool {
        self.got == self.buffer.len()
    }
}

impl Text for InPlace<'_, '_> {
    fn rest(&self) -> &[u8] {
        &self.buffer.get_in()[self.sent..]
    }

    fn sent(&mut self, n_bytes: usize) {
        self.sent += n_bytes;
    }

    fn room(&mut self) -> &mut [u8] {
        // Input that has not gone in yet stays.
        &mut self.buffer.get_out()[self.got..self.sent]
    }

    fn got(&mut self, n_bytes: usize) {
        self.got += n_bytes;
    }

    fn clear(&mut self) {
        wipe(self.buffer.get_out());
    }
}
