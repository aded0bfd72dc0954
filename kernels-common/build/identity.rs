//! Identifies what a module is compiled from by one number: a hash of its own text, every file that
//! it includes, and the flags. Code with the same identity does not need to be compiled again.

use super::includes::includes;
use super::manifest::Module;
use super::target::Target;
use std::collections::{BTreeSet, HashMap};
use twox_hash::XxHash3_128;

/// The files of the tree, each hashed once.
pub struct Identities<'a> {
    files: HashMap<&'a str, File<'a>>,
}

struct File<'a> {
    hash: u128,
    /// The files of the tree that it includes directly.
    includes: Vec<&'a str>,
}

impl<'a> Identities<'a> {
    pub fn new(files: &'a [(String, String)]) -> Self {
        let file =
            |text: &'a str| File { hash: XxHash3_128::oneshot(text.as_bytes()), includes: includes(text).collect() };
        Self { files: files.iter().map(|(name, text)| (name.as_str(), file(text))).collect() }
    }

    /// Returns the identity of a module's code for a target.
    pub fn of(&self, module: &Module, target: &Target) -> u128 {
        let text = module.text();
        let mut hasher = XxHash3_128::new();
        let mut add = |part: &[u8]| {
            hasher.write(&(part.len() as u64).to_le_bytes());
            hasher.write(part);
        };
        add(target.flags().join(" ").as_bytes());
        add(text.as_bytes());
        for name in self.included(&text) {
            add(name.as_bytes());
            add(&self.files[name].hash.to_le_bytes());
        }
        hasher.finish_128()
    }

    /// Returns every file that a text includes, directly or indirectly, in a fixed order.
    fn included(&self, text: &str) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut names: Vec<&str> = includes(text).collect();
        while let Some(name) = names.pop() {
            if let Some((&name, file)) = self.files.get_key_value(name)
                && found.insert(name)
            {
                names.extend(&file.includes);
            }
        }
        found
    }
}
