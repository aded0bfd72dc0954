//! Which graphs are attention. cuDNN computes a graph of several operations at once only if it
//! recognises it: a product, a softmax of what becomes of it, and another product.

use super::{Action, Fused, Mode, Operation, Place, Reduce, Tensor};
use crate::problem::{BFLOAT16, BOOLEAN, FLOAT, HALF, INT32};
use crate::status::{DATA_TYPE, GRAPH_PATTERN, Outcome, SHAPE, Status, ensure, fail};

/// The largest head.
const MOST_HEAD: usize = 256;

/// A graph that is attention. Tensors are places in its list.
#[derive(Debug, Clone)]
pub(crate) struct Attention {
    pub(crate) graph: Fused,
    pub(super) query: usize,
    /// The keys, transposed.
    pub(super) key: usize,
    pub(super) value: usize,
    /// What the first product gives.
    pub(super) scores: usize,
    /// The largest of each row of scores.
    pub(super) largest: usize,
    pub(super) result: usize,
    /// The numbers of queries and keys of each batch entry.
    pub(super) lengths: Option<[usize; 2]>,
}

fn require(is_so: bool, status: Status, why: &str) -> Outcome {
    ensure(is_so, status, || format!("no engine recognises attention: {why}"))
}

impl Attention {
    /// Fails if the graph is not attention that cuDNN supports.
    pub(crate) fn of(graph: Fused) -> Outcome<Self> {
        let attention = Self::products(graph)?;
        attention.check_types()?;
        attention.check_sizes()?;
        attention.check_softmax()?;
        attention.check_indices()?;
        attention.check_diagonal()?;
        Ok(attention)
    }

    /// Finds the products and what they are of.
    fn products(graph: Fused) -> Outcome<Self> {
        let [first, between @ .., last] = &graph.operations[..] else {
            return fail(GRAPH_PATTERN, "no engine supports a graph of one operation that is not a convolution");
        };
        let (Action::Matmul { sizes: of_first }, Action::Matmul { sizes: of_last }) = (first.action, last.action)
        else {
            return fail(GRAPH_PATTERN, "no engine recognises attention: a product is not the first or the last");
        };
        let lengths = match (of_first, of_last) {
            ([None, None, None], [None, None, None]) => None,
            ([Some(m), Some(n), None], [Some(same_m), None, Some(k)]) if m == same_m && n == k => Some([m, n]),
            _ => return fail(GRAPH_PATTERN, "no engine recognises attention: the products have different sizes"),
        };
        let ([query, key], [weights, value]) = ([first.inputs[0], first.inputs[1]], [last.inputs[0], last.inputs[1]]);
        let is_in = |at: usize, place: Place| graph.tensors[at].place == place;
        let is_virtual = |operation: &Operation| is_in(operation.to, Place::Virtual);
        require([query, key, value, last.to].into_iter().all(|at| is_in(at, Place::Memory)), GRAPH_PATTERN, {
            "an operand is not in memory"
        })?;
        let uses = |at: usize| graph.operations.iter().flat_map(|o| &o.inputs).filter(|&&input| input == at).count();
        require([query, key, value].into_iter().all(|at| uses(at) == 1), GRAPH_PATTERN, "an operand is used twice")?;
        let is_middle = |o: &Operation| is_virtual(o) && !matches!(o.action, Action::Matmul { .. });
        require(
            is_virtual(first) && is_in(weights, Place::Virtual) && between.iter().all(is_middle),
            GRAPH_PATTERN,
            "between the products are not only operations into virtual tensors",
        )?;
        let largest = between.iter().find(|o| matches!(o.action, Action::Reduce(Reduce::Max)));
        let Some(largest) = largest.map(|o| o.to) else {
            return fail(GRAPH_PATTERN, "no engine recognises attention: it takes no maximum");
        };
        let (scores, result) = (first.to, last.to);
        Ok(Self { query, key, value, scores, largest, result, lengths, graph })
    }

    pub(super) fn tensor(&self, at: usize) -> &Tensor {
        &self.graph.tensors[at]
    }

    fn check_types(&self) -> Outcome {
        let of = |at: usize| self.tensor(at).data_type;
        let data = of(self.query);
        let operations = &self.graph.operations;
        let weights = operations.last().map_or(self.scores, |last| last.inputs[0]);
        require([HALF, BFLOAT16].contains(&data), DATA_TYPE, "operands are neither half nor bfloat16")?;
        let operands = [self.key, self.value, self.result, weights];
        require(operands.into_iter().all(|at| of(at) == data), DATA_TYPE, "operands differ in type")?;
        require(of(self.scores) == FLOAT, DATA_TYPE, "scores are not in single precision")?;
        let is_known = |tensor: &Tensor| match tensor.place {
            Place::Virtual => [HALF, BFLOAT16, FLOAT, INT32, BOOLEAN].contains(&tensor.data_type),
            Place::Host => [HALF, BFLOAT16, FLOAT, INT32].contains(&tensor.data_type),
            Place::Memory => [data, FLOAT, INT32].contains(&tensor.data_type),
        };
        require(self.graph.tensors.iter().all(is_known), DATA_TYPE, "a tensor has a type that it does not take")?;
        let is_computed = |operation: &Operation| match (operation.action, operation.precision) {
            (_, FLOAT) => true,
            (Action::Pointwise { mode, .. }, INT32) => {
                mode == Mode::Index || mode.takes_ints() && operation.inputs.iter().all(|&at| of(at) == INT32)
            }
            (Action::Pointwise { .. }, BOOLEAN) => of(operation.to) == BOOLEAN,
            _ => false,
        };
        require(operations.iter().all(is_computed), DATA_TYPE, "an operation is computed in a type that it cannot be")
    }

