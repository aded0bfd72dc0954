//! Compares the digests of two builds, cell by cell and case by case.

use isobit::Numerics;
use isobit_conformance::run::{CellDigests, DeviceDigests, Digests};
use std::collections::{BTreeMap, HashSet};

/// What identifies a cell in both builds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub op: String,
    pub dtypes: String,
    pub numerics: Option<Numerics>,
}

impl Key {
    pub fn of(cell: &CellDigests) -> Self {
        Self { op: cell.op.clone(), dtypes: cell.dtypes.clone(), numerics: cell.numerics }
    }
}

/// How a cell differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The same inputs gave another result.
    Results,
    /// Only the earlier build has the cell.
    Lost,
    /// The inputs changed, so the results cannot be compared.
    Cases,
    /// A vendor's library gave another result, which no numerics version promises to keep.
    Vendor,
    /// Only this build has the cell.
    Added,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Results, Kind::Lost, Kind::Cases, Kind::Vendor, Kind::Added];
}

/// A cell that differs on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub kind: Kind,
    pub cell: Key,
    /// The number of cases that differ; 0 for a cell that only one build has.
    pub cases: usize,
    /// The index of the first of these cases.
    pub first: usize,
}

/// Which of the runs have a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Both,
    /// Only the earlier run: its cells are lost.
    Earlier,
    /// Only the later run: its cells are added.
    Later,
}

/// The comparison of one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    pub id: String,
    pub presence: Presence,
    /// The number of cells that both runs have.
    pub compared: usize,
    /// The number of cells in which nothing differs.
    pub same: usize,
    pub changes: Vec<Change>,
}

impl Device {
    /// Returns the number of changes of the given kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.changes.iter().filter(|c| c.kind == kind).count()
    }
}

/// Compares the devices and cells that the filters accept. If the runs have different lengths, only
/// the cases planned in both are compared.
pub fn devices(
    old: &Digests,
    new: &Digests,
    device: impl Fn(&str) -> bool,
    cell: impl Fn(&Key) -> bool,
) -> Vec<Device> {
    let cases = old.cases.min(new.cases) as usize;
    let find = |run: &'_ Digests, id: &str| run.devices.iter().position(|d| d.device.id == id);
    let ids = old.devices.iter().chain(&new.devices).map(|d| d.device.id.as_str());
    let mut seen = HashSet::new();
    ids.filter(|id| seen.insert(*id) && device(id))
        .map(|id| {
            let of = |run: &'_ Digests| find(run, id).map(|at| run.devices[at].clone());
            let (a, b) = (of(old), of(new));
            let presence = match (&a, &b) {
                (_, None) => Presence::Earlier,
                (None, _) => Presence::Later,
                _ => Presence::Both,
            };
            let mut out = Device { id: id.into(), presence, compared: 0, same: 0, changes: Vec::new() };
            compare(&mut out, index(&a), index(&b), cases, &cell);
            out
        })
        .collect()
}

/// Returns the cells that ran on a device. A refused cell has no cases and counts as absent.
fn index(device: &Option<DeviceDigests>) -> BTreeMap<Key, &CellDigests> {
    let cells = device.iter().flat_map(|d| &d.cells);
    cells.filter(|c| !c.cases.is_empty()).map(|c| (Key::of(c), c)).collect()
}

fn compare(
    out: &mut Device,
    old: BTreeMap<Key, &CellDigests>,
    new: BTreeMap<Key, &CellDigests>,
    cases: usize,
    wanted: &impl Fn(&Key) -> bool,
) {
    let whole = |kind, cell: &Key| Change { kind, cell: cell.clone(), cases: 0, first: 0 };
    for (key, a) in old.iter().filter(|(key, _)| wanted(key)) {
        let Some(b) = new.get(key) else {
            out.changes.push(whole(Kind::Lost, key));
            continue;
        };
        let found = changed(key, a, b, cases);
        out.compared += 1;
        out.same += usize::from(found.is_empty());
        out.changes.extend(found);
    }
    let added = new.keys().filter(|key| wanted(key) && !old.contains_key(key));
    out.changes.extend(added.map(|key| whole(Kind::Added, key)));
}

