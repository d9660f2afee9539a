//! A module made by hand, which tests run, read and change.

use headrace_program::{
    BinaryOp, CompareOp, Expr, Field, FieldType, Function, FunctionId, Input, Interface, Label, Module, Output, Place,
    Record, RecordId, Stmt, Table, TableId, Type, Variable, VariableId, VariableKind,
};

/// The record of the context.
pub const CONTEXT: RecordId = RecordId(0);

/// A function of variables, the first of which are its parameters.
pub fn function(
    name: &str,
    variables: Vec<VariableKind>,
    n_parameters: u32,
    result: Option<Type>,
    body: Vec<Stmt>,
) -> Function {
    let variables =
        variables.into_iter().enumerate().map(|(at, kind)| Variable { name: format!("v{at}"), kind }).collect();
    let parameters = (0..n_parameters).map(VariableId).collect();
    Function { name: name.to_owned(), about: String::new(), variables, parameters, result, features: None, body }
}

/// A field of the context.
pub fn field(field: u32) -> Place {
    Place::field(VariableId(0), field)
}

/// The value of a variable.
pub fn local(variable: u32, ty: Type) -> Expr {
    Expr::read(Place::variable(VariableId(variable)), ty)
}

/// Keeps the sum of all bytes that are written to it, each looked up in a table.
pub fn module() -> Module {
    let context = VariableKind::Record(CONTEXT);
    let slice = |mutable| VariableKind::Slice { element: Type::U8, mutable };
    let u32 = VariableKind::Scalar(Type::U32);
    let sum = Expr::read(field(0), Type::U32);
    let byte = Expr::element(Place::variable(VariableId(1)), local(3, Type::U32), Type::U8);
    let index = Expr::binary(BinaryOp::And, byte.to(Type::U32), Expr::u32(1));
    let looked_up = Expr::element(Place::table(TableId(0)), index, Type::I16).to(Type::U32);
    let write = vec![
        Stmt::While(
            Label(0),
            Expr::compare(CompareOp::Less, local(3, Type::U32), local(2, Type::U32)),
            vec![
                Stmt::Assign(field(0), sum.clone().plus(looked_up)),
                Stmt::Assign(Place::variable(VariableId(3)), local(3, Type::U32).plus(Expr::u32(1))),
            ],
        ),
        Stmt::Return(Some(local(2, Type::U32))),
    ];
    let functions = vec![
        function("init", vec![context], 1, None, vec![Stmt::Assign(field(0), Expr::u32(7))]),
        function(
            "run",
            vec![context, VariableKind::Scalar(Type::U64)],
            2,
            Some(Type::U32),
            vec![Stmt::Return(Some(Expr::u32(0)))],
        ),
        function("lacks_room", vec![context], 1, Some(Type::Bool), vec![Stmt::Return(Some(Expr::bool(false)))]),
        function("write_bytes", vec![context, slice(false), u32, u32], 3, Some(Type::U32), write),
        function("waiting", vec![context], 1, Some(Type::U32), vec![Stmt::Return(Some(sum))]),
        function("read", vec![context, slice(true), u32], 3, Some(Type::U32), vec![Stmt::Return(Some(Expr::u32(0)))]),
    ];
    let fields = vec![Field { name: "sum".to_owned(), ty: FieldType::Scalar(Type::U32), about: String::new() }];
    Module {
        name: "Sum".to_owned(),
        records: vec![Record { name: "Context".to_owned(), about: String::new(), fields }],
        tables: vec![Table {
            name: "steps".to_owned(),
            element: Type::I16,
            values: vec![Type::I16.extend(0xffff), 1000],
        }],
        texts: Vec::new(),
        natives: Vec::new(),
        features: Vec::new(),
        instructions: Vec::new(),
        functions,
        interface: Interface {
            context: CONTEXT,
            init: FunctionId(0),
            run: FunctionId(1),
            lacks_room: FunctionId(2),
            inputs: vec![Input { name: "In".to_owned(), element: Type::U8, words: 1, write: FunctionId(3) }],
            outputs: vec![Output {
                name: "Out".to_owned(),
                element: Type::U8,
                words: 1,
                read: FunctionId(5),
                waiting: FunctionId(4),
            }],
            streams: Vec::new(),
        },
    }
}
