//! The tree of a source file: what was written, before any name or type is resolved.
//!
//! One tree serves `.cal`, `.nl` and `.xdf`. Invariants:
//!
//! * Every node has the [`Span`] that it was written in. A node read from XDF has the span of its element.
//! * The tree keeps what was written, not what it means: sizes stay expressions, both spellings of a list stay apart,
//!   nothing is defaulted, folded or reordered. Members of one kind stand in document order.
//! * Parentheses leave no trace; the shape of the tree is the grouping. Comments are not in the tree.
//! * No path from the root is longer than about [`MAX_HEIGHT`] nodes, so that recursion over the tree is safe on a
//!   stack of a few megabytes.
//! * Where the text was wrong, a diagnostic was reported; the tree then holds what could be read, with
//!   [`ExprKind::Error`] in the place of a missing expression and an empty [`Name`] in that of a missing loop variable.
//!
//! Two trees that differ only in spans compare equal after [`crate::erase_spans`].

mod actor;
mod network;

pub use actor::*;
pub use network::*;

use headrace_source::Span;
use num_bigint::BigInt;

/// Text of a name: cheap to clone, dereferences to `str`.
pub type Text = ecow::EcoString;

/// The greatest height of an expression. Statements and types around it add at most [`crate::MAX_NESTING`].
pub const MAX_HEIGHT: u32 = 500;

/// One identifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The identifier.
    pub text: Text,
    /// Where it stands.
    pub span: Span,
}

/// One or more identifiers with dots between them: a package, an entity, a variable of a unit, or the tag of an action.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QualifiedName {
    /// The identifiers joined by `.`, without blanks.
    pub text: Text,
    /// From the first to the last identifier.
    pub span: Span,
}

impl QualifiedName {
    /// The identifiers, first to last; at least one.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.text.split('.')
    }

    /// True for a single identifier.
    pub fn is_simple(&self) -> bool {
        !self.text.contains('.')
    }

    /// What stands before the last dot, if there is one.
    pub fn qualifier(&self) -> Option<&str> {
        self.text.rsplit_once('.').map(|(before, _)| before)
    }

    /// The last identifier.
    pub fn last(&self) -> &str {
        self.text.rsplit_once('.').map_or(&self.text, |(_, last)| last)
    }
}

/// The tag of an action or a prefix of one.
pub type Tag = QualifiedName;

/// A whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// `package a.b;`
    pub package: Option<QualifiedName>,
    /// In document order.
    pub imports: Vec<Import>,
    /// Before the entity.
    pub annotations: Vec<Annotation>,
    /// What the file defines.
    pub entity: Entity,
    /// The whole text.
    pub span: Span,
}

/// `import a.b.Unit.member;` or `import a.b.Unit.*;`
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// Without the `.*`.
    pub name: QualifiedName,
    /// True when it ended in `.*`.
    pub wildcard: bool,
    /// The whole clause.
    pub span: Span,
}

/// What a file defines.
#[derive(Clone, Debug, PartialEq)]
pub enum Entity {
    /// `actor`
    Actor(Actor),
    /// `unit`
    Unit(Unit),
    /// `network`, from NL or XDF.
    Network(Network),
}

impl Entity {
    /// The name after the keyword.
    pub fn name(&self) -> &Name {
        match self {
            Entity::Actor(actor) => &actor.name,
            Entity::Unit(unit) => &unit.name,
            Entity::Network(network) => &network.name,
        }
    }
}

/// `@name` or `@name(key="value", flag)`
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// Without the `@`.
    pub name: Name,
    /// In document order.
    pub args: Vec<AnnotationArg>,
    /// From the `@` to the closing parenthesis.
    pub span: Span,
}

/// One argument of an annotation.
#[derive(Clone, Debug, PartialEq)]
pub struct AnnotationArg {
    /// The key or the flag.
    pub name: Name,
    /// The string after `=`, unescaped.
    pub value: Option<Text>,
    /// The whole argument.
    pub span: Span,
}

// Types

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// Which one.
    pub kind: TypeKind,
    /// Where it stands.
    pub span: Span,
}

