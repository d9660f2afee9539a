//! Actors and units: their heads, members, actions, schedules and priorities.

use headrace_source::{Diagnostic, Span};

use super::{Parsed, Parser, Reported};
use crate::ast::*;
use crate::lexer::Kind;

/// What the members of an actor or unit are collected in.
#[derive(Default)]
struct Members {
    vars: Vec<VarDecl>,
    functions: Vec<Function>,
    procedures: Vec<Procedure>,
    actions: Vec<Action>,
    initializes: Vec<Action>,
    schedule: Option<Schedule>,
    priorities: Vec<Inequality>,
}

impl Parser<'_> {
    pub(super) fn actor(&mut self) -> Parsed<Actor> {
        let start = self.expect(Kind::Actor)?;
        let name = self.name("the name of the actor")?;
        let mut params = Vec::new();
        let mut inputs = Vec::new();
        let mut outputs = Vec::new();
        let head =
            self.actor_head(&mut params, &mut inputs, &mut outputs).and_then(|()| self.expect(Kind::Colon).map(|_| ()));
        if head.is_err() {
            self.skip_head();
        }
        let members = self.members("actor", start);
        let span = self.since(start);
        Ok(Actor {
            name,
            params,
            inputs,
            outputs,
            vars: members.vars,
            functions: members.functions,
            procedures: members.procedures,
            actions: members.actions,
            initializes: members.initializes,
            schedule: members.schedule,
            priorities: members.priorities,
            span,
        })
    }

    fn actor_head(
        &mut self,
        params: &mut Vec<VarDecl>,
        inputs: &mut Vec<PortDecl>,
        outputs: &mut Vec<PortDecl>,
    ) -> Parsed<()> {
        self.expect(Kind::OpenParen)?;
        if !self.is(Kind::CloseParen) {
            *params = self.comma_list(Self::var_decl)?;
        }
        self.expect(Kind::CloseParen)?;
        if !self.is(Kind::DoubleArrow) {
            *inputs = self.comma_list(Self::port_decl)?;
        }
        self.expect(Kind::DoubleArrow)?;
        if !self.is(Kind::Colon) {
            *outputs = self.comma_list(Self::port_decl)?;
        }
        Ok(())
    }

    pub(super) fn port_decl(&mut self) -> Parsed<PortDecl> {
        let start = self.span();
        let annotations = self.annotations()?;
        let ty = self.ty()?;
        let name = self.name("the name of a port")?;
        if self.is(Kind::OpenBracket) {
            let span = self.span();
            return Err(self.dropped(span, "arrays of ports", "declare one port for each"));
        }
        let span = self.since(start);
        Ok(PortDecl { annotations, ty, name, attributes: Vec::new(), span })
    }

    /// After a wrong head: to the colon that ends it, or to the first member.
    pub(super) fn skip_head(&mut self) {
        let mut parens = 0u32;
        loop {
            match self.kind() {
                Kind::Eof | Kind::End => return,
                Kind::OpenParen => parens += 1,
                Kind::CloseParen => parens = parens.saturating_sub(1),
                // Not the colon of `List(type:T, ...)`.
                Kind::Colon if parens == 0 => {
                    self.advance();
                    return;
                }
                _ if self.at_member_word() => return,
                _ => {}
            }
            self.advance();
        }
    }

    pub(super) fn unit(&mut self) -> Parsed<Unit> {
        let start = self.expect(Kind::Unit)?;
        let name = self.name("the name of the unit")?;
        if self.expect(Kind::Colon).is_err() {
            self.skip_head();
        }
        let members = self.members("unit", start);
        let span = self.since(start);
        let what = "a unit holds constants, functions and procedures only";
        let actions = members.actions.iter().chain(&members.initializes);
        let misplaced = actions.map(|action| (action.head, "an action"));
        let misplaced = misplaced.chain(members.schedule.iter().map(|schedule| {
            let span = match schedule {
                Schedule::Fsm(fsm) => fsm.span,
                Schedule::RegExp(regexp) => regexp.span,
            };
            (span, "a schedule")
        }));
        let misplaced = misplaced.chain((members.priorities.iter()).map(|order| (order.span, "a priority")));
        for (span, found) in misplaced {
            self.problems.push(Diagnostic::error("syntax-error", what).at(span, format!("{found} in a unit")));
        }
        Ok(Unit { name, vars: members.vars, functions: members.functions, procedures: members.procedures, span })
    }

    /// Members up to the `end` of the entity, which is read too.
    fn members(&mut self, what: &str, opener: Span) -> Members {
        let mut members = Members::default();
        loop {
            let start = self.at;
            if self.is(Kind::End) || (self.is(Kind::Ident) && self.eat_closing_synonym()) {
                if self.at == start {
                    self.advance();
                }
                // More members after the `end`: one `end` too many somewhere before.
                if !self.at_member_word() && !self.is(Kind::At) {
                    return members;
                }
                let span = self.previous().map_or(opener, |end| self.span_of(end));
                self.report(
                    Diagnostic::error("syntax-error", format!("the {what} goes on after its `end`"))
                        .at(span, format!("this `end` closes the {what}"))
                        .also(opener, format!("the {what} begins here")),
                );
                continue;
            }
            if self.is(Kind::Eof) {
                self.expect_end(what, opener);
                return members;
            }
            if self.member(&mut members).is_err() && self.at == start {
                self.advance();
            }
        }
    }

    fn member(&mut self, members: &mut Members) -> Parsed<()> {
        let start = self.span();
        let first = self.at;
        let mut annotations = match self.annotations() {
            Ok(annotations) => annotations,
            Err(reported) => {
                self.skip_declaration();
                return Err(reported);
            }
        };
        // Orcc's way of writing `@native` before it had annotations.
        if self.is_word("native") && matches!(self.ahead(1).kind, Kind::Function | Kind::Procedure) {
            let name = self.name("a member")?;
            annotations.push(Annotation { span: name.span, name, args: Vec::new() });
        }
        let read = match self.kind() {
            Kind::Function => self.function(start, annotations).map(|function| members.functions.push(function)),
            Kind::Procedure => self.procedure(start, annotations).map(|procedure| members.procedures.push(procedure)),
            Kind::Action | Kind::Initialize => {
                self.action(start, annotations, None, start, members);
                Ok(())
            }
            Kind::Ident if self.at_tagged_action() => {
                let head = self.span();
                let tag = self.qualified_name("a tag")?;
                self.expect(Kind::Colon)?;
                self.action(start, annotations, Some(tag), head, members);
                Ok(())
            }
            Kind::Schedule => {
                let schedule = self.schedule();
                self.add_schedule(schedule, start, members)
            }
            Kind::Priority => self.priority(&mut members.priorities),
            Kind::Ident if self.is_word("local") && self.ahead(1).kind == Kind::Fsm => {
                self.dropped(start, "`local fsm`", "write one `schedule fsm`");
                self.skip_block();
                Ok(())
            }
            _ if self.at_type() || self.is_word("const") || self.is_word("mutable") => {
                // The annotations belong to the variable.
                self.at = first;
                let read = self.var_decl().and_then(|var| {
                    members.vars.push(var);
                    self.expect_semicolon()
                });
                if read.is_err() {
                    self.skip_declaration();
                }
                return read;
            }
            _ => {
                let reported = self.not_a_member();
                self.skip_declaration();
                return Err(reported);
            }
        };
        if read.is_err() {
            self.skip_block();
        }
        read
    }

    fn not_a_member(&mut self) -> Reported {
        let span = self.span();
        if self.is(Kind::Guard) || self.is(Kind::Do) || self.is(Kind::Var) {
            let word = self.found();
            return self.syntax_error(span, format!("{word} outside an action"), "an `end` before may be one too many");
        }
        self.expected("a variable, function, procedure, action, schedule, priority or `end`")
    }

    /// After a wrong declaration: behind its semicolon, or before the next member.
    fn skip_declaration(&mut self) {
        let start = self.at;
        loop {
            match self.kind() {
                Kind::Eof => return,
                Kind::Semicolon => {
                    self.advance();
                    return;
                }
                Kind::End | Kind::At if self.at > start && self.starts_line(self.at) => return,
                _ if self.at > start && self.at_type() && self.starts_line(self.at) => return,
                _ if self.at > start && self.at_member_word() => return,
                _ => {}
            }
            self.advance();
        }
    }

    /// After a wrong member that ends in `end`: behind that `end`, or before the next member.
    fn skip_block(&mut self) {
        let start = self.at;
        let mut depth = 0u32;
        loop {
            match self.kind() {
                Kind::Eof => return,
                Kind::If | Kind::While | Kind::Foreach => depth += 1,
                Kind::End if depth == 0 => {
                    self.advance();
                    return;
                }
                Kind::End => depth -= 1,
                _ if self.at > start && self.at_member_word() => return,
                _ => {}
            }
            self.advance();
        }
    }

    fn function(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<Function> {
        let opener = self.expect(Kind::Function)?;
        let name = self.name("the name of the function")?;
        let params = self.params()?;
        self.expect(Kind::LongArrow)?;
        let result = self.ty()?;
        let mut vars = Vec::new();
        let mut body = None;
        if !self.is(Kind::End) {
            self.var_section(&mut vars)?;
            self.expect(Kind::Colon)?;
            self.leading_vars(&mut vars);
            body = Some(self.expr()?);
        }
        if body.is_some() && self.is(Kind::Semicolon) {
            let span = self.span();
            self.syntax_error(span, "the body of a function is an expression, not a statement", "surplus `;`");
            self.advance();
        }
        self.expect_end("function", opener);
        let span = self.since(start);
        Ok(Function { annotations, name, params, result, vars, body, span })
    }

    fn procedure(&mut self, start: Span, annotations: Vec<Annotation>) -> Parsed<Procedure> {
        let opener = self.expect(Kind::Procedure)?;
        let name = self.name("the name of the procedure")?;
        let params = self.params()?;
        let mut vars = Vec::new();
        let mut body = None;
        if !self.is(Kind::End) {
            self.var_section(&mut vars)?;
            if !self.eat(Kind::Begin) && !self.eat(Kind::Do) {
                return Err(self.expected("`begin`"));
            }
            self.leading_vars(&mut vars);
            body = Some(self.stmts());
        }
        self.expect_end("procedure", opener);
        let span = self.since(start);
        Ok(Procedure { annotations, name, params, vars, body, span })
    }

    /// An action or initialize. A wrong part is left out and the rest is read.
    fn action(
        &mut self,
        start: Span,
        annotations: Vec<Annotation>,
        tag: Option<Tag>,
        head: Span,
        members: &mut Members,
    ) {
        let keyword = self.span();
        let initialize = self.advance().kind == Kind::Initialize;
        let head = if tag.is_some() { head.to(keyword) } else { keyword };
        let mut action = Action {
            annotations,
            tag,
            inputs: Vec::new(),
            outputs: Vec::new(),
            guards: Vec::new(),
            vars: Vec::new(),
            body: Vec::new(),
            head,
            span: start,
        };
        if !self.is(Kind::DoubleArrow) && !self.at_section() {
            match self.comma_list(Self::input_pattern) {
                Ok(inputs) => action.inputs = inputs,
                Err(_) => self.skip_to_section(true),
            }
        }
        if let (true, Some(pattern)) = (initialize, action.inputs.first()) {
            self.problems.push(
                Diagnostic::error("syntax-error", "`initialize` reads no inputs").at(pattern.span, "not allowed here"),
            );
            action.inputs.clear();
        }
        if self.expect(Kind::DoubleArrow).is_err() {
            self.skip_to_section(true);
            self.eat(Kind::DoubleArrow);
        }
        if self.is(Kind::Ident) && !self.is_word("delay") {
            match self.comma_list(Self::output_pattern) {
                Ok(outputs) => action.outputs = outputs,
                Err(_) => self.skip_to_section(false),
            }
        }
        self.action_body(&mut action);
        self.expect_end(if initialize { "initialize" } else { "action" }, keyword);
        action.span = self.since(start);
        if initialize {
            members.initializes.push(action);
        } else {
            members.actions.push(action);
        }
    }

    /// `guard`, `var` and `do`, up to the `end`.
    fn action_body(&mut self, action: &mut Action) {
        loop {
            match self.kind() {
                Kind::Guard => {
                    self.advance();
                    match self.exprs() {
                        Ok(guards) => action.guards.extend(guards),
                        Err(_) => self.skip_to_section(false),
                    }
                }
                Kind::Var => {
                    if self.var_section(&mut action.vars).is_err() {
                        self.skip_to_section(false);
                    }
                }
                Kind::Do => {
                    self.advance();
                    self.leading_vars(&mut action.vars);
                    action.body = self.stmts();
                    // An `else` without an `if` must not hide the rest.
                    while matches!(self.kind(), Kind::Else | Kind::Elsif) {
                        self.expected("a statement or `end`");
                        self.advance();
                        self.skip_statement();
                        action.body.extend(self.stmts());
                    }
                    return;
                }
                Kind::Ident if self.is_word("delay") && !self.at_tagged_action() => {
                    let span = self.span();
                    self.dropped(span, "`delay`", "time is not part of a program; leave it out");
                    self.skip_to_section(false);
                }
                Kind::End | Kind::Eof => return,
                _ if self.at_member_word() => return,
                _ => {
                    self.expected("`guard`, `var`, `do` or `end`");
                    self.skip_to_section(false);
                }
            }
        }
    }

    fn at_section(&self) -> bool {
        matches!(self.kind(), Kind::Guard | Kind::Var | Kind::Do | Kind::End | Kind::Eof)
    }

    /// To the next part of an action, past at least one lexeme unless a part starts here.
    fn skip_to_section(&mut self, stop_at_arrow: bool) {
        let mut depth = 0u32;
        loop {
            match self.kind() {
                Kind::Eof => return,
                Kind::If => depth += 1,
                Kind::End if depth > 0 => depth -= 1,
                Kind::DoubleArrow if stop_at_arrow => return,
                _ if self.at_section() || self.at_member_word() => return,
                _ => {}
            }
            self.advance();
        }
    }

    fn input_pattern(&mut self) -> Parsed<InputPattern> {
        let port = self.port_of_pattern()?;
        let names = self.comma_list(|parser| parser.name("the name of a token"))?;
        self.expect(Kind::CloseBracket)?;
        for word in ["at", "any", "all", "multi"] {
            if self.is_word(word) {
                let span = self.span();
                return Err(self.dropped(
                    span,
                    &format!("`{word}`"),
                    "a port is one channel; `repeat` reads several tokens",
                ));
            }
        }
        let repeat = self.repeat()?;
        let span = self.since(port.span);
        Ok(InputPattern { port, names, repeat, span })
    }

    fn output_pattern(&mut self) -> Parsed<OutputPattern> {
        let port = self.port_of_pattern()?;
        let values = self.exprs()?;
        if !self.is(Kind::CloseBracket) {
            return Err(self.expected("`,` or `]`"));
        }
        self.advance();
        let repeat = self.repeat()?;
        let span = self.since(port.span);
        Ok(OutputPattern { port, values, repeat, span })
    }

    /// `Port:[`
    fn port_of_pattern(&mut self) -> Parsed<Name> {
        if self.is(Kind::OpenBracket) {
            let span = self.span();
            return Err(self.dropped(span, "patterns without a port", "write the port and a colon before the bracket"));
        }
        let port = self.name("the name of a port")?;
        self.expect(Kind::Colon)?;
        self.expect(Kind::OpenBracket)?;
        Ok(port)
    }

    fn repeat(&mut self) -> Parsed<Option<Expr>> {
        if self.eat(Kind::Repeat) { self.expr().map(Some) } else { Ok(None) }
    }

    fn add_schedule(&mut self, schedule: Parsed<Schedule>, start: Span, members: &mut Members) -> Parsed<()> {
        let schedule = schedule?;
        if members.schedule.is_some() {
            self.problems.push(
                Diagnostic::error("several-schedules", "an actor has at most one schedule")
                    .at(start, "a second schedule"),
            );
        } else {
            members.schedule = Some(schedule);
        }
        Ok(())
    }

    fn schedule(&mut self) -> Parsed<Schedule> {
        let start = self.expect(Kind::Schedule)?;
        if self.eat(Kind::Regexp) {
            let mut regexp = self.regexp()?;
            self.expect_end("schedule", start);
            regexp.span = self.since(start);
            return Ok(Schedule::RegExp(regexp));
        }
        if !self.eat(Kind::Fsm) {
            return Err(self.expected("`fsm` or `regexp`"));
        }
        let initial = self.name("the initial state")?;
        self.expect(Kind::Colon)?;
        let mut transitions = Vec::new();
        while self.is(Kind::Ident) && !self.at_tagged_action() {
            if self.transition(&mut transitions).is_err() {
                self.skip_statement();
            }
        }
        self.expect_end("schedule", start);
        Ok(Schedule::Fsm(Fsm { initial, transitions, span: self.since(start) }))
    }

    /// `s (a, b) --> t;`, also with further arms `| (c) --> u`.
    fn transition(&mut self, transitions: &mut Vec<Transition>) -> Parsed<()> {
        let source = self.name("a state")?;
        loop {
            self.expect(Kind::OpenParen)?;
            let tags = self.comma_list(|parser| parser.qualified_name("the tag of an action"))?;
            self.expect(Kind::CloseParen)?;
            self.expect(Kind::LongArrow)?;
            let target = self.name("a state")?;
            if self.is(Kind::Dot) {
                let span = self.span();
                return Err(self.dropped(span, "states of another `fsm`", "write one `schedule fsm`"));
            }
            let span = self.since(source.span);
            transitions.push(Transition { source: source.clone(), tags, target, span });
            if !self.eat(Kind::Bar) {
                break;
            }
        }
        self.expect_semicolon()
    }

    fn regexp(&mut self) -> Parsed<RegExp> {
        self.nested(|parser| {
            let start = parser.span();
            let mut arms = vec![parser.regexp_sequence()?];
            while parser.eat(Kind::Bar) {
                arms.push(parser.regexp_sequence()?);
            }
            let span = parser.since(start);
            Ok(one_or(arms, span, RegExpKind::Choice))
        })
    }

    fn regexp_sequence(&mut self) -> Parsed<RegExp> {
        let start = self.span();
        let mut parts = vec![self.regexp_postfix()?];
        while matches!(self.kind(), Kind::Ident | Kind::OpenParen) {
            parts.push(self.regexp_postfix()?);
        }
        let span = self.since(start);
        Ok(one_or(parts, span, RegExpKind::Sequence))
    }

    fn regexp_postfix(&mut self) -> Parsed<RegExp> {
        let start = self.span();
        let mut regexp = if self.eat(Kind::OpenParen) {
            let inner = self.regexp()?;
            self.expect(Kind::CloseParen)?;
            inner
        } else {
            let tag = self.qualified_name("a tag or `(`")?;
            RegExp { span: tag.span, kind: RegExpKind::Tag(tag) }
        };
        while matches!(self.kind(), Kind::Star | Kind::StarStar | Kind::Question) {
            let sign = self.advance();
            let span = self.since(start);
            // What repeats already is not wrapped again: `e**` is `e*`, so height stays bounded by nesting.
            let kind = match (sign.kind, &regexp.kind) {
                (Kind::Question, RegExpKind::Star(_) | RegExpKind::Optional(_)) => continue,
                (Kind::Question, _) => RegExpKind::Optional(Box::new(regexp)),
                (_, RegExpKind::Star(_)) => continue,
                (_, _) => RegExpKind::Star(Box::new(regexp)),
            };
            regexp = RegExp { kind, span };
        }
        Ok(regexp)
    }

    fn priority(&mut self, priorities: &mut Vec<Inequality>) -> Parsed<()> {
        let opener = self.expect(Kind::Priority)?;
        while self.is(Kind::Ident) && !self.at_tagged_action() {
            match self.inequality() {
                Ok(inequality) => priorities.push(inequality),
                Err(_) => self.skip_statement(),
            }
        }
        self.expect_end("priority", opener);
        Ok(())
    }

    fn inequality(&mut self) -> Parsed<Inequality> {
        let start = self.span();
        let mut tags = vec![self.qualified_name("a tag")?];
        if !self.is(Kind::Gt) {
            return Err(self.expected("`>`"));
        }
        while self.eat(Kind::Gt) {
            tags.push(self.qualified_name("a tag")?);
        }
        self.expect_semicolon()?;
        let span = self.since(start);
        Ok(Inequality { tags, span })
    }
}

fn one_or(mut parts: Vec<RegExp>, span: Span, several: impl FnOnce(Vec<RegExp>) -> RegExpKind) -> RegExp {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            parts.extend(last);
            RegExp { kind: several(parts), span }
        }
    }
}
