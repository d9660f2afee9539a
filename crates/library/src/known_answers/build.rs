//! From one record and one `[[vectors]]` entry to cases.

use std::collections::BTreeMap;

use headrace_source::Diagnostic;

use super::{Case, Expected, MAPPING, Plan};
use crate::catalog::{Framing, Library, OperationSpec};
use crate::framing::Message;
use crate::manifest::{Manifest, Shape};
use crate::mapping::{Argument, Conversion, DESCRIPTIVE_FIELDS, Feedback, Kind, Target, VectorMapping};
use crate::ports::Role;
use crate::spelling::listing;
use crate::vectors::{Field, Record, Value};

/// More words than a generator is asked for by any record.
const MAX_WORDS: u64 = 1 << 24;
/// More zeros than stand before any record's input.
const MAX_SKIP: usize = 1 << 26;

/// A record, the entry that is for it, and what both refer to.
pub(super) struct Builder<'b> {
    pub(super) library: &'b Library,
    pub(super) manifest: &'b Manifest,
    pub(super) entry: &'b VectorMapping,
    pub(super) record: &'b Record,
    pub(super) index: usize,
    pub(super) stem: &'b str,
}

/// The fields of a record, by what they are for. Strings are named as the forward operation has them.
#[derive(Default)]
struct Read {
    strings: BTreeMap<Role, Vec<u8>>,
    leftmost: Vec<Role>,
    joined: Vec<(Vec<Role>, Vec<u8>)>,
    iterated: Vec<(u32, Vec<u8>)>,
    words: Vec<(u64, Vec<u8>)>,
    period: Option<u64>,
    key_stream: bool,
    skip: usize,
    tag_bytes: Option<u64>,
    arguments: Vec<(String, String)>,
    ports: Vec<(String, Vec<u8>)>,
    directions: Option<(bool, bool)>,
    requests: BTreeMap<(u32, Role), Vec<u8>>,
}

/// Why joined strings cannot be cut apart.
enum Uncut {
    /// The record is shorter or longer than its strings can be.
    Short(String),
    /// The manifest does not say where to cut.
    Ambiguous(String),
}

type Found<T> = Result<T, Diagnostic>;

