//! What is said about wrong texts: the slug, the place, and that all problems of a file come in one go.

use headrace_source::FileId;
use headrace_syntax::{ast::*, parse};

/// Every problem as `slug@text`, where the text is what the primary label covers.
fn problems(text: &str) -> Vec<String> {
    let (_, diagnostics) = parse(FileId(0), text);
    diagnostics
        .iter()
        .map(|diagnostic| {
            assert!(headrace_source::describe(diagnostic.slug).is_some());
            let span = diagnostic.primary.as_ref().unwrap().span;
            let at = &text[span.start as usize..span.end as usize];
            format!("{}@{at}", diagnostic.slug)
        })
        .collect()
}

fn messages(text: &str) -> String {
    let (_, diagnostics) = parse(FileId(0), text);
    let lines = diagnostics
        .into_iter()
        .map(|diagnostic| format!("{} {}", diagnostic.message, diagnostic.help.unwrap_or_default()));
    lines.collect::<Vec<_>>().join("\n")
}

fn in_actor(text: &str) -> String {
    format!("actor A() int In ==> int Out :\n{text}\nend")
}

#[track_caller]
fn assert_in_actor(text: &str, expected: &[&str]) {
    assert_eq!(problems(&in_actor(text)), expected, "{text}");
}

#[track_caller]
fn assert_stmts(text: &str, expected: &[&str]) {
    let text = in_actor(&format!("a: action ==> do\n{text}\nend\nb: action ==> end"));
    assert_eq!(problems(&text), expected, "{text}");
    // Whatever was wrong in the first action, the second one is there.
    let (Some(File { entity: Entity::Actor(actor), .. }), _) = parse(FileId(0), &text) else {
        panic!("no actor");
    };
    let last = actor.actions.last().and_then(|action| action.tag.as_ref());
    assert_eq!(last.unwrap().text, "b", "{text}");
}

#[test]
fn equality_with_two_signs() {
    assert_in_actor("bool b = x == y;", &["double-equals@=="]);
    assert!(messages(&in_actor("bool b = x == y;")).contains("equality is a single `=`"));
    let (file, _) = parse(FileId(0), &in_actor("bool b = x == y;"));
    let Entity::Actor(actor) = file.unwrap().entity else { panic!() };
    let value = actor.vars[0].value.as_ref().unwrap();
    assert!(matches!(value.kind, ExprKind::Binary { op: BinaryOp::Eq, .. }));
}

#[test]
fn numbers() {
    assert_in_actor("int a = 08;", &["malformed-number@08"]);
    assert_in_actor("int a = 0x;", &["malformed-number@0x"]);
    assert_in_actor("int a = 0xfg;", &["malformed-number@0xfg"]);
    assert_in_actor("int a = 0b12;", &["malformed-number@0b12"]);
    assert_in_actor("int a = 12abc;", &["malformed-number@12abc"]);
    assert_in_actor("int a = 1_000;", &["malformed-number@1_000"]);
    let long = "9".repeat(30_000);
    assert_in_actor(&format!("int a = {long};"), &[&format!("literal-too-large@{long}")]);
    assert_in_actor(&format!("int a = {};", "9".repeat(10_000)), &[]);
}

#[test]
fn strings_and_comments() {
    assert_stmts("println(\"abc);\nx := 1;", &["unterminated-string@\"abc);"]);
    assert_stmts("println('abc);\nx := ;", &["unterminated-string@'abc);", "syntax-error@;"]);
    assert_stmts("println(\"a\\qb\");", &["unknown-escape@\\q"]);
    assert_stmts("println(\"a\\u12\");", &["unknown-escape@\\u"]);
    let text = in_actor("/* open");
    assert_eq!(problems(&text)[0], "unterminated-comment@/*");
}

