//! What all methods share in asking a model: how a free reply is read.

pub mod json;
