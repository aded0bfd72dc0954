//! The conformance suite: a driver against the CPU reference bit for bit, and the reference against
//! the truth.
//!
//! The library knows `isobit-hal` alone and is generic over its traits, so a driver that lives
//! elsewhere can run it on its own device. `docs/numerics.md` says what is compared how.

pub mod accuracy;
pub mod case;
pub mod cells;
pub mod compare;
mod family;
pub mod generate;
pub mod golden;
pub mod regress;
pub mod report;
pub mod run;
pub mod runtime_tests;
mod schema;
