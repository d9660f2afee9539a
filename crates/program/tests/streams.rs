//! Functions of the interface that work on arrays of the caller: what the verifier asks of them and of functions that they pass
//! these arrays to, and what the evaluator does with them.

mod by_hand;

use headrace_program::evaluate::{Machine, NoHost, Outside};
use headrace_program::{
    Argument, BinaryOp, Expr, FunctionId, Module, Place, Stmt, Stream, Type, VariableId, VariableKind, verify,
};

/// A module with a function that takes a byte and gives its complement, which another one does.
fn module() -> Module {
    let mut module = by_hand::module();
    let context = VariableKind::Record(by_hand::CONTEXT);
    let slice = |mutable| VariableKind::Slice { element: Type::U8, mutable };
    let count = VariableKind::Scalar(Type::U32);
    let [from, to] = [1, 3].map(|at| Place::variable(VariableId(at)));
    let byte = Expr::element(Place::variable(VariableId(0)), Expr::u32(0), Type::U8).to(Type::U32);
    let complement = Expr::binary(BinaryOp::Xor, byte, Expr::u32(0xff)).to(Type::U8);
    let store = Stmt::Store(Place::variable(VariableId(1)), Expr::u32(0), complement);
    module.functions.push(by_hand::function("complement", vec![slice(false), slice(true)], 2, None, vec![store]));
    let function = FunctionId(module.functions.len() as u32 - 1);
    let call =
        Stmt::Call { result: None, function, arguments: vec![Argument::Reference(from), Argument::Reference(to)] };
    let moved = Stmt::Return(Some(Expr::int(Type::U64, 1 << 32 | 1)));
    let parameters = vec![context, slice(false), count, slice(true), count];
    module.functions.push(by_hand::function("stream", parameters, 5, Some(Type::U64), vec![call, moved]));
    let function = FunctionId(module.functions.len() as u32 - 1);
    module.interface.streams.push(Stream { input: 0, output: Some(0), function });
    module
}

fn problems(change: impl FnOnce(&mut Module)) -> String {
    let mut module = module();
    change(&mut module);
    verify(&module).join("; ")
}

#[test]
fn arrays_of_the_caller_are_read_and_written() {
    let module = module();
    assert_eq!(verify(&module), Vec::<String>::new());
    let (mut from, mut to) = (vec![0x5a, 1], vec![0, 0]);
    let mut arguments =
        [Outside::Context, Outside::Slice(&mut from), Outside::Value(2), Outside::Slice(&mut to), Outside::Value(2)];
    let moved = Machine::new(&module).call(module.interface.streams[0].function, &mut arguments, &mut NoHost);
    assert_eq!(moved.unwrap(), 1 << 32 | 1);
    assert_eq!(to, [0xa5, 0]);
}

#[test]
fn a_stream_has_the_parameters_of_its_ports() {
    let without_room = problems(|module| module.interface.streams[0].output = None);
    assert!(without_room.contains("no stream as it should be"), "{without_room}");
    let nowhere = problems(|module| module.interface.streams[0].input = 3);
    assert!(nowhere.contains("a stream is not of ports of bytes"), "{nowhere}");
    let words = problems(|module| module.interface.inputs[0].words = 2);
    assert!(words.contains("a stream is not of ports of bytes"), "{words}");
}

#[test]
fn arrays_of_the_caller_are_passed_on_as_what_they_are() {
    let written = problems(|module| {
        let n = module.functions.len();
        module.functions[n - 2].variables[0].kind = VariableKind::Slice { element: Type::U8, mutable: true };
    });
    assert!(written.contains("complement takes another reference"), "{written}");
    let twice = problems(|module| {
        let Some(Stmt::Call { arguments, .. }) = module.functions.last_mut().unwrap().body.first_mut() else {
            panic!()
        };
        arguments[0] = arguments[1].clone();
    });
    assert!(twice.contains("arguments of complement overlap"), "{twice}");
    let whole = problems(|module| {
        let n = module.functions.len();
        let len = 2;
        module.functions[n - 2].variables[0].kind = VariableKind::Reference { element: Type::U8, len, mutable: false };
    });
    assert!(whole.contains("complement takes another reference"), "{whole}");
}
