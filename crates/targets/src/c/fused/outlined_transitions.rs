//! Outlining of long transitions, and merging of those that are equal. Transitions that are long stand in functions of
//! their own, one for all states that do the same.

use super::folded::{Folded, Group};
use super::{Statements, Writer};
use crate::c::kernel::element_type;
use headrace_transform::kernel::{Loop, Object, ObjectId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Bytes of statements from which on a transition is a function: compilers take more than twice as long for functions
/// that are twice as long.
const OUTLINED_BYTES: usize = 1_500;

/// Transitions of an automaton for which instructions are looked for.
const MOST_SELECTED: usize = 24;

/// Where the level of a machine can be asked and its types are known. Headers of compilers that have these need others
/// of a C library, and who has none may not have vectors either.
pub(super) const X86: &str = "#if defined(__x86_64__) && defined(__GNUC__) && __STDC_HOSTED__\n";

/// The same for the other architecture whose vectors are printed.
pub(super) const ARM: &str =
    "#if defined(__aarch64__) && defined(__AARCH64EL__) && defined(__ARM_NEON) && defined(__GNUC__)\n";

/// A way of doing what a transition does that some machines have.
pub(super) struct Faster {
    /// What must stand above the function, each once.
    pub support: Vec<String>,
    /// The function.
    pub function: String,
    /// When it can be called, as a condition of C.
    pub supported: String,
    /// The call.
    pub call: String,
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

/// `unsigned NAME_way(void)`: the number of the first condition that holds, from 1 on, or one more than there are.
pub(super) fn way(name: &str, conditions: &[&str]) -> String {
    let mut chosen = String::new();
    for (at, condition) in conditions.iter().enumerate() {
        let _ = write!(chosen, "{condition} ? {}u : ", at + 1);
    }
    format!(
        "/* What this processor can do is asked once, and any thread finds the same. */\nstatic inline unsigned {name}_way(void) {{\n    static unsigned known;\n    unsigned way = __atomic_load_n(&known, __ATOMIC_RELAXED);\n    if (way == 0) {{\n        way = {chosen}{}u;\n        __atomic_store_n(&known, way, __ATOMIC_RELAXED);\n    }}\n    return way;\n}}\n",
        conditions.len() + 1
    )
}

/// The functions of transitions that have been printed, by what they do.
#[derive(Default)]
pub(super) struct KernelFunctions {
    numbers: FxHashMap<String, usize>,
    /// The functions, one after another.
    pub text: String,
    /// What stands above them all.
    above: BTreeSet<String>,
    /// As much of that as functions use.
    pub found: BTreeSet<String>,
    /// What else functions use and has been printed.
    support: BTreeSet<String>,
    /// For how many instructions were looked for.
    selected: usize,
    /// Those that are folded, by their names.
    folded: BTreeSet<String>,
    /// Statements of transitions, and whether they are best as layers of bytes, all in one.
    whole: FxHashMap<String, bool>,
}

impl KernelFunctions {
    /// None so far, below what has been printed for functions to use.
    pub fn below(above: BTreeSet<String>) -> KernelFunctions {
        KernelFunctions { above, ..KernelFunctions::default() }
    }

    /// Whether more of them may be printed with instructions that work on blocks: those take long to be found.
    pub fn may_select(&mut self) -> bool {
        self.selected += 1;
        self.selected <= MOST_SELECTED
    }

    /// Whether a transition that could be taken apart is best as it is; asked once for each that does something else.
    pub(super) fn is_whole(&mut self, writer: &Writer, statements: &str, layered: impl FnOnce() -> bool) -> bool {
        let body = with_own_names(statements, &writer.automaton.objects);
        *self.whole.entry(body).or_insert_with(layered)
    }

    /// What runs `statements`, which write through pointers `out_PORT` for the ports in `produces` and may return a
    /// status: the statements, or a call. Where there is something faster for a machine, it has `short` ones beside
    /// that.
    pub(super) fn placed(
        &mut self,
        writer: &Writer,
        Statements { text: statements, checks }: Statements,
        produces: &[usize],
        pad: &str,
        faster: impl FnOnce(&mut Self, &str) -> Vec<Faster>,
        short: impl FnOnce() -> Option<String>,
    ) -> String {
        if !is_long(&statements) {
            return statements;
        }
        let prefix = writer.prefix;
        let (mut parameters, mut given) = (format!("struct {prefix} *s"), String::new());
        for &port in produces {
            let port = &writer.network.outputs[port];
            let _ = write!(parameters, ", {} *out_{}", element_type(port.ty.width()), port.name);
            let _ = write!(given, ", out_{}", port.name);
        }
        let body = with_own_names(&statements, &writer.automaton.objects);
        let next = self.numbers.len();
        let mut key = parameters.clone();
        key.push_str(&body);
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            let own = format!("{prefix}_kernel_{number}");
            let ways = faster(self, &own);
            let statements = match ways.is_empty() {
                true => body,
                false => {
                    let short = short().map(|statements| with_own_names(&statements, &writer.automaton.objects));
                    match short.filter(|short| short.len() < body.len() / 2) {
                        Some(short) => format!("{X86}{short}#else\n{body}#endif\n"),
                        None => body,
                    }
                }
            };
            self.plain(writer, &own, &parameters, &given, &statements, ways.is_empty());
            if !ways.is_empty() {
                self.choosing(&own, &parameters, &given, &ways);
            }
        }
        let call = format!("{prefix}_kernel_{number}(s{given})");
        // Only what can be stopped by an error has another status.
        if checks {
            format!("{pad}if ({call} != HEADRACE_IDLE) {{\n{pad}    return HEADRACE_TRAPPED;\n{pad}}}\n")
        } else {
            format!("{pad}(void){call};\n")
        }
    }
}

impl KernelFunctions {
    /// The function of a transition as plain statements: the only one, or `OWN_plain`.
    fn plain(&mut self, writer: &Writer, own: &str, parameters: &str, given: &str, statements: &str, is_only: bool) {
        let name = if is_only { own.to_owned() } else { format!("{own}_plain") };
        let text =
            format!("HR_APART static uint32_t {name}({parameters}) {{\n{statements}    return HEADRACE_IDLE;\n}}\n\n");
        let Some(folded) = writer.folded(&Group { base: own, entry: &name, text: &text }, false) else {
            self.text.push_str(&text);
            return;
        };
        let Folded { name: shared, entry, text, on } = folded;
        if self.folded.insert(shared.clone()) {
            self.text.push_str(&text);
        }
        let _ = write!(
            self.text,
            "static inline uint32_t {name}({parameters}) {{\n    const struct {shared}_on on = {on};\n    return {entry}(&on{given});\n}}\n\n"
        );
    }

    /// The function of a transition that chooses among ways for machines and plain statements.
    fn choosing(&mut self, own: &str, parameters: &str, given: &str, ways: &[Faster]) {
        self.text.push_str(X86);
        let mut first = String::from(X86);
        for (at, way) in ways.iter().enumerate() {
            for text in &way.support {
                if self.above.contains(text) {
                    self.found.insert(text.clone());
                } else if self.support.insert(text.clone()) {
                    self.text.push_str(text);
                }
            }
            self.text.push_str(&way.function);
            let _ = write!(
                first,
                "    if ({own}_way() == {}) {{\n        {};\n        return HEADRACE_IDLE;\n    }}\n",
                at + 1,
                way.call
            );
        }
        let supported: Vec<&str> = ways.iter().map(|way| way.supported.as_str()).collect();
        let _ = write!(
            self.text,
            "{}#endif\n\nHR_APART static uint32_t {own}({parameters}) {{\n{first}#endif\n    return {own}_plain(s{given});\n}}\n\n",
            way(own, &supported)
        );
    }
}

/// Whether a transition is a function.
pub(super) fn is_long(statements: &str) -> bool {
    statements.len() >= OUTLINED_BYTES
}

/// Statements whose values and lists are named in the order in which they appear, and whose lines begin where those of
/// a function do: what is done is the same if the text is.
pub(super) fn with_own_names(statements: &str, objects: &[Object]) -> String {
    let is_local = |name: &str| {
        let number = name.strip_prefix(['v', 'l']).and_then(|rest| rest.strip_suffix('_'));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let lists: rustc_hash::FxHashSet<&str> =
        objects.iter().filter(|object| !object.persistent).map(|object| object.name.as_str()).collect();
    let mut names: FxHashMap<&str, String> = FxHashMap::default();
    let mut text = String::with_capacity(statements.len());
    for line in statements.lines() {
        text.push_str("    ");
        let mut rest = line.trim_start();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
            let (token, after) = rest.split_at(end);
            if is_word(first) && (is_local(token) || lists.contains(token)) && !text.ends_with("->") {
                let next = names.len();
                text.push_str(names.entry(token).or_insert_with(|| format!("v{next}_")));
            } else {
                text.push_str(token);
            }
            rest = after;
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_order_of_appearance() {
        let list = Object { name: "list_7".into(), width: 8, length: 2, persistent: false, residue: None };
        let one =
            with_own_names("  const uint32_t v12_ = s->l1_[0];\n  list_7[v12_] = l40_;\n", std::slice::from_ref(&list));
        let other = with_own_names("const uint32_t v90_ = s->l1_[0];\nlist_7[v90_] = l3_;\n", &[list]);
        assert_eq!(one, "    const uint32_t v0_ = s->l1_[0];\n    v1_[v0_] = v2_;\n");
        assert_eq!(one, other);
    }
}
