//! The list of modules and of the kernels in each. The build script generates both the code and the
//! table from this list, so a kernel is in the table exactly if it is in a module.
//!
//! This file is compiled into both the library and the build script.

use super::key::Key;

#[path = "ops/instances.rs"]
pub(crate) mod instances;

/// One kernel: its key in the table, and the source line that instantiates it.
#[derive(Debug)]
pub struct Instance {
    /// The key that launchers look it up by.
    pub key: Key,
    /// The symbol in the compiled module.
    pub symbol: String,
    /// The macro call that instantiates it.
    pub line: String,
}

/// One translation unit, which a driver loads as a whole.
#[derive(Debug)]
pub struct Module {
    /// Its unique name, which is also that of the compiled file.
    pub name: String,
    /// Lines before the source: the definitions that a source shared by several dtypes requires.
    pub prelude: &'static str,
    /// The kernel source it includes, relative to `src`.
    pub source: &'static str,
    /// An architecture, and the variant of it that this module is compiled for instead: `sm_90a`
    /// has instructions that `sm_90` has not, because later cards do not run them.
    pub variant: Option<[&'static str; 2]>,
    /// Its kernels.
    pub instances: Vec<Instance>,
}

impl Module {
    /// Creates a module without kernels.
    pub fn new(name: impl Into<String>, source: &'static str) -> Self {
        Self { name: name.into(), prelude: "", source, variant: None, instances: Vec::new() }
    }

    /// Sets the lines before the source.
    pub fn with_prelude(self, prelude: &'static str) -> Self {
        Self { prelude, ..self }
    }

    /// Sets the architecture, and its variant for this module.
    pub fn with_variant(self, variant: [&'static str; 2]) -> Self {
        Self { variant: Some(variant), ..self }
    }

    /// Adds the kernel `macro_name(symbol, args)`.
    pub fn kernel(&mut self, key: Key, symbol: String, macro_name: &str, args: &[&str]) {
        let line = format!("{macro_name}({})", [&[symbol.as_str()], args].concat().join(", "));
        self.instances.push(Instance { key, symbol, line });
    }

    /// Returns the text to compile, with includes relative to `src`.
    pub fn text(&self) -> String {
        let mut text = format!("{}#include \"{}\"\n", self.prelude, self.source);
        for instance in &self.instances {
            text.push_str(&instance.line);
            text.push('\n');
        }
        text
    }
}

/// Returns every module of the tree.
pub fn modules() -> Vec<Module> {
    let mut modules = Vec::new();
    instances::add(&mut modules);
    modules
}
