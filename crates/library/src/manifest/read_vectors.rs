//! From TOML to the model: the `[[vectors]]` entries.

use super::Shape;
use crate::mapping::{
    Argument, Condition, Conversion, Direction, Feedback, Form, Kind, Target, VectorMapping, default_fields,
};
use crate::tables::{Item, Problems, Table};

pub(super) fn entries(item: Option<Item<'_>>, shape: Shape, problems: &mut Problems) -> Vec<VectorMapping> {
    let Some(items) = item.and_then(|item| item.array(problems, "vectors")) else {
        return Vec::new();
    };
    items
        .into_iter()
        .filter_map(|item| {
            let table = item.table(problems, "vectors")?;
            entry(table, shape, problems)
        })
        .collect()
}

fn entry(mut table: Table<'_>, shape: Shape, problems: &mut Problems) -> Option<VectorMapping> {
    let what = "an entry of `vectors`";
    let span = table.span;
    let file = table.need("file", what, problems).and_then(|item| {
        let text = item.text(problems, "file")?;
        if text.is_empty() || text.contains(['/', '\\']) || text.starts_with('.') {
            problems.value(
                item.span,
                "`file` is the name of a file in the folder `vectors` beside the manifest",
                "this is not",
            );
            return None;
        }
        Some(text.to_owned())
    });
    let operation =
        table.need("operation", what, problems).and_then(|item| item.text(problems, "operation").map(str::to_owned));
    let sets = sets(&mut table, problems);
    let conditions = conditions(&mut table, problems);
    let direction = direction(&mut table, problems);
    let kind = choice(&mut table, "kind", &[("single", Kind::Single), ("monte-carlo", Kind::MonteCarlo)], problems);
    let feedback = choice(
        &mut table,
        "feedback",
        &[("ciphertext", Feedback::Ciphertext), ("keystream", Feedback::KeyStream)],
        problems,
    );
    let ignored = table.take("ignore").map(|item| texts(&item, "ignore", problems)).unwrap_or_default();
    let fields = fields(&mut table, shape, &ignored, problems);
    let arguments = arguments(&mut table, problems);
    let conversions = conversions(&mut table, problems);
    table.finish(what, problems);
    Some(VectorMapping {
        span,
        file: file?,
        operation: operation?,
        sets,
        conditions,
        direction,
        kind,
        feedback,
        fields,
        arguments,
        conversions,
        ignored,
    })
}

pub(super) fn texts(item: &Item<'_>, key: &str, problems: &mut Problems) -> Vec<String> {
    item.array(problems, key)
        .unwrap_or_default()
        .iter()
        .filter_map(|element| element.text(problems, key).map(str::to_owned))
        .collect()
}

fn sets(table: &mut Table<'_>, problems: &mut Problems) -> Vec<String> {
    let one = table.take("set");
    let many = table.take("sets");
    if let (Some(_), Some(many)) = (&one, &many) {
        problems.value(many.span, "`set` and `sets` exclude each other", "the second");
    }
    let mut names: Vec<String> = many.map(|item| texts(&item, "sets", problems)).unwrap_or_default();
    names.extend(one.and_then(|item| item.text(problems, "set").map(str::to_owned)));
    names
}

fn conditions(table: &mut Table<'_>, problems: &mut Problems) -> Vec<(String, Condition)> {
    let Some(inner) = table.take("where").and_then(|item| item.table(problems, "where")) else {
        return Vec::new();
    };
    inner
        .into_entries()
        .into_iter()
        .filter_map(|entry| {
            let condition = match entry.item.as_boolean() {
                Some(present) => Condition::Present(present),
                None if entry.item.is_text() => Condition::Is(entry.item.text(problems, entry.key)?.to_owned()),
                None => {
                    problems.value(
                        entry.item.span,
                        format!(
                            "the condition on `{}` must be a text, or `true` or `false` for present or absent",
                            entry.key.escape_debug()
                        ),
                        "here",
                    );
                    return None;
                }
            };
            Some((entry.key.to_owned(), condition))
        })
        .collect()
}

