//! The table of the tokens' vectors: the first layer reads it, and the last compares with it.

use crate::session::Step;
use crate::{Config, Ranks, Shard};
use isobit::{BackendDevice, BackendStorage, BinaryOp, Indexing, Layout, Matmul, Op, Reduce, ReduceOp, Result};
use std::ops::Range;
use std::slice;

/// A vector for every token of the vocabulary.
#[derive(Debug)]
pub struct Embedding<S> {
    /// The rows of this rank's tokens.
    table: S,
    own: Range<usize>,
    /// u32 `[1]`: the number of tokens of each rank.
    part: S,
    /// Of all ranks.
    vocabulary: usize,
    hidden: usize,
}

impl<S: BackendStorage> Embedding<S> {
    /// Creates it from its matrix.
    ///
    /// # Errors
    /// Returns the errors of the device and of `matrix`.
    pub fn new<D: BackendDevice<Storage = S>>(
        device: &D,
        config: &Config,
        shard: &Shard,
        matrix: &mut impl FnMut([usize; 2], &[Range<usize>]) -> Result<S>,
    ) -> Result<Self> {
        let (Config { vocabulary, hidden, .. }, own) = (config, shard.vocabulary.clone());
        Ok(Self {
            table: matrix([*vocabulary, *hidden], slice::from_ref(&own))?,
            part: device.storage_from_slice(&[own.len() as u32])?,
            own,
            vocabulary: *vocabulary,
            hidden: *hidden,
        })
    }

    /// Computes the hidden state of a step from its tokens.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn look_up(&self, ranks: &Ranks<S::Device>, s: &mut Step<S>, tokens: &S) -> Result<()> {
        let (rows, all) = (Layout::contiguous(s.rows), Layout::contiguous(tokens.len()));
        let select = Op::IndexSelect(Indexing::new(0));
        S::apply_into(&select, &[(tokens, &all).into(), (&s.positions, &rows).into()], &mut s.ids, &rows)?;
        if ranks.size() > 1 {
            return self.look_up_together(ranks, s);
        }
        let (table, hidden) =
            (Layout::contiguous([self.vocabulary, self.hidden]), Layout::contiguous([s.rows, self.hidden]));
        S::apply_into(&select, &[(&self.table, &table).into(), (&s.ids, &rows).into()], &mut s.hidden, &hidden)
    }

    /// Computes the hidden state of a step from its ids. Only one rank has the vector of a token,
    /// and no host knows which: every rank gives the row that the token would have in its own part,
    /// and the right one is selected.
    fn look_up_together(&self, ranks: &Ranks<S::Device>, s: &mut Step<S>) -> Result<()> {
        let (rows, hidden, ids) = (s.rows, self.hidden, Layout::contiguous(s.rows));
        let part = Layout::contiguous(1).broadcast_as(rows)?;
        let row = s.ids.binary(&ids, &self.part, &part, BinaryOp::Rem)?;
        let owner = s.ids.binary(&ids, &self.part, &part, BinaryOp::Div)?;

        let found = Layout::contiguous([ranks.size(), rows, hidden]);
        let (table, own) =
            (Layout::contiguous([self.own.len(), hidden]), found.narrow(0, ranks.rank(), 1)?.squeeze(0)?);
        let select = Op::IndexSelect(Indexing::new(0));
        S::apply_into(&select, &[(&self.table, &table).into(), (&row, &ids).into()], &mut s.wide, &own)?;
        ranks.join(&mut s.wide, &found)?;

        let one = Layout::contiguous([1, rows, hidden]);
        let owners = Layout::contiguous([1, rows, 1]).broadcast_as(one.shape())?;
        let gather = Op::Gather(Indexing::new(0));
        S::apply_into(&gather, &[(&s.wide, &found).into(), (&owner, &owners).into()], &mut s.hidden, &one)
    }

    /// Computes the logits of the last token and writes the likeliest next token into `tokens`,
    /// after those that the step has seen. The same table gives the vectors and the logits.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn choose(&self, op: Matmul, ranks: &Ranks<S::Device>, s: &mut Step<S>, tokens: &mut S) -> Result<()> {
        let (last, logits) = (Layout::contiguous([1, self.hidden]), Layout::contiguous([1, self.vocabulary]));
        let (table, own) = (
            Layout::contiguous([self.own.len(), self.hidden]).transpose(0, 1)?,
            logits.narrow(1, self.own.start, self.own.len())?,
        );
        S::matmul_into(op, &s.last, &last, &self.table, &table, &mut s.logits, &own)?;
        ranks.join_columns(&mut s.logits, [1, self.vocabulary])?;
        // The reduced dimension stays, with one element.
        let one = Layout::contiguous([1, 1]);
        S::reduce_into(&Reduce::new(ReduceOp::ArgMax, &[1]), &s.logits, &logits, &mut s.next, &one)?;
        let all = Layout::contiguous(tokens.len());
        let one = Layout::contiguous(1);
        tokens.scatter_set(&all, &s.lengths, &one, &s.next, &one, 0)
    }
}
