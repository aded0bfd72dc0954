//! A guide to Isobit in short chapters. Each begins with a program that runs.
//!
//! 1. [Devices, storages and layouts](devices)
//! 2. [Numerics: which results are the same bits](numerics)
//! 3. [Memory: reuse, pinned buffers, the pool](memory)
//! 4. [Streams and events](streams)
//! 5. [Graphs](graphs)
//! 6. [Your own kernels](kernels)
//! 7. [Several devices](collectives)
//! 8. [Other drivers](drivers)
//! 9. [Errors, spans and counters](errors)

#[doc = include_str!("devices.md")]
pub mod devices {}

#[doc = include_str!("numerics.md")]
pub mod numerics {}

#[doc = include_str!("memory.md")]
pub mod memory {}

#[doc = include_str!("streams.md")]
pub mod streams {}

#[doc = include_str!("graphs.md")]
pub mod graphs {}

#[doc = include_str!("kernels.md")]
pub mod kernels {}

#[doc = include_str!("collectives.md")]
pub mod collectives {}

#[doc = include_str!("drivers.md")]
pub mod drivers {}

#[doc = include_str!("errors.md")]
pub mod errors {}
