//! Handles: numbers that identify objects and are never reused, so that a stale handle is detected.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

/// The C representation of a stream, an event, a module and so on. It is never dereferenced.
pub type Handle = *mut c_void;

/// The objects of one kind, by handle.
#[derive(Debug)]
pub struct Table<T> {
    entries: RwLock<Entries<T>>,
}

#[derive(Debug)]
struct Entries<T> {
    live: HashMap<u64, Arc<T>>,
    next: u64,
}

/// The first handle of each kind. They are far apart, so that a handle of one kind is never valid
/// for another.
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
pub enum Kind {
    /// Loaded code.
    Module = 1 << 40,
    /// A kernel of a module.
    Function = 2 << 40,
    /// A graph.
    Graph = 3 << 40,
    /// A node of a graph.
    Node = 4 << 40,
    /// An executable graph.
    Exec = 5 << 40,
    /// A fat binary that a program registered.
    FatBinary = 6 << 40,
    /// A context.
    Context = 7 << 40,
    /// A memory pool.
    Pool = 8 << 40,
    /// Code that no context has loaded yet.
    Library = 9 << 40,
    /// A kernel of a library.
    Kernel = 10 << 40,
}

impl<T> Table<T> {
    /// Creates an empty table.
    pub fn new(kind: Kind) -> Self {
        Self { entries: RwLock::new(Entries { live: HashMap::new(), next: kind as u64 }) }
    }

    /// Adds an object and returns its handle.
    pub fn add(&self, thing: Arc<T>) -> Handle {
        let mut entries = self.entries.write();
        entries.next += 16;
        let handle = entries.next;
        entries.live.insert(handle, thing);
        handle as Handle
    }

    /// Returns the object of a handle.
    pub fn get(&self, handle: Handle) -> Option<Arc<T>> {
        self.entries.read().live.get(&(handle as u64)).cloned()
    }

    /// Removes and returns the object of a handle. The handle is stale from then on.
    pub fn remove(&self, handle: Handle) -> Option<Arc<T>> {
        self.entries.write().live.remove(&(handle as u64))
    }

    /// Returns the handle of the object for which `is_it` is true.
    pub fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<Handle> {
        let entries = self.entries.read();
        entries.live.iter().find(|(_, thing)| is_it(thing)).map(|(&handle, _)| handle as Handle)
    }

    /// Removes all objects for which `gone` is true.
    pub fn remove_if(&self, gone: impl Fn(&T) -> bool) {
        self.entries.write().live.retain(|_, thing| !gone(thing));
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
