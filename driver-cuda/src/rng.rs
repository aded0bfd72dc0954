//! Random numbers by cuRAND: its Philox4x32-10, in cuRAND's own order.

use crate::context::Context;
use crate::library::CURAND;
use crate::runtime::CudaRuntime;
use crate::stream::CudaStream;
use cudarc::curand::sys::{self, curandRngType as Kind, curandStatus as Status};
use isobit_hal::{DType, Error, ErrorKind, Result};
use isobit_kernels::{Distribution, LibraryHandle, Random, Vendor};
use parking_lot::Mutex;
use std::sync::Arc;

/// A generator on one stream.
#[derive(Debug)]
pub(crate) struct Rng {
    context: Arc<Context>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    generator: sys::curandGenerator_t,
    /// The seed and the offset of the next numbers in its sequence.
    position: Option<(u64, u64)>,
}

// SAFETY: cuRAND allows any thread to use a generator, one at a time, which the mutex ensures.
unsafe impl Send for State {}

fn check(status: Status, doing: &str) -> Result<()> {
    if status == Status::CURAND_STATUS_SUCCESS {
        return Ok(());
    }
    let kind = match status {
        Status::CURAND_STATUS_ALLOCATION_FAILED => ErrorKind::OutOfMemory,
        _ => ErrorKind::LibraryFailure,
    };
    let name = format!("{status:?}");
    Err(Error::new(kind, format!("cuRAND, {doing}: {name}")).with_native(status as i64, name))
}

/// Returns the version of the loaded library.
pub(crate) fn version() -> Result<String> {
    CURAND.require()?;
    let mut version = 0;
    // SAFETY: the out-parameter is a valid pointer.
    check(unsafe { sys::curandGetVersion(&mut version) }, "querying its version")?;
    Ok(format!("{}.{}.{}", version / 1000, version / 100 % 10, version % 100))
}

impl LibraryHandle<CudaRuntime> for Rng {
    fn new(runtime: &CudaRuntime, stream: &CudaStream) -> Result<Self> {
        CURAND.require()?;
        runtime.context().bind()?;
        let mut generator = std::ptr::null_mut();
        let kind = Kind::CURAND_RNG_PSEUDO_PHILOX4_32_10;
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { sys::curandCreateGenerator(&mut generator, kind) }, "creating a generator")?;
        let state = Mutex::new(State { generator, position: None });
        let rng = Self { context: runtime.context().clone(), state };
        rng.move_to(stream)?;
        Ok(rng)
    }

    fn move_to(&self, stream: &CudaStream) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the generator is alive; the stream does not close before its generator is moved
        // or destroyed.
        check(unsafe { sys::curandSetStream(self.state.lock().generator, stream.raw().cast()) }, "setting the stream")
    }
}

impl Rng {
    /// # Safety
    /// See `VendorRuntime::random`.
    pub(crate) unsafe fn random(&self, problem: &Random) -> Result<Vendor> {
        self.context.bind()?;
        // SAFETY: the caller promises that the elements are allocated.
        match unsafe { self.state.lock().draw(problem) } {
            Ok(()) => Ok(Vendor::Done),
            Err(e) if e.kind() == ErrorKind::OutOfMemory => Err(e),
            Err(e) => Ok(Vendor::Declined(e.to_string())),
        }
    }
}

impl State {
    /// # Safety
    /// See `VendorRuntime::random`.
    unsafe fn draw(&mut self, problem: &Random) -> Result<()> {
        let Random { dtype, dst, len, distribution, seed, offset } = *problem;
        // The position is set again after the call succeeds.
        if self.position.take() != Some((seed, offset)) {
            // SAFETY: the generator is alive.
            unsafe {
                check(sys::curandSetPseudoRandomGeneratorSeed(self.generator, seed), "setting the seed")?;
                check(sys::curandSetGeneratorOffset(self.generator, offset), "setting the offset")?;
            }
        }
        let generator = self.generator;
        // SAFETY: the caller upholds the contract of `VendorRuntime::random`.
        let status = unsafe {
            match (distribution, dtype) {
                (Distribution::Unit, DType::F64) => sys::curandGenerateUniformDouble(generator, dst.0 as *mut f64, len),
                (Distribution::Unit, _) => sys::curandGenerateUniform(generator, dst.0 as *mut f32, len),
                (Distribution::Normal { mean, deviation }, DType::F64) => {
                    sys::curandGenerateNormalDouble(generator, dst.0 as *mut f64, len, mean, deviation)
                }
                (Distribution::Normal { mean, deviation }, _) => {
                    sys::curandGenerateNormal(generator, dst.0 as *mut f32, len, mean as f32, deviation as f32)
                }
            }
        };
        check(status, "drawing numbers")?;
        self.position = Some((seed, offset.wrapping_add(len as u64)));
        Ok(())
    }
}

impl Drop for Rng {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: the generator was created in `new` and is destroyed once; freeing its state
            // waits for its work.
            check(unsafe { sys::curandDestroyGenerator(state.generator) }, "destroying the generator")
        });
        self.context.deferred().keep(destroyed);
    }
}
