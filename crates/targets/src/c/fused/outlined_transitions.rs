//! Outlining of long transitions, and merging of those that are equal. Transitions that are long stand in functions of
//! their own, one for all states that do the same.

use super::Writer;
use super::bodies::Body;
use super::folded;
use super::state_form::StateForm;
use crate::c::kernel::{Needs, Support, element_type};
use headrace_transform::kernel::{Loop, ObjectId};
use headrace_transform::passes::canonical_form::{Canonical, Key};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Size from which on a transition is a function: compilers take more than twice as long for functions that are twice as
/// long.
const OUTLINED: usize = 115;

/// Size of a call.
pub(super) const CALL: usize = 8;

/// Transitions of an automaton for which instructions are looked for.
const MOST_SELECTED: usize = 64;

/// Where the level of a machine can be asked and its types are known. Headers of compilers that have these need others
/// of a C library, and who has none may not have vectors either.
pub(super) const X86: &str = "#if defined(__x86_64__) && defined(__GNUC__) && __STDC_HOSTED__\n";

/// The same for the other architecture whose vectors are printed.
pub(super) const ARM: &str =
    "#if defined(__aarch64__) && defined(__AARCH64EL__) && defined(__ARM_NEON) && defined(__GNUC__)\n";

/// A way of doing what a transition does that some machines have.
pub(super) struct Faster {
    /// What must stand above the function, each once.
    pub support: Vec<Support>,
    /// The function.
    pub function: String,
    /// Its size.
    pub size: usize,
    /// Where it can be called.
    pub needs: Needs,
    /// The call.
    pub call: String,
    /// Statements behind the call.
    pub behind: String,
    /// Cycles of the function, by estimate.
    pub cycles: f64,
}

impl Writer<'_> {
    /// The call of a function of a loop of one iteration, which reads the tokens of ports and `read`, and writes those
    /// of ports and `written`: what ports of the loop stand for that the network does not have.
    pub(super) fn one_iteration(&self, function: &str, body: &Loop, read: &[String], written: &[String]) -> String {
        let takes = |port: &&(u64, u32)| port.0 > 0;
        let inputs = body.consumes.iter().zip(&self.network.inputs).filter(|(port, _)| takes(port));
        let inputs = inputs.map(|(_, port)| format!("s->in_{}", port.name));
        let outputs = body.produces.iter().zip(&self.network.outputs).filter(|(port, _)| takes(port));
        let outputs = outputs.map(|(_, port)| format!("out_{}", port.name));
        let all: Vec<String> =
            inputs.chain(read.iter().cloned()).chain(outputs).chain(written.iter().cloned()).collect();
        let arguments: String = all.iter().map(|argument| format!(", {argument}")).collect();
        format!("{function}(s{arguments}, 1)")
    }

    /// The address of an element.
    pub(super) fn place(&self, (object, first): (ObjectId, usize)) -> String {
        format!("s->{} + {first}", self.automaton.object(object).name)
    }
}

/// `unsigned NAME_way(void)`: the number of the first way whose needs the processor meets, from 1 on, or one more than there are;
/// `None` is none of them. Nothing is asked where the compiler may use all that the first one needs, as with `-march=native`;
/// who wants to be asked nevertheless defines `HR_ASKS_PROCESSOR`.
pub(super) fn way(name: &str, needs: &[Option<&Needs>]) -> String {
    let mut chosen = String::new();
    for (at, needs) in needs.iter().enumerate() {
        let condition = needs.map_or_else(|| "0".to_owned(), Needs::condition);
        let _ = write!(chosen, "{condition} ? {}u : ", at + 1);
    }
    let first = needs.iter().enumerate().find_map(|(at, needs)| Some((at + 1, (*needs)?.given()?)));
    let given = first.map_or(String::new(), |(number, given)| {
        format!("#if {given} && !defined(HR_ASKS_PROCESSOR)\n    return {number}u;\n#endif\n")
    });
    format!(
        "/* What this processor can do is asked once, and any thread finds the same. */\nstatic inline unsigned {name}_way(void) {{\n{given}    static unsigned known;\n    unsigned way = __atomic_load_n(&known, __ATOMIC_RELAXED);\n    if (way == 0) {{\n        way = {chosen}{}u;\n        __atomic_store_n(&known, way, __ATOMIC_RELAXED);\n    }}\n    return way;\n}}\n",
        needs.len() + 1
    )
}

/// What the function of a transition does: its form, and the objects and ports that it does it to.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    key: Key,
    objects: Vec<ObjectId>,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
}

