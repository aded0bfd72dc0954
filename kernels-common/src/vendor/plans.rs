//! The cache of a library's plans. A library takes milliseconds to choose an algorithm, so it is
//! asked once per problem.

use crate::runtime::{DevicePtr, Scratch, Vendor};
use isobit_hal::{ErrorKind, Result};
use std::collections::HashMap;
use std::hash::Hash;

/// The maximum number of cached plans; above it, the least recently used one is dropped.
const MOST_PLANS: usize = 1024;

/// A library's plan for one problem.
///
/// ```
/// use isobit_kernels::LibraryPlan;
///
/// /// The algorithm that the library chose, as the number by which it is called.
/// struct Plan {
///     algorithm: i32,
///     workspace: usize,
/// }
///
/// impl LibraryPlan for Plan {
///     fn workspace_bytes(&self) -> usize {
///         self.workspace
///     }
/// }
///
/// assert_eq!(Plan { algorithm: 1, workspace: 4096 }.workspace_bytes(), 4096);
/// ```
pub trait LibraryPlan {
    /// Returns the size of its workspace in bytes.
    fn workspace_bytes(&self) -> usize;
}

/// The plans that were made with one handle, by the problems that they solve.
#[derive(Debug)]
pub struct LibraryPlans<K, P> {
    plans: HashMap<K, Kept<P>>,
    uses: u64,
}

#[derive(Debug)]
struct Kept<P> {
    plan: Result<P, String>,
    last_used: u64,
}

impl<K, P> Default for LibraryPlans<K, P> {
    fn default() -> Self {
        Self { plans: HashMap::new(), uses: 0 }
    }
}

impl<K: Copy + Eq + Hash, P: LibraryPlan> LibraryPlans<K, P> {
    /// Solves a problem by its plan, which `make` creates on first use. `execute` receives the
    /// address of a workspace from `scratch`, which is null if the plan needs none. If the library
    /// cannot do it, or the problem is the reason why, returns `Declined` with `library` and the
    /// reason.
    ///
    /// Libraries choose algorithms by heuristics and not by measurement, so making a plan runs
    /// nothing on the device and is allowed during a capture.
    ///
    /// # Errors
    /// Returns the error of `scratch`, except for `OutOfMemory`, for which the result is
    /// `Declined`.
    pub fn run(
        &mut self,
        library: &str,
        problem: Result<K, String>,
        make: impl FnOnce(&K) -> Result<P, String>,
        scratch: &mut Scratch<'_>,
        execute: impl FnOnce(&mut P, DevicePtr) -> Result<(), String>,
    ) -> Result<Vendor> {
        let declined = |why: String| Ok(Vendor::Declined(format!("{library} {why}")));
        let problem = match problem {
            Ok(problem) => problem,
            Err(why) => return declined(why),
        };
        let plan = match self.plan(&problem, || make(&problem)) {
            Ok(plan) => plan,
            Err(why) => return declined(why),
        };
        let workspace = match plan.workspace_bytes() {
            0 => DevicePtr(0),
            bytes => match scratch(bytes) {
                Ok(workspace) => workspace,
                Err(e) if e.kind() == ErrorKind::OutOfMemory => {
                    return declined(format!("needs a workspace of {bytes} bytes: {e}"));
                }
                Err(e) => return Err(e),
            },
        };
        match execute(plan, workspace) {
            Ok(()) => Ok(Vendor::Done),
            Err(why) => {
                self.give_up(&problem, why.clone());
                declined(why)
            }
        }
    }
}

impl<K: Copy + Eq + Hash, P> LibraryPlans<K, P> {
    /// Returns the plan for a problem, which is made on first use, or the cached reason why there
    /// is none.
    ///
    /// # Errors
    /// Returns the error of `make`.
    fn plan(&mut self, problem: &K, make: impl FnOnce() -> Result<P, String>) -> Result<&mut P, String> {
        self.uses += 1;
        if self.plans.len() >= MOST_PLANS && !self.plans.contains_key(problem) {
            let oldest = self.plans.iter().min_by_key(|(_, kept)| kept.last_used).map(|(problem, _)| *problem);
            oldest.map(|problem| self.plans.remove(&problem));
        }
        let kept = self.plans.entry(*problem).or_insert_with(|| Kept { plan: make(), last_used: 0 });
        kept.last_used = self.uses;
        kept.plan.as_mut().map_err(|why| why.clone())
    }

