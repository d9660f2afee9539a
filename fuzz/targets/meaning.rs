//! Hands a text to the front end, on its own: whatever the text, it ends with a verdict.

use crate::checks;
use headrace_frontend::{Session, SourceKind, SourceProvider, SourceText, Top};

/// Has one other entity to offer, so that names can resolve.
struct Offer;

const UNIT: &str = "package lib;\nunit U :\n  uint(size=8) K = 3;\n  uint(size=8) T[4] = [1, 2, 3, 4];\n  \
    function f(int x) --> int : if x <= 0 then 0 else f(x - 1) end end\n  \
    procedure p(uint(size=8) a[4]) begin a[0] := 1; end\nend\n";

const ACTOR: &str = "package lib;\nactor A(int n = 1) uint(size=8) In ==> uint(size=8) Out :\n  \
    action In:[x] ==> Out:[x + n] end\nend\n";

impl SourceProvider for Offer {
    fn find(&self, name: &str) -> Result<Option<SourceText>, String> {
        let text = match name {
            "lib.U" => UNIT,
            "lib.A" => ACTOR,
            _ => return Ok(None),
        };
        Ok(Some(SourceText { display: name.to_owned(), text: text.to_owned(), kind: SourceKind::Cal }))
    }

    fn similar(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }

    fn places(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Checks the entity in a text.
pub fn check(text: &str, kind: SourceKind) {
    let mut session = Session::new();
    let source = SourceText { display: "fuzz".to_owned(), text: text.to_owned(), kind };
    headrace_frontend::check(&mut session, &Offer, &Top::Source(source, None));
    for problem in session.take_diagnostics() {
        for label in problem.primary.iter().chain(&problem.secondary) {
            checks::place(session.sources.text(label.span.file), label.span, &problem);
        }
    }
}
