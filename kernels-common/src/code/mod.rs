//! Compiled code and its sources: the code embedded in this program, the code compiled on the
//! machine, and the modules that a device has loaded.

// The library only reads archives; its tests also write them.
#[cfg_attr(not(test), allow(dead_code, unused_imports))]
pub(crate) mod archive;
pub(crate) mod custom;
pub(crate) mod image;
mod includes;
pub(crate) mod kernel_metadata;
pub(crate) mod modules;
pub(crate) mod packed;
mod ptx_part;
pub(crate) mod rtc;
pub(crate) mod table;
pub(crate) mod target;
