//! Tests layouts: views, bounds, collapsing.

use isobit_hal::*;

/// Returns the buffer index of an element by the definition: offset + sum of index * stride.
fn by_definition(layout: &Layout) -> Vec<usize> {
    let mut indices = vec![layout.start_offset()];
    for (&d, &s) in layout.dims().iter().zip(layout.stride()) {
        indices = indices.iter().flat_map(|&i| (0..d).map(move |x| i + x * s)).collect();
    }
    indices
}

fn samples() -> Vec<Layout> {
    let base = Layout::contiguous_with_offset([3, 4, 5], 7);
    vec![
        Layout::contiguous(()),
        Layout::contiguous([0]),
        Layout::contiguous([2, 0, 3]),
        base.clone(),
        base.transpose(0, 2).unwrap(),
        base.permute(&[1, 2, 0]).unwrap(),
        base.narrow(1, 1, 2).unwrap(),
        base.step(2, 2).unwrap(),
        base.narrow(0, 1, 1).unwrap().broadcast_as([6, 4, 5]).unwrap(),
        Layout::contiguous([1]).broadcast_as([2, 3]).unwrap(),
        Layout::new([2, 1, 3], Dims::from_slice(&[3, 99, 1]), 0).unwrap(),
    ]
}

#[test]
fn indices_are_those_of_the_definition() {
    for layout in samples() {
        let want = by_definition(&layout);
        let iterator = layout.strided_index();
        assert_eq!(iterator.len(), want.len());
        assert_eq!(iterator.collect::<Vec<_>>(), want, "{layout}");
        assert_eq!(layout.required_len(), Some(want.iter().max().map_or(0, |m| m + 1)), "{layout}");
        let consecutive = want.windows(2).all(|w| w[1] == w[0] + 1);
        assert_eq!(layout.is_contiguous(), consecutive, "{layout}");
        let ends = consecutive.then(|| (layout.start_offset(), layout.start_offset() + want.len()));
        assert_eq!(layout.contiguous_offsets(), ends, "{layout}");
        let mut unique = want.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(layout.is_injective(), unique.len() == want.len(), "{layout}");
    }
}

#[test]
fn views_name_the_elements_they_say() {
    let base = Layout::contiguous([3, 4]);
    assert_eq!(by_definition(&base.transpose(0, 1).unwrap()), [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
    assert_eq!(by_definition(&base.permute(&[1, 0]).unwrap()), by_definition(&base.transpose(0, 1).unwrap()));
    assert_eq!(by_definition(&base.narrow(1, 2, 2).unwrap()), [2, 3, 6, 7, 10, 11]);
    assert_eq!(by_definition(&base.step(1, 3).unwrap()), [0, 3, 4, 7, 8, 11]);
    assert_eq!(by_definition(&Layout::contiguous([2, 1]).broadcast_as([2, 2, 2]).unwrap()), [0, 0, 1, 1, 0, 0, 1, 1]);
    // The dimension becomes empty, so the offset need not move beyond the buffer.
    assert_eq!(base.narrow(0, 3, 0).unwrap().start_offset(), 0);
}

#[test]
fn views_that_cannot_be_are_refused() {
    let base = Layout::contiguous([3, 4]);
    for (result, kind) in [
        (base.narrow(1, 3, 2), ErrorKind::InvalidArgument),
        (base.narrow(1, usize::MAX, 2), ErrorKind::InvalidArgument),
        (base.narrow(2, 0, 0), ErrorKind::InvalidArgument),
        (base.step(0, 0), ErrorKind::InvalidArgument),
        (base.transpose(0, 2), ErrorKind::InvalidArgument),
        (base.permute(&[0, 0]), ErrorKind::InvalidArgument),
        (base.permute(&[0]), ErrorKind::InvalidArgument),
        (base.broadcast_as([4]), ErrorKind::ShapeMismatch),
        (base.broadcast_as([3, 5]), ErrorKind::ShapeMismatch),
        (Layout::new([3, 4], Dims::from_slice(&[1]), 0), ErrorKind::InvalidArgument),
    ] {
        assert_eq!(result.unwrap_err().kind(), kind);
    }
}

#[test]
fn huge_layouts_saturate_and_do_not_wrap() {
    let max = usize::MAX;
    assert_eq!(Layout::contiguous([max, max]).elem_count(), max);
    assert_eq!(Layout::new([2, 2], Dims::from_slice(&[max, max]), 0).unwrap().required_len(), None);
    assert_eq!(Layout::contiguous_with_offset([2], max).required_len(), None);
    assert_eq!(Layout::contiguous_with_offset([0], max).required_len(), Some(0));
}

#[test]
fn collapsed_layouts_address_the_same_elements_in_the_same_order() {
    for a in samples() {
        for b in [Layout::contiguous(a.shape()), a.clone()] {
            let collapsed = collapse(&[&a, &b]);
            assert_eq!(collapsed.dims.iter().product::<usize>(), a.elem_count());
            for (layout, stride) in [&a, &b].into_iter().zip(&collapsed.strides) {
                let merged = Layout::new(collapsed.dims.clone(), stride.clone(), layout.start_offset()).unwrap();
                assert_eq!(by_definition(&merged), by_definition(layout), "{a} with {b}");
            }
        }
    }
    let base = Layout::contiguous([2, 3, 4]);
    assert_eq!(collapse(&[&base]).dims.as_slice(), [24]);
    assert_eq!(
        collapse(&[&base, &base.narrow(0, 0, 1).unwrap().broadcast_as([2, 3, 4]).unwrap()]).dims.as_slice(),
        [2, 12]
    );
    assert!(collapse(&[&Layout::contiguous([1, 1])]).dims.is_empty());
}
