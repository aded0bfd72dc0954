//! Compilation of inner loops for more than one instruction set, which happens only here.
//!
//! Without AVX2 and FMA an fma is a call into the C library, which is over a hundred times slower.
//! The version is chosen at run time, and the bits do not depend on it: the loops execute IEEE
//! operations in a fixed order, which every instruction set computes alike. There is no third
//! version for AVX-512: it would add 50% to the build time of the crate, and the outer loops are
//! bound by memory.

use std::sync::atomic::{AtomicUsize, Ordering};

/// An inner loop. `run` and everything it calls must be `#[inline(always)]`, otherwise it is
/// compiled only for the baseline.
pub(super) trait Kernel {
    type Output;
    fn run(self) -> Self::Output;
}

/// Runs a loop in the version for this processor.
#[inline]
pub(super) fn vectorised<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if is_wide() {
        // SAFETY: the processor has the features.
        return unsafe { wide(kernel) };
    }
    baseline(kernel)
}

#[inline(never)]
fn baseline<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

/// Runs the loop compiled with the features that [`is_wide`] checks.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx,avx2,bmi1,bmi2,f16c,fma,lzcnt,popcnt,sse3,sse4.1,sse4.2,ssse3")]
fn wide<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

/// Number of callers that have forced the baseline version.
static FORCED: AtomicUsize = AtomicUsize::new(0);

/// Whether loops run in the wide version: the processor supports it, and no caller has forced the
/// baseline.
#[cfg(target_arch = "x86_64")]
fn is_wide() -> bool {
    macro_rules! all_detected {
        ($($feature:tt)*) => { true $(&& is_x86_feature_detected!($feature))* };
    }
    static FOUND: std::sync::LazyLock<bool> = std::sync::LazyLock::new(
        || all_detected!("avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "popcnt" "sse3" "sse4.1" "sse4.2" "ssse3"),
    );
    *FOUND && FORCED.load(Ordering::Relaxed) == 0
}

/// Runs `f`, and makes every loop that starts meanwhile, on any thread, use the baseline version.
/// Tests use it to show that the bits are the same.
pub fn force_baseline<R>(f: impl FnOnce() -> R) -> R {
    struct Release;
    impl Drop for Release {
        fn drop(&mut self) {
            FORCED.fetch_sub(1, Ordering::SeqCst);
        }
    }
    FORCED.fetch_add(1, Ordering::SeqCst);
    let _release = Release;
    f()
}

/// Returns the name of the architecture with the detected features that select a version.
pub(super) fn arch() -> String {
    #[allow(unused_mut)]
    let mut arch = std::env::consts::ARCH.to_string();
    #[cfg(target_arch = "x86_64")]
    for (found, name) in [
        (is_x86_feature_detected!("avx2"), "+avx2"),
        (is_x86_feature_detected!("fma"), "+fma"),
        (is_x86_feature_detected!("f16c"), "+f16c"),
    ] {
        if found {
            arch.push_str(name);
        }
    }
    arch
}
