//! Registers the kernels of a module whose coverage is wanted.

use super::Kernel;
use crate::arch::Arch;
use isobit_simgpu_core::coverage::{self, Code, Numbering, Paths};

/// Registers kernels, which get their marks. The line of a step is that of `.loc`: for inlined code
/// the line of the function that was inlined.
pub(super) fn register(arch: Arch, kernels: &mut [Kernel]) {
    let mut code = Code { card: arch.name().to_owned(), ..Code::default() };
    let mut paths = Paths::default();
    for kernel in kernels.iter() {
        let program = &kernel.program;
        let first = code.lines.len();
        code.lines.extend(program.origins.iter().map(|origin| {
            let (file, line) = origin.location?;
            let (_, path) = program.text.files.iter().find(|(number, _)| *number == file)?;
            // Line 0 stands for code that the compiler made.
            (line > 0).then(|| (paths.number(path), line))
        }));
        code.kernels.push((kernel.name.clone(), first..code.lines.len()));
    }
    code.files = paths.into_paths();
    for (kernel, marks) in kernels.iter_mut().zip(coverage::register(code, Numbering::PerKernel)) {
        kernel.coverage = Some(marks);
    }
}
