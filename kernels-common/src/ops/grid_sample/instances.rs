//! Kernels for each float dtype, dtype of the grid, number of dimensions and way to interpolate.

use super::combined_floats;
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{DType, GridSample, Interpolation, Op};

/// Returns the elements around a position along one dimension.
const fn taps(mode: Interpolation) -> usize {
    match mode {
        Interpolation::Nearest => 1,
        Interpolation::Cubic => 4,
        _ => 2,
    }
}

/// Returns the key of a kernel for images of so many dimensions.
pub fn key(mode: Interpolation, dims: usize, [dtype, grid]: [DType; 2]) -> Key {
    Key::new(Family::GridSample, taps(mode), &[dtype, grid], dims as u8)
}

/// Adds the modules.
pub fn add(modules: &mut Vec<Module>) {
    use Interpolation::{Cubic, Linear, Nearest};
    for dtype in combined_floats() {
        let mut module = Module::new(format!("grid_sample_{dtype}"), "ops/grid_sample/grid_sample.cu");
        let takes = |grid: DType| Op::GridSample(GridSample::new()).check_dtypes(&[dtype, grid, dtype]).is_ok();
        for grid in DType::ALL.iter().copied().filter(|&grid| takes(grid)) {
            for (mode, name) in [(Nearest, "nearest"), (Linear, "linear"), (Cubic, "cubic")] {
                let op = GridSample::new().with_mode(mode);
                for dims in [2, 3].into_iter().filter(|&dims| op.takes_dims(dims)) {
                    let args = [&dims.to_string(), &taps(mode).to_string(), dtype.as_str(), grid.as_str()];
                    let name = format!("grid_sample{dims}d_{name}_{dtype}_{grid}");
                    module.kernel(key(mode, dims, [dtype, grid]), name, "ISOBIT_GRID_SAMPLE", &args);
                }
            }
        }
        modules.push(module);
    }
}
