//! Kernels that move bits exist once per element size, and kernels that add exist once per kind of
//! value. Both exist for each dtype of ids.

use super::combined;
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::DType;

/// One id per element, or per unit of a run.
pub const GATHER: u8 = 0;
/// Same as [`GATHER`], in units of 16 bytes (under the key of the 8-byte dtype).
pub const GATHER_16: u8 = 1;
/// Lines of the source, through shared memory.
pub const STAGED: u8 = 2;
/// Sets elements along lines, through shared memory.
pub const LINES_SET: u8 = 3;
/// Adds along lines, in shared memory.
pub const LINES_ADD: u8 = 4;
/// Computes the destination of each source as a sort key.
pub const KEYS: u8 = 5;
/// Counts the digits of the keys in each tile.
pub const COUNT: u8 = 6;
/// Sums those counts.
pub const SCAN: u8 = 7;
/// Moves every key to its place.
pub const PLACE: u8 = 8;
/// Sets elements from sorted sources.
pub const SORTED_SET: u8 = 9;
/// Same as [`SORTED_SET`], in units of 16 bytes.
pub const SORTED_SET_16: u8 = 10;
/// Adds from sorted sources.
pub const SORTED_ADD: u8 = 11;
/// Same as [`SORTED_ADD`], in packs of 16 bytes.
pub const SORTED_ADD_PACKS: u8 = 12;

/// The dtypes of ids.
pub const IDS: [DType; 4] = [DType::U8, DType::U32, DType::I32, DType::I64];

/// One dtype for each element size, for kernels that move bits.
const CARRIERS: [(DType, &str); 4] = [(DType::U8, "u8"), (DType::I16, "u16"), (DType::U32, "u32"), (DType::I64, "u64")];
const UNIT_16: &str = "vector_detail::words4";

/// Returns the dtype whose key the kernels have that move elements of a size.
pub fn carrier(size: usize) -> DType {
    CARRIERS[size.trailing_zeros() as usize].0
}

/// Returns the dtype whose key the kernels have that add elements of a dtype: signed and unsigned
/// integers wrap to the same bits.
pub fn summand(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { carrier(dtype.size_in_bytes()) }
}

/// Returns the key of a kernel for values and ids.
pub const fn with_ids(variant: u8, values: DType, ids: DType) -> Key {
    Key::new(Family::Indexing, 0, &[values, ids], variant)
}

/// Returns the key of a kernel for values only.
pub const fn of_values(variant: u8, values: DType) -> Key {
    Key::new(Family::Indexing, 0, &[values], variant)
}

/// Returns the key of a kernel of the sort; [`KEYS`] has one for each dtype of ids.
pub const fn of_sort(variant: u8, ids: &[DType]) -> Key {
    Key::new(Family::Indexing, 0, ids, variant)
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
        }
        let key = with_ids(GATHER_16, DType::I64, ids);
        gather.kernel(key, format!("gather_16_{ids}"), "ISOBIT_GATHER", &[UNIT_16, ids.as_str()]);
        modules.extend([gather, staged, set]);
    }
    for dtype in combined().filter(|&dtype| summand(dtype) == dtype) {
        let mut lines = Module::new(format!("scatter_add_{dtype}"), "ops/indexing/lines_add.cu");
        for ids in IDS {
            let symbol = format!("scatter_add_{dtype}_{ids}");
            lines.kernel(with_ids(LINES_ADD, dtype, ids), symbol, "ISOBIT_LINES_ADD", &[dtype.as_str(), ids.as_str()]);
        }
        let mut sorted = Module::new(format!("sorted_add_{dtype}"), "ops/indexing/sorted_add.cu");
        let pack = (16 / dtype.size_in_bytes()).to_string();
        for (variant, pack) in [(SORTED_ADD, "1"), (SORTED_ADD_PACKS, &pack)] {
            let symbol = format!("sorted_add_{dtype}_x{pack}");
            sorted.kernel(of_values(variant, dtype), symbol, "ISOBIT_SORTED_ADD", &[dtype.as_str(), pack]);
        }
        modules.extend([lines, sorted]);
    }
    let mut set = Module::new("sorted_set", "ops/indexing/sorted_set.cu");
    for (dtype, ty) in CARRIERS {
        set.kernel(of_values(SORTED_SET, dtype), format!("sorted_set_{ty}"), "ISOBIT_SORTED_SET", &[ty]);
    }
    set.kernel(of_values(SORTED_SET_16, DType::I64), "sorted_set_16".into(), "ISOBIT_SORTED_SET", &[UNIT_16]);
    let mut order = Module::new("indexing_order", "ops/indexing/radix_sort.cu");
    for ids in IDS {
        let key = of_sort(KEYS, &[ids]);
        order.kernel(key, format!("indexing_order_keys_{ids}"), "ISOBIT_ORDER_KEYS", &[ids.as_str()]);
    }
    for (variant, name, line) in [
        (COUNT, "indexing_order_count", "ISOBIT_ORDER_COUNT"),
        (SCAN, "indexing_order_scan", "ISOBIT_ORDER_SCAN"),
        (PLACE, "indexing_order_place", "ISOBIT_ORDER_PLACE"),
    ] {
        order.kernel(of_sort(variant, &[]), name.into(), line, &[]);
    }
    modules.extend([set, order]);
}
