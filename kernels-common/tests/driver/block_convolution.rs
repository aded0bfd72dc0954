//! Convolutions as block products, with inputs and weights that call for other paths than their
//! neighbours: wide and far ones, and infinities, which make chains of some results. Some have a
//! bias. The CPU computes them in another way.

use super::{Device, assert_same_bits, bits, device};
use isobit_hal::{
    BackendDevice, BackendStorage, Conv1d, Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d, CpuDevice, CpuStorage,
    DType, Layout, Numerics, Op,
};

/// An operation, and the dimensions of its inputs.
struct Work {
    op: Op,
    inputs: Vec<Vec<usize>>,
}

impl Work {
    fn new(op: Op, src: &[usize], kernel: &[usize]) -> Self {
        Self { op: op.with_numerics(Some(Numerics::Block)), inputs: vec![src.to_vec(), kernel.to_vec()] }
    }

    /// One with a bias of so many channels.
    fn biased(op: Op, src: &[usize], kernel: &[usize], channels: usize) -> Self {
        let mut work = Self::new(op, src, kernel);
        work.inputs.push(vec![channels]);
        work
    }

    fn run<S: BackendStorage>(&self, inputs: &[S]) -> S {
        let layouts: Vec<Layout> = self.inputs.iter().map(|dims| Layout::contiguous(dims.as_slice())).collect();
        let srcs: Vec<_> = inputs.iter().zip(&layouts).collect();
        S::apply(&self.op, &srcs).unwrap()
    }
}

/// Whether the card is simulated, where each tile of products takes a tenth of a second.
pub(super) fn is_simulated() -> bool {
    std::env::var_os("ISOBIT_SIM_DEFER").is_some()
}

/// One for each way through the kernels: packed pixels, gathered where a card has warpgroups and
/// spread elsewhere; few input channels, with several taps per segment; strides and dilations;
/// groups of several segments; one tap, which makes it a matrix product; phases, also one without
/// taps; one and three dimensions; and more tiles than a card takes at once.
fn works() -> Vec<Work> {
    let plain = Conv2d::default();
    let padded = plain.with_padding([1, 1]);
    let doubled = ConvTranspose2d::default().with_stride([2, 2]);
    let volume = Conv3d::default().with_padding([1, 0, 1]);
    let doubled_volume = ConvTranspose3d::default().with_stride([1, 2, 2]);
    let halves = Op::Conv2d(plain.with_groups(2).with_bias(true));
    if is_simulated() {
        return vec![
            Work::biased(Op::Conv2d(padded.with_bias(true)), &[2, 34, 3, 4], &[17, 34, 2, 2], 17),
            Work::new(Op::Conv2d(plain.with_padding([3, 2])), &[1, 5, 5, 6], &[16, 5, 7, 4]),
            Work::biased(halves, &[1, 40, 4, 5], &[34, 20, 1, 1], 34),
            Work::new(Op::ConvTranspose2d(doubled), &[1, 36, 3, 4], &[36, 17, 2, 2]),
            Work::new(Op::Conv3d(volume), &[1, 34, 2, 2, 3], &[17, 34, 2, 1, 2]),
        ];
    }
    vec![
        Work::new(Op::Conv2d(padded), &[2, 40, 17, 16], &[70, 40, 3, 3]),
        Work::biased(Op::Conv2d(padded.with_bias(true)), &[2, 40, 17, 16], &[70, 40, 3, 3], 70),
        Work::new(Op::Conv2d(plain.with_padding([3, 2])), &[2, 5, 19, 18], &[20, 5, 7, 5]),
        Work::new(Op::Conv2d(padded.with_stride([2, 3]).with_dilation([2, 1])), &[3, 33, 30, 31], &[17, 33, 3, 2]),
        Work::biased(Op::Conv2d(padded.with_groups(2).with_bias(true)), &[1, 260, 9, 21], &[40, 130, 2, 3], 40),
        Work::biased(halves, &[2, 80, 17, 16], &[70, 40, 1, 1], 70),
        Work::new(Op::ConvTranspose2d(doubled.with_output_padding([1, 0])), &[2, 36, 11, 13], &[36, 30, 3, 3]),
        Work::biased(Op::ConvTranspose2d(doubled.with_bias(true)), &[2, 36, 11, 13], &[36, 30, 1, 3], 30),
        Work::new(Op::Conv1d(Conv1d::default().with_padding([2])), &[3, 130, 200], &[66, 130, 4]),
        Work::new(Op::Conv2d(plain), &[8, 33, 65, 64], &[16, 33, 2, 1]),
        Work::new(Op::Conv3d(volume), &[2, 40, 7, 9, 11], &[36, 40, 3, 2, 3]),
        Work::new(Op::Conv3d(volume.with_dilation([2, 1, 1])), &[1, 6, 8, 9, 10], &[20, 6, 2, 3, 2]),
        Work::new(Op::ConvTranspose3d(doubled_volume), &[1, 36, 4, 5, 6], &[36, 20, 2, 3, 2]),
    ]
}

