//! Strip-mined iterations: independent pieces of one iteration become a vector loop. A loop whose iterations do the
//! same to one piece of their tokens after another: the pieces are the iterations of a function of their own, printed
//! in the best way for them.
//!
//! ```text
//! f_pieces(s, in0, out0, parts, n * 16);   error |= parts[0] | parts[1] | …;   f_rest(s, in0, out1, n);
//! ```

use super::loop_frame::{CFunction, LoopNames, head};
use super::machine::Machine;
use super::scalar::element_type;
use super::sequential::sequential;
use super::strategy::print_whole;
use super::words::NotApplicable;
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{Evidence, Loop};
use headrace_transform::passes::split_iteration::{self, Fold, split_iteration};
use std::fmt::Write as _;

/// Pieces whose parts of folded values are kept at once.
const CHUNK: u64 = 2048;

/// What pieces are held to.
const EVIDENCE: &[Evidence] = &[
    Evidence::Identity { what: "values of one piece are those of the first at other tokens, node by node" },
    Evidence::Test { what: "pieces", test: "crates/targets/tests/kernel_loops.rs pieces_do_what_loops_mean" },
];

/// Prints a loop piece by piece.
///
/// # Errors
///
/// Where iterations do not have pieces.
pub fn split(body: &Loop, machine: &Machine, names: &LoopNames) -> Result<CFunction, NotApplicable> {
    let split = split_iteration::PASS.tried(|| split_iteration(body));
    let split = split.ok_or_else(|| NotApplicable("iterations have no pieces".into()))?;
    let (pieces_name, rest_name) = (format!("{}_pieces", names.function), format!("{}_rest", names.function));
    let (_, pieces) = print_whole(&split.pieces, machine, &LoopNames { function: &pieces_name, ..*names });
    let rest = sequential(&split.rest, &LoopNames { function: &rest_name, ..*names });
    let mut text = format!("{}\n{}\n", pieces.text, rest.text);
    text.push_str(&head(body, Some(machine), names));
    for one in &split.folded {
        let (name, ty) = (part_name(one.port), element_type(split.pieces.produces[one.port].1));
        let initial = if one.fold == Fold::And { literal_ones(split.pieces.produces[one.port].1) } else { "0".into() };
        let _ = writeln!(text, "  {ty} {name}[{CHUNK}], {name}all = {initial};");
    }
    let arguments = |ports: &[(u64, u32)], letter: &str, at: &dyn Fn(u64) -> String| {
        let used = ports.iter().enumerate().filter(|(_, port)| port.0 > 0);
        used.map(|(port, &(tokens, _))| format!(", {letter}{port}{}", at(tokens))).collect::<String>()
    };
    let whole = |_: u64| String::new();
    let all_of = |body: &Loop| arguments(&body.consumes, "in", &whole) + &arguments(&body.produces, "out", &whole);
    if split.folded.is_empty() {
        let _ = writeln!(text, "  {pieces_name}(s{}, iterations * {});", all_of(&split.pieces), split.per_iteration);
    } else {
        let _ = writeln!(
            text,
            "  for (size_t at_ = 0, n_; at_ < iterations * {0}; at_ += n_) {{\n    n_ = iterations * {0} - at_ < {CHUNK} ? iterations * {0} - at_ : {CHUNK};",
            split.per_iteration
        );
        let n_outputs = body.produces.len();
        let piece = |tokens: u64| format!(" + at_ * {tokens}");
        let inputs = arguments(&split.pieces.consumes, "in", &piece);
        let outputs = arguments(&split.pieces.produces[..n_outputs], "out", &piece);
        let parts: String = split.folded.iter().map(|one| format!(", {}", part_name(one.port))).collect();
        let _ = writeln!(text, "    {pieces_name}(s{inputs}{outputs}{parts}, n_);");
        for one in &split.folded {
            let name = part_name(one.port);
            let operator = operator(one.fold);
            let _ = writeln!(text, "    for (size_t i_ = 0; i_ < n_; i_++) {name}all {operator}= {name}[i_];");
        }
        text.push_str("  }\n");
        for one in &split.folded {
            let element = names.names.element(&body.objects[one.object.0 as usize], &one.index.to_string());
            let width = split.pieces.produces[one.port].1;
            let _ = writeln!(
                text,
                "  {element} = ({})(({element} {} {}all) & {});",
                element_type(width),
                operator(one.fold),
                part_name(one.port),
                literal_ones(width)
            );
        }
    }
    let _ = writeln!(text, "  {rest_name}(s{}, iterations);\n}}", all_of(&split.rest));
    let per_iteration = split.per_iteration as f64;
    let cycles = per_iteration * (pieces.cycles + machine.costs.folded_parts(split.folded.len())) + rest.cycles;
    let work = pieces.work.before(per_iteration, &rest.work);
    let size = pieces.size + rest.size;
    let function = CFunction { name: names.function.to_owned(), text, cycles, size, work, ..pieces };
    Ok(function.shown_by(EVIDENCE.iter().cloned()).shown_by(rest.evidence))
}

fn part_name(port: usize) -> String {
    format!("part{port}_")
}

fn literal_ones(width: u32) -> String {
    super::expression::literal(mask(width), width)
}

fn operator(fold: Fold) -> &'static str {
    match fold {
        Fold::And => "&",
        Fold::Or => "|",
        Fold::Xor => "^",
        Fold::Add => "+",
    }
}
