//! Matrix units of AMD are used only on a card that has passed a test of them.

use super::matrix_unit::check_one;
use super::{Device, device, works};
use isobit_hal::{BackendDevice, BackendStorage, DType, Layout, Matmul, Numerics};
use isobit_kernels::{CompilerRuntime, GpuRuntime, SOURCES_VARIABLE, Target};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

const DTYPES: [DType; 5] = [DType::F8E4M3, DType::F16, DType::BF16, DType::F32, DType::F64];

fn arch(device: &Device) -> String {
    device.runtime().arch().split(':').next().unwrap_or_default().to_owned()
}

/// Returns a device that tests its units.
fn tested() -> Option<Device> {
    device().filter(|device| ["gfx90a", "gfx942"].contains(&arch(device).as_str()))
}

/// Of the runtime of a device.
fn target<R: GpuRuntime>(_runtime: &R) -> Target {
    R::TARGET
}

/// If this fails on an AMD card, its units do not compute chains, which would be the first such
/// card.
#[test]
fn units_that_pass_are_used() {
    let Some(device) = device() else { return };
    let work = || (device.counters().launches, device.pool_stats());
    let before = work();
    let on = DTYPES.map(|dtype| device.uses_matrix_unit(dtype));
    assert_eq!(work(), before, "the test of units is not the user's work");
    let expected = match (target(device.runtime()), arch(&device).as_str()) {
        (Target::Nvptx, "sm_80" | "sm_90" | "sm_100") => [false, false, false, false, true],
        (Target::Amdgcn, "gfx90a" | "gfx942") => [true; 5],
        _ => [false; 5],
    };
    assert_eq!(on, expected, "{}", arch(&device));
    assert!(!device.uses_matrix_unit(DType::I32));
    works(&device);
}

#[test]
fn threads_that_ask_at_once_get_one_answer() {
    let Some(device) = tested() else { return };
    std::thread::scope(|scope| {
        let ask = || assert!(device.uses_matrix_unit(DType::F32) && device.uses_matrix_unit(DType::F64));
        (0..8).for_each(|_| drop(scope.spawn(ask)));
    });
}

/// A test in a capture would be part of the graph, or end it with an error.
#[test]
fn a_capture_leaves_units_untested() {
    let Some(device) = tested() else { return };
    const SIDE: usize = 40;
    let layout = Layout::contiguous([SIDE, SIDE]);
    let values: Vec<f32> = (0..SIDE * SIDE).map(|i| (i % 7) as f32).collect();
    let x = device.storage_from_slice(&values).unwrap();
    let expected = x.matmul(&layout, &x, &layout, Matmul::with_numerics(Numerics::Vendor)).unwrap();
    let out = Arc::new(Mutex::new(None));
    let (step_device, step_out) = (device.clone(), out.clone());
    let mut graph = device
        .capture(move || {
            assert!(!step_device.uses_matrix_unit(DType::F32), "it has not been tested before");
            let product = x.matmul(&layout, &x, &layout, Matmul::with_numerics(Numerics::Portable))?;
            *step_out.lock().unwrap() = Some(product);
            Ok(())
        })
        .unwrap();
    graph.replay().unwrap();
    assert!(device.uses_matrix_unit(DType::F32), "it is tested after the capture");
    // Small integers are exact in any order.
    let product = out.lock().unwrap().take().unwrap();
    assert_eq!(product.to_vec::<f32>().unwrap(), expected.to_vec::<f32>().unwrap());
}

/// Tells a test that it runs as a process with other kernels: the type whose unit is changed.
const CHILD: &str = "ISOBIT_TEST_UNIT";

/// The device compiles a unit that adds the products of a step to each other before it adds them to
/// the sum, as units of other kinds do.
#[test]
fn a_unit_that_fails_is_not_used() {
    let Some(device) = tested() else { return };
    if let Ok(changed) = std::env::var(CHILD) {
        let is_changed = |dtype| (dtype == DType::F64) == (changed == "double");
        for dtype in DTYPES {
            assert_eq!(device.uses_matrix_unit(dtype), !is_changed(dtype), "{dtype}, {changed} changed");
        }
        check_one::<f32>(&device);
        return check_one::<f64>(&device);
    }
    if let Err(why) = device.runtime().compiler() {
        return eprintln!("skipped: this test compiles kernels ({why})");
    }
    let source = include_str!("../../src/device_lib/fma_unit.cuh");
    for (ty, unit) in [("float", "mfma_f32_32x32x2f32"), ("double", "mfma_f64_16x16x4f64")] {
        let line = format!("{unit}(a, b, sum, 0, 0, 0);");
        assert_eq!(source.matches(&line).count(), 1, "{line}");
        let changed = source.replace(&line, &format!("{unit}(a, b, WaveSums<{ty}>{{}}, 0, 0, 0) + sum;"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("unit-{ty}-{}", std::process::id()));
        let file = folder.join("device_lib/fma_unit.cuh");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, changed).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["a_unit_that_fails_is_not_used", "--nocapture"]).env(CHILD, ty).env(SOURCES_VARIABLE, &folder);
        let output = child.output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }
}
