//! Stops panics in C functions, because unwinding into a caller that is not Rust aborts the
//! process.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of a C function. A panic, whose message the panic hook prints, becomes the
/// library's status for an internal error.
pub fn guarded<T>(internal_error: T, body: impl FnOnce() -> T) -> T {
    // Unwind safety: state that a panic may leave half changed is behind mutexes that
    // do not poison.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(internal_error)
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn a_panic_becomes_the_status() {
        assert_eq!(guarded(6, || 0), 0);
        assert_eq!(guarded(6, || panic!("this panic is part of a test")), 6);
    }
}
