//! hipBLASLt on the simulated GPU, as a program uses it through the bindings: a product described
//! by objects, the algorithm that it asks for, and findings about operands, scales and workspace.

use hip_sys::{Hip, hipStream_t};
use hipblaslt_sys::*;
use isobit_simgpu_install::{inside, rocm};
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
        let status = child.env("ISOBIT_SIM_DEFER", defer).env_remove(Hipblaslt::SPEC.variable).status();
        assert!(status.as_ref().is_ok_and(|s| s.success()), "ISOBIT_SIM_DEFER={defer}: {status:?}");
    }
}

struct Context {
    hip: &'static Hip,
    lt: &'static Hipblaslt,
    handle: hipblasLtHandle_t,
    stream: hipStream_t,
}

fn check(status: hipblasStatus_t) {
    assert_eq!(status, HIPBLAS_STATUS_SUCCESS);
}

impl Context {
    fn open() -> Self {
        let (hip, lt) = (Hip::get().expect("HIP"), Hipblaslt::get().expect("hipBLASLt"));
        let (mut stream, mut handle) = (null_mut(), null_mut());
        // SAFETY: the pointers are out-parameters.
        unsafe {
            assert_eq!((hip.hipStreamCreateWithFlags)(&mut stream, hip_sys::hipStreamNonBlocking), 0);
            check((lt.hipblasLtCreate)(&mut handle));
        }
        Self { hip, lt, handle, stream }
    }

    fn alloc(&self, bytes: usize) -> *mut c_void {
        let mut at = null_mut();
        // SAFETY: the pointer is an out-parameter.
        assert_eq!(unsafe { (self.hip.hipMalloc)(&mut at, bytes) }, 0);
        at
    }

    fn upload<T>(&self, numbers: &[T]) -> *mut c_void {
        let (at, bytes) = (self.alloc(size_of_val(numbers)), size_of_val(numbers));
        let (from, kind) = (numbers.as_ptr().cast(), hip_sys::hipMemcpyHostToDevice);
        // SAFETY: both sides have `bytes` bytes; pageable memory is read before the call returns.
        assert_eq!(unsafe { (self.hip.hipMemcpyAsync)(at, from, bytes, kind, self.stream) }, 0);
        at
    }

    fn download(&self, at: *mut c_void, numbers: usize) -> Vec<f32> {
        let mut host = vec![0f32; numbers];
        let (to, kind) = (host.as_mut_ptr().cast(), hip_sys::hipMemcpyDeviceToHost);
        // SAFETY: both sides have that many bytes, and the host memory lives until the stream is
        // synchronized.
        unsafe {
            assert_eq!((self.hip.hipMemcpyAsync)(to, at, numbers * 4, kind, self.stream), 0);
            assert_eq!((self.hip.hipStreamSynchronize)(self.stream), 0);
        }
        host
    }

    /// Returns the kind and the text of each finding since the last call.
    fn findings(&self) -> Vec<(String, String)> {
        let text = isobit_simgpu_library_common::report::take(self.hip.file()).expect("the simulator's HIP library");
        let report: serde_json::Value = serde_json::from_str(&text).expect("the simulator reports JSON");
        let findings = report["findings"].as_array().expect("findings");
        findings.iter().map(|f| (f["kind"].as_str().unwrap_or_default().to_string(), f.to_string())).collect()
    }

    /// Describes a product of f8e4m3 by `of_b`, the transpose of 32 x 16 by 32 x 5, into f32.
    fn product(&self, of_b: hipDataType, scales: [*mut c_void; 2], mode: hipblasLtMatmulMatrixScale_t) -> Product {
        let layout = |ty, rows: u64, columns| {
            let mut layout = null_mut();
            // SAFETY: an out-parameter.
            check(unsafe { (self.lt.hipblasLtMatrixLayoutCreate)(&mut layout, ty, rows, columns, rows as i64) });
            layout
        };
        let mut description = null_mut();
        // SAFETY: an out-parameter, and attributes of these types.
        unsafe {
            check((self.lt.hipblasLtMatmulDescCreate)(&mut description, HIPBLAS_COMPUTE_32F, HIP_R_32F));
            let set = |of, value: *const c_void, size| {
                check((self.lt.hipblasLtMatmulDescSetAttribute)(description, of, value, size));
            };
            set(HIPBLASLT_MATMUL_DESC_TRANSA, from_ref(&HIPBLAS_OP_T).cast(), 4);
            set(HIPBLASLT_MATMUL_DESC_A_SCALE_MODE, from_ref(&mode).cast(), 4);
            set(HIPBLASLT_MATMUL_DESC_B_SCALE_MODE, from_ref(&mode).cast(), 4);
            set(HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER, from_ref(&scales[0]).cast(), 8);
            set(HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER, from_ref(&scales[1]).cast(), 8);
        }
        let layouts = [layout(HIP_R_8F_E4M3, 32, 16), layout(of_b, 32, 5), layout(HIP_R_32F, 16, 5)];
        Product { description, layouts }
    }

