//! Modules and launches: both ways to pass arguments, limits with HIP's codes, bundles, registered
//! kernels, and kernels in graphs.

mod common;

use common::kernels::{SOURCE, bundle, compile};
use common::{Buffer, configure, get, kinds, ok, report};
use isobit_simgpu_hip::Code;
use isobit_simgpu_hip::copy::hipMemcpy;
use isobit_simgpu_hip::copy_kinds::{DEVICE_TO_HOST, HOST_TO_DEVICE};
use isobit_simgpu_hip::device::{hipDeviceSynchronize, hipSetDevice};
use isobit_simgpu_hip::fatbin::*;
use isobit_simgpu_hip::function::*;
use isobit_simgpu_hip::graph::*;
use isobit_simgpu_hip::graph_node::*;
use isobit_simgpu_hip::launch::{Dim3, hipModuleLaunchKernel};
use isobit_simgpu_hip::module::*;
use isobit_simgpu_hip::occupancy::*;
use isobit_simgpu_hip::stream::hipStreamSynchronize;
use isobit_simgpu_hip::symbol::*;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

const CARDS: [&str; 3] = ["gfx90a", "gfx942", "gfx1100"];

fn load(image: &[u8]) -> *mut c_void {
    // SAFETY: the image is complete, and the pointer comes from the helper.
    get(|to| unsafe { hipModuleLoadData(to, image.as_ptr().cast()) })
}

fn kernel(module: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: the name ends in NUL.
    get(|to| unsafe { hipModuleGetFunction(to, module, name.as_ptr()) })
}

/// Launches along x.
fn launch(kernel: *mut c_void, blocks: u32, threads: u32, params: &mut [*mut c_void]) -> Code {
    let params = if params.is_empty() { null_mut() } else { params.as_mut_ptr() };
    // SAFETY: the callers pass the kernel's arguments.
    unsafe { hipModuleLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, null_mut(), params, null_mut()) }
}

/// Returns a key of `extra`.
fn key(number: usize) -> *mut c_void {
    number as *mut c_void
}

fn pointer<T>(value: &mut T) -> *mut c_void {
    (value as *mut T).cast()
}

fn numbers(from: *mut c_void, count: usize) -> Vec<u32> {
    let mut to = vec![0u32; count];
    // SAFETY: `to` has room for the numbers.
    ok(unsafe { hipMemcpy(to.as_mut_ptr().cast(), from, 4 * count, DEVICE_TO_HOST) });
    to
}

#[test]
fn modules_are_loaded_and_kernels_launched_on_every_card() {
    configure(&[("ISOBIT_SIM_ROCM", "gfx90a,gfx942,gfx1100"), ("ISOBIT_SIM_MEMORY", "1073741824")]);
    let code = CARDS.map(|arch| compile(SOURCE, arch));
    let fat = bundle(&[(CARDS[0], &code[0]), (CARDS[1], &code[1]), (CARDS[2], &code[2])]);
    for (device, own) in (0..).zip(&code) {
        ok(hipSetDevice(device));
        for image in [own, &fat] {
            let module = load(image);
            launches(module);
            limits(module);
            variables(module);
            graphs(module);
            questions(module);
            ok(hipModuleUnload(module));
        }
        images(&code[(device as usize + 1) % 3]);
    }
    registered(&fat);
    planted(&code[0]);
}

