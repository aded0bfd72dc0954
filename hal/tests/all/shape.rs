//! Tests shapes.

use isobit_hal::*;

#[test]
fn counts_and_strides() {
    for (dims, count, stride) in [
        (vec![], 1, vec![]),
        (vec![5], 5, vec![1]),
        (vec![2, 3, 4], 24, vec![12, 4, 1]),
        (vec![2, 0, 4], 0, vec![0, 4, 1]),
        (vec![usize::MAX, 3], usize::MAX, vec![3, 1]),
        (vec![3, usize::MAX, 0], 0, vec![0, 0, 1]),
    ] {
        let shape = Shape::from(dims);
        assert_eq!(shape.elem_count(), count, "{shape}");
        assert_eq!(shape.stride_contiguous().as_slice(), stride, "{shape}");
    }
}

#[test]
fn reduced_dimensions_stay_with_size_1() {
    assert_eq!(Shape::from([2, 3, 4]).reduced(&[2, 0]), Shape::from((1, 3, 1)));
    assert_eq!(Shape::from([0, 3]).reduced(&[0]), Shape::from([1, 3]));
    assert_eq!(Shape::from([2]).reduced(&[]), Shape::from(2));
}

#[test]
fn every_spelling_is_the_same_shape() {
    let shape = Shape::from([4, 5]);
    assert_eq!(shape, Shape::from((4, 5)));
    assert_eq!(shape, Shape::from(vec![4, 5]));
    assert_eq!(shape, Shape::from(&[4usize, 5][..]));
    assert_eq!(shape, Shape::from(&shape));
    assert_eq!(Shape::from(()), Shape::default());
    assert_eq!(shape.to_string(), "[4, 5]");
}
