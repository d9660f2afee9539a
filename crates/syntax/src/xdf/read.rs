//! XDF text to tree.

use headrace_source::{Diagnostic, FileId, Span};
use num_bigint::BigInt;
use roxmltree::{Document, Node, ParsingOptions};

use crate::ast::*;
use crate::lexer::{Kind, MAX_FILE_BYTES, is_identifier, is_name, keyword};
use crate::parser::MAX_NESTING;
use crate::problems::Problems;
use crate::xml::{beyond_limits, offset_of};

/// The most XML nodes that are read: each takes some hundred bytes.
const MAX_NODES: u32 = 4_000_000;

/// The most digits of a number.
const MAX_DIGITS: usize = 20_000;

/// Reads an XDF text. `name` is the file's base name, used where the root element has none. The file is `None` when the
/// text is not well-formed or not a network at all; then at least one error says why.
pub fn read(file: FileId, name: &str, text: &str) -> (Option<File>, Vec<Diagnostic>) {
    let mut reader = Reader { file, text, problems: Problems::default(), nesting: 0, height: 0 };
    let tree = reader.document(name);
    (tree, reader.problems.into_diagnostics(file))
}

struct Reader<'a> {
    file: FileId,
    text: &'a str,
    problems: Problems,
    nesting: u32,
    /// Height of the expression that was read last.
    height: u32,
}

