//! One sequence on a device: its tokens, what is kept of them, and all buffers of the steps.

use crate::rotation::Rotation;
use crate::{Config, Shard};
use anyhow::{Result, ensure};
use isobit::{
    Affine, Attention, BackendDevice, BackendStorage, BinaryOp, DType, Indexing, Layout, Op, Result as DeviceResult,
    Src,
};
use isobit_examples::memory::{put, read};

/// A sequence: a prompt, and the tokens that the model adds to it.
#[derive(Debug)]
pub struct Session<S> {
    /// u32 `[prompt + most + 1]`: the prompt, then the tokens that were made.
    pub(crate) tokens: S,
    /// At every position.
    pub(crate) rotation: Rotation<S>,
    /// The keys and values of each layer.
    pub(crate) caches: Vec<Cache<S>>,
    /// The step that reads the prompt.
    pub(crate) prompt: Step<S>,
    /// The step of one token after it.
    pub(crate) next: Step<S>,
    config: Config,
}

/// The keys and values of a layer.
#[derive(Debug)]
pub struct Cache<S> {
    pub(crate) keys: S,
    pub(crate) values: S,
    /// `[1, kv_heads, capacity, head_size]`, of both: the heads of this rank.
    pub(crate) layout: Layout,
}

/// The buffers of a step for a fixed number of tokens, called rows.
#[derive(Debug)]
pub struct Step<S> {
    pub(crate) rows: usize,
    /// Whether the sequence starts with these tokens. Otherwise the step can be anywhere: only the
    /// device knows.
    is_first: bool,
    /// u32 `[rows]`: where the tokens are in the sequence.
    pub(crate) positions: S,
    /// u32 `[1]`: the number of tokens after the step, which is the position of the next token.
    pub(crate) lengths: S,
    /// u32 `[rows]`: the tokens.
    pub(crate) ids: S,
    /// `[rows, head_size / 2]`: of the angles at the positions.
    pub(crate) cos: S,
    /// Like `cos`.
    pub(crate) sin: S,
    /// `[rows, hidden]`: the state between layers.
    pub(crate) hidden: S,
    /// Like `hidden`: its norm, and then the term that is added to it.
    pub(crate) normed: S,
    /// `[rows, ..]`: the stacked results of a product, those of this rank; and first
    /// `[ranks, rows, hidden]`, the vectors of the tokens that each rank has found.
    pub(crate) wide: S,
    /// `[rows, heads + kv_heads, head_size]`: rotated queries and keys of this rank.
    pub(crate) turned: S,
    /// `[rows, heads, head_size]`.
    pub(crate) context: S,
    /// `[rows, wide]`.
    pub(crate) gated: S,
    /// `[hidden]`: the last token's state after all layers.
    pub(crate) last: S,
    /// `[vocabulary]`: the last token's.
    pub(crate) logits: S,
    /// u32 `[1]`: the likeliest next token.
    pub(crate) next: S,
}

/// What a model made of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The tokens after the prompt.
    pub tokens: Vec<u32>,
    /// The logits that the last of them was chosen by.
    pub logits: Vec<f32>,
    /// The state after all layers that the logits were made of.
    pub hidden: Vec<f32>,
}

impl Outcome {
    /// Returns the bits of everything.
    pub fn words(&self) -> impl Iterator<Item = u32> {
        let floats = self.logits.iter().chain(&self.hidden).map(|x| x.to_bits());
        self.tokens.iter().copied().chain(floats)
    }

    /// Returns an outcome of the same sizes with the bits of everything.
    pub(crate) fn with_words(&self, words: &[u32]) -> Self {
        let (tokens, floats) = words.split_at(self.tokens.len());
        let (logits, hidden) = floats.split_at(self.logits.len());
        let floats = |words: &[u32]| words.iter().copied().map(f32::from_bits).collect();
        Self { tokens: tokens.to_vec(), logits: floats(logits), hidden: floats(hidden) }
    }
}

impl<S: BackendStorage> Session<S> {
    /// Allocates the buffers for a prompt of `prompt` tokens and at most `most` steps after it.
    ///
    /// # Errors
    /// Returns `OutOfMemory` and other errors of the device, and those of
    /// [`Config::check_lengths`].
    pub fn new<D: BackendDevice<Storage = S>>(
        device: &D,
        config: &Config,
        shard: &Shard,
        dtype: DType,
        prompt: usize,
        most: usize,
    ) -> Result<Self> {
        config.check_lengths(prompt, most)?;
        let capacity = prompt + most;
        let layout = Layout::contiguous([1, shard.kv_heads.len(), capacity, config.head_size]);
        let kept = || device.zeros(layout.shape(), dtype);
        let cache = |_| Ok(Cache { keys: kept()?, values: kept()?, layout: layout.clone() });
        Ok(Self {
            tokens: device.zeros(&(capacity + 1).into(), DType::U32)?,
            rotation: Rotation::new(device, config, dtype, capacity)?,
            caches: (0..config.layers).map(cache).collect::<DeviceResult<_>>()?,
            prompt: Step::new(device, config, shard, dtype, prompt, true)?,
            next: Step::new(device, config, shard, dtype, 1, false)?,
            config: config.clone(),
        })
    }

