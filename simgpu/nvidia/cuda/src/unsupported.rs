//! Features of real cards that simulated ones lack, as the device attributes say: each function
//! returns `CUDA_ERROR_NOT_SUPPORTED`, whatever its arguments.

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
    "streams that wait for a value in memory would wait forever, because work is executed when it is enqueued":
        cuStreamWaitValue32_v2 cuStreamWaitValue64_v2 cuStreamBatchMemOp_v2;
    "the simulator has no thread block clusters": cuOccupancyMaxPotentialClusterSize cuOccupancyMaxActiveClusters;
    "graphs have no event nodes": cuGraphAddEventRecordNode cuGraphAddEventWaitNode;
    "memory cannot be shared with other APIs":
        cuImportExternalMemory cuExternalMemoryGetMappedBuffer cuDestroyExternalMemory cuImportExternalSemaphore
        cuDestroyExternalSemaphore;
    "memory and events cannot be shared with other processes":
        cuIpcGetMemHandle cuIpcOpenMemHandle_v2 cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcOpenEventHandle;
    "virtual addresses cannot be reserved separately from memory":
        cuMemAddressReserve cuMemAddressFree cuMemCreate cuMemMap cuMemUnmap cuMemRelease cuMemSetAccess;
    "the simulator has no textures": cuArrayCreate_v2 cuArray3DCreate_v2 cuArrayDestroy cuTexObjectCreate cuTexObjectDestroy;
    "code is loaded only as PTX": cuLinkCreate_v2 cuLinkAddData_v2 cuLinkAddFile_v2 cuLinkComplete cuLinkDestroy;
}
