//! Names by pattern: `*` stands for any text, the empty one included, and `?` for one character.

/// Whether a name is what a pattern says.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut in_pattern, mut in_name) = (0, 0);
    // The last `*`, and where what it stands for ends. Those before it need no second look: that they stand for as little as
    // can be leaves most for what comes after.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match (pattern.get(in_pattern), star) {
            (Some('*'), _) => {
                star = Some((in_pattern, in_name));
                in_pattern += 1;
            }
            (Some(&wanted), _) if wanted == '?' || wanted == name[in_name] => {
                in_pattern += 1;
                in_name += 1;
            }
            (_, Some((at, end))) => {
                star = Some((at, end + 1));
                (in_pattern, in_name) = (at + 1, end + 1);
            }
            (_, None) => return false,
        }
    }
    pattern[in_pattern..].iter().all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns_stand_for_names() {
        for (pattern, name) in [
            ("", ""),
            ("*", ""),
            ("*", "any"),
            ("***", "any"),
            ("?", "ä"),
            ("a*", "a"),
            ("a*c", "abc"),
            ("a*bc", "abcbc"),
            ("*ab?", "aababc"),
            ("a?c*", "abcd"),
            ("crates/*", "crates/a"),
            ("a*b", "a*b"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("", "a"),
            ("a", ""),
            ("?", ""),
            ("?", "ab"),
            ("a*c", "abcd"),
            ("*ab?", "aabab"),
            ("abc", "ab"),
            ("a*a", "a"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let (pattern, name) = (format!("{}b", "a*".repeat(200)), "a".repeat(20_000));
        assert!(!fits(&pattern, &name));
    }
}
