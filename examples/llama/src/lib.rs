//! A language model on the hardware abstraction layer: the architecture of Llama 3.2 1B, with
//! random weights, so that there is nothing to download. What it says means nothing; how fast it
//! says it, and that every device says the same, does.
//!
//! A [`Model`] holds the weights on a device. A [`Session`] holds one sequence: its tokens, the
//! keys and values of every layer, and every intermediate result, so a step of one rank does not
//! allocate storages. The prompt is read in one step, and then each token is a step of its own.
//! Where such a step is in the sequence is data on the device, so one captured graph makes every
//! token, and the host waits for none.
//!
//! Several ranks can hold a model together ([`tensor_parallel`]): a [`Shard`] is what each has of
//! it, and [`Ranks`] joins what they compute. Or each holds a whole model and continues its own
//! prompts ([`data_parallel`]). Both give the bits of one rank.
//!
//! Read [`model`] first, then [`attention`]; the other modules support them.

pub mod attention;
pub mod config;
pub mod data_parallel;
pub mod embedding;
pub mod feed_forward;
pub mod generate;
pub mod job;
pub mod model;
pub mod norm;
pub mod ranks;
mod rotation;
pub mod session;
pub mod shard;
pub mod tensor_parallel;
pub mod threads;
pub mod timing;
pub mod weights;

pub use config::Config;
pub use job::{Job, Measured};
pub use model::Model;
pub use ranks::Ranks;
pub use session::Session;
pub use shard::Shard;
pub use timing::Timing;
