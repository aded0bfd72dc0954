//! Handles of vendor libraries, one per stream: two streams, and two threads, use separate handles
//! concurrently.
//!
//! Creating a handle takes milliseconds. Destroying one waits for the whole device, which also
//! invalidates captures (`capture/capture_gate.rs`). A closing stream therefore leaves its handle
//! for reuse by a later stream, which gets it once the work of the first is done.

use crate::capture::capture_gate::between_captures;
use crate::runtime::{GpuRuntime, Vendor};
use isobit_hal::{Error, ErrorKind, Result};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;

/// The handle of a library for the work of one stream.
///
/// ```
/// use isobit_hal::Result;
/// use isobit_kernels::{GpuRuntime, LibraryHandle, PerStream, Vendor};
///
/// /// Calls a library through the handle that belongs to a stream.
/// fn call<R: GpuRuntime, T: LibraryHandle<R>>(
///     handles: &PerStream<T, R::Event>,
///     runtime: &R,
///     stream: &R::Stream,
///     work: impl FnOnce(&T) -> Result<()>,
/// ) -> Result<Vendor> {
///     handles.call(runtime, stream, |handle| work(handle).map(|()| Vendor::Done))
/// }
/// ```
pub trait LibraryHandle<R: GpuRuntime>: Sized {
    /// Opens the library if needed, and creates a handle that works on `stream`.
    ///
    /// # Errors
    /// Returns `LibraryUnavailable` if the library is missing, or the library's error.
    fn new(runtime: &R, stream: &R::Stream) -> Result<Self>;

    /// Moves the handle to another stream. Its earlier work is done.
    ///
    /// # Errors
    /// Returns the library's error if the call fails.
    fn move_to(&self, stream: &R::Stream) -> Result<()>;
}

/// The handles `T` of one library on one device; `E` is the device's event type.
#[derive(Debug)]
pub struct PerStream<T, E> {
    /// Indexed by the vendor's handle of the stream. A linear search is enough, because there are
    /// few streams.
    used: RwLock<Vec<(u64, Arc<T>)>>,
    spare: Mutex<Spare<T, E>>,
}

#[derive(Debug)]
struct Spare<T, E> {
    /// Handles of closed streams, each with an event that marks the end of its work.
    handles: Vec<(Arc<T>, E)>,
    /// The reason why no handle can be created, once known.
    absent: Option<String>,
}

impl<T, E> Default for PerStream<T, E> {
    fn default() -> Self {
        Self { used: RwLock::default(), spare: Mutex::new(Spare { handles: Vec::new(), absent: None }) }
    }
}

impl<T, E> PerStream<T, E> {
    fn used(&self, stream: u64) -> Option<Arc<T>> {
        let used = self.used.read();
        used.iter().find(|(of, _)| *of == stream).map(|(_, handle)| handle.clone())
    }

    /// Returns the handle of a stream: its own, otherwise a spare one for which `take_over` returns
    /// true, otherwise a new one from `make`.
    ///
    /// # Errors
    /// Returns the error of `make`. `OutOfMemory` and `CaptureViolation` are temporary; any other
    /// error is returned again at every call.
    fn get(&self, stream: u64, take_over: impl Fn(&T, &E) -> bool, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        if let Some(handle) = self.used(stream) {
            return Ok(handle);
        }
        let mut spare = self.spare.lock();
        // Another thread may have created it in the meantime.
        if let Some(handle) = self.used(stream) {
            return Ok(handle);
        }
        if let Some(why) = &spare.absent {
            return Err(Error::new(ErrorKind::LibraryUnavailable, why.clone()));
        }
        let handle = match spare.handles.iter().position(|(handle, end)| take_over(handle, end)) {
            Some(at) => spare.handles.swap_remove(at).0,
            None => match make() {
                Ok(handle) => Arc::new(handle),
                Err(e) => {
                    if !matches!(e.kind(), ErrorKind::OutOfMemory | ErrorKind::CaptureViolation) {
                        spare.absent = Some(e.to_string());
                    }
                    return Err(e);
                }
            },
        };
        self.used.write().push((stream, handle.clone()));
        Ok(handle)
    }

    /// Keeps the handle of a closing stream, if there is one, for another stream. `end` returns an
    /// event that marks the end of its work, or `None` if that is unknown.
    fn retire(&self, stream: u64, end: impl FnOnce() -> Option<E>) {
        let mut used = self.used.write();
        let retired = used.iter().position(|(of, _)| *of == stream).map(|at| used.swap_remove(at).1);
        drop(used);
        if let Some(handle) = retired
            && let Some(end) = end()
        {
            self.spare.lock().handles.push((handle, end));
        }
    }
}

impl<T, E> Drop for PerStream<T, E> {
    fn drop(&mut self) {
        let used = std::mem::take(self.used.get_mut());
        let spare = std::mem::take(&mut self.spare.lock().handles);
        if !(used.is_empty() && spare.is_empty()) {
            between_captures(|| drop((used, spare)));
        }
    }
}

