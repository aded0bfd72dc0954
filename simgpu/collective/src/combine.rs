//! Sums, products, maxima, minima and averages over ranks.

use crate::number::{DataType, Element, Op};
use half::{bf16, f16};
use isobit_simgpu_math::number::{F8E4M3, F8E5M2};

/// Combines the elements of all ranks, which have the same number. Of the element at an index, that
/// of the rank `first` is taken, then those of the ranks behind it, around the ring.
pub(crate) fn fold(ty: DataType, op: Op, inputs: &[Vec<u8>], first: impl Fn(usize) -> usize) -> Vec<u8> {
    match ty {
        DataType::I8 => of_type::<i8>(ty, op, inputs, first),
        DataType::U8 => of_type::<u8>(ty, op, inputs, first),
        DataType::I32 => of_type::<i32>(ty, op, inputs, first),
        DataType::U32 => of_type::<u32>(ty, op, inputs, first),
        DataType::I64 => of_type::<i64>(ty, op, inputs, first),
        DataType::U64 => of_type::<u64>(ty, op, inputs, first),
        DataType::F16 => of_type::<f16>(ty, op, inputs, first),
        DataType::F32 => of_type::<f32>(ty, op, inputs, first),
        DataType::F64 => of_type::<f64>(ty, op, inputs, first),
        DataType::Bf16 => of_type::<bf16>(ty, op, inputs, first),
        DataType::F8e4m3 => of_type::<F8E4M3>(ty, op, inputs, first),
        DataType::F8e5m2 => of_type::<F8E5M2>(ty, op, inputs, first),
    }
}

fn of_type<T: Element>(ty: DataType, op: Op, inputs: &[Vec<u8>], first: impl Fn(usize) -> usize) -> Vec<u8> {
    let ranks = inputs.len();
    let combine: fn(T, T) -> T = match op {
        Op::Sum | Op::Avg => T::sum,
        Op::Prod => T::prod,
        Op::Max => T::max,
        Op::Min => T::min,
    };
    let mut output = vec![0; inputs.first().map_or(0, Vec::len)];
    for (index, to) in output.chunks_exact_mut(ty.bytes()).enumerate() {
        let start = first(index);
        let at = index * ty.bytes()..(index + 1) * ty.bytes();
        let ring = (0..ranks).map(|step| T::read(&inputs[(start + step) % ranks][at.clone()]));
        let result = if op == Op::Avg {
            ring.map(|element| element.share(ranks)).reduce(combine).map(|sum| sum.average(ranks))
        } else {
            ring.reduce(combine)
        };
        if let Some(result) = result {
            result.write(to);
        }
    }
    output
}
