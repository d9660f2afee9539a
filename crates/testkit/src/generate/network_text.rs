//! Unparsing of generated networks in their two spellings, NL and XDF.

use super::actor::{ParamSig, PortSig};
use super::scope::Builder;
use super::tree::{Doc, NodeId};
use super::types::Scalar;

/// One end of a connection.
#[derive(Clone)]
pub(crate) struct End {
    /// `None` for a port of the network.
    pub instance: Option<String>,
    pub port: String,
}

impl End {
    pub fn nl(&self) -> String {
        match &self.instance {
            Some(instance) => format!("{instance}.{}", self.port),
            None => self.port.clone(),
        }
    }
}

/// The value of a parameter or constant.
#[derive(Clone)]
pub(crate) enum Arg {
    Int(i64),
    Bool(bool),
    Name(String),
    Sum(String, i64),
    /// An entity, for a parameter that stands for one; NL only.
    Entity(String),
}

impl Arg {
    fn nl(&self) -> String {
        match self {
            Self::Int(v) => v.to_string(),
            Self::Bool(v) => v.to_string(),
            Self::Name(n) => n.clone(),
            Self::Sum(n, v) => format!("{n} + {v}"),
            Self::Entity(class) => format!("{class}()"),
        }
    }

    fn xdf(&self) -> String {
        let literal = |kind: &str, v: String| format!("<Expr kind=\"Literal\" literal-kind=\"{kind}\" value=\"{v}\"/>");
        match self {
            Self::Int(v) => literal("Integer", v.to_string()),
            Self::Bool(v) => literal("Boolean", v.to_string()),
            Self::Name(n) | Self::Entity(n) => format!("<Expr kind=\"Var\" name=\"{n}\"/>"),
            Self::Sum(n, v) => format!(
                "<Expr kind=\"BinOpSeq\"><Expr kind=\"Var\" name=\"{n}\"/><Op name=\"+\"/>{}</Expr>",
                literal("Integer", v.to_string())
            ),
        }
    }
}

pub(crate) struct Instance {
    pub name: String,
    pub class: String,
    pub args: Vec<(String, Arg)>,
    /// An array of this many.
    pub count: Option<u32>,
    pub node: NodeId,
}

pub(crate) struct Connection {
    pub from: End,
    pub to: End,
    pub buffer: Option<u32>,
    pub needs: Vec<NodeId>,
}

pub(crate) struct Output {
    pub port: PortSig,
    /// What it carries in a run, roughly.
    pub tokens: u64,
}

/// A network before it is spelled.
pub(crate) struct NetworkText {
    pub nl: bool,
    pub package: String,
    pub name: String,
    pub inputs: Vec<PortSig>,
    pub outputs: Vec<Output>,
    pub params: Vec<(ParamSig, Option<i64>)>,
    /// Names and defaults; NL only.
    pub entity_params: Vec<(String, String)>,
    pub variables: Vec<(String, Arg)>,
    pub instances: Vec<Instance>,
    pub connections: Vec<Connection>,
    /// Further lines of the structure section, NL only.
    pub lines: Vec<(Vec<NodeId>, String)>,
}

