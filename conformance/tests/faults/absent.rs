//! Libraries and functions that are not there, and faults of the variable, which a process reads
//! before its first call.

use crate::bench::works;
use crate::card::Card;
use crate::child::{Ended, command, run as start};
use crate::row::Row;
use isobit::{AnyDevice, BackendDevice as _, BackendStorage as _, KernelSource, Layout, Matmul, Result};
use std::path::Path;

/// Opens the device and computes. The row has the kind of the error, and its text.
pub fn opens(card: &'static Card) -> Vec<Row> {
    let opened = AnyDevice::open(card.opened_as).and_then(|device| works(&device));
    vec![told(opened, String::new())]
}

/// Multiplies matrices with the vendor's library.
pub fn products(card: &'static Card) -> Vec<Row> {
    let device = AnyDevice::open(card.opened_as).expect("the simulated card opens");
    let product = || -> Result<()> {
        let (storage, layout) = (device.storage_from_slice(&[2f32; 64])?, Layout::contiguous([8, 8]));
        let found = storage.matmul(&layout, &storage, &layout, Matmul::default())?.to_vec::<f32>()?;
        assert!(found.iter().all(|x| *x == 32.0), "{found:?}");
        Ok(())
    };
    multiplied(&device, product)
}

/// Runs a product twice, and tells how often the library was called.
fn multiplied(device: &AnyDevice, product: impl Fn() -> Result<()>) -> Vec<Row> {
    let done = product().and_then(|()| product());
    let counters = device.counters();
    vec![told(done, format!("{} calls, {} fallbacks", counters.vendor_calls, counters.vendor_fallbacks))]
}

/// Multiplies matrices of bytes with the vendor's library.
pub fn products_of_bytes(card: &'static Card) -> Vec<Row> {
    let device = AnyDevice::open(card.opened_as).expect("the simulated card opens");
    let product = || -> Result<()> {
        let (storage, layout) = (device.storage_from_slice(&[-2i8; 64])?, Layout::contiguous([8, 8]));
        let found = storage.matmul_integer(&layout, &storage, &layout, [None, None])?.to_vec::<i32>()?;
        assert!(found.iter().all(|x| *x == 32), "{found:?}");
        Ok(())
    };
    multiplied(&device, product)
}

/// Compiles a kernel.
pub fn compiles(card: &'static Card) -> Vec<Row> {
    let device = AnyDevice::open(card.opened_as).expect("the simulated card opens");
    let source = KernelSource::new("k.cu", "extern \"C\" __global__ void k(int *x) { *x = 1; }");
    let done = device.compile("k", &source).map(drop);
    works(&device).expect("the device works without a compiler");
    vec![told(done, String::new())]
}

fn told(done: Result<()>, otherwise: String) -> Row {
    let flat = |text: String| text.replace(['\n', '|'], " ");
    match done {
        Ok(()) => Row::new("told", "", "works", otherwise),
        Err(e) => Row::new("told", "", format!("{:?}", e.kind()), flat(format!("{e:?}"))),
    }
}

/// Asserts the one row of a process: the outcome, and words of the text.
#[track_caller]
fn tells(ended: Ended, outcome: &str, words: &[&str]) {
    let said = ended.said.clone();
    let rows = ended.passes();
    let [row] = &rows[..] else { panic!("{said}") };
    assert_eq!(row.outcome, outcome, "{said}");
    assert!(words.iter().all(|words| row.checked.contains(words)), "{words:?}: {said}");
}

/// Returns a folder with the vendor's libraries, in which every name of some of them is a file that
/// is no library. Unlike an absent file, it keeps the loader from looking elsewhere.
fn without(card: &Card, libraries: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (card.installation().join("lib"), folder.path().join("lib"));
    std::fs::create_dir(&to).expect("a folder");
    for entry in std::fs::read_dir(&from).expect("the installed libraries") {
        let name = entry.expect("an entry").file_name();
        let text = name.to_string_lossy();
        if !libraries.iter().any(|library| text.starts_with(library)) {
            std::os::unix::fs::symlink(from.join(&name), to.join(&name)).expect("a link");
        }
    }
    for library in libraries {
        for version in ["", ".1", ".3", ".4", ".5", ".6", ".7", ".10", ".11", ".12", ".13"] {
            std::fs::write(to.join(format!("{library}{version}")), "").expect("a file");
        }
    }
    folder
}

