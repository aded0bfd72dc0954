//! What was found of what was planted, by kind of finding and by kind of change, on each card.

use crate::card::Model;
use crate::oracle::Verdict;
use crate::plant::Plant;
use crate::program::{Arguments, Program};
use isobit_simgpu_core::finding::FindingKind;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The most programs that are kept of each kind of miss.
const KEPT: usize = 3;

/// A launch.
pub struct Outcome {
    /// What the oracle says.
    pub verdict: Verdict,
    /// What the card found.
    pub found: BTreeSet<FindingKind>,
    /// Whether a launch without a fault gave a wrong result.
    pub wrong: bool,
}

/// Launches with a fault of a kind, and those in which it was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Launches.
    pub planted: u64,
    /// Launches with a finding of the kind.
    pub found: u64,
    /// Races missed in programs with an atomic. The order of atomics counts in intervals between
    /// barriers, so an atomic of a wave also orders what the wave does after it in the same
    /// interval.
    pub behind_an_atomic: u64,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.planted += other.planted;
        self.found += other.found;
        self.behind_an_atomic += other.behind_an_atomic;
    }

    /// Launches whose fault was missed for a reason that is not known.
    pub fn unexplained(&self) -> u64 {
        self.planted - self.found - self.behind_an_atomic
    }
}

/// What was measured.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// By card, kind of finding, and change.
    pub faults: BTreeMap<(&'static str, FindingKind, Plant), Count>,
    /// Launches without a fault, by card.
    pub sound: BTreeMap<&'static str, u64>,
    /// Launches whose only fault is an access that lands in another allocation, by card.
    pub elsewhere: BTreeMap<&'static str, u64>,
    /// Findings of a kind that the launch cannot have, by card and kind.
    pub untrue: BTreeMap<(&'static str, FindingKind), u64>,
    /// Launches without a fault whose result is wrong, by card.
    pub wrong: BTreeMap<&'static str, u64>,
    /// Programs whose fault was missed, or that had an untrue finding, as text.
    pub kept: BTreeMap<String, Vec<String>>,
}

impl Report {
    /// Counts a launch.
    pub fn add(&mut self, model: Model, plant: Option<Plant>, ran: &Outcome, program: &Program, with: &Arguments) {
        let card = model.name();
        let Outcome { verdict, found, wrong } = ran;
        if verdict.must.is_empty() {
            *if verdict.elsewhere { &mut self.elsewhere } else { &mut self.sound }.entry(card).or_default() += 1;
        }
        for &kind in &verdict.must {
            let plant = plant.expect("a program without a change has no fault");
            let count = self.faults.entry((card, kind, plant)).or_default();
            count.planted += 1;
            count.found += u64::from(found.contains(&kind));
            if !found.contains(&kind) {
                count.behind_an_atomic += u64::from(kind == FindingKind::Race && program.has_atomic());
                self.keep(format!("{card}: missed: {kind}: {plant:?}"), program, with);
            }
        }
        for &kind in found.iter().filter(|kind| !verdict.must.contains(kind) && !verdict.may.contains(kind)) {
            *self.untrue.entry((card, kind)).or_default() += 1;
            self.keep(format!("{card}: untrue: {kind}"), program, with);
        }
        if *wrong {
            *self.wrong.entry(card).or_default() += 1;
            self.keep(format!("{card}: a wrong result"), program, with);
        }
    }

    fn keep(&mut self, why: String, program: &Program, with: &Arguments) {
        let kept = self.kept.entry(why).or_default();
        if kept.len() < KEPT {
            let (blocks, threads) = (program.blocks, program.threads);
            let lengths = program.lengths;
            kept.push(format!(
                "// {blocks} blocks of {threads}, {lengths:?} elements, {with:?}\n{}",
                program.text("main")
            ));
        }
    }

    /// Joins two reports.
    pub fn joined(mut self, other: Self) -> Self {
        for (key, count) in other.faults {
            let own = self.faults.entry(key).or_default();
            own.add(count);
        }
        let add = |own: &mut BTreeMap<&'static str, u64>, other: BTreeMap<&'static str, u64>| {
            other.into_iter().for_each(|(card, n)| *own.entry(card).or_default() += n);
        };
        add(&mut self.sound, other.sound);
        add(&mut self.elsewhere, other.elsewhere);
        add(&mut self.wrong, other.wrong);
        other.untrue.into_iter().for_each(|(key, n)| *self.untrue.entry(key).or_default() += n);
        for (why, programs) in other.kept {
            let kept = self.kept.entry(why).or_default();
            kept.extend(programs);
            kept.truncate(KEPT);
        }
        self
    }

    /// Whether all that was found is true, and all that was missed is explained.
    pub fn is_as_known(&self) -> bool {
        self.untrue.is_empty() && self.wrong.is_empty() && self.faults.values().all(|count| count.unexplained() == 0)
    }

    /// Returns the launches with a fault of a kind on a card.
    pub fn of(&self, card: &str, kind: FindingKind) -> Count {
        let own = self.faults.iter().filter(|((c, k, _), _)| *c == card && *k == kind);
        own.fold(Count::default(), |mut sum, (_, count)| {
            sum.add(*count);
            sum
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: BTreeSet<_> = self.faults.keys().map(|key| key.1).collect();
        for model in Model::ALL {
            let card = model.name();
            writeln!(f, "{card}")?;
            for &kind in &kinds {
                let Count { planted, found, .. } = self.of(card, kind);
                if planted > 0 {
                    writeln!(f, "  {:<42} {found:>7} of {planted:>7} launches", kind.to_string())?;
                }
                for ((c, k, plant), count) in &self.faults {
                    if *c == card && *k == kind && count.found < count.planted {
                        let (missed, behind) = (count.planted - count.found, count.behind_an_atomic);
                        writeln!(f, "    missed: {plant:?}: {missed} of {}, {behind} behind an atomic", count.planted)?;
                    }
                }
            }
            let of = |counts: &BTreeMap<&'static str, u64>| counts.get(card).copied().unwrap_or(0);
            writeln!(f, "  without a fault: {} launches, {} wrong results", of(&self.sound), of(&self.wrong))?;
            writeln!(f, "  only in another allocation: {} launches", of(&self.elsewhere))?;
            for ((c, kind), n) in &self.untrue {
                if *c == card {
                    writeln!(f, "  untrue: {kind}: {n} launches")?;
                }
            }
        }
        Ok(())
    }
}
