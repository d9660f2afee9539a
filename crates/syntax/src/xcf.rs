//! XCF, the XML configuration format in which RVC tools write mappings: which instance runs in which partition, and how
//! large FIFOs are.
//!
//! ```xml
//! <configuration>
//!   <partitioning>
//!     <partition id="p0"><instance id="source"/></partition>
//!     <partition id="p1" code-generator="verilog"><instance id="sink"/></partition>
//!   </partitioning>
//!   <connections>
//!     <fifo-connection source="source" source-port="Out" target="sink" target-port="In" size="4096"/>
//!   </connections>
//! </configuration>
//! ```
//!
//! A FIFO at the boundary of a network has no `source` or no `target` attribute, or an empty one; its port is then one of
//! the network. What else such files hold (code generators, schedules) is passed over with a warning. What the names mean
//! is settled where the network is known.

use headrace_source::{Diagnostic, FileId, Span};
use roxmltree::{Document, Node, ParsingOptions};
use std::fmt::Write as _;

use crate::lexer::MAX_FILE_BYTES;

/// The most XML nodes that are read.
const MAX_NODES: u32 = 4_000_000;

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub text: String,
    /// The element that has it.
    pub span: Span,
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its name.
    pub id: Named,
    /// What makes code of it, if that is said (`code-generator`).
    pub generator: Option<Named>,
    /// Flat names of instances.
    pub instances: Vec<Named>,
}

/// A FIFO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FifoConnection {
    /// Flat name of the instance that writes; empty at the boundary.
    pub source: String,
    /// Its port.
    pub source_port: String,
    /// Flat name of the instance that reads; empty at the boundary.
    pub target: String,
    /// Its port.
    pub target_port: String,
    /// Capacity in tokens, if it is given.
    pub size: Option<u32>,
    /// The element.
    pub span: Span,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Partitions in order.
    pub partitions: Vec<Partition>,
    /// FIFOs in order.
    pub connections: Vec<FifoConnection>,
}

/// Reads an XCF text. `None` when it is not well-formed or no configuration; then at least one error says why.
pub fn read(file: FileId, text: &str) -> (Option<Configuration>, Vec<Diagnostic>) {
    let mut reader = Reader { file, problems: Vec::new() };
    let configuration = reader.document(text);
    (configuration, reader.problems)
}

/// The text of a configuration.
pub fn write(configuration: &Configuration) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration>\n  <partitioning>\n");
    for partition in &configuration.partitions {
        let generator = partition.generator.iter().map(|named| format!(" code-generator=\"{}\"", escaped(&named.text)));
        let generator: String = generator.collect();
        let _ = writeln!(text, "    <partition id=\"{}\"{generator}>", escaped(&partition.id.text));
        for instance in &partition.instances {
            let _ = writeln!(text, "      <instance id=\"{}\"/>", escaped(&instance.text));
        }
        text.push_str("    </partition>\n");
    }
    text.push_str("  </partitioning>\n  <connections>\n");
    for fifo in &configuration.connections {
        let _ = write!(
            text,
            "    <fifo-connection source=\"{}\" source-port=\"{}\" target=\"{}\" target-port=\"{}\"",
            escaped(&fifo.source),
            escaped(&fifo.source_port),
            escaped(&fifo.target),
            escaped(&fifo.target_port)
        );
        if let Some(size) = fifo.size {
            let _ = write!(text, " size=\"{size}\"");
        }
        text.push_str("/>\n");
    }
    text.push_str("  </connections>\n</configuration>\n");
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

struct Reader {
    file: FileId,
    problems: Vec<Diagnostic>,
}

