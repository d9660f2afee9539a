//! Networks with lists, choices and entity parameters become plain ones that mean the same.

#[expect(dead_code, reason = "each test uses a part of it")]
mod support;

use headrace_frontend::{Session, SourceKind, Top, expand};
use support::{Texts, elaborated, problems};

const STAGE: &str = "
package p;
actor Stage(int ADD = 1, int T[2] = [0, 0]) uint(size=8) In ==> uint(size=8) Out :
    action In:[x] ==> Out:[x + ADD + T[1]] end
end
";

const WRAP: &str = "
package p;
network Wrap(entity Inner, int DEPTH = 8) uint(size=8) In ==> uint(size=8) Out :
entities
    inner = Inner();
structure
    In --> inner.In {bufferSize = DEPTH;};
    inner.Out --> Out;
end
";

const PLAIN: &str = "
package p;
network Plain(int BY) uint(size=8) In ==> uint(size=8) Out :
entities
    one = Stage(ADD = BY * 2);
structure
    In --> one.In;
    one.Out --> Out;
end
";

const TOP: &str = "
package p;
network Top(int N = 3, bool EXTRA = true) uint(size=4 + 4) In ==> uint(size=8) Out :
entities
    chain = [Stage(ADD = i, T = [i, -i]) : for i in 0 .. N - 1];
    last = if EXTRA then Wrap(Inner = Stage(7), DEPTH = 2 * N) else Stage() end;
    plain = Plain(BY = N);
structure
    In --> chain[0].In;
    foreach i in 0 .. N - 2 do
        chain[i].Out --> chain[i + 1].In;
    end
    chain[N - 1].Out --> plain.In;
    plain.Out --> last.In;
    last.Out --> Out;
end
";

fn texts() -> Texts {
    Texts::default().cal("p.Stage", STAGE).nl("p.Wrap", WRAP).nl("p.Plain", PLAIN).nl("p.Top", TOP)
}

#[test]
fn an_expanded_network_means_the_same() {
    let mut session = Session::new();
    let expanded = expand(&mut session, &texts(), &Top::Name("p.Top".to_string()), &[("N".into(), "4".into())]);
    let Some(expanded) = expanded else { panic!("{:#?}", problems(&mut session)) };
    let names: Vec<&str> = expanded.iter().map(|network| network.name.as_str()).collect();
    assert_eq!(names, ["p.Top", "p.Wrap_1"], "what is plain keeps its name and its parameters");

    let mut plain = Texts::default().cal("p.Stage", STAGE).nl("p.Plain", PLAIN);
    for network in &expanded {
        let text = headrace_syntax::nl::write(&network.file);
        assert!(!text.contains("foreach") && !text.contains("entity "), "{text}");
        let headrace_syntax::ast::Entity::Network(tree) = &network.file.entity else { panic!("a network") };
        let xdf = headrace_syntax::xdf::write(tree);
        assert!(xdf.is_ok(), "{xdf:?}");
        plain = plain.add(&network.name, SourceKind::Xdf, &xdf.unwrap_or_default());
    }
    let (before, after) = (elaborated(&texts(), "p.Top(N = 4)"), elaborated(&plain, "p.Top"));
    assert_eq!(headrace_ir::text::network(&before), headrace_ir::text::network(&after));
}