    /// Marks a plan as never to be used again, because running it failed.
    fn give_up(&mut self, problem: &K, why: String) {
        self.plans.insert(*problem, Kept { plan: Err(why), last_used: self.uses });
    }

    /// Drops all plans. Called before the handle that they were made with is destroyed.
    pub fn clear(&mut self) {
        self.plans.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_hal::{Error, ErrorKind};

    #[test]
    fn a_plan_is_made_once_and_the_longest_unused_goes() {
        let mut plans = LibraryPlans::default();
        for w in 1..=MOST_PLANS {
            assert_eq!(plans.plan(&w, || Ok(w)).copied(), Ok(w));
        }
        assert_eq!(plans.plan(&1, || unreachable!("it is kept")).copied(), Ok(1));
        assert!(plans.plan(&5000, || Err("no".into())).is_err());
        assert_eq!(plans.plan(&5000, || Ok(7)).copied(), Err("no".into()), "a refusal is remembered");
        assert_eq!(plans.plan(&1, || unreachable!("it was used")).copied(), Ok(1));
        assert_eq!(plans.plan(&2, || Ok(9)).copied(), Ok(9), "it was the longest unused");
        plans.give_up(&1, "it failed".into());
        assert!(plans.plan(&1, || Ok(1)).is_err());
    }

    #[derive(Debug)]
    struct Wants(usize);

    impl LibraryPlan for Wants {
        fn workspace_bytes(&self) -> usize {
            self.0
        }
    }

    #[test]
    fn a_plan_works_in_memory_of_the_size_that_it_wants() {
        let mut plans = LibraryPlans::default();
        for bytes in [0, 4096] {
            plans.clear();
            let mut given = None;
            let mut scratch = |n| {
                given = Some(n);
                Ok(DevicePtr(8192))
            };
            let execute = |plan: &mut Wants, memory: DevicePtr| {
                assert_eq!((plan.0, memory.0), (bytes, if bytes == 0 { 0 } else { 8192 }));
                Ok(())
            };
            let done = plans.run("It", Ok(1), |_| Ok(Wants(bytes)), &mut scratch, execute);
            assert_eq!(done.unwrap(), Vendor::Done);
            assert_eq!(given, (bytes > 0).then_some(bytes));
        }
    }

    #[test]
    fn a_problem_that_no_library_takes_is_declined_with_its_reason() {
        let mut plans = LibraryPlans::<u8, Wants>::default();
        let asked = plans.run("It", Err("does not".into()), |_| unreachable!(), &mut |_| unreachable!(), |_, _| Ok(()));
        assert_eq!(asked.unwrap(), Vendor::Declined("It does not".into()));
    }

    #[test]
    fn where_memory_is_short_the_library_declines_and_keeps_the_plan() {
        let mut plans = LibraryPlans::default();
        let mut with = |kind| {
            let mut scratch = |_| Err(Error::new(kind, "short"));
            plans.run("It", Ok(1), |_| Ok(Wants(1)), &mut scratch, |_, _| unreachable!("it has no memory"))
        };
        assert_eq!(
            with(ErrorKind::OutOfMemory).unwrap(),
            Vendor::Declined("It needs a workspace of 1 bytes: short".into())
        );
        assert_eq!(with(ErrorKind::CaptureViolation).unwrap_err().kind(), ErrorKind::CaptureViolation);
        let mut scratch = |_| Ok(DevicePtr(512));
        let fails = plans.run("It", Ok(1), |_| unreachable!("it is kept"), &mut scratch, |_, _| Err("fails".into()));
        assert_eq!(fails.unwrap(), Vendor::Declined("It fails".into()));
        let again = plans.run("It", Ok(1), |_| unreachable!("it was given up"), &mut scratch, |_, _| Ok(()));
        assert_eq!(again.unwrap(), Vendor::Declined("It fails".into()));
    }
}
