//! No simulated card is of an architecture that the library is asked for, so these tests call what
//! follows that question, on the library that stands in for AMD's on simulated cards.

use super::*;
use crate::{RocmDevice, RocmStorage};
use isobit_hal::{BackendDevice, BackendStorage, F8E4M3, F8E5M2, Shape};
use isobit_kernels::{GemmScale, Matrix, ScaledGemm};

#[test]
fn targets_with_f8_of_the_same_numbers_are_asked() {
    for arch in ["gfx950:sramecc+:xnack-", "gfx1200", "gfx1201", "gfx1250"] {
        assert_eq!(refusal(arch), None, "{arch}");
    }
    for (arch, why) in
        [("gfx942:sramecc+:xnack-", "gfx942 multiplies f8 of formats with other numbers"), ("gfx90a", "gfx90a has no")]
    {
        assert!(refusal(arch).is_some_and(|told| told.contains(why)), "{arch}");
    }
    for arch in ["gfx1030", "gfx1100", "gfx120", "gfx9", ""] {
        assert_eq!(refusal(arch).is_none(), arch.starts_with("gfx12"), "{arch}");
    }
}

/// Runs a test's body in a process of its own for each fault, with a simulated card.
fn on_the_simulator(test: &str, faults: &[&str], body: fn(&RocmDevice, &BlasLt, &str)) {
    let fault = std::env::var("ISOBIT_SIM_FAULT").unwrap_or_default();
    if isobit_simgpu_install::inside() {
        let device = RocmDevice::new(0).expect("a simulated card");
        let handle = BlasLt::new(device.runtime(), &device.stream());
        match handle {
            Ok(handle) => body(&device, &handle, &fault),
            Err(e) => {
                assert!(fault.starts_with("hipblasLtCreate") || fault.ends_with("absent"), "{e}");
                assert!(e.to_string().contains("hipBLASLt"), "{e}");
            }
        }
        return;
    }
    let installed = isobit_simgpu_install::rocm().expect("the simulator is built");
    for (fault, defer) in faults.iter().flat_map(|fault| [(fault, "0"), (fault, "1")]) {
        let mut child = installed.child(&format!("blas_lt::tests::{test}")).expect("this program starts again");
        child.env("ISOBIT_SIM_DEFER", defer).env("ISOBIT_SIM_FAULT", fault).env_remove("ISOBIT_HIPBLASLT_LIBRARY");
        let output = child.output().expect("this program starts again");
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success() && said.contains("1 passed"), "{fault:?}, deferred {defer}: {said}");
        assert!(!said.contains("simulated GPU:"), "{fault:?}, deferred {defer}: {said}");
    }
}

/// A row-major product of f8, m x k by k x n, whose scales are powers of two.
struct Problem {
    sizes: [usize; 3],
    by_line: bool,
    numbers: [Vec<f32>; 2],
    factors: [Vec<f32>; 2],
    operands: [RocmStorage; 5],
}

impl Problem {
    fn new(device: &RocmDevice, sizes: [usize; 3], by_line: bool) -> Self {
        let [m, n, k] = sizes;
        let numbers = |count: usize, salt| (0..count).map(|i| ((i * 37 + salt) % 16) as f32 / 4.0 - 2.0).collect();
        let numbers: [Vec<f32>; 2] = [numbers(m * k, 3), numbers(k * n, 5)];
        let factors =
            [m, n].map(|lines| (0..if by_line { lines } else { 1 }).map(|i| 0.5 + (i % 3) as f32).collect::<Vec<_>>());
        let a: Vec<_> = numbers[0].iter().map(|&x| F8E4M3::from_f32(x)).collect();
        let b: Vec<_> = numbers[1].iter().map(|&x| F8E5M2::from_f32(x)).collect();
        let exact = [a.iter().map(|x| x.to_f32()).collect(), b.iter().map(|x| x.to_f32()).collect()];
        let operands = [
            device.storage_from_slice(&a).unwrap(),
            device.storage_from_slice(&b).unwrap(),
            device.storage_from_slice(&factors[0]).unwrap(),
            device.storage_from_slice(&factors[1]).unwrap(),
            device.storage_from_slice(&vec![7f32; m * n]).unwrap(),
        ];
        Self { sizes, by_line, numbers: exact, factors, operands }
    }

