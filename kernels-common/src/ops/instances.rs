//! The kernel lists of all families, for the manifest.

use super::Module;
use isobit_hal::{DType, Family};

#[path = "affine/instances.rs"]
pub(crate) mod affine;
#[path = "attention/instances.rs"]
pub(crate) mod attention;
#[path = "bias_activation/instances.rs"]
pub(crate) mod bias_activation;
#[path = "binary/instances.rs"]
pub(crate) mod binary;
#[path = "cast/instances.rs"]
pub(crate) mod cast;
#[path = "compact/instances.rs"]
pub(crate) mod compact;
#[path = "compare/instances.rs"]
pub(crate) mod compare;
#[path = "conv/instances.rs"]
pub(crate) mod conv;
#[path = "copy/instances.rs"]
pub(crate) mod copy;
#[path = "fill/instances.rs"]
mod fill;
#[path = "grid_sample/instances.rs"]
pub(crate) mod grid_sample;
#[path = "index_map/instances.rs"]
pub(crate) mod index_map;
#[path = "indexing/instances.rs"]
pub(crate) mod indexing;
#[path = "matmul/instances.rs"]
pub(crate) mod matmul;
#[path = "norm/instances.rs"]
pub(crate) mod norm;
#[path = "packed/instances.rs"]
pub(crate) mod packed;
#[path = "pooling/instances.rs"]
pub(crate) mod pooling;
#[path = "quantized/instances.rs"]
pub(crate) mod quantized;
#[path = "random/instances.rs"]
pub(crate) mod random;
#[path = "reduce/instances.rs"]
pub(crate) mod reduce;
#[path = "resize/instances.rs"]
pub(crate) mod resize;
#[path = "rope/instances.rs"]
pub(crate) mod rope;
#[path = "scan/instances.rs"]
pub(crate) mod scan;
#[path = "select/instances.rs"]
mod select;
#[path = "sort/instances.rs"]
pub(crate) mod sort;
#[path = "triangle/instances.rs"]
pub(crate) mod triangle;
#[path = "unary/instances.rs"]
pub(crate) mod unary;
#[path = "upsample/instances.rs"]
pub(crate) mod upsample;

/// Returns the dtype whose kernels an integer shares if the sign changes no bit of a result: sums,
/// differences and products wrap to the same bits, and equality and truncation do not depend on the
/// sign. Of each size, it is the dtype that operations which combine elements take as well, or else
/// the unsigned one.
pub(crate) const fn without_sign(dtype: DType) -> DType {
    match dtype {
        DType::I8 => DType::U8,
        DType::U16 => DType::I16,
        DType::I32 => DType::U32,
        DType::U64 => DType::I64,
        other => other,
    }
}

/// Returns the dtypes of operations that combine elements.
pub(crate) fn combined() -> impl Iterator<Item = DType> {
    DType::ALL.iter().copied().filter(|dtype| !dtype.is_elementwise())
}

/// Returns the float dtypes of operations that combine elements.
pub(crate) fn combined_floats() -> impl Iterator<Item = DType> {
    combined().filter(|dtype| dtype.is_float())
}

/// Returns the prelude of a source with kernels of a dtype that the device library's common headers
/// do not declare.
pub(crate) const fn declaration(dtype: DType) -> &'static str {
    match dtype {
        DType::F8E5M2 => "#include \"device_lib/f8e5m2.cuh\"\n",
        _ => "",
    }
}

/// Whether the functions of a dtype that have recipes are those of f32. Its functions of one
/// argument are in the modules of f8e4m3's ([`functions_of`]), the others run as in
/// `ops/through_f32.rs`.
pub(crate) const fn has_recipes_of_f32(dtype: DType) -> bool {
    matches!(dtype, DType::F8E5M2)
}

