//! Runs a case on the CPU and on a device.

use crate::case::{Case, Cases, Value};
use crate::compare::{Output, Tolerance};
use crate::element::Element;
use crate::graph::{Setting, bytes_of, out_of_scope};
use crate::ops::Ops;
use crate::stop::{Lowered, Reason, Stop};

/// What came of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The results are the expected ones, and those of the device have the bits of the CPU's.
    Passed,
    /// The HAL has no operations for the case.
    Unexpressed(Reason),
    /// A result is not the expected one, or an operation failed on the CPU.
    Failed(String),
    /// The device has other results than the CPU, or an operation failed on it. No list excuses it.
    Parted(String),
}

impl From<Stop> for Verdict {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Unexpressed(reason) => Verdict::Unexpressed(reason),
            Stop::Failed(why) => Verdict::Failed(why),
        }
    }
}

/// The devices that cases run on.
#[derive(Debug)]
pub struct Devices {
    /// The reference.
    pub cpu: Ops,
    /// Another device.
    pub other: Option<Ops>,
}

/// Runs a case, and passes the results of the last device to `see`.
pub fn check(cases: &Cases, case: &Case, devices: &Devices, mut see: impl FnMut(&Output)) -> Verdict {
    outcome(cases, case, devices, &mut see).err().unwrap_or(Verdict::Passed)
}

fn outcome(cases: &Cases, case: &Case, devices: &Devices, see: &mut impl FnMut(&Output)) -> Result<(), Verdict> {
    let tolerance = Tolerance { rtol: case.rtol, atol: case.atol };
    for data in &case.data {
        let expected = data.outputs.iter().map(|value| expected(value, &cases.tensors)).collect::<Lowered<Vec<_>>>()?;
        let mut found = results(cases, case, &data.inputs, &devices.cpu)?;
        if let Some(device) = &devices.other {
            let parted = |stop: Stop| Verdict::Parted(stop.to_string());
            let reference = std::mem::replace(&mut found, results(cases, case, &data.inputs, device).map_err(parted)?);
            agree(&found, &reference, Output::equals).map_err(Verdict::Parted)?;
        }
        found.iter().for_each(&mut *see);
        agree(&found, &expected, |a, b| a.resembles(b, tolerance)).map_err(Verdict::Failed)?;
    }
    Ok(())
}

/// Compares each output.
fn agree(
    found: &[Output],
    wanted: &[Output],
    compare: impl Fn(&Output, &Output) -> Result<(), String>,
) -> Result<(), String> {
    if found.len() < wanted.len() {
        return Err(format!("{} outputs instead of {}", found.len(), wanted.len()));
    }
    let mut pairs = found.iter().zip(wanted).enumerate();
    pairs.try_for_each(|(at, (found, wanted))| compare(found, wanted).map_err(|why| format!("output {at}: {why}")))
}

fn expected(value: &Value, tensors: &[u8]) -> Lowered<Output> {
    match value {
        Value::Tensor { dtype, shape, .. } => {
            let element = Element::named(dtype)?;
            let bytes = element.held(bytes_of(value, tensors)?)?;
            Ok(Output { element, shape: shape.clone(), bytes })
        }
        Value::Other { kind } => Err(out_of_scope(kind)),
    }
}

/// Evaluates the graph of a case on one device.
fn results(cases: &Cases, case: &Case, inputs: &[Value], ops: &Ops) -> Lowered<Vec<Output>> {
    let setting = Setting { ops, tensors: &cases.tensors, opset: case.opset };
    let inputs = inputs.iter().map(|value| setting.upload(value)).collect::<Lowered<Vec<_>>>()?;
    let outputs = setting.evaluate(&case.graph, inputs, None)?;
    outputs
        .iter()
        .map(|x| Ok(Output { element: x.element(), shape: x.dims().to_vec(), bytes: ops.bytes(x)? }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit::AnyDevice;

    /// y = max(x, 0) of -1 and 2, with the given expected values.
    fn relu(expected: [f32; 2]) -> Cases {
        let case = r#"{"name": "test_relu", "rtol": 1e-3, "atol": 1e-7, "opset": 14,
            "graph": {"inputs": ["x"], "outputs": ["y"], "initializers": {},
                "nodes": [{"op": "Relu", "inputs": ["x"], "outputs": ["y"], "attributes": {}}]},
            "data": [{"inputs": [{"dtype": "float", "shape": [2], "at": 0, "bytes": 8}],
                "outputs": [{"dtype": "float", "shape": [2], "at": 8, "bytes": 8}]}]}"#;
        let values = [-1.0f32, 2.0, expected[0], expected[1]];
        Cases {
            package: "0".into(),
            cases: vec![serde_json::from_str(case).unwrap()],
            tensors: values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }

    fn verdict(cases: &Cases) -> Verdict {
        let devices = Devices { cpu: Ops::new(AnyDevice::cpu()), other: Some(Ops::new(AnyDevice::cpu())) };
        check(cases, &cases.cases[0], &devices, |_| ())
    }

    #[test]
    fn a_result_is_compared_with_the_expected_one() {
        assert_eq!(verdict(&relu([0.0, 2.0])), Verdict::Passed);
        let Verdict::Failed(why) = verdict(&relu([0.0, 3.0])) else { panic!("the result is another") };
        assert!(why.contains("first at 1: 2 instead of 3"), "{why}");
    }

    #[test]
    fn what_is_not_expressed_says_why() {
        let mut cases = relu([0.0, 2.0]);
        cases.cases[0].graph.nodes[0].op = "TfIdfVectorizer".into();
        assert_eq!(verdict(&cases), Verdict::Unexpressed(Reason::Operation("TfIdfVectorizer".into())));
        cases.cases[0].graph.nodes[0].op = "StringConcat".into();
        assert_eq!(verdict(&cases), Verdict::Unexpressed(Reason::Scope("strings")));
    }

    #[test]
    fn a_broken_index_is_an_error() {
        let mut cases = relu([0.0, 2.0]);
        cases.tensors.truncate(12);
        assert!(matches!(verdict(&cases), Verdict::Failed(why) if why.contains("the file of tensors ends")));
        let mut cases = relu([0.0, 2.0]);
        cases.cases[0].graph.outputs[0] = "z".into();
        assert!(matches!(verdict(&cases), Verdict::Failed(why) if why.contains("no node makes the output `z`")));
    }
}
