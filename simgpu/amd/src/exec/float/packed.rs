//! Two binary32 operations in one instruction (gfx90a, gfx942). For each source, `op_sel` and
//! `op_sel_hi` select the register that the low and the high operation read; the engine does this.

use crate::exec::lane::lanes;
use crate::exec::value::F32x2;

lanes! {
    /// Packed binary32.
    TABLE:
    "v_pk_add_f32" => |a: F32x2, b: F32x2| -> F32x2 { F32x2(a.0 + b.0, a.1 + b.1) };
    "v_pk_mul_f32" => |a: F32x2, b: F32x2| -> F32x2 { F32x2(a.0 * b.0, a.1 * b.1) };
    "v_pk_fma_f32" => |a: F32x2, b: F32x2, c: F32x2| -> F32x2 {
        F32x2(a.0.mul_add(b.0, c.0), a.1.mul_add(b.1, c.1))
    };
    // The first source gives the low register and the second source the high one; only `op_sel`
    // selects in each.
    "v_pk_mov_b32" => |a: F32x2, b: F32x2| -> F32x2 { F32x2(a.0, b.0) };
}
