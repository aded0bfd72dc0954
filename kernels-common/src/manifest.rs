//! What the tree is compiled into: every module, and every kernel in it. The build script makes the
//! code and the table from this one list, so a kernel that is in the table is in a module, and the
//! other way round.
//!
//! Compiled twice: into the library, and into the build script.

use super::key::Key;

#[path = "ops/instances.rs"]
pub(crate) mod instances;

/// One kernel: where the table files it, and the line of source that makes it.
#[derive(Debug)]
pub struct Instance {
    /// How a launcher asks for it.
    pub key: Key,
    /// The symbol in the compiled module.
    pub symbol: String,
    /// The macro call that instantiates it.
    pub line: String,
}

/// One compilation unit, and what a driver loads at once.
#[derive(Debug)]
pub struct Module {
    /// Unique, and the name of the file it is compiled to.
    pub name: String,
    /// What stands before the source, in lines of their own: what a source that serves several
    /// dtypes leaves open.
    pub prelude: &'static str,
    /// The kernel source it includes, relative to `src`.
    pub source: &'static str,
    /// Its kernels.
    pub instances: Vec<Instance>,
}

impl Module {
    /// A module without kernels yet.
    pub fn new(name: impl Into<String>, source: &'static str) -> Self {
        Self { name: name.into(), prelude: "", source, instances: Vec::new() }
    }

    /// With lines before the source.
    pub fn with_prelude(self, prelude: &'static str) -> Self {
        Self { prelude, ..self }
    }

    /// Adds the kernel `macro_name(symbol, args)`.
    pub fn kernel(&mut self, key: Key, symbol: String, macro_name: &str, args: &[&str]) {
        let line = format!("{macro_name}({})", [&[symbol.as_str()], args].concat().join(", "));
        self.instances.push(Instance { key, symbol, line });
    }

    /// The text that is compiled, with includes relative to `src`.
    pub fn text(&self) -> String {
        let mut text = format!("{}#include \"{}\"\n", self.prelude, self.source);
        for instance in &self.instances {
            text.push_str(&instance.line);
            text.push('\n');
        }
        text
    }
}

/// Every module of the tree.
pub fn modules() -> Vec<Module> {
    let mut modules = Vec::new();
    instances::add(&mut modules);
    modules
}
