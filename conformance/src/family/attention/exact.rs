//! Attention in f64, with a bound on the error of a library that computes it in one pass over the
//! keys. `docs/numerics/attention.md`, section 7, derives the bound.

use crate::case::power_of_two;
use crate::compare::{Bounded, Comparison, gamma};
use crate::family::VendorCall;
use isobit_hal::{Attention, DType};

/// The unit roundoff of f32.
const U: f64 = 1.0 / (1u32 << 24) as f64;

/// A key that a query sees.
struct Visible {
    key: usize,
    /// Its score in units of e, with soft-cap and mask.
    score: f64,
    /// The bound on the error of the score.
    off: f64,
}

/// The operands of a call, as exact values in logical order.
struct Operands<'a> {
    op: &'a Attention,
    /// Batch, heads of keys, heads that share one, queries, keys, and elements of a head.
    shape: [usize; 6],
    tokens: [&'a [f64]; 3],
    mask: Option<&'a [f64]>,
    lengths: Option<&'a [f64]>,
}

/// Compares a library's result with the exact one. Queries, keys and values must be finite, and so
/// must a mask, but for elements of minus infinity.
pub(super) fn compare(op: &Attention, call: &VendorCall<'_>) -> Comparison {
    let (&[batch, heads, m, d], &[_, kv_heads, n, _]) = (&call.input_dims[0][..], &call.input_dims[1][..]) else {
        unreachable!("queries and keys have four dimensions")
    };
    let input = |at: usize| &call.inputs[at][..];
    let on = Operands {
        op,
        shape: [batch, kv_heads, heads / kv_heads.max(1), m, n, d],
        tokens: [input(0), input(1), input(2)],
        mask: op.has_mask.then(|| input(3)),
        lengths: op.has_lengths.then(|| input(call.inputs.len() - 1)),
    };
    let mut compared = Bounded::new(call.dtype, call.got);
    for (b, head) in (0..batch).flat_map(|b| (0..heads).map(move |head| (b, head))) {
        for query in 0..m {
            on.compare_row([b, head, query], call.dtype, &mut compared);
        }
    }
    compared.finish()
}

impl Operands<'_> {
    /// Returns the first element of the keys and of the values that a head sees.
    fn keys_at(&self, [b, head, _]: [usize; 3]) -> usize {
        let [_, kv_heads, group, _, n, d] = self.shape;
        (b * kv_heads + head / group) * n * d
    }

    fn visible(&self, row @ [b, head, query]: [usize; 3]) -> Vec<Visible> {
        let [_, kv_heads, group, m, n, d] = self.shape;
        let op = self.op;
        let length = self.lengths.map_or(n, |lengths| lengths[b].min(n as f64) as usize);
        // A side of a window may be as large as a size can be.
        let own = query as i128 + length as i128 - m as i128;
        let in_window = |key: &usize| {
            let from_own = *key as i128 - own;
            op.window_size_left.is_none_or(|left| -from_own <= left as i128)
                && op.window_size_right.is_none_or(|right| from_own <= right as i128)
        };
        let at = (b * kv_heads * group + head) * m + query;
        let q = &self.tokens[0][at * d..][..d];
        let scale = f64::from(op.scale_of(d));
        let score = |key: usize| {
            let summand = self.mask.map_or(0.0, |mask| mask[at * n + key]);
            let k = &self.tokens[1][self.keys_at(row) + key * d..][..d];
            let products = || q.iter().zip(k).map(|(q, k)| q * k);
            let (mut score, magnitudes) = (scale * products().sum::<f64>(), products().map(f64::abs).sum::<f64>());
            let mut off = gamma(2 * d + 8, U) * scale.abs() * magnitudes + 4.0 * U * summand.abs();
            if let Some(cap) = op.softcap.map(f64::from) {
                score = cap * libm::tanh(score / cap);
                off += power_of_two(-10) * score.abs() + power_of_two(-20) * cap;
            }
            Visible { key, score: score + summand, off }
        };
        let mut seen: Vec<_> = (0..length).filter(in_window).map(score).collect();
        // What the mask hides.
        seen.retain(|of| of.score != f64::NEG_INFINITY);
        let most = seen.iter().map(|of| of.score).fold(f64::NEG_INFINITY, f64::max);
        for of in &mut seen {
            of.off += 8.0 * U * of.score.abs().max(most.abs()) + power_of_two(-21) * (1 + n.div_ceil(64)) as f64;
            of.score -= most;
        }
        seen
    }

    fn compare_row(&self, row: [usize; 3], dtype: DType, compared: &mut Bounded<'_>) {
        let d = self.shape[5];
        let seen = self.visible(row);
        if seen.is_empty() {
            return (0..d).for_each(|_| compared.is(0.0));
        }
        let (round, least) = match dtype {
            DType::F16 => (power_of_two(-11), power_of_two(-25)),
            _ => (power_of_two(-8), power_of_two(-126)),
        };
        let sums = gamma(2 * seen.len() + 8, U);
        let weights: Vec<[f64; 3]> = seen.iter().map(weight).collect();
        let [total, lowest] = [0, 2].map(|of| weights.iter().map(|w| w[of]).sum::<f64>());
        for column in 0..d {
            let values = || seen.iter().map(|of| self.tokens[2][self.keys_at(row) + of.key * d + column]);
            let y = values().zip(&weights).map(|(v, w)| w[0] * v).sum::<f64>() / total;
            let (mut off, mut away, mut largest, mut flushed) = (0.0, 0f64, y.abs(), 0.0);
            for ((v, of), &[weight, high, _]) in values().zip(&seen).zip(&weights) {
                let from = (v - y).abs();
                // Where the error is small, the difference of both weights would lose its bits.
                let moved = if of.off < 1.0 { weight * libm::expm1(of.off) } else { high - weight };
                off += moved * from + high * (round * v.abs().max(from) + sums * (v.abs() + y.abs()));
                away = away.max(from);
                largest = largest.max(v.abs());
                flushed += least * (v.abs() + y.abs());
            }
            // Errors beyond all bounds give infinities here, or a NaN, which `min` ignores.
            let bound = (off / lowest).min(away + 2.0 * (round + sums) * largest) + flushed;
            compared.near(y, 1.01 * bound, true);
        }
    }
}

/// Returns the weight of a key relative to the largest of its row, and the largest and the smallest
/// that it may get.
fn weight(of: &Visible) -> [f64; 3] {
    [of.score, of.score + of.off, of.score - of.off].map(libm::exp)
}
