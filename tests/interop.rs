//! Drivers of several vendors in one process, behind one type. The tests use real GPUs if the
//! machine has them; simulated GPUs run in a separate process.
#![cfg(all(feature = "cuda", feature = "rocm"))]

use isobit::{
    AnyDevice, AnyStorage, BackendDevice, BackendStorage, DType, DynDevice, ErrorKind, KernelCode, KernelSource,
    LaunchConfig, Layout, Shape, UnaryOp,
};
use std::process::Command;

#[test]
fn on_simulated_cards() {
    let installed =
        [isobit_simgpu_install::cuda(), isobit_simgpu_install::rocm()].map(|s| s.expect("the simulated GPU is built"));
    let mut path = installed[0].lib().into_os_string();
    for more in [Some(installed[1].lib().into_os_string()), std::env::var_os("LD_LIBRARY_PATH")].into_iter().flatten() {
        path.push(":");
        path.push(more);
    }
    for deferred in ["0", "1"] {
        let mut tests = Command::new(std::env::current_exe().expect("the path of this program"));
        tests.args(["--skip", "on_simulated_cards", "--nocapture"]).envs(installed[1].environment());
        tests.env("LD_LIBRARY_PATH", &path).env("ISOBIT_SIM_DEFER", deferred);
        let output = tests.output().expect("this program starts again");
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success(), "deferred {deferred}:\n{said}");
        assert!(!said.contains("skipped: ") && !said.contains("simulated GPU:"), "deferred {deferred}:\n{said}");
    }
}

/// Returns one GPU of each vendor, if this process has both.
fn cards() -> Option<[AnyDevice; 2]> {
    match [AnyDevice::new_cuda(0), AnyDevice::new_rocm(0)] {
        [Ok(cuda), Ok(rocm)] => Some([cuda, rocm]),
        _ => {
            println!("skipped: this machine does not have a GPU of each vendor");
            None
        }
    }
}

fn bits(storage: &AnyStorage) -> Vec<u32> {
    storage.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
}

#[test]
fn data_goes_round_all_drivers_and_keeps_its_bits() {
    let Some([cuda, rocm]) = cards() else { return };
    let host = AnyDevice::cpu();
    let object = AnyDevice::from_backend(DynDevice::from_backend(cuda.clone()));
    let values: Vec<f32> = [0x7fc0_1234, 0xff80_0000, 0x8000_0000, 1, 0x3f80_0001].map(f32::from_bits).to_vec();
    let mut at = vec![host.storage_from_slice(&values).unwrap()];
    for device in [&cuda, &rocm, &object, &rocm, &cuda, &object, &host] {
        let next = at.last().unwrap().to_device(device).unwrap();
        assert!(next.device().same_device(device));
        assert_eq!(next.device().location(), device.location());
        at.push(next);
    }
    let expected: Vec<u32> = values.iter().map(|x| x.to_bits()).collect();
    assert!(at.iter().all(|copy| bits(copy) == expected));
    assert!(!cuda.can_access_peer(&rocm) && !rocm.can_access_peer(&host) && cuda.can_access_peer(&cuda));

    let layout = Layout::contiguous(values.len());
    let error = at[1].binary(&layout, &at[2], &layout, isobit::BinaryOp::Add).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeviceMismatch);
    assert!(error.message().contains("cuda:0") && error.message().contains("rocm:0"), "{error}");
    // The operation gives the same bits on each device.
    let results: Vec<_> = at.iter().map(|copy| bits(&copy.unary(&layout, UnaryOp::Erf).unwrap())).collect();
    let same = |a: &[u32], b: &[u32]| {
        a.iter().zip(b).all(|(&a, &b)| a == b || [a, b].iter().all(|&x| f32::from_bits(x).is_nan()))
    };
    assert!(results.iter().all(|r| same(r, &results[0])), "{results:x?}");
}

#[test]
fn streams_of_one_driver_wait_for_events_of_another() {
    let Some([cuda, rocm]) = cards() else { return };
    let (theirs, event) = (rocm.new_stream().unwrap(), rocm.new_event().unwrap());
    let x = rocm.with_stream(&theirs, || rocm.storage_from_slice(&[2.0f32; 64])).unwrap();
    theirs.record(&event).unwrap();
    cuda.current_stream().unwrap().wait_event(&event).unwrap();
    assert!(event.query().unwrap(), "an event of another vendor's is waited for by the host");
    let error = cuda.enter_stream(&theirs).unwrap_err();
    assert_eq!((error.kind(), x.len()), (ErrorKind::DeviceMismatch, 64));
}

#[test]
fn a_kernel_is_launched_through_every_choice_of_driver() {
    let Some([cuda, rocm]) = cards() else { return };
    let text = r#"
        extern "C" __global__ void fill(unsigned* out, unsigned value, unsigned n) {
            unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) out[i] = value + i;
        }
        extern "C" __global__ void fill_at(unsigned long long out, unsigned value) {
            *(unsigned*)out = value;
        }
    "#;
    let source = KernelSource::new("fill.cu", text);
    let object = AnyDevice::from_backend(DynDevice::from_backend(rocm.clone()));
    for device in [cuda, rocm, object] {
        let load = |name| match device.get_or_load_custom_func(name, "fill", KernelCode::Source(&source)) {
            Err(e) if e.kind() == ErrorKind::LibraryUnavailable => None,
            func => Some(func.unwrap()),
        };
        // Nothing can be launched without a run-time compiler; the drivers' own tests require one.
        let Some(fill) = load("fill") else { continue };
        let mut out = device.zeros(&Shape::from(100), DType::U32).unwrap();
        let launch = fill.builder().arg_mut_at(&mut out, 20).value(7u32).value(70u32);
        // SAFETY: the argument types are those of the kernel, which writes elements 20 to 89 of
        // 100.
        unsafe { launch.launch(LaunchConfig::for_num_elems(70)) }.unwrap();
        let expected: Vec<u32> = (0..100).map(|i| if (20..90).contains(&i) { 7 + i - 20 } else { 0 }).collect();
        assert_eq!(out.to_vec::<u32>().unwrap(), expected);

        // A raw address does not say which device it belongs to.
        let address = out.device_ptr().unwrap() + 4;
        let fill_at = load("fill_at").unwrap();
        let launch = fill_at.builder::<AnyStorage>().value(address).value(9u32);
        // SAFETY: the kernel writes the second element of a live storage.
        unsafe { launch.launch(LaunchConfig::linear(1, 1)) }.unwrap();
        assert_eq!(out.to_vec::<u32>().unwrap()[..3], [0, 9, 0]);

        let elsewhere = AnyDevice::cpu().zeros(&Shape::from(100), DType::U32).unwrap();
        let launch = fill.builder().arg(&elsewhere).value(7u32).value(70u32);
        // SAFETY: the launch is rejected before anything runs.
        let refused = unsafe { launch.launch(LaunchConfig::linear(1, 64)) };
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::DeviceMismatch);
    }
}
