//! Conformance programs have a TOML file beside them: what goes in, with what limits, and what must come out.

use headrace_engine::{CollectingHost, Engine, Outcome, Trap};
use headrace_ir::{Int, Network, Scalar, real};
use toml::{Table, Value};

/// One value of a sidecar as a token in storage form.
pub fn encode(ty: Scalar, value: &Value) -> Result<Vec<u8>, String> {
    let size = ty.storage_bytes();
    Ok(match (ty, value) {
        (Scalar::Bool, Value::Boolean(value)) => vec![u8::from(*value)],
        (Scalar::Int(_), Value::Integer(value)) => Int::from(*value).to_le_bytes(size),
        (Scalar::Int(_), Value::String(text)) => {
            let big: num_bigint::BigInt = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
            Int::from(big).to_le_bytes(size)
        }
        (Scalar::Real(ty), Value::Float(value)) => {
            real::to_bits(real::round(*value, ty), ty).to_le_bytes()[..size].to_vec()
        }
        _ => return Err(format!("`{value:?}` is no token of {ty}")),
    })
}

/// What goes in: for each input port its tokens in storage form.
pub fn inputs(network: &Network, expected: &Table) -> Result<Vec<Vec<u8>>, String> {
    let given = expected.get("in").and_then(Value::as_table);
    let of_port = |port: &headrace_ir::Port| {
        let tokens =
            given.and_then(|given| given.get(&port.name)).and_then(Value::as_array).cloned().unwrap_or_default();
        Ok(tokens.iter().map(|value| encode(port.ty, value)).collect::<Result<Vec<_>, String>>()?.concat())
    };
    network.inputs.iter().map(of_port).collect()
}

/// What a run showed.
pub struct Seen {
    pub streams: Vec<Vec<u8>>,
    pub host: CollectingHost,
    pub outcome: Result<Outcome, Trap>,
    pub lacks_room: bool,
}

/// Runs an engine on all of it, as far as the sidecar lets it.
pub fn run(network: &Network, inputs: &[Vec<u8>], expected: &Table, engine: &mut dyn Engine) -> Seen {
    let bytes = |key: &str| -> Vec<u8> {
        let list = expected.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        list.iter().filter_map(Value::as_integer).map(|byte| byte as u8).collect()
    };
    let max_firings = expected.get("max_firings").and_then(Value::as_integer).map(|n| n as u64);
    let mut host = CollectingHost { source: bytes("source"), golden: bytes("golden"), ..CollectingHost::default() };
    let mut left = inputs.to_vec();
    let mut streams = vec![Vec::new(); network.outputs.len()];
    loop {
        let mut moved = 0;
        for (port, tokens) in left.iter_mut().enumerate() {
            let n = engine.write(port, tokens);
            tokens.drain(..n * network.inputs[port].ty.storage_bytes());
            moved += n;
        }
        let outcome = engine.run(max_firings, &mut host);
        for (port, stream) in streams.iter_mut().enumerate() {
            moved += engine.read(port, stream);
        }
        if moved == 0 || outcome != Ok(Outcome::Idle) {
            return Seen { streams, host, lacks_room: engine.report().lacks_room(), outcome };
        }
    }
}
