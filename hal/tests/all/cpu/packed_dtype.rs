//! Packed elements. The values of each code are those of the types' specifications: the OCP
//! microscaling formats, version 1.0, ONNX's 4-bit integers, and the 8-bit floats of AMD's
//! instruction set of MI300.

use super::*;
use PackedDType::{F4E2M1, F8E4M3FNUZ, F8E5M2FNUZ, F8E8M0, I2, I4, U2, U4};
use half::{bf16, f16};
use isobit_hal::{ErrorKind, Op, Pack, PackedDType, Src, Unpack};

fn packed<T: WithDType>(values: &[T], dtype: PackedDType) -> Vec<u8> {
    vec(&storage(values).pack(&Layout::contiguous(values.len()), dtype).unwrap())
}

fn unpacked(bytes: &[u8], dtype: PackedDType, elements: usize, to: DType) -> CpuStorage {
    storage(bytes).unpack(&Layout::contiguous(bytes.len()), dtype, elements, to).unwrap()
}

#[test]
fn rows_begin_at_bytes_and_end_with_zeros() {
    let l = Layout::contiguous([2, 3]);
    let x = storage(&[1i32, 2, 3, 4, 5, 6]);
    assert_eq!(vec::<u8>(&x.pack(&l, U4).unwrap()), [0x21, 0x03, 0x54, 0x06]);
    let x = storage(&[1i32, 2, 3, -1, -2, 0]);
    assert_eq!(vec::<u8>(&x.pack(&l, U2).unwrap()), [0b11_10_01, 0b00_10_11]);
    assert_eq!(vec::<u8>(&x.pack(&l.transpose(0, 1).unwrap(), I4).unwrap()), [0xf1, 0xe2, 0x03]);
    let sizes = PackedDType::ALL.iter().map(|d| (d.row_bytes(0), d.row_bytes(1), d.row_bytes(9)));
    assert_eq!(
        sizes.collect::<Vec<_>>(),
        [(0, 1, 5), (0, 1, 5), (0, 1, 3), (0, 1, 3), (0, 1, 5), (0, 1, 9), (0, 1, 9), (0, 1, 9)]
    );
}

#[test]
fn codes_have_the_values_of_the_specifications() {
    let nibbles: Vec<u8> = (0..8).map(|i| (2 * i) | (2 * i + 1) << 4).collect();
    let of = |dtype| vec::<f32>(&unpacked(&nibbles, dtype, 16, DType::F32));
    assert_eq!(of(U4), (0..16).map(|i| i as f32).collect::<Vec<_>>());
    assert_eq!(of(I4), (0..16).map(|i| if i < 8 { i as f32 } else { i as f32 - 16.0 }).collect::<Vec<_>>());
    let e2m1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0f32];
    let negative = e2m1.map(|x| -x);
    assert_same(&of(F4E2M1), &[e2m1, negative].concat());
    let crumbs = [0b11_10_01_00];
    assert_eq!(vec::<f64>(&unpacked(&crumbs, U2, 4, DType::F64)), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(vec::<i8>(&unpacked(&crumbs, I2, 4, DType::I8)), [0, 1, -2, -1]);
    let scales = vec::<f64>(&unpacked(&[0, 1, 126, 127, 128, 254, 255], F8E8M0, 7, DType::F64));
    assert_eq!(scales[..6], [2f64.powi(-127), 2f64.powi(-126), 0.5, 1.0, 2.0, 2f64.powi(127)]);
    assert!(scales[6].is_nan());
    let scales = unpacked(&[0, 255], F8E8M0, 2, DType::F32);
    assert_eq!(vec::<f32>(&scales)[0].to_bits(), 0x0040_0000, "a subnormal number of f32");
}

#[test]
fn unpacked_values_are_cast() {
    assert_eq!(vec::<u8>(&unpacked(&[0xf8], I4, 2, DType::U8)), [248, 255], "integers wrap");
    assert_eq!(vec::<u8>(&unpacked(&[0x7f], F4E2M1, 2, DType::U8)), [0, 6], "floats saturate");
    assert_eq!(vec::<i8>(&unpacked(&[0x93], F4E2M1, 2, DType::I8)), [1, 0], "and are truncated");
    assert_eq!(vec::<i32>(&unpacked(&[254, 255, 126, 130], F8E8M0, 4, DType::I32)), [i32::MAX, 0, 0, 8]);
    let narrow = vec::<f16>(&unpacked(&[254, 103, 102, 101], F8E8M0, 4, DType::F16));
    assert_eq!(narrow.map(|x| x.to_bits()), [0x7c00, 1, 0, 0], "2^-24 is the least of f16, 2^-25 half of it");
    let wide = vec::<bf16>(&unpacked(&[254, 0], F8E8M0, 2, DType::BF16));
    assert_eq!(wide.map(|x| x.to_bits()), [0x7f00, 0x0040]);
}

