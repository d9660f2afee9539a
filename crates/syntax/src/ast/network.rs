//! Networks, from NL or XDF.

use headrace_source::Span;

use super::*;

/// `network N(T p) T In ==> T Out : var .. entities .. structure .. end`, or an XDF file.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The name.
    pub name: Name,
    /// In order.
    pub params: Vec<NetworkParam>,
    /// Before the arrow.
    pub inputs: Vec<PortDecl>,
    /// After the arrow.
    pub outputs: Vec<PortDecl>,
    /// Constants, in document order.
    pub vars: Vec<VarDecl>,
    /// Instances, in document order.
    pub entities: Vec<EntityDecl>,
    /// Connections, in document order.
    pub structure: Vec<StructureStmt>,
    /// Of the network itself.
    pub attributes: Vec<Attribute>,
    /// From the keyword to `end`.
    pub span: Span,
}

/// A parameter of a network.
#[derive(Clone, Debug, PartialEq)]
pub enum NetworkParam {
    /// `T p = default`
    Value(VarDecl),
    /// `entity P = default`: stands for an actor or a network.
    Entity {
        /// The name, used like the name of an entity inside.
        name: Name,
        /// What it stands for when the argument is left out.
        default: Option<EntityExpr>,
        /// The whole parameter.
        span: Span,
    },
}

impl NetworkParam {
    /// The parameter's name.
    pub fn name(&self) -> &Name {
        match self {
            NetworkParam::Value(var) => &var.name,
            NetworkParam::Entity { name, .. } => name,
        }
    }
}

/// `name = A(k = 3) {attributes};`
#[derive(Clone, Debug, PartialEq)]
pub struct EntityDecl {
    /// The name of the instance or of the list of instances.
    pub name: Name,
    /// What is instantiated.
    pub value: EntityExpr,
    /// Of the instance, or of every instance of the list.
    pub attributes: Vec<Attribute>,
    /// The whole declaration.
    pub span: Span,
}

/// What an instance is.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityExpr {
    /// Which form.
    pub kind: EntityExprKind,
    /// Where it stands.
    pub span: Span,
}

/// The forms of [`EntityExpr`].
#[derive(Clone, Debug, PartialEq)]
pub enum EntityExprKind {
    /// `a.b.Class(k = 3)`; the class may be an entity parameter of the network.
    Instance {
        /// Qualified, or simple when of the same package.
        class: QualifiedName,
        /// In order.
        args: Vec<Arg>,
    },
    /// `if c then A() else B() end`
    If {
        /// Condition and value, first to last; at least one.
        branches: Vec<(Expr, EntityExpr)>,
        /// After `else`.
        otherwise: Box<EntityExpr>,
    },
    /// `[A(), B() : for int i in 0 .. 3]`, also without generators: a list of instances, indexed from 0.
    List {
        /// Emitted in each step; at least one.
        items: Vec<EntityExpr>,
        /// Later ones vary fastest.
        generators: Vec<Generator>,
    },
    /// Unreadable; already reported.
    Error,
}

/// `k = 3` in an instantiation.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// The parameter; `None` for a positional argument.
    pub name: Option<Name>,
    /// Its value.
    pub value: ArgValue,
    /// The whole argument.
    pub span: Span,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgValue {
    /// A value, or an entity that is written as a bare name or with empty parentheses: see [`ArgValue::as_entity`].
    Expr(Expr),
    /// An instantiation with arguments, for an entity parameter.
    Entity(EntityExpr),
}

impl ArgValue {
    /// The value read as an entity, for an entity parameter: an entity expression, a bare name, `Name()`, or an `if`
    /// over such.
    pub fn as_entity(&self) -> Option<EntityExpr> {
        match self {
            ArgValue::Entity(entity) => Some(entity.clone()),
            ArgValue::Expr(expr) => expr_as_entity(expr),
        }
    }

    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            ArgValue::Expr(expr) => expr.span,
            ArgValue::Entity(entity) => entity.span,
        }
    }
}

fn expr_as_entity(expr: &Expr) -> Option<EntityExpr> {
    let kind = match &expr.kind {
        ExprKind::Var(name) => EntityExprKind::Instance { class: name.clone(), args: Vec::new() },
        ExprKind::Call { function, args } if args.is_empty() => {
            EntityExprKind::Instance { class: function.clone(), args: Vec::new() }
        }
        ExprKind::If { branches, otherwise } => EntityExprKind::If {
            branches: branches
                .iter()
                .map(|(condition, value)| Some((condition.clone(), expr_as_entity(value)?)))
                .collect::<Option<_>>()?,
            otherwise: Box::new(expr_as_entity(otherwise)?),
        },
        _ => return None,
    };
    Some(EntityExpr { kind, span: expr.span })
}

/// One line of the `structure` section.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureStmt {
    /// Which form.
    pub kind: StructureKind,
    /// The whole statement.
    pub span: Span,
}

/// The forms of [`StructureStmt`].
#[derive(Clone, Debug, PartialEq)]
pub enum StructureKind {
    /// `a.Out --> b.In {attributes};`
    Connection {
        /// An output of an instance or an input of the network.
        from: PortRef,
        /// An input of an instance or an output of the network.
        to: PortRef,
        /// `bufferSize` and others.
        attributes: Vec<Attribute>,
    },
    /// `foreach int i in 0 .. 3 do .. end`; several heads, separated by commas, nest.
    Foreach {
        /// At least one; later ones vary fastest.
        generators: Vec<Generator>,
        /// In order.
        body: Vec<StructureStmt>,
    },
    /// `if c then .. elsif d then .. else .. end`
    If {
        /// Condition and statements, first to last; at least one.
        branches: Vec<(Expr, Vec<StructureStmt>)>,
        /// After `else`; empty when there is none.
        otherwise: Vec<StructureStmt>,
    },
}

/// One end of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct PortRef {
    /// `None` for a port of the network itself.
    pub instance: Option<InstanceRef>,
    /// The port.
    pub port: Name,
    /// The whole reference.
    pub span: Span,
}

/// `bank[0]` in `bank[0].In`
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceRef {
    /// The name of the entity declaration.
    pub name: Name,
    /// The outermost first; empty for a single instance.
    pub indices: Vec<Expr>,
}

/// Something said about an instance, a port, a connection or a network that does not change its meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// `bufferSize`, `partition`, `native`, ...
    pub name: Name,
    /// What is said.
    pub value: AttributeValue,
    /// The whole attribute.
    pub span: Span,
}

/// The five kinds of attributes, those of XDF.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// `flag native;`
    Flag,
    /// `bufferSize = 64;`
    Value(Expr),
    /// `string note = "text";`, unescaped.
    String(Text),
    /// `type T = uint(size=8);`
    Type(Type),
    /// `custom x = "<xml/>";`: the XML inside the element, unescaped.
    Custom(Text),
}

impl Attribute {
    /// The text of a string attribute, also where it was given as a string expression.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            AttributeValue::String(text) => Some(text),
            AttributeValue::Value(Expr { kind: ExprKind::String(text), .. }) => Some(text),
            _ => None,
        }
    }
}
