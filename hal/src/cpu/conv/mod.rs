//! Convolutions and transposed convolutions, as `docs/numerics/conv.md` defines them. They are
//! computed as matrix products: the rows of the left operand are the kernel's output channels, and
//! the columns of the right one hold the input elements that each output reads. That operand is
//! unfolded panel by panel while the product is computed.

mod axis;

use super::CpuStorage;
use super::block_product::{Blocks, Segments};
use super::blocked::{Chains, Destination, Line, MC, Method, NC, Panels, Tiled, group};
use super::element::Element;
use super::walk::{gather, parallel};
use crate::{Layout, Numerics, Op, collapse};
use axis::{Axis, Window};
use std::ops::Range;

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// The strides of a tensor of images: batch, channel, d, h and w.
#[derive(Clone, Copy)]
struct Strides {
    offset: usize,
    batch: usize,
    channel: usize,
    space: [usize; 3],
}

/// A run of consecutive outputs along w. The columns of a block are cut into such runs.
struct Run {
    /// The first column and the number of columns.
    column: usize,
    len: usize,
    image: usize,
    /// The first output along d, h and w, counted within the phase.
    at: [usize; 3],
}

/// The taps of a phase along d, h and w.
fn taps_of(axes: [&Axis; 3]) -> usize {
    axes.map(|axis| axis.taps).iter().product()
}

/// The problem in three spatial dimensions. With fewer, the first ones have size 1.
struct Problem {
    batch: usize,
    groups: usize,
    /// Input and output channels per group.
    channels_in: usize,
    channels_out: usize,
    src: Strides,
    dst: Strides,
    /// Strides of the kernel: `batch` is the stride of groups, `channel` that of output channels.
    kernel: Strides,
    /// The kernel's stride of input channels.
    kernel_in: usize,
    /// The phases of d, h and w.
    phases: [Vec<Axis>; 3],
    /// Whether the products are block products.
    blocks: bool,
    /// Where the bias is in its buffer, and its stride.
    bias: Option<(usize, usize)>,
}

impl Problem {
    fn new(op: &Op, src: &Layout, kernel: &Layout, dst: &Layout) -> Self {
        macro_rules! windows {
            ($p:ident, $transposed:literal) => {{
                let window =
                    |d: usize| Window { stride: $p.stride[d], padding: $p.padding_before[d], dilation: $p.dilation[d] };
                ($transposed, $p.groups, (0..$p.stride.len()).map(window).collect::<Vec<_>>())
            }};
        }
        let (transposed, groups, windows) = match op {
            Op::Conv1d(p) => windows!(p, false),
            Op::Conv2d(p) => windows!(p, false),
            Op::Conv3d(p) => windows!(p, false),
            Op::ConvTranspose1d(p) => windows!(p, true),
            Op::ConvTranspose2d(p) => windows!(p, true),
            Op::ConvTranspose3d(p) => windows!(p, true),
            _ => unreachable!("not a convolution"),
        };
        let added = 3 - windows.len();
        let dim = |l: &Layout, d: usize| match d.checked_sub(added) {
            Some(d) => (l.dims()[d + 2], l.stride()[d + 2]),
            None => (1, 0),
        };
        let strides = |l: &Layout| Strides {
            offset: l.start_offset(),
            batch: l.stride()[0],
            channel: l.stride()[1],
            space: [0, 1, 2].map(|d| dim(l, d).1),
        };
        let [first, second] = [0, 1].map(|d| (kernel.dims()[d], kernel.stride()[d]));
        let (channels_in, channels_out, kernel_in, out, group) = match transposed {
            false => (second.0, first.0 / groups, second.1, first.1, first.0 / groups * first.1),
            true => (first.0 / groups, second.0, first.1, second.1, first.0 / groups * first.1),
        };
        let phases = |d: usize| {
            let [(size, _), (taps, _), (outputs, _)] = [src, kernel, dst].map(|l| dim(l, d));
            let window = match d.checked_sub(added) {
                Some(d) => windows[d],
                None => Window { stride: 1, padding: 0, dilation: 1 },
            };
            match transposed {
                false => vec![Axis::plain(size, taps, outputs, window)],
                true => Axis::phases(size, taps, outputs, window),
            }
        };
        Self {
            batch: dst.dims()[0],
            groups,
            channels_in,
            channels_out,
            src: strides(src),
            dst: strides(dst),
            kernel: Strides { batch: group, channel: out, ..strides(kernel) },
            kernel_in,
            phases: [phases(0), phases(1), phases(2)],
            blocks: false,
            bias: None,
        }
    }

