//! The sizes at which the GPU drivers' launch code changes its path, for the conformance suite.

#[cfg(feature = "cuda")]
use isobit_cuda::launch_sizes as of_drivers;
#[cfg(all(feature = "rocm", not(feature = "cuda")))]
use isobit_rocm::launch_sizes as of_drivers;

pub use of_drivers::{LaunchSize, all, set_small, take_differs};
