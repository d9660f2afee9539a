//! Vector registers in a module: what the verifier asks of functions for machines with features, how they read, and that the
//! evaluator takes the way without.

mod by_hand;

use headrace_program::evaluate::{Machine, NoHost, Outside};
use headrace_program::{
    Argument, BinaryOp, Expr, ExprKind, FeatureSet, FeatureSetId, FunctionId, Instruction, Module, Place, Stmt, Type,
    Variable, VariableId, VariableKind, VectorOperand, VectorStmt, text, verify,
};

const TARGET: VariableId = VariableId(1);
const SOURCE: VariableId = VariableId(2);

/// A module of which `init` adds registers of 128 bits in another function, where the machine can.
fn module() -> Module {
    let mut module = by_hand::module();
    module.features = vec![FeatureSet { architecture: "x86_64", names: vec!["avx2".to_owned(), "sse2".to_owned()] }];
    module.instructions =
        vec![Instruction { name: "add64".to_owned(), bits: 128, intrinsic: "_mm_add_epi64".to_owned() }];
    let array = VariableKind::Array(Type::U8, 16);
    let kinds = [VariableKind::Record(by_hand::CONTEXT), VariableKind::Vector(128), VariableKind::Vector(128), array];
    let place = Place::variable(VariableId(3));
    let operands = vec![VectorOperand::Register(SOURCE), VectorOperand::Register(SOURCE)];
    let body = vec![
        Stmt::Vector(VectorStmt::Load { to: SOURCE, place: place.clone(), index: Expr::u32(0) }),
        Stmt::Vector(VectorStmt::Apply { to: TARGET, instruction: 0, operands }),
        Stmt::Vector(VectorStmt::Store { place, index: Expr::u32(0), from: TARGET }),
    ];
    let mut doubled = by_hand::function("doubled", kinds.to_vec(), 1, None, body);
    doubled.features = Some(FeatureSetId(0));
    module.functions.push(doubled);
    let called = FunctionId(module.functions.len() as u32 - 1);
    let arguments = vec![Argument::Reference(Place::variable(VariableId(0)))];
    let call = Stmt::Call { result: None, function: called, arguments };
    let has = Expr { kind: ExprKind::Has(FeatureSetId(0)), ty: Type::Bool };
    module.functions[0].body.push(Stmt::If(has, vec![call], Vec::new()));
    module
}

#[test]
fn a_function_for_machines_with_features_reads_as_such() {
    let module = module();
    assert_eq!(verify(&module), Vec::<String>::new());
    let text = text(&module);
    for line in
        ["if has avx2+sse2", "function doubled(v0: &Context) needs avx2+sse2", "v1 = add64(v2, v2)", "v3[0..] = v1"]
    {
        assert!(text.contains(line), "{line}:\n{text}");
    }
}

#[test]
fn the_evaluator_takes_the_way_without() {
    let module = module();
    let mut machine = Machine::new(&module);
    machine.call(FunctionId(0), &mut [Outside::Context], &mut NoHost).unwrap();
    // Nothing else leads there.
    let called = FunctionId(module.functions.len() as u32 - 1);
    assert!(machine.call(called, &mut [Outside::Context], &mut NoHost).is_err());
}

/// What the verifier says of the module after a change.
fn problems(change: impl FnOnce(&mut Module)) -> String {
    let mut module = module();
    change(&mut module);
    verify(&module).join("; ")
}

#[test]
fn what_a_machine_may_lack_is_not_called() {
    let unasked = problems(|module| {
        let Some(Stmt::If(_, call, _)) = module.functions[0].body.pop() else { panic!("no call") };
        module.functions[0].body.extend(call);
    });
    assert!(unasked.contains("doubled is called where the machine may lack what it needs"), "{unasked}");
    let other_way = problems(|module| {
        let Some(Stmt::If(has, call, _)) = module.functions[0].body.pop() else { panic!("no call") };
        module.functions[0].body.push(Stmt::If(has, Vec::new(), call));
    });
    assert!(other_way.contains("may lack"), "{other_way}");
    // Whoever asked for more, has it; and what is asked beside it does no harm.
    let more = problems(|module| {
        let names = ["aes", "avx2", "sse2"].map(str::to_owned).to_vec();
        module.features.push(FeatureSet { architecture: "x86_64", names });
        let Some(Stmt::If(condition, ..)) = module.functions[0].body.last_mut() else { panic!("no call") };
        let has = Expr { kind: ExprKind::Has(FeatureSetId(1)), ty: Type::Bool };
        *condition =
            Expr { kind: ExprKind::Binary(BinaryOp::And, Box::new(has), Box::new(Expr::bool(true))), ty: Type::Bool };
    });
    assert_eq!(more, "");
    let elsewhere = problems(|module| {
        let names = module.features[0].names.clone();
        module.features.push(FeatureSet { architecture: "aarch64", names });
        let Some(Stmt::If(condition, ..)) = module.functions[0].body.last_mut() else { panic!("no call") };
        condition.kind = ExprKind::Has(FeatureSetId(1));
    });
    assert!(elsewhere.contains("may lack"), "{elsewhere}");
}

#[test]
fn registers_belong_to_such_functions_and_agree_in_width() {
    let without = problems(|module| {
        let last = module.functions.last_mut().unwrap();
        last.features = None;
    });
    assert!(without.contains("v1 is no register of the machine"), "{without}");
    let wide = problems(|module| module.functions.last_mut().unwrap().variables[1].kind = VariableKind::Vector(256));
    assert!(wide.contains("an instruction has a register of another width"), "{wide}");
    let odd = problems(|module| module.functions.last_mut().unwrap().variables[1].kind = VariableKind::Vector(192));
    assert!(odd.contains("no register"), "{odd}");
    let as_value = problems(|module| {
        let last = module.functions.last_mut().unwrap();
        last.variables.push(Variable { name: "scalar".to_owned(), kind: VariableKind::Scalar(Type::U64) });
        last.body.push(Stmt::Assign(Place::variable(VariableId(4)), Expr::read(Place::variable(TARGET), Type::U64)));
    });
    assert!(as_value.contains("a vector register is used as a value"), "{as_value}");
    let words = problems(|module| {
        let last = module.functions.last_mut().unwrap();
        last.variables[3].kind = VariableKind::Array(Type::F32, 16);
    });
    assert!(words.contains("a vector is made of what are no integers"), "{words}");
    let unknown = problems(|module| module.instructions.clear());
    assert!(unknown.contains("an instruction does not exist"), "{unknown}");
    let repeated = problems(|module| {
        let last = module.functions.last_mut().unwrap();
        last.variables[2].kind = VariableKind::Vector(256);
        last.body = vec![Stmt::Vector(VectorStmt::Repeat { to: TARGET, from: SOURCE })];
    });
    assert!(repeated.contains("what is repeated is not of 128 bits"), "{repeated}");
    let set = problems(|module| {
        let low = Expr::u32(1);
        let set = VectorStmt::Set { to: TARGET, low, high: Expr::int(Type::U64, 0) };
        module.functions.last_mut().unwrap().body = vec![Stmt::Vector(set)];
    });
    assert!(set.contains("a word of a register, is u32 and not u64"), "{set}");
}
