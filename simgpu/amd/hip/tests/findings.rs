//! What becomes of findings: by default an access outside every allocation loses its device as on a
//! card, until the device is reset. Each test runs in processes of its own, because the settings
//! belong to the process.

mod common;

use common::kernels::compile;
use common::{Buffer, child, get, kinds, ok};
use isobit_simgpu_core::finding::report::Report;
use isobit_simgpu_hip::Code;
use isobit_simgpu_hip::copy::hipMemcpy;
use isobit_simgpu_hip::copy_kinds::{DEVICE_TO_HOST, HOST_TO_DEVICE};
use isobit_simgpu_hip::device::*;
use isobit_simgpu_hip::event::*;
use isobit_simgpu_hip::function::hipFuncGetAttribute;
use isobit_simgpu_hip::launch::hipModuleLaunchKernel;
use isobit_simgpu_hip::limits::{hipDeviceGetLimit, hipDeviceSetLimit};
use isobit_simgpu_hip::memory::*;
use isobit_simgpu_hip::module::*;
use isobit_simgpu_hip::occupancy::hipModuleOccupancyMaxActiveBlocksPerMultiprocessor;
use isobit_simgpu_hip::peer::hipDeviceEnablePeerAccess;
use isobit_simgpu_hip::reset::hipDeviceReset;
use isobit_simgpu_hip::set::hipMemsetAsync;
use isobit_simgpu_hip::stream::*;
use isobit_simgpu_hip::symbol::hipGetSymbolAddress;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

/// `poke` stores a word, `poke_local` stores one outside the local memory, of which it has none,
/// and the blocks of `race` store different words at an address.
const SOURCE: &str = r#"
#define KERNEL extern "C" __attribute__((global))
KERNEL void poke(unsigned* at) { *at = 1; }
KERNEL void poke_local(unsigned* at) {
    *(volatile __attribute__((address_space(3))) unsigned*)(unsigned)(unsigned long long)at = 1;
}
KERNEL void race(unsigned* at) { *at = __builtin_amdgcn_workgroup_id_x(); }
"#;

/// `hipLimitStackSize`.
const STACK: i32 = 0;

struct Kernels(*mut c_void);

impl Kernels {
    fn new() -> Self {
        let code = compile(SOURCE, "gfx90a");
        // SAFETY: the image is complete.
        Self(get(|to| unsafe { hipModuleLoadData(to, code.as_ptr().cast()) }))
    }

    fn get(&self, name: &CStr) -> *mut c_void {
        // SAFETY: the name ends in NUL.
        get(|to| unsafe { hipModuleGetFunction(to, self.0, name.as_ptr()) })
    }

    fn launch(&self, name: &CStr, blocks: u32, mut argument: *mut c_void, stream: *mut c_void) -> Code {
        let mut params = [(&raw mut argument).cast::<c_void>()];
        // SAFETY: the arguments are the kernel's.
        unsafe {
            hipModuleLaunchKernel(self.get(name), blocks, 1, 1, 1, 1, 1, 0, stream, params.as_mut_ptr(), null_mut())
        }
    }
}

/// An address that no allocation is near.
fn wild(buffer: &Buffer) -> *mut c_void {
    buffer.at(64 << 20)
}

fn word(at: *mut c_void) -> (Code, u32) {
    let mut word = 0u32;
    // SAFETY: there is room for the word.
    (unsafe { hipMemcpy((&raw mut word).cast(), at, 4, DEVICE_TO_HOST) }, word)
}

