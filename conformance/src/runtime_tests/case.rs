//! One case of a group: the devices and numbers it uses, a description of what it has done so far,
//! and its failures.

use crate::generate::Draw;
use isobit_hal::{BackendDevice, DeviceInfo, Error, ErrorKind, Result, Stream};
use std::fmt;

/// A failure, in words.
#[derive(Debug)]
pub(crate) struct Failed {
    pub message: String,
    /// Whether the device no longer responds.
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

/// The result of a check.
pub(crate) type Checked<T = ()> = std::result::Result<T, Failed>;

/// Fails a case with a formatted message if a condition does not hold.
macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err($crate::runtime_tests::case::Failed::new(format!($($words)+)).into());
        }
    };
}
pub(crate) use ensure;

/// A running case.
pub(crate) struct Case<'a, D: BackendDevice> {
    pub device: &'a D,
    /// Further devices of the driver, or further instances of this one.
    pub others: &'a [D],
    /// The device's description of itself.
    pub info: &'a DeviceInfo,
    pub draw: Draw,
    /// The description of the program so far.
    pub said: Vec<String>,
}

impl<'a, D: BackendDevice> Case<'a, D> {
    /// Notes the next step.
    pub(crate) fn say(&mut self, words: impl fmt::Display) {
        self.said.push(words.to_string());
    }

    /// Returns another device of the driver, or another instance of this one; the device itself if
    /// there is neither.
    pub(crate) fn another(&self) -> &'a D {
        self.other(0)
    }

    /// Returns one of several other devices, by its number; the device itself if there are not so
    /// many.
    pub(crate) fn other(&self, number: usize) -> &'a D {
        self.others.get(number).unwrap_or(self.device)
    }

    /// Whether there is another device, or another instance of this one.
    pub(crate) fn has_another(&self) -> bool {
        !self.device.same_device(self.another())
    }

    /// Draws a number from `least..=most`.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        self.draw.pick(least..=most)
    }

    /// Returns the device's default stream and enough further ones that there are between `least`
    /// and `most`: new streams, and forks of the earlier ones.
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

/// Checks that a call fails with the given kind and that the error's text contains the given words;
/// returns the error.
pub(crate) fn fails<T>(result: Result<T>, kind: ErrorKind, words: &[&str]) -> Checked<Error> {
    let Err(e) = result else {
        return Err(Failed::new(format!("a call succeeded where {kind:?} was expected")));
    };
    ensure!(e.kind() == kind, "{kind:?} was expected, but the call returned {:?}: {e}", e.kind());
    let text = e.to_string();
    for word in words {
        ensure!(text.contains(word), "the text of an error does not contain `{word}`: {text}");
    }
    Ok(e)
}

/// While this value lives, the case itself orders the work on different streams.
pub(crate) struct Untracked<'a, D: BackendDevice> {
    device: &'a D,
    /// Whether the device tracked events before, and so must do it again afterwards.
    was: bool,
}

impl<'a, D: BackendDevice> Untracked<'a, D> {
    /// # Safety
    /// As for [`BackendDevice::disable_event_tracking`]; the device must be synchronized before it
    /// is dropped.
    pub(crate) unsafe fn new(device: &'a D) -> Self {
        let was = device.is_event_tracking();
        // SAFETY: the caller promises what `BackendDevice::disable_event_tracking` requires, and
        // that the device is synchronized before it is dropped.
        unsafe { device.disable_event_tracking() };
        Self { device, was }
    }
}

impl<D: BackendDevice> Drop for Untracked<'_, D> {
    fn drop(&mut self) {
        // No work is pending when ordering begins again; an error of the work is found by whoever
        // checks its results.
        let _ = self.device.synchronize();
        if self.was {
            self.device.enable_event_tracking();
        }
    }
}
