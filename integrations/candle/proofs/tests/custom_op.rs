//! An operation of one's own: one source for the GPUs of both vendors, and plain Rust for the CPU.

use anyhow::Result;
use candle_core::cuda::isobit::{BackendDevice as _, KernelSource, LaunchConfig};
use candle_core::{CpuStorage, CudaStorage, CustomOp2, DType, Device, Layout, Shape};
use isobit_candle_proofs::{device, weights};

/// `x * sigmoid(x) + bias`, with the bias added to each row.
struct SiluBias;

const SOURCE: &str = r#"
#include <isobit.cuh>

ISOBIT_KERNEL(256) silu_bias(float *y, const float *x, const float *bias, isobit::u64 rows, isobit::u64 cols) {
    for (isobit::u64 i = isobit::first_element(); i < rows * cols; i += isobit::all_threads())
        y[i] = isobit::silu(x[i]) + bias[i % cols];
}
"#;

impl CustomOp2 for SiluBias {
    fn name(&self) -> &'static str {
        "silu-bias"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let (Some((start, end)), Some((bias_start, bias_end))) =
            (layout.contiguous_offsets(), bias_layout.contiguous_offsets())
        else {
            candle_core::bail!("silu-bias takes contiguous tensors")
        };
        let (x, bias) = (&x.as_slice::<f32>()?[start..end], &bias.as_slice::<f32>()?[bias_start..bias_end]);
        let y = x.iter().zip(bias.iter().cycle()).map(|(x, bias)| x / (1.0 + (-x).exp()) + bias).collect();
        Ok((CpuStorage::F32(y), layout.shape().clone()))
    }

    fn cuda_fwd(
        &self,
        x: &CudaStorage,
        layout: &Layout,
        bias: &CudaStorage,
        bias_layout: &Layout,
    ) -> candle_core::Result<(CudaStorage, Shape)> {
        use candle_core::backend::{BackendDevice as _, BackendStorage as _};
        if (layout.start_offset(), bias_layout.start_offset()) != (0, 0)
            || !layout.is_contiguous()
            || !bias_layout.is_contiguous()
            || x.dtype() != DType::F32
        {
            candle_core::bail!("silu-bias takes whole contiguous tensors of f32")
        }
        let (rows, cols) = layout.shape().dims2()?;
        // Compiled once, and kept on disk.
        let kernel = x.device().isobit().compile("silu_bias", &KernelSource::new("silu_bias.cu", SOURCE))?;
        let mut y = x.device().zeros_impl(layout.shape(), DType::F32)?;
        let launch = kernel.builder().arg_mut(y.isobit_mut()).arg(x.isobit()).arg(bias.isobit());
        let launch = launch.value(rows as u64).value(cols as u64);
        // SAFETY: the kernel takes these arguments and stays inside the shapes checked above.
        unsafe { launch.launch(LaunchConfig::for_num_elems(rows * cols))? };
        Ok((y, layout.shape().clone()))
    }
}

#[test]
fn an_operation_of_ones_own_runs_on_the_gpus_of_both_vendors() -> Result<()> {
    let device = device()?;
    if device.as_cuda_device()?.isobit().location().driver == "cpu" {
        println!("skipped: Isobit's CPU has no kernels");
        return Ok(());
    }
    let run = |device: &Device| -> Result<Vec<f32>> {
        let x = weights::tensor("x", (300, 57), 30.0, 0.0, device)?;
        let bias = weights::tensor("bias", 57, 1.0, 0.0, device)?;
        Ok(x.apply_op2(&bias, SiluBias)?.flatten_all()?.to_vec1()?)
    };
    for (here, host) in run(&device)?.iter().zip(run(&Device::Cpu)?) {
        assert!((here - host).abs() <= 1e-5 * host.abs().max(1.0), "{here} and {host}");
    }
    Ok(())
}
