//! Lists every driver of this build and its devices without opening them; then opens each device
//! and prints its capabilities and libraries: `cargo run --example devices --features cuda,rocm`.
//! The same program runs on a simulated GPU if `LD_LIBRARY_PATH` (and `ROCM_PATH`) are set as in
//! `docs/simulated-gpus.md`.

use isobit::{AnyDevice, BackendDevice, DeviceInfo};

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

/// Prints the information that only an open device has.
fn tell(info: &DeviceInfo) {
    println!("      driver {}, {:.1} GiB free", info.driver_version, gib(info.memory_free));
    let can = info.capabilities;
    let all = [
        ("concurrent streams", can.concurrent_streams),
        ("graphs", can.graphs),
        ("asynchronous copies", can.async_copies),
        ("kernels at run time", can.runtime_compile),
        ("vendor matmul", can.vendor_matmul),
        ("vendor convolutions", can.vendor_conv),
        ("vendor attention", can.vendor_attention),
        ("vendor random numbers", can.vendor_random),
    ];
    let there: Vec<_> = all.iter().filter(|(_, there)| *there).map(|(name, _)| *name).collect();
    println!("      {}", if there.is_empty() { "operations only".into() } else { there.join(", ") });
    for library in &info.libraries {
        println!("      {} {} ({})", library.name, library.version, library.path.as_deref().unwrap_or("path unknown"));
    }
}

fn main() {
    for status in isobit::drivers() {
        match status.devices {
            Ok(count) => println!("{:<6} {count} found", status.driver),
            Err(why) => println!("{:<6} none: {why}", status.driver),
        }
    }
    for found in isobit::enumerate() {
        let (name, info) = (found.location.to_string(), found.info);
        let capability = info.compute_capability.map_or(String::new(), |c| format!(", {c}"));
        let (units, memory) = (info.multiprocessors, gib(info.memory_total));
        println!("  {name}: {} ({}{capability}), {units} units, {memory:.0} GiB", info.name, info.arch);
        match AnyDevice::open(&name).and_then(|device| device.info()) {
            Ok(info) => tell(&info),
            Err(why) => println!("      cannot be opened: {why}"),
        }
    }
}