/// The forms of a type.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `bool`
    Bool,
    /// `int` or `int(size=E)`
    Int(Option<Box<Expr>>),
    /// `uint` or `uint(size=E)`
    Uint(Option<Box<Expr>>),
    /// `half`: 16 bits.
    Half,
    /// `float`: 32 bits.
    Float,
    /// `double`: 64 bits.
    Double,
    /// `String`
    String,
    /// `List(type:T, size=E)`
    List {
        /// `T`
        element: Box<Type>,
        /// `E`
        size: Box<Expr>,
    },
    /// Unreadable; already reported.
    Error,
}

/// A declared variable, constant or parameter: `T name[d0][d1] = value`.
#[derive(Clone, Debug, PartialEq)]
pub struct VarDecl {
    /// Before the type.
    pub annotations: Vec<Annotation>,
    /// The type before the name; the element type when there are `dims`.
    pub ty: Type,
    /// The name.
    pub name: Name,
    /// C-style dimensions, the outermost first.
    pub dims: Vec<Expr>,
    /// The initial value, or the default of a parameter.
    pub value: Option<Expr>,
    /// True for `=`, false for `:=` and for no value.
    pub constant: bool,
    /// From the annotations to the value.
    pub span: Span,
}

/// A port of an actor or a network.
#[derive(Clone, Debug, PartialEq)]
pub struct PortDecl {
    /// Before the type.
    pub annotations: Vec<Annotation>,
    /// Type of its tokens.
    pub ty: Type,
    /// The name.
    pub name: Name,
    /// Only on ports of networks.
    pub attributes: Vec<Attribute>,
    /// The whole declaration.
    pub span: Span,
}

// Expressions

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Which one.
    pub kind: ExprKind,
    /// Without the parentheses around it.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `true`, `false`
    Bool(bool),
    /// An integer literal. Never negative: `-1` is a `Unary`.
    Int(BigInt),
    /// A real literal.
    Real {
        /// The nearest `f64`; infinite when the literal is beyond its range.
        value: f64,
        /// As written.
        text: Text,
    },
    /// A string literal, unescaped.
    String(Text),
    /// `x`, `a.b.Unit.X`
    Var(QualifiedName),
    /// `x[i][j]`; at least one index.
    Index {
        /// The variable.
        base: QualifiedName,
        /// The outermost first.
        indices: Vec<Expr>,
    },
    /// `f(a, b)`
    Call {
        /// The function.
        function: QualifiedName,
        /// In order.
        args: Vec<Expr>,
    },
    /// `[a, b : for int i in 0 .. 3, ...]`, also without generators.
    List {
        /// Emitted in each step; at least one.
        items: Vec<Expr>,
        /// Later ones vary fastest.
        generators: Vec<Generator>,
    },
    /// `if c then a elsif d then b else e end`
    If {
        /// Condition and value, first to last; at least one.
        branches: Vec<(Expr, Expr)>,
        /// After `else`.
        otherwise: Box<Expr>,
    },
    /// `-x`
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        operand: Box<Expr>,
    },
    /// `x + y`
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// Unreadable; already reported.
    Error,
}

/// `for T i in lower .. upper`; also the head of a `foreach`.
#[derive(Clone, Debug, PartialEq)]
pub struct Generator {
    /// May be left out in networks only.
    pub ty: Option<Type>,
    /// The variable.
    pub name: Name,
    /// First value.
    pub lower: Expr,
    /// Last value.
    pub upper: Expr,
    /// From the type to the upper bound.
    pub span: Span,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Minus,
    /// `~`
    BitNot,
    /// `not`
    Not,
    /// `#`: number of elements of a list.
    Length,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `or`, `||`
    Or,
    /// `and`, `&&`
    And,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `&`
    BitAnd,
    /// `=`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `div`
    DivInt,
    /// `mod`
    Mod,
    /// `**`
    Pow,
}

impl UnaryOp {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Minus => "-",
            UnaryOp::BitNot => "~",
            UnaryOp::Not => "not",
            UnaryOp::Length => "#",
        }
    }
}

