//! Attention against a second implementation of its definition (`docs/numerics/attention.md`), in
//! integers of 128 bits and one element at a time, and against softmax in f64.

use super::block::{rounded, scaled, value, widened};
use super::layouts::scattered;
use super::*;
use isobit_hal::cpu::internals::f32::tanh;
use isobit_hal::{Attention, Dims, Op, Src};

const LOG2_E: f32 = std::f32::consts::LOG2_E;
const INF: f32 = f32::INFINITY;
const DTYPES: [DType; 3] = [DType::F16, DType::BF16, DType::F32];

/// A call. Elements are those of contiguous tensors, widened.
#[derive(Clone)]
struct Case {
    op: Attention,
    dtype: DType,
    /// Batch, heads, heads of keys, queries, keys, and the size of a head.
    sizes: [usize; 6],
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    mask: Option<Vec<f32>>,
    lengths: Option<Vec<u32>>,
}

impl Case {
    /// A call with elements that `fill` gives, rounded to the dtype.
    fn new(op: Attention, dtype: DType, sizes: [usize; 6], mut fill: impl FnMut(usize) -> Vec<f32>) -> Self {
        let [b, h, kv, m, n, d] = sizes;
        let [query, key, value] = [b * h * m * d, b * kv * n * d, b * kv * n * d].map(&mut fill);
        let [query, key, value] = [query, key, value].map(|x| widened(&rounded(&x, dtype)));
        Self { op, dtype, sizes, query, key, value, mask: None, lengths: None }
    }

    /// Shapes of a query, of keys and values, of a mask, and of lengths.
    fn shapes(&self) -> [Vec<usize>; 4] {
        let [b, h, kv, m, n, d] = self.sizes;
        [vec![b, h, m, d], vec![b, kv, n, d], vec![b, h, m, n], vec![b]]
    }

    /// The results of the driver, of contiguous tensors.
    fn run(&self) -> CpuStorage {
        let [ql, kl, ml, ll] = self.shapes().map(Layout::contiguous);
        let [q, k, v] = [&self.query, &self.key, &self.value].map(|x| rounded(x, self.dtype));
        let mask = self.mask.as_ref().map(|mask| rounded(mask, self.dtype));
        let lengths = self.lengths.as_ref().map(|lengths| storage(lengths));
        let mask = mask.as_ref().map(|mask| (mask, &ml));
        let lengths = lengths.as_ref().map(|lengths| (lengths, &ll));
        q.scaled_dot_product_attention(&ql, [(&k, &kl), (&v, &kl)], mask, lengths, self.op).unwrap()
    }

    fn results(&self) -> Vec<f32> {
        widened(&self.run())
    }

    fn length(&self, batch: usize) -> usize {
        let n = self.sizes[4];
        self.lengths.as_ref().map_or(n, |lengths| n.min(lengths[batch] as usize))
    }

    /// Whether a key is in the window of a query.
    fn in_window(&self, batch: usize, query: usize, key: usize) -> bool {
        let length = self.length(batch) as i128;
        let (own, key) = (query as i128 + length - self.sizes[3] as i128, key as i128);
        let left = self.op.window_size_left.is_none_or(|left| own - left as i128 <= key);
        let right = self.op.window_size_right.is_none_or(|right| key <= own + right as i128);
        left && right && key < length
    }

    fn added(&self, batch: usize, head: usize, query: usize, key: usize) -> Option<f32> {
        let [_, h, _, m, n, _] = self.sizes;
        self.mask.as_ref().map(|mask| mask[((batch * h + head) * m + query) * n + key])
    }

    fn query(&self, batch: usize, head: usize, query: usize) -> &[f32] {
        let [_, h, _, m, _, d] = self.sizes;
        &self.query[((batch * h + head) * m + query) * d..][..d]
    }

    /// The key and the value that a head sees at a position.
    fn pair(&self, batch: usize, head: usize, key: usize) -> [&[f32]; 2] {
        let [_, h, kv, _, n, d] = self.sizes;
        let at = ((batch * kv + head / (h / kv)) * n + key) * d;
        [&self.key[at..][..d], &self.value[at..][..d]]
    }

    /// The results as the definition has them, before they are rounded to the dtype.
    fn defined(&self) -> Vec<f32> {
        let [b, h, _, m, _, d] = self.sizes;
        let mut results = vec![0.0; b * h * m * d];
        for (at, results) in results.chunks_mut(m * d).enumerate() {
            let head = Defined::new(self, at / h, at % h);
            results.chunks_mut(d).enumerate().for_each(|(query, results)| head.row(query, results));
        }
        results
    }

