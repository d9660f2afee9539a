//! Function builder. A function as it grows: variables with names, and the block to which statements go.

use headrace_program::names::Names;
use headrace_program::{
    Argument, Expr, FeatureSetId, Function, FunctionId, Label, Place, RecordId, Root, Stmt, Type, Variable, VariableId,
    VariableKind, VectorStmt,
};

/// A function that is being written.
pub(crate) struct FunctionBuilder {
    variables: Vec<Variable>,
    parameters: Vec<VariableId>,
    names: Names,
    block: Vec<Stmt>,
    n_labels: u32,
    /// What it needs of the machine.
    pub(crate) features: Option<FeatureSetId>,
}

impl FunctionBuilder {
    pub(crate) fn new() -> Self {
        Self {
            variables: Vec::new(),
            parameters: Vec::new(),
            names: Names::default(),
            block: Vec::new(),
            n_labels: 0,
            features: None,
        }
    }

    fn variable(&mut self, like: &str, kind: VariableKind) -> VariableId {
        let id = VariableId(self.variables.len() as u32);
        let name = self.names.fresh(like);
        self.variables.push(Variable { name, kind });
        id
    }

    /// One parameter more.
    pub(crate) fn parameter(&mut self, like: &str, kind: VariableKind) -> VariableId {
        let id = self.variable(like, kind);
        self.parameters.push(id);
        id
    }

    pub(crate) fn record(&mut self, like: &str, record: RecordId) -> VariableId {
        self.parameter(like, VariableKind::Record(record))
    }

    pub(crate) fn reference(&mut self, like: &str, element: Type, len: u32, mutable: bool) -> VariableId {
        self.parameter(like, VariableKind::Reference { element, len, mutable })
    }

    pub(crate) fn scalar_parameter(&mut self, like: &str, ty: Type) -> VariableId {
        self.parameter(like, VariableKind::Scalar(ty))
    }

    pub(crate) fn scalar(&mut self, like: &str, ty: Type) -> VariableId {
        self.variable(like, VariableKind::Scalar(ty))
    }

    pub(crate) fn array(&mut self, like: &str, ty: Type, len: u32) -> VariableId {
        self.variable(like, VariableKind::Array(ty, len))
    }

    /// A vector register of so many bits.
    pub(crate) fn register(&mut self, like: &str, bits: u32) -> VariableId {
        self.variable(like, VariableKind::Vector(bits))
    }

    pub(crate) fn kind(&self, variable: VariableId) -> VariableKind {
        self.variables[variable.index()].kind
    }

    /// Says that a parameter is only read after all.
    pub(crate) fn make_constant(&mut self, variable: VariableId) {
        if let VariableKind::Reference { mutable, .. } = &mut self.variables[variable.index()].kind {
            *mutable = false;
        }
    }

    /// True when some statement writes the array or passes it on for writing, which `written` knows of callees.
    pub(crate) fn writes(&self, variable: VariableId, written: &dyn Fn(FunctionId, usize) -> bool) -> bool {
        writes(&self.block, variable, written)
    }

    /// These parameters first, the others as they are.
    pub(crate) fn order_parameters(&mut self, first: &[VariableId]) {
        let rest = self.parameters.iter().copied().filter(|parameter| !first.contains(parameter));
        self.parameters = first.iter().copied().chain(rest).collect();
    }

    pub(crate) fn type_of(&self, variable: VariableId) -> Type {
        match self.kind(variable) {
            VariableKind::Scalar(ty) | VariableKind::Array(ty, _) => ty,
            VariableKind::Reference { element, .. } | VariableKind::Slice { element, .. } => element,
            VariableKind::Record(_) | VariableKind::Vector(_) => Type::Bool,
        }
    }

    /// The value of a scalar variable.
    pub(crate) fn read(&self, variable: VariableId) -> Expr {
        Expr::read(Place::variable(variable), self.type_of(variable))
    }

    /// An element of an array variable.
    pub(crate) fn at(&self, variable: VariableId, index: Expr) -> Expr {
        Expr::element(Place::variable(variable), index, self.type_of(variable))
    }

    pub(crate) fn push(&mut self, statement: Stmt) {
        self.block.push(statement);
    }

    pub(crate) fn assign(&mut self, variable: VariableId, value: Expr) {
        self.push(Stmt::Assign(Place::variable(variable), value));
    }

