//! `device.memory`: bytes and slices of a storage that are read and written in place, and steps
//! that allocate nothing.

use super::case::{Case, Checked, ensure, fails};
use super::interop;
use super::mirror::{Mirror, numbers};
use super::program::{self, Steps};
use super::step::{equal, perform};
use isobit_hal::{BackendDevice, BackendStorage, DType, ErrorKind, WithDType, dispatch_dtype};

const DTYPES: [DType; 14] = [
    DType::U8,
    DType::I8,
    DType::U32,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::F8E4M3,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::U16,
    DType::U64,
    DType::F8E5M2,
];
/// Lengths around the granularity of copies, including zero.
const LENGTHS: [usize; 8] = [0, 1, 7, 16, 127, 1000, 4096, 10_001];

pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    bytes(case)?;
    let dtype = case.draw.one_of(&DTYPES);
    dispatch_dtype!(dtype, T => slices::<D, T>(case))?;
    without_allocating(case)?;
    interop::run(case)
}

/// Ranges are written and read, each on its own stream; the written host data may change at once.
fn bytes<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let (dtype, len) = (case.draw.one_of(&DTYPES), case.draw.one_of(&LENGTHS));
    let size = dtype.size_in_bytes();
    let streams = case.streams(1, 3)?;
    let mut expected = numbers(case, dtype, len)?.as_bytes().to_vec();
    let mut storage = case.device.storage_from_bytes(dtype, &expected)?;
    ensure!(
        (storage.len(), storage.dtype(), storage.is_empty()) == (len, dtype, len == 0),
        "a storage of {len} {dtype} has another length or dtype"
    );
    for _ in 0..case.between(2, 5) {
        let from = case.between(0, len);
        let count = case.between(0, len - from);
        let range = from * size..(from + count) * size;
        let on = case.between(0, streams.len() - 1);
        if case.draw.chance(60) {
            let seed = case.between(1, 250);
            case.say(format_args!("on stream {on}: bytes {range:?} of {len} {dtype} are written"));
            let mut data: Vec<u8> = (0..range.len()).map(|i| ((i * seed) % 251) as u8).collect();
            expected[range.clone()].copy_from_slice(&data);
            case.device.with_stream(&streams[on], || storage.write_bytes(range.start, &data))?;
            data.fill(0xEE);
        } else {
            case.say(format_args!("on stream {on}: bytes {range:?} of {len} {dtype} are read"));
            let mut data = vec![0xEE; range.len()];
            case.device.with_stream(&streams[on], || storage.read_bytes(range.start, &mut data))?;
            ensure!(data == expected[range.clone()], "bytes {range:?} differ from the written ones");
        }
    }
    let all = storage.to_cpu_storage()?;
    ensure!(all.as_bytes() == expected, "the bytes of a storage differ from the written ones");
    let mut byte = [0];
    let beyond = storage.read_bytes(len * size, &mut byte);
    fails(beyond, ErrorKind::InvalidArgument, &["1 bytes", &(len * size).to_string()])?;
    fails(storage.write_bytes(usize::MAX, &byte), ErrorKind::InvalidArgument, &[])?;
    if size > 1 && len > 0 {
        fails(storage.write_bytes(0, &byte), ErrorKind::InvalidArgument, &["whole elements"])?;
    }
    Ok(())
}

/// Elements are written and read through slices of their type.
fn slices<D: BackendDevice, T: WithDType>(case: &mut Case<'_, D>) -> Checked {
    let len = case.between(1, 300);
    let mut storage = case.device.zeros(&len.into(), T::DTYPE)?;
    let data = numbers(case, T::DTYPE, len)?.to_vec::<T>()?;
    let from = case.between(0, len);
    let count = case.between(0, len - from);
    case.say(format_args!("{count} of {len} elements of {} are written from {from}", T::DTYPE));
    storage.write_slice(from, &data[..count])?;
    let mut expected = vec![T::default(); len];
    expected[from..from + count].copy_from_slice(&data[..count]);
    let mut got = vec![T::default(); len];
    storage.read_slice(0, &mut got)?;
    let bytes = [&expected, &got].map(|v| bytemuck::cast_slice::<T, u8>(v));
    equal("the slice that was read", T::DTYPE, bytes[0], bytes[1])?;
    ensure!(bytemuck::cast_slice::<T, u8>(&storage.to_vec::<T>()?) == bytes[1], "to_vec and read_slice differ");
    let other = if T::DTYPE == DType::U8 {
        storage.read_slice::<f32>(0, &mut [])
    } else {
        storage.read_slice::<u8>(0, &mut [])
    };
    fails(other, ErrorKind::UnsupportedDtype, &[T::DTYPE.as_str()])?;
    fails(storage.write_slice(len, &data[..1]), ErrorKind::InvalidArgument, &[])?;
    Ok(())
}

/// A step of elementwise operations into existing buffers requests no memory, even with new inputs.
fn without_allocating<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let mut mirror = Mirror::draw(case)?;
    let steps: Vec<_> = (0..case.between(3, 6)).map(|_| program::draw(case, &mirror, Steps::BARE)).collect();
    // Everything that is created on first use is created now.
    steps.iter().try_for_each(|step| mirror.step(step))?;
    let before = case.device.pool_stats();
    case.say("from here on nothing is allocated");
    for step in &steps {
        case.say(step);
        perform(case.device, step, &mut mirror.buffers)?;
    }
    let after = case.device.pool_stats();
    ensure!(
        (after.hits, after.misses, after.in_use) == (before.hits, before.misses, before.in_use),
        "steps into existing buffers requested memory from the pool: {before:?} before, {after:?} after"
    );
    steps.iter().try_for_each(|step| mirror.expect(step))?;
    mirror.check()
}
