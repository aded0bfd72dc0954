//! cuRAND's generation functions: <https://docs.nvidia.com/cuda/curand/group__HOST.html>.

use crate::api::*;
use crate::distribution;
use crate::ordering::Kind;
use isobit_simgpu_library_common::{CUDA, injected};
use isobit_simgpu_math::random::Distribution;
use std::ffi::c_void;

/// # Safety
/// For a generator on the host, `out` is valid for writes of `count` numbers.
unsafe fn generate<T: Copy + Default + 'static>(
    generator: *mut c_void,
    what: &'static str,
    out: *mut T,
    count: usize,
    distribution: impl FnOnce(Kind) -> Distribution<T>,
) -> Status {
    with(generator, |engine| {
        let distribution = distribution(engine.generator.settings().kind);
        if !count.is_multiple_of(distribution.outputs) {
            return LENGTH_NOT_MULTIPLE;
        }
        if count == 0 {
            return SUCCESS;
        }
        if engine.is_host {
            // SAFETY: the caller promises that for a generator on the host, `out` is valid for
            // writes of `count` numbers.
            unsafe { engine.generator.generate_here(out, count, distribution) };
            return SUCCESS;
        }
        let Ok(cuda) = CUDA.runtime() else { return INITIALIZATION_FAILED };
        match engine.generator.generate(cuda, what, out, count, distribution) {
            Ok(()) => SUCCESS,
            Err(_) => LAUNCH_FAILURE,
        }
    })
}

macro_rules! generators {
    ($($what:literal, $name:ident: $number:ty, $distribution:expr $(, $parameter:ident)*;)*) => {$(
        #[doc = concat!($what, ".")]
        ///
        /// # Safety
        /// For a generator on the host, `output` is valid for writes of `num` numbers. For device
        /// memory, the simulator detects errors.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            generator: *mut c_void,
            output: *mut $number,
            num: usize,
            $($parameter: $number,)*
        ) -> Status {
            injected!(CUDA, stringify!($name));
            let distribution = |kind| $distribution(kind $(, $parameter)*);
            // SAFETY: the caller promises that for a generator on the host, `output` is valid for
            // writes of `num` numbers.
            unsafe { generate(generator, stringify!($name), output, num, distribution) }
        }
    )*};
}

generators! {
    "Uniform 32-bit integers", curandGenerate: u32, distribution::bits;
    "Uniform numbers in (0, 1]", curandGenerateUniform: f32, distribution::uniform;
    "Uniform numbers in (0, 1], in double precision", curandGenerateUniformDouble: f64,
        distribution::uniform_double;
    "Normally distributed numbers", curandGenerateNormal: f32, distribution::normal, mean, stddev;
    "Normally distributed numbers in double precision", curandGenerateNormalDouble: f64,
        distribution::normal_double, mean, stddev;
    "Log-normally distributed numbers", curandGenerateLogNormal: f32,
        distribution::log_normal, mean, stddev;
    "Log-normally distributed numbers, in double precision", curandGenerateLogNormalDouble: f64,
        distribution::log_normal_double, mean, stddev;
}

/// Only 64-bit quasirandom generators give 64-bit integers, and none of these generators is one.
#[unsafe(no_mangle)]
pub extern "C" fn curandGenerateLongLong(generator: *mut c_void, _output: *mut u64, _num: usize) -> Status {
    injected!(CUDA, "curandGenerateLongLong");
    with(generator, |_| TYPE_ERROR)
}
