//! The cases that every seed has.

use super::{Role, attention, limits};
use crate::case::{Dist, Params};
use crate::cells::Cell;
use crate::family::Named;
use crate::generate::Fixed;
use crate::schema::Class;
use isobit_hal::DType;

/// What a case fixes of the values of queries, keys and values, and how many of 256 keys its mask
/// hides.
struct Of {
    shape: [usize; 6],
    params: Named,
    tokens: [Dist; 3],
    hidden: u32,
}

/// Returns the case with a number.
pub(super) fn of(cell: &Cell, nth: u64) -> Option<Fixed> {
    let vendor = cell.class() == Class::Vendor;
    let case = if vendor { of_vendor(nth) } else { of_portable(cell.dtypes[0], nth) }?;
    let op = cell.operation.op();
    let dist = |input| match Role::of(attention(op), input) {
        Role::Query => case.tokens[0],
        Role::Key => case.tokens[1],
        Role::Value => case.tokens[2],
        Role::Mask if vendor => Dist::Masking { share: case.hidden },
        Role::Mask => Dist::Hiding { share: case.hidden, wild: false },
        Role::Lengths => Dist::Ids { below: case.shape[4] as u32 + 1, wild: true },
    };
    let dists: Vec<Dist> = (0..op.inputs()).map(dist).collect();
    Some(Fixed::new(&case.shape, &dists).with(Params::Named(case.params)))
}

/// Several blocks of keys, and heads of several segments; rows without a key; maxima that move far
/// from block to block; special elements that few rows see; scores that are all equal; and elements
/// at the limits of special ones, with scores that overflow.
fn of_portable(dtype: DType, nth: u64) -> Option<Of> {
    let uniform = |scale| Dist::Uniform { scale };
    let causal = Named::default().with_sizes("window_size_right", &[0]);
    let [line, value] = limits(dtype).map(|exponent| Dist::Around { exponent });
    Some(match nth {
        0 => Of { shape: [2, 1, 2, 17, 300, 129], params: causal, tokens: [uniform(1); 3], hidden: 64 },
        // Scores of some thousands: a block either has all the weight or none. Where the value that
        // has it is 0, those of other blocks show, however small their weights are.
        1 => Of {
            shape: [1, 2, 1, 20, 300, 16],
            params: Named::default().with("scale", &[1.0]),
            tokens: [Dist::Exponents { low: 0, high: 7 }, Dist::Exponents { low: 0, high: 7 }, Dist::Levels],
            hidden: 64,
        },
        2 => Of {
            shape: [1, 2, 2, 17, 200, 132],
            params: Named::default().with_sizes("window_size_left", &[5]).with_sizes("window_size_right", &[0]),
            tokens: [uniform(1), Dist::Rare { scale: 1, of: 4096 }, Dist::Rare { scale: 1, of: 64 }],
            hidden: 192,
        },
        // The same with a soft-cap, in heads of one segment, and a tile with the last queries of
        // one head and the first of the next, which see a block of keys more.
        3 => Of {
            shape: [1, 2, 3, 40, 160, 40],
            params: Named::default()
                .with_sizes("window_size_left", &[5])
                .with_sizes("window_size_right", &[0])
                .with("softcap", &[3.0]),
            tokens: [uniform(1), Dist::Rare { scale: 1, of: 1024 }, Dist::Rare { scale: 1, of: 2048 }],
            hidden: 192,
        },
        // Some scores are infinite, of which the mask hides some; rows of which some see one after
        // a block in which all are finite.
        4 => Of {
            shape: [1, 2, 2, 40, 150, 2],
            params: Named::default()
                .with("scale", &[(1u64 << 59) as f64])
                .with_sizes("window_size_left", &[3])
                .with_sizes("window_size_right", &[0]),
            tokens: [line, Dist::Exponents { low: -60, high: 0 }, uniform(0)],
            hidden: 96,
        },
        // Each row sees one or two keys.
        5 => Of {
            shape: [1, 1, 1, 40, 40, 1],
            params: Named::default().with_sizes("window_size_left", &[1]).with_sizes("window_size_right", &[0]),
            tokens: [uniform(0), line, value],
            hidden: 64,
        },
        6 => Of { shape: [1, 2, 2, 9, 7, 2], params: causal, tokens: [line, uniform(0), uniform(0)], hidden: 64 },
        7 => Of { shape: [2, 1, 3, 40, 20, 32], params: causal, tokens: [uniform(2); 3], hidden: 192 },
        8 => Of { shape: [2, 2, 1, 5, 257, 64], params: causal, tokens: [Dist::Ones; 3], hidden: 16 },
        _ => return None,
    })
}

/// What models call, in sizes that libraries take: causal attention to a longer past, rows without
/// a key, rows that a mask hides, a sliding window with a soft-cap, single queries, and scores that
/// are far apart.
fn of_vendor(nth: u64) -> Option<Of> {
    let uniform = |scale| Dist::Uniform { scale };
    let causal = || Named::default().with_sizes("window_size_right", &[0]);
    Some(match nth {
        0 => Of { shape: [2, 1, 2, 17, 300, 128], params: causal(), tokens: [uniform(1); 3], hidden: 64 },
        1 => Of { shape: [1, 2, 2, 70, 33, 64], params: causal(), tokens: [uniform(1); 3], hidden: 64 },
        2 => Of { shape: [4, 1, 2, 17, 8, 64], params: causal(), tokens: [uniform(1); 3], hidden: 192 },
        3 => Of {
            shape: [1, 2, 2, 40, 160, 64],
            params: causal().with_sizes("window_size_left", &[16]).with("softcap", &[5.0]),
            tokens: [uniform(2); 3],
            hidden: 64,
        },
        4 => Of { shape: [3, 1, 4, 1, 257, 128], params: causal(), tokens: [uniform(1); 3], hidden: 16 },
        5 => Of {
            shape: [1, 2, 1, 20, 200, 64],
            params: Named::default().with("scale", &[1.0]),
            tokens: [uniform(2), uniform(2), Dist::Levels],
            hidden: 64,
        },
        _ => return None,
    })
}
