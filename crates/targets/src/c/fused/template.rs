//! Templates: code with holes, which are filled when it is settled where the code stands. What a hole asks for is a value, not a
//! mark in the code, so that nobody looks for it there.

use std::fmt;

/// What is left open in the code of a state until it is settled which function that stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hole {
    /// Going to a state.
    Go(usize),
    /// The number of the state itself, as an expression.
    Here(usize),
}

#[derive(Clone, Debug)]
enum Part {
    Code(String),
    Hole(Hole),
}

/// Code with holes. It is written to as a string is.
#[derive(Clone, Debug, Default)]
pub(super) struct Template(Vec<Part>);

impl Template {
    /// Code goes on.
    pub(super) fn push_str(&mut self, code: &str) {
        match self.0.last_mut() {
            _ if code.is_empty() => {}
            Some(Part::Code(last)) => last.push_str(code),
            _ => self.0.push(Part::Code(code.to_owned())),
        }
    }

    /// A hole comes next.
    pub(super) fn leave(&mut self, hole: Hole) {
        self.0.push(Part::Hole(hole));
    }

    /// Another template comes next.
    pub(super) fn append(&mut self, other: Template) {
        for part in other.0 {
            match part {
                Part::Code(code) => self.push_str(&code),
                Part::Hole(hole) => self.leave(hole),
            }
        }
    }

    /// The holes, in order.
    pub(super) fn holes(&self) -> impl Iterator<Item = Hole> {
        self.0.iter().filter_map(|part| match part {
            Part::Code(_) => None,
            Part::Hole(hole) => Some(*hole),
        })
    }

    /// The code with its holes filled, one after the other.
    pub(super) fn filled(&self, mut fill: impl FnMut(Hole) -> String) -> String {
        let mut done = String::new();
        for part in &self.0 {
            match part {
                Part::Code(code) => done.push_str(code),
                Part::Hole(hole) => done.push_str(&fill(*hole)),
            }
        }
        done
    }
}

impl From<String> for Template {
    fn from(code: String) -> Template {
        Template(vec![Part::Code(code)])
    }
}

impl fmt::Write for Template {
    fn write_str(&mut self, code: &str) -> fmt::Result {
        self.push_str(code);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    #[test]
    fn holes_are_filled_in_the_order_of_the_code() {
        let mut template = Template::from("a ".to_owned());
        template.leave(Hole::Go(12));
        let mut more = Template::default();
        let _ = write!(more, " b = {};", 3);
        more.leave(Hole::Here(3));
        template.append(more);
        let mut met = Vec::new();
        let filled = template.filled(|hole| {
            met.push(hole);
            met.len().to_string()
        });
        assert_eq!(filled, "a 1 b = 3;2");
        assert_eq!(met, [Hole::Go(12), Hole::Here(3)]);
        assert_eq!(template.holes().collect::<Vec<_>>(), met);
    }
}
