//! Contexts: what is one, which is current, and what becomes of one whose work failed.

use crate::Code;
use crate::card::card;
use crate::error::{Error, Result, bail};
use crate::process::Process;
use isobit_simgpu_core::finding::{Fault, FaultKind};
use isobit_simgpu_runtime_common::handles::Handle;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// A context that lives.
#[derive(Debug)]
pub(crate) struct Context {
    /// Its card.
    pub(crate) device: usize,
    /// What queues know it by.
    pub(crate) queue: usize,
    /// Its number, never used twice.
    pub(crate) id: u64,
    pub(crate) flags: AtomicU32,
    pub(crate) cache_config: AtomicI32,
    /// By `CUlimit`.
    pub(crate) limits: Mutex<HashMap<i32, usize>>,
    failure: Mutex<Failure>,
}

/// What went wrong in a context.
#[derive(Debug, Default)]
struct Failure {
    error: Option<Error>,
    /// Somebody was told, so that from now on everybody is.
    told: bool,
}

/// What a context's handle names: it stays when the context is destroyed, so that this is known.
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

    /// The context, unless it is destroyed.
    pub(crate) fn get(&self) -> Option<Arc<Context>> {
        self.live.lock().clone()
    }

    /// Puts another context in its place, and gives the one before.
    pub(crate) fn set(&self, context: Option<Arc<Context>>) -> Option<Arc<Context>> {
        std::mem::replace(&mut self.live.lock(), context)
    }

    /// The context, which must live.
    pub(crate) fn context(&self) -> Result<Arc<Context>> {
        self.get().ok_or_else(|| Error::new(Code::CONTEXT_IS_DESTROYED, "the context is destroyed, or not active"))
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
            failure: Mutex::default(),
        })
    }

    /// Work of the context could not be executed to its end: the next call that waits is told.
    pub(crate) fn fail(&self, fault: &Fault) {
        let code = match fault.kind() {
            FaultKind::Failed => Code::LAUNCH_FAILURE,
            FaultKind::Address => Code::ILLEGAL_ADDRESS,
            FaultKind::Misaligned => Code::MISALIGNED_ADDRESS,
            FaultKind::Instruction => Code::ILLEGAL_INSTRUCTION,
            FaultKind::Assert => Code::ASSERT,
        };
        self.failure.lock().error.get_or_insert_with(|| Error::new(code, fault.to_string()));
    }

    /// Refuses where a failure was told before: a context that failed answers nothing else until it
    /// is destroyed.
    pub(crate) fn check(&self) -> Result {
        let failure = self.failure.lock();
        match &failure.error {
            Some(error) if failure.told => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Ends a call that waited: a failure of the context is told.
    pub(crate) fn settle<T>(&self, outcome: Result<T>) -> Result<T> {
        let mut failure = self.failure.lock();
        // Copies and sets fail too, without knowing of contexts.
        if let Err(error) = &outcome
            && error.code == Code::LAUNCH_FAILURE
        {
            failure.error.get_or_insert_with(|| error.clone());
        }
        match failure.error.clone() {
            Some(error) => {
                failure.told = true;
                Err(error)
            }
            None => outcome,
        }
    }
}

thread_local! {
    /// The contexts of the thread, the current one last.
    static STACK: RefCell<Vec<(u64, Arc<Slot>)>> = const { RefCell::new(Vec::new()) };
}

/// The thread's current context, with its handle.
pub(crate) fn current_slot() -> Option<(Handle, Arc<Slot>)> {
    STACK.with_borrow(|stack| stack.last().map(|(handle, slot)| (*handle as Handle, slot.clone())))
}

/// The slot of the thread's current context, which there must be.
pub(crate) fn must_slot() -> Result<(Handle, Arc<Slot>)> {
    match current_slot() {
        Some(current) => Ok(current),
        None => bail!(INVALID_CONTEXT, "the thread has no current context"),
    }
}

/// The thread's current context, which must live and have told no failure.
pub(crate) fn current() -> Result<Arc<Context>> {
    crate::process::process()?;
    let context = must_slot()?.1.context()?;
    context.check()?;
    Ok(context)
}

/// Makes a context current above the one before.
pub(crate) fn push(handle: Handle, slot: Arc<Slot>) {
    STACK.with_borrow_mut(|stack| stack.push((handle as u64, slot)));
}

/// Takes the current context away.
pub(crate) fn pop() -> Option<Handle> {
    STACK.with_borrow_mut(|stack| stack.pop().map(|(handle, _)| handle as Handle))
}

/// Puts a context, or none, in the place of the current one.
pub(crate) fn replace(with: Option<(Handle, Arc<Slot>)>) {
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        stack.extend(with.map(|(handle, slot)| (handle as u64, slot)));
    });
}
