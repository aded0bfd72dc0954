//! The driver chosen at run time. Everything here forwards; what is computed is the driver's.

/// Runs an expression on what is inside a device or storage.
macro_rules! on {
    ($any:ident, $value:expr, $inner:ident => $body:expr) => {
        match $value {
            $any::Cpu($inner) => $body,
            #[cfg(feature = "cuda")]
            $any::Cuda($inner) => $body,
            #[cfg(feature = "rocm")]
            $any::Rocm($inner) => $body,
            $any::Dyn($inner) => $body,
        }
    };
}

mod device;
mod open;
mod storage;

pub use device::AnyDevice;
pub use storage::AnyStorage;