fn direction(table: &mut Table<'_>, problems: &mut Problems) -> Option<Direction> {
    let mut inner = table.take("direction")?.table(problems, "direction")?;
    let mut text = |key: &'static str| {
        inner.need(key, "`direction`", problems).and_then(|item| item.text(problems, key).map(str::to_owned))
    };
    let (field, forward, inverse) = (text("field"), text("forward"), text("inverse"));
    inner.finish("`direction`", problems);
    Some(Direction { field: field?, forward: forward?, inverse: inverse? })
}

fn choice<T: Copy + Default>(
    table: &mut Table<'_>,
    key: &'static str,
    values: &[(&str, T)],
    problems: &mut Problems,
) -> T {
    let Some(item) = table.take(key) else {
        return T::default();
    };
    let Some(text) = item.text(problems, key) else {
        return T::default();
    };
    match values.iter().find(|(name, _)| *name == text) {
        Some((_, value)) => *value,
        None => {
            let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
            problems.value(item.span, format!("`{key}` must be {}", crate::spelling::listing(&names, "or")), "neither");
            T::default()
        }
    }
}

/// `A = "A"` for a decimal field, or `A = { field = "Param", after = "a = ", form = "hex" }`.
fn arguments(table: &mut Table<'_>, problems: &mut Problems) -> Vec<(String, Argument)> {
    let Some(inner) = table.take("args").and_then(|item| item.table(problems, "args")) else {
        return Vec::new();
    };
    inner
        .into_entries()
        .into_iter()
        .filter_map(|entry| {
            let argument = if entry.item.is_text() {
                let field = entry.item.text(problems, entry.key)?.to_owned();
                Argument { field, after: String::new(), form: Form::Decimal }
            } else {
                let mut given = entry.item.table(problems, entry.key)?;
                let field = given.need("field", "an argument", problems);
                let field = field.and_then(|item| item.text(problems, "field").map(str::to_owned));
                let after = given.take("after").and_then(|item| item.text(problems, "after").map(str::to_owned));
                let form = choice(&mut given, "form", &Form::ALL, problems);
                given.finish("an argument", problems);
                Argument { field: field?, after: after.unwrap_or_default(), form }
            };
            Some((entry.key.to_owned(), argument))
        })
        .collect()
}

/// The defaults of the format, without what the entry ignores, with the entry's own over them.
fn fields(table: &mut Table<'_>, shape: Shape, ignored: &[String], problems: &mut Problems) -> Vec<(String, Target)> {
    let mut fields = match shape {
        Shape::Part => Vec::new(),
        shape => default_fields(shape),
    };
    fields.retain(|(name, _)| !ignored.contains(name));
    let Some(inner) = table.take("fields").and_then(|item| item.table(problems, "fields")) else {
        return fields;
    };
    for entry in inner.into_entries() {
        let Some(text) = entry.item.text(problems, entry.key) else {
            continue;
        };
        match Target::parse(text, shape == Shape::Part) {
            Ok(target) => {
                fields.retain(|(name, _)| name != entry.key);
                fields.push((entry.key.to_owned(), target));
            }
            Err(message) => problems.value(entry.item.span, message, "here"),
        }
    }
    fields
}

fn conversions(table: &mut Table<'_>, problems: &mut Problems) -> Vec<(String, Conversion)> {
    let Some(inner) = table.take("convert").and_then(|item| item.table(problems, "convert")) else {
        return Vec::new();
    };
    inner
        .into_entries()
        .into_iter()
        .filter_map(|entry| {
            let text = entry.item.text(problems, entry.key)?;
            let found = Conversion::parse(text);
            if found.is_none() {
                problems.value(entry.item.span, "a conversion is `reverse`, `reverse-N` or `leftmost`", "this is none");
            }
            Some((entry.key.to_owned(), found?))
        })
        .collect()
}
