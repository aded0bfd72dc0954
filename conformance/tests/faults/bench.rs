//! One device, and what is checked after each fault.

use crate::card::Card;
use crate::simulator::Simulator;
use isobit::{
    AnyDevice, BackendDevice as _, BackendStorage as _, CpuDevice, DType, Error, ErrorKind, Layout, Result, UnaryOp,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a prepared step does while the fault is set.
pub type Action = Box<dyn FnOnce() -> Result<()>>;

/// What a fault must lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The call fails with this kind; the message has these words.
    Fails(ErrorKind, &'static str),
    /// The call cannot return an error; the next call that waits does.
    Later(ErrorKind, &'static str),
    /// The work is done in another way, with the right result.
    Works,
}

/// A device under test.
pub struct Bench {
    pub card: &'static Card,
    pub device: AnyDevice,
    pub simulator: Simulator,
}

/// What must be the same before and after a fault.
type State = (u64, Vec<(&'static str, u64)>);

impl Bench {
    /// Opens the card.
    pub fn new(card: &'static Card) -> Self {
        let simulator = Simulator::new(card);
        let device = AnyDevice::open(card.opened_as).expect("the simulated card opens");
        Self { card, device, simulator }
    }

    /// Returns the bytes in use and the native objects.
    fn state(&self) -> State {
        self.device.trim(0);
        // Events that order work are kept for reuse.
        let live = self.simulator.live().into_iter().filter(|(create, _)| !create.contains("EventCreate")).collect();
        (self.device.pool_stats().in_use, live)
    }

    /// Prepares a step, runs it under a fault, and checks everything. `name` is that of the code,
    /// which the error must have.
    pub fn check(&self, fault: &str, name: &str, outcome: Outcome, prepare: &dyn Fn(&AnyDevice) -> Result<Action>) {
        let failed = |why: &str| panic!("{}, {fault}: {why}", self.card.id);
        let ready =
            || prepare(&self.device).unwrap_or_else(|e| panic!("{}, {fault}: preparing it fails: {e:?}", self.card.id));
        // Once without the fault, so that what is made once for the process is there.
        ready()().unwrap_or_else(|e| panic!("{}, {fault}: it fails without the fault: {e:?}", self.card.id));
        self.device.synchronize().expect("no work failed");
        let before = self.state();
        let action = ready();
        let injected = self.simulator.injected();
        self.simulator.fail(fault);
        let done = catch_unwind(AssertUnwindSafe(action));
        self.simulator.fail("");
        if self.simulator.injected() == injected {
            failed("the call was not made");
        }
        let Ok(done) = done else { failed("it panicked") };
        match (outcome, done) {
            (Outcome::Fails(kind, words), Err(e)) => self.is(&e, fault, kind, words, name),
            (Outcome::Later(kind, words), Ok(())) => {
                let e = self.device.synchronize().expect_err("the error is kept for this call");
                self.is(&e, fault, kind, words, name);
            }
            (Outcome::Works, Ok(())) => {}
            (_, done) => failed(&format!("{outcome:?} was expected, not {done:?}")),
        }
        if let Err(e) = self.device.synchronize() {
            failed(&format!("an error is left: {e:?}"));
        }
        let after = self.state();
        if after != before {
            failed(&format!("something leaked: {before:?} became {after:?}"));
        }
        self.works();
    }

    /// Checks kind, call and code of an error.
    fn is(&self, e: &Error, fault: &str, kind: ErrorKind, words: &str, name: &str) {
        // With the chain of causes.
        let all = format!("{e:?}");
        assert!(e.kind() == kind, "{}, {fault}: {kind:?} was expected, not {:?}: {all}", self.card.id, e.kind());
        assert!(all.contains(words), "{}, {fault}: the error does not say {words:?}: {all}", self.card.id);
        assert!(all.contains(name), "{}, {fault}: the error does not have {name}: {all}", self.card.id);
    }

    /// Checks that the device computes what the CPU does.
    #[track_caller]
    pub fn works(&self) {
        works(&self.device).unwrap_or_else(|e| panic!("{}: the device does not work: {e:?}", self.card.id));
    }
}

/// Checks that a device computes what the CPU does, to the bit.
///
/// # Errors
/// Returns the device's error.
pub fn works(device: &AnyDevice) -> Result<()> {
    let data: Vec<f32> = (0..300).map(|i| (i - 150) as f32 / 8.0).collect();
    let layout = Layout::contiguous(data.len());
    let expected = CpuDevice.storage_from_slice(&data)?.unary(&layout, UnaryOp::Exp)?.to_vec::<f32>()?;
    let found = device.storage_from_slice(&data)?.unary(&layout, UnaryOp::Exp)?.to_vec::<f32>()?;
    let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&found), bits(&expected), "the device computes something else than the CPU");
    Ok(())
}

/// Returns a storage of zeros.
///
/// # Errors
/// Returns the device's error.
pub fn zeros(device: &AnyDevice, n: usize) -> Result<isobit::AnyStorage> {
    device.zeros(&n.into(), DType::F32)
}
