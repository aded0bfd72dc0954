//! Tests the views that give a layout another shape: whenever there is one, its elements are the
//! same buffer indices in the same order. Which reshapes have a view is known from NumPy.

use isobit_hal::*;
use proptest::prelude::*;

fn indices(layout: &Layout) -> Vec<usize> {
    layout.strided_index().collect()
}

/// Layouts made of a contiguous one by steps that slice, step, transpose, broadcast and add
/// dimensions.
fn layouts() -> impl Strategy<Value = Layout> {
    let dims = prop::collection::vec(prop_oneof![6 => 1..5usize, 1 => Just(0usize)], 0..5);
    let steps = prop::collection::vec((0..6u8, any::<prop::sample::Index>(), 1..4usize), 0..4);
    (dims, 0..9usize, steps).prop_map(|(dims, offset, steps)| {
        let mut layout = Layout::contiguous_with_offset(dims, offset);
        for (kind, at, n) in steps {
            let rank = layout.shape().rank();
            if rank == 0 {
                layout = layout.unsqueeze(0).unwrap();
                continue;
            }
            let d = at.index(rank);
            let size = layout.dims()[d];
            layout = match kind {
                0 => layout.narrow(d, (n - 1).min(size), size - (n - 1).min(size)).unwrap(),
                1 => layout.step(d, n).unwrap(),
                2 => layout.transpose(d, rank - 1).unwrap(),
                3 => layout.unsqueeze(d).unwrap(),
                4 if size == 1 => {
                    let mut wide: Dims = layout.dims().into();
                    wide[d] = n;
                    layout.broadcast_as(wide).unwrap()
                }
                _ => layout.unsqueeze(rank).unwrap(),
            };
        }
        layout
    })
}

/// Cuts a number of elements into dimensions, with sizes of 1 among them.
fn shapes(count: usize) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..6).prop_map(move |cuts| {
        let mut dims = vec![count];
        for (at, one) in cuts {
            let last = dims.len() - 1;
            let divisors: Vec<usize> = (1..=dims[last].max(1)).filter(|d| dims[last].is_multiple_of(*d)).collect();
            let by = if one { 1 } else { divisors[at.index(divisors.len())] };
            dims[last] /= by;
            dims.insert(at.index(dims.len()), by);
        }
        dims
    })
}

proptest! {
    #[test]
    fn a_reshaped_layout_has_the_same_elements_in_the_same_order(
        (layout, shape) in layouts().prop_flat_map(|l| {
            let count = l.elem_count();
            (Just(l), shapes(count))
        })
    ) {
        match layout.reshape(&shape[..]) {
            Ok(view) => {
                prop_assert_eq!(view.dims(), &shape[..]);
                prop_assert_eq!(indices(&view), indices(&layout));
            }
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                prop_assert!(!layout.is_contiguous(), "{} as {:?}: {}", layout, shape, error);
                // No strides reach them: else the first elements along each dimension show them.
                prop_assert!(by_trial(&layout, &shape).is_none(), "{} as {:?} has a view", layout, shape);
            }
        }
    }

    #[test]
    fn dimensions_of_one_element_come_and_go(layout in layouts(), at in any::<prop::sample::Index>()) {
        let d = at.index(layout.shape().rank() + 1);
        let more = layout.unsqueeze(d).unwrap();
        prop_assert_eq!(more.dims()[d], 1);
        prop_assert_eq!(indices(&more), indices(&layout));
        prop_assert_eq!(more.squeeze(d).unwrap(), layout);
    }
}

/// Reads the strides of a view off the indices that it must have, and checks all others.
fn by_trial(layout: &Layout, shape: &[usize]) -> Option<Layout> {
    let want = indices(layout);
    let (mut stride, mut step) = (Dims::from_elem(0, shape.len()), 1);
    for d in (0..shape.len()).rev() {
        if shape[d] > 1 {
            stride[d] = want[step].checked_sub(want[0])?;
        }
        step *= shape[d];
    }
    let view = Layout::new(shape, stride, want[0]).unwrap();
    (indices(&view) == want).then_some(view)
}

#[test]
fn views_that_numpy_makes_without_a_copy_exist_and_no_others() {
    // By numpy.reshape(a, shape, copy=False) of NumPy 2: whether it gives a view.
    let base = Layout::contiguous((4, 6));
    let turned = base.transpose(0, 1).unwrap();
    let half = base.narrow(1, 0, 3).unwrap();
    let row = Layout::contiguous((1, 6)).broadcast_as((4, 6)).unwrap();
    let column = Layout::contiguous((4, 1)).broadcast_as((4, 6)).unwrap();
    let one = Layout::contiguous((1, 1)).broadcast_as((4, 6)).unwrap();
    for (layout, shape, exists) in [
        (&base, &[24][..], true),
        (&base, &[2, 2, 3, 1, 2], true),
        (&turned, &[24], false),
        (&turned, &[3, 2, 4], true),
        (&turned, &[6, 2, 1, 2], true),
        (&turned, &[12, 2], false),
        (&half, &[12], false),
        (&half, &[2, 2, 3], true),
        (&half, &[2, 6], false),
        (&row, &[24], false),
        (&row, &[2, 2, 3, 2], true),
        (&row, &[8, 3], false),
        (&column, &[24], false),
        (&column, &[2, 2, 6], true),
        (&column, &[4, 2, 3], true),
        (&one, &[3, 8], true),
    ] {
        assert_eq!(layout.reshape(shape).is_ok(), exists, "{layout} as {shape:?}");
    }
    assert_eq!(Layout::contiguous(()).reshape((1, 1)).unwrap().dims(), [1, 1]);
    assert_eq!(Layout::contiguous((1, 1)).reshape(()).unwrap().dims(), [0usize; 0]);
    let empty = base.transpose(0, 1).unwrap().narrow(0, 0, 0).unwrap();
    assert_eq!(empty.reshape((5, 0, 2)).unwrap().dims(), [5, 0, 2]);
    assert_eq!(Layout::contiguous((2, 3, 4)).flatten(0, 2).unwrap(), Layout::contiguous(24));
    assert_eq!(Layout::contiguous((2, 3, 4)).flatten(1, 1).unwrap(), Layout::contiguous((2, 3, 4)));
}

#[test]
fn views_that_cannot_be_are_refused_with_what_to_do() {
    let base = Layout::contiguous((4, 6));
    let huge = Layout::contiguous(1).broadcast_as([usize::MAX, 2]).unwrap();
    for (result, kind, says) in [
        (base.reshape((5, 5)), ErrorKind::ShapeMismatch, "24"),
        (base.reshape((0, 3)), ErrorKind::ShapeMismatch, "24"),
        (base.transpose(0, 1).unwrap().reshape(24), ErrorKind::InvalidArgument, "copy"),
        (huge.reshape([usize::MAX, 3]), ErrorKind::ShapeMismatch, "elements"),
        (base.squeeze(0), ErrorKind::InvalidArgument, "size 4"),
        (base.squeeze(2), ErrorKind::InvalidArgument, "out of range"),
        (base.unsqueeze(3), ErrorKind::InvalidArgument, "out of range"),
        (base.flatten(1, 2), ErrorKind::InvalidArgument, "out of range"),
        (base.flatten(1, 0), ErrorKind::InvalidArgument, "after the last"),
        (base.transpose(0, 1).unwrap().flatten(0, 1), ErrorKind::InvalidArgument, "copy"),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(says), "`{}` does not say `{says}`", error.message());
    }
}
