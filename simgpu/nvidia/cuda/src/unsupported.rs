//! What real cards do and simulated ones do not, as the attributes of the cards say: each function
//! answers `CUDA_ERROR_NOT_SUPPORTED`, whatever its arguments.

use crate::Code;
use crate::error::{bail, call};

macro_rules! unsupported {
    ($($why:literal: $($name:ident)*;)*) => {$($(
        #[doc = concat!("Not supported: ", $why, ".")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> Code {
            call(stringify!($name), || bail!(NOT_SUPPORTED, $why))
        }
    )*)*};
}

unsupported! {
    "streams that wait for a value in memory would wait for ever, because work is done when it is enqueued":
        cuStreamWaitValue32_v2 cuStreamWaitValue64_v2 cuStreamBatchMemOp_v2;
    "there are no clusters of blocks": cuOccupancyMaxPotentialClusterSize cuOccupancyMaxActiveClusters;
    "events are no nodes of graphs": cuGraphAddEventRecordNode cuGraphAddEventWaitNode;
    "memory does not reach other interfaces":
        cuImportExternalMemory cuExternalMemoryGetMappedBuffer cuDestroyExternalMemory cuImportExternalSemaphore
        cuDestroyExternalSemaphore;
    "memory and events do not reach other processes":
        cuIpcGetMemHandle cuIpcOpenMemHandle_v2 cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcOpenEventHandle;
    "addresses and memory are given out together":
        cuMemAddressReserve cuMemAddressFree cuMemCreate cuMemMap cuMemUnmap cuMemRelease cuMemSetAccess;
    "there are no textures": cuArrayCreate_v2 cuArray3DCreate_v2 cuArrayDestroy cuTexObjectCreate cuTexObjectDestroy;
    "code is loaded as PTX alone": cuLinkCreate_v2 cuLinkAddData_v2 cuLinkAddFile_v2 cuLinkComplete cuLinkDestroy;
}
