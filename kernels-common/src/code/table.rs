//! The table of kernels, which the build script generates from the manifest. Kernels are looked up
//! by key.

use crate::code::image::Image;
use crate::code::packed::Packed;
use crate::code::target::Target;
use crate::key::Key;
use isobit_hal::{Error, ErrorKind, Result};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::OnceLock;

/// One kernel of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The key that launchers look it up by.
    pub key: Key,
    /// Its symbol.
    pub symbol: &'static str,
    /// The index of its module in [`IMAGES`].
    pub module: usize,
}

/// How the packed code was compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildInfo {
    /// The compiler and its version, or the reason why there is none.
    pub compiler: &'static str,
    /// Its options, without those of the target.
    pub flags: &'static str,
}

impl BuildInfo {
    /// Returns the AMD architectures that code is packed for; none if nothing was compiled.
    pub fn amd_archs(&self) -> Vec<Cow<'static, str>> {
        archs(Target::Amdgcn)
    }

    /// Returns the NVIDIA architectures that PTX is packed for; it also runs on later ones. Returns
    /// none if nothing was compiled.
    pub fn nvidia_archs(&self) -> Vec<Cow<'static, str>> {
        archs(Target::Nvptx)
    }
}

fn archs(target: Target) -> Vec<Cow<'static, str>> {
    PACKED.iter().filter(|packed| packed.target == target).map(|packed| Cow::Borrowed(packed.arch)).collect()
}

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// Returns every source file of the tree, unpacked, with the name under which a run-time compiler
/// may include it.
///
/// ```
/// let headers = isobit_kernels::headers()?;
/// assert!(headers.iter().any(|(name, _)| *name == "isobit.cuh"));
/// # Ok::<(), isobit_hal::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the sources in this program are damaged.
pub fn headers() -> Result<&'static [(&'static str, String)]> {
    static UNPACKED: OnceLock<Vec<(&'static str, String)>> = OnceLock::new();
    if let Some(headers) = UNPACKED.get() {
        return Ok(headers);
    }
    let mut headers = Vec::new();
    for file in SOURCES.archive()?.modules() {
        let text = SOURCES.module(file.name)?.unwrap_or_default();
        let text = String::from_utf8(text).map_err(|e| {
            Error::new(ErrorKind::Other, format!("the source {} in this program is not UTF-8", file.name))
                .with_source(e)
        })?;
        headers.push((file.name, text));
    }
    Ok(UNPACKED.get_or_init(|| headers))
}

/// Returns the architecture and the file of each archive of compiled code in this program, for the
/// tool that packs releases. `src/code/archive/mod.rs` describes the format.
pub fn archives() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    PACKED.iter().map(|packed| (packed.arch, packed.file()))
}

/// Returns the index of a kernel in [`KERNELS`].
pub(crate) fn find(key: Key) -> Option<usize> {
    KERNELS.binary_search_by_key(&key, |e| e.key).ok()
}

/// Returns the index of the kernel with a symbol in [`KERNELS`].
pub(crate) fn find_symbol(symbol: &str) -> Option<usize> {
    static POSITIONS: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    let positions = POSITIONS.get_or_init(|| KERNELS.iter().enumerate().map(|(i, e)| (e.symbol, i)).collect());
    positions.get(symbol).copied()
}

/// Returns some symbols that start like an unknown one, for messages.
pub(crate) fn nearest(symbol: &str) -> Vec<&'static str> {
    let shared = |other: &str| symbol.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let mut symbols: Vec<_> = KERNELS.iter().map(|e| e.symbol).collect();
    symbols.sort_unstable_by_key(|other| (Reverse(shared(other)), other.len().abs_diff(symbol.len()), *other));
    symbols.truncate(5);
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_each_symbol_is_unique() {
        assert!(KERNELS.windows(2).all(|w| w[0].key < w[1].key));
        let mut symbols: Vec<_> = KERNELS.iter().map(|e| e.symbol).collect();
        symbols.sort_unstable();
        symbols.dedup();
        assert_eq!(symbols.len(), KERNELS.len());
        assert!(KERNELS.iter().all(|e| find(e.key).is_some_and(|i| KERNELS[i] == *e)));
        assert!(KERNELS.iter().all(|e| find_symbol(e.symbol).is_some_and(|i| KERNELS[i] == *e)));
        assert_eq!(find_symbol("no such kernel"), None);
        let wrong = KERNELS[0].symbol.to_string() + "_";
        assert_eq!(nearest(&wrong)[0], KERNELS[0].symbol);
    }
}