impl Reader {
    fn document(&mut self, text: &str) -> Option<Configuration> {
        if text.len() > MAX_FILE_BYTES {
            let message = format!("the file has {} bytes; at most {MAX_FILE_BYTES} are read", text.len());
            self.problems.push(Diagnostic::error("file-too-large", message).at(Span::new(self.file, 0, 0), ""));
            return None;
        }
        if let Some((slug, message, at)) = crate::xml::beyond_limits(text) {
            self.problems.push(Diagnostic::error(slug, message).at(Span::new(self.file, at, at), ""));
            return None;
        }
        let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES };
        let document = match Document::parse_with_options(text, options) {
            Ok(document) => document,
            Err(error) => {
                let at = crate::xml::offset_of(text, error.pos());
                self.problems.push(
                    Diagnostic::error("xml-error", format!("not well-formed XML: {error}"))
                        .at(Span::new(self.file, at, at), ""),
                );
                return None;
            }
        };
        let root = document.root_element();
        if root.tag_name().name() != "configuration" {
            let found = root.tag_name().name().to_owned();
            self.wrong(root, format!("expected the element `configuration`, found `{found}`"));
            return None;
        }
        let mut configuration = Configuration::default();
        for part in root.children().filter(Node::is_element) {
            match part.tag_name().name().to_ascii_lowercase().as_str() {
                "partitioning" => self.partitioning(part, &mut configuration),
                "connections" => self.connections(part, &mut configuration),
                _ => self.passed_over(part),
            }
        }
        Some(configuration)
    }

    fn partitioning(&mut self, node: Node, configuration: &mut Configuration) {
        for partition in node.children().filter(Node::is_element) {
            if partition.tag_name().name() != "partition" {
                self.passed_over(partition);
                continue;
            }
            let Some(id) = self.named(partition, "id") else { continue };
            let mut instances = Vec::new();
            for instance in partition.children().filter(Node::is_element) {
                match instance.tag_name().name() {
                    "instance" => instances.extend(self.named(instance, "id")),
                    _ => self.passed_over(instance),
                }
            }
            let generator = partition.attribute("code-generator").map(str::to_owned);
            let generator = generator.map(|text| Named { text, span: self.span(partition) });
            configuration.partitions.push(Partition { id, generator, instances });
        }
    }

    fn connections(&mut self, node: Node, configuration: &mut Configuration) {
        for fifo in node.children().filter(Node::is_element) {
            if !fifo.tag_name().name().eq_ignore_ascii_case("fifo-connection") {
                self.passed_over(fifo);
                continue;
            }
            let text = |name: &str| fifo.attribute(name).unwrap_or_default().to_owned();
            let size = match fifo.attribute("size") {
                None => None,
                Some(size) => match size.trim().parse::<u32>() {
                    Ok(size) if (1..=1 << 26).contains(&size) => Some(size),
                    _ => {
                        self.wrong(fifo, format!("`{size}` is no number of tokens from 1 to {}", 1 << 26));
                        None
                    }
                },
            };
            let connection = FifoConnection {
                source: text("source"),
                source_port: text("source-port"),
                target: text("target"),
                target_port: text("target-port"),
                size,
                span: self.span(fifo),
            };
            configuration.connections.push(connection);
        }
    }

    fn named(&mut self, node: Node, attribute: &str) -> Option<Named> {
        match node.attribute(attribute) {
            Some(text) if !text.is_empty() => Some(Named { text: text.to_owned(), span: self.span(node) }),
            _ => {
                let element = node.tag_name().name().to_owned();
                self.wrong(node, format!("`{element}` needs the attribute `{attribute}`"));
                None
            }
        }
    }

    fn span(&self, node: Node) -> Span {
        let range = node.range();
        let end = node.first_child().map_or(range.end, |child| child.range().start);
        Span::new(self.file, range.start, end)
    }

    fn wrong(&mut self, node: Node, message: String) {
        let span = self.span(node);
        self.problems.push(Diagnostic::error("wrong-mapping", message).at(span, ""));
    }

    fn passed_over(&mut self, node: Node) {
        let message = format!("the element `{}` means nothing here and is passed over", node.tag_name().name());
        let span = self.span(node);
        self.problems.push(Diagnostic::warning("wrong-mapping", message).at(span, ""));
    }
}
