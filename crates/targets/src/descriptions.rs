//! What the functions of an operation do, for whoever reads the documentation of what is printed.

use crate::operation::{Function, is_optional, parameters, streams, withholds};
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
    /// What a string of a message is called in signatures.
    pub(crate) string: fn(&str) -> String,
    /// Functions give back what comes out; otherwise they write it where they are told, and say how long it is.
    pub(crate) gives_output: bool,
}

/// What a function does, in sentences.
pub(crate) fn describe(spec: &OperationSpec, function: Function, spelling: &Spelling) -> String {
    let Spelling { refused, words, code, string, gives_output } = spelling;
    let (out, input, words) = (code("out"), code("input"), code(words));
    let given = parameters(spec, function).into_iter().filter(|parameter| !parameter.port.role.is_output());
    let listed: Vec<String> =
        given.map(|parameter| format!("{} has {}", code(&string(parameter.name)), parameter.port.sizes)).collect();
    let sizes = if listed.is_empty() { String::new() } else { format!(" {}.", listed.join("; ")) };
    // A mode holds back two blocks and a byte at most, and padding adds one block.
    let room = match spec.block_bytes {
        Some(block) if streams(spec) && !gives_output => {
            format!(" Room for {} bytes more than the input has is always enough.", 3 * block)
        }
        _ => String::new(),
    };
    let either = |given: &'static str, told: &'static str| if *gives_output { given } else { told };
    match function {
        Function::Key => format!("Takes a key, which is used from the next message on.{sizes}"),
        Function::Blocks => {
            let block = spec.block_bytes.unwrap_or(0);
            let long = if *gives_output { String::new() } else { format!("; {out} is as long as {input}") };
            format!("Transforms whole blocks of {block} bytes{long}.")
        }
        Function::Generate => {
            let says = either("", " and says how many bytes they have");
            let reseeds = if is_optional(spec, Role::Entropy) {
                format!(
                    " A seed begins anew; without one the generator goes on from where it is. Entropy, where there is some, is taken in; \
                     {refused} asks for it."
                )
            } else {
                String::new()
            };
            format!("Makes {words} words{says}.{reseeds}{sizes}")
        }
        Function::Init => format!("Begins a message.{sizes}"),
        Function::Update if streams(spec) => {
            let comes = either("; gives what comes out so far", " and says how many bytes of output came");
            format!("Takes a piece of input{comes}.{room}")
        }
        Function::Update => "Takes a piece of input.".into(),
        Function::Final if spec.verifies => {
            format!("Ends the message; {refused} says that it is not authentic.{sizes}")
        }
        Function::Final => {
            let input = spec.input(Role::Input).map_or(String::new(), |port| port.sizes.to_string());
            let comes = either("Gives the rest of what comes out.", "The rest comes out, and how long it is.");
            format!("Ends the message, whose input must have had {input}. {comes}")
        }
        _ if withholds(spec) => {
            let inverse = code(spec.inverse.as_deref().unwrap_or(&spec.name));
            let nothing = if *gives_output { "nothing comes out".to_owned() } else { format!("{out} is cleared") };
            format!("A whole message; {refused} says that it is not what {inverse} makes: {nothing} then.{sizes}")
        }
        _ => {
            format!("A whole message: {}.{room}{sizes}", either("gives what comes out", "says how many bytes came out"))
        }
    }
}
