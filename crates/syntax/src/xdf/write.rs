//! Tree to XDF text.

use headrace_source::{Diagnostic, Span};

use crate::ast::*;

/// Writes a network as XDF. Everything for which XDF has no element (instance arrays, `foreach`, `if`, entity parameters,
/// expressions beyond literals, variables, lists and operators) is an error; instantiating the network first removes it.
pub fn write(network: &Network) -> Result<String, Vec<Diagnostic>> {
    let mut writer =
        Writer { out: String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"), depth: 0, problems: Vec::new() };
    writer.network(network);
    if writer.problems.is_empty() { Ok(writer.out) } else { Err(writer.problems) }
}

struct Writer {
    out: String,
    depth: usize,
    problems: Vec<Diagnostic>,
}

impl Writer {
    // XML

    fn indent(&mut self) {
        for _ in 0..self.depth {
            self.out.push_str("    ");
        }
    }

    fn start_tag(&mut self, name: &str, attributes: &[(&str, &str)], span: Span) {
        self.indent();
        self.out.push('<');
        self.out.push_str(name);
        for (key, value) in attributes {
            self.out.push(' ');
            self.out.push_str(key);
            self.out.push_str("=\"");
            self.value(value, span);
            self.out.push('"');
        }
    }

    fn empty(&mut self, name: &str, attributes: &[(&str, &str)], span: Span) {
        self.start_tag(name, attributes, span);
        self.out.push_str("/>\n");
    }

    fn open(&mut self, name: &str, attributes: &[(&str, &str)], span: Span) {
        self.start_tag(name, attributes, span);
        self.out.push_str(">\n");
        self.depth += 1;
    }

    fn close(&mut self, name: &str) {
        self.depth -= 1;
        self.indent();
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push_str(">\n");
    }

    fn value(&mut self, value: &str, span: Span) {
        for c in value.chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                // Unescaped, these three would be read as blanks.
                '\t' | '\n' | '\r' => self.out.push_str(&format!("&#{};", c as u32)),
                '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                    let what = format!("the character U+{:04X}", c as u32);
                    self.not_expressible(span, &what, "XML has no way to write it");
                }
                c => self.out.push(c),
            }
        }
    }

    fn not_expressible(&mut self, span: Span, what: &str, help: &str) {
        self.problems.push(
            Diagnostic::error("not-expressible-in-xdf", format!("XDF cannot say {what}")).at(span, "").help(help),
        );
    }

    // Networks

    fn network(&mut self, network: &Network) {
        let span = network.name.span;
        self.open("XDF", &[("name", &network.name.text)], span);
        for (kind, ports) in [("Input", &network.inputs), ("Output", &network.outputs)] {
            for port in ports {
                self.port(kind, port);
            }
        }
        for param in &network.params {
            match param {
                NetworkParam::Value(var) => self.decl("Param", var),
                NetworkParam::Entity { span, .. } => self.not_expressible(
                    *span,
                    "a parameter that stands for an entity",
                    "export the instantiated network",
                ),
            }
        }
        for var in &network.vars {
            self.decl("Variable", var);
        }
        for entity in &network.entities {
            self.instance(entity);
        }
        for stmt in &network.structure {
            self.connection(stmt);
        }
        for attribute in &network.attributes {
            self.attribute(attribute);
        }
        self.close("XDF");
    }

    fn port(&mut self, kind: &str, port: &PortDecl) {
        let attributes = [("kind", kind), ("name", &port.name.text)];
        self.open("Port", &attributes, port.span);
        self.ty(&port.ty, &[]);
        for annotation in &port.annotations {
            if !annotation.args.is_empty() {
                self.not_expressible(
                    annotation.span,
                    "an annotation with arguments",
                    "write an attribute of the port instead",
                );
            }
            let attributes = [("kind", "Flag"), ("name", annotation.name.text.as_str())];
            self.empty("Attribute", &attributes, annotation.span);
        }
        for attribute in &port.attributes {
            self.attribute(attribute);
        }
        self.close("Port");
    }

    fn decl(&mut self, kind: &str, var: &VarDecl) {
        for annotation in &var.annotations {
            self.not_expressible(annotation.span, "an annotation of a variable", "leave it out");
        }
        self.open("Decl", &[("kind", kind), ("name", &var.name.text)], var.span);
        self.ty(&var.ty, &var.dims);
        if let Some(value) = &var.value {
            self.expr(value);
        }
        self.close("Decl");
    }

    fn instance(&mut self, entity: &EntityDecl) {
        self.open("Instance", &[("id", &entity.name.text)], entity.span);
        match &entity.value.kind {
            EntityExprKind::Instance { class, args } => {
                self.empty("Class", &[("name", &class.text)], class.span);
                for arg in args {
                    self.arg(arg);
                }
            }
            EntityExprKind::If { .. } => {
                self.not_expressible(entity.value.span, "a choice between entities", "export the instantiated network")
            }
            EntityExprKind::List { .. } => {
                self.not_expressible(entity.value.span, "a list of instances", "export the instantiated network")
            }
            EntityExprKind::Error => self.unreadable(entity.value.span),
        }
        for attribute in &entity.attributes {
            self.attribute(attribute);
        }
        self.close("Instance");
    }

    fn arg(&mut self, arg: &Arg) {
        let Some(name) = &arg.name else {
            return self.not_expressible(arg.span, "an argument without a name", "write `name = value`");
        };
        match &arg.value {
            ArgValue::Expr(value) => {
                self.open("Parameter", &[("name", &name.text)], arg.span);
                self.expr(value);
                self.close("Parameter");
            }
            ArgValue::Entity(_) => {
                self.not_expressible(arg.span, "an argument that is an entity", "export the instantiated network")
            }
        }
    }

    fn connection(&mut self, stmt: &StructureStmt) {
        let StructureKind::Connection { from, to, attributes } = &stmt.kind else {
            return self.not_expressible(
                stmt.span,
                "a conditional or repeated connection",
                "export the instantiated network",
            );
        };
        for end in [from, to] {
            if end.instance.iter().any(|instance| !instance.indices.is_empty()) {
                self.not_expressible(end.span, "one instance of a list", "export the instantiated network");
            }
        }
        let instance = |end: &PortRef| end.instance.as_ref().map_or(Text::new(), |instance| instance.name.text.clone());
        let pairs = [
            ("src", &*instance(from)),
            ("src-port", &*from.port.text),
            ("dst", &*instance(to)),
            ("dst-port", &*to.port.text),
        ];
        if attributes.is_empty() {
            return self.empty("Connection", &pairs, stmt.span);
        }
        self.open("Connection", &pairs, stmt.span);
        for attribute in attributes {
            self.attribute(attribute);
        }
        self.close("Connection");
    }

    fn attribute(&mut self, attribute: &Attribute) {
        let name = ("name", attribute.name.text.as_str());
        let span = attribute.span;
        match &attribute.value {
            AttributeValue::Flag => self.empty("Attribute", &[("kind", "Flag"), name], span),
            AttributeValue::String(text) => {
                self.empty("Attribute", &[("kind", "String"), name, ("value", text)], span);
            }
            AttributeValue::Value(value) => {
                self.open("Attribute", &[("kind", "Value"), name], span);
                self.expr(value);
                self.close("Attribute");
            }
            AttributeValue::Type(ty) => {
                self.open("Attribute", &[("kind", "Type"), name], span);
                self.ty(ty, &[]);
                self.close("Attribute");
            }
            AttributeValue::Custom(xml) => {
                let whole = format!("<Attribute>{xml}</Attribute>");
                let good = roxmltree::Document::parse(&whole)
                    .is_ok_and(|document| document.root_element().range() == (0..whole.len()));
                if !good {
                    self.not_expressible(span, "a custom attribute that is not XML", "use a string attribute");
                }
                self.open("Attribute", &[("kind", "Custom"), name], span);
                if !xml.is_empty() {
                    self.indent();
                    self.out.push_str(xml);
                    self.out.push('\n');
                }
                self.close("Attribute");
            }
        }
    }

    // Types and expressions

    /// A type with C-style dimensions around it.
    fn ty(&mut self, ty: &Type, dims: &[Expr]) {
        if let Some((outermost, inner)) = dims.split_first() {
            return self.list_type(ty.span, outermost, |writer| writer.ty(ty, inner));
        }
        let (name, size) = match &ty.kind {
            TypeKind::Bool => ("bool", None),
            TypeKind::Int(size) => ("int", size.as_deref()),
            TypeKind::Uint(size) => ("uint", size.as_deref()),
            TypeKind::Half => ("half", None),
            TypeKind::Float => ("float", None),
            TypeKind::Double => ("double", None),
            TypeKind::String => ("String", None),
            TypeKind::List { element, size } => {
                return self.list_type(ty.span, size, |writer| writer.ty(element, &[]));
            }
            TypeKind::Error => return self.unreadable(ty.span),
        };
        let Some(size) = size else {
            return self.empty("Type", &[("name", name)], ty.span);
        };
        self.open("Type", &[("name", name)], ty.span);
        self.size_entry(size, ty.span);
        self.close("Type");
    }

    fn list_type(&mut self, span: Span, size: &Expr, element: impl FnOnce(&mut Self)) {
        self.open("Type", &[("name", "List")], span);
        self.open("Entry", &[("kind", "Type"), ("name", "type")], span);
        element(self);
        self.close("Entry");
        self.size_entry(size, span);
        self.close("Type");
    }

    fn size_entry(&mut self, size: &Expr, span: Span) {
        self.open("Entry", &[("kind", "Expr"), ("name", "size")], span);
        self.expr(size);
        self.close("Entry");
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Bool(value) => {
                self.literal("Boolean", if *value { "true" } else { "false" }, expr.span);
            }
            ExprKind::Int(value) => self.literal("Integer", &value.to_string(), expr.span),
            ExprKind::Real { text, .. } => self.literal("Real", text, expr.span),
            ExprKind::String(text) => self.literal("String", text, expr.span),
            ExprKind::Var(name) => {
                self.empty("Expr", &[("kind", "Var"), ("name", &name.text)], expr.span);
            }
            ExprKind::List { items, generators } => {
                if let Some(generator) = generators.first() {
                    self.not_expressible(generator.span, "a list comprehension", "export the instantiated network");
                }
                self.open("Expr", &[("kind", "List")], expr.span);
                for item in items {
                    self.expr(item);
                }
                self.close("Expr");
            }
            ExprKind::Unary { op, operand } => match (op, &operand.kind) {
                (UnaryOp::Minus, ExprKind::Int(value)) => {
                    self.literal("Integer", &format!("-{value}"), expr.span);
                }
                (UnaryOp::Minus, ExprKind::Real { text, .. }) => {
                    self.literal("Real", &format!("-{text}"), expr.span);
                }
                _ => {
                    self.open("Expr", &[("kind", "UnaryOp")], expr.span);
                    self.empty("Op", &[("name", op.symbol())], expr.span);
                    self.expr(operand);
                    self.close("Expr");
                }
            },
            ExprKind::Binary { .. } => {
                self.open("Expr", &[("kind", "BinOpSeq")], expr.span);
                self.sequence(expr, 0);
                self.close("Expr");
            }
            ExprKind::Index { .. } => self.no_such_expr(expr, "an element of a list"),
            ExprKind::Call { .. } => self.no_such_expr(expr, "a call of a function"),
            ExprKind::If { .. } => self.no_such_expr(expr, "an `if` expression"),
            ExprKind::Error => self.unreadable(expr.span),
        }
    }

    /// The operands and operators of an expression, those of looser operators in an element of their own.
    fn sequence(&mut self, expr: &Expr, loosest: u8) {
        match &expr.kind {
            ExprKind::Binary { op, left, right } if op.precedence() >= loosest => {
                self.sequence(left, op.precedence());
                self.empty("Op", &[("name", op.symbol())], expr.span);
                self.sequence(right, op.precedence() + 1);
            }
            _ => self.expr(expr),
        }
    }

    fn literal(&mut self, kind: &str, value: &str, span: Span) {
        let attributes = [("kind", "Literal"), ("literal-kind", kind), ("value", value)];
        self.empty("Expr", &attributes, span);
    }

    fn no_such_expr(&mut self, expr: &Expr, what: &str) {
        self.not_expressible(expr.span, what, "give the value instead");
    }

    fn unreadable(&mut self, span: Span) {
        self.not_expressible(span, "what could not be read", "repair the network first");
    }
}
