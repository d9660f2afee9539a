//! Foreign-function interface. Natives as functions in C: how they are declared, and calls of them through what generated code
//! hands over.

use super::ctype;
use headrace_ir::{Native, Network, RealType, Scalar, Type};
use headrace_source::Diagnostic;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The name by which a native is bound.
pub fn bare_name(native: &Native) -> &str {
    headrace_natives::bare_name(&native.name)
}

/// The type of a scalar that a function of C takes or gives.
fn scalar(ty: Scalar) -> &'static str {
    match ty {
        Scalar::Real(RealType::Half | RealType::Float) => "float",
        _ => ctype::element(ty),
    }
}

fn parameter(ty: &Type) -> String {
    let element = if ty.is_list() { ctype::element(ty.element) } else { scalar(ty.element) };
    match (ty.is_list(), ty.element == Scalar::String) {
        (false, true) => element.trim_end().to_owned(),
        (false, false) => element.to_owned(),
        (true, true) => format!("{element}*"),
        (true, false) => format!("{element} *"),
    }
}

fn parameters(native: &Native) -> String {
    let list: Vec<String> = native.parameters.iter().map(parameter).collect();
    if list.is_empty() { "void".to_owned() } else { list.join(", ") }
}

/// The function that supplies a native, without a semicolon: `int32_t readByte(int32_t)`.
pub fn declaration(native: &Native) -> String {
    let result = native.result.map_or("void", scalar);
    let space = if native.result == Some(Scalar::String) { "" } else { " " };
    format!("{result}{space}{}({})", bare_name(native), parameters(native))
}

