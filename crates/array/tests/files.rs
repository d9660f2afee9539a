//! Mapping files: what is said of wrong ones; programs as text and back.

use headrace_array::isa::{assemble, disassemble};
use headrace_array::machine::Machine;
use headrace_array::mapping::{Mapping, built_in};
use headrace_platform::{File, find};

fn said(text: &str) -> String {
    Mapping::read(&File::new("mine.toml", text)).expect_err("it is wrong").to_string()
}

#[test]
fn every_file_is_a_mapping() {
    for file in built_in() {
        Mapping::read(file).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}

#[test]
fn every_array_is_a_machine() {
    for name in ["asap2", "kilocore", "raw"] {
        Machine::read(find(name).expect("it is there")).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}

#[test]
fn what_a_machine_lacks_is_said_at_once() {
    let said = |text: &str| Machine::read(&File::new("mine.toml", text)).expect_err("it is wrong").to_string();
    let whole = find("kilocore").expect("it is there").text.clone();
    let less: String = whole
        .lines()
        .filter(|line| !line.starts_with("restart") && !line.starts_with("depth"))
        .fold(String::new(), |text, line| text + line + "\n");
    let lacks = said(&less);
    assert!(lacks.contains("there are none of: clock.restart, fifo.depth."), "{lacks}");
    let bare = said(&whole.replace("depth = { value = 32,", "depth = 32 # {"));
    assert!(bare.contains("expected a value with where it comes from: `{ value = …"), "{bare}");
    let many = said(&whole.replace("pointers = { value = 4,", "pointers = { value = 17,"));
    assert!(many.contains("it must be from 0 to 16"), "{many}");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    assert!(said("colour = 1").starts_with("mine.toml:1:1: unknown field `colour`"), "{}", said("colour = 1"));
    let twice = said("[[core]]\nname = \"a\"\ntasks = [\"x#0\"]\n[[core]]\nname = \"a\"\ntasks = [\"x#1\"]\n");
    assert!(twice.starts_with("mine.toml:5:8: there are two processors `a`"), "{twice}");
    let place = "[[core]]\nname = \"a\"\nplace = [1, 1]\ntasks = [\"x#0\"]\n[[core]]\nname = \"b\"\nplace = [1, 1]\ntasks = [\"x#1\"]\n";
    assert!(said(place).starts_with("mine.toml:7:9: `b` and `a` are both at column 1, row 1"), "{}", said(place));
    let brace = said("[[core]]\nname = \"a{r\"\ntasks = [\"x#0\"]\n");
    assert!(brace.contains("a brace is not closed"), "{brace}");
    let variable = said("[[core]]\nname = \"a{r}\"\ntasks = [\"x#0\"]\n");
    assert!(variable.contains("`r` is neither a number nor a variable of `for`"), "{variable}");
    let range = said("[[core]]\nname = \"a\"\ntasks = [\"x#3..1\"]\n");
    assert!(range.contains("goes from 3 to 1"), "{range}");
    let pieces = said("[[change]]\nwhat = \"split\"\ntask = \"x#0\"\n");
    assert!(pieces.starts_with("mine.toml:3:8: `into` says how many pieces"), "{pieces}");
    assert!(said("in_flight = 0").contains("it must be from 1 to 64"));
}

#[test]
fn programs_are_read_as_they_are_written() {
    let text = "    gen 0, 16\n    rpt 16, 1\n    xor out0, in0, g0\n    shr p0, peek0, 1\n    and -, in0, 1 !0\n3   mov -, *p0\n    \
                shr out0, byp, 8 ?0\n    and out0+out1, byp, 255 ?~0\n    mov [3], in1\n    mov g1, [4]\n1   loop 2 ?0\n    mov out, 7\n";
    let program = assemble(text).expect("it is right");
    assert_eq!(program.len(), 12);
    assert_eq!(assemble(&disassemble(&program)), Ok(program.clone()));
    assert_eq!(disassemble(&program), text);
    let (line, why) = assemble("    mov [1], in0\n    jump 3\n").expect_err("there is no such instruction");
    assert_eq!((line, why.as_str()), (2, "there is no instruction `jump`"));
    assert_eq!(
        assemble("xor [1], in0").expect_err("an operand is missing").1,
        "`xor` takes 2 operands behind its target"
    );
    assert!(assemble("rpt 0, 1").is_err() && assemble("mov out99, 1").is_err() && assemble("mov [x], 1").is_err());
}