    /// Draws storages and layouts for the inputs and a destination. Of its elements, those without
    /// a place in a tensor are NaN.
    fn run_with_layouts(&self, rng: &mut Rng, want: &[f32]) {
        let [q, kv, ml, _] = self.shapes();
        let mut place = |shape: &[usize], elements: &[f32]| {
            let (layout, len) = scattered(rng, shape);
            let mut all = vec![f32::NAN; len];
            layout.strided_index().zip(elements).for_each(|(at, &x)| all[at] = x);
            (rounded(&all, self.dtype), layout)
        };
        let mut inputs = vec![place(&q, &self.query), place(&kv, &self.key), place(&kv, &self.value)];
        if let Some(mask) = &self.mask {
            inputs.push(place(&ml, mask));
        }
        if let Some(lengths) = &self.lengths {
            let spread: Vec<u32> = lengths.iter().flat_map(|&length| [99, length, 98]).collect();
            let layout = Layout::new(lengths.len(), Dims::from_elem(3, 1), 1).unwrap();
            inputs.push((storage(&spread), layout));
        }
        let (mut dst, to) = place(&q, want);
        let whole = canonical(&dst);
        dst.const_set(Scalar::zero(self.dtype), &to).unwrap();
        let op = Op::ScaledDotProductAttention(self.op.with_inputs(self.mask.is_some(), self.lengths.is_some()));
        let inputs: Vec<_> = inputs.iter().map(|(storage, layout)| Src::Storage(storage, layout)).collect();
        CpuStorage::apply_into(&op, &inputs, &mut dst, &to).unwrap();
        assert!(canonical(&dst) == whole, "{:?} of {:?} to {to}", self.op, self.sizes);
    }
}

/// The integers of a segment and their step. Elements from 2^`limit` on count as 0.
fn integers(x: &[f32], digits: u32, limit: i32) -> Segment {
    let x: Vec<f64> = x.iter().map(|&v| if is_special(v, limit) { 0.0 } else { f64::from(v) }).collect();
    let largest = x.iter().fold(0f64, |largest, v| largest.max(v.abs()));
    let most = if digits == 2 { 0x7f7f } else { 0x7f_7f7f };
    let fits = |step: &i32| scaled(largest, -step).round_ties_even() <= f64::from(most);
    let step = if largest == 0.0 { 0 } else { (-100..200).find(fits).unwrap() };
    (x.into_iter().map(|v| scaled(v, -step).round_ties_even() as i128).collect(), step)
}

fn is_special(x: f32, limit: i32) -> bool {
    x.is_nan() || f64::from(x.abs()) >= scaled(1.0, limit)
}

fn products(a: &[i128], b: &[i128]) -> i128 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A power of two that is an f32.
fn power(n: i32) -> f32 {
    scaled(1.0, n) as f32
}

/// 2^x for x from -1/2 to 1/2.
fn power_of(x: f32, digits: u32) -> f32 {
    let coefficients: &[u32] = match digits {
        2 => &[0x3c1c_f9d3, 0x3d64_fda9, 0x3e76_01db, 0x3f31_7099],
        _ => &[0x391b_5aa2, 0x3aaf_213e, 0x3c1d_9983, 0x3d63_5841, 0x3e75_fdf0, 0x3f31_7218],
    };
    let sum = coefficients.iter().fold(0f32, |sum, &next| sum.mul_add(x, f32::from_bits(next)));
    sum.mul_add(x, 1.0)
}

/// Integers of a segment, with their step.
type Segment = (Vec<i128>, i32);

/// What the definition has for one head.
struct Defined<'a> {
    case: &'a Case,
    at: [usize; 2],
    digits: u32,
    /// For each key, its segments; for each block of keys, the segments of the columns of values.
    keys: Vec<Vec<Segment>>,
    columns: Vec<Vec<Segment>>,
}

impl<'a> Defined<'a> {
    fn new(case: &'a Case, batch: usize, head: usize) -> Self {
        let (digits, length) = (if case.dtype == DType::BF16 { 2 } else { 3 }, case.length(batch));
        let key = |key| case.pair(batch, head, key)[0].chunks(128).map(|part| integers(part, digits, 80)).collect();
        let column = |first: usize, c: usize| {
            let keys = first..length.min(first + 128);
            integers(&keys.map(|key| case.pair(batch, head, key)[1][c]).collect::<Vec<_>>(), digits, 120)
        };
        let columns = |first| (0..case.sizes[5]).map(|c| column(first, c)).collect();
        Self {
            case,
            at: [batch, head],
            digits,
            keys: (0..length).map(key).collect(),
            columns: (0..length).step_by(128).map(columns).collect(),
        }
    }

    /// Steps 2 and 3: a score, in powers of two.
    fn score(&self, segments: &[Segment], query: usize, key: usize) -> f32 {
        let (case, [batch, head]) = (self.case, self.at);
        let scale = case.op.scale_of(case.sizes[5]);
        let factor = case.op.softcap.map_or(scale * LOG2_E, |cap| scale / cap);
        let mut x = 0f32;
        for ((q, i), (k, j)) in segments.iter().zip(&self.keys[key]) {
            x = (value(products(q, k)) * power(*i)).mul_add(factor * power(*j), x);
        }
        let t = case.op.softcap.map_or(x, |cap| (cap * LOG2_E) * tanh(x));
        let t = match case.added(batch, head, query, key) {
            None => t,
            Some(f32::NEG_INFINITY) => -INF,
            Some(a) => a.mul_add(LOG2_E, t),
        };
        match t {
            _ if !case.in_window(batch, query, key) => -INF,
            t if t.is_nan() => INF,
            t => t,
        }
    }

