//! The objects by which a program describes work to a library: attributes with a number and a size
//! each.

use crate::Handles;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

/// An attribute: its number, its size in bytes, and its value in a new object.
pub type Attribute = (c_int, usize, u64);

/// The attributes of an object by their numbers.
#[derive(Debug, Clone)]
pub struct Values(BTreeMap<c_int, Value>);

#[derive(Debug, Clone, Copy)]
struct Value {
    bytes: usize,
    bits: u64,
}

/// The objects of one kind.
pub type Objects = Handles<Mutex<Values>>;

impl Values {
    /// Returns the values of a new object.
    pub fn new(attributes: &[Attribute]) -> Self {
        Self(attributes.iter().map(|&(number, bytes, bits)| (number, Value { bytes, bits })).collect())
    }

    /// Returns these values with other ones for some attributes.
    #[must_use]
    pub fn with(mut self, given: &[(c_int, u64)]) -> Self {
        for (number, bits) in given {
            if let Some(value) = self.0.get_mut(number) {
                value.bits = *bits;
            }
        }
        self
    }

    /// Returns an attribute that the object has.
    pub fn bits(&self, number: c_int) -> u64 {
        self.0.get(&number).map_or(0, |value| value.bits)
    }

    /// Returns an attribute that is an enumeration.
    pub fn code(&self, number: c_int) -> c_int {
        self.bits(number) as c_int
    }

    /// Returns an attribute that is a count of 64 bits, or of 32 in the low ones.
    pub fn count(&self, number: c_int) -> i64 {
        match self.0.get(&number) {
            Some(Value { bytes: 4, bits }) => i64::from(*bits as i32),
            Some(Value { bits, .. }) => *bits as i64,
            None => 0,
        }
    }
}

/// How a library treats its objects: the statuses that it returns, and what it allows.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Done.
    pub success: c_int,
    /// A pointer is null, or a size does not fit.
    pub invalid: c_int,
    /// An attribute is asked for of an object that does not exist.
    pub no_object: c_int,
    /// The object has no such attribute.
    pub unknown: c_int,
    /// The library failed.
    pub internal: c_int,
    /// Whether a value may be larger than its attribute, which then is its first bytes.
    pub may_be_larger: bool,
}

impl Rules {
    fn fits(&self, size: usize, value: &Value) -> bool {
        size == value.bytes || (self.may_be_larger && size > value.bytes)
    }

    /// Returns the attributes of an object.
    ///
    /// # Errors
    /// The status for an invalid argument if the object does not exist.
    pub fn values(&self, objects: &Objects, object: *mut c_void) -> Result<Values, c_int> {
        objects.get(object).map(|object| object.lock().clone()).ok_or(self.invalid)
    }

    /// Creates an object.
    ///
    /// # Safety
    /// `object` is null or can be written.
    pub unsafe fn create(&self, objects: &Objects, object: *mut *mut c_void, values: Values) -> c_int {
        if object.is_null() {
            return self.invalid;
        }
        // SAFETY: not null; the caller promises that it can be written.
        unsafe { object.write(objects.insert(Mutex::new(values))) };
        self.success
    }

    /// Destroys an object.
    pub fn destroy(&self, objects: &Objects, object: *mut c_void) -> c_int {
        objects.remove(object).map_or(self.invalid, |_| self.success)
    }

