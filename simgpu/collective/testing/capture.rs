//! Collectives in graphs.

use super::run::{Rank, bytes, floats, on_cards, threads};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The mode in which a capture forbids no calls.
const RELAXED: usize = 2;

#[test]
fn a_graph_repeats_its_collectives() {
    on_cards("testing::capture::a_graph_repeats_its_collectives", 3, &[], |gpu| {
        threads(gpu, 3, |rank| {
            let at = rank.upload(&bytes(&[1.0, 2.0]));
            let to = gpu.alloc(8);
            let (stream, mut graph, mut exec) = (rank.stream.0 as usize, null_mut::<c_void>(), null_mut::<c_void>());
            let [graph_at, exec_at] = [&raw mut graph, &raw mut exec].map(|at| at as usize);
            assert_eq!(gpu.call(["cuStreamBeginCapture_v2", "hipStreamBeginCapture"], [stream, RELAXED]), 0);
            // SAFETY: the simulator checks the memory.
            unsafe {
                gpu.ok((gpu.nccl.ncclAllReduce)(at, to, 2, 7, 0, rank.communicator, rank.stream));
                gpu.ok((gpu.nccl.ncclAllReduce)(to, at, 2, 7, 2, rank.communicator, rank.stream));
            }
            assert_eq!(gpu.call(["cuStreamEndCapture", "hipStreamEndCapture"], [stream, graph_at]), 0);
            let made = match crate::VENDOR {
                super::Vendor::Nvidia => gpu.call(["cuGraphInstantiateWithFlags", ""], [exec_at, graph as usize, 0]),
                super::Vendor::Amd => gpu.call(["", "hipGraphInstantiate"], [exec_at, graph as usize, 0, 0, 0]),
            };
            assert_eq!(made, 0);
            // Each launch multiplies by the number of ranks, and a call between two launches, too.
            for launch in 1..=3 {
                assert_eq!(gpu.call(["cuGraphLaunch", "hipGraphLaunch"], [exec as usize, stream]), 0);
                // SAFETY: the simulator checks the memory.
                gpu.ok(unsafe { (gpu.nccl.ncclAllReduce)(at, at, 2, 7, 0, rank.communicator, rank.stream) });
                let factor = 9f32.powi(launch);
                assert_eq!(floats(&rank.download(at, 8)), [factor, 2.0 * factor], "launch {launch}");
            }
            Rank::destroy(rank);
        });
        assert_eq!(gpu.findings(), []);
    });
}
