//! Programs written for other tools, run as they are: natives of the platform and of the user, pictures, programs of projects.

mod outcomes;

use outcomes::{folder, headrace, status, stderr, stdout, write};
use std::fs;
use std::process::Command;

/// Natives of all kinds of types.
const KINDS: &str = r#"actor Kinds() ==> int(size=32) O :
  @native function mix(bool b, uint(size=12) u, int(size=64) l, float f, double d, half h, String s) --> double end
  @native procedure lists(bool b[2], int(size=5) i[2][3], uint(size=16) w[4], int(size=64) l[2], float f[2], double d[2],
          String s[2]) end
  @native function name(int x) --> String end
  @native function small(uint(size=3) x) --> int(size=5) end
  @native function sixtyfour(uint(size=64) x) --> uint(size=64) end
  @native function single(float x) --> float end
  @native function yes(bool x) --> bool end
  bool b[2] := [true, false];
  int(size=5) i[2][3] := [[1, -2, 3], [-4, 5, -6]];
  uint(size=16) w[4] := [1, 2, 65535, 4];
  int(size=64) l[2] := [-1, 9000000000];
  float f[2] := [1.5, 2.5];
  double d[2] := [0.1, 0.2];
  String s[2] := ["one", "two"];
  bool done := false;
  action ==> O:[v]
  guard not done
  var int(size=32) v, double r, String t
  do
    done := true;
    println("before");
    r := mix(true, 4095, -5, 1.5, 0.1, 0.5, "hello");
    println("r = " + r);
    t := name(42);
    println(t + " " + small(5) + " " + sixtyfour(18446744073709551615) + " " + single(1.1) + " " + yes(false));
    lists(b, i, w, l, f, d, s);
    println(b[0] + " " + b[1] + " " + i[0][0] + " " + i[1][2] + " " + w[2] + " " + l[1] + " " + f[0] + " " + d[1]);
    println(s[0] + s[1]);
    v := 7;
  end
end
"#;

const KINDS_IN_C: &str = r#"#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
double mix(bool b, uint16_t u, int64_t l, float f, double d, float h, const char *s) {
    printf("C: %d %u %lld %g %g %g %s\n", b, (unsigned)u, (long long)l, f, d, h, s);
    return sqrt(2.0);
}
void lists(bool *b, int8_t *i, uint16_t *w, int64_t *l, float *f, double *d, const char **s) {
    printf("C: %d %d %d %s\n", b[0], i[1], i[5], s[1]);
    b[1] = true;
    b[0] = false;
    i[0] = 9;
    i[5] += 1;
    w[2]--;
    l[1] *= 2;
    f[0] = 0.1f;
    d[1] = 1e300;
    s[0] = "uno";
}
const char *name(int32_t x) {
    static char text[20];
    sprintf(text, "<%d>", (int)x);
    return text;
}
int8_t small(uint8_t x) { return x + 3; }
uint64_t sixtyfour(uint64_t x) { return x - 1; }
float single(float x) { return x * 2; }
bool yes(bool x) { return !x; }
"#;

const KINDS_SAY: &str = "before\nC: 1 4095 -5 1.5 0.1 0.5 hello\nr = 1.4142135623730951\n<42> 8 18446744073709551614 2.2 true\n\
C: 1 -2 -6 two\nfalse true 9 -5 65534 18000000000 0.1 1e300\nunotwo\n";

#[test]
fn natives_of_the_user_take_and_give_all_kinds_of_types_on_both_engines() {
    let folder = folder();
    write(&folder, "Kinds.cal", KINDS);
    write(&folder, "kinds.c", KINDS_IN_C);
    for engine in ["interp", "native"] {
        let arguments = ["run", "Kinds.cal", "--natives", "kinds.c", "--engine", engine, "--out", "O=o"];
        let output = headrace(folder.path(), &arguments, b"");
        assert_eq!((status(&output), stdout(&output).as_str()), (0, KINDS_SAY), "{engine}: {}", stderr(&output));
    }
    let shared = folder.path().join("kinds.so");
    let mut made = Command::new("cc");
    let made = made.args(["-shared", "-fPIC", "kinds.c", "-lm", "-o"]).arg(&shared);
    let made = made.current_dir(folder.path()).status().expect("a C compiler is there");
    assert!(made.success());
    let output = headrace(folder.path(), &["run", "Kinds.cal", "--natives", "kinds.so", "--out", "O=o"], b"");
    assert_eq!((status(&output), stdout(&output).as_str()), (0, KINDS_SAY), "{}", stderr(&output));
}

