//! cuBLASLt on the simulated GPU, as a program uses it through the bindings: a product described by
//! objects, the algorithm that it asks for, and findings about operands and workspace.

mod device;

use cudarc::cublas::sys::{self as blas, cublasOperation_t as Op};
use cudarc::cublaslt::sys::{
    self, cublasComputeType_t as Compute, cublasLtMatmulDescAttributes_t as Attribute,
    cublasLtMatmulMatrixScale_t as Scale, cublasLtMatmulPreferenceAttributes_t as Wish,
    cublasLtMatrixLayoutAttribute_t as Of, cublasStatus_t as Status, cudaDataType_t as Type,
};
use device::{Device, on_the_simulator};
use std::ffi::c_void;
use std::ptr::{from_ref, null_mut};

fn check(status: Status) {
    assert_eq!(status, Status::CUBLAS_STATUS_SUCCESS);
}

/// A handle of cuBLAS, which cuBLASLt takes.
fn handle() -> sys::cublasLtHandle_t {
    let mut handle = null_mut();
    // SAFETY: the call writes the out-parameter.
    let status = unsafe { blas::cublasCreate_v2(&mut handle) };
    assert_eq!(status as u32, Status::CUBLAS_STATUS_SUCCESS as u32);
    handle.cast()
}

/// A batch of 2 products of bytes: 4 x 8, transposed or not, by 8 x 3, with the result's type.
struct Product {
    description: sys::cublasLtMatmulDesc_t,
    layouts: [sys::cublasLtMatrixLayout_t; 3],
}

impl Product {
    fn new(a: Op) -> Self {
        let layout = |ty, rows, columns, batch_stride: i64| {
            let (mut layout, count) = (null_mut(), 2i32);
            // SAFETY: an out-parameter, and attributes of these types.
            unsafe {
                check(sys::cublasLtMatrixLayoutCreate(&mut layout, ty, rows, columns, rows as i64));
                let (count, stride) = (from_ref(&count).cast(), from_ref(&batch_stride).cast());
                check(sys::cublasLtMatrixLayoutSetAttribute(layout, Of::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count, 4));
                let of = Of::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
                check(sys::cublasLtMatrixLayoutSetAttribute(layout, of, stride, 8));
            }
            layout
        };
        let mut description = null_mut();
        // SAFETY: an out-parameter, and an attribute of this type.
        unsafe {
            check(sys::cublasLtMatmulDescCreate(&mut description, Compute::CUBLAS_COMPUTE_32I, Type::CUDA_R_32I));
            let of = Attribute::CUBLASLT_MATMUL_DESC_TRANSA;
            check(sys::cublasLtMatmulDescSetAttribute(description, of, from_ref(&a).cast(), 4));
        }
        let [rows, columns] = if a == Op::CUBLAS_OP_T { [8, 4] } else { [4, 8] };
        let layouts = [
            layout(Type::CUDA_R_8I, rows, columns, 32),
            layout(Type::CUDA_R_8I, 8, 3, 24),
            layout(Type::CUDA_R_32I, 4, 3, 12),
        ];
        Self { description, layouts }
    }

    /// Asks for an algorithm with at most this much workspace.
    fn algorithm(&self, handle: sys::cublasLtHandle_t, workspace: u64) -> Result<Found, Status> {
        let (mut wishes, mut count, [a, b, c]) = (null_mut(), 0, self.layouts);
        let mut found = Found {
            algo: sys::cublasLtMatmulAlgo_t { data: [0; 8] },
            workspaceSize: 0,
            state: Status::CUBLAS_STATUS_NOT_SUPPORTED,
            wavesCount: 0.0,
            reserved: [0; 4],
        };
        // SAFETY: out-parameters, and an attribute of this type.
        let status = unsafe {
            check(sys::cublasLtMatmulPreferenceCreate(&mut wishes));
            let of = Wish::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
            check(sys::cublasLtMatmulPreferenceSetAttribute(wishes, of, from_ref(&workspace).cast(), 8));
            let description = self.description;
            sys::cublasLtMatmulAlgoGetHeuristic(handle, description, a, b, c, c, wishes, 1, &mut found, &mut count)
        };
        assert_eq!(count == 1, status == Status::CUBLAS_STATUS_SUCCESS);
        if count == 1 { Ok(found) } else { Err(status) }
    }

    /// Enqueues D = 2 A B + C.
    fn run(
        &self,
        handle: sys::cublasLtHandle_t,
        device: &Device,
        found: &Found,
        [a, b, c, d]: [*mut c_void; 4],
        workspace: *mut c_void,
    ) -> Status {
        let ([two, one], [a_layout, b_layout, layout]) = ([2i32, 1], self.layouts);
        // SAFETY: the scalars are numbers of the scale type; the simulator checks the rest.
        unsafe {
            let [two, one] = [from_ref(&two).cast(), from_ref(&one).cast()];
            let (product, bytes, stream) = (self.description, found.workspaceSize, device.stream.cast());
            sys::cublasLtMatmul(
                handle,
                product,
                two,
                a,
                a_layout,
                b,
                b_layout,
                one,
                c,
                layout,
                d,
                layout,
                &found.algo,
                workspace,
                bytes,
                stream,
            )
        }
    }
}

