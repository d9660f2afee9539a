//! Where the registers of the architecture stand in a state: which of its slots, and which bytes of that.

use iced_x86::Register;

/// A part of the machine's state that one register name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A general register; from which byte, how many.
    General { index: usize, from: usize, bytes: usize },
    /// The lowest bytes of a vector register.
    Vector { index: usize, bytes: usize },
    /// A mask register.
    Mask(usize),
    /// A register of the floating-point unit or of MMX, which share their place.
    Media(usize),
    /// Nothing that a program's data reaches: segments, the instruction pointer.
    Public,
    /// A register that the walk has no place for.
    Unknown,
}

pub(crate) const RSP: usize = 4;
pub(crate) const RBP: usize = 5;

pub(crate) fn slot(register: Register) -> Slot {
    let index = register.number();
    match register {
        Register::AH | Register::CH | Register::DH | Register::BH => {
            let full = register.full_register().number();
            Slot::General { index: full, from: 1, bytes: 1 }
        }
        _ if register.is_gpr() => {
            Slot::General { index: register.full_register().number(), from: 0, bytes: register.size() }
        }
        _ if register.is_vector_register() => Slot::Vector { index, bytes: register.size() },
        _ if register.is_k() => Slot::Mask(index),
        _ if register.is_mm() || register.is_st() => Slot::Media(index),
        _ if register.is_segment_register() || register.is_ip() => Slot::Public,
        Register::None => Slot::Public,
        _ => Slot::Unknown,
    }
}
