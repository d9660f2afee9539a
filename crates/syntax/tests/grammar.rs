//! One test a construct: what the tree of a text says.

use headrace_source::FileId;
use headrace_syntax::{ast::*, parse};

/// Parses a text without problems.
fn file(text: &str) -> File {
    let (file, diagnostics) = parse(FileId(0), text);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}\n{text}");
    file.unwrap_or_else(|| panic!("no tree: {text}"))
}

fn actor(text: &str) -> Actor {
    match file(text).entity {
        Entity::Actor(actor) => actor,
        other => panic!("{other:?}"),
    }
}

/// The actor with this body.
fn body(text: &str) -> Actor {
    actor(&format!("actor A() int In, int B ==> int Out :\n{text}\nend"))
}

fn network(text: &str) -> Network {
    match file(text).entity {
        Entity::Network(network) => network,
        other => panic!("{other:?}"),
    }
}

fn expr(text: &str) -> Expr {
    body(&format!("int x = {text};")).vars.remove(0).value.unwrap_or_else(|| panic!("no value"))
}

fn stmts(text: &str) -> Vec<Stmt> {
    body(&format!("action ==> do {text} end")).actions.remove(0).body
}

/// The grouping of an expression, with parentheses round every operation.
fn shape(expr: &Expr) -> String {
    let list = |exprs: &[Expr]| exprs.iter().map(shape).collect::<Vec<_>>().join(",");
    match &expr.kind {
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Real { text, .. } => text.to_string(),
        ExprKind::String(text) => format!("{text:?}"),
        ExprKind::Var(name) => name.text.to_string(),
        ExprKind::Index { base, indices } => format!("{}[{}]", base.text, list(indices)),
        ExprKind::Call { function, args } => format!("{}({})", function.text, list(args)),
        ExprKind::List { items, generators } => {
            let heads = generators.iter().map(|generator| {
                format!(":{} {}..{}", generator.name.text, shape(&generator.lower), shape(&generator.upper))
            });
            format!("[{}{}]", list(items), heads.collect::<String>())
        }
        ExprKind::If { branches, otherwise } => {
            let branches = branches.iter().map(|(condition, value)| format!("{}?{}:", shape(condition), shape(value)));
            format!("({}{})", branches.collect::<String>(), shape(otherwise))
        }
        ExprKind::Unary { op, operand } => format!("({}{})", op.symbol(), shape(operand)),
        ExprKind::Binary { op, left, right } => {
            format!("({}{}{})", shape(left), op.symbol(), shape(right))
        }
        ExprKind::Error => "error".into(),
    }
}

fn ty(ty: &Type) -> String {
    let size = |size: &Option<Box<Expr>>| match size {
        Some(size) => format!("({})", shape(size)),
        None => String::new(),
    };
    match &ty.kind {
        TypeKind::Bool => "bool".into(),
        TypeKind::Int(bits) => format!("int{}", size(bits)),
        TypeKind::Uint(bits) => format!("uint{}", size(bits)),
        TypeKind::Half => "half".into(),
        TypeKind::Float => "float".into(),
        TypeKind::Double => "double".into(),
        TypeKind::String => "String".into(),
        TypeKind::List { element, size } => format!("List({},{})", self::ty(element), shape(size)),
        TypeKind::Error => "error".into(),
    }
}

fn names(names: &[Name]) -> Vec<&str> {
    names.iter().map(|name| name.text.as_str()).collect()
}

fn texts(names: &[QualifiedName]) -> Vec<&str> {
    names.iter().map(|name| name.text.as_str()).collect()
}

#[test]
fn package_imports_and_annotations() {
    let file = file("package a.b . c; import a.b.U.*; import a.b.U.x;\n@native @opt(key=\"v\", flag) unit U : end");
    assert_eq!(file.package.unwrap().text, "a.b.c");
    assert_eq!(file.imports.len(), 2);
    assert!(file.imports[0].wildcard && !file.imports[1].wildcard);
    assert_eq!(file.imports[0].name.text, "a.b.U");
    assert_eq!(file.imports[1].name.qualifier(), Some("a.b.U"));
    assert_eq!(file.imports[1].name.last(), "x");
    assert_eq!(file.annotations[0].name.text, "native");
    let args = &file.annotations[1].args;
    assert_eq!(args[0].value.as_deref(), Some("v"));
    assert_eq!(args[1].value, None);
}

