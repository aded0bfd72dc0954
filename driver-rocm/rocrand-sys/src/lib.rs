//! Bindings to AMD's rocRAND for Isobit's ROCm driver: C types, constants, and a table of functions
//! that [`Rocrand::get`] fills from the library of ROCm 5, 6 or 7 if it is installed. The
//! declarations match those of `rocrand/rocrand.h`, which `cargo xtask bindings --check` compares.
//! AMD's documentation describes each function:
//! <https://rocm.docs.amd.com/projects/rocRAND/en/latest/api-reference/cpp-api.html>.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

use hip_sys::hipStream_t;
use std::ffi::{c_double, c_float, c_int, c_uint, c_ulonglong};

/// The status of a call.
pub type rocrand_status = c_uint;
/// The algorithm of a generator.
pub type rocrand_rng_type = c_uint;

hip_sys::handles! {
    /// A generator: algorithm, seed, position.
    rocrand_generator = rocrand_generator_base_type;
}

hip_sys::constants! { rocrand_status:
    ROCRAND_STATUS_SUCCESS = 0, "Done.";
    ROCRAND_STATUS_VERSION_MISMATCH = 100, "Header and library differ.";
    ROCRAND_STATUS_NOT_CREATED = 101, "The generator is null.";
    ROCRAND_STATUS_ALLOCATION_FAILED = 102, "No memory is left.";
    ROCRAND_STATUS_TYPE_ERROR = 103, "This algorithm does not support the call.";
    ROCRAND_STATUS_OUT_OF_RANGE = 104, "An argument is out of range.";
    ROCRAND_STATUS_LENGTH_NOT_MULTIPLE = 105, "A normal distribution fills an even number of elements, aligned to two.";
    ROCRAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106, "The device does not support doubles.";
    ROCRAND_STATUS_LAUNCH_FAILURE = 107, "A kernel could not be launched.";
    ROCRAND_STATUS_INTERNAL_ERROR = 108, "Something else.";
}

hip_sys::constants! { rocrand_rng_type:
    ROCRAND_RNG_PSEUDO_DEFAULT = 400, "The library's choice, XORWOW.";
    ROCRAND_RNG_PSEUDO_XORWOW = 401, "Marsaglia's xorwow.";
    ROCRAND_RNG_PSEUDO_MRG32K3A = 402, "L'Ecuyer's MRG32k3a.";
    ROCRAND_RNG_PSEUDO_PHILOX4_32_10 = 404, "Philox4x32-10 of Salmon and others.";
}

hip_sys::library! {
    /// rocRAND.
    pub struct Rocrand {
        name: "rocRAND (librocrand)",
        variable: "ISOBIT_ROCRAND_LIBRARY",
        sonames: ["librocrand.so.1", "librocrand.so"]
    }

    /// Creates a generator on the current device.
    fn rocrand_create_generator(generator: *mut rocrand_generator, rng_type: rocrand_rng_type) -> rocrand_status;
    /// Destroys a generator.
    fn rocrand_destroy_generator(generator: rocrand_generator) -> rocrand_status;
    /// Sets the stream of a generator.
    fn rocrand_set_stream(generator: rocrand_generator, stream: hipStream_t) -> rocrand_status;
    /// Starts the sequence of a seed.
    fn rocrand_set_seed(generator: rocrand_generator, seed: c_ulonglong) -> rocrand_status;
    /// Sets the position in the sequence.
    fn rocrand_set_offset(generator: rocrand_generator, offset: c_ulonglong) -> rocrand_status;
    /// Initialises the generator's state. Otherwise the first generation does this.
    fn rocrand_initialize_generator(generator: rocrand_generator) -> rocrand_status;
    /// Fills each element with 32 random bits.
    fn rocrand_generate(generator: rocrand_generator, output_data: *mut c_uint, n: usize) -> rocrand_status;
    /// Fills with f32 in (0, 1].
    fn rocrand_generate_uniform(generator: rocrand_generator, output_data: *mut c_float, n: usize) -> rocrand_status;
    /// Fills with f64 in (0, 1].
    fn rocrand_generate_uniform_double(
        generator: rocrand_generator, output_data: *mut c_double, n: usize,
    ) -> rocrand_status;
    /// Fills an even number with normally distributed f32.
    fn rocrand_generate_normal(
        generator: rocrand_generator, output_data: *mut c_float, n: usize, mean: c_float, stddev: c_float,
    ) -> rocrand_status;
    /// Fills an even number with normally distributed f64.
    fn rocrand_generate_normal_double(
        generator: rocrand_generator, output_data: *mut c_double, n: usize, mean: c_double, stddev: c_double,
    ) -> rocrand_status;
    /// Returns the version: major * 10^5 + minor * 100 + patch.
    fn rocrand_get_version(version: *mut c_int) -> rocrand_status;
}
