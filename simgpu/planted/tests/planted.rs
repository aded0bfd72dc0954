//! A small measurement: every kind of change once or more, on every card.

use isobit_simgpu_core::finding::FindingKind;
use isobit_simgpu_planted::card::Model;
use isobit_simgpu_planted::measure::{Options, measure};
use isobit_simgpu_planted::report::Report;

#[test]
fn what_is_planted_is_found_and_nothing_else() {
    let report: Report = measure(&Options { programs: 48, launches: 4, seed: 1 }).unwrap();
    assert!(report.is_as_known(), "{report}\n{:#?}", report.kept);
    for model in Model::ALL {
        let kinds = [FindingKind::OutOfBounds, FindingKind::UninitialisedRead, FindingKind::Race];
        for kind in kinds {
            assert!(report.of(model.name(), kind).planted >= 15, "{}: {kind}\n{report}", model.name());
        }
        assert!(report.sound[model.name()] >= 50, "{report}");
    }
}
