//! Random programs: well-typed, ending, free of traps and determinate by construction, as text.
//!
//! A [`Case`] is a top network with everything that it reaches, and the tokens that its inputs get. The same seed
//! and knobs give the same case for ever. What the generator knows of the language stands in the module of the
//! construct; how it keeps programs determinate, in [`actor`].
//!
//! Left out on purpose: floating-point types (their printed form is the C library's business), natives, and
//! everything that the front end refuses, which has tests of its own.

mod actor;
mod expr;
mod network;
mod network_text;
mod scope;
mod stmt;
mod tree;
mod types;
mod unit;

use crate::rng::Rng;
use network::Library;
use num_bigint::BigInt;
use scope::Builder;
pub use tree::{Cut, Cuts, NodeId};
use tree::{Doc, Sort};
pub use types::{Scalar, Ty};

/// What programs are made of and how large they get.
#[derive(Clone, Debug)]
pub struct Knobs {
    /// Widest integer.
    pub widest: u32,
    /// Most instances of the top network.
    pub instances: usize,
    /// Most statements of an action's body, before nesting.
    pub statements: usize,
    /// Operations that a firing may cost, roughly.
    pub action_budget: i64,
    /// Operations that a call may cost, roughly.
    pub function_budget: i64,
    /// Most tokens of a network input.
    pub tokens: i64,
    /// Networks below the top one.
    pub levels: u32,
    /// Actors may print.
    pub prints: bool,
    /// Lists may be assigned from, and parameters bound to, shorter ones.
    pub shorter_lists: bool,
    /// Locals may have the name of a state variable.
    pub shadowing: bool,
    /// Which action fires depends on no token: actors are static or go through phases that are known beforehand.
    pub steady: bool,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            widest: 4096,
            instances: 6,
            statements: 5,
            action_budget: 400,
            function_budget: 60,
            tokens: 24,
            levels: 2,
            prints: true,
            shorter_lists: true,
            shadowing: true,
            steady: false,
        }
    }
}

/// The tokens of one input port of the top network.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The port.
    pub port: String,
    /// Its type.
    pub scalar: Scalar,
    /// The values; 0 and 1 for `bool`.
    pub tokens: Vec<BigInt>,
}

/// A program with its input.
#[derive(Debug)]
pub struct Case {
    /// What it was generated from.
    pub seed: u64,
    /// Qualified name of the top network.
    pub top: String,
    /// Input of the top network.
    pub inputs: Vec<Stream>,
    files: Vec<(String, Doc)>,
}

/// An expression that a shrinker may replace.
#[derive(Clone, Debug)]
pub struct Replaceable {
    /// The expression.
    pub id: NodeId,
    /// It can become `0` or `false`.
    pub has_simplest: bool,
    /// Operands of its own kind.
    pub operands: Vec<usize>,
}

impl Case {
    /// Paths below the source root, and texts.
    pub fn texts(&self, cuts: &Cuts) -> Vec<(String, String)> {
        self.files.iter().map(|(path, doc)| (path.clone(), doc.render(cuts))).collect()
    }

    /// Everything that can be removed, outermost first within each file.
    pub fn removable(&self) -> Vec<NodeId> {
        let mut out = Vec::new();
        for (_, doc) in &self.files {
            doc.visit(&mut |id| out.push(id), &mut |_| {});
        }
        let mut seen = std::collections::BTreeSet::new();
        out.retain(|id| seen.insert(*id));
        out
    }

    /// Everything that can be replaced, outermost first within each file.
    pub fn replaceable(&self) -> Vec<Replaceable> {
        let mut out = Vec::new();
        for (_, doc) in &self.files {
            doc.visit(&mut |_| {}, &mut |e| {
                let same = |o: &&tree::Expr| o.sort == e.sort && e.sort != Sort::Other;
                let operands: Vec<usize> =
                    e.operands().iter().enumerate().filter(|(_, o)| same(o)).map(|(i, _)| i).collect();
                let has_simplest = e.sort != Sort::Other;
                if has_simplest || !operands.is_empty() {
                    out.push(Replaceable { id: e.id, has_simplest, operands });
                }
            });
        }
        out
    }

