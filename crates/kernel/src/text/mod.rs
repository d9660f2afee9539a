//! Textual form of control automata, and of single loops and blocks of effects: a printer, and a reader of what it prints.
//!
//! Who prints one, reads the text and prints that gets the same text. Words stand apart by spaces and line
//! ends; `{ }` enclose what belongs together; `#` begins a remark that goes to the end of the line.
//!
//! | text | what it is |
//! | --- | --- |
//! | `table t0 "sbox" 8 { 0x63 0x7c }` | constant elements of 8 bits; of the `values` behind it |
//! | `object o1 "key" 8 x 16 persistent variable 3 0 { 0x0 … }` | memory of 16 elements of 8 bits; what it holds; what it begins with |
//! | `v5:32 = add v3 v4` | a value of 32 bits; numbers are of the nearest `values` around |
//! | `state 2 "idle" { fsm 0 1  fills 0 16 … }` | states of actors, tokens in FIFOs, `known` elements, `loop`s, what may happen |
//! | `branch { … } v7 { … } else { … }` | a decision, behind what its condition needs |
//! | `wait { input 0 16 { … } }` | what happens where 16 tokens are at port 0; the first that are there decide |
//! | `go { … } consumes 16 0 produces 16 to 3` | a transition: effects, tokens of all ports, the next state |
//! | `end`, `deoptimize` | nothing ever happens again; not explored: the run-time scheduler goes on |
//! | `open "with all that …"` | why there are such ends; without it, the automaton is complete |
//! | `store o1 v2 v3`, `load 4 o1 v2`, `output 0 5 v3` | `o1[v2] := v3`; `loaded 4` is `o1[v2]`; token 5 of port 0 |
//! | `loop { object o0 "sum" 8 x 1 persistent … }` | a loop by itself: objects, `values`, tokens, `carried`, `counter`s |
//! | `block { indexed 1  filled { 1 } … }` | effects by themselves: objects, the first of which are lists, `values`, `effects` |
//! | `loop 2 { … }` | iterations of a cycle of 2 transitions: `carried` elements, `counter`s, `trips` that bound them, `paths` |
//! | `reads o3 v5`, `writes o3 v5` | a list that the last port of the loop stands for, from element v5 on |

mod printer;
mod reader;

pub use printer::{block_text, loop_text, text};
pub use reader::{Wrong, read, read_block, read_loop};

use crate::Op;

/// The word of an operation whose operands are values, and nothing else.
fn plain_word(op: &Op) -> Option<&'static str> {
    Some(match op {
        Op::Not(_) => "not",
        Op::And(..) => "and",
        Op::Or(..) => "or",
        Op::Xor(..) => "xor",
        Op::Add(..) => "add",
        Op::Sub(..) => "sub",
        Op::Mul(..) => "mul",
        Op::Divide(..) => "udiv",
        Op::Remainder(..) => "urem",
        Op::ShiftLeft(..) => "shl",
        Op::ShiftRight(..) => "lshr",
        Op::ShiftRightSigned(..) => "ashr",
        Op::RotateLeft(..) => "rotl",
        Op::Concat(_) => "concat",
        Op::SignExtend(_) => "sext",
        Op::Equal(..) => "eq",
        Op::Less(..) => "ult",
        Op::LessSigned(..) => "slt",
        Op::Select(..) => "select",
        Op::Const(_)
        | Op::Input { .. }
        | Op::Entry { .. }
        | Op::Loaded(_)
        | Op::Extract(..)
        | Op::Lookup(..)
        | Op::LookupBytes(..)
        | Op::Instruction { .. } => return None,
    })
}

#[cfg(test)]
mod tests;
