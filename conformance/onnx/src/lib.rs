//! The node tests of ONNX, run on any device of Isobit.
//!
//! The tests come from the PyPI package `onnx`: `cases.py` writes them to a folder, and nothing of
//! the package is kept here. [`case`] reads them, [`lower`] turns each node into operations of the
//! HAL, [`graph`] evaluates the few nodes of a test, and [`compare`] judges the results by the rule
//! of ONNX's own runner. They are an independent source of expected values for most operations of
//! the HAL, with shapes, attributes and edge cases that other people chose.

pub mod case;
pub mod compare;
pub mod element;
pub mod graph;
pub mod listed;
pub mod lower;
pub mod ops;
pub mod report;
pub mod run;
pub mod stop;
pub mod tensor;
