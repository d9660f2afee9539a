//! Words that texts of several parts have in common.

/// `1 file`, `2 files`.
pub fn plural(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