/// A number from -1 to 1 that depends on `i` alone, like a random one.
fn number(i: usize) -> f32 {
    let bits = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (bits ^ bits >> 29) as u32 as f32 / (1u64 << 31) as f32 - 1.0
}

fn elements(dims: &[usize], dtype: DType, of: impl Fn(usize) -> f32) -> CpuStorage {
    let all: Vec<f32> = (0..dims.iter().product()).map(of).collect();
    let layout = Layout::contiguous(all.len());
    CpuDevice.storage_from_slice(&all).unwrap().to_dtype(&layout, dtype).unwrap()
}

/// Minus infinity for one channel, whose results that are plus infinity, and chains, become NaNs.
fn bias(i: usize) -> f32 {
    if i == 3 { f32::NEG_INFINITY } else { number(i + 2_000_003) }
}

/// Compares every convolution of elements that these functions make of their numbers.
#[track_caller]
fn check(device: &Device, dtypes: &[DType], of_input: impl Fn(usize) -> f32, of_kernel: impl Fn(usize) -> f32) {
    let dtypes = if is_simulated() { &dtypes[..1] } else { dtypes };
    for work in works() {
        for &dtype in dtypes {
            let of: [&dyn Fn(usize) -> f32; 3] = [&of_input, &of_kernel, &bias];
            let inputs: Vec<_> = work.inputs.iter().zip(of).map(|(dims, of)| elements(dims, dtype, of)).collect();
            let want = bits(&work.run(&inputs));
            let inputs: Vec<_> = inputs.iter().map(|s| device.storage_from_cpu_storage(s).unwrap()).collect();
            let got = bits(&work.run(&inputs));
            assert_same_bits(&got, &want, format!("{dtype}, {:?} of {:?}", work.op, work.inputs));
        }
    }
}

const ALL: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// Small elements beside those of size 1, of which the first level keeps few bits.
fn wide(i: usize) -> f32 {
    number(i) * if number(i + 7).abs() < 0.02 { 1.0 } else { 2f32.powi(-9 - (i % 5) as i32) }
}

#[test]
fn elements_of_like_size() {
    let Some(device) = device() else { return };
    check(&device, &ALL, number, |i| number(i + 1_000_003));
}

#[test]
fn segments_of_some_pixels_or_channels_are_wide() {
    let Some(device) = device() else { return };
    let some = |i: usize| if (i / 500).is_multiple_of(3) { wide(i) } else { number(i) };
    check(&device, &ALL, some, |i| number(i + 1_000_003));
    check(&device, &ALL[..1], number, some);
    check(&device, &[DType::BF16, DType::F32], wide, |i| wide(i + 1_000_003));
}

#[test]
fn an_infinity_makes_chains_of_the_results_that_it_is_a_factor_of() {
    let Some(device) = device() else { return };
    let some = |i: usize| match i {
        100 => f32::INFINITY,
        271 => f32::NAN,
        _ => number(i),
    };
    check(&device, &[DType::BF16, DType::F32], some, |i| number(i + 1_000_003));
    check(&device, &[DType::F16], number, some);
    check(&device, &[DType::BF16], some, |i| if i == 77 { f32::NEG_INFINITY } else { number(i) });
}

#[test]
fn steps_may_be_far_from_those_of_other_pixels() {
    let Some(device) = device() else { return };
    for exponent in [60, 90, -90, -130] {
        let scale = 2f32.powi(exponent / 2) * 2f32.powi(exponent - exponent / 2);
        let some = |i: usize| if (i / 300).is_multiple_of(5) { number(i) * scale } else { number(i) };
        check(&device, &[DType::BF16], some, |i| number(i + 1_000_003));
        check(&device, &[DType::F32], number, some);
        // Whole images, except where they are small.
        let images = |i: usize| if i / 8192 % 2 == 1 { number(i) * scale } else { number(i) };
        check(&device, &[DType::BF16], images, |i| number(i + 1_000_003));
    }
}

#[test]
fn groups_that_share_their_weights_have_biases_of_their_own() {
    let Some(device) = device() else { return };
    let op = Op::Conv2d(Conv2d::default().with_groups(2).with_bias(true).with_numerics(Numerics::Block));
    // One row of weights for all channels.
    let layouts = [
        Layout::contiguous((1, 40, 4, 5)),
        Layout::new((34, 20, 1, 1), [0, 1, 1, 1].as_slice(), 0).unwrap(),
        Layout::contiguous(34),
    ];
    let inputs = [(800, 0), (20, 1_000_003), (34, 2_000_003)];
    let inputs = inputs.map(|(count, from)| elements(&[count], DType::BF16, |i| number(i + from)));
    let want = CpuStorage::apply(&op, &inputs.iter().zip(&layouts).collect::<Vec<_>>()).unwrap();
    let inputs = inputs.map(|s| device.storage_from_cpu_storage(&s).unwrap());
    let got = BackendStorage::apply(&op, &inputs.iter().zip(&layouts).collect::<Vec<_>>()).unwrap();
    assert_same_bits(&bits(&got), &bits(&want), "weights of all channels are one row");
}
