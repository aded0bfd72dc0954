//! HIPRTC's C interface:
//! <https://rocm.docs.amd.com/projects/HIP/en/latest/doxygen/html/group___runtime.html>.

use crate::program::{Compiled, Failure, Program};
use isobit_simgpu_library_common::{HIP, Handles, guarded, injected};
use parking_lot::Mutex;
use std::ffi::{CStr, c_char, c_int, c_void};

/// `hiprtcResult`.
pub type Status = c_int;
/// `HIPRTC_SUCCESS`.
pub const SUCCESS: Status = 0;
/// `HIPRTC_ERROR_INVALID_INPUT`: a null pointer, a negative number, or text that is not valid.
pub const INVALID_INPUT: Status = 3;
/// `HIPRTC_ERROR_INVALID_PROGRAM`: the handle is not a live program, or the program has no code.
pub const INVALID_PROGRAM: Status = 4;
/// `HIPRTC_ERROR_INVALID_OPTION`.
pub const INVALID_OPTION: Status = 5;
/// `HIPRTC_ERROR_COMPILATION`: the log has the details.
pub const COMPILATION: Status = 6;
/// `HIPRTC_ERROR_INTERNAL_ERROR`: the compiler could not be run; the log has the reason.
pub const INTERNAL_ERROR: Status = 11;

/// The version of HIPRTC that this library stands in for, from ROCm 6.2.
const VERSION: [c_int; 2] = [6, 2];

struct State {
    program: Program,
    compiled: Mutex<Compiled>,
}

static PROGRAMS: Handles<State> = Handles::new();

/// Returns the name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn hiprtcGetErrorString(result: Status) -> *const c_char {
    let name: &CStr = match result {
        0 => c"HIPRTC_SUCCESS",
        1 => c"HIPRTC_ERROR_OUT_OF_MEMORY",
        2 => c"HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
        3 => c"HIPRTC_ERROR_INVALID_INPUT",
        4 => c"HIPRTC_ERROR_INVALID_PROGRAM",
        5 => c"HIPRTC_ERROR_INVALID_OPTION",
        6 => c"HIPRTC_ERROR_COMPILATION",
        7 => c"HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
        8 => c"HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
        9 => c"HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
        10 => c"HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
        11 => c"HIPRTC_ERROR_INTERNAL_ERROR",
        _ => c"Invalid HIPRTC error code",
    };
    name.as_ptr()
}

/// Writes the library's version.
///
/// # Safety
/// Each pointer is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcVersion(major: *mut c_int, minor: *mut c_int) -> Status {
    injected!(HIP, "hiprtcVersion");
    if major.is_null() || minor.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: the pointers are not null; the caller promises that each pointer is null or valid for
    // writes.
    unsafe {
        major.write(VERSION[0]);
        minor.write(VERSION[1]);
    }
    SUCCESS
}

/// Creates a program from a source and headers, which are copied.
///
/// # Safety
/// Each pointer is null or as HIPRTC documents it: `prog` is valid for writes, the texts end in
/// NUL, and the arrays have `num_headers` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcCreateProgram(
    prog: *mut *mut c_void,
    src: *const c_char,
    name: *const c_char,
    num_headers: c_int,
    headers: *const *const c_char,
    include_names: *const *const c_char,
) -> Status {
    injected!(HIP, "hiprtcCreateProgram");
    guarded(INTERNAL_ERROR, || {
        if prog.is_null() {
            return INVALID_PROGRAM;
        }
        // SAFETY: the caller promises that each pointer is null or as HIPRTC documents it: the
        // texts end in NUL, and the arrays have `num_headers` entries.
        let program = unsafe {
            let Some(source) = text(src) else { return INVALID_INPUT };
            let name = text(name).map_or("CompileSource".into(), CStr::to_string_lossy);
            let Some((texts, names)) = texts(headers, num_headers).zip(texts(include_names, num_headers)) else {
                return INVALID_INPUT;
            };
            let names = names.iter().map(|n| n.to_string_lossy().into_owned());
            let headers = names.zip(texts.iter().map(|t| t.to_bytes().to_vec())).collect();
            Program::new(source.to_bytes().to_vec(), &name, headers)
        };
        let Some(program) = program else { return INVALID_INPUT };
        let handle = PROGRAMS.insert(State { program, compiled: Mutex::default() });
        // SAFETY: the pointer is not null; the caller promises that `prog` is null or valid for
        // writes.
        unsafe { prog.write(handle) };
        SUCCESS
    })
}

