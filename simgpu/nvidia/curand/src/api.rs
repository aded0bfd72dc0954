//! cuRAND's generators and their settings: <https://docs.nvidia.com/cuda/curand/group__HOST.html>.

use crate::ordering::{Kind, Ordering, Start};
use isobit_simgpu_library_common::{CUDA, Handles, Stream, guarded, injected};
use isobit_simgpu_math::random::Generator;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// `curandStatus_t`.
pub type Status = c_int;
/// `CURAND_STATUS_SUCCESS`.
pub const SUCCESS: Status = 0;
/// `CURAND_STATUS_NOT_INITIALIZED`: the handle is not a live generator.
pub const NOT_INITIALIZED: Status = 101;
/// `CURAND_STATUS_TYPE_ERROR`: the generator type is unknown, or unsuitable for the call.
pub const TYPE_ERROR: Status = 103;
/// `CURAND_STATUS_OUT_OF_RANGE`: an argument out of range.
pub const OUT_OF_RANGE: Status = 104;
/// `CURAND_STATUS_LENGTH_NOT_MULTIPLE`: the length is odd, but normal numbers come in pairs.
pub const LENGTH_NOT_MULTIPLE: Status = 105;
/// `CURAND_STATUS_LAUNCH_FAILURE`: CUDA did not accept work on the generator's stream.
pub const LAUNCH_FAILURE: Status = 201;
/// `CURAND_STATUS_INITIALIZATION_FAILED`: CUDA is not available.
pub const INITIALIZATION_FAILED: Status = 203;
/// `CURAND_STATUS_INTERNAL_ERROR`.
pub const INTERNAL_ERROR: Status = 999;

/// The cuRAND version that this library replaces, from CUDA 13.0: major, minor and patch.
const VERSION: [c_int; 3] = [10, 4, 0];

/// The generator behind a handle.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) generator: Generator<Start>,
    /// Whether it fills host memory, synchronously.
    pub(crate) is_host: bool,
}

static ENGINES: Handles<Engine> = Handles::new();

pub(crate) fn with(generator: *mut c_void, body: impl FnOnce(Arc<Engine>) -> Status) -> Status {
    guarded(INTERNAL_ERROR, || ENGINES.get(generator).map_or(NOT_INITIALIZED, body))
}

pub(crate) fn new_engine(kind: Kind, is_host: bool) -> *mut c_void {
    let start = Start { kind, ordering: Ordering::Default, seed: 0, offset: 0 };
    ENGINES.insert(Engine { generator: Generator::new(start), is_host })
}

/// # Safety
/// `generator` is null or can be written.
unsafe fn create(generator: *mut *mut c_void, rng_type: c_int, is_host: bool) -> Status {
    guarded(INTERNAL_ERROR, || {
        if generator.is_null() {
            return NOT_INITIALIZED;
        }
        let kind = match rng_type {
            100 | 101 => Kind::Xorwow,
            121 => Kind::Mrg32k3a,
            161 => Kind::Philox,
            _ => return TYPE_ERROR,
        };
        if let (false, Err(why)) = (is_host, CUDA.runtime()) {
            eprintln!("cuRAND stand-in: {why}");
            return INITIALIZATION_FAILED;
        }
        // SAFETY: not null; the caller promises that `generator` is null or can be written.
        unsafe { generator.write(new_engine(kind, is_host)) };
        SUCCESS
    })
}

/// Creates a generator of one of the kinds of [`Kind`] that fills device memory.
///
/// # Safety
/// `generator` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn curandCreateGenerator(generator: *mut *mut c_void, rng_type: c_int) -> Status {
    injected!(CUDA, "curandCreateGenerator");
    // SAFETY: the caller promises that `generator` is null or can be written.
    unsafe { create(generator, rng_type, false) }
}

/// Creates a generator that fills host memory with the same numbers. It needs no device.
///
/// # Safety
/// `generator` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn curandCreateGeneratorHost(generator: *mut *mut c_void, rng_type: c_int) -> Status {
    injected!(CUDA, "curandCreateGeneratorHost");
    // SAFETY: the caller promises that `generator` is null or can be written.
    unsafe { create(generator, rng_type, true) }
}

/// Destroys a generator. Work that was already requested still runs.
#[unsafe(no_mangle)]
pub extern "C" fn curandDestroyGenerator(generator: *mut c_void) -> Status {
    injected!(CUDA, "curandDestroyGenerator");
    guarded(INTERNAL_ERROR, || if ENGINES.remove(generator).is_some() { SUCCESS } else { NOT_INITIALIZED })
}

/// Prepares a generator ahead of the first call. Here the first call prepares it, in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn curandGenerateSeeds(generator: *mut c_void) -> Status {
    injected!(CUDA, "curandGenerateSeeds");
    with(generator, |_| SUCCESS)
}

/// Sets the stream of later calls. If the stream does not exist, those calls fail.
#[unsafe(no_mangle)]
pub extern "C" fn curandSetStream(generator: *mut c_void, stream: *mut c_void) -> Status {
    injected!(CUDA, "curandSetStream");
    with(generator, |engine| {
        engine.generator.set_stream(Stream(stream));
        SUCCESS
    })
}

fn set(generator: *mut c_void, change: impl FnOnce(&mut Start)) -> Status {
    with(generator, |engine| {
        engine.generator.set(change);
        SUCCESS
    })
}

/// Sets the seed and restarts the sequence.
#[unsafe(no_mangle)]
pub extern "C" fn curandSetPseudoRandomGeneratorSeed(generator: *mut c_void, seed: u64) -> Status {
    injected!(CUDA, "curandSetPseudoRandomGeneratorSeed");
    set(generator, |start| start.seed = seed)
}

