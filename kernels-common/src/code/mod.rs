//! Compiled code and its sources: what this program carries, what is compiled on the machine, and
//! what a device has loaded.

// The library reads archives; its tests write them too.
#[cfg_attr(not(test), allow(dead_code, unused_imports))]
pub(crate) mod archive;
pub(crate) mod custom;
pub(crate) mod image;
pub(crate) mod kernel_metadata;
pub(crate) mod modules;
pub(crate) mod packed;
pub(crate) mod rtc;
pub(crate) mod table;
pub(crate) mod target;
