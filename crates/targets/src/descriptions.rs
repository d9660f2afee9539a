//! What the functions of an operation do, for whoever reads the documentation of what is printed.

use crate::operation::{Function, is_optional, parameters, streams, string_name, withholds};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;

/// How documentation in a language spells what it refers to.
pub(crate) struct Spelling {
    /// What says that a message was refused.
    pub(crate) refused: &'static str,
    /// How many words are wanted of a generator.
    pub(crate) words: &'static str,
    /// A name in the program.
    pub(crate) code: fn(&str) -> String,
}

/// What a function does, in sentences.
pub(crate) fn describe(spec: &OperationSpec, function: Function, spelling: &Spelling) -> String {
    let Spelling { refused, words, code } = spelling;
    let (out, input, words) = (code("out"), code("input"), code(words));
    let given = parameters(spec, function).into_iter().filter(|parameter| !parameter.port.role.is_output());
    let listed: Vec<String> =
        given.map(|parameter| format!("{} has {}", code(string_name(parameter.name)), parameter.port.sizes)).collect();
    let sizes = if listed.is_empty() { String::new() } else { format!(" {}.", listed.join("; ")) };
    // A mode holds back two blocks and a byte at most, and padding adds one block.
    let room = match spec.block_bytes {
        Some(block) if streams(spec) => {
            format!(" Room for {} bytes more than the input has is always enough.", 3 * block)
        }
        _ => String::new(),
    };
    match function {
        Function::Key => format!("Takes a key, which is used from the next message on.{sizes}"),
        Function::Blocks => {
            let block = spec.block_bytes.unwrap_or(0);
            format!("Transforms whole blocks of {block} bytes; {out} is as long as {input}.")
        }
        Function::Generate if is_optional(spec, Role::Entropy) => format!(
            "Makes {words} words and says how many bytes they have. A seed begins anew; without one the generator goes on from where it is. \
             Entropy, where there is some, is taken in; {refused} asks for it.{sizes}"
        ),
        Function::Generate => format!("Makes {words} words and says how many bytes they have.{sizes}"),
        Function::Init => format!("Begins a message.{sizes}"),
        Function::Update if streams(spec) => {
            format!("Takes a piece of input and says how many bytes of output came.{room}")
        }
        Function::Update => "Takes a piece of input.".into(),
        Function::Final if spec.verifies => {
            format!("Ends the message; {refused} says that it is not authentic.{sizes}")
        }
        Function::Final => {
            let input = spec.input(Role::Input).map_or(String::new(), |port| port.sizes.to_string());
            format!("Ends the message, whose input must have had {input}. The rest comes out, and how long it is.")
        }
        _ if withholds(spec) => format!(
            "A whole message. {refused} says that it is not what {} makes: {out} is cleared then.{sizes}",
            code(spec.inverse.as_deref().unwrap_or(&spec.name))
        ),
        _ => format!("A whole message: says how many bytes came out.{room}{sizes}"),
    }
}
