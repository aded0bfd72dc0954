//! Every code of a vendor's runtime, with the kind that its meaning asks for. The kinds are chosen
//! from the vendor's description of the code and from what `ErrorKind` says.

use crate::bench::{Action, Bench, Outcome};
use crate::card::Card;
use crate::row::Row;
use isobit::ErrorKind::{
    self, CaptureViolation, DeviceLost, InvalidArgument, KernelMissing, LibraryUnavailable, Other, OutOfMemory,
    UnsupportedOp,
};
use isobit::{AnyDevice, BackendDevice as _, Result};

/// Codes without the vendor's prefix, by kind. All others are [`Other`].
const NVIDIA: &[(ErrorKind, &[&str])] = &[
    (OutOfMemory, &["OUT_OF_MEMORY"]),
    (InvalidArgument, &["INVALID_VALUE", "INVALID_DEVICE", "INVALID_HANDLE"]),
    (UnsupportedOp, &["NOT_SUPPORTED", "PEER_ACCESS_UNSUPPORTED", "PEER_ACCESS_NOT_ENABLED", "TOO_MANY_PEERS"]),
    (
        LibraryUnavailable,
        &[
            "NOT_INITIALIZED",
            "STUB_LIBRARY",
            "NO_DEVICE",
            "SYSTEM_NOT_READY",
            "SYSTEM_DRIVER_MISMATCH",
            "COMPAT_NOT_SUPPORTED_ON_DEVICE",
        ],
    ),
    (
        KernelMissing,
        &[
            "INVALID_IMAGE",
            "NO_BINARY_FOR_GPU",
            "INVALID_PTX",
            "UNSUPPORTED_PTX_VERSION",
            "JIT_COMPILER_NOT_FOUND",
            "JIT_COMPILATION_DISABLED",
            "NOT_FOUND",
        ],
    ),
    (
        DeviceLost,
        &[
            "DEINITIALIZED",
            "ECC_UNCORRECTABLE",
            "NVLINK_UNCORRECTABLE",
            "CONTAINED",
            "ILLEGAL_ADDRESS",
            "LAUNCH_TIMEOUT",
            "CONTEXT_IS_DESTROYED",
            "ASSERT",
            "HARDWARE_STACK_ERROR",
            "ILLEGAL_INSTRUCTION",
            "MISALIGNED_ADDRESS",
            "INVALID_ADDRESS_SPACE",
            "INVALID_PC",
            "LAUNCH_FAILED",
        ],
    ),
    (
        CaptureViolation,
        &[
            "ILLEGAL_STATE",
            "STREAM_CAPTURE_UNSUPPORTED",
            "STREAM_CAPTURE_INVALIDATED",
            "STREAM_CAPTURE_MERGE",
            "STREAM_CAPTURE_UNMATCHED",
            "STREAM_CAPTURE_UNJOINED",
            "STREAM_CAPTURE_ISOLATION",
            "STREAM_CAPTURE_IMPLICIT",
            "CAPTURED_EVENT",
            "STREAM_CAPTURE_WRONG_THREAD",
        ],
    ),
    (
        Other,
        &[
            "PROFILER_DISABLED",
            "DEVICE_UNAVAILABLE",
            "INVALID_CONTEXT",
            "MAP_FAILED",
            "UNSUPPORTED_LIMIT",
            "FILE_NOT_FOUND",
            "OPERATING_SYSTEM",
            "LAUNCH_OUT_OF_RESOURCES",
            "HOST_MEMORY_ALREADY_REGISTERED",
            "COOPERATIVE_LAUNCH_TOO_LARGE",
            "NOT_PERMITTED",
            "MPS_CONNECTION_FAILED",
            "TIMEOUT",
            "EXTERNAL_DEVICE",
            "UNKNOWN",
        ],
    ),
];

const AMD: &[(ErrorKind, &[&str])] = &[
    (OutOfMemory, &["OutOfMemory"]),
    (InvalidArgument, &["InvalidValue", "InvalidDevice", "InvalidHandle"]),
    (UnsupportedOp, &["NotSupported", "PeerAccessUnsupported", "PeerAccessNotEnabled"]),
    (LibraryUnavailable, &["NoDevice", "InsufficientDriver", "NotInitialized", "SharedObjectInitFailed"]),
    (KernelMissing, &["NoBinaryForGpu", "InvalidDeviceFunction", "InvalidKernelFile", "InvalidImage", "NotFound"]),
    (
        DeviceLost,
        &[
            "Deinitialized",
            "InvalidContext",
            "ECCNotCorrectable",
            "IllegalAddress",
            "LaunchTimeOut",
            "ContextIsDestroyed",
            "Assert",
            "LaunchFailure",
        ],
    ),
    (
        CaptureViolation,
        &[
            "IllegalState",
            "StreamCaptureUnsupported",
            "StreamCaptureInvalidated",
            "StreamCaptureMerge",
            "StreamCaptureUnmatched",
            "StreamCaptureUnjoined",
            "StreamCaptureIsolation",
            "StreamCaptureImplicit",
            "CapturedEvent",
            "StreamCaptureWrongThread",
        ],
    ),
    (
        Other,
        &[
            "ProfilerDisabled",
            "MapFailed",
            "UnsupportedLimit",
            "FileNotFound",
            "OperatingSystem",
            "LaunchOutOfResources",
            "HostMemoryAlreadyRegistered",
            "CooperativeLaunchTooLarge",
            "Unknown",
            "RuntimeMemory",
            "RuntimeOther",
        ],
    ),
];

fn new_event(device: &AnyDevice) -> Result<Action> {
    let device = device.clone();
    Ok(Box::new(move || device.new_event().map(drop)))
}

/// Every code, from one call. The driver maps codes in one place.
pub fn run(card: &'static Card) -> Vec<Row> {
    let bench = Bench::new(card);
    let (prefix, function, all) = match card.vendor {
        0 => ("CUDA_ERROR_", "cuEventCreate", NVIDIA),
        _ => ("hipError", "hipEventCreateWithFlags", AMD),
    };
    let mut rows = Vec::new();
    for (kind, names) in all {
        for name in *names {
            let code = format!("{prefix}{name}");
            let outcome = Outcome::Fails(*kind, "creating an event");
            bench.check(&format!("{function}:1:{code}"), &code, outcome, &new_event);
        }
        rows.push(Row::new(
            format!("a call, with each code that means {kind:?}"),
            format!("{function}:1:CODE"),
            format!("{kind:?}"),
            format!("{} codes on NVIDIA, {} on AMD", count(NVIDIA, *kind), count(AMD, *kind)),
        ));
    }
    rows
}

fn count(of: &[(ErrorKind, &[&str])], kind: ErrorKind) -> usize {
    of.iter().filter(|(other, _)| *other == kind).map(|(_, names)| names.len()).sum()
}