impl<T, E> PerStream<T, E> {
    /// Runs library work on a stream. Returns `Declined` if no handle can be created.
    ///
    /// # Errors
    /// Returns the error of the work, or `CaptureViolation` if the stream is being captured and the
    /// library's first handle cannot be created during the capture.
    pub fn call<R>(&self, runtime: &R, stream: &R::Stream, work: impl FnOnce(&T) -> Result<Vendor>) -> Result<Vendor>
    where
        R: GpuRuntime<Event = E>,
        T: LibraryHandle<R>,
    {
        let take_over =
            |handle: &T, end: &E| matches!(runtime.event_is_done(end), Ok(true)) && handle.move_to(stream).is_ok();
        let make = || T::new(runtime, stream).map_err(|e| in_capture(runtime, stream, e));
        let raw = runtime.raw_stream(stream);
        let get = || self.get(raw, take_over, make);
        let handle = match self.used(raw) {
            Some(handle) => Ok(handle),
            // This does not wait for a capture of the stream itself, whichever thread captures.
            None if matches!(runtime.is_capturing(stream), Ok(true)) => get(),
            None => between_captures(get),
        };
        match handle {
            Ok(handle) => work(&handle),
            Err(e) if e.kind() == ErrorKind::CaptureViolation => Err(e),
            Err(e) => Ok(Vendor::Declined(e.to_string())),
        }
    }

    /// Whether a stream has a handle.
    pub fn has<R: GpuRuntime<Event = E>>(&self, runtime: &R, stream: &R::Stream) -> bool {
        self.used(runtime.raw_stream(stream)).is_some()
    }

    /// Called when the stream closes.
    pub fn close<R: GpuRuntime<Event = E>>(&self, runtime: &R, stream: &R::Stream) {
        self.retire(runtime.raw_stream(stream), || {
            let end = runtime.new_ordering_event().ok()?;
            runtime.record(&end, stream).ok().map(|()| end)
        });
    }
}

/// Turns the failure to create a handle during a capture into an error with advice. A missing
/// library stays a `LibraryUnavailable` error.
fn in_capture<R: GpuRuntime>(runtime: &R, stream: &R::Stream, error: Error) -> Error {
    if error.kind() == ErrorKind::LibraryUnavailable || !matches!(runtime.is_capturing(stream), Ok(true)) {
        return error;
    }
    let message = format!(
        "a vendor library was called for the first time on a captured stream and could not be initialised there ({error}): run the \
         operation once on this stream before the capture"
    );
    Error::new(ErrorKind::CaptureViolation, message).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    type Handles = PerStream<u32, bool>;

    fn get(handles: &Handles, stream: u64, new: u32) -> u32 {
        *handles.get(stream, |_, end| *end, || Ok(new)).unwrap()
    }

    #[test]
    fn each_stream_has_a_handle_of_its_own() {
        let handles = Handles::default();
        assert_eq!([get(&handles, 1, 10), get(&handles, 2, 20)], [10, 20]);
        assert_eq!([get(&handles, 1, 11), get(&handles, 2, 21)], [10, 20], "the same again");
    }

    #[test]
    fn the_handle_of_a_closed_stream_serves_another_once_its_work_is_done() {
        let handles = Handles::default();
        for (stream, done) in [(1, false), (2, true)] {
            get(&handles, stream, stream as u32);
            handles.retire(stream, || Some(done));
        }
        handles.retire(3, || unreachable!("it had none"));
        assert_eq!(get(&handles, 4, 40), 2, "that of stream 1 may still be at work");
        assert_eq!(get(&handles, 5, 50), 50);
        // A new stream may have the same number as a closed one.
        assert_eq!(get(&handles, 1, 60), 60);
    }

    #[test]
    fn a_handle_whose_works_end_is_not_known_is_dropped() {
        let handles = PerStream::<Arc<()>, bool>::default();
        let handle = Arc::new(());
        handles.get(1, |_, _| false, || Ok(handle.clone())).unwrap();
        handles.retire(1, || None);
        assert_eq!(Arc::strong_count(&handle), 1);
    }

    #[test]
    fn what_is_absent_stays_absent_and_what_passes_is_tried_again() {
        let handles = Handles::default();
        let tries = Cell::new(0);
        let fails = |kind| {
            let make = || {
                tries.set(tries.get() + 1);
                Err(Error::new(kind, "no"))
            };
            handles.get(1, |_, _| true, make).unwrap_err().kind()
        };
        for kind in [ErrorKind::OutOfMemory, ErrorKind::CaptureViolation, ErrorKind::LibraryFailure] {
            assert_eq!(fails(kind), kind);
        }
        assert_eq!(fails(ErrorKind::OutOfMemory), ErrorKind::LibraryUnavailable);
        assert_eq!(tries.get(), 3);
    }

    #[test]
    fn threads_that_come_at_once_get_one_handle() {
        let handles = PerStream::<usize, bool>::default();
        let made = std::sync::atomic::AtomicUsize::new(0);
        let make = || Ok(made.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(*handles.get(7, |_, _| false, make).unwrap(), 0));
            }
        });
        assert_eq!(made.into_inner(), 1);
    }
}
