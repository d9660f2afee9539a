//! XDF: what is read, what is written, and that nothing gets lost on the way through NL.

#[expect(dead_code, reason = "each test uses a part of it")]
mod generate;

use generate::Random;
use headrace_source::{FileId, Severity};
use headrace_syntax::{ast::*, erase_spans, nl, parse, xdf};

fn read(text: &str) -> File {
    let (file, diagnostics) = xdf::read(FileId(0), "Top", text);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}\n{text}");
    file.unwrap_or_else(|| panic!("no tree: {text}"))
}

fn network(file: &File) -> &Network {
    match &file.entity {
        Entity::Network(network) => network,
        other => panic!("{other:?}"),
    }
}

fn written(file: &File) -> String {
    xdf::write(network(file)).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

fn read_nl(text: &str) -> File {
    let (file, diagnostics) = parse(FileId(0), text);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}\n{text}");
    file.unwrap_or_else(|| panic!("no tree: {text}"))
}

/// XDF to NL and back gives the same tree and the same XDF.
fn assert_round_trip(text: &str) {
    let mut first = read(text);
    let canonical = written(&first);
    let nl_text = nl::write(&first);
    let mut second = read_nl(&nl_text);
    erase_spans(&mut first);
    erase_spans(&mut second);
    assert_eq!(first, second, "{nl_text}");
    assert_eq!(canonical, written(&second), "{nl_text}");
    let mut third = read(&canonical);
    erase_spans(&mut third);
    assert_eq!(first, third, "{canonical}");
    // The NL text is settled, too.
    assert_eq!(nl_text, nl::write(&read_nl(&nl_text)));
}

const FULL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- everything that XDF has -->
<XDF name="Top">
    <Port kind="Input" name="In"><Type name="uint"><Entry kind="Expr" name="size">
        <Expr kind="Literal" literal-kind="Integer" value="8"/></Entry></Type>
        <Attribute kind="Flag" name="native"/></Port>
    <Port kind="Output" name="in"><Type name="bool"/></Port>
    <Decl kind="Param" name="n"><Type name="int"/></Decl>
    <Decl kind="Param" name="d"><Type name="int"/><Expr kind="Var" name="n"/></Decl>
    <Decl kind="Variable" name="table"><Type name="List">
        <Entry kind="Type" name="type"><Type name="List"><Entry kind="Type" name="type"><Type name="float"/></Entry>
            <Entry kind="Expr" name="size"><Expr kind="Var" name="n"/></Entry></Type></Entry>
        <Entry kind="Expr" name="size"><Expr kind="Literal" literal-kind="Integer" value="2"/></Entry></Type>
        <Expr kind="List"><Expr kind="Literal" literal-kind="Real" value="-1.5e3"/><Expr kind="Literal"
            literal-kind="Real" value="2"/></Expr></Decl>
    <Decl kind="Variable" name="s"><Type name="String"/>
        <Expr kind="Literal" literal-kind="String" value="a &quot;b&quot; &amp; &lt;c&gt;&#10;\n"/></Decl>
    <Instance id="end">
        <Class name="a.b.Source"/>
        <Parameter name="sum"><Expr kind="BinOpSeq">
            <Expr kind="Literal" literal-kind="Integer" value="-5"/><Op name="+"/>
            <Expr kind="BinOpSeq"><Expr kind="Var" name="n"/><Op name="or"/><Expr kind="Literal"
                literal-kind="Boolean" value="true"/></Expr><Op name="*"/>
            <Expr kind="UnaryOp"><Op name="~"/><Expr kind="Var" name="n"/></Expr></Expr></Parameter>
        <Parameter name="big"><Expr kind="Literal" literal-kind="Integer"
            value="340282366920938463463374607431768211456"/></Parameter>
        <Attribute kind="Value" name="partition"><Expr kind="Literal" literal-kind="String" value="hw"/></Attribute>
        <Attribute kind="String" name="note" value="it's"/>
        <Attribute kind="Type" name="type"><Type name="double"/></Attribute>
        <Attribute kind="Custom" name="odd name"><a x="1">t &lt; <b/></a></Attribute>
    </Instance>
    <Instance id="sink"><Class name="Sink"/></Instance>
    <Connection src="" src-port="In" dst="end" dst-port="X"/>
    <Connection src="end" src-port="Y" dst="sink" dst-port="Z">
        <Attribute kind="Value" name="bufferSize"><Expr kind="Literal" literal-kind="Integer" value="64"/></Attribute>
    </Connection>
    <Connection dst="" dst-port="in" src="sink" src-port="W"/>
    <Attribute kind="Flag" name="top"/>