    /// Cuts columns into runs. Columns count the outputs of a phase image by image, in row-major
    /// order.
    fn runs(&self, [d, h, w]: [&Axis; 3], columns: Range<usize>) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut column = columns.start;
        while column < columns.end {
            let (row, first) = (column / w.outputs, column % w.outputs);
            let len = (w.outputs - first).min(columns.end - column);
            let (plane, at_h) = (row / h.outputs, row % h.outputs);
            let (image, at_d) = (plane / d.outputs, plane % d.outputs);
            runs.push(Run { column: column - columns.start, len, image, at: [at_d, at_h, first] });
            column += len;
        }
        runs
    }

    /// Packs the input elements that the outputs of a block read: for each k of a range, one value
    /// per output.
    fn pack_image<T: Element<Compute: Tiled>>(
        &self,
        src: &[T],
        axes @ [d, h, w]: [&Axis; 3],
        group: usize,
        (runs, k): (&[Run], Range<usize>),
        line: &mut Line<T>,
        mut panels: Panels<'_, T::Compute>,
    ) {
        let stride = w.per_output.wrapping_mul(self.src.space[2]);
        for (row, k) in k.enumerate() {
            let Some((channel, tap)) = self.factor(taps_of(axes), k) else {
                panels.set_k(row, line.load(panels.lines, |out| out.fill(T::zeroed())));
                continue;
            };
            let (tap_d, tap_h, tap_w) = (tap / w.taps / h.taps, tap / w.taps % h.taps, tap % w.taps);
            let base = self.src.offset + (group * self.channels_in + channel) * self.src.channel;
            let values = line.load(panels.lines, |out| {
                for run in runs {
                    let out = &mut out[run.column..][..run.len];
                    let [run_d, run_h, run_w] = run.at;
                    let (at_d, at_h) = (d.at(run_d, tap_d), h.at(run_h, tap_h));
                    let seen = at_d < d.size && at_h < h.size;
                    let inside = if seen { w.inside(run_w, run.len, tap_w) } else { 0..0 };
                    out[..inside.start].fill(T::zeroed());
                    out[inside.end..].fill(T::zeroed());
                    if inside.is_empty() {
                        continue;
                    }
                    let at_w = w.at(run_w + inside.start, tap_w);
                    let [along_d, along_h, along_w] = self.src.space;
                    let offset = base + run.image * self.src.batch + at_d * along_d + at_h * along_h + at_w * along_w;
                    let out = &mut out[inside];
                    if stride == 1 {
                        out.copy_from_slice(&src[offset..][..out.len()]);
                    } else {
                        out.iter_mut().enumerate().for_each(|(i, o)| *o = src[offset + i * stride]);
                    }
                }
            });
            panels.set_k(row, values);
        }
    }

    /// Packs the weights of a block of output channels for a range of k.
    fn pack_kernel<T: Element<Compute: Tiled>>(
        &self,
        kernel: &[T],
        axes @ [d, h, w]: [&Axis; 3],
        (group, first): (usize, usize),
        k: Range<usize>,
        line: &mut Line<T>,
        mut panels: Panels<'_, T::Compute>,
    ) {
        let [at_d, at_h, at_w] = self.kernel.space;
        let taps = d.first_tap * at_d + h.first_tap * at_h + w.first_tap * at_w;
        let [tap_d, tap_h, tap_w] = [(d, at_d), (h, at_h), (w, at_w)].map(|(axis, at)| axis.tap_step.wrapping_mul(at));
        let (shape, strides) = ([self.channels_in, d.taps, h.taps, w.taps], [self.kernel_in, tap_d, tap_h, tap_w]);
        let walk =
            Layout::new(shape, strides.as_slice(), 0).map(|l| collapse(&[&l])).expect("one stride per dimension");
        let base = self.kernel.offset + group * self.kernel.batch + taps;
        let weight = |k: usize| {
            let (channel, tap) = self.factor(taps_of(axes), k)?;
            let row = tap / w.taps;
            Some(channel * self.kernel_in + row / h.taps * tap_d + row % h.taps * tap_h + tap % w.taps * tap_w)
        };
        for row in 0..panels.lines {
            let first = base + (first + row) * self.kernel.channel;
            let values = line.load(k.len(), |out| match self.blocks {
                true => {
                    for (out, k) in out.iter_mut().zip(k.clone()) {
                        *out = weight(k).map_or(T::zeroed(), |at| kernel[first + at]);
                    }
                }
                // SAFETY: every weight that the walk visits, starting from the channel's first, is
                // an element of the kernel, whose layout was validated to lie in the buffer.
                false => unsafe { gather(&raw const kernel[first], &walk.dims, &walk.strides[0], k.clone(), out) },
            });
            panels.set_line(row, values);
        }
    }

    /// Returns how the k of block products is cut, for so many taps.
    fn segments(&self, taps: usize) -> Segments {
        Segments::of_taps(taps, self.channels_in)
    }

    /// Returns the number of products of a result, with those that fill segments.
    fn products(&self, taps: usize) -> usize {
        if self.blocks { self.segments(taps).filled() } else { self.channels_in * taps }
    }

    /// Returns the channel and the tap of a product; `None` if it fills a segment.
    fn factor(&self, taps: usize, k: usize) -> Option<(usize, usize)> {
        if !self.blocks {
            return Some((k / taps, k % taps));
        }
        self.segments(taps).element(k).map(|k| (k % self.channels_in, k / self.channels_in))
    }

    /// Computes the results by the method that `method` returns for the taps of a phase. `bias` is
    /// not read unless there is one.
    fn run<T: Element<Compute: Tiled>, M: Method<T>>(
        &self,
        method: impl Fn(usize) -> M + Sync,
        [src, kernel, bias]: [&[T]; 3],
        dst: &mut [T],
    ) {
        let destination = Destination(dst.as_mut_ptr());
        let [phases_d, phases_h, phases_w] = &self.phases;
        let columns = |axes: [&Axis; 3]| axes.iter().fold(self.batch, |all, axis| all * axis.outputs);
        // The first phases have the most outputs, so the other phases may have blocks with no work.
        let tiles_m = self.channels_out.div_ceil(MC);
        let most = columns([&phases_d[0], &phases_h[0], &phases_w[0]]);
        let tiles_n = most.div_ceil(NC);
        let taps = |phases: &[Axis]| phases.iter().map(|a| a.taps).max().unwrap_or(0);
        let most_taps = taps(phases_d) * taps(phases_h) * taps(phases_w);

        let task = |scratch: &mut M::Scratch, index: usize| {
            // Capture `destination` itself: the struct is `Sync`, its raw pointer alone is not.
            let destination = &destination;
            let (rest, j) = (index / tiles_n, index % tiles_n * NC);
            let (rest, i) = (rest / tiles_m, rest % tiles_m * MC);
            let (rest, phase_w) = (rest / phases_w.len(), rest % phases_w.len());
            let (rest, phase_h) = (rest / phases_h.len(), rest % phases_h.len());
            let (group, phase_d) = (rest / phases_d.len(), rest % phases_d.len());
            let axes = [&phases_d[phase_d], &phases_h[phase_h], &phases_w[phase_w]];
            let (rows, columns) = (MC.min(self.channels_out - i), columns(axes).saturating_sub(j).min(NC));
            if columns == 0 {
                return;
            }
            let runs = self.runs(axes, j..j + columns);
            let taps = taps_of(axes);
            method(taps).block(
                scratch,
                [rows, columns, self.products(taps)],
                |k, line, [a, b]| {
                    if let Some(a) = a {
                        self.pack_kernel(kernel, axes, (group, i), k.clone(), line, a);
                    }
                    if let Some(b) = b {
                        self.pack_image(src, axes, group, (&runs, k), line, b);
                    }
                },
                |row, line, results| {
                    let channel = group * self.channels_out + i + row;
                    let results = match self.bias {
                        Some((offset, stride)) => line.store_biased(results, bias[offset + channel * stride]),
                        None => line.store(results),
                    };
                    let base = self.dst.offset + channel * self.dst.channel;
                    let step = axes[2].output_step * self.dst.space[2];
                    for run in &runs {
                        let [z, y, x] = [0, 1, 2].map(|d| axes[d].output(run.at[d]) * self.dst.space[d]);
                        let to = destination.0.wrapping_add(base + run.image * self.dst.batch + z + y + x);
                        for (n, &value) in results[run.column..][..run.len].iter().enumerate() {
                            // SAFETY: each is an element of the destination, which was validated to
                            // lie in its buffer; no other task writes this channel of these
                            // outputs.
                            unsafe { to.add(n * step).write(value) };
                        }
                    }
                },
            );
        };
        let tasks = self.groups * phases_d.len() * phases_h.len() * phases_w.len() * tiles_m * tiles_n;
        parallel(tasks, group(tasks), &|range| {
            let sides = [self.channels_out, most, self.products(most_taps)];
            let mut scratch = method(most_taps).scratch(sides);
            range.for_each(|index| task(&mut scratch, index));
        });
    }
}

