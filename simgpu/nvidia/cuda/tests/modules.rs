//! Modules and launches: arguments passed in both ways, limits with CUDA's codes, libraries, kernel
//! queries, and texts that every card rejects.

mod common;

use common::{Buffer, Code, Handle, NULL, configure, context, get, kernel, kinds, load, numbers, ok, pointer, report};
use isobit_simgpu_cuda::context::{cuCtxSetCurrent, cuCtxSynchronize};
use isobit_simgpu_cuda::copy::cuMemcpyHtoD_v2;
use isobit_simgpu_cuda::function::*;
use isobit_simgpu_cuda::jit::cuModuleLoadDataEx;
use isobit_simgpu_cuda::launch::*;
use isobit_simgpu_cuda::library::*;
use isobit_simgpu_cuda::module::*;
use isobit_simgpu_cuda::occupancy::*;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::null_mut;

/// Launches along x.
fn launch(kernel: Handle, blocks: u32, threads: u32, shared: u32, params: &mut [*mut c_void]) -> Code {
    let params = if params.is_empty() { null_mut() } else { params.as_mut_ptr() };
    // SAFETY: the callers pass the kernel's arguments.
    unsafe { cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, shared, NULL, params, null_mut()) }
}

/// A key of `extra`.
fn key(number: usize) -> *mut c_void {
    number as *mut c_void
}

#[test]
fn modules_are_loaded_and_kernels_launched_on_every_card() {
    configure(&[("ISOBIT_SIM_CUDA", "sm_75,sm_80,sm_90"), ("ISOBIT_SIM_MEMORY", "1073741824")]);
    for device in 0..3 {
        context(device);
        let module = load(common::SOURCE);
        launches(module);
        limits(module);
        attributes_of_launches(module);
        variables(module);
        questions(module, device);
        ok(cuModuleUnload(module));
        assert_eq!(cuModuleUnload(module), Code::INVALID_HANDLE);
        libraries(device);
    }
    context(1);
    texts();
    planted();
}

