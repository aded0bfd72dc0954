//! `device.kernels`: user kernels that are compiled here, cached by content, checked against their
//! parameters, and launched in order with the operations around them. On a device without kernels
//! or without a compiler, every call must refuse.

use super::case::{Case, Checked, ensure, fails};
use super::source::{self, Source};
use super::step::equal;
use isobit_hal::kernel::{KernelValue, ParamKind};
use isobit_hal::{
    BackendDevice, BackendStorage, BinaryOp, DType, ErrorKind, Func, KernelCode, KernelSource, LaunchConfig, Layout,
    Result, Stream,
};

pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    if case.info.limits.is_none() || !case.info.capabilities.runtime_compile {
        return refuses(case);
    }
    let source = source::draw(case);
    let func = compiled(case, &source)?;
    let streams = case.streams(2, 3)?;
    mixed(case, &source, &func, &streams)?;
    reversed(case, &source)?;
    match case.between(0, 5) {
        0 => arguments(case, &func),
        1 => configurations(case, &func),
        2 => changed(case),
        3 => missing(case, &source),
        4 => broken(case),
        _ => of_another(case, &func),
    }
}

/// Checks the answers of a device that lacks the capability.
fn refuses<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let source = source::draw(case);
    let compiled = case.device.compile(source::NAME, &source.text);
    if case.info.limits.is_some() {
        fails(compiled, ErrorKind::LibraryUnavailable, &[])?;
        return Ok(());
    }
    let e = fails(compiled, ErrorKind::UnsupportedOp, &["kernels"])?;
    ensure!(e.device() == Some(&case.device.location()), "the refusal names no device: {e}");
    fails(case.device.get_or_load_func("affine_f32"), ErrorKind::UnsupportedOp, &["kernels"])?;
    let code = case.draw.one_of(&[KernelCode::Ptx(".version 7.0"), KernelCode::Binary(&[1, 2, 3])]);
    fails(case.device.get_or_load_custom_func("k", "m", code), ErrorKind::UnsupportedOp, &["kernels"])?;
    Ok(())
}

fn compiled<D: BackendDevice>(case: &mut Case<'_, D>, source: &Source) -> Checked<Func> {
    case.say(format_args!("a kernel is compiled with the factor {}", source.factor));
    let func = case.device.compile(source::NAME, &source.text)?;
    ensure!(func.name() == source::NAME, "the kernel has the name {}", func.name());
    ensure!(func.device() == case.device.id(), "a kernel names another device");
    if let Some(params) = func.params() {
        let sizes: Vec<usize> = params.iter().map(|p| p.size).collect();
        ensure!(sizes == [8, 8, 8, 8, 8, 4], "the parameters have sizes of {sizes:?} bytes");
        // The compiled code may describe the parameters less precisely than the source.
        use ParamKind::{Bytes, Float, Integer, Pointer, PointerOrInteger};
        let fits = |i: usize, kinds: &[ParamKind]| kinds.contains(&params[i].kind) || params[i].kind == Bytes;
        let pointers = (0..3).all(|i| fits(i, &[Pointer, PointerOrInteger]));
        let numbers = fits(3, &[Integer, PointerOrInteger]) && fits(5, &[Float]);
        ensure!(pointers && numbers, "the parameters are {params:?}");
    }
    Ok(func)
}

