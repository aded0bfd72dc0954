//! Compiles source on this machine with HIPRTC.

use crate::error::static_text;
use crate::library::{HIP, HIPRTC};
use crate::runtime::RocmRuntime;
use hip_sys::*;
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{CompilerRuntime, GpuRuntime as _, RtcArguments, RtcSource, Target};

fn check(rtc: &Hiprtc, code: hiprtcResult, doing: &str) -> Result<()> {
    if code == HIPRTC_SUCCESS {
        return Ok(());
    }
    // SAFETY: HIPRTC returns a static string for every code.
    let name = unsafe { static_text((rtc.hiprtcGetErrorString)(code), "unknown") };
    let kind = match code {
        HIPRTC_ERROR_OUT_OF_MEMORY => ErrorKind::OutOfMemory,
        HIPRTC_ERROR_COMPILATION => ErrorKind::CompileFailed,
        HIPRTC_ERROR_INVALID_OPTION => ErrorKind::InvalidArgument,
        _ => ErrorKind::LibraryFailure,
    };
    Err(Error::new(kind, format!("HIPRTC, {doing}: {name}")).with_native(i64::from(code), name))
}

/// A program of HIPRTC, destroyed when dropped.
struct Program {
    rtc: &'static Hiprtc,
    raw: hiprtcProgram,
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program was created once and is destroyed once.
        unsafe { (self.rtc.hiprtcDestroyProgram)(&mut self.raw) };
    }
}

/// Compiles a source to a code object.
fn compile(arch: &str, source: &RtcSource<'_>) -> Result<Vec<u8>> {
    let rtc = HIPRTC.require()?;
    let arguments = RtcArguments::new(source, Target::Amdgcn, arch)?;
    let mut raw = std::ptr::null_mut();
    // SAFETY: every string ends in NUL and outlives the call, and both arrays have the given
    // length.
    let created = unsafe {
        (rtc.hiprtcCreateProgram)(
            &mut raw,
            arguments.text.as_ptr(),
            arguments.name.as_ptr(),
            arguments.headers.count(),
            arguments.headers.as_ptr(),
            arguments.include_names.as_ptr(),
        )
    };
    check(rtc, created, "reading the source")?;
    let program = Program { rtc, raw };
    let options = &arguments.options;
    // SAFETY: the program is alive, and `options` has the given number of NUL-terminated strings.
    let compiled = unsafe { (rtc.hiprtcCompileProgram)(program.raw, options.count(), options.as_ptr()) };
    let doing = format!("compiling {}", source.name);
    check(rtc, compiled, &doing).map_err(|e| e.with_source(log_of(&program)))?;
    let mut size = 0;
    // SAFETY: the program is alive and was compiled; the second call writes exactly `size` bytes.
    unsafe {
        check(rtc, (rtc.hiprtcGetCodeSize)(program.raw, &mut size), "querying the size of the code")?;
        let mut code = vec![0u8; size];
        check(rtc, (rtc.hiprtcGetCode)(program.raw, code.as_mut_ptr().cast()), "fetching the code")?;
        Ok(code)
    }
}

fn log_of(program: &Program) -> String {
    let mut size = 0;
    // SAFETY: the program is alive; the second call writes exactly `size` bytes.
    let log = unsafe {
        if (program.rtc.hiprtcGetProgramLogSize)(program.raw, &mut size) != HIPRTC_SUCCESS {
            return "HIPRTC has no log".into();
        }
        let mut log = vec![0u8; size];
        (program.rtc.hiprtcGetProgramLog)(program.raw, log.as_mut_ptr().cast());
        log
    };
    String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_string()
}

/// Returns the major and minor version, if HIPRTC is installed.
pub(crate) fn version() -> Result<String> {
    let rtc = HIPRTC.require()?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the out-parameters are valid pointers.
    check(rtc, unsafe { (rtc.hiprtcVersion)(&mut major, &mut minor) }, "querying its version")?;
    Ok(format!("{major}.{minor}"))
}

/// Returns name and version, for the cache of compiled code. HIPRTC's own version stayed 9.0 over
/// years of releases, so the runtime's version and the file name are included.
fn compiler() -> Result<String> {
    let version = version()?;
    let runtime = crate::info::runtime_version(HIP.require()?)?;
    let file = HIPRTC.path().or_else(|| HIP.path()).unwrap_or_default();
    Ok(format!("HIPRTC {version}, HIP {runtime}, {file}"))
}

impl CompilerRuntime for RocmRuntime {
    fn compiler(&self) -> Result<String> {
        compiler()
    }

    fn compile(&self, source: &RtcSource<'_>) -> Result<Vec<u8>> {
        compile(self.arch(), source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_kernels::{IMAGES, headers};

    /// Whether HIPRTC is installed, which needs no GPU to compile for one.
    fn has_hiprtc() -> bool {
        match compiler() {
            Ok(compiler) => {
                eprintln!("{compiler}");
                true
            }
            Err(why) => {
                eprintln!("skipped: this test needs HIPRTC ({why})");
                false
            }
        }
    }

    #[test]
    fn the_tree_compiles_for_an_architecture_that_no_build_packs() {
        if !has_hiprtc() {
            return;
        }
        let headers: Vec<_> = headers().unwrap().iter().map(|(name, text)| (*name, text.as_str())).collect();
        // A sample over families and dtypes: compiling all modules takes minutes, and they are the
        // same sources with different macros.
        for image in IMAGES.iter().step_by(10) {
            let source = RtcSource { name: image.name, text: image.text, headers: &headers, options: &[] };
            let code =
                compile("gfx1032", &source).unwrap_or_else(|e| panic!("{e}: {:?}", std::error::Error::source(&e)));
            assert!(code.starts_with(b"\x7fELF"), "{}", image.name);
        }
    }

    #[test]
    fn a_source_that_does_not_compile_gives_the_log() {
        if !has_hiprtc() {
            return;
        }
        let source = RtcSource {
            name: "broken.cu",
            text: "extern \"C\" __global__ void f() { g(); }",
            headers: &[],
            options: &[],
        };
        let error = compile("gfx1032", &source).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CompileFailed);
        let log = std::error::Error::source(&error).expect("the log is the cause").to_string();
        assert!(log.contains("error: use of undeclared identifier 'g'"), "{log}");
    }
}
