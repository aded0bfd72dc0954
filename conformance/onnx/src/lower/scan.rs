//! Running sums and products.

use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::tensor::axis_of;
use isobit::{Op, Scan};

pub(super) const TABLE: Table = &[
    ("CumSum", Rule::Code(|call| running(call, Scan::cumsum))),
    ("CumProd", Rule::Code(|call| running(call, Scan::cumprod))),
];

fn running(call: &Call<'_>, along: fn(usize) -> Scan) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let mut scan = along(axis_of(ops.to_int(call.input(1)?)?, x.rank())?);
    (scan.exclusive, scan.reverse) = (call.flag("exclusive"), call.flag("reverse"));
    Ok(vec![ops.apply(&Op::Scan(scan), &[x])?])
}
