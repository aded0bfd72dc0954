//! The id that the ranks of a communicator find each other by: the name of a socket.

use crate::status::{Failure, SYSTEM_ERROR};
use std::io::Read;

/// `ncclUniqueId`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct UniqueId(pub [u8; 128]);

/// What every name begins with.
const PREFIX: &str = "isobit-simgpu-ranks-";

impl UniqueId {
    /// Makes a new id.
    pub(crate) fn new() -> Result<Self, Failure> {
        let mut id = Self([0; 128]);
        let name = format!("{PREFIX}{:016x}{:016x}", random()?, random()?);
        id.0[..name.len()].copy_from_slice(name.as_bytes());
        Ok(id)
    }

    /// Returns the name of the socket.
    pub(crate) fn name(&self) -> Result<&str, Failure> {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        let name = std::str::from_utf8(&self.0[..end]).ok().filter(|name| name.starts_with(PREFIX));
        name.ok_or_else(|| Failure::argument("the id is not one of ncclGetUniqueId"))
    }
}

/// Returns a number that no other process has.
pub(crate) fn random() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| Failure::new(SYSTEM_ERROR, format!("/dev/urandom cannot be read: {error}")))?;
    Ok(u64::from_le_bytes(bytes))
}
