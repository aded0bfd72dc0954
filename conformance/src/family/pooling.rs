//! Pooling: windows that overlap, leave gaps or cover everything, with every extreme of the
//! padding, with dilation, and with a last window that reaches beyond the padding; and windows that
//! share a dimension between them, more of them than it has elements too.

use super::{Family, Named, layouts, of_positions};
use crate::case::{Dist, Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, values};
use isobit_hal::{AdaptivePool, DType, LpPool, Op, Pool1d, Pool2d, Pool3d, PoolBackward};

pub(super) struct PoolFamily;

/// The parameters of one dimension.
#[derive(Clone, Copy)]
struct Windows {
    size: usize,
    kernel: usize,
    stride: usize,
    dilation: usize,
    padding: usize,
    padding_after: usize,
}

macro_rules! pool {
    ($type:ident, $params:expr) => {{
        let kernel = $params.sizes("kernel").unwrap_or([2; _]);
        let padding = $params.sizes("padding").unwrap_or([0; _]);
        $type::new(kernel)
            .with_stride($params.sizes("stride").unwrap_or(kernel))
            .with_dilation($params.sizes("dilation").unwrap_or([1; _]))
            .with_padding_by_side(padding, $params.sizes("padding_after").unwrap_or(padding))
            .with_ceil_mode($params.flag("ceil_mode"))
            .with_count_include_pad($params.flag("count_include_pad"))
    }};
}

/// Returns windows of as many dimensions as an operation has.
fn adaptive(like: &AdaptivePool, params: &Params) -> AdaptivePool {
    match like.rank() {
        1 => AdaptivePool::new(params.sizes("size").unwrap_or([2; 1])),
        2 => AdaptivePool::new(params.sizes("size").unwrap_or([2; 2])),
        _ => AdaptivePool::new(params.sizes("size").unwrap_or([2; 3])),
    }
}

/// Returns norms of as many dimensions as an operation has.
fn norm(like: &LpPool, params: &Params) -> LpPool {
    let p = params.numbers("p").first().copied().unwrap_or(2.0);
    match like.rank() {
        1 => pool!(Pool1d, params).lp(p),
        2 => pool!(Pool2d, params).lp(p),
        _ => pool!(Pool3d, params).lp(p),
    }
}

/// Returns the way back of as many dimensions as an operation has.
fn backward(like: &PoolBackward, params: &Params) -> PoolBackward {
    match like.rank() {
        1 => pool!(Pool1d, params).backward(params.sizes("size").unwrap_or([2; 1])),
        2 => pool!(Pool2d, params).backward(params.sizes("size").unwrap_or([2; 2])),
        _ => pool!(Pool3d, params).backward(params.sizes("size").unwrap_or([2; 3])),
    }
}

/// Whether the operation is a way back, which takes the gradient of a pool's result.
fn is_backward(op: &Op) -> bool {
    matches!(op, Op::AvgPoolBackward(_) | Op::AdaptiveAvgPoolBackward(_) | Op::Col2im(_)) || takes_positions(op)
}

fn takes_positions(op: &Op) -> bool {
    matches!(op, Op::MaxPoolBackward(_) | Op::AdaptiveMaxPoolBackward(_))
}

/// Returns the shape of a pool's result over an input.
fn pooled_shape(op: &Op, params: &Params, input: &[usize]) -> Vec<usize> {
    let (windows, spatial) = match op.pool_rank() {
        Some(1) => (pool!(Pool1d, params).over_three(), 1),
        Some(2) => (pool!(Pool2d, params).over_three(), 2),
        _ => (pool!(Pool3d, params), 3),
    };
    let mut size = [1; 3];
    size[3 - spatial..].copy_from_slice(&input[2..]);
    let counts = windows.counts(size).expect("the windows fit the input");
    [&input[..2], &counts[3 - spatial..]].concat()
}

fn is_average(op: &Op) -> bool {
    matches!(op, Op::AvgPool1d(_) | Op::AvgPool2d(_) | Op::AvgPool3d(_) | Op::AdaptiveAvgPool(_))
}

fn is_positions(op: &Op) -> bool {
    matches!(op, Op::ArgMaxPool1d(_) | Op::ArgMaxPool2d(_) | Op::ArgMaxPool3d(_) | Op::AdaptiveArgMaxPool(_))
}

