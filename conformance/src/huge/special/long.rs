//! Sequences as long as the tensor. The expected results come from the rules of `docs/numerics.md`,
//! applied by the CPU to the few different segments of a repeated pattern, or from values for which
//! every order of the sums is exact.

use crate::case::{Dist, Values};
use crate::compare::compare_bits;
use crate::huge::Done;
use crate::huge::bench::{Bench, Repeat, agree};
use crate::huge::tiled::{TILE, integer_at, whole};
use crate::run::pack;
use crate::runtime_tests::case::ensure;
use crate::schema::Class;
use isobit_hal::{
    BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, Layout, Matmul, Numerics, Op, Reduce, ReduceOp,
    Result, Sort,
};

/// The elements of a segment of a reduction; see section 8 of `docs/numerics.md`.
const SEGMENT: usize = 65_536;
/// The segments of the pattern. The number is odd, so the pattern does not repeat at 2^32.
const SEGMENTS: usize = 7;

fn drawn(dtype: DType, dist: Dist, count: usize) -> Vec<u8> {
    pack(dtype, &Values::Drawn { dist, seed: 5 }.bits(dtype, count))
}

/// Reduces all elements of a layout to one.
fn reduced<S: BackendStorage>(op: ReduceOp, src: &S, layout: &Layout) -> Result<S> {
    S::apply(&Op::Reduce(Reduce::new(op, &[0])), &[(src, layout)])
}

/// Returns the bytes of the reduction of a sequence of `n` elements that repeats a pattern of whole
/// segments: each different segment is reduced once, and then the sequence of their values.
fn expected_reduction(op: ReduceOp, dtype: DType, pattern: &[u8], n: usize) -> Result<Vec<u8>> {
    // The values of segments stay in the compute type.
    let compute = dtype.compute();
    let stored = CpuDevice.storage_from_bytes(dtype, pattern)?;
    let count = stored.len();
    let wide = stored.to_dtype(&Layout::contiguous(count), compute)?;
    let value = |start: usize, len: usize| -> Result<Vec<u8>> {
        let segment = Layout::contiguous_with_offset(len, start % count);
        Ok(reduced(op, &wide, &segment)?.to_cpu_storage()?.as_bytes().to_vec())
    };
    let cycle = (0..count / SEGMENT).map(|s| value(s * SEGMENT, SEGMENT)).collect::<Result<Vec<_>>>()?;
    let mut values: Vec<u8> = (0..n / SEGMENT).flat_map(|s| cycle[s % cycle.len()].clone()).collect();
    if !n.is_multiple_of(SEGMENT) {
        values.extend(value(n / SEGMENT * SEGMENT, n % SEGMENT)?);
    }
    let values = CpuDevice.storage_from_bytes(compute, &values)?;
    let result: CpuStorage = reduced(op, &values, &Layout::contiguous(values.len()))?;
    Ok(result.to_dtype(&Layout::contiguous(1), dtype)?.as_bytes().to_vec())
}

pub(super) fn reduce_all<D: BackendDevice>(bench: &Bench<'_, D>, class: Class, op: ReduceOp, dtype: DType) -> Done {
    let n = bench.sizes.beyond_32() + 12_345;
    let period = SEGMENTS * SEGMENT;
    let dist = match op {
        // Odd factors, so that no product is 0.
        ReduceOp::Prod => Dist::Uniform { scale: 5 },
        ReduceOp::Min | ReduceOp::Max => Dist::Integers { bits: 5 },
        _ if dtype.is_float() => Dist::Uniform { scale: 2 },
        _ => Dist::Uniform { scale: 7 },
    };
    let mut pattern = drawn(dtype, dist, period);
    if op == ReduceOp::Prod {
        pattern.iter_mut().step_by(dtype.size_in_bytes()).for_each(|low| *low |= 1);
    }
    let expected = expected_reduction(op, dtype, &pattern, n)?;
    let mut huge = bench.repeated(dtype, &pattern, Repeat::whole(period, n.div_ceil(period)))?;
    let got = reduced(op, &huge, &Layout::contiguous(n))?.to_cpu_storage()?;
    agree("the reduction of all elements", 0, &compare_bits(class, dtype, &expected, got.as_bytes()))?;
    // The extremes of a pattern are everywhere, so one more is put where only a far offset reaches.
    let extreme = match op {
        ReduceOp::Min => whole(dtype, &[-100]),
        ReduceOp::Max => whole(dtype, &[100]),
        _ => return Ok(()),
    };
    huge.write_bytes((n - 3) * dtype.size_in_bytes(), &extreme)?;
    let got = reduced(op, &huge, &Layout::contiguous(n))?.to_cpu_storage()?;
    agree("the extreme near the end", 0, &compare_bits(class, dtype, &extreme, got.as_bytes()))
}