    /// Multiplies by the library: columns of b lie one after the other.
    fn by_library(&self, device: &RocmDevice, handle: &BlasLt) -> Vendor {
        let ([m, n, k], [a, b, of_a, of_b, c]) = (self.sizes, self.operands.each_ref().map(RocmStorage::ptr));
        let matrix = |ptr, row_stride, col_stride| Matrix { ptr, row_stride, col_stride, batch_stride: 0 };
        let scale = |ptr| GemmScale { ptr, by_line: self.by_line };
        let dtypes = [DType::F8E4M3, DType::F8E5M2, DType::F32];
        let problem = Gemm {
            dtype: DType::F8E4M3,
            scaled: Some(ScaledGemm { dtypes, scales: [scale(of_a), scale(of_b)] }),
            batch: 1,
            m,
            n,
            k,
            a: matrix(a, k, 1),
            b: matrix(b, 1, k),
            c: matrix(c, n, 1),
        };
        let mut held = Vec::new();
        let mut scratch = |bytes: usize| {
            // SAFETY: the workspace is written before it is read.
            let memory = unsafe { device.alloc_uninit(&Shape::from(bytes), DType::U8)? };
            let ptr = memory.ptr();
            held.push(memory);
            Ok(ptr)
        };
        // SAFETY: the operands are allocated, and the result does not overlap them.
        unsafe { handle.gemm(&problem, &mut scratch) }.unwrap()
    }

    #[track_caller]
    fn assert_right(&self) {
        let ([_, n, k], [a, b], [of_a, of_b]) = (self.sizes, &self.numbers, &self.factors);
        let factor = |of: &[f32], line: usize| of[if self.by_line { line } else { 0 }];
        for (at, got) in self.operands[4].to_vec::<f32>().unwrap().into_iter().enumerate() {
            let (i, j) = (at / n, at % n);
            let sum: f32 = (0..k).map(|l| a[i * k + l] * b[j * k + l]).sum();
            // Products of these numbers, and their sums, are exact.
            assert_eq!(got, sum * factor(of_a, i) * factor(of_b, j), "row {i}, column {j}");
        }
    }
}

#[test]
fn scales_of_operands_and_of_lines() {
    on_the_simulator("scales_of_operands_and_of_lines", &[""], |device, handle, _| {
        for by_line in [false, true] {
            // The plan of the first is used by the second, whose scales are elsewhere.
            for _ in 0..2 {
                let problem = Problem::new(device, [5, 32, 64], by_line);
                assert_eq!(problem.by_library(device, handle), Vendor::Done);
                problem.assert_right();
            }
        }
        let odd = Problem::new(device, [5, 32, 63], false);
        let declined = odd.by_library(device, handle);
        assert!(matches!(&declined, Vendor::Declined(why) if why.starts_with("hipBLASLt ")), "{declined:?}");
    });
}

#[test]
fn a_call_that_fails_declines_and_the_next_product_is_computed() {
    let calls = [
        "hipblasLtMatmulDescCreate",
        "hipblasLtMatmulDescSetAttribute",
        "hipblasLtMatrixLayoutCreate",
        "hipblasLtMatrixLayoutSetAttribute",
        "hipblasLtMatmulPreferenceCreate",
        "hipblasLtMatmulPreferenceSetAttribute",
        "hipblasLtMatmulAlgoGetHeuristic",
        "hipblasLtMatmul",
    ];
    let mut faults: Vec<_> = calls.iter().map(|call| format!("{call}:1:HIPBLAS_STATUS_INTERNAL_ERROR")).collect();
    faults.extend(["hipblasLtCreate:1:HIPBLAS_STATUS_ALLOC_FAILED", "hipblasLtMatmul:*:absent"].map(String::from));
    let faults: Vec<_> = faults.iter().map(String::as_str).collect();
    on_the_simulator(
        "a_call_that_fails_declines_and_the_next_product_is_computed",
        &faults,
        |device, handle, fault| {
            assert!(!fault.starts_with("hipblasLtCreate") && !fault.ends_with("absent"), "{fault}: it has a handle");
            let declined = Problem::new(device, [5, 32, 64], true).by_library(device, handle);
            let is_told = |why: &String| why.contains("HIPBLAS_STATUS_INTERNAL_ERROR");
            assert!(matches!(&declined, Vendor::Declined(why) if is_told(why)), "{fault}: {declined:?}");
            let next = Problem::new(device, [5, 48, 64], true);
            assert_eq!(next.by_library(device, handle), Vendor::Done, "{fault}");
            next.assert_right();
        },
    );
}
