//! The trace as a value change dump, for wave viewers.
//!
//! A module an instance, in it the action that fires and the state as strings, and for each port the token and the number
//! of tokens so far (equal tokens in a row would not show otherwise). A firing takes as many steps of time as the largest
//! number of tokens that it moves through one port, at least one.

use super::{Firing, PortTokens, TokenValue, TraceSink};
use headrace_ir::{Network, Port, Scalar};
use std::io::{self, Write};
use vcd::{IdCode, TimescaleUnit, Value, VarType, Writer};

/// Writes a value change dump.
pub struct ValueChangeDump<W: Write> {
    writer: Writer<W>,
    instances: Vec<Signals>,
    clock: u64,
}

struct Signals {
    action: IdCode,
    state: IdCode,
    inputs: Vec<PortSignals>,
    outputs: Vec<PortSignals>,
}

struct PortSignals {
    token: IdCode,
    count: IdCode,
    ty: Scalar,
    tokens: u64,
}

impl<W: Write + Send> ValueChangeDump<W> {
    /// Writes to `out`, which is best buffered.
    pub fn new(out: W) -> Self {
        Self { writer: Writer::new(out), instances: Vec::new(), clock: 0 }
    }

    fn declare(&mut self, ports: &[Port]) -> io::Result<Vec<PortSignals>> {
        ports
            .iter()
            .map(|port| {
                let token = match port.ty {
                    Scalar::String => self.writer.add_var(VarType::String, 1, &port.name, None)?,
                    Scalar::Real(_) => self.writer.add_var(VarType::Real, 64, &port.name, None)?,
                    ty => self.writer.add_var(VarType::Wire, ty.width().max(1), &port.name, None)?,
                };
                let count = self.writer.add_var(VarType::Integer, 64, &format!("{}_tokens", port.name), None)?;
                Ok(PortSignals { token, count, ty: port.ty, tokens: 0 })
            })
            .collect()
    }
}

/// Bits of a token, most significant first.
fn bits(value: &TokenValue, width: u32) -> Vec<Value> {
    match value {
        TokenValue::Bool(value) => vec![Value::from(*value)],
        TokenValue::Int(value) => {
            let bytes = value.to_le_bytes((width as usize).div_ceil(8));
            let bit = |at: u32| bytes.get(at as usize / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
            (0..width).rev().map(|at| Value::from(bit(at))).collect()
        }
        TokenValue::Real(..) | TokenValue::Text(_) => Vec::new(),
    }
}

fn number(value: u64) -> Vec<Value> {
    (0..64).rev().map(|at| Value::from(value >> at & 1 == 1)).collect()
}

fn change<W: Write>(
    writer: &mut Writer<W>,
    signals: &mut [PortSignals],
    tokens: &[PortTokens],
    step: usize,
) -> io::Result<()> {
    for entry in tokens {
        let (Some(value), Some(port)) = (entry.values.get(step), signals.get_mut(entry.port)) else { continue };
        match value {
            TokenValue::Real(value, _) => writer.change_real(port.token, *value)?,
            TokenValue::Text(text) => writer.change_string(port.token, &word(text))?,
            value => writer.change_vector(port.token, bits(value, port.ty.width()))?,
        }
        port.tokens += 1;
        writer.change_vector(port.count, number(port.tokens))?;
    }
    Ok(())
}

/// A string value ends at the first blank.
fn word(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.replace(char::is_whitespace, "_") }
}

impl<W: Write + Send> TraceSink for ValueChangeDump<W> {
    fn start(&mut self, network: &Network) -> io::Result<()> {
        self.writer.timescale(1, TimescaleUnit::NS)?;
        let top = network.name.rsplit('.').next().unwrap_or("network");
        self.writer.add_module(&word(top))?;
        for instance in &network.instances {
            let actor = &network.actors[instance.actor.index()];
            self.writer.add_module(&instance.name)?;
            let action = self.writer.add_var(VarType::String, 1, "action", None)?;
            let state = self.writer.add_var(VarType::String, 1, "state", None)?;
            let inputs = self.declare(&actor.inputs)?;
            let outputs = self.declare(&actor.outputs)?;
            self.instances.push(Signals { action, state, inputs, outputs });
            self.writer.upscope()?;
        }
        self.writer.upscope()?;
        self.writer.enddefinitions()
    }

    fn firing(&mut self, network: &Network, firing: &Firing) -> io::Result<()> {
        let Some(signals) = self.instances.get_mut(firing.instance) else {
            return Ok(());
        };
        let actor = &network.actors[network.instances[firing.instance].actor.index()];
        let most = |tokens: &[PortTokens]| tokens.iter().map(|entry| entry.values.len()).max().unwrap_or(0);
        let steps = most(&firing.consumed).max(most(&firing.produced)).max(1);
        for step in 0..steps {
            self.writer.timestamp(self.clock)?;
            self.clock += 1;
            if step == 0 {
                self.writer.change_string(signals.action, &word(&firing.action))?;
                let state = actor.schedule.states.get(firing.from).map_or("", |state| &state.name);
                self.writer.change_string(signals.state, &word(state))?;
            }
            change(&mut self.writer, &mut signals.inputs, &firing.consumed, step)?;
            change(&mut self.writer, &mut signals.outputs, &firing.produced, step)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.writer.timestamp(self.clock)?;
        self.writer.flush()
    }
}
