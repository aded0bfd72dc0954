//! Compares what the -sys crates of ROCm declare with what the official headers say: every
//! function's signature, every constant, every layout. `cargo xtask bindings --check` finds the
//! headers and starts this; it is a package of its own because bindgen takes a while to build.

mod compare;
mod declarations;
mod declared;
mod headers;

use anyhow::{Context, Result};
use clap::Parser;
use declarations::Declarations;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compares the -sys crates with official headers.
#[derive(Parser)]
struct Cli {
    /// Folders that hold hip/, rocblas/, miopen/ and rocrand/; the first that has a header gives
    /// it.
    #[arg(long, required = true)]
    include: Vec<PathBuf>,
    /// The folder of the -sys crates.
    #[arg(long)]
    crates: PathBuf,
}

/// A header and the files that declare what is called of it.
struct Interface {
    name: &'static str,
    header: &'static str,
    sources: &'static [&'static str],
    language: headers::Language,
}

const INTERFACES: [Interface; 5] = [
    Interface {
        name: "HIP",
        header: "hip/hip_runtime_api.h",
        sources: &["hip-sys/src/hip.rs", "hip-sys/src/properties.rs"],
        language: headers::Language::C,
    },
    Interface {
        name: "HIPRTC",
        header: "hip/hiprtc.h",
        sources: &["hip-sys/src/hiprtc.rs"],
        language: headers::Language::C,
    },
    Interface {
        name: "rocBLAS",
        header: "rocblas/rocblas.h",
        sources: &["rocblas-sys/src/lib.rs"],
        language: headers::Language::C,
    },
    Interface {
        name: "MIOpen",
        header: "miopen/miopen.h",
        sources: &["miopen-sys/src/lib.rs"],
        language: headers::Language::Cpp,
    },
    Interface {
        name: "rocRAND",
        header: "rocrand/rocrand.h",
        sources: &["rocrand-sys/src/lib.rs"],
        language: headers::Language::Cpp,
    },
];

fn read(crates: &Path, file: &str) -> Result<Declarations> {
    let path = crates.join(file);
    let text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    declared::read(&text).with_context(|| format!("{} is not understood", path.display()))
}

fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    // Streams are HIP's in every other interface.
    let handles = read(&cli.crates, "hip-sys/src/hip.rs")?.aliases;
    let (mut compared, mut wrong) = (0, 0);
    for interface in &INTERFACES {
        let Some(root) = cli.include.iter().find(|root| root.join(interface.header).is_file()) else {
            println!("{:<8} not compared: {} is in none of the folders", interface.name, interface.header);
            continue;
        };
        let mut ours = Declarations { aliases: handles.clone(), ..Declarations::default() };
        for source in interface.sources {
            ours.add(read(&cli.crates, source)?);
        }
        let theirs = headers::read(&cli.include, interface.header, interface.language, &ours)?;
        let report = compare::compare(&ours, &theirs);
        for mismatch in &report.mismatches {
            println!("{:<8} MISMATCH {mismatch}", interface.name);
        }
        println!(
            "{:<8} {} functions, {} constants, {} layout facts agree with {}{}",
            interface.name,
            report.functions,
            report.constants,
            report.layouts,
            root.join(interface.header).display(),
            report.absent_text(),
        );
        compared += 1;
        wrong += report.mismatches.len();
    }
    if compared == 0 {
        anyhow::bail!("none of the headers was found");
    }
    if wrong > 0 {
        println!("{wrong} declarations differ from the headers: correct them in {}", cli.crates.display());
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
