//! A real model on the hardware abstraction layer: all-MiniLM-L6-v2, which maps sentences to
//! vectors. The angle between two vectors measures how similar the sentences are.
//!
//! It shows code that uses the layer. A [`Model`] holds the weights on a device, and a
//! [`Workspace`] holds every intermediate result of one batch, so a step does not allocate
//! storages. Everything is generic over [`BackendDevice`](isobit::BackendDevice): the same code
//! runs on the CPU, on GPUs of both vendors and on simulated GPUs, and with portable numerics it
//! gives the same bits on all of them.
//!
//! Read [`model`] first, then [`attention`]; the other modules support them.

pub mod attention;
pub mod batch;
pub mod bench;
pub mod captured;
pub mod config;
pub mod embeddings;
pub mod feed_forward;
pub mod folder;
pub mod layers;
pub mod model;
pub mod output;
pub mod pooling;
pub mod tokenizer;
pub mod weights;
pub mod workspace;

pub use batch::Batch;
pub use captured::Captured;
pub use config::Config;
pub use model::Model;
pub use tokenizer::Tokenizer;
pub use workspace::Workspace;
