//! Dispatch table. The table of a provider: a row for each name that an operation has in OpenSSL.

use super::first;
use crate::c::project::operation_prefix;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::manifest::{OpensslName, Shape};
use headrace_library::sizes::Sizes;
use std::fmt::Write as _;

/// What an operation is in OpenSSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A cipher that gives as much as it takes, byte by byte.
    Stream,
    /// A cipher of whole blocks, to which programs may want padding.
    Blocks,
    /// A cipher that takes its message in one piece.
    OnePiece,
    /// A cipher that authenticates.
    Aead,
    /// A hash.
    Digest,
    /// A code that authenticates.
    Mac,
}

impl Kind {
    fn constant(self) -> &'static str {
        match self {
            Kind::Stream => "HEADRACE_STREAM",
            Kind::Blocks => "HEADRACE_BLOCKS",
            Kind::OnePiece => "HEADRACE_ONE_PIECE",
            Kind::Aead => "HEADRACE_AEAD",
            Kind::Digest => "HEADRACE_DIGEST",
            Kind::Mac => "HEADRACE_MAC",
        }
    }

    /// What makes its functions.
    fn functions(self) -> &'static str {
        match self {
            Kind::Aead => "HEADRACE_SEALING_CIPHER",
            Kind::Digest => "HEADRACE_HASH",
            Kind::Mac => "HEADRACE_CODE",
            Kind::Stream | Kind::Blocks | Kind::OnePiece => "HEADRACE_CIPHER",
        }
    }

    /// What OpenSSL calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Digest => "digest",
            Kind::Mac => "MAC",
            _ => "cipher",
        }
    }
}

/// A row of the table.
pub(super) struct Row<'s> {
    pub(super) kind: Kind,
    pub(super) name: &'s OpensslName,
    /// What encrypts, hashes or authenticates, and what decrypts; one of them at least.
    forward: Option<&'s OperationSpec>,
    backward: Option<&'s OperationSpec>,
}

impl Row<'_> {
    /// What OpenSSL is told of blocks: what comes byte by byte has one.
    fn block_bytes(&self) -> u64 {
        let own = match self.kind {
            Kind::Blocks | Kind::OnePiece => self.forward.or(self.backward).and_then(|spec| spec.block_bytes),
            _ => self.name.block_bytes,
        };
        own.unwrap_or(1)
    }

    /// Bytes of a digest.
    fn output_bytes(&self) -> u64 {
        let of_network = self.forward.and_then(|spec| spec.output(Role::Output)).and_then(|port| port.sizes.fixed());
        self.name.output_bytes.or(of_network.filter(|_| self.kind == Kind::Digest)).unwrap_or(0)
    }
}

fn kind(spec: &OperationSpec) -> Option<Kind> {
    let takes = spec.input(Role::Input).map(|port| &port.sizes);
    match spec.shape {
        Shape::Aead => Some(Kind::Aead),
        Shape::Hash => Some(Kind::Digest),
        Shape::Mac => Some(Kind::Mac),
        Shape::BlockCipher | Shape::StreamCipher => Some(match takes {
            Some(Sizes::Range { multiple, .. }) if *multiple > 1 => Kind::Blocks,
            Some(Sizes::Range { min, .. }) if *min > 1 => Kind::OnePiece,
            _ => Kind::Stream,
        }),
        _ => None,
    }
}

/// All rows. Those of one algorithm stand together, in the order of the operations.
pub(super) fn rows<'s>(specs: &[&'s OperationSpec]) -> Vec<Row<'s>> {
    let mut rows: Vec<Row<'s>> = Vec::new();
    for spec in specs {
        let inverse = specs.iter().find(|other| other.set == spec.set && Some(&other.name) == spec.inverse.as_ref());
        // A decryption stands in the row of what it undoes, where that is there.
        if spec.decrypts && inverse.is_some() {
            continue;
        }
        let Some(kind) = kind(spec) else { continue };
        for name in &spec.openssl {
            let backward = if spec.decrypts { Some(*spec) } else { inverse.copied() };
            let row = Row { kind, name, forward: (!spec.decrypts).then_some(*spec), backward };
            let last = rows.iter().rposition(|row| first(row.name) == first(name));
            rows.insert(last.map_or(rows.len(), |last| last + 1), row);
        }
    }
    rows.sort_by_key(|row| row.kind);
    rows
}

/// The text of the table: the algorithms, each with its rows and the functions that are its own.
pub(super) fn served(head: &str, specs: &[&OperationSpec]) -> String {
    let op = operation_prefix;
    let mut text = format!("{head}#include \"served.h\"\n\n");
    for spec in specs {
        let _ = writeln!(text, "extern const struct headrace_operation {}_operation;", op(spec));
    }
    let rows = rows(specs);
    let mut listed = String::new();
    let algorithms = rows.chunk_by(|one, other| one.name.name == other.name.name);
    for (number, rows) in algorithms.enumerate() {
        let Some(Row { kind, name, .. }) = rows.first() else { continue };
        let _ = writeln!(text, "\nstatic const struct headrace_row rows_{number}[] = {{");
        for row in rows {
            let pointer =
                |spec: Option<&OperationSpec>| spec.map_or("NULL".into(), |spec| format!("&{}_operation", op(spec)));
            let of = row.name.of.as_ref().map_or("NULL".into(), |of| format!("\"{of}\""));
            let _ = writeln!(
                text,
                "    {{{of}, {}, {}, {}, {}, {}}},",
                pointer(row.forward),
                pointer(row.backward),
                row.name.key_bytes.unwrap_or(0),
                row.block_bytes(),
                row.output_bytes()
            );
        }
        let _ = writeln!(text, "}};\n{}({number})", kind.functions());
        let _ = writeln!(
            listed,
            "    {{{}, \"{}\", rows_{number}, {}, functions_{number}}},",
            kind.constant(),
            name.name,
            rows.len()
        );
    }
    let _ = write!(
        text,
        "\nconst char headrace_version[] = \"{}\";\n\nconst struct headrace_algorithm headrace_algorithms[] = {{\n{listed}}};\n\n\
         const size_t headrace_n_algorithms = sizeof headrace_algorithms / sizeof headrace_algorithms[0];\n",
        env!("CARGO_PKG_VERSION")
    );
    text
}
