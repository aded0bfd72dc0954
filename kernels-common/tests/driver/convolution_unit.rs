//! Convolutions on matrix units have the bits of chains of fused multiply-adds, in the order of
//! docs/numerics/conv.md. Which products a result sums is computed here from that page, position by
//! position, so this also holds the kernel's addresses against it.

use super::matrix_unit::{KINDS, Random, chain};
use super::{Device, Storage, device};
use isobit_hal::{
    BackendDevice, BackendStorage, Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d, Layout, Numerics, Op, Src,
};

/// A convolution in two dimensions, or in one if `is_flat`; then the sizes along h are 1.
#[derive(Debug, Clone, Copy)]
struct Case {
    transposed: bool,
    is_flat: bool,
    images: usize,
    groups: usize,
    /// Of a group.
    channels_in: usize,
    channels_out: usize,
    size: [usize; 2],
    taps: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    dilation: [usize; 2],
    output_padding: [usize; 2],
}

impl Case {
    const fn new(images: usize, channels: [usize; 2], size: [usize; 2], taps: [usize; 2]) -> Self {
        Self {
            transposed: false,
            is_flat: false,
            images,
            groups: 1,
            channels_in: channels[0],
            channels_out: channels[1],
            size,
            taps,
            stride: [1, 1],
            padding: [0, 0],
            dilation: [1, 1],
            output_padding: [0, 0],
        }
    }

    fn op(&self) -> Op {
        let &Self { groups, stride, padding, dilation, output_padding, .. } = self;
        let (one, two) = (|[_, w]: [usize; 2]| [w], |both: [usize; 2]| both);
        macro_rules! op {
            ($name:ident, $of:ident) => {
                $name::default()
                    .with_stride($of(stride))
                    .with_padding($of(padding))
                    .with_dilation($of(dilation))
                    .with_groups(groups)
                    .with_numerics(Numerics::Portable)
            };
        }
        match (self.transposed, self.is_flat) {
            (false, true) => Op::Conv1d(op!(Conv1d, one)),
            (false, false) => Op::Conv2d(op!(Conv2d, two)),
            (true, true) => Op::ConvTranspose1d(op!(ConvTranspose1d, one).with_output_padding(one(output_padding))),
            (true, false) => Op::ConvTranspose2d(op!(ConvTranspose2d, two).with_output_padding(output_padding)),
        }
    }

    fn outputs(&self) -> [usize; 2] {
        [0, 1].map(|d| {
            let (extent, padding) = (self.dilation[d] * (self.taps[d] - 1), 2 * self.padding[d]);
            match self.transposed {
                false => (self.size[d] + padding - extent - 1) / self.stride[d] + 1,
                true => (self.size[d] - 1) * self.stride[d] + extent + self.output_padding[d] + 1 - padding,
            }
        })
    }

    /// The dimensions of input, kernel and result.
    fn dims(&self) -> [[usize; 4]; 3] {
        let &Self { images, groups, channels_in, channels_out, size: [h, w], taps: [r, s], .. } = self;
        let [y, x] = self.outputs();
        let kernel = match self.transposed {
            false => [groups * channels_out, channels_in],
            true => [groups * channels_in, channels_out],
        };
        [[images, groups * channels_in, h, w], [kernel[0], kernel[1], r, s], [images, groups * channels_out, y, x]]
    }

    /// The position, which may be outside the input, at which an output meets it through a tap.
    fn position(&self, d: usize, output: usize, tap: usize) -> Option<i64> {
        let [output, tap, stride, padding, dilation] =
            [output, tap, self.stride[d], self.padding[d], self.dilation[d]].map(|n| n as i64);
        let from = output + padding - tap * dilation;
        match self.transposed {
            false => Some(output * stride + tap * dilation - padding),
            true => (from % stride == 0).then_some(from / stride),
        }
    }

    /// Calls `with` for each product of a result, in order: with the places of the weight and, if
    /// it is not in the padding, of the input.
    fn products(&self, [n, c, y, x]: [usize; 4], mut with: impl FnMut([usize; 4], Option<[usize; 4]>)) {
        let group = c / self.channels_out;
        let taps = |d: usize, output: usize| -> Vec<(usize, i64)> {
            (0..self.taps[d]).filter_map(|tap| Some((tap, self.position(d, output, tap)?))).collect()
        };
        let (taps_h, taps_w) = (taps(0, y), taps(1, x));
        let inside = |position: i64, d: usize| usize::try_from(position).ok().filter(|&at| at < self.size[d]);
        for i in 0..self.channels_in {
            let channel = group * self.channels_in + i;
            for &(r, h) in &taps_h {
                for &(s, w) in &taps_w {
                    let weight = match self.transposed {
                        false => [c, i, r, s],
                        true => [channel, c % self.channels_out, r, s],
                    };
                    with(weight, inside(h, 0).zip(inside(w, 1)).map(|(h, w)| [n, channel, h, w]));
                }
            }
        }
    }
}