impl NetworkText {
    pub fn new(nl: bool, package: &str, name: &str) -> Self {
        Self {
            nl,
            package: package.into(),
            name: name.into(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            params: Vec::new(),
            entity_params: Vec::new(),
            variables: Vec::new(),
            instances: Vec::new(),
            connections: Vec::new(),
            lines: Vec::new(),
        }
    }

    pub fn print(&self, b: &mut Builder<'_>) -> Doc {
        if self.nl { self.print_nl(b) } else { self.print_xdf() }
    }

    fn print_nl(&self, b: &mut Builder<'_>) -> Doc {
        let mut out = Vec::new();
        let mut line = |docs: Vec<Doc>| {
            out.push(Doc::Seq(docs));
            out.push(Doc::Line);
        };
        if b.rng.chance(60) {
            line(vec![Doc::text(format!("package {};", self.package))]);
        }
        let mut params: Vec<String> = self
            .params
            .iter()
            .map(|(p, default)| {
                let ty = p.scalar.text(&mut b.rng);
                match default {
                    Some(v) => format!("{ty} {} = {v}", p.name),
                    None => format!("{ty} {}", p.name),
                }
            })
            .collect();
        params.extend(self.entity_params.iter().map(|(name, class)| format!("entity {name} = {class}()")));
        let ports = |ports: Vec<&PortSig>, b: &mut Builder<'_>| {
            let texts: Vec<String> =
                ports.iter().map(|p| format!("{} {}", p.scalar.text(&mut b.rng), p.name)).collect();
            texts.join(", ")
        };
        let ins = ports(self.inputs.iter().collect(), b);
        let outs = ports(self.outputs.iter().map(|o| &o.port).collect(), b);
        line(vec![Doc::text(format!("network {}({}) {ins} ==> {outs} :", self.name, params.join(", ")))]);
        if !self.variables.is_empty() {
            line(vec![Doc::text("var")]);
            for (name, value) in &self.variables {
                line(vec![Doc::Nest(vec![Doc::text(format!("int(size=24) {name} = {};", value.nl()))])]);
            }
        }
        line(vec![Doc::text("entities")]);
        for i in &self.instances {
            let args: Vec<String> = i.args.iter().map(|(n, v)| format!("{n} = {}", v.nl())).collect();
            let simple = i.class.strip_prefix(&format!("{}.", self.package)).filter(|c| !c.contains('.'));
            let class = match simple {
                Some(class) if b.rng.chance(70) => class,
                _ => &i.class,
            };
            let one = format!("{class}({})", args.join(", "));
            let value = match i.count {
                Some(n) => {
                    let variable = b.name("e");
                    let lo = b.rng.range(0, 3);
                    format!("[{one} : for int {variable} in {lo} .. {}]", lo + i64::from(n) - 1)
                }
                None if self.params.is_empty() || !b.rng.chance(12) => one,
                None => format!("if {} > 3 then {one} else {one} end", self.params[0].0.name),
            };
            let text = Doc::text(format!("{} = {value};", i.name));
            line(vec![Doc::Item(vec![i.node], Box::new(Doc::Nest(vec![text])))]);
        }
        line(vec![Doc::text("structure")]);
        let mut structure: Vec<(Vec<NodeId>, String)> = self.lines.clone();
        for c in &self.connections {
            let attribute = match c.buffer {
                Some(n) => format!(" {{bufferSize = {n};}}"),
                None => String::new(),
            };
            let text = format!("{} --> {}{attribute};", c.from.nl(), c.to.nl());
            let text = match self.variables.first() {
                Some((v, _)) if b.rng.chance(10) => format!("if {v} >= 2 then {text} else {text} end"),
                _ => text,
            };
            structure.push((c.needs.clone(), text));
        }
        for (needs, text) in structure {
            line(vec![Doc::Item(needs, Box::new(Doc::Nest(vec![Doc::text(text)])))]);
        }
        line(vec![Doc::text("end")]);
        Doc::Seq(out)
    }

    fn print_xdf(&self) -> Doc {
        let mut out = vec![
            Doc::text("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"),
            Doc::Line,
            Doc::text(format!("<XDF name=\"{}\">", self.name)),
            Doc::Line,
        ];
        let mut line = |needs: Vec<NodeId>, text: String| {
            let doc = Doc::Nest(vec![Doc::text(text), Doc::Line]);
            out.push(Doc::Item(needs, Box::new(doc)));
        };
        for (p, _) in &self.params {
            line(Vec::new(), format!("<Decl kind=\"Param\" name=\"{}\">{}</Decl>", p.name, xdf_type(p.scalar)));
        }
        for (name, value) in &self.variables {
            let ty = xdf_type(Scalar::Int { signed: true, bits: 24 });
            line(Vec::new(), format!("<Decl kind=\"Variable\" name=\"{name}\">{ty}{}</Decl>", value.xdf()));
        }
        for p in &self.inputs {
            line(Vec::new(), format!("<Port kind=\"Input\" name=\"{}\">{}</Port>", p.name, xdf_type(p.scalar)));
        }
        for p in self.outputs.iter().map(|o| &o.port) {
            line(Vec::new(), format!("<Port kind=\"Output\" name=\"{}\">{}</Port>", p.name, xdf_type(p.scalar)));
        }
        for i in &self.instances {
            let params: String =
                i.args.iter().map(|(n, v)| format!("<Parameter name=\"{n}\">{}</Parameter>", v.xdf())).collect();
            let text = format!("<Instance id=\"{}\"><Class name=\"{}\"/>{params}</Instance>", i.name, i.class);
            line(vec![i.node], text);
        }
        for c in &self.connections {
            let attribute = match c.buffer {
                Some(n) => format!(
                    "><Attribute kind=\"Value\" name=\"bufferSize\">{}</Attribute></Connection>",
                    Arg::Int(i64::from(n)).xdf()
                ),
                None => "/>".to_owned(),
            };
            let text = format!(
                "<Connection src=\"{}\" src-port=\"{}\" dst=\"{}\" dst-port=\"{}\"{attribute}",
                c.from.instance.as_deref().unwrap_or(""),
                c.from.port,
                c.to.instance.as_deref().unwrap_or(""),
                c.to.port,
            );
            line(c.needs.clone(), text);
        }
        out.extend([Doc::text("</XDF>"), Doc::Line]);
        Doc::Seq(out)
    }
}

fn xdf_type(scalar: Scalar) -> String {
    match scalar {
        Scalar::Bool => "<Type name=\"bool\"/>".to_owned(),
        Scalar::Int { signed, bits } => format!(
            "<Type name=\"{}\"><Entry kind=\"Expr\" name=\"size\">{}</Entry></Type>",
            if signed { "int" } else { "uint" },
            Arg::Int(i64::from(bits)).xdf()
        ),
    }
}