    /// Starts again with a prompt.
    ///
    /// # Errors
    /// Fails if the prompt has another length, or with the errors of the device.
    pub fn set(&mut self, prompt: &[u32]) -> Result<()> {
        let (found, made) = (prompt.len(), self.prompt.rows);
        ensure!(found == made, "a prompt of {found} tokens in a session made for {made}");
        put(prompt, &mut self.tokens)?;
        self.prompt.put_at(0)?;
        self.next.put_at(found as u32)?;
        Ok(())
    }

    /// Copies to the host what the model made in the prompt's step and `steps` steps after it.
    ///
    /// # Errors
    /// Returns the errors of the device, including those of the steps.
    pub fn outcome(&self, steps: usize) -> DeviceResult<Outcome> {
        let last = if steps == 0 { &self.prompt } else { &self.next };
        let mut tokens = vec![0; steps + 1];
        self.tokens.read_slice(self.prompt.rows, &mut tokens)?;
        Ok(Outcome {
            tokens,
            logits: read(&last.logits, &Layout::contiguous(self.config.vocabulary))?,
            hidden: read(&last.last, &Layout::contiguous(self.config.hidden))?,
        })
    }
}

impl<S: BackendStorage> Step<S> {
    fn new<D: BackendDevice<Storage = S>>(
        device: &D,
        config: &Config,
        shard: &Shard,
        dtype: DType,
        rows: usize,
        is_first: bool,
    ) -> DeviceResult<Self> {
        let zeros = |elements: usize| device.zeros(&elements.into(), dtype);
        let counts = |elements: usize| device.zeros(&elements.into(), DType::U32);
        let size = config.head_size;
        let (heads, kv_heads) = (shard.heads.len(), shard.kv_heads.len());
        let wide = ((heads + 2 * kv_heads) * size).max(2 * shard.wide.len()).max(shard.ranks * config.hidden);
        Ok(Self {
            rows,
            is_first,
            positions: counts(rows)?,
            lengths: counts(1)?,
            ids: counts(rows)?,
            cos: zeros(rows * size / 2)?,
            sin: zeros(rows * size / 2)?,
            hidden: zeros(rows * config.hidden)?,
            normed: zeros(rows * config.hidden)?,
            wide: zeros(rows * wide)?,
            turned: zeros(rows * (heads + kv_heads) * size)?,
            context: zeros(rows * config.heads * size)?,
            gated: zeros(rows * config.wide)?,
            last: zeros(config.hidden)?,
            logits: zeros(config.vocabulary)?,
            next: counts(1)?,
        })
    }

    /// Sets where the step is in the sequence.
    fn put_at(&mut self, position: u32) -> DeviceResult<()> {
        let after = position + self.rows as u32;
        put(&(position..after).collect::<Vec<_>>(), &mut self.positions)?;
        put(&[after], &mut self.lengths)
    }

    /// Moves a step of one token to the next one.
    pub(crate) fn advance(&mut self) -> DeviceResult<()> {
        let (one, next) = (Layout::contiguous(1), Affine::new(1.0, 1.0));
        S::affine_into(next, Src::InPlace, &mut self.positions, &one)?;
        S::affine_into(next, Src::InPlace, &mut self.lengths, &one)
    }

    /// Writes keys or values `[1, kv_heads, rows, head_size]` to their positions in a cache.
    pub(crate) fn remember(&self, (src, layout): (&S, &Layout), cache: &mut S, kept: &Layout) -> DeviceResult<()> {
        if self.is_first {
            return S::copy_into((src, layout).into(), cache, &self.seen(kept)?);
        }
        let positions = Layout::contiguous([1, 1, self.rows, 1]).broadcast_as(layout.shape())?;
        cache.scatter_set(kept, &self.positions, &positions, src, layout, 2)
    }

    /// Returns the part of a cache that the step attends to, of which the lengths may be less.
    pub(crate) fn seen(&self, kept: &Layout) -> DeviceResult<Layout> {
        if self.is_first { kept.narrow(2, 0, self.rows) } else { Ok(kept.clone()) }
    }

    /// Returns which keys of [`seen`](Self::seen) a token attends to: those before it. After the
    /// one token of a step there are none to hide, but the rest of the cache.
    pub(crate) fn attention(&self) -> Attention {
        if self.is_first { Attention::new().causal() } else { Attention::new().with_inputs(false, true) }
    }

    /// Adds the term in `normed` to the hidden state.
    pub(crate) fn add_to_hidden(&mut self, size: usize) -> DeviceResult<()> {
        let layout = Layout::contiguous([self.rows, size]);
        S::binary_into(BinaryOp::Add, Src::InPlace, (&self.normed, &layout).into(), &mut self.hidden, &layout)
    }

    /// Selects the angles of the positions.
    pub(crate) fn turn(&mut self, by: &Rotation<S>) -> DeviceResult<()> {
        let (rows, tables, half) = (Layout::contiguous(self.rows), &by.layout, by.layout.dims()[1]);
        let (select, angles) = (Op::IndexSelect(Indexing::new(0)), Layout::contiguous([self.rows, half]));
        let positions = (&self.positions, &rows).into();
        S::apply_into(&select, &[(&by.cos, tables).into(), positions], &mut self.cos, &angles)?;
        S::apply_into(&select, &[(&by.sin, tables).into(), positions], &mut self.sin, &angles)
    }
}
