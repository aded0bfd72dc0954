//! The tests of a program again, on simulated AMD cards.

#[path = "../../../kernels-common/tests/driver/simulated.rs"]
mod driver;

/// Runs the tests of the calling program, but for `caller`, on every simulated card.
#[track_caller]
pub fn again(caller: &str) {
    let cards = &[("gfx90a", "0", ""), ("gfx1100,gfx90a", "1", ""), ("gfx942", "1", "exact")];
    driver::again(caller, &driver::Simulator { stage: isobit_simgpu_stage::rocm, variable: "ISOBIT_SIM_ROCM", cards });
}
