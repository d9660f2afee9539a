//! Generated tables in documents: what stands between two marks is replaced.

/// What stands behind each table.
const END: &str = "<!-- end of generated -->";

/// A document with a table between the mark that begins it and the end that follows.
///
/// # Errors
///
/// That it has no such marks.
pub fn put_into(document: &str, begin: &str, table: &str) -> Result<String, String> {
    let marks = || format!("there is no `{begin}` with `{END}` behind it");
    let (before, rest) = document.split_once(begin).ok_or_else(marks)?;
    let (_, after) = rest.split_once(END).ok_or_else(marks)?;
    Ok(format!("{before}{begin}\n{}\n{END}{after}", table.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_replaces_what_stands_between_its_marks() {
        let begin = "<!-- generated: one -->";
        let document = format!("a\n{begin}\nold\n{END}\nb\n");
        assert_eq!(put_into(&document, begin, "new\n"), Ok(format!("a\n{begin}\nnew\n{END}\nb\n")));
        assert!(put_into("a", begin, "new").is_err());
    }
}
