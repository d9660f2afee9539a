//! A module made by hand: what the verifier says of it and of what is wrong with it, what it does, how it reads.

mod by_hand;

use by_hand::{CONTEXT, field, function, local, module};
use headrace_program::evaluate::{Machine, NoHost, Outside};
use headrace_program::{
    Argument, BinaryOp, ByteOrder, Expr, FieldType, FunctionId, Label, Module, Place, RecordId, Stmt, TableId, Type,
    VariableId, VariableKind, text, verify,
};

#[test]
fn a_right_module_runs() {
    let module = module();
    assert_eq!(verify(&module), Vec::<String>::new());
    let mut machine = Machine::new(&module);
    let mut call = |function, arguments: &mut [Outside<'_>]| machine.call(function, arguments, &mut NoHost);
    assert_eq!(call(module.interface.init, &mut [Outside::Context]), Ok(0));
    let mut bytes = vec![1, 2, 3];
    let mut arguments = [Outside::Context, Outside::Slice(&mut bytes), Outside::Value(3)];
    assert_eq!(call(FunctionId(3), &mut arguments), Ok(3));
    // 7 + 1000 - 1 + 1000
    assert_eq!(call(FunctionId(4), &mut [Outside::Context]), Ok(2006));
    let mut arguments = [Outside::Context, Outside::Slice(&mut bytes), Outside::Value(4)];
    let fault = call(FunctionId(3), &mut arguments).expect_err("one byte is missing");
    assert_eq!(fault.to_string(), "index 3 of an array of 3 (in write_bytes)");
}

/// What a function that is given eight bytes makes of them.
fn done_with_bytes(variables: Vec<VariableKind>, body: Vec<Stmt>) -> (Vec<String>, Vec<u64>) {
    let mut module = module();
    let slice = VariableKind::Slice { element: Type::U8, mutable: true };
    let given = vec![VariableKind::Record(CONTEXT), slice, VariableKind::Scalar(Type::U32)];
    let body = [body, vec![Stmt::Return(Some(Expr::u32(0)))]].concat();
    let id = module.interface.outputs[0].read;
    module.functions[id.index()] = function("read", [given, variables].concat(), 3, Some(Type::U32), body);
    let mut bytes: Vec<u64> = (1..=8).collect();
    let problems = verify(&module);
    if problems.is_empty() {
        let arguments = &mut [Outside::Context, Outside::Slice(&mut bytes), Outside::Value(8)];
        Machine::new(&module).call(id, arguments, &mut NoHost).expect("it runs");
    }
    (problems, bytes)
}

#[test]
fn words_are_bytes_in_an_order() {
    let bytes = || Place::variable(VariableId(1));
    let (problems, made) = done_with_bytes(
        Vec::new(),
        vec![Stmt::StoreWord(
            bytes(),
            Expr::u32(4),
            Expr::word(bytes(), Expr::u32(1), ByteOrder::Big, Type::U32),
            ByteOrder::Little,
        )],
    );
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(made, [1, 2, 3, 4, 5, 4, 3, 2]);
    let whole = Expr::word(bytes(), Expr::u32(0), ByteOrder::Little, Type::U64);
    let turned = vec![Stmt::StoreWord(bytes(), Expr::u32(0), whole, ByteOrder::Big)];
    assert_eq!(done_with_bytes(Vec::new(), turned).1, [8, 7, 6, 5, 4, 3, 2, 1]);
    // Of two bytes there are no words, and of what is no byte neither.
    let narrow = Expr::word(bytes(), Expr::u32(0), ByteOrder::Big, Type::U16);
    assert!(
        !done_with_bytes(Vec::new(), vec![Stmt::StoreWord(bytes(), Expr::u32(0), narrow, ByteOrder::Big)]).0.is_empty()
    );
}

#[test]
fn lanes_do_the_same_for_every_value() {
    let (lane, own) = (VariableId(3), VariableId(4));
    let scalars = || vec![VariableKind::Scalar(Type::U32), VariableKind::Scalar(Type::U32)];
    let bytes = || Place::variable(VariableId(1));
    let twice = |statement: Vec<Stmt>| vec![Stmt::Lanes { lane, count: 3, body: statement }];
    let read = Expr::element(bytes(), local(3, Type::U32), Type::U8).to(Type::U32);
    let body = vec![
        Stmt::Assign(Place::variable(own), read.times(Expr::u32(10))),
        Stmt::Store(bytes(), local(3, Type::U32).plus(Expr::u32(4)), local(4, Type::U32).to(Type::U8)),
    ];
    let (problems, made) = done_with_bytes(scalars(), twice(body));
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(made, [1, 2, 3, 4, 10, 20, 30, 8]);
    for wrong in
        [Stmt::Assign(Place::variable(lane), Expr::u32(0)), Stmt::Assign(field(0), Expr::u32(0)), Stmt::Return(None)]
    {
        assert!(!done_with_bytes(scalars(), twice(vec![wrong.clone()])).0.is_empty(), "{wrong:?}");
    }
}

#[test]
fn the_text_says_all_of_it() {
    let text = text(&module());
    for part in [
        "table steps: [i16; 2] = -1 1000",
        "record Context",
        "function write_bytes(v0: &Context, v1: &[u8], v2: u32) -> u32",
        "while v3 < v2",
        "v0.sum = v0.sum + u32(steps[u32(v1[v3]) & 1])",
        "return v2",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn what_is_wrong_is_found() {
    type Change = fn(&mut Module);
    let wrong: [(&str, Change); 12] = [
        ("twice", |module| module.functions[1].name = "init".to_owned()),
        ("no identifier", |module| module.tables[0].name = "a b".to_owned()),
        ("do not fit", |module| module.tables[0].values[0] = 0xffff),
        ("comes later", |module| module.records[0].fields[0].ty = FieldType::Record(RecordId(0))),
        ("does not exist", |module| module.functions[0].body = vec![Stmt::Assign(field(1), Expr::u32(1))]),
        ("assigned to something else", |module| {
            module.functions[0].body = vec![Stmt::Assign(field(0), Expr::bool(true))];
        }),
        ("only read", |module| {
            let target = Place::table(TableId(0));
            module.functions[0].body = vec![Stmt::Store(target, Expr::u32(0), Expr::int(Type::I16, 0))];
        }),
        ("not around it", |module| module.functions[0].body = vec![Stmt::Break(Label(0))]),
        ("returns nothing", |module| module.functions[1].body.clear()),
        ("overlap", |module| {
            let both = vec![Argument::Reference(Place::variable(VariableId(0))); 2];
            let record = VariableKind::Record(CONTEXT);
            module.functions.push(function("two", vec![record, record], 2, None, Vec::new()));
            let call = Stmt::Call { result: None, function: FunctionId(6), arguments: both };
            module.functions[0].body = vec![call];
        }),
        ("Add of u8", |module| {
            let byte = Expr::int(Type::U8, 1);
            let kind = headrace_program::ExprKind::Binary(BinaryOp::Add, Box::new(byte.clone()), Box::new(byte));
            let sum = Expr { kind, ty: Type::U8 }.to(Type::U32);
            module.functions[0].body = vec![Stmt::Assign(field(0), sum)];
        }),
        ("no run", |module| module.interface.run = FunctionId(0)),
    ];
    for (problem, change) in wrong {
        let mut module = module();
        change(&mut module);
        let found = verify(&module);
        assert!(found.iter().any(|text| text.contains(problem)), "no `{problem}` in {found:?}");
    }
}
