//! Memory sets.

use crate::Code;
use crate::copy::NULL;
use crate::error::{Result, call};
use crate::memory::Address;
use crate::process::process;
use isobit_simgpu_runtime_common::handles::Handle;
use isobit_simgpu_runtime_common::set::Set;
use std::ffi::{c_uchar, c_uint, c_ushort};

/// Enqueues a set; waits for it if no stream is given.
fn enqueue(set: Set, stream: Option<Handle>) -> Result {
    let process = process()?;
    let waits = stream.is_none();
    let stream = process.stream(stream.unwrap_or(NULL))?;
    set.check::<Code>(&process.machine)?;
    // A synchronous set is also executed during a capture if the capture does not involve the
    // legacy default stream.
    let done = set.enqueue(&process.machine, stream.id, waits);
    if waits { stream.context.settle(done) } else { done }
}

fn elements(to: Address, value: u32, size: usize, count: usize, stream: Option<Handle>) -> Result {
    enqueue(Set::of_elements(to, value, size, count)?, stream)
}

fn rows(
    to: Address,
    pitch: usize,
    value: u32,
    size: usize,
    width: usize,
    rows: usize,
    stream: Option<Handle>,
) -> Result {
    enqueue(Set::of_rows(to, pitch, value, size, width, rows)?, stream)
}

macro_rules! sets {
    ($($bits:literal $value:ty: $set:ident $set_async:ident $rows:ident $rows_async:ident;)*) => {$(
        #[doc = concat!("Sets elements of ", $bits, " bits.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $set(to: Address, value: $value, count: usize) -> Code {
            call(stringify!($set), || elements(to, value.into(), size_of::<$value>(), count, None))
        }

        #[doc = concat!("Sets elements of ", $bits, " bits in stream order.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $set_async(to: Address, value: $value, count: usize, stream: Handle) -> Code {
            call(stringify!($set_async), || elements(to, value.into(), size_of::<$value>(), count, Some(stream)))
        }

        #[doc = concat!("Sets rows of elements of ", $bits, " bits, `pitch` bytes apart.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $rows(
            to: Address,
            pitch: usize,
            value: $value,
            width: usize,
            height: usize,
        ) -> Code {
            call(stringify!($rows), || rows(to, pitch, value.into(), size_of::<$value>(), width, height, None))
        }

        #[doc = concat!("Sets rows of elements of ", $bits, " bits, `pitch` bytes apart, in stream order.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $rows_async(
            to: Address,
            pitch: usize,
            value: $value,
            width: usize,
            height: usize,
            stream: Handle,
        ) -> Code {
            call(stringify!($rows_async), || {
                rows(to, pitch, value.into(), size_of::<$value>(), width, height, Some(stream))
            })
        }
    )*};
}

sets! {
    "8" c_uchar: cuMemsetD8_v2 cuMemsetD8Async cuMemsetD2D8_v2 cuMemsetD2D8Async;
    "16" c_ushort: cuMemsetD16_v2 cuMemsetD16Async cuMemsetD2D16_v2 cuMemsetD2D16Async;
    "32" c_uint: cuMemsetD32_v2 cuMemsetD32Async cuMemsetD2D32_v2 cuMemsetD2D32Async;
}
