//! The text of a model: FIFOs, a process for each instance, what comes in, and what it means that nothing goes on.
//!
//! Two switches of the preprocessor decide what is checked:
//!
//! * without one, a writer waits for room, and instances take turns. That is enough: which rule of an instance holds does not
//!   depend on what others do meanwhile, and firings of two instances lead to the same state in either order, so all states
//!   in which nothing goes on are found (persistent sets, Godefroid 1996). Instances for which that is not shown, because
//!   they choose by what has come so far, and those that write to them, take part in every order;
//! * `EVERY_ORDER`: every order of all firings;
//! * `OVERFLOW`: a writer does not wait, and a FIFO must hold what is written; one reader, any, is slower than all else.

use super::names::{self, Named, one_of};
use super::rest;
use super::rules::{self, Does, Next, Rule};
use headrace_analysis::actor_automata::environment::Environment;
use headrace_analysis::actor_automata::{Abstraction, Behaviour, Wires, carried, wires};
use headrace_analysis::order_dependence::{Dependence, findings};
use headrace_ir::{Endpoint, InstanceId, Network};
use std::fmt::Write as _;

/// What printing needs everywhere.
pub(super) struct Model<'a> {
    pub network: &'a Network,
    pub environment: &'a Environment,
    pub abstraction: &'a Abstraction,
    pub wires: Vec<Wires>,
    pub named: Named,
    /// Inputs of the network whose tokens come one by one in every order.
    pub free_inputs: Vec<bool>,
    /// The turn of each instance; those without one take part in every order.
    pub turns: Vec<Option<usize>>,
}

/// Whether an actor may choose by what has come so far.
fn depends_on_time(network: &Network, at: usize) -> bool {
    let actor = network.actor_of(InstanceId(at as u32));
    findings(actor).iter().any(|finding| matches!(finding.dependence, Dependence::Time { .. }))
}

/// Whether the order of firings may matter to a network.
pub fn order_matters(network: &Network) -> bool {
    (0..network.instances.len()).any(|at| depends_on_time(network, at))
}

/// The type of a number up to `most`.
fn type_for(most: u64) -> &'static str {
    match most {
        0..=255 => "byte",
        256..=0x7fff => "short",
        _ => "int",
    }
}

/// The text of a model. `head` says who made it.
pub fn model(head: &str, network: &Network, environment: &Environment, abstraction: &Abstraction) -> String {
    let n = network.instances.len();
    let timed: Vec<bool> = (0..n).map(|at| depends_on_time(network, at)).collect();
    let (mut free, mut free_inputs) = (timed.clone(), vec![false; network.inputs.len()]);
    for connection in &network.connections {
        if let Endpoint::Instance(reader, _) = connection.target
            && timed[reader.index()]
        {
            match connection.source {
                Endpoint::Instance(writer, _) => free[writer.index()] = true,
                Endpoint::Boundary(port) => free_inputs[port] = true,
            }
        }
    }
    let mut next = 0..;
    let turns = free.iter().map(|free| if *free { None } else { next.next() }).collect();
    let model = Model {
        network,
        environment,
        abstraction,
        wires: wires(network),
        named: Named::of(network, abstraction),
        free_inputs,
        turns,
    };
    let mut text = String::from(head);
    model.switches(&mut text);
    model.fifos(&mut text);
    model.messages(&mut text);
    let rules: Vec<Vec<Rule>> =
        (0..n).map(|at| rules::of_instance(network, at, abstraction, &model.wires[at], &model.named)).collect();
    for (at, rules) in rules.iter().enumerate() {
        model.instance(&mut text, at, rules);
    }
    model.environment(&mut text);
    model.order(&mut text);
    rest::print(&model, &mut text, &rules);
    text
}

