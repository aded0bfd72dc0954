//! The switches for reduced precision in products that candle exports. Isobit adds in f32 whatever
//! they say, so there is nothing to switch.

/// Whether products of f16 may be added in f16: never.
pub fn gemm_reduced_precision_f16() -> bool {
    false
}

/// Has no effect: products of f16 are added in f32.
pub fn set_gemm_reduced_precision_f16(_: bool) {}

/// Whether products of bf16 may be added in bf16: never.
pub fn gemm_reduced_precision_bf16() -> bool {
    false
}

/// Has no effect: products of bf16 are added in f32.
pub fn set_gemm_reduced_precision_bf16(_: bool) {}

/// Whether products of f32 may be rounded to TF32 first: never.
pub fn gemm_reduced_precision_f32() -> bool {
    false
}

/// Has no effect: products of f32 are not rounded to TF32.
pub fn set_gemm_reduced_precision_f32(_: bool) {}