/// Compiles a program.
///
/// # Safety
/// `options` is null or has `num_options` texts that end in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcCompileProgram(
    prog: *mut c_void,
    num_options: c_int,
    options: *const *const c_char,
) -> Status {
    injected!(HIP, "hiprtcCompileProgram");
    guarded(INTERNAL_ERROR, || {
        let Some(state) = PROGRAMS.get(prog) else { return INVALID_PROGRAM };
        // SAFETY: the caller promises that `options` is null or has `num_options` texts that end in
        // NUL.
        let Some(options) = (unsafe { texts(options, num_options) }) else { return INVALID_INPUT };
        let Ok(options) = options.iter().map(|o| o.to_str()).collect::<Result<Vec<_>, _>>() else {
            return INVALID_OPTION;
        };
        let (compiled, result) = state.program.compile(&options);
        *state.compiled.lock() = compiled;
        match result {
            Ok(()) => SUCCESS,
            Err(Failure::Option) => INVALID_OPTION,
            Err(Failure::Source) => COMPILATION,
            Err(Failure::Internal) => INTERNAL_ERROR,
        }
    })
}

/// Destroys a program and clears its handle.
///
/// # Safety
/// `prog` is null or points to a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcDestroyProgram(prog: *mut *mut c_void) -> Status {
    injected!(HIP, "hiprtcDestroyProgram");
    guarded(INTERNAL_ERROR, || {
        if prog.is_null() {
            return INVALID_INPUT;
        }
        // SAFETY: the pointer is not null; the caller promises that `prog` is null or points to a
        // handle.
        let handle = unsafe { prog.replace(std::ptr::null_mut()) };
        if PROGRAMS.remove(handle).is_some() { SUCCESS } else { INVALID_PROGRAM }
    })
}

/// Writes the size of the code.
///
/// # Safety
/// `code_size` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcGetCodeSize(prog: *mut c_void, code_size: *mut usize) -> Status {
    injected!(HIP, "hiprtcGetCodeSize");
    // SAFETY: the caller promises that `code_size` is null or valid for writes.
    with(prog, code_size, |compiled| match &compiled.code {
        Some(code) => {
            // SAFETY: as the caller promises; `with` refuses null.
            unsafe { code_size.write(code.len()) };
            SUCCESS
        }
        None => INVALID_PROGRAM,
    })
}

/// Copies the code, an ELF code object.
///
/// # Safety
/// `code` is null or has room for the size from [`hiprtcGetCodeSize`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcGetCode(prog: *mut c_void, code: *mut c_char) -> Status {
    injected!(HIP, "hiprtcGetCode");
    with(prog, code, |compiled| match &compiled.code {
        Some(object) => {
            // SAFETY: as the caller promises; `with` refuses null.
            unsafe { code.copy_from_nonoverlapping(object.as_ptr().cast(), object.len()) };
            SUCCESS
        }
        None => INVALID_PROGRAM,
    })
}

/// Writes the size of the log including its NUL.
///
/// # Safety
/// `log_size` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcGetProgramLogSize(prog: *mut c_void, log_size: *mut usize) -> Status {
    injected!(HIP, "hiprtcGetProgramLogSize");
    with(prog, log_size, |compiled| {
        // SAFETY: as the caller promises; `with` refuses null.
        unsafe { log_size.write(compiled.log.len() + 1) };
        SUCCESS
    })
}

/// Copies the compiler's output, with a NUL.
///
/// # Safety
/// `log` is null or has room for the size from [`hiprtcGetProgramLogSize`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiprtcGetProgramLog(prog: *mut c_void, log: *mut c_char) -> Status {
    injected!(HIP, "hiprtcGetProgramLog");
    with(prog, log, |compiled| {
        // SAFETY: as the caller promises; `with` refuses null.
        unsafe {
            log.copy_from_nonoverlapping(compiled.log.as_ptr().cast(), compiled.log.len());
            log.add(compiled.log.len()).write(0);
        }
        SUCCESS
    })
}

fn with<T>(prog: *mut c_void, out: *mut T, body: impl FnOnce(&Compiled) -> Status) -> Status {
    guarded(INTERNAL_ERROR, || {
        let Some(state) = PROGRAMS.get(prog) else { return INVALID_PROGRAM };
        if out.is_null() {
            return INVALID_INPUT;
        }
        body(&state.compiled.lock())
    })
}

