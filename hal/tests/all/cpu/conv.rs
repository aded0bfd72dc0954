//! Compares convolutions with the rule of `docs/numerics/conv.md`, computed output by output, and
//! transposed convolutions with their definition as a sum over inputs.

use super::*;
use half::bf16;
use isobit_hal::cpu::internals::force_baseline;
use isobit_hal::{
    BinaryOp, Cast, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Matmul, Numerics, Op,
    Src,
};

/// Sizes and parameters in two dimensions.
#[derive(Debug, Clone, Copy)]
struct Setup {
    batch: usize,
    groups: usize,
    /// Input and output channels per group.
    channels: [usize; 2],
    size: [usize; 2],
    taps: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    dilation: [usize; 2],
    output_padding: [usize; 2],
    transposed: bool,
}

impl Setup {
    fn draw(rng: &mut Rng, transposed: bool, rank: usize) -> Self {
        let mut pair = |from: usize, below: usize| {
            [0, 1].map(|d| if d < 2 - rank { from.min(1) } else { from + rng.below(below) })
        };
        let (stride, dilation) = (pair(1, 4), pair(1, 3));
        let mut setup = Self {
            size: pair(1, 12),
            taps: pair(1, 5),
            padding: pair(0, 4),
            output_padding: pair(0, 3),
            batch: 1 + rng.below(3),
            groups: 1 + rng.below(3),
            channels: [1 + rng.below(9), 1 + rng.below(8)],
            stride,
            dilation,
            transposed,
        };
        for d in 0..2 {
            setup.output_padding[d] = setup.output_padding[d].min(stride[d].max(dilation[d]) - 1);
            let extent = dilation[d] * (setup.taps[d] - 1);
            if transposed {
                setup.padding[d] = setup.padding[d].min((setup.size[d] - 1) * stride[d] / 2 + extent / 2);
            } else {
                setup.size[d] += (extent + 1).saturating_sub(setup.size[d] + 2 * setup.padding[d]);
            }
        }
        setup
    }

    fn src(&self) -> [usize; 4] {
        [self.batch, self.groups * self.channels[0], self.size[0], self.size[1]]
    }

    fn kernel(&self) -> [usize; 4] {
        let [cin, cout] = self.channels;
        let [first, second] = if self.transposed { [self.groups * cin, cout] } else { [self.groups * cout, cin] };
        [first, second, self.taps[0], self.taps[1]]
    }

    fn op(&self) -> Op {
        let Self { stride, padding, dilation, groups, output_padding, .. } = *self;
        if self.transposed {
            let op = ConvTranspose2d::default().with_stride(stride).with_padding(padding).with_dilation(dilation);
            Op::ConvTranspose2d(op.with_groups(groups).with_output_padding(output_padding))
        } else {
            let op = Conv2d::default().with_stride(stride).with_padding(padding).with_dilation(dilation);
            Op::Conv2d(op.with_groups(groups))
        }
    }

    /// The same parameters in one dimension, taken from the second one.
    fn op1d(&self) -> Op {
        let [stride, padding, dilation, output_padding] =
            [self.stride, self.padding, self.dilation, self.output_padding].map(|p| [p[1]]);
        if self.transposed {
            let op = ConvTranspose1d::default().with_stride(stride).with_padding(padding).with_dilation(dilation);
            Op::ConvTranspose1d(op.with_groups(self.groups).with_output_padding(output_padding))
        } else {
            let op = Conv1d::default().with_stride(stride).with_padding(padding).with_dilation(dilation);
            Op::Conv1d(op.with_groups(self.groups))
        }
    }

    fn dst(&self) -> [usize; 4] {
        let out = |d: usize| {
            let extent = self.dilation[d] * (self.taps[d] - 1);
            if self.transposed {
                (self.size[d] - 1) * self.stride[d] + extent + self.output_padding[d] + 1 - 2 * self.padding[d]
            } else {
                (self.size[d] + 2 * self.padding[d] - extent - 1) / self.stride[d] + 1
            }
        };
        [self.batch, self.groups * self.channels[1], out(0), out(1)]
    }