/// The natives of a network, each once, by their bare names.
///
/// # Errors
///
/// One name that stands for functions of different types, and integers of more than 64 bits.
pub fn of_network(network: &Network) -> Result<BTreeMap<&str, &Native>, Vec<Diagnostic>> {
    let mut found: BTreeMap<&str, &Native> = BTreeMap::new();
    let mut problems = Vec::new();
    for native in network.actors.iter().flat_map(|actor| &actor.natives) {
        let other = *found.entry(bare_name(native)).or_insert(native);
        if declaration(other) != declaration(native) {
            problems.push(
                Diagnostic::error(
                    "native-signature",
                    format!("the native `{}` is declared in two ways", bare_name(native)),
                )
                .at(native.span, format!("here it is `{}` in C", declaration(native)))
                .also(other.span, format!("and here `{}`", declaration(other))),
            );
        }
        if native.parameters.iter().map(|ty| ty.element).chain(native.result).any(ctype::is_wide) {
            problems.push(
                Diagnostic::error(
                    "native-signature",
                    format!("the native `{}` has integers of more than 64 bits, which C does not have", native.name),
                )
                .at(native.span, "declared here"),
            );
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

/// A header that declares the natives of a network, for who writes them in C.
///
/// # Errors
///
/// As [`of_network`].
pub fn header(network: &Network, head: &str) -> Result<String, Vec<Diagnostic>> {
    let natives = of_network(network)?;
    Ok(header_of(&network.name, &natives.into_values().collect::<Vec<_>>(), head))
}

/// The same of some natives of a network of this name.
pub(crate) fn header_of(network: &str, natives: &[&Native], head: &str) -> String {
    let mut text = format!(
        "{head}/*\n * Natives of the network `{}` as functions in C.\n *\n * Lists are handed over where they lie, and may be written: elements one after the other, those of lists of lists row by\n * row. A half is a float by itself, and the bits of a half in a list. Strings end with a zero; those that are given must\n * stay where they are.\n */\n#ifndef HEADRACE_NATIVES_H\n#define HEADRACE_NATIVES_H\n\n#include <stdbool.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n",
        network.replace("*/", "* /")
    );
    for native in natives {
        let cal: Vec<String> = native.parameters.iter().map(Type::to_string).collect();
        let result = native.result.map_or(String::new(), |ty| format!(" --> {ty}"));
        let _ = write!(text, "\n/* {}({}){result} */\n{};\n", native.name, cal.join(", "), declaration(native));
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    text
}

/// What the arguments are called in functions that call natives, as no native is called itself.
const ARGUMENTS: &str = "headrace_a";

/// A call of `function` with the arguments, as an expression.
fn called(native: &Native, function: &str) -> String {
    let arguments: Vec<String> = native
        .parameters
        .iter()
        .enumerate()
        .map(|(at, ty)| match (ty.is_list(), ty.element) {
            (true, _) => format!("({})(void *){ARGUMENTS}[{at}].bytes", parameter(ty)),
            (false, Scalar::String) => format!("{ARGUMENTS}[{at}].text"),
            (false, Scalar::Real(_)) => format!("({}){ARGUMENTS}[{at}].real", scalar(ty.element)),
            (false, Scalar::Bool) => format!("{ARGUMENTS}[{at}].scalar != 0"),
            (false, Scalar::Int(_)) => format!("({}){ARGUMENTS}[{at}].scalar", scalar(ty.element)),
        })
        .collect();
    format!("{function}({})", arguments.join(", "))
}

/// A call of `function` with the arguments, which puts what it gives behind them.
fn call(native: &Native, function: &str) -> String {
    let (call, n) = (called(native, function), native.parameters.len());
    match native.result {
        None => format!("{call};"),
        Some(Scalar::String) => format!("{ARGUMENTS}[{n}].text = {call};"),
        Some(Scalar::Real(_)) => format!("{ARGUMENTS}[{n}].real = (double){call};"),
        Some(Scalar::Bool | Scalar::Int(_)) => format!("{ARGUMENTS}[{n}].scalar = (int64_t){call};"),
    }
}

/// A program whose function `headrace_call_NAME` calls a function that it is handed, for each of the natives, with the
/// arguments of generated code, and puts what it gives behind them. What C prints comes out before it returns.
pub fn callers<'n>(natives: impl Iterator<Item = &'n Native>) -> String {
    let mut text = "#include \"headrace.h\"\n#include <stdio.h>\n".to_owned();
    for native in natives {
        let name = bare_name(native);
        let result = native.result.map_or("void", scalar);
        let _ = write!(
            text,
            "\nvoid headrace_call_{name}(void (*function)(void), struct headrace_argument *{ARGUMENTS});\nvoid headrace_call_{name}(void (*function)(void), struct headrace_argument *{ARGUMENTS}) {{\n    typedef {result} native({});\n    (void){ARGUMENTS};\n    {}\n    fflush(stdout);\n}}\n",
            parameters(native),
            call(native, "((native *)function)")
        );
    }
    text
}

/// A function `headrace_native` that calls the native of a name, if it is one of these, and returns what it gives. Nothing in it
/// is called as a native may be.
pub(crate) fn dispatcher<'n>(natives: impl Iterator<Item = &'n Native>) -> String {
    let mut text = format!(
        "static int64_t headrace_native(const char *headrace_name, struct headrace_argument *{ARGUMENTS}, bool *headrace_known) {{\n    (void){ARGUMENTS};\n    *headrace_known = true;\n"
    );
    for native in natives {
        let (before, after) = match native.result {
            Some(Scalar::Bool | Scalar::Int(_)) => {
                (String::new(), format!("return (int64_t){};", called(native, bare_name(native))))
            }
            _ => (format!("        {}\n", call(native, bare_name(native))), "return 0;".to_owned()),
        };
        let _ = write!(
            text,
            "    if (strcmp(headrace_name, {}) == 0) {{\n{before}        {after}\n    }}\n",
            ctype::text_literal(bare_name(native))
        );
    }
    text.push_str("    *headrace_known = false;\n    return 0;\n}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_ir::IntType;
    use headrace_source::Span;

    #[test]
    fn natives_are_declared_as_c_has_their_types() {
        let list = |element| Type::list(element, vec![2, 3]);
        let native = Native {
            name: "a.b.mix".into(),
            parameters: vec![
                Type::scalar(Scalar::Bool),
                Type::scalar(Scalar::Int(IntType::unsigned(12))),
                Type::scalar(Scalar::Real(RealType::Half)),
                Type::scalar(Scalar::String),
                list(Scalar::Real(RealType::Half)),
                list(Scalar::String),
                list(Scalar::Int(IntType::signed(33))),
            ],
            result: Some(Scalar::String),
            span: Span::default(),
        };
        assert_eq!(
            declaration(&native),
            "const char *mix(bool, uint16_t, float, const char *, uint16_t *, const char **, int64_t *)"
        );
        let nothing = Native { name: "x".into(), parameters: vec![], result: None, span: Span::default() };
        assert_eq!(declaration(&nothing), "void x(void)");
    }

    #[test]
    fn natives_may_be_called_as_anything_around_them() {
        let int = Scalar::Int(IntType::signed(32));
        let native = |name: &str| Native {
            name: name.into(),
            parameters: vec![Type::scalar(int)],
            result: Some(int),
            span: Span::default(),
        };
        let all = ["a", "name", "known", "native"].map(native);
        let text = dispatcher(all.iter());
        for name in ["a", "name", "known", "native"] {
            assert!(
                text.contains(&format!("        return (int64_t){name}((int32_t)headrace_a[0].scalar);\n")),
                "{text}"
            );
            let declared = text.split(['(', ')', ' ', '*', ',', ';', '\n']).filter(|word| *word == name).count();
            assert_eq!(declared, 1, "{name} in\n{text}");
        }
    }
}
