//! Chains of operations whose inputs come from earlier outputs.
//!
//! AESAVS (The Advanced Encryption Standard Algorithm Validation Suite) section 6.4 gives a loop for each mode. All
//! are one rule: with a segment of s bytes (a block; 1 byte for CFB8), the input of step j is bytes j·s … (j+1)·s of
//! `IV || output 0 || output 1 || …`, and the register I takes in, after each step, the ciphertext (CBC, CFB) or input
//! xor output (OFB) from the right. Without an IV (ECB) the output is the next input. SHAVS section 6.4 hashes the
//! last three digests.

use std::collections::VecDeque;

use crate::framing::Message;
use crate::ports::Role;

/// A chain at some step.
pub(crate) enum Chain {
    /// The output is the next input; all else stays.
    Iterate(Message),
    /// AESAVS 6.4.
    Mode(ModeChain),
    /// SHAVS 6.4.
    Hash(HashChain),
}

impl Chain {
    /// The message of this step.
    pub(crate) fn next(&self) -> Message {
        match self {
            Chain::Iterate(message) => message.clone(),
            Chain::Mode(chain) => chain.message.clone(),
            Chain::Hash(chain) => chain.message(),
        }
    }

    /// Goes to the next step, after this output.
    pub(crate) fn advance(&mut self, output: &[u8]) -> Result<(), String> {
        match self {
            Chain::Iterate(message) => {
                message.set(Role::Input, output);
                message.rekey = false;
                Ok(())
            }
            Chain::Mode(chain) => chain.advance(output),
            Chain::Hash(chain) => {
                chain.advance(output);
                Ok(())
            }
        }
    }
}

/// The loop of AESAVS 6.4.
pub(crate) struct ModeChain {
    message: Message,
    /// `IV || output 0 || …`, from the byte that the next input begins with.
    to_come: VecDeque<u8>,
    key_stream: bool,
    encrypts: bool,
}

impl ModeChain {
    pub(crate) fn new(start: Message, key_stream: bool, encrypts: bool) -> Self {
        ModeChain {
            to_come: start.get(Role::Iv).unwrap_or_default().iter().copied().collect(),
            message: start,
            key_stream,
            encrypts,
        }
    }

    fn advance(&mut self, output: &[u8]) -> Result<(), String> {
        let input = self.message.get(Role::Input).unwrap_or_default().to_vec();
        if input.len() != output.len() {
            return Err(format!("an input of {} bytes has an output of {}", input.len(), output.len()));
        }
        if let Some(register) = self.message.get(Role::Iv) {
            let shifted_in: Vec<u8> = if self.key_stream {
                input.iter().zip(output).map(|(x, y)| x ^ y).collect()
            } else if self.encrypts {
                output.to_vec()
            } else {
                input.clone()
            };
            let mut next: Vec<u8> = register.to_vec();
            let length = next.len();
            next.extend(shifted_in);
            let next = next.split_off(next.len().saturating_sub(length));
            self.message.set(Role::Iv, next);
        }
        self.to_come.extend(output);
        if self.to_come.len() < input.len() {
            return Err("the chain has no further input".into());
        }
        let next: Vec<u8> = self.to_come.drain(..input.len()).collect();
        self.message.set(Role::Input, next);
        self.message.rekey = false;
        Ok(())
    }
}

/// The loop of SHAVS 6.4: the digest of the last three digests.
pub(crate) struct HashChain {
    last: [Vec<u8>; 3],
}

impl HashChain {
    pub(crate) fn new(seed: &[u8]) -> Self {
        HashChain { last: [seed.to_vec(), seed.to_vec(), seed.to_vec()] }
    }

    fn message(&self) -> Message {
        Message::new().with(Role::Input, self.last.concat())
    }

    fn advance(&mut self, digest: &[u8]) {
        self.last.rotate_left(1);
        let [.., newest] = &mut self.last;
        *newest = digest.to_vec();
    }
}
