//! Vendor libraries through the runtime's hooks. Each driver includes this file and defines its
//! device type. The tests cover what a driver adds to a library. Without a GPU or the library, each
//! test reports that it was skipped.

use super::{Device, Storage, device_count};
use half::{bf16, f16};
use isobit_hal::{BackendDevice, BackendStorage, DType, Layout, Numerics, Op, RandNormal, RandUniform, Shape};
use isobit_kernels::{Conv, Strided, Vendor, VendorRuntime};

pub(super) fn device() -> Option<Device> {
    match device_count() {
        Ok(n) if n > 0 => Some(Device::new(0).expect("a device that is counted opens")),
        found => {
            eprintln!("skipped: this test needs a GPU ({found:?})");
            None
        }
    }
}

/// The sizes and parameters of a problem.
#[derive(Debug, Clone, Copy)]
struct Problem {
    transposed: bool,
    src: [usize; 4],
    kernel: [usize; 4],
    stride: [usize; 2],
    padding: [usize; 2],
    /// More padding after than before.
    more_after: [usize; 2],
    output_padding: [usize; 2],
    dilation: [usize; 2],
    groups: usize,
}

const PLAIN: Problem = Problem {
    transposed: false,
    src: [2, 8, 9, 11],
    kernel: [16, 8, 3, 3],
    stride: [1, 1],
    padding: [1, 1],
    more_after: [0, 0],
    output_padding: [0, 0],
    dilation: [1, 1],
    groups: 1,
};

fn problems() -> Vec<Problem> {
    let transposed = Problem { transposed: true, kernel: [8, 16, 3, 3], ..PLAIN };
    vec![
        PLAIN,
        Problem { stride: [2, 3], padding: [0, 2], dilation: [2, 1], ..PLAIN },
        Problem { kernel: [4, 2, 3, 2], groups: 4, ..PLAIN },
        Problem { kernel: [8, 1, 3, 3], groups: 8, ..PLAIN },
        // Over one dimension, which is the width.
        Problem { src: [3, 6, 1, 50], kernel: [5, 6, 1, 5], stride: [1, 2], padding: [0, 3], ..PLAIN },
        Problem { src: [1, 1, 1, 1], kernel: [1, 1, 1, 1], padding: [0, 0], ..PLAIN },
        Problem { more_after: [1, 2], ..PLAIN },
        // More products per sum than a warp has threads.
        Problem { src: [1, 70, 5, 5], kernel: [3, 70, 3, 3], ..PLAIN },
        transposed,
        Problem { stride: [2, 2], output_padding: [1, 0], ..transposed },
        Problem { kernel: [8, 3, 2, 3], groups: 2, stride: [1, 3], padding: [0, 1], dilation: [2, 1], ..transposed },
        Problem { src: [2, 8, 1, 20], kernel: [8, 4, 1, 4], stride: [1, 2], padding: [0, 1], ..transposed },
    ]
}

impl Problem {
    fn result(&self) -> [usize; 4] {
        let channels = if self.transposed { self.kernel[1] * self.groups } else { self.kernel[0] };
        let size = |d: usize| {
            let (size, reach) = (self.src[2 + d], self.dilation[d] * (self.kernel[2 + d] - 1) + 1);
            if self.transposed {
                (size - 1) * self.stride[d] + reach + self.output_padding[d] - 2 * self.padding[d] - self.more_after[d]
            } else {
                (size + 2 * self.padding[d] + self.more_after[d] - reach) / self.stride[d] + 1
            }
        };
        [self.src[0], channels, size(0), size(1)]
    }

