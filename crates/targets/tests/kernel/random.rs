//! Random graphs: every operation, all widths.

use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{Graph, NodeId, Object, ObjectId, Op, Table, TableId};

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn bits(&mut self, width: u32) -> u128 {
        let all = u128::from(self.next()) << 64 | u128::from(self.next());
        // Small and large numbers are as likely as others.
        let value = match self.below(6) {
            0 => all & 3,
            1 => !(all & 3),
            _ => all,
        };
        value & mask(width)
    }

    pub fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}

pub const WIDTHS: &[u32] = &[1, 1, 4, 5, 8, 8, 8, 13, 16, 24, 32, 32, 33, 48, 64, 64, 65, 100, 128];

/// Nodes by what is known of them, and what they may read.
pub struct Grower<'a> {
    pub graph: &'a mut Graph,
    pub objects: &'a [Object],
    pub ports: &'a [u32],
    pub known: Vec<NodeId>,
    pub tables: Vec<TableId>,
}

impl Grower<'_> {
    /// Adds some tables.
    pub fn add_tables(&mut self, random: &mut Random) {
        for (length, width) in [(16, 4), (64, 4), (256, 8), (16, 32), (256, 32), (5, 64), (8, 100), (2, 1)] {
            let elements: Vec<u128> = (0..length).map(|_| random.bits(width)).collect();
            let name = format!("table_{length}_{width}");
            self.tables.push(self.graph.add_table(Table { name, width, elements: elements.into() }));
        }
    }

    /// A known node made as wide as asked.
    pub fn some(&mut self, random: &mut Random, width: u32) -> NodeId {
        if self.known.is_empty() || random.below(12) == 0 {
            let value = random.bits(width);
            return self.graph.number(value, width);
        }
        let same: Vec<NodeId> = self.known.iter().copied().filter(|&id| self.graph.width(id) == width).collect();
        if !same.is_empty() && random.below(4) > 0 {
            return random.of(&same);
        }
        let id = random.of(&self.known);
        match self.graph.width(id) {
            from if from > width => {
                let lo = random.below(u64::from(from - width + 1)) as u32;
                self.graph.extract(id, lo, width)
            }
            from if from < width && random.below(3) == 0 => self.graph.sign_extend(id, width),
            _ => self.graph.resize(id, width),
        }
    }

    /// An index that is less than a length.
    pub fn index(&mut self, random: &mut Random, length: usize) -> NodeId {
        let bits = (usize::BITS - (length - 1).leading_zeros()).max(1);
        if random.below(3) == 0 {
            return self.graph.number(u128::from(random.below(length as u64)), bits);
        }
        if length.is_power_of_two() && length > 1 {
            let index = self.some(random, length.trailing_zeros());
            return if random.below(2) == 0 { index } else { self.graph.zero_extend(index, 40) };
        }
        let (value, most) = (self.some(random, 16), self.graph.number(length as u128, 16));
        self.graph.remainder(value, most)
    }

    /// Grows until a node is made that reads `n_input` tokens at most and is not too wide.
    pub fn grow_within(&mut self, random: &mut Random, n_input: u64, widest: u32) -> NodeId {
        loop {
            let id = self.grow(random);
            let fits = self.graph.reachable([id]).into_iter().all(|id| {
                self.graph.width(id) <= widest
                    && match self.graph.op(id) {
                        Op::Input { offset, .. } => (*offset as u64) < n_input,
                        Op::Divide(..) | Op::Remainder(..) => false,
                        _ => true,
                    }
            });
            if fits {
                return id;
            }
            self.known.pop();
        }
    }

    pub fn grow(&mut self, random: &mut Random) -> NodeId {
        let width = random.of(WIDTHS);
        let a = self.some(random, width);
        let b = self.some(random, width);
        let id = match random.below(26) {
            0 => {
                let port = random.below(self.ports.len() as u64) as u32;
                self.graph.input(port, random.below(12) as i64, self.ports[port as usize])
            }
            1 if !self.objects.is_empty() => {
                let object = random.below(self.objects.len() as u64) as usize;
                let index = self.index(random, self.objects[object].length);
                self.graph.entry(ObjectId(object as u32), index, self.objects[object].width)
            }
            2 => self.graph.not(a),
            3 => self.graph.and(a, b),
            4 => self.graph.or(a, b),
            5 | 6 => self.graph.xor(a, b),
            7 | 8 => self.graph.sum(a, b),
            9 => self.graph.difference(a, b),
            10 => self.graph.product(a, b),
            11 => self.graph.quotient(a, b),
            12 => self.graph.remainder(a, b),
            13 | 14 => {
                let small = self.some(random, 5);
                let count_width = random.of(&[8, 32, 64, 128]);
                let count = self.some(random, count_width);
                let count = if random.below(2) == 0 { self.graph.resize(small, 32) } else { count };
                match random.below(3) {
                    0 => self.graph.shift_left(a, count),
                    1 => self.graph.shift_right(a, count),
                    _ => self.graph.shift_right_signed(a, count),
                }
            }
            15 => {
                let width = random.of(&[1, 2, 4, 8, 16, 32, 64, 128]);
                let (a, count) = (self.some(random, width), self.some(random, 8));
                let zero = self.graph.number(0, 8);
                let mask = self.graph.number(u128::from(width - 1), 8);
                let count = match random.below(4) {
                    0 => self.graph.difference(zero, count),
                    1 => {
                        let kept = self.graph.and(count, mask);
                        self.graph.difference(zero, kept)
                    }
                    2 => self.graph.and(count, mask),
                    _ => count,
                };
                self.graph.rotate_left(a, count)
            }
            16 => {
                let count = random.below(u64::from(width)) as u32;
                self.graph.rotate_left_by(a, count)
            }
            17 => {
                let mut parts = Vec::new();
                let mut total = 0;
                while total < 128 && random.below(6) > 0 {
                    let width = random.of(&[1, 3, 8, 8, 8, 16, 32]).min(128 - total);
                    parts.push(self.some(random, width));
                    total += width;
                }
                if parts.is_empty() { a } else { self.graph.concat(&parts) }
            }
            18 => {
                // Bytes in some order that a machine knows.
                let n = random.of(&[2_u32, 3, 4, 8, 16]);
                let first = random.below(4) as i64;
                let source = self.some(random, n * 8);
                let from_port = random.below(2) == 0;
                let mut parts: Vec<NodeId> = (0..n)
                    .map(|i| {
                        if from_port {
                            self.graph.input(0, first + i64::from(i), self.ports[0])
                        } else {
                            self.graph.extract(source, i * 8, 8)
                        }
                    })
                    .collect();
                if random.below(2) == 0 {
                    parts.reverse();
                }
                self.graph.concat(&parts)
            }
            19 => {
                let constant = random.bits(width);
                let constant = self.graph.number(constant, width);
                self.graph.and(a, constant)
            }
            20 => self.graph.equal(a, b),
            21 => self.graph.less(a, b),
            22 => self.graph.less_signed(a, b),
            23 => {
                let condition = self.some(random, 1);
                self.graph.select(condition, a, b)
            }
            24 if !self.tables.is_empty() => {
                let table = random.of(&self.tables);
                let index = self.index(random, self.graph.table(table).elements.len());
                self.graph.lookup(table, index)
            }
            _ => {
                let (lo, taken) = (random.below(u64::from(width)) as u32, random.below(u64::from(width)) as u32 + 1);
                self.graph.extract(a, lo, taken.min(width - lo))
            }
        };
        self.known.push(id);
        id
    }
}
