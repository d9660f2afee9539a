//! Trees without their places, for comparing what two texts say.

use headrace_source::Span;

use crate::ast::*;

/// Sets every span of a file to the same empty place, so that two trees compare equal when they say the same.
pub fn erase_spans(file: &mut File) {
    file.erase();
}

trait Erase {
    fn erase(&mut self);
}

impl Erase for Span {
    fn erase(&mut self) {
        *self = Span::default();
    }
}

impl<T: Erase> Erase for Vec<T> {
    fn erase(&mut self) {
        self.iter_mut().for_each(Erase::erase);
    }
}

impl<T: Erase> Erase for Option<T> {
    fn erase(&mut self) {
        self.iter_mut().for_each(Erase::erase);
    }
}

impl<T: Erase> Erase for Box<T> {
    fn erase(&mut self) {
        (**self).erase();
    }
}

impl<A: Erase, B: Erase> Erase for (A, B) {
    fn erase(&mut self) {
        self.0.erase();
        self.1.erase();
    }
}

macro_rules! nothing_to_erase {
    ($($ty:ty),*) => { $(impl Erase for $ty { fn erase(&mut self) {} })* };
}

nothing_to_erase!(bool, Text, num_bigint::BigInt, UnaryOp, BinaryOp);

/// Names every field, so that a new one cannot be forgotten.
macro_rules! erase_structs {
    ($($ty:ident { $($field:ident),* })*) => {
        $(impl Erase for $ty {
            fn erase(&mut self) {
                let $ty { $($field),* } = self;
                $($field.erase();)*
            }
        })*
    };
}

erase_structs! {
    Name { text, span }
    QualifiedName { text, span }
    File { package, imports, annotations, entity, span }
    Import { name, wildcard, span }
    Annotation { name, args, span }
    AnnotationArg { name, value, span }
    Type { kind, span }
    VarDecl { annotations, ty, name, dims, value, constant, span }
    PortDecl { annotations, ty, name, attributes, span }
    Expr { kind, span }
    Generator { ty, name, lower, upper, span }
    Stmt { annotations, kind, span }
    Function { annotations, name, params, result, vars, body, span }
    Procedure { annotations, name, params, vars, body, span }
    Unit { name, vars, functions, procedures, span }
    Actor {
        name, params, inputs, outputs, vars, functions, procedures, actions, initializes, schedule, priorities, span
    }
    Action { annotations, tag, inputs, outputs, guards, vars, body, head, span }
    InputPattern { port, names, repeat, span }
    OutputPattern { port, values, repeat, span }
    Fsm { initial, transitions, span }
    Transition { source, tags, target, span }
    RegExp { kind, span }
    Inequality { tags, span }
    Network { name, params, inputs, outputs, vars, entities, structure, attributes, span }
    EntityDecl { name, value, attributes, span }
    EntityExpr { kind, span }
    Arg { name, value, span }
    StructureStmt { kind, span }
    PortRef { instance, port, span }
    InstanceRef { name, indices }
    Attribute { name, value, span }
}

impl Erase for Entity {
    fn erase(&mut self) {
        match self {
            Entity::Actor(actor) => actor.erase(),
            Entity::Unit(unit) => unit.erase(),
            Entity::Network(network) => network.erase(),
        }
    }
}

impl Erase for TypeKind {
    fn erase(&mut self) {
        match self {
            TypeKind::Int(size) | TypeKind::Uint(size) => size.erase(),
            TypeKind::List { element, size } => {
                element.erase();
                size.erase();
            }
            TypeKind::Bool
            | TypeKind::Half
            | TypeKind::Float
            | TypeKind::Double
            | TypeKind::String
            | TypeKind::Error => {}
        }
    }
}

impl Erase for ExprKind {
    fn erase(&mut self) {
        match self {
            ExprKind::Var(name) => name.erase(),
            ExprKind::Index { base, indices } => {
                base.erase();
                indices.erase();
            }
            ExprKind::Call { function, args } => {
                function.erase();
                args.erase();
            }
            ExprKind::List { items, generators } => {
                items.erase();
                generators.erase();
            }
            ExprKind::If { branches, otherwise } => {
                branches.erase();
                otherwise.erase();
            }
            ExprKind::Unary { op, operand } => {
                op.erase();
                operand.erase();
            }
            ExprKind::Binary { op, left, right } => {
                op.erase();
                left.erase();
                right.erase();
            }
            ExprKind::Bool(_) | ExprKind::Int(_) | ExprKind::Real { .. } | ExprKind::String(_) | ExprKind::Error => {}
        }
    }
}

impl Erase for StmtKind {
    fn erase(&mut self) {
        match self {
            StmtKind::Assign { target, indices, value } => {
                target.erase();
                indices.erase();
                value.erase();
            }
            StmtKind::Call { procedure, args } => {
                procedure.erase();
                args.erase();
            }
            StmtKind::If { branches, otherwise } => {
                branches.erase();
                otherwise.erase();
            }
            StmtKind::While { condition, body } => {
                condition.erase();
                body.erase();
            }
            StmtKind::Foreach { generator, body } => {
                generator.erase();
                body.erase();
            }
        }
    }
}

impl Erase for Schedule {
    fn erase(&mut self) {
        match self {
            Schedule::Fsm(fsm) => fsm.erase(),
            Schedule::RegExp(regexp) => regexp.erase(),
        }
    }
}

impl Erase for RegExpKind {
    fn erase(&mut self) {
        match self {
            RegExpKind::Tag(tag) => tag.erase(),
            RegExpKind::Sequence(parts) | RegExpKind::Choice(parts) => parts.erase(),
            RegExpKind::Star(inner) | RegExpKind::Optional(inner) => inner.erase(),
        }
    }
}

impl Erase for NetworkParam {
    fn erase(&mut self) {
        match self {
            NetworkParam::Value(var) => var.erase(),
            NetworkParam::Entity { name, default, span } => {
                name.erase();
                default.erase();
                span.erase();
            }
        }
    }
}

impl Erase for EntityExprKind {
    fn erase(&mut self) {
        match self {
            EntityExprKind::Instance { class, args } => {
                class.erase();
                args.erase();
            }
            EntityExprKind::If { branches, otherwise } => {
                branches.erase();
                otherwise.erase();
            }
            EntityExprKind::List { items, generators } => {
                items.erase();
                generators.erase();
            }
            EntityExprKind::Error => {}
        }
    }
}

impl Erase for ArgValue {
    fn erase(&mut self) {
        match self {
            ArgValue::Expr(expr) => expr.erase(),
            ArgValue::Entity(entity) => entity.erase(),
        }
    }
}

impl Erase for StructureKind {
    fn erase(&mut self) {
        match self {
            StructureKind::Connection { from, to, attributes } => {
                from.erase();
                to.erase();
                attributes.erase();
            }
            StructureKind::Foreach { generators, body } => {
                generators.erase();
                body.erase();
            }
            StructureKind::If { branches, otherwise } => {
                branches.erase();
                otherwise.erase();
            }
        }
    }
}

impl Erase for AttributeValue {
    fn erase(&mut self) {
        match self {
            AttributeValue::Value(expr) => expr.erase(),
            AttributeValue::Type(ty) => ty.erase(),
            AttributeValue::Flag | AttributeValue::String(_) | AttributeValue::Custom(_) => {}
        }
    }
}
