//! Linear recurrences computed ahead. What each iteration multiplies by the same matrix over GF(2) stands in as many registers as a
//! group has, one block for each of its iterations; a group then multiplies all of them by the same power.
//!
//! Groups that are smaller, for the rest of a message, move registers on instead: all rests together need no more of them
//! than there are. A product is a sum of shuffled bytes times matrices of 8 × 8 bits, by an instruction in registers of 512 bits,
//! which machines have with others of these, and by tables of nibbles in narrower ones.

use super::Printer;
use super::work;
use headrace_vectorize::blocks::linear::Term;
use headrace_vectorize::blocks::{BYTES, Plan};
use std::fmt::Write as _;

/// Registers in which a byte is multiplied by a matrix by one instruction.
const BY_INSTRUCTION: u32 = 512;

/// What a machine has that does so.
const FEATURE: &str = "gfni";

/// Products of bytes and matrices in registers of so many bits, as printed loops call them.
pub(super) fn support(bits: u32) -> String {
    let (prefix, whole) = match bits {
        128 => ("_mm", "si128"),
        256 => ("_mm256", "si256"),
        _ => ("_mm512", "si512"),
    };
    if bits == BY_INSTRUCTION {
        return format!("#define HR_MATRIX{bits}(x, m) {prefix}_gf2p8affine_epi64_epi8(x, m, 0)\n");
    }
    format!(
        "#define HR_MATRIX{bits}(x, low, high) {prefix}_xor_{whole}({prefix}_shuffle_epi8(low, {prefix}_and_{whole}(x, \
         {prefix}_set1_epi8(15))), {prefix}_shuffle_epi8(high, {prefix}_and_{whole}({prefix}_srli_epi64(x, 4), \
         {prefix}_set1_epi8(15))))\n"
    )
}

/// What a power of so many registers does in each group, by kinds of operations.
pub(super) fn work(plan: &Plan, bits: u32, registers: usize) -> Vec<(&'static str, f64)> {
    let mut kinds = Vec::new();
    let n_iterations = registers * bits as usize / 128;
    for power in &plan.powers {
        for term in power.matrix.power(n_iterations).terms() {
            let products = match (term.only_moves(), bits == BY_INSTRUCTION) {
                (true, _) => 0.0,
                (_, true) => 1.0,
                _ => 2.0,
            };
            kinds.push((work::SHUFFLE, (products + f64::from(u8::from(!term.stays()))) * registers as f64));
            kinds.push((
                work::LOGIC,
                (1.0 + if bits == BY_INSTRUCTION { 0.0 } else { 2.0 * products }) * registers as f64,
            ));
        }
    }
    kinds
}

