//! What is measured on: processor, clock, caches, compilers, libraries, date, commit.

use crate::results::{Cache, Machine};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Describes this machine. `tools` are commands whose first line of `--version` is recorded; absent ones are left out.
/// `repository` is where the commit is asked for.
pub fn describe(tools: &[&str], repository: &Path) -> Machine {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let clock = clock();
    Machine {
        cpu: processor(&cpuinfo),
        architecture: std::env::consts::ARCH.into(),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        clock_hz: Some(clock.hertz).filter(|hertz| hertz.is_finite()),
        clock_source: clock.source.into(),
        time: crate::measure::TIME.into(),
        features: features(&cpuinfo),
        caches: caches(),
        system: system(),
        versions: tools.iter().filter_map(|tool| Some(((*tool).to_owned(), version_of(tool)?))).collect(),
        date: date(SystemTime::now()),
        commit: commit(repository),
    }
}

/// The name of a processor, with its family and model where these are numbers: machines that are rented often say no more than
/// whose they are, and the best code for one family is not that for another.
fn processor(cpuinfo: &str) -> String {
    let name = field(cpuinfo, "model name").or_else(|| field(cpuinfo, "Model")).unwrap_or_else(|| "unknown".into());
    match (field(cpuinfo, "cpu family"), field(cpuinfo, "model")) {
        (Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        _ => name,
    }
}

/// Those of some features, by the names that C compilers give them, that this processor does not have. None where it does not say
/// what it has.
pub fn lacks(features: &[String]) -> Vec<String> {
    lacking(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default(), features)
}

fn lacking(cpuinfo: &str, features: &[String]) -> Vec<String> {
    let Some(present) = field(cpuinfo, "flags") else { return Vec::new() };
    let has = |feature: &&String| {
        // Where the kernel has a name of its own.
        let name = match feature.as_str() {
            "sse3" => "pni".to_owned(),
            "bmi" => "bmi1".to_owned(),
            "avx512vbmi2" => "avx512_vbmi2".to_owned(),
            other => other.replace('.', "_"),
        };
        present.split_whitespace().any(|flag| flag == name)
    };
    features.iter().filter(|feature| !has(feature)).cloned().collect()
}

fn field(cpuinfo: &str, name: &str) -> Option<String> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

/// The instruction sets that matter for what is measured here.
fn features(cpuinfo: &str) -> Vec<String> {
    const TELLING: &[&str] = &[
        "sse2",
        "ssse3",
        "sse4_1",
        "aes",
        "pclmulqdq",
        "avx",
        "avx2",
        "avx512f",
        "bmi2",
        "sha_ni",
        "vaes",
        "gfni",
        "asimd",
        "sha2",
        "pmull",
    ];
    let all = field(cpuinfo, "flags").or_else(|| field(cpuinfo, "Features")).unwrap_or_default();
    let present: Vec<&str> = all.split_whitespace().collect();
    TELLING.iter().filter(|feature| present.contains(feature)).map(|feature| (*feature).to_owned()).collect()
}

fn caches() -> Vec<Cache> {
    let mut caches = Vec::new();
    for index in 0..8 {
        let folder = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
        let read = |name: &str| fs::read_to_string(format!("{folder}/{name}")).map(|text| text.trim().to_owned());
        let (Ok(level), Ok(kind), Ok(size)) = (read("level"), read("type"), read("size")) else { continue };
        caches.push(Cache { level: level.parse().unwrap_or(0), kind: kind.to_lowercase(), size });
    }
    caches
}

fn system() -> String {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or(std::env::consts::OS);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} {}", name.trim_matches('"'), kernel.trim()).trim().to_owned()
}

/// First line of what `tool --version` prints, if there is such a tool.
pub fn version_of(tool: &str) -> Option<String> {
    let argument = match tool {
        "openssl" => "version",
        "spin" | "iverilog" => "-V",
        _ => "--version",
    };
    headrace_private::processes::first_line(Command::new(tool).arg(argument))
}

fn commit(repository: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(repository).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match git(&["rev-parse", "HEAD"]) {
        Some(commit) => match git(&["status", "--porcelain", "--untracked-files=no"]) {
            Some(changes) if !changes.is_empty() => format!("{commit} with changes"),
            _ => commit,
        },
        None => "unknown".into(),
    }
}

struct Clock {
    hertz: f64,
    source: &'static str,
}

/// What cycles are counted by. The time-stamp counter runs at the nominal clock, whatever the core does.
#[cfg(target_arch = "x86_64")]
fn clock() -> Clock {
    // SAFETY: every x86-64 processor has the instruction.
    let ticks = || unsafe { core::arch::x86_64::_rdtsc() };
    let (start, from) = (Instant::now(), ticks());
    while start.elapsed() < Duration::from_millis(50) {
        std::hint::spin_loop();
    }
    let hertz = ticks().wrapping_sub(from) as f64 / start.elapsed().as_secs_f64();
    Clock { hertz, source: "time-stamp counter" }
}

/// What cycles are counted by.
#[cfg(not(target_arch = "x86_64"))]
fn clock() -> Clock {
    let text = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").unwrap_or_default();
    let kilohertz: f64 = text.trim().parse().unwrap_or(f64::NAN);
    Clock { hertz: 1000.0 * kilohertz, source: "greatest clock of the core" }
}

/// `2026-11-21T07:55:00Z`.
pub fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_date(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

/// Year, month and day of a number of days since 1970-01-01, in years of 400-year eras that begin in March (Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms").
fn civil_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (400 * era + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let at = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(4_107_542_399), "2100-02-28T23:59:59Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn processors_of_one_name_are_told_apart() {
        let of = |model: u32| format!("cpu family\t: 25\nmodel\t\t: {model}\nmodel name\t: AMD EPYC\nstepping\t: 1\n");
        assert_eq!(processor(&of(1)), "AMD EPYC (family 25, model 1)");
        assert_ne!(processor(&of(1)), processor(&of(17)));
        assert_eq!(processor("model name\t: ARMv7 Processor\n"), "ARMv7 Processor");
        assert_eq!(processor(""), "unknown");
    }

    #[test]
    fn features_have_other_names_in_the_kernel() {
        let wanted = ["sse3", "sse4.1", "bmi", "avx512vbmi"].map(str::to_owned);
        assert_eq!(lacking("flags\t\t: fpu pni sse4_1 bmi1 avx2\n", &wanted), ["avx512vbmi"]);
        assert!(lacking("", &wanted).is_empty());
    }

    #[test]
    fn this_machine_has_a_clock() {
        let machine = describe(&["no such tool"], Path::new("."));
        assert!(machine.clock_hz.is_none_or(|hertz| hertz > 1e8), "{:?}", machine.clock_hz);
        assert!(machine.versions.is_empty());
        assert!(machine.cores >= 1);
    }
}
