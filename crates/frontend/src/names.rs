//! Spelling correction: names that a user may have meant.

/// The candidate that differs least from `name`, if it differs little.
pub(crate) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= 4 * limit)
        .map(|candidate| (distance(name, candidate, limit), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Number of letters to insert, delete, replace or exchange with the next, letter case counting little; anything above `limit` may come out as
/// `limit + 1`.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    if a.eq_ignore_ascii_case(b) {
        return usize::from(a != b);
    }
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let mut best = (row[j] + usize::from(x != y)).min(next[j] + 1).min(row[j + 1] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        if next.iter().all(|&distance| distance > limit) {
            return limit + 1;
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_probably_meant() {
        let names = ["keySize", "KeyExpansion", "state"];
        assert_eq!(nearest("keysize", names.into_iter()), Some("keySize"));
        assert_eq!(nearest("stat", names.into_iter()), Some("state"));
        assert_eq!(nearest("satte", names.into_iter()), Some("state"));
        assert_eq!(nearest("xyz", names.into_iter()), None);
    }
}