trait Map<T> {
    fn map<U>(self, f: impl Fn(T) -> U) -> Vec<U>;
}

impl<T> Map<T> for Vec<T> {
    fn map<U>(self, f: impl Fn(T) -> U) -> Vec<U> {
        self.into_iter().map(f).collect()
    }
}

#[test]
fn integers_are_truncated_from_floats_and_wrap_from_integers() {
    let x = [1.9f32, -0.9, 7.5, 100.0, -100.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    assert_eq!(packed(&x, U4), [0x01, 0xf7, 0x00, 0x0f]);
    assert_eq!(packed(&x, I4), [0x01, 0x77, 0x08, 0x87]);
    assert_eq!(packed(&x, I2), [0b01_01_00_01, 0b10_01_00_10]);
    assert_eq!(packed(&x, U2), [0b11_11_00_01, 0b00_11_00_00]);
    assert_eq!(packed(&[200u8, 16, 15], U4), [0x08, 0x0f]);
    assert_eq!(packed(&[-9i8, 7], I4), [0x77]);
    assert_eq!(packed(&[-1i32, i32::MIN, i32::MAX, 6], U2), [0b10_11_00_11]);
}

#[test]
fn floats_of_four_bits_are_the_nearest_with_ties_to_even() {
    let of = |x: f64| packed(&[x], F4E2M1)[0];
    for (x, code) in [
        (0.0, 0),
        (-0.0, 8),
        (0.25, 0),
        (0.2500001, 1),
        (-0.25, 8),
        (0.5, 1),
        (0.75, 2),
        (0.7499999, 1),
        (1.25, 2),
        (1.2500001, 3),
        (1.75, 4),
        (2.5, 4),
        (2.5000001, 5),
        (3.5, 6),
        (3.4999999, 5),
        (5.0, 6),
        (5.0000001, 7),
        (6.0, 7),
        (1e300, 7),
        (-1e300, 15),
        (f64::INFINITY, 7),
        (f64::NEG_INFINITY, 15),
        (f64::NAN, 7),
        (5e-324, 0),
        (0.25 + 1e-17, 0),
        (0.25 + 1e-16, 1),
        (-1.25 - 1e-15, 11),
    ] {
        assert_eq!(of(x), code, "{x:e}");
    }
    assert_eq!(packed(&[5i32, 6, -7, i32::MIN, 2_000_000_001, 1], F4E2M1), [0x76, 0xff, 0x27]);
    assert_eq!(packed(&[3.5f32, 0.75], F4E2M1), [0x26]);
}

#[test]
fn scales_are_rounded_up() {
    let of = |x: f64| packed(&[x], F8E8M0)[0];
    for (x, code) in [
        (1.0, 127),
        (1.0000000001, 128),
        (3.0, 129),
        (4.0, 129),
        (0.0, 0),
        (-0.0, 0),
        (5e-324, 0),
        (2f64.powi(-127), 0),
        (2f64.powi(-127) * 1.0000001, 1),
        (2f64.powi(127), 254),
        (2f64.powi(127) * 1.5, 254),
        (1e300, 254),
        (f64::INFINITY, 255),
        (f64::NAN, 255),
        (-1.0, 255),
        (-1e-300, 255),
    ] {
        assert_eq!(of(x), code, "{x:e}");
    }
    assert_eq!(packed(&[(1i32 << 24) + 1, i32::MAX, -1, 3], F8E8M0), [152, 158, 255, 129]);
    assert_eq!(packed(&[f32::from_bits(0x0040_0000), f32::from_bits(0x0040_0001), f32::MAX], F8E8M0), [0, 1, 254]);
}

#[test]
fn floats_of_eight_bits_with_one_zero_have_their_values() {
    let of = |dtype, codes: [u8; 8]| vec::<f64>(&unpacked(&codes, dtype, 8, DType::F64));
    let codes = [0x00, 0x01, 0x07, 0x08, 0x40, 0x7f, 0xc4, 0xff];
    let two = |e| 2f64.powi(e);
    assert_eq!(of(F8E4M3FNUZ, codes), [0.0, two(-10), 7.0 * two(-10), two(-7), 1.0, 240.0, -1.5, -240.0]);
    let codes = [0x00, 0x01, 0x03, 0x04, 0x40, 0x7f, 0xc2, 0xff];
    assert_eq!(of(F8E5M2FNUZ, codes), [0.0, two(-17), 3.0 * two(-17), two(-15), 1.0, 57344.0, -1.5, -57344.0]);
    for dtype in [F8E4M3FNUZ, F8E5M2FNUZ] {
        assert!(vec::<f32>(&unpacked(&[0x80], dtype, 1, DType::F32))[0].is_nan());
    }
}

#[test]
fn floats_of_eight_bits_with_one_zero_are_the_nearest() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let least = 2f64.powi(-11);
    for (x, saturated, other) in [
        (0.0, 0, 0),
        (-0.0, 0, 0),
        (least, 0, 0),
        (-least, 0, 0),
        (least * 1.0000001, 1, 1),
        (-3.0 * least, 0x82, 0x82),
        (1.0625, 0x40, 0x40),
        (1.1875, 0x42, 0x42),
        (-240.0, 0xff, 0xff),
        (247.9999999, 0x7f, 0x7f),
        (248.0, 0x7f, 0x80),
        (-248.0, 0xff, 0x80),
        (1e300, 0x7f, 0x80),
        (-inf, 0xff, 0x80),
        (nan, 0x80, 0x80),
    ] {
        let of = |op| vec::<u8>(&storage(&[x]).pack_with(&Layout::contiguous(1), op).unwrap())[0];
        assert_eq!(of(Pack::new(F8E4M3FNUZ)), saturated, "{x:e}");
        assert_eq!(of(Pack::non_saturating(F8E4M3FNUZ)), other, "{x:e}");
    }
    let x = [61439.0f32, 61440.0, -65504.0];
    assert_eq!(packed(&x, F8E5M2FNUZ), [0x7f, 0x7f, 0xff]);
    let op = Pack::non_saturating(F8E5M2FNUZ);
    assert_eq!(vec::<u8>(&storage(&x).pack_with(&Layout::contiguous(3), op).unwrap()), [0x7f, 0x80, 0x80]);
    assert_eq!(packed(&[i32::MIN, 3, 17], F8E4M3FNUZ), [0xff, 0x4c, 0x60]);
}

