//! Code generation for statements. Statements: structured control stays what it is.

use super::code::{Address, Base, Code, value};
use super::memory::NATIVE;
use headrace_program::{Argument, Expr, FunctionId, Label, NativeArgument, Place, Print, Stmt, Type, VariableId};

/// Most bytes that are moved word by word: the instructions for memory are calls in today's engines.
pub(super) const MOST_UNROLLED: u64 = 128;

/// The words that so many bytes have, the widest first, and where each lies.
fn words(n_bytes: u64) -> Vec<(u32, Type)> {
    let mut words = Vec::new();
    let mut at = 0;
    for ty in [Type::U64, Type::U32, Type::U16, Type::U8] {
        while n_bytes - at >= u64::from(ty.bytes()) {
            words.push((at as u32, ty));
            at += u64::from(ty.bytes());
        }
    }
    words
}

impl Code<'_> {
    pub(super) fn block(&mut self, block: &[Stmt]) {
        block.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Assign(place, own) => self.line(&self.assigned(place, &self.expr(own))),
            Stmt::Store(place, index, own) => {
                let (address, ty) = self.element(place, index);
                self.line(&Self::store(ty, &address, &self.expr(own)));
            }
            // As `Has` says.
            Stmt::Vector(_) => {}
            Stmt::StoreWord(place, index, own, order) => self.store_word(place, index, own, *order),
            Stmt::Lanes { lane, count, body } => self.lanes(*lane, *count, body),
            Stmt::Copy { target, at, source, from, count } => self.copy(target, at, source, from, count),
            Stmt::Fill { target, at, count, value } => self.fill(target, at, count, value),
            Stmt::If(condition, yes, no) => {
                self.open(&format!("(if {}", self.expr(condition)));
                for (name, block) in [("(then", yes), ("(else", no)] {
                    if name == "(then" || !block.is_empty() {
                        self.open(name);
                        self.block(block);
                        self.close();
                    }
                }
                self.close();
            }
            Stmt::While(label, condition, body) => self.repeat(*label, Some(condition), body),
            Stmt::Loop(label, body) => self.repeat(*label, None, body),
            Stmt::Break(label) => self.jump(*label, "end"),
            Stmt::Continue(label) => self.jump(*label, "loop"),
            Stmt::Switch(over, cases, rest) => self.switch(over, cases, rest),
            Stmt::Call { result, function, arguments } => self.call(*result, *function, arguments),
            Stmt::Return(own) => {
                let own = own.as_ref().map_or(String::new(), |own| format!(" {}", self.expr(own)));
                self.leave();
                self.line(&format!("(return{own})"));
            }
            Stmt::Print(print) => self.print(print),
            Stmt::Native { native, arguments, result, stopped } => {
                self.native(*native, arguments, *result, *stopped);
            }
        }
    }

    /// Gives the arrays of the function back. What they hold is there until the next call.
    pub(super) fn leave(&mut self) {
        if self.frame.bytes > 0 {
            let bytes = self.frame.bytes;
            self.line(&format!("(global.set $stack (i32.add (global.get $stack) (i32.const {bytes})))"));
        }
    }

    // --- control ---

    fn repeat(&mut self, label: Label, condition: Option<&Expr>, body: &[Stmt]) {
        let number = self.number();
        self.open(&format!("(block $end.{number}"));
        self.open(&format!("(loop $loop.{number}"));
        if let Some(condition) = condition {
            self.line(&format!("(br_if $end.{number} {})", self.expr(&condition.clone().negated())));
        }
        self.around.push((label, number));
        self.block(body);
        self.around.pop();
        self.line(&format!("(br $loop.{number})"));
        self.close();
        self.close();
    }

    fn jump(&mut self, label: Label, to: &str) {
        if let Some((_, number)) = self.around.iter().rev().find(|(own, _)| *own == label) {
            self.line(&format!("(br ${to}.{number})"));
        }
    }

    fn switch(&mut self, over: &Expr, cases: &[(u32, Vec<Stmt>)], rest: &[Stmt]) {
        let number = self.number();
        let name = |case: u32| format!("$case.{number}.{case}");
        let (end, other) = (format!("$end.{number}"), format!("$else.{number}"));
        self.open(&format!("(block {end}"));
        self.open(&format!("(block {other}"));
        // The innermost block is that of the first case: where it ends, its statements follow.
        for (case, _) in cases.iter().rev() {
            self.open(&format!("(block {}", name(*case)));
        }
        let over = self.expr(over);
        let (least, most) = (cases.iter().map(|case| case.0).min(), cases.iter().map(|case| case.0).max());
        let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
        if (most - least) as usize <= 4 * cases.len() + 16 {
            let labels: Vec<String> = (least..=most)
                .map(|value| if cases.iter().any(|case| case.0 == value) { name(value) } else { other.clone() })
                .collect();
            let over = if least == 0 { over } else { format!("(i32.sub {over} (i32.const {}))", least as i32) };
            self.line(&format!("(br_table {} {other} {over})", labels.join(" ")));
        } else {
            let local = format!("$switch.{number}");
            self.locals.push(format!("(local {local} i32)"));
            self.line(&format!("(local.set {local} {over})"));
            for (case, _) in cases {
                let is_it = format!("(i32.eq (local.get {local}) (i32.const {}))", *case as i32);
                self.line(&format!("(br_if {} {is_it})", name(*case)));
            }
            self.line(&format!("(br {other})"));
        }
        for (_, block) in cases {
            self.close();
            self.block(block);
            self.line(&format!("(br {end})"));
        }
        self.close();
        self.block(rest);
        self.close();
    }

    // --- arrays ---

    fn bytes_of(&self, ty: Type, count: &Expr) -> String {
        match count.constant() {
            Some(count) => format!("(i32.const {})", count * u64::from(ty.bytes())),
            None if ty.bytes() == 1 => self.expr(count),
            None => format!("(i32.shl {} (i32.const {}))", self.expr(count), ty.bytes().trailing_zeros()),
        }
    }

    fn copy(&mut self, target: &Place, at: &Expr, source: &Place, from: &Expr, count: &Expr) {
        let ((to, ty), (other, _)) = (self.element(target, at), self.element(source, from));
        if count.constant() == Some(1) {
            return self.line(&Self::store(ty, &to, &Self::load(ty, &other)));
        }
        let n_bytes = count.constant().map(|count| count * u64::from(ty.bytes()));
        if let Some(n_bytes) = n_bytes.filter(|&n_bytes| n_bytes <= MOST_UNROLLED)
            && !target.overlaps(source)
        {
            let (to, other) = (self.kept(to), self.kept(other));
            for (at, ty) in words(n_bytes) {
                let value = Self::load(ty, &other.plus(at));
                self.line(&Self::store(ty, &to.plus(at), &value));
            }
            return;
        }
        let bytes = self.bytes_of(ty, count);
        self.line(&format!("(memory.copy {} {} {bytes})", to.text(), other.text()));
    }

    /// The address, with its base in a local where it is more than that.
    fn kept(&mut self, address: Address) -> Address {
        if !matches!(address.base, Base::Long(_)) {
            return address;
        }
        let local = format!("$at.{}", self.number());
        self.locals.push(format!("(local {local} i32)"));
        self.line(&format!("(local.set {local} {})", address.base.text()));
        Address { base: Base::Short(format!("(local.get {local})")), ..address }
    }

    /// Stores zeros.
    pub(super) fn cleared(&mut self, address: Address, n_bytes: u64) {
        let address = self.kept(address);
        for (at, ty) in words(n_bytes) {
            self.line(&Self::store(ty, &address.plus(at), &super::expression::constant(0, ty)));
        }
    }

    fn fill(&mut self, target: &Place, at: &Expr, count: &Expr, own: &Expr) {
        let (to, ty) = self.element(target, at);
        let n_bytes = count.constant().map(|count| count * u64::from(ty.bytes()));
        if let (Some(0), Some(n_bytes)) = (own.constant(), n_bytes.filter(|&n_bytes| n_bytes <= MOST_UNROLLED)) {
            return self.cleared(to, n_bytes);
        }
        if own.constant() == Some(0) || ty.bytes() == 1 {
            let byte = if ty.bytes() == 1 { self.expr(own) } else { "(i32.const 0)".to_owned() };
            return self.line(&format!("(memory.fill {} {byte} {})", to.text(), self.bytes_of(ty, count)));
        }
        let number = self.number();
        let [next, last, what] = ["next", "last", "value"].map(|part| format!("$fill.{number}.{part}"));
        self.locals.push(format!("(local {next} i32) (local {last} i32) (local {what} {})", value(ty)));
        self.line(&format!("(local.set {what} {})", self.expr(own)));
        self.line(&format!("(local.set {next} {})", to.text()));
        self.line(&format!("(local.set {last} (i32.add (local.get {next}) {}))", self.bytes_of(ty, count)));
        self.open(&format!("(block $end.{number}"));
        self.open(&format!("(loop $loop.{number}"));
        self.line(&format!("(br_if $end.{number} (i32.ge_u (local.get {next}) (local.get {last})))"));
        let here = Address { base: Base::Short(format!("(local.get {next})")), offset: 0 };
        self.line(&Self::store(ty, &here, &format!("(local.get {what})")));
        self.line(&format!("(local.set {next} (i32.add (local.get {next}) (i32.const {})))", ty.bytes()));
        self.line(&format!("(br $loop.{number})"));
        self.close();
        self.close();
    }

    // --- calls ---

    pub(super) fn variable(&self, variable: VariableId) -> &str {
        &self.function.variables[variable.index()].name
    }

    fn call(&mut self, result: Option<VariableId>, id: FunctionId, arguments: &[Argument]) {
        let callee = self.shared.module.function(id);
        let given: String = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Value(own) => format!(" {}", self.expr(own)),
                Argument::Reference(place) => format!(" {}", self.locate(place).0.text()),
            })
            .collect();
        let call = format!("(call ${}{given})", callee.name);
        self.line(&match (callee.result, result) {
            (None, _) => call,
            (Some(_), None) => format!("(drop {call})"),
            (Some(_), Some(variable)) => format!("(local.set ${} {call})", self.variable(variable)),
        });
    }

    fn print(&mut self, print: &Print) {
        let text = match print {
            Print::Text(text) => {
                let (texts, ends) = (self.shared.memory.texts, self.shared.memory.text_ends);
                let number = self.number();
                let local = format!("$text.{number}");
                self.locals.push(format!("(local {local} i32)"));
                self.line(&format!("(local.set {local} (i32.shl {} (i32.const 2)))", self.expr(text)));
                let start = format!("(i32.load offset={ends} (local.get {local}))");
                let end = format!("(i32.load offset={} (local.get {local}))", ends + 4);
                format!("(call $host.print (i32.add {start} (i32.const {texts})) (i32.sub {end} {start}))")
            }
            Print::Bytes(place, from, count) => {
                let (address, _) = self.element(place, from);
                format!("(call $host.print {} {})", address.text(), self.expr(count))
            }
            Print::Real(own, format) => {
                let bits = format.bits();
                format!("(call $host.print_real {} (i32.const {bits}))", self.expr(own))
            }
        };
        self.line(&text);
    }

    /// Each argument has 16 bytes: whether it is a list and how many bytes that has, and its value or address.
    fn native(&mut self, native: u32, arguments: &[NativeArgument], result: Option<VariableId>, stopped: VariableId) {
        for (number, argument) in arguments.iter().enumerate() {
            let at = NATIVE + 16 * (1 + number as u32);
            match argument {
                NativeArgument::Value(own) => {
                    self.line(&format!("(i32.store (i32.const {at}) (i32.const 0))"));
                    self.line(&format!("(i64.store (i32.const {}) {})", at + 8, self.expr(own)));
                }
                NativeArgument::Bytes(place, from, count) => {
                    let (address, _) = self.element(place, from);
                    self.line(&format!("(i32.store (i32.const {at}) (i32.const 1))"));
                    self.line(&format!("(i32.store (i32.const {}) {})", at + 4, self.expr(count)));
                    self.line(&format!("(i32.store (i32.const {}) {})", at + 8, address.text()));
                }
            }
        }
        let call = format!(
            "(call $host.native (i32.const {native}) (i32.const {}) (i32.const {}))",
            NATIVE + 16,
            arguments.len()
        );
        self.line(&match result {
            Some(variable) => format!("(local.set ${} {call})", self.variable(variable)),
            None => format!("(drop {call})"),
        });
        let is_stopped = format!("(i32.ne (i32.load (i32.const {NATIVE})) (i32.const 0))");
        self.line(&format!("(local.set ${} {is_stopped})", self.variable(stopped)));
    }
}