    pub(crate) fn store(&mut self, variable: VariableId, index: Expr, value: Expr) {
        self.push(Stmt::Store(Place::variable(variable), index, value));
    }

    /// A scalar with this value.
    pub(crate) fn named(&mut self, like: &str, value: Expr) -> Expr {
        if value.constant().is_some() {
            return value;
        }
        let variable = self.scalar(like, value.ty);
        self.assign(variable, value);
        self.read(variable)
    }

    pub(crate) fn call(&mut self, result: Option<VariableId>, function: FunctionId, arguments: Vec<Argument>) {
        self.push(Stmt::Call { result, function, arguments });
    }

    /// Takes the statements so far away; [`FunctionBuilder::restore`] gives them back.
    pub(crate) fn take(&mut self) -> Vec<Stmt> {
        std::mem::take(&mut self.block)
    }

    /// Ends an inner block, of which it gives the statements.
    pub(crate) fn restore(&mut self, outer: Vec<Stmt>) -> Vec<Stmt> {
        std::mem::replace(&mut self.block, outer)
    }

    fn inside(&mut self, write: impl FnOnce(&mut Self)) -> Vec<Stmt> {
        let outer = self.take();
        write(self);
        self.restore(outer)
    }

    pub(crate) fn label(&mut self) -> Label {
        self.n_labels += 1;
        Label(self.n_labels - 1)
    }

    pub(crate) fn when(&mut self, condition: Expr, yes: impl FnOnce(&mut Self)) {
        self.either(condition, yes, |_| {});
    }

    pub(crate) fn either(&mut self, condition: Expr, yes: impl FnOnce(&mut Self), no: impl FnOnce(&mut Self)) {
        let yes = self.inside(yes);
        let no = self.inside(no);
        match condition.constant() {
            Some(0) => self.block.extend(no),
            Some(_) => self.block.extend(yes),
            None if yes.is_empty() && no.is_empty() => {}
            None if yes.is_empty() => self.push(Stmt::If(condition.negated(), no, yes)),
            None => self.push(Stmt::If(condition, yes, no)),
        }
    }

    pub(crate) fn repeat_while(&mut self, condition: Expr, body: impl FnOnce(&mut Self)) {
        let label = self.label();
        let body = self.inside(body);
        self.push(Stmt::While(label, condition, body));
    }

    /// The body for each `U32` from 0 up to, and without, the number.
    pub(crate) fn count(&mut self, like: &str, number: Expr, body: impl FnOnce(&mut Self, Expr)) {
        let index = self.scalar(like, Type::U32);
        self.assign(index, Expr::u32(0));
        let at = self.read(index);
        self.repeat_while(at.clone().less(number), |f| {
            body(f, at.clone());
            f.assign(index, at.plus(Expr::u32(1)));
        });
    }

    /// Statements before all others.
    pub(crate) fn prepend(&mut self, mut statements: Vec<Stmt>) {
        statements.append(&mut self.block);
        self.block = statements;
    }

    /// The function with all statements so far.
    pub(crate) fn finish(self, name: String, about: &str, result: Option<Type>) -> Function {
        Function {
            name,
            about: about.to_owned(),
            variables: self.variables,
            parameters: self.parameters,
            result,
            features: self.features,
            body: self.block,
        }
    }
}

fn writes(block: &[Stmt], variable: VariableId, written: &dyn Fn(FunctionId, usize) -> bool) -> bool {
    let own = |place: &Place| place.root == Root::Variable(variable);
    block.iter().any(|statement| match statement {
        Stmt::Store(place, ..)
        | Stmt::StoreWord(place, ..)
        | Stmt::Copy { target: place, .. }
        | Stmt::Fill { target: place, .. }
        | Stmt::Vector(VectorStmt::Store { place, .. }) => own(place),
        Stmt::Call { function, arguments, .. } => arguments.iter().enumerate().any(|(at, argument)| {
            matches!(argument, Argument::Reference(place) if own(place)) && written(*function, at)
        }),
        Stmt::Native { arguments, .. } => arguments.iter().any(|argument| match argument {
            headrace_program::NativeArgument::Bytes(place, ..) => own(place),
            headrace_program::NativeArgument::Value(_) => false,
        }),
        _ => statement.blocks().into_iter().any(|block| writes(block, variable, written)),
    })
}
