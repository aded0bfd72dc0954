//! AMD's run-time compiler: `hip/hiprtc.h`. It is a separate library in ROCm 7; in ROCm 5 and 6 the
//! runtime's library has the same functions.

use std::ffi::{c_char, c_int, c_uint};

/// The status of a call.
pub type hiprtcResult = c_uint;

crate::handles! {
    /// A program: source, headers and the result of compilation.
    hiprtcProgram = _hiprtcProgram;
}

crate::constants! { hiprtcResult:
    HIPRTC_SUCCESS = 0, "Done.";
    HIPRTC_ERROR_OUT_OF_MEMORY = 1, "No memory is left.";
    HIPRTC_ERROR_INVALID_INPUT = 3, "An argument is null or out of range.";
    HIPRTC_ERROR_INVALID_OPTION = 5, "The compiler does not know an option.";
    HIPRTC_ERROR_COMPILATION = 6, "The source does not compile; the log says why.";
}

crate::library! {
    /// HIPRTC.
    pub struct Hiprtc {
        name: "HIPRTC (libhiprtc)",
        variable: "ISOBIT_HIPRTC_LIBRARY",
        sonames: [
            "libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so", "libamdhip64.so.6", "libamdhip64.so.5",
        ]
    }

    /// Returns the compiler's version.
    fn hiprtcVersion(major: *mut c_int, minor: *mut c_int) -> hiprtcResult;
    /// Creates a program from a source, its headers, and the names by which they are included.
    fn hiprtcCreateProgram(
        prog: *mut hiprtcProgram, src: *const c_char, name: *const c_char, numHeaders: c_int,
        headers: *const *const c_char, includeNames: *const *const c_char,
    ) -> hiprtcResult;
    /// Compiles with clang options.
    fn hiprtcCompileProgram(
        prog: hiprtcProgram, numOptions: c_int, options: *const *const c_char,
    ) -> hiprtcResult;
    /// Destroys a program.
    fn hiprtcDestroyProgram(prog: *mut hiprtcProgram) -> hiprtcResult;
    /// Returns the size of the code object in bytes.
    fn hiprtcGetCodeSize(prog: hiprtcProgram, codeSizeRet: *mut usize) -> hiprtcResult;
    /// Writes the code object.
    fn hiprtcGetCode(prog: hiprtcProgram, code: *mut c_char) -> hiprtcResult;
    /// Returns the size of the log in bytes, including its NUL.
    fn hiprtcGetProgramLogSize(prog: hiprtcProgram, logSizeRet: *mut usize) -> hiprtcResult;
    /// Writes the log.
    fn hiprtcGetProgramLog(prog: hiprtcProgram, log: *mut c_char) -> hiprtcResult;
    /// Returns the name of a result, a static string.
    fn hiprtcGetErrorString(result: hiprtcResult) -> *const c_char;
}