impl Family for PoolFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        match op {
            Op::AvgPool1d(_) => Op::AvgPool1d(pool!(Pool1d, params)),
            Op::AvgPool2d(_) => Op::AvgPool2d(pool!(Pool2d, params)),
            Op::AvgPool3d(_) => Op::AvgPool3d(pool!(Pool3d, params)),
            Op::MaxPool1d(_) => Op::MaxPool1d(pool!(Pool1d, params)),
            Op::MaxPool2d(_) => Op::MaxPool2d(pool!(Pool2d, params)),
            Op::MaxPool3d(_) => Op::MaxPool3d(pool!(Pool3d, params)),
            Op::ArgMaxPool1d(_) => Op::ArgMaxPool1d(pool!(Pool1d, params)),
            Op::ArgMaxPool2d(_) => Op::ArgMaxPool2d(pool!(Pool2d, params)),
            Op::ArgMaxPool3d(_) => Op::ArgMaxPool3d(pool!(Pool3d, params)),
            Op::LpPool(like) => Op::LpPool(norm(like, params)),
            Op::AdaptiveAvgPool(like) => Op::AdaptiveAvgPool(adaptive(like, params)),
            Op::AdaptiveMaxPool(like) => Op::AdaptiveMaxPool(adaptive(like, params)),
            Op::AdaptiveArgMaxPool(like) => Op::AdaptiveArgMaxPool(adaptive(like, params)),
            Op::AvgPoolBackward(like) => Op::AvgPoolBackward(backward(like, params)),
            Op::MaxPoolBackward(like) => Op::MaxPoolBackward(backward(like, params)),
            Op::AdaptiveAvgPoolBackward(like) => Op::AdaptiveAvgPoolBackward(adaptive(like, params)),
            Op::Col2im(like) => Op::Col2im(backward(like, params)),
            Op::AdaptiveMaxPoolBackward(like) => Op::AdaptiveMaxPoolBackward(adaptive(like, params)),
            other => unreachable!("{other} is another family's"),
        }
    }

    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        match op {
            _ if is_positions(op) => of_positions(),
            _ if takes_positions(op) => {
                let both = |&d: &DType| [DType::U32, DType::I64].map(|places| vec![d, places, d]);
                DType::ALL.iter().flat_map(both).collect()
            }
            _ => DType::ALL.iter().map(|&d| vec![d, d]).collect(),
        }
    }

    fn distinctive(&self, op: &Op) -> &'static [usize] {
        if is_positions(op) || takes_positions(op) { &[0, 1] } else { &[0] }
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let op = cell.operation.op();
        let spatial = op.pool_rank().expect("every operation of the family has windows");
        // Any position in a small plane is likely to be one of its window's, and windows that are
        // taken apart have many elements.
        let sizes = if takes_positions(op) || matches!(op, Op::Col2im(_)) { 3 } else { spatial };
        let mut shape = planes(draw);
        if op.pool_windows().is_none() {
            let (from, windows): (Vec<_>, Vec<_>) = (0..spatial).map(|_| shared(draw, sizes, index)).unzip();
            if is_backward(op) {
                shape.extend(windows.iter().map(|&windows| windows.max(1)));
                several_channels(&mut shape, index);
                return pooled(draw, cell, plan, shape, Named::default().with_sizes("size", &from));
            }
            shape.extend(from);
            several_channels(&mut shape, index);
            return pooled(draw, cell, plan, shape, Named::default().with_sizes("size", &windows));
        }
        // The first cases of two dimensions, which digests are kept of, are older than dilation.
        let is_old = matches!(op, Op::AvgPool2d(_) | Op::MaxPool2d(_) | Op::ArgMaxPool2d(_));
        let is_general = index % 2 == 1 && (!is_old || index >= 8);
        let windows: Vec<Windows> = (0..spatial)
            .map(|_| {
                let size = size(draw, sizes);
                if is_general { general(draw, size) } else { plain(draw, size) }
            })
            .collect();
        // Most networks use adjacent two-by-two windows, which have their own kernels.
        let twos = spatial == 2 && index % 4 == 2;
        let twos = |w: &Windows| {
            let size = if twos { w.size.max(2) & !1 } else { w.size };
            if twos { Windows { size, kernel: 2, stride: 2, padding: 0, ..*w } } else { *w }
        };
        let windows: Vec<Windows> = windows.iter().map(twos).collect();
        // Whole windows of padding, which pools refuse.
        let apart = matches!(op, Op::Col2im(_)) && index % 4 == 3;
        let windows: Vec<Windows> = windows
            .into_iter()
            .map(|w| if apart { Windows { padding: w.padding + draw.pick(0..4usize), ..w } } else { w })
            .collect();
        let each = |of: fn(&Windows) -> usize| windows.iter().map(of).collect::<Vec<_>>();
        shape.extend(each(|w| w.size));
        several_channels(&mut shape, index);
        let mut named = Named::default()
            .with_sizes("kernel", &each(|w| w.kernel))
            .with_sizes("stride", &each(|w| w.stride))
            .with_sizes("padding", &each(|w| w.padding))
            .with_sizes("count_include_pad", &[usize::from(draw.chance(50))]);
        if is_general {
            named = named
                .with_sizes("dilation", &each(|w| w.dilation))
                .with_sizes("padding_after", &each(|w| w.padding_after))
                .with_sizes("ceil_mode", &[usize::from(draw.chance(50))]);
        }
        if is_backward(op) {
            let size = shape.split_off(2);
            shape = pooled_shape(op, &Params::Named(named.clone()), &[&shape[..], &size].concat());
            named = named.with_sizes("size", &size);
        }
        if matches!(op, Op::Col2im(_)) {
            let taps: usize = windows.iter().map(|w| w.kernel).product();
            shape = vec![shape[0], shape[1] * taps, shape[2..].iter().product()];
        }
        if matches!(op, Op::LpPool(_)) {
            named = named.with("p", &[draw.one_of(&[1.0, 2.0, 3.0, 0.5, 2.5, 1e-3, 17.0, 3e5])]);
        }
        pooled(draw, cell, plan, shape, named)
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, op: &Op, _shape: &[usize], input: usize) -> Option<Values> {
        if input == 1 {
            let size = match op {
                Op::MaxPoolBackward(p) => p.size().iter().product::<usize>(),
                Op::AdaptiveMaxPoolBackward(p) => p.size().iter().product(),
                other => unreachable!("{other} has one input"),
            };
            return Some(values::of(draw, Dist::Ids { below: size as u32, wild: true }));
        }
        let dist = if is_average(op) || is_backward(op) || (matches!(op, Op::LpPool(_)) && draw.chance(70)) {
            values::accumulated(draw)
        } else if is_positions(op) && draw.chance(60) {
            // Equal elements, and several NaNs in a window.
            draw.one_of(&[Dist::Few, Dist::Alike, Dist::Specials])
        } else {
            values::general(draw)
        };
        Some(values::of(draw, dist))
    }
}

