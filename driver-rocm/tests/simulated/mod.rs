//! Runs the tests of a program again on simulated AMD cards.

#[path = "../../../kernels-common/tests/driver/simulated.rs"]
mod driver;

use isobit_kernels::{IMAGES, Target};

/// Runs the tests of the calling program, except `caller`, on every simulated card.
#[track_caller]
pub fn again(caller: &str) {
    // A card whose code is not packed compiles everything it runs, which takes minutes, so gfx942
    // is only used if the build has code for it.
    let packed = IMAGES[0].archs(Target::Amdgcn);
    let cards: &[_] = match packed.iter().any(|arch| arch == "gfx942") {
        true => &[("gfx90a", "0", ""), ("gfx1100,gfx90a", "1", ""), ("gfx942", "1", "exact")],
        false => &[("gfx90a", "0", ""), ("gfx1100,gfx90a", "1", ""), ("gfx1100", "1", "exact")],
    };
    driver::again(
        caller,
        &driver::Simulator { install: isobit_simgpu_install::rocm, variable: "ISOBIT_SIM_ROCM", cards },
    );
}