    /// Returns the input position that an output reads through a tap, which may lie outside the
    /// input; `None` if the tap is not part of the output's sequence.
    fn position(&self, d: usize, output: usize, tap: usize) -> Option<i64> {
        let [output, tap, stride, padding, dilation] =
            [output, tap, self.stride[d], self.padding[d], self.dilation[d]].map(|v| v as i64);
        if self.transposed {
            let reached = output + padding - tap * dilation;
            (reached % stride == 0).then_some(reached / stride)
        } else {
            Some(output * stride + tap * dilation - padding)
        }
    }

    /// The rule: collects the factors of every output in order, and computes a value from them.
    fn by_the_rule<T: Copy>(&self, x: &[T], k: &[T], zero: T, result: impl Fn(&[(T, T)]) -> T) -> Vec<T> {
        let [batch, channels, out_h, out_w] = self.dst();
        let ([cin, cout], [size_h, size_w]) = (self.channels, self.size);
        let (all_in, taps) = (self.groups * cin, self.taps);
        let mut out = Vec::new();
        for (n, c) in (0..batch).flat_map(|n| (0..channels).map(move |c| (n, c))) {
            let group = c / cout;
            for (oh, ow) in (0..out_h).flat_map(|h| (0..out_w).map(move |w| (h, w))) {
                let mut factors = Vec::new();
                for ci in 0..cin {
                    for (th, tw) in (0..taps[0]).flat_map(|h| (0..taps[1]).map(move |w| (h, w))) {
                        let (Some(h), Some(w)) = (self.position(0, oh, th), self.position(1, ow, tw)) else { continue };
                        let inside = (0..size_h as i64).contains(&h) && (0..size_w as i64).contains(&w);
                        let at = || ((n * all_in + group * cin + ci) * size_h + h as usize) * size_w + w as usize;
                        let [first, second] =
                            if self.transposed { [(group * cin + ci) * cout, c % cout] } else { [c * cin, ci] };
                        let weight = k[((first + second) * taps[0] + th) * taps[1] + tw];
                        factors.push((weight, if inside { x[at()] } else { zero }));
                    }
                }
                out.push(result(&factors));
            }
        }
        out
    }
}

/// Computes one result as section 9 of `docs/numerics.md` defines it.
fn segments<C: Copy>(factors: &[(C, C)], zero: C, fma: fn(C, C, C) -> C, add: fn(C, C) -> C) -> C {
    let values = factors.chunks(256).map(|s| s.iter().fold(zero, |p, &(a, b)| fma(a, b, p)));
    values.reduce(add).unwrap_or(zero)
}

fn segments_f32(factors: &[(f32, f32)]) -> f32 {
    segments(factors, 0.0, f32::mul_add, |a, b| a + b)
}

fn product(dims: &[usize]) -> usize {
    dims.iter().product()
}

fn apply(op: &Op, x: &CpuStorage, xl: &Layout, k: &CpuStorage, kl: &Layout) -> CpuStorage {
    CpuStorage::apply(op, &[(x, xl), (k, kl)]).unwrap()
}

#[test]
fn every_output_keeps_the_order() {
    let mut rng = Rng(60);
    for case in 0..120 {
        let setup = Setup::draw(&mut rng, case % 2 == 1, 1 + case / 2 % 2);
        let (x, k) = (rng.floats(product(&setup.src())), rng.floats(product(&setup.kernel())));
        let want = setup.by_the_rule(&x, &k, 0.0, segments_f32);
        let (xl, kl) = (Layout::contiguous(setup.src()), Layout::contiguous(setup.kernel()));
        assert_same(&vec::<f32>(&apply(&setup.op(), &storage(&x), &xl, &storage(&k), &kl)), &want);
        if setup.size[0] == 1 && setup.taps[0] == 1 && setup.stride[0] == 1 && setup.padding[0] == 0 {
            let flat = |[a, b, _, d]: [usize; 4]| Layout::contiguous([a, b, d]);
            let got = apply(&setup.op1d(), &storage(&x), &flat(setup.src()), &storage(&k), &flat(setup.kernel()));
            assert_same(&vec::<f32>(&got), &want);
        }
    }
}

