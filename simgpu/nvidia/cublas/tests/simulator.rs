//! cuBLAS on the simulated GPU, as a program uses it through the bindings: products in stream
//! order, and findings about their operands.

mod device;

use cudarc::cublas::sys::{
    self, cublasComputeType_t as Compute, cublasGemmAlgo_t as Algo, cublasHandle_t, cublasMath_t,
    cublasOperation_t as Op, cublasPointerMode_t, cublasStatus_t as Status, cudaDataType_t as Type,
};
use device::{Device, on_the_simulator};
use std::ptr::{from_ref, null_mut};

fn check(status: Status) {
    assert_eq!(status, Status::CUBLAS_STATUS_SUCCESS);
}

fn handle(device: &Device) -> cublasHandle_t {
    let mut handle = null_mut();
    // SAFETY: the call writes the out-parameter, and the next call gets what it received.
    unsafe {
        check(sys::cublasCreate_v2(&mut handle));
        check(sys::cublasSetStream_v2(handle, device.stream.cast()));
        check(sys::cublasSetWorkspace_v2(handle, device.alloc::<u8>(1 << 20).cast(), 1 << 20));
        let mode = cublasMath_t::CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
        check(sys::cublasSetMathMode(handle, mode));
    }
    handle
}

/// C = A B of f32: m x k times k x n, column-major and packed; the matrices of a batch follow each
/// other.
fn multiply(handle: cublasHandle_t, [m, n, k]: [i32; 3], batch: i32, [a, b, c]: [*mut f32; 3]) -> Status {
    let (one, zero) = (1f32, 0f32);
    let stride = |rows: i32, columns: i32| i64::from(rows) * i64::from(columns);
    // SAFETY: the scalars are numbers of the scale type; the simulator checks the operands.
    unsafe {
        sys::cublasGemmStridedBatchedEx(
            handle,
            Op::CUBLAS_OP_N,
            Op::CUBLAS_OP_N,
            m,
            n,
            k,
            from_ref(&one).cast(),
            a.cast(),
            Type::CUDA_R_32F,
            m,
            stride(m, k),
            b.cast(),
            Type::CUDA_R_32F,
            k,
            stride(k, n),
            from_ref(&zero).cast(),
            c.cast(),
            Type::CUDA_R_32F,
            m,
            stride(m, n),
            batch,
            Compute::CUBLAS_COMPUTE_32F,
            Algo::CUBLAS_GEMM_DEFAULT,
        )
    }
}

#[test]
fn products_follow_the_stream() {
    on_the_simulator("products_follow_the_stream", |device| {
        let handle = handle(device);
        let (m, n, k, batch) = (5, 4, 3, 2);
        let numbers =
            |count: usize, step: usize| -> Vec<f32> { (0..count).map(|i| (i * step % 7) as f32 - 3.0).collect() };
        let (a, b) = (numbers(m * k * batch, 3), numbers(k * n * batch, 5));
        // C was never written; with a beta of zero it need not be.
        let operands = [device.upload(&a), device.upload(&b), device.alloc(m * n * batch)];
        check(multiply(handle, [m, n, k].map(|x| x as i32), batch as i32, operands));
        let c = device.download(operands[2], m * n * batch);
        for (at, &found) in c.iter().enumerate() {
            let (i, j, of) = (at % m, at / m % n, at / (m * n));
            let expected: f32 = (0..k).map(|x| a[of * m * k + i + x * m] * b[of * k * n + x + j * k]).sum();
            assert_eq!(found, expected, "row {i}, column {j}, matrix {of}");
        }
        assert_eq!(device.findings(), []);
        // SAFETY: the handle was created above, and is destroyed once.
        check(unsafe { sys::cublasDestroy_v2(handle) });
        // SAFETY: the library recognises a destroyed handle.
        let again = unsafe { sys::cublasDestroy_v2(handle) };
        assert_eq!(again, Status::CUBLAS_STATUS_NOT_INITIALIZED);
    });
}

