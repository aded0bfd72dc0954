//! Reports: what a run found, as a value and as files.

mod schema;

pub use schema::{
    Build, Class, DeviceRow, Finding, Memory, NotRun, Numerics, Report, ResultRow, SCHEMA, Status, Totals,
};