#[test]
fn unit_members() {
    let Entity::Unit(unit) = file(
        "unit U : int N = 3; function f(int a) --> int : a end \
         @native procedure p(uint(size=8) out[4], int n) end int M = N; end",
    )
    .entity
    else {
        panic!()
    };
    assert_eq!(unit.vars.len(), 2);
    assert_eq!(unit.functions[0].name.text, "f");
    assert!(unit.procedures[0].body.is_none());
    assert_eq!(unit.procedures[0].annotations[0].name.text, "native");
    assert_eq!(unit.procedures[0].params[0].dims.len(), 1);
}

#[test]
fn actor_heads() {
    let actor = actor("actor A(int p, uint(size=p) q = 2) int(size=8) X, @native bool Y ==> uint(size=N) Z : end");
    assert_eq!(actor.name.text, "A");
    assert_eq!(shape(actor.params[1].value.as_ref().unwrap()), "2");
    assert_eq!(ty(&actor.inputs[0].ty), "int(8)");
    assert_eq!(actor.inputs[1].annotations.len(), 1);
    assert_eq!(ty(&actor.outputs[0].ty), "uint(N)");
    let empty = self::actor("actor E () ==> : end");
    assert!(empty.inputs.is_empty() && empty.outputs.is_empty());
}

#[test]
fn types() {
    let types = body(
        "bool a; int b; uint c; int(size=3*n) d; half e; float f; double g; String h; \
         List(type:List(type:bool, size=4), size=8) i; bool j[8][4]; List(size=2, type:int) k;",
    );
    let types: Vec<_> = types
        .vars
        .iter()
        .map(|var| {
            let dims: Vec<_> = var.dims.iter().map(shape).collect();
            ty(&var.ty) + &dims.join("/")
        })
        .collect();
    assert_eq!(
        types,
        [
            "bool",
            "int",
            "uint",
            "int((3*n))",
            "half",
            "float",
            "double",
            "String",
            "List(List(bool,4),8)",
            "bool8/4",
            "List(int,2)"
        ]
    );
}

#[test]
fn words_that_are_names_too() {
    let actor = body(
        "int size = 1; int type := 2; int half := 3; half x; int local; int network; \
         action ==> do half := 1; size := type; entity := old; end",
    );
    assert_eq!(actor.vars.len(), 6);
    assert_eq!(actor.actions[0].body.len(), 3);
}

#[test]
fn constants_and_variables() {
    let actor = body("int a; int b := 1; int c = 2; @keep int d = 3;");
    let kinds: Vec<_> = actor.vars.iter().map(|var| (var.value.is_some(), var.constant)).collect();
    assert_eq!(kinds, [(false, false), (true, false), (true, true), (true, true)]);
    assert_eq!(actor.vars[3].annotations[0].name.text, "keep");
}

#[test]
fn literals() {
    for (text, expected) in [
        ("0", "0"),
        ("017", "15"),
        ("0x1fF", "511"),
        ("0b101", "5"),
        ("340282366920938463463374607431768211456", "340282366920938463463374607431768211456"),
        ("0xFFFFFFFFFFFFFFFFFFFF", "1208925819614629174706175"),
        ("1.5", "1.5"),
        (".5", ".5"),
        ("2e3", "2e3"),
        ("1.e-2", "1.e-2"),
        ("true", "true"),
        ("\"a\\n\\\"b\\\\\"", "\"a\\n\\\"b\\\\\""),
        ("'it\\'s \"so\"'", "\"it's \\\"so\\\"\""),
        ("\"\\u0041\"", "\"A\""),
    ] {
        assert_eq!(shape(&expr(text)), expected, "{text}");
    }
}

#[test]
fn precedence_and_association() {
    for (text, expected) in [
        ("a or b and c", "(aor(bandc))"),
        ("a || b && c", "(aor(bandc))"),
        ("a | b ^ c & d", "(a|(b^(c&d)))"),
        ("x & 1 = 0", "(x&(1=0))"),
        ("a = b < c", "(a=(b<c))"),
        ("a < b << c", "(a<(b<<c))"),
        ("a << b + c", "(a<<(b+c))"),
        ("a - b - c", "((a-b)-c)"),
        ("a + b * c mod d", "(a+((b*c)modd))"),
        ("a / b div c", "((a/b)divc)"),
        ("a ** b ** c", "((a**b)**c)"),
        ("a * b ** c", "(a*(b**c))"),
        ("-a * b", "((-a)*b)"),
        ("not a = b", "((nota)=b)"),
        ("~x >> 2", "((~x)>>2)"),
        ("#l - 1", "((#l)-1)"),
        ("-(-x)", "(-(-x))"),
        ("a - -1", "(a-(-1))"),
        ("a^b", "(a^b)"),
        ("(a + b) * c", "((a+b)*c)"),
        ("a != b", "(a!=b)"),
        ("a >= b", "(a>=b)"),
    ] {
        assert_eq!(shape(&expr(text)), expected, "{text}");
    }
}

