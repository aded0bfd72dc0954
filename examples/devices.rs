//! Lists every driver of this build, its devices, and the libraries they use: `cargo run --example devices --features cuda,rocm`.

use isobit::{AnyDevice, BackendDevice};

fn main() {
    for status in isobit::drivers() {
        let count = match status.devices {
            Ok(count) => count,
            Err(why) => {
                println!("  {:<14} none: {why}", status.driver);
                continue;
            }
        };
        for ordinal in 0..count {
            let name = format!("{}:{ordinal}", status.driver);
            match AnyDevice::open(&name).and_then(|d| d.info()) {
                Ok(info) => {
                    let gib = info.memory_total as f64 / (1u64 << 30) as f64;
                    println!(
                        "  {name:<14} {} ({}), {} units, {gib:.0} GiB, driver {}",
                        info.name, info.arch, info.multiprocessors, info.driver_version
                    );
                    for library in info.libraries {
                        let path = library.path.unwrap_or_else(|| "path unknown".into());
                        println!("  {:<14}   {} {} ({path})", "", library.name, library.version);
                    }
                }
                Err(why) => println!("  {name:<14} cannot be opened: {why}"),
            }
        }
    }
}
