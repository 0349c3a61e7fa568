//! What the networks are made of, on one core: products, norms, activations, attention. Rows are packed: no row stands for padding.

pub(super) mod attention;
pub(super) mod functions;
pub(super) mod linear;
pub(super) mod norm;
