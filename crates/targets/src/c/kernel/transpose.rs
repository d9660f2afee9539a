//! Matrix transposition in vector registers by unpack instructions, which merge pairs. As many vectors as a vector has lanes change places with what
//! stands across: what was word i of vector k is word k of vector i then.
//!
//! Words of neighbours are merged first, then groups of two, of four, … within parts of 128 bits, for which processors
//! have an instruction at each width; then whole parts change places. Each step is one instruction for each vector.

use std::fmt::Write as _;

/// Bits of the part of a register in which words are merged by one instruction.
const PART: u32 = 128;

/// Vectors of `bits` bits in lanes of `lane` bits.
#[derive(Clone, Copy)]
pub(super) struct Square {
    bits: u32,
    lane: u32,
}

impl Square {
    /// `None` where lanes are so narrow that merges take more text than they save time.
    pub fn new(bits: u32, lane: u32) -> Option<Square> {
        ((32..PART).contains(&lane) && bits >= PART).then_some(Square { bits, lane })
    }

    /// Vectors that are transposed at once.
    pub fn side(self) -> usize {
        (self.bits / self.lane) as usize
    }

    /// Instructions for each vector.
    pub fn steps(self) -> u32 {
        self.side().ilog2()
    }

    /// Lanes of a part.
    fn part(self) -> usize {
        (PART / self.lane) as usize
    }

    /// Macros for the two merges of groups of so many lanes that belong together.
    pub fn support(self) -> String {
        let (side, part) = (self.side(), self.part());
        let mut text = String::new();
        let mut group = 1;
        while group <= part && group < side {
            for second in [0, 1] {
                // Two groups of each vector in turn, which begin in the first or in the second half of a part; whole
                // parts are taken one by one, the even ones or the odd ones.
                let lanes: Vec<String> = (0..side)
                    .map(|at| match group < part {
                        true => {
                            let (of_part, within) = (at - at % part, at % part);
                            let (pair, of_group) = (within / (2 * group), within % group);
                            let vector = within / group % 2;
                            of_part + second * part / 2 + pair * group + of_group + vector * side
                        }
                        false => {
                            let (chosen, within) = (at / part, at % part);
                            let vector = chosen / (side / part / 2);
                            (2 * (chosen % (side / part / 2)) + second) * part + within + vector * side
                        }
                    })
                    .map(|at| at.to_string())
                    .collect();
                let _ = writeln!(
                    text,
                    "#define {}(a, b) __builtin_shufflevector(a, b, {})",
                    self.merge(group, second),
                    lanes.join(",")
                );
            }
            group *= 2;
        }
        text
    }

    /// The macro that merges groups of so many lanes: of first halves or of second halves.
    fn merge(self, group: usize, second: usize) -> String {
        let kind = if second == 0 { "FIRST" } else { "SECOND" };
        format!("HR_{kind}{group}_{}x{}", self.bits, self.lane)
    }

    /// The vectors that stand across from these, in order; statements that make them are added to a text. Their names
    /// begin with a prefix, but for the last, which `last` names if it is there.
    pub fn transposed(
        self,
        vectors: Vec<String>,
        prefix: &str,
        last: &dyn Fn(usize) -> Option<String>,
        indent: &str,
        text: &mut String,
    ) -> Vec<String> {
        let (side, part) = (self.side(), self.part());
        // Blocks of rows that have been merged; in each, by which columns a vector holds, the vector.
        let mut blocks: Vec<Vec<(usize, String)>> = vectors.into_iter().map(|vector| vec![(0, vector)]).collect();
        let mut group = 1;
        while blocks.len() > 1 {
            let mut merged = Vec::new();
            for (number, pair) in blocks.chunks(2).enumerate() {
                let [above, below] = pair else { continue };
                let mut block = Vec::new();
                for ((column, a), (_, b)) in above.iter().zip(below) {
                    for second in [0, 1] {
                        // Merges in a part halve the columns that a vector holds there, the later ones choose the part.
                        let column = column + second * if group < part { part / 2 / group } else { group };
                        let named = if blocks.len() == 2 { last(column) } else { None };
                        let variable = named.unwrap_or_else(|| format!("{prefix}g{group}_{number}_{column}"));
                        let merge = self.merge(group.min(part), second);
                        let v = format!("hr_v{}x{}", self.bits, self.lane);
                        let _ = writeln!(text, "{indent}const {v} {variable} = {merge}({a}, {b});");
                        block.push((column, variable));
                    }
                }
                merged.push(block);
            }
            blocks = merged;
            group *= 2;
        }
        let mut all: Vec<(usize, String)> = blocks.into_iter().flatten().collect();
        all.sort_by_key(|(column, _)| *column);
        debug_assert_eq!(all.len(), side);
        all.into_iter().map(|(_, vector)| vector).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Square;
    use std::collections::HashMap;

    /// Runs statements `const T x = MERGE(a, b);` by what the macros say.
    fn run(square: Square, text: &str, vectors: &mut HashMap<String, Vec<usize>>) {
        let support = square.support();
        let merges: HashMap<&str, Vec<usize>> = support
            .lines()
            .filter_map(|line| {
                let (name, rest) = line.strip_prefix("#define ")?.split_once('(')?;
                let (_, lanes) = rest.strip_suffix(')')?.split_once("(a, b, ")?;
                Some((name, lanes.split(',').filter_map(|at| at.parse().ok()).collect()))
            })
            .collect();
        for line in text.lines() {
            let words: Vec<&str> =
                line.split(|c: char| c == ' ' || "(),;=".contains(c)).filter(|w| !w.is_empty()).collect();
            let [_, _, to, merge, a, b] = words[..] else { panic!("{line}") };
            let both = [vectors[a].clone(), vectors[b].clone()].concat();
            vectors.insert(to.into(), merges[merge].iter().map(|&at| both[at]).collect());
        }
    }

    #[test]
    fn words_change_places_with_those_across() {
        for (bits, lane) in [(128, 32), (128, 64), (256, 32), (256, 64), (512, 32), (512, 64)] {
            let square = Square::new(bits, lane).unwrap_or_else(|| panic!("{bits} {lane}"));
            let side = square.side();
            let names: Vec<String> = (0..side).map(|row| format!("x{row}")).collect();
            let row = |row: usize| (0..side).map(|column| row * side + column).collect::<Vec<_>>();
            let mut vectors: HashMap<String, Vec<usize>> = names.iter().cloned().zip((0..side).map(row)).collect();
            let mut text = String::new();
            let columns = square.transposed(names, "t", &|column| Some(format!("y{column}")), "", &mut text);
            assert_eq!(text.lines().count(), side * square.steps() as usize);
            run(square, &text, &mut vectors);
            for (column, name) in columns.iter().enumerate() {
                assert_eq!(name, &format!("y{column}"));
                let expected: Vec<usize> = (0..side).map(|row| row * side + column).collect();
                assert_eq!(vectors[name], expected, "{bits} bits in lanes of {lane}, column {column}");
            }
        }
    }
}
