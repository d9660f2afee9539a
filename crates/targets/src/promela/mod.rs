//! PROMELA: a network as communicating processes for the model checker Spin, which looks at all that it can do.
//!
//! What is asked is whether a network can come to a stop that it must not come to, and whether FIFOs of given sizes hold what is
//! written. Data do not matter to that: FIFOs are counts of tokens, and only states of FSMs, variables and tokens that decide
//! what fires have values. Where these are not known, a choice may go either way. So a model does all that its
//! network does with the messages that come in, and maybe more: what is free of deadlock in the model is so in the
//! network; a deadlock of the model is one of the network if the network, run with the same messages, stops there too
//! (`headrace analyze NETWORK --firings FILE`).
//!
//! Actors as finite automata are made by [`headrace_analysis::actor_automata`].
//!
//! | file | what is settled there |
//! | --- | --- |
//! | `environment` | what comes in |
//! | `names` | what things are called, numbers for tokens |
//! | `rules` | automata as guarded rules |
//! | `model`, `rest` | the text of a model, and of what happens when nothing goes on |
//! | `project` | models with what runs Spin |

pub mod environment;
mod model;
mod names;
pub mod project;
mod rest;
mod rules;
pub(crate) mod toolchain;

pub use model::order_matters;