#[test]
fn characters() {
    assert_in_actor("int a = 5 % 3;", &["unexpected-character@%"]);
    assert!(messages(&in_actor("int a = 5 % 3;")).contains("a mod b"));
    assert!(messages(&in_actor("bool a = !b;")).contains("not a"));
    assert_in_actor("int é = 1;", &["unexpected-character@é"]);
    let junk = "\u{1}\u{2}\u{3}€€€";
    assert_eq!(problems(&format!("{junk} actor A() ==> : end")), [format!("unexpected-character@{junk}")]);
}

#[test]
fn assignment_signs() {
    assert_stmts("x = 1;\ny := 2;", &["syntax-error@="]);
    assert_stmts("x == 1;", &["syntax-error@=="]);
    assert_stmts("x + 1;", &["syntax-error@+"]);
    assert_stmts("x[1] + 1;", &["syntax-error@+"]);
}

#[test]
fn missing_semicolons() {
    assert_stmts("x := 1\ny := 2;\nz := 3", &["syntax-error@", "syntax-error@"]);
    assert_in_actor("int a = 1\nint b = 2;", &["syntax-error@"]);
    assert!(messages(&in_actor("int a = 1\nint b;")).contains("expected `;`, found the keyword `int`"));
}

#[test]
fn missing_and_surplus_ends() {
    assert_stmts("if a then\nx := 1;", &["syntax-error@b"]);
    let text = in_actor("a: action ==> do\nx := 1;\nb: action ==> end");
    assert_eq!(problems(&text), ["syntax-error@b"]);
    assert!(messages(&text).contains("expected the `end` of the action, found `b`"));
    let text = in_actor("a: action ==> do\nx := 1; end end\nb: action ==> end");
    assert_eq!(problems(&text), ["syntax-error@end"]);
    assert!(messages(&text).contains("goes on after its `end`"));
    assert_eq!(problems("actor A() ==> :"), ["syntax-error@"]);
    assert_eq!(problems("actor A() ==> : end end"), ["syntax-error@end"]);
    assert_eq!(problems("unit U : end unit V : end"), ["syntax-error@unit"]);
}

#[test]
fn statements_that_are_not() {
    assert_stmts(";", &["syntax-error@;"]);
    assert_stmts("begin x := 1; end", &["dropped-construct@begin"]);
    assert_stmts("x := 1; int y; y := 2;", &["syntax-error@int"]);
    assert_stmts("x := 1; var int y; y := 2;", &["syntax-error@var"]);
    assert_stmts("if a then x := 1; else y := 2; elsif b then z := 1; end", &["syntax-error@elsif"]);
    assert_stmts("else x := 1;", &["syntax-error@else"]);
    assert_stmts("f(x)[1] := 2;", &["syntax-error@["]);
    assert_stmts("5 := x;", &["syntax-error@5"]);
}

#[test]
fn heads_of_loops() {
    assert_stmts("foreach i in 0 .. 3 do x := 1; end", &["syntax-error@i"]);
    assert_stmts("foreach int i in 0 .. do x := ; end", &["syntax-error@do", "syntax-error@;"]);
    assert_stmts("while x + do x := ; end", &["syntax-error@do", "syntax-error@;"]);
    assert_stmts("if x + then x := ; end", &["syntax-error@then", "syntax-error@;"]);
    assert_stmts("if x do x := 1; end y := 2;", &["syntax-error@do"]);
}

#[test]
fn habits_from_other_languages() {
    assert_stmts("for int i in 0 .. 3 do x := 1; end y := 2;", &["syntax-error@for"]);
    assert!(messages(&in_actor("action ==> do for int i in 0 .. 3 do end end")).contains("begins with `foreach`"));
    assert_stmts(
        "return x;\nbreak;\nx := ;",
        &["dropped-construct@return", "dropped-construct@break", "syntax-error@;"],
    );
    assert_stmts("return := x; break(1);", &[]);
    assert_in_actor("function f(int x) -> int : x end int y = ;", &["syntax-error@-", "syntax-error@;"]);
    assert_in_actor("function f(int x) ==> int : x end int y = ;", &["syntax-error@==>", "syntax-error@;"]);
    assert_in_actor("action In:[x] => Out:[x] do y := ; end", &["syntax-error@=>", "syntax-error@;"]);
    assert_in_actor("action In:[x] --> Out:[x] end", &["syntax-error@-->"]);
    assert_eq!(problems("network N() ==> structure a.x --> b.y; end"), ["syntax-error@structure"]);
}