#[test]
fn every_operator_has_its_place_in_the_table() {
    for op in BinaryOp::ALL {
        let read = expr(&format!("a {} b", op.symbol()));
        assert!(matches!(read.kind, ExprKind::Binary { op: found, .. } if found == op));
    }
}

#[test]
fn postfix_forms() {
    for (text, expected) in [
        ("m[i][j + 1]", "m[i,(j+1)]"),
        ("a.b.U.T[0]", "a.b.U.T[0]"),
        ("f()", "f()"),
        ("a.U.f(x, g(y))", "a.U.f(x,g(y))"),
        ("if a then b else c end", "(a?b:c)"),
        ("if a then b elsif c then d else e end + 1", "((a?b:c?d:e)+1)"),
        ("[1, 2, 3]", "[1,2,3]"),
        ("[i, j : for int i in 0..3, for uint j in a .. b]", "[i,j:i 0..3:j a..b]"),
        ("[[1], [2]]", "[[1],[2]]"),
        ("[x[i] : for int i in 0 .. N-1]", "[x[i]:i 0..(N-1)]"),
    ] {
        assert_eq!(shape(&expr(text)), expected, "{text}");
    }
}

#[test]
fn functions() {
    let actor = body(
        "function f(int a, bool b[2]) --> int var int c = a, int d := 1 : c + d end \
         function g() --> int : int e = 3; e end @native function h(int a) --> bool end",
    );
    assert_eq!(actor.functions[0].params.len(), 2);
    assert_eq!(actor.functions[0].vars.len(), 2);
    assert_eq!(actor.functions[1].vars.len(), 1);
    assert!(actor.functions[2].body.is_none());
    assert_eq!(shape(actor.functions[0].body.as_ref().unwrap()), "(c+d)");
}

#[test]
fn native_without_a_sign() {
    let actor = body("native procedure p(int a) end native function f() --> int end int native = 1;");
    assert_eq!(actor.procedures[0].annotations[0].name.text, "native");
    assert_eq!(actor.functions[0].annotations[0].name.text, "native");
    assert_eq!(actor.vars[0].name.text, "native");
}

#[test]
fn procedures() {
    let actor = body(
        "procedure p(int a) var int b := a begin b := 1; end procedure q() begin end \
         procedure r() begin int c := 1; c := 2; end",
    );
    assert_eq!(actor.procedures[0].vars.len(), 1);
    assert_eq!(actor.procedures[0].body.as_ref().unwrap().len(), 1);
    assert_eq!(actor.procedures[1].body.as_ref().unwrap().len(), 0);
    assert_eq!(actor.procedures[2].vars.len(), 1);
}

#[test]
fn assignments_and_calls() {
    let stmts = stmts("x := 1; t[i][j] := x; a.U.y := 2; @inline p(); a.U.q(1, x); print('a');");
    assert!(matches!(&stmts[0].kind, StmtKind::Assign { indices, .. } if indices.is_empty()));
    assert!(matches!(&stmts[1].kind, StmtKind::Assign { indices, .. } if indices.len() == 2));
    assert!(matches!(&stmts[2].kind, StmtKind::Assign { target, .. } if target.text == "a.U.y"));
    assert_eq!(stmts[3].annotations.len(), 1);
    assert!(matches!(&stmts[4].kind, StmtKind::Call { args, .. } if args.len() == 2));
    assert_eq!(stmts.len(), 6);
}

#[test]
fn control_statements() {
    let stmts = stmts(
        "if a then x := 1; elsif b then elsif c then y := 2; else z := 3; end \
         while i < 3 do i := i + 1; end \
         @unroll foreach uint(size=8) k in 0 .. 255 do s := s + k; end if d then end",
    );
    let StmtKind::If { branches, otherwise } = &stmts[0].kind else { panic!() };
    assert_eq!((branches.len(), otherwise.len()), (3, 1));
    assert!(matches!(&stmts[1].kind, StmtKind::While { body, .. } if body.len() == 1));
    let StmtKind::Foreach { generator, body } = &stmts[2].kind else { panic!() };
    assert_eq!(ty(generator.ty.as_ref().unwrap()), "uint(8)");
    assert_eq!(shape(&generator.upper), "255");
    assert_eq!(body.len(), 1);
    assert!(matches!(&stmts[3].kind, StmtKind::If { otherwise, .. } if otherwise.is_empty()));
}

