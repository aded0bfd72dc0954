//! Handles of C interfaces, checked: one that was never given out, or was destroyed, is recognised
//! instead of followed.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The handle that comes next, of whatever kind: one kind's is never another's.
static NEXT: AtomicUsize = AtomicUsize::new(STEP);

/// Handles are multiples of it, as the pointers would be that they pass for.
const STEP: usize = 16;

/// The live objects of one kind. A handle is a number that a library never uses twice.
#[derive(Debug)]
pub struct Handles<T> {
    live: Mutex<BTreeMap<usize, Arc<T>>>,
}

impl<T> Handles<T> {
    /// Without any object.
    pub const fn new() -> Self {
        Self { live: Mutex::new(BTreeMap::new()) }
    }

    /// Keeps an object and gives its handle, which is never null.
    pub fn insert(&self, object: T) -> *mut c_void {
        let handle = NEXT.fetch_add(STEP, Ordering::Relaxed);
        self.live.lock().insert(handle, Arc::new(object));
        std::ptr::without_provenance_mut(handle)
    }

    /// The object of a handle, if that is live.
    pub fn get(&self, handle: *mut c_void) -> Option<Arc<T>> {
        self.live.lock().get(&handle.addr()).cloned()
    }

    /// Ends a handle and gives its object, if it was live. Work under way may hold the object
    /// longer.
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
