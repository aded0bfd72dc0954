//! Compares every recipe with the true values in `conformance/golden/f64_truth.bin`; the script
//! that made the file describes its format. The bounds are those of `docs/numerics/f64.md`.

use isobit_hal::cpu::internals::f64::*;

enum Function {
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
}

/// Returns the function with a given name and its bound in ulps.
fn function(name: &str) -> (Function, f64) {
    use Function::{One, Two};
    match name {
        "exp" => (One(exp), 2.0),
        "exp2" => (One(exp2), 2.0),
        "expm1" => (One(expm1), 2.0),
        "log" => (One(log), 2.0),
        "log2" => (One(log2), 2.0),
        "log1p" => (One(log1p), 2.0),
        "sin" => (One(sin), 2.0),
        "cos" => (One(cos), 2.0),
        "tan" => (One(tan), 4.0),
        "sinh" => (One(sinh), 2.0),
        "cosh" => (One(cosh), 2.0),
        "tanh" => (One(tanh), 2.0),
        "asin" => (One(asin), 2.0),
        "acos" => (One(acos), 2.0),
        "atan" => (One(atan), 2.0),
        "erf" => (One(erf), 2.0),
        "gelu" => (One(gelu), 4.0),
        "gelu_erf" => (One(gelu_erf), 4.0),
        "silu" => (One(silu), 4.0),
        "sigmoid" => (One(sigmoid), 2.0),
        "rsqrt" => (One(rsqrt), 2.0),
        "recip" => (One(recip), 0.501),
        "pow" => (Two(pow), 4.0),
        "elu" => (Two(elu), 4.0),
        "asinh" => (One(asinh), 2.0),
        "acosh" => (One(acosh), 2.0),
        "atanh" => (One(atanh), 2.0),
        "softplus" => (One(softplus), 2.0),
        "mish" => (One(mish), 4.0),
        "hard_sigmoid" => (One(hard_sigmoid), 2.0),
        "hard_swish" => (One(hard_swish), 4.0),
        "selu" => (One(selu), 4.0),
        "celu" => (Two(celu), 4.0),
        "atan2" => (Two(atan2), 2.0),
        "hypot" => (Two(hypot), 2.0),
        _ => panic!("f64_truth.bin has an unknown function `{name}`"),
    }
}

/// Takes numbers from the front of the file.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, tail) = self.0.split_at(N);
        self.0 = tail;
        head.try_into().unwrap()
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn f64(&mut self) -> f64 {
        f64::from_le_bytes(self.take())
    }
}

/// Returns the error of `result` in ulps; infinite if it and the true value differ in kind.
fn error(result: f64, hi: f64, rest: f32, e: i16) -> f64 {
    let must_equal = hi.is_nan() || hi.is_infinite() || (hi == 0.0 && rest == 0.0);
    if must_equal || result.is_nan() {
        let same = result.to_bits() == hi.to_bits() || (result.is_nan() && hi.is_nan());
        return if same { 0.0 } else { f64::INFINITY };
    }
    if result.is_sign_negative() != hi.is_sign_negative() {
        return f64::INFINITY;
    }
    // 2^e may be subnormal. Both are halved, so that 2^1024 can represent an infinite result.
    let ulp = if e < -1021 { f64::from_bits(1 << (e + 1074)) } else { f64::from_bits(((e + 1023) as u64) << 52) };
    let half = |x: f64| if x.is_infinite() { 2f64.powi(1023).copysign(x) } else { 0.5 * x };
    let difference = if result.is_infinite() { 2.0 * ((half(result) - half(hi)) / ulp) } else { (result - hi) / ulp };
    (difference - f64::from(rest)).abs()
}

#[test]
fn every_recipe_is_within_its_bound() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/golden/f64_truth.bin");
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut file = Reader(&bytes);
    assert_eq!(&file.take::<8>(), b"F64TRUE1");
    let functions = file.u32();
    assert_eq!(functions, 35);
    for _ in 0..functions {
        let [length] = file.take();
        let name = String::from_utf8((0..length).map(|_| file.take::<1>()[0]).collect()).unwrap();
        let (function, bound) = function(&name);
        let [arity] = file.take();
        let count = file.u32();
        assert!(count > 300, "{name}: {count} records");
        for _ in 0..count {
            let x = file.f64();
            let y = if arity == 2 { file.f64() } else { 0.0 };
            let result = match function {
                Function::One(f) => f(x),
                Function::Two(f) => f(x, y),
            };
            let hi = file.f64();
            let rest = f32::from_le_bytes(file.take());
            let e = i16::from_le_bytes(file.take());
            let error = error(result, hi, rest, e);
            assert!(error <= bound, "{name}({x:e}, {y:e}) = {result:e}, not {hi:e}: {error} ulp, over {bound}");
        }
    }
    assert!(file.0.is_empty());
}