    fn check_sizes(&self) -> Outcome {
        let dims = |at: usize| self.tensor(at).dims();
        let [scores, value] = [self.scores, self.value].map(dims);
        let [batch, heads, ..] = scores;
        for (at, head, fastest) in [(self.query, 3, 3), (self.key, 2, 2), (self.value, 3, 3), (self.result, 3, 3)] {
            let (dims, layout) = (dims(at), &self.tensor(at).layout);
            let head = dims[head];
            require(head.is_multiple_of(8) && head <= MOST_HEAD, SHAPE, {
                "heads have more than 256 elements, or not a multiple of 8"
            })?;
            require(layout.strides[fastest] == 1, SHAPE, "a head does not lie in one piece")?;
            require(dims[0] == batch, SHAPE, "an operand has another number of batch entries")?;
        }
        require([self.query, self.result].into_iter().all(|at| dims(at)[1] == heads), SHAPE, {
            "queries and results have different numbers of heads"
        })?;
        require(dims(self.key)[1] == value[1], SHAPE, "keys and values have different numbers of heads")?;
        require(self.tensor(self.result).layout.is_distinct(), SHAPE, "elements of the result overlap")?;
        let operands = [self.query, self.key, self.value, self.result];
        for (at, tensor) in self.graph.tensors.iter().enumerate().filter(|(at, _)| !operands.contains(at)) {
            let is_spread = tensor.dims().into_iter().zip(scores).all(|(n, of_scores)| n == 1 || n == of_scores);
            require(is_spread, SHAPE, "a tensor has other sizes than the scores")?;
            let is_one = tensor.dims() == [1; 4];
            require(tensor.place != Place::Host || is_one, SHAPE, "a tensor by value has several numbers")?;
            let is_length = self.lengths.is_some_and(|lengths| lengths.contains(&at));
            let is_in_memory = tensor.place == Place::Memory;
            require(!is_length || is_in_memory && tensor.dims() == [batch, 1, 1, 1], SHAPE, {
                "sizes of batch entries are not one number each, in memory"
            })?;
        }
        Ok(())
    }

    fn check_indices(&self) -> Outcome {
        let is_outer = |o: &Operation| matches!(o.action, Action::Pointwise { mode: Mode::Index, axis: 0 | 1 });
        let has_outer = self.graph.operations.iter().any(is_outer);
        require(!has_outer, GRAPH_PATTERN, "an index is neither of rows nor of columns")
    }

    /// The weights are exponentials divided by their sum. cuDNN recognises no graph without the
    /// logarithm of the sum, even if nothing reads it.
    fn check_softmax(&self) -> Outcome {
        let operations = &self.graph.operations;
        let count = |by: Reduce| operations.iter().filter(|o| matches!(o.action, Action::Reduce(r) if r == by)).count();
        require(count(Reduce::Max) == 1 && count(Reduce::Add) == 1, GRAPH_PATTERN, "a softmax has two reductions")?;
        let scores = self.tensor(self.scores).dims();
        let rows = [scores[0], scores[1], scores[2], 1];
        let is_of_rows = |o: &Operation| self.tensor(o.inputs[0]).dims() == scores && self.tensor(o.to).dims() == rows;
        let mut reductions = operations.iter().filter(|o| matches!(o.action, Action::Reduce(_)));
        require(reductions.all(is_of_rows), GRAPH_PATTERN, "a reduction is not of the rows of the scores")?;
        let has = |wanted: Mode| {
            operations.iter().any(|o| matches!(o.action, Action::Pointwise { mode, .. } if mode == wanted))
        };
        require(has(Mode::Exp) && has(Mode::Log), GRAPH_PATTERN, "a softmax has an exponential and a logarithm")?;
        let weights = operations.last().map_or(self.scores, |last| last.inputs[0]);
        let is_quotient =
            |o: &Operation| o.to == weights && matches!(o.action, Action::Pointwise { mode: Mode::Div, .. });
        require(operations.iter().any(is_quotient) && self.tensor(weights).dims() == scores, GRAPH_PATTERN, {
            "the weights are not a quotient for each score"
        })
    }

    /// A mask is added only to scores whose diagonal begins at the first key.
    fn check_diagonal(&self) -> Outcome {
        let is_mask = |&at: &usize| {
            let tensor = self.tensor(at);
            tensor.place == Place::Memory && tensor.data_type != INT32
        };
        let adds_mask = |o: &Operation| {
            matches!(o.action, Action::Pointwise { mode: Mode::Add, .. }) && o.inputs.iter().any(is_mask)
        };
        // Only indices are integers that are added.
        let shifts = |o: &Operation| {
            matches!(o.action, Action::Pointwise { mode: Mode::Add | Mode::Sub, .. }) && o.precision == INT32
        };
        let operations = &self.graph.operations;
        require(!(operations.iter().any(adds_mask) && operations.iter().any(shifts)), GRAPH_PATTERN, {
            "a mask with a diagonal that does not begin at the first key"
        })
    }
}