    /// Returns each result, the sum of the magnitudes of its products, and their number.
    fn exact(&self, src: &[f64], kernel: &[f64]) -> Vec<(f64, f64, usize)> {
        let result = self.result();
        let at = |d: [usize; 4], i: [usize; 4]| ((i[0] * d[1] + i[1]) * d[2] + i[2]) * d[3] + i[3];
        let mut sums = vec![(0.0, 0.0, 0); result.iter().product()];
        // The side that the kernel slides over, and the side with one element for each of its
        // positions.
        let (wide, narrow) = if self.transposed { (result, self.src) } else { (self.src, result) };
        let group = [narrow[1] / self.groups, wide[1] / self.groups];
        for n in 0..narrow[0] {
            for (k, c) in (0..narrow[1]).flat_map(|k| (0..group[1]).map(move |c| (k, c))) {
                for (h, w) in (0..narrow[2]).flat_map(|h| (0..narrow[3]).map(move |w| (h, w))) {
                    for (r, s) in (0..self.kernel[2]).flat_map(|r| (0..self.kernel[3]).map(move |s| (r, s))) {
                        let along = |d: usize, i: usize, tap: usize| {
                            let place = i * self.stride[d] + tap * self.dilation[d];
                            place.checked_sub(self.padding[d]).filter(|&p| p < wide[2 + d])
                        };
                        let (Some(y), Some(x)) = (along(0, h, r), along(1, w, s)) else { continue };
                        let channel = k / group[0] * group[1] + c;
                        let (far, near) = (at(wide, [n, channel, y, x]), at(narrow, [n, k, h, w]));
                        let (from, to) = if self.transposed { (near, far) } else { (far, near) };
                        let product = src[from] * kernel[at(self.kernel, [k, c, r, s])];
                        let sum = &mut sums[to];
                        *sum = (sum.0 + product, sum.1 + product.abs(), sum.2 + 1);
                    }
                }
            }
        }
        sums
    }
}

/// Returns numbers that every dtype represents, their storage, and the unit in the last place of 1.
fn operand(device: &Device, dtype: DType, len: usize, salt: usize) -> (Vec<f64>, Storage) {
    let values: Vec<f64> = (0..len).map(|i| ((i * 37 + salt * 11) % 61) as f64 / 16.0 - 1.75).collect();
    let storage = match dtype {
        DType::F16 => device.storage_from_slice(&values.iter().map(|&x| f16::from_f64(x)).collect::<Vec<_>>()),
        DType::BF16 => device.storage_from_slice(&values.iter().map(|&x| bf16::from_f64(x)).collect::<Vec<_>>()),
        DType::F32 => device.storage_from_slice(&values.iter().map(|&x| x as f32).collect::<Vec<_>>()),
        _ => device.storage_from_slice(&values),
    };
    (values, storage.unwrap())
}

fn download(storage: &Storage) -> Vec<f64> {
    match storage.dtype() {
        DType::F16 => storage.to_vec::<f16>().unwrap().into_iter().map(f64::from).collect(),
        DType::BF16 => storage.to_vec::<bf16>().unwrap().into_iter().map(f64::from).collect(),
        DType::F32 => storage.to_vec::<f32>().unwrap().into_iter().map(f64::from).collect(),
        _ => storage.to_vec::<f64>().unwrap(),
    }
}

/// A tensor of one plane.
fn tensor(storage: &Storage, [n, c, h, w]: [usize; 4]) -> Strided<5> {
    Strided { ptr: storage.ptr(), dims: [n, c, 1, h, w], strides: [c * h * w, h * w, h * w, w, 1] }
}

/// Whether the library did it; `None` if it is not installed.
fn convolve(device: &Device, conv: &Conv) -> Option<Result<(), String>> {
    let mut held = Vec::new();
    let mut scratch = |bytes: usize| {
        // SAFETY: the workspace is written before it is read.
        let memory = unsafe { device.alloc_uninit(&Shape::from(bytes), DType::U8)? };
        let ptr = memory.ptr();
        held.push(memory);
        Ok(ptr)
    };
    // SAFETY: the tensors are allocated, and the result does not overlap the operands.
    match unsafe { device.runtime().conv(&device.stream(), conv, &mut scratch) }.unwrap() {
        Vendor::Done => Some(Ok(())),
        Vendor::Declined(why) if why.contains("not on this machine") || why.contains("was not found") => {
            eprintln!("skipped: this test needs the vendor's library for convolutions ({why})");
            None
        }
        Vendor::Declined(why) => Some(Err(why)),
    }
}