/// Passes arguments of several sizes by `kernelParams` and by `extra`.
fn launches(module: *mut c_void) {
    let linear = kernel(module, c"linear");
    assert_eq!(kernel(module, c"linear"), linear, "one handle for a kernel");
    let (out, n) = (Buffer::new(4000), 1000u32);
    let (mut data, mut count, mut step, mut bias) = (out.0, n, 3u8, 0x1_0000_0005u64);
    let params = &mut [pointer(&mut data), pointer(&mut count), pointer(&mut step), pointer(&mut bias)];
    ok(launch(linear, 4, 256, params));
    assert_eq!(numbers(out.0, 1000), (0..1000).map(|i| i * 3 + 5).collect::<Vec<_>>());

    // The layout of the kernel's argument segment: 8 bytes, 4, 1, padding to a multiple of 8, 8.
    let mut packed = [0u8; 24];
    packed[..8].copy_from_slice(&(out.0 as u64).to_le_bytes());
    packed[8..12].copy_from_slice(&n.to_le_bytes());
    packed[12] = 2;
    packed[16..].copy_from_slice(&1u64.to_le_bytes());
    let mut size = packed.len();
    let mut extra = [key(1), packed.as_mut_ptr().cast(), key(2), pointer(&mut size), key(3)];
    // SAFETY: the arguments match the kernel's.
    let by_extra = |extra: &mut [*mut c_void], params| unsafe {
        hipModuleLaunchKernel(linear, 4, 1, 1, 256, 1, 1, 0, null_mut(), params, extra.as_mut_ptr())
    };
    ok(by_extra(&mut extra, null_mut()));
    assert_eq!(by_extra(&mut extra, params.as_mut_ptr()), Code::INVALID_VALUE, "both");
    assert_eq!(numbers(out.0, 1000), (0..1000).map(|i| i * 2 + 1).collect::<Vec<_>>());
    // SAFETY: the pointer points to `size`.
    unsafe { *extra[3].cast::<usize>() = 23 };
    assert_eq!(by_extra(&mut extra, null_mut()), Code::INVALID_VALUE, "too few bytes");
    extra[0] = key(9);
    assert_eq!(by_extra(&mut extra, null_mut()), Code::INVALID_VALUE, "an unknown key");
    assert_eq!(launch(linear, 4, 256, &mut []), Code::INVALID_VALUE, "no arguments");
    assert_eq!(
        launch(linear, 4, 256, &mut [pointer(&mut data), null_mut(), null_mut(), null_mut()]),
        Code::INVALID_VALUE
    );
    ok(launch(kernel(module, c"nothing"), 1, 1, &mut []));
    assert!(kinds().is_empty());
}

/// Checks the limits that HIP documents for grids, blocks and shared memory.
fn limits(module: *mut c_void) {
    let (nothing, limited) = (kernel(module, c"nothing"), kernel(module, c"limited"));
    let (out, null) = (Buffer::new(4096), null_mut());
    // SAFETY: the kernel has no arguments.
    let shaped = |[gx, gy, gz]: [u32; 3], [bx, by, bz]: [u32; 3], shared| unsafe {
        hipModuleLaunchKernel(nothing, gx, gy, gz, bx, by, bz, shared, null, null.cast(), null.cast())
    };
    ok(shaped([2, 3, 4], [4, 8, 32], 65536));
    for zero in 0..3 {
        let mut one = [1; 3];
        one[zero] = 0;
        assert_eq!(shaped(one, [1; 3], 0), Code::INVALID_VALUE);
        assert_eq!(shaped([1; 3], one, 0), Code::INVALID_CONFIGURATION);
    }
    assert_eq!(shaped([1; 3], [1025, 1, 1], 0), Code::INVALID_VALUE);
    assert_eq!(shaped([1; 3], [32, 33, 1], 0), Code::INVALID_VALUE);
    assert_eq!(shaped([1 << 22, 1, 1], [1024, 1, 1], 0), Code::INVALID_CONFIGURATION, "2^32 threads along x");
    assert_eq!(shaped([1; 3], [1; 3], 65537), Code::INVALID_VALUE);
    let mut data = out.0;
    ok(launch(limited, 1, 64, &mut [pointer(&mut data)]));
    assert_eq!(launch(limited, 1, 65, &mut [pointer(&mut data)]), Code::LAUNCH_FAILURE, "over the kernel's own limit");
    assert_eq!(launch(null, 1, 1, &mut []), Code::INVALID_HANDLE);
    // SAFETY: the kernel has no arguments; the stream handle is invalid.
    let stale =
        unsafe { hipModuleLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, 0x99 as *mut c_void, null.cast(), null.cast()) };
    assert_eq!(stale, Code::INVALID_HANDLE);
    ok(hipDeviceSynchronize());
    assert!(kinds().is_empty());
}

