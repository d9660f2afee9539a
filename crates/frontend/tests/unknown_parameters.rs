//! What depends on a parameter without a value is checked as far as that goes, and never wrongly.

#[expect(dead_code, reason = "each test uses a part of it")]
mod support;

use support::{Texts, checked};

fn problems(text: &str) -> Vec<String> {
    checked(&Texts::default().cal("A", text), "A")
}

#[test]
fn nothing_is_wrong_where_something_is_unknown() {
    let text = "
actor A(int N, bool WIDE, uint(size=8) T[16], String S) uint(size=N) In ==> uint(size=2 * N) Out, bool Flag :
    int HALF = N / 2;
    int LAST = T[N - 1] mod N;
    uint(size=HALF) key[N] := [ i + T[i mod 16] : for int i in 0 .. N - 1 ];
    uint(size=8) fixed[4] = [1, 2, 3, if WIDE then N else 0 end];
    uint(size=N + 3) memory[N][HALF];
    int n := #key;

    function total(uint(size=HALF) list[N], int n) --> uint(size=N) :
        if n = 0 then list[0] else list[n - 1] + total(list, n - 1) end
    end

    procedure clear(uint(size=HALF) list[N])
    begin
        foreach int i in 0 .. N - 1 do
            list[i] := 0;
        end
    end

    take: action In:[x] repeat N ==> Out:[key] repeat N
    guard N > 4, x[N - 1] != 0, not WIDE
    var uint(size=N) copy[N] = x
    do
        memory[0] := copy;
        if WIDE then
            n := n << N;
        else
            n := ~n >> (8 / N);
        end
        clear(key);
    end

    give: action ==> Out:[total(key, N), memory[1][N]], Flag:[WIDE]
    var uint(size=8) out[4] = [fixed[HALF], fixed[3], n, LAST]
    do
        println(S + N + out[N]);
        key[4 - N] := out[0];
    end
end
";
    assert_eq!(problems(text), [] as [&str; 0]);
}

#[test]
fn what_is_wrong_for_every_value_is_reported() {
    let text = "
actor A(int N) uint(size=N) In ==> uint(size=8) Out :
    uint(size=N) key[N];

    action In:[x] ==> Out:[key]
    guard x
    do
        key := true;
        key[0][1] := nothing;
        if N > 3 then
            x := \"text\";
        end
    end
end
";
    assert_eq!(
        problems(text),
        [
            "type-mismatch 5:28 the port `Out` is `uint(size=8)`, but this is `List(type:uint(size=?), size=?)`",
            "type-mismatch 6:11 a `bool` is needed here",
            "type-mismatch 8:16 `List(type:uint(size=?), size=?)` is needed, but this is `bool`",
            "type-mismatch 9:16 `key` has 1 dimension",
            "unresolved-name 9:22 `nothing` is not declared",
            "type-mismatch 11:18 the variable is `uint(size=?)`, but this is `String`",
        ]
    );
}

#[test]
fn networks_with_unknown_parameters_are_checked() {
    let cell = "
actor Cell(int W) uint(size=W) In ==> uint(size=W) Out :
    action In:[x] ==> Out:[x] end
end
";
    let network = "
network Net(int N, entity E, bool LONG) uint(size=8) In ==> uint(size=8) Out :
    var
        int LAST = N - 1;
entities
    cells = [Cell(W = i + 1) : for i in 0 .. LAST];
    extra = if LONG then Cell(W = N) else E() end;
    e = E(K = N);
structure
    In --> cells[0].In;
    foreach i in 0 .. N - 2 do
        cells[i].Out --> cells[i + 1].In;
    end
    if LONG then
        cells[LAST].Out --> extra.In;
    else
        cells[LAST].Out --> e.Input;
    end
    extra.Out --> Out;
end
";
    let texts = Texts::default().cal("Cell", cell).nl("Net", network);
    assert_eq!(checked(&texts, "Net"), [] as [&str; 0]);
    let texts = Texts::default().cal("Cell", cell).nl("Net", &network.replace("extra.Out --> Out", "more.Out --> Out"));
    assert_eq!(checked(&texts, "Net"), ["unresolved-name 19:5 there is no instance `more`"]);
}
