//! The objects that describe a product, its matrices and what a program prefers: attributes of a
//! number with a size each.

use crate::api::put;
use crate::types::*;
use isobit_simgpu_library_common::{CUDA, Handles, guarded, injected};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

/// An attribute: its number, its size in bytes, and its value in a new object.
type Attribute = (c_int, usize, u64);

/// The attributes of an object by their numbers.
#[derive(Debug, Clone)]
pub(super) struct Values(BTreeMap<c_int, Value>);

#[derive(Debug, Clone, Copy)]
struct Value {
    bytes: usize,
    bits: u64,
}

/// The objects of one kind.
type Objects = Handles<Mutex<Values>>;

impl Values {
    fn new(attributes: &[Attribute]) -> Self {
        Self(attributes.iter().map(|&(number, bytes, bits)| (number, Value { bytes, bits })).collect())
    }

    fn with(mut self, given: &[(c_int, u64)]) -> Self {
        for (number, bits) in given {
            if let Some(value) = self.0.get_mut(number) {
                value.bits = *bits;
            }
        }
        self
    }

    /// Returns an attribute that the object has.
    pub(super) fn bits(&self, number: c_int) -> u64 {
        self.0.get(&number).map_or(0, |value| value.bits)
    }

    /// Returns an attribute that is an enumeration.
    pub(super) fn code(&self, number: c_int) -> c_int {
        self.bits(number) as c_int
    }

    /// Returns an attribute that is a count of 64 bits, or of 32 in the low ones.
    pub(super) fn count(&self, number: c_int) -> i64 {
        match self.0.get(&number) {
            Some(Value { bytes: 4, bits }) => i64::from(*bits as i32),
            Some(Value { bits, .. }) => *bits as i64,
            None => 0,
        }
    }
}

/// # Safety
/// `from` is null or has as many bytes as `size` says.
unsafe fn set(objects: &Objects, object: *mut c_void, number: c_int, from: *const c_void, size: usize) -> Status {
    let Some(object) = objects.get(object) else { return INVALID_VALUE };
    let mut values = object.lock();
    let Some(value) = values.0.get_mut(&number) else { return NOT_SUPPORTED };
    if from.is_null() || size != value.bytes {
        return INVALID_VALUE;
    }
    let mut bytes = [0; 8];
    // SAFETY: `from` has `size` bytes, which are at most eight.
    unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(from.cast(), size) };
    value.bits = u64::from_le_bytes(bytes);
    SUCCESS
}

/// # Safety
/// `to` is null or has as many bytes as `size` says; `written` is null or can be written.
unsafe fn get(
    objects: &Objects,
    object: *mut c_void,
    number: c_int,
    to: *mut c_void,
    size: usize,
    written: *mut usize,
) -> Status {
    let Some(object) = objects.get(object) else { return INVALID_VALUE };
    let Some(&value) = object.lock().0.get(&number) else { return NOT_SUPPORTED };
    // A size of zero asks how large the attribute is.
    if size == 0 {
        // SAFETY: the caller promises it.
        return unsafe { put(written, value.bytes) };
    }
    if to.is_null() || size != value.bytes {
        return INVALID_VALUE;
    }
    // SAFETY: `to` has `size` bytes, which are at most eight.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(value.bits.to_le_bytes().as_ptr(), size) };
    if !written.is_null() {
        // SAFETY: the caller promises that it can be written.
        unsafe { written.write(size) };
    }
    SUCCESS
}

/// # Safety
/// `object` is null or can be written.
unsafe fn create(objects: &Objects, object: *mut *mut c_void, values: Values) -> Status {
    if object.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: the caller promises it.
    unsafe { put(object, objects.insert(Mutex::new(values))) }
}

