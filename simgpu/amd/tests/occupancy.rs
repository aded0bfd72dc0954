//! How many waves a card holds, compared with what LLVM prints.

use isobit_simgpu_amd::isa::Arch;

/// Scalar registers that do not limit the number of waves.
const SGPRS: u32 = 32;

/// Vector registers, and the waves of a SIMD: `GFX1100W32` in LLVM's test
/// `llvm/test/CodeGen/AMDGPU/occupancy-levels.ll`.
const RDNA3: [(u32, u32); 11] =
    [(24, 16), (56, 16), (88, 16), (96, 16), (100, 12), (112, 12), (128, 10), (144, 10), (168, 9), (200, 7), (256, 5)];

/// The same for `GFX950`, which has the registers of gfx90a and gfx942.
const CDNA: [(u32, u32); 13] = [
    (24, 8),
    (56, 8),
    (64, 8),
    (72, 7),
    (80, 6),
    (84, 5),
    (96, 5),
    (100, 4),
    (128, 4),
    (144, 3),
    (168, 3),
    (200, 2),
    (256, 2),
];

#[test]
fn vector_registers_limit_waves_as_llvm_says() {
    for (arch, levels) in [(Arch::Gfx90a, &CDNA[..]), (Arch::Gfx942, &CDNA[..]), (Arch::Gfx1100, &RDNA3[..])] {
        for &(vgprs, waves) in levels {
            assert_eq!(arch.units().waves(vgprs, SGPRS), waves, "{vgprs} registers of {}", arch.name());
        }
    }
    // With as many accumulation registers as others: all registers of a SIMD.
    assert_eq!(Arch::Gfx90a.units().waves(512, SGPRS), 1);
}
