//! Every kernel of the repository loads on every card that its PTX supports, and some kernels that
//! do not walk over layouts are executed.

use crate::common::Card;
use isobit_kernels::{IMAGES, Image, Target};
use isobit_simgpu_core::memory::Memory;
use isobit_simgpu_nvidia::arch::Arch;
use isobit_simgpu_nvidia::module::{LoadError, Module};
use std::sync::Arc;

/// Returns the PTX of a module, and the oldest architecture that it is packed for.
fn code(image: &Image) -> Option<(String, Vec<u8>)> {
    let arch = image.archs(Target::Nvptx).first()?.clone().into_owned();
    let code = image.code_for(Target::Nvptx, &arch)?.to_vec();
    Some((arch, code))
}

#[test]
fn every_module_loads() {
    let memory = Arc::new(Memory::new(1 << 30).expect("a gigabyte of addresses"));
    let (mut kernels, mut faults) = (0, Vec::new());
    for image in IMAGES {
        let Some((target, ptx)) = code(image) else { continue };
        for arch in Arch::ALL {
            let newer = target[3..].parse::<u32>().is_ok_and(|target| target > arch.name()[3..].parse().unwrap());
            match Module::load(arch, 0, &memory, &ptx) {
                Ok(module) if !newer => kernels += module.kernels().count(),
                Err(LoadError::WrongArch { .. }) if newer => {}
                other => faults.push(format!("{} on {}: {other:?}", image.name, arch.name())),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(kernels > 0, "no PTX is packed");
    assert_eq!(memory.usage().in_use, 0, "variables are freed with modules");
}

/// Runs a function of one operand over values in a grid-stride loop with a tail, and compares it
/// with the function in double precision.
fn unary(module: &str, kernel: &str, exact: impl Fn(f64) -> f64, bound: f64) {
    const COUNT: usize = 5003;
    let image = IMAGES.iter().find(|image| image.name == module).expect("the module");
    let (_, ptx) = code(image).expect("PTX");
    let card = Card::new(Arch::Sm90, &ptx);
    let values: Vec<f32> = (0..COUNT).map(|i| (i as f32 / COUNT as f32 - 0.5) * 20.0).collect();
    let (input, out) = (card.upload(&values), card.uninitialised(4 * COUNT));
    assert_eq!(card.findings(kernel, 3, 256, &[out, input, COUNT as u64]), []);
    for (x, y) in values.iter().zip(card.download::<f32>(out, COUNT)) {
        let expected = exact(f64::from(*x));
        assert!((f64::from(y) - expected).abs() <= bound * expected.abs(), "{kernel}({x}) = {y}, and not {expected}");
    }
}

/// The functions are accurate to two units in the last place.
const BOUND: f64 = 2.0 / (1 << 23) as f64;

#[test]
fn exponentials() {
    unary("unary_exp_f32", "exp_f32", f64::exp, BOUND);
}

#[test]
fn hyperbolic_tangents() {
    unary("unary_hyperbolic_f32", "tanh_f32", f64::tanh, BOUND);
}