fn variables(module: *mut c_void) {
    let (mut address, mut bytes, out) = (null_mut(), 0, Buffer::new(256));
    // SAFETY: the pointers point to locals, and the name ends in NUL.
    unsafe {
        ok(hipModuleGetGlobal(&mut address, &mut bytes, module, c"counter".as_ptr()));
        assert_eq!(bytes, 4);
        assert_eq!(numbers(address, 1), [7]);
        ok(hipMemcpy(address, pointer(&mut 41u32), 4, HOST_TO_DEVICE));
        assert_eq!(hipModuleGetGlobal(&mut address, &mut bytes, module, c"none".as_ptr()), Code::NOT_FOUND);
        assert_eq!(hipModuleGetFunction(&mut address, module, c"none".as_ptr()), Code::NOT_FOUND);
        assert_eq!(hipModuleGetFunction(&mut address, module, std::ptr::null()), Code::INVALID_VALUE);
    }
    let mut data = out.0;
    ok(launch(kernel(module, c"limited"), 1, 64, &mut [pointer(&mut data)]));
    assert_eq!(numbers(out.0, 64), [41; 64]);
}

fn graphs(module: *mut c_void) {
    let linear = kernel(module, c"linear");
    let out = Buffer::new(400);
    let (mut data, mut count, mut step, mut bias) = (out.0, 100u32, 1u8, 0u64);
    let mut params = [pointer(&mut data), pointer(&mut count), pointer(&mut step), pointer(&mut bias)];
    let one = |x| Dim3 { x, y: 1, z: 1 };
    let node_params = KernelNodeParams {
        block: one(50),
        extra: null_mut(),
        func: linear,
        grid: one(2),
        params: params.as_mut_ptr(),
        shared: 0,
    };
    // SAFETY: the helper supplies the pointers, and the arguments match the kernel's.
    unsafe {
        let graph = get(|to| hipGraphCreate(to, 0));
        let node = get(|to| hipGraphAddKernelNode(to, graph, std::ptr::null(), 0, &node_params));
        let mut add = node_params;
        (add.func, add.params) = (kernel(module, c"add_one"), params.as_mut_ptr());
        let second = get(|to| hipGraphAddKernelNode(to, graph, &node, 1, &add));
        let exec = get(|to| hipGraphInstantiateWithFlags(to, graph, 0));
        // The arguments were copied when the nodes were created: the change is visible only where
        // the parameters are set again.
        *params[2].cast::<u8>() = 2;
        *params[3].cast::<u64>() = 9;
        let run = |expected: &dyn Fn(u32) -> u32| {
            ok(hipGraphLaunch(exec, null_mut()));
            ok(hipStreamSynchronize(null_mut()));
            assert_eq!(numbers(out.0, 100), (0..100).map(expected).collect::<Vec<_>>());
        };
        run(&|i| i + 1);
        ok(hipGraphExecKernelNodeSetParams(exec, node, &node_params));
        run(&|i| i * 2 + 10);
        let mut read = get(|to| hipGraphKernelNodeGetParams(node, to));
        assert_eq!((read.func, read.grid, read.block), (linear, one(2), one(50)));
        read.block = one(25);
        assert_eq!(
            hipGraphExecKernelNodeSetParams(exec, second, &KernelNodeParams { block: one(2048), ..read }),
            Code::INVALID_VALUE
        );
        ok(hipGraphKernelNodeSetParams(node, &read));
        let other = get(|to| hipGraphInstantiateWithFlags(to, graph, 0));
        let cleared = vec![0u32; 100];
        ok(hipMemcpy(out.0, cleared.as_ptr().cast(), 400, HOST_TO_DEVICE));
        ok(hipGraphLaunch(other, null_mut()));
        ok(hipStreamSynchronize(null_mut()));
        let expected: Vec<u32> = (0..100).map(|i| if i < 50 { i + 1 } else { 1 }).collect();
        assert_eq!(numbers(out.0, 100), expected, "the first arguments, on half the threads");
        for exec in [exec, other] {
            ok(hipGraphExecDestroy(exec));
        }
        ok(hipGraphDestroy(graph));
        assert_eq!(hipGraphKernelNodeGetParams(node, &mut read), Code::INVALID_VALUE);
    }
    assert!(kinds().is_empty());
}

