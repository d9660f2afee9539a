//! Modules: records, tables, functions, and what the outside calls.

use crate::{Expr, FeatureSet, Instruction, Place, Root, Stmt, Type};

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index!(
    /// Position in [`Module::records`].
    RecordId
);
index!(
    /// Position in [`Module::tables`].
    TableId
);
index!(
    /// Position in [`Module::functions`].
    FunctionId
);
index!(
    /// Position in [`Module::features`].
    FeatureSetId
);
index!(
    /// Position in [`Function::variables`].
    VariableId
);

/// A lowered program.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// Qualified name of the network.
    pub name: String,
    /// Record types; one comes after all records that it has as fields.
    pub records: Vec<Record>,
    /// Constant tables.
    pub tables: Vec<Table>,
    /// Texts that are printed or compared; a text is its position here. No two are equal.
    pub texts: Vec<String>,
    /// Functions of the host that [`Stmt::Native`] calls.
    pub natives: Vec<NativeName>,
    /// What functions need of the machine that they run on; no two are equal.
    pub features: Vec<FeatureSet>,
    /// Instructions that [`crate::VectorStmt::Apply`] has; no two are equal.
    pub instructions: Vec<Instruction>,
    /// Functions; but for those that call themselves, one comes after all that it calls.
    pub functions: Vec<Function>,
    /// What the outside calls.
    pub interface: Interface,
}

/// A function that the host supplies: it takes integers and arrays of bytes, and gives an integer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NativeName {
    /// Its name, without unit.
    pub name: String,
    /// Number of arguments.
    pub n_arguments: usize,
}

/// A record type. All of its fields are zero before the `init` of the interface has run.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Name, unique among records and functions.
    pub name: String,
    /// What it is, for readers.
    pub about: String,
    /// Fields, with unique names.
    pub fields: Vec<Field>,
}

/// A field.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name, unique in the record.
    pub name: String,
    /// What it holds.
    pub ty: FieldType,
    /// What it is, for readers; may be empty.
    pub about: String,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// One value.
    Scalar(Type),
    /// This many values, at least one.
    Array(Type, u32),
    /// A record.
    Record(RecordId),
}

/// A constant table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name, unique among tables.
    pub name: String,
    /// Type of its elements.
    pub element: Type,
    /// The elements, as [`Type::extend`] says; at least one.
    pub values: Vec<u64>,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Name, unique among records and functions.
    pub name: String,
    /// What it does, for readers.
    pub about: String,
    /// Parameters and local variables, with unique names.
    pub variables: Vec<Variable>,
    /// Which variables are parameters, in order.
    pub parameters: Vec<VariableId>,
    /// Type of the result, which every path returns.
    pub result: Option<Type>,
    /// What it needs of the machine that it runs on.
    pub features: Option<FeatureSetId>,
    /// Statements.
    pub body: Vec<Stmt>,
}

/// A parameter or a local variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// Name, unique in the function.
    pub name: String,
    /// What it is.
    pub kind: VariableKind,
}

/// What a variable is. A local is a scalar or an array and begins at zero, or a vector register; a parameter is anything but
/// those last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableKind {
    /// One value; a parameter of this kind is a copy and may be assigned.
    Scalar(Type),
    /// An array of the function itself, with its length.
    Array(Type, u32),
    /// A vector register of so many bits, of a function that has features.
    Vector(u32),
    /// A reference to a record, for reading and writing.
    Record(RecordId),
    /// A reference to a whole array.
    Reference {
        /// Type of its elements.
        element: Type,
        /// Their number.
        len: u32,
        /// It may be written.
        mutable: bool,
    },
    /// A reference to an array of the caller of the interface, of unknown length.
    Slice {
        /// Type of its elements.
        element: Type,
        /// It may be written.
        mutable: bool,
    },
}

/// A parameter, as callers see it.
pub type Parameter = VariableKind;

impl Function {
    /// Kinds of the parameters.
    pub fn parameter_kinds(&self) -> impl Iterator<Item = Parameter> + '_ {
        self.parameters.iter().map(|variable| self.variables[variable.index()].kind)
    }

    /// True when the variable is a parameter.
    pub fn is_parameter(&self, variable: VariableId) -> bool {
        self.parameters.contains(&variable)
    }
}

