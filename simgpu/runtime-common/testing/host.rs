//! Helpers for tests of functions that streams call. A simulator that called them on the wrong
//! thread would never return, so what could hang runs in a process of its own
//! ([`in_child`](super::child::in_child)).

use std::ffi::c_void;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, ThreadId};

/// The data of [`held`].
pub struct Held {
    begun: Sender<ThreadId>,
    release: Receiver<()>,
}

/// The launcher's side of a [`Held`].
pub struct Holder {
    /// Gets the thread that calls the function.
    pub begun: Receiver<ThreadId>,
    /// Lets the function return.
    pub release: Sender<()>,
    data: Box<Held>,
}

impl Holder {
    pub fn new() -> Self {
        let ((begin, begun), (release, released)) = (channel(), channel());
        Self { begun, release, data: Box::new(Held { begun: begin, release: released }) }
    }

    /// Returns the argument for [`held`]. The holder must outlive the call.
    pub fn data(&self) -> *mut c_void {
        (&raw const *self.data).cast_mut().cast()
    }
}

/// A function that tells its thread, and returns when its launcher lets it.
pub unsafe extern "C" fn held(data: *mut c_void) {
    // SAFETY: the tests pass the data of a holder that outlives the call.
    let held = unsafe { &*data.cast::<Held>() };
    held.begun.send(thread::current().id()).expect("the launcher waits for it");
    held.release.recv().expect("the launcher sends it");
}

/// A function that never returns.
pub unsafe extern "C" fn never_returns(_data: *mut c_void) {
    loop {
        thread::park();
    }
}
