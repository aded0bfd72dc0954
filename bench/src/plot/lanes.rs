//! A lane for each family of rows without floating-point operations: the share of the copy rate
//! that each row achieves, its median, and the row that is furthest behind.

use super::paper::{Axis, GRID, INK, MUTED, Marks, TRACKS, Text, WIDTH, colour, cut, line, track};
use crate::group::Group as RowGroup;
use crate::report::Report;
use crate::row::{Row, median};
use std::collections::BTreeMap;
use svg::node::element::Group;

const HEADING: f64 = 72.0;
const LANE: f64 = 26.0;
/// The distance of the dots of two dtypes in a lane.
const TRACK: f64 = 3.4;
/// The largest share on the axis. Data that stays in a cache is read faster than a copy can.
const MOST: f64 = 1.4;
/// The right ends of the columns of numbers after the lanes, and the left end of names.
const ROWS: f64 = 612.0;
const MEDIAN: f64 = 668.0;
const WORST: f64 = 724.0;
const NAME: f64 = 736.0;

/// The shares and the rows of each group, the furthest behind first.
fn shares(report: &Report) -> BTreeMap<RowGroup, Vec<(f64, &Row)>> {
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in &report.rows {
        if let (Some(_), None, Some(floor)) = (row.bytes, row.flops, row.floor_us) {
            groups.entry(RowGroup::of(row)).or_default().push((floor / row.us, row));
        }
    }
    groups.values_mut().for_each(|rows| rows.sort_by(|a, b| a.0.total_cmp(&b.0)));
    groups
}

/// Returns the height of this part, which is 0 if nothing is in it.
pub fn height(report: &Report) -> f64 {
    match shares(report).len() {
        0 => 0.0,
        lanes => HEADING + LANE * lanes as f64 + 40.0,
    }
}

pub fn draw(report: &Report, top: f64) -> Option<Group> {
    let groups = shares(report);
    if groups.is_empty() {
        return None;
    }
    let x = Axis { values: [0.0, MOST], places: [150.0, 560.0], is_log: false };
    let (first, last) = (top + HEADING, top + HEADING + LANE * groups.len() as f64);
    let (mut part, mut lanes) = (Group::new().add(heading(top)).add(grid(x, first, last)), Group::new());
    let mut dots: [Marks; TRACKS] = Default::default();
    for (at, (group, rows)) in groups.iter().enumerate() {
        let middle = first + LANE * (at as f64 + 0.5);
        for (share, row) in rows {
            let track = track(&row.dtype);
            dots[track].add(x.at(*share), middle + (track as f64 - (TRACKS - 1) as f64 / 2.0) * TRACK);
        }
        lanes = lanes.add(lane(&group.to_string(), rows, x, middle));
    }
    for (track, dots) in dots.iter().enumerate().filter(|(_, dots)| dots.len() > 0) {
        part = part.add(dots.dots(colour(track), 4.0, 0.7));
    }
    Some(part.add(lanes))
}

fn heading(top: f64) -> Group {
    let about = "Achieved share of the copy rate: bytes that must be moved / time. Line: the median. \
                 At the right edge: more, from a cache.";
    let mut part = Group::new()
        .add(line([16.0, top], [WIDTH - 16.0, top], GRID, 1.0))
        .add(Text { size: 14.0, bold: true, ..Text::at(16.0, top + 22.0) }.of("Rows that move memory"))
        .add(Text { fill: MUTED, ..Text::at(16.0, top + 42.0) }.of(about));
    for (x, name) in [(ROWS, "rows"), (MEDIAN, "median"), (WORST, "least")] {
        part = part.add(Text { size: 11.0, fill: MUTED, anchor: "end", ..Text::at(x, top + 62.0) }.of(name));
    }
    part.add(Text { size: 11.0, fill: MUTED, ..Text::at(NAME, top + 62.0) }.of("of"))
}

fn grid(x: Axis, top: f64, bottom: f64) -> Group {
    let mut part = Group::new();
    for tenths in (0..=14).step_by(2) {
        let at = x.at(f64::from(tenths) / 10.0);
        let (paint, width) = if tenths == 10 { (MUTED, 1.4) } else { (GRID, 1.0) };
        let label = Text { size: 11.0, fill: MUTED, anchor: "middle", ..Text::at(at, bottom + 15.0) };
        part = part.add(line([at, top], [at, bottom], paint, width)).add(label.of(&format!("{} %", tenths * 10)));
    }
    part
}

/// The name of a group, its median, and its numbers.
fn lane(name: &str, rows: &[(f64, &Row)], x: Axis, middle: f64) -> Group {
    let shares: Vec<f64> = rows.iter().map(|(share, _)| *share).collect();
    let (typical, (least, worst)) = (median(&shares), rows[0]);
    let number = |right: f64, text: String| Text { anchor: "end", ..Text::at(right, middle + 4.0) }.of(&text);
    let at = x.at(typical);
    let half = LANE / 2.0 - 2.0;
    Group::new()
        .add(line([16.0, middle + LANE / 2.0], [WIDTH - 16.0, middle + LANE / 2.0], GRID, 1.0))
        .add(line([at, middle - half], [at, middle + half], INK, 2.0))
        .add(Text { anchor: "end", ..Text::at(138.0, middle + 4.0) }.of(name))
        .add(number(ROWS, rows.len().to_string()))
        .add(number(MEDIAN, percent(typical)))
        .add(number(WORST, percent(least)))
        .add(
            Text { fill: MUTED, ..Text::at(NAME, middle + 4.0) }.of(&cut(&format!("{} {}", worst.op, worst.dtype), 38)),
        )
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
