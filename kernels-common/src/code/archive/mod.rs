//! The file that compiled kernels are kept in, one for each architecture: an index that is read at
//! once, and packed code that is unpacked a frame at a time, so that the first use of an operation
//! unpacks a part of its family and no more.
//!
//! All numbers are little-endian. A *text* is its length (u32) and as many bytes of UTF-8; a *hash*
//! is the XXH3-128 of some bytes.
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
//! The header says of the dictionary its length (u32, 0 for none) and hash. The frames are counted
//! (u32), and each has an offset in the body (u64), its packed and unpacked length (u32 each),
//! whether it needs the dictionary (u8) and the hash of its packed bytes. The modules are counted
//! (u32) and sorted by name, and each has a name (text), its [identity](Module::identity), its
//! frame (u32), and offset and length in what the frame unpacks to (u32 each).
//!
//! Frames and dictionary are Zstandard's. Every offset and length is checked when the header is
//! read, and every hash before the bytes are used, so that a damaged file is an error.
//!
//! Compiled into the library, into the build script, and into the tool that packs releases.

mod reader;
mod unpack;
mod writer;

pub use writer::Writer;

use std::fmt;

/// What a file begins with.
const MAGIC: [u8; 8] = *b"ISOBITKC";

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

/// The bytes before the header.
const PREFIX: usize = 32;

/// A file whose header was read and checked.
#[derive(Debug, Clone)]
pub struct Archive<'a> {
    /// The architecture, such as `sm_80`.
    pub arch: &'a str,
    /// The compiler and its version.
    pub compiler: &'a str,
    /// Its flags, those of the architecture included.
    pub flags: &'a str,
    dictionary: &'a [u8],
    dictionary_hash: u128,
    frames: Vec<Frame<'a>>,
    modules: Vec<Module<'a>>,
}

/// A piece that is unpacked at once.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The packed bytes, not yet checked: [`Archive::packed`] does.
    packed: &'a [u8],
    hash: u128,
    /// How many bytes it unpacks to.
    pub unpacked: usize,
    /// It was packed with the dictionary.
    pub with_dictionary: bool,
}

/// Where a module lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Module<'a> {
    /// Its name.
    pub name: &'a str,
    /// The hash of the sources and flags that it was compiled from: code may be taken for sources
    /// of the same identity.
    pub identity: u128,
    /// The frame that holds it.
    pub frame: usize,
    /// The first byte in the unpacked frame.
    pub offset: usize,
    /// How many bytes.
    pub len: usize,
}

/// Why a file is not what it should be.
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