    /// Asks for an algorithm with at most this much workspace: the status, and the result if there
    /// is one.
    fn algorithm(&self, product: &Product, workspace: u64) -> Result<Option<Found>, hipblasStatus_t> {
        let (mut wishes, mut count, [a, b, c]) = (null_mut(), -1, product.layouts);
        let mut found = Found {
            algo: hipblasLtMatmulAlgo_t { data: [0; 16], max_workspace_bytes: 0 },
            workspaceSize: 0,
            state: HIPBLAS_STATUS_NOT_SUPPORTED,
            wavesCount: 0.0,
            reserved: [0; 4],
        };
        // SAFETY: out-parameters, an attribute of this type, and room for one result.
        let status = unsafe {
            check((self.lt.hipblasLtMatmulPreferenceCreate)(&mut wishes));
            let (of, most) = (HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, from_ref(&workspace).cast());
            check((self.lt.hipblasLtMatmulPreferenceSetAttribute)(wishes, of, most, 8));
            let (choose, description) = (self.lt.hipblasLtMatmulAlgoGetHeuristic, product.description);
            choose(self.handle, description, a, b, c, c, wishes, 1, &mut found, &mut count)
        };
        match status {
            HIPBLAS_STATUS_SUCCESS if count == 1 => Ok(Some(found)),
            HIPBLAS_STATUS_SUCCESS => Ok(None),
            status => Err(status),
        }
    }

    /// Enqueues D = 2 A B + C.
    fn run(
        &self,
        product: &Product,
        found: &Found,
        [a, b, c, d]: [*mut c_void; 4],
        workspace: *mut c_void,
    ) -> hipblasStatus_t {
        let ([two, one], [a_layout, b_layout, layout]) = ([2f32, 1.0], product.layouts);
        // SAFETY: the scalars are numbers of the scale type; the simulator checks the rest.
        unsafe {
            (self.lt.hipblasLtMatmul)(
                self.handle,
                product.description,
                from_ref(&two).cast(),
                a,
                a_layout,
                b,
                b_layout,
                from_ref(&one).cast(),
                c,
                layout,
                d,
                layout,
                &found.algo,
                workspace,
                found.workspaceSize,
                self.stream,
            )
        }
    }
}

struct Product {
    description: hipblasLtMatmulDesc_t,
    layouts: [hipblasLtMatrixLayout_t; 3],
}

type Found = hipblasLtMatmulHeuristicResult_t;

/// 0.5, 1 and 2 as f8e4m3, and 1, 2 and 4 as f8e5m2.
fn operands() -> [Vec<u8>; 2] {
    [(0..512).map(|i| 0x30 + 8 * (i * 7 % 3) as u8).collect(), (0..160).map(|i| 0x3c + 4 * (i * 5 % 3) as u8).collect()]
}

#[test]
fn products_of_f8_have_scales_of_operands_or_of_lines() {
    on_the_simulator("products_of_f8_have_scales_of_operands_or_of_lines", |context| {
        let ([a, b], c) = (operands(), (0..80).map(|i| i as f32).collect::<Vec<_>>());
        let (of_rows, of_columns): (Vec<f32>, Vec<f32>) =
            ((1..17).map(|i| i as f32).collect(), (1..6).map(|i| -0.5 * i as f32).collect());
        let scales = [context.upload(&of_rows), context.upload(&of_columns)];
        let at = [context.upload(&a), context.upload(&b), context.upload(&c), context.alloc(320)];
        for (mode, most) in
            [(HIPBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, 0), (HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F, 1 << 20)]
        {
            let product = context.product(HIP_R_8F_E5M2, scales, mode);
            let found = context.algorithm(&product, most).unwrap().expect("an algorithm");
            assert!(found.workspaceSize as u64 <= most && (most == 0 || found.workspaceSize > 0));
            let workspace = context.alloc(found.workspaceSize.max(1));
            check(context.run(&product, &found, at, workspace));
            let by_line = mode == HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
            for (at, got) in context.download(at[3], 80).into_iter().enumerate() {
                let (i, j) = (at % 16, at / 16);
                let value = |bits: u8, one: u8, step: u8| 2f32.powi(i32::from(bits / step) - i32::from(one / step));
                let sum: f32 = (0..32).map(|k| value(a[i * 32 + k], 0x38, 8) * value(b[j * 32 + k], 0x3c, 4)).sum();
                let scale = if by_line { of_rows[i] * of_columns[j] } else { of_rows[0] * of_columns[0] };
                assert_eq!(got, 2.0 * sum * scale + c[at], "row {i}, column {j}");
            }
            assert_eq!(context.findings(), []);
        }
    });
}

