//! Tests rocBLAS as a program uses it, through the bindings, on the simulated GPU: products in
//! stream order, and findings about their operands.

use hip_sys::{Hip, hipStream_t};
use isobit_simgpu_install::{inside, rocm};
use rocblas_sys::{Rocblas, rocblas_handle, rocblas_status};
use std::ffi::c_void;
use std::ptr::{from_ref, null_mut};

/// Runs a test's body on the simulator in two separate processes: one executes work immediately,
/// one defers it.
fn on_the_simulator(test: &str, body: fn(&Context)) {
    if inside() {
        return body(&Context::open());
    }
    let installed = rocm().expect("the simulator is built");
    for defer in ["0", "1"] {
        let mut child = installed.child(test).expect("this program starts again");
        let status = child.env("ISOBIT_SIM_DEFER", defer).env_remove("ISOBIT_ROCBLAS_LIBRARY").status();
        assert!(status.as_ref().is_ok_and(|s| s.success()), "ISOBIT_SIM_DEFER={defer}: {status:?}");
    }
}

struct Context {
    hip: &'static Hip,
    rocblas: &'static Rocblas,
    handle: rocblas_handle,
    stream: hipStream_t,
}

impl Context {
    fn open() -> Self {
        let (hip, rocblas) = (Hip::get().expect("HIP"), Rocblas::get().expect("rocBLAS"));
        let (mut stream, mut handle) = (null_mut(), null_mut());
        // SAFETY: the pointers are out-parameters, and then the values that they received.
        unsafe {
            assert_eq!((hip.hipStreamCreateWithFlags)(&mut stream, hip_sys::hipStreamNonBlocking), 0);
            assert_eq!((rocblas.rocblas_create_handle)(&mut handle), 0);
            assert_eq!((rocblas.rocblas_set_stream)(handle, stream), 0);
            assert_eq!((rocblas.rocblas_set_atomics_mode)(handle, 0), 0);
        }
        Self { hip, rocblas, handle, stream }
    }

    fn alloc(&self, numbers: usize) -> *mut c_void {
        let mut at = null_mut();
        // SAFETY: the pointer is an out-parameter.
        assert_eq!(unsafe { (self.hip.hipMalloc)(&mut at, numbers * 4) }, 0);
        at
    }

    fn upload(&self, numbers: &[f32]) -> *mut c_void {
        let at = self.alloc(numbers.len());
        let (from, bytes) = (numbers.as_ptr().cast(), size_of_val(numbers));
        // SAFETY: both sides have `bytes` bytes; pageable memory is read before the call returns.
        let code = unsafe { (self.hip.hipMemcpyAsync)(at, from, bytes, hip_sys::hipMemcpyHostToDevice, self.stream) };
        assert_eq!(code, 0);
        at
    }

    fn download(&self, at: *mut c_void, numbers: usize) -> Vec<f32> {
        let mut host = vec![0f32; numbers];
        let to = host.as_mut_ptr().cast();
        // SAFETY: both sides have `bytes` bytes, and the host memory lives until the stream is
        // synchronized.
        unsafe {
            let kind = hip_sys::hipMemcpyDeviceToHost;
            assert_eq!((self.hip.hipMemcpyAsync)(to, at, numbers * 4, kind, self.stream), 0);
            assert_eq!((self.hip.hipStreamSynchronize)(self.stream), 0);
        }
        host
    }

    /// Enqueues C = A B in f32: m x k by k x n, column-major, packed, and contiguous in a batch.
    fn multiply(&self, sizes: [i32; 3], batch: i32, operands: [*mut c_void; 3]) -> rocblas_status {
        let ([m, n, k], [a, b, c]) = (sizes, operands);
        let (one, zero) = (1f32, 0f32);
        let (none, f32_r) = (rocblas_sys::rocblas_operation_none, rocblas_sys::rocblas_datatype_f32_r);
        let stride = |rows: i32, columns: i32| i64::from(rows) * i64::from(columns);
        // SAFETY: the scalars are numbers of the compute type; the simulator checks the operands.
        unsafe {
            (self.rocblas.rocblas_gemm_strided_batched_ex)(
                self.handle,
                none,
                none,
                m,
                n,
                k,
                from_ref(&one).cast(),
                a,
                f32_r,
                m,
                stride(m, k),
                b,
                f32_r,
                k,
                stride(k, n),
                from_ref(&zero).cast(),
                c,
                f32_r,
                m,
                stride(m, n),
                c,
                f32_r,
                m,
                stride(m, n),
                batch,
                f32_r,
                0,
                0,
                0,
            )
        }
    }

    fn findings(&self) -> Vec<(String, String)> {
        let text = isobit_simgpu_library_common::report::take(self.hip.file()).expect("the simulator's HIP library");
        let report: serde_json::Value = serde_json::from_str(&text).expect("the simulator reports JSON");
        let field = |finding: &serde_json::Value, name: &str| finding[name].as_str().unwrap_or_default().to_string();
        let findings = report["findings"].as_array().expect("findings");
        findings.iter().map(|f| (field(f, "kind"), f.to_string())).collect()
    }
}

#[test]
fn products_follow_the_stream() {
    on_the_simulator("products_follow_the_stream", |context| {
        let (m, n, k, batch) = (5, 4, 3, 2);
        let numbers =
            |count: usize, step: usize| -> Vec<f32> { (0..count).map(|i| (i * step % 7) as f32 - 3.0).collect() };
        let (a, b) = (numbers(m * k * batch, 3), numbers(k * n * batch, 5));
        let operands = [context.upload(&a), context.upload(&b), context.alloc(m * n * batch)];
        let sizes = [m, n, k].map(|x| x as i32);
        assert_eq!(context.multiply(sizes, batch as i32, operands), 0);
        let c = context.download(operands[2], m * n * batch);
        for (at, &found) in c.iter().enumerate() {
            let (i, j, of) = (at % m, at / m % n, at / (m * n));
            let expected: f32 = (0..k).map(|x| a[of * m * k + i + x * m] * b[of * k * n + x + j * k]).sum();
            assert_eq!(found, expected, "row {i}, column {j}, matrix {of}");
        }
        assert_eq!(context.findings(), []);
    });
}

#[test]
fn operands_are_checked() {
    on_the_simulator("operands_are_checked", |context| {
        let four = context.upload(&[1.0, 2.0, 3.0, 4.0]);
        // B is one number too short.
        let (short, out) = (context.upload(&[1.0, 2.0, 3.0]), context.upload(&[7.0; 4]));
        assert_eq!(context.multiply([2, 2, 2], 1, [four, short, out]), 0);
        assert_eq!(context.download(out, 4), [7.0; 4], "nothing was computed from missing data");
        let found = context.findings();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].0 == "out_of_bounds" && found[0].1.contains("rocblas_gemm_strided_batched_ex: B of batch 0"),
            "{found:?}"
        );
        // A was never written.
        assert_eq!(context.multiply([2, 2, 2], 1, [context.alloc(4), four, out]), 0);
        context.download(out, 4);
        let found = context.findings();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0 == "uninitialised_read" && found[0].1.contains("A of batch 0"), "{found:?}");
    });
}
