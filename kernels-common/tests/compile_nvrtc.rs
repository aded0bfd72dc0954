//! Compiles modules with NVIDIA's run-time compiler, as a device does if no packed code fits it.
//! Before each commit this covers one module per family and kind of values, nightly all of them. It
//! needs NVRTC but no GPU.
//!
//! NVRTC is found by `ISOBIT_NVRTC` (a path), by the loader's names, or as the PyPI package
//! `nvidia-cuda-nvrtc`. If there is none, the test prints a message and passes, unless `CI` is set.

use isobit_kernels::{Module, Target, compile_options, headers, manifest};
use libloading::{Library, Symbol};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::process::Command;
use std::ptr::null_mut;

const ARCH: &str = "sm_90";

const FIND_IN_PYTHON: &str = "
import importlib.metadata as m
for package in ('nvidia-cuda-nvrtc', 'nvidia-cuda-nvrtc-cu12'):
    try:
        for file in m.files(package) or []:
            if file.name.startswith(('libnvrtc.so', 'libnvrtc-builtins.so')):
                print(file.locate())
    except m.PackageNotFoundError:
        pass
";

/// NVRTC with its builtins library, which it opens by name.
struct Nvrtc {
    library: Library,
    _builtins: Vec<Library>,
}

fn open(path: &PathBuf) -> Result<Library, libloading::Error> {
    // SAFETY: the initialisers of NVRTC's libraries have no preconditions.
    unsafe { Library::new(path) }
}

fn find() -> Result<Nvrtc, String> {
    let mut tried = Vec::new();
    let mut builtins: Vec<PathBuf> = Vec::new();
    let mut candidates: Vec<PathBuf> = Vec::new();
    if let Some(path) = std::env::var_os("ISOBIT_NVRTC") {
        candidates.push(path.into());
    } else {
        candidates.extend(["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"].map(PathBuf::from));
        let listed = Command::new("python3").args(["-c", FIND_IN_PYTHON]).output();
        let listed = listed.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
        let is_builtins = |p: &PathBuf| p.to_string_lossy().contains("nvrtc-builtins");
        let (b, main): (Vec<_>, Vec<_>) = listed.lines().map(PathBuf::from).partition(is_builtins);
        builtins.extend(b);
        candidates.extend(main);
    }
    for path in candidates {
        if let Some(dir) = path.parent().filter(|d| d.is_dir()) {
            let beside = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
            builtins.extend(beside.filter(|p| p.to_string_lossy().contains("libnvrtc-builtins.so")));
        }
        match open(&path) {
            Ok(library) => {
                return Ok(Nvrtc { library, _builtins: builtins.iter().filter_map(|p| open(p).ok()).collect() });
            }
            Err(e) => tried.push(format!("{}: {e}", path.display())),
        }
    }
    Err(tried.join("\n"))
}

impl Nvrtc {
    /// # Safety
    /// `F` is the type of the function.
    unsafe fn function<F>(&self, name: &str) -> Symbol<'_, F> {
        // SAFETY: the caller promises the type.
        unsafe { self.library.get(name.as_bytes()) }.unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Compiles a source; returns the log if that fails.
    fn compile(
        &self,
        name: &str,
        text: &str,
        headers: &[(CString, CString)],
        options: &[CString],
    ) -> Result<(), String> {
        type Program = *mut c_void;
        let (names, texts): (Vec<_>, Vec<_>) = headers.iter().map(|(n, t)| (n.as_ptr(), t.as_ptr())).unzip();
        let options: Vec<_> = options.iter().map(|o| o.as_ptr()).collect();
        let (text, name) = (CString::new(text).unwrap(), CString::new(name).unwrap());
        let mut program: Program = null_mut();
        // SAFETY: the signatures are those of nvrtc.h (CUDA 12 and 13), and every pointer is to a
        // live NUL-terminated string or array.
        unsafe {
            let create = self.function::<unsafe extern "C" fn(
                *mut Program,
                *const c_char,
                *const c_char,
                c_int,
                *const *const c_char,
                *const *const c_char,
            ) -> c_int>("nvrtcCreateProgram");
            let compile = self
                .function::<unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int>("nvrtcCompileProgram");
            let log_size =
                self.function::<unsafe extern "C" fn(Program, *mut usize) -> c_int>("nvrtcGetProgramLogSize");
            let log = self.function::<unsafe extern "C" fn(Program, *mut c_char) -> c_int>("nvrtcGetProgramLog");
            let destroy = self.function::<unsafe extern "C" fn(*mut Program) -> c_int>("nvrtcDestroyProgram");
            let rc = create(
                &mut program,
                text.as_ptr(),
                name.as_ptr(),
                names.len() as c_int,
                texts.as_ptr(),
                names.as_ptr(),
            );
            assert_eq!(rc, 0, "nvrtcCreateProgram");
            let rc = compile(program, options.len() as c_int, options.as_ptr());
            let mut size = 0;
            assert_eq!(log_size(program, &mut size), 0, "nvrtcGetProgramLogSize");
            let mut bytes = vec![0u8; size.max(1)];
            assert_eq!(log(program, bytes.as_mut_ptr().cast()), 0, "nvrtcGetProgramLog");
            destroy(&mut program);
            let message = CStr::from_bytes_until_nul(&bytes).unwrap().to_string_lossy().into_owned();
            if rc == 0 { Ok(()) } else { Err(format!("error {rc}\n{message}")) }
        }
    }
}

