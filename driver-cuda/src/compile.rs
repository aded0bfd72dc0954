//! Compiles source on this machine with NVRTC.

use crate::library::NVRTC;
use crate::runtime::CudaRuntime;
use cudarc::nvrtc::sys::{self, nvrtcResult};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{CompilerRuntime, GpuRuntime as _, RtcArguments, RtcSource, Target};
use std::ffi::CStr;

fn check(code: nvrtcResult, doing: &str) -> Result<()> {
    if code == nvrtcResult::NVRTC_SUCCESS {
        return Ok(());
    }
    // SAFETY: NVRTC returns a static string for every code.
    let name = unsafe { CStr::from_ptr(sys::nvrtcGetErrorString(code)) }.to_string_lossy().into_owned();
    let kind = match code {
        nvrtcResult::NVRTC_ERROR_OUT_OF_MEMORY => ErrorKind::OutOfMemory,
        nvrtcResult::NVRTC_ERROR_COMPILATION => ErrorKind::CompileFailed,
        nvrtcResult::NVRTC_ERROR_INVALID_OPTION => ErrorKind::InvalidArgument,
        _ => ErrorKind::LibraryFailure,
    };
    Err(Error::new(kind, format!("NVRTC, {doing}: {name}")).with_native(code as i64, name))
}

/// A program of NVRTC, destroyed when dropped.
struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program was created once and is destroyed once.
        unsafe { sys::nvrtcDestroyProgram(&mut self.0) };
    }
}

/// Compiles a source to NUL-terminated PTX.
fn compile(arch: &str, source: &RtcSource<'_>) -> Result<Vec<u8>> {
    NVRTC.require()?;
    let arguments = RtcArguments::new(source, Target::Nvptx, arch)?;
    let mut program = Program(std::ptr::null_mut());
    // SAFETY: every string ends in NUL and outlives the call, and both arrays have the given
    // length.
    let created = unsafe {
        sys::nvrtcCreateProgram(
            &mut program.0,
            arguments.text.as_ptr(),
            arguments.name.as_ptr(),
            arguments.headers.count(),
            arguments.headers.as_ptr(),
            arguments.include_names.as_ptr(),
        )
    };
    check(created, "reading the source")?;
    let options = &arguments.options;
    // SAFETY: the program is alive, and `options` has the given number of NUL-terminated strings.
    let compiled = unsafe { sys::nvrtcCompileProgram(program.0, options.count(), options.as_ptr()) };
    check(compiled, &format!("compiling {}", source.name)).map_err(|e| e.with_source(log_of(&program)))?;
    let mut size = 0;
    // SAFETY: the program is alive and was compiled; the second call writes exactly `size` bytes,
    // the last of them NUL.
    unsafe {
        check(sys::nvrtcGetPTXSize(program.0, &mut size), "querying the size of the PTX")?;
        let mut ptx = vec![0u8; size];
        check(sys::nvrtcGetPTX(program.0, ptx.as_mut_ptr().cast()), "fetching the PTX")?;
        Ok(ptx)
    }
}

fn log_of(program: &Program) -> String {
    let mut size = 0;
    // SAFETY: the program is alive; the second call writes exactly `size` bytes.
    let log = unsafe {
        if sys::nvrtcGetProgramLogSize(program.0, &mut size) != nvrtcResult::NVRTC_SUCCESS {
            return "NVRTC has no log".into();
        }
        let mut log = vec![0u8; size];
        sys::nvrtcGetProgramLog(program.0, log.as_mut_ptr().cast());
        log
    };
    String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_string()
}

/// Returns the major and minor version, if NVRTC is installed.
pub(crate) fn version() -> Result<String> {
    NVRTC.require()?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the out-parameters are valid pointers.
    check(unsafe { sys::nvrtcVersion(&mut major, &mut minor) }, "querying its version")?;
    Ok(format!("{major}.{minor}"))
}

/// Returns name and version, for the cache of compiled code.
fn compiler() -> Result<String> {
    Ok(format!("NVRTC {}", version()?))
}

impl CompilerRuntime for CudaRuntime {
    fn compiler(&self) -> Result<String> {
        compiler()
    }

    fn compile(&self, source: &RtcSource<'_>) -> Result<Vec<u8>> {
        compile(self.arch(), source)
    }
}
