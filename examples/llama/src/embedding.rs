//! The table of the tokens' vectors: the first layer reads it, and the last compares with it.

use crate::Config;
use crate::session::Step;
use isobit::{BackendStorage, Indexing, Layout, Matmul, Op, Reduce, ReduceOp, Result};

/// A vector for every token of the vocabulary.
#[derive(Debug)]
pub struct Embedding<S> {
    table: S,
    vocabulary: usize,
    hidden: usize,
}

impl<S: BackendStorage> Embedding<S> {
    /// Creates it from a matrix `[vocabulary, hidden]`.
    pub fn new(table: S, config: &Config) -> Self {
        Self { table, vocabulary: config.vocabulary, hidden: config.hidden }
    }

    /// Computes the hidden state of a step from its tokens.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn look_up(&self, s: &mut Step<S>, tokens: &S) -> Result<()> {
        let (rows, all) = (Layout::contiguous(s.rows), Layout::contiguous(tokens.len()));
        let select = Op::IndexSelect(Indexing::new(0));
        S::apply_into(&select, &[(tokens, &all).into(), (&s.positions, &rows).into()], &mut s.ids, &rows)?;
        let (table, hidden) =
            (Layout::contiguous([self.vocabulary, self.hidden]), Layout::contiguous([s.rows, self.hidden]));
        S::apply_into(&select, &[(&self.table, &table).into(), (&s.ids, &rows).into()], &mut s.hidden, &hidden)
    }

    /// Computes the logits of the last token and writes the likeliest next token into `tokens`,
    /// after those that the step has seen. The same table gives the vectors and the logits.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn choose(&self, op: Matmul, s: &mut Step<S>, tokens: &mut S) -> Result<()> {
        let (last, logits) = (Layout::contiguous([1, self.hidden]), Layout::contiguous([1, self.vocabulary]));
        let table = Layout::contiguous([self.vocabulary, self.hidden]).transpose(0, 1)?;
        S::matmul_into(op, &s.last, &last, &self.table, &table, &mut s.logits, &logits)?;
        // The reduced dimension stays, with one element.
        let one = Layout::contiguous([1, 1]);
        S::reduce_into(&Reduce::new(ReduceOp::ArgMax, &[1]), &s.logits, &logits, &mut s.next, &one)?;
        let all = Layout::contiguous(tokens.len());
        let one = Layout::contiguous(1);
        tokens.scatter_set(&all, &s.lengths, &one, &s.next, &one, 0)
    }
}