type Found = sys::cublasLtMatmulHeuristicResult_t;

#[test]
fn a_product_of_bytes_follows_the_stream() {
    on_the_simulator("a_product_of_bytes_follows_the_stream", |device| {
        let (handle, product) = (handle(), Product::new(Op::CUBLAS_OP_T));
        let numbers = |n: i32, step: i32| (0..n).map(|i| (i * step % 255 - 127) as i8).collect::<Vec<_>>();
        let (a, b, c) = (numbers(64, 37), numbers(48, 91), (0..24).map(|i| i * 1000).collect::<Vec<i32>>());
        for most in [0, 1 << 20] {
            let found = product.algorithm(handle, most).expect("an algorithm");
            assert!(found.workspaceSize as u64 <= most && (most == 0 || found.workspaceSize > 0));
            let workspace = device.alloc::<u8>(found.workspaceSize.max(1)).cast();
            let d = device.alloc::<i32>(24);
            let operands = [device.upload(&a).cast(), device.upload(&b).cast(), device.upload(&c).cast(), d.cast()];
            check(product.run(handle, device, &found, operands, workspace));
            for (at, &got) in device.download(d, 24).iter().enumerate() {
                let (i, j, of) = (at % 4, at / 4 % 3, at / 12);
                let sum = |k: usize| i32::from(a[of * 32 + i * 8 + k]) * i32::from(b[of * 24 + j * 8 + k]);
                assert_eq!(got, 2 * (0..8).map(sum).sum::<i32>() + c[at], "row {i}, column {j}, matrix {of}");
            }
            assert_eq!(device.findings(), []);
        }
    });
}

#[test]
fn operands_and_workspace_are_checked() {
    on_the_simulator("operands_and_workspace_are_checked", |device| {
        let (handle, product) = (handle(), Product::new(Op::CUBLAS_OP_T));
        let found = product.algorithm(handle, 1 << 20).expect("an algorithm");
        let (a, b, c) = (device.upload(&[1i8; 64]), device.upload(&[1i8; 48]), device.upload(&[1i32; 24]));
        let workspace = device.alloc::<u8>(found.workspaceSize).cast();
        let short = device.alloc::<u8>(found.workspaceSize - 1).cast();
        let written = device.upload(&[7i32; 24]);
        let short_b = device.upload(&[1i8; 47]);
        for (b, workspace, what) in [(b, short, "workspace"), (short_b, workspace, "B of batch 1")] {
            let operands = [a.cast(), b.cast(), c.cast(), written.cast()];
            check(product.run(handle, device, &found, operands, workspace));
            device.download(written, 24);
            let findings = device.findings();
            assert_eq!(findings.len(), 1, "{findings:?}");
            let (kind, text) = &findings[0];
            assert!(kind == "out_of_bounds" && text.contains(&format!("cublasLtMatmul: {what}")), "{findings:?}");
        }
        let operands = [a.cast(), b.cast(), c.cast(), written.cast()];
        let less = Found { workspaceSize: found.workspaceSize - 1, ..found };
        let of_another = Found { algo: sys::cublasLtMatmulAlgo_t { data: [9; 8] }, ..found };
        for bad in [less, of_another] {
            let status = product.run(handle, device, &bad, operands, workspace);
            assert_eq!(status, Status::CUBLAS_STATUS_INVALID_VALUE);
        }
        assert_eq!(device.findings(), []);
    });
}

#[test]
fn what_is_not_computed_has_no_algorithm() {
    on_the_simulator("what_is_not_computed_has_no_algorithm", |_| {
        let handle = handle();
        // Bytes are multiplied as transposed A by B.
        let plain = Product::new(Op::CUBLAS_OP_N);
        assert_eq!(plain.algorithm(handle, 0).unwrap_err(), Status::CUBLAS_STATUS_NOT_SUPPORTED);
        let product = Product::new(Op::CUBLAS_OP_T);
        let set = |at: usize, of, value: i32| {
            // SAFETY: an attribute of this type.
            check(unsafe {
                sys::cublasLtMatrixLayoutSetAttribute(product.layouts[at], of, from_ref(&value).cast(), 4)
            });
            product.algorithm(handle, 0)
        };
        let batch = Of::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
        assert_eq!(set(1, batch, 3).unwrap_err(), Status::CUBLAS_STATUS_INVALID_VALUE, "batches differ");
        assert!(set(1, batch, 2).is_ok());
        let ty = Of::CUBLASLT_MATRIX_LAYOUT_TYPE;
        assert_eq!(set(2, ty, Type::CUDA_R_16F as i32).unwrap_err(), Status::CUBLAS_STATUS_NOT_SUPPORTED);
        assert!(set(2, ty, Type::CUDA_R_32I as i32).is_ok());
        // SAFETY: the objects are destroyed once, and recognised afterwards.
        unsafe { check(sys::cublasLtMatrixLayoutDestroy(product.layouts[0])) };
        assert_eq!(product.algorithm(handle, 0).unwrap_err(), Status::CUBLAS_STATUS_INVALID_VALUE);
    });
}

