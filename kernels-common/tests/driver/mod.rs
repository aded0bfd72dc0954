//! Tests that hold on any card. Each driver includes this file and defines its device type.
//! Numerical results are tested by the conformance suite. Without a GPU, each test reports that it
//! was skipped.

mod attention;
mod block_convolution;
mod block_rows;
mod byte_division;
mod collectives;
mod convolution_unit;
mod custom;
mod graph;
mod handles;
mod matrix_unit;
mod memory;
mod packed_matrix;
mod preload;
mod programs;
mod quantized_blocks;
mod runtime;
mod streams;
mod unit_self_test;
mod vendor_attention;

use super::{Device, Storage};
use isobit_hal::{
    BackendDevice, BackendStorage, BinaryOp, CpuStorage, DType, Error, ErrorKind, Indexing, Layout, Matmul, Numerics,
    Op, Reduce, ReduceOp, Result, Scalar, Src, UnaryOp,
};
use isobit_kernels::{EventRuntime, KERNELS, POOL_VARIABLE};

pub fn device() -> Option<Device> {
    match super::device_count() {
        Ok(n) if n > 0 => Some(Device::new(0).expect("a device that is counted opens")),
        found => {
            eprintln!("skipped: this test needs a GPU ({found:?})");
            None
        }
    }
}

/// Whether the pool is in exact mode, in which it caches nothing and tests of its cache do not
/// apply.
fn pool_is_exact() -> bool {
    std::env::var_os(POOL_VARIABLE).is_some_and(|setting| !setting.is_empty())
}

fn ramp(device: &Device, n: usize) -> Storage {
    device.storage_from_slice(&(0..n).map(|i| i as f32).collect::<Vec<_>>()).unwrap()
}

/// The bits of results; all NaNs are one.
fn bits<S: BackendStorage>(storage: &S) -> Vec<u32> {
    let wide = storage.to_dtype(&Layout::contiguous(storage.len()), DType::F32).unwrap();
    let one = |x: f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
    wide.to_vec::<f32>().unwrap().into_iter().map(one).collect()
}

/// Compares the bits of results; `what` names them.
#[track_caller]
fn assert_same_bits(got: &[u32], want: &[u32], what: impl std::fmt::Display) {
    assert_eq!(got.len(), want.len(), "{what}");
    let first = (0..want.len()).find(|&i| want[i] != got[i]);
    let floats = first.map(|i| [got[i], want[i]].map(f32::from_bits));
    assert!(first.is_none(), "{what}: result {first:?}, as computed and expected: {floats:?}");
}

/// Compares an operation with the CPU's, and returns its results.
#[track_caller]
fn check(device: &Device, op: &Op, operands: &[(&CpuStorage, &Layout)]) -> Vec<f32> {
    let want = bits(&CpuStorage::apply(op, operands).unwrap());
    let there: Vec<_> = operands.iter().map(|(s, _)| device.storage_from_cpu_storage(s).unwrap()).collect();
    let operands: Vec<_> = there.iter().zip(operands).map(|(s, (_, l))| (s, *l)).collect();
    let got = bits(&Storage::apply(op, &operands).unwrap());
    assert_same_bits(&got, &want, op);
    want.into_iter().map(f32::from_bits).collect()
}

/// Checks that the device still computes.
pub fn works(device: &Device) {
    let (l, a) = (Layout::contiguous(1000), ramp(device, 1000));
    let sum = a.binary(&l, &a, &l, BinaryOp::Add).unwrap().to_vec::<f32>().unwrap();
    assert!(sum.iter().enumerate().all(|(i, &x)| x == 2.0 * i as f32));
}

#[track_caller]
pub fn fails<T: std::fmt::Debug>(result: Result<T>, kind: ErrorKind) -> Error {
    let error = result.expect_err("this call is wrong");
    assert_eq!(error.kind(), kind, "{error}");
    error
}

#[test]
fn every_symbol_of_every_module_loads() {
    let Some(device) = device() else { return };
    for entry in KERNELS {
        let (_, symbol) = device.function(entry.key).unwrap();
        assert_eq!(symbol, entry.symbol);
    }
    eprintln!("{} kernels loaded", KERNELS.len());
}

