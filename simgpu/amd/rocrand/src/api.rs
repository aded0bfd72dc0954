//! rocRAND's C interface:
//! <https://rocm.docs.amd.com/projects/rocRAND/en/latest/api-reference/cpp-api.html>.

use crate::distribution;
use crate::ordering::{Kind, Start};
use isobit_simgpu_library_common::{HIP, Handles, Stream, guarded, injected};
use isobit_simgpu_math::random::{Distribution, Generator};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// `rocrand_status`.
pub type Status = c_int;
/// `ROCRAND_STATUS_SUCCESS`.
pub const SUCCESS: Status = 0;
/// `ROCRAND_STATUS_NOT_CREATED`: the handle was not created by `rocrand_create_generator`.
pub const NOT_CREATED: Status = 101;
/// `ROCRAND_STATUS_TYPE_ERROR`: an unknown kind of generator.
pub const TYPE_ERROR: Status = 103;
/// `ROCRAND_STATUS_OUT_OF_RANGE`: an argument out of range.
pub const OUT_OF_RANGE: Status = 104;
/// `ROCRAND_STATUS_LENGTH_NOT_MULTIPLE`: normal numbers are generated in pairs, so the count must
/// be even and the address aligned to a pair.
pub const LENGTH_NOT_MULTIPLE: Status = 105;
/// `ROCRAND_STATUS_LAUNCH_FAILURE`: HIP accepted no work on the generator's stream.
pub const LAUNCH_FAILURE: Status = 107;
/// `ROCRAND_STATUS_INTERNAL_ERROR`.
pub const INTERNAL_ERROR: Status = 108;

/// The version that this library stands in for, from ROCm 6.2: major * 100000 + minor * 100 +
/// patch.
const VERSION: c_int = 300_101;

static GENERATORS: Handles<Generator<Start>> = Handles::new();

fn with(generator: *mut c_void, body: impl FnOnce(Arc<Generator<Start>>) -> Status) -> Status {
    guarded(INTERNAL_ERROR, || GENERATORS.get(generator).map_or(NOT_CREATED, body))
}

/// Creates a generator of one of the kinds of [`Kind`].
///
/// # Safety
/// `generator` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocrand_create_generator(generator: *mut *mut c_void, rng_type: c_int) -> Status {
    injected!(HIP, "rocrand_create_generator");
    guarded(INTERNAL_ERROR, || {
        let kind = match rng_type {
            400 | 401 => Kind::Xorwow,
            402 => Kind::Mrg32k3a,
            404 => Kind::Philox,
            _ => return TYPE_ERROR,
        };
        if generator.is_null() {
            return OUT_OF_RANGE;
        }
        if let Err(why) = HIP.runtime() {
            eprintln!("rocRAND stand-in: {why}");
            return INTERNAL_ERROR;
        }
        // SAFETY: the pointer is not null; the caller promises that `generator` is null or valid
        // for writes.
        unsafe { generator.write(new_generator(kind)) };
        SUCCESS
    })
}

fn new_generator(kind: Kind) -> *mut c_void {
    GENERATORS.insert(Generator::new(Start { kind, seed: 0, offset: 0 }))
}

/// Destroys a generator. Its pending work is still done.
#[unsafe(no_mangle)]
pub extern "C" fn rocrand_destroy_generator(generator: *mut c_void) -> Status {
    injected!(HIP, "rocrand_destroy_generator");
    guarded(INTERNAL_ERROR, || if GENERATORS.remove(generator).is_some() { SUCCESS } else { NOT_CREATED })
}

/// Prepares a generator before the first call. Here it does nothing: the first call prepares the
/// generator, in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn rocrand_initialize_generator(generator: *mut c_void) -> Status {
    injected!(HIP, "rocrand_initialize_generator");
    with(generator, |_| SUCCESS)
}

/// Sets the stream that later calls work on.
#[unsafe(no_mangle)]
pub extern "C" fn rocrand_set_stream(generator: *mut c_void, stream: *mut c_void) -> Status {
    injected!(HIP, "rocrand_set_stream");
    with(generator, |g| {
        g.set_stream(Stream(stream));
        SUCCESS
    })
}

/// Sets the seed and restarts the sequence.
#[unsafe(no_mangle)]
pub extern "C" fn rocrand_set_seed(generator: *mut c_void, seed: u64) -> Status {
    injected!(HIP, "rocrand_set_seed");
    with(generator, |g| {
        g.set(|start| start.seed = seed);
        SUCCESS
    })
}

/// Sets the number of values to skip at the start of the sequence, and restarts it.
#[unsafe(no_mangle)]
pub extern "C" fn rocrand_set_offset(generator: *mut c_void, offset: u64) -> Status {
    injected!(HIP, "rocrand_set_offset");
    with(generator, |g| {
        g.set(|start| start.offset = offset);
        SUCCESS
    })
}

/// Writes the library's version.
///
/// # Safety
/// `version` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocrand_get_version(version: *mut c_int) -> Status {
    injected!(HIP, "rocrand_get_version");
    if version.is_null() {
        return OUT_OF_RANGE;
    }
    // SAFETY: the pointer is not null; the caller promises that `version` is null or valid for
    // writes.
    unsafe { version.write(VERSION) };
    SUCCESS
}

