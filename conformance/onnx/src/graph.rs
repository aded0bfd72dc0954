//! Evaluates the graph of a case: finds the operands of each node, and lowers it.

use crate::case::{Attribute, Graph, Node, Number, Value};
use crate::element::Element;
use crate::lower;
use crate::ops::Ops;
use crate::stop::{Lowered, Reason, Stop};
use crate::tensor::{Tensor, axis_of};
use isobit::DType;
use std::collections::HashMap;

/// The outputs of a node.
pub type Outputs = Lowered<Vec<Tensor>>;

/// What every graph of a case shares.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The operations of the device.
    pub ops: &'a Ops,
    /// The bytes of all tensors.
    pub tensors: &'a [u8],
    /// The version of ONNX's operators.
    pub opset: i64,
}

/// The values of a graph by name. A graph within a node also sees those around it.
#[derive(Debug)]
pub struct Scope<'a> {
    values: HashMap<&'a str, Tensor>,
    around: Option<&'a Scope<'a>>,
}

impl Scope<'_> {
    fn find(&self, name: &str) -> Option<&Tensor> {
        self.values.get(name).or_else(|| self.around?.find(name))
    }
}

impl Setting<'_> {
    /// Uploads a value of the index.
    ///
    /// # Errors
    /// Not expressed, if it is no tensor of a dtype; fails if its bytes are not in the file.
    pub fn upload(&self, value: &Value) -> Lowered<Tensor> {
        match value {
            Value::Tensor { dtype, shape, .. } => {
                let element = Element::named(dtype)?;
                self.ops.upload(element, shape, bytes_of(value, self.tensors)?)
            }
            Value::Other { kind } => Err(out_of_scope(kind)),
        }
    }

    /// Evaluates a graph.
    ///
    /// # Errors
    /// The first node's that is not expressed or fails.
    pub fn evaluate(&self, graph: &Graph, inputs: Vec<Tensor>, around: Option<&Scope<'_>>) -> Outputs {
        if graph.inputs.len() != inputs.len() {
            let (wanted, found) = (graph.inputs.len(), inputs.len());
            return Err(Stop::Failed(format!("a graph of {wanted} inputs was given {found}")));
        }
        let mut scope = Scope { values: HashMap::new(), around };
        for (name, value) in &graph.initializers {
            scope.values.insert(name, self.upload(value)?);
        }
        scope.values.extend(graph.inputs.iter().map(String::as_str).zip(inputs));
        for node in &graph.nodes {
            let outputs = Call { setting: self, node, scope: &scope }.lower()?;
            if outputs.len() < node.outputs.len() {
                let (wanted, found) = (node.outputs.len(), outputs.len());
                return Err(Stop::Failed(format!("{} gave {found} of {wanted} outputs", node.op)));
            }
            for (name, value) in node.outputs.iter().zip(outputs) {
                scope.values.insert(name, value);
            }
        }
        let result = |name: &String| {
            let value = scope.find(name).cloned();
            value.ok_or_else(|| Stop::Failed(format!("no node makes the output `{name}`")))
        };
        graph.outputs.iter().map(result).collect()
    }
}

/// Returns the bytes of a tensor of the index; none for another value.
///
/// # Errors
/// Fails if they are not in the file.
pub fn bytes_of<'a>(value: &Value, tensors: &'a [u8]) -> Lowered<&'a [u8]> {
    let Value::Tensor { at, bytes, .. } = value else { return Ok(&[]) };
    let range = at.checked_add(*bytes).and_then(|end| tensors.get(*at..end));
    range.ok_or_else(|| Stop::Failed(format!("the file of tensors ends before byte {at} + {bytes}")))
}

/// Returns the reason of a value that is no tensor of numbers.
pub fn out_of_scope(kind: &str) -> Stop {
    Stop::Unexpressed(Reason::Scope(match kind {
        "string" => "strings",
        "sequence" => "sequences",
        "optional" => "optional values",
        _ => "other values than tensors",
    }))
}

/// A node that is being lowered.
#[derive(Debug)]
pub struct Call<'a> {
    setting: &'a Setting<'a>,
    node: &'a Node,
    scope: &'a Scope<'a>,
}

impl<'a> Call<'a> {
    fn lower(&self) -> Outputs {
        if let Some(reason) = lower::out_of_scope(&self.node.op) {
            return Err(Stop::Unexpressed(reason));
        }
        let rule = lower::find(&self.node.op).ok_or_else(|| Stop::missing(&self.node.op))?;
        rule.lower(self).map_err(|stop| match stop {
            Stop::Failed(why) if !why.starts_with(&self.node.op) => Stop::Failed(format!("{}: {why}", self.node.op)),
            stop => stop,
        })
    }

