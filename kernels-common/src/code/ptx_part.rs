//! One kernel of a PTX module as a module of its own. NVIDIA's driver compiles whole modules, and
//! the first use of an operation waits for it, but needs one kernel of several.

/// Returns PTX text without the kernels other than `symbol`. Everything that is not part of a
/// kernel stays. Returns `None` if the text does not have the kernel, or not in the form that LLVM
/// writes: an entry begins at the start of a line, and its last line begins with its closing brace.
pub(super) fn only(text: &[u8], symbol: &str) -> Option<Vec<u8>> {
    let mut part = Vec::with_capacity(text.len());
    // Whether the current line is part of a kernel, and of the one that is kept.
    let (mut inside, mut keeps, mut found) = (false, true, false);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if let Some(entry) = line.strip_prefix(b".visible .entry ") {
            if inside {
                return None;
            }
            let name = entry.split(|&byte| byte == b'(').next()?;
            (inside, keeps) = (true, name == symbol.as_bytes());
            found |= keeps;
        }
        if keeps {
            part.extend_from_slice(line);
        }
        if inside && line.starts_with(b"}") {
            (inside, keeps) = (false, true);
        }
    }
    (found && !inside).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::table::{IMAGES, KERNELS};
    use crate::code::target::Target;

    const TEXT: &str = ".version 7.8\n.global .b8 table[2];\n.visible .entry exp(\n\t.param .u64 exp_0\n)\n{\n\t{ret;\n\t}\n}\n\
                        \t// -- End function\n.visible .entry exp2(\n)\n{\n\tret;\n}\n\0";

    #[test]
    fn the_other_kernels_are_left_out_and_nothing_else() {
        let exp2 =
            ".version 7.8\n.global .b8 table[2];\n\t// -- End function\n.visible .entry exp2(\n)\n{\n\tret;\n}\n\0";
        assert_eq!(only(TEXT.as_bytes(), "exp2").unwrap(), exp2.as_bytes());
        let exp = TEXT.replace(".visible .entry exp2(\n)\n{\n\tret;\n}\n", "");
        assert_eq!(only(TEXT.as_bytes(), "exp").unwrap(), exp.as_bytes());
    }

    #[test]
    fn text_of_another_form_has_no_parts() {
        for absent in ["ex", "exp22", "table", ""] {
            assert_eq!(only(TEXT.as_bytes(), absent), None, "{absent}");
        }
        let unclosed = TEXT.replace("\n}\n", "\n }\n");
        assert_eq!(only(unclosed.as_bytes(), "exp"), None);
    }

    #[test]
    fn every_kernel_of_the_tree_is_a_part_of_its_module() {
        for (index, image) in IMAGES.iter().enumerate() {
            for arch in image.archs(Target::Nvptx) {
                let code = image.unpack(Target::Nvptx, &arch).unwrap().expect("it says that it has this");
                let kernels: Vec<_> = KERNELS.iter().filter(|kernel| kernel.module == index).collect();
                for kernel in &kernels {
                    let part =
                        only(&code, kernel.symbol).unwrap_or_else(|| panic!("{} of {}", kernel.symbol, image.name));
                    let entries = String::from_utf8(part).unwrap().matches(".entry ").count();
                    assert_eq!(entries, 1, "{} of {}", kernel.symbol, image.name);
                }
            }
        }
    }
}
