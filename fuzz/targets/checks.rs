//! What every reader promises of the problems it reports.

use headrace_source::{Diagnostic, Severity, Span};

/// Spans lie in the text, on character boundaries; returns whether there was an error.
pub fn problems(text: &str, problems: &[Diagnostic]) -> bool {
    for problem in problems {
        for label in problem.primary.iter().chain(&problem.secondary) {
            place(text, label.span, problem);
        }
        assert!(!problem.message.is_empty(), "{problem:?}");
    }
    problems.iter().any(|problem| problem.severity == Severity::Error)
}

/// The span lies in the text, on character boundaries.
pub fn place(text: &str, span: Span, problem: &Diagnostic) {
    let (start, end) = (span.start as usize, span.end as usize);
    assert!(start <= end, "{problem:?}");
    assert!(text.get(start..end).is_some(), "{problem:?} is outside the text or inside a character");
}
