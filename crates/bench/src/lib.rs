//! Side-by-side measurements: contenders that take turns, statistics of their times, results as JSON, tables from them.
//!
//! Runs alternate, so that a machine that becomes slower or faster does so for all contenders; a ratio is the median of
//! the ratios of the pairs. What is measured and what counts as correct is the caller's business.

pub mod contender;
pub mod contest;
pub mod counts;
pub mod cycles;
pub mod footprints;
pub mod hardware;
pub mod machine;
pub mod measure;
pub mod page;
pub mod peers;
pub mod program;
pub mod reference;
pub mod report;
pub mod results;
pub mod rules;
pub mod study;
pub mod summary;
pub mod tables;
pub mod target_rules;
pub mod verdict;
