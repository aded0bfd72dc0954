//! Random numbers: element `i` is number `offset + i` of a seed's sequence, whatever the layout.
//! `docs/numerics/random.md` gives the recipe.

mod marks;
mod normal;
mod philox;
mod uniform;

use super::element::Element;
use super::vector::{Kernel, vectorised};
use super::walk::{Walk, dispatch_size, zeroed};
use super::{CpuStorage, compute::Compute};
use crate::*;
use bytemuck::Zeroable;
use half::{bf16, f16};
use marks::{Combine, Marks, Word};
use normal::Normal;
use philox::{LANES, Words};
use uniform::Uniform;

pub use philox::block;

/// A type in which random numbers are computed.
trait Real: Compute {
    /// Numbers per block of the generator.
    const PER_BLOCK: u64;
    /// The stream of the type within a seed.
    const STREAM: u32;
    /// The lowest and the highest finite value.
    const LOWEST: f64;
    const LARGEST: f64;

    /// Returns the uniform number in `[0, 1)` at index `number` of a block, for one lane.
    fn unit(words: &Words, number: usize, lane: usize) -> Self;

    /// Returns pair `pair` of the standard normal numbers of a block, for one lane.
    fn normal_pair(words: &Words, pair: usize, lane: usize) -> [Self; 2];
}

/// The distribution into which the generator's words are transformed.
trait Distribution: Copy + Sync {
    type Number: bytemuck::Pod;
    /// Numbers per block of the generator.
    const PER_BLOCK: u64;
    /// The stream within a seed.
    const STREAM: u32;

    /// Writes the numbers of one block, for one lane.
    fn numbers(self, words: &Words, lane: usize, out: &mut [Self::Number]);
}

/// A loop that draws numbers into a slice, from number `first` on.
struct Draw<'a, D: Distribution> {
    seed: u64,
    first: u64,
    distribution: D,
    out: &'a mut [D::Number],
}

impl<D: Distribution> Kernel for Draw<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let per_block = D::PER_BLOCK as usize;
        let group = per_block * LANES;
        // The group that holds the first number may begin before it.
        let mut skip = (self.first % group as u64) as usize;
        let mut block = (self.first - skip as u64) / D::PER_BLOCK;
        let (mut numbers, mut done) = ([D::Number::zeroed(); 4 * LANES], 0);
        while done < self.out.len() {
            let words = philox::blocks(self.seed, D::STREAM, block);
            for (lane, numbers) in numbers[..group].chunks_exact_mut(per_block).enumerate() {
                self.distribution.numbers(&words, lane, numbers);
            }
            let n = (group - skip).min(self.out.len() - done);
            self.out[done..done + n].copy_from_slice(&numbers[skip..skip + n]);
            // Numbers are counted modulo 2^64, so blocks are counted modulo 2^64 / PER_BLOCK.
            block = block.wrapping_add(LANES as u64) & (u64::MAX / D::PER_BLOCK);
            (skip, done) = (0, done + n);
        }
    }
}

fn draw<T: Element>(
    seed: u64,
    offset: u64,
    distribution: impl Distribution<Number = T::Compute>,
    dst: &mut CpuStorage,
    layout: &Layout,
) {
    Walk::new([], dst, layout).run(&|blocks| {
        let (mut elements, mut numbers) = (zeroed::<T>(), zeroed::<T::Compute>());
        for block in blocks {
            let first = offset.wrapping_add(block.start() as u64);
            block.target(&mut elements, |out| {
                T::store(out, &mut numbers, |out| vectorised(Draw { seed, first, distribution, out }));
            });
        }
    });
}

/// Calls a function with the Rust type of a dtype that random numbers support.
macro_rules! of_dtype {
    ($dtype:expr, $T:ident => $call:expr) => {
        match $dtype {
            DType::F16 => {
                type $T = f16;
                $call
            }
            DType::BF16 => {
                type $T = bf16;
                $call
            }
            DType::F32 => {
                type $T = f32;
                $call
            }
            DType::F64 => {
                type $T = f64;
                $call
            }
            other => unreachable!("validation rejected {other}"),
        }
    };
}

