//! Models of the memory pool and of the order between streams. Loom runs each model in every order
//! in which its threads can take locks and access atomics, up to a number of preemptions
//! (`LOOM_MAX_PREEMPTIONS`, here 2 by default): a wrong order that a test meets once in a million
//! runs fails here every time.
//!
//! The device of a model is a [`driver::Ledger`]. It executes nothing: it knows which work each
//! stream has waited for, and fails the model when work meets other work on the same memory that
//! it does not wait for, when memory is used after it was freed, and when a handle is left over.
//!
//! `cargo xtask sanitize loom` runs them. Loom's mutexes and atomics work inside models only, so
//! other tests do not run with `--cfg loom`.

mod captures;
mod closing;
mod counting;
mod driver;
mod ledger;
mod memory;
mod order;

/// The preemptions of a thread per execution. Two find what the literature found with more: the
/// errors of a lock's order need one or two.
const PREEMPTIONS: usize = 2;

/// Runs a model in every order of its threads.
fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(PREEMPTIONS));
    builder.max_branches = 100_000;
    builder.check(model);
}
