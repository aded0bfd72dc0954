//! The legacy functions, which predate graphs and are deprecated but still available: descriptors
//! that are set in one call, numbered algorithms, and one function for each of the convolution and
//! its gradients. <https://docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-cnn-library.html>

mod algorithm;
mod convolution;
mod tensor;
#[cfg(test)]
mod tests;
mod window;

pub use algorithm::*;
pub use convolution::*;
pub use tensor::*;
pub use window::*;

use crate::status::{BAD_PARAM, NULL_POINTER, Outcome, ensure, fail};
use isobit_simgpu_library_common::Handles;
use parking_lot::Mutex;
use std::ffi::{c_int, c_void};

/// Descriptors of one kind, each empty until it is set.
struct Descriptors<T>(Handles<Mutex<Option<T>>>);

impl<T: Clone> Descriptors<T> {
    const fn new() -> Self {
        Self(Handles::new())
    }

    /// # Safety
    /// `out` is null or can be written.
    unsafe fn create(&self, out: *mut *mut c_void) -> Outcome {
        ensure(!out.is_null(), BAD_PARAM, || "the pointer to the descriptor is null".into())?;
        // SAFETY: not null; the caller promises that `out` is null or can be written.
        unsafe { out.write(self.0.insert(Mutex::new(None))) };
        Ok(())
    }

    fn set(&self, descriptor: *mut c_void, value: T) -> Outcome {
        self.change(descriptor, |there| {
            *there = Some(value);
            Ok(())
        })
    }

    fn change(&self, descriptor: *mut c_void, f: impl FnOnce(&mut Option<T>) -> Outcome) -> Outcome {
        let Some(object) = self.0.get(descriptor) else { return fail(BAD_PARAM, "the descriptor does not exist") };
        f(&mut object.lock())
    }

    fn get(&self, descriptor: *mut c_void) -> Outcome<T> {
        let Some(object) = self.0.get(descriptor) else { return fail(BAD_PARAM, "the descriptor does not exist") };
        let there = object.lock().clone();
        there.map_or_else(|| fail(BAD_PARAM, "the descriptor is not set"), Ok)
    }

    /// A null descriptor is ignored.
    fn destroy(&self, descriptor: *mut c_void) -> Outcome {
        let known = descriptor.is_null() || self.0.remove(descriptor).is_some();
        ensure(known, BAD_PARAM, || "the descriptor does not exist".into())
    }
}

/// Returns the numbers of a C array.
///
/// # Safety
/// `from` is null or points to `count` numbers.
unsafe fn numbers(from: *const c_int, count: usize) -> Outcome<Vec<i64>> {
    ensure(!from.is_null(), NULL_POINTER, || "the array is null".into())?;
    // SAFETY: not null; the caller promises that `from` is null or points to `count` numbers.
    Ok((0..count).map(|i| unsafe { from.add(i).read() }.into()).collect())
}

/// Writes one number to each of the places.
///
/// # Safety
/// The places are null or can be written.
unsafe fn write_each(values: &[usize], places: &[*mut c_int]) -> Outcome {
    ensure(places.iter().all(|to| !to.is_null()), NULL_POINTER, || "a pointer to a size is null".into())?;
    for (&value, to) in values.iter().zip(places) {
        // SAFETY: not null; the caller promises that the places are null or can be written.
        unsafe { to.write(value as c_int) };
    }
    Ok(())
}
