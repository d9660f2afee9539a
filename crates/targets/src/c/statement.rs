//! Code generation for statements. Assignments, copies, branches, loops, calls and prints become lines of C, with what their
//! expressions need before them.

use super::code::node::{Node, index_proven};
use super::code::places::Pointer;
use super::code::value::{Kind, Value, round_real, wrap_value};
use super::code::wide::exact_words;
use super::code::{CONTROL, Code, Declaration, stored};
use super::ctype::{self, Repr};
use super::inlined;
use super::natives::bare_name;
use super::text::{Declared, Name, Text, listed, text};
use headrace_analysis::assigned;
use headrace_analysis::ranges::Interval;
use headrace_ir::{
    Argument, BinaryOp, CompareOp, Expr, ExprKind, Int, IntType, LocalId, NativeId, Place, PrintOperand, RealType,
    Root, Scalar, Stmt, StmtKind, Type,
};
use headrace_source::Span;

impl Code<'_> {
    /// Statements, one after the other.
    pub fn block(&mut self, statements: &[Stmt]) {
        let mut statements = statements;
        while let [statement, rest @ ..] = statements {
            statements = match self.word_stored(statements) {
                true => statements.get(inlined::WORD_BYTES..).unwrap_or_default(),
                false => {
                    self.statement(statement);
                    rest
                }
            };
        }
    }

    /// In small C: stores a word at once whose bytes the first statements store one by one.
    fn word_stored(&mut self, statements: &[Stmt]) -> bool {
        if self.plan.options.small.is_none() {
            return false;
        }
        let is_bytes = |root| self.type_of(root).element == Scalar::Int(IntType::unsigned(8));
        let is_word = |root| self.type_of(root).element == Scalar::Int(IntType::unsigned(32));
        let Some((place, word)) = inlined::stored_word(statements, &is_bytes, &is_word) else { return false };
        // What is not proven to lie inside is kept inside byte by byte.
        let dims = self.type_of(place.root).dims.clone();
        let is_inside = |statement: &Stmt| match &statement.kind {
            StmtKind::Assign(place, _) => {
                place.indices.iter().zip(&dims).all(|(index, &size)| index_proven(&self.node(index).range, size))
            }
            _ => false,
        };
        if !statements[..inlined::WORD_BYTES].iter().all(is_inside) {
            return false;
        }
        let word = self.load(word);
        let to = self.place(place);
        self.line(text!["hr_small_store(&", to, ", ", word.text, ");"]);
        true
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Assign(place, value) => self.assign(place, value),
            StmtKind::Copy { target, source, convert } => self.copy(target, source, *convert),
            StmtKind::If(condition, yes, no) => self.if_statement(condition, yes, no),
            StmtKind::While { before, condition, body } => self.while_statement(before, condition, body),
            StmtKind::Foreach { variable, low, high, body } => self.foreach(*variable, low, high, body, statement.span),
            StmtKind::Call { result, procedure, arguments } => self.call(*result, procedure.index(), arguments),
            StmtKind::CallNative { result, native, arguments } => {
                self.call_native(*result, *native, arguments, statement.span);
            }
            StmtKind::Print { pieces, newline } => {
                self.uses_control = true;
                for piece in pieces {
                    self.print(piece);
                }
                if *newline {
                    self.line(text!["hr_print_text(", CONTROL, ", \"\\n\");"]);
                }
            }
        }
    }

    fn assign(&mut self, place: &Place, value: &Expr) {
        let scalar = self.type_of(place.root).element;
        let node = self.node(value);
        if let Scalar::Int(ty) = scalar
            && ctype::is_wide(scalar)
        {
            let words = ctype::storage_words(ty).unwrap_or(1);
            let text = self.wide(&node, words);
            let target = self.place(place);
            if text != target {
                self.line(text!["hr_wide_copy(", target.as_filled(), ", ", text, ", ", words, ");"]);
            }
            return;
        }
        // The index of the target is evaluated after the value.
        let value = if matches!(scalar, Scalar::Int(_)) { self.exact(&node) } else { self.value(&node) };
        let text = stored(&value, scalar);
        let target = self.place(place);
        if target != text {
            self.line(text![target.as_target(), " = ", text, ";"]);
        }
    }

    fn copy(&mut self, target: &Place, source: &Place, convert: Option<Scalar>) {
        let source_type = self.type_of(source.root).after_indices(source.indices.len());
        let target_scalar = self.type_of(target.root).element;
        let from = self.list_pointer(source);
        let to = self.list_pointer(target);
        if from.text == to.text {
            return;
        }
        let n = source_type.len();
        match convert {
            None => {
                let parameter = |code: &Self, root: Root| {
                    matches!(root, Root::Local(local)
                        if code.locals[local.index()].kind == headrace_ir::LocalKind::Parameter)
                };
                // Two lists of a caller may be one.
                let function =
                    if source.root == target.root || parameter(self, source.root) || parameter(self, target.root) {
                        "memmove"
                    } else {
                        "memcpy"
                    };
                let elements = n as u64 * u64::from(ctype::words(source_type.element));
                let element = ctype::element(source_type.element);
                let (to, from) = (to.text, from.text);
                self.line(text![
                    function,
                    "(",
                    to.as_filled(),
                    ", ",
                    from,
                    ", ",
                    elements,
                    " * sizeof(",
                    element,
                    "));"
                ]);
            }
            Some(_) => self.convert_list(&to, target_scalar, &from, source_type.element, n),
        }
    }

    /// Copies `n` elements with conversion from one scalar type to another.
    pub fn convert_list(&mut self, to: &Pointer, to_scalar: Scalar, from: &Pointer, from_scalar: Scalar, n: usize) {
        let i = self.temporary("i");
        let (to, from) = (to.base(), from.base());
        self.open(text!["for (size_t ", i, " = 0; ", i, " < ", n, "; ", i, "++) {"]);
        let at = |base: &Text, scalar: Scalar| match ctype::words(scalar) {
            1 => text![base, "[", i, "]"],
            words => text!["&", base, "[", words, " * ", i, "]"],
        };
        let (target, source) = (at(&to, to_scalar), at(&from, from_scalar));
        self.convert(&target, to_scalar, &source, from_scalar);
        self.close("}");
    }

    /// Sorts tokens that are dealt in turn into an array: of each round the one that lies at `from`, which says so for the number of
    /// the round.
    pub fn deal(&mut self, array: &Text, repeat: u32, words: u64, tokens: &Text, from: impl Fn(&Name) -> Text) {
        let i = self.temporary("i");
        self.open(text!["for (uint32_t ", i, " = 0; ", i, " < ", repeat, "u; ", i, "++) {"]);
        let from = from(&i);
        if words == 1 {
            self.line(text![array, "[", i, "] = ", tokens, "[", from, "];"]);
        } else {
            let (to, from) = (text![words, " * ", i], text![words, " * (", from, ")"]);
            let bytes = text![words, " * sizeof ", array, "[0]"];
            self.line(text!["memcpy(&", array, "[", to, "], &", tokens, "[", from, "], ", bytes, ");"]);
        }
        self.close("}");
        self.line(text!["(void)", array, ";"]);
    }

    /// Stores one scalar with conversion: `source` and `target` are elements, or pointers to the words of wide ones.
    pub fn convert(&mut self, target: &Text, to: Scalar, source: &Text, from: Scalar) {
        match (from, to) {
            (Scalar::Int(from), Scalar::Int(to)) => {
                let from_words = ctype::storage_words(from);
                match ctype::storage_words(to) {
                    Some(words) => {
                        match from_words {
                            Some(have) => {
                                self.line(text![
                                    "hr_wide_resize(",
                                    target,
                                    ", ",
                                    words,
                                    ", ",
                                    source,
                                    ", ",
                                    have,
                                    ", ",
                                    from.signed,
                                    ");"
                                ]);
                            }
                            None => {
                                let kind = if from.signed { "i64" } else { "u64" };
                                self.line(text!["hr_wide_from_", kind, "(", target, ", ", words, ", ", source, ");"]);
                            }
                        }
                        let (width, signed) = (to.width, to.signed);
                        self.line(text!["hr_wide_wrap(", target, ", ", words, ", ", width, ", ", signed, ");"]);
                    }
                    None => {
                        let value = match from_words {
                            Some(words) => Code::low_of_words(source, words),
                            None => Value::primary(source, Kind::Int(Repr::of_storage(from))),
                        };
                        let fits = Interval::of_type(from).fits(to);
                        let value = if fits { value } else { wrap_value(&value, to) };
                        self.line(text![target.as_target(), " = ", value.text, ";"]);
                    }
                }
            }
            (Scalar::Real(from), Scalar::Real(to)) => {
                let value = read_real(source, from);
                let rounded = round_real(&value, to);
                self.line(text![target.as_target(), " = ", stored(&rounded, Scalar::Real(to)), ";"]);
            }
            (Scalar::Int(from), Scalar::Real(to)) => {
                let value = match ctype::storage_words(from) {
                    Some(words) => {
                        let scratch = self.temporary("scratch");
                        self.line(text!["uint32_t ", Declared(&scratch), "[", words + 1, "];"]);
                        let extended = self.temporary("wide");
                        self.line(text!["uint32_t ", Declared(&extended), "[", words + 1, "];"]);
                        let more = words + 1;
                        self.line(text![
                            "hr_wide_resize(",
                            extended,
                            ", ",
                            more,
                            ", ",
                            source,
                            ", ",
                            words,
                            ", ",
                            from.signed,
                            ");"
                        ]);
                        let precision = if to == RealType::Double { 53 } else { 24 };
                        Value::primary(
                            text!["hr_wide_real(", extended, ", ", more, ", ", precision, ", ", scratch, ")"],
                            Kind::Real,
                        )
                    }
                    None if to == RealType::Float => {
                        Value::primary(source, Kind::Int(Repr::of_storage(from))).cast("float", Kind::Real)
                    }
                    None => Value::primary(source, Kind::Int(Repr::of_storage(from))).cast("double", Kind::Real),
                };
                let rounded = round_real(&value, to);
                self.line(text![target.as_target(), " = ", stored(&rounded, Scalar::Real(to)), ";"]);
            }
            _ => self.line(text![target.as_target(), " = ", source, ";"]),
        }
    }

    fn if_statement(&mut self, condition: &Expr, yes: &[Stmt], no: &[Stmt]) {
        let node = self.node(condition);
        let condition = self.value(&node);
        let (_, yes_text) = self.capture(|code| code.block(yes));
        let (_, no_text) = self.capture(|code| code.block(no));
        match (yes_text.is_empty(), no_text.is_empty()) {
            (true, true) => {}
            (false, _) => {
                self.open(text!["if ", condition.in_parentheses(), " {"]);
                self.splice(yes_text);
                if !no_text.is_empty() {
                    self.reopen("} else {");
                    self.splice(no_text);
                }
                self.close("}");
            }
            (true, false) => {
                let negated = Value::prefix("!", &condition, Kind::Bool);
                self.open(text!["if ", negated.in_parentheses(), " {"]);
                self.splice(no_text);
                self.close("}");
            }
        }
    }

    fn while_statement(&mut self, before: &[Stmt], condition: &Expr, body: &[Stmt]) {
        let (test, prelude) = self.capture(|code| {
            code.block(before);
            let node = code.node(condition);
            code.value(&node)
        });
        if prelude.is_empty() {
            self.open(text!["while ", test.in_parentheses(), " {"]);
        } else {
            self.open("for (;;) {");
            self.splice(prelude);
            let stop = Value::prefix("!", &test, Kind::Bool);
            self.open(text!["if ", stop.in_parentheses(), " {"]);
            self.line("break;");
            self.close("}");
        }
        self.block(body);
        self.close("}");
    }

    fn foreach(&mut self, variable: LocalId, low: &Expr, high: &Expr, body: &[Stmt], span: Span) {
        let low_node = self.node(low);
        let high_node = self.node(high);
        let Scalar::Int(ty) = self.locals[variable.index()].ty.element else { return };
        let all = low_node.range.join(&high_node.range);
        let never = low_node.range.low > high_node.range.high && !low_node.can_stop && !high_node.can_stop;
        if never {
            return;
        }
        let own = self.slots[variable.index()].text.is_empty();
        let beyond = Interval::new(all.low.clone(), all.high.add(&Int::from(1i64)));
        // Wide integers live in words wherever they are read.
        let narrow = ctype::storage_words(ty).is_none();
        let simple = narrow && all.fits(ty) && !assigned::in_block(body, variable.index()).written;
        match Repr::holding(&beyond) {
            Some(repr) if simple && own => {
                let low = self.exact(&low_node).to(repr);
                let high = self.exact(&high_node).to(repr);
                let high = self.loop_bound(high, repr);
                let name = self.temporary(&self.locals[variable.index()].name.clone());
                let range = Interval { low: low_node.range.low.clone(), high: high_node.range.high.clone() };
                let range = if range.low > range.high { all } else { range };
                let old = self.slots[variable.index()].clone();
                let slot = &mut self.slots[variable.index()];
                slot.text = text![name];
                slot.repr = Some(repr);
                slot.range = range;
                let test = match &high.constant {
                    Some(last) => {
                        let end = last.add(&Int::from(1i64));
                        text![name, " < ", Value::int(&end, repr).text]
                    }
                    None => text![name, " <= ", high.text],
                };
                let iterations = match (&low.constant, &high.constant) {
                    (Some(low), Some(high)) => high.add(&Int::from(1i64)).sub(low).to_u64(),
                    _ => None,
                };
                let small = iterations.filter(|_| self.plan.options.small.is_some());
                let in_a_row =
                    small.map_or(1, |iterations| inlined::iterations_in_a_row(&self.locals, iterations, body));
                let is_bytes = |root| self.type_of(root).element == Scalar::Int(IntType::unsigned(8));
                let lists = small.and_then(|_| inlined::xor_of_lists(variable.index(), body, &is_bytes));
                let first = low.constant.as_ref().and_then(Int::to_u64);
                let is_inside = |one: &Place| {
                    let end = first.zip(small).and_then(|(first, iterations)| first.checked_add(iterations));
                    let size = self.type_of(one.root).dims.first().map(|&size| u64::from(size));
                    end.zip(size).is_some_and(|(end, size)| end <= size)
                };
                let lists = lists.filter(|lists| lists.iter().all(|one| is_inside(one)));
                if let (Some(iterations), Some(low), Some(lists)) = (small, first, lists) {
                    let [to, a, b] = lists.map(|place| {
                        let whole = Place { indices: Vec::new(), ..place.clone() };
                        let text = self.list(&whole);
                        if low == 0 { text } else { text!["&", text, "[", low, "]"] }
                    });
                    self.line(text!["hr_small_xor(", to, ", ", a, ", ", b, ", ", iterations, "u);"]);
                    self.slots[variable.index()] = old;
                    return;
                }
                let bits = |root| self.type_of(root).element.width();
                if small.is_some_and(|iterations| inlined::is_unrolled(variable.index(), iterations, body, &bits)) {
                    self.line("HR_SMALL_UNROLLED");
                }
                let next = if in_a_row == 1 { text![name, "++"] } else { text![name, " += ", in_a_row] };
                self.open(text![
                    "for (",
                    repr.c(),
                    " ",
                    Declared(&name),
                    " = ",
                    low.text,
                    "; ",
                    test,
                    "; ",
                    next,
                    ") {"
                ]);
                for iteration in 0..in_a_row {
                    if iteration > 0 {
                        self.slots[variable.index()].text = text!["(", name, " + ", iteration, ")"];
                    }
                    self.block(body);
                }
                self.close("}");
                self.slots[variable.index()] = old;
            }
            _ => self.foreach_general(variable, ty, low, high, &high_node, body, span),
        }
    }

    fn loop_bound(&mut self, high: Value, repr: Repr) -> Value {
        if high.constant.is_some() {
            return high;
        }
        let name = self.temporary("last");
        self.line(text!["const ", repr.c(), " ", Declared(&name), " = ", high.text, ";"]);
        Value::primary(name, Kind::Int(repr))
    }

    /// Word for word what the loop means: for variables that the body assigns or that do not hold the bounds.
    #[allow(clippy::too_many_arguments)]
    fn foreach_general(
        &mut self,
        variable: LocalId,
        ty: IntType,
        low: &Expr,
        high: &Expr,
        high_node: &Node<'_>,
        body: &[Stmt],
        span: Span,
    ) {
        let expr = |kind: ExprKind| Expr { kind, span };
        let place = |local: LocalId| Place { root: Root::Local(local), indices: Vec::new(), span };
        let load = |local: LocalId| expr(ExprKind::Load(place(local)));
        let type_for = |range: &Interval| {
            let signed = range.low.is_negative();
            let bits = range.signed_bits() - u64::from(!signed);
            IntType { signed, width: u32::try_from(bits.clamp(1, 1 << 17)).unwrap_or(1) }
        };
        let owned = self.slots[variable.index()].text.is_empty();
        self.open("{");
        let low_node = self.node(low);
        let low_range = low_node.range.clone();
        let first = self.add_local("first", Type::scalar(Scalar::Int(type_for(&low_range))), low_range);
        self.declare_local(first, false);
        self.assign(&place(first), low);
        let last_type = Type::scalar(Scalar::Int(type_for(&high_node.range)));
        let last = self.add_local("last", last_type, high_node.range.clone());
        self.declare_local(last, false);
        self.assign(&place(last), high);
        let saved = self.slots[variable.index()].clone();
        if owned {
            let name = self.temporary(&self.locals[variable.index()].name.clone());
            self.slots[variable.index()].text = text![name];
            self.declare_local(variable, false);
        }
        let test = expr(ExprKind::Compare(CompareOp::LessEqual, Box::new(load(first)), Box::new(load(last))));
        let node = self.node(&test);
        let condition = self.value(&node);
        self.open(text!["if ", condition.in_parentheses(), " {"]);
        self.assign(&place(variable), &expr(ExprKind::Wrap(ty, Box::new(load(first)))));
        self.open("for (;;) {");
        self.block(body);
        let done = expr(ExprKind::Compare(CompareOp::GreaterEqual, Box::new(load(variable)), Box::new(load(last))));
        let node = self.node(&done);
        let condition = self.value(&node);
        self.open(text!["if ", condition.in_parentheses(), " {"]);
        self.line("break;");
        self.close("}");
        let one = expr(ExprKind::Int(Int::from(1i64)));
        let next = expr(ExprKind::Binary(BinaryOp::Add, Box::new(load(variable)), Box::new(one)));
        self.assign(&place(variable), &expr(ExprKind::Wrap(ty, Box::new(next))));
        self.close("}");
        self.close("}");
        self.close("}");
        if owned {
            self.slots[variable.index()] = saved;
        }
    }

    /// Declares a local under its spelling.
    pub fn declare_local(&mut self, local: LocalId, zero: bool) {
        let ty = self.locals[local.index()].ty.clone();
        let text = self.slots[local.index()].text.clone();
        let declaration = ctype::declaration(&ty, text.as_target());
        let zero_text = match (ctype::array_length(&ty), ty.element) {
            _ if !zero => "",
            (Some(_), _) => " = {0}",
            (None, Scalar::Bool) => " = false",
            (None, Scalar::Real(RealType::Half)) => " = 0",
            (None, Scalar::Real(_)) => " = 0.0",
            (None, Scalar::String) => " = \"\"",
            (None, Scalar::Int(_)) => " = 0",
        };
        let line = text![declaration, zero_text, ";"];
        text.names().take(1).for_each(|name| self.remember(name, Declaration::Local));
        self.line(line);
    }

    fn call(&mut self, result: Option<LocalId>, procedure: usize, arguments: &[Argument]) {
        let scalar = self.plan.actor.procedures[procedure].result.as_ref().map(|result| result.0);
        let mut texts = self.call_arguments(procedure, arguments);
        let info = self.plan.procedure(procedure);
        let stops = info.stops;
        let wide = scalar.and_then(|scalar| match scalar {
            Scalar::Int(ty) => ctype::storage_words(ty),
            _ => None,
        });
        let target = result.map(|local| self.slots[local.index()].text.clone()).filter(|text| !text.is_empty());
        let name = info.name.clone();
        match (wide, target) {
            (Some(words), target) => {
                let target = target.unwrap_or_else(|| {
                    let name = self.temporary("unused");
                    self.line(text!["uint32_t ", Declared(&name), "[", words, "];"]);
                    text![name]
                });
                texts.push(target);
                self.line(text![name, "(", listed(&texts), ");"]);
            }
            (None, Some(target)) => self.line(text![target.as_target(), " = ", name, "(", listed(&texts), ");"]),
            (None, None) if scalar.is_some() => self.line(text!["(void)", name, "(", listed(&texts), ");"]),
            (None, None) => self.line(text![name, "(", listed(&texts), ");"]),
        }
        if stops {
            self.stop_after_call();
        }
    }

    fn call_native(&mut self, result: Option<LocalId>, native: NativeId, arguments: &[Argument], span: Span) {
        self.uses_control = true;
        let native = &self.plan.actor.natives[native.index()];
        let mut items = Vec::new();
        for (argument, ty) in arguments.iter().zip(&native.parameters) {
            items.push(match argument {
                Argument::Value(value) => {
                    let node = self.node(value);
                    match ty.element {
                        Scalar::Int(_) if Repr::holding(&node.range).is_some() => {
                            text!["{", self.exact(&node).to(Repr::I64).text, ", NULL, 0, 0.0, NULL}"]
                        }
                        Scalar::Bool => {
                            let value = self.value(&node).cast("int64_t", Kind::Int(Repr::I64));
                            text!["{", value.text, ", NULL, 0, 0.0, NULL}"]
                        }
                        Scalar::Real(_) => {
                            let value = self.value(&node);
                            text!["{0, NULL, 0, (double)(", value.text, "), NULL}"]
                        }
                        Scalar::String => text!["{0, NULL, 0, 0.0, ", self.value(&node).text, "}"],
                        Scalar::Int(_) => {
                            self.unsupported(span, "a native that takes integers of more than 64 bits");
                            text!["{0}"]
                        }
                    }
                }
                Argument::List(place) => {
                    let list = self.type_of(place.root).after_indices(place.indices.len());
                    if ctype::is_wide(list.element) {
                        self.unsupported(span, "a native that takes a list of integers of more than 64 bits");
                    }
                    let bytes = list.len() as u64 * ctype::element_bytes(list.element);
                    let pointer = self.list(place);
                    match list.element {
                        Scalar::Int(ty) if ty.width <= 8 && !ty.signed => {
                            text!["{0, ", pointer, ", ", bytes, ", 0.0, NULL}"]
                        }
                        Scalar::String => {
                            let n = list.len();
                            text![
                                "{0, (uint8_t *)",
                                pointer,
                                ", (uint32_t)(",
                                n,
                                " * sizeof(const char *)), 0.0, NULL}"
                            ]
                        }
                        _ => text!["{0, (uint8_t *)", pointer, ", ", bytes, ", 0.0, NULL}"],
                    }
                }
            });
        }
        let place = self.native_place(span);
        let n = items.len();
        // Reals and texts come back in an argument of their own.
        let answer = match native.result {
            Some(Scalar::Real(_)) => Some("real"),
            Some(Scalar::String) => Some("text"),
            _ => None,
        };
        items.extend(answer.map(|_| text!["{0, NULL, 0, 0.0, NULL}"]));
        let list = if items.is_empty() {
            text!["NULL"]
        } else {
            let name = self.temporary("arguments");
            self.line(text![
                "struct headrace_argument ",
                Declared(&name),
                "[",
                items.len(),
                "] = {",
                listed(&items),
                "};"
            ]);
            text![name]
        };
        let bare = ctype::text_literal(bare_name(native));
        let call = text!["hr_native(", CONTROL, ", ", place, "u, ", bare, ", ", list, ", ", n, ")"];
        let target = result.map(|local| (local, self.slots[local.index()].text.clone()));
        match target {
            Some((local, text)) if !text.is_empty() => {
                let scalar = self.locals[local.index()].ty.element;
                if let Some(member) = answer {
                    self.line(text!["(void)", call, ";"]);
                    let given = text![list, "[", n, "].", member];
                    let given = match scalar {
                        Scalar::Real(ty) => stored(&round_real(&Value::primary(given, Kind::Real), ty), scalar),
                        _ => given,
                    };
                    self.line(text![text.as_target(), " = ", given, ";"]);
                    self.stop_after_call();
                    return;
                }
                let value = match scalar {
                    Scalar::Bool => text![call, " != 0"],
                    Scalar::Int(ty) if ty.width <= 64 => {
                        wrap_value(&Value::primary(call, Kind::Int(Repr::I64)), ty).text
                    }
                    _ => {
                        self.unsupported(span, "a native whose result is an integer of more than 64 bits");
                        call
                    }
                };
                self.line(text![text.as_target(), " = ", value, ";"]);
            }
            _ => self.line(text!["(void)", call, ";"]),
        }
        self.stop_after_call();
    }

    fn print(&mut self, piece: &PrintOperand) {
        if let ExprKind::Concat(pieces) = &piece.value.kind {
            for piece in pieces {
                self.print(piece);
            }
            return;
        }
        let node = self.node(&piece.value);
        match piece.kind {
            Scalar::String => {
                if let ExprKind::If(_, a, b) = &piece.value.kind
                    && (matches!(a.kind, ExprKind::Concat(_)) || matches!(b.kind, ExprKind::Concat(_)))
                {
                    let condition = self.value(&node.kids[0]);
                    self.open(text!["if ", condition.in_parentheses(), " {"]);
                    self.print(&PrintOperand { value: (**a).clone(), kind: Scalar::String });
                    self.reopen("} else {");
                    self.print(&PrintOperand { value: (**b).clone(), kind: Scalar::String });
                    self.close("}");
                    return;
                }
                if let ExprKind::String(string) = &piece.value.kind {
                    if !string.is_empty() {
                        let literal = ctype::text_literal(string);
                        self.line(text!["hr_print(", CONTROL, ", ", literal, ", ", string.len(), ");"]);
                    }
                    return;
                }
                let value = self.value(&node);
                self.line(text!["hr_print_text(", CONTROL, ", ", value.text, ");"]);
            }
            Scalar::Bool => {
                let value = self.value(&node);
                self.line(text!["hr_print_bool(", CONTROL, ", ", value.text, ");"]);
            }
            Scalar::Real(ty) => {
                let bits = Scalar::Real(ty).width();
                let value = self.value(&node);
                self.line(text!["hr_print_real(", CONTROL, ", ", value.text, ", ", bits, ");"]);
            }
            Scalar::Int(_) => match Repr::holding(&node.range) {
                Some(repr) => {
                    let value = self.exact(&node).to(repr);
                    let kind = if repr.is_signed() { "i64" } else { "u64" };
                    self.line(text!["hr_print_", kind, "(", CONTROL, ", ", value.text, ");"]);
                }
                None => {
                    let words = exact_words(&node);
                    let value = self.wide(&node, words);
                    let scratch = self.temporary("scratch");
                    let digits = self.temporary("digits");
                    self.line(text!["uint32_t ", Declared(&scratch), "[", words, "];"]);
                    self.line(text!["char ", Declared(&digits), "[", 10 * words + 2, "];"]);
                    self.line(text![
                        "hr_wide_print(",
                        CONTROL,
                        ", ",
                        value,
                        ", ",
                        words,
                        ", ",
                        scratch,
                        ", ",
                        digits,
                        ");"
                    ]);
                }
            },
        }
    }
}

/// The value of a stored real.
fn read_real(source: &Text, ty: RealType) -> Value {
    match ty {
        RealType::Half => Value::primary(text!["hr_half_value(", source, ")"], Kind::Real),
        RealType::Float => Value::primary(source, Kind::Real).cast("double", Kind::Real),
        RealType::Double => Value::primary(source, Kind::Real),
    }
}
