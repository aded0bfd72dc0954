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
    // Sign bits stay within the width.
    assert_eq!([Scalar::I8(-1), Scalar::I16(-1), Scalar::I32(-1)].map(Scalar::to_bits), [0xff, 0xffff, 0xffff_ffff]);
}
