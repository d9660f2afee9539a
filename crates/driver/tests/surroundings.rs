//! Bad surroundings: without a home, on disks that are full, read-only or execute nothing, with caches that others could have
//! written or that were damaged, with compilers that lie, hang or die. What the interpreter could do is done all the same, and
//! nothing is left behind.
#![cfg(unix)]

#[expect(dead_code, reason = "each test uses a part of it")]
mod outcomes;

use outcomes::{stderr, stdout};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SHOUT: &str = "actor Shout() uint(size=8) In ==> uint(size=8) Out : action In:[c] ==> Out:[c - 32] end end";

/// Somebody else.
const NOBODY: u32 = 65534;

/// A folder with an actor, and one for temporary files that is empty at the end.
struct Place(TempDir);

impl Place {
    /// `None` without a C compiler, which is told.
    fn new() -> Option<Self> {
        if !Command::new("gcc").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
            eprintln!("not run: no gcc");
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        fs::write(folder.path().join("Shout.cal"), SHOUT).expect("the folder is writable");
        for (name, mode) in [("tmp", 0o1777), ("cache", 0o755), ("work", 0o755)] {
            fs::create_dir(folder.path().join(name)).expect("the folder is writable");
            fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).expect("it is ours");
        }
        Some(Self(folder))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command, with a cache below this place.
    fn headrace(&self, more: &[&str]) -> Command {
        self.under(Command::new(env!("CARGO_BIN_EXE_headrace")), more)
    }

    fn under(&self, mut command: Command, more: &[&str]) -> Command {
        let actor = self.path("Shout.cal");
        command.arg("run").arg(actor).args(["--in", "In=text:abc", "--out", "Out=-"]).args(more);
        command.current_dir(self.path("work")).env("TMPDIR", self.path("tmp")).env_remove("CC").env_remove("HOME");
        command.env("XDG_CACHE_HOME", self.path("cache")).stdin(Stdio::null());
        command
    }

    /// The same as somebody else; `None` where that cannot be, which is told.
    fn as_nobody(&self, more: &[&str]) -> Option<Command> {
        let mut setpriv = Command::new("setpriv");
        setpriv.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        let may = |setpriv: &mut Command| setpriv.stdout(Stdio::null()).status().is_ok_and(|status| status.success());
        let mut tried = Command::new("setpriv");
        tried.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", env!("CARGO_BIN_EXE_headrace")]);
        if !may(tried.arg("--version").stderr(Stdio::null())) {
            eprintln!("not run: nobody else can be had here");
            return None;
        }
        setpriv.arg(env!("CARGO_BIN_EXE_headrace"));
        Some(self.under(setpriv, more))
    }

    /// A C compiler of a few lines of shell, which says a version.
    fn compiler(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        let text = format!(
            "#!/bin/sh\ncase \"$*\" in *--version*) echo odd 1.0; exit 0;; esac\n\
             out=; for word; do [ \"$last\" = -o ] && out=$word; last=$word; done\n{text}\n"
        );
        fs::write(&path, text).expect("the folder is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        path
    }

    fn entries(&self) -> Vec<PathBuf> {
        listed(&self.path("cache/headrace"))
    }

    /// The one entry of the cache.
    fn entry(&self) -> PathBuf {
        match self.entries().as_slice() {
            [entry] => entry.clone(),
            entries => panic!("one entry is wanted: {entries:?}"),
        }
    }

    /// Nothing is left of what was temporary.
    fn is_clean(&self) {
        let left: Vec<PathBuf> = ["tmp", "work"].iter().flat_map(|name| listed(&self.path(name))).collect();
        assert!(left.is_empty(), "{left:?}");
        let half: Vec<PathBuf> = self
            .entries()
            .into_iter()
            .filter(|path| path.is_file() && path.extension() != Some("so".as_ref()))
            .collect();
        assert!(half.is_empty(), "{half:?}");
    }
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.expect("it can be listed").path()).collect()
}

/// Runs a command that does what it should; gives what it notes.
fn shouts(command: &mut Command) -> String {
    let output = command.output().expect("the command starts");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"ABC"[..]), "{}", stderr(&output));
    stderr(&output)
}

