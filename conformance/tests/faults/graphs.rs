//! Graphs: capture, instantiation, update and launch.

use crate::bench::{Action, Outcome, zeros};
use crate::calls::{Call, Expected};
use isobit::{AnyDevice, BackendDevice as _, BackendStorage as _, ErrorKind, Graph, Layout, Result, UnaryOp};

const N: usize = 100;

/// Captures a step that negates.
fn capture(device: &AnyDevice) -> Result<Graph> {
    let (storage, layout) = (zeros(device, N)?, Layout::contiguous(N));
    storage.unary(&layout, UnaryOp::Neg)?;
    device.capture(move || storage.unary(&layout, UnaryOp::Neg).map(drop))
}

fn captures(device: &AnyDevice) -> Result<Action> {
    let device = device.clone();
    Ok(Box::new(move || capture(&device).map(drop)))
}

fn replays(device: &AnyDevice) -> Result<Action> {
    let mut graph = capture(device)?;
    Ok(Box::new(move || graph.replay()))
}

fn updates(device: &AnyDevice) -> Result<Action> {
    let mut graph = capture(device)?;
    Ok(Box::new(move || {
        graph.update()?;
        graph.replay()
    }))
}

fn ends(device: &AnyDevice) -> Result<Action> {
    let graph = capture(device)?;
    Ok(Box::new(move || {
        drop(graph);
        Ok(())
    }))
}

const BEGIN: [&str; 2] = ["cuStreamBeginCapture_v2", "hipStreamBeginCapture"];
const LAUNCH: [&str; 2] = ["cuLaunchKernel", "hipModuleLaunchKernel"];
const INSTANTIATE: [&str; 2] = ["cuGraphInstantiateWithFlags", "hipGraphInstantiate"];
const UPDATE: [&str; 2] = ["cuGraphExecUpdate_v2", "hipGraphExecUpdate"];
const UNKNOWN: [&str; 2] = ["CUDA_ERROR_UNKNOWN", "hipErrorUnknown"];

pub const CALLS: &[Call] = &[
    Call::new("the begin of a capture", BEGIN, "beginning a capture", captures),
    Call {
        expected: Expected::One(
            ["CUDA_ERROR_ILLEGAL_STATE", "hipErrorIllegalState"],
            Outcome::Fails(ErrorKind::CaptureViolation, "beginning a capture"),
        ),
        ..Call::new("the begin of a capture of a stream that is captured", BEGIN, "", captures)
    },
    // The step's second launch: the first is before the capture.
    Call { nth: "2", ..Call::new("a launch in a capture", LAUNCH, "launching a kernel", captures) },
    Call::new(
        "the number of a graph's nodes",
        ["cuGraphGetNodes", "hipGraphGetNodes"],
        "counting a graph's nodes",
        captures,
    ),
    Call::new("instantiating a graph", INSTANTIATE, "instantiating a graph", captures),
    Call::new("launching a graph", ["cuGraphLaunch", "hipGraphLaunch"], "launching a graph", replays),
    Call::new("updating a graph", UPDATE, "updating a graph", updates),
    Call {
        expected: Expected::One(
            ["CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "hipErrorGraphExecUpdateFailure"],
            Outcome::Works,
        ),
        ..Call::new("updating a graph whose topology differs", UPDATE, "", updates)
    },
    Call {
        expected: Expected::One(UNKNOWN, Outcome::Later(ErrorKind::Other, "destroying a graph")),
        ..Call::new("the end of a captured graph", ["cuGraphDestroy", "hipGraphDestroy"], "", captures)
    },
    Call {
        expected: Expected::One(UNKNOWN, Outcome::Later(ErrorKind::Other, "destroying an executable graph")),
        ..Call::new("the end of an executable graph", ["cuGraphExecDestroy", "hipGraphExecDestroy"], "", ends)
    },
];