/// Returns NVRTC, or `None` if it was not found, which is an error if `CI` is set.
fn nvrtc() -> Option<Nvrtc> {
    match find() {
        Ok(nvrtc) => Some(nvrtc),
        Err(tried) => {
            let message = format!(
                "NVRTC WAS NOT FOUND, NO MODULE WAS COMPILED WITH IT. Install it (`pip install nvidia-cuda-nvrtc`) or name \
                 its library in ISOBIT_NVRTC. Tried:\n{tried}"
            );
            assert!(std::env::var_os("CI").is_none(), "{message}");
            eprintln!("{message}");
            None
        }
    }
}

fn all_compile(nvrtc: &Nvrtc, modules: &[Module]) {
    let headers = headers().expect("packed by the build").iter();
    let headers: Vec<_> =
        headers.map(|(name, text)| (CString::new(*name).unwrap(), CString::new(text.as_str()).unwrap())).collect();
    let compile = |module: &Module| {
        // As on a card of this architecture: of some modules, code for a variant of it is used.
        let arch = module.variant.filter(|[arch, _]| *arch == ARCH).map_or(ARCH, |[_, variant]| variant);
        let options = compile_options(Target::Nvptx, arch).into_iter().map(|o| CString::new(o).unwrap());
        nvrtc.compile(&module.name, &module.text(), &headers, &options.collect::<Vec<_>>())
    };
    let failures: Vec<String> =
        modules.par_iter().filter_map(|m| compile(m).err().map(|e| format!("{}: {e}", m.name))).collect();
    assert!(failures.is_empty(), "{} of {} modules fail:\n{}", failures.len(), modules.len(), failures.join("\n"));
}

/// Returns the first folder below `ops` of a module's source, such as `norm`.
fn family(module: &Module) -> &str {
    module.source.split('/').nth(1).unwrap_or(module.source)
}

/// Returns the kind of values that a module's name ends with. Headers depend on the kind, and
/// little on the dtypes of one kind.
fn class(module: &Module) -> &'static str {
    match module.name.rsplit('_').next().unwrap_or_default() {
        "f32" => "f32",
        "f64" => "f64",
        narrow if narrow.starts_with("f8") || narrow.starts_with("f16") || narrow.starts_with("bf16") => "narrow float",
        whole if whole.starts_with(['u', 'i']) && whole[1..].parse::<u8>().is_ok() => "integer",
        _ => "other",
    }
}

/// Returns one module of each family and kind of values, and at least one of each source.
fn representatives(modules: Vec<Module>) -> Vec<Module> {
    let (mut kinds, mut sources) = (BTreeSet::new(), BTreeSet::new());
    let mut is_first = |m: &Module| kinds.insert((family(m).to_string(), class(m))) | sources.insert(m.source);
    modules.into_iter().filter(|module| is_first(module)).collect()
}

#[test]
fn a_module_of_each_family_and_kind_of_values_compiles_with_nvrtc() {
    let Some(nvrtc) = nvrtc() else { return };
    let (all, chosen) = (manifest(), representatives(manifest()));
    let families: BTreeSet<_> = all.iter().map(family).collect();
    assert!(chosen.iter().any(|m| m.variant.is_some()), "no module has code for a variant of an architecture");
    assert!(families.len() > 10 && families.iter().all(|f| chosen.iter().any(|m| family(m) == *f)), "{families:?}");
    eprintln!("{} of {} modules", chosen.len(), all.len());
    all_compile(&nvrtc, &chosen);
}

#[test]
#[ignore = "every module takes minutes: `cargo xtask test --full`"]
fn every_module_compiles_with_nvrtc() {
    let Some(nvrtc) = nvrtc() else { return };
    let modules = manifest();
    assert!(modules.len() > 10);
    all_compile(&nvrtc, &modules);
}