    /// Steps 4 to 7.
    fn row(&self, query: usize, results: &mut [f32]) {
        let (case, [batch, head]) = (self.case, self.at);
        let weight_bits = if self.digits == 2 { 14 } else { 22 };
        let line = case.query(batch, head, query);
        let segments: Vec<_> = line.chunks(128).map(|part| integers(part, self.digits, 80)).collect();
        let (mut top, mut sum, mut sums) = (-INF, 0f32, vec![0f32; results.len()]);
        let (mut all_special, mut special) = (false, vec![false; results.len()]);
        for (first, columns) in (0..).step_by(128).zip(&self.columns) {
            let keys: Vec<usize> = (first..self.keys.len().min(first + 128)).collect();
            let t: Vec<f32> = keys.iter().map(|&key| self.score(&segments, query, key)).collect();
            let visible = || keys.iter().zip(&t).filter(|&(_, &t)| t > -INF).map(|(&key, _)| key);
            if visible().next().is_none() {
                continue;
            }
            all_special |= t.contains(&INF) || line.iter().any(|&x| is_special(x, 80));
            for [key, value] in visible().map(|key| case.pair(batch, head, key)) {
                all_special |= key.iter().any(|&x| is_special(x, 80));
                special.iter_mut().zip(value).for_each(|(special, &x)| *special |= is_special(x, 120));
            }
            if all_special {
                break;
            }
            let top_here = t.iter().fold(-INF, |top, &t| top.max(t)).ceil();
            let weight = |&t: &f32| {
                let u = (t - top_here).max(-40.0);
                let n = u.round_ties_even();
                scaled(f64::from(power_of(u - n, self.digits)), n as i32 + weight_bits).round_ties_even() as i128
            };
            let weights: Vec<i128> = t.iter().map(weight).collect();
            let next = top.max(top_here);
            let back = power((top - next).max(-126.0) as i32);
            let unit = power((top_here - next).max(-100.0) as i32);
            let here = weights.iter().sum::<i128>() as f32 * power(-weight_bits);
            sum = here.mul_add(unit, sum * back);
            for (sum, (column, step)) in sums.iter_mut().zip(columns) {
                let here = value(products(&weights, column)) * power(step - weight_bits);
                *sum = here.mul_add(unit, *sum * back);
            }
            top = next;
        }
        for ((result, x), special) in results.iter_mut().zip(sums).zip(special) {
            *result = match top {
                _ if all_special || special => f32::NAN,
                f32::NEG_INFINITY => 0.0,
                _ => (x + 0.0) / sum,
            };
        }
    }
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len())]
}

