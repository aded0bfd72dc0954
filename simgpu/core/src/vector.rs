//! The processor features for which the simulators' fast functions are compiled.

/// Whether this processor has AVX2, FMA, F16C, BMI1, BMI2, LZCNT and POPCNT.
pub fn has_vector_unit() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}
