//! Handles: numbers that stand for what they name, never used twice, so that a stale one is known.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, PoisonError, RwLock};

/// What C holds of a stream, an event, a module and the like. It is never followed.
pub type Handle = *mut c_void;

/// The things of one kind, by handle.
#[derive(Debug)]
pub(crate) struct Table<T> {
    entries: RwLock<Entries<T>>,
}

#[derive(Debug)]
struct Entries<T> {
    live: HashMap<u64, Arc<T>>,
    next: u64,
}

/// Apart from each other, so that the handle of one kind is none of another.
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
pub(crate) enum Kind {
    Module = 1 << 40,
    Function = 2 << 40,
    Graph = 3 << 40,
    Node = 4 << 40,
    Exec = 5 << 40,
    FatBinary = 6 << 40,
}

impl<T> Table<T> {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { entries: RwLock::new(Entries { live: HashMap::new(), next: kind as u64 }) }
    }

    pub(crate) fn add(&self, thing: Arc<T>) -> Handle {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.next += 16;
        let handle = entries.next;
        entries.live.insert(handle, thing);
        handle as Handle
    }

    pub(crate) fn get(&self, handle: Handle) -> Option<Arc<T>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).live.get(&(handle as u64)).cloned()
    }

    pub(crate) fn remove(&self, handle: Handle) -> Option<Arc<T>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner).live.remove(&(handle as u64))
    }

    /// Removes whatever `gone` is true for.
    pub(crate) fn remove_if(&self, gone: impl Fn(&T) -> bool) {
        self.entries.write().unwrap_or_else(PoisonError::into_inner).live.retain(|_, thing| !gone(thing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_names_one_thing_for_ever() {
        let (modules, functions) = (Table::new(Kind::Module), Table::new(Kind::Function));
        let first = modules.add(Arc::new(1));
        let function = functions.add(Arc::new(2));
        assert_eq!(modules.get(first).as_deref(), Some(&1));
        assert!(modules.get(function).is_none() && functions.get(first).is_none());
        assert_eq!(modules.remove(first).as_deref(), Some(&1));
        let second = modules.add(Arc::new(3));
        assert!(modules.get(first).is_none() && first != second);
        modules.remove_if(|&n| n == 3);
        assert!(modules.get(second).is_none());
    }
}
