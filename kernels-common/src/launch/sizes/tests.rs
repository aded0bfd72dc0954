use super::*;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn each_size_has_its_own_name_and_a_smaller_value_in_small_launches() {
    let names: BTreeSet<_> = ALL.iter().map(|size| size.name).collect();
    assert_eq!(names.len(), ALL.len());
    for size in ALL {
        let (family, what) = size.name.split_once('.').unwrap();
        assert!(!family.is_empty() && !what.is_empty(), "{}", size.name);
        if let (Some(normal), Some(small)) = (size.normal, size.small) {
            assert!(0 < small && small < normal, "{}: {small} of {normal}", size.name);
        }
    }
}

#[test]
fn a_decision_is_counted_and_its_difference_noted() {
    static SIZE: Size = Size::adjusted("test.size", 100, 10);
    let counts = || (SIZE.below.load(Ordering::Relaxed), SIZE.reached.load(Ordering::Relaxed));
    take_differs();
    assert!(!SIZE.is_reached(9) && SIZE.is_reached(100));
    assert_eq!((counts(), take_differs()), ((1, 1), false), "both kinds of launches decide alike");
    assert!(!SIZE.is_reached(10));
    assert_eq!((take_differs(), take_differs()), (true, false));

    assert!(!set_small(true));
    assert!(SIZE.is_reached(10) && !SIZE.is_reached(9));
    assert!(!SIZE.is_exceeded(10) && SIZE.is_exceeded(11));
    assert_eq!((SIZE.limit(5), SIZE.limit_or(5, 7)), (10, 7), "a small launch is never larger than a normal one");
    assert!(take_differs());
    std::thread::spawn(|| assert!(!SIZE.is_reached(10), "small launches are of one thread")).join().unwrap();
    assert!(set_small(false));
    assert!(!SIZE.is_exceeded(100) && SIZE.is_exceeded(101));
}

/// Limits that launch code keeps to itself are in no report, and no small case gets to them.
#[test]
fn no_launch_code_has_a_limit_of_its_own() {
    let mut files = Vec::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for folder in ["launch", "ops"] {
        walk(&source.join(folder), &mut files);
    }
    assert!(files.len() > 40, "{files:?}");
    for file in files.iter().filter(|file| !file.ends_with("sizes.rs") && !file.ends_with("tests.rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        // Divisors are of sizes below 2^31: a property of the arithmetic, and no choice.
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let name = line.split_once("const ").and_then(|(_, rest)| rest.split_once(": usize")).map(|(name, _)| name);
            let is_limit =
                name.is_some_and(|name| name.starts_with("MOST") || name.ends_with("_FROM") || name == "SIDE");
            let shift = line.split_once("1 << ").map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit));
            let is_large = shift.is_some_and(|digits| digits.collect::<String>().parse().is_ok_and(|n: u32| n > 16));
            let is_divisor = file.ends_with("index.rs");
            assert!(
                is_divisor || !(is_limit || is_large),
                "{}: `{}` belongs into launch/sizes.rs",
                file.display(),
                line.trim()
            );
        }
    }
}

fn walk(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}
