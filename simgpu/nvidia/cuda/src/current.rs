//! Contexts: their state, the current context of a thread, and the state of a context whose work
//! failed.

use crate::Code;
use crate::card::card;
use crate::error::{Error, Result, bail};
use crate::process::Process;
use isobit_simgpu_core::queue::inside_work;
use isobit_simgpu_runtime_common::Sticky;
use isobit_simgpu_runtime_common::handles::Handle;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

/// A context that is not destroyed.
#[derive(Debug)]
pub(crate) struct Context {
    /// Its card.
    pub(crate) device: usize,
    /// The number of its queue.
    pub(crate) queue: usize,
    /// Its ID, never reused.
    pub(crate) id: u64,
    pub(crate) flags: AtomicU32,
    pub(crate) cache_config: AtomicI32,
    /// Values by `CUlimit`.
    pub(crate) limits: Mutex<HashMap<i32, usize>>,
    /// Whether a kernel that calls `printf` was launched.
    pub(crate) prints: AtomicBool,
    pub(crate) failure: Sticky,
}

/// What a context handle points to. The slot outlives the context, so that a handle to a destroyed
/// context is recognised.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) device: usize,
    pub(crate) primary: bool,
    live: Mutex<Option<Arc<Context>>>,
}

impl Slot {
    pub(crate) fn new(device: usize, primary: bool, context: Option<Arc<Context>>) -> Self {
        Self { device, primary, live: Mutex::new(context) }
    }

    /// Returns the context, unless it is destroyed.
    pub(crate) fn get(&self) -> Option<Arc<Context>> {
        self.live.lock().clone()
    }

    /// Replaces the context and returns the previous one.
    pub(crate) fn set(&self, context: Option<Arc<Context>>) -> Option<Arc<Context>> {
        std::mem::replace(&mut self.live.lock(), context)
    }

    /// Returns the context, or an error if it is destroyed.
    pub(crate) fn context(&self) -> Result<Arc<Context>> {
        self.get().ok_or_else(|| Error::new(Code::CONTEXT_IS_DESTROYED, "the context is destroyed or inactive"))
    }
}

impl Context {
    pub(crate) fn new(process: &Process, device: usize, flags: u32) -> Arc<Self> {
        static ID: AtomicU64 = AtomicU64::new(1);
        let limits = crate::limits::default_limits(card(process.cards[device].gpu.arch()));
        Arc::new(Self {
            device,
            queue: process.machine.queues.add_device(),
            id: ID.fetch_add(1, Ordering::Relaxed),
            flags: AtomicU32::new(flags),
            cache_config: AtomicI32::new(0),
            limits: Mutex::new(limits),
            prints: AtomicBool::new(false),
            failure: Sticky::default(),
        })
    }

    /// Fails if a failure was already reported: a failed context then accepts no call except its
    /// destruction.
    pub(crate) fn check(&self) -> Result {
        self.failure.check()
    }

    /// Finishes a call that waited: reports a failure of the context.
    pub(crate) fn settle<T>(&self, outcome: Result<T>) -> Result<T> {
        self.failure.settle(outcome)
    }
}

thread_local! {
    /// The contexts of the thread; the last one is current.
    static STACK: RefCell<Vec<(u64, Arc<Slot>)>> = const { RefCell::new(Vec::new()) };
}

/// Returns the thread's current context and its handle.
pub(crate) fn current_slot() -> Option<(Handle, Arc<Slot>)> {
    STACK.with_borrow(|stack| stack.last().map(|(handle, slot)| (*handle as Handle, slot.clone())))
}

/// Returns the slot of the thread's current context, or an error if there is none.
pub(crate) fn must_slot() -> Result<(Handle, Arc<Slot>)> {
    match current_slot() {
        Some(current) => Ok(current),
        None => bail!(INVALID_CONTEXT, "the thread has no current context"),
    }
}

/// Returns the thread's current context, or an error if it is destroyed or has reported a failure.
pub(crate) fn current() -> Result<Arc<Context>> {
    crate::process::process()?;
    if inside_work() {
        bail!(NOT_PERMITTED, "a function that a stream calls must not call CUDA");
    }
    let context = must_slot()?.1.context()?;
    context.check()?;
    Ok(context)
}

/// Pushes a context onto the thread's stack and makes it current.
pub(crate) fn push(handle: Handle, slot: Arc<Slot>) {
    STACK.with_borrow_mut(|stack| stack.push((handle as u64, slot)));
}

/// Pops the current context.
pub(crate) fn pop() -> Option<Handle> {
    STACK.with_borrow_mut(|stack| stack.pop().map(|(handle, _)| handle as Handle))
}

/// Replaces the current context, or pops it if there is no new one.
pub(crate) fn replace(with: Option<(Handle, Arc<Slot>)>) {
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        stack.extend(with.map(|(handle, slot)| (handle as u64, slot)));
    });
}
