//! A linear congruential generator (Knuth's MMIX constants): numbers by chance that are always the same, so that schedules are, too.

/// The states that follow a seed. The upper bits vary the most.
pub fn states(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state
    }
}