/// The same where compiled code ran.
fn shouts_native(command: &mut Command) -> String {
    let noted = shouts(command);
    assert!(!noted.contains("interpreter"), "{noted}");
    noted
}

fn is_root() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0);
    if !is_root {
        eprintln!("not run in part: not as root");
    }
    is_root
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o7777
}

#[test]
fn without_a_home_of_ones_own_nothing_is_kept_and_nothing_left() {
    let Some(place) = Place::new() else { return };
    for (cache, home) in
        [(None, None), (Some(""), Some("")), (Some("here"), Some("there")), (None, Some("/nonexistent"))]
    {
        let mut command = place.headrace(&[]);
        command.env_remove("XDG_CACHE_HOME");
        command.envs(cache.map(|cache| ("XDG_CACHE_HOME", cache))).envs(home.map(|home| ("HOME", home)));
        let noted = shouts_native(&mut command);
        assert!(noted.contains("not kept"), "{cache:?} {home:?}: {noted}");
        place.is_clean();
    }
    // One's own does.
    assert_eq!(shouts(place.headrace(&[]).env_remove("XDG_CACHE_HOME").env("HOME", place.path("cache"))), "");
    assert_eq!(mode(&place.path("cache/.cache/headrace")), 0o700);
    if is_root() {
        fs::create_dir(place.path("theirs")).expect("the folder is writable");
        chown(place.path("theirs"), Some(NOBODY), Some(NOBODY)).expect("root may");
        let noted = shouts_native(place.headrace(&[]).env_remove("XDG_CACHE_HOME").env("HOME", place.path("theirs")));
        assert!(noted.contains("not a folder of this user"), "{noted}");
        assert!(listed(&place.path("theirs")).is_empty());
    }
    for home in ["/root", "/", "/nonexistent"] {
        let Some(mut command) = place.as_nobody(&[]) else { return };
        let noted = shouts_native(command.env_remove("XDG_CACHE_HOME").env("HOME", home));
        assert!(noted.contains("not kept"), "{home}: {noted}");
        place.is_clean();
    }
}

#[test]
fn where_others_may_write_nothing_is_loaded_from() {
    let Some(place) = Place::new() else { return };
    let cache = place.path("cache");
    let set = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    // One's own folder is closed.
    fs::create_dir(cache.join("headrace")).expect("the folder is writable");
    set(&cache.join("headrace"), 0o777);
    assert_eq!(shouts(&mut place.headrace(&[])), "");
    assert_eq!((mode(&cache.join("headrace")), mode(&place.entry())), (0o700, 0o600));
    // One that others can exchange is not used.
    for wide in [0o777, 0o775] {
        set(&cache, wide);
        let noted = shouts_native(&mut place.headrace(&[]));
        assert!(noted.contains("others may write"), "{noted}");
    }
    set(&cache, 0o1777);
    assert_eq!(shouts(&mut place.headrace(&[])), "");
    set(&cache, 0o755);
    // Neither are temporary files below such a one.
    set(&place.path("tmp"), 0o777);
    assert_eq!(
        shouts_native(place.headrace(&[]).env("HEADRACE_CACHE_BYTES", "0").env("TMPDIR", place.path("tmp")))
            .lines()
            .count(),
        1
    );
    set(&place.path("tmp"), 0o1777);
    // An entry that others may write is made anew.
    let (entry, bytes) = (place.entry(), fs::read(place.entry()).expect("it is there"));
    set(&entry, 0o666);
    assert_eq!(shouts(&mut place.headrace(&[])), "");
    assert_eq!((mode(&entry), fs::read(&entry).ok()), (0o600, Some(bytes)));
    // Links of one's own are followed.
    symlink(&cache, place.path("link")).expect("the folder is writable");
    assert_eq!(shouts(place.headrace(&[]).env("XDG_CACHE_HOME", place.path("link"))), "");
    place.is_clean();
    if !is_root() {
        return;
    }
    lchown(place.path("link"), Some(NOBODY), Some(NOBODY)).expect("root may");
    let noted = shouts_native(place.headrace(&[]).env("XDG_CACHE_HOME", place.path("link")));
    assert!(noted.contains("belongs to another user"), "{noted}");
    // What another user has put there is made anew, whatever it says.
    chown(&entry, Some(NOBODY), Some(NOBODY)).expect("root may");
    assert_eq!(shouts(&mut place.headrace(&[])), "");
    assert_eq!(fs::metadata(&entry).expect("it is there").uid(), 0);
    chown(cache.join("headrace"), Some(NOBODY), Some(NOBODY)).expect("root may");
    let noted = shouts_native(&mut place.headrace(&[]));
    assert!(noted.contains("belongs to another user"), "{noted}");
}

