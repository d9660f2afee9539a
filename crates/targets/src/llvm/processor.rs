//! Run-time dispatch: what the processor has is asked of itself, once for each module.
//!
//! x86-64 has an instruction for that, and no operating system is needed to use it: libraries that ask for programs in C
//! (`__cpu_model`) are not there for `lli`, nor on every system.

use headrace_instructions::features::{Bit, Register, bit};
use headrace_program::{FeatureSet, Module};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The features of a module, in the order of their bits in what is remembered.
fn features(module: &Module, architecture: &str) -> Vec<(String, Bit)> {
    let own = module.features.iter().filter(|set| set.architecture == architecture);
    let names: BTreeMap<&String, ()> = own.flat_map(|set| &set.names).map(|name| (name, ())).collect();
    names.into_keys().filter_map(|name| Some((name.clone(), bit(name)?))).collect()
}

/// A number that has a bit for each feature of a set; nothing where one cannot be asked for.
fn needed(features: &[(String, Bit)], set: &FeatureSet) -> Option<u64> {
    let position = |name: &String| features.iter().position(|(other, _)| other == name);
    set.names.iter().map(|name| Some(1u64 << position(name)?)).sum()
}

/// The functions that say whether the processor has what functions of the module need, for an architecture.
pub(super) fn questions(module: &Module, architecture: &str, prefix: &str) -> String {
    let features = features(module, architecture);
    if features.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "; What the processor has of the features that functions of this module need, a bit each; negative as soon as it was asked.\n\
         @{prefix}.features = internal global i64 0, align 8\n\n"
    );
    for (number, set) in module.features.iter().enumerate() {
        let needed = needed(&features, set);
        let listed = set.names.join(", ");
        let _ =
            write!(text, "; Whether the processor has {listed}.\ndefine internal i1 @{prefix}.has.{number}() #0 {{\n");
        let _ = match needed {
            None => write!(text, "  ret i1 false\n}}\n\n"),
            Some(needed) => write!(
                text,
                "entry:\n  %known = load atomic i64, ptr @{prefix}.features monotonic, align 8\n  \
                 %is_known = icmp slt i64 %known, 0\n  br i1 %is_known, label %end, label %ask\n\
                 ask:\n  %asked = call i64 @{prefix}.ask()\n  br label %end\n\
                 end:\n  %features = phi i64 [ %known, %entry ], [ %asked, %ask ]\n  \
                 %there = and i64 %features, {needed}\n  %has = icmp eq i64 %there, {needed}\n  ret i1 %has\n}}\n\n"
            ),
        };
    }
    text + &ask(&features, prefix)
}

/// The function that asks the processor: it has a feature where it says so and the operating system keeps its registers.
fn ask(features: &[(String, Bit)], prefix: &str) -> String {
    let mut text = format!(
        "; What cpuid gives: eax, ebx, ecx and edx.\ndefine internal {{ i32, i32, i32, i32 }} @{prefix}.cpuid(i32 %leaf) #2 {{\n  \
         %given = call {{ i32, i32, i32, i32 }} asm \"cpuid\", \"={{ax}},={{bx}},={{cx}},={{dx}},{{ax}},{{cx}}\"(i32 %leaf, i32 0)\n  \
         ret {{ i32, i32, i32, i32 }} %given\n}}\n\n\
         ; Asks the processor what it has, and remembers that.\ndefine internal i64 @{prefix}.ask() #2 {{\nentry:\n  \
         %leaf.0 = call {{ i32, i32, i32, i32 }} @{prefix}.cpuid(i32 0)\n  %last = extractvalue {{ i32, i32, i32, i32 }} %leaf.0, 0\n  \
         %leaf.1 = call {{ i32, i32, i32, i32 }} @{prefix}.cpuid(i32 1)\n  %ecx.1 = extractvalue {{ i32, i32, i32, i32 }} %leaf.1, 2\n  \
         %edx.1 = extractvalue {{ i32, i32, i32, i32 }} %leaf.1, 3\n  \
         %has.7 = icmp uge i32 %last, 7\n  %number.7 = select i1 %has.7, i32 7, i32 0\n  \
         %leaf.7 = call {{ i32, i32, i32, i32 }} @{prefix}.cpuid(i32 %number.7)\n  \
         %any.ebx.7 = extractvalue {{ i32, i32, i32, i32 }} %leaf.7, 1\n  %ebx.7 = select i1 %has.7, i32 %any.ebx.7, i32 0\n  \
         %any.ecx.7 = extractvalue {{ i32, i32, i32, i32 }} %leaf.7, 2\n  %ecx.7 = select i1 %has.7, i32 %any.ecx.7, i32 0\n  \
         %any.edx.7 = extractvalue {{ i32, i32, i32, i32 }} %leaf.7, 3\n  %edx.7 = select i1 %has.7, i32 %any.edx.7, i32 0\n  \
         %ebx.1 = extractvalue {{ i32, i32, i32, i32 }} %leaf.1, 1\n  \
         ; Registers of 256 and 512 bits are there where the operating system keeps them: xgetbv says so.\n  \
         %osxsave = and i32 %ecx.1, 134217728\n  %has_xgetbv = icmp ne i32 %osxsave, 0\n  br i1 %has_xgetbv, label %kept, label %end\n\
         kept:\n  %xgetbv = call {{ i32, i32 }} asm sideeffect \"xgetbv\", \"={{ax}},={{dx}},{{cx}}\"(i32 0)\n  \
         %said = extractvalue {{ i32, i32 }} %xgetbv, 0\n  br label %end\nend:\n  %state = phi i32 [ 0, %entry ], [ %said, %kept ]\n"
    );
    for (bits, states) in [(256, 0x06), (512, 0xe6)] {
        let _ = write!(
            text,
            "  %state.{bits} = and i32 %state, {states}\n  %keeps.{bits} = icmp eq i32 %state.{bits}, {states}\n"
        );
    }
    let mut all = i64::MIN.to_string();
    for (at, (name, bit)) in features.iter().enumerate() {
        let register = match bit.register {
            Register::Ebx => "ebx",
            Register::Ecx => "ecx",
            Register::Edx => "edx",
        };
        let _ = write!(
            text,
            "  ; {name}\n  %bit.{at} = and i32 %{register}.{}, {}\n  %is_there.{at} = icmp ne i32 %bit.{at}, 0\n",
            bit.leaf,
            1u32 << bit.bit
        );
        let mut is_usable = format!("%is_there.{at}");
        if bit.state > 0 {
            let _ = writeln!(text, "  %is_usable.{at} = and i1 {is_usable}, %keeps.{}", bit.state);
            is_usable = format!("%is_usable.{at}");
        }
        let _ = write!(
            text,
            "  %feature.{at} = select i1 {is_usable}, i64 {}, i64 0\n  %all.{at} = or i64 {all}, %feature.{at}\n",
            1u64 << at
        );
        all = format!("%all.{at}");
    }
    let _ = write!(
        text,
        "  store atomic i64 {all}, ptr @{prefix}.features monotonic, align 8\n  ret i64 {all}\n}}\n\n\
         attributes #2 = {{ noinline nounwind }}\n\n"
    );
    text
}

/// The attributes of a function that needs features.
pub(super) fn attributes(set: &FeatureSet) -> String {
    let enabled: Vec<String> = set.names.iter().map(|name| format!("+{name}")).collect();
    format!("nounwind \"target-features\"=\"{}\"", enabled.join(","))
}
