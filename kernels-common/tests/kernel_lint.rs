//! Kernels use only the dialect: anything that differs between compilers and vendors belongs in
//! `src/dialect`.

use std::path::{Path, PathBuf};

/// Words that kernels must not use, with the reason.
const WORDS: &[(&str, &str)] = &[
    ("warpSize", "lanes are counted by the dialect"),
    ("asm", "no inline assembly"),
    ("threadIdx", "say thread_x()"),
    ("blockIdx", "say block_x()"),
    ("blockDim", "say block_dim_x()"),
    ("gridDim", "say grid_dim_x()"),
    ("std", "no standard library"),
    ("cuda", "no vendor's library"),
    ("hip", "no vendor's library"),
    ("half", "the dialect has f16"),
];

/// The C names of vendors' math functions; the tree has its own.
const VENDOR_MATH: &[&str] = &[
    "expf", "exp2f", "exp10f", "expm1f", "logf", "log2f", "log10f", "log1pf", "sinf", "cosf", "tanf", "sincosf",
    "tanhf", "sinhf", "coshf", "asinf", "acosf", "atanf", "atan2f", "erff", "erfcf", "fmaf", "sqrtf", "rsqrtf",
    "rcbrtf", "fmodf", "fdividef", "fmaxf", "fminf", "rintf", "roundf", "truncf", "floorf", "ceilf", "fabsf",
];

/// After these operators, these literals mean lanes.
const LANE_OPERATORS: &[&str] = &["&", "%", "/", ">>"];
const LANE_LITERALS: &[&str] = &["31", "32", "5"];

/// Names that every compiler has, or that the dialect provides for those that do not.
const COMMON: &[&str] = &["__builtin_bit_cast", "__shared__"];

fn why_forbidden(token: &str) -> Option<&'static str> {
    WORDS.iter().find(|(word, _)| *word == token).map(|(_, why)| *why)
}

/// Splits a text into words, numbers and operators, each with its line; skips comments.
fn tokens(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_comment = false;
    for (number, line) in text.lines().enumerate() {
        let chars: Vec<char> = line.chars().collect();
        let mut i = 0;
        while i < chars.len() {
            let pair: String = chars[i..(i + 2).min(chars.len())].iter().collect();
            if in_comment {
                in_comment = pair != "*/";
                i += if in_comment { 1 } else { 2 };
            } else if pair == "//" {
                break;
            } else if pair == "/*" {
                in_comment = true;
                i += 2;
            } else if chars[i].is_alphanumeric() || chars[i] == '_' {
                let end = (i..chars.len()).find(|&j| !(chars[j].is_alphanumeric() || chars[j] == '_'));
                let end = end.unwrap_or(chars.len());
                found.push((number + 1, chars[i..end].iter().collect()));
                i = end;
            } else if [">>", "<<", "&&"].contains(&pair.as_str()) {
                found.push((number + 1, pair));
                i += 2;
            } else {
                if !chars[i].is_whitespace() {
                    found.push((number + 1, chars[i].to_string()));
                }
                i += 1;
            }
        }
    }
    found
}

/// Returns the violations in a source, each with line and reason. The math functions, which are
/// part of the dialect, may use 31 as a number and name compilers.
fn offences(text: &str, is_kernel: bool) -> Vec<(usize, String)> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for (i, (line, token)) in tokens.iter().enumerate() {
        let before = if i == 0 { "" } else { tokens[i - 1].1.as_str() };
        let mut offence = |why: String| found.push((*line, why));
        if is_kernel && let Some(why) = why_forbidden(token) {
            offence(format!("`{token}`: {why}"));
        }
        if is_kernel && token.starts_with("__") && !COMMON.contains(&token.as_str()) {
            offence(format!("`{token}`: names of compilers and vendors belong in the dialect"));
        }
        if VENDOR_MATH.contains(&token.as_str()) {
            offence(format!("`{token}`: vendors' mathematics differ in their last bits"));
        }
        let literal = token.trim_end_matches(['u', 'U', 'l', 'L']);
        if is_kernel && LANE_LITERALS.contains(&literal) && LANE_OPERATORS.contains(&before) {
            offence(format!("`{before} {token}`: a warp has 32 or 64 lanes"));
        }
        if token == "include" && tokens.get(i + 1).is_some_and(|(_, next)| next == "<") {
            offence("`#include <`: a device's run-time compiler has no such headers".into());
        }
    }
    found
}

fn sources(dir: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("the source folder is readable") {
        let path = entry.expect("the source folder is readable").path();
        if path.is_dir() {
            sources(&path, endings, found);
        } else if path.extension().is_some_and(|e| endings.iter().any(|&ending| e == ending)) {
            found.push(path);
        }
    }
}

#[test]
fn kernels_and_recipes_use_the_dialect_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut checked = 0;
    let mut wrong = Vec::new();
    for (folder, is_kernel) in [("ops", true), ("device_lib/math", false)] {
        let mut files = Vec::new();
        sources(&root.join(folder), &["cu", "cuh"], &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).expect("sources are readable");
            checked += 1;
            let name = file.strip_prefix(&root).expect("found below it").display().to_string();
            wrong.extend(offences(&text, is_kernel).into_iter().map(|(line, why)| format!("{name}:{line}: {why}")));
        }
    }
    assert!(checked > 10, "only {checked} sources were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_forbidden_word_is_found_in_code_and_none_in_comments() {
    let planted = [
        "int w = warpSize;",
        "#ifdef __CUDA_ARCH__",
        "asm volatile(\"\");",
        "int lane = thread_x() & 31;",
        "int lane = thread_x() % 32u;",
        "int warp = thread_x() >> 5;",
        "y = expf(x);",
        "y = __expf(x);",
        "v = __shfl_down_sync(m, v, d);",
        "#include <cuda/std/limits>",
        "i = threadIdx.x;",
        "/* fine */ y = ::sqrtf(x);",
    ];
    for line in planted {
        assert!(!offences(line, true).is_empty(), "{line}");
        assert!(offences(&format!("// {line}"), true).is_empty(), "{line}");
        assert!(offences(&format!("/* first\n {}\n */", line.replace("/* fine */", "")), true).is_empty(), "{line}");
    }
    assert!(offences("x = a >> 16 & 0xff; y = 32; b = __builtin_bit_cast(u32, x);", true).is_empty());
    assert!(offences("word = bits & 31;", false).is_empty());
}