impl Reader<'_> {
    fn document(&mut self, name: &str) -> Option<File> {
        if self.text.len() > MAX_FILE_BYTES {
            self.problems.push(
                Diagnostic::error(
                    "file-too-large",
                    format!("the file has {} bytes; at most {MAX_FILE_BYTES} are read", self.text.len()),
                )
                .at(Span::new(self.file, 0, 0), ""),
            );
            return None;
        }
        if let Some((slug, message, at)) = beyond_limits(self.text) {
            self.problems.push(Diagnostic::error(slug, message).at(Span::new(self.file, at, at), ""));
            return None;
        }
        let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES };
        let document = match Document::parse_with_options(self.text, options) {
            Ok(document) => document,
            Err(error) => {
                let at = offset_of(self.text, error.pos());
                self.problems.push(
                    Diagnostic::error("xml-error", format!("not well-formed XML: {error}"))
                        .at(Span::new(self.file, at, at), ""),
                );
                return None;
            }
        };
        let root = document.root_element();
        if root.tag_name().name() != "XDF" {
            let found = root.tag_name().name().to_string();
            self.structure_error(root, format!("expected the element `XDF`, found `{found}`"));
            return None;
        }
        let network = self.network(root, name);
        Some(File {
            package: None,
            imports: Vec::new(),
            annotations: Vec::new(),
            span: Span::new(self.file, 0, self.text.len()),
            entity: Entity::Network(network),
        })
    }

    fn network(&mut self, root: Node, name: &str) -> Network {
        let name = match root.attribute("name") {
            Some(own) if is_identifier(own) => self.required_name(root, "name"),
            own => {
                let why = match own {
                    Some("") | None => "the network has no name".to_string(),
                    Some(own) => format!("`{own}` is not a name"),
                };
                self.warn(root, format!("{why}; that of the file is taken"));
                Name { text: as_identifier(name).into(), span: self.tag_span(root) }
            }
        };
        let mut network = Network {
            name,
            params: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            vars: Vec::new(),
            entities: Vec::new(),
            structure: Vec::new(),
            attributes: Vec::new(),
            span: Span::new(self.file, root.range().start, root.range().end),
        };
        for child in elements(root) {
            match child.tag_name().name() {
                "Port" => self.port(child, &mut network),
                "Decl" => self.decl(child, &mut network),
                "Instance" => {
                    let entity = self.instance(child);
                    network.entities.push(entity);
                }
                "Connection" => {
                    let connection = self.connection(child);
                    network.structure.push(connection);
                }
                "Attribute" => network.attributes.extend(self.attribute(child)),
                "Package" => self.warn(child, "the package of a network is that of its folder; `Package` is ignored"),
                _ => self.unknown(child),
            }
        }
        network
    }

    fn port(&mut self, node: Node, network: &mut Network) {
        let name = self.required_name(node, "name");
        let ty = self.only_type(node);
        let port = PortDecl {
            annotations: Vec::new(),
            ty,
            name,
            attributes: self.attributes(node),
            span: self.tag_span(node),
        };
        match node.attribute("kind") {
            Some("Input") => network.inputs.push(port),
            Some("Output") => network.outputs.push(port),
            kind => self.wrong_kind(node, kind, "`Input` or `Output`"),
        }
    }

    fn decl(&mut self, node: Node, network: &mut Network) {
        let name = self.required_name(node, "name");
        if keyword(&name.text) != Kind::Ident {
            let message = format!("`{}` is a keyword and cannot name a variable", name.text);
            self.structure_error(node, message);
        }
        let ty = self.only_type(node);
        let mut exprs = elements(node).filter(|child| child.tag_name().name() == "Expr");
        let value = exprs.next().map(|expr| self.expr(expr));
        if let Some(surplus) = exprs.next() {
            self.structure_error(surplus, "a second `Expr`");
        }
        let var = VarDecl {
            annotations: Vec::new(),
            ty,
            name,
            dims: Vec::new(),
            constant: value.is_some(),
            value,
            span: self.tag_span(node),
        };
        match node.attribute("kind") {
            Some("Param") => network.params.push(NetworkParam::Value(var)),
            Some("Variable" | "Var") => network.vars.push(var),
            kind => self.wrong_kind(node, kind, "`Param` or `Variable`"),
        }
    }

    fn instance(&mut self, node: Node) -> EntityDecl {
        let name = self.instance_name(node, "id");
        if node.attribute("id").is_some_and(|id| id != name.text.as_str()) {
            self.warn(node, format!("the instance is called `{}` here, because its id is not a name", name.text));
        }
        let span = self.tag_span(node);
        let mut class = None;
        let mut args = Vec::new();
        let mut attributes = Vec::new();
        for child in elements(node) {
            match child.tag_name().name() {
                "Class" if class.is_none() => class = Some(self.class(child)),
                "Class" => self.structure_error(child, "a second `Class`"),
                "Parameter" => args.push(self.parameter(child)),
                "Attribute" => attributes.extend(self.attribute(child)),
                // OpenDF's notes about layout
                "Note" => {}
                _ => self.unknown(child),
            }
        }
        let kind = match class {
            Some(class) => EntityExprKind::Instance { class, args },
            None => {
                let message = format!("the instance `{}` has no `Class`", name.text);
                self.structure_error(node, message);
                EntityExprKind::Error
            }
        };
        EntityDecl { name, value: EntityExpr { kind, span }, attributes, span }
    }

    fn class(&mut self, node: Node) -> QualifiedName {
        let span = self.tag_span(node);
        let text = node.attribute("name").unwrap_or("");
        // A class is found by the name of its file, which need not be an identifier.
        let wrong = |c: char| c.is_control() || "/\\:".contains(c);
        if text.split('.').any(|part| part.is_empty() || part.contains(wrong)) {
            self.structure_error(node, format!("`{text}` is not a qualified name"));
        }
        QualifiedName { text: text.into(), span }
    }

    fn parameter(&mut self, node: Node) -> Arg {
        let name = self.required_name(node, "name");
        Arg { name: Some(name), value: ArgValue::Expr(self.only_expr(node)), span: self.tag_span(node) }
    }

    fn connection(&mut self, node: Node) -> StructureStmt {
        let from = self.port_ref(node, "src", "src-port");
        let to = self.port_ref(node, "dst", "dst-port");
        let attributes = self.attributes(node);
        StructureStmt { kind: StructureKind::Connection { from, to, attributes }, span: self.tag_span(node) }
    }

    fn port_ref(&mut self, node: Node, instance: &str, port: &str) -> PortRef {
        let port = self.required_name(node, port);
        let instance = match node.attribute(instance) {
            None | Some("") => None,
            Some(_) => Some(InstanceRef { name: self.instance_name(node, instance), indices: Vec::new() }),
        };
        PortRef { span: self.tag_span(node), instance, port }
    }

    // Attributes

    fn attributes(&mut self, node: Node) -> Vec<Attribute> {
        let mut attributes = Vec::new();
        for child in elements(node) {
            match child.tag_name().name() {
                "Attribute" => attributes.extend(self.attribute(child)),
                "Type" | "Expr" => {}
                _ => self.unknown(child),
            }
        }
        attributes
    }

    fn attribute(&mut self, node: Node) -> Option<Attribute> {
        let span = self.tag_span(node);
        let Some(name) = node.attribute("name").filter(|name| !name.is_empty()) else {
            self.structure_error(node, "an `Attribute` needs a `name`");
            return None;
        };
        let name = Name { text: name.into(), span };
        let value = match node.attribute("kind") {
            Some("Flag") => AttributeValue::Flag,
            Some("Value") => AttributeValue::Value(self.only_expr(node)),
            Some("Type") => AttributeValue::Type(self.only_type(node)),
            Some("String") => AttributeValue::String(node.attribute("value").unwrap_or("").into()),
            Some("Custom") => AttributeValue::Custom(self.inner_text(node).into()),
            kind => {
                self.wrong_kind(node, kind, "`Value`, `Type`, `String`, `Flag` or `Custom`");
                return None;
            }
        };
        Some(Attribute { name, value, span })
    }

    /// The text between the tags of an element, as written.
    fn inner_text(&self, node: Node) -> &str {
        let (Some(first), Some(last)) = (node.first_child(), node.last_child()) else {
            return "";
        };
        self.text.get(first.range().start..last.range().end).unwrap_or("").trim()
    }

    // Types

    fn only_type(&mut self, node: Node) -> Type {
        let mut types = elements(node).filter(|child| child.tag_name().name() == "Type");
        let Some(first) = types.next() else {
            let span = self.tag_span(node);
            let message = format!("`{}` needs a `Type`", node.tag_name().name());
            self.structure_error(node, message);
            return Type { kind: TypeKind::Error, span };
        };
        if let Some(surplus) = types.next() {
            self.structure_error(surplus, "a second `Type`");
        }
        self.ty(first)
    }

    fn ty(&mut self, node: Node) -> Type {
        let span = self.tag_span(node);
        if self.nesting >= MAX_NESTING {
            self.too_deep(node, MAX_NESTING);
            return Type { kind: TypeKind::Error, span };
        }
        self.nesting += 1;
        let kind = self.type_kind(node);
        self.nesting -= 1;
        Type { kind, span }
    }

    fn type_kind(&mut self, node: Node) -> TypeKind {
        let mut size = None;
        let mut element = None;
        for entry in elements(node) {
            let (name, kind) = (entry.attribute("name"), entry.attribute("kind"));
            match (entry.tag_name().name(), name, kind) {
                ("Entry", Some("size"), Some("Expr")) => size = Some(self.only_expr(entry)),
                ("Entry", Some("type"), Some("Type")) => element = Some(self.only_type(entry)),
                _ => self.unknown(entry),
            }
        }
        match node.attribute("name") {
            Some("bool") => TypeKind::Bool,
            Some("int") => TypeKind::Int(size.map(Box::new)),
            Some("uint") => TypeKind::Uint(size.map(Box::new)),
            Some("String") => TypeKind::String,
            Some("half") => TypeKind::Half,
            Some("double") => TypeKind::Double,
            Some("float") => match size.map(|size| size.kind) {
                None => TypeKind::Float,
                Some(ExprKind::Int(bits)) if bits == BigInt::from(16) => TypeKind::Half,
                Some(ExprKind::Int(bits)) if bits == BigInt::from(32) => TypeKind::Float,
                Some(ExprKind::Int(bits)) if bits == BigInt::from(64) => TypeKind::Double,
                Some(_) => {
                    self.structure_error(node, "a float has 16, 32 or 64 bits");
                    TypeKind::Error
                }
            },
            Some("List") => match (element, size) {
                (Some(element), Some(size)) => TypeKind::List { element: Box::new(element), size: Box::new(size) },
                _ => {
                    self.structure_error(node, "a `List` needs the entries `type` and `size`");
                    TypeKind::Error
                }
            },
            name => {
                let message = match name {
                    Some(name) => format!("`{name}` is not a type"),
                    None => "a `Type` needs a `name`".into(),
                };
                self.structure_error(node, message);
                TypeKind::Error
            }
        }
    }

    // Expressions

    fn only_expr(&mut self, node: Node) -> Expr {
        let mut exprs = elements(node).filter(|child| child.tag_name().name() == "Expr");
        let Some(first) = exprs.next() else {
            let message = format!("`{}` needs an `Expr`", node.tag_name().name());
            self.structure_error(node, message);
            return self.error(node);
        };
        if let Some(surplus) = exprs.next() {
            self.structure_error(surplus, "a second `Expr`");
        }
        self.expr(first)
    }

    fn error(&mut self, node: Node) -> Expr {
        self.height = 1;
        Expr { kind: ExprKind::Error, span: self.tag_span(node) }
    }

    fn expr(&mut self, node: Node) -> Expr {
        if self.nesting >= MAX_NESTING {
            self.too_deep(node, MAX_NESTING);
            return self.error(node);
        }
        self.nesting += 1;
        let expr = self.expr_here(node);
        self.nesting -= 1;
        expr
    }

    fn expr_here(&mut self, node: Node) -> Expr {
        let span = self.tag_span(node);
        self.height = 1;
        let kind = match node.attribute("kind") {
            Some("Literal") => self.literal(node),
            Some("Var") => {
                let name = node.attribute("name").unwrap_or("");
                if name.split('.').all(is_name) {
                    ExprKind::Var(QualifiedName { text: name.into(), span })
                } else {
                    self.structure_error(node, format!("`{name}` is not the name of a variable"));
                    ExprKind::Error
                }
            }
            Some("List") => {
                let mut tallest = 0;
                let mut items = Vec::new();
                for child in elements(node) {
                    if child.tag_name().name() == "Expr" {
                        items.push(self.expr(child));
                        tallest = tallest.max(self.height);
                    } else {
                        self.unknown(child);
                    }
                }
                self.height = tallest + 1;
                if items.is_empty() {
                    self.structure_error(node, "a list has at least one element");
                    ExprKind::Error
                } else {
                    ExprKind::List { items, generators: Vec::new() }
                }
            }
            Some("UnaryOp") => self.unary(node),
            Some("BinOpSeq") => return self.sequence(node),
            kind => {
                self.wrong_kind(node, kind, "`Literal`, `Var`, `List`, `UnaryOp` or `BinOpSeq`");
                ExprKind::Error
            }
        };
        Expr { kind, span }
    }

    fn literal(&mut self, node: Node) -> ExprKind {
        let span = self.tag_span(node);
        let value = node.attribute("value").unwrap_or("");
        let (negative, digits) = match value.trim().strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, value.trim().trim_start_matches('+')),
        };
        let kind = match node.attribute("literal-kind") {
            Some("Boolean") => match value.trim() {
                value if value.eq_ignore_ascii_case("true") => return ExprKind::Bool(true),
                value if value.eq_ignore_ascii_case("false") => return ExprKind::Bool(false),
                _ => None,
            },
            Some("String") => return ExprKind::String(value.into()),
            Some("Integer") => {
                let good = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
                if digits.len() > MAX_DIGITS {
                    let message = format!("a number of {} digits; at most {MAX_DIGITS} are read", digits.len());
                    self.problems.push(Diagnostic::error("literal-too-large", message).at(span, ""));
                    return ExprKind::Error;
                }
                digits.parse().ok().filter(|_| good).map(|value: BigInt| ExprKind::Int(value))
            }
            Some("Real") => real(digits),
            kind => {
                self.wrong_literal_kind(node, kind);
                return ExprKind::Error;
            }
        };
        let Some(kind) = kind else {
            self.structure_error(node, format!("`{value}` is not a value of this kind"));
            return ExprKind::Error;
        };
        if !negative {
            return kind;
        }
        self.height = 2;
        ExprKind::Unary { op: UnaryOp::Minus, operand: Box::new(Expr { kind, span }) }
    }

    fn unary(&mut self, node: Node) -> ExprKind {
        let op = elements(node).find(|child| child.tag_name().name() == "Op");
        let op = match op.and_then(|op| op.attribute("name")) {
            Some("-") => UnaryOp::Minus,
            Some("~") => UnaryOp::BitNot,
            Some("not" | "!") => UnaryOp::Not,
            Some("#") => UnaryOp::Length,
            _ => {
                self.structure_error(node, "an `UnaryOp` needs an `Op` named `-`, `~`, `not` or `#`");
                return ExprKind::Error;
            }
        };
        let operand = Box::new(self.only_expr(node));
        self.height += 1;
        ExprKind::Unary { op, operand }
    }

    /// Operands with operators between them, grouped by CAL's precedences.
    fn sequence(&mut self, node: Node) -> Expr {
        let mut operands = Vec::new();
        let mut ops = Vec::new();
        for child in elements(node) {
            match child.tag_name().name() {
                "Expr" if operands.len() == ops.len() => {
                    let operand = self.expr(child);
                    operands.push((operand, self.height));
                }
                "Op" if operands.len() == ops.len() + 1 => {
                    let name = child.attribute("name").unwrap_or("");
                    match binary_op(name) {
                        Some(op) => ops.push(op),
                        None => {
                            self.structure_error(child, format!("`{name}` is not an operator"));
                            return self.error(node);
                        }
                    }
                }
                _ => {
                    self.structure_error(child, "operands and operators take turns in a `BinOpSeq`");
                    return self.error(node);
                }
            }
        }
        if operands.len() != ops.len() + 1 {
            self.structure_error(node, "a `BinOpSeq` ends in an operand");
            return self.error(node);
        }
        match group(operands, &ops, self.tag_span(node)) {
            Some((expr, height)) if height <= MAX_HEIGHT => {
                self.height = height;
                expr
            }
            _ => {
                self.too_deep(node, MAX_HEIGHT);
                self.error(node)
            }
        }
    }

    // Names and problems

    fn required_name(&mut self, node: Node, attribute: &str) -> Name {
        let span = self.tag_span(node);
        let text = node.attribute(attribute).unwrap_or("");
        if text.is_empty() {
            let message = format!("`{}` needs a `{attribute}`", node.tag_name().name());
            self.structure_error(node, message);
        } else if !is_identifier(text) {
            self.structure_error(node, format!("`{text}` is not a name"));
        }
        Name { text: text.into(), span }
    }

    /// The name of an instance: Orcc takes any text, which is made a name here.
    fn instance_name(&mut self, node: Node, attribute: &str) -> Name {
        match node.attribute(attribute) {
            Some(id) if !id.is_empty() => Name { text: as_identifier(id).into(), span: self.tag_span(node) },
            _ => self.required_name(node, attribute),
        }
    }

    /// The start tag of an element.
    fn tag_span(&self, node: Node) -> Span {
        let range = node.range();
        let end = node.first_child().map_or(range.end, |child| child.range().start);
        Span::new(self.file, range.start, end)
    }

    fn structure_error(&mut self, node: Node, message: impl Into<String>) {
        let span = self.tag_span(node);
        self.problems.push(Diagnostic::error("xdf-structure", message).at(span, ""));
    }

    fn warn(&mut self, node: Node, message: impl Into<String>) {
        let span = self.tag_span(node);
        self.problems.push(Diagnostic::warning("xdf-ignored", message).at(span, ""));
    }

    fn unknown(&mut self, node: Node) {
        let message = format!("the element `{}` is ignored", node.tag_name().name());
        self.warn(node, message);
    }

    fn wrong_kind(&mut self, node: Node, kind: Option<&str>, known: &str) {
        let element = node.tag_name().name();
        let message = match kind {
            Some(kind) => format!("`{kind}` is not a kind of `{element}`: expected {known}"),
            None => format!("`{element}` needs a `kind`: {known}"),
        };
        self.structure_error(node, message);
    }

    fn wrong_literal_kind(&mut self, node: Node, kind: Option<&str>) {
        let message = match kind {
            Some("Character") => "RVC-CAL has no characters".to_string(),
            Some(kind) => format!("`{kind}` is not a kind of literal"),
            None => "a literal needs a `literal-kind`".to_string(),
        };
        self.structure_error(node, message);
    }

    fn too_deep(&mut self, node: Node, most: u32) {
        let span = self.tag_span(node);
        self.problems.push(Diagnostic::error("nesting-too-deep", format!("nested more than {most} deep")).at(span, ""));
    }
}