</XDF>
"#;

#[test]
fn everything_is_read() {
    let file = read(FULL);
    let top = network(&file);
    assert_eq!(top.name.text, "Top");
    assert_eq!((top.inputs.len(), top.outputs.len()), (1, 1));
    assert_eq!(top.inputs[0].attributes[0].value, AttributeValue::Flag);
    assert_eq!((top.params.len(), top.vars.len()), (2, 2));
    let Some(ExprKind::String(text)) = top.vars[1].value.as_ref().map(|value| &value.kind) else { panic!() };
    assert_eq!(text, "a \"b\" & <c>\n\\n");
    assert_eq!(top.entities.len(), 2);
    assert_eq!(top.entities[0].attributes.len(), 4);
    let AttributeValue::Custom(xml) = &top.entities[0].attributes[3].value else { panic!() };
    assert_eq!(xml, "<a x=\"1\">t &lt; <b/></a>");
    assert_eq!(top.structure.len(), 3);
    let StructureKind::Connection { from, to, .. } = &top.structure[0].kind else { panic!() };
    assert!(from.instance.is_none());
    assert_eq!(to.instance.as_ref().map(|instance| instance.name.text.as_str()), Some("end"));
    assert_eq!(top.attributes.len(), 1);
}

#[test]
fn sequences_of_operators_group_as_in_cal() {
    let file = read(FULL);
    let nl_text = nl::write(&file);
    assert!(nl_text.contains("sum = -5 + (n or true) * ~n"), "{nl_text}");
}

#[test]
fn everything_goes_round() {
    assert_round_trip(FULL);
    assert_round_trip("<XDF name=\"Empty\"/>");
}

