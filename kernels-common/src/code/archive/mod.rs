//! The file format of compiled kernels. There is one file per architecture: an index that is read
//! at once, and compressed code that is unpacked one frame at a time. The first use of an operation
//! therefore unpacks only a part of its family.
//!
//! All numbers are little-endian. A *text* is its length (u32) followed by that number of bytes of
//! UTF-8; a *hash* is the XXH3-128 hash of some bytes.
//!
//! | part | bytes |
//! |---|---|
//! | magic | 8: `ISOBITKC` |
//! | version of the format | u32 |
//! | length of the header | u32 |
//! | hash of the header | 16 |
//! | header | architecture, compiler, flags (texts); the dictionary; the frames; the modules |
//! | body | the dictionary, then the frames |
//!
//! The header contains, in this order:
//!
//! - The dictionary: its length (u32, 0 if there is none) and its hash.
//! - The number of frames (u32). Each frame has its offset in the body (u64), its packed and
//!   unpacked lengths (u32 each), whether it needs the dictionary (u8), and the hash of its packed
//!   bytes.
//! - The number of modules (u32), sorted by name. Each module has its name (text), its
//!   [identity](Module::identity), its frame (u32), and its offset and length in the unpacked frame
//!   (u32 each).
//!
//! Frames and the dictionary are in Zstandard format. Every offset and length is checked when the
//! header is read, and every hash before the bytes are used, so a damaged file is an error.
//!
//! This module is compiled into the library, the build script and the tool that packs releases.

mod reader;
mod unpack;
mod writer;

pub use writer::Writer;

use std::fmt;

/// The first bytes of a file.
const MAGIC: [u8; 8] = *b"ISOBITKC";

/// The version that is written, and the only one that can be read.
const VERSION: u32 = 1;

/// The number of bytes before the header.
const PREFIX: usize = 32;

/// An archive whose header has been read and checked.
#[derive(Debug, Clone)]
pub struct Archive<'a> {
    /// The architecture, such as `sm_80`.
    pub arch: &'a str,
    /// The compiler and its version.
    pub compiler: &'a str,
    /// Its flags, including those of the architecture.
    pub flags: &'a str,
    dictionary: &'a [u8],
    dictionary_hash: u128,
    frames: Vec<Frame<'a>>,
    modules: Vec<Module<'a>>,
}

/// A part of the archive that is unpacked at once.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The packed bytes, not yet checked; [`Archive::packed`] checks them.
    packed: &'a [u8],
    hash: u128,
    /// The number of bytes after unpacking.
    pub unpacked: usize,
    /// Whether it was packed with the dictionary.
    pub with_dictionary: bool,
}

/// The location of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Module<'a> {
    /// The name.
    pub name: &'a str,
    /// The hash of the sources and flags that it was compiled from. Code can be reused for sources
    /// with the same identity.
    pub identity: u128,
    /// The frame that holds it.
    pub frame: usize,
    /// The offset in the unpacked frame.
    pub offset: usize,
    /// The number of bytes.
    pub len: usize,
}

/// The reason why a file is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged(pub String);

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the archive of compiled kernels is damaged: {}", self.0)
    }
}

impl std::error::Error for Damaged {}

fn hash(bytes: &[u8]) -> u128 {
    twox_hash::XxHash3_128::oneshot(bytes)
}
