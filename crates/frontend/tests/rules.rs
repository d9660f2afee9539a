//! The rules of the language, one by one: what is accepted, what is refused, and with which words.

mod support;

use support::{Texts, checked, elaborated};

/// The problems of an actor with this body, without their places.
fn body(text: &str) -> Vec<String> {
    let text =
        format!("actor A(int P = 3) uint(size=8) In, bool Flag ==> uint(size=8) Out, int(size=16) Wide :{text}\nend\n");
    let problems = checked(&Texts::default().cal("A", &text), "A");
    let without_place = |problem: &String| {
        let mut parts = problem.splitn(3, ' ');
        format!("{} {}", parts.next().unwrap_or_default(), parts.nth(1).unwrap_or_default())
    };
    problems.iter().map(without_place).collect()
}

#[track_caller]
fn accepted(text: &str) {
    assert_eq!(body(text), [] as [&str; 0], "{text}");
}

#[track_caller]
fn refused(text: &str, problems: &[&str]) {
    assert_eq!(body(text), problems, "{text}");
}

/// The textual form of an actor with this body.
fn lowered(text: &str) -> String {
    let text =
        format!("actor A(int P = 3) uint(size=8) In, bool Flag ==> uint(size=8) Out, int(size=16) Wide :{text}\nend\n");
    let network = elaborated(&Texts::default().cal("A", &text), "A");
    headrace_ir::text::actor(&network.actors[0])
}

#[track_caller]
fn lowers(text: &str, line: &str) {
    let all = lowered(text);
    assert!(all.lines().any(|found| found.trim() == line), "{line} is not in\n{all}");
}

#[test]
fn integers_of_all_widths_convert() {
    accepted("action In:[x] ==> Wide:[x], Out:[-x * 300] end");
    accepted("int(size=100) big := -1; action In:[x] ==> Out:[big] do big := big * x; end");
}

#[test]
fn bool_and_numbers_do_not_convert() {
    refused("action Flag:[f] ==> Out:[f] end", &["type-mismatch the port `Out` is `uint(size=8)`, but this is `bool`"]);
    refused(
        "bool b := 1; action In:[x] ==> guard b end",
        &["type-mismatch the variable is `bool`, but this is `uint(size=1)`"],
    );
    refused("action In:[x] ==> guard x end", &["type-mismatch a `bool` is needed here"]);
}

#[test]
fn reals_take_integers_and_narrower_reals() {
    accepted("double d := 1; float f := 2.5; half h := 0.5; action In:[x] ==> do d := f * x + h; end");
    refused(
        "float f := 0; double d := 0; action In:[x] ==> do f := d; d := f; end",
        &["type-mismatch the variable is `float`, but this is `double`"],
    );
    refused(
        "int i := 1.5; action In:[x] ==> Out:[i] end",
        &["type-mismatch the variable is `int(size=32)`, but this is `float`"],
    );
}

#[test]
fn operators_apply_to_their_kinds() {
    refused(
        "action In:[x], Flag:[f] ==> Out:[x + f] end",
        &["type-mismatch `+` does not apply to `uint(size=8)` and `bool`"],
    );
    refused(
        "uint(size=8) t[4]; action In:[x] ==> Out:[t + x] end",
        &["type-mismatch `+` does not apply to whole lists"],
    );
    refused(
        "action In:[x] ==> Out:[x] guard not x, x and true end",
        &["type-mismatch a `bool` is needed here", "type-mismatch a `bool` is needed here"],
    );
    accepted("action Flag:[f, g] ==> Out:[if f ^ g & (f | g) then 1 else 0 end] end");
    refused(
        "action In:[x] ==> guard x & 1 = 0 end",
        &["type-mismatch `&` does not apply to `uint(size=8)` and `bool`"],
    );
}

#[test]
fn equality_and_order() {
    accepted("action Flag:[f], In:[x] ==> guard f = (x != 3), x <= P end");
    refused("action Flag:[f, g] ==> guard f < g end", &["type-mismatch `<` does not apply to `bool` and `bool`"]);
}

#[test]
fn constants_in_any_order_and_initial_values_of_earlier_variables() {
    accepted(
        "int A1 = B1 + 1; int B1 = 4; uint(size=8) t[A1] = [i : for int i in 0 .. B1]; action In:[x] ==> Out:[t[4]] end",
    );
    accepted("int keySize := 32; int Nk := (keySize >> 2); action In:[x] ==> Out:[Nk] do keySize := x; end");
    refused(
        "int a := 4; action In:[x] repeat a ==> do a := 3; end",
        &["?not-constant `a` is assigned to by the actor"],
    );
    accepted("int a := 4; action In:[x] repeat a ==> Out:[a] end");
    // By way of a function it is the same.
    refused(
        "int a := 4; function f() --> int : a end action In:[x] repeat f() ==> do a := 3; end",
        &["?not-constant `a` is assigned to by the actor"],
    );
    accepted("int a := 4; function f() --> int : a end action In:[x] repeat f() ==> Out:[a] end");
}

