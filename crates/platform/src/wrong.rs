//! Diagnostics of data files: what is wrong with one, and where.

/// What is wrong with a file that describes a platform or a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The file, as its reader knows it.
    pub path: String,
    /// Line and column, both from 1, where the problem is at one place.
    pub place: Option<(usize, usize)>,
    /// What is wrong, and what to do.
    pub problem: String,
}

impl Wrong {
    /// A problem of a file as a whole.
    pub fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), place: None, problem: problem.into() }
    }
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for Wrong {}
