//! rocRAND's generators, for those who must have the vendor's numbers; the tree's own generator gives the same numbers on every device.

use crate::library::ROCRAND;
use crate::runtime::Context;
use crate::stream::RocmStream;
use crate::{RocmDevice, RocmStorage};
use isobit_hal::{BackendDevice as _, BackendStorage as _, DType, Error, ErrorKind, Result};
use isobit_kernels::{DevicePtr, Distribution, GpuRuntime as _, Random, Vendor};
use rocrand_sys::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An algorithm of rocRAND's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RngAlgorithm {
    /// Philox4x32-10, counter-based.
    Philox4x32,
    /// Marsaglia's xorwow.
    Xorwow,
    /// L'Ecuyer's MRG32k3a.
    Mrg32k3a,
}

/// A generator on a device's stream: algorithm, seed and position in the sequence.
#[derive(Debug)]
pub struct Rng {
    device: RocmDevice,
    generator: Mutex<Generator>,
}

/// A generator of rocRAND's, with its device.
#[derive(Debug)]
struct Generator {
    context: Arc<Context>,
    library: &'static Rocrand,
    raw: rocrand_generator,
}

// SAFETY: rocRAND lets any thread use a generator, one at a time, as whoever has it exclusively does.
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

fn check(status: rocrand_status, doing: &str) -> Result<()> {
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

/// The library's version.
pub(crate) fn version() -> Result<String> {
    let library = ROCRAND.require()?;
    let mut version = 0;
    // SAFETY: an out-parameter.
    check(unsafe { (library.rocrand_get_version)(&mut version) }, "asking for its version")?;
    Ok(format!("{}.{}.{}", version / 100_000, version / 100 % 1000, version % 100))
}

impl Generator {
    fn new(context: &Arc<Context>, stream: &RocmStream, kind: rocrand_rng_type) -> Result<Self> {
        let library = ROCRAND.require()?;
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: an out-parameter.
        check(unsafe { (library.rocrand_create_generator)(&mut raw, kind) }, "making a generator")?;
        let generator = Self { context: context.clone(), library, raw };
        // SAFETY: the generator lives, and the stream by the device, which whoever has the generator holds or belongs to.
        check(unsafe { (library.rocrand_set_stream)(raw, stream.raw()) }, "choosing the stream")?;
        Ok(generator)
    }

    fn set_seed(&mut self, seed: u64) -> Result<()> {
        // SAFETY: the generator lives and is used by nobody else.
        check(unsafe { (self.library.rocrand_set_seed)(self.raw, seed) }, "setting the seed")
    }

    fn set_offset(&mut self, offset: u64) -> Result<()> {
        // SAFETY: as in `set_seed`.
        check(unsafe { (self.library.rocrand_set_offset)(self.raw, offset) }, "setting the offset")
    }

    /// # Safety
    /// `ptr` has `n` elements of the dtype, which is f32 or f64; work on them runs on the generator's stream.
    unsafe fn uniform(&mut self, dtype: DType, ptr: DevicePtr, n: usize) -> Result<()> {
        // SAFETY: the caller's promise.
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
    /// As [`uniform`](Self::uniform), with an even `n`.
    unsafe fn normal(&mut self, dtype: DType, ptr: DevicePtr, n: usize, mean: f64, deviation: f64) -> Result<()> {
        // SAFETY: the caller's promise.
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
            // SAFETY: made in `new`, destroyed once; freeing its state waits for its work.
            check(unsafe { (self.library.rocrand_destroy_generator)(self.raw) }, "destroying a generator")
        });
        self.context.deferred().keep(destroyed);
    }
}

impl Rng {
    /// A generator at the start of a seed's sequence.
    ///
    /// # Errors
    /// `LibraryUnavailable` where rocRAND is not on this machine, and those of the library.
    pub fn new(device: &RocmDevice, algorithm: RngAlgorithm, seed: u64) -> Result<Self> {
        let kind = match algorithm {
            RngAlgorithm::Philox4x32 => ROCRAND_RNG_PSEUDO_PHILOX4_32_10,
            RngAlgorithm::Xorwow => ROCRAND_RNG_PSEUDO_XORWOW,
            RngAlgorithm::Mrg32k3a => ROCRAND_RNG_PSEUDO_MRG32K3A,
        };
        let mut generator = Generator::new(device.runtime().context(), device.stream(), kind)?;
        generator.set_seed(seed)?;
        Ok(Self { device: device.clone(), generator: Mutex::new(generator) })
    }

    /// Goes to the start of a seed's sequence.
    ///
    /// # Errors
    /// Those of the library.
    pub fn set_seed(&self, seed: u64) -> Result<()> {
        self.generator()?.set_seed(seed)
    }

    /// Goes to a position of the seed's sequence, counted in 32-bit draws.
    ///
    /// # Errors
    /// Those of the library.
    pub fn set_offset(&self, offset: u64) -> Result<()> {
        self.generator()?.set_offset(offset)
    }

    /// Prepares the generator's state now, which the first numbers after a change of seed or offset wait for otherwise.
    ///
    /// # Errors
    /// Those of the library.
    pub fn initialize(&self) -> Result<()> {
        let generator = self.generator()?;
        let prepare = generator.library.rocrand_initialize_generator;
        // SAFETY: the generator lives, and the lock keeps other threads off it.
        check(unsafe { prepare(generator.raw) }, "preparing the generator")
    }