fn questions(module: *mut c_void) {
    let limited = kernel(module, c"limited");
    // SAFETY: the helper supplies the pointers.
    unsafe {
        assert_eq!(get(|to| hipFuncGetAttribute(to, 0, limited)), 64);
        assert_eq!(get(|to| hipFuncGetAttribute(to, 1, limited)), 0);
        assert_eq!(get(|to| hipFuncGetAttribute(to, 8, limited)), 65536);
        assert_eq!(hipFuncGetAttribute(&mut 0, 10, limited), Code::INVALID_VALUE);
        // A small kernel fills a multiprocessor: each of these cards holds 2048 threads, and only
        // shared memory reduces that number.
        let active =
            |size, shared| get(|to| hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(to, limited, size, shared));
        assert_eq!((active(64, 0), active(1024, 0), active(65, 0)), (32, 2, 2048 / active_step(65)));
        assert!(active(64, 65536) <= 2 && active(64, 65536) >= 1);
        assert_eq!(active(2000, 0), 0);
        let mut block = 0;
        let grid = get(|to| hipModuleOccupancyMaxPotentialBlockSize(to, &mut block, limited, 0, 0));
        assert!(block == 64 && grid % 32 == 0, "{grid} blocks of {block}");
    }
}

/// Returns the number of threads that a block of `size` occupies: whole waves of the current card.
fn active_step(size: i32) -> i32 {
    // SAFETY: the helper supplies the pointers.
    let wave = unsafe {
        let device = get(|to| isobit_simgpu_hip::device::hipGetDevice(to));
        get(|to| isobit_simgpu_hip::attribute::hipDeviceGetAttribute(to, 87, device))
    };
    (size + wave - 1) / wave * wave
}

/// Loads images that a card must refuse.
fn images(of_another_card: &[u8]) {
    let mut module = null_mut();
    // SAFETY: the images are complete, or their first bytes show that they are not images.
    unsafe {
        let code = hipModuleLoadData(&mut module, of_another_card.as_ptr().cast());
        assert!([Code::NO_BINARY_FOR_GPU, Code::INVALID_IMAGE].contains(&code), "{code:?}");
        let other = bundle(&[("gfx803", of_another_card)]);
        assert_eq!(hipModuleLoadData(&mut module, other.as_ptr().cast()), Code::NO_BINARY_FOR_GPU);
        assert_eq!(hipModuleLoadData(&mut module, b"no image".as_ptr().cast()), Code::INVALID_IMAGE);
        assert_eq!(hipModuleLoadData(&mut module, std::ptr::null()), Code::INVALID_VALUE);
        assert_eq!(hipModuleLoad(&mut module, c"/no such file".as_ptr()), Code::FILE_NOT_FOUND);
    }
    assert_eq!(hipModuleUnload(module), Code::INVALID_HANDLE);
}

