//! Lowered programs as an engine: the evaluator of `program` behind the interface that the interpreter has.

use headrace_engine::{Blocked, Engine, Host, Outcome, Report, Trap, Wait};
use headrace_ir::{Network, real};
use headrace_natives::{Argument, Parameter, Session, Stop};
use headrace_program::evaluate::{self, Fault, Machine, NativeValue, Outside};
use headrace_program::{Interface, Module, RealFormat, Type};
use std::sync::Arc;

/// Statements after which a run is taken not to end.
const MOST_STEPS: u64 = 20_000_000_000;

/// Tokens that there is room for where output is wanted, at once.
const ROOM: usize = 100;

/// A lowered network that runs.
pub struct LoweredEngine<'m> {
    network: Arc<Network>,
    module: &'m Module,
    machine: Machine<'m>,
    session: Session,
    ended: Option<Result<Outcome, Trap>>,
    /// Tokens of outputs that came where the caller wanted them, where input is taken so that can be.
    streamed: Option<Vec<Vec<u64>>>,
}

/// What natives and prints of the program reach.
struct Bridge<'a> {
    host: &'a mut dyn Host,
    session: &'a mut Session,
    stop: Option<Stop>,
}

impl evaluate::Host for Bridge<'_> {
    fn print(&mut self, bytes: &[u8]) {
        self.host.print(bytes);
    }

    fn print_real(&mut self, value: f64, format: RealFormat) {
        let ty = match format {
            RealFormat::Half => headrace_ir::RealType::Half,
            RealFormat::Single => headrace_ir::RealType::Float,
            RealFormat::Double => headrace_ir::RealType::Double,
        };
        self.host.print(real::format_real(value, ty).as_bytes());
    }

    fn native(&mut self, name: &str, arguments: &mut [NativeValue]) -> Option<i64> {
        let Some(row) = headrace_natives::find(name) else {
            self.stop = Some(Stop::Error(format!("no platform supplies the native `{name}`")));
            return None;
        };
        let mut given: Vec<Argument<'_>> = arguments
            .iter_mut()
            .zip(row.parameters)
            .map(|(argument, parameter)| match (argument, parameter) {
                (NativeValue::Value(value), Parameter::Scalar(_, word)) => Argument::Scalar(word.convert(*value)),
                (NativeValue::Value(value), _) => Argument::Scalar(*value),
                (NativeValue::Bytes(bytes), _) => Argument::Bytes(bytes),
            })
            .collect();
        match (row.call)(self.session, self.host, &mut given) {
            Ok(value) => Some(value),
            Err(stop) => {
                self.stop = Some(stop);
                None
            }
        }
    }
}

impl<'m> LoweredEngine<'m> {
    /// A fresh context of a module that the network was lowered to.
    pub fn new(network: &Arc<Network>, module: &'m Module) -> Result<Self, Fault> {
        let mut machine = Machine::new(module);
        machine.limit_steps(MOST_STEPS);
        let mut engine = Self {
            network: network.clone(),
            module,
            machine,
            session: Session::default(),
            ended: None,
            streamed: None,
        };
        engine.restart()?;
        Ok(engine)
    }

    /// The same, which has functions of the interface take input where it lies, as far as they do.
    pub fn streaming(self) -> Self {
        Self { streamed: Some(vec![Vec::new(); self.network.outputs.len()]), ..self }
    }

    /// Has a function of the interface take tokens, elements of an input, and says how many it took.
    fn stream(&mut self, input: usize, tokens: &[u64]) -> usize {
        let found = self.module.interface.streams.iter().find(|stream| stream.input == input);
        let (Some(stream), Some(_)) = (found, &self.streamed) else { return 0 };
        let mut taken = 0;
        loop {
            let mut rest = tokens[taken..].to_vec();
            let n = rest.len() as u64;
            let mut room = vec![0; ROOM];
            let mut arguments = vec![Outside::Context, Outside::Slice(&mut rest), Outside::Value(n)];
            if stream.output.is_some() {
                arguments.extend([Outside::Slice(&mut room), Outside::Value(ROOM as u64)]);
            }
            let moved = self.call(stream.function, &mut arguments);
            drop(arguments);
            let made = (moved >> 32) as usize;
            taken += moved as u32 as usize;
            if let (Some(output), Some(streamed)) = (stream.output, &mut self.streamed) {
                streamed[output].extend(&room[..made]);
            }
            if moved == 0 {
                return taken;
            }
        }
    }

