//! The trace as JSON lines, one object a firing:
//!
//! `{"time":3,"instance":"add","action":"add","from":"","to":"","consumed":{"In":[7]},"produced":{"Out":[8]}}`
//!
//! Integers of any width are JSON numbers; infinite reals and those that are not numbers are strings.

use super::{Firing, PortTokens, TokenValue, TraceSink};
use headrace_ir::{Network, Port};
use serde_json::Value;
use std::io::{self, Write};

/// Writes a firing a line.
#[derive(Debug)]
pub struct JsonLines<W> {
    out: W,
}

impl<W: Write + Send> JsonLines<W> {
    /// Writes to `out`, which is best buffered.
    pub fn new(out: W) -> Self {
        Self { out }
    }

    fn tokens(&mut self, ports: &[Port], tokens: &[PortTokens]) -> io::Result<()> {
        self.out.write_all(b"{")?;
        for (position, entry) in tokens.iter().enumerate() {
            if position > 0 {
                self.out.write_all(b",")?;
            }
            let name = ports.get(entry.port).map_or("", |port| &port.name);
            write!(self.out, "{}:[", Value::from(name))?;
            for (position, value) in entry.values.iter().enumerate() {
                if position > 0 {
                    self.out.write_all(b",")?;
                }
                match value {
                    TokenValue::Bool(value) => write!(self.out, "{value}")?,
                    TokenValue::Int(value) => write!(self.out, "{value}")?,
                    TokenValue::Real(value, text) if value.is_finite() => self.out.write_all(text.as_bytes())?,
                    TokenValue::Text(text) => write!(self.out, "{}", Value::from(text.as_str()))?,
                    TokenValue::Real(_, text) => write!(self.out, "\"{text}\"")?,
                }
            }
            self.out.write_all(b"]")?;
        }
        self.out.write_all(b"}")
    }
}

impl<W: Write + Send> TraceSink for JsonLines<W> {
    fn start(&mut self, _: &Network) -> io::Result<()> {
        Ok(())
    }

    fn firing(&mut self, network: &Network, firing: &Firing) -> io::Result<()> {
        let Some(instance) = network.instances.get(firing.instance) else {
            return Ok(());
        };
        let actor = &network.actors[instance.actor.index()];
        let state = |at: usize| actor.schedule.states.get(at).map_or("", |state| &state.name);
        write!(
            self.out,
            "{{\"time\":{},\"instance\":{},\"action\":{},\"from\":{},\"to\":{},\"consumed\":",
            firing.time,
            Value::from(instance.name.as_str()),
            Value::from(firing.action.as_str()),
            Value::from(state(firing.from)),
            Value::from(state(firing.to)),
        )?;
        self.tokens(&actor.inputs, &firing.consumed)?;
        self.out.write_all(b",\"produced\":")?;
        self.tokens(&actor.outputs, &firing.produced)?;
        self.out.write_all(b"}\n")
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