/// Returns how a cell that both runs have differs. A case that one run did not reach has no result
/// there.
fn changed(key: &Key, old: &CellDigests, new: &CellDigests, cases: usize) -> Vec<Change> {
    let results = if key.numerics == Some(Numerics::Vendor) { Kind::Vendor } else { Kind::Results };
    let mut found: BTreeMap<Kind, (usize, usize)> = BTreeMap::new();
    for index in 0..cases {
        let result = |cell: &'_ CellDigests| cell.digests.get(index).cloned().unwrap_or_default();
        let kind = match (old.cases.get(index), new.cases.get(index)) {
            (Some(a), Some(b)) if a != b => Kind::Cases,
            _ if result(old) == result(new) => continue,
            _ => results,
        };
        found.entry(kind).or_insert((0, index)).0 += 1;
    }
    let change = |(kind, (cases, first))| Change { kind, cell: key.clone(), cases, first };
    found.into_iter().map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_conformance::report::{Build, DeviceRow, SCHEMA};

    /// A cell: its name, numerics, cases and results.
    type Given<'a> = (&'a str, Option<Numerics>, &'a [&'a str], &'a [&'a str]);

    fn run(cases: u64, devices: &[(&str, &[Given<'_>])]) -> Digests {
        let owned = |list: &[&str]| list.iter().map(|s| s.to_string()).collect();
        let cell = |&(op, numerics, cases, digests): &Given<'_>| CellDigests {
            op: op.into(),
            dtypes: "f32".into(),
            numerics,
            cases: owned(cases),
            digests: owned(digests),
        };
        let device = |(id, cells): &(&str, &[Given<'_>])| DeviceDigests {
            device: DeviceRow { id: id.to_string(), ..DeviceRow::default() },
            cells: cells.iter().map(cell).collect(),
        };
        let devices = devices.iter().map(device).collect();
        Digests { schema: SCHEMA, seed: 0, cases, build: Build::default(), devices }
    }

    fn diff(old: &Digests, new: &Digests) -> Vec<Device> {
        devices(old, new, |_| true, |_| true)
    }

    fn shown(device: &Device) -> Vec<(Kind, &str, usize, usize)> {
        device.changes.iter().map(|c| (c.kind, c.cell.op.as_str(), c.cases, c.first)).collect()
    }

    const PLAIN: Option<Numerics> = None;
    const VENDOR: Option<Numerics> = Some(Numerics::Vendor);

    #[test]
    fn each_kind_of_difference_is_told_with_its_first_case() {
        let old = run(
            3,
            &[(
                "cpu",
                &[
                    ("abs", PLAIN, &["a", "b", "c"], &["1", "2", "3"]),
                    ("exp", PLAIN, &["a", "b", "c"], &["1", "2", "3"]),
                    ("gone", PLAIN, &["a", "b", "c"], &["1", "2", "3"]),
                    ("matmul", VENDOR, &["a", "b", "c"], &["1", "2", "3"]),
                    ("sin", PLAIN, &["a", "b", "c"], &["1", "2", "3"]),
                ],
            )],
        );
        let new = run(
            3,
            &[(
                "cpu",
                &[
                    ("abs", PLAIN, &["a", "b", "c"], &["1", "2", "3"]),
                    ("exp", PLAIN, &["a", "b", "c"], &["1", "x", "y"]),
                    ("matmul", VENDOR, &["a", "b", "c"], &["1", "2", "z"]),
                    ("new", PLAIN, &["a"], &["1"]),
                    // The first case has other inputs, so its result may differ; the last case has
                    // the same inputs, so its result may not.
                    ("sin", PLAIN, &["other", "b", "c"], &["7", "2", "8"]),
                ],
            )],
        );
        let found = diff(&old, &new).remove(0);
        assert_eq!((found.compared, found.same, found.presence), (4, 1, Presence::Both));
        let expected = [
            (Kind::Results, "exp", 2, 1),
            (Kind::Lost, "gone", 0, 0),
            (Kind::Vendor, "matmul", 1, 2),
            (Kind::Results, "sin", 1, 2),
            (Kind::Cases, "sin", 1, 0),
            (Kind::Added, "new", 0, 0),
        ];
        assert_eq!(shown(&found), expected);
    }

    #[test]
    fn a_case_that_one_build_did_not_come_to_is_a_changed_result() {
        let cell: Given<'_> = ("exp", PLAIN, &["a", "b", "c"], &["1", "2", "3"]);
        let old = run(3, &[("cpu", &[cell])]);
        let lost = run(3, &[("cpu", &[("exp", PLAIN, &["a", "b"], &["1", ""])])]);
        assert_eq!(shown(&diff(&old, &lost)[0]), [(Kind::Results, "exp", 2, 1)]);
        // A cell that a device refuses has no cases at all.
        let refused = run(3, &[("cpu", &[("exp", PLAIN, &[], &[])])]);
        assert_eq!(shown(&diff(&old, &refused)[0]), [(Kind::Lost, "exp", 0, 0)]);
        assert_eq!(shown(&diff(&refused, &old)[0]), [(Kind::Added, "exp", 0, 0)]);
        // Only the cases of the shorter run are compared.
        let shorter = run(2, &[("cpu", &[("exp", PLAIN, &["a", "b"], &["1", "2"])])]);
        assert_eq!((diff(&old, &shorter)[0].same, diff(&shorter, &old)[0].same), (1, 1));
    }

    #[test]
    fn a_device_of_one_run_alone_is_lost_or_added_whole() {
        let cells: &[Given<'_>] = &[("exp", PLAIN, &["a"], &["1"]), ("sin", PLAIN, &["a"], &["1"])];
        let both = run(1, &[("cpu", cells), ("cuda:0", cells)]);
        let one = run(1, &[("cpu", cells)]);
        let found = diff(&both, &one);
        let kinds = |d: &Device| (d.presence, d.count(Kind::Lost), d.count(Kind::Added), d.same);
        assert_eq!(
            found.iter().map(kinds).collect::<Vec<_>>(),
            [(Presence::Both, 0, 0, 2), (Presence::Earlier, 2, 0, 0)]
        );
        assert_eq!(kinds(&diff(&one, &both)[1]), (Presence::Later, 0, 2, 0));
        let only = devices(&both, &one, |id| id == "cpu", |key| key.op == "sin");
        assert_eq!((only.len(), only[0].compared, only[0].changes.len()), (1, 1, 0));
    }
}
