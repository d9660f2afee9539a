//! Expressions: typed by construction, and free of traps by construction. Divisors are odd or positive, moduli
//! positive, counts of shifts to the right not negative, indexes inside the list, each shown by the [`Bound`] that comes with an
//! expression and never by the tested semantics.
//!
//! Weights (in percent of the inner nodes of an integer expression): sums and products 30, bitwise 22, shifts
//! 14, division 9, negation and complement 8, `if` 7, calls 6, `#` 1, the rest leaves.

use super::scope::{Builder, Callable, Scope, Var};
use super::tree::{Expr, Kind, Sort};
use super::types::{Bound, Scalar, Ty};

/// An integer expression with what is known of its value.
pub(crate) struct Int {
    pub expr: Expr,
    pub bound: Bound,
    /// Signedness and width by the table of types.
    pub table: Table,
}

/// A type by the table in section 3 of the language reference.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    signed: bool,
    bits: u32,
}

impl Table {
    fn of(scalar: Scalar) -> Self {
        let bound = Bound::of(scalar);
        Self { signed: bound.signed, bits: bound.bits }
    }

    fn lub(self, other: Self) -> Self {
        if self.signed == other.signed {
            return Self { signed: self.signed, bits: self.bits.max(other.bits) };
        }
        let (int, uint) = if self.signed { (self.bits, other.bits) } else { (other.bits, self.bits) };
        Self { signed: true, bits: int.max(uint + 1) }
    }

    fn glb(self, other: Self) -> Self {
        if self.signed == other.signed {
            return Self { signed: self.signed, bits: self.bits.min(other.bits) };
        }
        let (int, uint) = if self.signed { (self.bits, other.bits) } else { (other.bits, self.bits) };
        Self { signed: true, bits: if int > uint { uint + 1 } else { int } }
    }

    fn grown(self, by: u32) -> Self {
        Self { signed: self.signed, bits: self.bits + by }
    }

    fn negated(self) -> Self {
        Self { signed: true, bits: if self.signed { self.bits } else { self.bits + 1 } }
    }

    fn minus(self, other: Self) -> Self {
        let lub = self.lub(other);
        if lub.signed { lub } else { lub.negated() }
    }
}

