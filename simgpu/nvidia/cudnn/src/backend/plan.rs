//! Execution plans: `CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR`.

use super::attribute::{HANDLE, INT64, Room, Values};
use super::engine::Config;
use super::object::{Body, foreign, missing, object};
use super::pack::Pack;
use crate::handle::stream_of;
use crate::launch::Launch;
use crate::status::{NOT_SUPPORTED, Outcome, fail};
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

/// Builds the launch of a plan with the pointers of a pack.
pub(super) fn launch(execution_plan: *mut c_void, variant_pack: *mut c_void) -> Outcome<Launch> {
    let (plan, pack) = (object(execution_plan)?.body_of::<Plan>()?, object(variant_pack)?.body_of::<Pack>()?);
    let config = plan.config()?;
    let (engine, graph) = config.chosen()?;
    let mut addresses = [0; 3];
    for (to, tensor) in addresses.iter_mut().zip(graph.tensors()?) {
        *to = pack.address(tensor)?;
    }
    let [alpha, beta] = graph.factors()?;
    let workspace = pack.workspace(config.workspace()?)?;
    let what = "cudnnBackendExecute";
    Ok(Launch { what, problem: *graph.problem()?, engine, addresses, workspace, alpha, beta })
}
