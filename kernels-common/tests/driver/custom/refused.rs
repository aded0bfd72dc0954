//! Rejected custom kernels: the errors, and that the device still works afterwards.

use super::super::{Device, device, fails, ramp, works};
use super::{MIX, add, compiling, mixed, scale};
use isobit_hal::kernel::{KernelValue, ParamKind};
use isobit_hal::{
    BackendDevice, BackendStorage, DType, Error, ErrorKind, Func, KernelCode, KernelSource, LaunchConfig, f16,
};
use isobit_kernels::{GpuRuntime, IMAGES, KERNELS, Target};

fn target<R: GpuRuntime>(_: &R) -> Target {
    R::TARGET
}

/// Returns the whole chain of error sources.
fn causes(error: &Error) -> String {
    let first = std::error::Error::source(error);
    std::iter::successors(first, |e| e.source()).map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Launches `mix` with one argument replaced.
fn with(device: &Device, func: &Func, place: usize, value: Option<KernelValue>) -> isobit_hal::Result<()> {
    let x = device.storage_from_slice(&[1f32; 4]).unwrap();
    let mut y = device.storage_from_slice(&[1f32; 4]).unwrap();
    let values = [f16::ONE.into(), scale(), 1u8.into(), 1i64.into(), 1f32.into()];
    let mut launch = func.builder().arg_mut(&mut y);
    launch = if place == 1 { launch.value(value.clone().expect("a value in place of x")) } else { launch.arg(&x) };
    for (i, own) in (2..).zip(values) {
        match &value {
            Some(other) if i == place => launch = launch.value(other.clone()),
            None if i == place => launch = launch.arg(&x),
            _ => launch = launch.value(own),
        }
    }
    // SAFETY: the arguments are right, or the launch is rejected.
    unsafe { launch.launch(mixed(4)) }
}

#[test]
fn arguments_that_do_not_suit_the_kernel_are_refused() {
    let Some(device) = compiling() else { return };
    let func = device.compile("mix", &KernelSource::new("mix.cu", MIX)).unwrap();
    let refused = |place, value: Option<KernelValue>, says: &str| {
        let error = fails(with(&device, &func, place, value), ErrorKind::InvalidArgument);
        assert!(error.message().contains(&format!("argument {place}")) && error.message().contains(says), "{error}");
        assert!(error.kernel() == Some("mix") && error.device() == Some(&device.location()), "{error}");
    };
    with(&device, &func, 2, Some(f16::ONE.into())).unwrap();
    refused(2, Some(1.0f32.into()), "2 bytes");
    refused(3, Some(KernelValue::from_bytes(&[0; 12])), "padding");
    refused(5, Some(1i32.into()), "8 bytes");
    refused(6, Some(1f64.into()), "4 bytes");
    refused(3, None, "a storage was given");
    refused(6, None, "a storage was given");
    refused(1, Some(1.0f32.into()), "address");
    // PTX contains this information, the metadata of AMD code objects does not.
    let told = |place: usize| func.params().unwrap()[place].kind;
    if told(6) == ParamKind::Float {
        refused(6, Some(1u32.into()), "floating-point");
        refused(5, Some(1f64.into()), "integer");
    }
    if told(1) == ParamKind::Pointer {
        refused(1, Some(1u64.into()), "KernelValue::from_bytes");
        refused(1, Some(1f64.into()), "address");
    }
    let mut y = device.storage_from_slice(&[1f32; 4]).unwrap();
    // SAFETY: the launch is rejected.
    let few = unsafe { func.builder().arg_mut(&mut y).launch(mixed(4)) };
    assert!(fails(few, ErrorKind::InvalidArgument).message().contains("takes 7 arguments, 1 were given"));
    let func = device.compile("add", &add("add.cu", "0")).unwrap();
    // SAFETY: the launch is rejected.
    let beyond = unsafe { func.builder().arg_mut_at(&mut y, 5).value(1f32).launch(LaunchConfig::linear(1, 1)) };
    assert!(fails(beyond, ErrorKind::InvalidArgument).message().contains("beyond a storage of 4 elements"));
    let other = Device::new(0).unwrap();
    let mut elsewhere = other.storage_from_slice(&[1f32; 4]).unwrap();
    // SAFETY: the launch is rejected.
    let mismatched = unsafe { func.builder().arg_mut(&mut elsewhere).value(1f32).launch(LaunchConfig::linear(1, 1)) };
    fails(mismatched, ErrorKind::DeviceMismatch);
    works(&device);
    works(&other);
}

#[test]
fn code_that_cannot_be_used_says_why() {
    let Some(device) = compiling() else { return };
    let source = |text: &str| KernelSource::new("wrong.cu", text);
    let error = fails(
        device.compile("f", &source("extern \"C\" __global__ void f() {\n  nothing_of_that_name();\n}")),
        ErrorKind::CompileFailed,
    );
    assert!(error.message().contains("wrong.cu") && error.message().contains("nothing_of_that_name"), "{error}");
    assert!(causes(&error).contains("nothing_of_that_name"), "{}", causes(&error));
    assert_eq!(error.device(), Some(&device.location()));
    let error = fails(device.compile("absent", &add("add.cu", "0")), ErrorKind::KernelMissing);
    assert!(error.message().contains("add") && error.message().contains("other"), "{error}");
    assert_eq!(error.kernel(), Some("absent"));
    let error = fails(
        device.compile("f", &source("extern \"C\" __global__ void f() {}").with_option("--no-such-option")),
        ErrorKind::InvalidArgument,
    );
    assert!(causes(&error).contains("no-such-option"), "{error}: {}", causes(&error));
    fails(device.compile("f", &source("extern \"C\" __global__ void f() {}\0")), ErrorKind::InvalidArgument);
    fails(device.compile("f\0", &source("extern \"C\" __global__ void f() {}")), ErrorKind::InvalidArgument);
    let binary = |bytes: &[u8]| device.get_or_load_custom_func("f", "binary", KernelCode::Binary(bytes)).map(drop);
    for junk in [&b""[..], b"junk", b"\x7fELF", &[0xff; 4096]] {
        fails(binary(junk), ErrorKind::InvalidArgument);
    }
    works(&device);
}

#[test]
fn configurations_beyond_the_limits_are_refused() {
    let Some(device) = compiling() else { return };
    let func = device.compile("add", &add("add.cu", "0")).unwrap();
    let limits = device.info().unwrap().limits.expect("a GPU has limits");
    let mut y = device.zeros(&128usize.into(), DType::F32).unwrap();
    let mut launch = |grid, block, shared_bytes| {
        let config = LaunchConfig { grid, block, shared_bytes };
        // SAFETY: the launch is rejected, or 128 threads write 128 elements.
        unsafe { func.builder().arg_mut(&mut y).value(1f32).launch(config) }
    };
    launch([1; 3], [128, 1, 1], 0).unwrap();
    for (grid, block, shared) in [
        ([0, 1, 1], [1, 1, 1], 0),
        ([1, 0, 1], [1, 1, 1], 0),
        ([1, 1, 1], [0, 1, 1], 0),
        ([1, 1, 1], [129, 1, 1], 0),
        ([1, 1, 1], [limits.max_threads_per_block + 1, 1, 1], 0),
        ([1, 1, limits.max_grid_yz + 1], [1, 1, 1], 0),
        ([1, 1, 1], [1, 1, 1], u32::MAX),
        ([1, 1, 1], [1, 1, 1], 1 << 20),
    ] {
        let error = fails(launch(grid, block, shared), ErrorKind::InvalidArgument);
        assert_eq!(error.kernel(), Some("add"), "{error}");
    }
    launch([1; 3], [128, 1, 1], limits.shared_memory_per_block).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [2.0; 128]);
    works(&device);
}

