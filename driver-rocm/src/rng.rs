//! Random numbers by rocRAND: its Philox4x32-10, in rocRAND's own order.

use crate::context::Context;
use crate::library::ROCRAND;
use crate::runtime::RocmRuntime;
use crate::stream::RocmStream;
use isobit_hal::{DType, Error, ErrorKind, Result};
use isobit_kernels::{DevicePtr, Distribution, LibraryHandle, Random, Vendor};
use parking_lot::Mutex;
use rocrand_sys::*;
use std::sync::Arc;

/// A rocRAND generator with its device.
#[derive(Debug)]
pub(crate) struct Generator {
    context: Arc<Context>,
    pub(crate) library: &'static Rocrand,
    pub(crate) raw: rocrand_generator,
}

// SAFETY: rocRAND allows any thread to use a generator, one at a time, which exclusive access
// ensures.
unsafe impl Send for Generator {}

fn name_of(status: rocrand_status) -> &'static str {
    match status {
        ROCRAND_STATUS_VERSION_MISMATCH => "ROCRAND_STATUS_VERSION_MISMATCH",
        ROCRAND_STATUS_NOT_CREATED => "ROCRAND_STATUS_NOT_CREATED",
        ROCRAND_STATUS_ALLOCATION_FAILED => "ROCRAND_STATUS_ALLOCATION_FAILED",
        ROCRAND_STATUS_TYPE_ERROR => "ROCRAND_STATUS_TYPE_ERROR",
        ROCRAND_STATUS_OUT_OF_RANGE => "ROCRAND_STATUS_OUT_OF_RANGE",
        ROCRAND_STATUS_LENGTH_NOT_MULTIPLE => "ROCRAND_STATUS_LENGTH_NOT_MULTIPLE",
        ROCRAND_STATUS_DOUBLE_PRECISION_REQUIRED => "ROCRAND_STATUS_DOUBLE_PRECISION_REQUIRED",
        ROCRAND_STATUS_LAUNCH_FAILURE => "ROCRAND_STATUS_LAUNCH_FAILURE",
        ROCRAND_STATUS_INTERNAL_ERROR => "ROCRAND_STATUS_INTERNAL_ERROR",
        _ => "unknown",
    }
}

pub(crate) fn check(status: rocrand_status, doing: &str) -> Result<()> {
    let kind = match status {
        ROCRAND_STATUS_SUCCESS => return Ok(()),
        ROCRAND_STATUS_ALLOCATION_FAILED => ErrorKind::OutOfMemory,
        ROCRAND_STATUS_TYPE_ERROR => ErrorKind::UnsupportedOp,
        ROCRAND_STATUS_OUT_OF_RANGE | ROCRAND_STATUS_LENGTH_NOT_MULTIPLE => ErrorKind::InvalidArgument,
        _ => ErrorKind::LibraryFailure,
    };
    let name = name_of(status);
    Err(Error::new(kind, format!("rocRAND, {doing}: {name}")).with_native(i64::from(status), name))
}

/// Returns the library's version.
pub(crate) fn version() -> Result<String> {
    let library = ROCRAND.require()?;
    let mut version = 0;
    // SAFETY: the out-parameter is a valid pointer.
    check(unsafe { (library.rocrand_get_version)(&mut version) }, "querying its version")?;
    Ok(format!("{}.{}.{}", version / 100_000, version / 100 % 1000, version % 100))
}

