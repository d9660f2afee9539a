//! Lines of source texts, for readers of what is made of an actor.

use headrace_source::{SourceMap, Span};
use std::collections::BTreeMap;

/// Where the actions and procedures of an actor are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// By file and offset.
    places: BTreeMap<(u32, u32), String>,
}

impl Lines {
    /// The lines of some places, told by somebody who knows the texts. `home` is the actor's own place: of other files
    /// the name is told, without its folder.
    pub fn of(sources: &SourceMap, home: Span, places: impl IntoIterator<Item = Span>) -> Self {
        let line = |span: Span| {
            let (line, _) = sources.position(span);
            let text = if span.file == home.file {
                format!("line {line}")
            } else {
                let name = sources.name(span.file);
                format!("line {line} of {}", name.rsplit(['/', '\\']).next().unwrap_or(name))
            };
            ((span.file.0, span.start), text)
        };
        Self { places: places.into_iter().map(line).collect() }
    }

    /// `line 12`, or `line 12 of Tables.cal`, behind a comma; nothing where it is not known.
    pub fn behind(&self, span: Span) -> String {
        self.places.get(&(span.file.0, span.start)).map_or_else(String::new, |line| format!(", {line}"))
    }
}
