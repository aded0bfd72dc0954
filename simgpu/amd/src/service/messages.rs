//! Messages of any length, which the device library sends in parts of up to seven words. The
//! service for `printf` takes them: a control word, the format and the arguments.

use super::packets::SLOT;
use super::words::Words;
use isobit_simgpu_core::print::{Output, Stream, format};
use std::collections::HashMap;

/// The descriptor, the first word of a part: flags for the first and the last part, the number of
/// words in bits 5 to 7, and the number of the message from bit 8.
const BEGIN: u64 = 1;
const END: u64 = 2;
const LENGTH_AT: u32 = 5;
const NUMBER_AT: u32 = 8;

/// The control word: the text goes to the standard error. Other bits are reserved.
pub(super) const TO_ERROR: u64 = 1;

/// The messages that are not complete.
#[derive(Debug, Default)]
pub(super) struct Messages {
    parts: HashMap<u64, Vec<u64>>,
    last: u64,
}

impl Messages {
    /// Receives a part of a message. Returns the answer: the descriptor for the next part, or the
    /// result of `printf` after the last.
    pub(super) fn receive(&mut self, slot: &[u64; SLOT], output: &Output) -> Result<u64, String> {
        let [descriptor, words @ ..] = slot;
        let number = if descriptor & BEGIN != 0 {
            self.last += 1;
            self.parts.insert(self.last, Vec::new());
            self.last
        } else {
            descriptor >> NUMBER_AT
        };
        let unknown = || format!("the kernel continues message {number} to the host, which it did not begin");
        let message = self.parts.get_mut(&number).ok_or_else(unknown)?;
        message.extend(&words[..(descriptor >> LENGTH_AT & 7) as usize]);
        if descriptor & END == 0 {
            let kept = descriptor & ((1 << NUMBER_AT) - 1) & !BEGIN;
            return Ok(kept | number << NUMBER_AT);
        }
        let message = self.parts.remove(&number).unwrap_or_default();
        Ok(printf(&message, output) as u64)
    }
}

/// Prints a message. Returns the number of characters, or -1 for a control word that is not known.
fn printf(message: &[u64], output: &Output) -> i64 {
    let Some((control, words)) = message.split_first() else { return -1 };
    if control & !TO_ERROR != 0 {
        return -1;
    }
    print(control & TO_ERROR != 0, words, output)
}

/// Prints a format and its arguments. Returns the number of characters.
pub(super) fn print(to_error: bool, words: &[u64], output: &Output) -> i64 {
    let mut words = Words::new(words);
    let text = words.string();
    let printed = format(&text, &mut words);
    let length = printed.text.len() as i64;
    output.put(if to_error { Stream::Error } else { Stream::Out }, printed.text);
    length
}
