//! The two forms of a trace.

#[expect(dead_code, reason = "each test uses a part of it")]
mod build;

use build::*;
use headrace_engine::{CollectingHost, Engine};
use headrace_interp::{Options, trace};
use headrace_ir::*;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("not poisoned").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("not poisoned").clone()).expect("text")
    }
}

fn traced(sink: Box<dyn trace::TraceSink>) {
    let mut fire = action("fire");
    fire.locals = vec![pattern_local("x", Type::scalar(int(8)))];
    fire.consumes = vec![take(0, &[0])];
    fire.produces = vec![give(0, vec![wrap(uint(64), local(0)), lit(3)])];
    let network = single(actor(vec![port("In", int(8))], vec![port("Out", uint(64))], vec![fire]));
    let mut engine = interpreter(network, Options { trace: Some(sink), ..Options::default() });
    engine.write(0, &[255, 5]);
    engine.run(None, &mut CollectingHost::default()).expect("no trap");
    engine.finish_trace().expect("written");
}

#[test]
fn json_lines() {
    let out = Shared::default();
    traced(Box::new(trace::JsonLines::new(out.clone())));
    assert_eq!(
        out.text(),
        "{\"time\":0,\"instance\":\"a\",\"action\":\"fire\",\"from\":\"\",\"to\":\"\",\"consumed\":{\"In\":[-1]},\"produced\":{\"Out\":[18446744073709551615,3]}}\n\
         {\"time\":1,\"instance\":\"a\",\"action\":\"fire\",\"from\":\"\",\"to\":\"\",\"consumed\":{\"In\":[5]},\"produced\":{\"Out\":[5,3]}}\n"
    );
    for line in out.text().lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("JSON");
    }
}

#[test]
fn value_change_dump() {
    let out = Shared::default();
    traced(Box::new(trace::ValueChangeDump::new(out.clone())));
    let text = out.text();
    assert!(text.contains("$scope module a $end"), "{text}");
    assert!(text.contains("$var wire 8"), "{text}");
    assert!(text.contains("b11111111 "), "{text}");
    assert!(text.contains("sfire "), "{text}");
    // Two firings of two steps, then the end.
    for time in ["#0", "#1", "#2", "#3", "#4"] {
        assert!(text.lines().any(|line| line == time), "{time} in {text}");
    }
}
