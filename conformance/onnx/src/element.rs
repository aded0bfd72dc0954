//! Element types of ONNX, and the dtypes that hold them.

use crate::stop::{Lowered, Reason, Stop};
use isobit::{BackendDevice, BackendStorage, CpuDevice, DType, Layout, PackedDType, Result};

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

/// The packed types, and the dtypes that hold their values on devices. Nodes work on the values;
/// only casts to such a type pack them, and unpack them again.
const PACKED: [(&str, PackedDType, DType); 8] = [
    ("uint4", PackedDType::U4, DType::U8),
    ("int4", PackedDType::I4, DType::I8),
    ("uint2", PackedDType::U2, DType::U8),
    ("int2", PackedDType::I2, DType::I8),
    ("float4e2m1", PackedDType::F4E2M1, DType::F32),
    ("float8e8m0", PackedDType::F8E8M0, DType::F32),
    ("float8e4m3fnuz", PackedDType::F8E4M3FNUZ, DType::F32),
    ("float8e5m2fnuz", PackedDType::F8E5M2FNUZ, DType::F32),
];

/// What the elements of a dtype stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Numbers of the dtype.
    #[default]
    Number,
    /// Booleans, which are u8 with the values 0 and 1.
    Bool,
    /// Values of a packed type.
    Packed(PackedDType),
}

/// An element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// The dtype that holds the elements.
    pub dtype: DType,
    /// What they stand for.
    pub kind: Kind,
}

impl Element {
    /// Booleans.
    pub const BOOL: Self = Self { dtype: DType::U8, kind: Kind::Bool };

    /// Whether the elements are booleans.
    pub fn is_bool(self) -> bool {
        self.kind == Kind::Bool
    }

    /// Returns the elements of a case, which has a byte for each code of a packed type, as those of
    /// the dtype.
    ///
    /// # Errors
    /// Fails if the bytes are no elements.
    pub fn held(self, bytes: &[u8]) -> Result<Vec<u8>> {
        let Kind::Packed(packed) = self.kind else { return Ok(bytes.to_vec()) };
        // Integers wrap when they are packed, which cuts the sign that a byte extends.
        let codes = match packed.per_byte() {
            1 => packed,
            2 => PackedDType::U4,
            _ => PackedDType::U2,
        };
        let all = Layout::contiguous(bytes.len());
        let stored = CpuDevice.storage_from_slice(bytes)?;
        let rows = if codes.bits() == 8 { stored } else { stored.pack(&all, codes)? };
        let values = rows.unpack(&Layout::contiguous(rows.len()), packed, bytes.len(), self.dtype)?;
        Ok(values.as_bytes().to_vec())
    }

    /// Returns the element type of a name that ONNX uses, in lower case.
    ///
    /// # Errors
    /// Not expressed, if no dtype holds it.
    pub fn named(name: &str) -> Lowered<Self> {
        if name == "bool" {
            return Ok(Self::BOOL);
        }
        if let Some(&(_, packed, dtype)) = PACKED.iter().find(|(known, ..)| *known == name) {
            return Ok(Self { dtype, kind: Kind::Packed(packed) });
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
        let held = HELD.iter().find(|(_, dtype)| *dtype == self.dtype).map(|(name, _)| *name);
        match self.kind {
            Kind::Bool => "bool",
            Kind::Packed(packed) => packed.name(),
            Kind::Number => held.unwrap_or(self.dtype.as_str()),
        }
    }
}

impl From<DType> for Element {
    fn from(dtype: DType) -> Self {
        Self { dtype, kind: Kind::Number }
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
        assert!(matches!(Element::numbered(8), Err(Stop::Unexpressed(Reason::Scope("strings")))));
        assert!(matches!(Element::numbered(99), Err(Stop::Failed(_))));
        assert!(matches!(Element::numbered(-1), Err(Stop::Failed(_))));
    }

    /// Codes and values of the OCP microscaling formats, and two's complement.
    #[test]
    fn codes_of_packed_types_become_their_values() {
        let held = |name, bytes: &[u8]| Element::named(name).unwrap().held(bytes).unwrap();
        assert_eq!(held("int4", &[0xff, 0x07, 0x08]), [0xff, 7, 0xf8]);
        assert_eq!(held("int4", &[0xf8]), [0xf8], "with the sign extended, as ml_dtypes has it");
        assert_eq!(held("uint4", &[15, 0, 9]), [15, 0, 9]);
        assert_eq!(held("int2", &[2, 1, 3]), [0xfe, 1, 0xff]);
        assert_eq!(held("uint2", &[3]), [3]);
        assert_eq!(held("float4e2m1", &[7, 9]), [6f32, -0.5].map(f32::to_le_bytes).concat());
        assert_eq!(held("float8e8m0", &[128]), 2f32.to_le_bytes());
        assert_eq!(Element::numbered(22).unwrap().name(), "i4");
    }

    #[test]
    fn every_dtype_holds_an_element_type() {
        assert!(DType::ALL.iter().all(|dtype| HELD.iter().any(|(_, held)| held == dtype)));
    }
}
