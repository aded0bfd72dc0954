//! The initial registers of a wave, as specified in LLVM's AMDGPUUsage ("Initial Kernel Execution
//! State").

use super::group::{ACCUMULATION, Group};
use crate::exec::{Row, Wave};
use crate::isa::sreg;
use isobit_simgpu_core::undefined;

impl Group<'_> {
    /// Sets up wave `wave` of the group at `at`.
    pub(super) fn start_wave(&self, state: &mut Wave, at: [u32; 3], wave: u32) {
        let setup = &self.kernel.setup;
        let threads = self.block.iter().product::<u32>();
        let width = self.width as u32;
        let lanes = (threads - wave * width).min(width);
        state.width = self.width;
        state.live = u64::MAX >> (64 - lanes);
        state.wave = wave;
        state.epoch = 0;
        state.partial.clear();
        state.scc = false;
        state.next = self.kernel.entry;
        // NULL, M0 and the trap temporaries stay zero. Vector registers that the kernel does not
        // have keep what they had.
        state.s = [0; 128];
        state.s[..=usize::from(sreg::VCC_HI)].fill(undefined::WORD);
        state.v[..setup.vector].fill(Row::splat(undefined::WORD));
        state.v[ACCUMULATION..][..setup.accumulation].fill(Row::splat(undefined::WORD));
        state.set_exec(state.live);
        let property = |bit: u16| setup.properties >> bit & 1 == 1;
        let mut next = 0;
        let mut put = |state: &mut Wave, words: &[u32]| {
            for &word in words {
                state.s[next] = word;
                next += 1;
            }
        };
        let halves = |address: u64| [address as u32, (address >> 32) as u32];
        if property(0) {
            // A buffer over private memory, swizzled, so that the same stack slot of all lanes is
            // contiguous. Only its kind is checked.
            put(state, &[0, 1 << 31, self.private_bytes * width, 0]);
        }
        if property(1) {
            put(state, &halves(self.arguments.packet));
        }
        if property(2) {
            put(state, &[0, 0]);
        }
        if property(3) {
            put(state, &halves(self.arguments.kernarg));
        }
        if property(4) {
            put(state, &[0, 0]);
        }
        if property(5) {
            put(state, &[0, self.private_bytes]);
        }
        if property(6) {
            put(state, &[self.private_bytes]);
        }
        // The system registers start after the user registers, including padding.
        let mut next = usize::from(setup.user_sgprs);
        let present = setup.group_ids.iter().zip(at).filter(|(present, _)| **present).map(|(_, id)| id);
        let info = setup.group_info.then_some(0);
        for word in present.chain(info).chain(setup.scratch.then_some(0)) {
            state.s[next & 127] = word;
            next += 1;
        }
        debug_assert!(next <= usize::from(sreg::VCC_LO));
        // Packed coordinates, as on gfx90a and later.
        let used = [u32::MAX, 0x000f_ffff, 0x3ff][usize::from(2 - setup.thread_dims.min(2))];
        let [mut x, mut y, mut z] = isobit_simgpu_core::engine::coordinates(wave * width, self.block);
        for id in &mut state.v[0].0[..self.width] {
            *id = (x | y << 10 | z << 20) & used;
            x += 1;
            if x == self.block[0] {
                (x, y) = (0, y + 1);
            }
            if y == self.block[1] {
                (y, z) = (0, z + 1);
            }
        }
        state.private.reset(self.private_bytes, self.width);
        state.private.stack = self.kernel.dynamic_stack;
    }
}