/// Sets how many values of the sequence are skipped and restarts it.
#[unsafe(no_mangle)]
pub extern "C" fn curandSetGeneratorOffset(generator: *mut c_void, offset: u64) -> Status {
    injected!(CUDA, "curandSetGeneratorOffset");
    set(generator, |start| start.offset = offset)
}

/// Sets the order of the values and restarts the sequence.
#[unsafe(no_mangle)]
pub extern "C" fn curandSetGeneratorOrdering(generator: *mut c_void, order: c_int) -> Status {
    injected!(CUDA, "curandSetGeneratorOrdering");
    with(generator, |engine| {
        let ordering = match (order, engine.generator.settings().kind, engine.is_host) {
            (100 | 101, _, _) | (104, _, false) => Ordering::Default,
            (102, Kind::Xorwow, _) => Ordering::Seeded,
            (103, _, _) => Ordering::Legacy,
            _ => return OUT_OF_RANGE,
        };
        engine.generator.set(|start| start.ordering = ordering);
        SUCCESS
    })
}

/// Only quasirandom generators have dimensions, and none of these generators is quasirandom.
#[unsafe(no_mangle)]
pub extern "C" fn curandSetQuasiRandomGeneratorDimensions(generator: *mut c_void, _num_dimensions: u32) -> Status {
    injected!(CUDA, "curandSetQuasiRandomGeneratorDimensions");
    with(generator, |_| TYPE_ERROR)
}

/// Returns the version as one number.
///
/// # Safety
/// `version` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn curandGetVersion(version: *mut c_int) -> Status {
    injected!(CUDA, "curandGetVersion");
    let [major, minor, patch] = VERSION;
    // SAFETY: the caller promises that `version` is null or can be written.
    unsafe { put(version, major * 1000 + minor * 100 + patch) }
}

/// Returns a part of the version: 0 major, 1 minor, 2 patch.
///
/// # Safety
/// `value` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn curandGetProperty(property: c_int, value: *mut c_int) -> Status {
    injected!(CUDA, "curandGetProperty");
    match usize::try_from(property).ok().and_then(|at| VERSION.get(at)) {
        // SAFETY: the caller promises that `value` is null or can be written.
        Some(&part) => unsafe { put(value, part) },
        None => OUT_OF_RANGE,
    }
}

/// # Safety
/// `out` is null or can be written.
unsafe fn put(out: *mut c_int, value: c_int) -> Status {
    if out.is_null() {
        return OUT_OF_RANGE;
    }
    // SAFETY: not null; the caller promises that `out` is null or can be written.
    unsafe { out.write(value) };
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    #[test]
    fn what_there_is_not_is_refused() {
        let mut made = null_mut();
        // SAFETY: `made` can be written, and the functions check for null.
        unsafe {
            // MTGP32, MT19937, the quasirandom types, and numbers that are not types.
            for wrong in [141, 142, 200, 201, 202, 203, 204, 0, 1, -1] {
                assert_eq!(curandCreateGeneratorHost(&mut made, wrong), TYPE_ERROR, "{wrong}");
                assert_eq!(curandCreateGenerator(&mut made, wrong), TYPE_ERROR, "{wrong}");
            }
            assert_eq!(curandCreateGenerator(null_mut(), 161), NOT_INITIALIZED);
        }
        let stale = new_engine(Kind::Philox, false);
        assert_eq!(curandDestroyGenerator(stale), SUCCESS);
        for none in [null_mut(), stale] {
            assert_eq!(curandDestroyGenerator(none), NOT_INITIALIZED);
            assert_eq!(curandSetPseudoRandomGeneratorSeed(none, 1), NOT_INITIALIZED);
            assert_eq!(curandSetGeneratorOffset(none, 1), NOT_INITIALIZED);
            assert_eq!(curandSetGeneratorOrdering(none, 101), NOT_INITIALIZED);
            assert_eq!(curandSetQuasiRandomGeneratorDimensions(none, 1), NOT_INITIALIZED);
            assert_eq!(curandSetStream(none, null_mut()), NOT_INITIALIZED);
            assert_eq!(curandGenerateSeeds(none), NOT_INITIALIZED);
        }
    }

    /// The expected values come from the real library's host generators, except for `DYNAMIC`,
    /// which only a card has.
    #[test]
    fn orders_that_a_kind_has() {
        let accepted = |kind, is_host| {
            let engine = new_engine(kind, is_host);
            let all = (98..=106).chain([200, 201]);
            let accepted: Vec<c_int> = all.filter(|&o| curandSetGeneratorOrdering(engine, o) == SUCCESS).collect();
            assert_eq!(curandSetGeneratorOrdering(engine, 105), OUT_OF_RANGE);
            accepted
        };
        assert_eq!(accepted(Kind::Xorwow, true), [100, 101, 102, 103]);
        assert_eq!(accepted(Kind::Mrg32k3a, true), [100, 101, 103]);
        assert_eq!(accepted(Kind::Philox, true), [100, 101, 103]);
        assert_eq!(accepted(Kind::Xorwow, false), [100, 101, 102, 103, 104]);
        assert_eq!(curandSetQuasiRandomGeneratorDimensions(new_engine(Kind::Xorwow, true), 1), TYPE_ERROR);
    }

    #[test]
    fn the_version() {
        let (mut version, mut part) = (0, 0);
        // SAFETY: both can be written, and the functions check for null.
        unsafe {
            assert_eq!(curandGetVersion(&mut version), SUCCESS);
            assert_eq!(curandGetVersion(null_mut()), OUT_OF_RANGE);
            assert_eq!(curandGetProperty(1, &mut part), SUCCESS);
            assert_eq!(curandGetProperty(3, &mut part), OUT_OF_RANGE);
        }
        assert_eq!((version, part), (10_400, 4));
    }
}
