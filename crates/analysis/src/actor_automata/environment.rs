//! What comes in at a network: messages of which the words that decide are known, or any number of tokens.

use super::execute::Known;

/// A message as tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it is, for people.
    pub about: String,
    /// It needs none before it: it brings its key, or there are no keys.
    pub can_be_first: bool,
    /// The tokens of each input port of the network. Those that say what follows are known, those of strings are not.
    pub tokens: Vec<Vec<Known>>,
}

/// What comes in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Any of these, one after another. When one is in, the next may come or none.
    pub messages: Vec<Message>,
    /// Input ports at which there is always another token.
    pub unlimited: Vec<bool>,
}

impl Environment {
    /// Whether tokens ever come in at a port.
    pub fn feeds(&self, port: usize) -> bool {
        self.unlimited[port] || self.messages.iter().any(|message| !message.tokens[port].is_empty())
    }

    /// The values that come in at a port; unknown ones where any may.
    pub fn values(&self, port: usize) -> impl Iterator<Item = Known> + '_ {
        let known = self.messages.iter().flat_map(move |message| message.tokens[port].iter().cloned());
        known.chain(self.unlimited[port].then_some(None))
    }
}
