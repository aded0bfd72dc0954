//! The one place where inner loops are compiled for more than one instruction set.
//!
//! Without AVX2 and FMA an fma is a call into the C library, over a hundred times slower. The choice is made at run time, and the bits do not depend
//! on it: the loops hold IEEE operations in a fixed order, which every instruction set computes alike. AVX-512 as a third version was left out: it adds half again to
//! the build time of the crate and the outer loops are bound by memory.

use multiversion::multiversion;

/// An inner loop. `run` must be `#[inline(always)]`, and so must all that it calls, or it is compiled for the baseline alone.
pub(super) trait Kernel {
    type Output;
    fn run(self) -> Self::Output;
}

/// Runs a loop in the version for this machine.
pub(super) fn vectorised<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(test)]
    if baseline::is_forced() {
        return kernel.run();
    }
    versions(kernel)
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+f16c+fma+lzcnt+popcnt+sse3+sse4.1+sse4.2+ssse3"))]
fn versions<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

/// The features found that `versions` looks for, as the architecture's name shows them.
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

/// Makes every loop run in its baseline version, to show that the bits are the same. Tests that run meanwhile see the baseline too, and must not mind.
#[cfg(test)]
pub(super) mod baseline {
    use std::sync::atomic::{AtomicUsize, Ordering};

    static FORCED: AtomicUsize = AtomicUsize::new(0);

    pub(in crate::cpu) fn is_forced() -> bool {
        FORCED.load(Ordering::Relaxed) != 0
    }

    pub(in crate::cpu) fn force<R>(f: impl FnOnce() -> R) -> R {
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
}