#[test]
fn the_header_of_natives_fits_what_a_user_writes() {
    let folder = folder();
    write(&folder, "Kinds.cal", KINDS);
    let header = headrace(folder.path(), &["run", "Kinds.cal", "--natives-header"], b"");
    assert_eq!(status(&header), 0, "{}", stderr(&header));
    let whole = format!("{}\n{KINDS_IN_C}", stdout(&header));
    write(&folder, "whole.c", whole);
    let output = headrace(folder.path(), &["run", "Kinds.cal", "--natives", "whole.c", "--out", "O=o"], b"");
    assert_eq!((status(&output), stdout(&output).as_str()), (0, KINDS_SAY), "{}", stderr(&output));
}

#[test]
fn what_is_wrong_with_natives_is_said_before_anything_runs() {
    let folder = folder();
    write(
        &folder,
        "One.cal",
        "actor One() ==> : @native function read(int x) --> int end bool done := false;
         action ==> guard not done do done := true; println(read(3)); end end",
    );
    write(&folder, "good.c", "int read(int x) { return x + 1; }\n");
    write(&folder, "other.c", "int other(int x) { return x; }\n");
    write(&folder, "broken.c", "int read(int x) { return x + ; }\n");
    write(&folder, "unbound.c", "int nowhere(void);\nint read(int x) { return x + nowhere(); }\n");
    write(&folder, "none.so", "no library");
    write(&folder, "notes.txt", "");
    let good = headrace(folder.path(), &["run", "One.cal", "--natives", "good.c"], b"");
    assert_eq!((status(&good), stdout(&good).as_str()), (0, "4\n"), "{}", stderr(&good));
    // `read` of the system is none of the user's.
    for (arguments, wanted) in [
        (&["run", "One.cal"][..], "in C it is `int32_t read(int32_t)`"),
        (&["run", "One.cal", "--engine", "native"], "no platform supplies the native `One.read`"),
        (&["run", "One.cal", "--natives", "other.c"], "no platform supplies the native `One.read`"),
        (&["run", "One.cal", "--natives", "broken.c"], "broken.c:1"),
        (&["run", "One.cal", "--natives", "unbound.c"], "nowhere"),
        (&["run", "One.cal", "--natives", "none.so"], "none.so: it cannot be loaded here"),
        (&["run", "One.cal", "--natives", "notes.txt"], "natives come in C files"),
        (&["run", "One.cal", "--natives", "missing.c"], "missing.c: there is no such file"),
    ] {
        let output = headrace(folder.path(), arguments, b"");
        assert_eq!(status(&output), 1, "{arguments:?}");
        assert!(stderr(&output).contains(wanted), "{arguments:?}: {}", stderr(&output));
    }
}

/// Shows three pictures of 4x2, or fewer.
const SHOWS: &str = "import std.video.Display.*;
actor Shows() ==> : uint(size=8) n := 0; int all;
  uint(size=8) y[16]; uint(size=8) u[4]; uint(size=8) v[4];
  initialize ==> do displayYUV_init(); all := displayYUV_getNbFrames(); end
  action ==> guard n < 3 and (all < 0 or n < all)
  do
    foreach int i in 0 .. 7 do y[i] := 10 * n + i; end
    u[0] := 100 + n; u[1] := 101 + n; v[0] := 200 + n; v[1] := 201 + n;
    displayYUV_displayPicture(y, u, v, 4, 2);
    compareYUV_comparePicture(y, u, v, 4, 2);
    n := n + 1;
  end
end";

fn shown(n: u8) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..8).map(|i| 10 * n + i).collect();
    bytes.extend([100 + n, 101 + n, 200 + n, 201 + n]);
    bytes
}

#[test]
fn pictures_that_a_program_shows_are_written() {
    let folder = folder();
    write(&folder, "Shows.cal", SHOWS);
    let planes = [shown(0), shown(1), shown(2)].concat();
    for engine in ["interp", "native"] {
        for (file, wanted) in [
            ("out.yuv", planes.clone()),
            (
                "out.y4m",
                [
                    b"YUV4MPEG2 W4 H2 F25:1 Ip A1:1 C420jpeg\n".to_vec(),
                    (0..3).flat_map(|n| [b"FRAME\n".to_vec(), shown(n)].concat()).collect(),
                ]
                .concat(),
            ),
        ] {
            let output = headrace(folder.path(), &["run", "Shows.cal", "--video", file, "--engine", engine], b"");
            assert_eq!(status(&output), 0, "{engine}: {}", stderr(&output));
            assert_eq!(fs::read(folder.path().join(file)).expect("it was written"), wanted, "{engine} {file}");
        }
    }
    let output = headrace(folder.path(), &["run", "Shows.cal", "--video", "two.yuv", "--frames", "2"], b"");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(fs::read(folder.path().join("two.yuv")).expect("it was written"), planes[..24]);
    let output = headrace(folder.path(), &["run", "Shows.cal", "--video", "out.avi"], b"");
    assert_eq!(status(&output), 2);
    // Differences say where they are.
    let mut golden = planes;
    golden[12 + 8 + 1] ^= 1;
    write(&folder, "golden.yuv", golden);
    let output = headrace(folder.path(), &["run", "Shows.cal", "--golden", "golden.yuv"], b"");
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("picture 1, plane U, column 1, row 0"), "{}", stderr(&output));
}