#[test]
fn a_damaged_entry_is_made_anew() {
    let Some(place) = Place::new() else { return };
    assert_eq!(shouts(&mut place.headrace(&[])), "");
    let entry = place.entry();
    let whole = fs::read(&entry).expect("it is there");
    let written = |bytes: &[u8]| fs::write(&entry, bytes).expect("it is ours");
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        written(&bytes);
    };
    let damages: [&dyn Fn(); 9] = [
        &|| written(&[]),
        &|| written(&whole[..whole.len() / 2]),
        &|| written(&whole[..whole.len() - 1]),
        &|| written(&vec![0; whole.len()]),
        &|| written(&[&whole[..], b"x"].concat()),
        &|| changed(whole.len() / 2),
        &|| changed(whole.len() - 9),
        &|| {
            fs::remove_file(&entry).expect("it is ours");
            fs::create_dir_all(entry.join("inside")).expect("the folder is writable");
        },
        &|| {
            fs::remove_file(&entry).expect("it is ours");
            symlink("/dev/zero", &entry).expect("the folder is writable");
        },
    ];
    for (at, damage) in damages.iter().enumerate() {
        damage();
        assert_eq!(shouts(&mut place.headrace(&[])), "", "damage {at}");
        assert!(entry.symlink_metadata().is_ok_and(|about| about.is_file()), "damage {at}");
        assert_eq!(fs::read(&entry).expect("it is there"), whole, "damage {at}");
    }
    // Under another name it is another one.
    let other = place.path("cache/headrace/00000000000000000000000000000000.so");
    fs::rename(&entry, &other).expect("it is ours");
    fs::create_dir(place.path("cache/headrace/trials")).expect("the folder is writable");
    assert_eq!(shouts(place.headrace(&[]).env("HEADRACE_CACHE_BYTES", "40000")), "");
    assert!(entry.is_file());
    place.is_clean();
}

