//! The elements of attributes, which pass through a C array of a type that a tag names.

use super::object::{Body, Object, object};
use crate::status::{ATTRIBUTE_TYPE, BAD_PARAM, NULL_POINTER, Outcome, ensure, fail};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::Arc;

/// A value of `cudnnBackendAttributeType_t`, for elements of one type in C.
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
/// Any byte is read, not only those that C has for a truth value.
pub(super) const BOOLEAN: Tag<u8> = Tag::new(2);
pub(super) const INT64: Tag<i64> = Tag::new(3);
pub(super) const FLOAT: Tag<f32> = Tag::new(4);
pub(super) const DOUBLE: Tag<f64> = Tag::new(5);
pub(super) const VOID_PTR: Tag<*mut c_void> = Tag::new(6);
pub(super) const CONVOLUTION_MODE: Tag<c_int> = Tag::new(7);
pub(super) const HEUR_MODE: Tag<c_int> = Tag::new(8);
pub(super) const NUMERICAL_NOTE: Tag<c_int> = Tag::new(11);
pub(super) const DESCRIPTOR: Tag<*mut c_void> = Tag::new(15);
pub(super) const BEHAVIOR_NOTE: Tag<c_int> = Tag::new(19);
pub(super) const INT32: Tag<i32> = Tag::new(23);

/// What an attribute is set to.
pub(super) struct Values {
    tag: c_int,
    count: usize,
    at: *const c_void,
    /// The descriptors among the elements.
    objects: Vec<Arc<Object>>,
}

impl Values {
    /// # Safety
    /// `at` is null or points to `count` elements of the type that `tag` has in C, as long as the
    /// values are used.
    pub(super) unsafe fn new(tag: c_int, count: i64, at: *const c_void) -> Outcome<Self> {
        let count = usize::try_from(count).unwrap_or_default();
        ensure(count > 0, BAD_PARAM, || "an attribute of no elements".into())?;
        ensure(!at.is_null(), NULL_POINTER, || "an attribute without its elements".into())?;
        let mut values = Self { tag, count, at, objects: Vec::new() };
        if tag == DESCRIPTOR.number {
            // Looked up before the descriptor that they are set on is locked.
            values.objects = values.array(DESCRIPTOR, count)?.into_iter().map(object).collect::<Outcome<_>>()?;
        }
        Ok(values)
    }

    /// At most so many elements.
    pub(super) fn array<T: Copy>(&self, tag: Tag<T>, most: usize) -> Outcome<Vec<T>> {
        ensure(self.tag == tag.number, ATTRIBUTE_TYPE, || format!("type {} where {} is", self.tag, tag.number))?;
        ensure(self.count <= most, BAD_PARAM, || format!("{} elements of an attribute of {most}", self.count))?;
        let from = self.at.cast::<T>();
        // SAFETY: who made the values promised as many elements of this type, which the tag has in
        // C.
        Ok((0..self.count).map(|i| unsafe { from.add(i).read_unaligned() }).collect())
    }

    /// The one element.
    pub(super) fn one<T: Copy>(&self, tag: Tag<T>) -> Outcome<T> {
        Ok(self.array(tag, 1)?[0])
    }

    /// At most so many descriptors of a kind, which are finalised.
    pub(super) fn bodies<B: Body>(&self, most: usize) -> Outcome<Vec<Arc<B>>> {
        self.array(DESCRIPTOR, most)?;
        self.objects.iter().map(|object| object.body_of()).collect()
    }

    /// The one descriptor of a kind.
    pub(super) fn body<B: Body>(&self) -> Outcome<Arc<B>> {
        Ok(self.bodies(1)?.remove(0))
    }
}

/// Where an attribute is read into.
pub(super) struct Room {
    tag: c_int,
    /// Elements that are asked for.
    most: usize,
    count: *mut i64,
    at: *mut c_void,
}

impl Room {
    /// # Safety
    /// `count` is null or can be written, and `at` is null or has room for `most` elements of the
    /// type that `tag` has in C (descriptors: holds as many), as long as the room is used.
    pub(super) unsafe fn new(tag: c_int, most: i64, count: *mut i64, at: *mut c_void) -> Outcome<Self> {
        let Ok(most) = usize::try_from(most) else { return fail(BAD_PARAM, format!("{most} elements are asked for")) };
        Ok(Self { tag, most, count, at })
    }

    /// Says how many elements there are, and gives as many as there is room for to `write`.
    fn give<T, V>(&self, tag: Tag<T>, values: &[V], write: impl Fn(*mut T, &V) -> Outcome) -> Outcome {
        ensure(self.tag == tag.number, ATTRIBUTE_TYPE, || format!("type {} where {} is", self.tag, tag.number))?;
        if !self.at.is_null() {
            let to = self.at.cast::<T>();
            values.iter().take(self.most).enumerate().try_for_each(|(i, value)| write(to.wrapping_add(i), value))?;
        }
        if !self.count.is_null() {
            // SAFETY: not null, so it can be written, as who made the room promised.
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

    /// An attribute that is descriptors: those that are there are made into them, of a kind that
    /// they have and not finalised before.
    pub(super) fn fill<B: Body>(&self, bodies: &[Arc<B>]) -> Outcome {
        self.give(DESCRIPTOR, bodies, |from, body| {
            // SAFETY: within the descriptors that are there.
            let target = object(unsafe { from.read_unaligned() })?;
            target.become_final(body.clone())
        })
    }
}
