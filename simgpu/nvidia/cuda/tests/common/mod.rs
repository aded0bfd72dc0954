//! Shared code of the API tests.

#![allow(dead_code, unused_imports, reason = "each test program uses a part of it")]

#[path = "../../../../runtime-common/testing/mod.rs"]
mod testing;

pub use isobit_simgpu_cuda::Code;
pub use isobit_simgpu_cuda::report::isobit_sim_report;
pub use testing::{child, configure, get, host, kinds, ok, report};

use isobit_simgpu_cuda::context::cuCtxSetCurrent;
use isobit_simgpu_cuda::copy::{cuMemcpyDtoH_v2, cuMemcpyHtoD_v2};
use isobit_simgpu_cuda::memory::{cuMemAlloc_v2, cuMemFree_v2};
use isobit_simgpu_cuda::module::{cuModuleGetFunction, cuModuleLoadData};
use isobit_simgpu_cuda::primary::{cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRetain};
use isobit_simgpu_cuda::version::cuInit;
use parking_lot::MutexGuard;
use std::ffi::{CStr, CString, c_void};

/// A C handle of a stream, a context and so on.
pub type Handle = *mut c_void;

/// A null handle, for example the default stream.
pub const NULL: Handle = std::ptr::null_mut();

/// Makes the primary context of a card current for the thread.
#[track_caller]
pub fn context(device: i32) -> Handle {
    ok(cuInit(0));
    // SAFETY: the pointer is the helper's.
    let context = get(|to| unsafe { cuDevicePrimaryCtxRetain(to, device) });
    ok(cuCtxSetCurrent(context));
    context
}

/// Starts a test that runs alone, with the primary context of the first card.
pub fn alone() -> (MutexGuard<'static, ()>, Primary) {
    ok(cuInit(0));
    (testing::alone(), Primary(context(0)))
}

/// A primary context, released when dropped.
pub struct Primary(pub Handle);

impl Drop for Primary {
    fn drop(&mut self) {
        cuCtxSetCurrent(NULL);
        cuDevicePrimaryCtxRelease_v2(0);
    }
}

/// Device memory, freed when dropped.
pub struct Buffer(pub u64);

impl Buffer {
    #[track_caller]
    pub fn new(bytes: usize) -> Self {
        // SAFETY: the pointer is the helper's.
        Self(get(|to| unsafe { cuMemAlloc_v2(to, bytes) }))
    }

    /// Creates a buffer with these bytes.
    #[track_caller]
    pub fn of(bytes: &[u8]) -> Self {
        let buffer = Self::new(bytes.len());
        // SAFETY: the slice is valid, and the simulator checks the device's side.
        ok(unsafe { cuMemcpyHtoD_v2(buffer.0, bytes.as_ptr().cast(), bytes.len()) });
        buffer
    }

    /// Returns the address of a byte.
    pub fn at(&self, byte: u64) -> u64 {
        self.0 + byte
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        cuMemFree_v2(self.0);
    }
}

/// Downloads bytes of device memory.
#[track_caller]
pub fn download(from: u64, bytes: usize) -> Vec<u8> {
    let mut to = vec![0; bytes];
    // SAFETY: there is room for the bytes.
    ok(unsafe { cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), from, bytes) });
    to
}

/// Downloads numbers of device memory.
#[track_caller]
pub fn numbers(from: u64, count: usize) -> Vec<u32> {
    let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    download(from, 4 * count).chunks_exact(4).map(word).collect()
}

/// Loads PTX.
#[track_caller]
pub fn load(ptx: &str) -> Handle {
    let ptx = CString::new(ptx).expect("a text without NUL");
    // SAFETY: the text ends in NUL, and the pointer is the helper's.
    get(|to| unsafe { cuModuleLoadData(to, ptx.as_ptr().cast()) })
}

/// Finds a kernel.
#[track_caller]
pub fn kernel(module: Handle, name: &CStr) -> Handle {
    // SAFETY: the name ends in NUL.
    get(|to| unsafe { cuModuleGetFunction(to, module, name.as_ptr()) })
}

/// Returns a pointer to a value.
pub fn pointer<T>(value: &mut T) -> *mut c_void {
    (value as *mut T).cast()
}

/// The kernels that the tests launch, for any card: `linear` writes `step * i + bias`; `add_one`
/// adds to the existing values; `reverse` reverses a block in dynamic shared memory; `limited` and
/// `required` restrict the block size and write the variable `counter`; `shared` uses 40000 bytes.
pub const SOURCE: &str = r#"
.version 7.0
.target sm_75
.address_size 64

.global .align 4 .u32 counter = 7;
.const .align 4 .u32 table[4] = {1, 2, 3, 4};
.extern .shared .align 4 .b8 dynamic[];

.visible .entry linear(.param .u64 out, .param .u32 n, .param .u8 step, .param .u64 bias)
{
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    ld.param.u8 %r2, [step];
    ld.param.u64 %rd2, [bias];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p1, %r6, %r1;
    @%p1 bra $end;
    cvt.u32.u64 %r7, %rd2;
    mad.lo.s32 %r8, %r6, %r2, %r7;
    mul.wide.u32 %rd3, %r6, 4;
    add.s64 %rd4, %rd1, %rd3;
    st.global.u32 [%rd4], %r8;
$end:
    ret;
}

.visible .entry add_one(.param .u64 data, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra $end;
    mul.wide.u32 %rd2, %r5, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r6, [%rd3];
    add.s32 %r7, %r6, 1;
    st.global.u32 [%rd3], %r7;
$end:
    ret;
}

.visible .entry reverse(.param .u64 data)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ntid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r3, [%rd3];
    shl.b32 %r4, %r1, 2;
    mov.u32 %r5, dynamic;
    add.s32 %r4, %r4, %r5;
    st.shared.u32 [%r4], %r3;
    bar.sync 0;
    sub.s32 %r6, %r2, %r1;
    sub.s32 %r6, %r6, 1;
    shl.b32 %r7, %r6, 2;
    add.s32 %r7, %r7, %r5;
    ld.shared.u32 %r8, [%r7];
    st.global.u32 [%rd3], %r8;
    ret;
}

.visible .entry limited(.param .u64 out)
.maxntid 64, 1, 1
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [counter];
    st.global.u32 [%rd3], %r2;
    ret;
}

.visible .entry required()
.reqntid 32, 2, 1
{
    ret;
}

.visible .entry shared()
{
    .shared .align 4 .b8 own[40000];
    .reg .b32 %r<3>;
    mov.u32 %r1, %tid.x;
    shl.b32 %r1, %r1, 2;
    mov.u32 %r2, own;
    add.s32 %r1, %r1, %r2;
    st.shared.u32 [%r1], %r2;
    ret;
}

.visible .entry nothing()
{
    ret;
}
"#;