/// Operations compute the input on one stream, the kernel runs on another, and operations use its
/// results on a third.
fn mixed<D: BackendDevice>(case: &mut Case<'_, D>, source: &Source, func: &Func, streams: &[Stream]) -> Checked {
    let device = case.device;
    let n = case.between(1, 3000);
    let (skip, into) = (case.between(0, 9), case.between(0, 9));
    let pair = [case.between(0, 1 << 30) as u32, case.between(0, 1 << 30) as u32];
    let scale = case.between(1, 1000) as f32 * 0.37;
    let on: Vec<&Stream> = (0..3).map(|_| &streams[case.between(0, streams.len() - 1)]).collect();
    let threads = case.draw.one_of(&[1, 32, 64, 100, 256]);
    let config = LaunchConfig::linear(case.between(1, 20) as u32, threads);
    case.say(format_args!("{n} numbers from element {skip} to element {into}, {config:?}"));
    let host: Vec<u32> = (0..(n + skip) as u32).map(|i| i.wrapping_mul(0x0101_6b55)).collect();
    let uploaded = device.storage_from_slice(&host)?;
    let layout = Layout::contiguous([n + skip]);
    let x = device.with_stream(on[0], || uploaded.binary(&layout, &uploaded, &layout, BinaryOp::Add))?;
    drop(uploaded);
    let (mut y, mut z) = (device.zeros(&(n + into).into(), DType::U32)?, device.zeros(&n.into(), DType::F32)?);
    let value = KernelValue::from_bytes(bytemuck::bytes_of(&pair));
    let launched = device.with_stream(on[1], || {
        let builder = func.builder().arg_at(&x, skip).arg_mut_at(&mut y, into).arg_mut(&mut z);
        // SAFETY: the arguments have the kernel's types; `x` has `n` elements from `skip` on, `y`
        // from `into` on, `z` from the first.
        unsafe { builder.value(n as u64).value(value).value(scale).launch(config) }
    });
    launched?;
    drop(x);
    let layout = Layout::contiguous([n]);
    let used = device.with_stream(on[2], || z.binary(&layout, &z, &layout, BinaryOp::Add))?;
    let results: Vec<(u32, f32)> = host[skip..].iter().map(|&v| source.mix(v.wrapping_add(v), pair, scale)).collect();
    let expected: Vec<u32> = std::iter::repeat_n(0, into).chain(results.iter().map(|r| r.0)).collect();
    equal("what the kernel wrote", DType::U32, bytemuck::cast_slice(&expected), y.to_cpu_storage()?.as_bytes())?;
    let expected: Vec<f32> = results.iter().map(|r| r.1 + r.1).collect();
    equal("what was made of it", DType::F32, bytemuck::cast_slice(&expected), used.to_cpu_storage()?.as_bytes())
}

/// Another kernel of the same source, which uses shared memory.
fn reversed<D: BackendDevice>(case: &mut Case<'_, D>, source: &Source) -> Checked {
    let func = case.device.compile(source::REVERSE, &source.text)?;
    let host: Vec<u32> = (0..256).map(|i| i * 7).collect();
    let (x, mut y) = (case.device.storage_from_slice(&host)?, case.device.zeros(&256.into(), DType::U32)?);
    // SAFETY: both storages have the 256 elements that one block of 256 threads reads and writes.
    unsafe { func.builder().arg(&x).arg_mut(&mut y).launch(LaunchConfig::linear(1, 256))? };
    let expected: Vec<u32> = host.iter().rev().copied().collect();
    let got = y.to_vec::<u32>()?;
    ensure!(got == expected, "a kernel that reverses numbers through shared memory gives a wrong result");
    Ok(())
}

/// Allocates the storages for a launch that is refused.
fn storages<D: BackendDevice>(device: &D) -> Result<(D::Storage, D::Storage, D::Storage)> {
    let make = |dtype| device.zeros(&64.into(), dtype);
    Ok((make(DType::U32)?, make(DType::U32)?, make(DType::F32)?))
}

/// Arguments that do not match the parameters, and offsets outside a storage.
fn arguments<D: BackendDevice>(case: &mut Case<'_, D>, func: &Func) -> Checked {
    let (x, mut y, mut z) = storages(case.device)?;
    let config = LaunchConfig::linear(1, 32);
    let pair = KernelValue::from_bytes(&[0; 8]);
    let which = case.between(0, 4);
    case.say(format_args!("arguments that do not suit, of kind {which}"));
    if which < 4 && func.params().is_none() {
        return Ok(());
    }
    let b = func.builder();
    // Each is refused before anything is launched.
    let builder = match which {
        0 => b.arg(&x).arg_mut(&mut y).arg_mut(&mut z).value(64u64).value(pair),
        1 => b.arg(&x).arg_mut(&mut y).arg_mut(&mut z).value(64u32).value(pair).value(1.0f32),
        2 => b.arg(&x).arg_mut(&mut y).value(1.0f32).value(64u64).value(pair).value(1.0f32),
        3 => b.arg(&x).arg_mut(&mut y).arg_mut(&mut z).value(64u64).value(pair).value(1.0f64),
        _ => b.arg_at(&x, 65).arg_mut(&mut y).arg_mut(&mut z).value(64u64).value(pair).value(1.0f32),
    };
    // SAFETY: the launch must be refused; otherwise only the offset would matter, which is what
    // this tests.
    let launched = unsafe { builder.launch(config) };
    let e = fails(launched, ErrorKind::InvalidArgument, &["mix"])?;
    ensure!(e.kernel().is_none_or(|k| k == source::NAME), "the refusal names another kernel: {e}");
    Ok(())
}