#[test]
fn sizes_that_come_of_wrong_constants_are_refused_by_way_of_functions_too() {
    let wrong = [
        "?constant-does-not-fit 16 does not fit into `int(size=5)`",
        "constant-does-not-fit the count of a `repeat` comes of `SZ`, whose value does not fit into its type",
    ];
    let direct = "int(size=5) SZ = 16; action In:[x] repeat SZ ==> end";
    let function = "int(size=5) SZ = 16; function f() --> int : SZ end";
    refused(direct, &wrong);
    refused(&format!("{function} action In:[x] repeat f() ==> end"), &wrong);
    // Also where the function was called before.
    refused(&format!("{function} action Flag:[b] ==> Out:[f()] end action In:[x] repeat f() ==> end"), &wrong);
}

#[test]
fn the_first_reader_of_an_input_of_a_network_decides_its_type() {
    let texts = Texts::default()
        .cal("Flag", "actor Flag() bool In ==> : action In:[x] ==> end end")
        .cal("Number", "actor Number() uint(size=8) In ==> : action In:[x] ==> end end")
        .nl(
            "Both",
            "network Both() bool In ==> : entities f = Flag(); n = Number(); structure In --> f.In; In --> n.In; end",
        );
    let problems = checked(&texts, "Both");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("type-mismatch"), "{problems:?}");
    assert!(problems[0].contains("`bool` tokens cannot become `uint(size=8)`"), "{problems:?}");
}

#[test]
fn pure_functions_fold() {
    lowers(
        "function fib(int n) --> int : if n < 2 then n else fib(n - 1) + fib(n - 2) end end
        uint(size=8) t[fib(10)]; action In:[x] ==> do t[fib(5)] := x; end",
        "t[fib(5)] := x%0",
    );
    lowers("function sq(int n) --> int : n * n end int Q = sq(P); action In:[x] ==> Out:[Q] end", "==> Out:[9]");
}

#[test]
fn arguments_results_and_stores_wrap() {
    lowers(
        "function f(uint(size=4) n) --> uint(size=4) : n + 1 end action In:[x] ==> Out:[f(x)] end",
        "==> Out:[f(uint(size=4)(x%0))]",
    );
    lowers(
        "function f(uint(size=4) n) --> uint(size=4) : n + 1 end action In:[x] ==> Out:[f(x)] end",
        "result uint(size=4)((n%0 + 1))",
    );
    lowers("action In:[x] ==> Wide:[x] end", "==> Wide:[x%0]");
    lowers("action In:[x, y] ==> Wide:[x - y] end", "==> Wide:[(x%0 - y%1)]");
    lowers("action In:[x, y] ==> Out:[x - y] end", "==> Out:[uint(size=8)((x%0 - y%1))]");
    lowers("action In:[x] ==> Out:[300] end", "==> Out:[44]");
}

#[test]
fn shifts_carry_the_type_of_the_table() {
    lowers("action In:[x, y] ==> Wide:[x << y] end", "==> Wide:[int(size=16)(uint(size=71)(x%0 << y%1))]");
    lowers("action In:[x] ==> Wide:[x << 3] end", "==> Wide:[uint(size=11)(x%0 << 3)]");
    lowers("action In:[x] ==> Wide:[-x << 2] end", "==> Wide:[int(size=12)(-(x%0) << 2)]");
}

#[test]
fn complements_are_exact_but_in_the_width_before_a_shift_and_in_comparisons() {
    lowers("action In:[x] ==> Out:[~x] end", "==> Out:[uint(size=8)(~(x%0))]");
    lowers("action In:[x] ==> Out:[~x >> 4] end", "==> Out:[(uint(size=8)(~(x%0)) >> 4)]");
    lowers("action In:[x] ==> guard ~x = 0 end", "(uint(size=8)(~(x%0)) = 0)");
    lowers("action In:[x] ==> Out:[~(x + 1) >> 4] end", "==> Out:[uint(size=8)((~((x%0 + 1)) >> 4))]");
    accepted("action In:[x] ==> Out:[x & ~7] end");
    accepted("action In:[x, y] ==> Wide:[x & ~y] end");
    refused(
        "action In:[x] ==> Wide:[~x] end",
        &[
            "?complement-widened `~` of an unsigned value is negative, and more bits of it are used than the operand has",
        ],
    );
    refused(
        "action In:[x] ==> Out:[(~x + 1) mod 7] end",
        &[
            "?complement-widened `~` of an unsigned value is negative, and more bits of it are used than the operand has",
        ],
    );
}

