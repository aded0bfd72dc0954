//! `pack` and `unpack`: elements of eight bits or fewer, as section 4 of `docs/numerics.md` defines
//! their values.

use super::quantized::rows::{Rows, RowsMut};
use super::walk::parallel;
use crate::{BackendStorage, CpuStorage, DType, Layout, Pack, PackedDType, Unpack};

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// Number of rows that a thread takes at a time.
const GROUP: usize = 16;

/// The magnitudes of f4e2m1, by code.
const E2M1: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

/// The only NaN of f8e4m3fnuz and f8e5m2fnuz: the sign of a zero.
const FNUZ_NAN: u8 = 0x80;

/// Returns the magnitude of a code of f8e4m3fnuz or f8e5m2fnuz, or of 128, the code after the last.
fn fnuz_magnitude(dtype: PackedDType, code: i32) -> f64 {
    let (fraction, bias) = if dtype == PackedDType::F8E4M3FNUZ { (3, 8) } else { (2, 16) };
    let (exponent, significand) = (code >> fraction, code & ((1 << fraction) - 1));
    let implied = if exponent == 0 { 0 } else { 1 << fraction };
    f64::from(significand + implied) * 2f64.powi(exponent.max(1) - bias - fraction)
}

/// Returns the value of a code, which is exact in f64.
fn value(dtype: PackedDType, code: u8) -> f64 {
    let bits = dtype.bits();
    let sign = code >> (bits - 1) & 1 != 0;
    match dtype {
        PackedDType::F4E2M1 => E2M1[usize::from(code & 7)].copysign(if sign { -1.0 } else { 1.0 }),
        PackedDType::F8E8M0 if code == u8::MAX => f64::NAN,
        PackedDType::F8E8M0 => 2f64.powi(i32::from(code) - 127),
        _ if dtype.is_fnuz() && code == FNUZ_NAN => f64::NAN,
        _ if dtype.is_fnuz() => fnuz_magnitude(dtype, i32::from(code & 0x7f)) * if sign { -1.0 } else { 1.0 },
        _ if dtype.is_signed_int() && sign => f64::from(code) - f64::from(1u32 << bits),
        _ => f64::from(code),
    }
}

/// Returns the code of a value of an integer dtype or, with `from_float`, of a float.
fn code(op: Pack, x: f64, from_float: bool) -> u8 {
    let dtype = op.dtype;
    match dtype {
        PackedDType::F4E2M1 => nearest_e2m1(x),
        PackedDType::F8E8M0 => power_above(x),
        _ if dtype.is_fnuz() => nearest_fnuz(op, x),
        _ => {
            let (bits, signed) = (dtype.bits() as u32, dtype.is_signed_int());
            let low = if signed { -(1i64 << (bits - 1)) } else { 0 };
            // Rust's cast truncates and saturates, and takes a NaN to 0.
            let whole = x as i64;
            let kept = if from_float { whole.clamp(low, low + (1 << bits) - 1) } else { whole };
            (kept & ((1 << bits) - 1)) as u8
        }
    }
}

/// Returns the nearest element, of two equally near the one with an even code. A NaN gives 6.
fn nearest_e2m1(x: f64) -> u8 {
    if x.is_nan() {
        return 7;
    }
    let mut code = 0;
    for next in 1..E2M1.len() {
        let middle = (E2M1[next - 1] + E2M1[next]) / 2.0;
        if x.abs() > middle || (x.abs() == middle && next % 2 == 0) {
            code = next as u8;
        }
    }
    code | u8::from(x.is_sign_negative()) << 3
}

/// Returns the nearest element, of two equally near the one with an even code.
fn nearest_fnuz(op: Pack, x: f64) -> u8 {
    if x.is_nan() {
        return FNUZ_NAN;
    }
    let of = |code| fnuz_magnitude(op.dtype, code);
    // Half a power of two above the largest number, code 128 would be the nearest.
    let (mut low, mut high) = (0, 128);
    while high - low > 1 {
        let middle = (low + high) / 2;
        *if of(middle) <= x.abs() { &mut low } else { &mut high } = middle;
    }
    let middle = (of(low) + of(high)) / 2.0;
    let nearest = if x.abs() > middle || (x.abs() == middle && high % 2 == 0) { high } else { low };
    match nearest {
        128 if !op.saturate => FNUZ_NAN,
        0 => 0,
        code => code.min(127) as u8 | u8::from(x.is_sign_negative()) << 7,
    }
}

/// Returns the least power of two that is not below the value, or the largest of all. Only numbers
/// that are not negative have one.
fn power_above(x: f64) -> u8 {
    if x.is_nan() || x.is_infinite() || x < 0.0 {
        return u8::MAX;
    }
    (0..254).find(|&code| value(PackedDType::F8E8M0, code) >= x).unwrap_or(254)
}

pub(super) fn unpack(op: Unpack, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    if dl.elem_count() == 0 {
        return;
    }
    let (dtype, size) = (op.dtype, dst.dtype().size_in_bytes());
    // Integers reach the destination by the cast of integers, which wraps.
    let values: Vec<f64> = (0..1u16 << dtype.bits()).map(|code| value(dtype, code as u8)).collect();
    let (codes, all) = (values.len(), Layout::contiguous(values.len()));
    let values = CpuStorage::from(values);
    let exact = if dtype.is_int() { DType::I32 } else { DType::F64 };
    let table = values.to_dtype(&all, exact).and_then(|values| values.to_dtype(&all, dst.dtype()));
    let table = table.expect("the CPU casts every dtype");
    let (bits, table) = (dtype.bits(), table.as_bytes());
    let (src, dst) = (Rows::new(src), RowsMut::new(dst, dl));
    parallel(dst.count(), GROUP, &|rows| {
        let (mut packed, mut elements) = (vec![0; src.len()], vec![0; dst.len() * size]);
        for row in rows {
            src.read(row, 0, &mut packed);
            for (i, element) in elements.chunks_exact_mut(size).enumerate() {
                let byte = usize::from(packed[i / dtype.per_byte()]);
                let code = byte >> (i % dtype.per_byte() * bits) & (codes - 1);
                element.copy_from_slice(&table[code * size..][..size]);
            }
            // SAFETY: no other task has this row.
            unsafe { dst.write(row, 0, &elements) };
        }
    });
}

pub(super) fn pack(op: Pack, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    if dl.elem_count() == 0 {
        return;
    }
    let from_float = src.0.dtype().is_float();
    // f64 holds every value of the dtypes that are packed.
    let wide = src.0.to_dtype(src.1, DType::F64).expect("the CPU casts every dtype");
    let wide: &[f64] = wide.as_slice().expect("cast to f64");
    let (k, per_byte) = (*src.1.dims().last().expect("validated to have one dimension"), op.dtype.per_byte());
    let dst = RowsMut::new(dst, dl);
    parallel(dst.count(), GROUP, &|rows| {
        let mut packed = vec![0; dst.len()];
        for row in rows {
            let elements = wide[row * k..][..k].chunks(per_byte);
            for (byte, elements) in packed.iter_mut().zip(elements) {
                let place = |(i, &x): (usize, &f64)| code(op, x, from_float) << (i * op.dtype.bits());
                *byte = elements.iter().enumerate().map(place).fold(0, |byte, bits| byte | bits);
            }
            // SAFETY: no other task has this row.
            unsafe { dst.write(row, 0, &packed) };
        }
    });
}
