//! Module builder, which interns what it is given. The module as it grows: tables, texts, records and names, each there once.

use crate::function::FunctionBuilder;
use headrace_ir::Network;
use headrace_program::names::Names;
use headrace_program::{
    Argument, Expr, ExprKind, FeatureSet, FeatureSetId, Field, FieldType, Function, FunctionId, Instruction, Interface,
    Module, NativeName, Place, Record, RecordId, Stmt, Table, TableId, Type,
};
use headrace_source::{Diagnostic, Span};
use rustc_hash::FxHashMap;

/// Fields of the record that all functions of a network may share.
pub(crate) mod control {
    /// Rounds and firings without tokens that are left: `U64`.
    pub(crate) const BUDGET: u32 = 0;
    /// There were none left: `Bool`.
    pub(crate) const LIMITED: u32 = 1;
    /// Why the program stopped, or 0: `U32`.
    pub(crate) const STOPPED: u32 = 2;
    /// Nested calls of procedures that call themselves: `U32`.
    pub(crate) const DEPTH: u32 = 3;
}

/// Most elements of an array.
pub(crate) const MAX_ELEMENTS: u64 = 1 << 28;

/// What has been lowered so far.
pub(crate) struct Building {
    pub(crate) records: Vec<Record>,
    pub(crate) tables: Vec<Table>,
    pub(crate) texts: Vec<String>,
    pub(crate) natives: Vec<NativeName>,
    pub(crate) features: Vec<FeatureSet>,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) functions: Vec<Function>,
    /// Names of records and functions.
    pub(crate) names: Names,
    pub(crate) control: RecordId,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Procedures that belong to no actor, by what they do.
    pub(crate) procedures: FxHashMap<String, FunctionId>,
    /// Functions that overwrite a record with zeros.
    zeroing: FxHashMap<RecordId, FunctionId>,
    table_names: Names,
    known_tables: FxHashMap<(Type, Vec<u64>), TableId>,
}

impl Building {
    pub(crate) fn new() -> Self {
        let mut building = Building {
            records: Vec::new(),
            tables: Vec::new(),
            texts: Vec::new(),
            natives: Vec::new(),
            features: Vec::new(),
            instructions: Vec::new(),
            functions: Vec::new(),
            names: Names::default(),
            control: RecordId(0),
            diagnostics: Vec::new(),
            procedures: FxHashMap::default(),
            zeroing: FxHashMap::default(),
            table_names: Names::default(),
            known_tables: FxHashMap::default(),
        };
        let field = |name: &str, ty: Type, about: &str| Field {
            name: name.to_owned(),
            ty: FieldType::Scalar(ty),
            about: about.to_owned(),
        };
        building.control = building.record(
            "Control",
            "what all actors of the network share",
            vec![
                field("budget", Type::U64, "rounds that are left"),
                field("limited", Type::Bool, "there were none left"),
                field("stopped", Type::U32, "why the program stopped, or 0"),
                field("depth", Type::U32, "nested calls of procedures that call themselves"),
            ],
        );
        building
    }

    /// The module of all that was lowered.
    pub(crate) fn module(self, network: &Network, interface: Interface) -> Module {
        let Building { records, tables, texts, natives, features, instructions, functions, .. } = self;
        let name = network.name.clone();
        Module { name, records, tables, texts, natives, features, instructions, functions, interface }
    }

    pub(crate) fn record(&mut self, like: &str, about: &str, fields: Vec<Field>) -> RecordId {
        let id = RecordId(self.records.len() as u32);
        let name = self.names.fresh(like);
        self.records.push(Record { name, about: about.to_owned(), fields });
        id
    }

    /// A field more, under a name that the record does not have yet.
    pub(crate) fn field(&mut self, record: RecordId, like: &str, ty: FieldType, about: &str) -> u32 {
        let fields = &mut self.records[record.index()].fields;
        let mut names = Names::default();
        for field in fields.iter() {
            names.fresh(&field.name);
        }
        fields.push(Field { name: names.fresh(like), ty, about: about.to_owned() });
        fields.len() as u32 - 1
    }