macro_rules! kinds {
    ($(
        $objects:ident, $what:literal, $attributes:ident: [$($attribute:expr),* $(,)?];
        $create:ident($($argument:ident: $ty:ty => $number:expr),*), $destroy:ident, $set:ident, $get:ident;
    )*) => {$(
        static $objects: Objects = Handles::new();

        const $attributes: &[Attribute] = &[$($attribute),*];

        #[doc = concat!("Creates ", $what, ".")]
        ///
        /// # Safety
        /// `object` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $create(object: *mut *mut c_void $(, $argument: $ty)*) -> Status {
            injected!(CUDA, stringify!($create));
            guarded(INTERNAL_ERROR, || {
                let values = Values::new($attributes).with(&[$(($number, $argument as u64)),*]);
                // SAFETY: the caller promises that `object` is null or can be written.
                unsafe { create(&$objects, object, values) }
            })
        }

        #[doc = concat!("Destroys ", $what, ".")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $destroy(object: *mut c_void) -> Status {
            injected!(CUDA, stringify!($destroy));
            guarded(INTERNAL_ERROR, || $objects.remove(object).map_or(INVALID_VALUE, |_| SUCCESS))
        }

        #[doc = concat!("Sets an attribute of ", $what, ".")]
        ///
        /// # Safety
        /// `from` is null or has as many bytes as `size` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $set(object: *mut c_void, number: c_int, from: *const c_void, size: usize) -> Status {
            injected!(CUDA, stringify!($set));
            // SAFETY: the caller promises the same.
            guarded(INTERNAL_ERROR, || unsafe { set(&$objects, object, number, from, size) })
        }

        #[doc = concat!("Reads an attribute of ", $what, ".")]
        ///
        /// # Safety
        /// `to` is null or has as many bytes as `size` says; `written` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(
            object: *mut c_void,
            number: c_int,
            to: *mut c_void,
            size: usize,
            written: *mut usize,
        ) -> Status {
            injected!(CUDA, stringify!($get));
            // SAFETY: the caller promises the same.
            guarded(INTERNAL_ERROR, || unsafe { get(&$objects, object, number, to, size, written) })
        }
    )*};
}

kinds! {
    PRODUCTS, "the description of a product", OF_PRODUCTS: [
        (CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4, 0),
        (CUBLASLT_MATMUL_DESC_SCALE_TYPE, 4, 0),
        (CUBLASLT_MATMUL_DESC_POINTER_MODE, 4, 0),
        (CUBLASLT_MATMUL_DESC_TRANSA, 4, 0),
        (CUBLASLT_MATMUL_DESC_TRANSB, 4, 0),
        (CUBLASLT_MATMUL_DESC_TRANSC, 4, 0),
        (CUBLASLT_MATMUL_DESC_EPILOGUE, 4, CUBLASLT_EPILOGUE_DEFAULT as u64),
        (CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 8, 0),
        (CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, 8, 0),
        (CUBLASLT_MATMUL_DESC_A_SCALE_MODE, 4, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F as u64),
        (CUBLASLT_MATMUL_DESC_B_SCALE_MODE, 4, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F as u64),
    ];
    cublasLtMatmulDescCreate(
        compute: c_int => CUBLASLT_MATMUL_DESC_COMPUTE_TYPE,
        scale: c_int => CUBLASLT_MATMUL_DESC_SCALE_TYPE
    ), cublasLtMatmulDescDestroy, cublasLtMatmulDescSetAttribute, cublasLtMatmulDescGetAttribute;

    MATRICES, "the description of a matrix", OF_MATRICES: [
        (CUBLASLT_MATRIX_LAYOUT_TYPE, 4, 0),
        (CUBLASLT_MATRIX_LAYOUT_ORDER, 4, CUBLASLT_ORDER_COL as u64),
        (CUBLASLT_MATRIX_LAYOUT_ROWS, 8, 0),
        (CUBLASLT_MATRIX_LAYOUT_COLS, 8, 0),
        (CUBLASLT_MATRIX_LAYOUT_LD, 8, 0),
        (CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4, 1),
        (CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8, 0),
    ];
    cublasLtMatrixLayoutCreate(
        datatype: c_int => CUBLASLT_MATRIX_LAYOUT_TYPE,
        rows: u64 => CUBLASLT_MATRIX_LAYOUT_ROWS,
        columns: u64 => CUBLASLT_MATRIX_LAYOUT_COLS,
        leading: i64 => CUBLASLT_MATRIX_LAYOUT_LD
    ), cublasLtMatrixLayoutDestroy, cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayoutGetAttribute;

    PREFERENCES, "what a program prefers", OF_PREFERENCES: [
        (CUBLASLT_MATMUL_PREF_SEARCH_MODE, 4, 0),
        (CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 8, 0),
        (CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 4, 7),
        (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 4, 256),
        (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 4, 256),
        (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 4, 256),
        (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 4, 256),
        (CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, 4, 0),
        (CUBLASLT_MATMUL_PREF_IMPL_MASK, 8, u64::MAX),
    ];
    cublasLtMatmulPreferenceCreate(), cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreferenceSetAttribute,
        cublasLtMatmulPreferenceGetAttribute;
}

