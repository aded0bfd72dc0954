//! The failure of a context (NVIDIA) or a device (AMD), which stays until it is reset.
//!
//! A card reaches a fault while the host goes on, so the calls up to the next one that waits still
//! succeed. That one reports the failure, and so does every later call.

use crate::ResultCode;
use crate::error::{Error, Result};
use isobit_simgpu_core::finding::{Fault, FaultKind};
use parking_lot::Mutex;

/// Whether the work of a context or a device failed, and with what.
#[derive(Debug, Default)]
pub struct Sticky(Mutex<Option<Failure>>);

#[derive(Debug)]
struct Failure {
    fault: Fault,
    /// Whether a caller has received the error. From then on, every caller receives it.
    told: bool,
}

/// Returns the vendor's code for a failure.
pub fn code_of<C: ResultCode>(kind: FaultKind) -> C {
    match kind {
        FaultKind::Failed => C::LAUNCH_FAILURE,
        FaultKind::Address => C::ILLEGAL_ADDRESS,
        FaultKind::Misaligned => C::MISALIGNED_ADDRESS,
        FaultKind::Instruction => C::ILLEGAL_INSTRUCTION,
        FaultKind::Assert => C::ASSERT,
        FaultKind::Timeout => C::LAUNCH_TIMEOUT,
        FaultKind::Stack => C::HARDWARE_STACK_ERROR,
        FaultKind::Jump => C::INVALID_PC,
    }
}

/// Returns the kind of failure that a code stands for. If several have it, the first.
fn kind_of<C: ResultCode>(code: C) -> Option<FaultKind> {
    use FaultKind::{Address, Assert, Failed, Instruction, Jump, Misaligned, Stack, Timeout};
    [Failed, Address, Misaligned, Instruction, Assert, Timeout, Stack, Jump]
        .into_iter()
        .find(|kind| code_of::<C>(*kind) == code)
}

fn error<C: ResultCode>(fault: &Fault) -> Error<C> {
    Error::new(code_of(fault.kind()), fault.to_string())
}

impl Sticky {
    /// Records a failure; the next call that waits reports it.
    pub fn fail(&self, fault: &Fault) {
        self.0.lock().get_or_insert_with(|| Failure { fault: fault.clone(), told: false });
    }

    /// Fails if there was a failure, reported or not: work that comes after it does not run.
    ///
    /// # Errors
    /// The failure, which a finding already describes.
    pub fn run(&self) -> std::result::Result<(), Fault> {
        match &*self.0.lock() {
            Some(Failure { fault, .. }) => Err(Fault::found(fault.kind(), fault.to_string())),
            None => Ok(()),
        }
    }

    /// Fails if a failure was already reported: no call is accepted any more, except those that
    /// reset.
    ///
    /// # Errors
    /// The failure.
    pub fn check<C: ResultCode>(&self) -> Result<(), C> {
        match &*self.0.lock() {
            Some(Failure { fault, told: true }) => Err(error(fault)),
            _ => Ok(()),
        }
    }

    /// Finishes a call that waited: reports a failure. Copies and sets can fail too, and do not
    /// know where they belong, so the failure may be in the outcome only.
    ///
    /// # Errors
    /// The failure, or the error of the call.
    pub fn settle<T, C: ResultCode>(&self, outcome: Result<T, C>) -> Result<T, C> {
        if let Err(Error { code, why }) = &outcome
            && let Some(kind) = kind_of(*code)
        {
            self.fail(&Fault::of(kind, why));
        }
        match &mut *self.0.lock() {
            Some(Failure { fault, told }) => {
                *told = true;
                Err(error(fault))
            }
            None => outcome,
        }
    }

    /// Fails as a device that is lost: no call is accepted from now on.
    pub fn lose(&self) {
        let lost = || Fault::of(FaultKind::Failed, "an injected fault lost the device");
        self.0.lock().get_or_insert_with(|| Failure { fault: lost(), told: true }).told = true;
    }

    /// Forgets the failure.
    pub fn reset(&self) {
        *self.0.lock() = None;
    }
}
