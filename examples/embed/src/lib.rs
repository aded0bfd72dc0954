//! A real model on the hardware abstraction layer: all-MiniLM-L6-v2, which turns sentences into
//! vectors whose angles say how alike they mean.
//!
//! It shows what code above the layer looks like. A [`Model`] holds weights on a device, a
//! [`Workspace`] every intermediate result of one batch, and a step writes from one into the other
//! without making a storage. Everything is generic over [`BackendDevice`](isobit::BackendDevice):
//! the same lines run on the host, on GPUs of both vendors, and on simulated ones, and with
//! portable numerics they give the same bits there.
//!
//! Read [`model`] first, then [`attention`]; the other modules are what surrounds them.

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
pub mod simulated;
pub mod tokenizer;
pub mod weights;
pub mod workspace;

pub use batch::Batch;
pub use captured::Captured;
pub use config::Config;
pub use model::Model;
pub use tokenizer::Tokenizer;
pub use workspace::Workspace;
