//! The elements of attributes, which are passed in a C array whose type a tag names.

use super::object::{Body, Object, object};
use crate::status::{ATTRIBUTE_TYPE, BAD_PARAM, NULL_POINTER, Outcome, ensure, fail};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::Arc;

/// A value of `cudnnBackendAttributeType_t` for elements of one C type.
pub(super) struct Tag<T> {
    number: c_int,
    element: PhantomData<T>,
}

impl<T> Tag<T> {
    const fn new(number: c_int) -> Self {
        Self { number, element: PhantomData }
    }
}

pub(super) const HANDLE: Tag<*mut c_void> = Tag::new(0);
pub(super) const DATA_TYPE: Tag<c_int> = Tag::new(1);
/// Read as `u8`: every byte value is accepted, not only the two valid values of a C boolean.
pub(super) const BOOLEAN: Tag<u8> = Tag::new(2);
pub(super) const INT64: Tag<i64> = Tag::new(3);
pub(super) const FLOAT: Tag<f32> = Tag::new(4);
pub(super) const DOUBLE: Tag<f64> = Tag::new(5);
pub(super) const VOID_PTR: Tag<*mut c_void> = Tag::new(6);
pub(super) const CONVOLUTION_MODE: Tag<c_int> = Tag::new(7);
pub(super) const HEUR_MODE: Tag<c_int> = Tag::new(8);
pub(super) const NAN_PROPAGATION: Tag<c_int> = Tag::new(10);
pub(super) const NUMERICAL_NOTE: Tag<c_int> = Tag::new(11);
pub(super) const POINTWISE_MODE: Tag<c_int> = Tag::new(14);
pub(super) const DESCRIPTOR: Tag<*mut c_void> = Tag::new(15);
pub(super) const REDUCTION_OPERATOR: Tag<c_int> = Tag::new(18);
pub(super) const BEHAVIOR_NOTE: Tag<c_int> = Tag::new(19);
pub(super) const INT32: Tag<i32> = Tag::new(23);

/// The values of an attribute that is being set.
pub(super) struct Values {
    tag: c_int,
    count: usize,
    at: *const c_void,
    /// The descriptors among the elements.
    objects: Vec<Arc<Object>>,
}

impl Values {
    /// # Safety
    /// `at` is null or points to `count` elements of the C type of `tag`, which live as long as the
    /// values are used.
    pub(super) unsafe fn new(tag: c_int, count: i64, at: *const c_void) -> Outcome<Self> {
        let count = usize::try_from(count).unwrap_or_default();
        ensure(count > 0, BAD_PARAM, || "the attribute has no elements".into())?;
        ensure(!at.is_null(), NULL_POINTER, || "the pointer to the elements is null".into())?;
        let mut values = Self { tag, count, at, objects: Vec::new() };
        if tag == DESCRIPTOR.number {
            // The objects are looked up before the descriptor with this attribute is locked.
            values.objects = values.array(DESCRIPTOR, count)?.into_iter().map(object).collect::<Outcome<_>>()?;
        }
        Ok(values)
    }

    /// Returns the elements, at most `most`.
    pub(super) fn array<T: Copy>(&self, tag: Tag<T>, most: usize) -> Outcome<Vec<T>> {
        ensure(self.tag == tag.number, ATTRIBUTE_TYPE, || format!("type {} instead of {}", self.tag, tag.number))?;
        ensure(self.count <= most, BAD_PARAM, || format!("{} elements instead of at most {most}", self.count))?;
        let from = self.at.cast::<T>();
        // SAFETY: the caller of `new` promised this number of elements of the C type of the tag.
        Ok((0..self.count).map(|i| unsafe { from.add(i).read_unaligned() }).collect())
    }

    /// Returns the only element.
    pub(super) fn one<T: Copy>(&self, tag: Tag<T>) -> Outcome<T> {
        Ok(self.array(tag, 1)?[0])
    }

    /// Returns at most `most` finalized descriptors of a kind.
    pub(super) fn bodies<B: Body>(&self, most: usize) -> Outcome<Vec<Arc<B>>> {
        self.objects(most, Object::body_of)
    }

    /// Returns what `f` takes from each of at most `most` descriptors.
    pub(super) fn objects<T>(&self, most: usize, f: impl Fn(&Object) -> Outcome<T>) -> Outcome<Vec<T>> {
        self.array(DESCRIPTOR, most)?;
        self.objects.iter().map(|object| f(object)).collect()
    }

    /// Returns the only descriptor of a kind.
    pub(super) fn body<B: Body>(&self) -> Outcome<Arc<B>> {
        Ok(self.bodies(1)?.remove(0))
    }
}

/// The destination of an attribute that is being read.
pub(super) struct Room {
    tag: c_int,
    /// The number of requested elements.
    most: usize,
    count: *mut i64,
    at: *mut c_void,
}

impl Room {
    /// # Safety
    /// `count` is null or can be written. `at` is null or has room for `most` elements of the C
    /// type of `tag`; for descriptors, it holds `most` elements. Both stay valid as long as the
    /// room is used.
    pub(super) unsafe fn new(tag: c_int, most: i64, count: *mut i64, at: *mut c_void) -> Outcome<Self> {
        let Ok(most) = usize::try_from(most) else { return fail(BAD_PARAM, format!("{most} elements are requested")) };
        Ok(Self { tag, most, count, at })
    }

    /// Writes the number of elements, and calls `write` for each element that fits.
    fn give<T, V>(&self, tag: Tag<T>, values: &[V], write: impl Fn(*mut T, &V) -> Outcome) -> Outcome {
        ensure(self.tag == tag.number, ATTRIBUTE_TYPE, || format!("type {} instead of {}", self.tag, tag.number))?;
        if !self.at.is_null() {
            let to = self.at.cast::<T>();
            values.iter().take(self.most).enumerate().try_for_each(|(i, value)| write(to.wrapping_add(i), value))?;
        }
        if !self.count.is_null() {
            // SAFETY: not null, so it can be written, as the caller of `new` promised.
            unsafe { self.count.write(values.len() as i64) };
        }
        Ok(())
    }

    pub(super) fn put<T: Copy>(&self, tag: Tag<T>, values: &[T]) -> Outcome {
        self.give(tag, values, |to, value| {
            // SAFETY: within the room for elements of this type.
            unsafe { to.write_unaligned(*value) };
            Ok(())
        })
    }

    /// Reads an attribute of descriptors: turns the caller's descriptors, which must have the right
    /// kind and must not be finalized, into these.
    pub(super) fn fill<B: Body>(&self, bodies: &[Arc<B>]) -> Outcome {
        let bodies: Vec<_> = bodies.iter().map(|body| body.clone() as Arc<dyn Body>).collect();
        self.fill_any(&bodies)
    }

    /// The same with descriptors that can have several kinds.
    pub(super) fn fill_any(&self, bodies: &[Arc<dyn Body>]) -> Outcome {
        self.give(DESCRIPTOR, bodies, |from, body| {
            // SAFETY: the index is within the descriptors that the caller provides.
            let target = object(unsafe { from.read_unaligned() })?;
            target.become_final(body.clone())
        })
    }
}