impl BinaryOp {
    /// Every operator, loosest first.
    pub const ALL: [BinaryOp; 20] = [
        BinaryOp::Or,
        BinaryOp::And,
        BinaryOp::BitOr,
        BinaryOp::BitXor,
        BinaryOp::BitAnd,
        BinaryOp::Eq,
        BinaryOp::Ne,
        BinaryOp::Lt,
        BinaryOp::Le,
        BinaryOp::Gt,
        BinaryOp::Ge,
        BinaryOp::Shl,
        BinaryOp::Shr,
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::DivInt,
        BinaryOp::Mod,
        BinaryOp::Pow,
    ];

    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Or => "or",
            BinaryOp::And => "and",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::BitAnd => "&",
            BinaryOp::Eq => "=",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::DivInt => "div",
            BinaryOp::Mod => "mod",
            BinaryOp::Pow => "**",
        }
    }

    /// Binding strength, 1 for the loosest. All operators associate to the left.
    pub fn precedence(self) -> u8 {
        match self {
            BinaryOp::Or => 1,
            BinaryOp::And => 2,
            BinaryOp::BitOr => 3,
            BinaryOp::BitXor => 4,
            BinaryOp::BitAnd => 5,
            BinaryOp::Eq | BinaryOp::Ne => 6,
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 7,
            BinaryOp::Shl | BinaryOp::Shr => 8,
            BinaryOp::Add | BinaryOp::Sub => 9,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::DivInt | BinaryOp::Mod => 10,
            BinaryOp::Pow => 11,
        }
    }
}

// Statements, functions, procedures

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// Before it.
    pub annotations: Vec<Annotation>,
    /// Which one.
    pub kind: StmtKind,
    /// From the annotations to the `;` or `end`.
    pub span: Span,
}

/// The forms of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `x[i] := e;`
    Assign {
        /// The variable.
        target: QualifiedName,
        /// The outermost first; may be empty.
        indices: Vec<Expr>,
        /// What is stored.
        value: Expr,
    },
    /// `p(a, b);`
    Call {
        /// The procedure.
        procedure: QualifiedName,
        /// In order.
        args: Vec<Expr>,
    },
    /// `if c then .. elsif d then .. else .. end`
    If {
        /// Condition and statements, first to last; at least one.
        branches: Vec<(Expr, Vec<Stmt>)>,
        /// After `else`; empty when there is none.
        otherwise: Vec<Stmt>,
    },
    /// `while c do .. end`
    While {
        /// Tested before each iteration.
        condition: Expr,
        /// The loop's body.
        body: Vec<Stmt>,
    },
    /// `foreach T i in lower .. upper do .. end`
    Foreach {
        /// The head.
        generator: Generator,
        /// The loop's body.
        body: Vec<Stmt>,
    },
}

/// `function f(T a) --> U var .. : e end`
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Before it; `native` means that there is no body.
    pub annotations: Vec<Annotation>,
    /// The name.
    pub name: Name,
    /// In order; none has a value.
    pub params: Vec<VarDecl>,
    /// After the arrow.
    pub result: Type,
    /// Local variables, in order.
    pub vars: Vec<VarDecl>,
    /// Absent when only declared.
    pub body: Option<Expr>,
    /// From the annotations to `end`.
    pub span: Span,
}

/// `procedure p(T a) var .. begin .. end`
#[derive(Clone, Debug, PartialEq)]
pub struct Procedure {
    /// Before it; `native` means that there is no body.
    pub annotations: Vec<Annotation>,
    /// The name.
    pub name: Name,
    /// In order; none has a value.
    pub params: Vec<VarDecl>,
    /// Local variables, in order.
    pub vars: Vec<VarDecl>,
    /// Absent when only declared.
    pub body: Option<Vec<Stmt>>,
    /// From the annotations to `end`.
    pub span: Span,
}

/// `unit U : .. end`
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// The name.
    pub name: Name,
    /// Constants, in document order.
    pub vars: Vec<VarDecl>,
    /// In document order.
    pub functions: Vec<Function>,
    /// In document order.
    pub procedures: Vec<Procedure>,
    /// From the keyword to `end`.
    pub span: Span,
}
