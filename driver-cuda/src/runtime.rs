//! [`GpuRuntime`] over the CUDA driver API: opens a device and describes it. Each other part of the
//! trait is implemented in the file of its subject.

use crate::context::Context;
use crate::info;
use crate::vendor::Libraries;
use cudarc::driver::sys;
use isobit_hal::{DeviceInfo, Result};
use isobit_kernels::{GpuRuntime, Limits, MemoryRuntime as _, Target};
use std::sync::Arc;

/// One NVIDIA GPU, accessed through the CUDA driver API.
#[derive(Debug)]
pub struct CudaRuntime {
    context: Arc<Context>,
    limits: Limits,
    arch: String,
    libraries: Libraries,
}

impl CudaRuntime {
    /// Returns the device's primary context, for interop.
    pub fn raw_context(&self) -> sys::CUcontext {
        self.context.raw()
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn libraries(&self) -> &Libraries {
        &self.libraries
    }
}

impl GpuRuntime for CudaRuntime {
    const DRIVER: &'static str = "cuda";
    const TARGET: Target = Target::Nvptx;

    fn open(ordinal: usize) -> Result<Self> {
        let context = Context::new(ordinal)?;
        context.bind()?;
        let limits = info::limits(context.device())?;
        let arch = info::arch(context.device())?;
        Ok(Self { context, limits, arch, libraries: Libraries::default() })
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn arch(&self) -> &str {
        &self.arch
    }

    fn info(&self) -> Result<DeviceInfo> {
        let mut info = info::describe(self.context.device())?;
        (info.memory_free, info.memory_total) = self.memory()?;
        Ok(info)
    }
}
