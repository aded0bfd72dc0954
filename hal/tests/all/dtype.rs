//! Names and properties of dtypes.

use isobit_hal::*;

#[test]
fn names_read_back_and_properties_are_those_of_the_types() {
    for (i, &dtype) in DType::ALL.iter().enumerate() {
        assert_eq!(dtype.as_str().parse::<DType>().unwrap(), dtype);
        assert_eq!(dtype.index(), i);
        assert_ne!(dtype.is_int(), dtype.is_float());
        assert_eq!(dtype.is_narrow_float(), dtype.is_float() && dtype.size_in_bytes() < 4);
        dispatch_dtype!(dtype, T => {
            assert_eq!((T::DTYPE, size_of::<T>()), (dtype, dtype.size_in_bytes()));
            assert_eq!(T::from_scalar(Scalar::zero(dtype)), Some(T::default()));
            assert_eq!(Scalar::zero(dtype).to_bits(), 0);
            assert_eq!(T::from_scalar(if dtype == DType::U8 { 1i8.into() } else { 1u8.into() }), None);
        });
    }
    let error = "f12".parse::<DType>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("bf16"));
    // Sign bits do not extend beyond the width.
    assert_eq!([Scalar::I8(-1), Scalar::I16(-1), Scalar::I32(-1)].map(Scalar::to_bits), [0xff, 0xffff, 0xffff_ffff]);
}

/// Compares with the reference's own cast on halfway cases, the ends of every range, and values
/// beyond.
#[test]
fn a_scalar_of_an_f64_is_what_a_cast_gives() {
    let layout = Layout::contiguous(1);
    let exact =
        [0.0, -0.0, 1.0, -1.5, 0.1, 255.5, -129.0, 448.0, 464.0, 65519.999, 65520.0, 1e10, -1e30, 1e300, 4.9e-324];
    let narrow = [1.0 + f64::powi(2.0, -11), 1.0 + f64::powi(2.0, -11) + f64::powi(2.0, -40), 2049.0, 257.0, 3.0e-8];
    let ends = [f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 9.3e18, -9.3e18, 4294967295.5];
    for value in exact.into_iter().chain(narrow).chain(ends) {
        for &dtype in DType::ALL {
            let cast = CpuStorage::from(vec![value]).to_dtype(&layout, dtype).unwrap();
            let mut made = CpuStorage::from_bytes(dtype, &vec![0; dtype.size_in_bytes()]).unwrap();
            made.const_set(Scalar::from_f64(dtype, value), &layout).unwrap();
            let same = made.as_bytes() == cast.as_bytes();
            assert!(
                same || value.is_nan() && dtype.is_float(),
                "{value:?} as {dtype}: {made:?}, a cast gives {cast:?}"
            );
        }
    }
}
