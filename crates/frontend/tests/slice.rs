//! Actors and networks of the kind that the library is made of.

#[expect(dead_code, reason = "each test uses a part of it")]
mod support;

use headrace_ir::{Endpoint, Value};
use support::{Texts, elaborated};

const UNIT: &str = "
package a;
unit Gf :
    function xtime(uint(size=8) x) --> uint(size=8) : (x << 1) ^ (if (x & 0x80) != 0 then 0x1b else 0 end) end
    uint(size=8) rcon[10] = [1, 2, 4, 8, 16, 32, 64, 128, 0x1b, 0x36];
    function table(uint(size=8) first) --> List(type:uint(size=8), size=4) :
        [ xtime(first) + i : for uint(size=8) i in 0 .. 3 ]
    end
end
";

const MIX: &str = "
package a;
import a.Gf.*;
actor Mix(int N = 4, uint(size=8) S[2] = [1, 2]) uint(size=8) In, bool Last ==> uint(size=8) Out :
    int Half = N >> 1;
    uint(size=8) t[4] = table(3);
    uint(size=8) state[N];
    uint(size=32) count := 0;

    procedure add(uint(size=8) list[16], uint(size=8) v)
    begin
        foreach int i in 0 .. N - 1 do
            list[i] := list[i] + v + rcon[i];
        end
    end

    load: action In:[x] repeat N ==>
    do
        state := x;
        add(state, 3);
        count := 0;
    end

    emit.one: action ==> Out:[state[count], xtime(state[count])]
    guard count < N, not (count = 9)
    do
        count := count + 1;
    end

    emit.all: action Last:[last] ==> Out:[state] repeat 4
    guard last
    var uint(size=8) tmp[4] = [state[3], state[2], state[1], state[0]]
    do
        state := [state[1], state[0], tmp[0], t[Half]];
        println(\"last \" + last + count);
    end

    schedule fsm s0 :
        s0 (load) --> s1;
        s1 (emit.all) --> s0;
        s1 (emit.one) --> s1;
    end

    priority emit.all > emit.one; end
end
";

const RING: &str = "
package a;
network Ring(int STAGES = 2) uint(size=8) In, bool Last ==> uint(size=8) Out :
entities
    m = [Mix(N = 4) : for i in 0 .. STAGES - 1];
structure
    In --> m[0].In {bufferSize = 64;};
    foreach int i in 0 .. STAGES - 2 do
        m[i].Out --> m[i + 1].In;
    end
    foreach int i in 0 .. STAGES - 1 do
        Last --> m[i].Last;
    end
    m[STAGES - 1].Out --> Out;
end
";

fn texts() -> Texts {
    Texts::default().cal("a.Gf", UNIT).cal("a.Mix", MIX).nl("a.Ring", RING)
}

#[test]
fn an_actor_goes_through() {
    let network = elaborated(&texts(), "a.Mix");
    assert_eq!(network.instances.len(), 1);
    let actor = &network.actors[0];
    assert_eq!(actor.parameters.len(), 2);
    let t = actor.variables.iter().find(|variable| variable.name == "t");
    let ints = |values: &[i64]| Value::List(values.iter().map(|&value| Value::Int(value.into())).collect());
    assert!(t.is_none(), "t[Half] was folded");
    let rcon = actor.variables.iter().find(|variable| variable.name == "a.Gf.rcon").expect("used");
    assert_eq!(rcon.initial, ints(&[1, 2, 4, 8, 16, 32, 64, 128, 0x1b, 0x36]));
    let s1 = &actor.schedule.states[1];
    let order: Vec<&str> = s1.tests.iter().map(|test| actor.actions[test.action.index()].name.as_str()).collect();
    assert_eq!(order, ["emit.all", "emit.one"]);
}

#[test]
fn a_network_is_flattened() {
    let network = elaborated(&texts(), "a.Ring(STAGES = 3)");
    let names: Vec<&str> = network.instances.iter().map(|instance| instance.name.as_str()).collect();
    assert_eq!(names, ["m_0", "m_1", "m_2"]);
    assert_eq!(network.actors.len(), 1, "instances with equal parameters share an actor");
    assert_eq!(network.connections.len(), 7);
    let first = network.connections.iter().find(|connection| connection.source == Endpoint::Boundary(0));
    assert_eq!(first.and_then(|connection| connection.fifo_tokens), Some(64));
}
