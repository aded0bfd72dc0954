//! Tests of lane rows and bit masks.

use isobit_simgpu_amd::exec::row::{HALF, Row, gather};

#[test]
fn spread_and_gather_are_inverse() {
    for bits in [0, 1, u64::MAX, 0x8000_0000_0000_0001, 0x1234_5678_9abc_def0] {
        let mut row = Row::splat(7);
        row.spread(bits);
        let half = |h: usize| row.0[h * HALF..][..HALF].try_into().unwrap();
        assert_eq!(u64::from(gather::<false>(half(0))) | u64::from(gather::<false>(half(1))) << 32, bits);
    }
}
