//! Kernels that move bits exist once per element size, and kernels that add exist once per kind of
//! value. Both exist for each dtype of ids. Kernels that combine otherwise take ids of i64, which
//! the kernel for tuples makes of all others.

use super::combined;
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{DType, ScatterOp};

/// One id per element, or per unit of a run.
pub const GATHER: u8 = 0;
/// Same as [`GATHER`], in units of 16 bytes (under the key of the 8-byte dtype).
pub const GATHER_16: u8 = 1;
/// Lines of the source, through shared memory.
pub const STAGED: u8 = 2;
/// Sets elements along lines, through shared memory.
pub const LINES_SET: u8 = 3;
/// Combines elements along lines, in shared memory.
pub const LINES_COMBINE: u8 = 4;
/// Computes the destination of each source as a sort key.
pub const KEYS: u8 = 5;
/// Sets elements from sorted sources.
pub const SORTED_SET: u8 = 6;
/// Same as [`SORTED_SET`], in units of 16 bytes.
pub const SORTED_SET_16: u8 = 7;
/// Combines elements from sorted sources.
pub const SORTED_COMBINE: u8 = 8;
/// Same as [`SORTED_COMBINE`], in packs of 16 bytes.
pub const SORTED_COMBINE_PACKS: u8 = 9;
/// Turns tuples of ids into positions.
pub const TUPLES: u8 = 10;

/// Combines elements where they are, in any order.
pub const IN_PLACE: u8 = 11;
/// One tuple of ids per element, or per unit of a slice.
pub const GATHER_ND: u8 = 12;
/// Same as [`GATHER_ND`], in units of 16 bytes (under the key of the 8-byte dtype).
pub const GATHER_ND_16: u8 = 13;
/// Same as [`IN_PLACE`], at positions by tuples of ids.
pub const IN_PLACE_ND: u8 = 14;

/// The dtypes of ids.
pub const IDS: [DType; 4] = [DType::U8, DType::U32, DType::I32, DType::I64];

/// One dtype for each element size, for kernels that move bits.
const CARRIERS: [(DType, &str); 4] = [(DType::U8, "u8"), (DType::I16, "u16"), (DType::U32, "u32"), (DType::I64, "u64")];
const UNIT_16: &str = "vector_detail::words4";

/// Returns the dtype whose key the kernels have that move elements of a size.
pub fn carrier(size: usize) -> DType {
    CARRIERS[size.trailing_zeros() as usize].0
}

/// Returns the dtype whose key the kernels have that combine elements of a dtype: sums and products
/// of signed and unsigned integers wrap to the same bits.
fn combined_values(op: ScatterOp, dtype: DType) -> DType {
    let wraps = matches!(op, ScatterOp::Add | ScatterOp::Prod);
    if wraps && !dtype.is_float() { carrier(dtype.size_in_bytes()) } else { dtype }
}

/// Returns the dtype of ids that the kernel along lines takes which combines elements.
pub fn combined_ids(op: ScatterOp, ids: DType) -> DType {
    if op == ScatterOp::Add { ids } else { DType::I64 }
}

/// Returns the key of the kernel that combines elements along lines.
pub fn lines_combine(op: ScatterOp, values: DType, ids: DType) -> Key {
    Key::new(Family::Indexing, op.index(), &[combined_values(op, values), combined_ids(op, ids)], LINES_COMBINE)
}

/// Returns the key of a kernel that combines elements from sorted sources.
pub fn sorted_combine(op: ScatterOp, values: DType, variant: u8) -> Key {
    Key::new(Family::Indexing, op.index(), &[combined_values(op, values)], variant)
}

/// Returns the key of the kernel that combines elements in place; `None` unless the order of the
/// sources has no influence. Products, and sums of small integers, have no atomics: in a loop of
/// compare-and-swaps, every one of many sources of a destination would try again after any other.
/// Of minima and maxima of small elements, most sources change nothing.
pub fn in_place(op: ScatterOp, values: DType, ids: DType) -> Option<Key> {
    let exists = match op {
        ScatterOp::Amin | ScatterOp::Amax => true,
        ScatterOp::Add => !values.is_float() && values.size_in_bytes() >= 4,
        _ => false,
    };
    exists.then(|| Key::new(Family::Indexing, op.index(), &[combined_values(op, values), ids], IN_PLACE))
}

/// Returns the key of the kernel that combines elements in place by tuples, of i64 only.
pub fn in_place_nd(op: ScatterOp, values: DType, ids: DType) -> Option<Key> {
    in_place(op, values, ids)
        .filter(|_| ids == DType::I64)
        .map(|_| Key::new(Family::Indexing, op.index(), &[combined_values(op, values), ids], IN_PLACE_ND))
}

/// Returns the key of a kernel for values and ids.
pub const fn with_ids(variant: u8, values: DType, ids: DType) -> Key {
    Key::new(Family::Indexing, 0, &[values, ids], variant)
}

/// Returns the key of a kernel for values only.
pub const fn of_values(variant: u8, values: DType) -> Key {
    Key::new(Family::Indexing, 0, &[values], variant)
}