    /// Begins anew in the same context, whatever it holds.
    pub fn restart(&mut self) -> Result<(), Fault> {
        self.session = Session::default();
        self.ended = None;
        self.machine.call(self.module.interface.init, &mut [Outside::Context], &mut evaluate::NoHost)?;
        Ok(())
    }

    fn call(&mut self, function: headrace_program::FunctionId, arguments: &mut [Outside<'_>]) -> u64 {
        match self.machine.call(function, arguments, &mut evaluate::NoHost) {
            Ok(value) => value,
            Err(fault) => {
                self.ended = Some(Err(trap(fault.to_string())));
                0
            }
        }
    }
}

fn trap(message: String) -> Trap {
    Trap { message, instance: String::new(), action: String::new(), span: None }
}

/// Elements of stored tokens, as the evaluator keeps them.
fn elements(tokens: &[u8], element: Type) -> Vec<u64> {
    tokens
        .chunks_exact(element.bytes() as usize)
        .map(|bytes| element.extend(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))))
        .collect()
}

impl Engine for LoweredEngine<'_> {
    fn write(&mut self, input: usize, tokens: &[u8]) -> usize {
        let port = &self.module.interface.inputs[input];
        let (write, words) = (port.write, u64::from(port.words));
        let mut slice = elements(tokens, port.element);
        let taken = self.stream(input, &slice);
        slice.drain(..taken);
        let n = slice.len() as u64 / words;
        taken + self.call(write, &mut [Outside::Context, Outside::Slice(&mut slice), Outside::Value(n)]) as usize
    }

    fn read(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize {
        let port = &self.module.interface.outputs[output];
        let (element, words, read) = (port.element, port.words, port.read);
        let waiting = port.waiting;
        let n = self.call(waiting, &mut [Outside::Context]);
        let mut slice = vec![0; n as usize * words as usize];
        let n = self.call(read, &mut [Outside::Context, Outside::Slice(&mut slice), Outside::Value(n)]) as usize;
        // What came past the buffers came before what waits in them.
        let before = self.streamed.as_mut().map_or_else(Vec::new, |streamed| std::mem::take(&mut streamed[output]));
        for value in before.iter().chain(&slice[..n * words as usize]) {
            tokens.extend(&value.to_le_bytes()[..element.bytes() as usize]);
        }
        before.len() + n
    }

    fn run(&mut self, max_firings: Option<u64>, host: &mut dyn Host) -> Result<Outcome, Trap> {
        if let Some(ended) = &self.ended {
            return ended.clone();
        }
        let mut bridge = Bridge { host, session: &mut self.session, stop: None };
        let most = Outside::Value(max_firings.unwrap_or(u64::MAX));
        let status = self.machine.call(self.module.interface.run, &mut [Outside::Context, most], &mut bridge);
        let stop = bridge.stop.take();
        let outcome = match status {
            Err(fault) => Err(trap(format!("fault: {fault}"))),
            Ok(status) => match (status as u32, stop) {
                (Interface::IDLE, _) => return Ok(Outcome::Idle),
                (Interface::LIMIT, _) => return Ok(Outcome::FiringLimit),
                (_, Some(Stop::Exit(status))) => Ok(Outcome::Exited(status)),
                (_, Some(Stop::Error(message))) => Err(trap(message)),
                _ => Err(trap("calls nest deeper than 10000".to_owned())),
            },
        };
        self.ended = Some(outcome.clone());
        outcome
    }

    fn report(&self) -> Report {
        let mut machine = Machine::new(self.module);
        machine.clone_context(&self.machine);
        let lacks = machine
            .call(self.module.interface.lacks_room, &mut [Outside::Context], &mut evaluate::NoHost)
            .is_ok_and(|lacks| lacks != 0);
        let blocked = || Blocked::Room { port: String::new(), needed: 0, room: 0, reader: String::new() };
        let wait = || Wait { instance: String::new(), state: String::new(), action: String::new(), blocked: blocked() };
        Report { waits: lacks.then(wait).into_iter().collect(), leftovers: Vec::new() }
    }

    fn firings(&self) -> Vec<Vec<u64>> {
        self.network.instances.iter().map(|_| Vec::new()).collect()
    }
}
