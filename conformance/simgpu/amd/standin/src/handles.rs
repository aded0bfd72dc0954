//! Handles of C interfaces, checked: one that was never given out, or was destroyed, is recognised instead of followed.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The live objects of one kind. A handle is a number that is never used twice in a process.
#[derive(Debug)]
pub struct Handles<T> {
    live: Mutex<(usize, BTreeMap<usize, Arc<T>>)>,
}

impl<T> Handles<T> {
    /// Without any object.
    pub const fn new() -> Self {
        Self { live: Mutex::new((0, BTreeMap::new())) }
    }

    /// Keeps an object and gives its handle, which is never null.
    pub fn insert(&self, object: T) -> *mut c_void {
        let mut live = self.lock();
        // Multiples of 16, as the pointers would be that these pass for.
        live.0 += 16;
        let handle = live.0;
        live.1.insert(handle, Arc::new(object));
        std::ptr::without_provenance_mut(handle)
    }

    /// The object of a handle, if that is live.
    pub fn get(&self, handle: *mut c_void) -> Option<Arc<T>> {
        self.lock().1.get(&handle.addr()).cloned()
    }

    /// Ends a handle and gives its object, if it was live. Work under way may hold the object longer.
    pub fn remove(&self, handle: *mut c_void) -> Option<Arc<T>> {
        self.lock().1.remove(&handle.addr())
    }

    fn lock(&self) -> MutexGuard<'_, (usize, BTreeMap<usize, Arc<T>>)> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert!(handles.get(std::ptr::null_mut()).is_none());
    }
}
