//! Attention problems: their graphs, their numbers, and their results by the definition, in f64.

use super::graph::{Builder, Tensor, product};
use cudarc::cudnn::sys::{
    cudnnDataType_t as Data, cudnnDataType_t::*, cudnnPointwiseMode_t::*, cudnnReduceTensorOp_t::*,
};
use half::{bf16, f16};

/// The numbers of batch entries and heads.
pub(super) const BATCH: usize = 2;
pub(super) const HEADS: usize = 4;
/// The size of a head in most problems.
pub(super) const HEAD: usize = 8;

/// Attention of `queries` and `keys`.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    pub(super) data: Data,
    pub(super) kv_heads: usize,
    /// The size of a head.
    pub(super) head: usize,
    pub(super) queries: usize,
    pub(super) keys: usize,
    pub(super) softcap: Option<f32>,
    /// The sizes of what is added to the scores.
    pub(super) mask: Option<[usize; 4]>,
    /// The numbers of queries and keys of each batch entry.
    pub(super) lengths: Option<[[i32; BATCH]; 2]>,
    /// Whether queries see no later keys; the last query is at the last key.
    pub(super) is_causal: bool,
    /// How many earlier keys a query sees.
    pub(super) left: Option<usize>,
}

pub(super) fn plain(queries: usize, keys: usize) -> Problem {
    let (data, kv_heads) = (CUDNN_DATA_HALF, HEADS);
    let (softcap, mask, lengths, left) = (None, None, None, None);
    Problem { data, kv_heads, head: HEAD, queries, keys, softcap, mask, lengths, is_causal: false, left }
}

/// A graph, and where the operands' elements are.
pub(super) struct Described {
    pub(super) builder: Builder,
    /// Queries, keys, values, the result, then what there is of a mask and both lengths.
    pub(super) operands: Vec<Tensor>,
}

const SCALE: f32 = 0.75;

/// Returns the strides of a tensor of these sizes whose rows lie beside those of other heads, with
/// a gap after them.
pub(super) fn strides([_, heads, rows, head]: [usize; 4]) -> [usize; 4] {
    let row = heads * head + 4;
    [rows * row, head, row, 1]
}

fn signed<const N: usize>(numbers: [usize; N]) -> [i64; N] {
    numbers.map(|n| n as i64)
}

impl Problem {
    /// Returns the sizes of queries, keys, values and the result.
    pub(super) fn shapes(&self) -> [[usize; 4]; 4] {
        let of = |heads, rows| [BATCH, heads, rows, self.head];
        let (few, many) = (of(self.kv_heads, self.keys), of(HEADS, self.queries));
        [many, few, few, many]
    }

    pub(super) fn describe(&self) -> Described {
        let mut b = Builder::default();
        let [q, k, v, o] = self.shapes();
        let memory = |b: &mut Builder, s: [usize; 4]| b.memory(self.data, signed(s), signed(strides(s)));
        let query = memory(&mut b, q);
        let [s0, s1, row, one] = strides(k);
        let key = b.memory(self.data, signed([k[0], k[1], k[3], k[2]]), signed([s0, s1, one, row]));
        let (value, to) = (memory(&mut b, v), memory(&mut b, o));
        let mut operands = vec![query.clone(), key.clone(), value.clone(), to.clone()];
        let [batch, heads, m, n] = signed([BATCH, HEADS, self.queries, self.keys]);
        let mut scores = b.between(CUDNN_DATA_FLOAT, &[batch, heads, m, n]);
        let mask =
            self.mask.map(|s| b.memory(self.data, signed(s), signed([s[1] * s[2] * s[3], s[2] * s[3], s[3], 1])));
        operands.extend(mask.clone());
        let lengths = self.lengths.map(|_| [0, 1].map(|_| b.memory(CUDNN_DATA_INT32, [batch, 1, 1, 1], [1; 4])));
        operands.extend(lengths.clone().into_iter().flatten());
        let [of_queries, of_keys] = [0, 1].map(|i| lengths.as_ref().map(|both| &both[i]));
        b.push(product([&query, &key], [of_queries, of_keys, None], &scores));
        let scale = b.float(SCALE);
        scores = b.pointwise(CUDNN_POINTWISE_MUL, &[&scores, &scale], CUDNN_DATA_FLOAT);
        if let Some(cap) = self.softcap {
            let cap = b.float(cap);
            scores = b.pointwise(CUDNN_POINTWISE_DIV, &[&scores, &cap], CUDNN_DATA_FLOAT);
            scores = b.pointwise(CUDNN_POINTWISE_TANH_FWD, &[&scores], CUDNN_DATA_FLOAT);
            scores = b.pointwise(CUDNN_POINTWISE_MUL, &[&scores, &cap], CUDNN_DATA_FLOAT);
        }
        if let Some(mask) = &mask {
            scores = b.pointwise(CUDNN_POINTWISE_ADD, &[&scores, mask], CUDNN_DATA_FLOAT);
        }
        if let Some([queries, keys]) = &lengths {
            let [row, column] = [b.index(&scores, 2), b.index(&scores, 3)];
            let row = b.pointwise(CUDNN_POINTWISE_CMP_LT, &[&row, queries], CUDNN_DATA_BOOLEAN);
            let column = b.pointwise(CUDNN_POINTWISE_CMP_LT, &[&column, keys], CUDNN_DATA_BOOLEAN);
            let both = b.pointwise(CUDNN_POINTWISE_LOGICAL_AND, &[&row, &column], CUDNN_DATA_BOOLEAN);
            scores = b.select(&scores, &both);
        }
        scores = self.windowed(&mut b, scores, lengths.as_ref());
        let largest = b.reduce(CUDNN_REDUCE_TENSOR_MAX, &scores);
        let below = b.pointwise(CUDNN_POINTWISE_SUB, &[&scores, &largest], CUDNN_DATA_FLOAT);
        let weights = b.pointwise(CUDNN_POINTWISE_EXP, &[&below], CUDNN_DATA_FLOAT);
        let sum = b.reduce(CUDNN_REDUCE_TENSOR_ADD, &weights);
        let logarithm = b.pointwise(CUDNN_POINTWISE_LOG, &[&sum], CUDNN_DATA_FLOAT);
        b.pointwise(CUDNN_POINTWISE_ADD, &[&largest, &logarithm], CUDNN_DATA_FLOAT);
        let weights = b.pointwise(CUDNN_POINTWISE_DIV, &[&weights, &sum], self.data);
        b.push(product([&weights, &value], [of_queries, None, of_keys], &to));
        Described { builder: b, operands }
    }

