//! The one list of diagnostics. Each slug has a page `docs/diagnostics/<slug>.md` and a wrong program
//! `tests/diagnostics/<slug>/` (a test holds the three against each other).

/// Stable identity of a kind of problem, as users see it in `error[slug]`.
pub type Slug = &'static str;

/// Every slug with a line that says when it is reported. Sorted.
pub const SLUGS: &[(Slug, &str)] = &[
    ("double-equals", "`==` was written for equality, which is a single `=`"),
    ("dropped-construct", "a construct of classic CAL or another dialect that RVC-CAL does not have"),
    ("file-too-large", "the text is longer than what is read"),
    ("format-refused", "laying out the text anew would have changed more than blanks"),
    ("known-answer-format", "a known-answer file does not follow its format"),
    ("known-answer-mapping", "a record of a known-answer file does not fit what the manifest says about it"),
    ("library-duplicate-name", "two parameter sets or two operations of modes have one name"),
    ("library-unknown-name", "a word names no primitive, parameter set or operation, or several where one is wanted"),
    ("literal-too-large", "a number has more digits than are read"),
    ("malformed-number", "a number has digits that its notation does not have"),
    ("manifest-reference", "a manifest refers to something that is not there"),
    ("manifest-syntax", "a manifest is not TOML"),
    ("manifest-unknown-key", "a manifest has a key that means nothing there"),
    ("manifest-value", "a value in a manifest is missing, of the wrong kind, or contradicts another"),
    ("message-size", "a string of a message is missing, or has a length that the operation does not take"),
    ("nesting-too-deep", "expressions, types or statements are nested too deep"),
    ("not-expressible-in-xdf", "a network says something for which XDF has no element"),
    ("several-schedules", "an actor has more than one schedule"),
    ("syntax-error", "the text does not follow the grammar"),
    ("too-many-problems", "one file has more problems than are shown"),
    ("unexpected-character", "a character that no word, number or sign contains"),
    ("unknown-escape", "a backslash in a string is followed by something that has no meaning there"),
    ("unterminated-comment", "a block comment does not end"),
    ("unterminated-string", "a string does not end on its line"),
    ("xdf-ignored", "an XDF file contains something that has no effect here"),
    ("xdf-structure", "an XDF file is XML, but its elements or attributes are not those of XDF"),
    ("xml-error", "an XDF file is not well-formed XML"),
];

/// The line of [`SLUGS`] for a slug.
pub fn describe(slug: &str) -> Option<&'static str> {
    SLUGS.iter().find(|(name, _)| *name == slug).map(|(_, line)| *line)
}
