//! Statements. Loops end because their bounds are small and their counters belong to them alone.

use super::scope::{Builder, Callable, Param, Scope, Var};
use super::tree::{Doc, Expr, Kind, Sort};
use super::types::{Bound, Scalar, Ty, draw_scalar};

/// Depth of the expressions in statements.
const DEPTH: u32 = 3;

impl Builder<'_> {
    /// A piece that a shrinker may take away.
    pub fn item(&mut self, docs: Vec<Doc>) -> Doc {
        Doc::Item(vec![self.node()], Box::new(Doc::Seq(docs)))
    }

    /// `T name`, with constants of the scope in place of sizes where there are some.
    pub fn declare(&mut self, scope: &Scope, ty: &Ty, name: &str) -> String {
        let text = ty.declare(name, &mut self.rng);
        self.name_sizes(scope, text)
    }

    /// Puts names of known constants in place of `size=N` and `[N]`.
    pub fn name_sizes(&mut self, scope: &Scope, text: String) -> String {
        let mut text = text;
        for v in &scope.vars {
            let Some((lo, hi)) = v.bound.exact else { continue };
            if lo == hi && v.constant && v.ty.dims.is_empty() && !v.ty.scalar.is_bool() && self.rng.chance(25) {
                text = text.replace(&format!("size={lo})"), &format!("size={})", v.name));
                text = text.replace(&format!("[{lo}]"), &format!("[{}]", v.name));
            }
        }
        text
    }

    /// Up to `n` statements, each on its own line.
    pub fn statements(&mut self, scope: &mut Scope, n: usize, depth: u32) -> Vec<Doc> {
        let mut out = Vec::new();
        for _ in 0..n {
            if self.budget <= 0 {
                break;
            }
            let statement = self.statement(scope, depth);
            if !statement.is_empty() {
                let mut statement = statement;
                statement.push(Doc::Line);
                out.push(self.item(statement));
            }
        }
        out
    }

    fn statement(&mut self, scope: &mut Scope, depth: u32) -> Vec<Doc> {
        let choice = if depth == 0 {
            self.rng.weighted(&[45, 25, 10, 15, 0, 0, 0, 5])
        } else {
            self.rng.weighted(&[32, 18, 10, 10, 12, 10, 4, 4])
        };
        match choice {
            1 => self.assign_element(scope),
            2 => self.assign_list(scope),
            3 => self.call_statement(scope),
            4 => self.if_statement(scope, depth),
            5 => self.foreach(scope, depth),
            6 => self.while_loop(scope, depth),
            7 => self.print(scope),
            _ => self.assign_scalar(scope),
        }
    }

    fn assign_scalar(&mut self, scope: &Scope) -> Vec<Doc> {
        let targets: Vec<&Var> = scope.vars.iter().filter(|v| v.assignable && v.ty.dims.is_empty()).collect();
        let Some(var) = self.rng.pick(&targets) else { return self.assign_element(scope) };
        let var = (*var).clone();
        self.touched_state |= var.state;
        let value = self.value(scope, &var.ty, DEPTH);
        vec![Doc::text(format!("{} := ", var.name)), Doc::Expr(value), Doc::text(";")]
    }

    fn assign_element(&mut self, scope: &Scope) -> Vec<Doc> {
        let targets: Vec<&Var> = scope.vars.iter().filter(|v| v.assignable && !v.ty.dims.is_empty()).collect();
        let Some(var) = self.rng.pick(&targets) else { return Vec::new() };
        let var = (*var).clone();
        self.touched_state |= var.state;
        let kind = self.element(scope, &var, var.ty.dims.len(), 1);
        let target = self.expr_plain(kind);
        let value = self.value(scope, &Ty::scalar(var.ty.scalar), DEPTH);
        vec![Doc::Expr(target), Doc::text(" := "), Doc::Expr(value), Doc::text(";")]
    }

    fn expr_plain(&mut self, kind: Kind) -> Expr {
        let mut e = self.expr(kind, Sort::Other);
        e.parens = false;
        e
    }

    /// `t := list;` or `m[i] := list;`, sometimes from a shorter list, which leaves the rest as it was.
    fn assign_list(&mut self, scope: &Scope) -> Vec<Doc> {
        let targets: Vec<&Var> =
            scope.vars.iter().filter(|v| v.assignable && !v.partial && !v.ty.dims.is_empty()).collect();
        let Some(var) = self.rng.pick(&targets) else { return Vec::new() };
        let var = (*var).clone();
        self.touched_state |= var.state;
        let inner = var.ty.dims.len() > 1 && self.rng.chance(50);
        let (target, mut dims) = if inner {
            (self.element(scope, &var, 1, 1), var.ty.dims[1..].to_vec())
        } else {
            (Kind::Leaf(var.name.clone()), var.ty.dims.clone())
        };
        if self.knobs.shorter_lists && dims[0] > 1 && self.rng.chance(10) {
            dims[0] = self.rng.range(1, i64::from(dims[0])) as u32;
        }
        let ty = Ty { scalar: var.ty.scalar, dims };
        let target = self.expr_plain(target);
        let value = self.list(scope, &ty, 2);
        vec![Doc::Expr(target), Doc::text(" := "), Doc::Expr(value), Doc::text(";")]
    }

    fn call_statement(&mut self, scope: &Scope) -> Vec<Doc> {
        match self.call(scope, 2, &|c: &Callable| c.result.is_none()) {
            Some((mut call, _)) => {
                call.parens = false;
                vec![Doc::Expr(call), Doc::text(";")]
            }
            None => self.assign_scalar(scope),
        }
    }

    fn if_statement(&mut self, scope: &mut Scope, depth: u32) -> Vec<Doc> {
        let mut out = Vec::new();
        for i in 0..1 + self.rng.weighted(&[70, 20, 10]) {
            let c = self.boolean(scope, 2);
            out.push(Doc::text(if i == 0 { "if " } else { "elsif " }));
            out.push(Doc::Expr(c));
            out.push(Doc::text(" then"));
            out.push(Doc::Line);
            let n = 1 + self.rng.below(3);
            out.push(Doc::Nest(self.statements(scope, n, depth - 1)));
        }
        if self.rng.chance(50) {
            out.push(Doc::text("else"));
            out.push(Doc::Line);
            let n = 1 + self.rng.below(2);
            out.push(Doc::Nest(self.statements(scope, n, depth - 1)));
        }
        out.push(Doc::text("end"));
        out
    }

    fn foreach(&mut self, scope: &mut Scope, depth: u32) -> Vec<Doc> {
        let name = self.name("i");
        // A type, bounds that it holds, and whether the top is computed.
        let (scalar, lo, hi, dynamic) = match self.rng.below(6) {
            0 => (Scalar::uint(3), 0, 7, false),
            1 => (Scalar::Int { signed: true, bits: 4 }, -8, 7, false),
            2 => {
                let hi = [1, 3, 7][self.rng.below(3)];
                (Scalar::uint(8), 0, hi, true)
            }
            _ => {
                let lo = if self.rng.chance(70) { 0 } else { self.rng.range(0, 5) };
                let hi = lo + self.rng.range(-1, 7);
                let scalar = [Scalar::Int { signed: true, bits: 32 }, Scalar::uint(8), Scalar::uint(32)];
                (scalar[self.rng.below(3)], lo, hi, false)
            }
        };
        let times = (hi - lo + 1).max(1);
        if !self.affords(scope, 3 * times) {
            return self.assign_scalar(scope);
        }
        let top = if dynamic {
            let x = self.int(scope, 1);
            Doc::Expr(self.masked(x, hi).expr)
        } else {
            Doc::text(hi.to_string())
        };
        let mut inner = scope.clone();
        inner.times = scope.times.max(1) * times;
        inner.loops += 1;
        let ty = Ty::scalar(scalar);
        let mut var = Var::new(name.clone(), ty.clone()).fixed();
        var.bound = Bound::range(lo, hi.max(lo));
        inner.add(var);
        let n = 1 + self.rng.below(3);
        let mut body = self.statements(&mut inner, n, depth - 1);
        // The variable is an ordinary one: assignments count, as long as its type holds what they give.
        let most = match scalar {
            Scalar::Int { signed, bits } if bits < 32 => (1i64 << (bits - u32::from(signed))) - 1,
            _ => i64::from(i32::MAX),
        };
        if hi + 2 < most && self.rng.chance(20) {
            let step = self.rng.range(1, 2);
            let text = vec![Doc::text(format!("{name} := {name} + {step};")), Doc::Line];
            body.push(self.item(text));
        }
        let declared = ty.declare(&name, &mut self.rng);
        vec![
            Doc::text(format!("foreach {declared} in {lo} .. ")),
            top,
            Doc::text(" do"),
            Doc::Line,
            Doc::Nest(body),
            Doc::text("end"),
        ]
    }

    fn while_loop(&mut self, scope: &mut Scope, depth: u32) -> Vec<Doc> {
        let times = self.rng.range(1, 6);
        if !self.affords(scope, 4 * times) {
            return self.assign_scalar(scope);
        }
        let counter = self.name("w");
        self.locals.push(Doc::text(format!("uint(size=8) {counter}")));
        let mut inner = scope.clone();
        inner.times = scope.times.max(1) * times;
        inner.loops += 1;
        let mut var = Var::new(counter.clone(), Ty::scalar(Scalar::uint(8))).fixed();
        var.bound = Bound::range(0, times);
        inner.add(var.clone());
        let c = self.boolean(&inner, 2);
        let n = 1 + self.rng.below(3);
        var.bound = Bound::range(0, times - 1);
        inner.add(var);
        let body = self.statements(&mut inner, n, depth - 1);
        vec![
            Doc::text(format!("{counter} := 0;")),
            Doc::Line,
            Doc::text(format!("while {counter} < {times} and (")),
            Doc::Expr(c),
            Doc::text(") do"),
            Doc::Line,
            Doc::Nest(body),
            Doc::Nest(vec![Doc::text(format!("{counter} := {counter} + 1;")), Doc::Line]),
            Doc::text("end"),
        ]
    }

    /// Prints one line that begins with the actor's name, so that lines of different actors can be told apart.
    fn print(&mut self, scope: &Scope) -> Vec<Doc> {
        let Some(prefix) = self.prints_as.clone() else { return self.assign_scalar(scope) };
        if !self.affords(scope, 20) {
            return Vec::new();
        }
        self.spend(scope, 10);
        let mut out = vec![Doc::text(format!("print(\"{prefix}:\");")), Doc::Line];
        match self.rng.below(4) {
            0 => {
                let e = self.boolean(scope, 2);
                out.extend([Doc::text("println("), Doc::Expr(e), Doc::text(");")]);
            }
            1 => {
                let e = self.int(scope, 2).expr;
                out.extend([Doc::text("println("), Doc::Expr(e), Doc::text(");")]);
            }
            _ => {
                let words = ["x=", " ", "a\\tb", "q\\\"q", "back\\\\slash", "%d%s", "", "??!"];
                let word = words[self.rng.below(words.len())];
                let text = self.rng.pick(&self.texts).cloned();
                let text = text.filter(|_| self.rng.chance(50)).unwrap_or_else(|| format!("\"{word}\""));
                let mut e = self.leaf(text, Sort::Other);
                for _ in 0..1 + self.rng.below(2) {
                    let mut r = if self.rng.chance(25) { self.boolean(scope, 1) } else { self.int(scope, 2).expr };
                    if self.rng.chance(30) {
                        r.parens = true;
                    }
                    e = self.binary("+", e, r, Sort::Other);
                    e.parens = false;
                }
                let call = if self.rng.chance(50) { "println(" } else { "print(" };
                out.extend([Doc::text(call), Doc::Expr(e), Doc::text(");")]);
                if call == "print(" {
                    out.extend([Doc::Line, Doc::text("println();")]);
                }
            }
        }
        out
    }

    /// A `var` section: the locals of the body, then those that its loops asked for.
    pub fn var_section(&mut self, locals: Vec<Doc>) -> Vec<Doc> {
        if locals.is_empty() {
            return Vec::new();
        }
        vec![Doc::Nest(vec![Doc::Joined { open: "var ", sep: ", ", close: "", items: locals }]), Doc::Line]
    }

    /// Draws locals, `scalars` percent of them scalars, adds them to the scope and returns their declarations.
    pub fn draw_locals(&mut self, scope: &mut Scope, most: usize, scalars: u32) -> Vec<Doc> {
        let mut out = Vec::new();
        for _ in 0..self.rng.below(most + 1) {
            let ty = self.draw_type(scalars);
            let shadowed: Vec<String> =
                scope.vars.iter().filter(|v| v.state && v.assignable).map(|v| v.name.clone()).collect();
            let name = match self.rng.pick(&shadowed) {
                Some(outer) if self.knobs.shadowing && self.rng.chance(6) => outer.clone(),
                _ => self.name("l"),
            };
            let mut text = vec![Doc::text(self.declare(scope, &ty, &name))];
            let mut var = Var::new(name, ty.clone());
            match self.rng.below(5) {
                0 => {}
                1 => {
                    // `=` makes a constant that happens to be computed at run time.
                    var.assignable = false;
                    text.push(Doc::text(" = "));
                    let mut inner = scope.clone();
                    inner.vars.retain(|v| v.name != var.name);
                    text.push(Doc::Expr(self.value(&inner, &ty, 2)));
                }
                _ => {
                    text.push(Doc::text(" := "));
                    let mut inner = scope.clone();
                    inner.vars.retain(|v| v.name != var.name);
                    text.push(Doc::Expr(self.value(&inner, &ty, 2)));
                }
            }
            scope.add(var);
            out.push(self.item(text));
        }
        out
    }

    /// A random type; a scalar in `scalars` percent of the cases.
    pub fn draw_type(&mut self, scalars: u32) -> Ty {
        let scalar = draw_scalar(&mut self.rng, self.widest_variable);
        if self.rng.chance(scalars) {
            return Ty::scalar(scalar);
        }
        let dims = match self.rng.weighted(&[70, 24, 6]) {
            0 => vec![[2, 3, 4, 5, 8, 16, 1][self.rng.below(7)]],
            1 => vec![self.rng.range(1, 4) as u32, self.rng.range(1, 4) as u32],
            _ => vec![2, self.rng.range(1, 3) as u32, 2],
        };
        Ty { scalar, dims }
    }

    /// A function in this scope, callable from then on.
    pub fn function(&mut self, outer: &Scope, name: String) -> (Doc, Callable) {
        self.draw_widest();
        self.budget = self.knobs.function_budget;
        let before = self.budget;
        self.touched_state = false;
        let mut scope = outer.read_only();
        scope.times = 1;
        let recursive = self.rng.chance(12);
        let mut params = Vec::new();
        let mut texts = Vec::new();
        let counter = self.name("rec");
        if recursive {
            texts.push(Doc::text(format!("uint(size=8) {counter}")));
            params.push(Param { ty: Ty::scalar(Scalar::uint(8)), shortest: 0, written: false });
            let mut var = Var::new(counter.clone(), Ty::scalar(Scalar::uint(8))).fixed();
            var.bound = Bound::range(0, 5);
            scope.add(var);
        }
        // The C target gives a recursive function no room for large lists and integers of its own, copies of arguments
        // included.
        if recursive {
            self.widest_variable = self.knobs.widest.min(256);
            let is_scalar = |ty: &Ty| ty.dims.is_empty();
            scope
                .callables
                .retain(|c| c.params.iter().all(|p| is_scalar(&p.ty)) && c.result.as_ref().is_some_and(is_scalar));
        }
        for _ in 0..self.rng.below(4) {
            let (text, param) = self.parameter(&mut scope, false);
            texts.push(text);
            params.push(param);
        }
        let ty = self.draw_type(if recursive { 100 } else { 75 });
        let locals = self.draw_locals(&mut scope, 2, if recursive { 100 } else { 60 });
        self.widest_variable = self.knobs.widest;
        let result = if recursive {
            // The body calls itself with a smaller first argument; the rest are values of this call.
            let base = self.value(&scope, &ty, 2);
            let mut args = vec![self.leaf(format!("{counter} - 1"), Sort::Other)];
            let mut ok = true;
            for p in params.iter().skip(1) {
                if p.ty.dims.is_empty() {
                    args.push(self.value(&scope, &p.ty, 1));
                } else {
                    ok = false;
                }
            }
            if ok {
                let sort = if ty.scalar.is_bool() { Sort::Bool } else { Sort::Int };
                let call = self.expr(Kind::Call(name.clone(), args), sort);
                let call = if ty.scalar.is_bool() {
                    self.expr(Kind::Unary("not", Box::new(call)), Sort::Bool)
                } else {
                    let other = self.int(&scope, 1);
                    let op = ["+", "^", "-"][self.rng.below(3)];
                    self.binary(op, call, other.expr, Sort::Int)
                };
                let test = self.leaf(format!("{counter} = 0"), Sort::Other);
                self.expr(Kind::If(vec![(test, base)], Box::new(call)), Sort::Other)
            } else {
                base
            }
        } else {
            self.value(&scope, &ty, 3)
        };
        let mut doc = vec![Doc::text(format!("function {name}("))];
        doc.push(Doc::Joined { open: "", sep: ", ", close: "", items: texts });
        doc.push(Doc::text(format!(") --> {}", ty.text(&mut self.rng))));
        doc.push(Doc::Line);
        doc.extend(self.var_section(locals));
        doc.extend([
            Doc::text(":"),
            Doc::Line,
            Doc::Nest(vec![Doc::Expr(result), Doc::Line]),
            Doc::text("end"),
            Doc::Line,
        ]);
        let spent = (before - self.budget).max(1);
        let callable = Callable {
            name,
            params,
            result: Some(ty),
            cost: if recursive { spent * 6 } else { spent },
            uses_state: self.touched_state,
            depth: recursive.then_some(5),
        };
        (self.item(doc), callable)
    }

    fn parameter(&mut self, scope: &mut Scope, writes: bool) -> (Doc, Param) {
        let ty = self.draw_type(if writes { 40 } else { 60 });
        let name = self.name("p");
        let text = self.declare(scope, &ty, &name);
        let mut var = Var::new(name, ty.clone());
        let mut param = Param { shortest: ty.dims.first().copied().unwrap_or(0), ty, written: false };
        if param.ty.dims.is_empty() {
            var.assignable = writes;
        } else {
            var.assignable = writes && self.rng.chance(75);
            param.written = var.assignable;
            if self.knobs.shorter_lists && param.shortest > 1 && self.rng.chance(30) {
                param.shortest = self.rng.range(1, i64::from(param.shortest) - 1) as u32;
                var.partial = true;
                var.ty.dims[0] = param.shortest;
            }
        }
        scope.add(var);
        (Doc::text(text), param)
    }

    /// A procedure in this scope.
    pub fn procedure(&mut self, outer: &Scope, name: String) -> (Doc, Callable) {
        self.draw_widest();
        self.budget = self.knobs.function_budget * 2;
        let before = self.budget;
        self.touched_state = false;
        self.locals.clear();
        let mut scope = outer.clone();
        scope.times = 1;
        let mut params = Vec::new();
        let mut texts = Vec::new();
        for _ in 0..1 + self.rng.below(3) {
            let (text, param) = self.parameter(&mut scope, true);
            texts.push(text);
            params.push(param);
        }
        let mut locals = self.draw_locals(&mut scope, 2, 60);
        let n = 1 + self.rng.below(4);
        let body = self.statements(&mut scope, n, 2);
        locals.append(&mut self.locals);
        let mut doc = vec![Doc::text(format!("procedure {name}("))];
        doc.push(Doc::Joined { open: "", sep: ", ", close: "", items: texts });
        doc.push(Doc::text(")"));
        doc.push(Doc::Line);
        doc.extend(self.var_section(locals));
        doc.extend([Doc::text("begin"), Doc::Line, Doc::Nest(body), Doc::text("end"), Doc::Line]);
        let callable = Callable {
            name,
            params,
            result: None,
            cost: (before - self.budget).max(1),
            uses_state: self.touched_state,
            depth: None,
        };
        (self.item(doc), callable)
    }
}