/// Elements of a kind: of like size, unlike, of any exponent in the middle, tiny, or huge; with a
/// few zeros.
fn elements(rng: &mut Rng, kind: usize, n: usize) -> Vec<f32> {
    let one = |rng: &mut Rng| {
        let x = (rng.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
        let spread = |rng: &mut Rng, low: i32, high: i32| power(low + rng.below((high - low) as usize) as i32);
        match kind {
            _ if rng.below(20) == 0 => 0.0 * x,
            0 | 1 => 2.0 * x,
            2 => x * spread(rng, -12, 3),
            3 => x * spread(rng, -60, 8),
            4 => x * spread(rng, -149, -90),
            _ => x * spread(rng, 70, 81),
        }
    };
    (0..n).map(|_| one(rng)).collect()
}

/// Draws a call with up to `most` queries and keys.
fn draw(rng: &mut Rng, dtype: DType, number: usize) -> Case {
    let (kv, group, b) = (1 + rng.below(2), pick(rng, &[1, 1, 2, 3]), 1 + rng.below(2));
    let m = pick(rng, &[1, 2, 5, 30, 63, 65, 127, 128, 129]);
    let n = pick(rng, &[1, 2, 127, 128, 129, 255, 257, 300]);
    // Large cases have one head.
    let (kv, group, b) = if m * n > 9000 { (1, 1, 1) } else { (kv, group, b) };
    let d = pick(rng, &[1, 31, 64, 128, 129, 256]);
    let mut op = Attention::new();
    let window = |rng: &mut Rng| (rng.below(2) == 0).then(|| pick(rng, &[0, 1, 7, 100, 128, 200, usize::MAX]));
    op = match rng.below(4) {
        0 => op,
        1 => op.causal(),
        _ => op.with_window(window(rng), window(rng)),
    };
    if rng.below(3) == 0 {
        op = op.with_softcap(pick(rng, &[0.5, 3.0, 50.0]));
    }
    if rng.below(2) == 0 {
        op = op.with_scale(pick(rng, &[1.0, -1.0, 0.3, 0.0, 1e-30, 5.0]));
    }
    let kinds = [0, number % 6, rng.below(6)];
    let mut at = 0;
    let mut case = Case::new(op, dtype, [b, kv * group, kv, m, n, d], |count| {
        at += 1;
        // Only the values are huge, because large scores are all one key.
        elements(rng, if at == 3 { kinds[2] } else { kinds[at - 1].min(4) }, count)
    });
    if rng.below(2) == 0 {
        let mut mask = elements(rng, 2, b * kv * group * m * n);
        let hidden = pick(rng, &[2, 10, 1000]);
        mask.iter_mut().for_each(|x| {
            if rng.below(hidden) == 0 {
                *x = -INF;
            }
        });
        case.mask = Some(widened(&rounded(&mask, dtype)));
    }
    if rng.below(2) == 0 {
        case.lengths = Some((0..b).map(|_| pick(rng, &[0, 1, n as u32, n as u32 + 5, rng.0 as u32 % 300])).collect());
    }
    case
}

#[track_caller]
fn assert_defined(case: &Case, what: impl std::fmt::Debug) -> Vec<f32> {
    let want = rounded(&case.defined(), case.dtype);
    let got = case.run();
    if canonical(&got) != canonical(&want) {
        let (got, want) = (widened(&got), widened(&want));
        let differs = |&i: &usize| got[i].to_bits() != want[i].to_bits() && !(got[i].is_nan() && want[i].is_nan());
        let i = (0..got.len()).find(differs).unwrap();
        panic!("{what:?}: {:?}, {:?}, element {i}: {:e}, not {:e}", case.op, case.sizes, got[i], want[i]);
    }
    widened(&want)
}

#[test]
fn attention_is_what_the_definition_says() {
    let mut rng = Rng(90);
    for dtype in DTYPES {
        for number in 0..40 {
            let case = draw(&mut rng, dtype, number);
            let want = assert_defined(&case, (dtype, number));
            if number % 3 == 0 {
                case.run_with_layouts(&mut rng, &want);
            }
        }
    }
}

/// Infinities, NaNs and elements at the limits, which are visible to some of the rows.
#[test]
fn special_elements_are_as_the_definition_says() {
    let mut rng = Rng(91);
    let below = |n: i32| f32::from_bits(power(n).to_bits() - 1);
    let line = [INF, -INF, f32::NAN, power(80), -below(80), below(80)];
    let values = [INF, -INF, f32::NAN, power(120), -power(120), below(120), f32::MAX];
    let masks = [INF, f32::NAN, -INF, f32::MAX, f32::MIN];
    let (mut finite, mut nan) = (0, 0);
    for dtype in DTYPES {
        for number in 0..60 {
            let mut case = draw(&mut rng, dtype, number);
            let mut put = |x: &mut [f32], from: &[f32]| {
                for _ in 0..1 + rng.below(3) {
                    let at = rng.below(x.len());
                    x[at] = pick(&mut rng, from);
                }
            };
            match number % 4 {
                0 => put(&mut case.query, &line),
                1 => put(&mut case.key, &line),
                2 => put(&mut case.value, &values),
                _ => {
                    put(&mut case.value, &values);
                    if let Some(mask) = &mut case.mask {
                        put(mask, &masks);
                    }
                }
            }
            for part in [&mut case.query, &mut case.key, &mut case.value] {
                *part = widened(&rounded(part, dtype));
            }
            case.mask = case.mask.map(|mask| widened(&rounded(&mask, dtype)));
            for x in assert_defined(&case, (dtype, number)) {
                finite += usize::from(x.is_finite());
                nan += usize::from(x.is_nan());
            }
        }
    }
    assert!(finite > 1000 && nan > 1000, "{finite} finite, {nan} NaN");
}

/// Longer sequences than the drawn ones: the running maximum grows, falls, and jumps by more than
/// the limits of its powers.
#[test]
fn maxima_of_blocks_may_be_far_apart() {
    let mut rng = Rng(92);
    for dtype in DTYPES {
        for tops in
            [[0.0, 3.5, 9.0, 1.0], [50.0, 0.0, -60.0, 51.0], [-300.0, 0.0, -90.0, -120.0], [0.0, 200.0, 5.0, 0.0]]
        {
            let mut case =
                Case::new(Attention::new(), dtype, [1, 1, 1, 3, 512, 16], |count| elements(&mut rng, 0, count));
            let mask: Vec<f32> = (0..3 * 512).map(|i| tops[i % 512 / 128]).collect();
            case.mask = Some(mask);
            assert_defined(&case, (dtype, tops));
            // A column with values in one block alone shows what its sums are multiplied by.
            for (at, value) in case.value.iter_mut().enumerate() {
                *value = if at / 16 / 128 == at % 4 { *value + 4.0 } else { 0.0 };
            }
            case.value = widened(&rounded(&case.value, dtype));
            assert_defined(&case, (dtype, tops));
            // Sums that underflow to zeros of either sign, which are +0.
            let tiny: Vec<f32> = case.value.iter().map(|value| -value * power(-100)).collect();
            case.value = widened(&rounded(&tiny, dtype));
            assert_defined(&case, (dtype, tops));
        }
    }
}

/// Factors of scores that are far from 1, but whose products are not.
#[test]
fn scores_of_large_and_small_factors() {
    let mut rng = Rng(98);
    for dtype in [DType::BF16, DType::F32] {
        for (exponent, scale) in [(78, power(-149)), (70, power(-140)), (-30, power(59)), (-95, power(59))] {
            let op = Attention::new().with_scale(scale);
            let mut case = Case::new(op, dtype, [1, 1, 1, 5, 140, 200], |count| elements(&mut rng, 0, count));
            for part in [&mut case.query, &mut case.key] {
                part.iter_mut().for_each(|x| *x *= power(exponent));
            }
            assert_defined(&case, (dtype, exponent));
            case.op = case.op.with_softcap(2.0);
            assert_defined(&case, (dtype, exponent));
        }
    }
}

/// One storage for all heads and batch entries, by layouts that repeat it.
#[test]
fn broadcast_operands_are_as_repeated_ones() {
    let mut rng = Rng(93);
    let [b, h, kv, m, n, d] = [2, 4, 2, 5, 140, 32];
    for dtype in DTYPES {
        let [q, k, v, mask] = [d, n * d, n, n].map(|count| rounded(&elements(&mut rng, 0, count), dtype));
        let broadcast = |of: &[usize], to: [usize; 4]| Layout::contiguous(of).broadcast_as(to).unwrap();
        let ql = broadcast(&[1, 1, 1, d], [b, h, m, d]);
        let (kl, vl) = (broadcast(&[1, 1, n, d], [b, kv, n, d]), broadcast(&[1, 1, n, 1], [b, kv, n, d]));
        let ml = broadcast(&[1, 1, 1, n], [b, h, m, n]);
        let run = |q: &CpuStorage, ql, k: &CpuStorage, kl, v: &CpuStorage, vl, mask: &CpuStorage, ml| {
            q.scaled_dot_product_attention(ql, [(k, kl), (v, vl)], Some((mask, ml)), None, Attention::new().causal())
                .unwrap()
        };
        let got = run(&q, &ql, &k, &kl, &v, &vl, &mask, &ml);
        let [rq, rk, rv, rm] = [(&q, &ql), (&k, &kl), (&v, &vl), (&mask, &ml)].map(|(x, l)| x.try_clone(l).unwrap());
        let [ql, kl, vl, ml] = [&ql, &kl, &vl, &ml].map(|l| Layout::contiguous(l.dims()));
        assert_eq!(canonical(&got), canonical(&run(&rq, &ql, &rk, &kl, &rv, &vl, &rm, &ml)), "{dtype}");
    }
}

/// A row has the same bits in any company of rows, and whatever hides its keys.
#[test]
fn a_row_has_the_same_bits_alone() {
    let mut rng = Rng(94);
    for dtype in DTYPES {
        let sizes @ [_, _, _, m, n, d] = [1, 1, 1, 140, 300, 64];
        let case = Case::new(Attention::new().causal(), dtype, sizes, |count| elements(&mut rng, 0, count));
        let all = case.results();
        for row in [0, 1, 63, 64, 139] {
            let mut one = case.clone();
            one.sizes[3] = 1;
            one.query = case.query[row * d..][..d].to_vec();
            one.mask = Some((0..n).map(|key| if key <= n - m + row { 0.0 } else { -INF }).collect());
            assert_same(&one.results(), &all[row * d..][..d]);
        }
    }
}

/// For each column of a row the exact result, the sum of weight times magnitude, and the bound of
/// `docs/numerics/attention.md`.
fn exact(case: &Case, [batch, head, query]: [usize; 3]) -> Vec<[f64; 3]> {
    let d = case.sizes[5];
    let digits = if case.dtype == DType::BF16 { 2 } else { 3 };
    let (weight_bits, polynomial) = if digits == 2 { (14, -18.3f64) } else { (22, -23.2) };
    let (u, ln2) = (scaled(1.0, -24), std::f64::consts::LN_2);
    let scale = f64::from(case.op.scale_of(d));
    let keys: Vec<usize> = (0..case.length(batch)).filter(|&key| case.in_window(batch, query, key)).collect();
    let q = case.query(batch, head, query);
    // Scores in powers of two, and their errors.
    let scores: Vec<[f64; 2]> = keys
        .iter()
        .map(|&key| {
            let k = case.pair(batch, head, key)[0];
            let sum: f64 = q.iter().zip(k).map(|(&q, &k)| f64::from(q) * f64::from(k)).sum();
            let mut error = 0.0;
            for (q, k) in q.chunks(128).zip(k.chunks(128)) {
                let norm = |x: &[f32]| x.iter().map(|&v| f64::from(v.abs())).sum::<f64>();
                let [i, j] = [q, k].map(|x| scaled(1.0, integers(x, digits, 80).1));
                error += (i * norm(k) + j * norm(q)) / 2.0 + i * j * q.len() as f64 / 4.0;
            }
            let size: f64 = q.iter().zip(k).map(|(&q, &k)| f64::from((q * k).abs())).sum();
            let c = (scale / ln2).abs();
            [sum * scale / ln2, c * (error + 6.0 * u * size)]
        })
        .collect();
    let top = scores.iter().fold(f64::NEG_INFINITY, |top, score| top.max(score[0]));
    let weights: Vec<f64> = scores.iter().map(|score| (score[0] - top).exp2()).collect();
    let total: f64 = weights.iter().sum();
    let values = |c: usize| keys.iter().map(move |&key| f64::from(case.pair(batch, head, key)[1][c]));
    let column = |c: usize| {
        let y: f64 = weights.iter().zip(values(c)).map(|(w, v)| w * v).sum::<f64>() / total;
        let size: f64 = weights.iter().zip(values(c)).map(|(w, v)| w * v.abs()).sum::<f64>() / total;
        let mut bound = 0.0;
        for ((w, v), [t, error]) in weights.iter().zip(values(c)).zip(&scores) {
            let of_weight = ln2 * (error + u * (t - top - 1.0).abs()) + polynomial.exp2();
            // A block's largest weight is more than half of 2^T, and at most the largest of all.
            bound += (w * of_weight + scaled(1.0, -weight_bits)) / total * (v - y).abs();
        }
        for block in (0..case.length(batch)).step_by(128) {
            let rows = block..case.length(batch).min(block + 128);
            let column: Vec<f32> = rows.map(|key| case.pair(batch, head, key)[1][c]).collect();
            let step = scaled(1.0, integers(&column, digits, 120).1);
            let inside = keys.iter().zip(&weights).filter(|(key, _)| (block..block + 128).contains(key));
            bound += step / 2.0 * inside.map(|(_, w)| w + scaled(1.0, -weight_bits)).sum::<f64>() / total;
        }
        let blocks = case.sizes[4].div_ceil(128) as f64;
        [y, size, 1.05 * bound + u * size * (4.0 * blocks + 6.0)]
    };
    (0..d).map(column).collect()
}

/// Every result is within the bound, and the errors are as small as the page says.
#[test]
fn results_are_close_to_softmax() {
    let mut rng = Rng(95);
    let normal = |rng: &mut Rng| (0..12).map(|_| (rng.next() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0;
    let (m, n, d) = (16, 1024, 128);
    // Rms and largest error relative to the sum of p |v|, in 2^-24, before a result is rounded.
    for (dtype, factor, rms, most) in [
        (DType::F32, 1.0, 0.8, 5.0),
        (DType::F32, 8.0, 50.0, 2000.0),
        (DType::BF16, 1.0, 200.0, 1500.0),
        (DType::BF16, 8.0, 9000.0, 500_000.0),
        (DType::F16, 1.0, 0.8, 5.0),
        (DType::F16, 8.0, 50.0, 2000.0),
    ] {
        let mut at = 0;
        let case = Case::new(Attention::new().causal(), dtype, [1, 1, 1, m, n, d], |count| {
            at += 1;
            let by = if at == 1 { factor } else { 1.0 };
            (0..count).map(|_| (by * normal(&mut rng)) as f32).collect()
        });
        let (got, before) = (case.results(), case.defined());
        let (mut squares, mut largest) = (0.0, 0f64);
        for row in 0..m {
            for (c, [y, size, bound]) in exact(&case, [0, 0, row]).into_iter().enumerate() {
                let ulp = match dtype {
                    DType::BF16 => 2f64.powi(-8),
                    DType::F16 => 2f64.powi(-11),
                    _ => 2f64.powi(-24),
                };
                let error = (f64::from(got[row * d + c]) - y).abs();
                let last = ulp * y.abs().max(error);
                assert!(error <= bound + last, "{dtype}, x{factor}, {row}, {c}: {error:e} above {bound:e}");
                let error = (f64::from(before[row * d + c]) - y).abs() / size / 2f64.powi(-24);
                squares += error * error;
                largest = largest.max(error);
            }
        }
        let found = (squares / (m * d) as f64).sqrt();
        assert!(found <= rms && largest <= most, "{dtype}, x{factor}: rms {found}, at most {largest}");
    }
}

fn ones(n: usize) -> Vec<f32> {
    vec![1.0; n]
}

#[test]
fn one_key_gives_its_value_and_equal_scores_the_mean() {
    let mut rng = Rng(96);
    for dtype in DTYPES {
        // The weight of a lone key is no power of two, and the quotient of f32s is rounded twice.
        let one = Case::new(Attention::new(), dtype, [2, 4, 2, 3, 1, 40], |count| elements(&mut rng, 0, count));
        let got = one.results();
        for (row, got) in got.chunks(40).enumerate() {
            let value = one.pair(row / 12, row / 3 % 4, 0)[1];
            for (&got, &want) in got.iter().zip(value) {
                let most = if dtype == DType::F32 { 2.0 * f32::EPSILON * want.abs() } else { 0.0 };
                assert!((got - want).abs() <= most, "{dtype}: {got:e}, not {want:e}");
            }
        }
        for n in [2, 128, 256] {
            let mut at = 0;
            let equal = Case::new(Attention::new(), dtype, [1, 1, 1, 2, n, 3], |count| {
                at += 1;
                if at == 3 { (0..count).map(|i| (i / 3 % 2) as f32).collect() } else { ones(count) }
            });
            assert_same(&equal.results(), &[0.5; 6]);
            let mut zero = equal.clone();
            zero.op = zero.op.with_scale(0.0);
            assert_same(&zero.results(), &[0.5; 6]);
        }
    }
}

/// Two keys of known scores: the weights are 1/4 and 3/4 if their difference is ln 3.
#[test]
fn scale_mask_and_softcap_are_in_the_right_places() {
    let values = |case: &mut Case| case.value = vec![0.0, 1.0];
    let close = |got: f32, want: f64| assert!((f64::from(got) - want).abs() < 1e-6, "{got}, not {want}");
    let mut case = Case::new(Attention::new(), DType::F32, [1, 1, 1, 1, 2, 1], ones);
    values(&mut case);
    case.key = vec![0.0, 3f32.ln()];
    close(case.results()[0], 0.75);
    case.op = case.op.with_scale(-1.0);
    close(case.results()[0], 0.25);
    case.op = case.op.with_scale(2.0);
    close(case.results()[0], 0.9);
    case.op = case.op.with_scale(0.0);
    case.mask = Some(vec![3f32.ln(), 0.0]);
    close(case.results()[0], 0.25);
    // A cap comes before the mask.
    case.op = case.op.with_scale(5.0).with_softcap(2.0);
    let score = 2.0 * (5.0 * 3f64.ln() / 2.0).tanh();
    close(case.results()[0], 1.0 / (1.0 + (3f64.ln() - score).exp()));
    // A head of two elements is divided by the root of 2.
    let mut case = Case::new(Attention::new(), DType::F32, [1, 1, 1, 1, 2, 2], ones);
    case.key = vec![0.0, 0.0, 1.0, 1.0];
    case.value = vec![0.0, 0.0, 1.0, 1.0];
    close(case.results()[1], 1.0 / (1.0 + (-(2f64.sqrt())).exp()));
}

#[test]
fn no_visible_key_gives_zero() {
    for dtype in DTYPES {
        let new = |n| Case::new(Attention::new(), dtype, [2, 2, 1, 3, n, 5], |count| vec![-1.0; count]);
        let positive = |case: &Case| assert!(case.results().iter().all(|x| x.to_bits() == 0), "{:?}", case.op);
        positive(&new(0));
        let mut case = new(4);
        case.lengths = Some(vec![0, 0]);
        positive(&case);
        // Nor do NaNs matter then.
        case.query.fill(f32::NAN);
        positive(&case);
        let mut case = new(4);
        case.mask = Some(vec![-INF; 2 * 2 * 3 * 4]);
        case.key.fill(f32::NAN);
        case.value.fill(INF);
        positive(&case);
        // The first two of six queries are before the first key.
        let mut case = Case::new(Attention::new().causal(), dtype, [1, 1, 1, 6, 4, 1], ones);
        assert_same(&case.results(), &[0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
        case.lengths = Some(vec![1]);
        assert_same(&case.results(), &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        // A window that ends before the first key, and one that begins after the last.
        case.op = Attention::new().with_window(Some(0), Some(0));
        case.lengths = None;
        assert_same(&case.results(), &[0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    }
    // A sum of nothing is +0, also of values that are -0.
    let mut case = Case::new(Attention::new(), DType::F32, [1, 1, 1, 1, 2, 1], ones);
    case.value = vec![-0.0; 2];
    assert_eq!(case.results()[0].to_bits(), 0);
}

/// Ascending values, so that a mean tells the keys.
#[test]
fn windows_are_aligned_to_the_last_key() {
    let run = |op: Attention, [m, n]: [usize; 2], lengths: Option<u32>| {
        let mut case = Case::new(op, DType::F32, [1, 1, 1, m, n, 1], |count| vec![0.0; count]);
        case.value = (0..n).map(|key| key as f32).collect();
        case.lengths = lengths.map(|length| vec![length]);
        case.results()
    };
    let causal = Attention::new().causal();
    assert_eq!(run(causal, [3, 3], None), [0.0, 0.5, 1.0]);
    assert_eq!(run(causal, [2, 5], None), [1.5, 2.0]);
    assert_eq!(run(causal, [1, 5], None), [2.0]);
    assert_eq!(run(causal, [2, 5], Some(3)), [0.5, 1.0]);
    assert_eq!(run(causal, [2, 5], Some(9)), [1.5, 2.0]);
    assert_eq!(run(causal.with_window(Some(1), Some(0)), [3, 5], None), [1.5, 2.5, 3.5]);
    assert_eq!(run(causal.with_window(Some(0), Some(1)), [3, 5], None), [2.5, 3.5, 4.0]);
    // The last key of a block alone, and the first of the next.
    assert_eq!(run(causal.with_window(Some(0), Some(0)), [1, 128], None), [127.0]);
    assert_eq!(run(causal.with_window(Some(0), Some(0)), [1, 129], None), [128.0]);
    assert_eq!(run(causal.with_window(Some(1), Some(0)), [1, 129], None), [127.5]);
    assert_eq!(run(causal.with_window(Some(2), None), [2, 5], None), [2.5, 3.0]);
    assert_eq!(run(causal.with_window(Some(usize::MAX), Some(usize::MAX)), [1, 5], None), [2.0]);
}

/// What follows the length of a batch entry may be anything, and so may what is hidden.
#[test]
fn hidden_elements_do_not_matter() {
    let mut rng = Rng(97);
    for dtype in DTYPES {
        let sizes = [2, 2, 1, 4, 200, 8];
        let mut case = Case::new(Attention::new(), dtype, sizes, |count| elements(&mut rng, 0, count));
        case.lengths = Some(vec![150, 20]);
        let want = case.results();
        for (batch, length) in [150, 20].into_iter().enumerate() {
            let garbage = (batch * 200 + length) * 8..(batch + 1) * 200 * 8;
            case.key[garbage.clone()].fill(f32::NAN);
            case.value[garbage].fill(f32::NAN);
        }
        assert_same(&case.results(), &want);

        // One key, hidden in the rows of head 0, and visible in those of head 1.
        let mut case = Case::new(Attention::new(), dtype, [1, 2, 1, 3, 200, 8], |count| elements(&mut rng, 0, count));
        let mut mask = vec![0.0; 2 * 3 * 200];
        (0..3).for_each(|row| mask[row * 200 + 140] = -INF);
        case.mask = Some(mask);
        let want = case.results();
        let mut keys = case.clone();
        keys.key[140 * 8 + 3] = f32::NAN;
        let got = keys.results();
        assert_same(&got[..24], &want[..24]);
        assert!(got[24..].iter().all(|x| x.is_nan()));
        let mut values = case.clone();
        values.value[140 * 8 + 3] = INF;
        let got = values.results();
        // The other values of the column keep the step of their block, whose element counts as 0.
        let same_column = |i: &usize| i % 8 == 3;
        for i in 0..48 {
            if i >= 24 && same_column(&i) {
                assert!(got[i].is_nan(), "{i}");
            } else if !same_column(&i) {
                assert_eq!(got[i].to_bits(), want[i].to_bits(), "{i}");
            } else {
                assert!((got[i] - want[i]).abs() < 0.02, "{i}: {} and {}", got[i], want[i]);
            }
        }
        // A query that is a NaN concerns its own row.
        let mut query = case.clone();
        query.query[2 * 8] = f32::NAN;
        let got = query.results();
        assert!(got[16..24].iter().all(|x| x.is_nan()));
        assert_same(&got[..16], &want[..16]);
        assert_same(&got[24..], &want[24..]);
    }
}

#[test]
fn a_mask_of_infinity_or_a_nan_makes_its_row_nan() {
    let mut case = Case::new(Attention::new().causal(), DType::F32, [1, 1, 1, 2, 2, 1], ones);
    for bad in [INF, f32::NAN] {
        // Key 1 is not in the window of query 0.
        case.mask = Some(vec![0.0, bad, 0.0, 0.0]);
        assert_same(&case.results(), &[1.0, 1.0]);
        case.mask = Some(vec![0.0, 0.0, 0.0, bad]);
        assert_same(&case.results(), &[1.0, f32::NAN]);
    }
}

#[test]
fn sizes_of_zero_are_no_errors() {
    for sizes in [[0, 2, 1, 3, 4, 5], [2, 0, 0, 3, 4, 5], [2, 2, 1, 0, 4, 5], [2, 2, 1, 3, 4, 0], [2, 0, 3, 1, 1, 1]] {
        let case = Case::new(Attention::new(), DType::F32, sizes, ones);
        assert!(case.run().is_empty(), "{sizes:?}");
    }
}

/// More keys than a call of the literal implementation could do: all weights are equal.
#[test]
fn many_keys() {
    let (n, d) = (20_000, 2);
    let mut case = Case::new(Attention::new(), DType::F32, [1, 1, 1, 1, n, d], ones);
    case.value = (0..n * d).map(|i| (i / d % 2) as f32).collect();
    assert_eq!(case.results(), [0.5, 0.5]);
}
