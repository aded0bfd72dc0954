//! What can be said about matrix products beyond single cases: how accurate each numerics is, that
//! large products are the CPU's to the bit, and what block products cost the CPU.

pub mod accuracy;
mod bound;
pub mod cost;
mod inputs;
pub mod large;

pub use inputs::Inputs;

use isobit_hal::Numerics;

/// Returns the name of a way to compute products in tables.
fn name_of(numerics: Numerics) -> &'static str {
    match numerics {
        Numerics::Portable => "chain",
        Numerics::Block => "block",
        Numerics::Vendor => "vendor",
    }
}