#[test]
fn actions() {
    let actor = body(
        "tag.sub: action In:[x, y] repeat 2*N, B:[v] ==> Out:[x[0], v + 1], Out:[l] repeat 4 \
         guard x[0] > 0, y[1] = 1 var int t := 0, int u do int w; t := u; end \
         action ==> end \
         i.j: initialize ==> Out:[0] do p(); end initialize ==> end",
    );
    let action = &actor.actions[0];
    assert_eq!(action.tag.as_ref().unwrap().text, "tag.sub");
    assert_eq!(names(&action.inputs[0].names), ["x", "y"]);
    assert_eq!(shape(action.inputs[0].repeat.as_ref().unwrap()), "(2*N)");
    assert_eq!(action.inputs[1].port.text, "B");
    assert_eq!(action.outputs.len(), 2);
    assert_eq!(action.outputs[0].values.len(), 2);
    assert_eq!(action.guards.len(), 2);
    assert_eq!(action.vars.len(), 3);
    assert_eq!(action.body.len(), 1);
    assert!(actor.actions[1].tag.is_none());
    assert_eq!(actor.initializes.len(), 2);
    assert_eq!(actor.initializes[0].tag.as_ref().unwrap().text, "i.j");
}

#[test]
fn fsm_schedules() {
    let actor = body("schedule fsm s0 : s0 (a) --> s1; s1 (b.c, d) --> s0 | (e) --> s1; end");
    let Some(Schedule::Fsm(fsm)) = actor.schedule else { panic!() };
    assert_eq!(fsm.initial.text, "s0");
    assert_eq!(fsm.transitions.len(), 3);
    assert_eq!(texts(&fsm.transitions[1].tags), ["b.c", "d"]);
    assert_eq!(fsm.transitions[2].source.text, "s1");
    assert_eq!(fsm.transitions[2].target.text, "s1");
}

#[test]
fn regexp_schedules() {
    fn shape(regexp: &RegExp) -> String {
        let join = |parts: &[RegExp], sign| parts.iter().map(shape).collect::<Vec<_>>().join(sign);
        match &regexp.kind {
            RegExpKind::Tag(tag) => tag.text.to_string(),
            RegExpKind::Sequence(parts) => format!("({})", join(parts, " ")),
            RegExpKind::Choice(parts) => format!("({})", join(parts, "|")),
            RegExpKind::Star(inner) => format!("{}*", shape(inner)),
            RegExpKind::Optional(inner) => format!("{}?", shape(inner)),
        }
    }
    for (text, expected) in [
        ("a", "a"),
        ("( init (work | skip.b)* done? )", "(init (work|skip.b)* done?)"),
        ("a b | c", "((a b)|c)"),
        ("(a)**", "a*"),
    ] {
        let Some(Schedule::RegExp(regexp)) = body(&format!("schedule regexp {text} end")).schedule else { panic!() };
        assert_eq!(shape(&regexp), expected);
    }
}

#[test]
fn priorities_anywhere() {
    let actor = body(
        "priority a > b.c > d; e > f; end a: action ==> end schedule fsm s : s (a) --> s; end \
         priority g > h; end int late;",
    );
    assert_eq!(actor.priorities.len(), 3);
    assert_eq!(texts(&actor.priorities[0].tags), ["a", "b.c", "d"]);
    assert_eq!(actor.actions.len(), 1);
    assert_eq!(actor.vars.len(), 1);
}

#[test]
fn spans_cover_what_was_written() {
    let text = "actor A() ==> int O :\n  t: action ==> O:[ (a + b) * c ] end\nend";
    let actor = actor(text);
    let at = |span: headrace_source::Span| &text[span.start as usize..span.end as usize];
    let action = &actor.actions[0];
    assert_eq!(at(action.head), "t: action");
    assert_eq!(at(action.span), "t: action ==> O:[ (a + b) * c ] end");
    assert_eq!(at(action.outputs[0].values[0].span), "(a + b) * c");
    assert_eq!(at(actor.span), text);
}

#[test]
fn network_heads() {
    let network = network(
        "network N(int n = 4, entity C = a.Aes(k = 3), entity D) \
         uint(size=8) In { flag native; }, int \"in\" ==> int Out : end",
    );
    assert_eq!(network.params.len(), 3);
    assert_eq!(network.params[0].name().text, "n");
    assert!(matches!(&network.params[1], NetworkParam::Entity { default: Some(_), .. }));
    assert!(matches!(&network.params[2], NetworkParam::Entity { default: None, .. }));
    assert_eq!(network.inputs[0].attributes[0].value, AttributeValue::Flag);
    assert_eq!(network.inputs[1].name.text, "in");
}