/// What the outside calls. The context is a record of which the outside knows nothing, zero at first.
///
/// | function | takes | gives |
/// | --- | --- | --- |
/// | `init` | the context, zero throughout or after anything else that is here | |
/// | `run` | the context; most rounds over all instances, as `U64` | `U32`: [`Interface::IDLE`] and the others |
/// | `write` of an input | the context; tokens; their number, as `U32` | `U32`: how many it took |
/// | `read` of an output | the context; room for tokens; for how many, as `U32` | `U32`: how many there were |
/// | `waiting` of an output | the context | `U32`: how many wait |
/// | a stream | the context; tokens; their number, as `U32`; if it makes some: room; for how many | `U64`: how many it took and made |
/// | `lacks_room` | the context, after a run | `Bool`: an action that is enabled waits for room |
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// The context.
    pub context: RecordId,
    /// Brings it to where nothing has fired; what is written before it is read may keep what it held.
    pub init: FunctionId,
    /// Fires until nothing can fire.
    pub run: FunctionId,
    /// Whether more room would let it go on.
    pub lacks_room: FunctionId,
    /// For each input port of the network.
    pub inputs: Vec<Input>,
    /// For each output port of the network.
    pub outputs: Vec<Output>,
    /// Functions that work on arrays of the caller, for some inputs of bytes, at most one each.
    pub streams: Vec<Stream>,
}

/// A function that fires as a run does, until it can take tokens of an input where the caller has them and put tokens of an output
/// where the caller has room: any number of them, and none where nothing can fire or tokens wait in between. What it moved is
/// over, as if the tokens had been written, the network had run, and tokens had been read. How many it made is in the upper 32 bits of
/// what it gives. The arrays do not overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Position among the inputs.
    pub input: usize,
    /// Position among the outputs, where tokens are made.
    pub output: Option<usize>,
    /// The function.
    pub function: FunctionId,
}

impl Interface {
    /// Nothing can fire until tokens come or are taken.
    pub const IDLE: u32 = 0;
    /// The limit was reached.
    pub const LIMIT: u32 = 1;
    /// A native ended the program, or could not do its work; the host knows.
    pub const STOPPED_BY_HOST: u32 = 2;
    /// Calls nest too deep.
    pub const TOO_DEEP: u32 = 3;
}

/// An input port.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Name of the port.
    pub name: String,
    /// Type of the elements that a token is made of; a `bool` is a `U8` that is not zero, a half is its bit pattern.
    pub element: Type,
    /// Elements of a token: several, least significant first, for integers of more than 64 bits.
    pub words: u32,
    /// Writes tokens.
    pub write: FunctionId,
}

/// An output port.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Name of the port.
    pub name: String,
    /// As of an [`Input`].
    pub element: Type,
    /// As of an [`Input`].
    pub words: u32,
    /// Takes tokens.
    pub read: FunctionId,
    /// Counts those that are there.
    pub waiting: FunctionId,
}

impl Module {
    /// Number of statements and of expressions in them: how long it is, whatever the language.
    pub fn size(&self) -> usize {
        fn of_expr(expr: &Expr) -> usize {
            1 + expr.parts().into_iter().map(of_expr).sum::<usize>()
        }
        fn of_block(block: &[Stmt]) -> usize {
            let of = |statement: &Stmt| {
                let values: usize = statement.exprs().into_iter().map(of_expr).sum();
                1 + values + statement.blocks().into_iter().map(of_block).sum::<usize>()
            };
            block.iter().map(of).sum()
        }
        self.functions.iter().map(|function| of_block(&function.body)).sum()
    }

    /// The function of this number.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.index()]
    }

    /// The record of this number.
    pub fn record(&self, id: RecordId) -> &Record {
        &self.records[id.index()]
    }

    /// The type of the elements of an array, or of a scalar, if a place is one.
    pub fn element(&self, function: &Function, place: &Place) -> Option<Type> {
        match (place.root, &place.path[..]) {
            (Root::Table(table), _) => Some(self.tables[table.index()].element),
            (Root::Variable(variable), []) => match function.variables[variable.index()].kind {
                VariableKind::Scalar(ty) | VariableKind::Array(ty, _) => Some(ty),
                VariableKind::Reference { element, .. } | VariableKind::Slice { element, .. } => Some(element),
                VariableKind::Vector(_) | VariableKind::Record(_) => None,
            },
            _ => match self.fields(function, place).last()?.as_ref()?.ty {
                FieldType::Scalar(ty) | FieldType::Array(ty, _) => Some(ty),
                FieldType::Record(_) => None,
            },
        }
    }

    /// The fields that the path of a place leads through, from the variable on. Where one does not exist, which [`crate::verify`]
    /// reports, it is `None`, and nothing comes after it.
    pub fn fields(&self, function: &Function, place: &Place) -> Vec<Option<&Field>> {
        let mut record = match place.root {
            Root::Variable(variable) => match function.variables[variable.index()].kind {
                VariableKind::Record(id) => Some(id),
                _ => None,
            },
            Root::Table(_) => None,
        };
        let mut fields = Vec::with_capacity(place.path.len());
        for &at in &place.path {
            let field = record.and_then(|id| self.record(id).fields.get(at as usize));
            fields.push(field);
            let Some(field) = field else { break };
            record = match field.ty {
                FieldType::Record(id) => Some(id),
                _ => None,
            };
        }
        fields
    }
}
