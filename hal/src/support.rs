//! The answer to "can this device do that", given before anything is launched.

use crate::{Error, ErrorKind};

/// Whether a device implements an operation for given dtypes and layouts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Support {
    /// It does.
    Supported,
    /// It does not, and why.
    Unsupported {
        /// The kind of the error that the call itself would give.
        kind: ErrorKind,
        /// One sentence for a person.
        reason: String,
    },
}

impl Support {
    /// True where the operation is implemented.
    pub fn is_supported(&self) -> bool {
        matches!(self, Support::Supported)
    }

    /// The reason why not, if there is one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Support::Supported => None,
            Support::Unsupported { reason, .. } => Some(reason),
        }
    }

    /// The error that the call itself would give.
    pub fn into_result(self) -> crate::Result<()> {
        match self {
            Support::Supported => Ok(()),
            Support::Unsupported { kind, reason } => Err(Error::new(kind, reason)),
        }
    }
}

impl From<crate::Result<()>> for Support {
    fn from(result: crate::Result<()>) -> Self {
        match result {
            Ok(()) => Support::Supported,
            Err(e) => Support::Unsupported { kind: e.kind(), reason: e.message().to_string() },
        }
    }
}
