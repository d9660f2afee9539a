//! What readers of XML share, whatever they read: limits before parsing, and places.

use crate::parser::MAX_NESTING;

/// Attributes of an element, at most. Formats here have ten; the parser compares each with all others of its element.
const MOST_ATTRIBUTES: usize = 256;

/// Where a text goes beyond what any network needs: the slug and the message of a diagnostic, and the offset. Elements nested
/// deep and elements with many attributes are counted before parsing, on the tags alone, so that no recursive reader ever sees
/// the former, and no parser takes quadratic time for the latter.
pub fn beyond_limits(text: &str) -> Option<(&'static str, String, usize)> {
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
            let (end, n_values) = tag_end(&bytes[at..]);
            if n_values > MOST_ATTRIBUTES {
                let message = format!("an element has more than {MOST_ATTRIBUTES} attributes");
                return Some(("xml-error", message, at));
            }
            match (bytes.get(at + 1), end) {
                (Some(b'/'), _) => depth = depth.saturating_sub(1),
                (Some(b'?' | b'!'), _) => {}
                (_, Some(end)) if bytes[at + end - 1] == b'/' => {}
                _ => depth += 1,
            }
            end
        };
        if depth > MOST {
            return Some(("nesting-too-deep", "elements are nested too deep".into(), at));
        }
        at += skipped? + 1;
    }
    None
}

/// The `>` that ends a tag, not one inside a quoted value, and how many such values come before it.
fn tag_end(tag: &[u8]) -> (Option<usize>, usize) {
    let mut quote = None;
    let mut n_values = 0;
    for (at, &byte) in tag.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return (Some(at), n_values),
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                n_values += 1;
            }
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    (None, n_values)
}

/// The offset of a place that the parser reports.
pub fn offset_of(text: &str, position: roxmltree::TextPos) -> usize {
    let row = (position.row as usize).saturating_sub(1);
    let start: usize = text.split_inclusive('\n').take(row).map(str::len).sum();
    let line = &text[start..];
    let column = (position.col as usize).saturating_sub(1);
    start + line.char_indices().nth(column).map_or(line.trim_end().len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_deep_or_wide_is_found_before_it_is_parsed() {
        let wide = |n: usize| {
            let attributes: String = (0..n).map(|at| format!(" a{at}='>\"'")).collect();
            format!("<a b=\"1\"/><a{attributes}/>")
        };
        assert_eq!(beyond_limits(&wide(MOST_ATTRIBUTES)), None);
        assert!(beyond_limits(&wide(MOST_ATTRIBUTES + 1)).is_some_and(|(slug, _, at)| (slug, at) == ("xml-error", 10)));
        assert!(beyond_limits(&"<a>".repeat(100_000)).is_some_and(|(slug, ..)| slug == "nesting-too-deep"));
        assert_eq!(beyond_limits(&"<a></a>".repeat(10_000)), None);
    }
}