/// Computes one result as a block product (`docs/numerics/conv.md`, section 3). Its factors are in
/// the order of chains, channel by channel.
fn block_product(factors: &[(f32, f32)], channels: usize, dtype: DType) -> f32 {
    let taps = factors.len() / channels;
    let by_tap = (0..taps).flat_map(|tap| (0..channels).map(move |channel| factors[channel * taps + tap]));
    let (weights, inputs): (Vec<_>, Vec<_>) = by_tap.unzip();
    let taps_per_row = if channels <= 32 { 128 / channels } else { 1 };
    let rows = weights.chunks(taps_per_row * channels).zip(inputs.chunks(taps_per_row * channels));
    let segments: Vec<_> = rows.flat_map(|(w, x)| w.chunks(128).zip(x.chunks(128))).collect();
    block::of_segments(&segments, dtype)
}

#[test]
fn block_convolutions_are_what_the_definition_says() {
    let mut rng = Rng(64);
    for (case, channels) in
        (0..51).zip([1, 2, 3, 5, 9, 31, 32, 33, 64, 65, 100, 127, 128, 129, 200, 256, 300].repeat(3))
    {
        let mut setup = Setup::draw(&mut rng, case % 2 == 1, 1 + case / 2 % 2);
        setup.channels = [channels, 16 + case % 2];
        let dtype = [DType::BF16, DType::F16, DType::F32][case % 3];
        // Exponents from 2^-10 to 2^2 make some segments wide.
        let mut values = |n: usize| -> (CpuStorage, Vec<f32>) {
            let small = |v: f32, i: usize| v * 2f32.powi(-((i * 7 % 13) as i32));
            let all: Vec<f32> = rng.floats(n).into_iter().enumerate().map(|(i, v)| small(v, i)).collect();
            let rounded = storage(&all).to_dtype(&Layout::contiguous(n), dtype).unwrap();
            let widened = vec::<f32>(&rounded.to_dtype(&Layout::contiguous(n), DType::F32).unwrap());
            (rounded, widened)
        };
        let [(x, wide_x), (k, wide_k)] = [values(product(&setup.src())), values(product(&setup.kernel()))];
        let want = setup.by_the_rule(&wide_x, &wide_k, 0.0, |factors| block_product(factors, channels, dtype));
        let want = vec::<f32>(&{
            let all = Layout::contiguous(want.len());
            storage(&want).to_dtype(&all, dtype).unwrap().to_dtype(&all, DType::F32).unwrap()
        });
        let (xl, kl) = (Layout::contiguous(setup.src()), Layout::contiguous(setup.kernel()));
        let got = apply(&setup.op().with_numerics(Some(Numerics::Block)), &x, &xl, &k, &kl);
        assert_same(&vec::<f32>(&got.to_dtype(&Layout::contiguous(got.len()), DType::F32).unwrap()), &want);
    }
}

#[test]
fn few_output_channels_are_chains() {
    let mut rng = Rng(66);
    for transposed in [false, true] {
        let setup = Setup { channels: [40, 15], ..Setup::draw(&mut rng, transposed, 2) };
        let [x, k] = [setup.src(), setup.kernel()].map(|dims| storage(&rng.floats(product(&dims))));
        let [xl, kl] = [setup.src(), setup.kernel()].map(Layout::contiguous);
        let [block, portable] = [Numerics::Block, Numerics::Portable]
            .map(|numerics| vec::<f32>(&apply(&setup.op().with_numerics(Some(numerics)), &x, &xl, &k, &kl)));
        assert_same(&block, &portable);
    }
}

/// A convolution of one tap is the product of kernel and input, also where a line has an infinity
/// or a NaN.
#[test]
fn one_tap_is_a_block_product() {
    let mut rng = Rng(65);
    for channels in [5, 64, 100, 130, 300] {
        let (mut x, mut k) = (rng.floats(channels * 12), rng.floats(17 * channels));
        (x[17], x[30], k[channels * 3]) = (f32::INFINITY, f32::NAN, f32::NEG_INFINITY);
        let (x, k) = (storage(&x), storage(&k));
        let op = Op::Conv2d(Conv2d::default()).with_numerics(Some(Numerics::Block));
        let [xl, kl] = [[1, channels, 3, 4], [17, channels, 1, 1]].map(Layout::contiguous);
        let got = vec::<f32>(&apply(&op, &x, &xl, &k, &kl));
        let matmul = Matmul::with_numerics(Numerics::Block);
        let [xl, kl] = [[channels, 12], [17, channels]].map(Layout::contiguous);
        let want = vec::<f32>(&k.matmul(&kl, &x, &xl, matmul).unwrap());
        for (got, want) in got.iter().zip(&want) {
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{got}, not {want}");
        }
    }
}

