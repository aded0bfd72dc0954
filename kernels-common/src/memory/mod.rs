//! Device memory and page-locked host memory: ownership, reuse and copies.

pub(crate) mod alloc;
pub(crate) mod block;
pub(crate) mod caching_allocator;
pub(crate) mod peer;
pub(crate) mod peer_access;
pub(crate) mod pinned;