fn generate<T: Copy + Default + 'static>(
    generator: *mut c_void,
    what: &'static str,
    out: *mut T,
    count: usize,
    distribution: impl FnOnce(Kind) -> Distribution<T>,
) -> Status {
    with(generator, |g| {
        let distribution = distribution(g.settings().kind);
        let outputs = distribution.outputs;
        let aligned = outputs == 1 || out.addr().is_multiple_of(outputs * size_of::<T>());
        if !aligned || !count.is_multiple_of(outputs) {
            return LENGTH_NOT_MULTIPLE;
        }
        if count == 0 {
            return SUCCESS;
        }
        let Ok(hip) = HIP.runtime() else { return INTERNAL_ERROR };
        match g.generate(hip, what, out, count, distribution) {
            Ok(()) => SUCCESS,
            Err(_) => LAUNCH_FAILURE,
        }
    })
}

/// Enqueues uniform 32-bit integers.
#[unsafe(no_mangle)]
pub extern "C" fn rocrand_generate(generator: *mut c_void, output_data: *mut u32, n: usize) -> Status {
    injected!(HIP, "rocrand_generate");
    generate(generator, "rocrand_generate", output_data, n, distribution::bits)
}

/// Enqueues uniform numbers in (0, 1].
#[unsafe(no_mangle)]
pub extern "C" fn rocrand_generate_uniform(generator: *mut c_void, output_data: *mut f32, n: usize) -> Status {
    injected!(HIP, "rocrand_generate_uniform");
    generate(generator, "rocrand_generate_uniform", output_data, n, distribution::uniform)
}

/// Enqueues uniform numbers in (0, 1], in double precision.
#[unsafe(no_mangle)]
pub extern "C" fn rocrand_generate_uniform_double(generator: *mut c_void, output_data: *mut f64, n: usize) -> Status {
    injected!(HIP, "rocrand_generate_uniform_double");
    generate(generator, "rocrand_generate_uniform_double", output_data, n, distribution::uniform_double)
}

/// Enqueues normally distributed numbers.
#[unsafe(no_mangle)]
pub extern "C" fn rocrand_generate_normal(
    generator: *mut c_void,
    output_data: *mut f32,
    n: usize,
    mean: f32,
    stddev: f32,
) -> Status {
    injected!(HIP, "rocrand_generate_normal");
    generate(generator, "rocrand_generate_normal", output_data, n, |kind| distribution::normal(kind, mean, stddev))
}

/// Enqueues normally distributed numbers in double precision.
#[unsafe(no_mangle)]
pub extern "C" fn rocrand_generate_normal_double(
    generator: *mut c_void,
    output_data: *mut f64,
    n: usize,
    mean: f64,
    stddev: f64,
) -> Status {
    injected!(HIP, "rocrand_generate_normal_double");
    generate(generator, "rocrand_generate_normal_double", output_data, n, |kind| {
        distribution::normal_double(kind, mean, stddev)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null_mut, without_provenance_mut};

    #[test]
    fn arguments_are_refused_as_documented() {
        let mut made = null_mut();
        // SAFETY: `made` is valid for writes.
        unsafe {
            // MTGP32, Sobol32, and two numbers that are not types.
            for wrong in [403, 501, 0, -1] {
                assert_eq!(rocrand_create_generator(&mut made, wrong), TYPE_ERROR);
            }
            assert_eq!(rocrand_create_generator(null_mut(), 404), OUT_OF_RANGE);
            assert_eq!(rocrand_get_version(null_mut()), OUT_OF_RANGE);
        }
        let stale = new_generator(Kind::Philox);
        assert_eq!(rocrand_destroy_generator(stale), SUCCESS);
        for none in [null_mut(), stale] {
            assert_eq!(rocrand_destroy_generator(none), NOT_CREATED);
            assert_eq!(rocrand_set_seed(none, 1), NOT_CREATED);
            assert_eq!(rocrand_set_offset(none, 1), NOT_CREATED);
            assert_eq!(rocrand_set_stream(none, null_mut()), NOT_CREATED);
            assert_eq!(rocrand_initialize_generator(none), NOT_CREATED);
            assert_eq!(rocrand_generate(none, null_mut(), 0), NOT_CREATED);
        }
    }

    #[test]
    fn normal_numbers_come_in_aligned_pairs() {
        let g = new_generator(Kind::Philox);
        let at = |address| without_provenance_mut(address);
        assert_eq!(rocrand_generate_normal(g, at(64), 3, 0.0, 1.0), LENGTH_NOT_MULTIPLE);
        assert_eq!(rocrand_generate_normal(g, at(68), 4, 0.0, 1.0), LENGTH_NOT_MULTIPLE);
        assert_eq!(rocrand_generate_normal_double(g, at(72).cast(), 4, 0.0, 1.0), LENGTH_NOT_MULTIPLE);
        assert_eq!(rocrand_generate_normal(g, at(64), 0, 0.0, 1.0), SUCCESS);
        assert_eq!(rocrand_destroy_generator(g), SUCCESS);
    }
}