#[test]
fn blocks_and_segments_meet_at_every_size() {
    let mut rng = Rng(61);
    let base = Setup {
        batch: 2,
        groups: 1,
        channels: [1, 1],
        size: [9, 31],
        taps: [3, 3],
        stride: [1, 1],
        padding: [1, 1],
        dilation: [1, 1],
        output_padding: [0, 0],
        transposed: false,
    };
    let setups = [
        Setup { channels: [29, 7], ..base },
        Setup { channels: [3, 200], ..base },
        Setup { channels: [260, 1], taps: [1, 1], padding: [0, 0], ..base },
        Setup { channels: [1, 1], groups: 40, ..base },
        Setup { channels: [2, 3], groups: 5, stride: [2, 3], ..base },
        Setup { channels: [70, 5], transposed: true, stride: [2, 2], output_padding: [1, 0], ..base },
        Setup { channels: [1, 2], transposed: true, stride: [5, 7], taps: [2, 2], padding: [0, 1], ..base },
        Setup { channels: [300, 2], transposed: true, stride: [3, 2], dilation: [2, 2], size: [2, 3], ..base },
    ];
    for setup in setups {
        let (x, k) = (rng.floats(product(&setup.src())), rng.floats(product(&setup.kernel())));
        let want = setup.by_the_rule(&x, &k, 0.0, segments_f32);
        let (xl, kl) = (Layout::contiguous(setup.src()), Layout::contiguous(setup.kernel()));
        assert_same(&vec::<f32>(&apply(&setup.op(), &storage(&x), &xl, &storage(&k), &kl)), &want);
    }
}

#[test]
fn any_layout_on_every_operand() {
    let mut rng = Rng(62);
    let strided = |rng: &mut Rng, dims: [usize; 4]| {
        let kind = rng.below(4);
        let [a, b, c, d] = dims;
        let layout = match kind {
            0 => Layout::contiguous([a, c, d, b]).permute(&[0, 3, 1, 2]).unwrap(),
            1 => Layout::contiguous([a, b, c, d + 3]).narrow(3, 2, d).unwrap(),
            2 => Layout::contiguous([a, b, 2 * c, d]).step(2, 2).unwrap(),
            _ => Layout::contiguous([d, c, b, a]).permute(&[3, 2, 1, 0]).unwrap(),
        };
        let len = layout.required_len().unwrap();
        (layout, len)
    };
    for case in 0..60 {
        let setup = Setup::draw(&mut rng, case % 2 == 1, 2);
        let ((xl, x_len), (kl, k_len)) = (strided(&mut rng, setup.src()), strided(&mut rng, setup.kernel()));
        let (dl, d_len) = strided(&mut rng, setup.dst());
        let (x, k) = (rng.floats(x_len), rng.floats(k_len));
        let logical = |data: &[f32], l: &Layout| l.strided_index().map(|i| data[i]).collect::<Vec<_>>();
        let want = setup.by_the_rule(&logical(&x, &xl), &logical(&k, &kl), 0.0, segments_f32);
        let mut dst = storage(&vec![9f32; d_len]);
        let (sx, sk) = (storage(&x), storage(&k));
        let inputs = [Src::Storage(&sx, &xl), Src::Storage(&sk, &kl)];
        CpuStorage::apply_into(&setup.op(), &inputs, &mut dst, &dl).unwrap();
        let mut expected = vec![9f32; d_len];
        dl.strided_index().zip(want).for_each(|(i, v)| expected[i] = v);
        assert_same(&vec::<f32>(&dst), &expected);
    }
}

