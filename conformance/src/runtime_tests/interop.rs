//! Memory by its address: the address of a storage, and storages over memory that another library
//! allocated.

use super::case::{Case, Checked, ensure, fails};
use super::mirror::numbers;
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, CpuDevice, DType, ErrorKind, Layout};

/// Part of a storage, given by its address as another library would do, can be read and written as
/// a separate storage.
pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let dtype = case.draw.one_of(&[DType::F32, DType::I32, DType::F16, DType::U8]);
    let len = case.between(8, 600);
    let host = numbers(case, dtype, len)?;
    let owner = case.device.storage_from_cpu_storage(&host)?;
    let size = dtype.size_in_bytes() as u64;
    let ptr = match owner.device_ptr() {
        Ok(ptr) => ptr,
        Err(e) => {
            ensure!(e.kind() == ErrorKind::UnsupportedOp, "the address of a storage: {e}");
            // SAFETY: a device without addresses must refuse any address, so nothing is accessed.
            fails(unsafe { case.device.storage_from_raw(64, 1, dtype) }, ErrorKind::UnsupportedOp, &["storages"])?;
            return Ok(());
        }
    };
    // SAFETY: an element of `owner`, which lives longer; nothing is done with it.
    let first = unsafe { case.device.storage_from_raw(ptr, 1, dtype) };
    if first.as_ref().is_err_and(|e| e.kind() == ErrorKind::UnsupportedOp) {
        // The storages have addresses, but each must own its memory.
        fails(first, ErrorKind::UnsupportedOp, &["storages"])?;
        return Ok(());
    }
    drop(first?);
    let beside = case.device.storage_from_cpu_storage(&host)?.device_ptr()?;
    ensure!(ptr != 0 && ptr % size == 0, "bad address {ptr:#x} of a storage of {dtype}");
    ensure!(beside != ptr, "two live storages have one address");
    let from = case.between(0, 7);
    let count = case.between(1, len - from);
    case.say(format_args!("elements {from}..{} of {len} {dtype} by their address", from + count));
    let at = ptr + from as u64 * size;
    // SAFETY: these elements belong to `owner`, which lives longer and is not used by anything else
    // meanwhile.
    let mut part = unsafe { case.device.storage_from_raw(at, count, dtype)? };
    ensure!(
        (part.len(), part.dtype(), part.device_ptr()?) == (count, dtype, at),
        "a storage over an address has another length, dtype or address"
    );
    let layout = Layout::contiguous([count]);
    let doubled = part.binary(&layout, &part, &layout, BinaryOp::Add)?;
    doubled.copy_strided_src(&mut part, 0, &layout)?;
    drop(part);
    let mut expected = CpuDevice.storage_from_cpu_storage(&host)?;
    let placed = Layout::contiguous_with_offset([count], from);
    host.binary(&placed, &host, &placed, BinaryOp::Add)?.copy_strided_src(&mut expected, from, &layout)?;
    case.device.synchronize()?;
    super::step::equal("the owner of foreign memory", dtype, expected.as_bytes(), owner.to_cpu_storage()?.as_bytes())?;
    if size > 1 {
        // SAFETY: the call must refuse the address for its alignment, so no storage is made over
        // it.
        let odd = unsafe { case.device.storage_from_raw(ptr + 1, 1, dtype) };
        fails(odd, ErrorKind::InvalidArgument, &[&size.to_string()])?;
    }
    Ok(())
}
