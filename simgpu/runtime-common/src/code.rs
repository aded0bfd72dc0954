//! Result codes: those that both vendors have, and the macro for a vendor's table of codes.

use std::ffi::CStr;
use std::fmt::Debug;

/// A vendor's result code, with the codes that shared code returns.
pub trait ResultCode: Copy + Eq + Debug + Send + Sync + 'static {
    /// No error.
    const SUCCESS: Self;
    /// An invalid argument.
    const INVALID_VALUE: Self;
    /// There is not enough memory.
    const OUT_OF_MEMORY: Self;
    /// There is no such device.
    const INVALID_DEVICE: Self;
    /// A handle that does not name anything.
    const INVALID_HANDLE: Self;
    /// The call is not valid in the current state.
    const ILLEGAL_STATE: Self;
    /// The work is not finished yet.
    const NOT_READY: Self;
    /// Work could not be completed.
    const LAUNCH_FAILURE: Self;
    /// Work accessed an address that it may not access.
    const ILLEGAL_ADDRESS: Self;
    /// Work accessed an address that is not aligned as the instruction requires.
    const MISALIGNED_ADDRESS: Self;
    /// Work reached an instruction that cannot be executed.
    const ILLEGAL_INSTRUCTION: Self;
    /// An assertion of a kernel failed.
    const ASSERT: Self;
    /// Work would run for ever.
    const LAUNCH_TIMEOUT: Self;
    /// The stack of a thread was too small.
    const HARDWARE_STACK_ERROR: Self;
    /// Work called something that is not a function.
    const INVALID_PC: Self;
    /// Not supported.
    const NOT_SUPPORTED: Self;
    /// A call that a function of the host must not make.
    const NOT_PERMITTED: Self;
    /// A call that a capture forbids.
    const STREAM_CAPTURE_UNSUPPORTED: Self;
    /// The capture was invalidated before.
    const STREAM_CAPTURE_INVALIDATED: Self;
    /// Two captures would be merged.
    const STREAM_CAPTURE_MERGE: Self;
    /// The capture began on another stream.
    const STREAM_CAPTURE_UNMATCHED: Self;
    /// A captured stream was not joined back.
    const STREAM_CAPTURE_UNJOINED: Self;
    /// A captured stream would depend on work outside.
    const STREAM_CAPTURE_ISOLATION: Self;
    /// The legacy default stream would depend on a captured one.
    const STREAM_CAPTURE_IMPLICIT: Self;
    /// The event never happens, because it was recorded in a capture.
    const CAPTURED_EVENT: Self;
    /// The capture was begun by another thread.
    const STREAM_CAPTURE_WRONG_THREAD: Self;
    /// Anything else.
    const UNKNOWN: Self;

    /// Returns the vendor's name of the code.
    fn name(self) -> &'static CStr;

    /// Returns every code.
    fn all() -> &'static [Self];

    /// Returns the number of the code.
    fn number(self) -> i32;

    /// Returns the code of a number, which the vendor need not know.
    fn of(number: i32) -> Self;
}

/// Defines a vendor's codes: constant, the vendor's name, number, meaning. `unknown` gives the name
/// and the meaning of unknown numbers, `forbidden` the constant for a call that a function of the
/// host must not make.
#[macro_export]
macro_rules! codes {
    (
        $(#[$doc:meta])* $code:ident, unknown $unknown:literal $unknown_meaning:literal, forbidden $forbidden:ident;
        $($constant:ident $name:ident $value:literal $meaning:literal;)*
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $code(pub i32);

        impl $code {
            $(
                #[doc = concat!("`", stringify!($name), "`: ", $meaning, ".")]
                pub const $constant: Self = Self($value);
            )*

            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$constant),*];

            /// Returns the vendor's name of the code, or the name for unknown codes.
            pub fn name(self) -> &'static ::std::ffi::CStr {
                let name = match self.0 {
                    $($value => concat!(stringify!($name), "\0"),)*
                    _ => concat!($unknown, "\0"),
                };
                ::std::ffi::CStr::from_bytes_until_nul(name.as_bytes()).unwrap_or_default()
            }

            /// Returns the meaning of the code as text, or the text for unknown codes.
            pub fn meaning(self) -> &'static ::std::ffi::CStr {
                let meaning = match self.0 {
                    $($value => concat!($meaning, "\0"),)*
                    _ => concat!($unknown_meaning, "\0"),
                };
                ::std::ffi::CStr::from_bytes_until_nul(meaning.as_bytes()).unwrap_or_default()
            }

            /// Whether this is one of the vendor's codes.
            pub fn is_known(self) -> bool {
                matches!(self.0, $($value)|*)
            }
        }

        $crate::codes!(@shared $code $forbidden SUCCESS INVALID_VALUE OUT_OF_MEMORY INVALID_DEVICE INVALID_HANDLE ILLEGAL_STATE NOT_READY
            LAUNCH_FAILURE LAUNCH_TIMEOUT HARDWARE_STACK_ERROR INVALID_PC ILLEGAL_ADDRESS MISALIGNED_ADDRESS ILLEGAL_INSTRUCTION ASSERT
            NOT_SUPPORTED STREAM_CAPTURE_UNSUPPORTED STREAM_CAPTURE_INVALIDATED STREAM_CAPTURE_MERGE
            STREAM_CAPTURE_UNMATCHED STREAM_CAPTURE_UNJOINED STREAM_CAPTURE_ISOLATION STREAM_CAPTURE_IMPLICIT CAPTURED_EVENT
            STREAM_CAPTURE_WRONG_THREAD UNKNOWN);
    };
    (@shared $code:ident $forbidden:ident $($constant:ident)*) => {
        impl $crate::ResultCode for $code {
            const NOT_PERMITTED: Self = Self::$forbidden;
            $(const $constant: Self = Self::$constant;)*

            fn name(self) -> &'static ::std::ffi::CStr {
                self.name()
            }

            fn all() -> &'static [Self] {
                Self::ALL
            }

            fn number(self) -> i32 {
                self.0
            }

            fn of(number: i32) -> Self {
                Self(number)
            }
        }
    };
}
