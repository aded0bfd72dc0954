//! Tests of the values that operands of each kind read.

use isobit_simgpu_amd::exec::value::Kind;

#[test]
fn inline_constants_are_the_values_that_the_isa_lists() {
    assert_eq!(Kind::Int32.inline_constant(128), 0);
    assert_eq!(Kind::Int32.inline_constant(192), 64);
    assert_eq!(Kind::Int32.inline_constant(193), u64::from((-1i32) as u32));
    assert_eq!(Kind::Int64.inline_constant(208), (-16i64) as u64);
    for (i, value) in [0.5f64, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 0.15915494309189532].into_iter().enumerate() {
        let code = 240 + i as u8;
        assert_eq!(f64::from_bits(Kind::F64.inline_constant(code)), value);
        assert_eq!(f32::from_bits(Kind::F32.inline_constant(code) as u32), value as f32);
        assert_eq!(half::f16::from_bits(Kind::F16.inline_constant(code) as u16), half::f16::from_f64(value));
    }
}