#[test]
fn nl_of_a_network() {
    let text = nl::write(&read(FULL));
    for part in [
        "uint(size=8) In { flag native; }",
        "bool \"in\"",
        "int d = n",
        "List(type:List(type:float, size=n), size=2) table = [-1.5e3, 2.0];",
        "\"end\" = a.b.Source(",
        "big = 340282366920938463463374607431768211456",
        "string note = \"it's\";",
        "type type = double;",
        "custom \"odd name\" = \"<a x=\\\"1\\\">t &lt; <b/></a>\";",
        "In --> \"end\".X;",
        "\"end\".Y --> sink.Z { bufferSize = 64; };",
        "sink.W --> \"in\";",
        "attributes { flag top; }",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn what_the_writer_writes() {
    let file = read_nl(
        "network N(int p = 3) @native int(size=4) In ==> : var bool t[2][3]; entities \
         a = A(k = -1, l = [1, x - (y - 1)]); structure In --> a.x; end",
    );
    assert_eq!(
        written(&file),
        "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<XDF name=\"N\">
    <Port kind=\"Input\" name=\"In\">
        <Type name=\"int\">
            <Entry kind=\"Expr\" name=\"size\">
                <Expr kind=\"Literal\" literal-kind=\"Integer\" value=\"4\"/>
            </Entry>
        </Type>
        <Attribute kind=\"Flag\" name=\"native\"/>
    </Port>
    <Decl kind=\"Param\" name=\"p\">
        <Type name=\"int\"/>
        <Expr kind=\"Literal\" literal-kind=\"Integer\" value=\"3\"/>
    </Decl>
    <Decl kind=\"Variable\" name=\"t\">
        <Type name=\"List\">
            <Entry kind=\"Type\" name=\"type\">
                <Type name=\"List\">
                    <Entry kind=\"Type\" name=\"type\">
                        <Type name=\"bool\"/>
                    </Entry>
                    <Entry kind=\"Expr\" name=\"size\">
                        <Expr kind=\"Literal\" literal-kind=\"Integer\" value=\"3\"/>
                    </Entry>
                </Type>
            </Entry>
            <Entry kind=\"Expr\" name=\"size\">
                <Expr kind=\"Literal\" literal-kind=\"Integer\" value=\"2\"/>
            </Entry>
        </Type>
    </Decl>
    <Instance id=\"a\">
        <Class name=\"A\"/>
        <Parameter name=\"k\">
            <Expr kind=\"Literal\" literal-kind=\"Integer\" value=\"-1\"/>
        </Parameter>
        <Parameter name=\"l\">
            <Expr kind=\"List\">
                <Expr kind=\"Literal\" literal-kind=\"Integer\" value=\"1\"/>
                <Expr kind=\"BinOpSeq\">
                    <Expr kind=\"Var\" name=\"x\"/>
                    <Op name=\"-\"/>
                    <Expr kind=\"BinOpSeq\">
                        <Expr kind=\"Var\" name=\"y\"/>
                        <Op name=\"-\"/>
                        <Expr kind=\"Literal\" literal-kind=\"Integer\" value=\"1\"/>
                    </Expr>
                </Expr>
            </Expr>
        </Parameter>
    </Instance>
    <Connection src=\"\" src-port=\"In\" dst=\"a\" dst-port=\"x\"/>
</XDF>
"
    );
}

#[test]
fn what_xdf_cannot_say() {
    let file = read_nl(
        "network N(entity C) ==> : var int a = f(1); int b = t[0]; int c = if x then 1 else 2 end; \
         int d[2] = [i : for int i in 0 .. 1]; entities e = [A()]; g = if x then A() else B() end; \
         h = A(3); i = A(C = B(x = 1)); j = A() { custom c = \"<\"; string s = \"\\u0001\"; }; \
         structure e[0].x --> h.y; foreach int i in 0 .. 1 do end if x then end end",
    );
    let problems = xdf::write(network(&file)).unwrap_err();
    let slugs: Vec<_> = problems.iter().map(|problem| problem.slug).collect();
    assert_eq!(slugs, ["not-expressible-in-xdf"; 14]);
    assert!(problems.iter().all(|problem| problem.primary.is_some()));
}

/// Every problem of an XDF text as `slug@message`.
fn problems(text: &str) -> Vec<String> {
    let (_, diagnostics) = xdf::read(FileId(0), "Top", text);
    let problems = diagnostics.iter().map(|problem| {
        let span = problem.primary.as_ref().unwrap().span;
        assert!(text.get(span.start as usize..span.end as usize).is_some());
        format!("{}@{}", problem.slug, problem.message)
    });
    problems.collect()
}

#[test]
fn texts_that_are_not_xdf() {
    for text in [
        "",
        "hello",
        "<XDF name=\"a\">",
        "<XDF name=\"a\"></XDF><XDF/>",
        "<XDF name='a' name='b'/>",
        "\u{0}",
        "<!DOCTYPE x [<!ENTITY a \"b\">]><XDF name=\"&a;\"/>",
        "<XDF name=\"&undefined;\"/>",
    ] {
        let found = problems(text);
        assert!(found.len() == 1 && found[0].starts_with("xml-error"), "{text}: {found:?}");
        assert!(xdf::read(FileId(0), "Top", text).0.is_none());
    }
    assert_eq!(problems("<NET/>"), ["xdf-structure@expected the element `XDF`, found `NET`"]);
}

#[test]
fn where_xml_is_wrong() {
    let text = "<XDF name=\"é\">\n  <Port kind=>\n</XDF>";
    let (_, diagnostics) = xdf::read(FileId(0), "Top", text);
    let start = diagnostics[0].primary.as_ref().unwrap().span.start as usize;
    assert_eq!(&text[start..start + 1], ">");
}

#[test]
fn elements_and_attributes_that_are_wrong() {
    let port = "<Port kind='Input' name='x'><Type name='int'/></Port>";
    let decl =
        |inner: &str| format!("<XDF name='a'><Decl kind='Variable' name='x'><Type name='int'/>{inner}</Decl></XDF>");
    for (text, expected) in [
        ("<XDF/>".to_string(), "xdf-ignored@the network has no name"),
        ("<XDF name='a b'/>".into(), "xdf-ignored@`a b` is not a name"),
        ("<XDF name='a'><Package/></XDF>".into(), "xdf-ignored@the package"),
        ("<XDF name='a'><Foo/></XDF>".into(), "xdf-ignored@the element `Foo`"),
        ("<XDF name='a'><Port name='x'><Type name='int'/></Port></XDF>".into(), "xdf-structure@`Port` needs a `kind`"),
        (
            "<XDF name='a'><Port kind='In' name='x'><Type name='int'/></Port></XDF>".into(),
            "xdf-structure@`In` is not a kind",
        ),
        ("<XDF name='a'><Port kind='Input' name='x'/></XDF>".into(), "xdf-structure@`Port` needs a `Type`"),
        (format!("<XDF name='a'>{}</XDF>", port.replace("int", "byte")), "xdf-structure@`byte` is not a type"),
        (format!("<XDF name='a'>{}</XDF>", port.replace("int", "List")), "xdf-structure@a `List` needs"),
        (
            "<XDF name='a'><Decl kind='Param' name='end'><Type name='int'/></Decl></XDF>".into(),
            "xdf-structure@`end` is a keyword",
        ),
        (decl("<Expr kind='Literal' literal-kind='Integer' value='0x3'/>"), "xdf-structure@`0x3` is not a value"),
        (decl("<Expr kind='Literal' literal-kind='Integer' value=''/>"), "xdf-structure@`` is not a value"),
        (decl("<Expr kind='Literal' literal-kind='Real' value='NaN'/>"), "xdf-structure@`NaN` is not a value"),
        (decl("<Expr kind='Literal' literal-kind='Boolean' value='yes'/>"), "xdf-structure@`yes` is not a value"),
        (decl("<Expr kind='Literal' literal-kind='Character' value='c'/>"), "xdf-structure@RVC-CAL has no characters"),
        (decl("<Expr kind='Let'/>"), "xdf-structure@`Let` is not a kind of `Expr`"),
        (decl("<Expr kind='List'/>"), "xdf-structure@a list has at least one"),
        (decl("<Expr kind='Var' name='a b'/>"), "xdf-structure@`a b` is not the name of a variable"),
        (
            decl("<Expr kind='UnaryOp'><Op name='+'/><Expr kind='Var' name='a'/></Expr>"),
            "xdf-structure@an `UnaryOp` needs",
        ),
        (decl("<Expr kind='UnaryOp'><Op name='-'/></Expr>"), "xdf-structure@`Expr` needs an `Expr`"),
        (
            decl("<Expr kind='BinOpSeq'><Expr kind='Var' name='a'/><Op name='+'/></Expr>"),
            "xdf-structure@a `BinOpSeq` ends",
        ),
        (decl("<Expr kind='BinOpSeq'><Op name='+'/></Expr>"), "xdf-structure@operands and operators take turns"),
        (
            decl("<Expr kind='BinOpSeq'><Expr kind='Var' name='a'/><Op name='+='/></Expr>"),
            "xdf-structure@`+=` is not an operator",
        ),
        ("<XDF name='a'><Instance id='i'/></XDF>".into(), "xdf-structure@the instance `i` has no `Class`"),
        ("<XDF name='a'><Instance><Class name='A'/></Instance></XDF>".into(), "xdf-structure@`Instance` needs a `id`"),
        (
            "<XDF name='a'><Instance id='i'><Class name='a..b'/></Instance></XDF>".into(),
            "xdf-structure@`a..b` is not a qualified name",
        ),
        (
            "<XDF name='a'><Connection src='a' src-port='' dst='b' dst-port='y'/></XDF>".into(),
            "xdf-structure@`Connection` needs a `src-port`",
        ),
        ("<XDF name='a'><Attribute kind='Flag'/></XDF>".into(), "xdf-structure@an `Attribute` needs a `name`"),
        ("<XDF name='a'><Attribute kind='X' name='y'/></XDF>".into(), "xdf-structure@`X` is not a kind of `Attribute`"),
    ] {
        let found = problems(&text);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{text}: {found:?}");
    }
}

#[test]
fn all_problems_come_in_one_go() {
    let text = "<XDF name='a'><Port kind='?' name=''/><Decl name='x'/><Instance id='1'/></XDF>";
    assert_eq!(problems(text).len(), 7, "{:?}", problems(text));
}

#[test]
fn hostile_sizes() {
    let deep = format!("<XDF name='a'>{}</XDF>", "<Expr kind='List'>".repeat(200_000));
    assert!(problems(&deep)[0].starts_with("nesting-too-deep"));
    let open = "<Expr kind='List'>".repeat(300);
    let close = "</Expr>".repeat(300);
    let deep = format!("<XDF name='a'><Decl kind='Variable' name='x'><Type name='int'/>{open}{close}</Decl></XDF>");
    assert!(problems(&deep).iter().any(|problem| problem.starts_with("nesting-too-deep")));
    let sum = "<Op name='+'/><Expr kind='Var' name='a'/>".repeat(10_000);
    let long = format!(
        "<XDF name='a'><Decl kind='Variable' name='x'><Type name='int'/>\
         <Expr kind='BinOpSeq'><Expr kind='Var' name='a'/>{sum}</Expr></Decl></XDF>"
    );
    assert!(problems(&long)[0].starts_with("nesting-too-deep"));
    let digits = format!(
        "<XDF name='a'><Decl kind='Variable' name='x'><Type name='int'/>\
         <Expr kind='Literal' literal-kind='Integer' value='{}'/></Decl></XDF>",
        "7".repeat(100_000)
    );
    assert!(problems(&digits)[0].starts_with("literal-too-large"));
    let comment = format!("<XDF name='a'><!-- {} --></XDF>", "<a>".repeat(10_000));
    assert!(problems(&comment).is_empty());
}

#[test]
fn floats_with_a_size() {
    for (bits, expected) in [(16, TypeKind::Half), (32, TypeKind::Float), (64, TypeKind::Double)] {
        let text = format!(
            "<XDF name='a'><Port kind='Input' name='x'><Type name='float'><Entry kind='Expr' name='size'>\
             <Expr kind='Literal' literal-kind='Integer' value='{bits}'/></Entry></Type></Port></XDF>"
        );
        assert_eq!(network(&read(&text)).inputs[0].ty.kind, expected);
    }
}

#[test]
fn a_missing_name_is_that_of_the_file() {
    let (file, diagnostics) = xdf::read(FileId(0), "Top", "<XDF/>");
    assert_eq!(file.unwrap().entity.name().text, "Top");
    assert_eq!(diagnostics[0].severity, Severity::Warning);
}

/// A random network as XDF text.
struct Writer {
    random: Random,
    out: String,
    depth: usize,
}

impl Writer {
    fn network(seed: u64) -> String {
        let mut writer = Writer { random: Random::new(seed), out: String::new(), depth: 0 };
        writer.out.push_str("<XDF name=\"N\">");
        for _ in 0..writer.random.below(4) {
            let kind = writer.random.pick(&["Input", "Output"]);
            writer.out.push_str(&format!("<Port kind=\"{kind}\" name=\"in\">"));
            writer.ty();
            writer.attributes();
            writer.out.push_str("</Port>");
        }
        for _ in 0..writer.random.below(4) {
            let kind = writer.random.pick(&["Param", "Variable"]);
            writer.out.push_str(&format!("<Decl kind=\"{kind}\" name=\"v\">"));
            writer.ty();
            if writer.random.chance(2) {
                writer.expr();
            }
            writer.out.push_str("</Decl>");
        }
        for _ in 0..writer.random.below(4) {
            let id = writer.random.pick(&["a", "end", "structure", "int", "x_1"]);
            writer.out.push_str(&format!("<Instance id=\"{id}\"><Class name=\"a.B\"/>"));
            for _ in 0..writer.random.below(3) {
                writer.out.push_str("<Parameter name=\"action\">");
                writer.expr();
                writer.out.push_str("</Parameter>");
            }
            writer.attributes();
            writer.out.push_str("</Instance>");
        }
        for _ in 0..writer.random.below(4) {
            let (src, dst) = (writer.random.pick(&["", "a"]), writer.random.pick(&["", "end"]));
            writer
                .out
                .push_str(&format!("<Connection src=\"{src}\" src-port=\"entities\" dst=\"{dst}\" dst-port=\"y\">"));
            writer.attributes();
            writer.out.push_str("</Connection>");
        }
        writer.attributes();
        writer.out.push_str("</XDF>");
        writer.out
    }

    fn attributes(&mut self) {
        for _ in 0..self.random.below(3) {
            let name = self.random.pick(&["bufferSize", "flag", "end", "a b", "x"]);
            match self.random.below(5) {
                0 => self.out.push_str(&format!("<Attribute kind=\"Flag\" name=\"{name}\"/>")),
                1 => self.out.push_str(&format!(
                    "<Attribute kind=\"String\" name=\"{name}\" value=\"&#9;&lt;'&quot;\\&#10;é\"/>"
                )),
                2 => self.out.push_str(&format!(
                    "<Attribute kind=\"Custom\" name=\"{name}\"><a b='\"'>\n &amp;</a></Attribute>"
                )),
                3 => {
                    self.out.push_str(&format!("<Attribute kind=\"Type\" name=\"{name}\">"));
                    self.ty();
                    self.out.push_str("</Attribute>");
                }
                _ => {
                    self.out.push_str(&format!("<Attribute kind=\"Value\" name=\"{name}\">"));
                    self.expr();
                    self.out.push_str("</Attribute>");
                }
            }
        }
    }

    fn ty(&mut self) {
        self.depth += 1;
        let name = self.random.pick(&["int", "uint", "bool", "String", "half", "double", "List"]);
        if name == "List" && self.depth < 4 {
            self.out.push_str("<Type name=\"List\"><Entry kind=\"Type\" name=\"type\">");
            self.ty();
            self.out.push_str("</Entry><Entry kind=\"Expr\" name=\"size\">");
            self.expr();
            self.out.push_str("</Entry></Type>");
        } else {
            let name = if name == "List" { "float" } else { name };
            self.out.push_str(&format!("<Type name=\"{name}\"/>"));
        }
        self.depth -= 1;
    }

    fn expr(&mut self) {
        self.depth += 1;
        match self.random.below(if self.depth > 5 { 4 } else { 8 }) {
            0 => self.out.push_str("<Expr kind=\"Var\" name=\"x.y\"/>"),
            1 => {
                let value = self.random.pick(&["0", "-0", "-17", "4294967296", "12"]);
                self.out.push_str(&format!("<Expr kind=\"Literal\" literal-kind=\"Integer\" value=\"{value}\"/>"));
            }
            2 => {
                let value = self.random.pick(&["1.5", "-2e3", "7", ".5", "1.0E-7"]);
                self.out.push_str(&format!("<Expr kind=\"Literal\" literal-kind=\"Real\" value=\"{value}\"/>"));
            }
            3 => self.out.push_str("<Expr kind=\"Literal\" literal-kind=\"String\" value=\"s'\"/>"),
            4 => {
                self.out.push_str("<Expr kind=\"List\">");
                for _ in 0..=self.random.below(3) {
                    self.expr();
                }
                self.out.push_str("</Expr>");
            }
            5 => {
                // Not `-`, which makes a literal of a literal.
                let op = self.random.pick(&["~", "not", "#"]);
                self.out.push_str(&format!("<Expr kind=\"UnaryOp\"><Op name=\"{op}\"/>"));
                self.expr();
                self.out.push_str("</Expr>");
            }
            _ => {
                self.out.push_str("<Expr kind=\"BinOpSeq\">");
                self.expr();
                for _ in 0..=self.random.below(4) {
                    let op = BinaryOp::ALL[self.random.below(20)];
                    let op = op.symbol().replace('&', "&amp;").replace('<', "&lt;");
                    self.out.push_str(&format!("<Op name=\"{op}\"/>"));
                    self.expr();
                }
                self.out.push_str("</Expr>");
            }
        }
        self.depth -= 1;
    }
}

#[test]
fn random_networks_go_round() {
    for seed in 1..800 {
        assert_round_trip(&Writer::network(seed));
    }
}