/// Returns the prelude of a source with transcendentals: it includes the recipes of a dtype and
/// defines how to call a recipe with one or two elements.
pub(crate) fn recipes(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => concat!(
            "#include \"device_lib/math/f64.cuh\"\n",
            "#define ISOBIT_RECIPE(NAME, X) math::NAME(X)\n",
            "#define ISOBIT_RECIPE_2(NAME, X, Y) math::NAME(X, Y)\n",
        ),
        DType::F32 => concat!(
            "#include \"device_lib/math/f32.cuh\"\n",
            "#define ISOBIT_RECIPE(NAME, X) math::NAME(X)\n",
            "#define ISOBIT_RECIPE_2(NAME, X, Y) math::NAME(X, Y)\n",
        ),
        _ if dtype.is_float() => concat!(
            "#include \"device_lib/math/narrow.cuh\"\n",
            "#define ISOBIT_RECIPE(NAME, X) round_to<T>(narrow::NAME<T>(to_f32(X)))\n",
            "#define ISOBIT_RECIPE_2(NAME, X, Y) round_to<T>(narrow::NAME<T>(to_f32(X), to_f32(Y)))\n",
        ),
        _ => concat!(
            "#include \"device_lib/arith_int.cuh\"\n",
            "#define ISOBIT_RECIPE_2(NAME, X, Y) arith::int_##NAME(X, Y)\n",
        ),
    }
}

/// Returns the dtypes whose functions of one argument are in the modules of a dtype's, and what
/// these modules are named after. The floats of 8 bits share them, because their kernels are short:
/// they look results up (`ops/function.cuh`).
pub(crate) const fn functions_of(dtype: DType) -> Option<(&'static str, &'static [DType])> {
    match dtype {
        DType::F8E4M3 => Some(("f8", &[DType::F8E4M3, DType::F8E5M2])),
        DType::F16 => Some(("f16", &[DType::F16])),
        DType::BF16 => Some(("bf16", &[DType::BF16])),
        DType::F32 => Some(("f32", &[DType::F32])),
        DType::F64 => Some(("f64", &[DType::F64])),
        _ => None,
    }
}

/// Returns the prelude of the module of these dtypes, see [`recipes`].
pub(crate) fn recipes_of_functions(dtypes: &[DType]) -> &'static str {
    if let &[dtype] = dtypes { recipes(dtype) } else { RECIPES_OF_BYTES }
}

/// A lambda, because the recipes of one dtype do not compile with the other.
const RECIPES_OF_BYTES: &str = concat!(
    "#include \"device_lib/f8e5m2.cuh\"\n",
    "#include \"device_lib/math/f32.cuh\"\n",
    "#include \"device_lib/math/narrow.cuh\"\n",
    "#define ISOBIT_OF_BYTES(NAME, ...) [&] { \\\n",
    "    if constexpr (is_same<T, f8e5m2>) return round_to<T>(math::NAME(__VA_ARGS__)); \\\n",
    "    else return round_to<T>(narrow::NAME<T>(__VA_ARGS__)); \\\n",
    "}()\n",
    "#define ISOBIT_RECIPE(NAME, X) ISOBIT_OF_BYTES(NAME, to_f32(X))\n",
    "#define ISOBIT_RECIPE_2(NAME, X, Y) ISOBIT_OF_BYTES(NAME, to_f32(X), to_f32(Y))\n",
);

/// Adds the modules of every family.
pub fn add(modules: &mut Vec<Module>) {
    for family in Family::ALL {
        let add = match family {
            Family::Fill => fill::add,
            Family::Copy => copy::add,
            Family::Cast => cast::add,
            Family::Affine => affine::add,
            Family::Unary => unary::add,
            Family::Binary => binary::add,
            Family::Compare => compare::add,
            Family::Select => select::add,
            Family::BiasActivation => bias_activation::add,
            Family::Reduce => reduce::add,
            Family::Matmul => matmul::add,
            Family::Triangle => triangle::add,
            Family::Scan => scan::add,
            Family::Norm => norm::add,
            Family::Rope => rope::add,
            Family::Attention => attention::add,
            Family::Sort => sort::add,
            Family::Indexing => indexing::add,
            Family::Compact => compact::add,
            Family::Conv => conv::add,
            Family::Pooling => pooling::add,
            Family::Upsample => upsample::add,
            Family::GridSample => grid_sample::add,
            Family::Resize => resize::add,
            Family::IndexMap => index_map::add,
            Family::Random => random::add,
            Family::Packed => packed::add,
            Family::Quantized => quantized::add,
        };
        add(modules);
    }
}
