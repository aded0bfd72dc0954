//! The pending tasks, their dependencies, and the choice of the next task.

use super::event::Record;
use super::work::Running;
use super::{Failure, Mode, StreamId, Work};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// A task's number. Later tasks have higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TaskId(u64);

#[derive(Debug)]
struct Task {
    device: usize,
    stream: StreamId,
    work: Work,
    /// The event that happens with the task.
    record: Option<Arc<Record>>,
    waits_for: Vec<TaskId>,
    /// A thread that waits for nothing else runs it.
    handed: bool,
    /// The call that enqueued it has returned, so that nobody waits for it.
    left: bool,
    /// The number of dependencies that have not ended.
    unmet: usize,
    waited_for_by: Vec<TaskId>,
    /// The failure of a dependency; the work is then skipped.
    inherited: Option<Failure>,
}

/// A running task.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) stream: StreamId,
    work: Work,
    inherited: Option<Failure>,
    /// Until what it leaves behind is started too, so that there is no moment without running work
    /// between the two.
    _running: Running,
}

impl Started {
    /// Whether the thread of the stream must run it. What comes after a failure is not called.
    pub(super) fn is_call(&self) -> bool {
        self.work.is_host() && self.inherited.is_none()
    }

    /// Whether it does something: it is not a mere point in a stream and not behind a failure.
    pub(super) fn needs_a_thread(&self) -> bool {
        !self.work.is_nothing() && self.inherited.is_none()
    }

    /// Whether a thread runs it that runs nothing else meanwhile.
    pub(super) fn needs_its_own_thread(&self) -> bool {
        !self.is_call() || self.work.meets()
    }

    pub(super) fn run(&self) -> Result<(), Failure> {
        match &self.inherited {
            Some(failure) => Err(failure.clone()),
            None => self.work.run(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Tasks {
    pending: BTreeMap<TaskId, Task>,
    /// Tasks without unmet dependencies that are not running.
    ready: BTreeSet<TaskId>,
    next: u64,
}

impl Tasks {
    pub(super) fn is_pending(&self, task: TaskId) -> bool {
        self.pending.contains_key(&task)
    }

    /// Adds a task that waits for the pending tasks among `waits_for`.
    pub(super) fn add(
        &mut self,
        device: usize,
        stream: StreamId,
        work: Work,
        record: Option<Arc<Record>>,
        mut waits_for: Vec<TaskId>,
        inherited: Option<Failure>,
    ) -> TaskId {
        self.next += 1;
        let id = TaskId(self.next);
        waits_for.retain(|&task| self.is_pending(task));
        waits_for.sort_unstable();
        waits_for.dedup();
        for before in &waits_for {
            if let Some(before) = self.pending.get_mut(before) {
                before.waited_for_by.push(id);
            }
        }
        let unmet = waits_for.len();
        if unmet == 0 {
            self.ready.insert(id);
        }
        let task = Task {
            device,
            stream,
            work,
            record,
            waits_for,
            handed: false,
            left: false,
            unmet,
            waited_for_by: Vec::new(),
            inherited,
        };
        self.pending.insert(id, task);
        id
    }

    /// Returns the pending tasks of a device.
    pub(super) fn of_device(&self, device: usize) -> Vec<TaskId> {
        self.pending.iter().filter(|(_, task)| task.device == device).map(|(&id, _)| id).collect()
    }

    /// Returns the pending tasks of a device, and those of other devices that are no meetings and
    /// not behind one.
    pub(super) fn to_drain(&self, device: Option<usize>) -> Vec<TaskId> {
        let meets = |task: TaskId| self.pending.get(&task).is_some_and(|task| task.work.meets());
        let is_needed = |(id, task): &(&TaskId, &Task)| device == Some(task.device) || !self.needed(&[**id]).any(meets);
        self.pending.iter().filter(is_needed).map(|(&id, _)| id).collect()
    }

    /// Leaves every function of the host, and all that it waits for, to threads. Returns those of
    /// these tasks that can run now.
    pub(super) fn leave_calls(&mut self) -> Vec<TaskId> {
        let calls: Vec<_> = self.pending.iter().filter(|(_, task)| task.work.is_host()).map(|(&id, _)| id).collect();
        let needed: Vec<_> = self.needed(&calls).filter(|&task| self.is_pending(task)).collect();
        for task in &needed {
            if let Some(task) = self.pending.get_mut(task) {
                task.left = true;
            }
        }
        needed.into_iter().filter(|task| self.ready.contains(task)).collect()
    }

    /// Returns a task that can run now and that `targets` need, or `None` if other threads are
    /// running all such tasks.
    pub(super) fn pick(&self, targets: &[TaskId], mode: Mode) -> Option<TaskId> {
        match mode {
            Mode::Latest => self.ready.last().copied(),
            Mode::Eager => self.ready_for(targets).min(),
            Mode::Needed => self.ready_for(targets).max(),
        }
    }

    /// Leaves a task that is not ready behind functions of the host: it and all that it waits for
    /// are then run by threads. Does nothing and returns false if it waits for work that the thread
    /// of another call runs.
    pub(super) fn leave(&mut self, task: TaskId) -> bool {
        let needed: Vec<_> = self.needed(&[task]).collect();
        let runs_elsewhere = |task: &Task| task.unmet == 0 && !task.handed;
        if needed.iter().filter_map(|task| self.pending.get(task)).any(runs_elsewhere) {
            return false;
        }
        for task in needed {
            if let Some(task) = self.pending.get_mut(&task) {
                task.left = true;
            }
        }
        true
    }

    /// Returns the ready tasks that are among `targets` or that these wait for.
    fn ready_for(&self, targets: &[TaskId]) -> impl Iterator<Item = TaskId> {
        self.needed(targets).filter(|task| self.ready.contains(task))
    }

    /// Returns `targets` and the pending tasks that these wait for.
    fn needed(&self, targets: &[TaskId]) -> impl Iterator<Item = TaskId> {
        let mut seen: HashSet<TaskId> = targets.iter().copied().collect();
        let mut stack: Vec<TaskId> = targets.to_vec();
        while let Some(task) = stack.pop() {
            for &before in self.pending.get(&task).map_or(&[][..], |task| &task.waits_for) {
                if self.is_pending(before) && seen.insert(before) {
                    stack.push(before);
                }
            }
        }
        seen.into_iter()
    }

    /// Starts a task returned by [`pick`](Self::pick).
    pub(super) fn start(&mut self, id: TaskId) -> Started {
        self.ready.remove(&id);
        let task = self.pending.get_mut(&id).expect("a ready task is pending");
        let (work, inherited) = (task.work.clone(), task.inherited.clone());
        let started = Started { stream: task.stream, work, inherited, _running: Running::begin() };
        task.handed = task.left || started.is_call();
        started
    }

    /// Marks a task as ended. Tasks that wait for a failed task inherit the failure. Returns the
    /// tasks that were left behind it and can run now.
    pub(super) fn end(&mut self, id: TaskId, outcome: Result<(), Failure>) -> Vec<TaskId> {
        let mut left = Vec::new();
        let Some(task) = self.pending.remove(&id) else { return left };
        for after in task.waited_for_by {
            let Some(next) = self.pending.get_mut(&after) else { continue };
            if let Err(failure) = &outcome {
                next.inherited.get_or_insert_with(|| failure.clone());
            }
            next.unmet -= 1;
            if next.unmet == 0 {
                self.ready.insert(after);
                left.extend(next.left.then_some(after));
            }
        }
        if let Some(record) = task.record {
            record.happened(outcome);
        }
        left
    }
}