/// Runs a phase with the libraries of a folder.
fn with(card: &'static Card, phase: &str, folder: &Path) -> Ended {
    Ended::of(command(card, phase, folder, &[]).output().expect("this program starts again"))
}

pub fn run(card: &'static Card) -> Vec<Row> {
    let by_vendor = |names: [&'static str; 2]| names[card.vendor];
    let mut rows = Vec::new();
    let mut row =
        |what: &str, fault: &str, outcome: &str, checked: &str| rows.push(Row::new(what, fault, outcome, checked));
    let variable = |phase: &str, fault: &str| start(card, phase, &[("ISOBIT_SIM_FAULT", fault)]);

    let runtime = without(card, &[card.runtime]);
    tells(with(card, "opens", runtime.path()), "LibraryUnavailable", &["lib", "install"]);
    row("the runtime library is no library", card.runtime, "LibraryUnavailable", "what to install");

    let fault = by_vendor(["cuEventRecord:*:absent", "hipEventRecord:*:absent"]);
    tells(variable("opens", fault), "LibraryUnavailable", &["lacks", by_vendor(["cuEventRecord", "hipEventRecord"])]);
    row("the runtime library lacks a function", fault, "LibraryUnavailable", "function");

    let blas = without(card, &[card.blas]);
    tells(with(card, "products", blas.path()), "works", &["0 calls, 2 fallbacks"]);
    row("the BLAS library is no library", card.blas, "works", "result, counted as a fallback");

    let fault = by_vendor(["cublasGemmStridedBatchedEx:*:absent", "rocblas_gemm_strided_batched_ex:*:absent"]);
    tells(variable("products", fault), "works", &["0 calls, 2 fallbacks"]);
    row("the BLAS library lacks a function", fault, "works", "result, counted as a fallback");

    if card.vendor == 0 {
        let fault = "cublasLtMatmul:*:absent";
        tells(variable("products of bytes", fault), "works", &["2 calls, 0 fallbacks"]);
        row("the BLAS library for single products lacks a function", fault, "works", "result, by the other library");
    }

    let compiler = by_vendor(["libnvrtc.so", "libhiprtc.so"]);
    // HIP has the compiler's functions too since its release 5.
    let no_compiler = without(card, &[compiler]);
    tells(with(card, "compiles", no_compiler.path()), "LibraryUnavailable", &["install"]);
    row("the compiler's library is no library", compiler, "LibraryUnavailable", "what to install, works");

    if card.compiles_on_request() {
        let fault = "hiprtcCompileProgram:*:absent";
        tells(variable("compiles", fault), "LibraryUnavailable", &["hiprtcCompileProgram"]);
        row("the compiler's library lacks a function", fault, "LibraryUnavailable", "function, works");
    }

    let fault = by_vendor(["cuInit:1:CUDA_ERROR_NO_DEVICE", "hipGetDeviceCount:1:hipErrorNoDevice"]);
    let code = fault.rsplit(':').next().expect("a code");
    tells(variable("opens", fault), "LibraryUnavailable", &[code]);
    row("the first call of a process", fault, "LibraryUnavailable", "code");

    let fault = by_vendor(["hipMalloc:*:hipErrorOutOfMemory", "cuMemAlloc_v2:*:CUDA_ERROR_OUT_OF_MEMORY"]);
    tells(variable("opens", fault), "works", &[]);
    row("a fault of the other vendor", fault, "works", "result");

    for (what, fault, words) in [
        ("a fault that is cut off", by_vendor(["cuMemAlloc_v2:1", "hipMalloc:1"]), "CALL:N:CODE"),
        ("a fault of a call 0", by_vendor(["cuMemAlloc_v2:0:2", "hipMalloc:0:2"]), "is not a number of a call"),
        ("a fault of a function that there is not", by_vendor(["cuMemAlloc:1:2", "hipMaloc:1:2"]), "has no function"),
        (
            "a fault with a code that there is not",
            by_vendor(["cuMemAlloc_v2:1:FULL", "hipMalloc:1:FULL"]),
            "\"FULL\" is neither",
        ),
    ] {
        let ended = variable("opens", fault);
        assert!(ended.said.contains("simulated GPU: ISOBIT_SIM_FAULT") && ended.said.contains(words), "{}", ended.said);
        tells(ended, "InvalidArgument", &[]);
        row(what, fault, "InvalidArgument", "text on stderr");
    }
    rows
}
