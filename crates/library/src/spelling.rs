//! Spelling correction: near names, for the help line of an error.

/// Edit distance, two neighbours that changed places counting once (optimal string alignment), given up above `limit`.
fn distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut least = (above[j] + usize::from(a[i] != b[j])).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().filter(|d| *d <= limit)
}

/// The candidate that `name` was probably meant to be.
pub(crate) fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    let lower = name.to_lowercase();
    candidates
        .into_iter()
        .filter_map(|c| distance(&lower, &c.to_lowercase(), limit).map(|d| (d, c)))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// `a`, `b` and `c`.
pub(crate) fn listing<S: AsRef<str>>(names: &[S], conjunction: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{}`", n.as_ref())).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((one, [])) => one.clone(),
        Some((last, rest)) => format!("{} {conjunction} {last}", rest.join(", ")),
    }
}

/// Names that are shown where there are many.
const SHOWN: usize = 8;

/// `a`, `b` and `c`, or the first of many.
pub(crate) fn some_of<S: AsRef<str>>(names: &[S], conjunction: &str) -> String {
    if names.len() <= SHOWN + 1 {
        return listing(names, conjunction);
    }
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{}`", name.as_ref())).collect();
    format!("{} and {} more", shown.join(", "), names.len() - SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_nearest_name() {
        let names = ["aes128", "aes192", "des", "tdes"];
        assert_eq!(nearest("aes129", names), Some("aes128"));
        assert_eq!(nearest("AES192", names), Some("aes192"));
        assert_eq!(nearest("tdse", ["tdxx", "tdes"]), Some("tdes"));
        assert_eq!(nearest("whirlpool", names), None);
    }

    #[test]
    fn of_many_names_the_first_are_shown() {
        let names: Vec<String> = (0..12).map(|number| number.to_string()).collect();
        assert_eq!(some_of(&names[..2], "and"), "`0` and `1`");
        assert!(some_of(&names[..9], "or").ends_with("`7` or `8`"));
        assert!(some_of(&names, "and").ends_with("`7` and 4 more"));
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting", 9), Some(3));
        assert_eq!(distance("", "abc", 3), Some(3));
        assert_eq!(distance("abc", "abc", 0), Some(0));
        assert_eq!(distance("abc", "abd", 0), None);
        assert_eq!(distance("crt", "ctr", 1), Some(1));
        assert_eq!(distance("abcd", "badc", 9), Some(2));
    }
}
