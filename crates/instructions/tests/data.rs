//! Data beside descriptions: every instruction is spelled in LLVM IR, and every feature that one needs can be asked for.

use headrace_instructions::{descriptions, features, llvm, registers};

#[test]
fn every_instruction_is_spelled_in_llvm_for_every_width_that_it_has() {
    let mut wanted: Vec<(String, u32)> = Vec::new();
    for description in descriptions().expect("they are usable") {
        wanted.extend(description.forms.iter().map(|form| (description.name.clone(), form.bits)));
    }
    for (name, intrinsics) in registers::all() {
        let there = [128, 256, 512].into_iter().zip(intrinsics).filter(|(_, intrinsic)| !intrinsic.is_empty());
        wanted.extend(there.map(|(bits, _)| (name.clone(), bits)));
    }
    for (name, bits) in wanted {
        let found = llvm::spelling(&name).unwrap_or_else(|| panic!("LLVM has nothing for {name}"));
        let ways = [
            found.operator.is_some(),
            found.function(bits).is_some(),
            found.pick.is_some(),
            found.window.is_some(),
            found.parts,
        ];
        assert_eq!(ways.iter().filter(|way| **way).count(), 1, "{name} for {bits} bits");
    }
}

#[test]
fn every_feature_that_instructions_need_can_be_asked_for() {
    let mut wanted: Vec<String> = Vec::new();
    for description in descriptions().expect("they are usable") {
        wanted.extend(description.forms.iter().flat_map(|form| form.features.clone()));
    }
    for bits in [128, 256, 512] {
        wanted.extend(registers::features(bits).iter().map(|&name| name.to_owned()));
    }
    for name in wanted {
        let found = features::bit(&name).unwrap_or_else(|| panic!("no bit says {name}"));
        // Wide registers are asked for by what has them.
        assert_eq!(found.state == 512, name.starts_with("avx512"), "{name}");
        assert!(matches!(found.leaf, 1 | 7) && found.bit < 32, "{name}");
    }
}
