//! Checked handles of C interfaces: a handle that was never issued, or was destroyed, is detected
//! instead of dereferenced.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The next handle. It is shared by all kinds, so a handle of one kind is never valid for another.
static NEXT: AtomicUsize = AtomicUsize::new(STEP);

/// Handles are multiples of this, like the pointers that they replace.
const STEP: usize = 16;

/// The live objects of one kind. A handle is a number that a library never reuses.
#[derive(Debug)]
pub struct Handles<T> {
    live: Mutex<BTreeMap<usize, Arc<T>>>,
}

impl<T> Handles<T> {
    /// Creates an empty set.
    pub const fn new() -> Self {
        Self { live: Mutex::new(BTreeMap::new()) }
    }

    /// Adds an object and returns its handle, which is never null.
    pub fn insert(&self, object: T) -> *mut c_void {
        let handle = NEXT.fetch_add(STEP, Ordering::Relaxed);
        self.live.lock().insert(handle, Arc::new(object));
        std::ptr::without_provenance_mut(handle)
    }

    /// Returns the object of a handle, if the handle is live.
    pub fn get(&self, handle: *mut c_void) -> Option<Arc<T>> {
        self.live.lock().get(&handle.addr()).cloned()
    }

    /// Removes a handle and returns its object, if the handle was live. Work in progress may keep
    /// the object alive.
    pub fn remove(&self, handle: *mut c_void) -> Option<Arc<T>> {
        self.live.lock().remove(&handle.addr())
    }
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::Handles;

    #[test]
    fn a_stale_handle_is_recognised() {
        let handles = Handles::new();
        let (a, b) = (handles.insert("a"), handles.insert("b"));
        assert!(!a.is_null() && a != b);
        assert_eq!(handles.get(a).as_deref(), Some(&"a"));
        assert_eq!(handles.remove(a).as_deref(), Some(&"a"));
        assert!(handles.get(a).is_none() && handles.remove(a).is_none());
        let c = handles.insert("c");
        assert!(c != a && c != b, "a handle came back");
        let others = Handles::new();
        let d = others.insert("d");
        assert!(handles.get(d).is_none() && others.get(c).is_none(), "a handle of another kind passes");
        assert!(handles.get(std::ptr::null_mut()).is_none());
    }
}
