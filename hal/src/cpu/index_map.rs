//! Operations that move elements by a map of their indices: flips, rolls, padding, repetition and
//! concatenation. Along each dimension the result consists of runs of neighbours of the source,
//! which go forward, go backward or stand still, and of runs of a constant.

use super::CpuStorage;
use super::copy::copy;
use super::walk::{Walk, dispatch_size, zeroed};
use crate::{Concat, Flip, Layout, Pad, PadMode, Repeat, Result, Roll, Src};

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// Results that follow each other along a dimension.
#[derive(Clone, Copy)]
struct Run {
    /// The source's index of the first; `None` for the constant.
    from: Option<usize>,
    /// From the source's index of one to that of the next.
    step: isize,
    len: usize,
}

impl Run {
    fn new(from: usize, step: isize, len: usize) -> Self {
        Self { from: Some(from), step, len }
    }

    /// Returns the run without its first elements.
    fn after(self, skipped: usize) -> Self {
        let from = self.from.map(|from| from.wrapping_add_signed(self.step.wrapping_mul(skipped as isize)));
        Self { from, len: self.len - skipped, ..self }
    }
}

/// Gives, for an index of the result along a dimension, the run that begins there.
type Map = Box<dyn Fn(usize) -> Run + Sync>;

/// Returns the map of a dimension that consists of a few runs.
fn of_runs<const N: usize>(runs: [Run; N]) -> Map {
    Box::new(move |mut index| {
        for run in runs {
            if index < run.len {
                return run.after(index);
            }
            index -= run.len;
        }
        unreachable!("the runs have as many elements as the dimension")
    })
}

fn unchanged(size: usize) -> Map {
    of_runs([Run::new(0, 1, size)])
}

/// Moves the elements of a validated call; `maps` has one map for each dimension of the
/// destination, and `stride` the source's stride along it.
fn moved(
    maps: &[Map],
    constant: u64,
    (src, start, stride): (&CpuStorage, usize, &[usize]),
    dst: &mut CpuStorage,
    dl: &Layout,
) {
    let Some((columns_of, outer)) = maps.split_last() else {
        let (from, to) = (Layout::contiguous_with_offset((), start), dl);
        return copy(Src::Storage(src, &from), dst, to);
    };
    let (rows, columns) = (&dl.dims()[..outer.len()], dl.dims()[outer.len()]);
    let along = stride[outer.len()];
    dispatch_size!(dst.dtype(), T => {
        let source: &[T] = bytemuck::cast_slice(src.as_bytes());
        let constant = constant as T;
        Walk::new([], dst, dl).run(&|blocks| {
            let mut scattered = zeroed::<T>();
            for block in blocks {
                block.target(&mut scattered, |mut out| {
                    let mut index = block.start();
                    // A turn writes what the block has of one run of one row.
                    while !out.is_empty() {
                        let (mut row, column) = (index / columns, index % columns);
                        let mut first = Some(start);
                        for (d, map) in outer.iter().enumerate().rev() {
                            let from = map(row % rows[d]).from;
                            first = first.zip(from).map(|(at, from)| at + from * stride[d]);
                            row /= rows[d];
                        }
                        let run = columns_of(column);
                        let n = run.len.min(out.len());
                        let (now, later) = std::mem::take(&mut out).split_at_mut(n);
                        match first.zip(run.from).map(|(at, from)| at + from * along) {
                            None => now.fill(constant),
                            Some(at) if run.step == 1 && along == 1 => now.copy_from_slice(&source[at..at + n]),
                            Some(mut at) => {
                                let step = run.step.wrapping_mul(along as isize);
                                for element in now {
                                    *element = source[at];
                                    at = at.wrapping_add_signed(step);
                                }
                            }
                        }
                        out = later;
                        index += n;
                    }
                });
            }
        });
    });
}

pub(super) fn flip(op: &Flip, (src, l): Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    let map = |(d, &size): (usize, &usize)| match op.dims.contains(&d) {
        true => of_runs([Run::new(size.wrapping_sub(1), -1, size)]),
        false => unchanged(size),
    };
    let maps: Vec<Map> = l.dims().iter().enumerate().map(map).collect();
    moved(&maps, 0, (src, l.start_offset(), l.stride()), dst, dl);
}

pub(super) fn roll(op: &Roll, (src, l): Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    let map = |(d, &size): (usize, &usize)| {
        // The shifts of a dimension that is named twice may add up to more than an isize.
        let named = op.dims.iter().zip(&op.shifts).filter(|&(&named, _)| named == d);
        let shift = named.map(|(_, &shift)| shift as i128).sum::<i128>();
        let shift = shift.rem_euclid(size.max(1) as i128) as usize;
        of_runs([Run::new(size - shift, 1, shift), Run::new(0, 1, size - shift)])
    };
    let maps: Vec<Map> = l.dims().iter().enumerate().map(map).collect();
    moved(&maps, 0, (src, l.start_offset(), l.stride()), dst, dl);
}

pub(super) fn pad(op: &Pad, (src, l): Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    let map = |(d, &size): (usize, &usize)| {
        let kept = op.kept(d, size).expect("validated to crop no more than there is");
        let [before, after] = [op.before[d], op.after[d]].map(|amount| usize::try_from(amount).unwrap_or(0));
        let inside = Run::new(kept.start, 1, kept.len());
        // If nothing is added on a side, its run has no elements, and may begin anywhere.
        let (first, last) = match op.mode {
            PadMode::Constant(_) => (Run { from: None, step: 0, len: before }, Run { from: None, step: 0, len: after }),
            PadMode::Reflect => {
                (Run::new(kept.start + before, -1, before), Run::new(kept.end.wrapping_sub(2), -1, after))
            }
            PadMode::Replicate => (Run::new(kept.start, 0, before), Run::new(kept.end.wrapping_sub(1), 0, after)),
            PadMode::Circular => (Run::new(kept.end.wrapping_sub(before), 1, before), Run::new(kept.start, 1, after)),
        };
        of_runs([first, inside, last])
    };
    let maps: Vec<Map> = l.dims().iter().enumerate().map(map).collect();
    let constant = if let PadMode::Constant(value) = op.mode { value.to_bits() } else { 0 };
    moved(&maps, constant, (src, l.start_offset(), l.stride()), dst, dl);
}

pub(super) fn repeat(op: &Repeat, (src, l): Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    let new = op.repeats.len() - l.dims().len();
    let map = |size: usize| -> Map {
        Box::new(move |index| {
            let from = index % size;
            Run::new(from, 1, size - from)
        })
    };
    let sizes = std::iter::repeat_n(1, new).chain(l.dims().iter().copied());
    let stride: Vec<usize> = std::iter::repeat_n(0, new).chain(l.stride().iter().copied()).collect();
    let maps: Vec<Map> = sizes.map(map).collect();
    moved(&maps, 0, (src, l.start_offset(), &stride), dst, dl);
}

/// Copies each input to its part of the destination.
///
/// # Errors
/// Those of [`Layout::narrow`], which a validated call does not have.
pub(super) fn concat<'a>(
    op: Concat,
    stored: impl Fn(usize) -> Input<'a>,
    dst: &mut CpuStorage,
    dl: &Layout,
) -> Result<()> {
    let mut start = 0;
    for (src, l) in (0..op.inputs).map(stored) {
        let size = l.dims()[op.dim];
        copy(Src::Storage(src, l), dst, &dl.narrow(op.dim, start, size)?);
        start += size;
    }
    Ok(())
}
