//! The launch code of the drivers in this build, as the suite's runs and reports know it.

use isobit_conformance::report::LaunchSize;
use isobit_conformance::run::Launches;
use std::sync::Arc;

/// Returns the launch code of the GPU drivers, if this build has one.
pub fn of_drivers() -> Option<Arc<dyn Launches>> {
    #[cfg(any(feature = "cuda", feature = "rocm"))]
    return Some(Arc::new(OfDrivers));
    #[cfg(not(any(feature = "cuda", feature = "rocm")))]
    None
}

/// Returns the sizes of their launch code, with the counts of this process.
pub fn sizes() -> Vec<LaunchSize> {
    #[cfg(any(feature = "cuda", feature = "rocm"))]
    return isobit::launch_sizes::all().into_iter().map(told).collect();
    #[cfg(not(any(feature = "cuda", feature = "rocm")))]
    Vec::new()
}

#[cfg(any(feature = "cuda", feature = "rocm"))]
fn told(size: isobit::launch_sizes::LaunchSize) -> LaunchSize {
    LaunchSize {
        name: size.name.into(),
        value: size.value.map(|value| value as u64),
        below: size.below,
        reached: size.reached,
        out_of_reach: size.out_of_reach.map(Into::into),
    }
}

#[cfg(any(feature = "cuda", feature = "rocm"))]
#[derive(Debug)]
struct OfDrivers;

#[cfg(any(feature = "cuda", feature = "rocm"))]
impl Launches for OfDrivers {
    fn set_small(&self, small: bool) -> bool {
        isobit::launch_sizes::set_small(small)
    }

    fn take_differs(&self) -> bool {
        isobit::launch_sizes::take_differs()
    }
}