#[test]
fn network_entities() {
    let network = network(
        "network N() ==> : var int m = 3; int t[2] = [1, 2]; entities a = A(k = 3, l = m + 1); \
         b = if m = 0 then B() elsif m = 1 then C else D(x = 1) end { partition = \"hw\"; }; \
         c = [D(i) : for i in 0..3, for int j in 0 .. 1]; d = [A(), [B(), B()]]; e = p.q.E; \
         f = F(C = Aes(rounds = 10), g = h((a = b)), D = p.Q, E = Q()); end",
    );
    assert_eq!(network.vars.len(), 2);
    let EntityExprKind::Instance { class, args } = &network.entities[0].value.kind else { panic!() };
    assert_eq!((class.text.as_str(), args.len()), ("A", 2));
    let EntityExprKind::If { branches, .. } = &network.entities[1].value.kind else { panic!() };
    assert_eq!(branches.len(), 2);
    assert_eq!(network.entities[1].attributes[0].as_str(), Some("hw"));
    let EntityExprKind::List { items, generators } = &network.entities[2].value.kind else { panic!() };
    assert_eq!((items.len(), generators.len()), (1, 2));
    assert!(generators[0].ty.is_none() && generators[1].ty.is_some());
    let EntityExprKind::Instance { args, .. } = &network.entities[5].value.kind else { panic!() };
    assert!(matches!(args[0].value, ArgValue::Entity(_)));
    assert!(matches!(args[1].value, ArgValue::Expr(_)));
    assert!(args[1].value.as_entity().is_none());
    for arg in &args[2..] {
        let EntityExprKind::Instance { class, args } = arg.value.as_entity().unwrap().kind else { panic!() };
        assert_eq!((class.last(), args.len()), ("Q", 0));
    }
}

#[test]
fn network_structure() {
    let network = network(
        "network N() ==> : structure In --> a.x; a.y --> bank[i][j + 1].x { bufferSize = 64; }; \
         foreach int i in 0 .. 3, j in 0 .. 1 do \"end\".\"in\" --> Out; end \
         if n = 1 then a.x --> b.y; elsif n = 2 then else c.x --> d.y; end end",
    );
    let StructureKind::Connection { from, to, .. } = &network.structure[0].kind else { panic!() };
    assert!(from.instance.is_none() && to.instance.is_some());
    let StructureKind::Connection { to, attributes, .. } = &network.structure[1].kind else { panic!() };
    assert_eq!(to.instance.as_ref().unwrap().indices.len(), 2);
    assert_eq!(attributes[0].name.text, "bufferSize");
    let StructureKind::Foreach { generators, body } = &network.structure[2].kind else { panic!() };
    assert_eq!((generators.len(), body.len()), (2, 1));
    let StructureKind::If { branches, otherwise } = &network.structure[3].kind else { panic!() };
    assert_eq!((branches.len(), otherwise.len()), (2, 1));
}

#[test]
fn network_attributes() {
    let network = network(
        "network N() ==> : attributes { string s = \"a\"; custom c = \"<x/>\"; flag f; \
         type t = uint(size=8); v = 1 + 2; \"odd name\" = 3; flag = 4 } end",
    );
    let values: Vec<_> = network.attributes.iter().map(|it| &it.value).collect();
    assert!(matches!(values[0], AttributeValue::String(text) if text == "a"));
    assert!(matches!(values[1], AttributeValue::Custom(text) if text == "<x/>"));
    assert!(matches!(values[2], AttributeValue::Flag));
    assert!(matches!(values[3], AttributeValue::Type(_)));
    assert!(matches!(values[4], AttributeValue::Value(_)));
    assert_eq!(network.attributes[5].name.text, "odd name");
    assert!(matches!(values[6], AttributeValue::Value(_)));
}

#[test]
fn blanks_and_comments_do_not_matter() {
    let plain = "actor A() ==> : int x = 1 + 2; end";
    let odd = "\u{feff}actor/**/A(\r\n)==>:// here\nint\tx=/* 1 */1+\n2;end// last";
    let strip = |text| {
        let mut file = file(text);
        headrace_syntax::erase_spans(&mut file);
        file
    };
    assert_eq!(strip(plain), strip(odd));
}

#[test]
fn a_chain_of_hundreds_of_operators_is_fine() {
    let sum = vec!["x"; 400].join(" + ");
    expr(&sum);
    let nested = format!("{}x{}", "(".repeat(150), ")".repeat(150));
    assert_eq!(shape(&expr(&nested)), "x");
}