/// Arguments of several sizes by `kernelParams` and by `extra`.
fn launches(module: Handle) {
    let linear = kernel(module, c"linear");
    assert_eq!(kernel(module, c"linear"), linear, "one handle for a kernel");
    let (out, n) = (Buffer::new(4000), 1000u32);
    let (mut data, mut count, mut step, mut bias) = (out.0, n, 3u8, 0x1_0000_0005u64);
    let params = &mut [pointer(&mut data), pointer(&mut count), pointer(&mut step), pointer(&mut bias)];
    ok(launch(linear, 4, 256, 0, params));
    assert_eq!(numbers(out.0, 1000), (0..1000).map(|i| i * 3 + 5).collect::<Vec<_>>());

    // The parameter layout of PTX: 8 bytes, 4, 1, padding to 8, 8.
    let mut packed = [0u8; 24];
    packed[..8].copy_from_slice(&out.0.to_le_bytes());
    packed[8..12].copy_from_slice(&n.to_le_bytes());
    packed[12] = 2;
    packed[16..].copy_from_slice(&1u64.to_le_bytes());
    let mut size = packed.len();
    let mut extra = [key(1), packed.as_mut_ptr().cast(), key(2), pointer(&mut size), key(0)];
    // SAFETY: the arguments are the kernel's.
    let by_extra = |extra: &mut [*mut c_void], params| unsafe {
        cuLaunchKernel(linear, 4, 1, 1, 256, 1, 1, 0, NULL, params, extra.as_mut_ptr())
    };
    ok(by_extra(&mut extra, null_mut()));
    assert_eq!(by_extra(&mut extra, params.as_mut_ptr()), Code::INVALID_VALUE, "both");
    assert_eq!(numbers(out.0, 1000), (0..1000).map(|i| i * 2 + 1).collect::<Vec<_>>());
    // SAFETY: the pointer is to `size`.
    unsafe { *extra[3].cast::<usize>() = 23 };
    assert_eq!(by_extra(&mut extra, null_mut()), Code::INVALID_VALUE, "too few bytes");
    extra[0] = key(9);
    assert_eq!(by_extra(&mut extra, null_mut()), Code::INVALID_VALUE, "an unknown key");
    assert_eq!(launch(linear, 4, 256, 0, &mut []), Code::INVALID_VALUE, "no arguments");
    assert_eq!(launch(linear, 4, 256, 0, &mut [pointer(&mut data), NULL, NULL, NULL]), Code::INVALID_VALUE);
    ok(launch(kernel(module, c"nothing"), 1, 1, 0, &mut []));

    // Dynamic shared memory and a barrier.
    let buffer = Buffer::of(&(0..200u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    let mut data = buffer.0;
    ok(launch(kernel(module, c"reverse"), 1, 200, 800, &mut [pointer(&mut data)]));
    assert_eq!(numbers(data, 200), (0..200).rev().collect::<Vec<_>>());
    assert!(kinds().is_empty());
}

/// CUDA's documented limits of grids, blocks and shared memory, with the codes of a real driver.
fn limits(module: Handle) {
    let nothing = kernel(module, c"nothing");
    // SAFETY: kernels without arguments.
    let of = |kernel, [gx, gy, gz]: [u32; 3], [bx, by, bz]: [u32; 3], shared| unsafe {
        cuLaunchKernel(kernel, gx, gy, gz, bx, by, bz, shared, NULL, null_mut(), null_mut())
    };
    let shaped = |grid, block, shared| of(nothing, grid, block, shared);
    ok(shaped([2, 3, 4], [4, 8, 32], 49152));
    for zero in 0..3 {
        let mut one = [1; 3];
        one[zero] = 0;
        assert_eq!(shaped(one, [1; 3], 0), Code::INVALID_VALUE);
        assert_eq!(shaped([1; 3], one, 0), Code::INVALID_VALUE);
    }
    for block in [[1025, 1, 1], [32, 33, 1], [1, 1, 65]] {
        assert_eq!(shaped([1; 3], block, 0), Code::INVALID_VALUE);
    }
    for grid in [[1 << 31, 1, 1], [1, 65536, 1], [1, 1, 65536]] {
        assert_eq!(shaped(grid, [1; 3], 0), Code::INVALID_VALUE);
    }
    assert_eq!(shaped([1; 3], [1; 3], 49153), Code::INVALID_VALUE, "a larger size needs an attribute");
    ok(cuFuncSetAttribute(nothing, 8, 60000));
    ok(shaped([1; 3], [1; 3], 60000));
    assert_eq!(shaped([1; 3], [1; 3], 60001), Code::INVALID_VALUE);
    assert_eq!(of(kernel(module, c"shared"), [1; 3], [32, 1, 1], 9153), Code::INVALID_VALUE, "with its static memory");
    ok(of(kernel(module, c"shared"), [1; 3], [32, 1, 1], 9152));
    let required = kernel(module, c"required");
    ok(of(required, [1; 3], [32, 2, 1], 0));
    assert_eq!([[32, 1, 1], [64, 1, 1]].map(|block| of(required, [1; 3], block, 0)), [Code::INVALID_VALUE; 2]);
    let out = Buffer::new(256);
    let mut data = out.0;
    ok(launch(kernel(module, c"limited"), 1, 64, 0, &mut [pointer(&mut data)]));
    assert_eq!(launch(kernel(module, c"limited"), 1, 65, 0, &mut [pointer(&mut data)]), Code::INVALID_VALUE);
    assert_eq!(of(NULL, [1; 3], [1; 3], 0), Code::INVALID_HANDLE);
    // SAFETY: a kernel without arguments; the stream handle is invalid.
    let stale = unsafe { cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, key(0x99), null_mut(), null_mut()) };
    assert_eq!(stale, Code::INVALID_HANDLE);
    ok(cuCtxSynchronize());
    assert!(kinds().is_empty());
}

fn attributes_of_launches(module: Handle) {
    let nothing = kernel(module, c"nothing");
    let attribute = |id, first| {
        let mut value = [0; 16];
        value[0] = first;
        LaunchAttribute { id, padding: 0, value }
    };
    let with = |attributes: &[LaunchAttribute], blocks| {
        let config = LaunchConfig {
            grid: [blocks, 1, 1],
            block: [32, 1, 1],
            shared: 0,
            stream: NULL,
            attributes: attributes.as_ptr(),
            count: attributes.len() as u32,
        };
        // SAFETY: a kernel without arguments, and a list of the given length.
        unsafe { cuLaunchKernelEx(&config, nothing, null_mut(), null_mut()) }
    };
    ok(with(&[], 2));
    ok(with(&[attribute(8, 1), attribute(6, 1), attribute(4, 1), attribute(2, 0)], 2));
    ok(with(&[attribute(2, 1)], 1));
    for refused in [attribute(2, 1), attribute(4, 2), attribute(13, 1)] {
        assert_eq!(with(&[refused], 2), Code::NOT_SUPPORTED, "{}", refused.id);
    }
    assert_eq!(with(&[attribute(99, 0)], 2), Code::INVALID_VALUE);
    // SAFETY: a kernel without arguments.
    let cooperative =
        |blocks| unsafe { cuLaunchCooperativeKernel(nothing, blocks, 1, 1, 32, 1, 1, 0, NULL, null_mut()) };
    assert_eq!([1, 2].map(cooperative), [Code::SUCCESS, Code::NOT_SUPPORTED]);
}

fn variables(module: Handle) {
    let (mut address, mut bytes, out) = (0, 0, Buffer::new(256));
    // SAFETY: pointers to locals, and names that end in NUL.
    unsafe {
        ok(cuModuleGetGlobal_v2(&mut address, &mut bytes, module, c"counter".as_ptr()));
        assert_eq!((bytes, numbers(address, 1)), (4, vec![7]));
        ok(cuMemcpyHtoD_v2(address, pointer(&mut 41u32), 4));
        let mut table = 0;
        ok(cuModuleGetGlobal_v2(&mut table, &mut bytes, module, c"table".as_ptr()));
        assert_eq!((bytes, numbers(table, 4)), (16, vec![1, 2, 3, 4]));
        assert_eq!(cuModuleGetGlobal_v2(&mut address, &mut bytes, module, c"none".as_ptr()), Code::NOT_FOUND);
        assert_eq!(cuModuleGetGlobal_v2(null_mut(), null_mut(), module, c"table".as_ptr()), Code::INVALID_VALUE);
        assert_eq!(cuModuleGetFunction(&mut NULL.clone(), module, c"none".as_ptr()), Code::NOT_FOUND);
        assert_eq!(cuModuleGetFunction(&mut NULL.clone(), module, std::ptr::null()), Code::INVALID_VALUE);
    }
    let mut data = out.0;
    ok(launch(kernel(module, c"limited"), 1, 64, 0, &mut [pointer(&mut data)]));
    assert_eq!(numbers(out.0, 64), [41; 64]);
    assert!(kinds().is_empty());
}

fn questions(module: Handle, device: c_int) {
    let (linear, limited, shared) = (kernel(module, c"linear"), kernel(module, c"limited"), kernel(module, c"shared"));
    // SAFETY: pointers of the helper and to locals.
    unsafe {
        let attribute = |kernel: Handle, number: c_int| get(|to| cuFuncGetAttribute(to, number, kernel));
        assert_eq!([limited, linear].map(|kernel| attribute(kernel, 0)), [64, 1024]);
        assert_eq!(
            [linear, shared].map(|kernel| (attribute(kernel, 1), attribute(kernel, 8))),
            [(0, 49152), (40000, 9152)]
        );
        assert_eq!((attribute(linear, 5), attribute(linear, 6)), (75, [75, 80, 90][device as usize]));
        assert_eq!([9, 10, 15].map(|number| attribute(linear, number)), [-1, 0, 0]);
        assert_eq!(cuFuncGetAttribute(&mut 0, 16, linear), Code::INVALID_VALUE);
        assert_eq!(cuFuncGetAttribute(&mut 0, 0, NULL), Code::INVALID_HANDLE);
        let most = [65536, 166_912, 232_448][device as usize];
        ok(cuFuncSetAttribute(linear, 8, most));
        assert_eq!(attribute(linear, 8), most);
        for (kernel, number, value) in [
            (linear, 8, most + 1),
            (linear, 8, -1),
            (shared, 8, most - 39999),
            (linear, 9, 101),
            (linear, 9, -2),
            (linear, 0, 5),
        ] {
            assert_eq!(cuFuncSetAttribute(kernel, number, value), Code::INVALID_VALUE);
        }
        ok(cuFuncSetAttribute(shared, 8, most - 40000));
        ok(cuFuncSetAttribute(shared, 8, 9152));
        ok(cuFuncSetCacheConfig(linear, 1));
        assert_eq!(cuFuncSetCacheConfig(linear, 9), Code::INVALID_VALUE);
        assert_eq!(CStr::from_ptr(get(|to| cuFuncGetName(to, linear))), c"linear");
        assert_eq!(get(|to| cuFuncGetModule(to, linear)), module);
        let (mut offset, mut bytes) = (0, 0);
        let parameters = [0, 1, 2, 3].map(|index| {
            ok(cuFuncGetParamInfo(linear, index, &mut offset, &mut bytes));
            (offset, bytes)
        });
        assert_eq!(parameters, [(0, 8), (8, 4), (12, 1), (16, 8)]);
        assert_eq!(cuFuncGetParamInfo(linear, 4, &mut offset, &mut bytes), Code::INVALID_VALUE);
        assert_eq!(get(|to| cuModuleGetFunctionCount(to, module)), 7);
        let mut all = [NULL; 9];
        ok(cuModuleEnumerateFunctions(all.as_mut_ptr(), 9, module));
        assert!(all[..7].contains(&linear) && all[7].is_null());
    }
    occupancy(module, device);
}

/// Compares with the answers of a real H200; the registers of these kernels do not limit occupancy.
fn occupancy(module: Handle, device: c_int) {
    if device != 2 {
        return;
    }
    let (limited, shared, nothing) =
        (kernel(module, c"limited"), kernel(module, c"shared"), kernel(module, c"nothing"));
    // SAFETY: pointers of the helper and to locals.
    unsafe {
        let active =
            |kernel, size, dynamic| get(|to| cuOccupancyMaxActiveBlocksPerMultiprocessor(to, kernel, size, dynamic));
        assert_eq!([1, 32, 64, 65, 1024, 2000].map(|size| active(limited, size, 0)), [32, 32, 32, 21, 2, 0]);
        assert_eq!([48000, 49153].map(|dynamic| active(limited, 64, dynamic)), [4, 0]);
        assert_eq!([1000, 16384, 49152].map(|dynamic| active(limited, 128, dynamic)), [16, 13, 4]);
        assert_eq!([32, 64, 1024].map(|size| active(shared, size, 0)), [5, 5, 2]);
        assert_eq!(
            [0, -1].map(|size| cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut 0, limited, size, 0)),
            [Code::INVALID_VALUE; 2]
        );
        let best = |kernel: Handle, dynamic: usize, limit: c_int| {
            let mut block = 0;
            (get(|to| cuOccupancyMaxPotentialBlockSize(to, &mut block, kernel, None, dynamic, limit)), block)
        };
        assert_eq!([0, 100, 256].map(|limit| best(nothing, 0, limit)), [(264, 1024), (4224, 64), (1056, 256)]);
        assert_eq!([0, 100].map(|limit| best(nothing, 20000, limit)), [(264, 1024), (1452, 100)]);
        assert_eq!([0, 100].map(|limit| best(limited, 20000, limit)), [(1452, 64), (1452, 64)]);
        assert_eq!([0, 100, 256].map(|limit| best(shared, 20000, limit)), [(264, 1024), (396, 100), (396, 256)]);
        let free = |kernel: Handle, blocks: c_int, size: c_int| {
            get(|to| cuOccupancyAvailableDynamicSMemPerBlock(to, kernel, blocks, size))
        };
        assert_eq!([(1, 64), (2, 64), (4, 256)].map(|(b, s)| free(nothing, b, s)), [232_448, 116_736, 58_368]);
        assert_eq!([(1, 64), (2, 64), (4, 256)].map(|(b, s)| free(shared, b, s)), [192_448, 76_736, 18_368]);
        assert_eq!(cuOccupancyAvailableDynamicSMemPerBlock(&mut 0, nothing, 100, 64), Code::INVALID_VALUE);
    }
}

