//! The files that `cases.py` writes: an index of cases, and the bytes of all tensors.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::path::Path;

/// Every case of a folder.
#[derive(Debug)]
pub struct Cases {
    /// The version of the package that the cases come from.
    pub package: String,
    /// The cases, in the order of the package.
    pub cases: Vec<Case>,
    /// The bytes of all tensors.
    pub tensors: Vec<u8>,
}

#[derive(Deserialize)]
struct Index {
    package: String,
    cases: Vec<Case>,
}

/// A test: a graph of a few nodes, inputs, and the outputs that it should have.
#[derive(Debug, Deserialize)]
pub struct Case {
    /// The name, such as `test_relu`.
    pub name: String,
    /// The relative tolerance.
    pub rtol: f64,
    /// The absolute tolerance.
    pub atol: f64,
    /// The version of ONNX's operators.
    pub opset: i64,
    /// The nodes.
    pub graph: Graph,
    /// One or more sets of inputs and outputs.
    pub data: Vec<Data>,
}

/// Inputs and expected outputs, in the order of the graph's.
#[derive(Debug, Deserialize)]
pub struct Data {
    /// The inputs.
    pub inputs: Vec<Value>,
    /// The expected outputs.
    pub outputs: Vec<Value>,
}

/// Nodes, in an order in which each follows those that it takes values from.
#[derive(Debug, Deserialize)]
pub struct Graph {
    /// The names of the inputs.
    pub inputs: Vec<String>,
    /// The names of the outputs.
    pub outputs: Vec<String>,
    /// Constants by name.
    pub initializers: BTreeMap<String, Value>,
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// An operator with its operands and attributes.
#[derive(Debug, Deserialize)]
pub struct Node {
    /// The operator, with its domain unless it is ONNX's own.
    pub op: String,
    /// The names of the inputs; empty for an optional input that is not there.
    pub inputs: Vec<String>,
    /// The names of the outputs; empty for an output that nothing uses.
    pub outputs: Vec<String>,
    /// The attributes.
    pub attributes: BTreeMap<String, Attribute>,
}

/// A value in the index.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A tensor.
    Tensor {
        /// The name of the element type.
        dtype: String,
        /// The shape.
        shape: Vec<usize>,
        /// The position of the first byte.
        at: usize,
        /// The number of bytes.
        bytes: usize,
    },
    /// A value that is no tensor of numbers.
    Other {
        /// What it is: `string`, `sequence` or `optional`.
        kind: String,
    },
}

/// An attribute of a node.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attribute {
    /// A float.
    Float(Number),
    /// An integer.
    Int(i64),
    /// A text.
    Text(String),
    /// A tensor.
    Tensor(Value),
    /// A graph, for control flow.
    Graph(Graph),
    /// Floats.
    Floats(Vec<Number>),
    /// Integers.
    Ints(Vec<i64>),
    /// Texts.
    Texts(Vec<String>),
    /// Another kind of attribute, by its name.
    Other(String),
}

/// A float; JSON holds NaN and infinities as text.
#[derive(Debug, Clone, Copy)]
pub struct Number(pub f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Finite(f64),
            Text(String),
        }
        Ok(Number(match Written::deserialize(deserializer)? {
            Written::Finite(value) => value,
            Written::Text(text) => text.parse().map_err(serde::de::Error::custom)?,
        }))
    }
}

impl Cases {
    /// Reads the files of a folder.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or is not one that `cases.py` wrote.
    pub fn read(folder: &Path) -> Result<Self> {
        let (index, tensors) = (folder.join("cases.json"), folder.join("tensors.bin"));
        let read = |path: &Path| {
            std::fs::read(path).with_context(|| {
                format!("cannot read {}: `cargo xtask onnx` writes the cases of the package", path.display())
            })
        };
        let text = read(&index)?;
        let Index { package, cases } =
            serde_json::from_slice(&text).with_context(|| format!("{} is no index of cases", index.display()))?;
        ensure!(!cases.is_empty(), "{} has no cases", index.display());
        Ok(Self { package, cases, tensors: read(&tensors)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_and_values_are_read() {
        let text = r#"{"op": "Clip", "inputs": ["x", ""], "outputs": ["y"], "attributes": {
            "a": {"float": "inf"}, "b": {"ints": [1, -2]}, "c": {"other": "sparse_tensor"},
            "d": {"tensor": {"dtype": "float", "shape": [2], "at": 4, "bytes": 8}}, "e": {"tensor": {"kind": "string"}}}}"#;
        let node: Node = serde_json::from_str(text).unwrap();
        assert_eq!((node.op.as_str(), node.inputs.len()), ("Clip", 2));
        assert!(matches!(node.attributes["a"], Attribute::Float(Number(f64::INFINITY))));
        assert!(matches!(&node.attributes["b"], Attribute::Ints(ints) if ints[..] == [1, -2]));
        assert!(matches!(&node.attributes["c"], Attribute::Other(kind) if kind == "sparse_tensor"));
        assert!(matches!(&node.attributes["d"], Attribute::Tensor(Value::Tensor { at: 4, bytes: 8, .. })));
        assert!(matches!(&node.attributes["e"], Attribute::Tensor(Value::Other { kind }) if kind == "string"));
    }

    #[test]
    fn a_folder_without_cases_says_what_to_do() {
        let error = Cases::read(Path::new("no-such-folder")).unwrap_err();
        assert!(format!("{error:#}").contains("cargo xtask onnx"));
    }
}
