//! Identical code folding: functions that are equal up to what their objects are called are one, in a network, in a
//! project, and in a program of several.
//!
//! Parts of networks that were written once and stand in several places have transitions and loops of the same text,
//! but for the names of objects and of the network. So such functions do not get the context but `struct NAME_on`, a
//! pointer for each field that they touch, and are called after their text: `hr_same_` and a number that is computed
//! from it, and from what they call: projects that other variants wrote may be linked into the same program. Linkers
//! keep one of those of the same name (weak symbols, hidden from whoever links the whole); where there are none, each
//! file has its own.

use super::{Writer, object_type};
use crate::c::kernel::{Names, element_type, prelude, tables};
use headrace_transform::kernel::{Graph, Op, TableId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// Fields of a context that a function may touch: each is a pointer that is stored for a call.
const MOST_FIELDS: usize = 12;

/// Bytes of text of a function from which on it is folded that is a part of another.
const FOLDED_BYTES: usize = 4_000;

/// A text in which functions that belong together are defined.
pub(super) struct Group<'t> {
    /// What all names begin with that are defined there.
    pub base: &'t str,
    /// The function that others call, beside those that say which way is taken.
    pub entry: &'t str,
    /// The text; the entry is defined in it as `HR_APART static`.
    pub text: &'t str,
}

/// Such a text for contexts of any type.
pub(super) struct Folded {
    /// What takes the place of the base.
    pub name: String,
    /// And of the entry.
    pub entry: String,
    /// The same text, with what it works on and the tables that it needs.
    pub text: String,
    /// What it works on: an initializer, given the context as `s`.
    pub on: String,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The parts of a text: words, and what is between two.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
}

/// A word for tokens of a port, in three parts: what it is, the number of the port, the rest.
fn of_port(word: &str) -> Option<(&str, &str, &str)> {
    let letters = ["in", "out", "last"].into_iter().find(|letters| word.starts_with(letters))?;
    let number = word[letters.len()..].trim_end_matches('_');
    let rest = &word[letters.len() + number.len()..];
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && rest.is_empty() != (letters == "last")).then_some((letters, number, rest))
}

/// The names of the parameters behind the first of a function that a text begins with.
fn parameters(text: &str, name: &str) -> Option<(String, String)> {
    let begin = text.find(&format!(" {name}("))? + name.len() + 2;
    let all = &text[begin..begin + text[begin..].find(')')?];
    let (_, others) = all.split_once(',')?;
    let names = others.split(',').filter_map(|one| one.rsplit(|c| !is_word(c)).next());
    let given: String = names.map(|name| format!(", {name}")).collect();
    Some((all.to_owned(), given))
}

/// The functions of a text, each with its name, and what is between them with none.
fn functions(text: &str) -> Vec<(Option<&str>, &str)> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\n}\n") {
        let (one, after) = rest.split_at(at + 3);
        let head = one.lines().rfind(|line| line.contains("static ") && line.contains('(') && !line.starts_with(' '));
        let name = head.and_then(|head| {
            let begin = head.find("static ")?;
            let opened = head.match_indices('(').map(|(at, _)| at).filter(|&at| at > begin);
            let mut names = opened.filter_map(|at| head[..at].rsplit(|c| !is_word(c)).next());
            names.find(|name| !name.is_empty() && *name != "__attribute__")
        });
        all.push((name, one));
        rest = after;
    }
    all.push((None, rest));
    all
}

/// FNV-1a of 128 bits, from the hash of what comes before on.
fn hash(before: u128, text: &str) -> u128 {
    let prime: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    text.bytes().fold(before, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(prime))
}

/// A number for a text that no other text has, as 32 digits. What texts call that is not in them is what this variant
/// prints above them.
fn number(text: &str) -> String {
    static VERSION: LazyLock<u128> = LazyLock::new(|| {
        let start: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        hash(hash(start, env!("CARGO_PKG_VERSION")), &prelude())
    });
    format!("{:032x}", hash(*VERSION, text))
}