#[test]
fn operands_scales_and_workspace_are_checked() {
    on_the_simulator("operands_scales_and_workspace_are_checked", |context| {
        let ([a, b], c) = (operands(), [1f32; 80]);
        let (of_rows, short_scales) = (context.upload(&[1f32; 16]), context.upload(&[1f32; 15]));
        let of_columns = context.upload(&[1f32; 5]);
        let mode = HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
        let product = context.product(HIP_R_8F_E5M2, [of_rows, of_columns], mode);
        let wrong = context.product(HIP_R_8F_E5M2, [short_scales, of_columns], mode);
        let found = context.algorithm(&product, 1 << 20).unwrap().expect("an algorithm");
        let (workspace, short) = (context.alloc(found.workspaceSize), context.alloc(found.workspaceSize - 1));
        let (at_b, short_b) = (context.upload(&b), context.upload(&b[..159]));
        let (at_a, at_c, written) = (context.upload(&a), context.upload(&c), context.upload(&[7f32; 80]));
        for (product, b, workspace, what) in [
            (&product, at_b, short, "workspace"),
            (&product, short_b, workspace, "B of batch 0"),
            (&wrong, at_b, workspace, "scales of A"),
        ] {
            check(context.run(product, &found, [at_a, b, at_c, written], workspace));
            assert_eq!(context.download(written, 80), [7.0; 80], "nothing was computed");
            let findings = context.findings();
            assert_eq!(findings.len(), 1, "{findings:?}");
            let (kind, text) = &findings[0];
            assert!(kind == "out_of_bounds" && text.contains(&format!("hipblasLtMatmul: {what}")), "{findings:?}");
        }
        let less = Found { workspaceSize: found.workspaceSize - 1, ..found };
        let of_another = Found { algo: hipblasLtMatmulAlgo_t { data: [9; 16], ..found.algo }, ..found };
        for bad in [less, of_another] {
            let status = context.run(&product, &bad, [at_a, at_b, at_c, written], workspace);
            assert_eq!(status, HIPBLAS_STATUS_INVALID_VALUE);
        }
        let none = context.run(&product, &found, [at_a, at_b, null_mut(), written], workspace);
        assert_eq!(none, HIPBLAS_STATUS_INVALID_VALUE);
        assert_eq!(context.findings(), []);
    });
}

#[test]
fn what_is_not_computed_has_no_algorithm() {
    on_the_simulator("what_is_not_computed_has_no_algorithm", |context| {
        let scales = [context.upload(&[1f32; 16]), context.upload(&[1f32; 5])];
        let algorithm = |of_b, mode| context.algorithm(&context.product(of_b, scales, mode), 0).map(|f| f.is_some());
        let scalar = HIPBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
        assert_eq!(algorithm(HIP_R_8F_E4M3, scalar), Ok(true));
        assert_eq!(algorithm(HIP_R_16F, scalar), Ok(false));
        assert_eq!(algorithm(HIP_R_8F_E4M3_FNUZ, scalar), Ok(false));
        // By blocks of 32.
        assert_eq!(algorithm(HIP_R_8F_E5M2, 2), Ok(false));
        let product = context.product(HIP_R_8F_E5M2, scales, scalar);
        let [a, b, _] = product.layouts;
        // SAFETY: an attribute of this type; the object is destroyed once, and recognised
        // afterwards.
        unsafe {
            let (of, three) = (HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT, from_ref(&3i32).cast());
            check((context.lt.hipblasLtMatrixLayoutSetAttribute)(b, of, three, 4));
            assert_eq!(context.algorithm(&product, 0).unwrap_err(), HIPBLAS_STATUS_INVALID_VALUE, "batches differ");
            let one = from_ref(&1i32).cast();
            check((context.lt.hipblasLtMatrixLayoutSetAttribute)(b, of, one, 4));
            assert!(context.algorithm(&product, 0).unwrap().is_some());
            check((context.lt.hipblasLtMatrixLayoutDestroy)(a));
            assert_eq!(context.algorithm(&product, 0).unwrap_err(), HIPBLAS_STATUS_INVALID_VALUE);
            check((context.lt.hipblasLtDestroy)(context.handle));
        }
        assert_eq!(context.algorithm(&product, 0).unwrap_err(), HIPBLAS_STATUS_NOT_INITIALIZED);
    });
}
