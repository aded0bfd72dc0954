//! Groups the modules that are packed together.

use std::collections::BTreeMap;

/// The maximum unpacked size of a frame, unless a single module is larger. A family of PTX has up
/// to 11 MB, and unpacking all of it for its first kernel would take noticeable time. Half this
/// size costs 10 % more bytes.
const LIMIT: usize = 1 << 20;

/// Returns the family of a module: the folder of the kernel source that its text includes first.
pub fn family(text: &str) -> &str {
    let source = text.split('"').nth(1).unwrap_or_default();
    source.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Groups modules into frames: the modules of one family, in their order, up to the size limit.
pub fn group<'a>(modules: impl Iterator<Item = (&'a str, &'a str)>, len: impl Fn(&str) -> usize) -> Vec<Vec<&'a str>> {
    let mut families: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (family, module) in modules {
        families.entry(family).or_default().push(module);
    }
    let mut frames = Vec::new();
    for modules in families.into_values() {
        let (mut frame, mut size) = (Vec::new(), 0);
        for module in modules {
            if !frame.is_empty() && size + len(module) > LIMIT {
                frames.push(std::mem::take(&mut frame));
                size = 0;
            }
            size += len(module);
            frame.push(module);
        }
        frames.push(frame);
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_one_family_and_no_more_than_the_limit_unless_one_module_has() {
        assert_eq!(family("#include \"ops/norm/norm.cu\"\nISOBIT_NORM(x, f32)\n"), "ops/norm");
        let modules = [("b", "b1"), ("a", "a1"), ("a", "a2"), ("b", "big"), ("b", "b2"), ("a", "a3")];
        let len = |name: &str| if name == "big" { LIMIT + 1 } else { LIMIT / 2 };
        let frames = group(modules.into_iter(), len);
        assert_eq!(frames, [vec!["a1", "a2"], vec!["a3"], vec!["b1"], vec!["big"], vec!["b2"]]);
    }
}
