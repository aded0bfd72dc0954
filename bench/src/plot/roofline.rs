//! A roofline for each family with floating-point operations (Williams, Waterman and Patterson,
//! 2009): operations per second over operations per byte. The slope is the copy rate, and each
//! dtype has its own level, the best rate of the vendor's products.

use super::paper::{self, Axis, GRID, MUTED, Marks, TRACKS, Text, WIDTH, colour, line, track};
use crate::group::{Group as RowGroup, Place};
use crate::report::Report;
use crate::roof::Roof;
use crate::row::{Row, median};
use isobit_hal::Numerics;
use std::collections::{BTreeMap, BTreeSet};
use svg::node::element::Group;

/// The height of a row of panels; two stand side by side.
const PANEL: f64 = 300.0;
/// The height of the heading above them.
const HEADING: f64 = 60.0;
/// The marks of numerics; those of the first are drawn first, below the others.
const NUMERICS: [Numerics; 3] = [Numerics::Vendor, Numerics::Block, Numerics::Portable];

/// A row whose operations and bytes are known.
struct Point<'a> {
    row: &'a Row,
    numerics: Numerics,
    /// Operations per byte.
    intensity: f64,
    /// Operations per microsecond.
    rate: f64,
}

fn points(report: &Report) -> BTreeMap<Place, Vec<Point<'_>>> {
    let mut of_places: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in &report.rows {
        let (Some(flops), Some(bytes)) = (row.flops, row.bytes) else { continue };
        let RowGroup { place, numerics } = RowGroup::of(row);
        let point = Point { row, numerics, intensity: flops / bytes, rate: flops / row.us };
        of_places.entry(place).or_default().push(point);
    }
    of_places
}

/// Returns the height of this part, which is 0 if nothing is in it.
pub fn height(report: &Report) -> f64 {
    match points(report).len() {
        0 => 0.0,
        panels => HEADING + PANEL * panels.div_ceil(2) as f64 + 16.0,
    }
}

/// Draws all panels, with the same axes.
pub fn draw(report: &Report, roof: &Roof, top: f64) -> Option<Group> {
    let of_places = points(report);
    let all = || of_places.values().flatten();
    let range = |values: Vec<f64>| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        [least, values.into_iter().fold(0.0, f64::max)]
    };
    let [least, most] = range(all().map(|point| point.intensity).collect());
    let [slowest, fastest] = range(all().map(|point| point.rate).chain(roof.peaks.values().copied()).collect());
    if most == 0.0 {
        return None;
    }
    let (xs, ys) = ([least / 1.6, most * 1.6], [slowest / 1.6, fastest * 1.6]);
    let mut part = Group::new().add(heading(top));
    for (at, (place, points)) in of_places.iter().enumerate() {
        let (left, top) = ((at % 2) as f64 * WIDTH / 2.0, top + HEADING + (at / 2) as f64 * PANEL);
        let x = Axis { values: xs, places: [left + 50.0, left + WIDTH / 2.0 - 84.0], is_log: true };
        let y = Axis { values: ys, places: [top + PANEL - 46.0, top + 58.0], is_log: true };
        part = part
            .add(Text { size: 13.0, bold: true, ..Text::at(left + 16.0, top + 16.0) }.of(&format!(
                "{} ({} rows)",
                place.name(),
                points.len()
            )))
            .add(Text { size: 11.0, fill: MUTED, ..Text::at(left + 16.0, top + 32.0) }.of(&shares(points, roof)))
            .add(grid(x, y))
            .add(roofs(points, roof, x, y))
            .add(marks(points, x, y));
    }
    Some(part)
}

fn heading(top: f64) -> Group {
    let mut part = Group::new()
        .add(line([16.0, top], [WIDTH - 16.0, top], GRID, 1.0))
        .add(Text { size: 14.0, bold: true, ..Text::at(16.0, top + 22.0) }.of("Rows that compute"))
        .add(
            Text { fill: MUTED, ..Text::at(16.0, top + 42.0) }
                .of("TFLOP/s over flops per byte. Grey: the copy rate. Levels: the best vendor product of each dtype."),
        );
    for (at, numerics) in NUMERICS.iter().rev().enumerate() {
        let x = 720.0 + 88.0 * at as f64;
        let mut sample = Marks::default();
        sample.add(x, top + 18.0);
        part = part.add(mark(&sample, *numerics, MUTED)).add(Text::at(x + 8.0, top + 22.0).of(numerics.name()));
    }
    part
}

