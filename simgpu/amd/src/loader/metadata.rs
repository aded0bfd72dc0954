//! The metadata of a code object: msgpack, as LLVM's AMDGPUUsage describes it for code object v4
//! and v5.

use super::LoadError;
use super::kernel::{Arg, ArgKind};
use rmpv::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The formats of `printf` that the code names by a hash.
pub(crate) type Formats = HashMap<u64, Vec<u8>>;

/// The metadata of a kernel.
pub(super) struct Described {
    pub(super) name: String,
    pub(super) symbol: String,
    pub(super) args: Vec<Arg>,
    pub(super) kernarg_bytes: u32,
    pub(super) max_threads: u32,
    pub(super) wave_size: u32,
    pub(super) vgprs: u32,
    pub(super) sgprs: u32,
    pub(super) formats: Arc<Formats>,
}

/// The deepest nesting of the metadata, which needs 6. Each level of damaged data may reserve
/// memory for a list.
const DEPTH: usize = 32;

pub(super) fn kernels(note: &[u8]) -> Result<Vec<Described>, LoadError> {
    let mut rest = note;
    let root = rmpv::decode::read_value_with_max_depth(&mut rest, DEPTH)
        .map_err(|e| LoadError::Invalid(format!("metadata: {e}")))?;
    let kernels = get(&root, "amdhsa.kernels").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let formats = get(&root, "amdhsa.printf").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let formats = Arc::new(formats.iter().filter_map(format).collect());
    kernels.iter().map(|map| kernel(map, &formats)).collect()
}

/// Returns the hash and the text of a format of HIP's `printf`: `0:0:HASH,TEXT`. Other entries are
/// those of OpenCL.
fn format(entry: &Value) -> Option<(u64, Vec<u8>)> {
    let Value::String(text) = entry else { return None };
    let text = text.as_bytes().strip_prefix(b"0:0:")?;
    let (hash, format) = text.split_at_checked(text.iter().position(|byte| *byte == b',')?)?;
    let hash = u64::from_str_radix(std::str::from_utf8(hash).ok()?, 16).ok()?;
    Some((hash, format[1..].to_vec()))
}

fn get<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    map.as_map()?.iter().find(|(k, _)| k.as_str() == Some(key)).map(|(_, v)| v)
}

fn text(map: &Value, key: &str) -> Result<String, LoadError> {
    let value = get(map, key).and_then(Value::as_str);
    value.map(str::to_string).ok_or_else(|| LoadError::Invalid(format!("metadata: no {key}")))
}

fn number(map: &Value, key: &str) -> Option<u32> {
    get(map, key)?.as_u64()?.try_into().ok()
}

fn kernel(map: &Value, formats: &Arc<Formats>) -> Result<Described, LoadError> {
    let wanted = |key: &str| number(map, key).ok_or_else(|| LoadError::Invalid(format!("metadata: no {key}")));
    let args = get(map, ".args").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Ok(Described {
        name: text(map, ".name")?,
        symbol: text(map, ".symbol")?,
        args: args.iter().map(arg).collect::<Result<_, _>>()?,
        kernarg_bytes: wanted(".kernarg_segment_size")?,
        max_threads: wanted(".max_flat_workgroup_size")?,
        wave_size: wanted(".wavefront_size")?,
        vgprs: wanted(".vgpr_count")?,
        sgprs: wanted(".sgpr_count")?,
        formats: formats.clone(),
    })
}

fn arg(map: &Value) -> Result<Arg, LoadError> {
    let wanted =
        |key: &str| number(map, key).ok_or_else(|| LoadError::Invalid(format!("metadata: an argument has no {key}")));
    let kind = text(map, ".value_kind")?;
    Ok(Arg { offset: wanted(".offset")?, bytes: wanted(".size")?, kind: ArgKind::named(&kind)? })
}
