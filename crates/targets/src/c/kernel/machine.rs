//! Machine descriptions: feature sets and what they offer. What a CPU can do, as far as loops are printed differently
//! for it.

/// A level of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Name for readers and for the names of functions.
    pub name: &'static str,
    /// Bits of a vector.
    pub vector_bits: u32,
    /// Vectors that lie in registers at once.
    pub vector_registers: usize,
    /// What `__attribute__((target("…")))` asks for; empty: nothing, portable C.
    pub target: &'static str,
    /// What `__builtin_cpu_supports` must say, all of it.
    pub needs: &'static [&'static str],
    /// Any function of three operands is one instruction, and lanes of 32 and 64 bits rotate.
    pub ternary: bool,
    /// Elements of tables are read by vectors of 32-bit and 64-bit indices.
    pub gather: bool,
    /// Bytes are chosen from sixteen.
    pub byte_shuffle: bool,
    /// Bytes are chosen from two vectors of 64 bytes.
    pub byte_permute: bool,
    /// Affine maps of bytes over GF(2).
    pub affine: bool,
}

/// The levels, the least first. The first runs wherever the compiler has vector extensions.
pub const MACHINES: &[Machine] = &[
    Machine {
        name: "v128",
        vector_bits: 128,
        vector_registers: 16,
        target: "",
        needs: &[],
        ternary: false,
        gather: false,
        byte_shuffle: false,
        byte_permute: false,
        affine: false,
    },
    Machine {
        name: "avx2",
        vector_bits: 256,
        vector_registers: 16,
        target: "avx2,bmi,bmi2",
        needs: &["avx2", "bmi", "bmi2"],
        ternary: false,
        gather: true,
        byte_shuffle: true,
        byte_permute: false,
        affine: false,
    },
    Machine {
        name: "avx512",
        vector_bits: 512,
        vector_registers: 32,
        target: "avx2,bmi,bmi2,avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512ifma",
        needs: &["avx2", "bmi", "bmi2", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vbmi", "avx512ifma"],
        ternary: true,
        gather: true,
        byte_shuffle: true,
        byte_permute: true,
        affine: false,
    },
    Machine {
        name: "avx512gfni",
        vector_bits: 512,
        vector_registers: 32,
        target: "avx2,bmi,bmi2,avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512ifma,gfni",
        needs: &[
            "avx2",
            "bmi",
            "bmi2",
            "avx512f",
            "avx512bw",
            "avx512vl",
            "avx512dq",
            "avx512vbmi",
            "avx512ifma",
            "gfni",
        ],
        ternary: true,
        gather: true,
        byte_shuffle: true,
        byte_permute: true,
        affine: true,
    },
];

/// AArch64 with its Advanced SIMD, which every processor has. Bytes are chosen from up to 64, and from more in steps.
pub const NEON: Machine = Machine {
    name: "neon",
    vector_bits: 128,
    vector_registers: 32,
    target: "",
    needs: &[],
    ternary: false,
    gather: false,
    byte_shuffle: true,
    byte_permute: false,
    affine: false,
};

impl Machine {
    /// Whether elements of a table of bytes are chosen from registers.
    pub fn chooses_bytes(&self) -> bool {
        match self.vector_bits {
            512 => self.byte_permute,
            _ => self.byte_shuffle,
        }
    }

    /// The level of a name.
    pub fn named(name: &str) -> Option<&'static Machine> {
        MACHINES.iter().chain([&NEON]).find(|machine| machine.name == name)
    }

    /// What stands before a function that uses the level.
    pub fn attribute(&self) -> String {
        if self.target.is_empty() { String::new() } else { format!("__attribute__((target(\"{}\"))) ", self.target) }
    }

    /// A condition of C that is true where the level is there.
    pub fn supported(&self) -> String {
        supported(self.needs)
    }
}

/// Features that not every compiler has a name for: register (0 is EBX, 1 is ECX) and bit of leaf 7 of `cpuid`.
const BY_CPUID: &[(&str, u32, u32)] = &[("sha", 0, 29), ("vaes", 1, 9)];

/// A condition of C that is true where the processor has all features; it needs [`super::prelude`].
pub fn supported<'a>(features: impl IntoIterator<Item = &'a (impl AsRef<str> + 'a)>) -> String {
    let conditions: Vec<String> = features
        .into_iter()
        .map(|feature| {
            let feature = feature.as_ref();
            match BY_CPUID.iter().find(|(name, ..)| *name == feature) {
                Some((_, register, bit)) => format!("hr_supports_leaf7(\"{feature}\", {register}, {bit})"),
                None => format!("__builtin_cpu_supports(\"{feature}\")"),
            }
        })
        .collect();
    if conditions.is_empty() { "1".to_owned() } else { conditions.join(" && ") }
}
