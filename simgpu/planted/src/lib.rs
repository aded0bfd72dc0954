//! How much of what is wrong do the checks of the simulated GPUs find, and is what they find true?
//!
//! Programs are drawn from patterns that kernels are made of (exchanges through shared memory,
//! trees, double buffers, wide accesses, counters). In each, one thing is changed as it is by
//! mistake: a barrier is missing, an index is off by one, a thread takes no part. An oracle
//! evaluates every access of every thread on the host and says what each launch must and may give.
//! clang compiles the programs, the simulated cards run them, and the report counts what was found,
//! what was missed, and what was untrue.

pub mod card;
pub mod draw;
pub mod measure;
pub mod oracle;
pub mod plant;
pub mod program;
pub mod report;
