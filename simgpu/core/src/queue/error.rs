//! The errors of calls to the queues.

use crate::finding::Fault;
use std::fmt;

/// Why a call was refused, or what went wrong in work that it waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueError {
    /// Work failed. Reported once.
    Fault(Fault),
    /// The stream was never created, or is destroyed.
    UnknownStream,
    /// The event was never created, or is destroyed.
    UnknownEvent,
    /// There is no device with that number.
    UnknownDevice,
    /// The event and the stream belong to different devices.
    OtherDevice,
    /// The event was never recorded.
    NotRecorded,
    /// The work is not finished yet.
    NotReady,
    /// A call that waits or allocates while a capture forbids it, or an attempt to capture the
    /// legacy default stream.
    CaptureUnsupported,
    /// An earlier call made the capture invalid.
    CaptureInvalidated,
    /// The wait would join two captures.
    CaptureMerge,
    /// The capture was not begun on this stream.
    CaptureUnmatched,
    /// A stream that joined the capture was not joined back to the one that began it.
    CaptureUnjoined,
    /// The wait would cross the border of a capture.
    CaptureIsolation,
    /// Work on the legacy default stream would wait for a stream that is captured.
    CaptureImplicit,
    /// The event was last recorded in a capture, so it never happens.
    CapturedEvent,
    /// Only the thread that began the capture may end it.
    CaptureWrongThread,
    /// The stream is already capturing, or is not capturing.
    IllegalState,
    /// The call was made from work, which would then wait forever.
    InsideWork,
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fault(fault) => return write!(f, "{fault}"),
            Self::UnknownStream => "the stream was never created, or is destroyed",
            Self::UnknownEvent => "the event was never created, or is destroyed",
            Self::UnknownDevice => "there is no such device",
            Self::OtherDevice => "the event and the stream belong to different devices",
            Self::NotRecorded => "the event was never recorded",
            Self::NotReady => "not done yet",
            Self::CaptureUnsupported => "not permitted while a stream is captured",
            Self::CaptureInvalidated => "the capture was made invalid by an earlier call",
            Self::CaptureMerge => "the wait would join two captures",
            Self::CaptureUnmatched => "the capture was not begun on this stream",
            Self::CaptureUnjoined => "a captured stream was not joined back to the one that began the capture",
            Self::CaptureIsolation => "the wait would cross the border of a capture",
            Self::CaptureImplicit => "the legacy default stream would wait for a captured stream",
            Self::CapturedEvent => "the event was recorded in a capture, so it never happens",
            Self::CaptureWrongThread => "only the thread that began the capture may end it",
            Self::IllegalState => "the stream is already capturing, or is not capturing",
            Self::InsideWork => "a function that runs in a stream must not call the interface of the device",
        })
    }
}

impl std::error::Error for QueueError {}