/// Returns the key of a kernel for ids only: [`KEYS`] or [`TUPLES`].
pub const fn of_ids(variant: u8, ids: DType) -> Key {
    Key::new(Family::Indexing, 0, &[ids], variant)
}

/// Adds the indexing modules.
pub fn add(modules: &mut Vec<Module>) {
    for ids in IDS {
        let mut gather = Module::new(format!("gather_{ids}"), "ops/indexing/gather.cu");
        let mut staged = Module::new(format!("gather_staged_{ids}"), "ops/indexing/staged.cu");
        let mut set = Module::new(format!("scatter_set_{ids}"), "ops/indexing/lines_set.cu");
        for (dtype, ty) in CARRIERS {
            for (module, variant, name, line) in [
                (&mut gather, GATHER, "gather", "ISOBIT_GATHER"),
                (&mut staged, STAGED, "gather_staged", "ISOBIT_GATHER_STAGED"),
                (&mut set, LINES_SET, "scatter_set", "ISOBIT_LINES_SET"),
            ] {
                module.kernel(with_ids(variant, dtype, ids), format!("{name}_{ty}_{ids}"), line, &[ty, ids.as_str()]);
            }
            let (key, symbol) = (with_ids(GATHER_ND, dtype, ids), format!("gather_nd_{ty}_{ids}"));
            gather.kernel(key, symbol, "ISOBIT_GATHER_ND", &[ty, ids.as_str()]);
        }
        for (variant, name, line) in
            [(GATHER_16, "gather_16", "ISOBIT_GATHER"), (GATHER_ND_16, "gather_nd_16", "ISOBIT_GATHER_ND")]
        {
            let key = with_ids(variant, DType::I64, ids);
            gather.kernel(key, format!("{name}_{ids}"), line, &[UNIT_16, ids.as_str()]);
        }
        modules.extend([gather, staged, set]);
    }
    for dtype in combined() {
        let mut add = Module::new(format!("scatter_add_{dtype}"), "ops/indexing/combine.cu");
        combining(&mut add, ScatterOp::Add, dtype);
        let mut reduce = Module::new(format!("scatter_reduce_{dtype}"), "ops/indexing/combine.cu");
        for op in [ScatterOp::Prod, ScatterOp::Amin, ScatterOp::Amax] {
            combining(&mut reduce, op, dtype);
        }
        modules.extend([add, reduce].into_iter().filter(|module| !module.instances.is_empty()));
    }
    let mut set = Module::new("sorted_set", "ops/indexing/sorted_set.cu");
    for (dtype, ty) in CARRIERS {
        set.kernel(of_values(SORTED_SET, dtype), format!("sorted_set_{ty}"), "ISOBIT_SORTED_SET", &[ty]);
    }
    set.kernel(of_values(SORTED_SET_16, DType::I64), "sorted_set_16".into(), "ISOBIT_SORTED_SET", &[UNIT_16]);
    let mut order = Module::new("indexing_order", "ops/indexing/order.cu");
    let mut tuples = Module::new("indexing_tuples", "ops/indexing/tuples.cu");
    for ids in IDS {
        let key = of_ids(KEYS, ids);
        order.kernel(key, format!("indexing_order_keys_{ids}"), "ISOBIT_ORDER_KEYS", &[ids.as_str()]);
        tuples.kernel(of_ids(TUPLES, ids), format!("indexing_tuples_{ids}"), "ISOBIT_TUPLES", &[ids.as_str()]);
    }
    modules.extend([set, order, tuples]);
}

/// Adds the kernels that combine elements of a dtype, unless another dtype has them.
fn combining(module: &mut Module, op: ScatterOp, dtype: DType) {
    if combined_values(op, dtype) != dtype {
        return;
    }
    let name = format!("{op:?}");
    for ids in IDS.into_iter().filter(|&ids| combined_ids(op, ids) == ids) {
        let symbol = format!("scatter_{op}_{dtype}_{ids}");
        let arguments = [dtype.as_str(), ids.as_str(), &name];
        module.kernel(lines_combine(op, dtype, ids), symbol, "ISOBIT_LINES_COMBINE", &arguments);
        if let Some(key) = in_place(op, dtype, ids) {
            let symbol = format!("in_place_{op}_{dtype}_{ids}");
            module.kernel(key, symbol, "ISOBIT_IN_PLACE", &arguments);
        }
        if let Some(key) = in_place_nd(op, dtype, ids) {
            let symbol = format!("in_place_nd_{op}_{dtype}_{ids}");
            module.kernel(key, symbol, "ISOBIT_IN_PLACE_ND", &arguments);
        }
    }
    let pack = (16 / dtype.size_in_bytes()).to_string();
    for (variant, pack) in [(SORTED_COMBINE, "1"), (SORTED_COMBINE_PACKS, &pack)] {
        let symbol = format!("sorted_{op}_{dtype}_x{pack}");
        let arguments = [dtype.as_str(), pack, &name];
        module.kernel(sorted_combine(op, dtype, variant), symbol, "ISOBIT_SORTED_COMBINE", &arguments);
    }
}
