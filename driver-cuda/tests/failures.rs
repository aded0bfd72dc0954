//! Failures on a card, with the error kinds that the HAL specifies. Each test runs on a simulated
//! card in a separate process: some of these errors make a context unusable, and all devices of a
//! process share it.

use isobit_cuda::{CudaDevice, CudaStorage, sys};
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, DType, Error, ErrorKind, Layout, Result, Src, UnaryOp};
use isobit_kernels::{Code, LaunchConfig, ModuleRuntime, StreamRuntime};
use std::ffi::c_void;

/// Runs `body` in a process that finds the simulated card, with these variables.
fn simulated(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    if isobit_simgpu_install::inside() {
        return body();
    }
    let installed = isobit_simgpu_install::cuda().expect("the simulated GPU is built");
    let output = installed.child(test).unwrap().envs(variables.iter().copied()).output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[track_caller]
fn fails<T: std::fmt::Debug>(result: Result<T>, kind: ErrorKind) -> Error {
    let error = result.expect_err("this call must fail");
    assert_eq!(error.kind(), kind, "{error}");
    error
}

fn device() -> CudaDevice {
    CudaDevice::new(0).expect("the simulated card opens")
}

fn ramp(device: &CudaDevice, n: usize) -> CudaStorage {
    device.storage_from_slice(&(0..n).map(|i| i as f32).collect::<Vec<_>>()).unwrap()
}

#[track_caller]
fn works(device: &CudaDevice) {
    let (l, a) = (Layout::contiguous(1000), ramp(device, 1000));
    let sum = a.binary(&l, &a, &l, BinaryOp::Add).unwrap().to_vec::<f32>().unwrap();
    assert!(sum.iter().enumerate().all(|(i, &x)| x == 2.0 * i as f32));
}

/// Launches a kernel without arguments, with one block.
fn launch(device: &CudaDevice, ptx: &str, config: &LaunchConfig) -> Result<()> {
    let module = device.runtime().load_module(Code::Ptx(ptx.as_bytes()))?;
    let function = device.runtime().function(&module, "kernel")?;
    // SAFETY: the kernel takes no arguments.
    let launched = unsafe { device.runtime().launch(&device.stream(), function, config, &[]) };
    launched.and_then(|()| device.synchronize())
}

fn kernel(body: &str) -> String {
    format!(".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry kernel()\n{{\n{body}\n}}\n\0")
}

const ONE: LaunchConfig = LaunchConfig::linear(1, 32);

#[test]
fn a_failing_allocation() {
    simulated("a_failing_allocation", &[("ISOBIT_SIM_MEMORY", "67108864")], || {
        let device = device();
        let kept = ramp(&device, 1 << 20);
        let error = fails(device.zeros(&(1usize << 27).into(), DType::U8), ErrorKind::OutOfMemory);
        assert!(error.message().contains("134217728 bytes"), "{error}");
        assert_eq!(kept.to_vec::<f32>().unwrap()[1000], 1000.0);
        works(&device);
    });
}

#[test]
fn a_module_that_cannot_be_loaded() {
    simulated("a_module_that_cannot_be_loaded", &[], || {
        let device = device();
        let said = |text: &str| {
            let error = fails(device.runtime().load_module(Code::Ptx(text.as_bytes())), ErrorKind::KernelMissing);
            std::iter::successors(Some(&error as &dyn std::error::Error), |e| e.source())
                .map(|e| e.to_string())
                .collect::<String>()
        };
        // The compiler's message contains the location.
        let unknown = said(&kernel(".reg .b32 %r<3>;\nadd.s32 %r1, %r2, 1;\nfrobnicate.b32 %r1, %r2;\nret;"));
        assert!(
            unknown.contains("frobnicate") && unknown.contains("line 8") && unknown.contains("kernel"),
            "{unknown}"
        );
        assert!(said(&kernel("").replace("sm_80", "sm_100")).contains("sm_100"));
        assert!(said("This is no PTX.\0").contains("line 1"));
        fails(device.runtime().load_module(Code::Object(b"\x7fELF and no more")), ErrorKind::KernelMissing);
        let module = device.runtime().load_module(Code::Ptx(kernel("ret;").as_bytes())).unwrap();
        let missing = fails(device.runtime().function(&module, "another"), ErrorKind::KernelMissing);
        assert_eq!(missing.kernel(), Some("another"));
        works(&device);
    });
}

#[test]
fn a_launch_that_no_card_takes() {
    simulated("a_launch_that_no_card_takes", &[], || {
        let device = device();
        for config in
            [LaunchConfig::linear(0, 32), LaunchConfig::linear(1, 4096), LaunchConfig { shared_bytes: 1 << 20, ..ONE }]
        {
            fails(launch(&device, &kernel("ret;"), &config), ErrorKind::InvalidArgument);
        }
        launch(&device, &kernel("ret;"), &ONE).unwrap();
        works(&device);
    });
}

#[test]
fn a_kernel_that_fails_takes_the_device_with_it() {
    simulated("a_kernel_that_fails_takes_the_device_with_it", &[], || {
        let device = device();
        let (a, l) = (ramp(&device, 8), Layout::contiguous(8));
        fails(launch(&device, &kernel("trap;"), &ONE), ErrorKind::DeviceLost);
        // Every later use reports the error and does nothing else, including frees, and including
        // other instances of the card.
        fails(device.synchronize(), ErrorKind::DeviceLost);
        fails(a.unary(&l, UnaryOp::Exp), ErrorKind::DeviceLost);
        fails(a.to_cpu_storage(), ErrorKind::DeviceLost);
        fails(CudaDevice::new(0).and_then(|device| device.zeros(&8.into(), DType::F32)), ErrorKind::DeviceLost);
        drop(a);
    });
}

#[test]
fn a_store_outside_every_allocation_takes_the_device_with_it() {
    let card = [("ISOBIT_SIM_FINDINGS", "card")];
    simulated("a_store_outside_every_allocation_takes_the_device_with_it", &card, || {
        let device = device();
        let wild = kernel(".reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nmov.u64 %rd1, 4096;\nst.global.u32 [%rd1], %r1;\nret;");
        let error = fails(launch(&device, &wild, &ONE), ErrorKind::DeviceLost);
        assert!(error.message().contains("an illegal memory access was encountered"), "{error}");
        fails(device.zeros(&8.into(), DType::F32), ErrorKind::DeviceLost);
    });
}

#[test]
fn a_stream_waits_for_what_it_is_told_to_wait_for() {
    // Work is deferred as far as possible, so that unsynchronised work is seen as not done.
    simulated("a_stream_waits_for_what_it_is_told_to_wait_for", &[("ISOBIT_SIM_DEFER", "1")], || {
        for ordered in [true, false] {
            let device = device();
            let runtime = device.runtime();
            let second = runtime.new_stream().unwrap();
            let (a, l) = (ramp(&device, 1000), Layout::contiguous(1000));
            let mut b = device.zeros(&1000.into(), DType::F32).unwrap();
            device.synchronize().unwrap();
            CudaStorage::unary_into(UnaryOp::Neg, Src::Storage(&a, &l), &mut b, &l).unwrap();
            if ordered {
                let mut event = std::ptr::null_mut();
                // SAFETY: the first pointer is a valid out-parameter; the handles are alive and
                // belong to the current context.
                unsafe {
                    assert_eq!(sys::cuEventCreate(&mut event, 0), sys::CUresult::CUDA_SUCCESS);
                    assert_eq!(sys::cuEventRecord(event, device.stream().raw()), sys::CUresult::CUDA_SUCCESS);
                    assert_eq!(sys::cuStreamWaitEvent(second.raw(), event, 0), sys::CUresult::CUDA_SUCCESS);
                }
            }
            let mut seen = vec![0f32; 1000];
            let bytes = 4 * seen.len();
            // SAFETY: there is room for the bytes, and they stay valid until the stream is
            // synchronised.
            let copied = unsafe {
                sys::cuMemcpyDtoHAsync_v2(seen.as_mut_ptr().cast::<c_void>(), b.ptr().0, bytes, second.raw())
            };
            assert_eq!(copied, sys::CUresult::CUDA_SUCCESS);
            runtime.synchronize(&second).unwrap();
            assert_eq!(seen[7], if ordered { -7.0 } else { 0.0 }, "ordered: {ordered}");
        }
    });
}

#[test]
fn a_capture_takes_what_can_be_repeated_and_refuses_what_cannot() {
    simulated("a_capture_takes_what_can_be_repeated_and_refuses_what_cannot", &[], || {
        let device = device();
        let (mut a, l) = (ramp(&device, 1000), Layout::contiguous(1000));
        let add = |a: &mut CudaStorage| CudaStorage::binary_into(BinaryOp::Add, Src::InPlace, Src::InPlace, a, &l);
        // The module is loaded and the first sum computed beforehand.
        add(&mut a).unwrap();
        let stream = device.stream().raw();
        let begin = || {
            let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
            // SAFETY: the stream belongs to the device.
            assert_eq!(unsafe { sys::cuStreamBeginCapture_v2(stream, mode) }, sys::CUresult::CUDA_SUCCESS);
        };
        let end = |graph: &mut sys::CUgraph| {
            // SAFETY: the out-parameter is a valid pointer.
            unsafe { sys::cuStreamEndCapture(stream, graph) }
        };
        let mut graph = std::ptr::null_mut();
        begin();
        add(&mut a).unwrap();
        add(&mut a).unwrap();
        assert_eq!(end(&mut graph), sys::CUresult::CUDA_SUCCESS);
        let mut exec = std::ptr::null_mut();
        // SAFETY: the graph is complete, and its memory is alive.
        unsafe {
            assert_eq!(sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0), sys::CUresult::CUDA_SUCCESS);
            assert_eq!(sys::cuGraphLaunch(exec, stream), sys::CUresult::CUDA_SUCCESS);
            assert_eq!(sys::cuGraphLaunch(exec, stream), sys::CUresult::CUDA_SUCCESS);
        }
        // Doubled once before the capture, not by the capture itself, and twice by each of two
        // launches.
        assert_eq!(a.to_vec::<f32>().unwrap()[3], 3.0 * 32.0);
        begin();
        fails(a.to_cpu_storage(), ErrorKind::CaptureViolation);
        assert_eq!(end(&mut graph), sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        works(&device);
    });
}
