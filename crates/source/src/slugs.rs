//! The one list of diagnostics. Each slug has a page `docs/diagnostics/<slug>.md` and a wrong program
//! `tests/diagnostics/<slug>/` (a test holds the three against each other).

/// Stable identity of a kind of problem, as users see it in `error[slug]`.
pub type Slug = &'static str;

/// Every slug with a line that says when it is reported. Sorted.
pub const SLUGS: &[(Slug, &str)] = &[("syntax-error", "the text does not follow the grammar")];

/// The line of [`SLUGS`] for a slug.
pub fn describe(slug: &str) -> Option<&'static str> {
    SLUGS
        .iter()
        .find(|(name, _)| *name == slug)
        .map(|(_, line)| *line)
}
