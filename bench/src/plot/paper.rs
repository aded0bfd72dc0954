//! What both parts of the picture are drawn with: axes, texts, marks, and the colour of each dtype.

use std::collections::BTreeSet;
use svg::node::element::{Group, Line, Path, Text as TextNode};

pub const WIDTH: f64 = 1000.0;
pub const INK: &str = "#1a1a1a";
pub const MUTED: &str = "#5c5c5c";
pub const GRID: &str = "#e3e3e3";

/// Dtypes, and colours that people with any colour vision tell apart (Okabe and Ito, 2008).
const COLOURS: [(&str, &str); 6] = [
    ("f32", "#0072b2"),
    ("f16", "#e69f00"),
    ("bf16", "#009e73"),
    ("f64", "#cc79a7"),
    ("f8", "#d55e00"),
    ("integers", "#6b6b6b"),
];
/// The number of colours.
pub const TRACKS: usize = COLOURS.len();

/// Returns the place of a dtype among the colours.
pub fn track(dtype: &str) -> usize {
    let named = |name: &str| name == dtype || (name == "f8" && dtype.starts_with("f8"));
    COLOURS.iter().position(|(name, _)| named(name)).unwrap_or(TRACKS - 1)
}

/// Returns the colour of a track.
pub fn colour(track: usize) -> &'static str {
    COLOURS[track].1
}

/// Draws the names of all dtypes behind dots of their colours.
pub fn dtype_colours(mut x: f64, y: f64, ink: &'static str) -> Group {
    let mut all = Group::new();
    for (track, (name, _)) in COLOURS.iter().enumerate() {
        let mut marks = Marks::default();
        marks.add(x + 4.0, y - 4.0);
        all = all.add(marks.dots(colour(track), 8.0, 1.0)).add(Text { fill: ink, ..Text::at(x + 13.0, y) }.of(name));
        x += 34.0 + 7.0 * name.len() as f64;
    }
    all
}

/// A range of values and the positions that it is drawn at.
#[derive(Debug, Clone, Copy)]
pub struct Axis {
    pub values: [f64; 2],
    pub places: [f64; 2],
    pub is_log: bool,
}

impl Axis {
    /// Returns the position of a value; of one outside the range, that of the nearer end.
    pub fn at(&self, value: f64) -> f64 {
        let of = |x: f64| if self.is_log { x.log10() } else { x };
        let [from, to] = self.values.map(of);
        let [start, end] = self.places;
        start + (end - start) * ((of(value) - from) / (to - from)).clamp(0.0, 1.0)
    }

    /// Returns the powers of ten in the range of a logarithmic axis.
    pub fn decades(&self) -> Vec<f64> {
        let [from, to] = self.values.map(|value| value.log10());
        (from.ceil() as i32..=to.floor() as i32).map(|power| 10f64.powi(power)).collect()
    }
}

/// Positions to mark, each once: marks of one colour at one place cannot be told apart.
#[derive(Debug, Default)]
pub struct Marks(BTreeSet<[i64; 2]>);

impl Marks {
    /// Adds a place, to a third of a unit.
    pub fn add(&mut self, x: f64, y: f64) {
        self.0.insert([x, y].map(|at| (at * 3.0).round() as i64));
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Draws lines of no length, whose ends are round: the shortest form of a dot.
    pub fn dots(&self, colour: &str, size: f64, opacity: f64) -> Path {
        self.path("h0").set("stroke", colour).set("stroke-width", size).set("stroke-opacity", opacity)
    }

    /// Draws squares.
    pub fn squares(&self, colour: &str, opacity: f64) -> Path {
        self.path("m-2.2-2.2h4.4v4.4h-4.4z").set("fill", colour).set("fill-opacity", opacity)
    }

    /// Draws circles.
    pub fn rings(&self, colour: &str) -> Path {
        self.path("m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0").set("stroke", colour).set("stroke-width", 1.2)
    }

    fn path(&self, mark: &str) -> Path {
        let place = |&[x, y]: &[i64; 2]| format!("M{} {}{mark}", tenths(x), tenths(y));
        let all: String = self.0.iter().map(place).collect();
        Path::new().set("d", all).set("stroke-linecap", "round").set("fill", "none")
    }
}

/// Returns a number of thirds to a tenth.
fn tenths(thirds: i64) -> f64 {
    (thirds as f64 * 10.0 / 3.0).round() / 10.0
}

/// Where and how a text stands.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    pub x: f64,
    pub y: f64,
    pub size: f64,
    pub fill: &'static str,
    pub bold: bool,
    /// `start`, `middle` or `end`.
    pub anchor: &'static str,
}

impl Text {
    pub fn at(x: f64, y: f64) -> Self {
        Self { x, y, size: 12.0, fill: INK, bold: false, anchor: "start" }
    }

    pub fn of(self, text: &str) -> TextNode {
        let node = TextNode::new(text)
            .set("x", self.x)
            .set("y", self.y)
            .set("font-size", self.size)
            .set("fill", self.fill)
            .set("text-anchor", self.anchor);
        if self.bold { node.set("font-weight", 600) } else { node }
    }
}

/// Draws a straight line.
pub fn line(from: [f64; 2], to: [f64; 2], colour: &str, width: f64) -> Line {
    let [x1, y1] = from;
    let [x2, y2] = to;
    Line::new().set("x1", x1).set("y1", y1).set("x2", x2).set("y2", y2).set("stroke", colour).set("stroke-width", width)
}

/// Returns the text with at most so many characters.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.into() } else { text.chars().take(most - 1).chain(['…']).collect() }
}

/// Moves positions, in rising order, apart until neighbours are `gap` apart, and none beyond `end`.
pub fn spread(places: &mut [f64], gap: f64, end: f64) {
    for i in 1..places.len() {
        places[i] = places[i].max(places[i - 1] + gap);
    }
    let mut most = end;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - gap;
    }
}
