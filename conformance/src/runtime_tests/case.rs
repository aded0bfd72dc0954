//! One case of a group: what it may use, what it has done so far in words, and how it says what is
//! wrong.

use crate::generate::Draw;
use isobit_hal::{BackendDevice, DeviceInfo, Error, ErrorKind, Result, Stream};
use std::fmt;

/// What is wrong, in words.
#[derive(Debug)]
pub(crate) struct Failed {
    pub message: String,
    /// The device no longer answers.
    pub lost: bool,
}

impl Failed {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), lost: false }
    }
}

impl From<Error> for Failed {
    fn from(e: Error) -> Self {
        Self { message: format!("a call failed: {:?}: {e}", e.kind()), lost: e.kind() == ErrorKind::DeviceLost }
    }
}

/// What a check gives.
pub(crate) type Checked<T = ()> = std::result::Result<T, Failed>;

/// Fails a case where a condition does not hold, in the words of a format.
macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err($crate::runtime_tests::case::Failed::new(format!($($words)+)));
        }
    };
}
pub(crate) use ensure;

/// A case while it runs.
pub(crate) struct Case<'a, D: BackendDevice> {
    pub device: &'a D,
    /// Another device of the driver, or another instance of this one; the device itself where there
    /// is none.
    pub another: &'a D,
    /// What the device says of itself.
    pub info: &'a DeviceInfo,
    pub draw: Draw,
    /// The program so far.
    pub said: Vec<String>,
}

impl<D: BackendDevice> Case<'_, D> {
    /// Notes what is done next.
    pub(crate) fn say(&mut self, words: impl fmt::Display) {
        self.said.push(words.to_string());
    }

    /// True where there is another device, or another instance of this one.
    pub(crate) fn has_another(&self) -> bool {
        !self.device.same_device(self.another)
    }

    /// A number of `least..=most`.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        self.draw.pick(least..=most)
    }

    /// The device's default stream, and further ones so that there are between `least` and `most`:
    /// new ones, and forks of those before.
    pub(crate) fn streams(&mut self, least: usize, most: usize) -> Checked<Vec<Stream>> {
        let count = self.between(least, most);
        let mut streams = vec![self.device.default_stream()?];
        while streams.len() < count {
            let from = self.between(0, streams.len());
            let stream = match streams.get(from) {
                Some(stream) => stream.fork()?,
                None => self.device.new_stream()?,
            };
            ensure!(streams.iter().all(|s| s.id() != stream.id()), "a new stream has the id of another");
            ensure!(stream.device() == self.device.id(), "a new stream names another device");
            streams.push(stream);
        }
        self.say(format_args!("{count} streams"));
        Ok(streams)
    }
}

/// That a call fails with a kind, and that its text has some words; gives the error.
pub(crate) fn fails<T>(result: Result<T>, kind: ErrorKind, words: &[&str]) -> Checked<Error> {
    let Err(e) = result else {
        return Err(Failed::new(format!("a call succeeded where {kind:?} was expected")));
    };
    ensure!(e.kind() == kind, "{kind:?} was expected, the call gave {:?}: {e}", e.kind());
    let text = e.to_string();
    for word in words {
        ensure!(text.contains(word), "the text of an error does not say `{word}`: {text}");
    }
    Ok(e)
}

/// While it lives, the order of work on different streams is left to the case.
pub(crate) struct Untracked<'a, D: BackendDevice> {
    device: &'a D,
    /// The device tracked before, and does so again afterwards.
    was: bool,
}

impl<'a, D: BackendDevice> Untracked<'a, D> {
    /// # Safety
    /// As [`BackendDevice::disable_event_tracking`]; the device is waited for before it ends.
    pub(crate) unsafe fn new(device: &'a D) -> Self {
        let was = device.is_event_tracking();
        // SAFETY: the caller promises what `BackendDevice::disable_event_tracking`; the device is
        // waited for before it ends asks.
        unsafe { device.disable_event_tracking() };
        Self { device, was }
    }
}

impl<D: BackendDevice> Drop for Untracked<'_, D> {
    fn drop(&mut self) {
        // Nothing is under way when ordering begins again; an error of the work is found by whoever
        // looks at it.
        let _ = self.device.synchronize();
        if self.was {
            self.device.enable_event_tracking();
        }
    }
}
