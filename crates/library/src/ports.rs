//! Roles and ports: which strings a message has, in which order, and how each stands at a network's edge.

use crate::sizes::Sizes;

/// What a string of a message is for. The order is the order in which the ports of a message are fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// `Rekey`: whether a key follows.
    Rekey,
    /// `Decrypt`: the direction of a combined network.
    Decrypt,
    /// `Key`.
    Key,
    /// `Nonce`.
    Nonce,
    /// `IV`.
    Iv,
    /// `SecretNonce`, a secret message number.
    SecretNonce,
    /// `Ad`, associated data.
    Ad,
    /// `Seed` of a generator.
    Seed,
    /// `Reseed`: whether fresh entropy follows, for a generator that goes on from request to request.
    Reseed,
    /// `Entropy`, which such a generator takes in beside its state.
    Entropy,
    /// `Blocks`: how many blocks a core transforms, how many words a generator makes.
    Blocks,
    /// `Input`.
    Input,
    /// `TagIn`, the tag to be verified.
    TagIn,
    /// `SecretNonceOut`: the encrypted or decrypted secret message number.
    SecretNonceOut,
    /// `Output`.
    Output,
    /// `Tag`.
    Tag,
    /// `Verified`: whether the message is authentic, well-formed (for a decoder), or served (a request to a generator).
    Verified,
}

impl Role {
    /// All roles, in the order of their declaration.
    pub const ALL: [Role; 17] = [
        Role::Rekey,
        Role::Decrypt,
        Role::Key,
        Role::Nonce,
        Role::Iv,
        Role::SecretNonce,
        Role::Ad,
        Role::Seed,
        Role::Reseed,
        Role::Entropy,
        Role::Blocks,
        Role::Input,
        Role::TagIn,
        Role::SecretNonceOut,
        Role::Output,
        Role::Tag,
        Role::Verified,
    ];

    /// The name in manifests, which is the name of the port unless a manifest says otherwise.
    pub fn name(self) -> &'static str {
        match self {
            Role::Rekey => "Rekey",
            Role::Decrypt => "Decrypt",
            Role::Key => "Key",
            Role::Nonce => "Nonce",
            Role::Iv => "IV",
            Role::SecretNonce => "SecretNonce",
            Role::Ad => "Ad",
            Role::Seed => "Seed",
            Role::Reseed => "Reseed",
            Role::Entropy => "Entropy",
            Role::Blocks => "Blocks",
            Role::Input => "Input",
            Role::TagIn => "TagIn",
            Role::SecretNonceOut => "SecretNonceOut",
            Role::Output => "Output",
            Role::Tag => "Tag",
            Role::Verified => "Verified",
        }
    }

    /// The role of that name.
    pub fn named(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Whether it comes out of the network.
    pub fn is_output(self) -> bool {
        self >= Role::SecretNonceOut
    }

    /// Whether it is one token that steers, and no byte string.
    pub fn is_control(self) -> bool {
        matches!(self, Role::Rekey | Role::Decrypt | Role::Reseed | Role::Blocks | Role::Verified)
    }
}

/// Class of a port in the constant-time analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// May decide what happens when.
    Public,
    /// May not.
    Secret,
}

impl Class {
    /// Keys, plaintexts, seeds and secret message numbers are secret; on decryption the input is public and the output
    /// secret.
    pub fn of_role(role: Role, decrypts: bool) -> Class {
        match role {
            Role::Key | Role::Seed | Role::Entropy => Class::Secret,
            Role::Input | Role::SecretNonce if !decrypts => Class::Secret,
            Role::Output | Role::SecretNonceOut if decrypts => Class::Secret,
            _ => Class::Public,
        }
    }

    /// The class of a port of a network that no manifest speaks of, by its name: those of the roles, sizes are public,
    /// and of a port with another name nobody knows that it is public. What verifies a message decrypts it.
    pub fn of_name(port: &str, verifies: bool) -> Class {
        match Role::named(port) {
            Some(role) => Class::of_role(role, verifies),
            None if port.ends_with("Size") => Class::Public,
            None => Class::Secret,
        }
    }
}

/// One port of an operation's network, without its size companion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// Its role.
    pub role: Role,
    /// Its name in the network.
    pub name: String,
    /// Width of a token in bits: 8 for byte strings, 1 for `Rekey`, `Decrypt`, `Reseed` and `Verified`, 32 for
    /// `Blocks`, unless the manifest says otherwise.
    pub bits: u32,
    /// Public or secret.
    pub class: Class,
    /// Legal lengths of the string in bytes; of `Blocks` of a generator, how many words one request may ask for; any
    /// for other control ports.
    pub sizes: Sizes,
    /// Name of the companion port that carries the chunk sizes (`uint(size=32)`), where the length can vary.
    pub companion: Option<String>,
}
