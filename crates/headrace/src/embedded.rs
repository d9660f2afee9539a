//! The files that are built in: the library, the pages of diagnostics, the benchmark references.

/// Every packed file, sorted by path: path from the root of the repository with `/`, content.
pub static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The content of a packed file.
pub fn file(path: &str) -> Option<&'static [u8]> {
    let at = FILES.binary_search_by(|(name, _)| (*name).cmp(path)).ok()?;
    Some(FILES[at].1)
}

/// The packed files whose path begins with `prefix`.
pub fn below(prefix: &str) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let prefix = prefix.to_owned();
    FILES.iter().copied().filter(move |(name, _)| name.starts_with(&prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_every_file_is_found() {
        assert!(FILES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (name, bytes) in FILES {
            assert_eq!(file(name).map(<[u8]>::len), Some(bytes.len()), "{name}");
        }
        assert!(file("ctl/no such file").is_none());
    }
}
