//! Random texts that follow the grammar, as lexemes with random blanks and comments between them.

/// A small reproducible generator of random numbers (xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }

    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// Collects lexemes.
pub struct Generator {
    pub random: Random,
    lexemes: Vec<String>,
    depth: usize,
    network: bool,
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), lexemes: Vec::new(), depth: 0, network: false }
    }

    /// The lexemes with random blanks and comments.
    pub fn littered(&mut self, comments: bool) -> String {
        let lexemes = std::mem::take(&mut self.lexemes);
        let mut text = String::new();
        for lexeme in &lexemes {
            text.push_str(lexeme);
            text.push(' ');
            loop {
                match self.random.below(if comments { 14 } else { 8 }) {
                    0 => text.push('\n'),
                    1 => text.push_str("\n\n\n    "),
                    2 => text.push('\t'),
                    8 => text.push_str("// note\n"),
                    9 => text.push_str(" /* inside */ "),
                    10 => text.push_str("\n/* one\n   two */\n"),
                    11 => text.push_str("\n  /** one\n * two\n  */"),
                    12 => text.push_str(" // trailing  \n  // and more\r\n"),
                    _ => {
                        text.push(' ');
                        break;
                    }
                }
            }
        }
        self.lexemes = lexemes;
        text
    }

    fn put(&mut self, lexemes: &str) {
        self.lexemes.extend(lexemes.split_whitespace().map(str::to_string));
    }

    fn name(&mut self) {
        let name =
            self.random.pick(&["a", "b", "count", "In", "Out", "size", "type", "x_1", "half", "flag", "entity", "old"]);
        self.put(name);
    }

    fn list(&mut self, most: usize, separator: &str, item: fn(&mut Self)) {
        item(self);
        for _ in 0..self.random.below(most) {
            self.put(separator);
            item(self);
        }
    }

    pub fn file(&mut self) {
        if self.random.chance(2) {
            self.put("package a . b ;");
        }
        for _ in 0..self.random.below(3) {
            let import = self.random.pick(&["import a . B . * ;", "import c . d . E . f ;"]);
            self.put(import);
        }
        self.annotations();
        match self.random.below(5) {
            0 => self.unit(),
            1 | 2 => self.network(),
            _ => self.actor(),
        }
    }

    fn annotations(&mut self) {
        if self.random.chance(6) {
            let annotation = self.random.pick(&["@ native", "@ inline", "@ opt ( key = \"v\" , flag )"]);
            self.put(annotation);
        }
    }

    fn ty(&mut self) {
        self.depth += 1;
        match self.random.below(8) {
            0 => self.put("bool"),
            1 => self.put("int"),
            2 => self.put("String"),
            3 => self.put("double"),
            4 if self.depth < 4 => {
                self.put("List ( type :");
                self.ty();
                self.put(", size =");
                self.expr();
                self.put(")");
            }
            _ => {
                self.put("uint ( size =");
                self.expr();
                self.put(")");
            }
        }
        self.depth -= 1;
    }

    fn var(&mut self) {
        self.annotations();
        self.ty();
        self.put("v");
        if self.random.chance(4) {
            self.put("[");
            self.expr();
            self.put("]");
        }
    }

    fn valued_var(&mut self) {
        self.var();
        if self.random.chance(2) {
            let sign = self.random.pick(&["=", ":="]);
            self.put(sign);
            self.expr();
        }
    }

    pub fn expr(&mut self) {
        self.depth += 1;
        let shallow = self.depth > 5;
        match self.random.below(if shallow { 5 } else { 16 }) {
            0 => self.name(),
            1 => self.put("12"),
            2 => self.put("0x1F"),
            3 => self.put("1.5e3"),
            4 => self.put("\"text\""),
            5 => {
                self.put("(");
                self.expr();
                self.put(")");
            }
            6 => {
                let op = self.random.pick(&["-", "~", "not", "#"]);
                self.put(op);
                self.put("(");
                self.expr();
                self.put(")");
            }
            7 => {
                self.put("if");
                self.expr();
                self.put("then");
                self.expr();
                if self.random.chance(3) {
                    self.put("elsif");
                    self.expr();
                    self.put("then");
                    self.expr();
                }
                self.put("else");
                self.expr();
                self.put("end");
            }
            8 => {
                self.put("f (");
                if !self.random.chance(4) {
                    self.list(3, ",", Self::expr);
                }
                self.put(")");
            }
            9 => {
                self.put("a . b . T [");
                self.expr();
                self.put("]");
            }
            10 | 11 => {
                self.put("[");
                self.list(8, ",", Self::expr);
                if self.random.chance(3) {
                    self.put(":");
                    self.list(2, ",", |generator| {
                        generator.put("for");
                        generator.generator();
                    });
                }
                self.put("]");
            }
            _ => {
                self.put("(");
                self.expr();
                let op = self.random.pick(&[
                    "+", "-", "*", "/", "div", "mod", "**", "<<", ">>", "&", "|", "^", "=", "!=", "<", "<=", ">", ">=",
                    "and", "or", "&&", "||",
                ]);
                self.put(op);
                self.put("x )");
                self.put("+ yyyyyyyyyyyyyyyyy");
            }
        }
        self.depth -= 1;
    }

    fn generator(&mut self) {
        if !self.network || self.random.chance(2) {
            self.put("int");
        }
        self.put("i in");
        self.expr();
        self.put("..");
        self.expr();
    }

    fn stmt(&mut self) {
        self.depth += 1;
        self.annotations();
        match self.random.below(if self.depth > 4 { 2 } else { 6 }) {
            0 => {
                self.name();
                if self.random.chance(2) {
                    self.put("[");
                    self.expr();
                    self.put("]");
                }
                self.put(":=");
                self.expr();
                self.put(";");
            }
            1 => {
                self.put("println (");
                self.expr();
                self.put(") ;");
            }
            2 => {
                self.put("while");
                self.expr();
                self.put("do");
                self.stmts();
                self.put("end");
            }
            3 => {
                self.put("foreach");
                self.generator();
                self.put("do");
                self.stmts();
                self.put("end");
            }
            _ => {
                self.put("if");
                self.expr();
                self.put("then");
                self.stmts();
                if self.random.chance(3) {
                    self.put("elsif");
                    self.expr();
                    self.put("then");
                    self.stmts();
                }
                if self.random.chance(2) {
                    self.put("else");
                    self.stmts();
                }
                self.put("end");
            }
        }
        self.depth -= 1;
    }

    fn stmts(&mut self) {
        for _ in 0..self.random.below(4) {
            self.stmt();
        }
    }

    fn vars(&mut self) {
        if self.random.chance(3) {
            self.put("var");
            self.list(3, ",", Self::valued_var);
        }
    }

    fn callable(&mut self) {
        self.annotations();
        if self.random.chance(2) {
            self.put("function f (");
            if self.random.chance(2) {
                self.list(3, ",", Self::var);
            }
            self.put(") -->");
            self.ty();
            if !self.random.chance(4) {
                self.vars();
                self.put(":");
                self.expr();
            }
        } else {
            self.put("procedure p (");
            if self.random.chance(2) {
                self.list(3, ",", Self::var);
            }
            self.put(")");
            if !self.random.chance(4) {
                self.vars();
                self.put("begin");
                self.stmts();
            }
        }
        self.put("end");
    }

    fn unit(&mut self) {
        self.put("unit U :");
        for _ in 0..self.random.below(5) {
            if self.random.chance(2) {
                self.callable();
            } else {
                self.valued_var();
                self.put(";");
            }
        }
        self.put("end");
    }

    fn port(&mut self) {
        self.annotations();
        self.ty();
        self.put("Port");
        if self.network {
            self.attributes();
        }
    }

    fn ports(&mut self) {
        if !self.random.chance(4) {
            self.list(3, ",", Self::port);
        }
        self.put("==>");
        if !self.random.chance(4) {
            self.list(3, ",", Self::port);
        }
    }

    fn pattern(&mut self) {
        self.put("In : [");
        self.list(3, ",", Self::name);
        self.put("]");
        self.repeat();
    }

    fn output(&mut self) {
        self.put("Out : [");
        self.list(3, ",", Self::expr);
        self.put("]");
        self.repeat();
    }

    fn repeat(&mut self) {
        if self.random.chance(3) {
            self.put("repeat");
            self.expr();
        }
    }

    fn action(&mut self) {
        self.annotations();
        if self.random.chance(2) {
            self.put("tag . sub :");
        }
        if self.random.chance(5) {
            self.put("initialize");
        } else {
            self.put("action");
            if self.random.chance(2) {
                self.list(2, ",", Self::pattern);
            }
        }
        self.put("==>");
        if self.random.chance(2) {
            self.list(2, ",", Self::output);
        }
        if self.random.chance(3) {
            self.put("guard");
            self.list(2, ",", Self::expr);
        }
        self.vars();
        if self.random.chance(2) {
            self.put("do");
            self.stmts();
        }
        self.put("end");
    }

    fn actor(&mut self) {
        self.put("actor A (");
        if self.random.chance(2) {
            self.list(3, ",", Self::valued_var);
        }
        self.put(")");
        self.ports();
        self.put(":");
        for _ in 0..self.random.below(6) {
            match self.random.below(4) {
                0 => self.callable(),
                1 => {
                    self.valued_var();
                    self.put(";");
                }
                _ => self.action(),
            }
        }
        match self.random.below(4) {
            0 => self.put("schedule fsm s : s ( a ) --> t ; t ( b . c , d ) --> s | ( e ) --> t ; end"),
            1 => self.put("schedule regexp ( a b . c ) * ( d | e ) ? f end"),
            _ => {}
        }
        if self.random.chance(2) {
            self.put("priority a > b . c > d ; e > f ; end");
        }
        self.put("end");
    }

    fn attributes(&mut self) {
        if !self.random.chance(4) {
            return;
        }
        self.put("{");
        for _ in 0..self.random.below(3) {
            match self.random.below(5) {
                0 => self.put("flag native ;"),
                1 => self.put("string note = \"text\" ;"),
                2 => self.put("custom layout = \"<a/>\" ;"),
                3 => {
                    self.put("type token =");
                    self.ty();
                    self.put(";");
                }
                _ => {
                    self.put("bufferSize =");
                    self.expr();
                    self.put(";");
                }
            }
        }
        self.put("}");
    }

    fn entity(&mut self) {
        self.depth += 1;
        match self.random.below(if self.depth > 3 { 1 } else { 4 }) {
            0 | 1 => {
                self.put("a . b . C (");
                if self.random.chance(2) {
                    self.list(2, ",", |generator| {
                        generator.put("k =");
                        if generator.random.chance(3) {
                            generator.put("D ( r = 3 )");
                        } else {
                            generator.expr();
                        }
                    });
                }
                self.put(")");
            }
            2 => {
                self.put("if");
                self.expr();
                self.put("then");
                self.entity();
                self.put("else");
                self.entity();
                self.put("end");
            }
            _ => {
                self.put("[");
                self.list(3, ",", Self::entity);
                if self.random.chance(2) {
                    self.put(": for");
                    self.generator();
                }
                self.put("]");
            }
        }
        self.depth -= 1;
    }

    fn connection(&mut self) {
        self.depth += 1;
        match self.random.below(if self.depth > 4 { 2 } else { 4 }) {
            0 | 1 => {
                if self.random.chance(3) {
                    self.put("In --> bank [");
                    self.expr();
                    self.put("] . Port");
                } else {
                    let ends = self.random.pick(&["In --> a . x", "a . y --> \"end\" . \"in\"", "b . x --> Out"]);
                    self.put(ends);
                }
                self.attributes();
                self.put(";");
            }
            2 => {
                self.put("foreach");
                self.generator();
                self.put("do");
                self.connections();
                self.put("end");
            }
            _ => {
                self.put("if");
                self.expr();
                self.put("then");
                self.connections();
                if self.random.chance(2) {
                    self.put("else");
                    self.connections();
                }
                self.put("end");
            }
        }
        self.depth -= 1;
    }

    fn connections(&mut self) {
        for _ in 0..self.random.below(4) {
            self.connection();
        }
    }

    fn network(&mut self) {
        self.network = true;
        self.put("network N (");
        if self.random.chance(2) {
            self.list(2, ",", |generator| {
                if generator.random.chance(2) {
                    generator.put("entity Cipher");
                    if generator.random.chance(2) {
                        generator.put("=");
                        generator.entity();
                    }
                } else {
                    generator.valued_var();
                }
            });
        }
        self.put(")");
        self.ports();
        self.put(":");
        if self.random.chance(3) {
            self.put("attributes { x = 1 ; flag y ; }");
        }
        if self.random.chance(2) {
            self.put("var");
            for _ in 0..self.random.below(3) {
                self.valued_var();
                self.put(";");
            }
        }
        if !self.random.chance(4) {
            self.put("entities");
            for _ in 0..self.random.below(4) {
                let name = self.random.pick(&["a =", "structure =", "\"end\" ="]);
                self.put(name);
                self.entity();
                self.attributes();
                self.put(";");
            }
        }
        if !self.random.chance(4) {
            self.put("structure");
            self.connections();
        }
        self.put("end");
    }
}
