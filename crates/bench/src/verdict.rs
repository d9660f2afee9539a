//! Verdicts: a row of the rules held against what was measured. Pure: figures in, words out.

use crate::contest::Times;
use crate::measure::{least, speed_ratio};
use crate::results::{Status, Verdict};
use crate::rules::{Mark, RowSpec};

/// What was measured of one operation, all sides in turn with the same message.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Our variants.
    pub ours: Vec<Ours>,
    /// The peers that took part.
    pub peers: Vec<Theirs>,
    /// Peers that the row asks for and that did not, and why.
    pub missing: Vec<(String, String)>,
    /// What is wrong with all of it.
    pub error: Option<String>,
}

/// One of our variants.
#[derive(Clone, Debug)]
pub struct Ours {
    /// Its name in the manifest.
    pub variant: String,
    /// What it was compiled by.
    pub engine: String,
    /// Whether it is declared constant-time.
    pub constant_time: bool,
    /// Its times.
    pub times: Times,
}

/// One of the peers.
#[derive(Clone, Debug)]
pub struct Theirs {
    /// Its name in the rules.
    pub name: String,
    /// Its title with its version.
    pub title: String,
    /// True for what only shows the limit of the machine.
    pub bound: bool,
    /// Its times.
    pub times: Times,
}

/// Parameter set and operation that a verdict is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'s> {
    /// The parameter set.
    pub set: &'s str,
    /// The operation.
    pub operation: &'s str,
}

/// Holds what was measured against a row. `variant` is the manifest's first.
pub fn judge(row: &RowSpec, subject: Subject, variant: &str, measured: &Measured) -> Verdict {
    let bytes = (row.bytes * row.messages) as f64;
    let mut verdict = Verdict {
        row: row.title.clone(),
        primitive: subject.set.into(),
        operation: subject.operation.into(),
        variant: String::new(),
        bytes: row.bytes as u64,
        streams: u32::try_from(row.messages).unwrap_or(u32::MAX),
        pieces: row.pieces as u64,
        ours: None,
        other: String::new(),
        others: None,
        ratio: None,
        must: describe(&row.must, subject.set),
        goal: describe(&row.goal, subject.set),
        status: Status::NotMeasured,
        note: String::new(),
    };
    let wanted = row.variant.as_deref().unwrap_or(variant);
    let counts = |ours: &&Ours| if row.constant_time { ours.constant_time } else { ours.variant == wanted };
    // Where several compilers were tried, the best counts.
    let own =
        measured.ours.iter().filter(counts).min_by(|a, b| least(&a.times.cycles).total_cmp(&least(&b.times.cycles)));
    if let Some(own) = own {
        verdict.variant = format!("{}, {}", own.variant, own.engine);
        verdict.ours = Some(least(&own.times.cycles) / bytes);
        let compared: Option<(String, &Times)> = match &row.must.variant {
            Some(other) => {
                let same = |ours: &&Ours| ours.variant == *other && ours.engine == own.engine;
                measured.ours.iter().find(same).map(|ours| (ours.variant.clone(), &ours.times))
            }
            None => best_peer(measured, &[], own).map(|peer| (peer.title.clone(), &peer.times)),
        };
        if let Some((name, times)) = compared {
            verdict.other = name;
            verdict.others = Some(least(&times.cycles) / bytes);
            verdict.ratio = Some(speed_ratio(&own.times.cycles, &times.cycles));
        }
    }
    if let Some(error) = &measured.error {
        verdict.status = Status::Error;
        verdict.note = error.clone();
        return verdict;
    }
    if !measured.missing.is_empty() {
        let listed: Vec<String> = measured.missing.iter().map(|(name, why)| format!("{name}: {why}")).collect();
        verdict.note = listed.join("; ");
        return verdict;
    }
    let Some(own) = own else {
        let kind = if row.constant_time { "constant-time variant" } else { "variant" };
        verdict.note = format!("there is no {kind} of ours");
        return verdict;
    };
    if row.must.is_none() && row.goal.is_none() {
        verdict.status = Status::Compared;
        return verdict;
    }
    verdict.status =
        match (reached(&row.must, row, subject, own, measured), reached(&row.goal, row, subject, own, measured)) {
            (Err(why), _) => {
                verdict.note = why;
                Status::NotMeasured
            }
            (Ok(false), _) => Status::Missed,
            (Ok(true), Ok(true)) => Status::Goal,
            (Ok(true), goal) => {
                verdict.note = goal.err().unwrap_or_default();
                Status::Must
            }
        };
    verdict
}

/// The peer against which ours does worst; of those that are named, if any are.
fn best_peer<'m>(measured: &'m Measured, of: &[String], own: &Ours) -> Option<&'m Theirs> {
    let counts = |peer: &&Theirs| !peer.bound && (of.is_empty() || of.contains(&peer.name));
    let ratio = |peer: &Theirs| speed_ratio(&own.times.cycles, &peer.times.cycles);
    measured.peers.iter().filter(counts).min_by(|a, b| ratio(a).total_cmp(&ratio(b)))
}