#[test]
fn convolutions_are_within_their_bound() {
    let Some(device) = device() else { return };
    for (dtype, last_place, sums) in [
        (DType::F32, 2f64.powi(-23), 2f64.powi(-24)),
        (DType::F16, 2f64.powi(-10), 2f64.powi(-24)),
        (DType::BF16, 2f64.powi(-7), 2f64.powi(-24)),
        (DType::F64, 2f64.powi(-52), 2f64.powi(-53)),
    ] {
        for problem in problems() {
            let (src, src_storage) = operand(&device, dtype, problem.src.iter().product(), 1);
            let (kernel, kernel_storage) = operand(&device, dtype, problem.kernel.iter().product(), 2);
            let result = problem.result();
            let dst = operand(&device, dtype, result.iter().product(), 3).1;
            let along = |d, [h, w]: [usize; 2]| [d, h, w];
            let conv = Conv {
                dtype,
                transposed: problem.transposed,
                src: tensor(&src_storage, problem.src),
                kernel: tensor(&kernel_storage, problem.kernel),
                dst: tensor(&dst, result),
                stride: along(1, problem.stride),
                padding_before: along(0, problem.padding),
                padding_after: along(0, std::array::from_fn(|d| problem.padding[d] + problem.more_after[d])),
                dilation: along(1, problem.dilation),
                groups: problem.groups,
            };
            // The second run uses the cached plan.
            let mut results = Vec::new();
            for _ in 0..2 {
                match convolve(&device, &conv) {
                    None => return,
                    Some(Ok(())) => results.push(download(&dst)),
                    Some(Err(why)) => {
                        // MIOpen has no f64 convolutions and one padding for both sides, cuDNN
                        // has good transposed convolutions of few channels in bf16 alone, and
                        // support for groups is up to the library.
                        let may = problem.groups > 1
                            || problem.more_after != [0, 0] && why.contains("MIOpen")
                            || dtype == DType::F64 && why.contains("MIOpen")
                            || problem.transposed && dtype != DType::BF16 && why.contains("cuDNN");
                        assert!(may, "{dtype} {problem:?}: {why}");
                        eprintln!("declined: {dtype} {problem:?}: {why}");
                    }
                }
            }
            let [first, second] = &results[..] else { continue };
            assert_eq!(first, second, "{dtype} {problem:?}: it does not repeat");
            for (i, (&got, (want, magnitudes, terms))) in first.iter().zip(problem.exact(&src, &kernel)).enumerate() {
                let terms = (terms + 1) as f64 * sums;
                let bound = terms / (1.0 - terms) * magnitudes + last_place * want.abs();
                assert!((got - want).abs() <= bound, "{dtype} {problem:?}, result {i}: {got} for {want} ± {bound}");
            }
        }
    }
}

#[test]
fn what_a_library_cannot_do_is_declined_and_touches_nothing() {
    let Some(device) = device() else { return };
    let (_, src) = operand(&device, DType::F32, 8, 1);
    let (_, kernel) = operand(&device, DType::F32, 8, 2);
    let (before, dst) = operand(&device, DType::F32, 64, 3);
    let mut conv = Conv {
        dtype: DType::F32,
        transposed: false,
        src: Strided { ptr: src.ptr(), dims: [8, 8, 1, 1, 1], strides: [0, 1, 1, 1, 1] },
        kernel: tensor(&kernel, [1, 8, 1, 1]),
        dst: tensor(&dst, [8, 1, 1, 1]),
        stride: [1; 3],
        padding_before: [0; 3],
        padding_after: [0; 3],
        dilation: [1; 3],
        groups: 1,
    };
    let Some(repeated) = convolve(&device, &conv) else { return };
    assert!(repeated.unwrap_err().contains("repeat"));
    conv.src = tensor(&src, [1, 8, 1, 1]);
    conv.dst = tensor(&dst, [1, 1, 1, 1]);
    // The kernel does not match the source, so no such convolution has this result.
    conv.kernel.dims = [1, 8, 1, 3, 1];
    assert!(convolve(&device, &conv).is_some_and(|declined| declined.is_err()));
    assert_eq!(download(&dst), before);
}

