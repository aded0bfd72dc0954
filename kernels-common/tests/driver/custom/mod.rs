//! Custom kernels: one source for every vendor, its results, rejected calls, and how often it is
//! compiled.

mod refused;

use super::{Device, Storage, device, fails, works};
use isobit_hal::kernel::KernelValue;
use isobit_hal::{
    BackendDevice, BackendStorage, CpuDevice, DType, ErrorKind, Func, KernelCode, KernelSource, LaunchConfig, Layout,
    UnaryOp, WithDType, f16,
};
use isobit_kernels::{CACHE_VARIABLE, CompilerRuntime, GpuFunc, GpuRuntime, KERNELS};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the device, if it has a run-time compiler.
pub fn compiling() -> Option<Device> {
    let device = device()?;
    match device.runtime().compiler() {
        Ok(_) => Some(device),
        Err(why) => {
            assert!(std::env::var_os("ISOBIT_NVRTC").is_none() && std::env::var_os("CI").is_none(), "{why}");
            eprintln!("skipped: there is no run-time compiler: {why}");
            None
        }
    }
}

const FUNCTIONS: &str = r#"
#include <isobit.cuh>

#define SILU(NAME, T)                                                                                                  \
    ISOBIT_KERNEL(256) NAME(isobit::T *y, const isobit::T *x, isobit::u64 n) {                                         \
        for (isobit::u64 i = isobit::first_element(); i < n; i += isobit::all_threads())                               \
            y[i] = isobit::silu(x[i]);                                                                                 \
    }
SILU(silu_f16, f16)
SILU(silu_f32, f32)
SILU(silu_f64, f64)
"#;

fn has_the_hosts_bits<T: WithDType>(device: &Device, name: &str, values: &[T]) {
    let func = device.compile(name, &KernelSource::new("functions.cu", FUNCTIONS)).unwrap();
    let (n, l) = (values.len(), Layout::contiguous(values.len()));
    let x = device.storage_from_slice(values).unwrap();
    let mut y = device.zeros(&n.into(), T::DTYPE).unwrap();
    let launch = func.builder().arg_mut(&mut y).arg(&x).value(n as u64);
    // SAFETY: the kernel takes these arguments and writes fewer than n elements.
    unsafe { launch.launch(LaunchConfig::for_num_elems(n / 3)) }.unwrap();
    let host = CpuDevice.storage_from_slice(values).unwrap().unary(&l, UnaryOp::Silu).unwrap();
    let same = y.to_cpu_storage().unwrap().as_bytes().iter().eq(host.as_bytes());
    assert!(same, "{name} differs from the host's silu");
}

#[test]
fn one_source_gives_the_hosts_bits() {
    let Some(device) = compiling() else { return };
    // Every finite f16, and the same number of values of the other dtypes, spread over their
    // exponents. The NaN that an f16 NaN becomes is not defined.
    let narrow: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).filter(|x| !x.is_nan()).step_by(7).collect();
    has_the_hosts_bits(&device, "silu_f16", &narrow);
    let single: Vec<f32> =
        (0..4099u32).map(|i| f32::from_bits(i.wrapping_mul(1_048_573))).filter(|x| !x.is_nan()).collect();
    has_the_hosts_bits(&device, "silu_f32", &single);
    let double: Vec<f64> = single.iter().map(|&x| f64::from(x) * 1.000000123).collect();
    has_the_hosts_bits(&device, "silu_f64", &double);
}

const MIX: &str = r#"
#include <isobit.cuh>

struct Scale {
    double factor;
    int shift;
};

// y[i] = x[n - 1 - i] * h * factor + shift + small + wide; x is reversed in shared memory.
ISOBIT_KERNEL(64) mix(float *y, const float *x, isobit::f16 h, Scale scale, isobit::u8 small, isobit::i64 wide, float add) {
    extern __shared__ float turned[];
    const isobit::u32 i = isobit::thread_x(), last = isobit::block_dim_x() - 1;
    turned[last - i] = x[i];
    isobit::barrier();
    y[i] = (float)(turned[i] * isobit::to_f32(h) * scale.factor + scale.shift + small + (double)wide) + add;
}
"#;