#[test]
fn compilers_that_fail_are_told_of_and_the_interpreter_does_it() {
    let Some(place) = Place::new() else { return };
    let hangs = place.path("mute");
    fs::write(&hangs, "#!/bin/sh\nsleep 100\n").expect("the folder is writable");
    fs::set_permissions(&hangs, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let machine = "gcc \"$@\" && printf '\\377\\177' | dd of=$out bs=1 seek=18 conv=notrunc 2>/dev/null";
    let cases = [
        ("true".into(), "has written nothing"),
        ("gcc -nostdinc".into(), "did not compile"),
        ("gcc -B/nowhere -fuse-ld=none".into(), "did not compile"),
        ("no-such-compiler".into(), "does not answer"),
        (hangs.display().to_string(), "does not answer"),
        (place.compiler("fails", "echo why >&2; exit 1").display().to_string(), "why"),
        (place.compiler("killed", "kill -9 $$").display().to_string(), "signal 9"),
        (place.compiler("hangs", "sleep 100 & sleep 100").display().to_string(), "took more than 1 s"),
        (place.compiler("garbage", "head -c 5000 /dev/urandom > $out").display().to_string(), "does not run here"),
        (place.compiler("empty", ": > $out").display().to_string(), "has written nothing"),
        (place.compiler("talks", "yes error: words").display().to_string(), "error: words"),
        (place.compiler("foreign", machine).display().to_string(), "another machine"),
        (
            place.compiler("other code", "echo 'int x;' > $out.c; gcc -shared -o $out $out.c").display().to_string(),
            "cannot find",
        ),
    ];
    for (compiler, word) in &cases {
        let named = |more: &[&str]| {
            let mut command = place.headrace(more);
            // Those that are slow only because this machine is have all the time that they need.
            command
                .env("CC", compiler)
                .env("HEADRACE_COMPILE_SECONDS", if *word == "took more than 1 s" { "1" } else { "60" });
            command
        };
        let noted = shouts(&mut named(&[]));
        assert!(noted.contains("this runs on the interpreter: ") && noted.contains(word), "{compiler}: {noted}");
        assert_eq!(noted.lines().count(), 1, "{compiler}: {noted}");
        for asked in [["--engine", "native"], ["--fused", "always"]] {
            // A network that is no operation is not fused, which needs no compiler to be found out.
            if asked[0] == "--fused" && *word != "does not answer" {
                continue;
            }
            let refused = named(&asked).output().expect("the command starts");
            assert_eq!((refused.status.code(), refused.stdout.len()), (Some(4), 0), "{compiler}: {}", stderr(&refused));
            assert!(stderr(&refused).contains(word), "{compiler}: {}", stderr(&refused));
            assert!(stderr(&refused).contains("--engine interp"), "{compiler}: {}", stderr(&refused));
        }
        place.is_clean();
    }
    assert_eq!(shouts(place.headrace(&[]).env_remove("PATH")), "");
    // Names with spaces, and words of their own.
    let spaced = place.compiler("my gcc", "exec gcc \"$@\"");
    assert_eq!(shouts(place.headrace(&[]).env("CC", &spaced)), "");
    assert_eq!(shouts(place.headrace(&[]).env("CC", " gcc  -g0 ")), "");
    // Each of the three has an entry of its own.
    let whole = place.entries().len();
    assert!(whole >= 3, "{:?}", place.entries());
    let wrong = shouts(place.headrace(&[]).env("HEADRACE_COMPILE_SECONDS", "soon"));
    assert!(wrong.contains("HEADRACE_COMPILE_SECONDS is `soon`"), "{wrong}");
}

#[test]
fn known_answers_that_cannot_be_compiled_are_not_failures() {
    let Some(place) = Place::new() else { return };
    let test = |more: &[&str]| {
        let mut command = place.headrace(&[]);
        command = {
            let mut fresh = Command::new(command.get_program());
            fresh.args(["test", "lfsr"]).args(more).current_dir(place.path("work")).env("CC", "gcc -nostdinc");
            fresh.env("TMPDIR", place.path("tmp")).env("XDG_CACHE_HOME", place.path("cache"));
            fresh
        };
        command.output().expect("the command starts")
    };
    let output = test(&[]);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    assert!(said.contains(" 0 failed"), "{said}");
    assert!(stderr(&output).contains("native: not run: "), "{}", stderr(&output));
    assert_eq!(test(&["--on", "native"]).status.code(), Some(4));
    place.is_clean();
}

#[test]
fn an_interruption_while_it_compiles_leaves_nothing() {
    let Some(place) = Place::new() else { return };
    let started = place.path("started");
    let compiler = place.compiler("slow", &format!("echo $$ > {}; sleep 100 & sleep 100", started.display()));
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        // Who runs the tests in the background may have interruptions ignored.
        let mut heard = Command::new("env");
        heard.args(["--default-signal", env!("CARGO_BIN_EXE_headrace")]);
        let mut child = place.under(heard, &[]).env("CC", &compiler).spawn().expect("the command starts");
        let began = Instant::now();
        while fs::read_to_string(&started).unwrap_or_default().is_empty() {
            assert!(began.elapsed() < Duration::from_secs(60), "the compiler does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        let group = fs::read_to_string(&started).expect("it is there").trim().to_owned();
        fs::remove_file(&started).expect("it is ours");
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("there is kill");
        assert!(sent.success());
        assert_eq!(child.wait().expect("it ends").code(), Some(code));
        place.is_clean();
        // Whoever collects the dead may take a moment.
        let alive = || {
            let alive = Command::new("kill").args(["-0", "--", &format!("-{group}")]).stderr(Stdio::null()).status();
            alive.is_ok_and(|status| status.success())
        };
        while alive() {
            assert!(began.elapsed() < Duration::from_secs(60), "the compiler still runs");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn what_a_killed_command_left_is_removed_by_the_next() {
    let Some(place) = Place::new() else { return };
    let compiler = place.compiler("slow", "sleep 100");
    let mut child = place.headrace(&[]).env("CC", &compiler).spawn().expect("the command starts");
    let began = Instant::now();
    while listed(&place.path("tmp")).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "the compiler does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    // What is in use is left alone, however old it looks.
    let old = |folder: &str| {
        for path in listed(&place.path(folder)) {
            let touched = Command::new("touch").args(["-d", "2 hours ago"]).arg(path).status();
            assert!(touched.expect("there is touch").success());
        }
    };
    old("tmp");
    assert_eq!(shouts(&mut place.headrace(&[])), "");
    assert_eq!(listed(&place.path("tmp")).len(), 1);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    old("tmp");
    old("cache/headrace");
    assert_eq!(shouts(place.headrace(&[]).env("CC", "gcc -g0")), "");
    place.is_clean();
}

#[test]
fn two_that_come_at_once_compile_once() {
    let Some(place) = Place::new() else { return };
    let calls = place.path("calls");
    let compiler = place.compiler("counted", &format!("echo call >> {}; sleep 0.3; exec gcc \"$@\"", calls.display()));
    let start = || {
        place
            .headrace(&[])
            .env("CC", &compiler)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts")
    };
    for child in [start(), start(), start()] {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"ABC"[..]), "{}", stderr(&output));
    }
    assert_eq!(fs::read_to_string(&calls).expect("it was called"), "call\n");
    place.is_clean();
}

/// A mount that goes with its owner; `None` where there can be none, which is told.
struct Mount(PathBuf);

impl Mount {
    fn new(place: &Path, options: &str) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "headrace-test"]).arg(place).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(Self(place.to_owned()));
        }
        eprintln!("not run: nothing can be mounted here");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

#[test]
fn disks_that_are_full_read_only_or_execute_nothing_end_no_command() {
    let Some(place) = Place::new() else { return };
    // A device in the place of a folder needs no root.
    let noted = shouts_native(place.headrace(&[]).env("XDG_CACHE_HOME", "/dev/full"));
    assert!(noted.contains("not kept"), "{noted}");
    let noted = shouts_native(place.headrace(&[]).env("TMPDIR", "/dev/full"));
    assert_eq!(noted, "");
    for (options, kept) in [("size=8k,mode=755", false), ("ro,mode=755", false), ("noexec,mode=755", true)] {
        let Some(_mount) = Mount::new(&place.path("cache"), options) else { return };
        for _ in 0..2 {
            let noted = shouts_native(&mut place.headrace(&[]));
            assert_eq!(noted.contains("not kept"), !kept, "{options}: {noted}");
        }
        assert_eq!(place.entries().len(), usize::from(kept), "{options}");
    }
    for options in ["size=8k,mode=1777", "ro,mode=1777", "noexec,mode=1777"] {
        let Some(_mount) = Mount::new(&place.path("tmp"), options) else { return };
        assert_eq!(shouts_native(place.headrace(&[]).env("CC", format!("gcc -D{}=1", &options[..2]))), "", "{options}");
        place.is_clean();
    }
}

#[test]
fn a_limit_on_the_size_of_files_ends_no_command() {
    let Some(place) = Place::new() else { return };
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_headrace")]);
    let noted = shouts(&mut place.under(shell, &[]));
    assert!(noted.contains("this runs on the interpreter"), "{noted}");
    place.is_clean();
    assert!(place.entries().is_empty());
}

#[test]
fn no_more_threads_are_started_than_there_is_work_for() {
    let Some(place) = Place::new() else { return };
    let began = Instant::now();
    let noted = shouts(&mut place.headrace(&["--threads", "1024"]));
    assert!(noted.contains("uses one thread"), "{noted}");
    assert!(began.elapsed() < Duration::from_secs(30));
    // It is the same code that one thread runs.
    assert_eq!(shouts(&mut place.headrace(&[])), "");
    place.entry();
}
