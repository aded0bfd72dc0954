//! Rounding to integers, and the fractional part.

use super::half::{narrow, widen};
use crate::exec::lane::lanes;
use crate::exec::value::F16;

/// The largest number below one.
const BELOW_ONE_F64: f64 = 1.0 - f64::EPSILON / 2.0;
const BELOW_ONE_F32: f32 = 1.0 - f32::EPSILON / 2.0;

lanes! {
    /// Rounding. The fraction is `x - floor(x)`, rounded, and kept below one as the ISA documents
    /// require.
    TABLE:
    "v_floor_f16" => |x: F16| -> F16 { narrow(widen(x).floor()) };
    "v_floor_f32" => |x: f32| -> f32 { x.floor() };
    "v_floor_f64" => |x: f64| -> f64 { x.floor() };
    "v_ceil_f16" => |x: F16| -> F16 { narrow(widen(x).ceil()) };
    "v_ceil_f32" => |x: f32| -> f32 { x.ceil() };
    "v_ceil_f64" => |x: f64| -> f64 { x.ceil() };
    "v_trunc_f16" => |x: F16| -> F16 { narrow(widen(x).trunc()) };
    "v_trunc_f32" => |x: f32| -> f32 { x.trunc() };
    "v_trunc_f64" => |x: f64| -> f64 { x.trunc() };
    "v_rndne_f16" => |x: F16| -> F16 { narrow(widen(x).round_ties_even()) };
    "v_rndne_f32" => |x: f32| -> f32 { x.round_ties_even() };
    "v_rndne_f64" => |x: f64| -> f64 { x.round_ties_even() };
    "v_fract_f16" => |x: F16| -> F16 {
        let fraction = narrow(widen(x) - widen(x).floor());
        if fraction.0 == 0x3c00 { F16(0x3bff) } else { fraction }
    };
    "v_fract_f32" => |x: f32| -> f32 {
        let fraction = x - x.floor();
        if fraction == 1.0 { BELOW_ONE_F32 } else { fraction }
    };
    "v_fract_f64" => |x: f64| -> f64 {
        let fraction = x - x.floor();
        if fraction == 1.0 { BELOW_ONE_F64 } else { fraction }
    };
}
