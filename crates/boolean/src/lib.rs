//! Boolean functions of a few bits as tables, as circuits and as matrices, and the ways between them. Nothing here knows
//! what a function is used for: a circuit is found by what it computes, and it is proved to compute it.

pub mod affine_equivalence;
pub mod basis;
pub mod bilinear;
pub mod byte_permute;
pub mod circuit;
pub mod composite_field;
pub mod known;
mod linear_layer;
pub mod linear_regions;
pub mod matrix;
pub mod nibble_tables;
mod random;
pub mod realisation;
pub mod synthesis;
pub mod table_form;
pub mod truth_table;
pub mod xor_network;