#[test]
fn a_program_of_a_project_does_what_run_does() {
    let folder = folder();
    write(
        &folder,
        "Mixed.cal",
        "import std.stdio.Source.*; import std.stdio.Writer.*; import std.video.Display.*;
         actor Mixed() uint(size=12) In, bool B ==> int(size=17) Out, float R, uint(size=40) W :
           @native function twice(float x) --> float end
           uint(size=8) y[8]; uint(size=8) n := 0; uint(size=8) c[4];
           initialize ==> do source_init(); Writer_init(); end
           action In:[a], B:[b] ==> Out:[if b then -a else a end], R:[r], W:[a << 24]
           var float r
           do
             r := twice(a) / 3.0;
             println(\"a \" + a + \" r \" + r + \" d \" + twice(0.1));
             Writer_write(source_readByte());
             displayYUV_displayPicture(y, c, c, 2, 2);
             if a = 4095 then source_exit(5); end
             y[a] := 1;
           end
         end",
    );
    write(&folder, "natives.c", "float twice(float x);\nfloat twice(float x) { return 2 * x; }\n");
    write(&folder, "source", [7, 8, 9]);
    let built = headrace(folder.path(), &["build", "Mixed.cal", "--target", "c", "--main", "-o", "project"], b"");
    assert_eq!(status(&built), 0, "{}", stderr(&built));
    let natives = folder.path().join("natives.c");
    let made = Command::new("make")
        .args(["-C", "project", "main", "CFLAGS=-O1 -Wall -Wextra -Werror"])
        .arg(format!("NATIVES={}", natives.display()))
        .current_dir(folder.path())
        .output()
        .expect("make is there");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let files = ["--source", "source", "--writer", "written", "--video", "shown.y4m"];
    let ports = |line: [&'static str; 2]| {
        let [inputs, bits] = line;
        vec!["--in", inputs, "--in", bits, "--out", "Out:be=out", "--out", "R=real", "--out", "W=wide"]
    };
    let mut statuses = Vec::new();
    for line in [
        ["In=int:1,2,0x7", "B=int:1,false,1"],
        ["In=hex:010203000500", "B=hex:a0"],
        // A run-time error, an end by itself, input that nobody takes, and a number that does not fit.
        ["In=int:9", "B=int:0"],
        ["In=int:4095", "B=int:0"],
        ["In=int:1,2,3,4", "B=int:0,0"],
        ["In=int:4096", "B=int:0"],
    ] {
        let outcome = |program: bool| {
            for name in ["out", "real", "wide", "written", "shown.y4m"] {
                let _ = fs::remove_file(folder.path().join(name));
            }
            let output = if program {
                Command::new(folder.path().join("project/bin/Mixed"))
                    .args(ports(line))
                    .args(files)
                    .current_dir(folder.path())
                    .output()
                    .expect("the program starts")
            } else {
                let run = ["run", "Mixed.cal", "--natives", "natives.c", "--engine", "interp", "--fifo", "1"];
                headrace(folder.path(), &[&run[..], &ports(line), &files].concat(), b"")
            };
            let left =
                ["out", "real", "wide", "written", "shown.y4m"].map(|name| fs::read(folder.path().join(name)).ok());
            (status(&output), stdout(&output), left)
        };
        let (by_run, by_program) = (outcome(false), outcome(true));
        assert_eq!(by_run.0, by_program.0, "{line:?}");
        assert_eq!(by_run.2, by_program.2, "{line:?}");
        assert_eq!(by_run.1, by_program.1, "{line:?}");
        statuses.push(by_run.0);
    }
    // Both may fail alike: what ends well does so, and what ends itself with its own status.
    assert_eq!((statuses[0], statuses[3]), (0, 5), "{statuses:?}");
}

#[test]
fn programs_are_made_of_networks_in_c() {
    let folder = folder();
    for arguments in [
        &["build", "aes128", "--target", "c", "--main", "-o", "x"][..],
        &["build", "ctl.block.aes.AesEncrypt(NK = 4)", "--target", "wasm", "--main", "-o", "x"],
    ] {
        let output = headrace(folder.path(), arguments, b"");
        assert_eq!(status(&output), 2, "{arguments:?}: {}", stderr(&output));
        assert!(!folder.path().join("x").exists());
    }
}

#[test]
fn an_index_outside_is_none_where_the_user_wants_that() {
    let folder = folder();
    write(
        &folder,
        "Beside.cal",
        "actor Beside() int(size=8) I ==> int(size=8) O : int(size=8) l[3] := [7, 8, 9]; int(size=8) m[4][2];
           action I:[i] ==> O:[l[i], l[i + 1], m[i][0], m[i - 1][i]] do m[i][i - 1] := 5; m[1][0] := 6; end end",
    );
    for engine in ["interp", "native"] {
        let arguments = ["run", "Beside.cal", "--engine", engine, "--in", "I=int:2,-1,1", "--out", "O=int:"];
        let output = headrace(folder.path(), &arguments, b"");
        assert_eq!(status(&output), 1, "{engine}");
        assert!(stderr(&output).contains("index 3 is outside 0..2"), "{engine}: {}", stderr(&output));
        let output = headrace(folder.path(), &[&arguments[..], &["--lenient-indices"]].concat(), b"");
        assert_eq!((status(&output), stdout(&output).as_str()), (0, "9,7,0,0,7,7,5,5,8,9,6,0\n"), "{engine}");
    }
}

#[test]
fn what_fits_machine_widths_alone_runs_with_them() {
    let folder = folder();
    write(
        &folder,
        "Wide.cal",
        "actor Wide() uint(size=5) I ==> int(size=16) O : int(size=5) SIZE = 16; uint(size=4) kept := 0; uint(size=8) all[6]; int passes := 0;
           procedure fill(uint(size=8) l[4], uint(size=4) v) begin foreach int i in 0 .. 5 do l[i] := l[i] + v; end end
           action I:[i] ==> O:[kept, SIZE, all[5], passes, if (w << 60) = 0 then i else -1 end]
             var uint(size=16) low := -1, uint(size=64) w := 16 do
             kept := i * 2 + 200; fill(all, 16); foreach int(size=16) y in low .. i do passes := passes + 1; end end end",
    );
    let plain = headrace(folder.path(), &["check", "Wide.cal"], b"");
    assert_eq!(status(&plain), 1);
    let said = stderr(&plain) + &stdout(&plain);
    assert!(said.contains("error[list-too-long]") && said.contains("--orcc-widths"), "{said}");
    for engine in ["interp", "native"] {
        let arguments =
            ["run", "Wide.cal", "--orcc-widths", "--engine", engine, "--in", "I=int:5,40", "--out", "O=int:"];
        let output = headrace(folder.path(), &arguments, b"");
        assert!(stderr(&output).contains("warning[list-too-long]"), "{engine}: {}", stderr(&output));
        assert_eq!((status(&output), stdout(&output).as_str()), (0, "210,16,16,7,5,24,16,32,49,40\n"), "{engine}");
    }
}

#[test]
fn an_actor_that_goes_on_without_end_leaves_the_others_their_turns() {
    let folder = folder();
    write(
        &folder,
        "Spin.cal",
        "actor Spin() ==> uint(size=8) O : uint(size=8) n := 0; uint m := 0;
           action ==> O:[n] guard n < 3 do n := n + 1; end
           action ==> guard n = 3 do m := m + 1; end end",
    );
    write(
        &folder,
        "Take.cal",
        "actor Take() uint(size=8) I ==> : @native procedure source_exit(int status) end
           action I:[x] ==> do println(x); if x = 2 then source_exit(0); end end end",
    );
    write(&folder, "Both.nl", "network Both() ==> : entities s = Spin(); t = Take(); structure s.O --> t.I; end");
    for arguments in [&["--engine", "interp"][..], &["--engine", "native"], &["--engine", "native", "--stats"]] {
        let output = headrace(folder.path(), &[&["run", "Both.nl"][..], arguments].concat(), b"");
        assert_eq!((status(&output), stdout(&output).as_str()), (0, "1\n2\n"), "{arguments:?}: {}", stderr(&output));
    }
    let built = headrace(folder.path(), &["build", "Both.nl", "--target", "c", "--main", "-o", "project"], b"");
    assert_eq!(status(&built), 0, "{}", stderr(&built));
    let made = Command::new("make").args(["-s", "-C", "project", "main"]).current_dir(folder.path()).output();
    assert!(made.expect("make is there").status.success());
    let output = Command::new(folder.path().join("project/bin/Both")).output().expect("the program starts");
    assert_eq!((status(&output), stdout(&output).as_str()), (0, "1\n2\n"));
}
