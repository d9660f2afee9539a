//! Control flow: structured statements become basic blocks.

use super::code::{Around, Code, Shared, Spot};
use super::types::{given, memory, result as result_type, value};
use headrace_program::{
    Argument, Expr, FunctionId, Label, NativeArgument, Place, Print, Stmt, Type, VariableId, VariableKind,
};

impl Code<'_> {
    /// Statements, as far as they can be reached.
    pub(super) fn block(&mut self, block: &[Stmt]) {
        for statement in block {
            if !self.is_live {
                return;
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Assign(place, own) => {
                let operand = self.value(own);
                let spot = self.scalar(place, own.ty);
                self.store(&spot, &operand);
            }
            Stmt::Store(place, index, own) => {
                let operand = self.value(own);
                let spot = self.spot(place, index);
                self.store(&spot, &operand);
            }
            Stmt::Vector(statement) => self.vector(statement),
            Stmt::StoreWord(place, index, own, order) => self.store_word(place, index, own, *order),
            Stmt::Lanes { lane, count, body } => self.lanes(*lane, *count, body),
            Stmt::Copy { target, at, source, from, count } => self.copy(target, at, source, from, count),
            Stmt::Fill { target, at, count, value } => self.fill(target, at, count, value),
            Stmt::If(condition, yes, no) => self.choice(condition, yes, no),
            Stmt::While(label, condition, body) => self.repeat(*label, Some(condition), body),
            Stmt::Loop(label, body) => self.repeat(*label, None, body),
            Stmt::Break(label) => self.jump(*label, true),
            Stmt::Continue(label) => self.jump(*label, false),
            Stmt::Switch(over, cases, rest) => self.switch(over, cases, rest),
            Stmt::Call { result, function, arguments } => self.call(*result, *function, arguments),
            Stmt::Return(None) => {
                self.line("ret void");
                self.is_live = false;
            }
            Stmt::Return(Some(own)) => {
                let operand = self.value(own);
                self.line(&format!("ret {} {operand}", value(own.ty)));
                self.is_live = false;
            }
            Stmt::Print(print) => self.print(print),
            Stmt::Native { native, arguments, result, stopped } => {
                self.native(*native, arguments, *result, *stopped);
            }
        }
    }

    // --- control ---

    fn choice(&mut self, condition: &Expr, yes: &[Stmt], no: &[Stmt]) {
        if let Some(holds) = self.settled(condition) {
            return self.block(if holds { yes } else { no });
        }
        let number = self.blocks();
        let [then, other, end] = ["then", "else", "end"].map(|part| format!("if.{number}.{part}"));
        let condition = self.value(condition);
        let mut is_reached = no.is_empty();
        self.branch(&condition, &then, if no.is_empty() { &end } else { &other });
        for (name, block) in [(&then, yes), (&other, no)] {
            if block.is_empty() && name == &other {
                continue;
            }
            self.begin(name);
            self.block(block);
            is_reached |= self.is_live;
            self.go(&end);
        }
        if is_reached {
            self.begin(&end);
        }
    }

    /// A loop that ends when its condition does not hold, where it has one, or by a jump.
    fn repeat(&mut self, label: Label, condition: Option<&Expr>, body: &[Stmt]) {
        let number = self.blocks();
        let (next, end) = (format!("loop.{number}"), format!("loop.{number}.end"));
        self.go(&next);
        self.begin(&next);
        if let Some(condition) = condition {
            let inside = format!("loop.{number}.body");
            let condition = self.value(condition);
            self.branch(&condition, &inside, &end);
            self.begin(&inside);
        }
        self.around.push(Around { label, next: next.clone(), end: end.clone(), is_left: condition.is_some() });
        self.block(body);
        self.go(&next);
        if self.around.pop().is_some_and(|around| around.is_left) {
            self.begin(&end);
        }
    }

    /// A loop that counts.
    fn lanes(&mut self, lane: VariableId, count: u32, body: &[Stmt]) {
        let number = self.blocks();
        let [next, end] = ["next", "end"].map(|part| format!("lanes.{number}.{part}"));
        self.assign(lane, "0");
        self.go(&next);
        self.begin(&next);
        self.block(body);
        let now = self.value(&Expr::read(Place::variable(lane), Type::U32));
        let more = self.define(&format!("add nuw nsw i32 {now}, 1"));
        self.assign(lane, &more);
        let again = self.define(&format!("icmp ult i32 {more}, {count}"));
        self.branch(&again, &next, &end);
        self.begin(&end);
        self.assign(lane, "0");
    }

    fn jump(&mut self, label: Label, leaves: bool) {
        let Some(around) = self.around.iter_mut().rev().find(|around| around.label == label) else { return };
        around.is_left |= leaves;
        let to = if leaves { around.end.clone() } else { around.next.clone() };
        self.go(&to);
    }

    fn switch(&mut self, over: &Expr, cases: &[(u32, Vec<Stmt>)], rest: &[Stmt]) {
        let number = self.blocks();
        let over = self.value(over);
        let name = |case: Option<u32>| match case {
            Some(case) => format!("switch.{number}.{case}"),
            None => format!("switch.{number}.else"),
        };
        let end = format!("switch.{number}.end");
        self.line(&format!("switch i32 {over}, label %{} [", name(None)));
        for (case, _) in cases {
            self.line(&format!("  i32 {case}, label %{}", name(Some(*case))));
        }
        self.line("]");
        let mut is_reached = false;
        let blocks = cases.iter().map(|(case, block)| (Some(*case), block.as_slice()));
        for (case, block) in blocks.chain([(None, rest)]) {
            self.begin(&name(case));
            self.block(block);
            is_reached |= self.is_live;
            self.go(&end);
        }
        if is_reached {
            self.begin(&end);
        }
    }

    // --- arrays ---

    /// How many bytes so many elements have.
    fn bytes_of(&mut self, ty: Type, count: &Expr) -> String {
        match count.constant() {
            Some(count) => (count * u64::from(ty.bytes())).to_string(),
            None => {
                let count = self.wide_index(count);
                if ty.bytes() == 1 { count } else { self.define(&format!("mul i64 {count}, {}", ty.bytes())) }
            }
        }
    }

    fn aligned(spot: &Spot) -> String {
        format!("ptr align {} {}", if spot.is_aligned { spot.ty.bytes() } else { 1 }, spot.pointer)
    }

    fn copy(&mut self, target: &Place, at: &Expr, source: &Place, from: &Expr, count: &Expr) {
        let (to, other) = (self.spot(target, at), self.spot(source, from));
        if count.constant() == Some(1) {
            let operand = self.load(&other);
            return self.store(&to, &operand);
        }
        let bytes = self.bytes_of(to.ty, count);
        let name = if target.overlaps(source) { "memmove" } else { "memcpy" };
        self.line(&format!(
            "call void @llvm.{name}.p0.p0.i64({}, {}, i64 {bytes}, i1 false)",
            Self::aligned(&to),
            Self::aligned(&other)
        ));
    }

    fn fill(&mut self, target: &Place, at: &Expr, count: &Expr, own: &Expr) {
        let operand = self.value(own);
        let to = self.spot(target, at);
        let operand = self.in_memory(own.ty, &operand);
        if own.constant() == Some(0) || own.ty.bytes() == 1 {
            let bytes = self.bytes_of(own.ty, count);
            let byte = if own.ty.bytes() == 1 { operand } else { "0".to_owned() };
            let target = Self::aligned(&to);
            return self.line(&format!("call void @llvm.memset.p0.i64({target}, i8 {byte}, i64 {bytes}, i1 false)"));
        }
        // One after the other: the number of those that were stored is a value that comes from two blocks.
        let number = self.blocks();
        let [before, next, inside, end] = ["before", "next", "body", "end"].map(|part| format!("fill.{number}.{part}"));
        let count = self.wide_index(count);
        self.go(&before);
        self.begin(&before);
        self.go(&next);
        self.begin(&next);
        let index = format!("%.fill.{number}");
        self.line(&format!("{index} = phi i64 [ 0, %{before} ], [ {index}.next, %{inside} ]"));
        let condition = self.define(&format!("icmp ult i64 {index}, {count}"));
        self.branch(&condition, &inside, &end);
        self.begin(&inside);
        let ty = memory(own.ty);
        let pointer = self.define(&format!("getelementptr inbounds {ty}, ptr {}, i64 {index}", to.pointer));
        self.store(&Spot { pointer, ..to }, &operand);
        self.line(&format!("{index}.next = add i64 {index}, 1"));
        self.go(&next);
        self.begin(&end);
    }

    // --- calls ---

    fn assign(&mut self, variable: VariableId, operand: &str) {
        let kind = self.function.variables[variable.index()].kind;
        if let VariableKind::Scalar(ty) = kind {
            let spot = self.scalar(&Place::variable(variable), ty);
            self.store(&spot, operand);
        }
    }

    fn call(&mut self, result: Option<VariableId>, id: FunctionId, arguments: &[Argument]) {
        let Shared { module, functions, hosted, .. } = *self.shared;
        let callee = module.function(id);
        let mut listed: Vec<String> = Vec::new();
        for argument in arguments {
            listed.push(match argument {
                Argument::Value(own) => {
                    let operand = self.value(own);
                    format!("{} {operand}", given(own.ty))
                }
                Argument::Reference(place) => format!("ptr {}", self.reference(place)),
            });
        }
        if hosted[id.index()] {
            listed.push("ptr %.host".to_owned());
        }
        let listed = listed.join(", ");
        let name = &functions[id.index()];
        match callee.result {
            None => self.line(&format!("call void @{name}({listed})")),
            Some(ty) => {
                let operand = self.define(&format!("call {} @{name}({listed})", result_type(ty)));
                if let Some(variable) = result {
                    self.assign(variable, &operand);
                }
            }
        }
    }

    fn print(&mut self, print: &Print) {
        let prefix = self.shared.prefix;
        match print {
            Print::Text(text) => {
                let texts = &self.shared.module.texts;
                let (at, n_bytes) = match text.constant() {
                    Some(number) => {
                        let before = texts.iter().take(number as usize);
                        let length = texts.get(number as usize).map_or(0, String::len);
                        (before.map(String::len).sum::<usize>().to_string(), length.to_string())
                    }
                    None => {
                        let index = self.wide_index(text);
                        let array = format!("[{} x i32], ptr @{prefix}.text_ends, i64 0", texts.len() + 1);
                        let end = |code: &mut Self, index: &str| {
                            let pointer = code.define(&format!("getelementptr inbounds {array}, i64 {index}"));
                            code.define(&format!("load i32, ptr {pointer}, align 4"))
                        };
                        let start = end(self, &index);
                        let next = self.define(&format!("add i64 {index}, 1"));
                        let end = end(self, &next);
                        let n_bytes = self.define(&format!("sub i32 {end}, {start}"));
                        (self.define(&format!("zext i32 {start} to i64")), n_bytes)
                    }
                };
                let text = self.define(&format!("getelementptr inbounds i8, ptr @{prefix}.texts, i64 {at}"));
                self.line(&format!("call void @headrace_print(ptr %.host, ptr {text}, i32 {n_bytes})"));
            }
            Print::Bytes(place, from, count) => {
                let spot = self.spot(place, from);
                let count = self.value(count);
                self.line(&format!("call void @headrace_print(ptr %.host, ptr {}, i32 {count})", spot.pointer));
            }
            Print::Real(own, format) => {
                let bits = format.bits();
                let operand = self.value(own);
                self.line(&format!("call void @headrace_print_real(ptr %.host, double {operand}, i32 {bits})"));
            }
        }
    }

    /// Lists are pairs of a pointer and a number, and a mask says which arguments are lists.
    fn native(&mut self, native: u32, arguments: &[NativeArgument], result: Option<VariableId>, stopped: VariableId) {
        let mut given = String::new();
        let mut lists = 0u32;
        for (at, argument) in arguments.iter().enumerate() {
            match argument {
                NativeArgument::Value(own) => {
                    let operand = self.value(own);
                    given += &format!(", i64 {operand}");
                }
                NativeArgument::Bytes(place, from, count) => {
                    lists |= 1 << at;
                    let spot = self.spot(place, from);
                    let count = self.value(count);
                    given += &format!(", ptr {}, i32 {count}", spot.pointer);
                }
            }
        }
        let name = format!("@{}.native.{native}", self.shared.prefix);
        let n = arguments.len();
        let operand = self.define(&format!(
            "call i64 (ptr, ptr, ptr, i32, i32, ...) @headrace_native(ptr %.host, ptr {name}, ptr %.stopped, i32 {n}, i32 {lists}{given})"
        ));
        if let Some(variable) = result {
            self.assign(variable, &operand);
        }
        let status = self.define("load i32, ptr %.stopped, align 4");
        let is_stopped = self.define(&format!("icmp ne i32 {status}, 0"));
        self.assign(stopped, &is_stopped);
    }
}

/// True when a native is called.
pub(super) fn calls_native(block: &[Stmt]) -> bool {
    block.iter().any(|statement| match statement {
        Stmt::Native { .. } => true,
        _ => statement.blocks().into_iter().any(calls_native),
    })
}
