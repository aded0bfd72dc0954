//! Reads official headers through bindgen.

use crate::declarations::{Declarations, function};
use anyhow::{Context, Result};
use std::path::PathBuf;
use syn::{Expr, ForeignItem, Item, Lit};

/// The language of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++, because the header includes C++ headers.
    Cpp,
}

/// Returns the declarations of a header that `wanted` also has, and the types they need.
pub fn read(include: &[PathBuf], header: &str, language: Language, wanted: &Declarations) -> Result<Declarations> {
    let mut builder = bindgen::Builder::default()
        .header_contents("wrapper.h", &format!("#include <stdbool.h>\n#include <{header}>\n"))
        .clang_args(include.iter().map(|folder| format!("-I{}", folder.display())))
        // The same option has two names: one before ROCm 5 and one since.
        .clang_args(["-D__HIP_PLATFORM_AMD__", "-D__HIP_PLATFORM_HCC__"])
        .prepend_enum_name(false)
        .layout_tests(true)
        .generate_comments(false)
        .allowlist_type("hipDeviceProp_t.*");
    builder = match language {
        Language::C => builder.clang_args(["-x", "c", "-std=c11"]),
        Language::Cpp => builder.clang_args(["-x", "c++", "-std=c++17"]),
    };
    for name in wanted.functions.keys() {
        builder = builder.allowlist_function(name);
    }
    for name in wanted.constants.keys() {
        builder = builder.allowlist_var(name);
    }
    // The enums of the wanted constants are included with the functions that take them, or by these
    // names.
    for (ty, _) in wanted.constants.values() {
        if let syn::Type::Path(path) = ty
            && let Some(last) = path.path.segments.last()
        {
            builder = builder.allowlist_type(last.ident.to_string());
        }
    }
    let text = builder.generate().with_context(|| format!("{header} cannot be read"))?.to_string();
    parse(&text).with_context(|| format!("cannot parse bindgen's output for {header}"))
}

/// Returns the declarations in bindgen's output.
pub fn parse(text: &str) -> Result<Declarations> {
    let mut found = Declarations { layouts: layouts(text), ..Declarations::default() };
    for item in syn::parse_file(text)?.items {
        match item {
            Item::Type(alias) => {
                found.aliases.insert(alias.ident.to_string(), *alias.ty);
            }
            // An enum with different tag and name: `pub use self::rocblas_status_ as
            // rocblas_status`.
            Item::Use(item) => {
                if let syn::UseTree::Path(path) = &item.tree
                    && let syn::UseTree::Rename(renamed) = &*path.tree
                {
                    let tag = &renamed.ident;
                    found.aliases.insert(renamed.rename.to_string(), syn::parse_quote!(#tag));
                }
            }
            Item::Const(item) => {
                if let Expr::Lit(literal) = &*item.expr
                    && let Lit::Int(number) = &literal.lit
                {
                    found.constants.insert(item.ident.to_string(), (*item.ty, number.base10_parse()?));
                }
            }
            Item::ForeignMod(block) => {
                found.functions.extend(block.items.iter().filter_map(|item| match item {
                    ForeignItem::Fn(f) => Some(function(f, true)),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    // ROCm 5 has one layout, under the plain name; since ROCm 6 that layout is called R0000.
    if !found.layouts.contains_key("hipDeviceProp_tR0600") {
        let old: Vec<_> = found.layouts.iter().filter(|(fact, _)| fact.starts_with("hipDeviceProp_t")).collect();
        let renamed: Vec<_> =
            old.into_iter().map(|(f, n)| (f.replace("hipDeviceProp_t", "hipDeviceProp_tR0000"), *n)).collect();
        found.layouts = renamed.into_iter().collect();
        found.aliases.insert("hipDeviceProp_t".into(), syn::parse_quote!(hipDeviceProp_tR0000));
    }
    Ok(found)
}

/// Returns sizes and offsets, which bindgen writes as assertions: `["Size of T"][size_of::<T>() -
/// 8usize]`, `["Offset of field: T::f"][.. - 4usize]`.
fn layouts(text: &str) -> std::collections::BTreeMap<String, u64> {
    let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut facts = std::collections::BTreeMap::new();
    for kind in ["[\"Size of ", "[\"Offset of field: "] {
        for rest in words.split(kind).skip(1) {
            let Some((name, rest)) = rest.split_once('"') else { continue };
            let number = rest.split_once("usize").and_then(|(before, _)| before.rsplit(' ').next()?.parse().ok());
            if let Some(number) = number {
                facts.insert(name.to_string(), number);
            }
        }
    }
    facts
}
