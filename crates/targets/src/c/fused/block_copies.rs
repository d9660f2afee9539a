//! Code generation for block copies: token after token that goes to a list is one copy of memory. Bytes that fill no block
//! are moved at once to where they wait.

use super::Writer;
use super::ports::literal;
use super::template::Template;
use crate::c::kernel::{Names as _, element_type};
use headrace_transform::control::BlockCopy;
use headrace_transform::kernel::graph::mask;
use std::fmt::Write as _;

impl Writer<'_> {
    /// Copies as many tokens as there are, as counters allow and as the list has places, where these are several.
    pub(super) fn block_copy(&self, copy: &BlockCopy, state: usize) -> Template {
        let names = self.names(Vec::new());
        let room = self.room(&copy.transition.consumes, &copy.transition.produces);
        let mut text = Template::from(room.text);
        text.push_str(&self.bounds(&self.automaton.graph, format!("{}_table", self.prefix), &copy.trips));
        text.push_str("            size_t at_;\n            {\n");
        text.push_str(&self.statements(&[], vec![("at_".to_owned(), copy.at)], 3));
        let window = self.window(&format!("in_{}", self.network.inputs[copy.port].name));
        let place = names.element(self.automaton.object(copy.list), "at_");
        let _ = write!(
            text,
            "            }}\n            bound = {} - at_;\n            iterations = bound < iterations ? bound : iterations;\n            if (iterations > 1) {{\n                hr_copy_few(&{place}, {window}, iterations);\n",
            copy.end
        );
        for one in &copy.counters {
            let object = self.automaton.object(one.object);
            let (element, ty) = (names.element(object, &one.index.to_string()), element_type(object.width));
            let word = element_type(object.width.max(u32::BITS));
            let (step, kept) = (literal(one.step), literal(mask(one.width)));
            let _ = writeln!(
                text,
                "                {element} = ({ty})(({element} + {step} * ({word})iterations) & {kept});"
            );
        }
        text.push_str(&room.takes);
        text.push_str("                ");
        text.append(self.go_to(state, ""));
        text.push_str("\n            }\n        }\n");
        text
    }
}
