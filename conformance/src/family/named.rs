//! Named parameters of an operation, as cases and golden vectors save them.

use crate::case::Real;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Numbers by name. An absent name has no numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Named(BTreeMap<String, Vec<Real>>);

impl Named {
    /// Adds numbers under a name.
    pub fn with(mut self, name: &str, numbers: &[f64]) -> Self {
        self.0.insert(name.into(), numbers.iter().map(|&x| Real(x)).collect());
        self
    }

    /// Adds sizes under a name.
    pub fn with_sizes(self, name: &str, sizes: &[usize]) -> Self {
        self.with(name, &sizes.iter().map(|&n| n as f64).collect::<Vec<_>>())
    }

    /// Returns the numbers with a name.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        self.0.get(name).map(|v| v.iter().map(|r| r.0).collect()).unwrap_or_default()
    }

    /// Returns copies without one of the names, and with one number replaced by 0 or 1: simpler
    /// parameters to try while a case shrinks.
    pub(crate) fn simpler(&self) -> Vec<Named> {
        let without = |name| {
            let mut named = self.clone();
            named.0.remove(name);
            named
        };
        let mut all: Vec<Named> = self.0.keys().map(without).collect();
        for (name, numbers) in &self.0 {
            for (i, number) in numbers.iter().enumerate() {
                for simple in [0.0, 1.0] {
                    // Each step must be smaller, so that shrinking terminates.
                    if number.0 != simple && number.0 != 0.0 {
                        let mut named = self.clone();
                        named.0.get_mut(name).expect("the name is there")[i] = Real(simple);
                        all.push(named);
                    }
                }
            }
        }
        all
    }
}
