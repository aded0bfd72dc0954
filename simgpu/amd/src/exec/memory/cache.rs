//! Cache control. The simulated memory has no caches: every access sees all earlier writes, so
//! these instructions do nothing.

use crate::exec::Flow;
use crate::exec::whole::wave;

wave! {
    /// Write-backs and invalidations.
    TABLE:
    "s_dcache_inv" [] => |_wave, _step, _env| { Flow::Next };
    "s_dcache_inv_vol" [] => |_wave, _step, _env| { Flow::Next };
    "s_dcache_wb" [] => |_wave, _step, _env| { Flow::Next };
    "s_dcache_wb_vol" [] => |_wave, _step, _env| { Flow::Next };
    "s_gl1_inv" [] => |_wave, _step, _env| { Flow::Next };
    "buffer_wbinvl1" [] => |_wave, _step, _env| { Flow::Next };
    "buffer_wbinvl1_vol" [] => |_wave, _step, _env| { Flow::Next };
    "buffer_wbl2" [] => |_wave, _step, _env| { Flow::Next };
    "buffer_invl2" [] => |_wave, _step, _env| { Flow::Next };
    "buffer_inv" [] => |_wave, _step, _env| { Flow::Next };
    "buffer_gl0_inv" [] => |_wave, _step, _env| { Flow::Next };
    "buffer_gl1_inv" [] => |_wave, _step, _env| { Flow::Next };
}