/// How tensors lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Contiguous,
    /// From the second element on, so that no pair is aligned.
    Shifted,
    /// Channels of input and result, and output channels of the kernel, are innermost.
    ChannelsLast,
}

impl Order {
    /// The layout of a tensor of which `innermost` counts the channels.
    fn layout(self, dims: [usize; 4], innermost: usize) -> Layout {
        match self {
            Self::Contiguous => Layout::contiguous(dims),
            Self::Shifted => Layout::contiguous_with_offset(dims, 1),
            Self::ChannelsLast => {
                let mut order: Vec<usize> = (0..4).filter(|&d| d != innermost).chain([innermost]).collect();
                let stored = Layout::contiguous(order.iter().map(|&d| dims[d]).collect::<Vec<_>>());
                // The inverse of the order.
                let mut back = vec![0; 4];
                order.drain(..).enumerate().for_each(|(at, d)| back[d] = at);
                stored.permute(&back).unwrap()
            }
        }
    }
}

/// Without the dimension of size 1, if the convolution has only one.
fn asked(case: &Case, layout: &Layout) -> Layout {
    let keep = |all: &[usize]| -> Vec<usize> {
        all.iter().enumerate().filter(|&(d, _)| d != 2 || !case.is_flat).map(|(_, &n)| n).collect()
    };
    let stride = keep(layout.stride());
    Layout::new(keep(layout.dims()), isobit_hal::Dims::from_vec(stride), layout.start_offset()).unwrap()
}

fn place(layout: &Layout, at: [usize; 4]) -> usize {
    layout.start_offset() + at.iter().zip(layout.stride()).map(|(n, stride)| n * stride).sum::<usize>()
}

/// Compares all results with chains. The factors are drawn with a place for the offset.
#[track_caller]
fn check(device: &Device, name: &str, case: &Case, order: Order, mut draw: impl FnMut(bool) -> f64) {
    let [src, kernel, dst] = case.dims();
    let of_kernel = usize::from(case.transposed);
    let layouts = [order.layout(src, 1), order.layout(kernel, of_kernel), order.layout(dst, 1)];
    let [x, weights] =
        [0, 1].map(|which| -> Vec<f64> { (0..=layouts[which].elem_count()).map(|_| draw(which == 1)).collect() });
    const UNTOUCHED: f64 = 12345.0;
    let mut out = device.storage_from_slice(&vec![UNTOUCHED; layouts[2].elem_count() + 1]).unwrap();
    let [x_layout, kernel_layout, dst_layout] = [0, 1, 2].map(|which| asked(case, &layouts[which]));
    let [on_x, on_kernel] = [&x, &weights].map(|values| device.storage_from_slice(values).unwrap());
    let srcs = [Src::Storage(&on_x, &x_layout), Src::Storage(&on_kernel, &kernel_layout)];
    Storage::apply_into(&case.op(), &srcs, &mut out, &dst_layout).unwrap();
    let out = out.to_vec::<f64>().unwrap();
    let beyond = if order == Order::Shifted { 0 } else { out.len() - 1 };
    assert_eq!(out[beyond], UNTOUCHED, "{name}, {case:?}, {order:?}: what is not the result's");

    let [images, channels, height, width] = dst;
    let mut products = Vec::new();
    for at in (0..images * channels * height * width)
        .map(|i| [i / (channels * height * width), i / (height * width) % channels, i / width % height, i % width])
    {
        products.clear();
        case.products(at, |weight, input| {
            products
                .push((weights[place(&layouts[1], weight)], input.map_or(0.0, |input| x[place(&layouts[0], input)])));
        });
        let want = if products.is_empty() { 0.0 } else { chain(&products) };
        let got = out[place(&layouts[2], at)];
        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(same, "{name}, {case:?}, {order:?}: {at:?}: {got:e}, not {want:e}");
    }
}

const ORDERS: [Order; 3] = [Order::Contiguous, Order::Shifted, Order::ChannelsLast];