/// `Scale` in the layout of the kernel.
fn scale() -> KernelValue {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&2.0f64.to_ne_bytes());
    bytes[8..12].copy_from_slice(&(-7i32).to_ne_bytes());
    KernelValue::from_bytes(&bytes)
}

fn mixed(block: u32) -> LaunchConfig {
    LaunchConfig { shared_bytes: 4 * block, ..LaunchConfig::linear(1, block) }
}

#[test]
fn numbers_structures_offsets_and_shared_memory_arrive() {
    let Some(device) = compiling() else { return };
    let func = device.compile("mix", &KernelSource::new("mix.cu", MIX)).unwrap();
    assert_eq!((func.name(), func.device(), func.max_threads_per_block()), ("mix", device.id(), Some(64)));
    let sizes: Vec<_> = func.params().expect("the code tells them").iter().map(|p| p.size).collect();
    assert_eq!(sizes, [8, 8, 2, 16, 1, 8, 4]);
    let x = device.storage_from_slice(&(0..40).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    let mut y = device.zeros(&40usize.into(), DType::F32).unwrap();
    let launch = func.builder().arg_mut_at(&mut y, 3).arg_at(&x, 8).value(f16::from_f32(1.5)).value(scale());
    let launch = launch.value(200u8).value(-(1i64 << 20)).value(0.25f32);
    // SAFETY: the kernel takes these arguments, and 32 elements from 3 and from 8 are in bounds.
    unsafe { launch.launch(mixed(32)) }.unwrap();
    let y = y.to_vec::<f32>().unwrap();
    for (i, &y) in y.iter().enumerate() {
        // Multiples of a quarter below 2^24 are exact in f32.
        let of = |i: usize| (8 + 31 - i) as f32 * 3.0 - 7.0 + 200.0 - 1048576.0 + 0.25;
        assert_eq!(y, if (3..35).contains(&i) { of(i - 3) } else { 0.0 }, "{i}");
    }
}

/// A source with two kernels, one of which adds an argument and an offset to each element.
fn add(name: &str, offset: &str) -> KernelSource {
    let text = r#"
#include <isobit.cuh>
ISOBIT_KERNEL(128) add(float *y, float x) { y[isobit::thread_x()] += x + OFFSET; }
extern "C" __global__ void other(float *y) { y[0] = 0; }
"#;
    KernelSource::new(name, text.replace("OFFSET", offset))
}

/// Returns its result for four elements that are 1 and the argument 0.5.
fn added(device: &Device, module: &str, offset: &str) -> (Func, Vec<f32>) {
    let source = add(module, offset);
    let func = device.get_or_load_custom_func("add", module, KernelCode::Source(&source)).unwrap();
    let mut y = device.storage_from_slice(&[1f32; 4]).unwrap();
    // SAFETY: four threads write four elements.
    unsafe { func.builder().arg_mut(&mut y).value(0.5f32).launch(LaunchConfig::linear(1, 4)) }.unwrap();
    (func, y.to_vec().unwrap())
}

/// Identifies the function and its loaded module.
fn handle(device: &Device, func: &Func) -> String {
    fn of<R: GpuRuntime>(_: &R, func: &Func) -> String {
        format!("{:?}", func.downcast_ref::<GpuFunc<R>>().expect("it is this driver's").function())
    }
    of(device.runtime(), func)
}

#[test]
fn content_names_a_module_and_the_name_does_not() {
    let Some(device) = compiling() else { return };
    let (first, y) = added(&device, "one name", "1.0f");
    assert_eq!(y, [2.5; 4]);
    let (second, y) = added(&device, "one name", "2.0f");
    assert_eq!(y, [3.5; 4], "the source was changed under the name of a module");
    let (third, _) = added(&device, "another name", "1.0f");
    assert_ne!(handle(&device, &first), handle(&device, &second));
    assert_eq!(handle(&device, &first), handle(&device, &third), "the same source was loaded twice");
    drop((first, second, third));
    works(&device);
}

#[test]
fn threads_that_want_one_source_compile_it_once() {
    let Some(device) = compiling() else { return };
    let handles: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..12).map(|_| scope.spawn(|| handle(&device, &added(&device, "threads.cu", "4.0f").0))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(handles.iter().all(|h| *h == handles[0]), "{handles:?}");
    let counters = device.counters();
    assert_eq!(counters.compiles + counters.compile_hits, 1, "{counters:?}");
}

/// Tells a test that it runs as the second process, and which source it compiles.
const CHILD: &str = "ISOBIT_TEST_COMPILE";

#[test]
fn a_second_process_finds_what_the_first_compiled() {
    if let Ok(offset) = std::env::var(CHILD) {
        let device = compiling().expect("the first process found a compiler");
        let (_, y) = added(&device, "on_disk.cu", &offset);
        println!("sources compiled: {}", device.counters().compiles);
        return assert_eq!(y, [1.5 + offset.parse::<f32>().unwrap(); 4]);
    }
    if compiling().is_none() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("compiled-{}", std::process::id()));
    // Each file, with values that tell whether it was written again.
    let run = |offset: &str, compiles: u64| -> BTreeMap<PathBuf, (u64, i64)> {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["a_second_process_finds_what_the_first_compiled", "--nocapture"]);
        let output = child.env(CHILD, offset).env(CACHE_VARIABLE, &folder).output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        assert!(said.contains(&format!("sources compiled: {compiles}")), "{said}");
        let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap());
        let written = |file: std::fs::DirEntry| {
            let data = file.metadata().unwrap();
            (file.path(), (data.ino(), data.mtime_nsec()))
        };
        files.map(written).collect()
    };
    let first = run("1", 1);
    assert_eq!(first.len(), 1);
    assert_eq!(run("1", 0), first, "the second process compiled again");
    let second = run("2", 1);
    assert_eq!(second.len(), 2, "a changed source is other code");
    assert!(first.iter().all(|(path, written)| second.get(path) == Some(written)));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn headers_and_options_of_a_users_own_are_seen() {
    let Some(device) = compiling() else { return };
    let text = "#include <isobit.cuh>\n#include \"mine/number.h\"\nextern \"C\" __global__ void k(int *y) { *y = NUMBER + SUMMAND; }";
    let source =
        KernelSource::new("k.cu", text).with_header("mine/number.h", "#define NUMBER 40").with_option("-DSUMMAND=2");
    let run = |source: &KernelSource| {
        let func = device.compile("k", source).unwrap();
        let mut y = device.storage_from_slice(&[0i32]).unwrap();
        // SAFETY: one thread writes one element.
        unsafe { func.builder().arg_mut(&mut y).launch(LaunchConfig::linear(1, 1)) }.unwrap();
        y.to_vec::<i32>().unwrap()[0]
    };
    assert_eq!(run(&source), 42);
    let other =
        KernelSource::new("k.cu", text).with_header("mine/number.h", "#define NUMBER 50").with_option("-DSUMMAND=2");
    assert_eq!(run(&other), 52);
    let other =
        KernelSource::new("k.cu", text).with_header("mine/number.h", "#define NUMBER 40").with_option("-DSUMMAND=3");
    assert_eq!(run(&other), 43);
    let twice = source.clone().with_header("mine/number.h", "#define NUMBER 1");
    fails(device.compile("k", &twice), ErrorKind::InvalidArgument);
    // A header with the name of a tree header replaces it.
    let shadow = KernelSource::new("k.cu", text.replace("mine/number.h", "device_lib/bits.cuh"));
    let shadow =
        shadow.with_header("device_lib/bits.cuh", "#pragma once\n#define NUMBER 60").with_option("-DSUMMAND=4");
    assert_eq!(run(&shadow), 64);
}

