//! The tree of a network to NL text. The syntax is described where it is read, in the parser of networks.

use headrace_source::FileId;

use crate::ast::*;
use crate::format;
use crate::lexer::{escaped, is_name};

/// Writes the tree of a network as NL, laid out as [`format::format`] does. Reading the text gives the same tree, except
/// that parts which could not be read ([`EntityExprKind::Error`] and its like) stay unreadable.
///
/// The entity must be a network: the text of any other is empty.
pub fn write(file: &File) -> String {
    let Entity::Network(network) = &file.entity else {
        return String::new();
    };
    let mut writer = Writer { out: String::new() };
    writer.file(file, network);
    // A tree with errors in it has no layout; its text is then returned as it came.
    format::format(FileId::default(), &writer.out).unwrap_or(writer.out)
}

struct Writer {
    out: String,
}

impl Writer {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.push(", ");
            }
            write(self, item);
        }
    }

    /// A name, in quotes where it is a keyword.
    fn name(&mut self, name: &Name) {
        if is_name(&name.text) {
            self.push(&name.text);
        } else {
            self.push(&escaped(&name.text));
        }
    }

    fn file(&mut self, file: &File, network: &Network) {
        if let Some(package) = &file.package {
            self.push(&format!("package {};\n\n", package.text));
        }
        for import in &file.imports {
            let wildcard = if import.wildcard { ".*" } else { "" };
            self.push(&format!("import {}{wildcard};\n", import.name.text));
        }
        if !file.imports.is_empty() {
            self.push("\n");
        }
        self.annotations(&file.annotations);
        self.network(network);
    }

    fn annotations(&mut self, annotations: &[Annotation]) {
        for annotation in annotations {
            self.push("@");
            self.push(&annotation.name.text);
            if !annotation.args.is_empty() {
                self.push("(");
                self.list(&annotation.args, |writer, arg| {
                    writer.push(&arg.name.text);
                    if let Some(value) = &arg.value {
                        writer.push("=");
                        writer.push(&escaped(value));
                    }
                });
                self.push(")");
            }
            self.push(" ");
        }
    }

    fn network(&mut self, network: &Network) {
        self.push("network ");
        self.name(&network.name);
        self.push("(");
        self.list(&network.params, Self::param);
        self.push(") ");
        self.list(&network.inputs, Self::port);
        self.push(" ==> ");
        self.list(&network.outputs, Self::port);
        self.push(" :\n");
        if !network.attributes.is_empty() {
            self.push("attributes");
            self.attributes(&network.attributes);
            self.push("\n");
        }
        if !network.vars.is_empty() {
            self.push("var\n");
            for var in &network.vars {
                self.var(var);
                self.push(";\n");
            }
        }
        if !network.entities.is_empty() {
            self.push("entities\n");
            for entity in &network.entities {
                self.name(&entity.name);
                self.push(" = ");
                self.entity(&entity.value);
                self.attributes(&entity.attributes);
                self.push(";\n");
            }
        }
        if !network.structure.is_empty() {
            self.push("structure\n");
            self.structure(&network.structure);
        }
        self.push("end\n");
    }

    fn param(&mut self, param: &NetworkParam) {
        match param {
            NetworkParam::Value(var) => self.var(var),
            NetworkParam::Entity { name, default, .. } => {
                self.push("entity ");
                self.name(name);
                if let Some(default) = default {
                    self.push(" = ");
                    self.entity(default);
                }
            }
        }
    }

    fn port(&mut self, port: &PortDecl) {
        self.annotations(&port.annotations);
        self.ty(&port.ty);
        self.push(" ");
        self.name(&port.name);
        self.attributes(&port.attributes);
    }

    fn var(&mut self, var: &VarDecl) {
        self.annotations(&var.annotations);
        self.ty(&var.ty);
        self.push(" ");
        self.name(&var.name);
        self.indices(&var.dims);
        if let Some(value) = &var.value {
            self.push(if var.constant { " = " } else { " := " });
            self.expr(value);
        }
    }

    fn entity(&mut self, entity: &EntityExpr) {
        match &entity.kind {
            EntityExprKind::Instance { class, args } => {
                self.push(&class.text);
                self.push("(");
                self.list(args, Self::arg);
                self.push(")");
            }
            EntityExprKind::If { branches, otherwise } => {
                for (at, (condition, value)) in branches.iter().enumerate() {
                    self.push(if at == 0 { "if " } else { " elsif " });
                    self.expr(condition);
                    self.push(" then ");
                    self.entity(value);
                }
                self.push(" else ");
                self.entity(otherwise);
                self.push(" end");
            }
            EntityExprKind::List { items, generators } => {
                self.push("[");
                self.list(items, Self::entity);
                self.generators(generators);
                self.push("]");
            }
            EntityExprKind::Error => self.push("?"),
        }
    }

    fn arg(&mut self, arg: &Arg) {
        if let Some(name) = &arg.name {
            self.name(name);
            self.push(" = ");
        }
        match &arg.value {
            // `(a = b)` without a name would read as the value of the parameter `a`.
            ArgValue::Expr(value) => self.parenthesised(value, arg.name.is_none() && starts_with_equation(value)),
            ArgValue::Entity(entity) => self.entity(entity),
        }
    }

    fn attributes(&mut self, attributes: &[Attribute]) {
        if attributes.is_empty() {
            return;
        }
        self.push(" { ");
        for attribute in attributes {
            let kind = match &attribute.value {
                AttributeValue::Flag => "flag ",
                AttributeValue::String(_) => "string ",
                AttributeValue::Type(_) => "type ",
                AttributeValue::Custom(_) => "custom ",
                AttributeValue::Value(_) => "",
            };
            self.push(kind);
            self.name(&attribute.name);
            match &attribute.value {
                AttributeValue::Flag => {}
                AttributeValue::String(text) | AttributeValue::Custom(text) => {
                    self.push(" = ");
                    self.push(&escaped(text));
                }
                AttributeValue::Type(ty) => {
                    self.push(" = ");
                    self.ty(ty);
                }
                AttributeValue::Value(value) => {
                    self.push(" = ");
                    self.expr(value);
                }
            }
            self.push("; ");
        }
        self.push("}");
    }

    fn structure(&mut self, stmts: &[StructureStmt]) {
        for stmt in stmts {
            match &stmt.kind {
                StructureKind::Connection { from, to, attributes } => {
                    self.port_ref(from);
                    self.push(" --> ");
                    self.port_ref(to);
                    self.attributes(attributes);
                    self.push(";\n");
                }
                StructureKind::Foreach { generators, body } => {
                    self.push("foreach ");
                    self.list(generators, Self::generator);
                    self.push(" do\n");
                    self.structure(body);
                    self.push("end\n");
                }
                StructureKind::If { branches, otherwise } => {
                    for (at, (condition, body)) in branches.iter().enumerate() {
                        self.push(if at == 0 { "if " } else { "elsif " });
                        self.expr(condition);
                        self.push(" then\n");
                        self.structure(body);
                    }
                    if !otherwise.is_empty() {
                        self.push("else\n");
                        self.structure(otherwise);
                    }
                    self.push("end\n");
                }
            }
        }
    }

    fn port_ref(&mut self, port: &PortRef) {
        if let Some(instance) = &port.instance {
            self.name(&instance.name);
            self.indices(&instance.indices);
            self.push(".");
        }
        self.name(&port.port);
    }

    fn ty(&mut self, ty: &Type) {
        let (name, size) = match &ty.kind {
            TypeKind::Bool => ("bool", None),
            TypeKind::Int(size) => ("int", size.as_deref()),
            TypeKind::Uint(size) => ("uint", size.as_deref()),
            TypeKind::Half => ("half", None),
            TypeKind::Float => ("float", None),
            TypeKind::Double => ("double", None),
            TypeKind::String => ("String", None),
            TypeKind::Error => ("?", None),
            TypeKind::List { element, size } => {
                self.push("List(type:");
                self.ty(element);
                self.push(", size=");
                self.expr(size);
                return self.push(")");
            }
        };
        self.push(name);
        if let Some(size) = size {
            self.push("(size=");
            self.expr(size);
            self.push(")");
        }
    }

    // Expressions

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Bool(value) => self.push(if *value { "true" } else { "false" }),
            ExprKind::Int(value) => self.push(&value.to_string()),
            ExprKind::Real { text, .. } => self.push(text),
            ExprKind::String(text) => self.push(&escaped(text)),
            ExprKind::Var(name) => self.push(&name.text),
            ExprKind::Index { base, indices } => {
                self.push(&base.text);
                self.indices(indices);
            }
            ExprKind::Call { function, args } => self.call(function, args),
            ExprKind::List { items, generators } => {
                self.push("[");
                self.list(items, Self::expr);
                self.generators(generators);
                self.push("]");
            }
            ExprKind::If { branches, otherwise } => {
                for (at, (condition, value)) in branches.iter().enumerate() {
                    self.push(if at == 0 { "if " } else { " elsif " });
                    self.expr(condition);
                    self.push(" then ");
                    self.expr(value);
                }
                self.push(" else ");
                self.expr(otherwise);
                self.push(" end");
            }
            ExprKind::Unary { op, operand } => {
                self.push(op.symbol());
                if *op == UnaryOp::Not {
                    self.push(" ");
                }
                let compound = matches!(operand.kind, ExprKind::Unary { .. } | ExprKind::Binary { .. });
                self.parenthesised(operand, compound);
            }
            ExprKind::Binary { op, left, right } => {
                self.operand(left, op.precedence());
                self.push(&format!(" {} ", op.symbol()));
                self.operand(right, op.precedence() + 1);
            }
            ExprKind::Error => self.push("?"),
        }
    }

    fn operand(&mut self, operand: &Expr, loosest: u8) {
        let looser = matches!(operand.kind, ExprKind::Binary { op, .. } if op.precedence() < loosest);
        self.parenthesised(operand, looser);
    }

    fn parenthesised(&mut self, expr: &Expr, parentheses: bool) {
        if parentheses {
            self.push("(");
        }
        self.expr(expr);
        if parentheses {
            self.push(")");
        }
    }

    fn call(&mut self, function: &QualifiedName, args: &[Expr]) {
        self.push(&function.text);
        self.push("(");
        // `f(a = ...` would read as the instantiation of an entity.
        let ambiguous = args.first().is_some_and(starts_with_equation);
        for (at, arg) in args.iter().enumerate() {
            if at > 0 {
                self.push(", ");
            }
            self.parenthesised(arg, ambiguous && at == 0);
        }
        self.push(")");
    }

    fn indices(&mut self, indices: &[Expr]) {
        for index in indices {
            self.push("[");
            self.expr(index);
            self.push("]");
        }
    }

    fn generators(&mut self, generators: &[Generator]) {
        if !generators.is_empty() {
            self.push(" : ");
            self.list(generators, |writer, generator| {
                writer.push("for ");
                writer.generator(generator);
            });
        }
    }

    fn generator(&mut self, generator: &Generator) {
        if let Some(ty) = &generator.ty {
            self.ty(ty);
            self.push(" ");
        }
        self.name(&generator.name);
        self.push(" in ");
        self.expr(&generator.lower);
        self.push(" .. ");
        self.expr(&generator.upper);
    }
}

/// True when the text of an expression starts with `name =` or `"text" =`.
fn starts_with_equation(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary { op, left, .. } => match &left.kind {
            ExprKind::Var(name) => *op == BinaryOp::Eq && name.is_simple(),
            ExprKind::String(_) => *op == BinaryOp::Eq,
            _ => starts_with_equation(left),
        },
        _ => false,
    }
}