fn draw(device: &Device, op: &Op, dtype: DType, layout: &Layout, len: usize) -> Vec<f64> {
    let mut dst = device.zeros(&len.into(), dtype).unwrap();
    Storage::apply_into(op, &[], &mut dst, layout).unwrap();
    download(&dst)
}

#[test]
fn random_numbers_of_the_library_are_in_their_interval_and_repeat() {
    let Some(device) = device() else { return };
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        for n in [1, 2, 1001, 1 << 16] {
            let layout = Layout::contiguous(n);
            let uniform = RandUniform::new(-1.0, 3.0).at(42, 8).with_numerics(Numerics::Vendor);
            let [first, last] = uniform.ends(dtype);
            let numbers = draw(&device, &Op::RandUniform(uniform), dtype, &layout, n);
            assert!(numbers.iter().all(|&x| (first..=last).contains(&x)), "{dtype}");
            let other = draw(&device, &Op::RandUniform(uniform.at(43, 8)), dtype, &layout, n);
            let again = draw(&device, &Op::RandUniform(uniform), dtype, &layout, n);
            assert_eq!(numbers, again, "{dtype}: a seed does not repeat");
            assert!(n < 2 || numbers != other, "{dtype}: two seeds are one");
            let normal = RandNormal::new(5.0, 2.0).at(7, 0).with_numerics(Numerics::Vendor);
            let normals = draw(&device, &Op::RandNormal(normal), dtype, &layout, n);
            let even = draw(&device, &Op::RandNormal(normal), dtype, &Layout::contiguous(n + n % 2), n + n % 2);
            assert_eq!(normals, even[..n], "{dtype}: an odd number is the beginning of an even one");
            if n < 1 << 16 {
                continue;
            }
            for (numbers, mean, variance) in [(&numbers, 1.0, 16.0 / 12.0), (&normals, 5.0, 4.0)] {
                let n = n as f64;
                let found = numbers.iter().sum::<f64>() / n;
                let spread = numbers.iter().map(|x| (x - found).powi(2)).sum::<f64>() / n;
                // Seven standard deviations, plus the shift that rounding to eight bits may cause.
                assert!((found - mean).abs() < 7.0 * (variance / n).sqrt() + 1e-3, "{dtype}: mean {found}");
                assert!((spread / variance - 1.0).abs() < 7.0 * (2.0 / n).sqrt() + 1e-3, "{dtype}: variance {spread}");
            }
        }
    }
    if device.counters().vendor_fallbacks > 0 {
        let info = device.info().unwrap();
        assert!(!info.libraries.iter().any(|l| l.name.ends_with("RAND")), "a loaded library declined");
        eprintln!("skipped: this test needs the vendor's library for random numbers");
    }
}

#[test]
fn random_numbers_of_the_library_reach_any_layout() {
    let Some(device) = device() else { return };
    let layout = Layout::new([3, 5], isobit_hal::Dims::from_slice(&[1, 4]), 2).unwrap();
    for dtype in [DType::F16, DType::F32, DType::F64] {
        for op in [
            Op::RandUniform(RandUniform::new(1.0, 2.0).with_numerics(Numerics::Vendor)),
            Op::RandNormal(RandNormal::new(100.0, 1.0).with_numerics(Numerics::Vendor)),
        ] {
            let straight = draw(&device, &op, dtype, &Layout::contiguous([3, 5]), 15);
            let scattered = draw(&device, &op, dtype, &layout, 22);
            for (i, x) in straight.iter().enumerate() {
                assert_eq!(scattered[2 + i / 5 + i % 5 * 4], *x, "{op} {dtype}, element {i}");
            }
            assert_eq!(scattered.iter().filter(|&&x| x == 0.0).count(), 22 - 15, "nothing else is written");
        }
    }
}
