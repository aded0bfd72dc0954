//! The arguments of a launch, copied when it is made, from one pointer per argument or from one
//! buffer.

use crate::error::Result;
use crate::{ResultCode, bail};
use std::ffi::c_void;

/// A kernel's parameter in the argument buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Bytes from the start of the buffer.
    pub offset: usize,
    /// Its size.
    pub bytes: usize,
}

/// The keys of the list that passes arguments as one buffer.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    /// The next entry is the buffer.
    pub buffer: usize,
    /// The next entry is a pointer to its size.
    pub size: usize,
    /// The end of the list.
    pub end: usize,
}

/// Arguments of a launch.
#[derive(Debug)]
pub struct Arguments {
    bytes: Vec<u8>,
    /// The address of each argument in `bytes`, for queries of a graph node's parameters.
    pointers: Vec<usize>,
}

impl Arguments {
    /// Copies the arguments of a kernel.
    ///
    /// # Errors
    /// Fails if both ways are used, or none although the kernel has parameters; for a null pointer;
    /// for too few bytes; and for an invalid list.
    ///
    /// # Safety
    /// `params` must be null or point to one pointer per kernel argument; `extra` must be null or
    /// such a list.
    pub unsafe fn take<C: ResultCode>(
        kernel: &str,
        parameters: &[Parameter],
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
        keys: Keys,
    ) -> Result<Self, C> {
        if !params.is_null() && !extra.is_null() {
            bail!(C, INVALID_VALUE, "{kernel}: kernelParams and extra are both given");
        }
        let size = parameters.iter().map(|p| p.offset + p.bytes).max().unwrap_or(0);
        let mut bytes = vec![0; size];
        if size > 0 && !params.is_null() {
            for (index, parameter) in parameters.iter().enumerate() {
                // SAFETY: the caller promises one pointer per argument.
                let value = unsafe { params.add(index).read_unaligned() };
                if value.is_null() {
                    bail!(C, INVALID_VALUE, "{kernel}: the pointer to argument {index} is null");
                }
                let to = &mut bytes[parameter.offset..parameter.offset + parameter.bytes];
                // SAFETY: the caller promises that the value has the argument's size.
                unsafe { std::ptr::copy_nonoverlapping(value.cast(), to.as_mut_ptr(), to.len()) };
            }
        } else if size > 0 && !extra.is_null() {
            // SAFETY: the caller promises that `extra` is null or such a list.
            let given = unsafe { packed(extra, keys) }?;
            if given.len() < size {
                bail!(C, INVALID_VALUE, "{kernel}: {} bytes of arguments, but it takes {size}", given.len());
            }
            bytes.copy_from_slice(&given[..size]);
        } else if size > 0 {
            bail!(C, INVALID_VALUE, "{kernel}: {size} bytes of arguments are expected, but none are given");
        }
        let pointers = parameters.iter().map(|p| bytes.as_ptr() as usize + p.offset).collect();
        Ok(Self { bytes, pointers })
    }

    /// Returns the buffer.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns one pointer per argument. They are valid as long as this value.
    pub fn pointers(&self) -> *mut *mut c_void {
        self.pointers.as_ptr().cast_mut().cast()
    }
}

/// Returns the arguments in a list.
///
/// # Safety
/// `extra` must be a list of keys with their values, up to the end key.
unsafe fn packed<'a, C: ResultCode>(extra: *mut *mut c_void, keys: Keys) -> Result<&'a [u8], C> {
    let (mut buffer, mut size) = (None, None);
    for pair in 0..3 {
        // SAFETY: the caller promises that the list continues until its end key.
        let key = unsafe { extra.add(2 * pair).read_unaligned() } as usize;
        if key == keys.end {
            break;
        }
        // SAFETY: as above; a value follows each key.
        let value = unsafe { extra.add(2 * pair + 1).read_unaligned() };
        match key {
            key if key == keys.buffer => buffer = Some(value.cast::<u8>()),
            key if key == keys.size => size = Some(value.cast::<usize>()),
            _ => bail!(C, INVALID_VALUE, "extra has the unknown key {key}"),
        }
    }
    match (buffer, size) {
        (Some(buffer), Some(size)) if !buffer.is_null() && !size.is_null() => {
            // SAFETY: not null; the caller promises that the list has a valid buffer and size.
            Ok(unsafe { std::slice::from_raw_parts(buffer, size.read_unaligned()) })
        }
        _ => bail!(C, INVALID_VALUE, "extra lacks the buffer of the arguments or its size"),
    }
}
