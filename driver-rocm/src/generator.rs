//! rocRAND's generators, for programs that need the vendor's numbers. The tree's own generator
//! gives the same numbers on every device.

use crate::rng::{Generator, check};
use crate::stream::RocmStream;
use crate::{RocmDevice, RocmStorage};
use isobit_hal::{BackendDevice as _, BackendStorage as _, DType, Error, ErrorKind, Result, Stream};
use isobit_kernels::{DevicePtr, GraphRuntime as _, MemoryRuntime as _};
use parking_lot::{Mutex, MutexGuard};
use rocrand_sys::*;

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

/// A generator: algorithm, seed and position in the sequence. It draws on the stream that the
/// thread's work went to when it was made, in order with other streams' work on what it fills.
#[derive(Debug)]
pub struct Rng {
    device: RocmDevice,
    stream: Stream,
    generator: Mutex<Generator>,
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
        let stream = device.current_stream()?;
        let mut generator = Generator::new(device.runtime().context(), &device.stream(), kind)?;
        generator.set_seed(seed)?;
        Ok(Self { device: device.clone(), stream, generator: Mutex::new(generator) })
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

    /// Prepares the generator's state now, which the first numbers after a change of seed or offset
    /// wait for otherwise.
    ///
    /// # Errors
    /// Those of the library.
    pub fn initialize(&self) -> Result<()> {
        self.draw(&mut [], |generator, _| {
            let prepare = generator.library.rocrand_initialize_generator;
            // SAFETY: the generator lives, and the lock keeps other threads off it.
            check(unsafe { prepare(generator.raw) }, "preparing the generator")
        })
    }

    /// Fills u32 with random bits.
    ///
    /// # Errors
    /// `UnsupportedDtype` for another dtype, `DeviceMismatch` for a storage of another device,
    /// `CaptureViolation` while the generator's stream is captured, and those of the library.
    pub fn bits(&self, dst: &mut RocmStorage) -> Result<()> {
        let (ptr, n) = self.target(dst)?;
        match dst.dtype() {
            _ if n == 0 => Ok(()),
            DType::U32 => self.draw(&mut [dst], |generator, _| {
                // SAFETY: the buffer has `n` elements of that type, and work on it runs on the
                // stream that the generator uses.
                let status = unsafe { (generator.library.rocrand_generate)(generator.raw, ptr.0 as *mut u32, n) };
                check(status, "drawing bits")
            }),
            other => Err(unsupported("random bits", other)),
        }
    }

    /// Fills f32 or f64 with uniform numbers above 0 and up to 1.
    ///
    /// # Errors
    /// As [`bits`](Self::bits).
    pub fn uniform(&self, dst: &mut RocmStorage) -> Result<()> {
        let (ptr, n) = self.target(dst)?;
        match dst.dtype() {
            _ if n == 0 => Ok(()),
            dtype @ (DType::F32 | DType::F64) => {
                // SAFETY: the buffer has `n` elements of that type, and work on it runs on the
                // stream that the generator uses.
                self.draw(&mut [dst], |generator, _| unsafe { generator.uniform(dtype, ptr, n) })
            }
            other => Err(unsupported("uniform numbers", other)),
        }
    }

    /// Fills f32 or f64 with normally distributed numbers. rocRAND makes them in pairs, so of an
    /// odd number one more is drawn, and dropped.
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
            // SAFETY: the buffer has `n` elements of that dtype, and work on it runs on the stream
            // that the generator uses.
            return self.draw(&mut [dst], |generator, _| unsafe { generator.normal(dtype, ptr, n, mean, deviation) });
        }
        // SAFETY: all of it is written before any of it is read, in the order of the one stream.
        let mut pairs = unsafe { self.device.alloc_uninit(&(n + 1).into(), dtype)? };
        let (drawn, bytes) = (pairs.ptr(), n * dtype.size_in_bytes());
        self.draw(&mut [dst, &mut pairs], |generator, stream| {
            // SAFETY: the one buffer has n + 1 elements, the other n, of that dtype; both are live
            // when the work is enqueued, and the pool gives neither away before that is done.
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
                let message = "a generator's place in its sequence cannot be captured: draw before the capture, or use the operations of random numbers";
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
                format!("the generator lives on {mine}, the storage on {other}, which is another device or instance");
            return Err(Error::new(ErrorKind::DeviceMismatch, message));
        }
        Ok((dst.ptr(), dst.len()))
    }
}

fn unsupported(what: &str, dtype: DType) -> Error {
    Error::new(ErrorKind::UnsupportedDtype, format!("rocRAND gives no {what} in {dtype}")).with_dtypes(&[dtype])
}
