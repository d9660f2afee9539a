//! Input and output of networks. The functions that move tokens over the boundary of a network.

use super::{Fifo, Writer, news};
use crate::c::code::Code;
use crate::c::code::value;
use crate::c::ctype;
use crate::c::plan::Plan;
use crate::c::scheduler::convert_through;
use crate::c::text::{Declared, text};
use headrace_analysis::ranges::Unit;
use headrace_ir::{Connection, Endpoint, Scalar, Type};
use headrace_program::names::identifier;

/// What a function of a boundary port is called and moves.
struct PortFunction {
    /// Type of an element of the caller's array.
    element: &'static str,
    /// Elements of a token.
    words: u32,
    /// The function.
    own: String,
    /// What it calls, for tokens as bytes.
    core: String,
}

impl Writer<'_> {
    fn port_function(&self, verb: &str, port: &str, scalar: Scalar) -> PortFunction {
        let own = format!("{}_{verb}_{}", self.prefix, identifier(port));
        let core = format!("{own}_bytes");
        PortFunction { element: boundary_element(scalar), words: ctype::words(scalar), own, core }
    }

    pub(super) fn write(
        &self,
        port: usize,
        name: &str,
        scalar: Scalar,
        plans: &[Plan<'_>],
        declarations: &mut String,
        definitions: &mut String,
    ) -> String {
        let cold = self.options.attribute();
        let prefix = self.prefix;
        let PortFunction { words, own, core, .. } = self.port_function("write", name, scalar);
        let tokens = ctype::pointer(boundary_scalar(scalar), true, false, "tokens").to_string();
        let note = if words > 1 { format!(" of {words} words each") } else { String::new() };
        declarations.push_str(&format!(
            "/* Writes up to `n_tokens` tokens{note} to the input `{name}` and returns how many there was room for. */\nsize_t {own}(struct {prefix} *context, {tokens}, size_t n_tokens);\n\n"
        ));
        let targets: Vec<(&Connection, &Fifo)> = self
            .network
            .connections
            .iter()
            .zip(&self.rings)
            .filter(|(connection, _)| connection.source == Endpoint::Boundary(port))
            .collect();
        let mut code = match plans.first() {
            Some(plan) => Code::new(plan, Unit::Procedure(0), "", &[], "return 0;"),
            None => return self.write_nothing(&own, &core, &tokens, definitions),
        };
        for taken in ["context", "bytes", "n_tokens", "at", "room", "token", "first", "n_wanted"] {
            code.names.fresh(taken);
        }
        if targets.is_empty() {
            return self.write_nothing(&own, &core, &tokens, definitions);
        }
        let any_shared = targets.iter().any(|(_, fifo)| fifo.ring.shared.is_some());
        if any_shared {
            code.line("const size_t n_wanted = n_tokens;");
        }
        for (_, fifo) in &targets {
            code.open("{");
            code.line(format!("const size_t room = {}u - ({});", fifo.ring.capacity, fifo.fill()));
            code.line("n_tokens = n_tokens < room ? n_tokens : room;");
            code.close("}");
        }
        for (connection, fifo) in &targets {
            let field = &fifo.field;
            let ring = &fifo.ring;
            code.open("{");
            if ring.shared.is_some() {
                code.line(format!("hr_want(&context->{field}.wanted, n_tokens < n_wanted);"));
            }
            code.line(format!("const size_t at = {} & {}u;", fifo.index("written"), ring.size - 1));
            let plain = ring.scalar == scalar && connection.via.is_empty() && full_width(scalar);
            let bytes = scalar.storage_bytes();
            if plain {
                code.line(format!(
                    "const size_t first = {}u - at < n_tokens ? {}u - at : n_tokens;",
                    ring.size, ring.size
                ));
                code.open("if (n_tokens != 0) {");
                code.line(format!("memcpy(&context->{field}.tokens[{words} * at], bytes, first * {bytes}u);"));
                code.line(format!(
                    "memcpy(context->{field}.tokens, bytes + first * {bytes}u, (n_tokens - first) * {bytes}u);"
                ));
                code.close("}");
            } else {
                code.open("for (size_t i = 0; i < n_tokens; i++) {");
                let declared = ctype::declaration(&Type::scalar(boundary_scalar(scalar)), "token");
                code.line(format!("{declared};"));
                let pointer = if words > 1 { "token" } else { "&token" };
                code.line(format!("memcpy({pointer}, bytes + i * {bytes}u, {bytes}u);"));
                let target = match ctype::words(ring.scalar) {
                    1 => text!["context->", field, ".tokens[(at + i) & ", ring.size - 1, "u]"],
                    words => text!["&context->", field, ".tokens[", words, " * ((at + i) & ", ring.size - 1, "u)]"],
                };
                // The host may hand in bits beyond the width: they are cut off as by a store.
                let source = text![if scalar == Scalar::Bool { "(token != 0)" } else { "token" }];
                match scalar {
                    Scalar::Int(ty) if !full_width(scalar) => {
                        let clean = code.temporary("clean");
                        code.line(format!("{};", ctype::declaration(&Type::scalar(scalar), Declared(&clean))));
                        if words > 1 {
                            code.line(format!("hr_wide_copy({clean}, token, {words});"));
                            code.line(format!("hr_wide_wrap({clean}, {words}, {}, {});", ty.width, ty.signed));
                        } else {
                            let raw = value::Value::primary(
                                "token",
                                value::Kind::Int(ctype::Repr::of_storage(boundary_int(ty))),
                            );
                            code.line(format!("{clean} = {};", value::wrap_value(&raw, ty).text));
                        }
                        convert_through(&mut code, &target, ring.scalar, &text![clean], scalar, &connection.via);
                    }
                    _ => convert_through(&mut code, &target, ring.scalar, &source, scalar, &connection.via),
                }
                code.close("}");
            }
            code.line(fifo.advance("written"));
            if let (Endpoint::Instance(instance, _), None) = (connection.target, ring.shared) {
                code.line(news(instance.index()));
            }
            self.notify_from_boundary(connection.target).iter().for_each(|line| code.line(line));
            code.close("}");
        }
        code.line("return n_tokens;");
        let body = code.finish();
        definitions.push_str(&format!(
            "{cold}static size_t {core}(struct {prefix} *context, const unsigned char *bytes, size_t n_tokens) {{\n{body}}}\n\n"
        ));
        definitions.push_str(&format!(
            "{cold}size_t {own}(struct {prefix} *context, {tokens}, size_t n_tokens) {{\n    return {core}(context, (const unsigned char *)tokens, n_tokens);\n}}\n\n"
        ));
        core
    }

    fn write_nothing(&self, own: &str, core: &str, tokens: &str, definitions: &mut String) -> String {
        let cold = self.options.attribute();
        let prefix = self.prefix;
        definitions.push_str(&format!(
            "{cold}static size_t {core}(struct {prefix} *context, const unsigned char *bytes, size_t n_tokens) {{\n    (void)context;\n    (void)bytes;\n    return n_tokens;\n}}\n\n"
        ));
        definitions.push_str(&format!(
            "{cold}size_t {own}(struct {prefix} *context, {tokens}, size_t n_tokens) {{\n    return {core}(context, (const unsigned char *)tokens, n_tokens);\n}}\n\n"
        ));
        core.to_owned()
    }

    pub(super) fn read(
        &self,
        port: usize,
        name: &str,
        scalar: Scalar,
        declarations: &mut String,
        definitions: &mut String,
    ) -> String {
        let cold = self.options.attribute();
        let prefix = self.prefix;
        let PortFunction { element, words, own, core } = self.port_function("read", name, scalar);
        let bytes = scalar.storage_bytes();
        declarations.push_str(&format!(
            "/* Takes up to `n_tokens` tokens from the output `{name}` and returns how many there were. */\nsize_t {own}(struct {prefix} *context, {element} *tokens, size_t n_tokens);\n\n"
        ));
        let found = self
            .network
            .connections
            .iter()
            .zip(&self.rings)
            .find(|(connection, _)| connection.target == Endpoint::Boundary(port));
        let waiting = format!("{prefix}_waiting_{}", identifier(name));
        declarations.push_str(&format!(
            "/* Tokens that wait at the output `{name}`. */\nsize_t {waiting}(const struct {prefix} *context);\n\n"
        ));
        let count = match found {
            Some((_, fifo)) => format!("    return {};\n", fifo.fill()),
            None => "    (void)context;\n    return 0;\n".to_owned(),
        };
        definitions.push_str(&format!("{cold}size_t {waiting}(const struct {prefix} *context) {{\n{count}}}\n\n"));
        definitions.push_str(&format!(
            "{cold}static size_t {core}(struct {prefix} *context, unsigned char *bytes, size_t n_tokens) {{\n"
        ));
        match found {
            None => {
                definitions.push_str("    (void)context;\n    (void)bytes;\n    (void)n_tokens;\n    return 0;\n}\n\n")
            }
            Some((connection, fifo)) => {
                let field = &fifo.field;
                let size = fifo.ring.size;
                let mark = match (connection.source, fifo.ring.shared) {
                    (Endpoint::Instance(instance, _), None) => format!("    {}\n", news(instance.index())),
                    (source, _) => {
                        self.notify_from_boundary(source).iter().map(|line| format!("    {line}\n")).collect()
                    }
                };
                let (fill, index, advance) = (fifo.fill(), fifo.index("read"), fifo.advance("read"));
                definitions.push_str(&format!(
                    "    const size_t there = {fill};\n    const size_t at = {index} & {mask}u;\n    n_tokens = n_tokens < there ? n_tokens : there;\n    const size_t first = {size}u - at < n_tokens ? {size}u - at : n_tokens;\n    if (n_tokens != 0) {{\n        memcpy(bytes, &context->{field}.tokens[{words} * at], first * {bytes}u);\n        memcpy(bytes + first * {bytes}u, context->{field}.tokens, (n_tokens - first) * {bytes}u);\n    }}\n    {advance}\n{mark}    return n_tokens;\n}}\n\n",
                    mask = size - 1
                ));
            }
        }
        definitions.push_str(&format!(
            "{cold}size_t {own}(struct {prefix} *context, {element} *tokens, size_t n_tokens) {{\n    return {core}(context, (unsigned char *)tokens, n_tokens);\n}}\n\n"
        ));
        core
    }
}

/// True when every bit pattern of the storage is a value.
fn full_width(scalar: Scalar) -> bool {
    match scalar {
        Scalar::Bool => false,
        Scalar::Int(ty) => ty.width as usize == 8 * scalar.storage_bytes(),
        Scalar::Real(_) | Scalar::String => true,
    }
}

/// Tokens of type `bool` cross the boundary as bytes.
fn boundary_scalar(scalar: Scalar) -> Scalar {
    if scalar == Scalar::Bool { Scalar::Int(headrace_ir::IntType::unsigned(8)) } else { scalar }
}

fn boundary_element(scalar: Scalar) -> &'static str {
    ctype::element(boundary_scalar(scalar))
}

/// The type with all bits of its storage.
fn boundary_int(ty: headrace_ir::IntType) -> headrace_ir::IntType {
    headrace_ir::IntType { signed: ty.signed, width: 8 * Scalar::Int(ty).storage_bytes() as u32 }
}
