//! [`GpuRuntime`] over HIP: opens a device and describes it. Each other part of the trait is
//! implemented in the file of its subject.

use crate::context::Context;
use crate::info;
use crate::vendor::Libraries;
use hip_sys::Hip;
use isobit_hal::{DeviceInfo, Result};
use isobit_kernels::{GpuRuntime, Limits, MemoryRuntime as _, Target};
use std::ffi::c_int;
use std::sync::Arc;

/// One AMD GPU, accessed through HIP.
#[derive(Debug)]
pub struct RocmRuntime {
    context: Arc<Context>,
    limits: Limits,
    arch: String,
    libraries: Libraries,
}

impl RocmRuntime {
    /// Returns the device's ordinal in HIP, for interop.
    pub fn raw_device(&self) -> c_int {
        self.context.device()
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Returns HIP's functions.
    pub(crate) fn hip(&self) -> &'static Hip {
        self.context.hip
    }

    pub(crate) fn libraries(&self) -> &Libraries {
        &self.libraries
    }
}

impl GpuRuntime for RocmRuntime {
    const DRIVER: &'static str = "rocm";
    const TARGET: Target = Target::Amdgcn;

    fn open(ordinal: usize) -> Result<Self> {
        let context = Context::new(ordinal)?;
        context.bind()?;
        let limits = info::limits(context.hip, context.device())?;
        let arch = info::arch(context.hip, context.device())?;
        Ok(Self { context, limits, arch, libraries: Libraries::default() })
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn arch(&self) -> &str {
        &self.arch
    }

    fn info(&self) -> Result<DeviceInfo> {
        let mut info = info::describe(self.context.hip, self.context.device())?;
        (info.memory_free, info.memory_total) = self.memory()?;
        Ok(info)
    }
}
