//! Taking turns, and statistics of times.
//!
//! What counts is the time that the processor spent on the measuring thread, where the system tells it: on a machine that does
//! other things too, time on the wall says more about those.

#[cfg(not(unix))]
use std::time::Instant;

/// What the times of a measurement are, for the record.
pub const TIME: &str = if cfg!(unix) { "processor time of the measuring thread" } else { "time on the wall" };

#[cfg(unix)]
/// Seconds of what [`TIME`] says, from some moment on.
pub fn seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(not(unix))]
/// Seconds of what [`TIME`] says, from some moment on.
pub fn seconds() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// One of those who take turns: does the work once. The error ends the measurement.
pub type Contender<'a> = Box<dyn FnMut() -> Result<(), String> + 'a>;

/// Lets the contenders take turns, `rounds` times, after one round that is not counted. Gives seconds: for each
/// contender, for each round.
pub fn take_turns(contenders: &mut [Contender], rounds: usize) -> Result<Vec<Vec<f64>>, String> {
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for round in 0..=rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let start = seconds();
            contender()?;
            if round > 0 {
                times.push((seconds() - start).max(f64::MIN_POSITIVE));
            }
        }
    }
    Ok(times)
}

/// The middle value, or the mean of the two in the middle; not a number when there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The least value; infinite when there are none.
pub fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Distance between the quartiles, as a part of the median: how far the middle half of the runs lies apart.
pub fn spread(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quartile = |quarter: f64| -> f64 {
        let position = quarter * (sorted.len().saturating_sub(1)) as f64;
        let (below, above) = (position.floor() as usize, position.ceil() as usize);
        match (sorted.get(below), sorted.get(above)) {
            (Some(below), Some(above)) => below + (above - below) * position.fract(),
            _ => f64::NAN,
        }
    };
    (quartile(0.75) - quartile(0.25)) / median(values)
}

/// How fast the first is relative to the second: the median of their pairs' ratios, above 1 when the first is faster.
pub fn speed_ratio(seconds: &[f64], other_seconds: &[f64]) -> f64 {
    let ratios: Vec<f64> = seconds.iter().zip(other_seconds).map(|(own, other)| other / own).collect();
    median(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
        assert_eq!(least(&[3.0, 1.0, 2.0]), 1.0);
        assert_eq!(spread(&[1.0, 2.0, 3.0, 4.0, 5.0]), 2.0 / 3.0);
        assert_eq!(spread(&[2.0]), 0.0);
        assert_eq!(speed_ratio(&[1.0, 2.0, 4.0], &[2.0, 2.0, 2.0]), 1.0);
    }

    #[test]
    fn contenders_alternate_and_the_first_round_does_not_count() {
        let log = std::cell::RefCell::new(String::new());
        let mut contenders: Vec<Contender> = ["a", "b"]
            .into_iter()
            .map(|name| {
                let log = &log;
                Box::new(move || {
                    log.borrow_mut().push_str(name);
                    Ok(())
                }) as Contender
            })
            .collect();
        let times = take_turns(&mut contenders, 2).expect("they do not fail");
        drop(contenders);
        assert_eq!(*log.borrow(), "ababab");
        assert!(times.iter().all(|times| times.len() == 2));
    }

    #[test]
    fn a_failing_contender_ends_the_measurement() {
        let mut contenders: Vec<Contender> = vec![Box::new(|| Err("no".into()))];
        assert_eq!(take_turns(&mut contenders, 3), Err("no".into()));
    }
}