fn values(objects: &Objects, object: *mut c_void) -> Result<Values, Status> {
    objects.get(object).map(|object| object.lock().clone()).ok_or(INVALID_VALUE)
}

pub(super) fn of_product(object: *mut c_void) -> Result<Values, Status> {
    values(&PRODUCTS, object)
}

pub(super) fn of_matrix(object: *mut c_void) -> Result<Values, Status> {
    values(&MATRICES, object)
}

pub(super) fn of_preference(object: *mut c_void) -> Result<Values, Status> {
    values(&PREFERENCES, object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{from_mut, from_ref, null, null_mut};

    fn matrix() -> *mut c_void {
        let mut object = null_mut();
        // SAFETY: an out-parameter.
        assert_eq!(unsafe { cublasLtMatrixLayoutCreate(&mut object, CUDA_R_8I, 5, 7, 8) }, SUCCESS);
        object
    }

    #[test]
    fn attributes_have_their_sizes_and_first_values() {
        let object = matrix();
        let expected = [
            (CUBLASLT_MATRIX_LAYOUT_TYPE, 4, 3u64),
            (CUBLASLT_MATRIX_LAYOUT_ORDER, 4, 0),
            (CUBLASLT_MATRIX_LAYOUT_ROWS, 8, 5),
            (CUBLASLT_MATRIX_LAYOUT_COLS, 8, 7),
            (CUBLASLT_MATRIX_LAYOUT_LD, 8, 8),
            (CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4, 1),
            (CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8, 0),
        ];
        for (number, bytes, bits) in expected {
            let (mut found, mut written) = (0u64, 0);
            let to = from_mut(&mut found).cast();
            // SAFETY: the buffer has eight bytes.
            unsafe {
                assert_eq!(cublasLtMatrixLayoutGetAttribute(object, number, null_mut(), 0, &mut written), SUCCESS);
                assert_eq!(written, bytes, "{number}");
                assert_eq!(cublasLtMatrixLayoutGetAttribute(object, number, to, bytes, null_mut()), SUCCESS);
                assert_eq!(cublasLtMatrixLayoutGetAttribute(object, number, to, 12 - bytes, null_mut()), INVALID_VALUE);
            }
            assert_eq!(found, bits, "{number}");
        }
    }

    #[test]
    fn what_is_set_is_kept_and_what_there_is_not_is_refused() {
        let object = matrix();
        let (stride, count) = (-40i64, 3i32);
        let (stride, count) = (from_ref(&stride).cast(), from_ref(&count).cast());
        let set = cublasLtMatrixLayoutSetAttribute;
        // SAFETY: the values have the given sizes, or the function refuses the size.
        unsafe {
            assert_eq!(set(object, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride, 8), SUCCESS);
            assert_eq!(set(object, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count, 4), SUCCESS);
            assert_eq!(set(object, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, stride, 8), INVALID_VALUE);
            assert_eq!(set(object, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, null(), 4), INVALID_VALUE);
            assert_eq!(set(object, 99, count, 4), NOT_SUPPORTED);
        }
        let values = of_matrix(object).unwrap();
        assert_eq!(values.count(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET), -40);
        assert_eq!(values.count(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT), 3);
        assert_eq!(cublasLtMatrixLayoutDestroy(object), SUCCESS);
        assert_eq!(cublasLtMatrixLayoutDestroy(object), INVALID_VALUE);
        assert_eq!(of_matrix(object).unwrap_err(), INVALID_VALUE);
        // SAFETY: the function checks for null.
        assert_eq!(unsafe { cublasLtMatmulPreferenceCreate(null_mut()) }, INVALID_VALUE);
    }
}
