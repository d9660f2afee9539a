//! From TOML to the model: what OpenSSL and the JCA call the operations of a set.

use super::{Jca, OpensslName, OpensslNames};
use crate::tables::{Entry, Item, Problems};

pub(super) fn openssl(item: Option<Item<'_>>, problems: &mut Problems) -> Vec<OpensslNames> {
    let Some(table) = item.and_then(|item| item.table(problems, "openssl")) else {
        return Vec::new();
    };
    let names = |entry: Entry<'_>, problems: &mut Problems| {
        let items = match entry.item.is_array() {
            true => entry.item.array(problems, entry.key).unwrap_or_default(),
            false => vec![entry.item],
        };
        let names = items.into_iter().filter_map(|item| name(&item, problems)).collect();
        OpensslNames { operation: entry.key.to_owned(), span: entry.key_span, names }
    };
    table.into_entries().into_iter().map(|entry| names(entry, problems)).collect()
}

/// `"AES-128-CBC:AES128"`, or a table with that as its `name` and what a set needs to be what is called so.
fn name(item: &Item<'_>, problems: &mut Problems) -> Option<OpensslName> {
    if item.is_text() {
        let (name, of) = text(item, problems)?;
        return Some(OpensslName {
            name,
            of,
            key_bytes: None,
            block_bytes: None,
            output_bytes: None,
            iv_bytes: None,
            least_tag_bytes: None,
            arguments: Vec::new(),
        });
    }
    let mut table = item.table(problems, "openssl")?;
    let (name, of) = table.need("name", "a name in OpenSSL", problems).and_then(|item| text(&item, problems))?;
    let key_bytes = table.take("key").and_then(|item| item.count(problems, "key"));
    let block_bytes = table.take("block").and_then(|item| item.count(problems, "block"));
    let output_bytes = table.take("size").and_then(|item| item.count(problems, "size"));
    let iv_bytes = table.take("iv").and_then(|item| item.count(problems, "iv"));
    let least_tag_bytes = table.take("tag").and_then(|item| item.count(problems, "tag"));
    let mut arguments = Vec::new();
    if let Some(given) = table.take("arguments").and_then(|item| item.table(problems, "arguments")) {
        for entry in given.into_entries() {
            let number = entry.item.count(problems, entry.key)?;
            arguments.push((entry.key.to_owned(), number.to_string()));
        }
    }
    table.finish("a name in OpenSSL", problems);
    Some(OpensslName { name, of, key_bytes, block_bytes, output_bytes, iv_bytes, least_tag_bytes, arguments })
}

/// Names with colons between them, and in brackets behind them those of what an algorithm is made of.
fn text(item: &Item<'_>, problems: &mut Problems) -> Option<(String, Option<String>)> {
    let text = item.text(problems, "name")?;
    let (name, of) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((name, of)) => (name, Some(of)),
        None => (text, None),
    };
    if !name.split(':').chain(of.into_iter().flat_map(|of| of.split(':'))).all(is_name) {
        let wrong = format!("`{}` cannot be a name in OpenSSL", text.escape_debug());
        problems.value(item.span, wrong, "names with colons between them, as in \"HMAC(SHA2-256:SHA256)\"");
        return None;
    }
    Some((name.to_owned(), of.map(str::to_owned)))
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_/.".contains(c);
    !name.is_empty() && name.chars().all(fits)
}

/// `"DESede:TripleDES"`: names for users of the JCA, or a table with these as its `names`.
pub(super) fn jca(item: &Item<'_>, problems: &mut Problems) -> Option<Jca> {
    if item.is_text() {
        return Some(Jca { names: names(item, "jca", problems)?, ..Jca::default() });
    }
    let mut table = item.table(problems, "jca")?;
    let mut listed = |key: &'static str| match table.take(key) {
        Some(item) => names(&item, key, problems),
        None => Some(Vec::new()),
    };
    let (further, keys) = (listed("names")?, listed("keys")?);
    let parameters = table.take("parameters");
    let parameters = match parameters {
        Some(item) => Some(class(&item, problems)?),
        None => None,
    };
    let block_bytes = table.take("block").and_then(|item| item.count(problems, "block"));
    table.finish("a set in the JCA", problems);
    Some(Jca { names: further, keys, parameters, block_bytes })
}

fn names(item: &Item<'_>, key: &str, problems: &mut Problems) -> Option<Vec<String>> {
    let text = item.text(problems, key)?;
    if !text.split(':').all(is_name) {
        let wrong = format!("`{}` cannot be a name in the JCA", text.escape_debug());
        problems.value(item.span, wrong, "names with colons between them, as in \"DESede:TripleDES\"");
        return None;
    }
    Some(text.split(':').map(str::to_owned).collect())
}

/// A class of `javax.crypto.spec`.
fn class(item: &Item<'_>, problems: &mut Problems) -> Option<String> {
    const CLASSES: [&str; 3] = ["IvParameterSpec", "GCMParameterSpec", "ChaCha20ParameterSpec"];
    let text = item.text(problems, "parameters")?;
    if !CLASSES.contains(&text) {
        let wrong = format!("no service takes parameters of the class `{}`", text.escape_debug());
        problems.value(item.span, wrong, "IvParameterSpec, GCMParameterSpec or ChaCha20ParameterSpec");
        return None;
    }
    Some(text.to_owned())
}