fn libraries(device: c_int) {
    let text = CString::new(common::SOURCE).unwrap();
    let (null, out): (*mut c_void, _) = (null_mut(), Buffer::new(256));
    let mut data = out.0;
    // SAFETY: the text ends in NUL; pointers of the helper, and the kernel's argument.
    unsafe {
        let library = get(|to| {
            cuLibraryLoadData(to, text.as_ptr().cast(), null.cast(), null.cast(), 0, null.cast(), null.cast(), 0)
        });
        let limited = get(|to| cuLibraryGetKernel(to, library, c"limited".as_ptr()));
        assert_eq!(get(|to| cuLibraryGetKernel(to, library, c"limited".as_ptr())), limited);
        assert_eq!(cuLibraryGetKernel(&mut NULL.clone(), library, c"none".as_ptr()), Code::NOT_FOUND);
        assert_eq!(get(|to| cuLibraryGetKernelCount(to, library)), 7);
        ok(launch(limited, 1, 64, 0, &mut [pointer(&mut data)]));
        assert_eq!(numbers(out.0, 64), [7; 64]);
        let function = get(|to| cuKernelGetFunction(to, limited));
        ok(launch(function, 1, 64, 0, &mut [pointer(&mut data)]));
        assert_eq!(kernel(get(|to| cuLibraryGetModule(to, library)), c"limited"), function);
        assert_eq!(get(|to| cuKernelGetAttribute(to, 0, limited, device)), 64);
        assert_eq!(get(|to| cuKernelGetLibrary(to, limited)), library);
        assert_eq!(CStr::from_ptr(get(|to| cuKernelGetName(to, limited))), c"limited");
        let (mut address, mut bytes) = (0, 0);
        ok(cuLibraryGetGlobal(&mut address, &mut bytes, library, c"counter".as_ptr()));
        assert_eq!(numbers(address, 1), [7]);
        ok(cuLibraryUnload(library));
        assert_eq!(launch(limited, 1, 64, 0, &mut [pointer(&mut data)]), Code::INVALID_HANDLE);
        assert_eq!(launch(function, 1, 64, 0, &mut [pointer(&mut data)]), Code::INVALID_HANDLE);
        assert_eq!(cuLibraryUnload(library), Code::INVALID_HANDLE);
    }
    assert!(kinds().is_empty());
}