#[test]
fn bad_input_is_an_error_of_its_kind_and_the_device_works_afterwards() {
    let Some(device) = device() else { return };
    let a = ramp(&device, 12);
    let l = Layout::contiguous([3, 4]);
    fails(a.unary(&Layout::contiguous(13), UnaryOp::Exp), ErrorKind::InvalidArgument);
    fails(a.unary(&Layout::contiguous_with_offset(4, 9), UnaryOp::Exp), ErrorKind::InvalidArgument);
    fails(a.binary(&l, &a, &Layout::contiguous([4, 3]), BinaryOp::Add), ErrorKind::ShapeMismatch);
    fails(a.matmul(&l, &a, &l, Matmul::default()), ErrorKind::ShapeMismatch);
    fails(a.reduce(&l, &Reduce::new(ReduceOp::Sum, &[2])), ErrorKind::InvalidArgument);
    let ints = device.storage_from_slice(&[1i32, 2, 3]).unwrap();
    fails(ints.unary(&Layout::contiguous(3), UnaryOp::Exp), ErrorKind::UnsupportedDtype);
    let mut dst = ramp(&device, 12);
    let overlapping = Layout::new([3, 4], isobit_hal::Dims::from_slice(&[0, 1]), 0).unwrap();
    fails(Storage::unary_into(UnaryOp::Exp, Src::Storage(&a, &l), &mut dst, &overlapping), ErrorKind::InvalidArgument);
    fails(dst.const_set(Scalar::F64(1.0), &l), ErrorKind::UnsupportedDtype);
    works(&device);
}

#[test]
fn two_devices_on_one_ordinal_are_told_apart() {
    let Some(first) = device() else { return };
    let second = Device::new(0).unwrap();
    assert!(!first.same_device(&second) && first.location() == second.location());
    let (a, b, l) = (ramp(&first, 8), ramp(&second, 8), Layout::contiguous(8));
    fails(a.binary(&l, &b, &l, BinaryOp::Add), ErrorKind::DeviceMismatch);
    works(&first);
    works(&second);
}

#[test]
fn an_absent_ordinal_is_named() {
    let Some(device) = device() else { return };
    let error = fails(Device::new(4096), ErrorKind::InvalidArgument);
    assert!(error.message().contains(&format!("{}:4096", device.location().driver)), "{error}");
}

#[test]
fn more_than_the_card_has_is_out_of_memory() {
    let Some(device) = device() else { return };
    let cached = ramp(&device, 1 << 20);
    drop(cached);
    assert!(device.pool_stats().cached > 0 || pool_is_exact());
    let error = fails(device.zeros(&(1usize << 46).into(), DType::U8), ErrorKind::OutOfMemory);
    assert!(error.message().contains("of the device are free"), "{error}");
    assert_eq!(device.pool_stats().cached, 0, "the cache was released before giving up");
    fails(device.zeros(&usize::MAX.into(), DType::F64), ErrorKind::OutOfMemory);
    works(&device);
}

#[test]
fn freed_memory_is_reused() {
    let Some(device) = device() else { return };
    if pool_is_exact() {
        eprintln!("skipped: the pool keeps nothing in exact mode");
        return;
    }
    for _ in 0..10 {
        drop(ramp(&device, 5000));
    }
    let stats = device.pool_stats();
    assert_eq!((stats.misses, stats.in_use), (1, 0), "{stats:?}");
    device.trim(0);
    assert_eq!(device.pool_stats().cached, 0);
}

#[test]
fn threads_share_a_device() {
    let Some(device) = device() else { return };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..50).for_each(|_| works(&device)));
        }
    });
    assert_eq!(device.pool_stats().in_use, 0);
}

#[test]
fn empty_and_rank_0_tensors_work() {
    let Some(device) = device() else { return };
    let empty = device.zeros(&[3, 0].into(), DType::F32).unwrap();
    let l = Layout::contiguous([3, 0]);
    assert_eq!(empty.unary(&l, UnaryOp::Exp).unwrap().to_vec::<f32>().unwrap(), Vec::<f32>::new());
    let sum = empty.reduce(&l, &Reduce::new(ReduceOp::Sum, &[1])).unwrap();
    assert_eq!(sum.to_vec::<f32>().unwrap(), vec![0.0; 3]);
    fails(empty.reduce(&l, &Reduce::new(ReduceOp::Max, &[1])), ErrorKind::InvalidArgument);
    let none = Layout::contiguous(());
    let scalar = device.storage_from_slice(&[2.25f32]).unwrap();
    assert_eq!(scalar.unary(&none, UnaryOp::Sqrt).unwrap().to_vec::<f32>().unwrap(), vec![1.5]);
    assert_eq!(scalar.reduce(&none, &Reduce::new(ReduceOp::ArgMax, &[])).unwrap().to_vec::<u32>().unwrap(), vec![0]);
}

