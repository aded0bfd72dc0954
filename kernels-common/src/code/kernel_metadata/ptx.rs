//! Reads the kernels of a PTX text from its `.entry` directives. See "Kernel Function Parameters"
//! and "Performance-Tuning Directives" in the PTX ISA:
//! <https://docs.nvidia.com/cuda/parallel-thread-execution/>

use super::Described;
use isobit_hal::kernel::{KernelParam, ParamKind};
use std::borrow::Cow;

/// Returns every kernel that the text declares; none if the text is not PTX.
pub(super) fn kernels(text: &str) -> Vec<Described> {
    let text = without_comments(text);
    // If a compiler marks any address, it marks all of them, so an unmarked parameter in its code
    // is not an address.
    let marks_addresses = text.contains(".ptr");
    let mut found: Vec<Described> = Vec::new();
    for (at, word) in text.match_indices(".entry") {
        let rest = &text[at + word.len()..];
        if !rest.starts_with(char::is_whitespace) {
            continue;
        }
        if let Some(kernel) = kernel(rest, marks_addresses)
            && !found.iter().any(|known| known.name == kernel.name)
        {
            found.push(kernel);
        }
    }
    found
}

/// Returns the text without comments.
fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("//") && !text.contains("/*") {
        return text.into();
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        kept.push_str(&rest[..at]);
        let end = match rest.as_bytes().get(at + 1) {
            Some(b'/') => rest[at..].find('\n').map(|n| at + n),
            Some(b'*') => rest[at + 2..].find("*/").map(|n| at + n + 4),
            _ => {
                kept.push('/');
                Some(at + 1)
            }
        };
        rest = end.map_or("", |end| &rest[end..]);
    }
    kept.push_str(rest);
    kept.into()
}