/// Makes the calls that a HIP compiler generates for `kernel<<<grid, block>>>(...)`.
fn registered(fat: &[u8]) {
    #[repr(C)]
    struct Wrapper(u32, u32, *const u8, *const u8);
    let wrapper = Wrapper(0x4849_5046, 1, fat.as_ptr(), std::ptr::null());
    let (host_function, mut host_counter) = (0u8, 0u32);
    let host = (&raw const host_function).cast::<c_void>();
    // SAFETY: the calls are those that a compiler generates; the helper supplies the other
    // pointers.
    unsafe {
        let handle = __hipRegisterFatBinary((&raw const wrapper).cast());
        let null: *mut c_void = null_mut();
        __hipRegisterFunction(
            handle,
            host,
            null.cast(),
            c"add_one".as_ptr(),
            u32::MAX,
            null,
            null,
            null.cast(),
            null.cast(),
            null.cast(),
        );
        let counter = pointer(&mut host_counter);
        __hipRegisterVar(handle, counter, null.cast(), c"counter".as_ptr().cast_mut(), 0, 4, 0, 0);
        for device in 0..3 {
            ok(hipSetDevice(device));
            let data = Buffer::new(40);
            ok(hipMemcpy(data.0, [1u32; 10].as_ptr().cast(), 40, HOST_TO_DEVICE));
            let (block, grid) = (Dim3 { x: 10, y: 1, z: 1 }, Dim3 { x: 1, y: 1, z: 1 });
            ok(__hipPushCallConfiguration(grid, block, 0, null));
            let (mut g, mut b, mut shared, mut stream) = (block, grid, 1, null);
            ok(__hipPopCallConfiguration(&mut g, &mut b, &mut shared, &mut stream));
            assert_eq!((g, b, shared), (grid, block, 0));
            let (mut address, mut count) = (data.0, 10u32);
            let mut params = [pointer(&mut address), pointer(&mut count)];
            ok(hipLaunchKernel(host, g, b, params.as_mut_ptr(), shared, stream));
            assert_eq!(numbers(data.0, 10), [2; 10]);
            assert_eq!(get(|to| hipGetSymbolSize(to, counter)), 4);
            ok(hipMemcpyToSymbol(counter, pointer(&mut 5u32), 4, 0, HOST_TO_DEVICE));
            let mut back = 0u32;
            ok(hipMemcpyFromSymbol(pointer(&mut back), counter, 4, 0, DEVICE_TO_HOST));
            assert_eq!(back, 5);
            assert_eq!(hipMemcpyToSymbol(counter, pointer(&mut back), 4, 1, HOST_TO_DEVICE), Code::INVALID_VALUE);
            assert_eq!(
                hipMemcpyFromSymbol(pointer(&mut back), counter, 4, 0, HOST_TO_DEVICE),
                Code::INVALID_MEMCPY_DIRECTION
            );
            assert_eq!(get(|to| hipFuncGetAttributes(to, host)).max_threads, 1024);
            ok(hipFuncSetAttribute(host, 8, 65536));
            assert_eq!(hipFuncSetAttribute(host, 8, 65537), Code::INVALID_VALUE);
        }
        assert_eq!(
            __hipPopCallConfiguration(&mut Dim3 { x: 0, y: 0, z: 0 }, null.cast(), null.cast(), null.cast()),
            Code::MISSING_CONFIGURATION
        );
        __hipUnregisterFatBinary(handle);
        let unknown = hipLaunchKernel(host, Dim3 { x: 1, y: 1, z: 1 }, Dim3 { x: 1, y: 1, z: 1 }, null.cast(), 0, null);
        assert_eq!(unknown, Code::INVALID_DEVICE_FUNCTION);
        let bad = Wrapper(1, 1, fat.as_ptr(), std::ptr::null());
        assert!(__hipRegisterFatBinary((&raw const bad).cast()).is_null());
    }
    ok(hipSetDevice(0));
    assert!(kinds().is_empty());
}

/// Launches kernels with planted faults: each is found and named, and the launch itself succeeds.
fn planted(code: &[u8]) {
    let module = load(code);
    let (data, mut count) = (Buffer::new(40), 11u32);
    // SAFETY: the host memory has the size that is copied.
    ok(unsafe { hipMemcpy(data.0, [1u32; 9].as_ptr().cast(), 36, HOST_TO_DEVICE) });
    let mut address = data.0;
    ok(launch(kernel(module, c"add_one"), 1, 64, &mut [pointer(&mut address), pointer(&mut count)]));
    ok(hipDeviceSynchronize());
    assert_eq!(numbers(data.0, 9), [2; 9]);
    let report = report();
    let findings = report["findings"].as_array().unwrap();
    let seen: Vec<_> = findings.iter().map(|f| (f["kind"].as_str().unwrap(), f["offset"].as_i64().unwrap())).collect();
    assert!(seen.contains(&("uninitialised_read", 36)) && seen.contains(&("out_of_bounds", 40)), "{findings:#?}");
    assert!(findings.iter().all(|f| f["kernel"] == "add_one"), "{findings:#?}");
    assert!(findings.iter().any(|f| f["thread"].as_str().unwrap().contains("10")), "{findings:#?}");
    assert!(report["instructions"].as_u64().unwrap() > 0);
    ok(hipModuleUnload(module));
}