impl Printer<'_> {
    /// Registers of each power, before the first group.
    pub(super) fn powers_start(&mut self, text: &mut String) {
        let (plan, bits, lanes) = (self.plan, self.bits, self.iterations());
        let registers = self.most_registers();
        if !plan.powers.is_empty() && bits == BY_INSTRUCTION {
            self.features.insert(FEATURE.to_owned());
        }
        for (k, power) in plan.powers.iter().enumerate() {
            let begun = self.element((power.object, power.first));
            let _ = writeln!(text, "  HR_V{bits} power{k}_0 = HR_ALL{bits}(&{begun});");
            if lanes > 1 {
                let first = self.multiplied(text, &format!("power{k}_begin"), &power.matrix.side_by_side(lanes));
                let _ = writeln!(text, "  power{k}_0 = {};", first(&format!("power{k}_0")));
            }
            let others: Vec<String> = (1..registers).map(|i| format!("power{k}_{i} = power{k}_0")).collect();
            if !others.is_empty() {
                let _ = writeln!(text, "  HR_V{bits} {};", others.join(", "));
                // A short message needs few of them: one more than it has registers, for what it leaves.
                let mut there = 1;
                while there < registers {
                    let _ = writeln!(text, "  if (iterations >= {}) {{", there * lanes);
                    let name = format!("power{k}_by{there}");
                    let by = self.multiplied(text, &name, &uniform(power.matrix.power(there * lanes).terms(), lanes));
                    for i in there..registers.min(2 * there) {
                        let _ = writeln!(text, "    power{k}_{i} = {};", by(&format!("power{k}_{}", i - there)));
                    }
                    text.push_str("  }\n");
                    there *= 2;
                }
            }
            // Constants of what each group does; its text stands where the group ends.
            let terms = uniform(power.matrix.power(registers * lanes).terms(), lanes);
            self.constants(text, &format!("power{k}_next"), &terms);
        }
        if !plan.powers.is_empty() && lanes > 1 {
            text.push_str("  size_t ended_ = 0;\n");
        }
    }

    /// Registers of each power, behind a group of so many; `n_` says how many iterations it had.
    pub(super) fn powers_go_on(&self, group: usize, text: &mut String) {
        let (plan, lanes) = (self.plan, self.iterations());
        if plan.powers.is_empty() {
            return;
        }
        let registers = self.most_registers();
        let part = group == 1 && lanes > 1;
        if part {
            let _ = writeln!(text, "      if (n_ < {lanes}) ended_ = n_; else {{");
        }
        for (k, power) in plan.powers.iter().enumerate() {
            let by =
                self.product(&format!("power{k}_next"), &uniform(power.matrix.power(registers * lanes).terms(), lanes));
            for i in 0..registers {
                let register = format!("power{k}_{i}");
                let next = match group == registers {
                    true => by(&register),
                    false if i + group < registers => format!("power{k}_{}", i + group),
                    false => continue,
                };
                let _ = writeln!(text, "      {register} = {next};");
            }
        }
        if part {
            text.push_str("      }\n");
        }
    }

    /// What powers leave for the next call.
    pub(super) fn powers_end(&self, text: &mut String) {
        let bits = self.bits;
        for (k, power) in self.plan.powers.iter().enumerate() {
            let element = self.element((power.object, power.first));
            if self.iterations() == 1 {
                let _ = writeln!(text, "  HR_STORE{bits}(&{element}, power{k}_0);");
            } else {
                let _ = writeln!(text, "  {{ uint8_t all_[{}]; HR_STORE{bits}(all_, power{k}_0);", bits / 8);
                let _ = writeln!(text, "    memcpy(&{element}, all_ + {BYTES} * ended_, {BYTES}); }}");
            }
        }
    }

    /// Registers of the largest group.
    fn most_registers(&self) -> usize {
        self.groups().into_iter().max().unwrap_or(1)
    }

    /// Declares the constants of terms, and gives the product of a register by them.
    fn multiplied(&self, text: &mut String, name: &str, terms: &[Vec<Term>]) -> impl Fn(&str) -> String + use<> {
        self.constants(text, name, terms);
        self.product(name, terms)
    }

    /// Declares the constants of terms.
    fn constants(&self, text: &mut String, name: &str, terms: &[Vec<Term>]) {
        let bits = self.bits;
        let mut constant = |what: &str, parts: &[[u8; BYTES]]| {
            let bytes: Vec<String> = parts.iter().flatten().map(u8::to_string).collect();
            let load = if parts.len() == 1 { "ALL" } else { "LOAD" };
            let _ = writeln!(text, "  static const uint8_t {what}_[{}] = {{{}}};", bytes.len(), bytes.join(","));
            let _ = writeln!(text, "  const HR_V{bits} {what} = HR_{load}{bits}({what}_);");
        };
        for (t, parts) in terms.iter().enumerate() {
            // One part is enough where all are the same.
            let same = parts.iter().all(|part| *part == parts[0]);
            let parts = if same { &parts[..1] } else { &parts[..] };
            if !parts.iter().all(Term::stays) {
                let orders: Vec<_> = parts.iter().map(|part| part.bytes.map(|at| at.unwrap_or(128))).collect();
                constant(&format!("{name}_order{t}"), &orders);
            }
            if parts.iter().all(Term::only_moves) {
                continue;
            }
            if bits == BY_INSTRUCTION {
                let twice = |part: &Term| std::array::from_fn(|i| part.as_affine().to_le_bytes()[i % 8]);
                constant(&format!("{name}_matrix{t}"), &parts.iter().map(twice).collect::<Vec<_>>());
            } else {
                for (half, what) in ["low", "high"].into_iter().enumerate() {
                    let tables: Vec<_> = parts.iter().map(|part| part.of_nibbles()[half]).collect();
                    constant(&format!("{name}_{what}{t}"), &tables);
                }
            }
        }
    }

    /// The product of a register by terms whose constants have been declared.
    fn product(&self, name: &str, terms: &[Vec<Term>]) -> impl Fn(&str) -> String + use<> {
        let (bits, name) = (self.bits, name.to_owned());
        let kinds: Vec<(bool, bool)> =
            terms.iter().map(|parts| (parts.iter().all(Term::stays), parts.iter().all(Term::only_moves))).collect();
        move |register: &str| {
            let term = |(t, &(stays, only_moves)): (usize, &(bool, bool))| {
                let moved = match stays {
                    true => register.to_owned(),
                    false => format!("HR_SHUFFLE{bits}({register}, {name}_order{t})"),
                };
                match only_moves {
                    true => moved,
                    false if bits == BY_INSTRUCTION => format!("HR_MATRIX{bits}({moved}, {name}_matrix{t})"),
                    false => format!("HR_MATRIX{bits}({moved}, {name}_low{t}, {name}_high{t})"),
                }
            };
            let terms = kinds.iter().enumerate().map(term);
            terms.reduce(|sum, term| format!("HR_XOR{bits}({sum}, {term})")).unwrap_or_else(|| register.to_owned())
        }
    }
}

/// The same terms in all parts of a register.
fn uniform(terms: Vec<Term>, parts: usize) -> Vec<Vec<Term>> {
    terms.into_iter().map(|term| vec![term; parts]).collect()
}