/// Draws the size of one of so many dimensions.
fn size(draw: &mut Draw, dimensions: usize) -> usize {
    match dimensions {
        3 => draw.one_of(&[1, 2, 3, 4, 5, 6, 7]),
        _ => draw.one_of(&[1, 2, 3, 5, 8, 14, 16, 17, 31, 33, 56, 64, 65, 127]),
    }
}

/// Draws the size of a dimension and how many windows share it: of every fourth case as many as
/// give windows of one size, two in every other of these.
fn shared(draw: &mut Draw, sizes: usize, index: u64) -> (usize, usize) {
    let (from, windows) = (size(draw, sizes), draw.one_of(&[1, 1, 2, 3, 5, 7]));
    match index % 8 {
        2 => (2 * from, from),
        6 => (windows * draw.pick(1..4usize), windows),
        _ if draw.chance(1) => (from, 0),
        _ => (from, draw.one_of(&[windows, from, from.div_ceil(2), from - from / 3, from + 2])),
    }
}

/// Draws windows of neighbours with the same padding on both sides.
fn plain(draw: &mut Draw, size: usize) -> Windows {
    let kernel = draw.one_of(&[1, 2, 2, 3, 3, 5, 7, 11, size, size.div_ceil(2), size + size / 2]);
    // The widest window spans from padding to padding; half of it may lie in the padding.
    let kernel = kernel.min(2 * size);
    let least = (kernel.saturating_sub(size)).div_ceil(2);
    let padding = if draw.chance(50) { least } else { draw.pick(least..=kernel / 2) };
    let stride = match draw.pick(0..4) {
        0 => kernel,
        1 => 1,
        _ => draw.pick(1..=kernel + 3),
    };
    Windows { size, kernel, stride, dilation: 1, padding, padding_after: padding }
}