#[test]
fn an_access_outside_every_allocation_loses_the_device() {
    if !child::inside("an_access_outside_every_allocation_loses_the_device") {
        let said = child::run("an_access_outside_every_allocation_loses_the_device", &[]).passes().error;
        assert!(said.contains("simulated GPU: the launch of poke failed: "), "the cause is told at once: {said}");
        return;
    }
    // SAFETY: pointers of the helper and to locals.
    unsafe {
        let (kernels, there) = (Kernels::new(), Buffer::new(400));
        let poke = kernels.get(c"poke");
        let [stream, second] = [(); 2].map(|()| get(|to| hipStreamCreateWithFlags(to, 1)));
        let event = get(|to| hipEventCreateWithFlags(to, 2));
        ok(hipDeviceSetLimit(STACK, 4096));
        // What a card does not report: a byte in the rounding of an allocation, group memory. An
        // address that is not aligned is no error at all.
        ok(kernels.launch(c"poke", 1, there.at(508), stream));
        ok(kernels.launch(c"race", 2, there.0, stream));
        ok(kernels.launch(c"poke_local", 1, 0x8000 as *mut c_void, stream));
        ok(kernels.launch(c"poke", 1, there.at(6), stream));
        ok(hipStreamSynchronize(stream));
        assert_eq!(kinds(), ["out_of_bounds", "race", "out_of_bounds"]);

        ok(kernels.launch(c"poke", 1, wild(&there), stream));
        // Later work of the stream is accepted, and not done.
        ok(hipMemsetAsync(there.0, 7, 4, stream));
        ok(kernels.launch(c"poke", 1, there.at(16), second));
        ok(hipEventRecord(event, stream));
        let again = [
            hipEventSynchronize(event),
            hipEventQuery(event),
            hipEventRecord(event, stream),
            hipStreamSynchronize(second),
            hipStreamQuery(stream),
            hipStreamCreate(&mut null_mut()),
            hipDeviceSynchronize(),
            hipMalloc(&mut null_mut(), 4),
            hipFree(there.0),
            hipMemGetInfo(&mut 0, &mut 0),
            hipMemsetAsync(there.0, 7, 4, stream),
            word(there.0).0,
            hipModuleLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, stream, null_mut(), null_mut()),
            hipModuleGetFunction(&mut null_mut(), kernels.0, c"poke".as_ptr()),
            hipFuncGetAttribute(&mut 0, 0, poke),
            hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&mut 0, poke, 64, 0),
            hipGetSymbolAddress(&mut null_mut(), null()),
            hipDeviceGetLimit(&mut 0, STACK),
            hipDeviceSetLimit(STACK, 8192),
            hipDeviceEnablePeerAccess(1, 0),
        ];
        assert_eq!(again, [Code::ILLEGAL_ADDRESS; 20]);
        assert_eq!(kinds(), ["out_of_bounds"], "one finding, and none for the launch that it failed");
        // Device addresses are host addresses.
        assert_eq!((there.0 as *const u8).read(), 1, "the last word of the race, not the set's");

        // The other card goes on; a reset recovers, and leaves nothing of before.
        ok(hipSetDevice(1));
        let elsewhere = Buffer::new(16);
        ok(hipMemcpy(elsewhere.0, std::ptr::from_ref(&5u32).cast(), 4, HOST_TO_DEVICE));
        ok(hipSetDevice(0));
        ok(hipDeviceReset());
        assert_eq!(hipStreamSynchronize(stream), Code::INVALID_HANDLE);
        assert_eq!(hipEventQuery(event), Code::INVALID_HANDLE);
        assert_eq!(hipFree(there.0), Code::INVALID_VALUE, "the reset freed it");
        std::mem::forget(there);
        assert_eq!(get(|to| hipDeviceGetLimit(to, STACK)), 16 << 10);
        let (kernels, fresh) = (Kernels::new(), Buffer::new(4));
        ok(kernels.launch(c"poke", 1, fresh.0, null_mut()));
        assert_eq!(word(fresh.0), (Code::SUCCESS, 1));
        assert_eq!(word(elsewhere.0), (Code::SUCCESS, 5), "the reset is of one card");

        // Freed memory is outside too.
        let freed = Buffer::new(256).0;
        ok(kernels.launch(c"poke", 1, freed, null_mut()));
        assert_eq!([hipDeviceSynchronize(), hipMalloc(&mut null_mut(), 4)], [Code::ILLEGAL_ADDRESS; 2]);
        std::mem::forget(fresh);
        ok(hipDeviceReset());
        ok(hipDeviceSynchronize());
    }
}

#[test]
fn recorded_accesses_are_no_errors() {
    if !child::inside("recorded_accesses_are_no_errors") {
        child::run("recorded_accesses_are_no_errors", &[("ISOBIT_SIM_FINDINGS", "record")]).passes();
        return;
    }
    let (kernels, there) = (Kernels::new(), Buffer::new(4));
    ok(kernels.launch(c"poke", 1, wild(&there), null_mut()));
    ok(hipDeviceSynchronize());
    assert_eq!(kinds(), ["out_of_bounds"]);
    ok(kernels.launch(c"poke", 1, there.0, null_mut()));
    assert_eq!(word(there.0), (Code::SUCCESS, 1));
}

/// A race, which the suppressions of the test cover, and a wild store.
fn two_findings() {
    let (kernels, there) = (Kernels::new(), Buffer::new(4));
    ok(kernels.launch(c"race", 2, there.0, null_mut()));
    ok(kernels.launch(c"poke", 1, wild(&there), null_mut()));
    eprintln!("status {}", hipDeviceSynchronize().0);
    std::mem::forget(there);
}

#[test]
fn findings_are_suppressed_written_and_abort() {
    if child::inside("findings_are_suppressed_written_and_abort") {
        return two_findings();
    }
    let folder = tempfile::tempdir().unwrap();
    let (known, path) = (folder.path().join("known.txt"), folder.path().join("rocm.json"));
    std::fs::write(&known, "race:race\n").unwrap();
    let named = folder.path().join("%v.json");
    let files = [("ISOBIT_SIM_SUPPRESSIONS", known.to_str().unwrap()), ("ISOBIT_SIM_REPORT", named.to_str().unwrap())];
    let report = || serde_json::from_slice::<Report>(&std::fs::read(&path).unwrap()).unwrap();
    let said = child::run("findings_are_suppressed_written_and_abort", &files).passes().error;
    assert!(said.contains("status 700"), "{said}");
    assert_eq!(report().counts.to_string(), "1 finding: 1 x out of bounds");
    assert_eq!((report().suppressions[0].line, report().suppressions[0].count), (1, 1));

    let abort = [&files[..], &[("ISOBIT_SIM_FINDINGS", "abort")]].concat();
    let said = child::run("findings_are_suppressed_written_and_abort", &abort).aborts().error;
    assert!(said.contains("simulated GPU: poke: out of bounds: ") && !said.contains("status"), "{said}");
    assert_eq!(report().findings.len(), 1);
}