/// Plain CUDA C++ without the dialect: thread t writes its number at that distance from the end of
/// shared memory.
const FAR: &str = r#"
extern "C" __global__ void far(float *y, unsigned words) {
    extern __shared__ float many[];
    many[words - 1 - threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = many[words - blockDim.x + threadIdx.x];
}
"#;

#[test]
fn shared_memory_beyond_the_default_is_asked_for() {
    let Some(device) = compiling() else { return };
    let func = device.compile("far", &KernelSource::new("far.cu", FAR)).unwrap();
    let mut y = device.zeros(&64usize.into(), DType::F32).unwrap();
    // Every card has 64 KiB: AMD's by default, NVIDIA's on request (48 KiB by default). Smaller
    // sizes are requested first and last.
    for bytes in [1u32 << 10, 1 << 16, 1 << 12] {
        let config = LaunchConfig { shared_bytes: bytes, ..LaunchConfig::linear(1, 64) };
        // SAFETY: 64 threads write 64 elements, and the last 64 words of the requested shared
        // memory.
        unsafe { func.builder().arg_mut(&mut y).value(bytes / 4).launch(config) }.unwrap();
        assert!(y.to_vec::<f32>().unwrap().iter().enumerate().all(|(i, &y)| y == (63 - i) as f32), "{bytes} bytes");
    }
    let config = LaunchConfig { shared_bytes: 1 << 20, ..LaunchConfig::linear(1, 64) };
    // SAFETY: the launch is rejected.
    let refused = unsafe { func.builder().arg_mut(&mut y).value(1u32 << 18).launch(config) };
    let error = fails(refused, ErrorKind::InvalidArgument);
    assert!(
        error.message().contains("1048576 bytes of dynamic shared memory")
            && error.message().contains("the device has"),
        "{error}"
    );
    works(&device);
}

/// A kernel with 1 KiB of shared memory of its own.
const OWN: &str = r#"
extern "C" __global__ void far(float *y, unsigned words) {
    __shared__ float own[256];
    extern __shared__ float many[];
    own[threadIdx.x] = threadIdx.x;
    __syncthreads();
    many[words - 1 - threadIdx.x] = own[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = many[words - blockDim.x + threadIdx.x];
}
"#;

#[test]
fn a_kernels_own_shared_memory_counts() {
    let Some(device) = compiling() else { return };
    let func = device.compile("far", &KernelSource::new("own.cu", OWN)).unwrap();
    let mut y = device.zeros(&64usize.into(), DType::F32).unwrap();
    let mut launch = |bytes: u32| {
        let config = LaunchConfig { shared_bytes: bytes, ..LaunchConfig::linear(1, 64) };
        // SAFETY: 64 threads write 64 elements, their own words of shared memory, and the last 64
        // words of the requested shared memory.
        unsafe { func.builder().arg_mut(&mut y).value(bytes / 4).launch(config) }
    };
    // The first size that is too large is refused by the check, which says why, and not by the
    // vendor's driver.
    let most = (1..=256).map(|kib| kib << 10).take_while(|&bytes| launch(bytes).is_ok()).last().unwrap();
    let error = fails(launch(most + 1024), ErrorKind::InvalidArgument);
    assert!(error.message().contains("in addition to the kernel's own 1024"), "{error}");
    launch(most).unwrap();
    assert!(y.to_vec::<f32>().unwrap().iter().enumerate().all(|(i, &y)| y == (63 - i) as f32), "{most} bytes");
    works(&device);
}

#[test]
fn kernels_of_the_tree_are_had_by_name() {
    let Some(device) = device() else { return };
    let name = "neg_f32";
    assert!(KERNELS.iter().any(|k| k.symbol == name));
    let func = device.get_or_load_func(name).unwrap();
    let kinds: Vec<_> = func.params().expect("the code tells them").iter().map(|p| p.size).collect();
    assert_eq!(kinds, [8, 8, 8]);
    let x: Storage = super::ramp(&device, 1000);
    let mut y = device.zeros(&1000usize.into(), DType::F32).unwrap();
    // SAFETY: the kernel takes a destination, a source and their length.
    unsafe { func.builder().arg_mut(&mut y).arg(&x).value(1000u64).launch(LaunchConfig::linear(2, 256)) }.unwrap();
    assert!(y.to_vec::<f32>().unwrap().iter().enumerate().all(|(i, &y)| y == -(i as f32)));
    assert_eq!(format!("{:?}", device.get_or_load_func_raw(name).unwrap()), handle(&device, &func));
    let error = fails(device.get_or_load_func("neg_f33"), ErrorKind::KernelMissing);
    assert!(error.message().contains("neg_f32"), "{error}");
}