impl Builder<'_> {
    /// An expression that converts to `ty`.
    pub fn value(&mut self, scope: &Scope, ty: &Ty, depth: u32) -> Expr {
        if !ty.dims.is_empty() {
            self.list(scope, ty, depth)
        } else if ty.scalar.is_bool() {
            self.boolean(scope, depth)
        } else {
            self.int(scope, depth).expr
        }
    }

    fn literal(&mut self, bits: u32) -> Int {
        let bits = bits.clamp(1, self.widest.max(1));
        if bits <= 62 {
            let hi = (1i64 << bits) - 1;
            let v = match self.rng.below(4) {
                0 => hi,
                1 => self.rng.range(0, hi.min(9)),
                _ => self.rng.range(0, hi),
            };
            return self.number(v);
        }
        let digits = (bits / 4).max(1);
        let mut text = String::from("0x");
        for i in 0..digits {
            let d = if i == 0 { self.rng.range(1, 15) } else { self.rng.range(0, 15) };
            let letter = char::from_digit(d as u32, 16).unwrap_or('0');
            text.push(if self.rng.chance(50) { letter.to_ascii_uppercase() } else { letter });
        }
        let bound = Bound::wide(false, digits * 4);
        Int { expr: self.leaf(text, Sort::Int), bound, table: Table { signed: false, bits: digits * 4 } }
    }

    /// A literal in one of its spellings.
    pub fn number(&mut self, v: i64) -> Int {
        let magnitude = v.unsigned_abs();
        let digits = match self.rng.below(8) {
            0 | 1 => format!("0x{magnitude:x}"),
            2 => format!("0X{magnitude:X}"),
            3 => format!("0{magnitude:o}"),
            _ => magnitude.to_string(),
        };
        let text = if v < 0 { format!("-{digits}") } else { digits };
        let bound = Bound::range(v, v);
        let table = Table { signed: false, bits: (64 - magnitude.leading_zeros()).max(1) };
        let table = if v < 0 { table.negated() } else { table };
        Int { expr: self.leaf(text, Sort::Int), bound, table }
    }

    fn note_use(&mut self, var: &Var) {
        if var.state && !var.constant {
            self.touched_state = true;
        }
    }

    fn int_leaf(&mut self, scope: &Scope) -> Int {
        let scalars: Vec<&Var> = scope.vars.iter().filter(|v| v.ty.dims.is_empty() && !v.ty.scalar.is_bool()).collect();
        let lists: Vec<&Var> = scope.vars.iter().filter(|v| !v.ty.dims.is_empty() && !v.ty.scalar.is_bool()).collect();
        match self.rng.weighted(&[60, 22, 18]) {
            0 if !scalars.is_empty() => {
                // The newest names are the ones that the program is about.
                let n = scalars.len();
                let at = if self.rng.chance(40) { n - 1 - self.rng.below(n.min(4)) } else { self.rng.below(n) };
                let var = scalars[at].clone();
                self.note_use(&var);
                let table = Table::of(var.ty.scalar);
                Int { expr: self.leaf(var.name, Sort::Int), bound: var.bound, table }
            }
            1 if !lists.is_empty() => {
                let var = lists[self.rng.below(lists.len())].clone();
                let kind = self.element(scope, &var, var.ty.dims.len(), 1);
                let table = Table::of(var.ty.scalar);
                Int { expr: self.expr(kind, Sort::Int), bound: Bound::of(var.ty.scalar), table }
            }
            _ => {
                let bits = super::types::draw_bits(&mut self.rng, self.widest);
                let bits = if self.rng.chance(60) { bits.min(8) } else { bits };
                self.literal(bits)
            }
        }
    }

    /// `name[..]..` with `n` indexes that are inside.
    pub fn element(&mut self, scope: &Scope, var: &Var, n: usize, depth: u32) -> Kind {
        self.note_use(var);
        let at = var.ty.dims.iter().take(n).map(|d| self.index(scope, *d, depth)).collect();
        Kind::Index(var.name.clone(), at)
    }

    /// An expression with a value in `0 .. len`.
    pub fn index(&mut self, scope: &Scope, len: u32, depth: u32) -> Expr {
        let last = i64::from(len) - 1;
        let fitting: Vec<&Var> = scope
            .vars
            .iter()
            .filter(|v| {
                v.ty.dims.is_empty()
                    && !v.ty.scalar.is_bool()
                    && v.bound.limits().is_some_and(|(lo, hi)| lo >= 0 && hi <= last)
            })
            .collect();
        if !fitting.is_empty() && self.rng.chance(70) {
            let var = fitting[self.rng.below(fitting.len())].clone();
            self.note_use(&var);
            let (_, hi) = var.bound.limits().unwrap_or((0, 0));
            let leaf = self.leaf(var.name, Sort::Int);
            if self.rng.chance(20) {
                let top = self.number(last).expr;
                return self.binary("-", top, leaf, Sort::Other);
            }
            if hi < last && self.rng.chance(30) {
                let more = self.rng.range(0, last - hi);
                let more = self.number(more).expr;
                return self.binary("+", leaf, more, Sort::Other);
            }
            return leaf;
        }
        if depth == 0 || self.rng.chance(25) {
            let v = self.rng.range(0, last);
            return self.number(v).expr;
        }
        let inner = self.int(scope, depth - 1).expr;
        if len.is_power_of_two() && self.rng.chance(60) {
            let mask = self.number(last).expr;
            return self.binary("&", inner, mask, Sort::Other);
        }
        let modulus = self.number(i64::from(len)).expr;
        self.binary("mod", inner, modulus, Sort::Other)
    }

    /// An integer expression.
    pub fn int(&mut self, scope: &Scope, depth: u32) -> Int {
        if depth == 0 || !self.spend(scope, 1) {
            return self.int_leaf(scope);
        }
        match self.rng.weighted(&[14, 30, 22, 14, 9, 8, 7, 6, 1, 3]) {
            1 => self.arithmetic(scope, depth),
            2 => self.bitwise(scope, depth),
            3 => self.shift(scope, depth),
            4 => self.division(scope, depth),
            5 => self.unary(scope, depth),
            6 => self.conditional(scope, depth),
            7 => self.call_int(scope, depth),
            8 => self.length(scope),
            9 => self.guarded_element(scope),
            _ => self.int_leaf(scope),
        }
    }

    fn arithmetic(&mut self, scope: &Scope, depth: u32) -> Int {
        let l = self.int(scope, depth - 1);
        let r = self.int(scope, depth - 1);
        let lub = l.table.lub(r.table);
        let op = ["+", "-", "*"][self.rng.weighted(&[40, 35, 25])];
        if op == "*" {
            let bits = l.bound.bits + r.bound.bits;
            let table = Table { signed: lub.signed, bits: l.table.bits + r.table.bits };
            if bits.max(table.bits) <= self.widest {
                let bound = Bound::wide(l.bound.signed || r.bound.signed, bits);
                return Int { expr: self.binary("*", l.expr, r.expr, Sort::Int), bound, table };
            }
        }
        let op = if op == "-" { "-" } else { "+" };
        let signed = op == "-" || l.bound.signed || r.bound.signed;
        let bits = if signed {
            l.bound.signed_bits().max(r.bound.signed_bits()) + 1
        } else {
            l.bound.bits.max(r.bound.bits) + 1
        };
        let table = if op == "-" { l.table.minus(r.table) } else { lub.grown(1) };
        if bits.max(table.bits) > self.widest {
            return l;
        }
        Int { expr: self.binary(op, l.expr, r.expr, Sort::Int), bound: Bound::wide(signed, bits), table }
    }

    fn bitwise(&mut self, scope: &Scope, depth: u32) -> Int {
        let l = self.int(scope, depth - 1);
        let r = self.int(scope, depth - 1);
        let op = ["&", "|", "^"][self.rng.below(3)];
        let bound = match (op, l.bound.signed, r.bound.signed) {
            ("&", false, false) => Bound::wide(false, l.bound.bits.min(r.bound.bits)),
            ("&", false, true) => Bound::wide(false, l.bound.bits),
            ("&", true, false) => Bound::wide(false, r.bound.bits),
            (_, false, false) => Bound::wide(false, l.bound.bits.max(r.bound.bits)),
            _ => Bound::wide(true, l.bound.signed_bits().max(r.bound.signed_bits())),
        };
        let table = if op == "&" { l.table.glb(r.table) } else { l.table.lub(r.table) };
        if bound.bits.max(table.bits) > self.widest {
            return l;
        }
        Int { expr: self.binary(op, l.expr, r.expr, Sort::Int), bound, table }
    }

    fn shift(&mut self, scope: &Scope, depth: u32) -> Int {
        let x = if self.rng.chance(20) {
            let x = self.int(scope, depth - 1);
            self.complement(x)
        } else {
            self.int(scope, depth - 1)
        };
        let count = self.count(scope, depth - 1, x.bound.bits);
        let table = x.table.lub(count.table);
        let growth = (1u32 << count.table.bits.min(6)) - 1;
        let table = Table { signed: table.signed, bits: x.table.bits + growth };
        // What the largest count that the bound allows makes of it.
        let most = (1u32 << count.bound.bits.min(16)) - 1;
        let bits = x.bound.bits + most;
        if self.rng.chance(50) || bits.max(table.bits) + 1 > self.widest {
            let bound = Bound::wide(x.bound.signed, x.bound.bits);
            return Int { expr: self.binary(">>", x.expr, count.expr, Sort::Int), bound, table: x.table };
        }
        let bound = Bound::wide(x.bound.signed, bits);
        // To the right where the count is below zero.
        let count = if self.rng.chance(15) {
            let less = self.rng.range(1, 9);
            let less = self.number(less);
            self.binary("-", count.expr, less.expr, Sort::Other)
        } else {
            count.expr
        };
        Int { expr: self.binary("<<", x.expr, count, Sort::Int), bound, table }
    }

    /// A shift count: not negative, sometimes beyond the width.
    fn count(&mut self, scope: &Scope, depth: u32, bits: u32) -> Int {
        if self.rng.chance(60) {
            let most = i64::from(bits) + if self.rng.chance(20) { 70 } else { 0 };
            let v = self.rng.range(0, most);
            return self.number(v);
        }
        let x = self.int(scope, depth);
        if !x.bound.signed && x.bound.bits <= 16 && self.rng.chance(60) {
            return x;
        }
        let mask = [1, 3, 7, 15, 31, 63][self.rng.below(6)];
        self.masked(x, mask)
    }

    /// `x & mask`, in `0 ..= mask`.
    pub fn masked(&mut self, x: Int, mask: i64) -> Int {
        let m = self.number(mask);
        let table = x.table.glb(m.table);
        Int { expr: self.binary("&", x.expr, m.expr, Sort::Other), bound: Bound::range(0, mask), table }
    }

    fn division(&mut self, scope: &Scope, depth: u32) -> Int {
        let x = self.int(scope, depth - 1);
        let divisor = self.int(scope, depth - 1);
        let op = ["/", "div", "mod"][self.rng.below(3)];
        let divisor = if self.rng.chance(30) {
            let v = [1, 2, 3, 7, 10, 16, 255, 256, 65537][self.rng.below(9)];
            self.number(v)
        } else if op == "mod" && divisor.bound.signed {
            let mask = [3, 15, 255][self.rng.below(3)];
            let m = self.masked(divisor, mask);
            let one = self.number(1);
            let expr = self.binary("+", m.expr, one.expr, Sort::Other);
            let table = m.table.lub(one.table).grown(1);
            Int { expr, bound: Bound::range(1, mask + 1), table }
        } else {
            // An odd number is not zero, whatever its sign.
            let one = self.number(1);
            let bits = divisor.bound.bits.max(if divisor.bound.signed { 2 } else { 1 });
            let bound = Bound::wide(divisor.bound.signed, bits);
            let table = divisor.table.lub(one.table);
            Int { expr: self.binary("|", divisor.expr, one.expr, Sort::Other), bound, table }
        };
        let bound = if op == "mod" {
            Bound::wide(false, divisor.bound.bits)
        } else if x.bound.signed || divisor.bound.signed {
            Bound::wide(true, x.bound.signed_bits() + 1)
        } else {
            Bound::wide(false, x.bound.bits)
        };
        let table = if op == "mod" { divisor.table } else { x.table };
        Int { expr: self.binary(op, x.expr, divisor.expr, Sort::Int), bound, table }
    }

    fn complement(&mut self, x: Int) -> Int {
        let bound = Bound::wide(true, x.bound.signed_bits());
        let kind = Kind::Unary("~", Box::new(x.expr));
        Int { expr: self.expr(kind, Sort::Int), bound, table: x.table }
    }

    fn unary(&mut self, scope: &Scope, depth: u32) -> Int {
        let x = self.int(scope, depth - 1);
        if self.rng.chance(50) {
            return self.complement(x);
        }
        let bound = Bound::wide(true, x.bound.signed_bits() + 1);
        let kind = Kind::Unary("-", Box::new(x.expr));
        Int { expr: self.expr(kind, Sort::Int), bound, table: x.table.negated() }
    }

    fn conditional(&mut self, scope: &Scope, depth: u32) -> Int {
        let mut arms = Vec::new();
        let other = self.int(scope, depth - 1);
        let mut bound = other.bound;
        let mut table = other.table;
        for _ in 0..1 + self.rng.weighted(&[80, 20]) {
            let c = self.boolean(scope, depth - 1);
            let v = self.int(scope, depth - 1);
            bound = bound.union(v.bound);
            table = table.lub(v.table);
            arms.push((c, v.expr));
        }
        Int { expr: self.expr(Kind::If(arms, Box::new(other.expr)), Sort::Int), bound, table }
    }

    fn length(&mut self, scope: &Scope) -> Int {
        let lists: Vec<&Var> = scope.vars.iter().filter(|v| !v.ty.dims.is_empty() && !v.partial).collect();
        let Some(var) = self.rng.pick(&lists) else { return self.int_leaf(scope) };
        let len = i64::from(var.ty.dims[0]);
        let name = var.name.clone();
        let list = self.leaf(name, Sort::Other);
        let bound = Bound::range(len, len);
        let table = Table { signed: false, bits: bound.bits };
        Int { expr: self.expr(Kind::Unary("#", Box::new(list)), Sort::Int), bound, table }
    }

    /// `if v < n then t[v] else e end`: the test is what keeps the index inside.
    fn guarded_element(&mut self, scope: &Scope) -> Int {
        let found = self.index_test(scope, false);
        let Some((test, list, at)) = found else { return self.int_leaf(scope) };
        let index = self.leaf(at, Sort::Other);
        let element = self.expr(Kind::Index(list.name.clone(), vec![index]), Sort::Int);
        let other = self.int_leaf(scope);
        let bound = other.bound.union(Bound::of(list.ty.scalar));
        let table = other.table.lub(Table::of(list.ty.scalar));
        Int { expr: self.expr(Kind::If(vec![(test, element)], Box::new(other.expr)), Sort::Other), bound, table }
    }

    /// A one-dimensional list, a variable, and a test that the variable is a legal index.
    fn index_test(&mut self, scope: &Scope, of_bool: bool) -> Option<(Expr, Var, String)> {
        let lists: Vec<&Var> =
            scope.vars.iter().filter(|v| v.ty.dims.len() == 1 && v.ty.scalar.is_bool() == of_bool).collect();
        let at: Vec<&Var> = scope.vars.iter().filter(|v| v.ty.dims.is_empty() && !v.ty.scalar.is_bool()).collect();
        let list = (*self.rng.pick(&lists)?).clone();
        let var = (*self.rng.pick(&at)?).clone();
        self.note_use(&list);
        self.note_use(&var);
        let v = self.leaf(var.name.clone(), Sort::Other);
        let len = self.number(i64::from(list.ty.dims[0])).expr;
        let mut test = self.binary("<", v, len, Sort::Other);
        if var.bound.signed {
            let v = self.leaf(var.name.clone(), Sort::Other);
            let zero = self.number(0).expr;
            let low = self.binary(">=", v, zero, Sort::Other);
            let and = ["and", "&&"][self.rng.below(2)];
            test = self.binary(and, low, test, Sort::Other);
        }
        Some((test, list, var.name))
    }

    fn arguments(&mut self, scope: &Scope, callee: &Callable, depth: u32) -> Option<Vec<Expr>> {
        let mut args = Vec::new();
        for (i, p) in callee.params.iter().enumerate() {
            if let (0, Some(most)) = (i, callee.depth) {
                let v = self.rng.range(0, i64::from(most));
                args.push(self.number(v).expr);
            } else if p.ty.dims.is_empty() {
                args.push(self.value(scope, &p.ty, depth.saturating_sub(1)));
            } else {
                args.push(self.list_argument(scope, p, depth.saturating_sub(1))?);
            }
        }
        self.touched_state |= callee.uses_state;
        Some(args)
    }

    /// A list that may be passed: long enough; where it is written, a variable of the same element type, passed by
    /// reference; elsewhere any list, of which a copy goes if need be.
    fn list_argument(&mut self, scope: &Scope, p: &super::scope::Param, depth: u32) -> Option<Expr> {
        if !p.written && self.rng.chance(30) {
            let mut ty = p.ty.clone();
            ty.dims[0] = self.rng.range(i64::from(p.shortest), i64::from(ty.dims[0])) as u32;
            return Some(self.list(scope, &ty, depth));
        }
        let whole = |v: &&Var, dims: &[u32]| {
            (v.ty.scalar == p.ty.scalar || !p.written && v.ty.scalar.is_bool() == p.ty.scalar.is_bool())
                && dims.len() == p.ty.dims.len()
                && dims[1..] == p.ty.dims[1..]
                && dims[0] >= p.shortest
                && dims[0] <= p.ty.dims[0]
                && (v.assignable || !p.written)
        };
        let direct: Vec<&Var> =
            scope.vars.iter().filter(|v| !v.ty.dims.is_empty() && !v.partial && whole(v, &v.ty.dims)).collect();
        let nested: Vec<&Var> =
            scope.vars.iter().filter(|v| v.ty.dims.len() > 1 && whole(v, &v.ty.dims[1..])).collect();
        if !nested.is_empty() && (direct.is_empty() || self.rng.chance(40)) {
            let var = nested[self.rng.below(nested.len())].clone();
            let kind = self.element(scope, &var, 1, 1);
            return Some(self.expr(kind, Sort::Other));
        }
        if direct.is_empty() {
            return None;
        }
        let var = direct[self.rng.below(direct.len())].clone();
        self.note_use(&var);
        Some(self.leaf(var.name, Sort::Other))
    }

    /// A call of something that fits; `None` when nothing does.
    pub fn call(&mut self, scope: &Scope, depth: u32, fits: &dyn Fn(&Callable) -> bool) -> Option<(Expr, Callable)> {
        let callees: Vec<&Callable> =
            scope.callables.iter().filter(|c| fits(c) && self.affords(scope, c.cost)).collect();
        let callee = (*self.rng.pick(&callees)?).clone();
        let args = self.arguments(scope, &callee, depth)?;
        self.spend(scope, callee.cost);
        let sort = match &callee.result {
            Some(ty) if ty.dims.is_empty() => {
                if ty.scalar.is_bool() {
                    Sort::Bool
                } else {
                    Sort::Int
                }
            }
            _ => Sort::Other,
        };
        Some((self.expr(Kind::Call(callee.name.clone(), args), sort), callee))
    }

    fn call_int(&mut self, scope: &Scope, depth: u32) -> Int {
        let fits = |c: &Callable| c.result.as_ref().is_some_and(|t| t.dims.is_empty() && !t.scalar.is_bool());
        match self.call(scope, depth, &fits) {
            Some((expr, callee)) => {
                let scalar = callee.result.map_or(Scalar::uint(1), |t| t.scalar);
                Int { expr, bound: Bound::of(scalar), table: Table::of(scalar) }
            }
            None => self.int_leaf(scope),
        }
    }

    /// An expression of type `bool`.
    pub fn boolean(&mut self, scope: &Scope, depth: u32) -> Expr {
        let vars: Vec<&Var> = scope.vars.iter().filter(|v| v.ty.scalar.is_bool()).collect();
        if depth == 0 || !self.spend(scope, 1) {
            if let (true, Some(var)) = (self.rng.chance(70), self.rng.pick(&vars)) {
                let var = (*var).clone();
                self.note_use(&var);
                let kind = if var.ty.dims.is_empty() {
                    Kind::Leaf(var.name)
                } else {
                    self.element(scope, &var, var.ty.dims.len(), 0)
                };
                return self.expr(kind, Sort::Bool);
            }
            if self.rng.chance(80) {
                return self.comparison(scope, 1);
            }
            let text = if self.rng.chance(50) { "true" } else { "false" };
            return self.leaf(text, Sort::Bool);
        }
        match self.rng.weighted(&[45, 25, 10, 6, 5, 5, 4]) {
            1 => {
                let op = ["and", "&&", "or", "||"][self.rng.below(4)];
                let l = self.boolean(scope, depth - 1);
                let r = self.boolean(scope, depth - 1);
                self.binary(op, l, r, Sort::Bool)
            }
            2 => {
                let e = self.boolean(scope, depth - 1);
                self.expr(Kind::Unary("not", Box::new(e)), Sort::Bool)
            }
            3 => {
                let op = if self.rng.chance(50) { "=" } else { "!=" };
                let l = self.boolean(scope, depth - 1);
                let r = self.boolean(scope, depth - 1);
                self.binary(op, l, r, Sort::Bool)
            }
            4 => self.short_circuit(scope),
            5 => {
                let fits = |c: &Callable| c.result.as_ref() == Some(&Ty::scalar(Scalar::Bool));
                match self.call(scope, depth, &fits) {
                    Some((e, _)) => e,
                    None => self.comparison(scope, depth),
                }
            }
            6 => {
                let c = self.boolean(scope, depth - 1);
                let a = self.boolean(scope, depth - 1);
                let b = self.boolean(scope, depth - 1);
                self.expr(Kind::If(vec![(c, a)], Box::new(b)), Sort::Bool)
            }
            _ => self.comparison(scope, depth),
        }
    }

    fn comparison(&mut self, scope: &Scope, depth: u32) -> Expr {
        let op = ["=", "!=", "<", "<=", ">", ">="][self.rng.below(6)];
        let mut l = self.int(scope, depth - 1);
        if self.rng.chance(15) {
            l = self.complement(l);
        }
        let r = if self.rng.chance(40) {
            let bits = l.bound.bits.min(12);
            self.literal(bits)
        } else {
            self.int(scope, depth - 1)
        };
        self.binary(op, l.expr, r.expr, Sort::Bool)
    }

    /// `i < n and t[i] ..` or `i >= n or t[i] ..`: only a true short circuit keeps the index inside.
    fn short_circuit(&mut self, scope: &Scope) -> Expr {
        let of_bool = self.rng.chance(40);
        let Some((test, list, at)) = self.index_test(scope, of_bool) else { return self.comparison(scope, 1) };
        let index = self.leaf(at, Sort::Other);
        let mut element = self.expr(Kind::Index(list.name.clone(), vec![index]), Sort::Bool);
        if !of_bool {
            let limit = self.literal(4).expr;
            element = self.binary(">", element, limit, Sort::Bool);
        }
        if self.rng.chance(60) {
            let op = if self.rng.chance(50) { "and" } else { "&&" };
            self.binary(op, test, element, Sort::Bool)
        } else {
            let op = if self.rng.chance(50) { "or" } else { "||" };
            let mut outside = self.expr(Kind::Unary("not", Box::new(test)), Sort::Other);
            outside.parens = true;
            self.binary(op, outside, element, Sort::Bool)
        }
    }

    /// A list expression of exactly this shape whose elements convert.
    pub fn list(&mut self, scope: &Scope, ty: &Ty, depth: u32) -> Expr {
        let whole: Vec<&Var> = scope
            .vars
            .iter()
            .filter(|v| !v.partial && v.ty.dims == ty.dims && v.ty.scalar.is_bool() == ty.scalar.is_bool())
            .collect();
        let choice = if depth == 0 || !self.spend(scope, ty.n_elements() as i64) {
            0
        } else {
            self.rng.weighted(&[30, 20, 30, 8, 12])
        };
        match choice {
            0 | 1 if !whole.is_empty() => {
                let var = whole[self.rng.below(whole.len())].clone();
                self.note_use(&var);
                return self.leaf(var.name, Sort::Other);
            }
            3 => {
                let c = self.boolean(scope, depth - 1);
                let a = self.list(scope, ty, depth - 1);
                let b = self.list(scope, ty, depth - 1);
                return self.expr(Kind::If(vec![(c, a)], Box::new(b)), Sort::Other);
            }
            4 => {
                let fits = |c: &Callable| {
                    c.result.as_ref().is_some_and(|t| t.dims == ty.dims && t.scalar.is_bool() == ty.scalar.is_bool())
                };
                if let Some((e, _)) = self.call(scope, depth, &fits) {
                    return e;
                }
            }
            _ => {}
        }
        let nested: Vec<&Var> = scope
            .vars
            .iter()
            .filter(|v| {
                v.ty.dims.len() > ty.dims.len()
                    && v.ty.dims[v.ty.dims.len() - ty.dims.len()..] == ty.dims[..]
                    && v.ty.scalar.is_bool() == ty.scalar.is_bool()
            })
            .collect();
        if !nested.is_empty() && self.rng.chance(40) {
            let var = nested[self.rng.below(nested.len())].clone();
            let n = var.ty.dims.len() - ty.dims.len();
            let kind = self.element(scope, &var, n, 1);
            return self.expr(kind, Sort::Other);
        }
        self.listed(scope, ty, depth)
    }

    /// A literal or comprehension of this shape.
    fn listed(&mut self, scope: &Scope, ty: &Ty, depth: u32) -> Expr {
        let len = ty.dims[0];
        let inner = Ty { scalar: ty.scalar, dims: ty.dims[1..].to_vec() };
        let depth = depth.saturating_sub(1).min(2);
        if len <= 8 && self.rng.chance(40) {
            let items = (0..len).map(|_| self.value(scope, &inner, depth)).collect();
            return self.expr(Kind::List(items, Vec::new()), Sort::Other);
        }
        // Split the length into elements per step and one or two generators.
        let divisors: Vec<u32> = (1..=len.min(16)).filter(|d| len.is_multiple_of(*d)).collect();
        let per_step = divisors[self.rng.below(divisors.len().min(3))].min(4);
        let per_step = if len.is_multiple_of(per_step) { per_step } else { 1 };
        let steps = len / per_step;
        let splits: Vec<u32> = (2..=steps.min(16)).filter(|d| steps.is_multiple_of(*d) && *d < steps).collect();
        let counts = match self.rng.pick(&splits) {
            Some(first) if self.rng.chance(40) => vec![*first, steps / first],
            _ => vec![steps],
        };
        let mut inside = scope.clone();
        inside.times = scope.times.max(1) * i64::from(steps);
        let mut generators = Vec::new();
        for n in counts {
            let lo = if self.rng.chance(70) { 0 } else { self.rng.range(0, 9) };
            let hi = lo + i64::from(n) - 1;
            let name = self.name("g");
            let scalar = match self.rng.below(3) {
                0 => Scalar::Int { signed: true, bits: 32 },
                1 => Scalar::uint(Bound::range(lo, hi).bits),
                _ => Scalar::uint(16),
            };
            let ty = scalar.text(&mut self.rng);
            generators.push(format!("for {ty} {name} in {lo} .. {hi}"));
            let mut var = Var::new(name, Ty::scalar(scalar)).fixed();
            var.bound = Bound::range(lo, hi);
            var.constant = true;
            inside.add(var);
        }
        let items = (0..per_step).map(|_| self.value(&inside, &inner, depth)).collect();
        self.expr(Kind::List(items, generators), Sort::Other)
    }
}