#[test]
fn every_code_comes_back() {
    for &dtype in PackedDType::ALL {
        let bytes: Vec<u8> = (0..=255).collect();
        let elements = 256 * dtype.per_byte();
        for to in [DType::F32, DType::F64] {
            let values = unpacked(&bytes, dtype, elements, to);
            let back = values.pack(&Layout::contiguous(elements), dtype).unwrap();
            assert_eq!(vec::<u8>(&back), bytes, "{dtype} {to}");
        }
    }
}

#[test]
fn errors_say_what_a_row_needs() {
    let (x, l) = (storage(&[1u8, 2]), Layout::contiguous(2));
    let error = x.unpack(&l, U4, 5, DType::F32).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShapeMismatch);
    assert!(error.message().contains("5 elements of u4 has 3 bytes, not 2"), "{error}");
    assert!(x.unpack(&l, U4, 2, DType::F32).is_err(), "two bytes for one byte of elements");
    assert_eq!(x.unpack(&l, U4, 3, DType::I64).unwrap_err().kind(), ErrorKind::UnsupportedDtype);
    assert_eq!(storage(&[1i64]).pack(&Layout::contiguous(1), U4).unwrap_err().kind(), ErrorKind::UnsupportedDtype);
    assert!(x.pack(&Layout::contiguous(()), U4).is_err(), "a row is a dimension");
    let mut dst = storage(&[7f32; 3]);
    let op = Op::Unpack(Unpack::new(U4, 4));
    assert!(CpuStorage::apply_into(&op, &[Src::Storage(&x, &l)], &mut dst, &Layout::contiguous(3)).is_err());
    assert_eq!(vec::<f32>(&dst), [7.0; 3]);
    let none = storage::<f32>(&[]).pack(&Layout::contiguous([3, 0]), I2).unwrap();
    assert_eq!(vec::<u8>(&none), [0u8; 0]);
}
