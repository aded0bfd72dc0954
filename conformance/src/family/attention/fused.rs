//! The bound for vendor numerics, on results of attention as a library's kernel computes it: in
//! f32, block by block of keys, with weights rounded to the dtype, and with flaws.

use super::{attention, exact};
use crate::cells::Cell;
use crate::family::VendorCall;
use crate::schema::Class;
use isobit_hal::{Attention, BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, Layout, Op};

/// Keys that a kernel takes at once.
const BLOCK: usize = 64;

/// Two kernels that libraries may have, and those with a flaw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kernel {
    Plain,
    /// Weights are divided by their sum before they are rounded, and `tanh` is off by 2^-11 of
    /// itself, as that of hardware may be.
    Divided,
    NoScale,
    NoCap,
    NoMask,
    NoLengths,
    NoWindow,
    /// The first query belongs to the first key.
    UpperLeft,
    /// Heads that share keys are not neighbours.
    OtherGroups,
}

/// Returns a number of the dtype and its bits.
fn rounded(dtype: DType, x: f32) -> (f32, u16) {
    match dtype {
        DType::F16 => (half::f16::from_f32(x).to_f32(), half::f16::from_f32(x).to_bits()),
        _ => (half::bf16::from_f32(x).to_f32(), half::bf16::from_f32(x).to_bits()),
    }
}

/// Returns the result of a kernel.
fn fused(op: &Attention, dims: &[Vec<usize>], inputs: &[Vec<f64>], dtype: DType, kernel: Kernel) -> Vec<u8> {
    let (&[batch, heads, m, d], &[_, kv_heads, n, _]) = (&dims[0][..], &dims[1][..]) else { unreachable!() };
    let narrow = |at: usize| -> Vec<f32> { inputs[at].iter().map(|&x| x as f32).collect() };
    let (q, k, v) = (narrow(0), narrow(1), narrow(2));
    let mask = (op.has_mask && kernel != Kernel::NoMask).then(|| narrow(3));
    let scale = if kernel == Kernel::NoScale { 1.0 } else { op.scale_of(d) };
    let mut out = Vec::new();
    for row in 0..batch * heads * m {
        let (b, head, query) = (row / (heads * m), row / m % heads, row % m);
        let given = if op.has_lengths && kernel != Kernel::NoLengths { inputs[inputs.len() - 1][b] } else { n as f64 };
        let length = given.min(n as f64) as usize;
        let kv_head = if kernel == Kernel::OtherGroups { head % kv_heads } else { head / (heads / kv_heads) };
        let first = (b * kv_heads + kv_head) * n;
        let own = query as i128 + if kernel == Kernel::UpperLeft { 0 } else { length as i128 - m as i128 };
        let sees = |key: usize| {
            let (left, right) = (op.window_size_left, op.window_size_right);
            let inside = left.is_none_or(|left| own - left as i128 <= key as i128)
                && right.is_none_or(|right| key as i128 <= own + right as i128);
            key < length && (inside || kernel == Kernel::NoWindow)
        };
        let score = |key: usize| {
            if !sees(key) {
                return f32::NEG_INFINITY;
            }
            let dot = (0..d).fold(0f32, |sum, e| q[row * d + e].mul_add(k[(first + key) * d + e], sum));
            let mut score = dot * scale;
            if let Some(cap) = op.softcap.filter(|_| kernel != Kernel::NoCap) {
                let share = if kernel == Kernel::Divided { 1.0 + 2f32.powi(-11) } else { 1.0 };
                score = cap * (share * (score / cap).tanh());
            }
            score + mask.as_ref().map_or(0.0, |mask| mask[row * n + key])
        };
        let scores: Vec<f32> = (0..n).map(score).collect();
        let exp2 = |x: f32| (x * std::f32::consts::LOG2_E).exp2();
        let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let whole: f32 = scores.iter().map(|s| exp2(s - top)).sum();
        let divided = kernel == Kernel::Divided;
        let (first_most, share) = if divided { (top, 1.0 / whole) } else { (f32::NEG_INFINITY, 1.0) };
        let (mut most, mut sum, mut columns) = (first_most, 0f32, vec![0f32; d]);
        for (at, block) in scores.chunks(BLOCK).enumerate() {
            let next = block.iter().copied().fold(most, f32::max);
            if next == f32::NEG_INFINITY {
                continue;
            }
            let back = exp2(most - next);
            (sum, most) = (sum * back, next);
            columns.iter_mut().for_each(|column| *column *= back);
            for (key, score) in block.iter().enumerate() {
                let weight = exp2(score - most) * share;
                sum += weight;
                let weight = rounded(dtype, weight).0;
                let values = &v[(first + at * BLOCK + key) * d..][..d];
                columns.iter_mut().zip(values).for_each(|(column, value)| *column = weight.mul_add(*value, *column));
            }
        }
        let divisor = if divided || sum == 0.0 { 1.0 } else { sum };
        out.extend(columns.iter().flat_map(|column| rounded(dtype, column / divisor).1.to_ne_bytes()));
    }
    out
}