/// Draws windows of all kinds.
fn general(draw: &mut Draw, size: usize) -> Windows {
    let dilation = draw.one_of(&[1, 1, 2, 3, 5]).min(size);
    let kernel = draw.one_of(&[1, 2, 2, 3, 4, 5]);
    let extent = (kernel - 1) * dilation + 1;
    let [padding, more] = [0, 1].map(|_| if draw.chance(30) { 0 } else { draw.pick(0..extent) });
    let padding_after = more.max(extent.saturating_sub(size + padding));
    let stride = draw.one_of(&[1, 2, kernel, extent + 2]);
    Windows { size, kernel, stride, dilation, padding, padding_after }
}

/// Draws the images and channels of a case, sometimes none.
pub(super) fn planes(draw: &mut Draw) -> Vec<usize> {
    let mut planes = vec![draw.one_of(&[1, 1, 2, 3]), draw.one_of(&[1, 2, 3, 5])];
    if draw.chance(4) {
        let none = draw.pick(0..2usize);
        planes[none] = 0;
    }
    planes
}

/// Gives some cases with small planes channels enough for kernels that compute several at once. The
/// first cases, which digests are kept of, are older.
fn several_channels(shape: &mut [usize], index: u64) {
    if index >= 8 && index.is_multiple_of(3) && shape[2..].iter().product::<usize>() <= 1024 {
        shape[1] *= 4;
    }
}

/// Returns the case with layouts for its operands.
pub(super) fn pooled(draw: &mut Draw, cell: &Cell, plan: &Plan, shape: Vec<usize>, named: Named) -> Drawn {
    let params = Params::Named(named);
    let result = cell.operation.operand_dims(&cell.operation.with_params(&cell.dtypes, &params), &shape, 1);
    let layouts = layouts(draw, plan, &vec![shape.clone(); cell.operation.inputs()], &result);
    (shape, Some(params), layouts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn cells_meet_dilation_and_sides_and_operations_windows_beyond_the_padding() {
        // All dtypes of an operation have one code for windows.
        let mut all_beyond = BTreeMap::<_, usize>::new();
        let of_windows = |op: &Op| op.pool_windows().is_some() && !is_backward(op);
        for cell in Cell::all().iter().filter(|c| of_windows(c.operation.op())) {
            let cases: Vec<_> = crate::generate::full(cell).collect();
            for case in &cases {
                assert!(cell.operation.is_well_formed(&cell.dtypes, case), "{cell}: {case:?}");
            }
            let count = |holds: &dyn Fn(Pool3d, [usize; 3], [usize; 3]) -> bool| {
                let of = |case: &&crate::case::Case| {
                    let (pool, spatial) = case.op(cell).pool_windows().unwrap();
                    let (mut size, mut windows) = ([1; 3], [1; 3]);
                    size[3 - spatial..].copy_from_slice(&case.shape[2..]);
                    windows[3 - spatial..].copy_from_slice(&case.operand_dims(cell, cell.operation.inputs())[2..]);
                    holds(pool, size, windows)
                };
                cases.iter().filter(of).count()
            };
            assert!(count(&|p, _, _| p.dilation != [1; 3]) > 5, "{cell}");
            assert!(count(&|p, _, _| p.padding_before != p.padding_after) > 5, "{cell}");
            let is_beyond = |p: Pool3d, size: [usize; 3], windows: [usize; 3]| {
                (0..3).any(|d| {
                    let last = (windows[d] - 1) * p.stride[d] + (p.kernel[d] - 1) * p.dilation[d];
                    last >= size[d] + p.padding_before[d] + p.padding_after[d]
                })
            };
            let beyond = count(&|p, size, windows| p.count_include_pad && is_beyond(p, size, windows));
            *all_beyond.entry(cell.operation.name()).or_default() += beyond;
        }
        assert!(all_beyond.values().all(|&beyond| beyond > 2), "{all_beyond:?}");
    }
}
