//! Execution plans: `CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR`.

use super::attribute::{HANDLE, INT64, Room, Values};
use super::engine::Config;
use super::object::{Body, foreign, missing, object};
use super::pack::Pack;
use super::work::Work;
use crate::fused::{self, Place, Source};
use crate::handle::stream_of;
use crate::launch::{self, Launch};
use crate::status::{NOT_SUPPORTED, Outcome, fail};
use isobit_simgpu_library_common::{Access, Stream};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

pub(super) const KIND: c_int = 5;

// CUDNN_ATTR_EXECUTION_PLAN_*.
const PLAN_HANDLE: c_int = 400;
const ENGINE_CONFIG: c_int = 401;
const WORKSPACE_SIZE: c_int = 402;
/// The first of the attributes for intermediate results that engines keep between executions, and
/// for serialized plans.
const COMPUTED_INTERMEDIATE_UIDS: c_int = 403;
const LAST: c_int = 407;

/// The name of the call, for findings.
const WHAT: &str = "cudnnBackendExecute";

/// An engine configuration for a handle's device. There is only one device.
#[derive(Debug, Default)]
pub(super) struct Plan {
    has_handle: bool,
    config: Option<Arc<Config>>,
}

impl Plan {
    fn config(&self) -> Outcome<&Config> {
        self.config.as_deref().map_or_else(|| missing("CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG"), Ok)
    }
}

impl Body for Plan {
    fn kind(&self) -> c_int {
        KIND
    }

    fn set(&mut self, name: c_int, values: &Values) -> Outcome {
        match name {
            PLAN_HANDLE => {
                stream_of(values.one(HANDLE)?)?;
                self.has_handle = true;
            }
            ENGINE_CONFIG => self.config = Some(values.body()?),
            COMPUTED_INTERMEDIATE_UIDS..=LAST => return fail(NOT_SUPPORTED, "a serialized or partial plan"),
            _ => return foreign(KIND, name),
        }
        Ok(())
    }

    fn finalize(&mut self) -> Outcome {
        if !self.has_handle {
            return missing("CUDNN_ATTR_EXECUTION_PLAN_HANDLE");
        }
        self.config().map(|_| ())
    }

    fn get(&self, name: c_int, room: &Room) -> Outcome {
        match name {
            ENGINE_CONFIG => room.fill(self.config.as_slice()),
            WORKSPACE_SIZE => room.put(INT64, &[self.config()?.workspace()? as i64]),
            COMPUTED_INTERMEDIATE_UIDS..=LAST => fail(NOT_SUPPORTED, "a serialized or partial plan"),
            _ => foreign(KIND, name),
        }
    }
}

/// What an execution computes.
#[derive(Debug)]
pub(super) enum Execution {
    Convolution(Box<Launch>),
    Fused(fused::Launch),
}

impl Execution {
    pub(super) fn enqueue(self, stream: Stream) -> Outcome {
        // SAFETY: a device address is a host address, and the simulator checks each access first.
        launch::enqueue(WHAT, stream, move |access| unsafe { self.run(access) })
    }

    /// # Safety
    /// Wherever `access` allows it, the workspace is writable and the operands have the sizes of
    /// the graph.
    pub(super) unsafe fn run(&self, access: &Access<'_>) {
        // SAFETY: the caller meets the requirements.
        unsafe {
            match self {
                Self::Convolution(launch) => launch.run(access),
                Self::Fused(launch) => launch.run(access),
            }
        }
    }
}

/// Builds the execution of a plan with the pointers of a pack.
///
/// # Safety
/// The pack's pointers of tensors by value are null or point to a number of the tensor's type.
pub(super) unsafe fn execution(execution_plan: *mut c_void, variant_pack: *mut c_void) -> Outcome<Execution> {
    let (plan, pack) = (object(execution_plan)?.body_of::<Plan>()?, object(variant_pack)?.body_of::<Pack>()?);
    let config = plan.config()?;
    let (engine, graph) = config.chosen()?;
    let workspace = pack.workspace(config.workspace()?)?;
    match graph.work()? {
        Work::Convolution(problem) => {
            let mut addresses = [0; 3];
            for (to, tensor) in addresses.iter_mut().zip(graph.tensors()?) {
                *to = pack.address(tensor)?;
            }
            let [alpha, beta] = graph.factors()?;
            let launch = Launch { what: WHAT, problem: **problem, engine, addresses, workspace, alpha, beta };
            Ok(Execution::Convolution(Box::new(launch)))
        }
        Work::Fused(attention) => {
            let attention = attention.clone()?;
            let source = |tensor: &fused::Tensor| match tensor.place {
                Place::Virtual => Ok(Source::Virtual),
                Place::Memory => Ok(Source::Memory(pack.address_of(tensor.id, tensor.alignment)?)),
                Place::Host => {
                    let address = pack.address_of(tensor.id, tensor.alignment)?;
                    // SAFETY: the address is not null; the caller promises a number of this type.
                    Ok(Source::Value(unsafe { tensor.value(address) }))
                }
            };
            let sources = attention.graph.tensors.iter().map(source).collect::<Outcome<_>>()?;
            Ok(Execution::Fused(fused::Launch { what: WHAT, attention, sources }))
        }
    }
}
