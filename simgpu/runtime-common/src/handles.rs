//! Handles: numbers that stand for what they name, never used twice, so that a stale one is known.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

/// What C holds of a stream, an event, a module and the like. It is never followed.
pub type Handle = *mut c_void;

/// The things of one kind, by handle.
#[derive(Debug)]
pub struct Table<T> {
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
pub enum Kind {
    /// Loaded code.
    Module = 1 << 40,
    /// A kernel of a module.
    Function = 2 << 40,
    /// A graph.
    Graph = 3 << 40,
    /// A node of a graph.
    Node = 4 << 40,
    /// A graph that can be launched.
    Exec = 5 << 40,
    /// What a program registered.
    FatBinary = 6 << 40,
    /// A context.
    Context = 7 << 40,
    /// A pool of memory.
    Pool = 8 << 40,
    /// Code that no context has loaded yet.
    Library = 9 << 40,
    /// A kernel of a library.
    Kernel = 10 << 40,
}

impl<T> Table<T> {
    /// An empty table.
    pub fn new(kind: Kind) -> Self {
        Self { entries: RwLock::new(Entries { live: HashMap::new(), next: kind as u64 }) }
    }

    /// Gives a thing its handle.
    pub fn add(&self, thing: Arc<T>) -> Handle {
        let mut entries = self.entries.write();
        entries.next += 16;
        let handle = entries.next;
        entries.live.insert(handle, thing);
        handle as Handle
    }

    /// What a handle names.
    pub fn get(&self, handle: Handle) -> Option<Arc<T>> {
        self.entries.read().live.get(&(handle as u64)).cloned()
    }

    /// Takes what a handle names, which is stale from then on.
    pub fn remove(&self, handle: Handle) -> Option<Arc<T>> {
        self.entries.write().live.remove(&(handle as u64))
    }

    /// The handle of a thing.
    pub fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<Handle> {
        let entries = self.entries.read();
        entries.live.iter().find(|(_, thing)| is_it(thing)).map(|(&handle, _)| handle as Handle)
    }

    /// Removes whatever `gone` is true for.
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
