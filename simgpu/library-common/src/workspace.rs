//! Workspaces that programs give to a library.

use crate::Access;
use std::ffi::c_void;

/// Memory that a product may use for whatever it likes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Workspace {
    address: usize,
    bytes: usize,
}

impl Workspace {
    /// The workspace of a call, of which the work needs so many bytes. Returns `None` if it is
    /// smaller than that, or does not begin at a multiple of 16 bytes.
    pub fn new(workspace: *mut c_void, size: usize, needed: usize) -> Option<Self> {
        let fits = size >= needed && workspace.addr().is_multiple_of(16);
        fits.then(|| Self { address: workspace.expose_provenance(), bytes: needed })
    }

    /// Whether the work may write what it needs.
    pub fn is_allowed(self, what: &str, access: &Access<'_>) -> bool {
        let at = std::ptr::with_exposed_provenance(self.address);
        self.bytes == 0 || access(at, self.bytes, true, &format!("{what}: workspace"))
    }
}