    pub(crate) fn table(&mut self, like: &str, element: Type, values: Vec<u64>) -> TableId {
        let key = (element, values);
        if let Some(&id) = self.known_tables.get(&key) {
            return id;
        }
        let id = TableId(self.tables.len() as u32);
        let name = self.table_names.fresh(like);
        self.tables.push(Table { name, element, values: key.1.clone() });
        self.known_tables.insert(key, id);
        id
    }

    /// The number of a text.
    pub(crate) fn text(&mut self, text: &str) -> u32 {
        let at = self.texts.iter().position(|known| known == text).unwrap_or_else(|| {
            self.texts.push(text.to_owned());
            self.texts.len() - 1
        });
        at as u32
    }

    pub(crate) fn native(&mut self, name: &str, n_arguments: usize) -> u32 {
        let wanted = NativeName { name: name.to_owned(), n_arguments };
        let at = self.natives.iter().position(|known| *known == wanted).unwrap_or_else(|| {
            self.natives.push(wanted);
            self.natives.len() - 1
        });
        at as u32
    }

    /// The number of a set of features.
    pub(crate) fn features(&mut self, wanted: FeatureSet) -> FeatureSetId {
        let at = self.features.iter().position(|known| *known == wanted).unwrap_or_else(|| {
            self.features.push(wanted);
            self.features.len() - 1
        });
        FeatureSetId(at as u32)
    }

    /// Drops sets of features at the end of the list that no function needs.
    pub(crate) fn forget_unused_features(&mut self) {
        while let Some(last) = self.features.len().checked_sub(1) {
            let last = FeatureSetId(last as u32);
            if self.functions.iter().any(|function| function.features == Some(last)) {
                break;
            }
            self.features.pop();
        }
    }

    /// The number of an instruction.
    pub(crate) fn instruction(&mut self, wanted: Instruction) -> u32 {
        let at = self.instructions.iter().position(|known| *known == wanted).unwrap_or_else(|| {
            self.instructions.push(wanted);
            self.instructions.len() - 1
        });
        at as u32
    }

    /// A finished function.
    pub(crate) fn function(&mut self, function: Function) -> FunctionId {
        self.functions.push(function);
        FunctionId(self.functions.len() as u32 - 1)
    }

    /// A function that overwrites all fields of a record with zeros; to be asked for when the record has all of them.
    pub(crate) fn zeroing(&mut self, record: RecordId) -> FunctionId {
        if let Some(&known) = self.zeroing.get(&record) {
            return known;
        }
        let Record { name, fields, .. } = self.records[record.index()].clone();
        let mut f = FunctionBuilder::new();
        let whole = f.record("whole", record);
        let zero = |ty| Expr { kind: ExprKind::Constant(0), ty };
        for (at, field) in fields.iter().enumerate() {
            let target = Place::field(whole, at as u32);
            match field.ty {
                FieldType::Scalar(ty) => f.push(Stmt::Assign(target, zero(ty))),
                FieldType::Array(ty, len) => {
                    f.push(Stmt::Fill { target, at: Expr::u32(0), count: Expr::u32(len), value: zero(ty) });
                }
                FieldType::Record(inner) => {
                    let inner = self.zeroing(inner);
                    f.call(None, inner, vec![Argument::Reference(target)]);
                }
            }
        }
        let own = self.names.fresh(&format!("zero_{name}"));
        let id = self.function(f.finish(own, "overwrites all of it with zeros", None));
        self.zeroing.insert(record, id);
        id
    }

    /// A number for a function that is finished later, since it is called before.
    pub(crate) fn reserve(&mut self) -> FunctionId {
        self.function(Function {
            name: String::new(),
            about: String::new(),
            variables: Vec::new(),
            parameters: Vec::new(),
            result: None,
            features: None,
            body: Vec::new(),
        })
    }

    pub(crate) fn unsupported(&mut self, span: Span, what: &str) {
        self.diagnostics.push(
            Diagnostic::error("unsupported-by-target", format!("this target cannot compile {what}"))
                .at(span, "needed here"),
        );
    }
}
