//! A self-contained HTML page with tables and bars.

use std::fmt::Write as _;

/// One line of the demonstration: what was tried and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// What was run.
    pub name: String,
    /// True when the output equals the independent implementation's; `None` when there was nothing to compare it with, or
    /// when it was not run, for the reason in `note`.
    pub verified: Option<bool>,
    /// Bytes encrypted.
    pub bytes: u64,
    /// Megabytes a second; no number when it was not run.
    pub mb_per_s: f64,
    /// As a part of the independent implementation's speed.
    pub ratio: f64,
    /// What else there is to say.
    pub note: String,
}

impl Trial {
    /// What was not run, for this reason.
    pub fn not_run(name: String, why: impl Into<String>) -> Self {
        Self { name, verified: None, bytes: 0, mb_per_s: f64::NAN, ratio: f64::NAN, note: why.into() }
    }

    /// Whether it was run.
    pub fn ran(&self) -> bool {
        self.mb_per_s.is_finite()
    }
}

/// Text as HTML.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

pub(crate) const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5c6b7d; --line: #d9e0e8; --paper: #ffffff; --bar: #2f6fb3; --good: #1c7a45; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf3; --soft: #9aa9ba; --line: #334150; --paper: #12181f; --bar: #6aa6e8; --good: #5fcf93; --bad: #ff8a80; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 68rem; margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; } p.lead { color: var(--soft); margin-top: 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; } th, td { padding: .45rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { font-weight: 600; color: var(--soft); font-size: .88rem; } td.n, th.n { text-align: right; white-space: nowrap; } .yes, .no { white-space: nowrap; } .yes { color: var(--good); font-weight: 600; } .no { color: var(--bad); font-weight: 600; } .off { color: var(--soft); }
.bar { background: var(--bar); height: .6rem; border-radius: .3rem; min-width: 2px; } td.graph { width: 22%; } figure { margin: 1rem 0; overflow-x: auto; } figure svg { max-width: 100%; height: auto; } code { font-size: .92em; }
.scroll { overflow-x: auto; }
";

/// The report of the demonstration. `picture` is SVG; `about` are paragraphs of plain text.
pub fn demonstration(title: &str, lead: &str, trials: &[Trial], picture: &str, about: &[String]) -> String {
    let fastest = trials.iter().map(|trial| trial.mb_per_s).filter(|speed| speed.is_finite()).fold(1.0, f64::max);
    let slowest = trials.iter().map(|trial| trial.mb_per_s).filter(|speed| *speed > 0.0).fold(fastest, f64::min);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0}</title><style>{STYLE}</style></head><body>\n<h1>{0}</h1>\n<p class=\"lead\">{1}</p>\n<div class=\"scroll\"><table><thead><tr>\
         <th>what ran</th><th>verified</th><th class=\"n\">bytes</th><th class=\"n\">MB/s</th><th class=\"n\">ratio</th><th>speed, logarithmic</th></tr></thead><tbody>\n",
        escape(title),
        escape(lead)
    );
    for trial in trials {
        let (class, word) = match trial.verified {
            Some(true) => ("yes", "✔ identical"),
            Some(false) => ("no", "✘ differs"),
            None if trial.ran() => ("off", "not compared"),
            None => ("off", "not run"),
        };
        let length = if trial.mb_per_s > 0.0 && fastest > slowest {
            5.0 + 95.0 * (trial.mb_per_s / slowest).ln() / (fastest / slowest).ln()
        } else {
            0.0
        };
        let figure = |value: f64| if trial.ran() { crate::tables::figure(value) } else { "–".into() };
        let note = if trial.note.is_empty() {
            String::new()
        } else {
            format!("<br><span class=\"off\">{}</span>", escape(&trial.note))
        };
        let _ = writeln!(
            page,
            "<tr><td>{}{note}</td><td class=\"{class}\">{word}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"graph\"><div class=\"bar\" style=\"width:{length:.1}%\"></div></td></tr>",
            escape(&trial.name),
            figure(trial.bytes as f64),
            figure(trial.mb_per_s),
            figure(trial.ratio)
        );
    }
    page.push_str("</tbody></table></div>\n");
    if !picture.is_empty() {
        let _ = write!(page, "<h2>The network</h2>\n<figure>{picture}</figure>\n");
    }
    for paragraph in about {
        let _ = writeln!(page, "<p>{}</p>", escape(paragraph));
    }
    page.push_str("</body></html>\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let trial = Trial {
            name: "<b>&".into(),
            verified: Some(false),
            bytes: 5,
            mb_per_s: 2.0,
            ratio: 0.5,
            note: "\"'".into(),
        };
        let page = demonstration("<title>", "<lead>", &[trial], "", &["<p>".into()]);
        assert!(page.contains("&lt;b&gt;&amp;") && page.contains("&quot;&#39;"));
        assert!(!page.contains("<b>") && !page.contains("<lead>"));
        assert!(page.contains("✘ differs"));
    }

    #[test]
    fn what_did_not_run_and_what_was_not_compared_are_told_apart() {
        let alone = Trial {
            name: "alone".into(),
            verified: None,
            bytes: 5,
            mb_per_s: 2.0,
            ratio: f64::NAN,
            note: String::new(),
        };
        let page = demonstration("", "", &[Trial::not_run("absent".into(), "no such program"), alone], "", &[]);
        let (absent, alone) = (page.find("absent").expect("a row"), page.find("alone").expect("a row"));
        assert!(page[absent..alone].contains("not run") && page[absent..alone].contains("no such program"));
        assert!(page[alone..].contains("not compared") && page[alone..].contains(">2.00<"));
    }
}
