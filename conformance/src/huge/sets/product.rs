//! Matrix products with huge operands and results, portable and by the vendor's library.

use super::Cases;
use crate::case::Dist;
use crate::huge::Sizes;
use crate::huge::tiled::{COLUMNS, Operand, ROWS, Tiled, most};
use isobit_hal::{DType, Matmul, Numerics, Op};

/// The length of the sums.
const K: usize = 40;

pub(super) fn cases(s: Sizes) -> Cases {
    use DType::{BF16, F16, F32, F64};
    let (n, half) = (most(s), s.beyond_31());
    let mut out = Vec::new();
    for (numerics, dtypes) in [(Numerics::Portable, [F32, F16, F64]), (Numerics::Vendor, [F32, BF16, F64])] {
        for dtype in dtypes {
            let elements = if dtype == F64 { half } else { n };
            out.extend(products(numerics, dtype, elements));
        }
    }
    out
}

fn products(numerics: Numerics, dtype: DType, n: usize) -> Cases {
    let op = Op::Matmul(Matmul::with_numerics(numerics));
    let matrix = |dims: &[usize]| {
        let operand = Operand::new(dtype, dims);
        // Sums of these products are exact in any order, as a library may choose one.
        if numerics == Numerics::Vendor { operand.dist(Dist::Integers { bits: 3 }) } else { operand }
    };
    let case = |lhs, rhs, dst| Tiled::new(op.clone(), vec![lhs, rhs], dst, n);
    let (lhs, rhs) = (|| matrix(&[ROWS, K]), || matrix(&[K, COLUMNS]));
    let (tall, wide) = (|| matrix(&[ROWS, COLUMNS]).along(0), || matrix(&[ROWS, COLUMNS]).along(1));
    let lhs_turned = matrix(&[K, ROWS]).along(1).view(|l, _| l.transpose(0, 1));
    let rhs_turned = matrix(&[COLUMNS, K]).along(0).view(|l, _| l.transpose(0, 1));
    let batch = |rows, columns| matrix(&[3, rows, columns]).along(0);
    let mut out = vec![
        ("many rows", case(lhs().along(0), rhs(), tall())),
        ("many columns", case(lhs(), rhs().along(1), wide())),
        ("a batch", case(batch(17, K), batch(K, 33), batch(17, 33))),
    ];
    if dtype == DType::F32 {
        out.push(("many rows, turned", case(lhs_turned, rhs(), tall())));
        out.push(("many columns, turned", case(lhs(), rhs_turned, wide())));
        out.push(("a row and a wide matrix", case(matrix(&[1, K]), rhs().along(1), matrix(&[1, COLUMNS]).along(1))));
        out.push(("a tall matrix and a column", case(lhs().along(0), matrix(&[K, 1]), matrix(&[ROWS, 1]).along(0))));
    }
    out
}