/// Configurations that every device refuses.
fn configurations<D: BackendDevice>(case: &mut Case<'_, D>, func: &Func) -> Checked {
    let (x, mut y, mut z) = storages(case.device)?;
    let most = case.info.limits.as_ref().map_or(1024, |l| l.max_threads_per_block);
    let mut config = LaunchConfig::linear(1, 32);
    match case.between(0, 3) {
        0 => config.grid[case.between(0, 2)] = 0,
        1 => config.block[case.between(0, 2)] = 0,
        2 => config.block[0] = most + 1,
        _ => config.shared_bytes = u32::MAX,
    }
    case.say(format_args!("a launch with {config:?}"));
    let b = func.builder().arg(&x).arg_mut(&mut y).arg_mut(&mut z).value(64u64);
    // SAFETY: the arguments match the kernel; the configuration is refused.
    let launched = unsafe { b.value(KernelValue::from_bytes(&[0; 8])).value(1.0f32).launch(config) };
    fails(launched, ErrorKind::InvalidArgument, &[])?;
    Ok(())
}

/// A changed source under the name of an older module is a different module.
fn changed<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    case.say("two sources under one module name");
    for factor in [3, 5, 3] {
        let source = source::of_factor(factor);
        let code = KernelCode::Source(&source.text);
        let func = case.device.get_or_load_custom_func(source::NAME, "one name", code)?;
        let stream = [case.device.default_stream()?];
        mixed(case, &source, &func, &stream)?;
    }
    Ok(())
}

/// The error for a name that the code does not contain lists the names that it contains.
fn missing<D: BackendDevice>(case: &mut Case<'_, D>, source: &Source) -> Checked {
    case.say("a kernel that is not there");
    let e = fails(case.device.compile("mixx", &source.text), ErrorKind::KernelMissing, &["mixx", "mix", "reverse"])?;
    ensure!(e.device() == Some(&case.device.location()), "the missing kernel's error names no device: {e}");
    fails(case.device.get_or_load_func("no_such_kernel"), ErrorKind::KernelMissing, &["no_such_kernel"])?;
    Ok(())
}

/// The error for an invalid source contains the compiler's message and the source's name.
fn broken<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    case.say("a source with an undeclared name in it");
    let text = "extern \"C\" __global__ void k(int *x) { *x = undeclared_here; }";
    let compiled = case.device.compile("k", &KernelSource::new("broken.cu", text));
    let e = fails(compiled, ErrorKind::CompileFailed, &["undeclared_here", "broken.cu"])?;
    ensure!(e.device().is_some(), "the compile error names no device: {e}");
    Ok(())
}

/// A kernel refuses storages of another device.
fn of_another<D: BackendDevice>(case: &mut Case<'_, D>, func: &Func) -> Checked {
    if !case.has_another() {
        return Ok(());
    }
    case.say("a kernel and storages of two devices");
    let (x, mut y, mut z) = storages(case.another())?;
    let b = func.builder().arg(&x).arg_mut(&mut y).arg_mut(&mut z).value(64u64);
    // SAFETY: the launch is refused because of the device; the arguments would match.
    let launched =
        unsafe { b.value(KernelValue::from_bytes(&[0; 8])).value(1.0f32).launch(LaunchConfig::linear(1, 32)) };
    fails(launched, ErrorKind::DeviceMismatch, &[])?;
    Ok(())
}
