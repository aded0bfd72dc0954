//! Generates cases from (seed, operation, dtypes, index) alone, so that filters, machines and the
//! set of devices never change a case.
//!
//! The index determines what must occur in every cell (layout kinds, in-place calls, long
//! reductions, the cases that a family fixes). Everything else is drawn with proptest's strategies
//! from a generator that is seeded with a hash of the four.

mod fixed;
pub(crate) mod layout;
pub(crate) mod shape;
pub(crate) mod values;

use crate::case::{Case, Dim, Input, LayoutKind, LayoutSpec};
use crate::cells::Cell;
pub use fixed::HARD;
pub(crate) use fixed::{Fixed, is_fixed};
use isobit_hal::Op;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// The number of cases per cell of a report: enough that every size of launch code is met from both
/// sides on every simulated card.
pub const CASES: u64 = 48;
/// The number of cases per cell of `cargo xtask test --full`: enough that every cell has what makes
/// launch code choose each of its kernels. A report of as many takes a third longer.
pub const FULL_CASES: u64 = 64;
/// The number of cases per cell of a quick run: enough for every layout kind in every cell.
pub const QUICK_CASES: u64 = 24;

/// The number of cases of a [variant](Cell::is_variant) in a report and in a quick run: enough for
/// every layout kind, and one of the hard inputs.
pub const VARIANT_CASES: u64 = 16;
/// See [`VARIANT_CASES`].
pub const QUICK_VARIANT_CASES: u64 = HARD + 1;

/// Draws values from strategies, in order.
pub(crate) struct Draw {
    runner: TestRunner,
    /// The number of elements of which the rows of every operand occupy a multiple, in a case whose
    /// operands are padded alike.
    pitch: Option<usize>,
}

impl Draw {
    fn new(seed: u64, cell: &Cell, index: u64) -> Self {
        Self::of(seed, &cell.to_string(), index)
    }

    /// Creates a generator for a name that is not the name of a cell.
    pub(crate) fn of(seed: u64, name: &str, index: u64) -> Self {
        let mut hash = blake3::Hasher::new_derive_key("isobit conformance case 1");
        hash.update(&seed.to_le_bytes());
        hash.update(name.as_bytes());
        hash.update(&index.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, hash.finalize().as_bytes());
        Self { runner: TestRunner::new_with_rng(Config::default(), rng), pitch: None }
    }

    pub(crate) fn pick<S: Strategy>(&mut self, strategy: S) -> S::Value {
        strategy.new_tree(&mut self.runner).expect("no strategy here rejects values").current()
    }

    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.pick(0..100u32) < percent
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.pick(0..choices.len())]
    }
}

/// The layouts that an index requires: that of the first input (or of the destination, if there is
/// no input), and that of the destination.
pub(crate) struct Plan {
    pub input: LayoutKind,
    pub dst: LayoutKind,
    /// Whether every operand is contiguous: every third case, to cover a driver's fast paths.
    pub plain: bool,
    /// Whether this is a later round through the kinds, in which several are combined.
    pub combine: bool,
}

/// The layout kinds of a destination, which may not contain an element twice.
pub(crate) const DST_KINDS: [LayoutKind; 5] =
    [LayoutKind::Contiguous, LayoutKind::Transposed, LayoutKind::Permuted, LayoutKind::Narrowed, LayoutKind::Stepped];

impl Plan {
    fn new(index: u64) -> Self {
        if index % 3 == 2 {
            let plain = LayoutKind::Contiguous;
            return Self { input: plain, dst: plain, plain: true, combine: false };
        }
        let n = (index / 3 * 2 + index % 3) as usize;
        let kinds = LayoutKind::ALL.len();
        let (input, dst) = (LayoutKind::ALL[n % kinds], DST_KINDS[(n + n / kinds) % DST_KINDS.len()]);
        Self { input, dst, plain: false, combine: n / kinds % 2 == 1 }
    }
}

/// Whether the operands of a case are padded alike. A kernel takes such rows as whole vectors only
/// if it forgets their ragged ends. The cases before have every kind of layout.
fn is_pitched(index: u64) -> bool {
    index >= 32 && index % 6 == 4
}

/// Returns the case with the given index.
pub fn case(seed: u64, cell: &Cell, index: u64) -> Case {
    if let Some(case) = fixed::case(seed, cell, index) {
        return case;
    }
    let (mut draw, plan) = (Draw::new(seed, cell, index), Plan::new(index));
    let draw = &mut draw;
    if is_pitched(index) {
        draw.pitch = Some(draw.one_of(&[16, 32, 64]));
    }
    let family = cell.operation.family();
    let (shape, params, layouts) = family.draw(draw, cell, &plan, index);
    let op = match &params {
        Some(params) => cell.operation.with_params(&cell.dtypes, params),
        None => cell.operation.at(&cell.dtypes),
    };
    let mut layouts = layouts.into_iter();
    let values = |draw: &mut Draw, i| {
        let own = family.values(draw, cell, &op, &shape, i);
        own.unwrap_or_else(|| values::of_any_kind(draw))
    };
    let mut inputs: Vec<Input> = (0..cell.operation.inputs())
        .map(|i| Input::new(layouts.next().expect("a layout an input"), values(draw, i)))
        .collect();
    let dst = layouts.next().flatten().expect("the destination has a layout");
    let params = params.unwrap_or_else(|| family.params(draw, cell));
    if index % 8 == 3 {
        make_scalar(draw, &op, &mut inputs);
    }
    Case {
        op: cell.operation.name().into(),
        dtypes: cell.dtypes.iter().map(|d| d.to_string()).collect(),
        numerics: cell.numerics,
        shape,
        params,
        inputs,
        dst,
    }
}

/// Returns the cases of a cell in `cargo xtask test --full`.
pub fn full(cell: &Cell) -> impl Iterator<Item = Case> {
    (0..FULL_CASES).map(move |index| case(0, cell, index))
}

/// Passes some of the inputs as scalars, if the operation takes scalars; at least one stays a
/// tensor.
fn make_scalar(draw: &mut Draw, op: &Op, inputs: &mut [Input]) {
    let able: Vec<usize> = (0..inputs.len()).filter(|&i| op.takes_scalar(i) && inputs[i].layout.is_some()).collect();
    if able.is_empty() || inputs.len() < 2 {
        return;
    }
    let (kept, all_may) = (draw.one_of(&able), able.len() < inputs.len());
    for i in able.into_iter().filter(|&i| i != kept || all_may && draw.chance(50)) {
        inputs[i].scalar = true;
        inputs[i].layout.iter_mut().flat_map(|spec| &mut spec.0).for_each(|dim| {
            let order = dim.order;
            *dim = Dim { order, step: 1, before: 0, after: 0, broadcast: true };
        });
    }
}

/// A shape, the parameters if they depend on the shape, and one layout per operand, the destination
/// last.
pub(crate) type Drawn = (Vec<usize>, Option<crate::case::Params>, Vec<Option<LayoutSpec>>);