/// Parses the kernel after `.entry`.
fn kernel(text: &str, marks_addresses: bool) -> Option<Described> {
    let text = text.trim_start();
    let end = text.find(|c: char| c.is_whitespace() || "({;".contains(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let rest = rest.trim_start();
    let (list, rest) = match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?,
        None => ("", rest),
    };
    let params = list.split(',').map(str::trim).filter(|p| !p.is_empty());
    let params = params.map(|p| param(p, marks_addresses)).collect::<Option<_>>()?;
    let directives = &rest[..rest.find(['{', ';']).unwrap_or(rest.len())];
    let threads = |name| threads(directives, name);
    Some(Described { name: name.into(), params, max_threads: threads(".maxntid").or_else(|| threads(".reqntid")) })
}

/// Parses one parameter: `.param .u64 .ptr .global .align 4 name`, `.param .f32 name`, `.param
/// .align 8 .b8 name[24]`.
fn param(text: &str, marks_addresses: bool) -> Option<KernelParam> {
    let is_pointer = text.split_whitespace().any(|word| word == ".ptr");
    let (one, kind) = text.split_whitespace().find_map(scalar)?;
    // The name is last, followed by the number of elements if the parameter is an array.
    let elements = match text.rsplit_once('[') {
        Some((_, count)) => Some(number(count.trim_end().strip_suffix(']')?)?),
        None => None,
    };
    let kind = match (elements, is_pointer, kind) {
        (Some(_), ..) => ParamKind::Bytes,
        (None, true, _) => ParamKind::Pointer,
        (None, false, ParamKind::Integer) if one == size_of::<u64>() && !marks_addresses => ParamKind::PointerOrInteger,
        (None, false, kind) => kind,
    };
    Some(KernelParam { size: one.checked_mul(elements.unwrap_or(1))?, kind })
}

/// Returns the size and the kind of a type.
fn scalar(word: &str) -> Option<(usize, ParamKind)> {
    Some(match word {
        ".u8" | ".s8" => (1, ParamKind::Integer),
        ".u16" | ".s16" => (2, ParamKind::Integer),
        ".u32" | ".s32" => (4, ParamKind::Integer),
        ".u64" | ".s64" => (8, ParamKind::Integer),
        ".f32" => (4, ParamKind::Float),
        ".f64" => (8, ParamKind::Float),
        ".b8" => (1, ParamKind::Bytes),
        ".b16" | ".f16" | ".bf16" => (2, ParamKind::Bytes),
        ".b32" | ".f16x2" | ".bf16x2" | ".tf32" => (4, ParamKind::Bytes),
        // Untyped words of pointer width may hold addresses too.
        ".b64" => (8, ParamKind::Integer),
        ".b128" => (16, ParamKind::Bytes),
        _ => return None,
    })
}

/// Parses a number in PTX syntax.
fn number(text: &str) -> Option<usize> {
    let text = text.trim().trim_end_matches('U');
    match text.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Returns the number of threads of a directive, which gives the size along x and optionally along
/// y and z.
fn threads(directives: &str, name: &str) -> Option<u32> {
    let (_, rest) = directives.split_once(name)?;
    let rest = rest.split('.').next()?;
    rest.split(',').map(|n| u32::try_from(number(n)?).ok()).try_fold(1u32, |all, n| all.checked_mul(n?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str) -> Vec<(usize, ParamKind)> {
        let [kernel] = &kernels(text)[..] else { panic!("one kernel in {text}") };
        kernel.params.iter().map(|p| (p.size, p.kind)).collect()
    }

    // Output of NVRTC 13.5 for (const float *, long long, float, double, f16, struct of 24 bytes,
    // char, short, unsigned).
    const NVRTC: &str = "
//
// Generated by NVIDIA NVVM Compiler .entry not_this(
.version 9.5
.target sm_80
.address_size 64
	// .globl	k
.visible .entry k(
	.param .u64 k_param_0,
	.param .u64 k_param_1,
	.param .f32 k_param_2,
	.param .f64 k_param_3,
	.param .align 2 .b8 k_param_4[2],
	.param .align 8 .b8 k_param_5[24],
	.param .u8 k_param_6,
	.param .u16 k_param_7,
	.param .u32 k_param_8
)
.maxntid 256, 1, 1
{
	.reg .b16 	%rs<3>;
	ret;
}
.visible .entry none()
{
	ret;
}
";

    #[test]
    fn what_nvrtc_writes_is_read() {
        use ParamKind::*;
        let found = kernels(NVRTC);
        let names: Vec<_> = found.iter().map(|k| (k.name.as_str(), k.max_threads)).collect();
        assert_eq!(names, [("k", Some(256)), ("none", None)]);
        let of_k: Vec<_> = found[0].params.iter().map(|p| (p.size, p.kind)).collect();
        let expected = [
            (8, PointerOrInteger),
            (8, PointerOrInteger),
            (4, Float),
            (8, Float),
            (2, Bytes),
            (24, Bytes),
            (1, Integer),
            (2, Integer),
            (4, Integer),
        ];
        assert_eq!(of_k, expected);
        assert!(found[1].params.is_empty());
    }

    #[test]
    fn marked_addresses_tell_that_the_others_are_numbers() {
        use ParamKind::*;
        let text = ".entry k(.param .u64 .ptr .global .align 4 a, .param .u64 b, .param .b64 c) .reqntid 8, 4 { }";
        assert_eq!(params(text), [(8, Pointer), (8, Integer), (8, Integer)]);
        assert_eq!(kernels(text)[0].max_threads, Some(32));
        assert_eq!(params(".entry k(.param .b64 c) {}"), [(8, PointerOrInteger)]);
    }

    #[test]
    fn the_grammars_corners_are_read() {
        let text = "/* .entry a( */ .weak .entry $b_1 // what
            .maxntid 0x10, 2, 2 .minnctapersm 2 { } .entry c;
            .file 1 \"a/b.cu\" .entry d(.param .align 16 .b8 p [ 0x20 ] , .param .b128 q){}";
        let found: Vec<_> = kernels(text).into_iter().map(|k| (k.name, k.params.len(), k.max_threads)).collect();
        assert_eq!(found, [("$b_1".into(), 0, Some(64)), ("c".into(), 0, None), ("d".into(), 2, None)]);
        assert_eq!(kernels(text)[2].params[0].size, 32);
    }

    #[test]
    fn what_is_no_ptx_has_no_kernels() {
        for text in [
            "",
            "text",
            ".entry",
            ".entry k(",
            ".entry k(.param",
            ".entry k(.param .u7 a)",
            "/* .entry k()",
            "/",
            "// x",
        ] {
            assert_eq!(kernels(text), [], "{text:?}");
        }
    }
}