#[test]
fn the_vendor_multiplies_what_it_can_and_the_tree_the_rest() {
    let Some(device) = device() else { return };
    // Small integers are exact in any order, so both must give the same.
    let small = |n: usize| (0..n).map(|i| (i % 7) as f32 - 3.0).collect::<Vec<_>>();
    let a = device.storage_from_slice(&small(2 * 40 * 30)).unwrap();
    let contiguous = Layout::contiguous([2, 40, 30]);
    let stepped = Layout::contiguous([2, 40, 60]).step(2, 2).unwrap().narrow(1, 0, 20).unwrap();
    for (lhs, rhs) in [
        (contiguous.clone(), contiguous.transpose(1, 2).unwrap()),
        (contiguous.transpose(1, 2).unwrap(), contiguous.clone()),
        (Layout::contiguous([1, 40, 30]).broadcast_as([2, 40, 30]).unwrap(), contiguous.transpose(1, 2).unwrap()),
        (stepped.narrow(0, 0, 1).unwrap(), contiguous.narrow(0, 0, 1).unwrap().narrow(1, 0, 30).unwrap()),
    ] {
        let [vendor, portable] = [Numerics::Vendor, Numerics::Portable].map(|numerics| {
            let product = a.matmul(&lhs, &a, &rhs, Matmul::with_numerics(numerics)).unwrap();
            product.to_vec::<f32>().unwrap()
        });
        assert_eq!(vendor, portable, "{lhs} x {rhs}");
    }
    let info = device.info().unwrap();
    eprintln!("{info:?}");
    // `again` sets it for a simulated card.
    assert_eq!(info.simulated, std::env::var_os("ISOBIT_SIM_DEFER").is_some());
}

#[test]
fn events_measure_time() {
    let Some(device) = device() else { return };
    let (runtime, stream) = (device.runtime(), &device.stream());
    let (from, to) = (runtime.new_event().unwrap(), runtime.new_event().unwrap());
    runtime.record(&from, stream).unwrap();
    works(&device);
    runtime.record(&to, stream).unwrap();
    let ms = runtime.elapsed_ms(&from, &to).unwrap();
    assert!(ms > 0.0 && ms < 60_000.0, "{ms} ms");
}

/// Enqueues a gather of three elements with the given indices.
fn gather(src: &Storage, ids: &[i64]) -> Storage {
    let ids = src.device().storage_from_slice(ids).unwrap();
    src.gather(&Layout::contiguous(src.len()), &ids, &Layout::contiguous(ids.len()), 0).unwrap()
}

#[test]
fn ids_out_of_range_are_reported_once_each_in_order_and_the_rest_is_done() {
    let Some(device) = device() else { return };
    let a = ramp(&device, 4);
    let l = Layout::contiguous(4);
    let good = gather(&a, &[3, i64::MAX, 0]);
    device.synchronize().unwrap();
    let bad = gather(&a, &[1, 4, -1]);
    let mut sums = ramp(&device, 4);
    let ids = device.storage_from_slice(&[0u8, 200, 3]).unwrap();
    sums.scatter_add_set(&l, &ids, &Layout::contiguous(3), &gather(&a, &[1, 2, 3]), &Layout::contiguous(3), 0).unwrap();
    // Both errors are reported, the first one first, by whichever calls synchronise.
    let error = fails(good.to_cpu_storage(), ErrorKind::IndexOutOfRange);
    assert_eq!(error.op(), Some(Op::Gather(Indexing::new(0)).name()), "{error}");
    assert!(
        error.message().contains("the id 4 at [1] of the ids lies outside dimension 0, which has size 4"),
        "{error}"
    );
    let error = fails(device.synchronize(), ErrorKind::IndexOutOfRange);
    assert_eq!(error.op(), Some(Op::ScatterAdd(Indexing::new(0)).name()), "{error}");
    assert!(error.message().contains("the id 200 at [1] of the ids"), "{error}");
    device.synchronize().unwrap();
    assert_eq!(good.to_vec::<f32>().unwrap(), [3.0, 0.0, 0.0]);
    assert_eq!(bad.to_vec::<f32>().unwrap(), [1.0, 0.0, 0.0]);
    assert_eq!(sums.to_vec::<f32>().unwrap(), [1.0, 1.0, 2.0, 6.0]);
    works(&device);
}

#[test]
fn no_fault_is_lost_among_more_operations_than_there_are_flags() {
    let Some(device) = device() else { return };
    let a = ramp(&device, 2);
    let wrong = [0, 700, 1023, 1024, 2050];
    for i in 0..2100 {
        gather(&a, &[i64::from(wrong.contains(&i)) * 2]);
    }
    for _ in wrong {
        fails(device.synchronize(), ErrorKind::IndexOutOfRange);
    }
    device.synchronize().unwrap();
    works(&device);
}