fn elements<'a, 'input: 'a>(node: Node<'a, 'input>) -> impl Iterator<Item = Node<'a, 'input>> + use<'a, 'input> {
    node.children().filter(Node::is_element)
}

/// A real number, with a text that reads as a real number in CAL.
fn real(digits: &str) -> Option<ExprKind> {
    let plain = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let value: f64 = digits.parse().ok().filter(|_| plain)?;
    let mut text = Text::from(digits);
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.push_str(".0");
    }
    Some(ExprKind::Real { value, text })
}

fn binary_op(name: &str) -> Option<BinaryOp> {
    match name {
        "&&" => Some(BinaryOp::And),
        "||" => Some(BinaryOp::Or),
        "==" => Some(BinaryOp::Eq),
        _ => BinaryOp::ALL.into_iter().find(|op| op.symbol() == name),
    }
}

/// Groups `operands[0] ops[0] operands[1] ...`, all operators to the left. Each operand comes with its height.
fn group(operands: Vec<(Expr, u32)>, ops: &[BinaryOp], span: Span) -> Option<(Expr, u32)> {
    let mut operands = operands.into_iter();
    let mut values = vec![operands.next()?];
    let mut waiting: Vec<BinaryOp> = Vec::new();
    for (&op, operand) in ops.iter().zip(operands) {
        while waiting.last().is_some_and(|last| last.precedence() >= op.precedence()) {
            apply(&mut values, &mut waiting, span)?;
        }
        waiting.push(op);
        values.push(operand);
    }
    while !waiting.is_empty() {
        apply(&mut values, &mut waiting, span)?;
    }
    values.pop()
}

fn apply(values: &mut Vec<(Expr, u32)>, waiting: &mut Vec<BinaryOp>, span: Span) -> Option<()> {
    let op = waiting.pop()?;
    let (right, right_height) = values.pop()?;
    let (left, left_height) = values.pop()?;
    let height = left_height.max(right_height) + 1;
    if height > MAX_HEIGHT {
        return None;
    }
    let expr = Expr { kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, span };
    values.push((expr, height));
    Some(())
}

/// The text as a name: every character that no name has becomes `_`.
fn as_identifier(text: &str) -> String {
    let mut name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !is_identifier(&name) {
        name.insert(0, '_');
    }
    name
}