#[test]
fn lists_in_both_spellings_are_one_type() {
    accepted(
        "List(type:List(type:bool, size=4), size=8) m; bool n[8][4]; action Flag:[f] ==> do m := n; n[7][3] := f; end",
    );
    refused(
        "bool n[8][4]; action Flag:[f] ==> do n[3][7] := f; end",
        &["index-out-of-range index 7 of a list of 4 elements"],
    );
    accepted("uint(size=8) m[2][3] = [[1, 2, 3], [4, 5, 6]]; action In:[x] ==> Out:[m[1]] repeat 3 end");
}

#[test]
fn shorter_lists_fit_and_longer_ones_do_not() {
    accepted("uint(size=8) a[4] = [1, 2]; action In:[x] repeat 2 ==> var uint(size=8) l[4] do l := x; end");
    refused(
        "action In:[x] repeat 4 ==> var uint(size=8) l[2] do l := x; end",
        &["list-too-long 4 elements do not fit into a list of 2"],
    );
    lowers(
        "int m[2][2] := [[1, 2], [3, 4]]; int n[3][3]; action ==> do n := m; m[0][0] := 9; end",
        "copy n[t%0] := m[t%0]",
    );
}

#[test]
fn lists_that_read_what_they_overwrite_go_through_another() {
    let text = lowered("uint(size=8) s[2]; action In:[x] ==> do s := [s[1], x]; end");
    assert!(text.contains("copy s := t%1"), "{text}");
    let text = lowered("uint(size=8) s[2]; action In:[x] ==> do s := [x, x]; end");
    assert!(!text.contains("copy"), "{text}");
}

#[test]
fn comprehensions_count_their_last_generator_fastest() {
    let text = lowered(
        "uint(size=8) t[12] = [i * 10 + j, 99 : for int i in 1 .. 2, for int j in 0 .. 2]; action In:[x] ==> Out:[t[x]] end",
    );
    assert!(text.contains("= [10, 99, 11, 99, 12, 99, 20, 99, 21, 99, 22, 99]"), "{text}");
}

#[test]
fn effects_keep_their_order() {
    let text = lowered("@native function next() --> int end action In:[x] ==> Out:[next() - next() * x] end");
    let calls: Vec<&str> =
        text.lines().filter(|line| line.contains("native A.next()") && line.contains(":=")).collect();
    assert_eq!(calls.len(), 2, "{text}");
    let text = lowered(
        "@native function next() --> bool end action In:[x] ==> guard x > 3 do if x > 4 and next() then println(x); end end",
    );
    let (test, call) = (text.find("if t%").expect("a test"), text.find(":= native A.next").expect("a call"));
    assert!(test < call, "the right operand is evaluated only where the left one holds\n{text}");
}

#[test]
fn guards_list_what_they_peek() {
    lowers("action In:[x, y], Flag:[f] ==> guard y > 3 end", "guard, peeks [y%1]");
    lowers("action In:[x] repeat 4 ==> guard P > 1, x[2] > 3 end", "guard, peeks [x%0]");
}

#[test]
fn actions_have_the_order_that_orcc_gives_them() {
    // Roots in document order first, then what they free, in the order in which it becomes free.
    let text = lowered(
        "
    a: action In:[x] ==> guard x = 1 end
    b: action In:[x] ==> guard x = 2 end
    action In:[x] ==> guard x = 3 end
    c: action In:[x] ==> guard x = 4 end
    d: action In:[x] ==> guard x = 5 end
    priority c > a; d > b; end",
    );
    let order: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.contains("state 0"))
        .skip(1)
        .map_while(|line| line.trim().strip_suffix(" --> 0"))
        .collect();
    assert_eq!(order, ["action@4", "c", "d", "a", "b"]);
}

#[test]
fn tags_are_matched_by_prefix() {
    let text = lowered(
        "
    go.a: action In:[x] ==> end
    go.b: action Flag:[x] ==> end
    gone: action ==> end
    schedule fsm s : s (go) --> t; t (gone) --> end_; end",
    );
    assert!(text.contains("state 0 \"s\" initial\n        go.a --> 1\n        go.b --> 1\n    state 1 \"t\"\n        gone --> 2\n    state 2 \"end_\"\n"), "{text}");
}

#[test]
fn regular_expressions_become_states() {
    let text = lowered(
        "
    a: action In:[x] ==> end
    b: action Flag:[x] ==> end
    schedule regexp a (b | a b)* end",
    );
    assert!(text.contains("state 0 \"s0\" initial\n        a --> 1\n    state 1 \"s1\"\n        a --> 2\n        b --> 1\n    state 2 \"s2\"\n        b --> 1\n"), "{text}");
}

