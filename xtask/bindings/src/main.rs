//! Compares the declarations of the ROCm -sys crates with the official headers: the signature of
//! every function, every constant, every layout. `cargo xtask bindings --check` finds the headers
//! and starts this program. It is a separate package because bindgen takes a while to build.

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
    /// Folders that contain hip/, rocblas/, hipblaslt/, miopen/, rocrand/ and rccl/. A header is
    /// read from the first folder that has it.
    #[arg(long, required = true)]
    include: Vec<PathBuf>,
    /// The folder of the -sys crates.
    #[arg(long)]
    crates: PathBuf,
}

/// A header and the files with our declarations of it.
struct Interface {
    name: &'static str,
    header: &'static str,
    sources: &'static [&'static str],
    language: headers::Language,
}

const INTERFACES: [Interface; 7] = [
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
        name: "hipBLASLt",
        header: "hipblaslt/hipblaslt.h",
        sources: &["hipblaslt-sys/src/lib.rs"],
        language: headers::Language::Cpp,
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
    Interface {
        name: "RCCL",
        header: "rccl/rccl.h",
        sources: &["rccl-sys/src/lib.rs"],
        language: headers::Language::C,
    },
];

fn read(crates: &Path, file: &str) -> Result<Declarations> {
    let path = crates.join(file);
    let text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    declared::read(&text).with_context(|| format!("cannot parse {}", path.display()))
}

fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    // All other interfaces use the streams of HIP.
    let handles = read(&cli.crates, "hip-sys/src/hip.rs")?.aliases;
    let (mut compared, mut wrong) = (0, 0);
    for interface in &INTERFACES {
        let Some(root) = cli.include.iter().find(|root| root.join(interface.header).is_file()) else {
            println!("{:<9} not compared: no folder contains {}", interface.name, interface.header);
            continue;
        };
        let mut ours = Declarations { aliases: handles.clone(), ..Declarations::default() };
        for source in interface.sources {
            ours.add(read(&cli.crates, source)?);
        }
        let theirs = headers::read(&cli.include, interface.header, interface.language, &ours)?;
        let report = compare::compare(&ours, &theirs);
        for mismatch in &report.mismatches {
            println!("{:<9} MISMATCH {mismatch}", interface.name);
        }
        println!(
            "{:<9} {} functions, {} constants, {} layout facts agree with {}{}",
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
        anyhow::bail!("no header was found");
    }
    if wrong > 0 {
        println!("{wrong} declarations differ from the headers; correct them in {}", cli.crates.display());
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
