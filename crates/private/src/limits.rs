//! Limits on what is kept and how long compilers may take, as the environment says.

use std::time::Duration;

/// What the cache may hold, and what compiling may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all entries together; 0: nothing is kept.
    pub most_bytes: u64,
    /// Time since an entry was used.
    pub most_age: Duration,
    /// Time that a compiler may take for one program.
    pub compiling: Duration,
}

/// Bytes of the cache: some thousand networks.
const CACHE_BYTES: u64 = 512 << 20;

/// Days that an entry stays without being used.
const CACHE_DAYS: u64 = 90;

/// Seconds for one program. The largest of the library take a tenth of it on a slow machine.
const COMPILE_SECONDS: u64 = 600;

/// Most days and seconds that are a time: some hundred years.
const MOST_DAYS: u64 = 36_500;

impl Limits {
    /// What the environment says.
    ///
    /// # Errors
    ///
    /// A variable that is no number.
    pub fn of_environment() -> Result<Self, String> {
        Self::of(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let number =
            |name: &str, usual: u64, least: u64| match variable(name).filter(|text| !text.is_empty()) {
                None => Ok(usual),
                Some(text) => text.parse().ok().filter(|number| *number >= least).ok_or_else(|| {
                    format!("{name} is `{}`; a whole number from {least} is wanted", text.escape_debug())
                }),
            };
        let days = number("HEADRACE_CACHE_DAYS", CACHE_DAYS, 0)?.min(MOST_DAYS);
        let seconds = number("HEADRACE_COMPILE_SECONDS", COMPILE_SECONDS, 1)?.min(MOST_DAYS * 86_400);
        Ok(Self {
            most_bytes: number("HEADRACE_CACHE_BYTES", CACHE_BYTES, 0)?,
            most_age: Duration::from_secs(days * 86_400),
            compiling: Duration::from_secs(seconds),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_numbers() {
        let usual = Limits::of(|_| None).unwrap();
        assert_eq!(usual.most_bytes, CACHE_BYTES);
        assert_eq!(Limits::of(|_| Some(String::new())).unwrap(), usual);
        let seven = Limits::of(|_| Some("7".into())).unwrap();
        assert_eq!((seven.most_bytes, seven.compiling), (7, Duration::from_secs(7)));
        assert_eq!(Limits::of(|_| Some(u64::MAX.to_string())).unwrap().most_bytes, u64::MAX);
        for wrong in ["x", "-1", "1.5", "99999999999999999999"] {
            assert!(Limits::of(|_| Some(wrong.into())).is_err_and(|why| why.contains(wrong)), "{wrong}");
        }
        let no_time = |name: &str| (name == "HEADRACE_COMPILE_SECONDS").then(|| "0".into());
        assert!(Limits::of(no_time).is_err());
    }
}
