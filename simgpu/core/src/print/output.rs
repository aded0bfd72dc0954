//! Where the text of kernels goes: to the C library's streams, so that it is in order with what the
//! program itself prints, at once or when the host synchronises.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// A stream of the C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// The standard output.
    Out,
    /// The standard error.
    Error,
}

/// The output of a device.
#[derive(Debug)]
pub struct Output(Mutex<Held>);

#[derive(Debug)]
struct Held {
    /// Whether text waits for [`Output::flush`].
    waits: bool,
    /// The texts that wait, one for each call of `printf`.
    texts: VecDeque<(Stream, Vec<u8>)>,
    /// Their bytes, and the most that there may be.
    bytes: usize,
    room: usize,
}

impl Output {
    /// Creates an output that prints at once.
    pub fn at_once() -> Self {
        Self::new(false, usize::MAX)
    }

    /// Creates an output that holds at most `room` bytes until [`flush`](Self::flush). When it is
    /// full, the oldest texts are lost.
    pub fn held(room: usize) -> Self {
        Self::new(true, room)
    }

    fn new(waits: bool, room: usize) -> Self {
        Self(Mutex::new(Held { waits, texts: VecDeque::new(), bytes: 0, room }))
    }

    /// Sets how many bytes it may hold.
    pub fn set_room(&self, room: usize) {
        let mut held = self.0.lock();
        held.room = room;
        held.shrink();
    }

    /// Prints the text of one call of `printf`, which no other text interrupts.
    pub fn put(&self, stream: Stream, text: Vec<u8>) {
        let mut held = self.0.lock();
        if held.waits {
            held.bytes += text.len();
            held.texts.push_back((stream, text));
            held.shrink();
        } else {
            write(stream, &text);
        }
    }

    /// Prints the texts that wait.
    pub fn flush(&self) {
        let mut held = self.0.lock();
        held.bytes = 0;
        // In one piece if possible: each write flushes the stream.
        let mut all: Option<(Stream, Vec<u8>)> = None;
        for (stream, text) in held.texts.drain(..) {
            match &mut all {
                Some((to, piece)) if *to == stream => piece.extend(text),
                other => {
                    if let Some((stream, piece)) = other.replace((stream, text)) {
                        write(stream, &piece);
                    }
                }
            }
        }
        if let Some((stream, piece)) = all {
            write(stream, &piece);
        }
    }

    /// Returns the texts that wait, without printing them.
    pub fn take(&self) -> Vec<(Stream, Vec<u8>)> {
        let mut held = self.0.lock();
        held.bytes = 0;
        held.texts.drain(..).collect()
    }

    /// Returns the number of bytes that wait.
    pub fn waiting(&self) -> usize {
        self.0.lock().bytes
    }
}

impl Held {
    fn shrink(&mut self) {
        while self.bytes > self.room
            && let Some((_, lost)) = self.texts.pop_front()
        {
            self.bytes -= lost.len();
        }
    }
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// Writes to a stream of the C library and flushes it, so that nothing is lost if the process dies.
/// If the stream is closed, the text is lost, as that of any C program.
fn write(stream: Stream, text: &[u8]) {
    // SAFETY: the C library sets both variables before `main`, and they are only read. A stream may
    // be used by any thread.
    unsafe {
        let stream = match stream {
            Stream::Out => stdout,
            Stream::Error => stderr,
        };
        libc::fwrite(text.as_ptr().cast(), 1, text.len(), stream);
        libc::fflush(stream);
    }
}
