//! A driver as an external author would write it: it depends only on the HAL, implements what the
//! traits require, passes the suite, and joins the facade at run time. Nothing in this workspace
//! depends on it. `docs/writing-a-driver.md` quotes these files.

mod device;
mod joined;
mod plain;
mod storage;
mod suite;

#[test]
fn the_guide_shows_this_driver() {
    let guide = include_str!("../../../docs/writing-a-driver.md");
    let files =
        [include_str!("device.rs"), include_str!("storage.rs"), include_str!("suite.rs"), include_str!("joined.rs")];
    // The guide and the files are indented differently.
    let flat = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let files = files.map(flat);
    let blocks = guide.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut shown = 0;
    for block in blocks {
        for part in block.split("    // ...\n").map(flat).filter(|part| !part.trim().is_empty()) {
            assert!(
                files.iter().any(|file| file.contains(part.trim())),
                "the guide shows code that is in no file:\n{part}"
            );
            shown += 1;
        }
    }
    assert!(shown >= 4, "the guide shows {shown} pieces of code");
}
