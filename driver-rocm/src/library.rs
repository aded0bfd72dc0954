//! Opens each library on first use and checks that it has every function that this crate calls;
//! otherwise reports it as missing.

use hip_sys::dl::{LibrarySpec, OpenError};
use hip_sys::{Hip, Hiprtc};
use hipblaslt_sys::Hipblaslt;
use isobit_hal::Result;
use isobit_kernels::{Library, loaded_file};
use miopen_sys::Miopen;
use rocblas_sys::Rocblas;
use rocrand_sys::Rocrand;

/// A vendor library and how to get its function table.
#[derive(Debug)]
pub(crate) struct RocmLibrary<T: 'static> {
    file: &'static str,
    spec: LibrarySpec,
    get: fn() -> Result<&'static T, &'static OpenError>,
    found: Library<&'static T>,
}

/// AMD's runtime.
pub(crate) static HIP: RocmLibrary<Hip> = RocmLibrary {
    file: "libamdhip64.so",
    spec: Hip::SPEC,
    get: Hip::get,
    found: Library::new("install ROCm 5, 6 or 7, or use a machine with an AMD GPU"),
};

/// AMD's run-time compiler.
pub(crate) static HIPRTC: RocmLibrary<Hiprtc> = RocmLibrary {
    file: "libhiprtc.so",
    spec: Hiprtc::SPEC,
    get: Hiprtc::get,
    found: Library::new("install ROCm's HIPRTC (hip-runtime-amd)"),
};

/// AMD's BLAS.
pub(crate) static ROCBLAS: RocmLibrary<Rocblas> = RocmLibrary {
    file: "librocblas.so",
    spec: Rocblas::SPEC,
    get: Rocblas::get,
    found: Library::new("install ROCm's rocBLAS to use vendor numerics"),
};

/// AMD's BLAS for planned products.
pub(crate) static HIPBLASLT: RocmLibrary<Hipblaslt> = RocmLibrary {
    file: "libhipblaslt.so",
    spec: Hipblaslt::SPEC,
    get: Hipblaslt::get,
    found: Library::new("install ROCm's hipBLASLt to multiply f8 with vendor numerics"),
};

/// AMD's deep-learning primitives.
pub(crate) static MIOPEN: RocmLibrary<Miopen> = RocmLibrary {
    file: "libMIOpen.so",
    spec: Miopen::SPEC,
    get: Miopen::get,
    found: Library::new("install ROCm's MIOpen (miopen-hip)"),
};

/// AMD's random number generators.
pub(crate) static ROCRAND: RocmLibrary<Rocrand> = RocmLibrary {
    file: "librocrand.so",
    spec: Rocrand::SPEC,
    get: Rocrand::get,
    found: Library::new("install ROCm's rocRAND to use its generators"),
};

impl<T> RocmLibrary<T> {
    /// Returns the library's functions. The lookup happens once per process.
    ///
    /// # Errors
    /// Returns `LibraryUnavailable`, saying what is missing, where it was looked for, and what to
    /// install.
    pub(crate) fn require(&self) -> Result<&'static T> {
        self.found.require(|| self.look())
    }

    /// Whether the library can be called, as far as this is known without opening it.
    pub(crate) fn is_there(&self) -> bool {
        self.found.is_there(self.spec.places(), || self.look())
    }

    fn look(&self) -> Result<&'static T, String> {
        (self.get)().map_err(ToString::to_string)
    }

    /// Returns the file it was loaded from, if it is loaded.
    pub(crate) fn path(&self) -> Option<String> {
        loaded_file(self.file)
    }
}
