//! One conversion, formatted by the C library.

use super::conversion::Flags;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};

/// The longest text of one conversion, in bytes. C allows two gigabytes, which a width from
/// uninitialised memory asks for easily.
const MOST: usize = 1 << 20;

/// The flags, the width and the precision of a conversion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) flags: Flags,
    pub(super) width: Option<i32>,
    pub(super) precision: Option<i32>,
}

/// An argument, with the type that `snprintf` expects.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Int(u32),
    Wide(u64),
    Double(f64),
    Pointer(u64),
    /// The bytes of a string; `None` for a null pointer.
    Text(Option<&'a [u8]>),
}

impl Field {
    /// Formats a value. Returns `None` if the text would be too long.
    pub(super) fn put(&self, size: &str, letter: u8, value: Value<'_>) -> Option<Vec<u8>> {
        let too_long = |amount: Option<i32>| amount.is_some_and(|amount| amount.unsigned_abs() as usize > MOST);
        if too_long(self.width) || too_long(self.precision) && !matches!(value, Value::Text(_)) {
            return None;
        }
        let flags: String = self.flags.characters().collect();
        // The width goes in as an argument: a negative one means the flag `-`.
        let width: c_int = self.width.unwrap_or(0);
        let precision = self.precision.map_or(String::new(), |precision| format!(".{precision}"));
        let format = CString::new(format!("%{flags}*{precision}{size}{}", char::from(letter))).ok()?;
        let format = format.as_ptr();
        let text = match value {
            Value::Text(Some(bytes)) => {
                let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
                Some(CString::new(&bytes[..end]).ok()?)
            }
            _ => None,
        };
        let text = text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        let call = |to: *mut c_char, room: usize| {
            // SAFETY: `to` has `room` bytes. The format has one conversion with a width, whose
            // letter and size are those of the variant: `Conversion::parse` accepts no others. The
            // string is null, which the C library prints as such, or ends in NUL.
            unsafe {
                match value {
                    Value::Int(value) => libc::snprintf(to, room, format, width, value as c_uint),
                    Value::Wide(value) => libc::snprintf(to, room, format, width, value),
                    Value::Double(value) => libc::snprintf(to, room, format, width, value),
                    Value::Pointer(value) => libc::snprintf(to, room, format, width, value as *const c_void),
                    Value::Text(_) => libc::snprintf(to, room, format, width, text),
                }
            }
        };
        let length = usize::try_from(call(std::ptr::null_mut(), 0)).ok()?;
        let mut bytes = vec![0u8; length + 1];
        call(bytes.as_mut_ptr().cast(), bytes.len());
        bytes.truncate(length);
        Some(bytes)
    }
}