/// A case of a cell with vendor numerics.
struct Call {
    op: Op,
    dtype: DType,
    dims: Vec<Vec<usize>>,
    inputs: Vec<Vec<f64>>,
}

impl Call {
    fn new(cell: &Cell, index: u64) -> Self {
        let case = crate::generate::case(0, cell, index);
        let inputs = crate::run::exact_inputs(&crate::run::Operands::new(&case, cell));
        let dims = (0..inputs.len()).map(|input| case.operand_dims(cell, input)).collect();
        Self { op: case.op(cell), dtype: cell.dst_dtype(), dims, inputs }
    }

    /// Returns how many elements of a kernel's result are refused.
    fn refused(&self, kernel: Kernel) -> usize {
        let got = fused(attention(&self.op), &self.dims, &self.inputs, self.dtype, kernel);
        self.refused_of(&got)
    }

    fn refused_of(&self, got: &[u8]) -> usize {
        let (input_dims, inputs) = (self.dims.clone(), self.inputs.clone());
        let call = VendorCall { op: &self.op, dtype: self.dtype, input_dims, inputs, got };
        exact::compare(attention(&self.op), &call).differing
    }
}

fn cells() -> impl Iterator<Item = &'static Cell> {
    let is_ours = |cell: &&Cell| cell.operation.op().family() == isobit_hal::Family::Attention;
    Cell::all().iter().filter(is_ours).filter(|cell| cell.class() == Class::Vendor)
}

/// Returns the index of a fixed case, which is the same in all cells.
fn fixed(nth: usize) -> u64 {
    let cell = cells().next().expect("there are cells");
    (0..).filter(|&index| crate::generate::is_fixed(cell, index)).nth(nth).expect("a fixed case")
}

#[test]
fn kernels_of_libraries_are_within_the_bound() {
    for cell in cells() {
        for index in (0..crate::generate::FULL_CASES).chain([fixed(5)]) {
            let call = Call::new(cell, index);
            for kernel in [Kernel::Plain, Kernel::Divided] {
                assert_eq!(call.refused(kernel), 0, "{cell}, case {index}, {kernel:?}");
            }
        }
    }
}