    /// Returns the operations of the device.
    pub fn ops(&self) -> &'a Ops {
        self.setting.ops
    }

    /// Returns the version of ONNX's operators.
    pub fn opset(&self) -> i64 {
        self.setting.opset
    }

    /// Returns the number of inputs that the node names.
    pub fn inputs(&self) -> usize {
        self.node.inputs.len()
    }

    /// Returns an input, if the node has it.
    ///
    /// # Errors
    /// Fails if the name has no value.
    pub fn optional(&self, at: usize) -> Lowered<Option<&'a Tensor>> {
        match self.node.inputs.get(at).map(String::as_str) {
            None | Some("") => Ok(None),
            Some(name) => {
                let value = self.scope.find(name);
                value.map(Some).ok_or_else(|| Stop::Failed(format!("no node makes the input `{name}`")))
            }
        }
    }

    /// Returns an input.
    ///
    /// # Errors
    /// Fails if the node does not have it.
    pub fn input(&self, at: usize) -> Lowered<&'a Tensor> {
        self.optional(at)?.ok_or_else(|| Stop::Failed(format!("input {at} is missing")))
    }

    /// Returns every input, for nodes that take any number of them.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn all(&self) -> Lowered<Vec<&'a Tensor>> {
        (0..self.inputs()).map(|at| self.input(at)).collect()
    }

    /// Whether something uses an output.
    pub fn wants(&self, output: usize) -> bool {
        self.node.outputs.get(output).is_some_and(|name| !name.is_empty())
    }

    /// Returns the number of outputs.
    pub fn outputs(&self) -> usize {
        self.node.outputs.len()
    }

    /// Returns an attribute.
    pub fn attribute(&self, name: &str) -> Option<&'a Attribute> {
        self.node.attributes.get(name)
    }

    /// Returns an integer attribute.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.attribute(name) {
            Some(Attribute::Int(value)) => Some(*value),
            _ => None,
        }
    }

    /// Whether an integer attribute is set to another value than 0.
    pub fn flag(&self, name: &str) -> bool {
        self.int(name).is_some_and(|value| value != 0)
    }

    /// Returns a float attribute.
    pub fn float(&self, name: &str) -> Option<f64> {
        match self.attribute(name) {
            Some(Attribute::Float(Number(value))) => Some(*value),
            _ => None,
        }
    }

    /// Returns a text attribute, or its default.
    pub fn text(&self, name: &str, default: &'a str) -> &'a str {
        match self.attribute(name) {
            Some(Attribute::Text(text)) => text,
            _ => default,
        }
    }

    /// Returns an attribute of integers.
    pub fn ints(&self, name: &str) -> Option<&'a [i64]> {
        match self.attribute(name) {
            Some(Attribute::Ints(values)) => Some(values),
            _ => None,
        }
    }

    /// Returns an attribute of sizes, or the same default for each dimension.
    ///
    /// # Errors
    /// Fails if a size is negative or their number is another.
    pub fn sizes(&self, name: &str, count: usize, default: usize) -> Lowered<Vec<usize>> {
        let Some(values) = self.ints(name) else { return Ok(vec![default; count]) };
        let sizes: Option<Vec<usize>> = values.iter().map(|&value| usize::try_from(value).ok()).collect();
        let sizes = sizes.filter(|sizes| sizes.len() == count);
        sizes.ok_or_else(|| Stop::Failed(format!("the attribute {name} is {values:?}, and {count} sizes are needed")))
    }

    /// Returns the axis that an attribute names.
    ///
    /// # Errors
    /// Fails if there is no such axis.
    pub fn axis(&self, default: i64, rank: usize) -> Lowered<usize> {
        axis_of(self.int("axis").unwrap_or(default), rank)
    }

    /// Returns the element type that an attribute names.
    ///
    /// # Errors
    /// Not expressed, if no dtype holds it.
    pub fn element(&self, name: &str) -> Lowered<Option<Element>> {
        self.int(name).filter(|&number| number != 0).map(Element::numbered).transpose()
    }

    /// Returns the dtype that an attribute names.
    ///
    /// # Errors
    /// As [`element`](Self::element).
    pub fn dtype(&self, name: &str) -> Lowered<Option<DType>> {
        Ok(self.element(name)?.map(|element| element.dtype))
    }

    /// Returns an attribute that is a tensor.
    ///
    /// # Errors
    /// Not expressed, if it is no tensor of a dtype.
    pub fn tensor(&self, name: &str) -> Lowered<Option<Tensor>> {
        match self.attribute(name) {
            Some(Attribute::Tensor(value)) => self.setting.upload(value).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns an attribute that is a graph.
    pub fn graph(&self, name: &str) -> Option<&'a Graph> {
        match self.attribute(name) {
            Some(Attribute::Graph(graph)) => Some(graph),
            _ => None,
        }
    }

    /// Evaluates a graph that sees the values around the node.
    ///
    /// # Errors
    /// Those of its nodes.
    pub fn evaluate(&self, graph: &Graph, inputs: Vec<Tensor>) -> Outputs {
        self.setting.evaluate(graph, inputs, Some(self.scope))
    }

    /// Returns the reason of a form that is not lowered.
    pub fn form(&self, what: impl Into<String>) -> Stop {
        Stop::Unexpressed(Reason::Form(self.node.op.clone(), what.into()))
    }

    /// Returns the error of an attribute with an unknown value.
    pub fn unknown(&self, attribute: &str, value: &str) -> Stop {
        Stop::Failed(format!("{}: the attribute {attribute} has the unknown value `{value}`", self.node.op))
    }
}