#[test]
fn narrow_floats_accumulate_in_f32_and_f64_in_f64() {
    let mut rng = Rng(63);
    for transposed in [false, true] {
        let setup = Setup { channels: [40, 3], ..Setup::draw(&mut rng, transposed, 2) };
        let (xl, kl) = (Layout::contiguous(setup.src()), Layout::contiguous(setup.kernel()));
        let (x, k) = (rng.floats(xl.elem_count()), rng.floats(kl.elem_count()));
        for dtype in [DType::F16, DType::BF16] {
            let (sx, sk) = (storage(&x).to_dtype(&xl, dtype).unwrap(), storage(&k).to_dtype(&kl, dtype).unwrap());
            let widen = |s: &CpuStorage, l| vec::<f32>(&s.to_dtype(l, DType::F32).unwrap());
            let want = storage(&setup.by_the_rule(&widen(&sx, &xl), &widen(&sk, &kl), 0.0, segments_f32));
            let want = want.to_dtype(&Layout::contiguous(setup.dst()), dtype).unwrap();
            assert_eq!(canonical(&apply(&setup.op(), &sx, &xl, &sk, &kl)), canonical(&want), "{dtype} {setup:?}");
        }
        let [x, k] = [x, k].map(|v| v.iter().map(|&v| f64::from(v) / 3.0).collect::<Vec<f64>>());
        let want = setup.by_the_rule(&x, &k, 0.0, |f| segments(f, 0.0, f64::mul_add, |a, b| a + b));
        assert_same(&vec::<f64>(&apply(&setup.op(), &storage(&x), &xl, &storage(&k), &kl)), &want);
    }
}

/// Sums of small integers are exact in any order, so each input can be spread to the outputs that
/// its taps reach.
#[test]
fn a_transpose_is_what_its_inputs_spread() {
    let mut rng = Rng(64);
    for _ in 0..60 {
        let setup = Setup::draw(&mut rng, true, 2);
        let mut small = |n: usize| (0..n).map(|_| rng.below(17) as f32 - 8.0).collect::<Vec<_>>();
        let (x, k) = (small(product(&setup.src())), small(product(&setup.kernel())));
        let [batch, channels, out_h, out_w] = setup.dst();
        let ([cin, cout], [size_h, size_w], [taps_h, taps_w]) = (setup.channels, setup.size, setup.taps);
        let mut want = vec![0f32; product(&setup.dst())];
        for (at, &value) in x.iter().enumerate() {
            let (w, h) = (at % size_w, at / size_w % size_h);
            let (ci, n) = (at / size_w / size_h % (setup.groups * cin), at / size_w / size_h / (setup.groups * cin));
            for (co, tap) in (0..cout).flat_map(|c| (0..taps_h * taps_w).map(move |t| (c, t))) {
                let reach = |d: usize, i: usize, t: usize| {
                    (i * setup.stride[d] + t * setup.dilation[d]).checked_sub(setup.padding[d])
                };
                let (Some(y), Some(x)) = (reach(0, h, tap / taps_w), reach(1, w, tap % taps_w)) else { continue };
                if y < out_h && x < out_w {
                    let c = ci / cin * cout + co;
                    want[((n * channels + c) * out_h + y) * out_w + x] +=
                        value * k[(ci * cout + co) * taps_h * taps_w + tap];
                }
            }
        }
        assert_eq!(batch, setup.batch);
        let (xl, kl) = (Layout::contiguous(setup.src()), Layout::contiguous(setup.kernel()));
        assert_eq!(vec::<f32>(&apply(&setup.op(), &storage(&x), &xl, &storage(&k), &kl)), want, "{setup:?}");
    }
}

#[test]
fn padding_takes_part_as_zeros() {
    let l = Layout::contiguous([1, 1, 1]);
    let k = Layout::contiguous([1, 1, 3]);
    let op = Op::Conv1d(Conv1d::default().with_padding([1]));
    let at = |x: f32, w: [f32; 3]| vec::<f32>(&apply(&op, &storage(&[x]), &l, &storage(&w), &k))[0];
    assert_eq!(at(2.0, [5.0, 3.0, 7.0]), 6.0);
    assert!(at(2.0, [f32::INFINITY, 3.0, 7.0]).is_nan(), "infinity times a zero of the padding");
    // An underflow to -0 becomes +0 when a product of +0 follows, and stays -0 when a product of -0
    // (a negative weight) follows.
    let tiny = 1e-30f32;
    assert_eq!(at(-tiny, [0.0, tiny, 1.0]).to_bits(), 0);
    assert_eq!(at(-tiny, [0.0, tiny, -1.0]).to_bits(), (-0f32).to_bits());
}