#[test]
fn tests_of_constants_leave_no_code() {
    let text = lowered(
        "uint(size=8) t[2]; action In:[x] ==> Out:[if P > 2 then x else t[7] end] do if P = 9 then t[5] := 1; else t[0] := 1; end end",
    );
    assert!(text.contains("==> Out:[x%0]") && !text.contains("if"), "{text}");
}

#[test]
fn what_constants_leave_out_may_not_fit() {
    accepted(
        "uint(size=8) a[2]; uint(size=8) b[P]; action In:[x] ==> do if P < 2 then a := [1, 2, 3]; b[7] := x; end if P = 2 then a := b; end end",
    );
    refused(
        "uint(size=8) a[2]; action In:[x] ==> do if P = 9 then a := true; end end",
        &["type-mismatch `List(type:uint(size=8), size=2)` is needed, but this is `bool`"],
    );
}

#[test]
fn names_hide_those_of_the_actor_only() {
    refused(
        "int x := 0; action In:[y] ==> Out:[x] var int x = y end",
        &["?hidden-variable `x` hides a variable of the actor"],
    );
    refused("action In:[y] ==> Out:[z] var int z = 1, int z = 2 end", &["duplicate-name `z` is declared twice"]);
}

#[test]
fn a_loop_variable_may_be_assigned_and_a_generator_not() {
    accepted("action In:[x] ==> do foreach int i in 0 .. 7 do i := i + 1; end end");
    accepted("action In:[x] ==> do x := x >> 1; end");
    accepted("function f(int n) --> int var int m = n + 1 : m end action In:[x] ==> Out:[f(x)] end");
}

#[test]
fn constant_tables_of_bodies_are_made_once() {
    let text = lowered(
        "int t_0 := 0; action In:[x] ==> Out:[t[x & 3], t[2]] var uint(size=8) t[4] = [1, 2, 3, 4] do t_0 := x; end",
    );
    assert!(text.contains("List(type:uint(size=8), size=4) t_2 = [1, 2, 3, 4]"), "{text}");
    assert!(text.contains("==> Out:[t_2[(x%0 & 3)], 3]"), "{text}");
    refused(
        "action In:[x] ==> var uint(size=8) t[2] = [1, 2] do t[0] := x; end",
        &["assign-to-constant `t` is a constant"],
    );
}

#[test]
fn strings_are_put_together() {
    accepted("action In:[x], Flag:[f] ==> do println(\"x = \" + x + \", \" + f + (x + 1)); print(1.5); println(); end");
    lowers(
        "action In:[x] ==> do println(x + 1 + (x + 2)); end",
        "println(x%0: uint(size=8), 1: uint(size=1), (x%0 + 2): uint(size=9))",
    );
}

#[test]
fn recursion_is_accepted() {
    accepted(
        "function gcd(int a, int b) --> int : if b = 0 then a else gcd(b, a mod b) end end action In:[x, y] ==> Out:[gcd(x, y)] end",
    );
    accepted("procedure down(int n) begin if n > 0 then down(n - 1); end end action In:[x] ==> do down(x); end");
}

#[test]
fn procedures_are_made_for_the_shapes_of_their_lists() {
    let text = lowered(
        "uint(size=8) a[4]; uint(size=8) b[2];
    procedure fill(uint(size=8) l[8], uint(size=8) v) begin foreach int i in 0 .. #l - 1 do l[i] := v; end end
    action In:[x] ==> do fill(a, x); fill(b, x); fill(a, 1); end",
    );
    assert!(
        text.contains("procedure fill_4(") && text.contains("procedure fill_2(") && !text.contains("procedure fill("),
        "{text}"
    );
    assert!(text.contains("foreach i%2 in 0 .. 3") && text.contains("foreach i%2 in 0 .. 1"), "{text}");
}

#[test]
fn nothing_to_type_takes_long_or_overflows_the_stack() {
    let sum = vec!["x"; 400].join(" + ");
    accepted(&format!("action In:[x] ==> Out:[{sum}] end"));
    let branches: String = (0..900).map(|n| format!("elsif x = {n} then t := {n};\n")).collect();
    accepted(&format!("int t := 0; action In:[x] ==> do if x = 1000 then t := 1; {branches} end end"));
    let chain: String = (0..900).map(|n| format!("int C{n} = C{} + 1;\n", n + 1)).collect();
    accepted(&format!("{chain} int C900 = -800; action In:[x] ==> Out:[C0] end"));
    let calls: String = (0..900).map(|n| format!("function f{n}(int a) --> int : f{}(a) end\n", n + 1)).collect();
    accepted(&format!("{calls} function f900(int a) --> int : a end action In:[x] ==> Out:[f0(x)] end"));
    let lists = format!("{}1{}", "[".repeat(60), "]".repeat(60));
    assert!(!body(&format!("action In:[x] ==> do println(#{lists}); end")).iter().any(|p| p.contains("too-deep")));
}