pub(super) fn position<D: BackendDevice>(bench: &Bench<'_, D>, op: ReduceOp, dtype: DType) -> Done {
    // A position is a u32, so the sequence stays below 2^32.
    let n = bench.sizes.limit() - bench.sizes.limit() / 64 - 1;
    let tile = drawn(dtype, Dist::Integers { bits: 5 }, TILE);
    let mut huge = bench.repeated(dtype, &tile, Repeat::whole(TILE, n.div_ceil(TILE)))?;
    let extreme = whole(dtype, &[if op == ReduceOp::ArgMax { 100 } else { -100 }]);
    let size = dtype.size_in_bytes();
    let find = |huge: &D::Storage| -> Done<u32> {
        Ok(reduced(op, huge, &Layout::contiguous(n))?.to_vec::<u32>()?.first().copied().unwrap_or(0))
    };
    // From the end to the start: each planted value is found before those behind it.
    for at in [n - 1, n - n / 5, n / 2 + 1, n / 2 - 1, 77] {
        huge.write_bytes(at * size, &extreme)?;
        let found = find(&huge)?;
        ensure!(found as usize == at, "{op} of {n} elements is {found}, but the element was put at {at}");
    }
    Ok(())
}

/// A row of which two thirds are 0 and the others -infinity: the sum of the powers is the number of
/// zeros, a multiple of 256 in each segment, and thus exact in any order.
pub(super) fn softmax<D: BackendDevice>(bench: &Bench<'_, D>, dtype: DType) -> Done {
    let period = 3 * 256;
    let tiles = bench.sizes.beyond_32().div_ceil(period);
    let n = tiles * period;
    let of = |zero: f32, other: f32| {
        let values: Vec<f32> = (0..period).map(|i| if i / 256 == 1 { other } else { zero }).collect();
        let stored = CpuDevice.storage_from_slice(&values)?;
        Ok::<_, isobit_hal::Error>(stored.to_dtype(&Layout::contiguous(period), dtype)?.as_bytes().to_vec())
    };
    let huge = bench.repeated(dtype, &of(0.0, f32::NEG_INFINITY)?, Repeat::whole(period, tiles))?;
    let expected = of(1.0 / (n / 3 * 2) as f32, 0.0)?;
    let got = D::Storage::apply(&Op::Softmax, &[(&huge, &Layout::contiguous(n))])?;
    drop(huge);
    bench.compare("the softmax of one row", Class::Defined, &got, 0, &expected, Repeat::whole(period, tiles))
}

/// A product over a huge k of small integers: the sum over a tile is 1, so the result is the number
/// of tiles, and all partial sums are exact.
pub(super) fn product<D: BackendDevice>(bench: &Bench<'_, D>, dtype: DType, numerics: Numerics) -> Done {
    let tiles = bench.sizes.beyond_31().div_ceil(TILE);
    let k = tiles * TILE;
    let draw = |seed| -> Vec<i64> {
        let bits = Values::Drawn { dist: Dist::Integers { bits: 2 }, seed }.bits(DType::I64, TILE);
        bits.into_iter().map(|b| b as i64).collect()
    };
    let (mut left, mut right) = (draw(1), draw(2));
    (left[TILE - 1], right[TILE - 1]) = (1, 0);
    right[TILE - 1] = 1 - left.iter().zip(&right).map(|(a, b)| a * b).sum::<i64>();
    let repeat = Repeat::whole(TILE, tiles);
    let lhs = bench.repeated(dtype, &whole(dtype, &left), repeat)?;
    let rhs = bench.repeated(dtype, &whole(dtype, &right), repeat)?;
    let (row, column) = (Layout::contiguous((1, k)), Layout::contiguous((k, 1)));
    let op = Op::Matmul(Matmul::with_numerics(numerics));
    let got = D::Storage::apply(&op, &[(&lhs, &row), (&rhs, &column)])?.to_cpu_storage()?;
    let got = integer_at(dtype, got.as_bytes(), 0);
    ensure!(got == tiles as i64, "the product over {k} elements is {got}, and not {tiles}");
    Ok(())
}

/// A row of bytes: the sorted row consists of 256 runs, whose lengths are known.
pub(super) fn sort<D: BackendDevice>(bench: &Bench<'_, D>) -> Done {
    let tiles = bench.sizes.beyond_32().div_ceil(TILE);
    let tile = drawn(DType::U8, Dist::Uniform { scale: 7 }, TILE);
    let huge = bench.repeated(DType::U8, &tile, Repeat::whole(TILE, tiles))?;
    let got = D::Storage::apply(&Op::Sort(Sort::ascending()), &[(&huge, &Layout::contiguous(tiles * TILE))])?;
    drop(huge);
    let mut at = 0;
    for value in 0..=u8::MAX {
        let run = tile.iter().filter(|&&b| b == value).count() * tiles;
        if run > 0 {
            let what = format!("the run of {value} in the sorted row");
            bench.compare(&what, Class::Moved, &got, at, &[value], Repeat::whole(1, run))?;
        }
        at += run;
    }
    Ok(())
}