#[test]
fn nothing_to_sum_is_zero() {
    let x = storage::<bf16>(&[]);
    let (xl, kl) = (Layout::contiguous([2, 0, 3, 3]), Layout::contiguous([4, 0, 2, 2]));
    let got = apply(&Op::Conv2d(Conv2d::default()), &x, &xl, &x, &kl);
    assert_same(&vec::<bf16>(&got), &[bf16::ZERO; 2 * 4 * 2 * 2]);
    // Outputs that no tap reaches.
    let op = Op::ConvTranspose1d(ConvTranspose1d::default().with_stride([3]));
    let (l, k) = (Layout::contiguous([1, 1, 2]), Layout::contiguous([1, 1, 1]));
    assert_same(&vec::<f32>(&apply(&op, &storage(&[2f32, 3.0]), &l, &storage(&[5f32]), &k)), &[10.0, 0.0, 0.0, 15.0]);
    // An input of width 0 between paddings.
    let op = Op::Conv1d(Conv1d::default().with_padding([2]));
    let got = apply(
        &op,
        &storage::<f32>(&[]),
        &Layout::contiguous([1, 1, 0]),
        &storage(&[1f32, 2.0]),
        &Layout::contiguous([1, 1, 2]),
    );
    assert_same(&vec::<f32>(&got), &[0.0; 3]);
}

/// The same operation with a bias.
fn biased(op: Op) -> Op {
    match op {
        Op::Conv2d(p) => Op::Conv2d(p.with_bias(true)),
        Op::ConvTranspose1d(p) => Op::ConvTranspose1d(p.with_bias(true)),
        Op::ConvTranspose2d(p) => Op::ConvTranspose2d(p.with_bias(true)),
        other => unreachable!("{other} is not among these tests"),
    }
}

fn cast(x: &CpuStorage, dtype: DType, dims: &[usize]) -> CpuStorage {
    let mut dst = CpuDevice.zeros(&dims.into(), dtype).unwrap();
    let l = Layout::contiguous(dims);
    CpuStorage::apply_into(&Op::Cast(Cast::default()), &[Src::Storage(x, &l)], &mut dst, &l).unwrap();
    dst
}

#[test]
fn a_bias_is_added_before_the_results_are_rounded() {
    let mut rng = Rng(404);
    for round in 0..48 {
        let setup = Setup::draw(&mut rng, round % 2 == 1, 2);
        let setup =
            Setup { channels: [setup.channels[0], if round % 3 == 0 { 17 } else { setup.channels[1] }], ..setup };
        let numerics = if round % 3 == 0 { Numerics::Block } else { Numerics::Portable };
        let op = setup.op().with_numerics(Some(numerics));
        let (src, kernel, dst) = (setup.src(), setup.kernel(), setup.dst());
        let (xl, kl, dl) = (Layout::contiguous(src), Layout::contiguous(kernel), Layout::contiguous(dst));
        // Every other element of a buffer.
        let bl = Layout::new(dst[1], [2].as_slice(), 1).unwrap();
        let [x, k, b] = [xl.elem_count(), kl.elem_count(), 2 * dst[1]].map(|n| storage(&rng.floats(n)));
        let with = |x: &CpuStorage, k: &CpuStorage, b: &CpuStorage| {
            CpuStorage::apply(&biased(op.clone()), &[(x, &xl), (k, &kl), (b, &bl)]).unwrap()
        };
        let plain = apply(&op, &x, &xl, &k, &kl);
        let repeated = Layout::new(dst, [0, 2, 0, 0].as_slice(), 1).unwrap();
        let sum = CpuStorage::apply(&Op::Binary(BinaryOp::Add), &[(&plain, &dl), (&b, &repeated)]).unwrap();
        assert_eq!(canonical(&with(&x, &k, &b)), canonical(&sum), "{setup:?}");
        // Chains of f16 are those of f32 until they are rounded. Block products differ: f16 has
        // integers of its own.
        if numerics == Numerics::Portable {
            let narrow = |x: &CpuStorage, dims: &[usize]| cast(x, DType::F16, dims);
            let [x, k, b] = [narrow(&x, &src), narrow(&k, &kernel), narrow(&b, &[2 * dst[1]])];
            let wide = |x: &CpuStorage, dims: &[usize]| cast(x, DType::F32, dims);
            let want = with(&wide(&x, &src), &wide(&k, &kernel), &wide(&b, &[2 * dst[1]]));
            assert_eq!(canonical(&with(&x, &k, &b)), canonical(&narrow(&want, &dst)), "{setup:?}");
        }
    }
}