#[test]
fn operands_are_checked() {
    on_the_simulator("operands_are_checked", |device| {
        let handle = handle(device);
        let four = device.upload(&[1f32, 2.0, 3.0, 4.0]);
        // B is one number too short.
        let (short, out) = (device.upload(&[1f32, 2.0, 3.0]), device.upload(&[7f32; 4]));
        check(multiply(handle, [2, 2, 2], 1, [four, short, out]));
        assert_eq!(device.download(out, 4), [7.0; 4], "nothing was computed from what is not there");
        let found = device.findings();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].0 == "out_of_bounds" && found[0].1.contains("cublasGemmStridedBatchedEx: B of batch 0"),
            "{found:?}"
        );
        // A was never written.
        check(multiply(handle, [2, 2, 2], 1, [device.alloc(4), four, out]));
        device.download(out, 4);
        let found = device.findings();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0 == "uninitialised_read" && found[0].1.contains("A of batch 0"), "{found:?}");
    });
}

/// Matrices behind pointers, and scalars in device memory that earlier work of the stream writes.
#[test]
fn what_lies_in_device_memory_is_read_in_stream_order() {
    on_the_simulator("what_lies_in_device_memory_is_read_in_stream_order", |device| {
        let handle = handle(device);
        let (a, b) = (device.upload(&[1f64, 2.0]), device.upload(&[3f64, 5.0]));
        let c = [device.upload(&[10f64, 20.0]), device.upload(&[30f64, 40.0])];
        let (a_array, b_array, c_array) = (device.upload(&[a, b]), device.upload(&[b, a]), device.upload(&c));
        let (alpha, beta) = (device.upload(&[-1f64]), device.upload(&[2f64]));
        let (n, t) = (Op::CUBLAS_OP_N, Op::CUBLAS_OP_T);
        // SAFETY: the simulator checks the pointers.
        unsafe {
            check(sys::cublasSetPointerMode_v2(handle, cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE));
            let [a, b] = [a_array, b_array].map(|array| array.cast_const().cast());
            let c = c_array.cast_const();
            check(sys::cublasDgemmBatched(handle, t, n, 1, 1, 2, alpha, a, 2, b, 2, beta, c, 1, 2));
        }
        // The product of the two matrices is 3 + 10.
        assert_eq!(device.download(c[0], 2), [20.0 - 13.0, 20.0]);
        assert_eq!(device.download(c[1], 2), [60.0 - 13.0, 40.0]);
        assert_eq!(device.findings(), []);
    });
}

#[test]
fn a_pointer_that_leads_nowhere_is_found() {
    on_the_simulator("a_pointer_that_leads_nowhere_is_found", |device| {
        let handle = handle(device);
        let (x, c) = (device.upload(&[2f32]), device.upload(&[7f32, 8.0]));
        let good = device.upload(&[x, x]);
        let bad = device.upload(&[x, null_mut()]);
        let results = device.upload(&[c, c.wrapping_add(1)]);
        let (one, zero, n) = (1f32, 0f32, Op::CUBLAS_OP_N);
        // SAFETY: the scalars are numbers of the type; the simulator checks the pointers.
        unsafe {
            let [a, b] = [good, bad].map(|array| array.cast_const().cast());
            check(sys::cublasSgemmBatched(handle, n, n, 1, 1, 1, &one, a, 1, b, 1, &zero, results.cast_const(), 1, 2));
        }
        assert_eq!(device.download(c, 2), [4.0, 8.0]);
        let found = device.findings();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].1.contains("cublasSgemmBatched: B of batch 1"), "{found:?}");
    });
}

#[test]
fn a_captured_product_is_computed_by_every_launch() {
    on_the_simulator("a_captured_product_is_computed_by_every_launch", |device| {
        let handle = handle(device);
        let (a, b, c) = (device.upload(&[2f32]), device.upload(&[3f32]), device.upload(&[100f32]));
        device.repeat(3, || {
            let (one, n) = (1f32, Op::CUBLAS_OP_N);
            // SAFETY: the scalars are numbers of the type, and are read during the call; the
            // simulator checks the pointers.
            check(unsafe { sys::cublasSgemm_v2(handle, n, n, 1, 1, 1, &one, a, 1, b, 1, &one, c, 1) });
        });
        assert_eq!(device.download(c, 1), [118.0]);
        assert_eq!(device.findings(), []);
    });
}
