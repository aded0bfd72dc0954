//! Element types of ONNX, and the dtypes that hold them.

use crate::stop::{Lowered, Reason, Stop};
use isobit::DType;

/// The names of ONNX's element types; the position is the number that attributes use.
const NAMES: [&str; 27] = [
    "undefined",
    "float",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "double",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
    "bfloat16",
    "float8e4m3fn",
    "float8e4m3fnuz",
    "float8e5m2",
    "float8e5m2fnuz",
    "uint4",
    "int4",
    "float4e2m1",
    "float8e8m0",
    "uint2",
    "int2",
];

/// The element types that a dtype holds.
const HELD: [(&str, DType); 14] = [
    ("float", DType::F32),
    ("uint8", DType::U8),
    ("int8", DType::I8),
    ("int16", DType::I16),
    ("int32", DType::I32),
    ("int64", DType::I64),
    ("float16", DType::F16),
    ("double", DType::F64),
    ("uint32", DType::U32),
    ("bfloat16", DType::BF16),
    ("float8e4m3fn", DType::F8E4M3),
    ("uint16", DType::U16),
    ("uint64", DType::U64),
    ("float8e5m2", DType::F8E5M2),
];

/// An element type: a dtype, or booleans, which are u8 with the values 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// The dtype that holds the elements.
    pub dtype: DType,
    /// Whether the elements are booleans.
    pub is_bool: bool,
}

impl Element {
    /// Booleans.
    pub const BOOL: Self = Self { dtype: DType::U8, is_bool: true };

    /// Returns the element type of a name that ONNX uses, in lower case.
    ///
    /// # Errors
    /// Not expressed, if no dtype holds it.
    pub fn named(name: &str) -> Lowered<Self> {
        if name == "bool" {
            return Ok(Self::BOOL);
        }
        let held = HELD.iter().find(|(known, _)| *known == name);
        held.map(|&(_, dtype)| dtype.into()).ok_or_else(|| match name {
            "string" => Stop::Unexpressed(Reason::Scope("strings")),
            _ => Stop::Unexpressed(Reason::Dtype(name.into())),
        })
    }

    /// Returns the element type of a number that attributes use.
    ///
    /// # Errors
    /// As [`named`](Self::named); fails if there is no such number.
    pub fn numbered(number: i64) -> Lowered<Self> {
        let name = usize::try_from(number).ok().and_then(|at| NAMES.get(at).copied());
        name.map_or_else(|| Err(Stop::Failed(format!("ONNX has no element type {number}"))), Self::named)
    }

    /// Returns ONNX's name.
    pub fn name(self) -> &'static str {
        match HELD.iter().find(|(_, dtype)| *dtype == self.dtype) {
            _ if self.is_bool => "bool",
            Some((name, _)) => name,
            None => self.dtype.as_str(),
        }
    }
}

impl From<DType> for Element {
    fn from(dtype: DType) -> Self {
        Self { dtype, is_bool: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_specification() {
        // TensorProto.DataType of onnx.proto.
        for (number, name) in [(1, "float"), (7, "int64"), (9, "bool"), (10, "float16"), (16, "bfloat16")] {
            let element = Element::numbered(number).unwrap();
            assert_eq!((element, element.name()), (Element::named(name).unwrap(), name));
        }
        assert_eq!(Element::numbered(9).unwrap(), Element::BOOL);
        assert_eq!(Element::numbered(4).unwrap(), DType::U16.into());
        assert!(matches!(Element::numbered(22), Err(Stop::Unexpressed(Reason::Dtype(name))) if name == "int4"));
        assert!(matches!(Element::numbered(8), Err(Stop::Unexpressed(Reason::Scope("strings")))));
        assert!(matches!(Element::numbered(99), Err(Stop::Failed(_))));
        assert!(matches!(Element::numbered(-1), Err(Stop::Failed(_))));
    }

    #[test]
    fn every_dtype_holds_an_element_type() {
        assert!(DType::ALL.iter().all(|dtype| HELD.iter().any(|(_, held)| held == dtype)));
    }
}