#[test]
fn a_bias_stands_alone_where_nothing_is_summed() {
    let x = storage::<f32>(&[]);
    let (xl, kl) = (Layout::contiguous([1, 0, 1, 2]), Layout::contiguous([3, 0, 1, 1]));
    let inputs = [(&x, &xl), (&x, &kl), (&storage(&[1.5f32, -0.0, f32::NAN]), &Layout::contiguous(3))];
    let got = CpuStorage::apply(&biased(Op::Conv2d(Conv2d::default())), &inputs).unwrap();
    assert_same(&vec::<f32>(&got), &[1.5, 1.5, 0.0, 0.0, f32::NAN, f32::NAN]);
    // Outputs that no tap reaches.
    let op = biased(Op::ConvTranspose1d(ConvTranspose1d::default().with_stride([3])));
    let (l, k) = (Layout::contiguous([1, 1, 2]), Layout::contiguous([1, 1, 1]));
    let inputs =
        [(&storage(&[2f32, 3.0]), &l), (&storage(&[5f32]), &k), (&storage(&[0.25f32]), &Layout::contiguous(1))];
    assert_same(&vec::<f32>(&CpuStorage::apply(&op, &inputs).unwrap()), &[10.25, 0.25, 0.25, 15.25]);
}

#[test]
fn extreme_parameters_are_no_trouble() {
    let l = Layout::contiguous([1, 1, 3]);
    let x = storage(&[1f32, 2.0, 3.0]);
    let far = usize::MAX / 4;
    let op = Op::Conv1d(Conv1d::default().with_padding([far]).with_stride([far]));
    let one = Layout::contiguous([1, 1, 1]);
    assert_same(&vec::<f32>(&apply(&op, &x, &l, &storage(&[2f32]), &one)), &[0.0, 2.0, 0.0]);
    let op = Op::Conv1d(Conv1d::default().with_padding([far]).with_dilation([far]));
    let three = Layout::contiguous([1, 1, 3]);
    assert_same(&vec::<f32>(&apply(&op, &x, &l, &storage(&[7f32, 2.0, 5.0]), &three)), &[2.0, 4.0, 6.0]);
    let op = Op::ConvTranspose1d(ConvTranspose1d::default().with_stride([usize::MAX]));
    assert_same(
        &vec::<f32>(&apply(&op, &storage(&[3f32]), &one, &storage(&[2f32, 4.0]), &Layout::contiguous([1, 1, 2]))),
        &[6.0, 12.0],
    );
    let op = Op::ConvTranspose1d(ConvTranspose1d::default().with_stride([usize::MAX / 2]).with_dilation([usize::MAX]));
    let error = CpuStorage::apply(&op, &[(&x, &l), (&storage(&[7f32, 2.0, 5.0]), &three)]).unwrap_err();
    assert_eq!(error.kind(), isobit_hal::ErrorKind::InvalidArgument, "{error}");
}

#[test]
fn the_baseline_gives_the_same_bits() {
    let mut rng = Rng(65);
    for (groups, channels) in [(1, [30, 13]), (6, [1, 1])] {
        let mut setup = Setup::draw(&mut rng, false, 2);
        (setup.groups, setup.channels) = (groups, channels);
        let (xl, kl) = (Layout::contiguous(setup.src()), Layout::contiguous(setup.kernel()));
        let (x, k) = (storage(&rng.floats(xl.elem_count())), storage(&rng.floats(kl.elem_count())));
        let run = || apply(&setup.op(), &x, &xl, &k, &kl);
        assert_eq!(canonical(&run()), canonical(&force_baseline(run)), "{setup:?}");
    }
}

/// Returns the convolution over three dimensions whose dimension `at` is one that `setup` lacks.
fn with_dimension(setup: &Setup, at: usize) -> Op {
    let three = |[h, w]: [usize; 2], one| {
        let mut all = vec![h, w];
        all.insert(at, one);
        <[usize; 3]>::try_from(all).unwrap()
    };
    let (stride, padding, dilation) = (three(setup.stride, 1), three(setup.padding, 0), three(setup.dilation, 1));
    if setup.transposed {
        let op = ConvTranspose3d::default().with_stride(stride).with_padding(padding).with_dilation(dilation);
        Op::ConvTranspose3d(op.with_groups(setup.groups).with_output_padding(three(setup.output_padding, 0)))
    } else {
        let op = Conv3d::default().with_stride(stride).with_padding(padding).with_dilation(dilation);
        Op::Conv3d(op.with_groups(setup.groups))
    }
}

