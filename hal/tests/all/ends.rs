//! Tests the ends of uniform intervals.

use isobit_hal::*;

fn ends(lo: f64, up: f64, dtype: DType) -> [f64; 2] {
    RandUniform::new(lo, up).ends(dtype)
}

#[test]
fn the_ends_are_the_outermost_values_of_the_interval() {
    assert_eq!(ends(0.0, 1.0, DType::F64), [0.0, 1.0 - 2f64.powi(-53)]);
    assert_eq!(ends(0.0, 1.0, DType::F32), [0.0, 1.0 - 2f64.powi(-24)]);
    assert_eq!(ends(0.0, 1.0, DType::F16), [0.0, 1.0 - 2f64.powi(-11)]);
    assert_eq!(ends(0.0, 1.0, DType::BF16), [0.0, 1.0 - 2f64.powi(-8)]);
    // The neighbours of zero are the smallest subnormals.
    assert_eq!(ends(-1.0, 0.0, DType::F16), [-1.0, -(2f64.powi(-24))]);
    assert_eq!(ends(-1e-30, 1e-30, DType::F16), [0.0, 0.0]);
    assert!(ends(-1e-30, 1.0, DType::F16)[0].is_sign_positive());
    // A limit between two values gives the inner one; 0.1 lies between the bf16 values 0x3dcc and
    // 0x3dcd.
    assert_eq!(ends(0.1, 0.25, DType::BF16), [0.10009765625, 0.25 - 2f64.powi(-10)]);
    assert_eq!(ends(-0.25, -0.1, DType::BF16)[1], -0.10009765625);
}

#[test]
fn the_ends_agree_with_a_search_through_all_values() {
    let values: Vec<f64> = (0..=u16::MAX).map(|b| f16::from_bits(b).to_f64()).filter(|x| x.is_finite()).collect();
    for (lo, up) in
        [(0.0, 1.0), (-3.7, 5.2), (1e-7, 2e-7), (0.1, 0.1001), (-70000.0, 70000.0), (1023.9, 1024.1), (-2.0, -1.0)]
    {
        let inside = || values.iter().copied().filter(|&x| lo <= x && x < up);
        let want = [inside().fold(f64::INFINITY, f64::min), inside().fold(f64::NEG_INFINITY, f64::max)];
        assert_eq!(ends(lo, up, DType::F16), want, "[{lo}, {up})");
    }
}

#[test]
fn an_interval_without_values_gives_the_value_nearest_to_its_beginning() {
    assert_eq!(ends(2.0, 2.0, DType::F32), [2.0; 2]);
    assert_eq!(ends(1.0001, 1.0002, DType::F16), [1.0; 2]);
    assert_eq!(ends(1e6, 2e6, DType::F16), [f64::INFINITY; 2]);
    assert_eq!(ends(-2e6, -1e6, DType::F16), [f64::NEG_INFINITY; 2]);
    assert_eq!(ends(65519.0, 65519.5, DType::F16), [65504.0; 2]);
}
