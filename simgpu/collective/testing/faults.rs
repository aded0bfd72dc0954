//! Injected faults.

use super::run::{on_cards, threads};

#[test]
fn a_call_fails_with_the_code_of_a_fault() {
    let fault = ("ISOBIT_SIM_FAULT", "ncclAllReduce:2:ncclSystemError,ncclGroupStart:*:3");
    on_cards("testing::faults::a_call_fails_with_the_code_of_a_fault", 1, &[fault], |gpu| {
        threads(gpu, 1, |rank| {
            let at = rank.upload(&[0; 4]);
            let call = || {
                // SAFETY: the simulator checks the memory.
                unsafe { (gpu.nccl.ncclAllReduce)(at, at, 1, 7, 0, rank.communicator, rank.stream) }
            };
            assert_eq!([call(), call(), call()], [0, 2, 0]);
            // SAFETY: the function has no conditions.
            assert_eq!(unsafe { (gpu.nccl.ncclGroupStart)() }, 3);
            rank.destroy();
        });
    });
}