#[test]
fn expressions() {
    assert_in_actor("int a = f(x)[0];", &["syntax-error@["]);
    assert!(messages(&in_actor("int a = f(x)[0];")).contains("only a variable can be indexed"));
    assert_in_actor("int a = (x)[0];", &["syntax-error@["]);
    assert_in_actor("int a = - -x;", &["syntax-error@-"]);
    assert_in_actor("int a = if b then c end;", &["syntax-error@end"]);
    assert!(messages(&in_actor("int a = if b then c end;")).contains("needs an `else`"));
    assert_in_actor("int a = [];", &["syntax-error@]"]);
    assert_in_actor("int a = [1, 2;\nint b = 1;", &["syntax-error@;"]);
    assert_in_actor("int a = (1;\nint b = ;", &["syntax-error@;", "syntax-error@;"]);
    assert_in_actor("int a[3] = [i : for i in 0 .. 2];", &["syntax-error@i"]);
    assert_in_actor("int a = 1 +;", &["syntax-error@;"]);
    assert_in_actor("int(size) a;", &["syntax-error@)"]);
    assert_in_actor("int(8) a;", &["syntax-error@8"]);
    assert_in_actor("List(type int, size=3) a;", &["syntax-error@int"]);
}

#[test]
fn classic_cal() {
    assert_in_actor("action In:[x] ==> Out:[x] delay 3 end", &["dropped-construct@delay"]);
    assert_in_actor("action In:[x] ==> delay 3 do y := ; end", &["dropped-construct@delay", "syntax-error@;"]);
    assert_in_actor("action In:[x] any ==> end", &["dropped-construct@any"]);
    assert_in_actor("action In:[x] at 3 ==> end", &["dropped-construct@at"]);
    assert_in_actor("action [x] ==> Out:[x] end", &["dropped-construct@["]);
    assert_in_actor("action In:[x] ==> Out:[old y] end", &["dropped-construct@old"]);
    assert_in_actor("const int x = 3;", &["dropped-construct@const"]);
    assert_in_actor(
        "action ==> do if x then y := 1; endif endaction",
        &["dropped-construct@endif", "dropped-construct@endaction"],
    );
    assert_in_actor("local fsm f : s (a) --> s; end int x;", &["dropped-construct@local"]);
    assert_eq!(problems("namespace a.b: actor A() ==> : end end")[0], "dropped-construct@namespace");
    assert_eq!(problems("actor A() int X[4] ==> : end"), ["dropped-construct@["]);
}

#[test]
fn words_of_classic_cal_are_names_elsewhere() {
    assert_stmts("delay := time + at; old := any; const := alias; multi(choose);", &[]);
}

#[test]
fn schedules_and_priorities() {
    assert_in_actor("schedule fsm s : s (a) --> s; end schedule fsm t : end", &["several-schedules@schedule"]);
    assert_in_actor("schedule fsm s : s a --> s; s (b) --> t; t (c) -> s; end", &["syntax-error@a", "syntax-error@-"]);
    assert_in_actor("schedule s : end int x = ;", &["syntax-error@s", "syntax-error@;"]);
    assert_in_actor("schedule regexp (a | ) end", &["syntax-error@)"]);
    assert_in_actor("priority a; b > c; d > ; end", &["syntax-error@;", "syntax-error@;"]);
    assert_in_actor("schedule fsm s : s (a) --> f.t(x => y); end", &["dropped-construct@."]);
}

#[test]
fn units() {
    assert_eq!(
        problems("unit U : a: action ==> end priority a > b; end end"),
        ["syntax-error@a: action", "syntax-error@a > b;"]
    );
}