    fn windowed(&self, b: &mut Builder, mut scores: Tensor, lengths: Option<&[Tensor; 2]>) -> Tensor {
        let [m, n] = signed([self.queries, self.keys]);
        if self.is_causal {
            let [mut row, column] = [b.index(&scores, 2), b.index(&scores, 3)];
            if lengths.is_some() || m != n {
                let [queries, keys] = lengths.cloned().unwrap_or_else(|| [b.int(m), b.int(n)]);
                row = b.pointwise(CUDNN_POINTWISE_ADD, &[&row, &keys], CUDNN_DATA_INT32);
                row = b.pointwise(CUDNN_POINTWISE_SUB, &[&row, &queries], CUDNN_DATA_INT32);
            }
            let kept = b.pointwise(CUDNN_POINTWISE_CMP_GE, &[&row, &column], CUDNN_DATA_BOOLEAN);
            scores = b.select(&scores, &kept);
        }
        if let Some(left) = self.left {
            let [row, mut column] = [b.index(&scores, 2), b.index(&scores, 3)];
            let width = left as i64 + 1;
            if let Some([queries, keys]) = lengths {
                let width = b.int(width);
                column = b.pointwise(CUDNN_POINTWISE_ADD, &[&column, &width], CUDNN_DATA_INT32);
                column = b.pointwise(CUDNN_POINTWISE_SUB, &[&column, keys], CUDNN_DATA_INT32);
                column = b.pointwise(CUDNN_POINTWISE_ADD, &[&column, queries], CUDNN_DATA_INT32);
            } else {
                let width = b.float((width - n + m) as f32);
                column = b.pointwise(CUDNN_POINTWISE_ADD, &[&column, &width], CUDNN_DATA_FLOAT);
            }
            let kept = b.pointwise(CUDNN_POINTWISE_CMP_GT, &[&column, &row], CUDNN_DATA_BOOLEAN);
            scores = b.select(&scores, &kept);
        }
        scores
    }

    pub(super) fn bits(&self, value: f64) -> u16 {
        if self.data == CUDNN_DATA_HALF { f16::from_f64(value).to_bits() } else { bf16::from_f64(value).to_bits() }
    }

    pub(super) fn value(&self, bits: u16) -> f64 {
        if self.data == CUDNN_DATA_HALF { f16::from_bits(bits).to_f64() } else { bf16::from_bits(bits).to_f64() }
    }

    /// Returns the numbers of queries and keys of a batch entry.
    pub(super) fn lengths_of(&self, entry: usize) -> [usize; 2] {
        self.lengths.map_or([self.queries, self.keys], |both| both.map(|lengths| lengths[entry] as usize))
    }

    /// Returns a row of the result; it has zeros if the query sees no key.
    pub(super) fn row(&self, [entry, head, row]: [usize; 3]) -> [f64; HEAD] {
        let [queries, keys] = self.lengths_of(entry);
        let of_keys = head / (HEADS / self.kv_heads);
        let own = row as isize + keys as isize - queries as isize;
        let is_seen = |key: usize| {
            let distance = own - key as isize;
            (!self.is_causal || distance >= 0) && self.left.is_none_or(|left| distance <= left as isize)
        };
        let score = |key: usize| {
            let product = |i| number(0, [entry, head, row, i]) * number(1, [entry, of_keys, key, i]);
            let mut score = (0..HEAD).map(product).sum::<f64>() * f64::from(SCALE);
            if let Some(cap) = self.softcap.map(f64::from) {
                score = (score / cap).tanh() * cap;
            }
            let index = [entry, head, row, key];
            score + self.mask.map_or(0.0, |sizes| masked(std::array::from_fn(|d| index[d].min(sizes[d] - 1))))
        };
        let seen: Vec<_> = (0..keys).filter(|&key| is_seen(key)).map(|key| (key, score(key).exp())).collect();
        let sum: f64 = seen.iter().map(|(_, weight)| weight).sum();
        std::array::from_fn(|i| {
            let value = |&(key, weight): &(usize, f64)| weight / sum * number(2, [entry, of_keys, key, i]);
            seen.iter().filter(|(_, weight)| *weight > 0.0).map(value).sum()
        })
    }
}

/// Returns an element of the queries, keys or values, exact in every type.
pub(super) fn number(operand: usize, [a, b, c, d]: [usize; 4]) -> f64 {
    let mixed = (a * 53 + b * 29 + c * 17 + d * 7 + operand * 11) * (c + 3 * d + 5) % 31;
    (mixed as f64 - 15.0) / 16.0
}

/// Returns an element of the mask: it hides some keys, and every key of one query.
pub(super) fn masked([a, b, c, d]: [usize; 4]) -> f64 {
    match a + 2 * b + 3 * c + 5 * d {
        sum if c == 2 || sum % 7 == 6 => f64::NEG_INFINITY,
        sum => (sum % 5) as f64 * 0.5 - 1.0,
    }
}