/// Whole tiles whose weights and results move in pairs; ragged channels, outputs and k, in groups,
/// with strides and dilation; several segments at once; one dimension.
fn plain() -> [Case; 5] {
    [
        Case { padding: [1, 1], ..Case::new(1, [4, 64], [16, 8], [3, 3]) },
        Case { groups: 2, stride: [2, 1], padding: [1, 3], dilation: [1, 2], ..Case::new(2, [3, 35], [9, 7], [3, 2]) },
        Case { padding: [1, 1], ..Case::new(1, [59, 17], [5, 3], [3, 3]) },
        Case { padding: [0, 2], is_flat: true, ..Case::new(3, [7, 66], [1, 30], [1, 5]) },
        Case { padding: [0, 2], stride: [1, 3], is_flat: true, ..Case::new(2, [110, 20], [1, 40], [1, 7]) },
    ]
}

/// Phases with different numbers of taps and of outputs; phases without taps, because the stride
/// exceeds the taps, or stride and dilation have a common factor; several segments at once, of
/// which some phases have fewer; one dimension.
fn transposed() -> [Case; 4] {
    let case = Case { transposed: true, ..Case::new(1, [1, 1], [1, 1], [1, 1]) };
    [
        Case {
            images: 2,
            groups: 2,
            channels_in: 5,
            channels_out: 19,
            size: [4, 6],
            taps: [3, 3],
            stride: [2, 2],
            padding: [1, 0],
            output_padding: [1, 0],
            ..case
        },
        Case { channels_in: 6, channels_out: 67, size: [3, 4], taps: [2, 3], stride: [3, 4], dilation: [1, 2], ..case },
        Case { channels_in: 70, channels_out: 16, size: [3, 5], taps: [3, 3], stride: [2, 1], ..case },
        Case {
            images: 3,
            channels_in: 8,
            channels_out: 18,
            size: [1, 25],
            taps: [1, 5],
            stride: [1, 2],
            is_flat: true,
            ..case
        },
    ]
}

#[test]
fn f64_convolutions_in_tiles_are_chains() {
    let Some(device) = device() else { return };
    let mut random = Random(21);
    for (name, of_weights, of_inputs) in KINDS {
        for case in plain().iter().chain(&transposed()) {
            for order in ORDERS {
                let draw = |weight| random.number(if weight { &of_weights } else { &of_inputs });
                check(&device, name, case, order, draw);
            }
        }
    }
}

/// More blocks than the card has multiprocessors, so that each computes all segments of its
/// results.
#[test]
fn f64_convolutions_of_many_segments_are_chains() {
    let Some(device) = device() else { return };
    let mut random = Random(22);
    let groups = device.info().unwrap().multiprocessors + 1;
    for order in [Order::Contiguous, Order::ChannelsLast] {
        let case = Case { groups, padding: [1, 1], ..Case::new(1, [59, 16], [3, 4], [3, 3]) };
        check(&device, "many segments", &case, order, |_| random.number(&(1020..1026)));
    }
}

/// A product that underflows leaves -0 in a sum, which what lies beyond k must not change; the
/// padding is +0, and its products with negative weights keep -0.
#[test]
fn sums_of_minus_zero_stay() {
    let Some(device) = device() else { return };
    // 1, 15, 16, 18 and 258 products.
    for (channels_in, taps) in [(1, [1, 1]), (5, [1, 3]), (4, [2, 2]), (2, [3, 3]), (43, [2, 3])] {
        for (padding, transposed) in [([0, 0], false), ([1, 1], false), ([0, 0], true)] {
            // The stride keeps a convolution with one tap from being a product of matrices.
            let case = Case { transposed, padding, stride: [2, 2], ..Case::new(1, [channels_in, 20], [5, 6], taps) };
            for order in ORDERS {
                let tiny = |weight| if weight { -f64::MIN_POSITIVE } else { f64::MIN_POSITIVE };
                check(&device, "minus zero", &case, order, tiny);
            }
        }
    }
}

/// No product is skipped: weights without bounds make NaN of the padding's zeros.
#[test]
fn infinite_weights_meet_the_padding() {
    let Some(device) = device() else { return };
    let mut random = Random(23);
    for case in plain().iter().chain(&transposed()) {
        for order in ORDERS {
            let draw = |weight| match random.bits() % 64 {
                0 if weight => f64::INFINITY,
                _ => random.number(&(1020..1026)),
            };
            check(&device, "infinite weights", case, order, draw);
        }
    }
}