impl Builder<'_> {
    fn problem(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(MAPPING, message)
            .at(self.record.span, "in this record")
            .also(self.entry.span, "by this entry")
    }

    fn field_problem(&self, field: &Field, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(MAPPING, message).at(field.value_span, "here").also(self.entry.span, "by this entry")
    }

    /// The cases that the record makes.
    pub(super) fn build(&self) -> Found<Vec<Case>> {
        let mut read = self.read()?;
        let spec = self.spec(&read)?;
        if spec.framing == Framing::Bare {
            return Ok(vec![self.case(spec, &read, self.ports(spec, &read)?)]);
        }
        match self.split(spec, &mut read) {
            Ok(()) => {}
            Err(Uncut::Short(reason)) if self.record.must_fail => {
                let spec = self.inverse(spec).unwrap_or(spec);
                return Ok(vec![self.case(spec, &read, Plan::Malformed(reason))]);
            }
            Err(Uncut::Short(reason) | Uncut::Ambiguous(reason)) => return Err(self.problem(reason)),
        }
        if self.entry.kind == Kind::MonteCarlo {
            return self.monte_carlo(spec, &read);
        }
        if spec.framing == Framing::Generator {
            let goes_on = spec.input(Role::Entropy).is_some();
            let plan = if goes_on { self.requests(&read)? } else { self.sequence(&read)? };
            return Ok(vec![self.case(spec, &read, plan)]);
        }
        self.single(spec, &read)
    }

    fn case(&self, spec: &OperationSpec, read: &Read, plan: Plan) -> Case {
        // What every variant's network says already is no argument, so that the record is for that network.
        let says_more = |(name, value): &&(String, String)| {
            let mut networks = spec.variants.iter().map(|variant| &variant.network);
            networks.any(|network| network.clone().with_from_record(name, value.clone()) != *network)
        };
        Case {
            record: self.index,
            count: self.record.count,
            span: self.record.span,
            set: spec.set.clone(),
            operation: spec.name.clone(),
            arguments: read.arguments.iter().filter(says_more).cloned().collect(),
            plan,
        }
    }

    /// Sorts the fields by what they are for.
    fn read(&self) -> Found<Read> {
        let mut read = Read::default();
        let entry = self.entry;
        for field in &self.record.fields {
            let name = field.name.as_str();
            let mut used = DESCRIPTIVE_FIELDS.contains(&name)
                || entry.ignored.iter().any(|other| other == name)
                || entry.conditions.iter().any(|(other, _)| other == name);
            for (parameter, argument) in entry.arguments.iter().filter(|(_, argument)| argument.field == name) {
                used = true;
                let number = argument.value(&field.text);
                let number = number.map_err(|problem| self.field_problem(field, format!("`{name}` {problem}")))?;
                read.arguments.push((parameter.clone(), number.to_string()));
            }
            if let Some(direction) = entry.direction.as_ref().filter(|d| d.field == name) {
                used = true;
                read.directions = Some(if field.text == direction.forward {
                    (true, false)
                } else if field.text == direction.inverse {
                    (false, true)
                } else {
                    return Err(self.field_problem(
                        field,
                        format!("`{name}` is neither `{}` nor `{}`", direction.forward, direction.inverse),
                    ));
                });
            }
            let target = entry.fields.iter().find(|(other, _)| other == name);
            match target {
                Some((_, target)) => self.take(&mut read, field, target)?,
                None if used => {}
                None if self.manifest.shape == Shape::Part => {
                    self.take(&mut read, field, &Target::Port(name.to_owned()))?;
                }
                None => {
                    return Err(Diagnostic::error(
                        MAPPING,
                        format!("the manifest does not say what the field `{name}` is"),
                    )
                    .at(field.span, "this field")
                    .also(self.entry.span, "missing here"));
                }
            }
        }
        for (parameter, Argument { field, .. }) in &entry.arguments {
            if self.record.field(field).is_none() {
                return Err(
                    self.problem(format!("there is no `{field}`, which the parameter `{parameter}` is to have"))
                );
            }
        }
        if let (Some(direction), None) = (&entry.direction, read.directions) {
            return Err(self.problem(format!("there is no `{}`, which says the direction", direction.field)));
        }
        Ok(read)
    }

    fn take(&self, read: &mut Read, field: &Field, target: &Target) -> Found<()> {
        let convert = |mut bytes: Vec<u8>| {
            for (name, conversion) in &self.entry.conversions {
                if *name == field.name {
                    conversion.apply(&mut bytes);
                }
            }
            bytes
        };
        let bytes = || {
            field
                .bytes()
                .map(|bytes| convert(bytes.to_vec()))
                .ok_or_else(|| self.field_problem(field, format!("`{}` is no byte string", field.name)))
        };
        let number = |limit: u64| {
            match &field.value {
                Value::Number(number) => u64::try_from(number).ok(),
                _ => None,
            }
            .filter(|number| *number <= limit)
            .ok_or_else(|| self.field_problem(field, format!("`{}` is no number up to {limit}", field.name)))
        };
        match target {
            Target::Strings(roles) => match roles.as_slice() {
                [role] => {
                    if read.strings.insert(*role, bytes()?).is_some() {
                        return Err(self.field_problem(field, format!("a second field is `{}`", role.name())));
                    }
                    let leftmost = (field.name.clone(), Conversion::Leftmost);
                    if self.entry.conversions.contains(&leftmost) {
                        read.leftmost.push(*role);
                    }
                }
                _ => read.joined.push((roles.clone(), bytes()?)),
            },
            Target::Iterated(n) => read.iterated.push((*n, bytes()?)),
            Target::Word(n) => read.words.push((*n, bytes()?)),
            Target::Words => match &field.value {
                Value::Words(words) => {
                    read.words.extend(words.iter().zip(1..).map(|(word, n)| (n, convert(word.clone()))))
                }
                Value::Bits(bits) if bits.len().is_multiple_of(8) => {
                    let byte = |bits: &[bool]| bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
                    read.words.extend(bits.chunks_exact(8).zip(1..).map(|(bits, n)| (n, vec![byte(bits)])));
                }
                _ => {
                    return Err(self.field_problem(
                        field,
                        format!("`{}` is no list of words, nor of bits that make whole bytes", field.name),
                    ));
                }
            },
            Target::Period => read.period = Some(number(MAX_WORDS)?),
            Target::KeyStream => {
                let output = bytes()?;
                read.strings.insert(Role::Input, vec![0; output.len()]);
                read.strings.insert(Role::Output, output);
                read.key_stream = true;
            }
            Target::Skip => {
                read.skip = usize::try_from(number(MAX_SKIP as u64)?).unwrap_or(MAX_SKIP);
            }
            Target::TagBytes => read.tag_bytes = Some(number(1 << 16)?),
            Target::Request(n, role) => {
                if read.requests.insert((*n, *role), bytes()?).is_some() {
                    return Err(
                        self.field_problem(field, format!("a second field is `{}` of request {n}", role.name()))
                    );
                }
            }
            Target::Port(port) => read.ports.push((port.clone(), bytes()?)),
        }
        Ok(())
    }

    /// The operation of the entry in the set that the record belongs to.
    fn spec(&self, read: &Read) -> Found<&OperationSpec> {
        let candidates: Vec<&OperationSpec> = self
            .library
            .operations()
            .iter()
            .filter(|spec| {
                spec.folder == self.manifest.folder
                    && spec.name == self.entry.operation
                    && (self.entry.sets.is_empty() || self.entry.sets.contains(&spec.set))
            })
            .collect();
        let key = read.strings.get(&Role::Key).map(|key| key.len() as u64);
        let fitting: Vec<&OperationSpec> = candidates
            .iter()
            .copied()
            .filter(|spec| match (key, spec.key_sizes()) {
                (Some(length), Some(sizes)) => sizes.allows(length),
                (None, None) => true,
                _ => false,
            })
            .collect();
        match (fitting.as_slice(), candidates.as_slice()) {
            ([one], _) => Ok(one),
            // No set takes such a key: it is to be refused, or the test to fail, whichever set it is.
            ([], [first, ..]) => Ok(first),
            ([], []) => {
                Err(self.problem(format!("`{}` has no operation `{}`", self.manifest.primitive, self.entry.operation)))
            }
            (many, _) => {
                let stem = self.stem.replace('_', "-");
                let named = many
                    .iter()
                    .filter(|spec| stem.starts_with(&spec.set.replace('_', "-")))
                    .max_by_key(|spec| spec.set.len());
                named.copied().ok_or_else(|| {
                    let sets: Vec<&str> = many.iter().map(|spec| spec.set.as_str()).collect();
                    self.problem(format!("the record could belong to {}", listing(&sets, "or")))
                        .help("say `set` in the entry")
                })
            }
        }
    }

    fn inverse(&self, spec: &OperationSpec) -> Option<&OperationSpec> {
        let name = spec.inverse.as_deref()?;
        self.library.operation(&spec.set, name)
    }

    /// Cuts joined strings apart; the error is the reason why that cannot be done.
    fn split(&self, spec: &OperationSpec, read: &mut Read) -> Result<(), Uncut> {
        for (roles, bytes) in std::mem::take(&mut read.joined) {
            let port = |role: Role| spec.output(role).or(spec.input(role));
            let mut lengths: Vec<Option<u64>> = roles
                .iter()
                .map(|role| match role {
                    Role::Tag if read.tag_bytes.is_some() => read.tag_bytes,
                    role => port(*role).and_then(|port| port.sizes.fixed()),
                })
                .collect();
            let n_open = |lengths: &[Option<u64>]| lengths.iter().filter(|length| length.is_none()).count();
            if n_open(&lengths) > 1 {
                // The size of the tag is open too: the ciphertext is as long as the plaintext, and where that is not
                // known the tag is as long as it can be.
                let input = read.strings.get(&Role::Input).map(|input| input.len() as u64);
                for (role, length) in roles.iter().zip(&mut lengths) {
                    match (role, input) {
                        (Role::Output, Some(_)) => *length = input,
                        (Role::Tag, None) => *length = port(Role::Tag).map(|port| port.sizes.max()),
                        _ => {}
                    }
                }
            }
            if n_open(&lengths) > 1 {
                let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
                return Err(Uncut::Ambiguous(format!(
                    "{} stand in one field, and the size of more than one is open",
                    listing(&names, "and")
                )));
            }
            let known = lengths.iter().flatten().fold(0u64, |sum, length| sum.saturating_add(*length));
            let total = bytes.len() as u64;
            let Some(rest) = total.checked_sub(known) else {
                return Err(Uncut::Short(format!("a field of {total} bytes is to hold {known} and more")));
            };
            let mut from = bytes.as_slice();
            for (role, length) in roles.iter().zip(lengths) {
                let length = usize::try_from(length.unwrap_or(rest)).unwrap_or(usize::MAX);
                let (part, after) = from.split_at(length.min(from.len()));
                read.strings.insert(*role, part.to_vec());
                from = after;
            }
            if !from.is_empty() {
                return Err(Uncut::Short(format!("a field has {} bytes too many", from.len())));
            }
        }
        Ok(())
    }

    /// The message of an operation, from the strings as it names them; `Err` when one is missing.
    fn message(&self, spec: &OperationSpec, strings: &BTreeMap<Role, &[u8]>) -> Result<Message, Role> {
        let mut message = Message::new();
        for port in spec.inputs.iter().filter(|port| !port.role.is_control()) {
            match strings.get(&port.role) {
                Some(bytes) => message.set(port.role, *bytes),
                None if port.sizes.allows(0) && port.role != Role::Input => {}
                None => return Err(port.role),
            }
        }
        Ok(message)
    }

    fn expected(&self, spec: &OperationSpec, strings: &BTreeMap<Role, &[u8]>, read: &Read) -> Vec<Expected> {
        spec.outputs
            .iter()
            .filter_map(|port| {
                strings.get(&port.role).map(|bytes| Expected {
                    role: port.role,
                    skip: if port.role == Role::Output { read.skip } else { 0 },
                    bytes: bytes.to_vec(),
                    leftmost: read.leftmost.contains(&port.role),
                })
            })
            .collect()
    }

    /// One message in each direction that can be checked.
    fn single(&self, spec: &OperationSpec, read: &Read) -> Found<Vec<Case>> {
        let (forward, backward) = read.directions.unwrap_or((true, true));
        let mut cases = Vec::new();
        let mut missing = None;
        let strings: BTreeMap<Role, &[u8]> =
            read.strings.iter().map(|(role, bytes)| (*role, bytes.as_slice())).collect();
        let inverse = self.inverse(spec);
        let must_fail = self.record.must_fail;
        if forward && !(must_fail && inverse.is_some()) {
            match self.message(spec, &strings) {
                Ok(message) if must_fail => {
                    cases.push(self.case(spec, read, Plan::Reject(message)));
                }
                Ok(message) => {
                    if !read.iterated.is_empty() {
                        let mut points = read.iterated.clone();
                        points.sort();
                        let plan = Plan::Iterate(message.clone(), points);
                        cases.push(self.case(spec, read, plan));
                    }
                    let expected = self.expected(spec, &strings, read);
                    if expected.is_empty() {
                        missing = Some(Role::Output);
                    } else {
                        cases.push(self.case(spec, read, Plan::Accept(message, expected)));
                    }
                }
                Err(role) => missing = Some(role),
            }
        }
        if let Some(inverse) = inverse.filter(|_| backward && !read.key_stream) {
            let mut turned = BTreeMap::new();
            // What undoes swaps input and output; what only verifies a tag keeps the input.
            let undoes = inverse.output(Role::Output).is_some();
            for (role, bytes) in &strings {
                let to = match role {
                    Role::Input if undoes => Role::Output,
                    Role::Output if undoes => Role::Input,
                    Role::SecretNonce => Role::SecretNonceOut,
                    Role::SecretNonceOut => Role::SecretNonce,
                    Role::Tag => Role::TagIn,
                    other => *other,
                };
                turned.insert(to, *bytes);
            }
            match self.message(inverse, &turned) {
                Ok(message) if must_fail => {
                    cases.push(self.case(inverse, read, Plan::Reject(message)));
                }
                Ok(message) => {
                    let expected = self.expected(inverse, &turned, read);
                    if expected.is_empty() && undoes {
                        missing = missing.or(Some(Role::Input));
                    } else {
                        cases.push(self.case(inverse, read, Plan::Accept(message, expected)));
                    }
                }
                Err(role) => missing = missing.or(Some(role)),
            }
        }
        if cases.is_empty() {
            let which = missing.map_or("an operation", Role::name);
            return Err(self.problem(format!("the record has no field for `{which}` of `{}`", spec.full_name())));
        }
        Ok(cases)
    }

    fn monte_carlo(&self, spec: &OperationSpec, read: &Read) -> Found<Vec<Case>> {
        let need = |role: Role| {
            read.strings.get(&role).ok_or_else(|| self.problem(format!("a Monte Carlo record needs `{}`", role.name())))
        };
        if spec.shape == Shape::Hash {
            let plan = Plan::HashMonteCarlo { seed: need(Role::Seed)?.clone(), last: need(Role::Output)?.clone() };
            return Ok(vec![self.case(spec, read, plan)]);
        }
        let (forward, _) = read.directions.unwrap_or((true, false));
        let (spec, first, last) = if forward {
            (spec, Role::Input, Role::Output)
        } else {
            let inverse =
                self.inverse(spec).ok_or_else(|| self.problem(format!("`{}` has no inverse", spec.full_name())))?;
            (inverse, Role::Output, Role::Input)
        };
        let mut strings: BTreeMap<Role, &[u8]> =
            read.strings.iter().map(|(role, bytes)| (*role, bytes.as_slice())).collect();
        let start = need(first)?;
        strings.insert(Role::Input, start);
        let message = self
            .message(spec, &strings)
            .map_err(|role| self.problem(format!("a Monte Carlo record needs `{}`", role.name())))?;
        let plan = Plan::ModeMonteCarlo {
            start: message,
            last: need(last)?.clone(),
            key_stream: self.entry.feedback == Feedback::KeyStream,
            encrypts: forward,
        };
        Ok(vec![self.case(spec, read, plan)])
    }

    fn sequence(&self, read: &Read) -> Found<Plan> {
        let seed = read.strings.get(&Role::Seed).ok_or_else(|| self.problem("the record has no `Seed`"))?;
        let word_bytes = read.words.first().map_or(seed.len(), |(_, word)| word.len());
        if word_bytes == 0 || read.words.iter().any(|(_, word)| word.len() != word_bytes) {
            return Err(self.problem("the words of a generator have one size, at least one byte"));
        }
        let n_words = read
            .words
            .iter()
            .map(|(n, _)| *n)
            .chain(read.period)
            .max()
            .ok_or_else(|| self.problem("the record has no words"))?;
        let mut message = Message::new().with(Role::Seed, seed.as_slice());
        message.words = n_words.min(MAX_WORDS);
        Ok(Plan::Words {
            message,
            word_bytes,
            words: read.words.clone(),
            period: read.period.map(|n| (n, seed.clone())),
        })
    }

    fn requests(&self, read: &Read) -> Found<Plan> {
        let n_requests = read.requests.keys().map(|(n, _)| *n).max();
        let n_requests = n_requests.ok_or_else(|| self.problem("the record makes no request"))?;
        let mut requests = Vec::new();
        for n in 1..=n_requests {
            let get = |role: Role| read.requests.get(&(n, role));
            let output = get(Role::Output);
            let output = output.ok_or_else(|| self.problem(format!("the record has no output of request {n}")))?;
            let mut message = Message::new();
            message.rekey = get(Role::Seed).is_some();
            message.words = output.len() as u64;
            for role in [Role::Seed, Role::Entropy, Role::Ad] {
                if let Some(bytes) = get(role) {
                    message.set(role, bytes.as_slice());
                }
            }
            let refused = self.record.must_fail && n == n_requests;
            requests.push((message, (!refused).then(|| output.clone())));
        }
        Ok(Plan::Requests(requests))
    }

    fn ports(&self, spec: &OperationSpec, read: &Read) -> Found<Plan> {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (port, bytes) in &read.ports {
            if spec.bare.0.contains(port) {
                inputs.push((port.clone(), bytes.clone()));
            } else if spec.bare.1.contains(port) {
                outputs.push((port.clone(), bytes.clone()));
            } else {
                return Err(self.problem(format!(
                    "`{}` is neither an input nor an output of `{}`",
                    port.escape_debug(),
                    spec.full_name()
                )));
            }
        }
        if outputs.is_empty() {
            return Err(self.problem("the record says nothing about an output"));
        }
        Ok(Plan::Ports(inputs, outputs))
    }
}
