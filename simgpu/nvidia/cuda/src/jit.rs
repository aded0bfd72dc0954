//! Compilation options: the buffers for the compiler's logs. The other options have no effect here.

use crate::Code;
use crate::error::{Result, bail, call};
use crate::image;
use crate::module::load;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// `CU_JIT_INFO_LOG_BUFFER`; the next number is `CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES`.
const INFO_LOG: c_int = 3;
/// `CU_JIT_ERROR_LOG_BUFFER`; the next number is `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const ERROR_LOG: c_int = 5;

/// The options that a caller passes.
pub(crate) struct Options {
    options: *mut c_int,
    values: *mut *mut c_void,
    count: usize,
}

impl Options {
    /// # Safety
    /// `options` and `values` are null or have `count` elements. The values are what CUDA documents
    /// for the options, and they outlive `self`.
    pub(crate) unsafe fn new(count: c_uint, options: *mut c_int, values: *mut *mut c_void) -> Result<Self> {
        if count > 0 && (options.is_null() || values.is_null()) {
            bail!(INVALID_VALUE, "{count} options, but the pointer to them or to their values is null");
        }
        Ok(Self { options, values, count: count as usize })
    }

    fn position(&self, option: c_int) -> Option<usize> {
        // SAFETY: the caller of `new` promised this.
        (0..self.count).find(|&index| unsafe { self.options.add(index).read_unaligned() } == option)
    }

    fn value(&self, option: c_int) -> Option<*mut c_void> {
        // SAFETY: as above.
        self.position(option).map(|index| unsafe { self.values.add(index).read_unaligned() })
    }

    /// Writes a log, truncated to its buffer and ended by a NUL, and stores its length as the value
    /// of the size option.
    fn write(&self, log: c_int, text: &str) {
        let (Some(buffer), Some(size), Some(at)) = (self.value(log), self.value(log + 1), self.position(log + 1))
        else {
            return;
        };
        // The value of the option is the number itself, in the low 32 bits.
        let room = size as usize & u32::MAX as usize;
        if buffer.is_null() || room == 0 {
            return;
        }
        let shown = &text.as_bytes()[..text.len().min(room - 1)];
        let buffer = buffer.cast::<c_char>();
        // SAFETY: these bytes and the NUL fit into the buffer that the caller promised, and the
        // value is one of the caller's.
        unsafe {
            std::ptr::copy_nonoverlapping(shown.as_ptr(), buffer.cast(), shown.len());
            buffer.add(shown.len()).write(0);
            self.values.add(at).write_unaligned(text.len().min(room) as *mut c_void);
        }
    }

    /// Writes the logs at the end of a compilation: the error log holds the reason of a failure,
    /// the info log stays empty.
    pub(crate) fn tell(&self, outcome: &Result) {
        self.write(INFO_LOG, "");
        self.write(ERROR_LOG, outcome.as_ref().err().map_or("", |error| error.why.as_str()));
    }
}

/// Loads PTX with options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    to: *mut Handle,
    image: *const c_void,
    count: c_uint,
    options: *mut c_int,
    values: *mut *mut c_void,
) -> Code {
    call("cuModuleLoadDataEx", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let options = unsafe { Options::new(count, options, values) }?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let outcome = load(to, || Ok(unsafe { image::text(image) }?.to_vec()));
        options.tell(&outcome);
        outcome
    })
}
