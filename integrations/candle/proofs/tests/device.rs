//! What candle expects of a device, and Isobit's own types behind candle's.

use anyhow::Result;
use candle_core::cuda::isobit::{self, AnyDevice, BackendStorage as _, Op, Scan};
use candle_core::{CudaDevice, CudaStorage, DType, Device, Shape, Storage, Tensor};
use isobit_candle_proofs::device;

fn numbers(count: usize, device: &Device) -> Result<Tensor> {
    Ok(Tensor::arange(0u32, count as u32, device)?.to_dtype(DType::F32)?)
}

fn on_isobits_cpu() -> Device {
    Device::Cuda(CudaDevice::from_isobit(AnyDevice::cpu()))
}

#[test]
fn tensors_of_one_ordinal_meet() -> Result<()> {
    let (first, second) = (device()?, device()?);
    assert!(!first.same_device(&second) && first.location() == second.location());
    let sum = (numbers(4, &first)? + numbers(4, &second)?)?;
    assert_eq!(sum.to_vec1::<f32>()?, [0., 2., 4., 6.]);
    Ok(())
}

#[test]
fn a_transfer_to_another_device_keeps_the_data() -> Result<()> {
    let (first, second) = (device()?, on_isobits_cpu());
    let there = numbers(1000, &first)?.to_device(&second)?;
    assert!(there.device().same_device(&second));
    assert_eq!(there.to_vec1::<f32>()?, numbers(1000, &Device::Cpu)?.to_vec1::<f32>()?);
    let back = there.to_device(&first)?;
    assert_eq!(back.to_vec1::<f32>()?, there.to_vec1::<f32>()?);
    Ok(())
}

#[test]
fn a_transfer_to_the_same_device_is_a_copy() -> Result<()> {
    let tensor = numbers(4, &device()?)?;
    let copy = tensor.to_device(&device()?)?;
    tensor.zero_set()?;
    assert_eq!((tensor.to_vec1::<f32>()?, copy.to_vec1::<f32>()?), (vec![0.0; 4], vec![0., 1., 2., 3.]));
    Ok(())
}

#[test]
fn a_device_with_its_own_stream_works_with_the_others() -> Result<()> {
    let (first, own) = (device()?, Device::new_cuda_with_stream(0)?);
    let mut sum = numbers(256, &own)?;
    for _ in 0..20 {
        sum = (sum + numbers(256, &first)?)?;
    }
    own.synchronize()?;
    let expected: Vec<f32> = (0..256).map(|i| 21.0 * i as f32).collect();
    assert_eq!(sum.to_vec1::<f32>()?, expected);
    Ok(())
}

#[test]
fn each_device_has_its_own_random_numbers() -> Result<()> {
    let (first, second) = (device()?, device()?);
    let draw = |device: &Device| -> Result<Vec<f32>> { Ok(Tensor::randn(0f32, 1.0, 100, device)?.to_vec1()?) };
    first.set_seed(7)?;
    second.set_seed(7)?;
    assert_eq!(first.get_current_seed()?, 7);
    let (a, b) = (draw(&first)?, draw(&second)?);
    assert_eq!(a, b);
    assert_ne!(draw(&first)?, a);
    let halves = Tensor::rand(0f32, 1.0, 100, &first)?.to_dtype(DType::F16)?.to_dtype(DType::F32)?.to_vec1::<f32>()?;
    assert!(halves.iter().all(|v| (0.0..=1.0).contains(v)) && halves.iter().any(|v| *v > 0.5));
    Ok(())
}

#[test]
fn every_dtype_goes_there_and_back() -> Result<()> {
    let device = device()?;
    let numbers = Tensor::new(&[0f32, 1., 2., 3., 96.], &Device::Cpu)?;
    for dtype in [
        DType::U8,
        DType::U32,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::BF16,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::F8E4M3,
    ] {
        let there = numbers.to_device(&device)?.to_dtype(dtype)?;
        assert_eq!(there.dtype(), dtype);
        let back = there.to_device(&Device::Cpu)?;
        assert_eq!(back.dtype(), dtype);
        assert_eq!(back.to_dtype(DType::F32)?.to_vec1::<f32>()?, [0., 1., 2., 3., 96.], "{dtype:?}");
        let up = back.to_device(&device)?.to_dtype(DType::F32)?;
        assert_eq!(up.to_vec1::<f32>()?, [0., 1., 2., 3., 96.], "{dtype:?}");
    }
    Ok(())
}

#[test]
fn batches_of_different_shape_are_paired() -> Result<()> {
    let product = |device: &Device| -> Result<Vec<f32>> {
        let lhs = numbers(2 * 3 * 2 * 4, device)?.reshape((2, 3, 2, 4))?;
        let rhs = numbers(3 * 2 * 4 * 5, device)?.reshape((3, 2, 4, 5))?;
        Ok(lhs.matmul(&rhs)?.flatten_all()?.to_vec1()?)
    };
    assert_eq!(product(&device()?)?, product(&Device::Cpu)?);
    Ok(())
}

#[test]
fn the_greatest_id_is_padding() -> Result<()> {
    let device = device()?;
    let table = numbers(6, &device)?.reshape((3, 2))?;
    let ids = Tensor::new(&[2u8, u8::MAX, 0], &device)?;
    assert_eq!(table.index_select(&ids, 0)?.to_vec2::<f32>()?, [[4., 5.], [0., 0.], [0., 1.]]);
    let ids = Tensor::new(&[[0u8, u8::MAX], [1, 0], [1, 1]], &device)?;
    assert_eq!(table.gather(&ids, 1)?.to_vec2::<f32>()?, [[0., 0.], [3., 2.], [5., 5.]]);
    Ok(())
}

#[test]
fn integers_are_averaged() -> Result<()> {
    let image = Tensor::new(&[[[[200u8, 255], [1, 2]]]], &device()?)?;
    assert_eq!(image.avg_pool2d(2)?.flatten_all()?.to_vec1::<u8>()?, [114]);
    Ok(())
}

#[test]
fn any_operation_of_isobit_runs_on_tensors() -> Result<()> {
    let tensor = numbers(6, &device()?)?.reshape((2, 3))?;
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cuda(storage) = &*storage else { unreachable!("the tensor is on the device") };
    let (sums, shape) = CudaStorage::apply(&Op::Scan(Scan::cumsum(1)), &[(storage, layout)])?;
    let sums = Tensor::from_storage(Storage::Cuda(sums), shape, candle_core::op::BackpropOp::none(), false);
    assert_eq!(sums.to_vec2::<f32>()?, [[0., 1., 3.], [3., 7., 12.]]);
    Ok(())
}

#[test]
fn storages_of_isobit_become_tensors_and_back() -> Result<()> {
    use isobit::BackendDevice as _;
    let device = device()?;
    let candle = device.as_cuda_device()?;
    let made = candle.isobit().storage_from_slice(&[1.5f32, 2.5])?;
    let storage = CudaStorage::from_isobit(made, candle)?;
    assert_eq!(storage.isobit().to_vec::<f32>()?, [1.5, 2.5]);
    let none = candle_core::op::BackpropOp::none();
    let tensor = Tensor::from_storage(Storage::Cuda(storage), Shape::from(2), none, false);
    assert_eq!((tensor + 1.0)?.to_vec1::<f32>()?, [2.5, 3.5]);
    Ok(())
}
