//! rocRAND's generators, for programs that need the vendor's numbers. The tree's own generator
//! gives the same numbers on every device.

use crate::rng::{Generator, check};
use crate::stream::RocmStream;
use crate::{RocmDevice, RocmStorage};
use isobit_hal::{BackendDevice as _, BackendStorage as _, DType, Error, ErrorKind, Result, Stream};
use isobit_kernels::{DevicePtr, GraphRuntime as _, MemoryRuntime as _};
use parking_lot::{Mutex, MutexGuard};
use rocrand_sys::*;

/// An algorithm of rocRAND.
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

/// A generator: algorithm, seed and position in the sequence. It draws on the stream that was
/// current for the thread when it was created, in order with the work of other streams on the
/// storages it fills.
#[derive(Debug)]
pub struct Rng {
    device: RocmDevice,
    stream: Stream,
    generator: Mutex<Generator>,
}

impl Rng {
    /// Creates a generator at the start of a seed's sequence.
    ///
    /// # Errors
    /// Returns `LibraryUnavailable` if rocRAND is not installed, or the library's error.
    pub fn new(device: &RocmDevice, algorithm: RngAlgorithm, seed: u64) -> Result<Self> {
        let kind = match algorithm {
            RngAlgorithm::Philox4x32 => ROCRAND_RNG_PSEUDO_PHILOX4_32_10,
            RngAlgorithm::Xorwow => ROCRAND_RNG_PSEUDO_XORWOW,
            RngAlgorithm::Mrg32k3a => ROCRAND_RNG_PSEUDO_MRG32K3A,
        };
        let stream = device.current_stream()?;
        let mut generator = Generator::new(device.runtime().context(), &device.stream(), kind)?;
        generator.set_seed(seed)?;
        Ok(Self { device: device.clone(), stream, generator: Mutex::new(generator) })
    }

    /// Moves to the start of a seed's sequence.
    ///
    /// # Errors
    /// Returns the library's error if the call fails.
    pub fn set_seed(&self, seed: u64) -> Result<()> {
        self.generator()?.set_seed(seed)
    }

    /// Moves to a position of the seed's sequence, counted in 32-bit draws.
    ///
    /// # Errors
    /// Returns the library's error if the call fails.
    pub fn set_offset(&self, offset: u64) -> Result<()> {
        self.generator()?.set_offset(offset)
    }

    /// Initialises the generator's state now. Otherwise the first draw after a change of seed or
    /// offset does this.
    ///
    /// # Errors
    /// Returns the library's error if the call fails.
    pub fn initialize(&self) -> Result<()> {
        self.draw(&mut [], |generator, _| {
            let prepare = generator.library.rocrand_initialize_generator;
            // SAFETY: the generator is alive, and the lock excludes other threads.
            check(unsafe { prepare(generator.raw) }, "initialising the generator")
        })
    }

    /// Fills a u32 storage with random bits.
    ///
    /// # Errors
    /// Returns `UnsupportedDtype` for another dtype, `DeviceMismatch` for a storage of another
    /// device, `CaptureViolation` if the generator's stream is being captured, or the library's
    /// error.
    pub fn bits(&self, dst: &mut RocmStorage) -> Result<()> {
        let (ptr, n) = self.target(dst)?;
        match dst.dtype() {
            _ if n == 0 => Ok(()),
            DType::U32 => self.draw(&mut [dst], |generator, _| {
                // SAFETY: the buffer has `n` elements of that type, and work on it runs on the
                // generator's stream.
                let status = unsafe { (generator.library.rocrand_generate)(generator.raw, ptr.0 as *mut u32, n) };
                check(status, "drawing bits")
            }),
            other => Err(unsupported("random bits", other)),
        }
    }

    /// Fills an f32 or f64 storage with uniform numbers in (0, 1].
    ///
    /// # Errors
    /// Same as [`bits`](Self::bits).
    pub fn uniform(&self, dst: &mut RocmStorage) -> Result<()> {
        let (ptr, n) = self.target(dst)?;
        match dst.dtype() {
            _ if n == 0 => Ok(()),
            dtype @ (DType::F32 | DType::F64) => {
                // SAFETY: the buffer has `n` elements of that type, and work on it runs on the
                // generator's stream.
                self.draw(&mut [dst], |generator, _| unsafe { generator.uniform(dtype, ptr, n) })
            }
            other => Err(unsupported("uniform numbers", other)),
        }
    }

    /// Fills an f32 or f64 storage with normally distributed numbers. rocRAND generates them in
    /// pairs, so for an odd number of elements one more is drawn and dropped.
    ///
    /// # Errors
    /// Same as [`bits`](Self::bits).
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
            // SAFETY: the buffer has `n` elements of that dtype, and work on it runs on the
            // generator's stream.
            return self.draw(&mut [dst], |generator, _| unsafe { generator.normal(dtype, ptr, n, mean, deviation) });
        }
        // SAFETY: the buffer is fully written before it is read, in the order of the stream.
        let mut pairs = unsafe { self.device.alloc_uninit(&(n + 1).into(), dtype)? };
        let (drawn, bytes) = (pairs.ptr(), n * dtype.size_in_bytes());
        self.draw(&mut [dst, &mut pairs], |generator, stream| {
            // SAFETY: one buffer has n + 1 elements and the other n, of that dtype. Both are alive
            // when the work is enqueued, and the pool does not reuse them before it is done.
            unsafe {
                generator.normal(dtype, drawn, n + 1, mean, deviation)?;
                self.device.runtime().copy_on_device(stream, ptr, drawn, bytes)
            }
        })
    }

    /// Enqueues a draw on the generator's stream, with its device current.
    fn draw(
        &self,
        filled: &mut [&mut RocmStorage],
        work: impl FnOnce(&mut Generator, &RocmStream) -> Result<()>,
    ) -> Result<()> {
        let (_entered, runtime) = (self.device.enter_stream(&self.stream)?, self.device.runtime());
        self.device.enqueue(&[], filled, |stream| {
            if runtime.is_capturing(stream)? {
                let message = "a generator's position in its sequence cannot be captured: draw before the capture, or use the HAL's random operations";
                return Err(Error::new(ErrorKind::CaptureViolation, message));
            }
            runtime.context().bind()?;
            work(&mut self.generator.lock(), stream)
        })
    }

    fn generator(&self) -> Result<MutexGuard<'_, Generator>> {
        self.device.runtime().context().bind()?;
        Ok(self.generator.lock())
    }

    fn target(&self, dst: &RocmStorage) -> Result<(DevicePtr, usize)> {
        if !self.device.same_device(dst.device()) {
            let (mine, other) = (self.device.location(), dst.device().location());
            let message =
                format!("the generator belongs to {mine}, the storage to {other}, which is another device or instance");
            return Err(Error::new(ErrorKind::DeviceMismatch, message));
        }
        Ok((dst.ptr(), dst.len()))
    }
}

fn unsupported(what: &str, dtype: DType) -> Error {
    Error::new(ErrorKind::UnsupportedDtype, format!("rocRAND does not generate {what} in {dtype}"))
        .with_dtypes(&[dtype])
}