impl Model<'_> {
    /// Instances that take turns.
    fn n_turns(&self) -> usize {
        self.turns.iter().flatten().count()
    }

    /// The least of several numbers bounds a count: statements for `k`.
    fn at_most(text: &mut String, bound: &str) {
        let _ = writeln!(text, "      if :: k > {bound} -> k = {bound} :: else fi;");
    }

    fn switches(&self, text: &mut String) {
        let feed = self.n_turns() + 1;
        let ty = type_for(feed as u64 + 3);
        let _ = write!(
            text,
            "\
#ifndef MESSAGES
#define MESSAGES 2 /* that come in where writers do not wait */
#endif
#ifndef TOKENS
#define TOKENS 32 /* that come in at each input without messages there */
#endif

#ifdef OVERFLOW
#define ROOM(n, tokens, most) true
#define FITS(n, tokens, most) assert(n + tokens <= most)
#else
#define ROOM(n, tokens, most) (n + tokens <= most)
#define FITS(n, tokens, most) skip
#endif

#ifdef EVERY_ORDER
#define TURN(i)
#define PASS(i)
#define FEEDING true
#define CHOOSING true
#define FREE true
#define FIRED skip
#define FREED skip
#define FED skip
#else
#define FEEDING (turn == {feed})
#define FREE (turn == {free})
#define FREED moved = 0; turn = 0
#define FED turn = 0
bit moved; /* something has fired in this round */
/* Whose turn it is: instances, {sweep} the next round, {feed} what comes in, {free} those that are in no order. */
#ifdef OVERFLOW
{ty} turn = {none};
{ty} slow = {none}; /* the reader that is slower than all else */
bit quiet; /* nothing else can go on */
#define CHOOSING FEEDING
#define TURN(i) (turn == i && (slow != i || quiet)) ->
#define PASS(i) :: else -> if :: quiet -> quiet = 0; turn = {free} :: else -> turn = i + 1 fi
#define FIRED if :: quiet -> quiet = 0; moved = 0; turn = 0 :: else -> moved = 1 fi
#else
{ty} turn;
#define CHOOSING FREE
#define TURN(i) turn == i ->
#define PASS(i) :: else -> turn = i + 1
#define FIRED moved = 1
#endif
#endif

hidden int i;
hidden int k;

/* The first tokens leave a FIFO that tells them apart. */
#define TAKE(q, n, tokens) i = 0; \\
  do :: i + tokens < n -> q[i] = q[i + tokens]; i++ :: else -> break od; \\
  do :: i < n -> q[i] = 0; i++ :: else -> break od; \\
  n = n - tokens

",
            sweep = feed - 1,
            free = feed + 1,
            none = feed + 2,
        );
    }

    fn fifos(&self, text: &mut String) {
        text.push_str("/* FIFOs: how many tokens each holds, and which where these decide. */\n");
        for (at, connection) in self.network.connections.iter().enumerate() {
            let Some(fifo) = &self.abstraction.fifos[at] else { continue };
            let name = &self.named.fifos[at];
            let (source, target) = self.network.describe(connection);
            let most = fifo.capacity + self.network.largest_burst(connection);
            let _ =
                writeln!(text, "{} n_{name}; /* {source} --> {target}: at most {} */", type_for(most), fifo.capacity);
            if let Some(codes) = &self.named.codes[at] {
                let legend = codes.legend().map_or(String::new(), |legend| format!(" /* {legend} */"));
                let _ = writeln!(text, "byte q_{name}[{}];{legend}", fifo.capacity);
            }
        }
        text.push('\n');
    }

    /// The FIFOs behind an input of the network.
    fn behind(&self, port: usize) -> Vec<usize> {
        let connections = self.network.connections.iter().enumerate();
        let wanted = connections.filter(|(at, connection)| {
            connection.source == Endpoint::Boundary(port) && self.abstraction.fifos[*at].is_some()
        });
        wanted.map(|(at, _)| at).collect()
    }

    fn capacity(&self, fifo: usize) -> u64 {
        self.abstraction.fifos[fifo].as_ref().map_or(0, |fifo| fifo.capacity)
    }

    /// Inputs at which tokens come in that something reads.
    fn fed(&self) -> Vec<usize> {
        let fed = |&port: &usize| self.environment.feeds(port) && !self.behind(port).is_empty();
        (0..self.network.inputs.len()).filter(fed).collect()
    }

    fn messages(&self, text: &mut String) {
        let messages = &self.environment.messages;
        if !messages.is_empty() {
            text.push_str("/* What comes in. */\n");
            let _ = writeln!(text, "byte message; /* the one under way */");
            text.push_str("bit after_first; /* there has been one */\nbit over; /* no more come */\n");
            text.push_str("#ifdef OVERFLOW\nbyte n_messages;\n#endif\n");
        }
        for port in self.fed() {
            let name = &self.named.inputs[port];
            if self.environment.unlimited[port] {
                let _ = writeln!(
                    text,
                    "#ifdef OVERFLOW\nint left_{name} = TOKENS;\n#define MORE_{name} (left_{name} > 0)\n\
                     #define GIVEN_{name} left_{name} = left_{name} - k\n#else\n#define MORE_{name} true\n\
                     #define GIVEN_{name} skip\n#endif"
                );
            } else {
                let most = messages.iter().map(|message| message.tokens[port].len() as u64).max().unwrap_or_default();
                let _ = writeln!(
                    text,
                    "{} left_{name}; /* tokens of the message that are still to come in */\n\
                     #define MORE_{name} (left_{name} > 0)\n#define GIVEN_{name} left_{name} = left_{name} - k",
                    type_for(most)
                );
            }
        }
        text.push('\n');
    }

    fn instance(&self, text: &mut String, at: usize, rules: &[Rule]) {
        let actor = self.network.actor_of(InstanceId(at as u32));
        let behaviour = &self.abstraction.behaviours[at];
        let (name, shown) = (&self.named.instances[at], &self.network.instances[at].name);
        let n_states = behaviour.states.len();
        let all: Vec<usize> = (0..n_states).collect();
        let _ = writeln!(text, "/* {shown}: {} */", actor.class);
        if n_states > 1 {
            let ty = type_for(n_states as u64 - 1);
            let _ = writeln!(text, "{ty} at_{name} = {};", behaviour.initial);
            self.state_comment(text, at, behaviour);
        }
        for (number, rule) in rules.iter().enumerate() {
            let mut when = vec![one_of(&format!("at_{name}"), &rule.states, &all)];
            when.extend(rule.effect.when.iter().cloned());
            when.retain(|condition| !condition.is_empty());
            let when = if when.is_empty() { "true".into() } else { when.join(" && ") };
            let _ = writeln!(text, "#define can_{name}_{number} ({when})");
        }
        let turn = self.turns[at];
        let indent = if turn.is_some() { "     " } else { "  " };
        let _ = writeln!(text, "active proctype {name}() {{\nend_:\n  do");
        if let Some(turn) = turn {
            let _ = writeln!(text, "  :: atomic {{ TURN({turn})\n     if");
        }
        for (number, rule) in rules.iter().enumerate() {
            let mut condition = format!("can_{name}_{number}");
            if turn.is_none() {
                condition = format!("FREE && {condition}");
            }
            for (fifo, tokens) in &rule.effect.puts {
                let _ = write!(
                    condition,
                    " && ROOM(n_{}, {}, {})",
                    self.named.fifos[*fifo],
                    tokens.len(),
                    self.capacity(*fifo)
                );
            }
            let does = self.does(at, rule, if turn.is_some() { "FIRED" } else { "FREED" });
            let _ = writeln!(text, "{indent}:: {condition} ->\n{indent}   d_step {{ {does} }}");
        }
        if rules.is_empty() && turn.is_none() {
            let _ = writeln!(text, "{indent}:: false -> skip");
        }
        match turn {
            // An instance that can do nothing at all must still hand its turn on.
            Some(turn) if rules.is_empty() => {
                let _ = writeln!(text, "     :: false -> skip\n     PASS({turn})\n     fi }}");
            }
            Some(turn) => {
                let _ = writeln!(text, "     PASS({turn})\n     fi }}");
            }
            None => {}
        }
        text.push_str("  od\n}\n\n");
    }

    /// Which states there are; the first and the last where there are many.
    fn state_comment(&self, text: &mut String, at: usize, behaviour: &Behaviour) {
        const SHOWN: usize = 24;
        let n = behaviour.states.len();
        for number in 0..n {
            if n > SHOWN && number == SHOWN / 2 {
                let _ = writeln!(text, "/* ... */");
            }
            if n > SHOWN && (SHOWN / 2..n - SHOWN / 2).contains(&number) {
                continue;
            }
            let _ = writeln!(text, "/* {number}: {} */", names::state(self.network, at, behaviour, number));
        }
    }

    /// What a rule does, and what a replay says of it.
    fn does(&self, at: usize, rule: &Rule, fired: &str) -> String {
        let actor = self.network.actor_of(InstanceId(at as u32));
        let (name, shown) = (&self.named.instances[at], &self.network.instances[at].name);
        let mut steps = Vec::new();
        let escape = |text: &str| text.escape_default().to_string().replace('%', "?");
        steps.push(match &rule.effect.does {
            Does::Fires(action) => format!("printf(\"> fire {shown}.{}\\n\")", escape(&actor.actions[*action].name)),
            Does::Initialises(action) => {
                format!("printf(\"> initialise {shown}.{}\\n\")", escape(&actor.initializers[*action].name))
            }
            Does::Finds { condition, holds } => {
                format!("printf(\"> find {shown} {holds}: {}\\n\")", escape(condition))
            }
        });
        for (fifo, tokens) in &rule.effect.takes {
            let fifo_name = &self.named.fifos[*fifo];
            steps.push(match self.named.codes[*fifo] {
                Some(_) => format!("TAKE(q_{fifo_name}, n_{fifo_name}, {tokens})"),
                None => format!("n_{fifo_name} = n_{fifo_name} - {tokens}"),
            });
        }
        for (fifo, tokens) in &rule.effect.puts {
            let fifo_name = &self.named.fifos[*fifo];
            let n = tokens.len();
            steps.push(format!("FITS(n_{fifo_name}, {n}, {})", self.capacity(*fifo)));
            if self.named.codes[*fifo].is_some() {
                for (at, token) in tokens.iter().enumerate() {
                    let place = if at == 0 { String::new() } else { format!(" + {at}") };
                    steps.push(format!("q_{fifo_name}[n_{fifo_name}{place}] = {token}"));
                }
            }
            steps.push(format!("n_{fifo_name} = n_{fifo_name} + {n}"));
        }
        match rule.next {
            Next::By(0) => {}
            Next::By(far) => {
                let (sign, far) = if far < 0 { ('-', -far) } else { ('+', far) };
                steps.push(format!("at_{name} = at_{name} {sign} {far}"));
            }
            // A state that is alone has no number.
            Next::To(next) if self.abstraction.behaviours[at].states.len() > 1 => {
                if rule.states != [next] {
                    steps.push(format!("at_{name} = {next}"));
                }
            }
            Next::To(_) => {}
        }
        steps.push(fired.to_owned());
        steps.join("; ")
    }

    fn environment(&self, text: &mut String) {
        let (fed, messages) = (self.fed(), &self.environment.messages);
        let mut can = Vec::new();
        let mut options = String::new();
        for &port in &fed {
            let (name, shown) = (&self.named.inputs[port], &self.network.inputs[port].name);
            let behind = self.behind(port);
            let mut when = vec![format!("MORE_{name}")];
            when.extend(behind.iter().map(|&fifo| format!("n_{} < {}", self.named.fifos[fifo], self.capacity(fifo))));
            let _ = writeln!(text, "#define can_give_{name} ({})", when.join(" && "));
            let whose = if self.free_inputs[port] { "FREE" } else { "FEEDING" };
            let done = if self.free_inputs[port] { "FREED" } else { "FED" };
            // One input after the other: their order does not matter.
            let earlier: String = can.iter().map(|can| format!(" && !{can}")).collect();
            if self.free_inputs[port] || earlier.is_empty() {
                let _ = writeln!(text, "#define may_give_{name} can_give_{name}");
            } else {
                let _ = writeln!(
                    text,
                    "#ifdef EVERY_ORDER\n#define may_give_{name} can_give_{name}\n#else\n\
                     #define may_give_{name} (can_give_{name}{earlier})\n#endif"
                );
            }
            if !self.free_inputs[port] {
                can.push(format!("can_give_{name}"));
            }
            let _ = writeln!(options, "  :: atomic {{ {whose} && may_give_{name} -> d_step {{");
            let valued: Vec<usize> = behind.iter().copied().filter(|&fifo| self.named.codes[fifo].is_some()).collect();
            // As many as there is room for, where they all are alike and nobody minds.
            let together = valued.is_empty() && !self.free_inputs[port];
            let _ = writeln!(options, "      k = 1;");
            if together {
                let _ = writeln!(options, "#ifndef EVERY_ORDER\n      k = 1000000;");
                for &fifo in &behind {
                    Self::at_most(&mut options, &format!("{} - n_{}", self.capacity(fifo), self.named.fifos[fifo]));
                }
                if self.environment.unlimited[port] {
                    options.push_str("#ifdef OVERFLOW\n");
                    Self::at_most(&mut options, &format!("left_{name}"));
                    options.push_str("#endif\n");
                } else {
                    Self::at_most(&mut options, &format!("left_{name}"));
                }
                let _ = writeln!(options, "#endif");
            }
            for &fifo in &valued {
                self.incoming(&mut options, port, fifo);
            }
            for &fifo in &behind {
                let fifo = &self.named.fifos[fifo];
                let _ = writeln!(options, "      n_{fifo} = n_{fifo} + k;");
            }
            let whole = if messages.is_empty() || self.environment.unlimited[port] {
                String::new()
            } else {
                // Which message it was is not remembered.
                " if :: all_given -> message = 0 :: else fi;".to_owned()
            };
            let _ = writeln!(options, "      printf(\"> give {shown} %d\\n\", k); GIVEN_{name};{whole} {done} }} }}");
        }
        if !messages.is_empty() {
            let none_left: Vec<String> = (fed.iter().filter(|&&port| !self.environment.unlimited[port]))
                .map(|&port| format!("left_{} == 0", self.named.inputs[port]))
                .collect();
            let none_left = if none_left.is_empty() { "true".into() } else { none_left.join(" && ") };
            let _ = writeln!(
                text,
                "#ifdef OVERFLOW\n#define ONE_MORE (n_messages < MESSAGES)\n#define COUNT n_messages++\n#else\n\
                 #define ONE_MORE true\n#define COUNT skip\n#endif\n#define all_given ({none_left})\n\
                 #define can_begin (all_given && !over && ONE_MORE)"
            );
            for (number, message) in messages.iter().enumerate() {
                let first = if message.can_be_first { "" } else { " && after_first" };
                let lefts: String = (fed.iter().filter(|&&port| !self.environment.unlimited[port]))
                    .map(|&port| format!(" left_{} = {};", self.named.inputs[port], message.tokens[port].len()))
                    .collect();
                let _ = writeln!(
                    options,
                    "  :: atomic {{ CHOOSING && can_begin{first} -> d_step {{ /* {} */\n      \
                     printf(\"> message {number}\\n\"); message = {number};{lefts} after_first = 1; COUNT; FREED }} }}",
                    message.about
                );
            }
            let _ = writeln!(
                options,
                "#ifndef OVERFLOW\n  :: atomic {{ CHOOSING && can_begin -> d_step {{ printf(\"> end\\n\"); over = 1; message = 0; FREED }} }}\n#endif"
            );
        }
        let free = self.n_turns() + 2;
        let nothing = |can: &[String]| match can {
            [] => "true".to_owned(),
            can => format!("!({})", can.join(" || ")),
        };
        let or_begin: Vec<String> =
            can.iter().cloned().chain((!messages.is_empty()).then(|| "can_begin".to_owned())).collect();
        let then =
            if self.slow_readers().is_empty() { format!("turn = {free}") } else { "quiet = 1; turn = slow".to_owned() };
        let _ = write!(
            text,
            "active proctype environment() {{\nend_:\n  do\n{options}#ifndef EVERY_ORDER\n#ifdef OVERFLOW\n  \
             :: atomic {{ FEEDING && {} -> {then} }}\n#else\n  :: atomic {{ FEEDING && {} -> turn = {free} }}\n\
             #endif\n#endif\n  :: false -> skip\n  od\n}}\n\n",
            nothing(&or_begin),
            nothing(&can)
        );
    }

    /// The turns of instances that read from others.
    fn slow_readers(&self) -> Vec<usize> {
        let reads = |&at: &usize| {
            let mut read = self.wires[at].inputs.iter().flatten();
            read.any(|&fifo| matches!(self.network.connections[fifo].source, Endpoint::Instance(..)))
        };
        (0..self.turns.len()).filter(reads).filter_map(|at| self.turns[at]).collect()
    }

    /// The next token of a message, for a FIFO that tells tokens apart.
    fn incoming(&self, text: &mut String, port: usize, fifo: usize) {
        let (name, input) = (&self.named.fifos[fifo], &self.named.inputs[port]);
        let Some(codes) = &self.named.codes[fifo] else { return };
        let connection = &self.network.connections[fifo];
        let number = |token| codes.of_token(&carried(self.network, connection, token));
        if self.environment.unlimited[port] {
            let _ = writeln!(text, "      q_{name}[n_{name}] = {};", number(None));
            return;
        }
        // By value: which messages have it, with so many tokens still to come.
        let mut by_value: std::collections::BTreeMap<usize, Vec<String>> = std::collections::BTreeMap::new();
        for (message, tokens) in self.environment.messages.iter().map(|message| &message.tokens[port]).enumerate() {
            for (at, token) in tokens.iter().enumerate() {
                let left = tokens.len() - at;
                by_value
                    .entry(number(token.clone()))
                    .or_default()
                    .push(format!("message == {message} && left_{input} == {left}"));
            }
        }
        text.push_str("      if\n");
        let n = by_value.len();
        for (at, (value, when)) in by_value.into_iter().enumerate() {
            let when = if at + 1 == n { "else".to_owned() } else { when.join(" || ") };
            let _ = writeln!(text, "      :: {when} -> q_{name}[n_{name}] = {value}");
        }
        text.push_str("      fi;\n");
    }

    /// Who is next when all instances have had their turn.
    fn order(&self, text: &mut String) {
        let n = self.n_turns();
        let readers = self.slow_readers();
        let _ = writeln!(text, "#ifndef EVERY_ORDER\nactive proctype order() {{\n#ifdef OVERFLOW\n  atomic {{");
        if !readers.is_empty() {
            let _ = writeln!(text, "    if");
            for reader in readers {
                let _ = writeln!(text, "    :: slow = {reader}");
            }
            let _ = writeln!(text, "    fi;");
        }
        let _ = writeln!(text, "    turn = 0\n  }}\n#endif");
        let _ = writeln!(
            text,
            "end_:\n  do\n  :: atomic {{ turn == {n} -> if :: moved -> moved = 0; turn = 0 :: else -> turn = {} fi }}\n\
             #ifdef OVERFLOW\n  :: atomic {{ turn == slow && !quiet -> turn = slow + 1 }}\n#endif\n  od\n}}\n#endif\n",
            n + 1
        );
    }
}
