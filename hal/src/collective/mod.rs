//! Collectives: sums, gathers and copies over a group of devices.
//!
//! A [`Communicator`] is one rank of a group. Each rank makes the same call with its own operands:
//! from a thread of its own, or together with the other ranks of a thread in one
//! [group](Communicator::group). The ranks of a communicator may be devices of different drivers,
//! and one device may be several ranks.
//!
//! ```rust
//! use isobit_hal::{
//!     BackendDevice, BackendStorage, Communicator, CpuDevice, Layout, ReduceOp, Result, Src,
//! };
//!
//! fn sum(rank: &Communicator<CpuDevice>) -> Result<Vec<f32>> {
//!     let layout = Layout::contiguous(2);
//!     let mut x = rank.device().storage_from_slice(&[rank.rank() as f32, 10.0])?;
//!     rank.all_reduce(Src::InPlace, &mut x, &layout, ReduceOp::Sum)?;
//!     x.to_vec()
//! }
//!
//! let ranks = Communicator::from_devices(&[CpuDevice, CpuDevice, CpuDevice])?;
//! let sums = std::thread::scope(|scope| {
//!     let threads: Vec<_> = ranks.iter().map(|rank| scope.spawn(|| sum(rank))).collect();
//!     threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Result<Vec<_>>>()
//! })?;
//! assert_eq!(sums, [[3.0, 30.0], [3.0, 30.0], [3.0, 30.0]]);
//! # Ok::<(), isobit_hal::Error>(())
//! ```
//!
//! # Results
//! A reduction over the ranks is the [reduction](crate::Reduce) over the first dimension of the
//! ranks' elements, stacked in the order of the ranks, to the bit: it depends on the elements and
//! on their order alone, and not on the devices, their number of threads, or how the bytes
//! travelled. Everything else moves raw bits. `docs/collectives.md` has the recipe and the costs.
//!
//! # Order
//! A call returns when its work is enqueued on the [current
//! stream](crate::BackendDevice::current_stream) of the rank's device; until then it waits on the
//! host for the other ranks to make the same call. Work that is enqueued afterwards comes after it,
//! as for any operation. On a device whose [tracking](crate::BackendDevice::disable_event_tracking)
//! is disabled, a call also waits until its work is done.

mod call;
mod communicator;
mod operands;
mod plan;
mod room;
mod run;
mod wait;

pub use call::{Call, Collective};
pub use communicator::Communicator;
