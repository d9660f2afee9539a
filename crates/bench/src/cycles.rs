//! Cycles of the core. A time-stamp counter runs at one pace whatever the core does, and performance counters are often not
//! for users or not for guests; so the pace of the core is measured, right beside each measurement, by a chain of additions
//! that takes a cycle each.

use std::time::Instant;

/// Additions of a chain.
const CHAIN: u64 = 1 << 14;

/// Runs a chain of additions, each of which waits for the one before, from the instructions that add, count down and jump.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! chain_of {
    ($add:literal, $count:literal, $jump:literal) => {
        // SAFETY: registers only.
        unsafe {
            core::arch::asm!(
                "2:",
                $add, $add, $add, $add, $add, $add, $add, $add, $add, $add, $add, $add, $add, $add, $add, $add,
                $count,
                $jump,
                a = inout(reg) 1_u64 => _,
                b = in(reg) 3_u64,
                n = inout(reg) CHAIN / 16 => _,
                options(nomem, nostack),
            );
        }
    };
}

/// Runs the chain.
#[cfg(target_arch = "x86_64")]
fn chain() {
    chain_of!("add {a}, {b}", "dec {n}", "jnz 2b");
}

/// Runs the chain.
#[cfg(target_arch = "aarch64")]
fn chain() {
    chain_of!("add {a}, {a}, {b}", "subs {n}, {n}, #1", "b.ne 2b");
}

/// Runs a chain of additions, as far as a compiler leaves it one.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn chain() {
    let mut sum = 1_u64;
    for _ in 0..CHAIN {
        sum = std::hint::black_box(sum.wrapping_add(3));
    }
}

/// Cycles a second of this core at this moment: the fastest of some chains.
pub fn hertz() -> f64 {
    let seconds = (0..5).map(|_| {
        let start = Instant::now();
        chain();
        start.elapsed().as_secs_f64()
    });
    CHAIN as f64 / seconds.fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE)
}

/// Where cycles come from, for the record.
pub const SOURCE: &str = "core cycles: a chain of dependent additions timed beside each measurement";

/// Keeps the calling thread on the core where it runs, so that its caches and its clock stay its own. Gives the core, if the
/// system does that.
#[cfg(target_os = "linux")]
pub fn pin() -> Option<usize> {
    let core = rustix::thread::sched_getcpu();
    let mut set = rustix::thread::CpuSet::new();
    set.set(core);
    rustix::thread::sched_setaffinity(None, &set).ok().map(|()| core)
}

/// Keeps the calling thread on its core, where the system does that: not here.
#[cfg(not(target_os = "linux"))]
pub fn pin() -> Option<usize> {
    None
}

/// Keeps all threads that a process has now on a core.
#[cfg(target_os = "linux")]
pub fn pin_process(process: u32, core: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(core);
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    for thread in threads.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        // A thread that has ended needs no core.
        let _ = rustix::thread::sched_setaffinity(rustix::thread::Pid::from_raw(thread), &set);
    }
}

/// Keeps all threads of a process on a core, where the system does that: not here.
#[cfg(not(target_os = "linux"))]
pub fn pin_process(_: u32, _: usize) {}

/// Lets the calling thread run on any core again.
#[cfg(target_os = "linux")]
pub fn unpin() {
    let mut set = rustix::thread::CpuSet::new();
    (0..rustix::thread::CpuSet::MAX_CPU).for_each(|core| set.set(core));
    // A system that refuses leaves it where it is, which is slower and not wrong.
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// Lets the calling thread run on any core again.
#[cfg(not(target_os = "linux"))]
pub fn unpin() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_has_a_clock() {
        // The slowest that runs this, and the fastest that could.
        let hertz = hertz();
        assert!((1e6..1e11).contains(&hertz), "{hertz}");
    }
}