impl From<Canonical> for Identity {
    fn from(Canonical { key, objects, inputs, outputs }: Canonical) -> Identity {
        Identity { key, objects, inputs, outputs }
    }
}

/// The functions of transitions that have been printed, by what they do.
#[derive(Default)]
pub(super) struct KernelFunctions {
    numbers: FxHashMap<Identity, usize>,
    /// The functions, one after another.
    pub text: String,
    /// Their size, and that of what has been printed where it stands, in operands.
    pub size: usize,
    /// What stands above them all.
    above: BTreeSet<Support>,
    /// As much of that as functions use.
    pub found: BTreeSet<Support>,
    /// What else functions use and has been printed.
    support: BTreeSet<Support>,
    /// For how many instructions were looked for.
    selected: usize,
    /// Those that are folded, by their names.
    folded: BTreeSet<String>,
    /// Transitions, and whether they are best as layers of bytes, all in one.
    whole: FxHashMap<Identity, bool>,
    /// What the state does that is being printed, where somebody wants to know.
    pub(super) form: Option<StateForm>,
}

/// The function of a transition that is to be printed.
struct Outlined<'a> {
    /// Its name.
    own: &'a str,
    /// What it does.
    body: &'a Body<'a>,
    /// The same where there is something faster beside it.
    short: Option<&'a Body<'a>>,
    /// Its form.
    form: &'a Canonical,
    /// Its parameters.
    parameters: &'a str,
}

impl KernelFunctions {
    /// None so far, below what has been printed for functions to use.
    pub fn below(above: BTreeSet<Support>) -> KernelFunctions {
        KernelFunctions { above, ..KernelFunctions::default() }
    }

    /// Whether more of them may be printed with instructions that work on blocks: those take long to be found.
    pub fn may_select(&mut self) -> bool {
        self.selected += 1;
        self.selected <= MOST_SELECTED
    }

    /// Whether a transition that could be taken apart is best as it is; asked once for each that does something else.
    pub(super) fn is_whole(&mut self, form: Canonical, layered: impl FnOnce() -> bool) -> bool {
        *self.whole.entry(form.into()).or_insert_with(layered)
    }

    /// The call of what does what a transition does, and writes through pointers `out_PORT` for the ports in `produces`. Where
    /// there is something faster for a machine, it is `short` beside that.
    pub(super) fn called<'e>(
        &mut self,
        writer: &Writer,
        body: &Body<'e>,
        produces: &[usize],
        pad: &str,
        faster: impl FnOnce(&mut Self, &str) -> Vec<Faster>,
        short: impl FnOnce() -> Option<Body<'e>>,
    ) -> String {
        let prefix = writer.prefix;
        let (mut parameters, mut given) = (format!("struct {prefix} *s"), String::new());
        for &port in produces {
            let port = &writer.network.outputs[port];
            let _ = write!(parameters, ", {} *out_{}", element_type(port.ty.width()), port.name);
            let _ = write!(given, ", out_{}", port.name);
        }
        let form = body.canonical(writer);
        let next = self.numbers.len();
        let number = *self.numbers.entry(form.clone().into()).or_insert(next);
        if number == next {
            let own = format!("{prefix}_kernel_{number}");
            let mut ways = faster(self, &own);
            let always = ways.pop_if(|way| way.needs == Needs::Nothing);
            let short = if ways.is_empty() { None } else { short().filter(|short| short.size < body.size / 2) };
            let name = if ways.is_empty() { own.clone() } else { format!("{own}_plain") };
            let (parameters, given) = (&*parameters, &*given);
            let short = short.as_ref();
            self.size += ways.iter().map(|way| way.size).sum::<usize>();
            match always {
                Some(always) => {
                    let Faster { support, function, call, size, .. } = always;
                    self.size += size;
                    let _ = write!(
                        self.text,
                        "{}{function}static inline uint32_t {name}({parameters}) {{\n    {call};\n    return HEADRACE_IDLE;\n}}\n\n",
                        support.iter().map(Support::text).collect::<String>()
                    );
                }
                None => self.plain(writer, &Outlined { own: &name, body, short, form: &form, parameters }),
            }
            if !ways.is_empty() {
                self.choosing(&own, parameters, given, &ways);
            }
        }
        let call = format!("{prefix}_kernel_{number}(s{given})");
        self.size += CALL;
        // Only what can be stopped by an error has another status.
        if body.checks(writer) {
            format!("{pad}if ({call} != HEADRACE_IDLE) {{\n{pad}    return HEADRACE_TRAPPED;\n{pad}}}\n")
        } else {
            format!("{pad}(void){call};\n")
        }
    }
}