pub(super) fn uniform(op: &RandUniform, dst: &mut CpuStorage, dl: &Layout) {
    let dtype = dst.dtype();
    let ends = op.ends(dtype);
    of_dtype!(dtype, T => draw::<T>(op.seed, op.offset, Uniform::new(op.lo, op.up, ends), dst, dl));
}

pub(super) fn normal(op: &RandNormal, dst: &mut CpuStorage, dl: &Layout) {
    of_dtype!(dst.dtype(), T => draw::<T>(op.seed, op.offset, Normal::new(op.mean, op.std), dst, dl));
}

/// The bits of a 1 are written whatever their dtype.
pub(super) fn bernoulli(op: &Bernoulli, dst: &mut CpuStorage, dl: &Layout) {
    let one = Scalar::from_f64(dst.dtype(), 1.0).to_bits();
    let (seed, threshold) = (op.seed, op.threshold());
    dispatch_size!(dst.dtype(), T => {
        let distribution = Marks { threshold, one: one as T };
        Walk::new([], dst, dl).run(&|blocks| {
            let mut marks = zeroed::<T>();
            for block in blocks {
                let first = op.offset.wrapping_add(block.start() as u64);
                block.target(&mut marks, |out| vectorised(Draw { seed, first, distribution, out }));
            }
        });
    });
}

pub(super) fn dropout(op: &Dropout, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dl: &Layout) {
    of_dtype!(dst.dtype(), T => keep_some::<T>(op, src, dst, dl));
}

fn keep_some<T: Element>(op: &Dropout, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dl: &Layout)
where
    T::Compute: Real,
{
    let scale = T::Compute::from_parameter(op.scale());
    let kept = Marks { threshold: op.mask().threshold(), one: 1u32 };
    combine::<T, _>(
        [op.seed, op.offset],
        kept,
        src,
        dst,
        dl,
        move |mark, x| {
            if mark == 0 { T::Compute::ZERO } else { x.mul(scale) }
        },
    );
}

pub(super) fn bernoulli_probs(op: &BernoulliProbs, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dl: &Layout) {
    of_dtype!(dst.dtype(), T => choose::<T>(op, src, dst, dl));
}

fn choose<T: Element>(op: &BernoulliProbs, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dl: &Layout)
where
    T::Compute: Real + Into<f64>,
{
    combine::<T, _>([op.seed, op.offset], Word, src, dst, dl, |word, p| {
        let is_below = u64::from(word) < Bernoulli::new(p.into()).threshold();
        if is_below { T::Compute::ONE } else { T::Compute::ZERO }
    });
}

/// Makes each element of a number and the source's element.
fn combine<T: Element, D: Distribution>(
    [seed, offset]: [u64; 2],
    distribution: D,
    src: Src<'_, CpuStorage>,
    dst: &mut CpuStorage,
    dl: &Layout,
    f: impl Fn(D::Number, T::Compute) -> T::Compute + Copy + Sync,
) {
    Walk::new([src], dst, dl).run(&|blocks| {
        let [mut elements, mut results] = [zeroed::<T>(); 2];
        let [mut wide, mut rounded] = [zeroed::<T::Compute>(); 2];
        let mut numbers = zeroed::<D::Number>();
        for block in blocks {
            let numbers = &mut numbers[..block.len()];
            let first = offset.wrapping_add(block.start() as u64);
            vectorised(Draw { seed, first, distribution, out: numbers });
            let x = T::load(block.source(0, &mut elements), &mut wide);
            block.target(&mut results, |out| {
                T::store(out, &mut rounded, |out| vectorised(Combine { numbers, x, f, out }));
            });
        }
    });
}
