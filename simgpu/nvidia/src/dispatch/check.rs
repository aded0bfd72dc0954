//! Checks the shape of a launch.

use crate::arch::Arch;
use crate::module::Kernel;
use isobit_simgpu_core::finding::Fault;

/// Maximum blocks along each dimension.
const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Maximum threads per block along each dimension.
const MOST_THREADS: [u32; 3] = [1024, 1024, 64];

/// Returns an error if the card or the kernel does not support the shape.
pub(super) fn shape(
    arch: Arch,
    kernel: &Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
) -> Result<(), Fault> {
    let refused = |why: String| Err(Fault::new(format!("{}: {why}", kernel.name)));
    if grid.contains(&0) || block.contains(&0) {
        return refused(format!("a grid of {grid:?} blocks of {block:?} threads is empty"));
    }
    let over = |shape: [u32; 3], most: [u32; 3]| shape.iter().zip(most).any(|(n, most)| *n > most);
    if over(grid, MOST_BLOCKS) || grid.iter().map(|&n| u64::from(n)).product::<u64>() > u32::MAX.into() {
        return refused(format!(
            "a grid of {grid:?} blocks exceeds the maximum of {MOST_BLOCKS:?}, or of 2^32 in total"
        ));
    }
    if over(block, MOST_THREADS) {
        return refused(format!("a block of {block:?} threads exceeds the maximum of {MOST_THREADS:?}"));
    }
    let threads: u32 = block.iter().product();
    if threads > kernel.max_threads {
        return refused(format!("a block of {threads} threads exceeds the maximum of {}", kernel.max_threads));
    }
    if let Some(required) = kernel.required_threads.filter(|required| *required != block) {
        return refused(format!("a block of {block:?} threads, but the kernel requires {required:?}"));
    }
    let (shared, most) = (kernel.shared_bytes.saturating_add(dynamic_shared), arch.shared_bytes());
    if shared > most {
        return refused(format!("{shared} bytes of shared memory exceed the maximum of {most}"));
    }
    Ok(())
}