#[test]
fn heads() {
    assert_eq!(problems("actor A( int x ==> int Y : int z = ; end"), ["syntax-error@==>", "syntax-error@;"]);
    assert_eq!(
        problems("actor A() int x, ==> int Y : a: action Y:[ ==> do x := ; end end"),
        ["syntax-error@==>", "syntax-error@==>", "syntax-error@;"]
    );
    assert_eq!(problems("actor A() List(type:int) x ==> : int z = ; end"), ["syntax-error@)", "syntax-error@;"]);
    assert_eq!(problems("package ; import a..b; actor A() ==> : end").len(), 2);
    assert_eq!(problems("").len(), 1);
    assert_eq!(problems("// nothing\n").len(), 1);
    assert_eq!(problems("hello world").len(), 1);
}

#[test]
fn networks() {
    let network = |text: &str| format!("network N() int In ==> int Out :\n{text}\nend");
    for (text, expected) in [
        ("entities a = ; b = B( ; c = C(k = ); structure a.x -> b.y;\na.x --> ;", vec![";", ";", ")", "-", ";"]),
        ("structure a.x[0] --> b.y;", vec!["["]),
        ("structure bank[0] --> b.y;", vec!["-->"]),
        ("structure foreach i in 0 .. do a.x --> ; end b.x --> ;", vec!["do", ";", ";"]),
        ("structure if x then a.x --> b.y; In --> Out;", vec![""]),
        ("entities a = A() { kind of = 3; }; b = ;", vec!["kind", ";"]),
        ("entities a = A() { flag; }; b = ;", vec![";", ";"]),
        ("entities a = if x then A() end;", vec!["end"]),
        ("var int x = ; int y; entities \"a b\" = A();", vec![";", "\"a b\""]),
        ("oops entities a = ;", vec!["oops", ";"]),
    ] {
        let found: Vec<_> = problems(&network(text))
            .into_iter()
            .map(|problem| problem.split_once('@').unwrap().1.to_string())
            .collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn nesting() {
    for (open, close) in [("(", ")"), ("[", "]"), ("f(", ")"), ("if a then ", " else b end")] {
        let text = in_actor(&format!("int a = {}x{};", open.repeat(100_000), close.repeat(100_000)));
        assert_eq!(problems(&text).len(), 1, "{open}");
        assert!(problems(&text)[0].starts_with("nesting-too-deep"));
    }
    let sum = vec!["x"; 100_000].join("+");
    assert_in_actor(&format!("int a = {sum};"), &["nesting-too-deep@+"]);
    let signs = "-".repeat(100_000);
    assert_in_actor(&format!("int a = {signs}x;"), &["syntax-error@-"]);
    let ifs = "if a then ".repeat(100_000);
    assert_eq!(problems(&in_actor(&format!("action ==> do {ifs}"))), ["nesting-too-deep@a"]);
    let lists = "List(type:".repeat(100_000);
    assert_eq!(problems(&in_actor(&lists)), ["nesting-too-deep@List"]);
    let regexp = format!("schedule regexp {}a end", "(".repeat(100_000));
    assert_eq!(problems(&in_actor(&regexp)), ["nesting-too-deep@("]);
    let entity = format!("network N() ==> : entities a = {}", "[".repeat(100_000));
    assert_eq!(problems(&entity), ["nesting-too-deep@["]);
    let entity = format!("network N() ==> : entities a = {}", "A(b=".repeat(100_000));
    assert_eq!(problems(&entity), ["nesting-too-deep@A"]);
    let structure = format!("network N() ==> : structure {}", "if a then ".repeat(100_000));
    assert_eq!(problems(&structure), ["nesting-too-deep@a"]);
}

#[test]
fn many_problems_are_cut_short() {
    let text = in_actor(&"int x = ;\n".repeat(1000));
    let problems = problems(&text);
    assert_eq!(problems.len(), 201);
    assert_eq!(problems[200], "too-many-problems@");
    assert!(messages(&text).contains("800 more problems"));
}

#[test]
fn a_text_that_is_too_long() {
    let text = " ".repeat(headrace_syntax::MAX_FILE_BYTES + 1);
    assert_eq!(problems(&text), ["file-too-large@"]);
}