/// Loads a text with a log buffer of `room` bytes and returns the code, the log, and the log's
/// length.
fn load_with_log(text: &[u8], room: usize) -> (Code, String, usize) {
    let (mut module, mut log) = (null_mut(), vec![b'x'; room.max(1)]);
    // `CU_JIT_ERROR_LOG_BUFFER`, `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`, `CU_JIT_LOG_VERBOSE`.
    let (mut options, mut values) = ([5, 6, 12], [log.as_mut_ptr().cast(), room as *mut c_void, key(1)]);
    // SAFETY: the callers pass texts that end in NUL, or machine code; the options point to a
    // buffer of the given size.
    let code =
        unsafe { cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 3, options.as_mut_ptr(), values.as_mut_ptr()) };
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(0);
    (code, String::from_utf8_lossy(&log[..end]).into_owned(), values[1] as usize)
}

fn texts() {
    let text =
        |body: &str| format!(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{{\n{body}\n}}\n\0");
    let (code, log, length) = load_with_log(text("frobnicate.b32 %r1, %r2;").as_bytes(), 1000);
    assert_eq!((code, length), (Code::INVALID_PTX, log.len()));
    assert!(log.contains("frobnicate") && log.contains('6'), "the word and its line: {log}");
    let (code, short, length) = load_with_log(text("frobnicate.b32 %r1, %r2;").as_bytes(), 20);
    assert_eq!((code, short.as_str(), length), (Code::INVALID_PTX, &log[..19], 20), "cut to its room");
    let newer = text("ret;").replace("sm_75", "sm_90");
    assert_eq!(load_with_log(newer.as_bytes(), 1000).0, Code::INVALID_PTX, "for a newer card");
    assert_eq!(load_with_log(b"no image at all\0", 1000).0, Code::INVALID_IMAGE);
    assert_eq!(load_with_log(b"\0", 1000).0, Code::INVALID_IMAGE);
    assert_eq!(load_with_log(b"\x7fELF\x02\x01\x01\0", 0).0, Code::NO_BINARY_FOR_GPU);
    assert_eq!(load_with_log(text("ret;").as_bytes(), 1000), (Code::SUCCESS, String::new(), 0));
    let mut module = null_mut();
    // SAFETY: null pointers are rejected; the name ends in NUL.
    unsafe {
        assert_eq!(cuModuleLoadData(&mut module, std::ptr::null()), Code::INVALID_VALUE);
        assert_eq!(cuModuleLoad(&mut module, c"/no such file".as_ptr()), Code::FILE_NOT_FOUND);
        assert_eq!(cuModuleLoadFatBinary(&mut module, std::ptr::null()), Code::NO_BINARY_FOR_GPU);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel.ptx");
        std::fs::write(&path, common::SOURCE).unwrap();
        let path = CString::new(path.to_str().unwrap()).unwrap();
        ok(cuModuleUnload(get(|to| cuModuleLoad(to, path.as_ptr()))));
        ok(cuCtxSetCurrent(NULL));
        assert_eq!(cuModuleLoadData(&mut module, c"".as_ptr().cast()), Code::INVALID_CONTEXT);
    }
    context(1);
}

/// Kernels with planted faults: the findings name them, and the launch call itself succeeds.
fn planted() {
    let module = load(common::SOURCE);
    let (data, mut count) = (Buffer::new(40), 11u32);
    // SAFETY: host memory of the size of the copy.
    ok(unsafe { cuMemcpyHtoD_v2(data.0, [1u32; 9].as_ptr().cast(), 36) });
    let mut address = data.0;
    ok(launch(kernel(module, c"add_one"), 1, 64, 0, &mut [pointer(&mut address), pointer(&mut count)]));
    ok(cuCtxSynchronize());
    assert_eq!(numbers(data.0, 9), [2; 9]);
    let report = report();
    let findings = report["findings"].as_array().unwrap();
    let seen: Vec<_> = findings.iter().map(|f| (f["kind"].as_str().unwrap(), f["offset"].as_i64().unwrap())).collect();
    assert!(seen.contains(&("uninitialised_read", 36)) && seen.contains(&("out_of_bounds", 40)), "{findings:#?}");
    assert!(findings.iter().all(|f| f["kernel"] == "add_one"), "{findings:#?}");
    assert!(findings.iter().any(|f| f["thread"].as_str().unwrap().contains("10")), "{findings:#?}");
    assert!(report["instructions"].as_u64().unwrap() > 0);
    ok(cuModuleUnload(module));
}

#[test]
fn machine_code_is_told_from_text() {
    // SAFETY: every image ends in NUL.
    let of = |image: &[u8]| unsafe {
        isobit_simgpu_cuda::image::text(image.as_ptr().cast()).map(<[u8]>::to_vec).map_err(|e| e.code)
    };
    assert_eq!(of(b".version 7.0\0"), Ok(b".version 7.0".to_vec()));
    assert_eq!(of(b"\0"), Ok(Vec::new()));
    assert_eq!(of(b"\x7fEL\0"), Ok(b"\x7fEL".to_vec()));
    assert_eq!(of(b"\x7fELF\x02\0"), Err(Code::NO_BINARY_FOR_GPU));
    assert_eq!(of(b"\x50\xed\x55\xba\x01\0"), Err(Code::NO_BINARY_FOR_GPU));
    assert_eq!(of(b"\xb1\x43\x62\x46\x01\0"), Err(Code::NO_BINARY_FOR_GPU));
}