/// Whether a mark is reached; the error says what is missing to tell.
fn reached(mark: &Mark, row: &RowSpec, subject: Subject, own: &Ours, measured: &Measured) -> Result<bool, String> {
    let bytes = (row.bytes * row.messages) as f64;
    let mut all = true;
    if let Some(wanted) = mark.ratio {
        let other = match &mark.variant {
            Some(variant) => measured
                .ours
                .iter()
                .find(|ours| ours.variant == *variant && ours.engine == own.engine)
                .map(|ours| &ours.times)
                .ok_or_else(|| format!("there is no variant `{variant}`"))?,
            None => best_peer(measured, &mark.of, own).map(|peer| &peer.times).ok_or("no peer was measured")?,
        };
        all &= speed_ratio(&own.times.cycles, &other.cycles) >= wanted;
    }
    if let Some(figure) = &mark.cycles_per_byte {
        let figure = figure.of(subject.set).ok_or_else(|| format!("there is no figure for {}", subject.set))?;
        all &= least(&own.times.cycles) / bytes <= figure;
    }
    if let Some(most) = mark.bound {
        let bound = measured.peers.iter().find(|peer| peer.bound).ok_or("the bound was not measured")?;
        all &= least(&own.times.cycles) <= most * least(&bound.times.cycles);
    }
    Ok(all)
}

/// A mark in words.
fn describe(mark: &Mark, set: &str) -> String {
    let mut parts = Vec::new();
    if let Some(ratio) = mark.ratio {
        let of = match (&mark.variant, mark.of.as_slice()) {
            (Some(variant), _) => format!("variant {variant}"),
            (None, []) => "the best peer".into(),
            (None, [one]) => one.clone(),
            (None, named) => format!("the best of {}", named.join(", ")),
        };
        parts.push(format!("≥ {ratio} × {of}"));
    }
    if let Some(figure) = mark.cycles_per_byte.as_ref().and_then(|figure| figure.of(set)) {
        parts.push(format!("≤ {figure} cycles/byte"));
    }
    if let Some(most) = mark.bound {
        parts.push(format!("≤ {most} × the bound"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row that asks for nothing reaches nothing: it has figures only.
    #[test]
    fn rows_without_marks_are_for_comparison() {
        let row = row("{}", "{}");
        let times = Times { cycles: vec![200.0], ..Times::default() };
        let ours = Ours { variant: "v".into(), engine: "e".into(), constant_time: false, times };
        let measured = Measured { ours: vec![ours], ..Measured::default() };
        let verdict = judge(&row, Subject { set: "x", operation: "hash" }, "v", &measured);
        assert_eq!((verdict.status, verdict.ours), (Status::Compared, Some(2.0)));
    }
    use crate::rules::Rules;

    fn row(must: &str, goal: &str) -> RowSpec {
        let text = format!(
            "sets = {{ x = {{}} }}\n[peers.p]\ntitle='P'\nminimum='1'\nobject='p'\nget=''\n[[rows]]\ntitle = 'r'\nbytes = 100\nmust = {must}\ngoal = {goal}\nmeasures = [{{ sets = ['x'], operations = ['hash'], peers = ['p'] }}]\n"
        );
        Rules::parse(&text).expect("it is right").rows.remove(0)
    }

    fn times(cycles: f64) -> Times {
        Times { seconds: vec![cycles; 3], cycles: vec![cycles; 3] }
    }

    fn measured(ours: f64, lut: f64, peer: f64) -> Measured {
        let own = |variant: &str, constant_time, cycles| Ours {
            variant: variant.into(),
            engine: "gcc".into(),
            constant_time,
            times: times(cycles),
        };
        Measured {
            ours: vec![own("standard", false, ours), own("lut", false, lut)],
            peers: vec![Theirs { name: "p".into(), title: "P 1".into(), bound: false, times: times(peer) }],
            ..Measured::default()
        }
    }

    const SUBJECT: Subject = Subject { set: "x", operation: "hash" };

    #[test]
    fn ratios_and_figures() {
        let by_peer = row("{ ratio = 0.95 }", "{ cycles_per_byte = 2.0 }");
        let status = |row: &RowSpec, measured: &Measured| judge(row, SUBJECT, "standard", measured).status;
        assert_eq!(status(&by_peer, &measured(200.0, 1.0, 200.0)), Status::Goal);
        assert_eq!(status(&by_peer, &measured(300.0, 1.0, 290.0)), Status::Must);
        assert_eq!(status(&by_peer, &measured(300.0, 1.0, 200.0)), Status::Missed);
        let by_variant = row("{ ratio = 0.95, variant = 'lut' }", "{ ratio = 1.0, variant = 'lut' }");
        assert_eq!(status(&by_variant, &measured(100.0, 96.0, 1.0)), Status::Must);
    }

    #[test]
    fn what_is_missing_is_never_passed() {
        let row = row("{ ratio = 0.95 }", "{ ratio = 1.0 }");
        let mut missing = measured(1.0, 1.0, 200.0);
        missing.missing.push(("q".into(), "not built".into()));
        let verdict = judge(&row, SUBJECT, "standard", &missing);
        assert_eq!((verdict.status, verdict.note.as_str()), (Status::NotMeasured, "q: not built"));
        assert_eq!(verdict.ratio, Some(200.0));
        let mut wrong = measured(1.0, 1.0, 200.0);
        wrong.error = Some("outputs differ".into());
        assert_eq!(judge(&row, SUBJECT, "standard", &wrong).status, Status::Error);
        let constant = RowSpec { constant_time: true, ..row };
        assert_eq!(judge(&constant, SUBJECT, "standard", &measured(1.0, 1.0, 2.0)).status, Status::NotMeasured);
    }
}
