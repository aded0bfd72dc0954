//! Bad use of a device: an error of candle that holds Isobit's message, no panic, and a device that
//! works afterwards.

use anyhow::Result;
use candle_core::cuda::isobit::{self, AnyDevice, ErrorKind};
use candle_core::{CudaDevice, CudaStorage, DType, Device, Error, Tensor};
use isobit_candle_proofs::device;

/// Returns the error of Isobit in an error of candle.
fn inner(e: &Error) -> Option<&isobit::Error> {
    match e {
        Error::Cuda(inner) => inner.downcast_ref(),
        Error::WithBacktrace { inner: e, .. } | Error::Context { inner: e, .. } | Error::WithPath { inner: e, .. } => {
            inner(e)
        }
        _ => None,
    }
}

fn works(device: &Device) -> Result<()> {
    let sum = Tensor::new(&[1f32, 2., 3.], device)?.sum_all()?.to_scalar::<f32>()?;
    assert_eq!(sum, 6.0);
    Ok(())
}

#[test]
fn an_absent_device() -> Result<()> {
    let e = Device::new_cuda(99).unwrap_err();
    assert_eq!(inner(&e).map(isobit::Error::kind), Some(ErrorKind::InvalidArgument), "{e}");
    assert!(e.to_string().contains("there is no device 99: 0 is "), "{e}");
    works(&device()?)
}

#[test]
fn too_little_memory_for_a_model() -> Result<()> {
    let device = device()?;
    let e = Tensor::zeros((1 << 25, 1 << 25), DType::F32, &device).unwrap_err();
    assert_eq!(inner(&e).map(isobit::Error::kind), Some(ErrorKind::OutOfMemory), "{e}");
    works(&device)
}

#[test]
fn a_dtype_that_isobit_lacks() -> Result<()> {
    let device = device()?;
    for dtype in [DType::F4, DType::F6E2M3, DType::F6E3M2, DType::F8E8M0] {
        let e = Tensor::zeros(4, dtype, &device).unwrap_err();
        assert_eq!(inner(&e).map(isobit::Error::kind), Some(ErrorKind::UnsupportedDtype), "{e}");
        assert!(e.to_string().contains(&format!("no dtype {}", dtype.as_str())), "{e}");
        let e = Tensor::new(&[1f32], &device)?.to_dtype(dtype).unwrap_err();
        assert_eq!(inner(&e).map(isobit::Error::kind), Some(ErrorKind::UnsupportedDtype), "{e}");
    }
    works(&device)
}

#[test]
fn a_file_with_a_dtype_that_isobit_lacks() -> Result<()> {
    let device = device()?;
    let header = r#"{"x":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend([0x12, 0x34]);
    let e = candle_core::safetensors::load_buffer(&file, &device).unwrap_err().to_string();
    assert!(e.contains("Isobit has no dtype f4"), "{e}");
    works(&device)
}

#[test]
fn a_storage_of_another_device() -> Result<()> {
    use isobit::BackendDevice as _;
    let device = device()?;
    let here = device.as_cuda_device()?;
    if here.isobit().location().driver == "cpu" {
        return Ok(());
    }
    let elsewhere = AnyDevice::cpu().storage_from_slice(&[1f32])?;
    let e = CudaStorage::from_isobit(elsewhere, here).unwrap_err();
    assert_eq!(inner(&e).map(isobit::Error::kind), Some(ErrorKind::DeviceMismatch), "{e}");
    let other = Tensor::new(&[1f32], &Device::Cuda(CudaDevice::from_isobit(AnyDevice::cpu())))?;
    let e = (Tensor::new(&[1f32], &device)? + other).unwrap_err().to_string();
    assert!(e.contains("device mismatch"), "{e}");
    works(&device)
}

#[test]
fn an_id_out_of_range() -> Result<()> {
    let device = device()?;
    let table = Tensor::new(&[[1f32], [2.]], &device)?;
    let picked = table.index_select(&Tensor::new(&[0u32, 2], &device)?, 0);
    let e = picked.and_then(|picked| picked.to_vec2::<f32>()).unwrap_err();
    assert_eq!(inner(&e).map(isobit::Error::kind), Some(ErrorKind::IndexOutOfRange), "{e}");
    works(&device)
}
