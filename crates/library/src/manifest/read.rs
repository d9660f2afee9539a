//! From TOML to the model: sets, operations, sizes and ports.

use headrace_source::{Diagnostic, FileId, Span};
use toml::de::DeTable;

use super::{Blocks, Hardware, Manifest, Operation, PortOverride, Set, Shape, Variant, is_core};
use super::{read_names, read_vectors};
use crate::formula::Formula;
use crate::instantiation::Instantiation;
use crate::ports::{Class, Role};
use crate::sizes::{Bound, SizeRule};
use crate::spelling::{listing, nearest};
use crate::tables::{Item, Problems, SYNTAX, Table};

/// Longer manifests are refused: nothing sensible is near it, and it bounds the work on junk.
const MAX_BYTES: usize = 1 << 20;

/// The keys of sizes and the roles that they bound.
const SIZE_KEYS: [(&str, Role); 11] = [
    ("key", Role::Key),
    ("nonce", Role::Nonce),
    ("iv", Role::Iv),
    ("secret_nonce", Role::SecretNonce),
    ("ad", Role::Ad),
    ("seed", Role::Seed),
    ("entropy", Role::Entropy),
    ("words", Role::Blocks),
    ("input", Role::Input),
    ("output", Role::Output),
    ("tag", Role::Tag),
];

/// The strings whose sizes a primitive of a shape can give; of a mode those of its operations, and of a block cipher those
/// of the set.
fn strings(shape: Shape) -> &'static [Role] {
    match shape {
        Shape::BlockCipher => &[Role::Key],
        Shape::Mode => &[Role::Nonce, Role::Iv, Role::Input, Role::Output],
        Shape::StreamCipher => &[Role::Key, Role::Nonce, Role::Iv, Role::Input],
        Shape::Hash => &[Role::Input, Role::Output],
        Shape::Mac => &[Role::Key, Role::Nonce, Role::Iv, Role::Input, Role::Tag],
        Shape::Aead => &[Role::Key, Role::Nonce, Role::SecretNonce, Role::Ad, Role::Input, Role::Output, Role::Tag],
        Shape::Generator => &[Role::Ad, Role::Seed, Role::Entropy, Role::Blocks, Role::Output],
        Shape::Codec => &[Role::Input, Role::Output],
        Shape::Part => &[],
    }
}