    /// Length of all texts, in bytes.
    pub fn size(&self, cuts: &Cuts) -> usize {
        self.texts(cuts).iter().map(|(_, t)| t.len()).sum()
    }
}

/// The case of a seed.
pub fn generate(seed: u64, knobs: &Knobs) -> Case {
    let mut rng = Rng::new(seed);
    let mut streams = rng.fork();
    let mut b = Builder::new(rng, knobs);
    let mut library = Library { files: Vec::new(), units: Vec::new(), entities: Vec::new() };
    for _ in 0..b.rng.weighted(&[30, 40, 20, 10]) {
        let package = ["gen", "gen.lib", "gen.lib.more"][b.rng.below(3)];
        let unit = b.unit(package, &library.units);
        library
            .files
            .push(network::File { path: format!("{}.cal", unit.qualified.replace('.', "/")), doc: unit.doc.clone() });
        library.units.push(unit);
    }
    let mut ins = Vec::new();
    for _ in 0..b.rng.weighted(&[8, 45, 32, 15]) {
        let scalar = types::draw_scalar(&mut b.rng, knobs.widest);
        let n = if b.rng.chance(6) { 0 } else { b.rng.range(1, knobs.tokens) };
        ins.push((scalar, n as u64));
    }
    let top = if b.rng.chance(6) {
        single_actor(&mut b, &mut library, &ins)
    } else {
        b.network(&mut library, "Top", &ins, knobs.levels, true)
    };
    let inputs = top
        .ins
        .iter()
        .zip(&ins)
        .map(|(port, (scalar, n))| Stream {
            port: port.name.clone(),
            scalar: *scalar,
            tokens: (0..*n).map(|_| token(&mut streams, *scalar)).collect(),
        })
        .collect();
    let files = library.files.into_iter().map(|f| (f.path, f.doc)).collect();
    Case { seed, top: top.class, inputs, files }
}

/// An actor that is the whole program.
fn single_actor(b: &mut Builder<'_>, library: &mut Library, ins: &[(Scalar, u64)]) -> actor::Entity {
    let (imports, visible) = b.import(&library.units);
    let spec = actor::ActorSpec {
        package: "gen".into(),
        name: "Top".into(),
        ins: ins.iter().map(|i| i.0).collect(),
        outs: (0..1 + b.rng.below(2)).map(|_| types::draw_scalar(&mut b.rng, b.knobs.widest)).collect(),
        slim: false,
        feedback: false,
        relay: false,
        imports,
        visible,
        prints: b.knobs.prints && b.rng.chance(50),
        alone: true,
    };
    let (doc, entity) = b.actor(&spec);
    library.files.push(network::File { path: "gen/Top.cal".into(), doc });
    entity
}

/// A value of the type: small, extreme or any.
fn token(rng: &mut Rng, scalar: Scalar) -> BigInt {
    let Scalar::Int { signed, bits } = scalar else { return BigInt::from(rng.below(2)) };
    let modulus = BigInt::from(1) << bits;
    let value = match rng.weighted(&[50, 25, 15, 10]) {
        0 => {
            let words: Vec<u32> = (0..bits.div_ceil(32)).map(|_| rng.bits() as u32).collect();
            BigInt::from(num_bigint::BigUint::new(words)) % &modulus
        }
        1 => BigInt::from(rng.range(0, 9)) % &modulus,
        2 => &modulus - BigInt::from(1 + rng.range(0, 2)).min(modulus.clone()),
        _ => (&modulus >> 1u32) - BigInt::from(rng.range(0, 1)),
    };
    let half = &modulus >> 1u32;
    if signed && value >= half { value - modulus } else { value }
}
