//! The locks and atomics of the memory pool, the streams and the captures. With `--cfg loom` they
//! are loom's, and a model (`models`) runs every order in which threads can take them; otherwise
//! they are those of `parking_lot` and the standard library.

#[cfg(not(loom))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic;

#[cfg(loom)]
pub(crate) use modelled::{Condvar, Mutex, MutexGuard, atomic};

/// Loom's types with the interface of `parking_lot`.
#[cfg(loom)]
mod modelled {
    pub(crate) use loom::sync::atomic;
    use std::ops::{Deref, DerefMut};
    use std::time::Duration;

    const UNPOISONED: &str = "a thread of the model panicked while it held this lock";

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        #[track_caller]
        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().expect(UNPOISONED)))
        }

        pub(crate) fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().expect(UNPOISONED)
        }
    }

    #[derive(Debug)]
    pub(crate) struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.0.as_ref().expect("only a wait takes it")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect("only a wait takes it")
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        /// Waits without a time limit: if only the limit would end a wait, loom reports a deadlock.
        pub(crate) fn wait_while_for<T>(
            &self,
            guard: &mut MutexGuard<'_, T>,
            mut condition: impl FnMut(&mut T) -> bool,
            _limit: Duration,
        ) {
            while condition(guard) {
                let taken = guard.0.take().expect("a guard is used by one thread");
                guard.0 = Some(self.0.wait(taken).expect(UNPOISONED));
            }
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