/// The CPU's results are those of other code than the exact ones, and as close as f16 allows where
/// values are of like size.
#[test]
fn portable_results_of_f16_are_within_the_bound() {
    let upload = |values: &[f64]| CpuDevice.storage_from_slice(values).expect("the CPU has memory");
    for cell in cells().filter(|cell| cell.dst_dtype() == DType::F16) {
        for nth in 0..5 {
            let call = Call::new(cell, fixed(nth));
            let layouts: Vec<Layout> = call.dims.iter().map(|dims| Layout::contiguous(&dims[..])).collect();
            let of = |(input, dtype): (&Vec<f64>, _)| upload(input).to_dtype(&Layout::contiguous(input.len()), dtype);
            let inputs = call.inputs.iter().zip(cell.dtypes.iter().copied()).map(of).collect::<Result<Vec<_>, _>>();
            let inputs = inputs.expect("inputs are numbers of their dtypes");
            let operands: Vec<_> = inputs.iter().zip(&layouts).collect();
            let result = CpuStorage::apply(&call.op, &operands).and_then(|result| result.to_vec::<half::f16>());
            let bits = result.expect("the CPU has attention").into_iter().flat_map(half::f16::to_ne_bytes);
            assert_eq!(call.refused_of(&bits.collect::<Vec<_>>()), 0, "{cell}, fixed case {nth}");
        }
    }
}

#[test]
fn flaws_are_beyond_the_bound() {
    for cell in cells() {
        let op = attention(cell.operation.op());
        let flaws = [
            (Kernel::NoScale, 0, true),
            (Kernel::NoCap, 3, true),
            (Kernel::NoMask, 0, op.has_mask),
            (Kernel::NoMask, 2, op.has_mask),
            (Kernel::NoLengths, 4, op.has_lengths),
            (Kernel::NoWindow, 0, true),
            (Kernel::NoWindow, 3, true),
            (Kernel::UpperLeft, 0, true),
            (Kernel::UpperLeft, 1, true),
            (Kernel::OtherGroups, 1, true),
        ];
        for (flaw, nth, has) in flaws {
            let refused = Call::new(cell, fixed(nth)).refused(flaw);
            assert_eq!(refused > 0, has, "{cell}, fixed case {nth}, {flaw:?}: {refused}");
        }
    }
}

/// Two keys whose scores differ by 1: weights of e / (1 + e) and of 1 / (1 + e).
#[test]
fn the_exact_result_is_that_of_the_definition() {
    let weight = 0.731_058_578_630_004_9;
    let tokens = vec![vec![1.0, 0.0, 0.0, 2.0], vec![1.0, 5.0, 0.0, -3.0], vec![4.0, 1.0, 0.0, 1024.0]];
    let call = |op: Attention| Call {
        op: Op::ScaledDotProductAttention(op),
        dims: vec![vec![1, 1, 2, 2]; 3],
        inputs: tokens.clone(),
        dtype: DType::F16,
    };
    let agrees = |op, want: [f64; 4]| {
        let bits = |want: &[f64]| -> Vec<u8> {
            want.iter().flat_map(|&x| half::f16::from_f64(x).to_bits().to_ne_bytes()).collect()
        };
        assert_eq!(call(op).refused_of(&bits(&want)), 0, "{op:?}");
        // 2^-8 of the result is beyond the bound of f16.
        let beyond: Vec<f64> = want.iter().map(|x| x * (1.0 + 1.0 / 256.0)).collect();
        assert!(call(op).refused_of(&bits(&beyond)) >= want.iter().filter(|&&x| x != 0.0).count(), "{op:?}");
    };
    // The second query has scores of 10 and -6: all weight is on the first key.
    let few = (-16f64).exp();
    let [first, second] = [[weight * 4.0, weight + (1.0 - weight) * 1024.0], [4.0, 1.0 + 1023.0 * few]];
    let plain = Attention::new().with_scale(1.0);
    agrees(plain, [first[0], first[1], second[0], second[1]]);
    agrees(plain.causal(), [4.0, 1.0, second[0], second[1]]);
    agrees(plain.with_window(Some(0), None), [first[0], first[1], 0.0, 1024.0]);
    // The scale is 1 / sqrt(2) if none is given.
    let weight_of = |score: f64| 1.0 / (1.0 + (-score).exp());
    let of = |w: f64| [w * 4.0, w + (1.0 - w) * 1024.0];
    let [first, second] = [weight_of(0.5f64.sqrt()), weight_of(16.0 * 0.5f64.sqrt())].map(of);
    agrees(Attention::new(), [first[0], first[1], second[0], second[1]]);
}