/// # Safety
/// The pointer is null or points to a text that ends in NUL and outlives `'a`.
unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller promises that the pointer is null or points to a text that ends in NUL and
    // outlives `'a`.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) })
}

/// # Safety
/// The pointer is null or has `count` entries, each as [`text`] requires.
unsafe fn texts<'a>(pointer: *const *const c_char, count: c_int) -> Option<Vec<&'a CStr>> {
    let count = usize::try_from(count).ok()?;
    if count > 0 && pointer.is_null() {
        return None;
    }
    // SAFETY: the caller promises that the pointer is null or has `count` entries, each as `text`
    // requires.
    (0..count).map(|i| unsafe { text(*pointer.add(i)) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null, null_mut};

    #[test]
    fn from_source_to_code_through_the_interface() {
        let mut prog = null_mut();
        let (options, wrong) = ([c"--offload-arch=gfx90a".as_ptr()], [c"nonsense".as_ptr()]);
        let (header, name) = ([c"#define VALUE 7".as_ptr()], [c"value.h".as_ptr()]);
        let source = c"#include \"value.h\"\nextern \"C\" __global__ void k(int *x) { x[threadIdx.x] = VALUE; }";
        // SAFETY: texts end in NUL, arrays have one entry, out-parameters are valid for writes, and
        // buffers have the size that the library returned.
        unsafe {
            let made =
                hiprtcCreateProgram(&mut prog, source.as_ptr(), c"k.cu".as_ptr(), 1, header.as_ptr(), name.as_ptr());
            assert_eq!(made, SUCCESS);
            let mut size = 0;
            assert_eq!(hiprtcGetCodeSize(prog, &mut size), INVALID_PROGRAM, "not compiled yet");
            assert_eq!(hiprtcCompileProgram(prog, 1, wrong.as_ptr()), INVALID_OPTION);
            assert_eq!(hiprtcGetProgramLogSize(prog, &mut size), SUCCESS);
            let mut log = vec![1u8; size];
            assert_eq!(hiprtcGetProgramLog(prog, log.as_mut_ptr().cast()), SUCCESS);
            assert!(CStr::from_bytes_with_nul(&log).unwrap().to_str().unwrap().contains("nonsense"));
            assert_eq!(hiprtcCompileProgram(prog, 1, options.as_ptr()), SUCCESS);
            assert_eq!(hiprtcGetCodeSize(prog, &mut size), SUCCESS);
            let mut code = vec![0u8; size];
            assert_eq!(hiprtcGetCode(prog, code.as_mut_ptr().cast()), SUCCESS);
            assert_eq!(&code[..4], b"\x7fELF");
            let stale = prog;
            assert_eq!(hiprtcDestroyProgram(&mut prog), SUCCESS);
            assert!(prog.is_null());
            assert_eq!(hiprtcCompileProgram(stale, 0, null()), INVALID_PROGRAM);
            assert_eq!(hiprtcDestroyProgram(&mut prog), INVALID_PROGRAM);
        }
    }

    #[test]
    fn missing_arguments_are_refused() {
        let mut prog = null_mut();
        let text = c"".as_ptr();
        // SAFETY: null is allowed everywhere, and the other arguments are as above.
        unsafe {
            assert_eq!(hiprtcCreateProgram(null_mut(), text, text, 0, null(), null()), INVALID_PROGRAM);
            assert_eq!(hiprtcCreateProgram(&mut prog, null(), text, 0, null(), null()), INVALID_INPUT);
            assert_eq!(hiprtcCreateProgram(&mut prog, text, null(), 1, null(), null()), INVALID_INPUT);
            assert_eq!(hiprtcCreateProgram(&mut prog, text, null(), -1, null(), null()), INVALID_INPUT);
            assert!(prog.is_null());
            assert_eq!(hiprtcCreateProgram(&mut prog, text, null(), 0, null(), null()), SUCCESS);
            assert_eq!(hiprtcCompileProgram(prog, 1, null()), INVALID_INPUT);
            assert_eq!(hiprtcGetProgramLog(prog, null_mut()), INVALID_INPUT);
            assert_eq!(hiprtcDestroyProgram(&mut prog), SUCCESS);
            assert_eq!(hiprtcDestroyProgram(null_mut()), INVALID_INPUT);
            assert_eq!(hiprtcVersion(null_mut(), null_mut()), INVALID_INPUT);
        }
    }
}
