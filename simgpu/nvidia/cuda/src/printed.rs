//! When the text of `printf` in kernels is printed. CUDA's guide lists the moments: the start of a
//! launch, every call that waits for work (also the copies that do), the loading and unloading of
//! modules, the destruction of a context, and the moment before a host function is called. Until
//! then a card holds it, and what no such call follows is lost, so programs print the same lines in
//! the same order as with a real card.

use crate::error::Result;
use crate::process::{Process, process};
use isobit_simgpu_core::queue::{CaptureStatus, Queues, StreamId, Work};
use std::ffi::c_int;

/// Prints what the cards hold.
pub(crate) fn flush(process: &Process) {
    process.cards.iter().for_each(|card| card.gpu.output().flush());
}

/// Makes the calls that wait print, and the end of the process say what is lost.
pub(crate) fn install(queues: &Queues) {
    queues.after_wait(|| {
        if let Ok(process) = process() {
            flush(process);
        }
    });
    // If the handler cannot be registered, nothing is said. SAFETY: the function belongs to this
    // library, which is never unloaded (its build script ensures that).
    unsafe { atexit(tell_lost) };
}

/// Makes a stream print before it calls a host function. A graph does not.
pub(crate) fn before_callback(process: &'static Process, stream: StreamId) -> Result {
    let queues = &process.machine.queues;
    if queues.capture_status(stream)?.0 == CaptureStatus::None {
        queues.enqueue(
            stream,
            Work::new(|| {
                flush(process);
                Ok(())
            }),
        )?;
    }
    Ok(())
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
}

extern "C" fn tell_lost() {
    // A panic in an exit handler would abort the process.
    let _ = std::panic::catch_unwind(|| {
        let Ok(process) = process() else { return };
        let bytes: usize = process.cards.iter().map(|card| card.gpu.output().waiting()).sum();
        if bytes > 0 {
            eprintln!(
                "simulated GPU: {bytes} bytes that kernels printed with printf are lost, as with a real card: \
                 no call that waits for the card came after the launch"
            );
        }
    });
}