/// A product of f8, 16 x 32 by 32 x 5 into f32, with scales of this mode.
fn product_of_f8(of_b: Type, scales: [*mut f32; 2], mode: Scale) -> Product {
    let layout = |ty, rows: u64, columns| {
        let mut layout = null_mut();
        // SAFETY: an out-parameter.
        check(unsafe { sys::cublasLtMatrixLayoutCreate(&mut layout, ty, rows, columns, rows as i64) });
        layout
    };
    let mut description = null_mut();
    // SAFETY: an out-parameter, and attributes of these types.
    unsafe {
        check(sys::cublasLtMatmulDescCreate(&mut description, Compute::CUBLAS_COMPUTE_32F, Type::CUDA_R_32F));
        let set = |of, value: *const c_void, size| {
            check(sys::cublasLtMatmulDescSetAttribute(description, of, value, size));
        };
        set(Attribute::CUBLASLT_MATMUL_DESC_TRANSA, from_ref(&Op::CUBLAS_OP_T).cast(), 4);
        set(Attribute::CUBLASLT_MATMUL_DESC_A_SCALE_MODE, from_ref(&mode).cast(), 4);
        set(Attribute::CUBLASLT_MATMUL_DESC_B_SCALE_MODE, from_ref(&mode).cast(), 4);
        set(Attribute::CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, from_ref(&scales[0]).cast(), 8);
        set(Attribute::CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, from_ref(&scales[1]).cast(), 8);
    }
    let layouts = [layout(Type::CUDA_R_8F_E4M3, 32, 16), layout(of_b, 32, 5), layout(Type::CUDA_R_32F, 16, 5)];
    Product { description, layouts }
}

#[test]
fn products_of_f8_have_scales_of_operands_or_of_lines() {
    on_the_simulator("products_of_f8_have_scales_of_operands_or_of_lines", |device| {
        let handle = handle();
        // 0.5, 1 and 2 as f8e4m3, and 1, 2 and 4 as f8e5m2.
        let (a, b) = ((0..512).map(|i| 0x30 + 8 * (i * 7 % 3) as u8), (0..160).map(|i| 0x3c + 4 * (i * 5 % 3) as u8));
        let (a, b) = (a.collect::<Vec<_>>(), b.collect::<Vec<_>>());
        let (of_rows, of_columns): (Vec<f32>, Vec<f32>) =
            ((1..17).map(|i| i as f32).collect(), (1..6).map(|i| -0.5 * i as f32).collect());
        for mode in [Scale::CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, Scale::CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F]
        {
            let scales = [device.upload(&of_rows), device.upload(&of_columns)];
            let product = product_of_f8(Type::CUDA_R_8F_E5M2, scales, mode);
            let found = product.algorithm(handle, 0).expect("an algorithm");
            let (c, [one, zero], [a_layout, b_layout, layout]) =
                (device.alloc::<f32>(80), [1f32, 0.0], product.layouts);
            let [at_a, at_b] = [device.upload(&a), device.upload(&b)];
            // SAFETY: the scalars are numbers of the scale type; the simulator checks the rest.
            check(unsafe {
                let [one, zero] = [from_ref(&one).cast(), from_ref(&zero).cast()];
                let (result, stream) = (c.cast::<c_void>(), device.stream.cast());
                let (at_a, at_b, workspace) = (at_a.cast(), at_b.cast(), null_mut());
                sys::cublasLtMatmul(
                    handle,
                    product.description,
                    one,
                    at_a,
                    a_layout,
                    at_b,
                    b_layout,
                    zero,
                    result,
                    layout,
                    result,
                    layout,
                    &found.algo,
                    workspace,
                    0,
                    stream,
                )
            });
            let by_line = mode == Scale::CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
            for (at, &got) in device.download(c, 80).iter().enumerate() {
                let (i, j) = (at % 16, at / 16);
                let value = |bits: u8, one: u8, step: u8| 2f32.powi(i32::from(bits / step) - i32::from(one / step));
                let sum: f32 = (0..32).map(|k| value(a[i * 32 + k], 0x38, 8) * value(b[j * 32 + k], 0x3c, 4)).sum();
                let scale = if by_line { of_rows[i] * of_columns[j] } else { of_rows[0] * of_columns[0] };
                assert_eq!(got, sum * scale, "row {i}, column {j}");
            }
            assert_eq!(device.findings(), []);
        }
        let scales = [device.upload(&of_rows), device.upload(&of_columns)];
        for of_b in [Type::CUDA_R_8F_E5M2, Type::CUDA_R_16F] {
            let mode = if of_b == Type::CUDA_R_16F {
                Scale::CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F
            } else {
                Scale::CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F
            };
            let refused = product_of_f8(of_b, scales, mode).algorithm(handle, 0);
            assert_eq!(refused.unwrap_err(), Status::CUBLAS_STATUS_NOT_SUPPORTED);
        }
    });
}