impl Writer<'_> {
    /// A text for contexts of any type; `None` where it does more with its context than to touch some fields. `shaped`:
    /// it works on a shape already, which is defined in it.
    pub(super) fn folded(&self, group: &Group, shaped: bool) -> Option<Folded> {
        let Group { base, entry, text } = *group;
        let mut fields: Vec<&str> = Vec::new();
        let mut of_network: BTreeSet<TableId> = BTreeSet::new();
        let tables_begin = format!("{}_table_", self.prefix);
        let mut generic = String::with_capacity(text.len());
        // Ports and objects by the order in which they are met: other networks call them otherwise.
        let mut kept: FxHashMap<&str, usize> = FxHashMap::default();
        let (mut inputs, mut outputs): (FxHashMap<&str, usize>, FxHashMap<&str, usize>) = Default::default();
        let mut words = parts(text).peekable();
        // Where the body of each function begins, and the fields that it touches: loaded once, because what is stored
        // to bytes could be stored to where the pointers lie.
        let mut functions: Vec<(usize, BTreeSet<usize>)> = Vec::new();
        let mut is_head = false;
        // The two parts before a word.
        let mut before = ["", ""];
        while let Some(word) = words.next() {
            let next = words.peek().copied().unwrap_or_default();
            if word == "s" && next == "->" {
                if before[0] == "sizeof" {
                    return None;
                }
                words.next();
                let field = words.next()?;
                let at = fields.iter().position(|known| *known == field).unwrap_or_else(|| {
                    fields.push(field);
                    fields.len() - 1
                });
                let _ = write!(generic, "on{at}_");
                if let Some(function) = functions.last_mut() {
                    function.1.insert(at);
                }
                before = ["->", field];
                continue;
            }
            if word == "s" {
                // A parameter, or handed on to a function of the same group.
                let callee = generic.trim_end_matches('(').rsplit(|c: char| !(is_word(c) || c == '@')).next();
                let is_own = before[1] == "(" && callee.is_some_and(|callee| callee.starts_with('@'));
                if !(before[1].ends_with('*') || is_own) || !next.starts_with([',', ')']) {
                    return None;
                }
                generic.push('s');
                is_head = !is_own;
            } else if let Some(rest) = word.strip_prefix(base).filter(|rest| rest.is_empty() || rest.starts_with('_')) {
                generic.push('@');
                generic.push_str(rest);
            } else if word == self.prefix {
                generic.push_str("@_on");
            } else if let Some(table) = word.strip_prefix(tables_begin.as_str()) {
                let table = TableId(table.parse().ok()?);
                of_network.insert(table);
                generic.push_str(&self.named_table(table).0);
            } else if word.starts_with(self.prefix) {
                // What is this network's only.
                return None;
            } else if let Some(object) = word.strip_suffix("_kept_").filter(|object| !object.is_empty()) {
                let next = kept.len();
                let _ = write!(generic, "kept{}_", kept.entry(object).or_insert(next));
            } else if let Some((letters, number, rest)) = of_port(word) {
                let known = if letters == "out" { &mut outputs } else { &mut inputs };
                let next = known.len();
                let _ = write!(generic, "{letters}{}{rest}", known.entry(number).or_insert(next));
            } else if let Some((head, rest)) = word.split_once('{').filter(|_| is_head) {
                is_head = false;
                let _ = write!(generic, "{head}{{");
                functions.push((generic.len(), BTreeSet::new()));
                generic.push_str(rest);
            } else {
                generic.push_str(word);
            }
            before = [before[1], word];
        }
        if !shaped && fields.len() > MOST_FIELDS {
            return None;
        }
        for (begin, touched) in functions.iter().rev() {
            let mut loads = String::new();
            for &at in touched {
                let (ty, field) = match shaped {
                    // As it is declared there.
                    true => {
                        (text.split(&format!(" *{};\n", fields[at])).next()?.rsplit(' ').next()?.to_owned(), fields[at])
                    }
                    false => (self.field_type(fields[at])?, &*format!("o{at}")),
                };
                let _ = write!(loads, "\n    {ty} *restrict const on{at}_ = s->{field};");
            }
            generic.insert_str(*begin, &loads);
        }
        let mut whole = String::new();
        for table in of_network {
            let (name, definition) = self.named_table(table);
            let _ = write!(whole, "#ifndef has_{name}\n#define has_{name}\n{definition}#endif\n");
        }
        if !shaped {
            whole.push_str("/* What functions of the same text work on. */\nstruct @_on {\n");
            for (at, field) in fields.iter().enumerate() {
                let _ = writeln!(whole, "    {} *o{at};", self.field_type(field)?);
            }
            if fields.is_empty() {
                whole.push_str("    uint8_t none; /* C has no empty structures */\n");
            }
            whole.push_str("};\n\n");
        }
        whole.push_str(&generic.replace("struct @_on *s", "const struct @_on *s"));
        let entry = format!("@{}(", entry.strip_prefix(base)?);
        for status in ["uint32_t", "bool", "void"] {
            for apart in ["HR_APART ", ""] {
                let head = format!("{apart}static {status} {entry}");
                whole = whole.replacen(&head, &format!("HR_SAME {status} {entry}"), 1);
            }
        }
        let name = format!("hr_same_{}", number(&whole));
        let on: Vec<String> = fields.iter().map(|field| format!("s->{field}")).collect();
        let on = if on.is_empty() { "{0}".to_owned() } else { format!("{{{}}}", on.join(", ")) };
        Some(Folded {
            entry: entry.trim_end_matches('(').replace('@', &name),
            text: whole.replace('@', &name),
            name,
            on,
        })
    }

    /// The same text with those of its functions folded that are long and called by others of it, with what they call.
    /// All names begin with `base`.
    pub(super) fn folded_inside(&self, base: &str, text: &str, known: &mut BTreeSet<String>) -> String {
        let all = functions(text);
        let calls = |one: &str, name: &str| one.contains(&format!("{name}("));
        let mut instead: FxHashMap<usize, String> = FxHashMap::default();
        for (at, &(name, one)) in all.iter().enumerate() {
            let Some(name) = name else { continue };
            let Some((listed, given)) = parameters(one, name) else { continue };
            let takes_context = listed.split(',').next().is_some_and(|first| first.ends_with("*s"));
            if !takes_context || !all[at + 1..].iter().any(|other| calls(other.1, name)) {
                continue;
            }
            let mut parts = BTreeSet::from([at]);
            while let Some(more) = (0..at).find(|other| {
                let called = |part: &usize| all[*other].0.is_some_and(|name| calls(all[*part].1, name));
                !parts.contains(other) && parts.iter().any(called)
            }) {
                parts.insert(more);
            }
            let whole: String = parts.iter().map(|&part| all[part].1).collect();
            // What else is named after the base would not be there.
            let is_there = |word: &str| parts.iter().any(|&part| all[part].0 == Some(word));
            let own = self::parts(&whole).all(|word| !word.starts_with(base) || is_there(word));
            if whole.len() < FOLDED_BYTES || !own || parts.iter().any(|part| instead.contains_key(part)) {
                continue;
            }
            let Some(folded) = self.folded(&Group { base, entry: name, text: &whole }, false) else { continue };
            let Folded { name: shared, entry, text, on } = folded;
            let text = if known.insert(shared.clone()) { text } else { String::new() };
            instead.insert(
                at,
                format!(
                    "{text}static inline void {name}({listed}) {{\n  const struct {shared}_on on = {on};\n  {entry}(&on{given});\n}}\n"
                ),
            );
            for &part in parts.iter().filter(|&&part| part != at) {
                let mut others = (0..all.len()).filter(|other| !parts.contains(other));
                if all[part].0.is_some_and(|name| !others.any(|other| calls(all[other].1, name))) {
                    instead.insert(part, String::new());
                }
            }
        }
        let kept = all.iter().enumerate().map(|(at, (_, one))| match instead.remove(&at) {
            Some(instead) => instead,
            None => (*one).to_owned(),
        });
        kept.collect()
    }

    /// The type of an element of a field, if it is a list or a window.
    fn field_type(&self, field: &str) -> Option<String> {
        let object = self.automaton.objects.iter().find(|object| object.lives_on() && object.name == field);
        if let Some(object) = object {
            return Some(object_type(object).to_owned());
        }
        let port = self.network.inputs.iter().find(|port| field.strip_prefix("in_") == Some(&port.name))?;
        Some(format!("const {}", element_type(port.ty.width())))
    }

    /// The name of a table of the network's transitions that follows from what it holds, and its definition under it.
    fn named_table(&self, table: TableId) -> (String, String) {
        let mut graph = Graph::with_tables_of(&self.automaton.graph);
        let index = graph.input(0, 0, 32);
        let width = graph.table(table).width;
        let read = graph.add(Op::Lookup(table, index), width);
        let names = self.names(Vec::new());
        let (own, definition) = (names.table(table), tables(&graph, &[read], &names));
        let name = format!("hr_table_{}", number(&definition.replacen(&own, "", 1)));
        let definition = definition.replacen(&own, &name, 1);
        (name, definition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_words_and_what_is_between() {
        assert_eq!(
            parts("f(s, s->x_1[0]);").collect::<Vec<_>>(),
            ["f", "(", "s", ", ", "s", "->", "x_1", "[", "0", "]);"]
        );
    }

    #[test]
    fn functions_are_found_with_what_is_before_them() {
        let text = "#if A\nstatic inline __attribute__((c)) int a(int x)\n{\n  return x;\n}\n__attribute__((b(\"c\"))) static void d(struct e *s, const u8 *f, size_t g) {\n}\nh";
        let found = functions(text);
        assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), [Some("a"), Some("d"), None]);
        assert_eq!(found.iter().map(|one| one.1).collect::<String>(), text);
        let (listed, given) = parameters(found[1].1, "d").expect("it has some");
        assert_eq!((listed.as_str(), given.as_str()), ("struct e *s, const u8 *f, size_t g", ", f, g"));
    }

    #[test]
    fn ports_are_told_from_other_words() {
        assert_eq!(of_port("in12"), Some(("in", "12", "")));
        assert_eq!(of_port("last3_"), Some(("last", "3", "_")));
        assert_eq!((of_port("int"), of_port("in1_"), of_port("out"), of_port("in1x")), (None, None, None, None));
    }

    #[test]
    fn numbers_of_texts_differ() {
        assert_eq!(number("a").len(), 32);
        assert_ne!(number("a"), number("b"));
    }
}
