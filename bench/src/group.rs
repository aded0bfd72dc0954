//! The groups that pages and pictures are ordered by: families of operations, apart by numerics.
//! Both follow from the name of a row, so that files of earlier benchmarks have them too.

use crate::row::Row;
use isobit_hal::{Family, Numerics, Op};
use std::fmt;
use std::sync::LazyLock;

/// Names of rows that do not begin with the name of an operation.
const OTHER_NAMES: [(&str, Family); 8] = [
    ("cast", Family::Cast),
    ("copy", Family::Copy),
    ("copy2d", Family::Copy),
    ("fill", Family::Fill),
    ("instance_norm", Family::Norm),
    ("masked_fill", Family::Select),
    ("resize", Family::Resize),
    ("scatter", Family::Indexing),
];

/// Where a row stands: a family, the host's own time, or, for a file of another version of the
/// benchmark, a name that this one does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Of(Family),
    Host,
    Unknown,
}

/// Rows of one family and one numerics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    pub place: Place,
    pub numerics: Numerics,
}

impl Group {
    pub fn of(row: &Row) -> Self {
        Self { place: Place::of(&row.op), numerics: numerics(&row.op) }
    }
}

impl Place {
    fn of(op: &str) -> Self {
        static NAMES: LazyLock<Vec<(&str, Family)>> = LazyLock::new(|| {
            let ops = Op::examples().into_iter().map(|op| (op.name(), op.family()));
            ops.chain(OTHER_NAMES).collect()
        });
        if op.starts_with("host_") {
            return Place::Host;
        }
        let begins = |name: &str| op.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
        let longest = NAMES.iter().filter(|(name, _)| begins(name)).max_by_key(|(name, _)| name.len());
        longest.map_or(Place::Unknown, |&(_, family)| Place::Of(family))
    }

    pub fn name(self) -> &'static str {
        match self {
            Place::Of(family) => family.name(),
            Place::Host => "host",
            Place::Unknown => "unknown",
        }
    }
}

/// Returns the numerics that the name of a row ends in; those of other rows are portable.
fn numerics(op: &str) -> Numerics {
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| op.ends_with(suffix));
    match () {
        () if ends(&["_vendor"]) => Numerics::Vendor,
        () if ends(&["_block", "_block_packed", "_block_wide"]) => Numerics::Block,
        () => Numerics::Portable,
    }
}

/// The family, and the numerics unless they are portable.
impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.place.name())?;
        if self.numerics == Numerics::Portable { Ok(()) } else { write!(f, ", {}", self.numerics) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_of_the_operation_with_the_longest_name_in_it() {
        for (op, group) in [
            ("exp", "unary"),
            ("exp_transposed", "unary"),
            ("max_last", "reduce"),
            ("max_pool2d_k3s2p1", "pooling"),
            ("add_broadcast_row", "binary"),
            ("add_gelu", "bias_activation"),
            ("copy2d", "copy"),
            ("cast_f32_f16", "cast"),
            ("masked_fill", "select"),
            ("batch_norm_train", "norm"),
            ("instance_norm", "norm"),
            ("scatter_last", "indexing"),
            ("scatter_reduce_amax_last", "indexing"),
            ("resize_bilinear_antialiased", "resize"),
            ("rand_uniform_vendor", "random, vendor"),
            ("matmul_block_packed", "matmul, block"),
            ("scaled_matmul_blocks", "matmul"),
            ("scaled_matmul_blocks_vendor", "matmul, vendor"),
            ("conv_transpose2d_block", "conv, block"),
            ("qmatmul_id_q8_1_q4_k", "quantized"),
            ("host_add", "host"),
            ("explode", "unknown"),
        ] {
            assert_eq!(Group::of(&Row::new(op, "f32", "64Mi", 1.0)).to_string(), group, "{op}");
        }
    }
}