/// The median share of the roof, by numerics.
fn shares(points: &[Point<'_>], roof: &Roof) -> String {
    let of = |numerics: Numerics| {
        let rows = points.iter().filter(|point| point.numerics == numerics).map(|point| point.row);
        let shares: Vec<f64> = rows.filter_map(|row| roof.share(row)).collect();
        (!shares.is_empty()).then(|| format!("{numerics} {:.0} %", median(&shares) * 100.0))
    };
    let all: Vec<_> = NUMERICS.into_iter().rev().filter_map(of).collect();
    if all.is_empty() { "no roof".into() } else { format!("median share of the roof: {}", all.join(", ")) }
}

fn grid(x: Axis, y: Axis) -> Group {
    let (left, right, bottom, top) = (x.places[0], x.places[1], y.places[0], y.places[1]);
    let mut part = Group::new();
    for value in x.decades() {
        let at = x.at(value);
        let label = Text { size: 11.0, fill: MUTED, anchor: "middle", ..Text::at(at, bottom + 15.0) };
        part = part.add(line([at, bottom], [at, top], GRID, 1.0)).add(label.of(&value.to_string()));
    }
    for value in y.decades() {
        let at = y.at(value);
        let label = Text { size: 11.0, fill: MUTED, anchor: "end", ..Text::at(left - 6.0, at + 4.0) };
        part = part.add(line([left, at], [right, at], GRID, 1.0)).add(label.of(&(value / 1e6).to_string()));
    }
    let axis = |text, at| Text { size: 11.0, fill: MUTED, ..at }.of(text);
    part.add(line([left, bottom], [right, bottom], MUTED, 1.0))
        .add(axis("flops per byte", Text { anchor: "end", ..Text::at(right, bottom + 30.0) }))
        .add(axis("TFLOP/s", Text { anchor: "start", ..Text::at(left - 34.0, top - 6.0) }))
}

/// The slope, and the levels of the dtypes that are here, with their names beside them.
fn roofs(points: &[Point<'_>], roof: &Roof, x: Axis, y: Axis) -> Group {
    let here: BTreeSet<&str> = points.iter().map(|point| point.row.dtype.as_str()).collect();
    let mut levels: Vec<_> = roof.peaks.iter().filter(|(dtype, _)| here.contains(dtype.as_str())).collect();
    levels.sort_by(|a, b| b.1.total_cmp(a.1));
    let highest = levels.first().map_or(y.values[1], |level| *level.1);
    let [start, end] = [x.values[0].max(y.values[0] / roof.copy), x.values[1].min(highest / roof.copy)];
    let mut part = Group::new();
    if start < end {
        let at = |intensity: f64| [x.at(intensity), y.at(intensity * roof.copy)];
        part = part.add(line(at(start), at(end), "#8a8a8a", 1.6));
    }
    let mut places: Vec<f64> = levels.iter().map(|(_, peak)| y.at(**peak)).collect();
    let lines = places.clone();
    paper::spread(&mut places, 13.0, y.places[0]);
    for (((dtype, peak), at), place) in levels.into_iter().zip(lines).zip(places) {
        let paint = colour(track(dtype));
        let from = x.at((peak / roof.copy).clamp(x.values[0], x.values[1]));
        let name = Text { size: 11.0, fill: paint, bold: true, ..Text::at(x.places[1] + 7.0, place + 4.0) };
        part = part
            .add(line([from, at], [x.places[1], at], paint, 1.6))
            .add(line([x.places[1], at], [x.places[1] + 5.0, place], paint, 1.0))
            .add(name.of(&format!("{dtype} {:.0}", peak / 1e6)));
    }
    part
}

fn marks(points: &[Point<'_>], x: Axis, y: Axis) -> Group {
    let mut part = Group::new();
    for numerics in NUMERICS {
        for of_track in 0..TRACKS {
            let mut marks = Marks::default();
            for point in points.iter().filter(|p| p.numerics == numerics && track(&p.row.dtype) == of_track) {
                marks.add(x.at(point.intensity), y.at(point.rate));
            }
            if marks.len() > 0 {
                part = part.add(mark(&marks, numerics, colour(of_track)));
            }
        }
    }
    part
}

fn mark(marks: &Marks, numerics: Numerics, colour: &str) -> svg::node::element::Path {
    match numerics {
        Numerics::Vendor => marks.rings(colour),
        Numerics::Block => marks.squares(colour, 0.6),
        Numerics::Portable => marks.dots(colour, 4.4, 0.6),
    }
}
