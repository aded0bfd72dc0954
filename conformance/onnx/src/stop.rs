//! Why a case does not get as far as results to compare.

use isobit::{Error, ErrorKind};
use std::fmt;

/// The result of lowering.
pub type Lowered<T> = Result<T, Stop>;

/// Why a case is not expressed by operations of the HAL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// No dtype holds this element type.
    Dtype(String),
    /// No operation, nor a composition of operations, computes this node.
    Operation(String),
    /// The operation exists, but not for the dtypes of the case.
    OperationDtype(String),
    /// A node that is lowered, in a form that is not: the node, and what it has.
    Form(String, String),
    /// Values that are no tensors of numbers.
    Scope(&'static str),
}

impl Reason {
    /// Returns the kind of the reason, for counting.
    pub fn kind(&self) -> &'static str {
        match self {
            Reason::Dtype(_) => "dtype missing",
            Reason::Operation(_) => "operation missing",
            Reason::OperationDtype(_) => "operation without the dtype",
            Reason::Form(..) => "form missing",
            Reason::Scope(_) => "out of scope",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Dtype(what) | Reason::Operation(what) | Reason::OperationDtype(what) => f.write_str(what),
            Reason::Form(op, what) => write!(f, "{op} with {what}"),
            Reason::Scope(what) => f.write_str(what),
        }
    }
}

/// Why lowering ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// The HAL has no operations for the case.
    Unexpressed(Reason),
    /// An operation returned an error, or the case contradicts the specification.
    Failed(String),
}

impl Stop {
    /// Returns the reason of a node that nothing computes.
    pub fn missing(op: &str) -> Self {
        Stop::Unexpressed(Reason::Operation(op.into()))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        if error.kind() != ErrorKind::UnsupportedDtype {
            return Stop::Failed(error.to_string());
        }
        let dtypes: Vec<&str> = error.dtypes().iter().map(|dtype| dtype.as_str()).collect();
        Stop::Unexpressed(Reason::OperationDtype(format!("{} of {}", error.op().unwrap_or("?"), dtypes.join(", "))))
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Unexpressed(reason) => write!(f, "{}: {reason}", reason.kind()),
            Stop::Failed(why) => f.write_str(why),
        }
    }
}
