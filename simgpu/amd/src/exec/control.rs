//! Program control: branches, calls, barriers, the end of the program, and instructions without an
//! effect here (waits, hints, cache control of the instruction stream).

use super::program::{Flow, Program, Step};
use super::wave::{Env, Wave};
use super::whole::wave;
use crate::isa::sreg;
use crate::service::HostCalls;

/// Sets the targets of branches after all steps have been created.
pub fn resolve(program: &mut Program) {
    for index in 0..program.steps.len() {
        let step = program.steps[index];
        let Some(inst) = program.insts.get(step.inst as usize) else { continue };
        if !(inst.name.starts_with("s_branch") || inst.name.starts_with("s_cbranch") || inst.name == "s_call_b64") {
            continue;
        }
        let target = i64::from(step.offset) + 4 + 4 * i64::from(inst.imm as i16);
        let at = usize::try_from(target / 4).ok().and_then(|at| program.at.get(at)).copied();
        // The step after the last one faults.
        program.steps[index].target = at.filter(|&at| at != u32::MAX).unwrap_or(program.steps.len() as u32 - 1);
    }
}

fn jump(wave: &mut Wave, env: &mut Env<'_>, address: u64) -> Flow {
    match env.program.step_at(address) {
        Some(step) => {
            wave.next = step;
            Flow::Next
        }
        None => {
            env.fault = Some(format!("a jump to {address:#x}, which is not an instruction of this code object"));
            Flow::Fault
        }
    }
}

/// Returns the address after a step.
fn after(step: &Step, env: &Env<'_>) -> u64 {
    env.program.address_of(step) + u64::from(env.program.inst(step).size)
}

#[inline(always)]
fn branch(wave: &mut Wave, step: &Step, taken: bool) -> Flow {
    if !taken {
        return Flow::Next;
    }
    let back = (step.target as usize) < wave.next;
    wave.next = step.target as usize;
    // A loop may be waiting for another wave, so it yields to the others when its budget is used
    // up.
    if back { Flow::Back } else { Flow::Next }
}

fn vcc(wave: &Wave) -> u64 {
    wave.mask(sreg::VCC_LO)
}

fn exec(wave: &Wave) -> u64 {
    wave.mask(sreg::EXEC_LO)
}

wave! {
    /// Program control.
    TABLE:
    "s_endpgm" [] => |_wave, _step, _env| { Flow::End };
    "s_barrier" [] => |_wave, _step, _env| { Flow::Barrier };
    "s_branch" [] => |wave, step, _env| { branch(wave, step, true) };
    "s_cbranch_scc0" [] => |wave, step, _env| { branch(wave, step, !wave.scc) };
    "s_cbranch_scc1" [] => |wave, step, _env| { branch(wave, step, wave.scc) };
    "s_cbranch_vccz" [] => |wave, step, _env| { branch(wave, step, vcc(wave) == 0) };
    "s_cbranch_vccnz" [] => |wave, step, _env| { branch(wave, step, vcc(wave) != 0) };
    "s_cbranch_execz" [] => |wave, step, _env| { branch(wave, step, exec(wave) == 0) };
    "s_cbranch_execnz" [] => |wave, step, _env| { branch(wave, step, exec(wave) != 0) };
    "s_getpc_b64" [] => |wave, step, env| {
        wave.set_pair(step.sdst, after(step, env));
        Flow::Next
    };
    "s_setpc_b64" [Uint64] => |wave, step, env| {
        let to = super::source::pair(wave, env, step.scalars[0]);
        jump(wave, env, to)
    };
    "s_swappc_b64" [Uint64] => |wave, step, env| {
        let to = super::source::pair(wave, env, step.scalars[0]);
        wave.set_pair(step.sdst, after(step, env));
        jump(wave, env, to)
    };
    "s_call_b64" [] => |wave, step, env| {
        wave.set_pair(step.sdst, after(step, env));
        branch(wave, step, true)
    };
    "s_sleep" [] => |_wave, _step, _env| { Flow::Yield };
    "s_nop" [] => |_wave, _step, _env| { Flow::Next };
    "v_nop" [] => |_wave, _step, _env| { Flow::Next };
    "v_clrexcp" [] => |_wave, _step, _env| { Flow::Next };
    "v_pipeflush" [] => |_wave, _step, _env| { Flow::Next };
    "s_waitcnt" [] => |_wave, _step, _env| { Flow::Next };
    "s_waitcnt_vscnt" [] => |_wave, _step, _env| { Flow::Next };
    "s_waitcnt_vmcnt" [] => |_wave, _step, _env| { Flow::Next };
    "s_waitcnt_expcnt" [] => |_wave, _step, _env| { Flow::Next };
    "s_waitcnt_lgkmcnt" [] => |_wave, _step, _env| { Flow::Next };
    "s_waitcnt_depctr" [] => |_wave, _step, _env| { Flow::Next };
    "s_wait_event" [] => |_wave, _step, _env| { Flow::Next };
    "s_wait_idle" [] => |_wave, _step, _env| { Flow::Next };
    "s_delay_alu" [] => |_wave, _step, _env| { Flow::Next };
    "s_clause" [] => |_wave, _step, _env| { Flow::Next };
    "s_setprio" [] => |_wave, _step, _env| { Flow::Next };
    "s_set_inst_prefetch_distance" [] => |_wave, _step, _env| { Flow::Next };
    "s_icache_inv" [] => |_wave, _step, _env| { Flow::Next };
    "s_wakeup" [] => |_wave, _step, _env| { Flow::Yield };
    "s_version" [] => |_wave, _step, _env| { Flow::Next };
    "s_incperflevel" [] => |_wave, _step, _env| { Flow::Next };
    "s_decperflevel" [] => |_wave, _step, _env| { Flow::Next };
    "s_ttracedata" [] => |_wave, _step, _env| { Flow::Next };
    "s_ttracedata_imm" [] => |_wave, _step, _env| { Flow::Next };
    // No debugger is attached.
    "s_cbranch_cdbgsys" [] => |_wave, _step, _env| { Flow::Next };
    "s_cbranch_cdbguser" [] => |_wave, _step, _env| { Flow::Next };
    "s_cbranch_cdbgsys_or_user" [] => |_wave, _step, _env| { Flow::Next };
    "s_cbranch_cdbgsys_and_user" [] => |_wave, _step, _env| { Flow::Next };
    // Message 1 interrupts the host, which answers the calls that wait for it before the wave goes
    // on. With message 3, GFX11 releases its registers before the end. No other message affects a
    // kernel's results.
    "s_sendmsg" [] => |_wave, step, env| {
        match env.program.inst(step).imm {
            1 => match env.host_calls.map_or(Ok(()), HostCalls::answer) {
                Ok(()) => Flow::Next,
                Err(why) => {
                    env.fault = Some(why);
                    Flow::Fault
                }
            },
            3 => Flow::Next,
            message => {
                env.fault = Some(format!("message {message} is not simulated"));
                Flow::Fault
            }
        }
    };
    "s_trap" [] => |_wave, step, env| {
        env.fault = Some(format!("the kernel stopped itself: trap {}", env.program.inst(step).imm));
        Flow::Fault
    };
}
