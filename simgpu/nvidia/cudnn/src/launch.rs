//! Launches, which are computed when the stream reaches them, and those of convolutions.

use crate::engine::Engine;
use crate::handle::driver;
use crate::problem::{BFLOAT16, DOUBLE, HALF, Problem};
use crate::status::{EXECUTION_FAILED_CUDA_DRIVER, INTERNAL_ERROR, Outcome, fail};
use half::{bf16, f16};
use isobit_simgpu_library_common::{Access, Stream};
use isobit_simgpu_math::convolution::Call;
use isobit_simgpu_math::number::{Compute, Output};
use isobit_simgpu_math::scratch;

/// A convolution with checked arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch {
    /// The name of the call, for findings.
    pub(crate) what: &'static str,
    pub(crate) problem: Problem,
    pub(crate) engine: Engine,
    /// The exposed addresses of the operands, in the order of the convolution's tensors.
    pub(crate) addresses: [usize; 3],
    /// The exposed address of the workspace, which has the size that the engine needs.
    pub(crate) workspace: usize,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
}

/// Runs work when the stream reaches it.
pub(crate) fn enqueue(what: &'static str, stream: Stream, work: impl Fn(&Access<'_>) + Send + 'static) -> Outcome {
    let cuda = driver(INTERNAL_ERROR)?;
    let work = move || work(&|at: *const u8, bytes, write, of: &str| cuda.access(at, bytes, write, of));
    cuda.enqueue(stream, work).or_else(|code| {
        fail(EXECUTION_FAILED_CUDA_DRIVER, format!("{what}: the driver did not accept the work: {code}"))
    })
}

impl Launch {
    pub(crate) fn enqueue(self, stream: Stream) -> Outcome {
        // SAFETY: a device address is a host address, and the simulator checks each access first.
        enqueue(self.what, stream, move |access| unsafe { self.run(access) })
    }

    /// # Safety
    /// Wherever `access` allows it, the workspace is writable and the operands have the sizes of
    /// the problem.
    pub(crate) unsafe fn run(&self, access: &Access<'_>) {
        let bytes = self.engine.workspace(&self.problem);
        // SAFETY: the caller promises that the workspace is writable and the operands have the
        // sizes of the problem wherever `access` allows it.
        if !unsafe { scratch::spoil(self.workspace, bytes, &format!("{}: the workspace", self.what), access) } {
            return;
        }
        let [alpha, beta] = [self.alpha as f32, self.beta as f32];
        let prepare = self.engine.prepare(&self.problem);
        // SAFETY: as the caller promises; the types are those of the operands.
        unsafe {
            match (self.problem.data_types[0], self.problem.compute_type) {
                (DOUBLE, _) => self.run_as::<f64, f64>([self.alpha, self.beta], |v| v, access),
                (HALF, HALF) => self.run_as::<f16, f16>([alpha, beta].map(f16::from_f32), |v| v, access),
                (HALF, _) => self.run_as::<f16, f32>([alpha, beta], prepare, access),
                (BFLOAT16, _) => self.run_as::<bf16, f32>([alpha, beta], prepare, access),
                _ => self.run_as::<f32, f32>([alpha, beta], prepare, access),
            }
        }
    }

    /// # Safety
    /// The requirements of [`run`](Self::run), with operands of type `T`.
    unsafe fn run_as<T: Output<C>, C: Compute>(&self, [alpha, beta]: [C; 2], prepare: fn(C) -> C, access: &Access<'_>) {
        let call = Call { what: self.what, addresses: self.addresses, alpha, beta, prepare };
        // SAFETY: the caller meets the requirements of `run`, with operands of type `T`.
        unsafe { self.problem.convolution.run::<T, C>(&call, access) };
    }
}
