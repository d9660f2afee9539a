//! Control-step extraction: statements as the steps of a state machine.

use crate::code::Code;
use crate::depth::depth;
use crate::place::Location;
use crate::step::{self, Step};
use headrace_analysis::assigned;
use headrace_analysis::ranges::of_scalar;
use headrace_ir::{self as ir, Int, IntType, LocalId, Scalar, StmtKind};
use headrace_rtl::{CompareOp, Expr};

impl<'a> Code<'a> {
    /// Statements, one after the other.
    pub(crate) fn block(&mut self, statements: &[ir::Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &ir::Stmt) {
        match &statement.kind {
            StmtKind::Assign(place, value) => {
                let scalar = self.type_of(place.root).element;
                if scalar == Scalar::String {
                    // Only prints could read it.
                    return;
                }
                let node = self.node(value);
                // The value first; what the place needs cannot change it.
                let value = self.value_as(&node, scalar);
                let location = self.locate(place);
                self.store(&location, value);
            }
            StmtKind::Copy { target, source, convert } => self.copy(target, source, *convert),
            StmtKind::If(condition, yes, no) => {
                let node = self.node(condition);
                let condition = self.truth(&node);
                let ((), yes) = self.inside(|code| code.block(yes));
                let ((), no) = self.inside(|code| code.block(no));
                self.push_if(condition, yes, no);
            }
            StmtKind::While { before, condition, body } => {
                let (condition, before) = self.inside(|code| {
                    code.block(before);
                    let node = code.node(condition);
                    code.truth(&node)
                });
                let ((), body) = self.inside(|code| code.block(body));
                self.push(Step::While { before, condition, body });
            }
            StmtKind::Foreach { variable, low, high, body } => self.foreach(*variable, low, high, body),
            StmtKind::Call { result, procedure, arguments } => {
                self.call_statement(*result, *procedure, arguments, statement.span);
            }
            StmtKind::CallNative { native, .. } => {
                let name = &self.actor.natives[native.index()].name;
                let what = format!("native procedures such as `{name}`");
                let instead = "read from an input port and write to an output port instead, and connect these to the world outside";
                self.unsupported(statement.span, &what, instead);
            }
            // What is printed has no place in hardware.
            StmtKind::Print { .. } => self.prints = true,
        }
    }

    /// Copies a list, at once where both lie in signals, else element by element.
    fn copy(&mut self, target: &ir::Place, source: &ir::Place, convert: Option<Scalar>) {
        let n = self.type_of(source.root).after_indices(source.indices.len()).len() as u32;
        let from = self.locate(source);
        let to = self.locate(target);
        let same = from.home.element == to.home.element && convert.is_none();
        if same
            && let Some(value) = self.load_all(&from, n)
            && self.store_all(&to, n, value)
        {
            return;
        }
        self.copy_elements(&to, &from, n);
    }

    /// Copies so many elements, converted as by a store, one after the other.
    pub(crate) fn copy_elements(&mut self, to: &Location, from: &Location, n: u32) {
        let fixed = |code: &mut Self, location: &Location| {
            let at = code.named("from", location.at.clone());
            Location { home: location.home.clone(), at }
        };
        let (to, from) = (fixed(self, to), fixed(self, from));
        let signed = matches!(from.home.element, Scalar::Int(IntType { signed: true, .. }));
        let width = to.home.width;
        self.count("i", n, |code, i| {
            let value = code.load(&from.behind(i.clone()));
            code.store(&to.behind(i), value.resized(signed, width));
        });
    }

    /// Does something for all numbers below `n`: written out where that is short, else in a loop.
    pub(crate) fn count(&mut self, like: &str, n: u32, mut of: impl FnMut(&mut Self, Expr)) {
        let bits = headrace_rtl::index_bits(u64::from(n) + 1).max(1);
        if n <= self.options.unrolled_iterations {
            let ((), all) = self.inside(|code| (0..n).for_each(|i| of(code, Expr::number(bits, u64::from(i)))));
            if step::all_simple(&all) && step::size(&all) <= self.options.unrolled_steps {
                return self.steps.extend(all);
            }
        }
        let counter = self.variable(&format!("{}{like}", self.prefix), bits);
        self.push(Step::Set(counter, Expr::number(bits, 0)));
        let now = self.get(counter);
        let ((), mut body) = self.inside(|code| of(code, now.clone()));
        body.push(Step::Set(counter, now.clone().plus(Expr::number(bits, 1))));
        let again = Expr::compare(CompareOp::Less, now, Expr::number(bits, u64::from(n)));
        self.push(Step::Repeat { body, again });
    }

    fn foreach(&mut self, variable: LocalId, low: &ir::Expr, high: &ir::Expr, body: &[ir::Stmt]) {
        let (low, high) = (self.node(low), self.node(high));
        let Scalar::Int(ty) = self.type_of(ir::Root::Local(variable)).element else { return };
        if low.range.low > high.range.high {
            return;
        }
        let is_fixed = !assigned::in_block(body, variable.index()).written && low.range.join(&high.range).fits(ty);
        if let (Some(first), Some(last), true) = (low.single(), high.single(), is_fixed)
            && self.written_out(variable, first, last, body)
        {
            return;
        }
        let first_and_last = low.single().cloned().zip(high.single().cloned());
        // Word for word what the loop means. Both bounds are kept, in one width that holds the variable, too.
        let all = low.range.join(&high.range).join(&of_scalar(Scalar::Int(ty)));
        let (width, signed) = crate::node::bits_of(&all);
        let first = self.low(&low, width);
        let first = self.named("first", first);
        let last = self.low(&high, width);
        let last = self.named("last", last);
        let less_equal = if signed { CompareOp::LessEqualSigned } else { CompareOp::LessEqual };
        let condition = Expr::compare(less_equal, first.clone(), last.clone());
        let condition = if low.range.high <= high.range.low { Expr::bit(true) } else { condition };
        let (home, _) = self.root_home(ir::Root::Local(variable));
        let Scalar::Int(kept) = home.element else { return };
        let place = Location { at: Expr::number(home.index_width(), 0), home };
        let more = self.variable(&format!("{}more", self.prefix), 1);
        let ((), all) = self.inside(|code| {
            code.store(&place, first.resized(false, place.home.width));
            let of_constants = first_and_last.filter(|_| is_fixed);
            let n = of_constants.and_then(|(first, last)| last.sub(&first).add(&Int::from(1i64)).to_u64());
            let mut iteration = code.iterations(&place, n.unwrap_or(1), body);
            let now = code.load(&place);
            let done = Expr::compare(less_equal, last.clone(), now.clone().resized(kept.signed, width));
            let ((), next) = code.inside(|code| code.store(&place, now.clone().plus(Expr::number(now.width, 1))));
            iteration.push(Step::Set(more, done.inverted()));
            let again = code.get(more);
            iteration.push(Step::If(again.clone(), next, Vec::new()));
            code.push(Step::Repeat { body: iteration, again });
        });
        self.push_if(condition, all, Vec::new());
    }

    /// Iterations of a loop that a cycle does: as many of its `n` as that is a multiple of, and as have few levels of logic.
    fn iterations(&mut self, place: &Location, n: u64, body: &[ir::Stmt]) -> Vec<Step> {
        let ((), one) = self.inside(|code| code.block(body));
        let (mut all, mut most) = (one.clone(), one);
        for count in 2..=n.min(u64::from(self.options.loop_levels)) {
            let ((), next) = self.inside(|code| {
                let now = code.load(place);
                let width = now.width;
                code.store(place, now.plus(Expr::number(width, 1)));
                code.block(body);
            });
            all.extend(next);
            let is_short = step::all_simple(&all) && step::size(&all) <= self.options.unrolled_steps;
            if !is_short || depth(&all) > self.options.loop_levels {
                break;
            }
            if n.is_multiple_of(count) {
                most.clone_from(&all);
            }
        }
        most
    }

    /// Writes all iterations of a loop out, where that takes one cycle and is short; says whether.
    fn written_out(&mut self, variable: LocalId, first: &Int, last: &Int, body: &[ir::Stmt]) -> bool {
        let iterations = last.sub(first).add(&Int::from(1i64)).to_u64().unwrap_or(u64::MAX);
        if iterations > u64::from(self.options.unrolled_iterations) {
            return false;
        }
        let unfixed = self.frame.slots[variable.index()].clone();
        let mut levels_of_one = 0;
        let ((), all) = self.inside(|code| {
            for iteration in 0..iterations {
                code.fix(variable, &first.add(&Int::from(iteration)));
                code.block(body);
                if iteration == 0 {
                    levels_of_one = depth(&code.steps);
                }
                if step::size(&code.steps) > code.options.unrolled_steps || !step::all_simple(&code.steps) {
                    break;
                }
            }
        });
        self.frame.slots[variable.index()] = unfixed;
        let most_levels = self.options.chained_levels.max(2 * levels_of_one);
        let fits =
            step::size(&all) <= self.options.unrolled_steps && step::all_simple(&all) && depth(&all) <= most_levels;
        if !fits {
            return false;
        }
        self.steps.extend(all);
        // What comes behind may read it: it has its last value.
        let (home, _) = self.root_home(ir::Root::Local(variable));
        let place = Location { at: Expr::number(home.index_width(), 0), home };
        let width = place.home.width;
        self.store(&place, Expr::constant(headrace_rtl::Bits::of_signed(width, &last.to_big())));
        true
    }
}
