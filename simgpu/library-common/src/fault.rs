//! The calls of a library that injected faults make fail.

/// Counts a call of the function around it, and returns from it with the status of an injected
/// fault if there is one: `injected!(CUDA, "cublasCreate_v2")`.
#[macro_export]
macro_rules! injected {
    ($vendor:expr, $name:expr) => {
        if let Some(status) = $vendor.injected($name) {
            return status;
        }
    };
}