impl Generator {
    pub(crate) fn new(context: &Arc<Context>, stream: &RocmStream, kind: rocrand_rng_type) -> Result<Self> {
        let library = ROCRAND.require()?;
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { (library.rocrand_create_generator)(&mut raw, kind) }, "creating a generator")?;
        let mut generator = Self { context: context.clone(), library, raw };
        generator.move_to(stream)?;
        Ok(generator)
    }

    /// Moves the generator to another stream.
    pub(crate) fn move_to(&mut self, stream: &RocmStream) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the generator is alive; the stream does not close before its generator is moved
        // or destroyed.
        check(unsafe { (self.library.rocrand_set_stream)(self.raw, stream.raw()) }, "setting the stream")
    }

    pub(crate) fn set_seed(&mut self, seed: u64) -> Result<()> {
        // SAFETY: the generator is alive, and access is exclusive.
        check(unsafe { (self.library.rocrand_set_seed)(self.raw, seed) }, "setting the seed")
    }

    pub(crate) fn set_offset(&mut self, offset: u64) -> Result<()> {
        // SAFETY: as in `set_seed`.
        check(unsafe { (self.library.rocrand_set_offset)(self.raw, offset) }, "setting the offset")
    }

    /// # Safety
    /// `ptr` has `n` elements of the dtype, which is f32 or f64, and work on them runs on the
    /// generator's stream.
    pub(crate) unsafe fn uniform(&mut self, dtype: DType, ptr: DevicePtr, n: usize) -> Result<()> {
        // SAFETY: the caller promises that `ptr` has `n` elements of the dtype, which is f32 or
        // f64, and that work on them runs on the generator's stream.
        let status = unsafe {
            if dtype == DType::F64 {
                (self.library.rocrand_generate_uniform_double)(self.raw, ptr.0 as *mut f64, n)
            } else {
                (self.library.rocrand_generate_uniform)(self.raw, ptr.0 as *mut f32, n)
            }
        };
        check(status, "drawing uniform numbers")
    }

    /// # Safety
    /// Same as [`uniform`](Self::uniform), and `n` is even.
    pub(crate) unsafe fn normal(
        &mut self,
        dtype: DType,
        ptr: DevicePtr,
        n: usize,
        mean: f64,
        deviation: f64,
    ) -> Result<()> {
        // SAFETY: the caller upholds the contract of `uniform`, and `n` is even.
        let status = unsafe {
            if dtype == DType::F64 {
                (self.library.rocrand_generate_normal_double)(self.raw, ptr.0 as *mut f64, n, mean, deviation)
            } else {
                let (mean, deviation) = (mean as f32, deviation as f32);
                (self.library.rocrand_generate_normal)(self.raw, ptr.0 as *mut f32, n, mean, deviation)
            }
        };
        check(status, "drawing normal numbers")
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: the generator was created in `new` and is destroyed once; freeing its state
            // waits for its work.
            check(unsafe { (self.library.rocrand_destroy_generator)(self.raw) }, "destroying a generator")
        });
        self.context.deferred().keep(destroyed);
    }
}

/// The generator for [`VendorRuntime::random`](isobit_kernels::VendorRuntime::random) on one
/// stream.
#[derive(Debug)]
pub(crate) struct VendorRng(Mutex<Sequence>);

#[derive(Debug)]
struct Sequence {
    generator: Generator,
    /// The seed and the offset of the next numbers in its sequence.
    position: Option<(u64, u64)>,
}

impl LibraryHandle<RocmRuntime> for VendorRng {
    fn new(runtime: &RocmRuntime, stream: &RocmStream) -> Result<Self> {
        let generator = Generator::new(runtime.context(), stream, ROCRAND_RNG_PSEUDO_PHILOX4_32_10)?;
        Ok(Self(Mutex::new(Sequence { generator, position: None })))
    }

    fn move_to(&self, stream: &RocmStream) -> Result<()> {
        self.0.lock().generator.move_to(stream)
    }
}

impl VendorRng {
    /// # Safety
    /// See `VendorRuntime::random`.
    pub(crate) unsafe fn random(&self, problem: &Random) -> Result<Vendor> {
        let mut sequence = self.0.lock();
        sequence.generator.context.bind()?;
        // SAFETY: the caller promises that the elements are allocated.
        match unsafe { sequence.draw(problem) } {
            Ok(()) => Ok(Vendor::Done),
            Err(e) if e.kind() == ErrorKind::OutOfMemory => Err(e),
            Err(e) => Ok(Vendor::Declined(e.to_string())),
        }
    }
}

impl Sequence {
    /// # Safety
    /// See `VendorRuntime::random`.
    unsafe fn draw(&mut self, problem: &Random) -> Result<()> {
        let Random { dtype, dst, len, distribution, seed, offset } = *problem;
        // The position is set again after the call succeeds.
        if self.position.take() != Some((seed, offset)) {
            self.generator.set_seed(seed)?;
            self.generator.set_offset(offset)?;
        }
        // SAFETY: the caller promises valid elements; `len` is even for normal numbers.
        unsafe {
            match distribution {
                Distribution::Unit => self.generator.uniform(dtype, dst, len)?,
                Distribution::Normal { mean, deviation } => self.generator.normal(dtype, dst, len, mean, deviation)?,
            }
        }
        self.position = Some((seed, offset.wrapping_add(len as u64)));
        Ok(())
    }
}
