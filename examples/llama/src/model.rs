//! The model: a sequence of layers.

use crate::attention::Attention;
use crate::embedding::Embedding;
use crate::feed_forward::FeedForward;
use crate::norm::Norm;
use crate::rotation::Rotation;
use crate::session::{Cache, Step};
use crate::{Config, Ranks, Session, Shard};
use anyhow::Result;
use isobit::{BackendDevice, DType, Matmul, Numerics, Result as DeviceResult};
use std::ops::Range;

/// A Llama on a device, or the part of one that a rank holds.
#[derive(Debug)]
pub struct Model<D: BackendDevice> {
    device: D,
    config: Config,
    dtype: DType,
    product: Matmul,
    ranks: Ranks<D>,
    shard: Shard,
    embedding: Embedding<D::Storage>,
    layers: Vec<Layer<D::Storage>>,
    norm: Norm<D::Storage>,
}

/// A decoder layer.
#[derive(Debug)]
struct Layer<S> {
    attention: Attention<S>,
    feed_forward: FeedForward<S>,
}

impl<D: BackendDevice> Model<D> {
    /// Creates the model from matrices of the dtype of the computation: f32, f16 or bf16. `matrix`
    /// returns the next one `[outputs, inputs]`, of which only some ranges of outputs, joined: the
    /// embedding; then of each layer queries, keys and values, the joined heads, gate and what it
    /// lets through, and back to `hidden`. The weights of norms are 1. `numerics` are those of
    /// products and attention, on every device the same: also on the CPU, which has no other
    /// default than portable numerics. All `ranks` make the same calls of the model.
    ///
    /// # Errors
    /// Fails if there is no model of these sizes or the ranks cannot share it, or with the errors
    /// of the device and of `matrix`.
    pub fn new(
        device: &D,
        config: &Config,
        dtype: DType,
        numerics: Numerics,
        ranks: Ranks<D>,
        mut matrix: impl FnMut([usize; 2], &[Range<usize>]) -> DeviceResult<D::Storage>,
    ) -> Result<Self> {
        config.check()?;
        let product = Matmul::with_numerics(numerics);
        let shard = Shard::new(config, ranks.rank(), ranks.size())?;
        let embedding = Embedding::new(device, config, &shard, &mut matrix)?;
        let layer = |_| {
            Ok(Layer {
                attention: Attention::new(device, config, &shard, dtype, product, &mut matrix)?,
                feed_forward: FeedForward::new(device, config, &shard, dtype, product, &mut matrix)?,
            })
        };
        Ok(Self {
            device: device.clone(),
            dtype,
            product,
            embedding,
            layers: (0..config.layers).map(layer).collect::<DeviceResult<_>>()?,
            norm: Norm::new(device, config.hidden, config.eps, dtype)?,
            config: config.clone(),
            ranks,
            shard,
        })
    }

    /// Returns the sizes of the model.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the device of the model.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Returns the rank of the model.
    pub(crate) fn ranks(&self) -> &Ranks<D> {
        &self.ranks
    }

    /// Allocates the buffers of a sequence.
    ///
    /// # Errors
    /// The errors of [`Session::new`].
    pub fn session(&self, prompt: usize, most: usize) -> Result<Session<D::Storage>> {
        Session::new(&self.device, &self.config, &self.shard, self.dtype, prompt, most)
    }

    /// Reads the prompt that was [set](Session::set), and makes the first token after it. The work
    /// is submitted to the device; reading the [outcome](Session::outcome) waits for it.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn prefill(&self, session: &mut Session<D::Storage>) -> DeviceResult<()> {
        let Session { tokens, rotation, caches, prompt, .. } = session;
        self.step(prompt, tokens, rotation, caches)
    }

    /// Reads the token that the previous step made, and makes the next one. The device reports a
    /// step after the last that the session has room for as `IndexOutOfRange`.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn decode(&self, session: &mut Session<D::Storage>) -> DeviceResult<()> {
        let Session { tokens, rotation, caches, next, .. } = session;
        self.step(next, tokens, rotation, caches)?;
        next.advance()
    }

    fn step(
        &self,
        s: &mut Step<D::Storage>,
        tokens: &mut D::Storage,
        rotation: &Rotation<D::Storage>,
        caches: &mut [Cache<D::Storage>],
    ) -> DeviceResult<()> {
        self.embedding.look_up(&self.ranks, s, tokens)?;
        s.turn(rotation)?;
        for (layer, cache) in self.layers.iter().zip(caches) {
            layer.attention.forward(self.product, &self.ranks, s, cache)?;
            layer.feed_forward.forward(self.product, &self.ranks, s)?;
        }
        // Of a prompt, only its last token says what comes next.
        self.norm.forward(&s.hidden, s.rows - 1, &mut s.last, 1)?;
        self.embedding.choose(self.product, &self.ranks, s, tokens)
    }
}