    /// Sets an attribute.
    ///
    /// # Safety
    /// `from` is null or has as many bytes as `size` says.
    pub unsafe fn set(
        &self,
        objects: &Objects,
        object: *mut c_void,
        number: c_int,
        from: *const c_void,
        size: usize,
    ) -> c_int {
        let Some(object) = objects.get(object) else { return self.no_object };
        let mut values = object.lock();
        let Some(value) = values.0.get_mut(&number) else { return self.unknown };
        if from.is_null() || !self.fits(size, value) {
            return self.invalid;
        }
        let mut bytes = [0; 8];
        // SAFETY: `from` has at least as many bytes as the attribute, which has at most eight.
        unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(from.cast(), value.bytes) };
        value.bits = u64::from_le_bytes(bytes);
        self.success
    }

    /// Reads an attribute; a size of zero asks how large it is.
    ///
    /// # Safety
    /// `to` is null or has as many bytes as `size` says; `written` is null or can be written.
    pub unsafe fn get(
        &self,
        objects: &Objects,
        object: *mut c_void,
        number: c_int,
        to: *mut c_void,
        size: usize,
        written: *mut usize,
    ) -> c_int {
        let Some(object) = objects.get(object) else { return self.no_object };
        let Some(&value) = object.lock().0.get(&number) else { return self.unknown };
        let asks = size == 0;
        if if asks { written.is_null() } else { to.is_null() || !self.fits(size, &value) } {
            return self.invalid;
        }
        if !asks {
            // SAFETY: `to` has at least as many bytes as the attribute, which has at most eight.
            unsafe { to.cast::<u8>().copy_from_nonoverlapping(value.bits.to_le_bytes().as_ptr(), value.bytes) };
        }
        if !written.is_null() {
            // SAFETY: the caller promises that it can be written.
            unsafe { written.write(value.bytes) };
        }
        self.success
    }
}

/// Defines the functions of a library's kinds of objects: to create and to destroy one, to set and
/// to read an attribute. The vendor whose faults are injected and the [`Rules`] come first.
#[macro_export]
macro_rules! attribute_objects {
    ($vendor:expr, $rules:expr; $(
        $objects:ident, $what:literal, $attributes:ident: [$($attribute:expr),* $(,)?];
        $create:ident($($argument:ident: $ty:ty => $number:expr),*), $destroy:ident, $set:ident, $get:ident;
    )*) => {$(
        static $objects: $crate::attributes::Objects = $crate::Handles::new();

        const $attributes: &[$crate::attributes::Attribute] = &[$($attribute),*];

        #[doc = concat!("Creates ", $what, ".")]
        ///
        /// # Safety
        /// `object` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $create(
            object: *mut *mut ::std::ffi::c_void $(, $argument: $ty)*
        ) -> ::std::ffi::c_int {
            $crate::injected!($vendor, stringify!($create));
            $crate::guarded($rules.internal, || {
                let values = $crate::attributes::Values::new($attributes).with(&[$(($number, $argument as u64)),*]);
                // SAFETY: the caller promises that `object` is null or can be written.
                unsafe { $rules.create(&$objects, object, values) }
            })
        }

        #[doc = concat!("Destroys ", $what, ".")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $destroy(object: *mut ::std::ffi::c_void) -> ::std::ffi::c_int {
            $crate::injected!($vendor, stringify!($destroy));
            $crate::guarded($rules.internal, || $rules.destroy(&$objects, object))
        }

        #[doc = concat!("Sets an attribute of ", $what, ".")]
        ///
        /// # Safety
        /// `from` is null or has as many bytes as `size` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $set(
            object: *mut ::std::ffi::c_void,
            number: ::std::ffi::c_int,
            from: *const ::std::ffi::c_void,
            size: usize,
        ) -> ::std::ffi::c_int {
            $crate::injected!($vendor, stringify!($set));
            // SAFETY: the caller promises the same.
            $crate::guarded($rules.internal, || unsafe { $rules.set(&$objects, object, number, from, size) })
        }

        #[doc = concat!("Reads an attribute of ", $what, ".")]
        ///
        /// # Safety
        /// `to` is null or has as many bytes as `size` says; `written` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(
            object: *mut ::std::ffi::c_void,
            number: ::std::ffi::c_int,
            to: *mut ::std::ffi::c_void,
            size: usize,
            written: *mut usize,
        ) -> ::std::ffi::c_int {
            $crate::injected!($vendor, stringify!($get));
            // SAFETY: the caller promises the same.
            $crate::guarded($rules.internal, || unsafe { $rules.get(&$objects, object, number, to, size, written) })
        }
    )*};
}
