//! Strings on their way through networks: where input lies that has not gone in yet, and where there is room for output.

#![allow(dead_code, reason = "each operation uses the part of it that its shape needs")]

/// Room for a string that comes out, and how much of it is used.
#[derive(Default)]
pub(crate) struct Room<'a> {
    pub bytes: &'a mut [u8],
    pub used: usize,
}

impl<'a> Room<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, used: 0 }
    }

    /// Overwrites what came out.
    pub(crate) fn clear(&mut self) {
        wipe(&mut self.bytes[..self.used]);
        self.used = 0;
    }
}

/// Input on its way in, and room for the output that comes of it.
pub(crate) trait Text {
    /// What has not gone in yet. Of a text that lies in pieces, the rest of this piece: nothing only at its end.
    fn rest(&self) -> &[u8];
    /// As much of it went in.
    fn sent(&mut self, n_bytes: usize);
    /// Room for output; of a text that lies in pieces, or where its input lies, as much as there is now.
    fn room(&mut self) -> &mut [u8];
    /// As much came out.
    fn got(&mut self, n_bytes: usize);
    /// What has not gone in yet and room for output, where the one does not lie in the other.
    fn apart(&mut self) -> Option<(&[u8], &mut [u8])> {
        None
    }
    /// Overwrites what came out.
    fn clear(&mut self);
}

/// A text whose output lies elsewhere than its input.
pub(crate) struct Apart<'a, 'r, 'b> {
    pub input: &'a [u8],
    pub room: &'r mut Room<'b>,
}

impl Text for Apart<'_, '_, '_> {
    fn rest(&self) -> &[u8] {
        self.input
    }

    fn sent(&mut self, n_bytes: usize) {
        self.input = &self.input[n_bytes..];
    }

    fn room(&mut self) -> &mut [u8] {
        &mut self.room.bytes[self.room.used..]
    }

    fn got(&mut self, n_bytes: usize) {
        self.room.used += n_bytes;
    }

    fn apart(&mut self) -> Option<(&[u8], &mut [u8])> {
        Some((self.input, &mut self.room.bytes[self.room.used..]))
    }

    fn clear(&mut self) {
        self.room.clear();
    }
}

/// Overwrites bytes that may be secret.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    core::hint::black_box(bytes);
}
