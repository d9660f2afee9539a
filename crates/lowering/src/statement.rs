//! Lowering of statements. What the language says word for word becomes structured statements of programs: assignments,
//! branches, loops, prints.

use crate::annotated::Node;
use crate::building::control;
use crate::code::Code;
use crate::digits;
use crate::machine::{holding, machine, wide_words, words};
use crate::place::Location;
use crate::real::whole;
use headrace_analysis::assigned;
use headrace_analysis::ranges::Interval;
use headrace_ir::{
    self as ir, BinaryOp, CompareOp, ExprKind, Int, IntType, LocalId, NativeId, PrintOperand, RealType, Root, Scalar,
    StmtKind,
};
use headrace_program::{Argument, Expr, Interface, NativeArgument, Place, Print, RealFormat, Stmt, Type, UnaryOp};
use headrace_source::Span;

impl Code<'_, '_> {
    /// Statements, one after the other.
    pub(crate) fn block(&mut self, statements: &[ir::Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &ir::Stmt) {
        match &statement.kind {
            StmtKind::Assign(place, value) => self.assign(place, value),
            StmtKind::Copy { target, source, convert } => self.copy(target, source, *convert),
            StmtKind::If(condition, yes, no) => {
                let node = self.node(condition);
                let condition = self.value(&node);
                let ((), yes) = self.inside(|code| code.block(yes));
                let ((), no) = self.inside(|code| code.block(no));
                self.push_if(condition, yes, no);
            }
            StmtKind::While { before, condition, body } => self.while_statement(before, condition, body),
            StmtKind::Foreach { variable, low, high, body } => {
                self.foreach(*variable, low, high, body, statement.span);
            }
            StmtKind::Call { result, procedure, arguments } => self.call_statement(*result, *procedure, arguments),
            StmtKind::CallNative { result, native, arguments } => {
                self.call_native(*result, *native, arguments, statement.span);
            }
            StmtKind::Print { pieces, newline } => {
                pieces.iter().for_each(|piece| self.print(piece));
                if *newline {
                    self.print_text("\n");
                }
            }
        }
    }

    fn assign(&mut self, place: &ir::Place, value: &ir::Expr) {
        let scalar = self.type_of(place.root).element;
        let node = self.node(value);
        if let Some(words) = wide_words(scalar) {
            // The value first; what the place needs cannot change it.
            let value = self.wide(&node, words);
            let location = self.locate(place);
            return self.store_words(&location, value, words);
        }
        let value = self.stored_value(&node, scalar);
        let kept = self.kept_type(place.root);
        let location = self.locate(place);
        self.store(location, value.to(kept));
    }

    fn copy(&mut self, target: &ir::Place, source: &ir::Place, convert: Option<Scalar>) {
        let source_type = self.type_of(source.root).after_indices(source.indices.len());
        let to_scalar = self.type_of(target.root).element;
        let from = self.locate(source);
        let to = self.locate(target);
        let n = source_type.len() as u32;
        match convert {
            None => {
                let count = Expr::u32(n * words(source_type.element));
                let (at, source_at) = (to.offset(), from.offset());
                if to.place == from.place && at == source_at {
                    return;
                }
                self.push(Stmt::Copy { target: to.place, at, source: from.place, from: source_at, count });
            }
            Some(_) => self.convert_list(&to, to_scalar, &from, source_type.element, n),
        }
    }

    /// Copies `n` scalars with conversion.
    fn convert_list(&mut self, to: &Location, to_scalar: Scalar, from: &Location, from_scalar: Scalar, n: u32) {
        let start = |code: &mut Self, location: &Location| {
            let offset = location.offset();
            code.named("from", offset)
        };
        let (to_at, from_at) = (start(self, to), start(self, from));
        let index = self.f.scalar("i", Type::U32);
        self.f.assign(index, Expr::u32(0));
        let i = self.f.read(index);
        let ((), body) = self.inside(|code| {
            let element = |at: &Expr, scalar: Scalar| Some(at.clone().plus(i.clone().times(Expr::u32(words(scalar)))));
            let source = Location { place: from.place.clone(), at: element(&from_at, from_scalar) };
            let token = code.token_at(&source, from_scalar);
            let token = code.converted(token, from_scalar, to_scalar);
            let target = Location { place: to.place.clone(), at: element(&to_at, to_scalar) };
            code.store_token(target, token, to_scalar);
            code.f.assign(index, i.clone().plus(Expr::u32(1)));
        });
        let label = self.f.label();
        self.push(Stmt::While(label, i.less(Expr::u32(n)), body));
    }

    fn while_statement(&mut self, before: &[ir::Stmt], condition: &ir::Expr, body: &[ir::Stmt]) {
        let (condition, prelude) = self.inside(|code| {
            code.block(before);
            let node = code.node(condition);
            code.value(&node)
        });
        let ((), body) = self.inside(|code| code.block(body));
        let label = self.f.label();
        if prelude.is_empty() {
            return self.push(Stmt::While(label, condition, body));
        }
        let mut all = prelude;
        all.push(Stmt::If(condition.negated(), vec![Stmt::Break(label)], Vec::new()));
        all.extend(body);
        self.push(Stmt::Loop(label, all));
    }

    fn foreach(&mut self, variable: LocalId, low: &ir::Expr, high: &ir::Expr, body: &[ir::Stmt], span: Span) {
        let low_node = self.node(low);
        let high_node = self.node(high);
        let scalar = self.locals[variable.index()].ty.element;
        let Scalar::Int(ty) = scalar else { return };
        let all = low_node.range.join(&high_node.range);
        if low_node.range.low > high_node.range.high {
            return;
        }
        let beyond = Interval::new(all.low.clone(), all.high.add(&Int::from(1i64)));
        let simple = wide_words(scalar).is_none()
            && all.fits(ty)
            && !assigned::in_block(body, variable.index()).written
            && self.loop_only(variable);
        match holding(&beyond) {
            Some(ty) if simple => {
                let ty = if beyond.non_negative() { crate::machine::class(ty.bits()) } else { ty };
                let low = self.low(&low_node, ty);
                let high = self.low(&high_node, ty);
                let high = self.named("last", high);
                let name = self.locals[variable.index()].name.clone();
                let counter = self.f.scalar(&name, ty);
                self.f.assign(counter, low);
                let range = Interval { low: low_node.range.low.clone(), high: high_node.range.high.clone() };
                let mut slot = self.slots[variable.index()].clone();
                slot.place = Some(Place::variable(counter));
                slot.ty = ty;
                slot.range = range;
                let old = std::mem::replace(&mut self.slots[variable.index()], slot);
                let now = self.f.read(counter);
                let ((), mut block) = self.inside(|code| code.block(body));
                block.push(Stmt::Assign(Place::variable(counter), now.clone().plus(Expr::int(ty, 1))));
                let condition = match high.constant() {
                    Some(last) => now.less(Expr::int(ty, last.wrapping_add(1))),
                    None => Expr::compare(headrace_program::CompareOp::LessEqual, now, high),
                };
                let label = self.f.label();
                self.push(Stmt::While(label, condition, block));
                self.slots[variable.index()] = old;
            }
            _ => self.foreach_general(variable, ty, low, high, body, span),
        }
    }

    /// Word for word what the loop means: for variables that the body assigns or that do not hold the bounds.
    fn foreach_general(
        &mut self,
        variable: LocalId,
        ty: IntType,
        low: &ir::Expr,
        high: &ir::Expr,
        body: &[ir::Stmt],
        span: Span,
    ) {
        let expr = |kind: ExprKind| ir::Expr { kind, span };
        let place = |local: LocalId| ir::Place { root: Root::Local(local), indices: Vec::new(), span };
        let load = |local: LocalId| expr(ExprKind::Load(place(local)));
        let type_for = |range: &Interval| {
            let signed = range.low.is_negative();
            let bits = range.signed_bits() - u64::from(!signed);
            Scalar::Int(IntType { signed, width: u32::try_from(bits.clamp(1, 1 << 17)).unwrap_or(1) })
        };
        let low_range = self.node(low).range;
        let first = self.add_local("first", type_for(&low_range), low_range);
        self.assign(&place(first), low);
        let high_range = self.node(high).range;
        let last = self.add_local("last", type_for(&high_range), high_range);
        self.assign(&place(last), high);
        let test = expr(ExprKind::Compare(CompareOp::LessEqual, Box::new(load(first)), Box::new(load(last))));
        let node = self.node(&test);
        let condition = self.value(&node);
        let ((), all) = self.inside(|code| {
            code.assign(&place(variable), &expr(ExprKind::Wrap(ty, Box::new(load(first)))));
            let label = code.f.label();
            let ((), round) = code.inside(|code| {
                code.block(body);
                let test =
                    expr(ExprKind::Compare(CompareOp::GreaterEqual, Box::new(load(variable)), Box::new(load(last))));
                let node = code.node(&test);
                let done = code.value(&node);
                code.push(Stmt::If(done, vec![Stmt::Break(label)], Vec::new()));
                let one = expr(ExprKind::Int(Int::from(1i64)));
                let next = expr(ExprKind::Binary(BinaryOp::Add, Box::new(load(variable)), Box::new(one)));
                code.assign(&place(variable), &expr(ExprKind::Wrap(ty, Box::new(next))));
            });
            code.push(Stmt::Loop(label, round));
        });
        self.push_if(condition, all, Vec::new());
    }

    fn call_native(&mut self, result: Option<LocalId>, id: NativeId, arguments: &[ir::Argument], span: Span) {
        let native = &self.plan.actor.natives[id.index()];
        let mut items = Vec::new();
        for (argument, ty) in arguments.iter().zip(&native.parameters) {
            items.push(match argument {
                ir::Argument::Value(value) => {
                    let node = self.node(value);
                    NativeArgument::Value(match ty.element {
                        Scalar::Int(_) if holding(&node.range).is_some() => self.exact(&node).to(Type::I64),
                        Scalar::Bool => self.value(&node).to(Type::I64),
                        _ => {
                            let what = "a native that takes text, reals or integers of more than 64 bits";
                            self.building.unsupported(span, what);
                            Expr::int(Type::I64, 0)
                        }
                    })
                }
                ir::Argument::List(place) => {
                    let list = self.type_of(place.root).after_indices(place.indices.len());
                    let location = self.locate(place);
                    if machine(list.element) != Type::U8 {
                        self.building.unsupported(span, "a native that takes a list of something else than bytes");
                    }
                    let offset = location.offset();
                    NativeArgument::Bytes(location.place, offset, Expr::u32(list.len() as u32))
                }
            });
        }
        let bare = native.name.rsplit('.').next().unwrap_or(&native.name);
        let number = self.building.native(bare, items.len());
        let stopped = self.f.scalar("stopped", Type::Bool);
        let returned = result.map(|local| (local, self.f.scalar("given", Type::I64)));
        self.push(Stmt::Native {
            native: number,
            arguments: items,
            result: returned.map(|(_, variable)| variable),
            stopped,
        });
        let place = self.control_field(control::STOPPED);
        let stop = vec![Stmt::Assign(place, Expr::u32(Interface::STOPPED_BY_HOST)), Stmt::Return(self.leave.clone())];
        self.stops = true;
        let condition = self.f.read(stopped);
        self.push(Stmt::If(condition, stop, Vec::new()));
        if let Some((local, variable)) = returned {
            let given = self.f.read(variable);
            let scalar = self.locals[local.index()].ty.element;
            let value = match scalar {
                Scalar::Bool => Expr::compare(headrace_program::CompareOp::NotEqual, given, Expr::int(Type::I64, 0)),
                Scalar::Int(ty) if ty.width <= 64 => crate::integer::wrap(given, ty).to(machine(scalar)),
                _ => {
                    let what = "a native whose result is neither a bool nor an integer of 64 bits";
                    self.building.unsupported(span, what);
                    return;
                }
            };
            let place = ir::Place { root: Root::Local(local), indices: Vec::new(), span };
            let kept = self.kept_type(place.root);
            let location = self.locate(&place);
            self.store(location, value.to(kept));
        }
    }

    fn print_text(&mut self, text: &str) {
        if !text.is_empty() {
            let number = self.building.text(text);
            self.push(Stmt::Print(Print::Text(Expr::u32(number))));
        }
    }

    fn print(&mut self, piece: &PrintOperand) {
        if let ExprKind::Concat(pieces) = &piece.value.kind {
            return pieces.iter().for_each(|piece| self.print(piece));
        }
        let node = self.node(&piece.value);
        match piece.kind {
            Scalar::String => {
                if let ExprKind::If(_, a, b) = &piece.value.kind {
                    let condition = self.value(&node.kids[0]);
                    let branch = |code: &mut Self, value: &ir::Expr| {
                        let piece = PrintOperand { value: value.clone(), kind: Scalar::String };
                        code.inside(|code| code.print(&piece)).1
                    };
                    let yes = branch(self, a);
                    let no = branch(self, b);
                    return self.push_if(condition, yes, no);
                }
                if let ExprKind::String(text) = &piece.value.kind {
                    return self.print_text(text);
                }
                let value = self.value(&node);
                self.push(Stmt::Print(Print::Text(value)));
            }
            Scalar::Bool => {
                let value = self.value(&node);
                let (yes, no) = (self.building.text("true"), self.building.text("false"));
                self.push(Stmt::Print(Print::Text(Expr::select(value, Expr::u32(yes), Expr::u32(no)))));
            }
            Scalar::Real(ty) => {
                let value = self.value(&node);
                let format = match ty {
                    RealType::Half => RealFormat::Half,
                    RealType::Float => RealFormat::Single,
                    RealType::Double => RealFormat::Double,
                };
                self.push(Stmt::Print(Print::Real(value, format)));
            }
            Scalar::Int(_) => self.print_integer(&node),
        }
    }

    fn print_integer(&mut self, node: &Node<'_>) {
        if holding(&node.range).is_some() {
            let id = self.procedure("print_integer", digits::narrow);
            let value = self.exact(node);
            let (magnitude, negative) = if node.range.non_negative() {
                (value.to(Type::U64), Expr::bool(false))
            } else {
                let value = self.named("shown", value.to(Type::I64));
                let negative = value.clone().less(Expr::int(Type::I64, 0));
                let turned = Expr::unary(UnaryOp::Negate, value.clone());
                (Expr::select(negative.clone(), turned, value).to(Type::U64), negative)
            };
            return self.f.call(None, id, vec![Argument::Value(magnitude), Argument::Value(negative)]);
        }
        let words = crate::wide::exact_words(node);
        let id = self.procedure(&format!("print_integer_{words}"), |name| digits::wide(name, words));
        let value = self.wide(node, words);
        self.f.call(None, id, vec![whole(value)]);
    }
}