#[test]
fn code_of_the_vendors_own_is_loaded_and_the_others_refused() {
    let Some(device) = device() else { return };
    let load = |code| device.get_or_load_custom_func("neg_f32", "given", code);
    let module = KERNELS.iter().find(|k| k.symbol == "neg_f32").expect("it is in the tree").module;
    let image = &IMAGES[module];
    let Some(code) = image.code_for(target(device.runtime()), device.runtime().arch()) else {
        eprintln!("skipped: this build packs no code for {}", device.runtime().arch());
        return;
    };
    let func = match target(device.runtime()) {
        Target::Nvptx => {
            let text = String::from_utf8(code).unwrap();
            fails(load(KernelCode::Ptx(&text)), ErrorKind::InvalidArgument);
            let text = text.trim_end_matches('\0');
            fails(load(KernelCode::Binary(text.as_bytes())), ErrorKind::InvalidArgument);
            load(KernelCode::Ptx(text)).unwrap()
        }
        Target::Amdgcn => {
            fails(load(KernelCode::Ptx(".version 7.0")), ErrorKind::InvalidArgument);
            fails(load(KernelCode::Binary(&code[..code.len() / 2])), ErrorKind::InvalidArgument);
            load(KernelCode::Binary(&code)).unwrap()
        }
    };
    let x = ramp(&device, 10);
    let mut y = device.zeros(&10usize.into(), DType::F32).unwrap();
    // SAFETY: the kernel takes a destination, a source and their length.
    unsafe { func.builder().arg_mut(&mut y).arg(&x).value(10u64).launch(LaunchConfig::linear(1, 256)) }.unwrap();
    assert!(y.to_vec::<f32>().unwrap().iter().enumerate().all(|(i, &y)| y == -(i as f32)));
    works(&device);
}
