//! The conformance suite: checks a driver against the CPU reference, bit for bit, and the reference
//! against the true values.
//!
//! The library depends only on `isobit-hal` and is generic over its traits, so a driver in another
//! repository can run the suite on its own device. `docs/numerics.md` says how results are
//! compared.

pub mod accuracy;
pub mod case;
pub mod cells;
pub mod compare;
mod family;
pub mod generate;
pub mod golden;
mod hard;
pub mod huge;
pub mod launch_sizes;
pub mod products;
pub mod regress;
pub mod report;
pub mod run;
pub mod runtime_tests;
mod schema;
