//! Large products: they pass on the CPU, a device with a wrong result is found, and the command
//! line runs them on a simulated GPU.

use isobit_conformance::products::large::{Options, run};
use isobit_hal::{
    BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, DeviceId, DeviceInfo, DeviceLocation, Layout,
    Numerics, Op, Result, Shape, Src, Support,
};
use std::time::Duration;

fn options(numerics: Numerics, dtypes: &[DType]) -> Options {
    let time = Duration::from_secs(600);
    Options { first: 0, products: 24, max_side: 160, dtypes: dtypes.to_vec(), numerics, seed: 5, time }
}

const DTYPES: [DType; 4] = [DType::F8E4M3, DType::BF16, DType::F16, DType::F32];

/// The CPU's products of whole operands are those of the rows and columns that are compared.
#[test]
fn the_cpu_passes() {
    for (numerics, dtypes) in [(Numerics::Block, &DTYPES[..]), (Numerics::Portable, &[DType::F64, DType::BF16])] {
        let outcome = run(&CpuDevice, &options(numerics, dtypes), |_| {}).unwrap();
        assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
        assert_eq!(outcome.products, 24);
        assert!(outcome.compared > outcome.results / 2 && outcome.whole > 0);
    }
}

#[test]
fn nothing_runs_when_the_time_is_up() {
    let outcome = run(&CpuDevice, &Options { time: Duration::ZERO, ..options(Numerics::Block, &DTYPES) }, |_| {});
    assert_eq!(outcome.unwrap().products, 0);
}

#[test]
fn dtypes_that_are_no_floats_are_refused() {
    let e = run(&CpuDevice, &options(Numerics::Block, &[DType::I32]), |_| {}).unwrap_err();
    assert!(e.to_string().contains("no product of i32"), "{e}");
}

/// A device that adds one to the bits of the last result of a product.
#[derive(Debug, Clone)]
struct OffByOne;

#[derive(Debug)]
struct Stored(CpuStorage);

impl BackendDevice for OffByOne {
    type Storage = Stored;

    fn new(_ordinal: usize) -> Result<Self> {
        Ok(OffByOne)
    }
    fn id(&self) -> DeviceId {
        CpuDevice.id()
    }
    fn location(&self) -> DeviceLocation {
        DeviceLocation { driver: "off-by-one", ordinal: 0 }
    }
    fn info(&self) -> Result<DeviceInfo> {
        CpuDevice.info()
    }
    fn supports(&self, op: &Op, dtypes: &[DType]) -> Support {
        CpuDevice.supports(op, dtypes)
    }
    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<Stored> {
        Ok(Stored(CpuStorage::zeros(shape.elem_count(), dtype)?))
    }
    fn storage_from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<Stored> {
        Ok(Stored(CpuStorage::from_bytes(dtype, bytes)?))
    }
    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

impl BackendStorage for Stored {
    type Device = OffByOne;

    fn dtype(&self) -> DType {
        self.0.dtype()
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn device(&self) -> &OffByOne {
        &OffByOne
    }
    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        self.0.to_cpu_storage()
    }
    fn write_bytes(&mut self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.0.write_bytes(offset, bytes)
    }

    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, layout: &Layout) -> Result<()> {
        let srcs: Vec<Src<'_, CpuStorage>> =
            inputs.iter().map(|input| input.try_map(|s| Ok(&s.0))).collect::<Result<_>>()?;
        CpuStorage::apply_into(op, &srcs, &mut dst.0, layout)?;
        if matches!(op, Op::Matmul(_)) {
            let last = layout.dims().iter().zip(layout.stride()).map(|(n, stride)| (n - 1) * stride).sum::<usize>();
            let size = dst.0.dtype().size_in_bytes();
            dst.0.as_bytes_mut()[(layout.start_offset() + last) * size] ^= 1;
        }
        Ok(())
    }
}

/// The corners are among what is compared, however little that is.
#[test]
fn one_wrong_result_is_found_and_named() {
    let outcome = run(&OffByOne, &options(Numerics::Block, &DTYPES), |_| {}).unwrap();
    // A NaN with another payload is the same.
    assert!(outcome.failures.len() > 18, "{}", outcome.failures.len());
    for failure in &outcome.failures {
        assert_eq!(failure.differing, 1);
        let text = failure.to_string();
        assert!(text.starts_with(&format!("product {}, ", failure.index)) && text.contains("block, "), "{text}");
        // A product runs alone by its index, and has the same failure.
        let alone = Options { first: failure.index, products: 1, ..options(Numerics::Block, &DTYPES) };
        let again = run(&OffByOne, &alone, |_| {}).unwrap();
        assert_eq!(again.failures[0].to_string(), text);
    }
}

#[cfg(all(feature = "cli", feature = "cuda"))]
#[test]
fn a_simulated_card_passes_through_the_command_line() {
    use std::process::Command;

    let simulators = std::env::var_os("ISOBIT_SIMGPU").unwrap_or_else(|| isobit_simgpu_install::all().unwrap().into());
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isobit-conformance"));
        command.arg("products").args(args).env("ISOBIT_SIMGPU", &simulators).output().unwrap()
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let done = run(&["large", "--device", "sim-cuda", "--products", "8", "--max-side", "90"]);
    let shown = text(&done.stdout);
    assert!(done.status.success(), "{shown}{}", text(&done.stderr));
    assert!(shown.contains("8 block products") && shown.contains("differ from the CPU's: 0"), "{shown}");
    let refused = run(&["large", "--device", "sim-cuda", "--dtypes", "f32,i32"]);
    assert_eq!(refused.status.code(), Some(1), "the program that was started again refused");
    assert!(text(&refused.stderr).contains("i32 is none of the dtypes"), "{}", text(&refused.stderr));
}