pub(super) fn conv<'a>(op: &Op, inputs: usize, stored: impl Fn(usize) -> Input<'a>, dst: &mut CpuStorage, dl: &Layout) {
    if dl.elem_count() == 0 {
        return;
    }
    const DISPATCHED: &str = "operands were validated to have one dtype";
    // The last input is the bias, if there is one.
    let [src, kernel, bias] = [0, 1, inputs - 1].map(stored);
    let mut problem = Problem::new(op, src.1, kernel.1, dl);
    problem.bias = (inputs > 2).then(|| (bias.1.start_offset(), bias.1.stride()[0]));
    let digits = Op::conv_block_digits(dst.dtype(), problem.channels_out);
    let digits = digits.filter(|_| op.numerics() == Some(Numerics::Block));
    problem.blocks = digits.is_some();
    macro_rules! by {
        ($method:expr, $T:ident) => {
            problem.run::<$T, _>(
                $method,
                [src, kernel, bias].map(|input| input.0.as_slice().expect(DISPATCHED)),
                dst.as_mut_slice().expect(DISPATCHED),
            )
        };
    }
    match digits {
        Some(digits) => {
            let blocks = |taps| Blocks { bits: 8 * digits as u32, segments: problem.segments(taps) };
            crate::dispatch_dtype!(@arms dst.dtype(), T, by!(blocks, T), F16 f16, BF16 bf16, F32 f32)
        }
        None => crate::dispatch_dtype!(@arms dst.dtype(), T, by!(|_| Chains, T), F16 f16, BF16 bf16, F32 f32, F64 f64),
    }
}
