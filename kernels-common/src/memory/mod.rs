//! Memory of a device and page-locked memory of the host: who owns it, how it is kept for reuse,
//! and copies of it.

pub(crate) mod alloc;
pub(crate) mod block;
pub(crate) mod caching_allocator;
pub(crate) mod peer;
pub(crate) mod peer_access;
pub(crate) mod pinned;