/// Statements of a function, others where there is something faster.
fn chosen(body: String, short: Option<String>) -> String {
    match short {
        Some(short) => format!("{X86}{short}#else\n{body}#endif\n"),
        None => body,
    }
}

impl KernelFunctions {
    /// The function of a transition as plain statements.
    fn plain(&mut self, writer: &Writer, outlined: &Outlined) {
        let &Outlined { own, body, short, parameters, .. } = outlined;
        if let Some((shared, arguments)) = self.folded(writer, outlined) {
            let _ = write!(
                self.text,
                "static inline uint32_t {own}({parameters}) {{\n    return {shared}({arguments});\n}}\n\n"
            );
            return;
        }
        self.size += body.size + short.map_or(0, |short| short.size);
        let mut windows = String::new();
        writer.in_context().pointers(body.effects(), None, 1, &mut windows);
        let of = |body: &Body| body.statements(writer, None, 2);
        let statements = chosen(of(body), short.map(of));
        let _ = write!(
            self.text,
            "HR_APART static uint32_t {own}({parameters}) {{\n{windows}{statements}    return HEADRACE_IDLE;\n}}\n\n"
        );
    }

    /// The name of a function for contexts of any type, which is printed unless it is there already, and what it is called with
    /// in this one.
    fn folded(&mut self, writer: &Writer, outlined: &Outlined) -> Option<(String, String)> {
        let &Outlined { body, short, form, .. } = outlined;
        if body.checks(writer) {
            return None;
        }
        let other = short.map(|short| (short.block(writer), short.canonical(writer)));
        let more =
            other.iter().flat_map(|(block, form)| form.objects.iter().map(|object| &block.objects[object.0 as usize]));
        let more: Vec<_> = more.filter(|object| object.persistent).collect();
        let on = writer.on(form, body.block(writer).objects, &more)?;
        let types: Vec<&str> =
            form.outputs.iter().map(|&port| element_type(writer.network.outputs[port as usize].ty.width())).collect();
        let places: Vec<Option<usize>> = more.iter().map(|object| on.place(object)).collect();
        let other = other.as_ref().map(|(_, form)| (&form.key, places));
        let name =
            folded::name(&format!("transition of what is given {:?} {other:?} {:?} {types:?}", form.key, on.types()));
        if self.folded.insert(name.clone()) {
            self.size += body.size + short.map_or(0, |short| short.size);
            let of = |body: &Body| {
                let (on, tables) = writer.with_tables(&on, body.block(writer).graph, &body.tables(writer));
                (body.statements(writer, Some(on), 2), tables)
            };
            let (statements, tables) = of(body);
            let (short, more) = short.map(of).unzip();
            let mut parameters = on.parameters();
            parameters.extend(types.iter().enumerate().map(|(at, ty)| format!("{ty} *out{at}")));
            let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
            let _ = write!(
                self.text,
                "{tables}{}/* What several transitions do. */\nHR_SAME uint32_t {name}({parameters}) {{\n{}    return HEADRACE_IDLE;\n}}\n\n",
                more.unwrap_or_default(),
                chosen(statements, short)
            );
        }
        let outputs = form.outputs.iter().map(|&port| format!("out_{}", writer.network.outputs[port as usize].name));
        Some((name, writer.fields(&on).into_iter().chain(outputs).collect::<Vec<_>>().join(", ")))
    }

    /// The function of a transition that chooses among ways for machines and plain statements.
    fn choosing(&mut self, own: &str, parameters: &str, given: &str, ways: &[Faster]) {
        self.text.push_str(X86);
        let mut first = String::from(X86);
        for (at, way) in ways.iter().enumerate() {
            for support in &way.support {
                if self.above.contains(support) {
                    self.found.insert(support.clone());
                } else if self.support.insert(support.clone()) {
                    self.text.push_str(support.text());
                }
            }
            self.text.push_str(&way.function);
            let _ = write!(
                first,
                "    if ({own}_way() == {}) {{\n        {};\n{}        return HEADRACE_IDLE;\n    }}\n",
                at + 1,
                way.call,
                way.behind
            );
        }
        let supported: Vec<Option<&Needs>> = ways.iter().map(|way| Some(&way.needs)).collect();
        let _ = write!(
            self.text,
            "{}#endif\n\nHR_APART static uint32_t {own}({parameters}) {{\n{first}#endif\n    return {own}_plain(s{given});\n}}\n\n",
            way(own, &supported)
        );
    }
}

/// Whether a transition is a function.
pub(super) fn is_long(body: &Body) -> bool {
    body.size >= OUTLINED
}