/// The bytes that `a-z+/` stands for.
fn bytes_of(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        match after {
            [b'-', last, ..] => {
                bytes.extend(*first..=*last);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

pub(super) fn manifest(file: FileId, path: &str, text: &str) -> (Option<Manifest>, Vec<Diagnostic>) {
    let mut problems = Problems::new(file);
    if text.len() > MAX_BYTES {
        problems.list.push(
            Diagnostic::error(SYNTAX, "the manifest is longer than 1 MiB")
                .at(Span::new(file, 0, 0), format!("{} bytes in all", text.len())),
        );
        return (None, problems.list);
    }
    let (tree, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let place = error.span().unwrap_or(0..0);
        let span = problems.span(place);
        let message = error.message().lines().next().unwrap_or("not TOML");
        problems
            .list
            .push(Diagnostic::error(SYNTAX, format!("the manifest is not valid TOML: {message}")).at(span, ""));
    }
    if !errors.is_empty() {
        return (None, problems.list);
    }
    let root = Table::new(tree.get_ref(), problems.span(0..text.len().min(1)), &problems);
    let read = Reader { folder: folder_of(path), problems: &mut problems, shape: Shape::Part }.manifest(file, root);
    (read, problems.list)
}

/// `ctl/block/aes` of `./ctl/block/aes/primitive.toml`.
fn folder_of(path: &str) -> String {
    let mut parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
    parts.pop();
    parts.join("/")
}

/// Where an operation stands, which decides its keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Set,
    Mode,
    Part,
}

struct Reader<'p> {
    folder: String,
    problems: &'p mut Problems,
    shape: Shape,
}

impl Reader<'_> {
    fn manifest(mut self, file: FileId, mut root: Table<'_>) -> Option<Manifest> {
        let title = self.needed_text(&mut root, "title");
        let shape = self.shape(&mut root);
        let standard = self.needed_text(&mut root, "standard");
        let weaknesses = self.text(&mut root, "weaknesses");
        self.shape = shape?;
        let mut sets = Vec::new();
        let mut operations = Vec::new();
        match self.shape {
            Shape::Mode => {
                let table = root.need("operations", "a mode", self.problems);
                operations = self.operations(table, Place::Mode);
            }
            Shape::Part => {
                let table = root.take("operations");
                operations = self.operations(table, Place::Part);
            }
            _ => {
                let table = root.need("sets", "a primitive", self.problems);
                sets = self.sets(table);
            }
        }
        let ports = self.ports(root.take("ports"));
        let vectors = match self.shape {
            Shape::Mode => Vec::new(),
            shape => read_vectors::entries(root.take("vectors"), shape, self.problems),
        };
        for mapping in &vectors {
            for name in &mapping.sets {
                if !sets.iter().any(|set| set.name == *name) {
                    self.problems.value(
                        mapping.span,
                        format!("there is no parameter set `{}` in this manifest", name.escape_debug()),
                        "named here",
                    );
                }
            }
        }
        let hardware = self.hardware(root.take("hardware"));
        root.finish(&format!("the manifest of a {}", self.shape.name()), self.problems);
        let mut parts = self.folder.rsplit('/');
        let primitive = parts.next().unwrap_or_default().to_owned();
        let family = parts.next().unwrap_or_default().to_owned();
        Some(Manifest {
            file,
            package: self.folder.replace('/', "."),
            folder: self.folder,
            primitive,
            family,
            title: title.unwrap_or_default(),
            shape: self.shape,
            standard: standard.unwrap_or_default(),
            weaknesses,
            sets,
            operations,
            ports,
            vectors,
            hardware,
        })
    }

    fn text(&mut self, table: &mut Table<'_>, key: &'static str) -> Option<String> {
        let text = table.take(key)?.text(self.problems, key)?;
        Some(text.to_owned())
    }

    fn needed_text(&mut self, table: &mut Table<'_>, key: &'static str) -> Option<String> {
        let item = table.need(key, "the manifest", self.problems)?;
        let text = item.text(self.problems, key)?;
        if text.trim().is_empty() {
            self.problems.value(item.span, format!("`{key}` is empty"), "say something here");
        }
        Some(text.to_owned())
    }

    fn formula(&mut self, table: &mut Table<'_>, key: &'static str) -> Option<Formula> {
        let item = table.take(key)?;
        match Formula::parse(item.text(self.problems, key)?) {
            Ok(formula) => Some(formula),
            Err(message) => {
                self.problems.value(item.span, message, "here");
                None
            }
        }
    }

    fn shape(&mut self, root: &mut Table<'_>) -> Option<Shape> {
        let item = root.need("shape", "the manifest", self.problems)?;
        let text = item.text(self.problems, "shape")?;
        let found = Shape::ALL.iter().find(|(name, _)| *name == text);
        if found.is_none() {
            let names: Vec<&str> = Shape::ALL.iter().map(|(name, _)| *name).collect();
            let message = format!("there is no shape `{}`: it is {}", text.escape_debug(), listing(&names, "or"));
            self.problems.value(item.span, message, "unknown shape");
            if let (Some(near), Some(last)) = (nearest(text, names), self.problems.list.last_mut()) {
                last.help = Some(format!("did you mean `{near}`?"));
            }
        }
        found.map(|(_, shape)| *shape)
    }

    fn sets(&mut self, item: Option<Item<'_>>) -> Vec<Set> {
        let Some(item) = item else {
            return Vec::new();
        };
        let Some(table) = item.table(self.problems, "sets") else {
            return Vec::new();
        };
        let entries = table.into_entries();
        if entries.is_empty() {
            self.problems.value(item.span, "there is no parameter set", "empty table");
        }
        let mut sets = Vec::new();
        for entry in entries {
            self.name(entry.key, entry.key_span, "a parameter set");
            let Some(mut table) = entry.item.table(self.problems, entry.key) else {
                continue;
            };
            // What is there and wrong is not missing.
            let given: Vec<&str> =
                SIZE_KEYS.iter().map(|(key, _)| *key).chain(["block_bytes"]).filter(|key| table.has(key)).collect();
            let block_bytes = table.take("block_bytes").and_then(|item| self.positive(&item, "block_bytes"));
            let sizes = self.sizes(&mut table, strings(self.shape), block_bytes.is_some());
            let nonce_and_length_bytes =
                table.take("nonce_and_length_bytes").and_then(|item| self.positive(&item, "nonce_and_length_bytes"));
            let tag_parameter = self.text(&mut table, "tag_parameter");
            let input_limit = self.formula(&mut table, "input_limit");
            let (mut alphabet, mut tolerant) = (Vec::new(), None);
            if self.shape == Shape::Codec {
                alphabet = self.text(&mut table, "alphabet").map_or(Vec::new(), |text| bytes_of(&text));
                tolerant = self.text(&mut table, "tolerant");
            }
            self.check_set(entry.key, &table, &given);
            let operations = table.need("operations", "a parameter set", self.problems);
            let operations = self.operations(operations, Place::Set);
            let openssl = read_names::openssl(table.take("openssl"), self.problems);
            let jca = table.take("jca").and_then(|item| read_names::jca(&item, self.problems)).unwrap_or_default();
            table.finish("a parameter set", self.problems);
            sets.push(Set {
                name: entry.key.to_owned(),
                span: entry.key_span,
                sizes,
                block_bytes,
                nonce_and_length_bytes,
                tag_parameter,
                input_limit,
                alphabet,
                tolerant,
                operations,
                openssl,
                jca,
            });
        }
        sets
    }

    /// What each shape cannot do without.
    fn check_set(&mut self, name: &str, table: &Table<'_>, given: &[&str]) {
        let needed: &[&str] = match self.shape {
            Shape::BlockCipher => &["key", "block_bytes"],
            Shape::StreamCipher => &["key"],
            Shape::Mac => &["key", "tag"],
            Shape::Aead => &["key", "nonce", "tag"],
            Shape::Hash => &["output"],
            Shape::Generator => &["output", "seed"],
            Shape::Codec | Shape::Mode | Shape::Part => &[],
        };
        let missing: Vec<&str> = needed.iter().filter(|key| !given.contains(key)).copied().collect();
        if !missing.is_empty() {
            let message = format!(
                "the set `{}` of a {} has no {}",
                name.escape_debug(),
                self.shape.name(),
                listing(&missing, "and")
            );
            self.problems.value(table.span, message, "it must be given here");
        }
    }

    /// Sizes given in a set or an operation; `block` says whether "block" can be meant.
    fn sizes(&mut self, table: &mut Table<'_>, roles: &[Role], block: bool) -> Vec<(Role, SizeRule)> {
        let mut sizes = Vec::new();
        for (key, role) in SIZE_KEYS.into_iter().filter(|(_, role)| roles.contains(role)) {
            if let Some(item) = table.take(key)
                && let Some(rule) = self.size(&item, key, block)
            {
                sizes.push((role, rule));
            }
        }
        sizes
    }

    /// `16`, `"block"`, `{ bytes = 16 }`, `{ bytes = [16, 24] }`, `{ min = 1, max = 56, multiple = 8 }`.
    fn size(&mut self, item: &Item<'_>, key: &'static str, block: bool) -> Option<SizeRule> {
        if item.is_integer() || item.is_text() {
            return Some(SizeRule::OneOf(vec![self.bound(item, key, block)?]));
        }
        if item.is_array() {
            let elements = item.array(self.problems, key)?;
            if elements.is_empty() {
                self.problems.value(item.span, format!("`{key}` allows no size"), "empty list");
                return None;
            }
            let bounds: Vec<Bound> = elements.iter().filter_map(|element| self.bound(element, key, block)).collect();
            return (bounds.len() == elements.len()).then_some(SizeRule::OneOf(bounds));
        }
        let mut table = item.table(self.problems, key)?;
        if let Some(bytes) = table.take("bytes") {
            table.finish(&format!("`{key}` with `bytes`"), self.problems);
            return self.size(&bytes, "bytes", block);
        }
        let min = table.take("min");
        let max = table.take("max");
        let multiple = table.take("multiple");
        if min.is_none() && max.is_none() && multiple.is_none() {
            self.problems.value(
                item.span,
                format!("`{key}` says nothing about sizes"),
                "`bytes`, or some of `min`, `max` and `multiple`",
            );
        }
        table.finish(&format!("`{key}`"), self.problems);
        let min = match min {
            Some(item) => self.bound(&item, "min", block)?,
            None => Bound::Bytes(0),
        };
        let max = match max {
            Some(item) => Some(self.bound(&item, "max", block)?),
            None => None,
        };
        let multiple = match multiple {
            Some(item) => {
                let bound = self.bound(&item, "multiple", block)?;
                if bound == Bound::Bytes(0) {
                    self.problems.value(item.span, "`multiple` must not be 0", "here");
                    return None;
                }
                bound
            }
            None => Bound::Bytes(1),
        };
        if let (Bound::Bytes(least), Some(Bound::Bytes(most))) = (min, max)
            && least > most
        {
            self.problems.value(
                item.span,
                format!("`min` ({least}) is greater than `max` ({most})"),
                "no size is legal",
            );
            return None;
        }
        Some(SizeRule::Range { min, max, multiple })
    }

    fn bound(&mut self, item: &Item<'_>, key: &str, block: bool) -> Option<Bound> {
        if !item.is_text() {
            return item.count(self.problems, key).map(Bound::Bytes);
        }
        let text = item.text(self.problems, key)?;
        if text != "block" {
            self.problems.value(item.span, format!("`{key}` must be a number of bytes or \"block\""), "neither");
            return None;
        }
        if !block {
            self.problems.value(item.span, "\"block\" has no meaning where `block_bytes` is not given", "here");
            return None;
        }
        Some(Bound::Block)
    }

    fn positive(&mut self, item: &Item<'_>, key: &str) -> Option<u64> {
        let number = item.count(self.problems, key)?;
        if !(1..=65536).contains(&number) {
            self.problems.value(item.span, format!("`{key}` must be 1 to 65536"), "here");
            return None;
        }
        Some(number)
    }

    fn operations(&mut self, item: Option<Item<'_>>, place: Place) -> Vec<Operation> {
        let Some(item) = item else {
            return Vec::new();
        };
        let Some(table) = item.table(self.problems, "operations") else {
            return Vec::new();
        };
        let entries = table.into_entries();
        if entries.is_empty() {
            self.problems.value(item.span, "there is no operation", "empty table");
        }
        let mut operations = Vec::new();
        for entry in entries {
            self.name(entry.key, entry.key_span, "an operation");
            let Some(table) = entry.item.table(self.problems, entry.key) else {
                continue;
            };
            operations.extend(self.operation(entry.key, entry.key_span, table, place));
        }
        operations
    }

    fn operation(&mut self, name: &str, span: Span, mut table: Table<'_>, place: Place) -> Option<Operation> {
        let network = table.need("network", "an operation", self.problems);
        let network = network.and_then(|item| self.instantiation(&item));
        let mut cipher = None;
        let mut block_bytes = None;
        let mut verifies = false;
        let mut variants = Vec::new();
        if place == Place::Part {
            let mut ports = |key: &'static str| {
                let item = table.need(key, "an operation of a part", self.problems)?;
                Some(read_vectors::texts(&item, key, self.problems))
            };
            let inputs = ports("inputs").unwrap_or_default();
            let outputs = ports("outputs").unwrap_or_default();
            table.finish("an operation of a part", self.problems);
            return Some(Operation {
                name: name.to_owned(),
                span,
                network: network?,
                variants: vec![Variant::standard()],
                cipher: None,
                verifies: false,
                inverse: None,
                decrypt: None,
                single_chunk: false,
                blocks: None,
                input_limit: None,
                sizes: Vec::new(),
                block_bytes: None,
                inputs,
                outputs,
            });
        }
        if place == Place::Mode {
            cipher = table
                .need("cipher", "an operation of a mode", self.problems)
                .and_then(|item| item.text(self.problems, "cipher").map(str::to_owned));
            block_bytes = table.take("block_bytes").and_then(|item| self.size(&item, "block_bytes", false));
            verifies = table.take("verifies").and_then(|item| item.boolean(self.problems, "verifies")).unwrap_or(false);
        } else {
            variants = self.variants(table.take("variants"));
        }
        if variants.is_empty() {
            variants.push(Variant::standard());
        }
        let inverse = self.text(&mut table, "inverse");
        let decrypt = table.take("decrypt").and_then(|item| item.boolean(self.problems, "decrypt"));
        let single_chunk =
            table.take("single_chunk").and_then(|item| item.boolean(self.problems, "single_chunk")).unwrap_or(false);
        let blocks = table.take("blocks").and_then(|item| self.blocks(&item));
        let input_limit = self.formula(&mut table, "input_limit");
        let block = place == Place::Mode || self.shape == Shape::BlockCipher;
        let roles = match self.shape {
            // The strings of a core are the key and whole blocks.
            Shape::BlockCipher if is_core(name) => &[],
            Shape::BlockCipher => strings(Shape::Mode),
            shape => strings(shape),
        };
        let sizes = self.sizes(&mut table, roles, block);
        table.finish("an operation", self.problems);
        Some(Operation {
            name: name.to_owned(),
            span,
            network: network?,
            variants,
            cipher,
            verifies,
            inverse,
            decrypt,
            single_chunk,
            blocks,
            input_limit,
            sizes,
            block_bytes,
            inputs: Vec::new(),
            outputs: Vec::new(),
        })
    }

    /// A network on blocks, their size, and what it is told.
    fn blocks(&mut self, item: &Item<'_>) -> Option<Blocks> {
        let mut table = item.table(self.problems, "blocks")?;
        let network = table.need("network", "blocks", self.problems).and_then(|item| self.instantiation(&item));
        let pads = table.take("pads").and_then(|item| item.boolean(self.problems, "pads")).unwrap_or(false);
        let ahead = table.take("ahead").and_then(|item| item.boolean(self.problems, "ahead")).unwrap_or(false);
        let each_front =
            table.take("each_front").and_then(|item| item.boolean(self.problems, "each_front")).unwrap_or(false);
        let mut count = |key: &'static str| table.take(key).and_then(|item| item.count(self.problems, key));
        let bytes = count("bytes").map_or(16, |bytes| bytes.max(1));
        let ad_front = count("ad_front").map_or(0, |ad_front| ad_front.min(bytes - 1));
        table.finish("blocks", self.problems);
        Some(Blocks { network: network?, bytes, ad_front, each_front, ahead, pads })
    }

    fn instantiation(&mut self, item: &Item<'_>) -> Option<Instantiation> {
        let text = item.text(self.problems, "network")?;
        match Instantiation::parse(text) {
            Ok(network) => Some(network.qualified(&self.folder.replace('/', "."))),
            Err(message) => {
                self.problems.value(item.span, message, "here");
                None
            }
        }
    }

    fn variants(&mut self, item: Option<Item<'_>>) -> Vec<Variant> {
        let Some(item) = item else {
            return Vec::new();
        };
        let Some(table) = item.table(self.problems, "variants") else {
            return Vec::new();
        };
        let mut variants: Vec<Variant> = Vec::new();
        let mut defaults = 0;
        for entry in table.into_entries() {
            self.name(entry.key, entry.key_span, "a variant");
            let Some(mut table) = entry.item.table(self.problems, entry.key) else {
                continue;
            };
            let network = table.take("network");
            let constant_time = table
                .take("constant_time")
                .and_then(|item| item.boolean(self.problems, "constant_time"))
                .unwrap_or(false);
            table.finish("a variant", self.problems);
            let network = match network {
                Some(item) => match self.instantiation(&item) {
                    Some(network) => Some(network),
                    None => continue,
                },
                None => {
                    defaults += 1;
                    None
                }
            };
            variants.push(Variant { name: entry.key.to_owned(), network, constant_time });
        }
        if defaults != 1 {
            self.problems.value(
                item.span,
                format!(
                    "exactly one variant has no `network` of its own (it is the operation's); here {defaults} have none"
                ),
                "the variants",
            );
        }
        variants
    }

    fn ports(&mut self, item: Option<Item<'_>>) -> Vec<PortOverride> {
        let Some(table) = item.and_then(|item| item.table(self.problems, "ports")) else {
            return Vec::new();
        };
        let mut ports: Vec<PortOverride> = Vec::new();
        for entry in table.into_entries() {
            let Some(mut table) = entry.item.table(self.problems, entry.key) else {
                continue;
            };
            let role_item = table.take("role");
            let (text, span) = match &role_item {
                Some(item) => (item.text(self.problems, "role"), item.span),
                None => (Some(entry.key), entry.key_span),
            };
            let bits = table.take("width").and_then(|item| {
                let bits = item.count(self.problems, "width")?;
                let bits =
                    u32::try_from(bits).ok().filter(|bits| *bits == 1 || (*bits % 8 == 0 && (8..=64).contains(bits)));
                if bits.is_none() {
                    self.problems.value(
                        item.span,
                        "the `width` of a port that carries bytes is 1, or a multiple of 8 up to 64",
                        "here",
                    );
                }
                bits
            });
            let class = table.take("class").and_then(|item| match item.text(self.problems, "class")? {
                "public" => Some(Class::Public),
                "secret" => Some(Class::Secret),
                _ => {
                    self.problems.value(item.span, "`class` must be \"public\" or \"secret\"", "neither");
                    None
                }
            });
            table.finish("a port", self.problems);
            let Some(text) = text else { continue };
            let Some(role) = Role::named(text) else {
                self.problems.value(span, format!("there is no role `{}`", text.escape_debug()), "unknown role");
                if let (Some(near), Some(last)) =
                    (nearest(text, Role::ALL.map(Role::name)), self.problems.list.last_mut())
                {
                    last.help = Some(format!("did you mean `{near}`?"));
                }
                continue;
            };
            if ports.iter().any(|port| port.role == role) {
                self.problems.value(entry.key_span, format!("two ports have the role `{}`", role.name()), "the second");
                continue;
            }
            if role.is_control() && bits.is_some() {
                self.problems.value(entry.key_span, format!("the width of `{}` is fixed", role.name()), "here");
            }
            ports.push(PortOverride {
                name: entry.key.to_owned(),
                role,
                bits: bits.filter(|_| !role.is_control()),
                class,
            });
        }
        ports
    }

    fn hardware(&mut self, item: Option<Item<'_>>) -> Option<Hardware> {
        let mut table = item?.table(self.problems, "hardware")?;
        let mut number = |key: &'static str| table.take(key).and_then(|item| item.count(self.problems, key));
        let hardware = Hardware { rounds: number("rounds"), state_bits: number("state_bits") };
        table.finish("`hardware`", self.problems);
        Some(hardware)
    }

    /// Names that commands and file names can hold: lower-case letters, digits, `-` and `_`.
    fn name(&mut self, name: &str, span: Span, what: &str) {
        let good = !name.is_empty()
            && name.len() <= 64
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
        if !good {
            self.problems.value(
                span,
                format!(
                    "`{}` cannot be the name of {what}: it has up to 64 lower-case letters, digits, `-` and `_`",
                    name.escape_debug()
                ),
                "here",
            );
        }
    }
}
