use super::paper::{Axis, spread, track};
use super::*;
use crate::row::Row;

fn picture(report: &Report) -> Option<String> {
    draw(report, &Roof::of(report)).map(|picture| picture.to_string())
}

#[test]
fn axes_place_values_by_their_logarithm_or_linearly() {
    let log = Axis { values: [1.0, 1000.0], places: [100.0, 400.0], is_log: true };
    assert_eq!([1.0, 10.0, 100.0, 1000.0].map(|value| log.at(value).round()), [100.0, 200.0, 300.0, 400.0]);
    assert_eq!([0.1, 1e6].map(|value| log.at(value)), [100.0, 400.0], "what is outside stays at the edge");
    assert_eq!(log.decades(), [1.0, 10.0, 100.0, 1000.0]);
    assert_eq!(Axis { values: [0.5, 99.0], ..log }.decades(), [1.0, 10.0]);
    // Upwards, as positions of a picture count downwards.
    let linear = Axis { values: [0.0, 1.5], places: [300.0, 0.0], is_log: false };
    assert_eq!([0.0, 0.5, 1.5].map(|value| linear.at(value)), [300.0, 200.0, 0.0]);
}

#[test]
fn labels_do_not_overlap() {
    let mut places = [10.0, 11.0, 12.0, 90.0, 99.0];
    spread(&mut places, 10.0, 100.0);
    assert_eq!(places, [10.0, 20.0, 30.0, 90.0, 100.0]);
    let mut places = [97.0, 98.0, 99.0];
    spread(&mut places, 10.0, 100.0);
    assert_eq!(places, [80.0, 90.0, 100.0]);
}

#[test]
fn each_dtype_has_a_colour() {
    assert_eq!(["f32", "f16", "bf16", "f64", "f8e4m3", "f8e5m2", "u8", "i64"].map(track), [0, 1, 2, 3, 4, 4, 5, 5]);
}

/// A mark begins with M, and only marks do.
fn marks(picture: &str) -> usize {
    picture.split('M').skip(1).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).count()
}

#[test]
fn the_small_benchmark_has_a_mark_for_each_row_of_the_device() {
    let picture = picture(&Report::small()).unwrap();
    assert!(picture.contains("<title>\nIsobit on NVIDIA H200") || picture.contains("<title>Isobit on NVIDIA H200"));
    // Six elementwise rows and five that compute; six dtypes and three numerics in the legends. The
    // two rows of the host are not on the device.
    assert_eq!(marks(&picture), 6 + 5 + 6 + 3, "{picture}");
    // f16: 200 of 200 and 8.4 of 10 us, 200 of 500, 200 of 2000.
    assert!(picture.contains("median share of the roof: portable 10 %, block 40 %, vendor 100 %"), "{picture}");
    assert!(picture.contains("f16 700"), "the level of the dtype has its name and rate");
    // 128 of 160, 128, 256 and 192 us, 64 of 80, and 32 of 40.
    let lane = picture.split("unary").nth(1).unwrap();
    assert!(lane.contains("80 %") && lane.contains("50 %") && lane.contains("cos f32"), "{lane}");
}

#[test]
fn one_part_alone_and_none() {
    let only = |keep: fn(&Row) -> bool| {
        let mut report = Report::small();
        report.rows.retain(keep);
        picture(&report)
    };
    let computing = only(|row| row.flops.is_some()).unwrap();
    assert!(computing.contains("Rows that compute") && !computing.contains("Rows that move memory"));
    let moving = only(|row| row.flops.is_none()).unwrap();
    assert!(moving.contains("Rows that move memory") && !moving.contains("Rows that compute"));
    assert!(only(|row| row.op.starts_with("host")).is_none());
}

#[test]
fn marks_at_one_place_are_drawn_once() {
    let row = Row::new("exp", "f32", "64Mi", 10.0).with_floor(Some(9.0));
    let rows = vec![Row { bytes: Some(1e6), ..row }; 4000];
    let picture = picture(&Report { rows, ..Report::example() }).unwrap();
    assert_eq!(marks(&picture), 1 + 6);
    assert!(picture.contains(">4000<") || picture.contains("\n4000\n"), "the lane counts them all");
}

#[test]
fn names_in_files_are_text_in_pictures() {
    let report = Report { device: "<script>&".into(), ..Report::small() };
    let picture = picture(&report).unwrap();
    assert!(picture.contains("Isobit on &lt;script&gt;&amp;") && !picture.contains("<script>"));
}
