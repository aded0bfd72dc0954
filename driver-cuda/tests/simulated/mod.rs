//! Runs the tests of a program again on simulated NVIDIA cards.

#[path = "../../../kernels-common/tests/driver/simulated.rs"]
mod driver;

/// Runs the tests of the calling program, except `caller`, on every simulated card.
#[track_caller]
pub fn again(caller: &str) {
    let cards = &[("sm_80", "0", ""), ("sm_80,sm_90", "1", ""), ("sm_90", "1", "exact")];
    driver::again(
        caller,
        &driver::Simulator { install: isobit_simgpu_install::cuda, variable: "ISOBIT_SIM_CUDA", cards },
    );
}