    /// Fills u32 with random bits.
    ///
    /// # Errors
    /// `UnsupportedDtype` for another dtype, `DeviceMismatch` for a storage of another device, and those of the library.
    pub fn bits(&self, dst: &mut RocmStorage) -> Result<()> {
        let (ptr, n) = self.target(dst)?;
        let generator = self.generator()?;
        let status = match dst.dtype() {
            _ if n == 0 => ROCRAND_STATUS_SUCCESS,
            // SAFETY: the buffer has `n` elements of that type, and work on it runs on the stream that the generator uses.
            DType::U32 => unsafe { (generator.library.rocrand_generate)(generator.raw, ptr.0 as *mut u32, n) },
            other => return Err(unsupported("random bits", other)),
        };
        check(status, "drawing bits")
    }

    /// Fills f32 or f64 with uniform numbers above 0 and up to 1.
    ///
    /// # Errors
    /// As [`bits`](Self::bits).
    pub fn uniform(&self, dst: &mut RocmStorage) -> Result<()> {
        let (ptr, n) = self.target(dst)?;
        match dst.dtype() {
            _ if n == 0 => Ok(()),
            // SAFETY: the buffer has `n` elements of that type, and work on it runs on the stream that the generator uses.
            dtype @ (DType::F32 | DType::F64) => unsafe { self.generator()?.uniform(dtype, ptr, n) },
            other => Err(unsupported("uniform numbers", other)),
        }
    }

    /// Fills f32 or f64 with normally distributed numbers. rocRAND makes them in pairs, so of an odd number one more is drawn, and dropped.
    ///
    /// # Errors
    /// As [`bits`](Self::bits).
    pub fn normal(&self, dst: &mut RocmStorage, mean: f64, deviation: f64) -> Result<()> {
        let (ptr, n) = self.target(dst)?;
        let dtype = dst.dtype();
        if !matches!(dtype, DType::F32 | DType::F64) {
            return Err(unsupported("normal numbers", dtype));
        }
        if n == 0 {
            return Ok(());
        }
        if n.is_multiple_of(2) {
            // SAFETY: the buffer has `n` elements of that dtype, and work on it runs on the stream that the generator uses.
            return unsafe { self.generator()?.normal(dtype, ptr, n, mean, deviation) };
        }
        // SAFETY: all of it is written before any of it is read, in the order of the one stream.
        let pairs = unsafe { self.device.alloc_uninit(&(n + 1).into(), dtype)? };
        // SAFETY: the one buffer has n + 1 elements, the other n, of that dtype; both are live when the work is enqueued, and the pool gives
        // neither away before work enqueued earlier is done.
        unsafe {
            self.generator()?.normal(dtype, pairs.ptr(), n + 1, mean, deviation)?;
            let bytes = n * dtype.size_in_bytes();
            self.device.runtime().copy_on_device(self.device.stream(), ptr, pairs.ptr(), bytes)
        }
    }

    /// The generator, with its device current.
    fn generator(&self) -> Result<MutexGuard<'_, Generator>> {
        self.device.runtime().context().bind()?;
        Ok(self.generator.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn target(&self, dst: &RocmStorage) -> Result<(DevicePtr, usize)> {
        if !self.device.same_device(dst.device()) {
            let (mine, other) = (self.device.location(), dst.device().location());
            let message =
                format!("the generator lives on {mine}, the storage on {other}, which is another device or instance");
            return Err(Error::new(ErrorKind::DeviceMismatch, message));
        }
        Ok((dst.ptr(), dst.len()))
    }
}

fn unsupported(what: &str, dtype: DType) -> Error {
    Error::new(ErrorKind::UnsupportedDtype, format!("rocRAND gives no {what} in {dtype}")).with_dtypes(&[dtype])
}

/// The generator behind [`GpuRuntime::random`](isobit_kernels::GpuRuntime::random).
#[derive(Debug)]
pub(crate) struct VendorRng(Mutex<Sequence>);

#[derive(Debug)]
struct Sequence {
    generator: Generator,
    /// The seed, and where in its sequence the next numbers would come from.
    position: Option<(u64, u64)>,
}

impl VendorRng {
    pub(crate) fn new(context: &Arc<Context>, stream: &RocmStream) -> Result<Self> {
        let generator = Generator::new(context, stream, ROCRAND_RNG_PSEUDO_PHILOX4_32_10)?;
        Ok(Self(Mutex::new(Sequence { generator, position: None })))
    }

    /// # Safety
    /// As `GpuRuntime::random`, with the device current.
    pub(crate) unsafe fn random(&self, problem: &Random) -> Result<Vendor> {
        let sequence = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: passed on.
        match unsafe { sequence.draw(problem) } {
            Ok(()) => Ok(Vendor::Done),
            Err(e) if e.kind() == ErrorKind::OutOfMemory => Err(e),
            Err(e) => Ok(Vendor::Declined(e.to_string())),
        }
    }
}

impl Sequence {
    /// # Safety
    /// As `GpuRuntime::random`.
    unsafe fn draw(&mut self, problem: &Random) -> Result<()> {
        let Random { dtype, dst, len, distribution, seed, offset } = *problem;
        // Known again once the call has worked.
        if self.position.take() != Some((seed, offset)) {
            self.generator.set_seed(seed)?;
            self.generator.set_offset(offset)?;
        }
        // SAFETY: the caller's promise; of normal numbers `len` is even.
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
