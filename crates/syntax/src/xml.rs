//! What readers of XML share, whatever they read: limits before parsing, and places.

use crate::parser::MAX_NESTING;

/// The offset at which elements are nested deeper than any network needs. Counted before parsing, on the tags alone, so
/// that no recursive reader ever sees such a text.
pub fn too_deep(text: &str) -> Option<usize> {
    const MOST: usize = 4 * MAX_NESTING as usize;
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(offset) = bytes.get(at..)?.iter().position(|byte| *byte == b'<') {
        at += offset;
        let rest = &text[at..];
        let skipped = if rest.starts_with("<!--") {
            rest.find("-->")
        } else if rest.starts_with("<![CDATA[") {
            rest.find("]]>")
        } else {
            let end = tag_end(&bytes[at..]);
            match (bytes.get(at + 1), end) {
                (Some(b'/'), _) => depth = depth.saturating_sub(1),
                (Some(b'?' | b'!'), _) => {}
                (_, Some(end)) if bytes[at + end - 1] == b'/' => {}
                _ => depth += 1,
            }
            end
        };
        if depth > MOST {
            return Some(at);
        }
        at += skipped? + 1;
    }
    None
}

/// The `>` that ends a tag, not one inside a quoted value.
fn tag_end(tag: &[u8]) -> Option<usize> {
    let mut quote = None;
    for (at, &byte) in tag.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// The offset of a place that the parser reports.
pub fn offset_of(text: &str, position: roxmltree::TextPos) -> usize {
    let row = (position.row as usize).saturating_sub(1);
    let start: usize = text.split_inclusive('\n').take(row).map(str::len).sum();
    let line = &text[start..];
    let column = (position.col as usize).saturating_sub(1);
    start + line.char_indices().nth(column).map_or(line.trim_end().len(), |(at, _)| at)
}