#[test]
fn volumes_of_one_plane_are_planes() {
    let mut rng = Rng(97);
    for number in 0..60 {
        let setup = Setup::draw(&mut rng, number % 2 == 1, 2);
        let x = storage(&rng.floats(setup.src().iter().product()));
        let kernel = storage(&rng.floats(setup.kernel().iter().product()));
        let layout = |dims: [usize; 4], at: Option<usize>| {
            let mut dims = dims.to_vec();
            at.into_iter().for_each(|at| dims.insert(at + 2, 1));
            Layout::contiguous(dims)
        };
        let run = |op: Op, at| {
            let operands = [(&x, &layout(setup.src(), at)), (&kernel, &layout(setup.kernel(), at))];
            vec::<f32>(&CpuStorage::apply(&op, &operands).unwrap())
        };
        for at in 0..3 {
            assert_same(&run(with_dimension(&setup, at), Some(at)), &run(setup.op(), None));
        }
    }
}

#[test]
fn volumes_sum_what_the_definition_says() {
    let mut rng = Rng(98);
    let (size, taps) = ([4usize, 3, 5], [2usize, 3, 2]);
    for (stride, padding, dilation) in [
        ([1usize; 3], [0usize; 3], [1usize; 3]),
        ([2, 1, 3], [1, 2, 0], [1; 3]),
        ([1, 2, 1], [2, 1, 1], [2, 1, 3]),
        ([3, 2, 2], [0, 1, 2], [2, 1, 2]),
    ] {
        for transposed in [false, true] {
            let mut integers = |n: usize| (0..n).map(|_| rng.below(9) as f32 - 4.0).collect::<Vec<_>>();
            let (x, kernel) = (integers(2 * 60), integers(2 * 3 * 12));
            let (xl, kl) = (Layout::contiguous([1, 2, 4, 3, 5]), [[3, 2], [2, 3]][usize::from(transposed)]);
            let kl = Layout::contiguous([kl[0], kl[1], 2, 3, 2]);
            let plain = Conv3d::default().with_stride(stride).with_padding(padding).with_dilation(dilation);
            let back = ConvTranspose3d::default().with_stride(stride).with_padding(padding).with_dilation(dilation);
            let op = if transposed { Op::ConvTranspose3d(back) } else { Op::Conv3d(plain) };
            let shape = op.result_shape(&[xl.shape(), kl.shape()]).unwrap().unwrap();
            let outputs = [2, 3, 4].map(|d| shape.dims()[d]);
            let flat = |at: [usize; 3], of: [usize; 3]| (at[0] * of[1] + at[1]) * of[2] + at[2];
            let all = |of: [usize; 3]| {
                (0..of.iter().product::<usize>()).map(move |i| [i / of[2] / of[1], i / of[2] % of[1], i % of[2]])
            };
            // The side that the kernel slides over, and the one with an element for each place of
            // it.
            let (wide, narrow) = if transposed { (outputs, size) } else { (size, outputs) };
            let mut want = vec![0.0f32; 3 * outputs.iter().product::<usize>()];
            for (at, tap) in all(narrow).flat_map(|at| all(taps).map(move |tap| (at, tap))) {
                let place = |d: usize| (at[d] * stride[d] + tap[d] * dilation[d]).checked_sub(padding[d]);
                let place = [0, 1, 2].map(|d| place(d).filter(|&p| p < wide[d]));
                let [Some(z), Some(y), Some(w)] = place else { continue };
                let (far, near) = (flat([z, y, w], wide), flat(at, narrow));
                let (from, to) = if transposed { (near, far) } else { (far, near) };
                for (i, o) in (0..2).flat_map(|i| (0..3).map(move |o| (i, o))) {
                    let channel = if transposed { i * 3 + o } else { o * 2 + i };
                    want[o * outputs.iter().product::<usize>() + to] +=
                        x[i * 60 + from] * kernel[channel * 12 + flat(tap, taps)];
                }
            }
            let got = CpuStorage::apply(&op, &[(&storage(&x), &xl), (&storage(&kernel), &kl)]).unwrap();
            assert_same(&vec::<f32>(&got), &want);
        }
    }
}
