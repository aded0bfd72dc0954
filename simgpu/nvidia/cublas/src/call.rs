//! Turns the arguments of a call into work on a stream.

use crate::api::with;
use crate::check::Arguments;
use crate::kernel;
use crate::modes::Settings;
use crate::types::*;
use isobit_simgpu_library_common::{Access, CUDA, Workspace};
use isobit_simgpu_math::gemm::{Kernel, Product, Scalar};
use isobit_simgpu_math::number::Tf32;
use std::ffi::c_void;

/// Alpha and beta: either their values, or the addresses that the stream reads them from.
#[derive(Debug, Clone, Copy)]
enum Scalars {
    Host([Scalar; 2]),
    Device([usize; 2]),
}

/// Computes a matrix product when the handle's stream reaches it.
///
/// # Safety
/// In host pointer mode the scalars are null or point to numbers of the scale type.
pub(crate) unsafe fn multiply(handle: *mut c_void, arguments: &Arguments, what: &'static str) -> Status {
    with(handle, |context| {
        // SAFETY: the caller promises that in host pointer mode the scalars are null or point to
        // numbers of the scale type.
        match unsafe { compute(&context.settings(), arguments, Workspace::default(), what) } {
            Ok(()) => SUCCESS,
            Err(status) => status,
        }
    })
}

/// Computes a matrix product when the stream of the settings reaches it.
///
/// # Safety
/// The requirements of [`multiply`].
pub(crate) unsafe fn compute(
    settings: &Settings,
    arguments: &Arguments,
    workspace: Workspace,
    what: &'static str,
) -> Result<(), Status> {
    let Some(exact) = arguments.check()? else { return Ok(()) };
    let is_tf32 = kernel::is_tf32(arguments, settings.math_mode);
    let kernel = if is_tf32 { isobit_simgpu_math::gemm::kernel::<Tf32, f32, f32>() } else { exact };
    let cuda = CUDA.runtime().map_err(|_| NOT_INITIALIZED)?;
    let scalars = if settings.pointer_mode == CUBLAS_POINTER_MODE_DEVICE {
        Scalars::Device(arguments.scalars.map(|pointer| pointer.expose_provenance()))
    } else {
        // SAFETY: the checks rejected null, and the caller promises the rest.
        Scalars::Host(arguments.scalars.map(|pointer| unsafe { read(&kernel, pointer) }))
    };
    let product = kernel::product(arguments, what);
    let work = move || {
        let access = |at: *const u8, bytes, write, what: &str| cuda.access(at, bytes, write, what);
        if workspace.is_allowed(what, &access) {
            // SAFETY: a device address is a host address, and the simulator checks each access
            // first.
            unsafe { run(&kernel, &product, scalars, &access) }
        }
    };
    cuda.enqueue(settings.stream, work).map_err(|_| EXECUTION_FAILED)
}

/// # Safety
/// A number of the scale type is readable at the pointer.
unsafe fn read(kernel: &Kernel, pointer: *const c_void) -> Scalar {
    let mut scalar = Scalar::default();
    // SAFETY: as the caller promises; a `Scalar` is large enough for every scale type.
    unsafe { scalar.as_mut_ptr().copy_from_nonoverlapping(pointer.cast(), kernel.scalar_bytes) };
    scalar
}

/// # Safety
/// Wherever `access` allows an access, the scalars and the operands are valid.
unsafe fn run(kernel: &Kernel, product: &Product, scalars: Scalars, access: &Access<'_>) {
    let values = match scalars {
        Scalars::Host(values) => values,
        Scalars::Device(addresses) => {
            let pointers = addresses.map(std::ptr::with_exposed_provenance::<c_void>);
            let allowed = [("alpha", pointers[0]), ("beta", pointers[1])].map(|(name, at)| {
                access(at.cast(), kernel.scalar_bytes, false, &format!("{}: {name} in device memory", product.what))
            });
            if allowed.contains(&false) {
                return;
            }
            // SAFETY: `access` allowed it.
            pointers.map(|at| unsafe { read(kernel, at) })
        }
    };
    // SAFETY: the caller promises that the scalars and the operands are valid wherever `access`
    // allows an access.
    unsafe { (kernel.run)(product, values, access) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_simgpu_math::gemm::{Batch, Form, Matrix, kernel};
    use std::cell::RefCell;

    fn number(x: &mut f32) -> Matrix {
        let address = std::ptr::from_mut(x).expose_provenance();
        Matrix { address, leading: 1, batch: Batch::Strided(0), form: Form::Plain }
    }

    #[test]
    fn scalars_of_the_device_are_read_when_the_work_runs_and_only_where_allowed() {
        let (mut a, mut b, mut c) = (3f32, 5f32, 100f32);
        let (alpha, beta) = (2f32, 1f32);
        let [a, b, c_matrix] = [number(&mut a), number(&mut b), number(&mut c)];
        let product = Product {
            what: "test",
            sizes: [1; 3],
            batch: 1,
            a,
            b,
            c: c_matrix,
            d: c_matrix,
            d_name: "C",
            scales: [None; 2],
        };
        let kernel = kernel::<f32, f32, f32>();
        let scalars = Scalars::Device([&alpha, &beta].map(|x| std::ptr::from_ref(x).expose_provenance()));
        let asked = RefCell::new(Vec::new());
        for refused in ["alpha", "beta", "nothing"] {
            let access: &Access<'_> = &|_, bytes, write, what| {
                asked.borrow_mut().push((what.to_owned(), bytes, write));
                what != format!("test: {refused} in device memory")
            };
            // SAFETY: all operands are valid.
            unsafe { run(&kernel, &product, scalars, access) };
            let asked = asked.take();
            assert_eq!(asked[0], ("test: alpha in device memory".to_owned(), 4, false));
            assert_eq!(asked[1], ("test: beta in device memory".to_owned(), 4, false));
            // If both scalars are readable, the operands are checked too: A, B and C for reading,
            // and C for writing.
            assert_eq!(asked.len(), if refused == "nothing" { 6 } else { 2 });
        }
        assert_eq!(c, 130.0);
    }
}
