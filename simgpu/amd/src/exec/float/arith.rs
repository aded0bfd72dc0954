//! Sums, products and fused products of binary32 and binary64. Each is rounded once to nearest
//! even, and subnormals are kept: this is the mode of every kernel. A NaN operand gives that NaN,
//! quieted. An invalid operation gives the NaN that the ISA documents name, with its sign set,
//! which is also the host's. If there are several NaN operands, it is not specified which one is
//! returned.

use crate::exec::lane::lanes;

/// Returns a product under the rule of Direct3D 9: zero times anything is +0.
#[inline(always)]
fn zero_wins(a: f32, b: f32, product: f32) -> f32 {
    if (a == 0.0) | (b == 0.0) { 0.0 } else { product }
}

lanes! {
    /// Arithmetic of binary32 and binary64.
    TABLE:
    "v_add_f32" => |a: f32, b: f32| -> f32 { a + b };
    "v_sub_f32" => |a: f32, b: f32| -> f32 { a - b };
    "v_subrev_f32" => |a: f32, b: f32| -> f32 { b - a };
    "v_mul_f32" => |a: f32, b: f32| -> f32 { a * b };
    "v_mul_dx9_zero_f32" => |a: f32, b: f32| -> f32 { zero_wins(a, b, a * b) };
    "v_fma_f32" => |a: f32, b: f32, c: f32| -> f32 { a.mul_add(b, c) };
    "v_fma_dx9_zero_f32" => |a: f32, b: f32, c: f32| -> f32 {
        if (a == 0.0) | (b == 0.0) { c } else { a.mul_add(b, c) }
    };
    "v_fmac_f32" => |a: f32, b: f32, c: f32| -> f32 { a.mul_add(b, c) };
    "v_fmac_dx9_zero_f32" => |a: f32, b: f32, c: f32| -> f32 {
        if (a == 0.0) | (b == 0.0) { c } else { a.mul_add(b, c) }
    };
    "v_fmaak_f32" => |a: f32, b: f32, c: f32| -> f32 { a.mul_add(b, c) };
    "v_fmamk_f32" => |a: f32, b: f32, c: f32| -> f32 { a.mul_add(b, c) };
    "v_add_f64" => |a: f64, b: f64| -> f64 { a + b };
    "v_mul_f64" => |a: f64, b: f64| -> f64 { a * b };
    "v_fma_f64" => |a: f64, b: f64, c: f64| -> f64 { a.mul_add(b, c) };
    "v_fmac_f64" => |a: f64, b: f64, c: f64| -> f64 { a.mul_add(b, c) };
}
