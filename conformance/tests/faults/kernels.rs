//! Modules, kernels and launches.

use crate::bench::{Action, Bench, Outcome, zeros};
use crate::calls::{CHECKED, Call, Expected};
use crate::row::Row;
use isobit::{
    AnyDevice, BackendDevice as _, BackendStorage as _, ErrorKind, KernelCode, LaunchConfig, Layout, Result, UnaryOp,
};

/// Computes on a device that has not loaded the kernel yet.
fn first_use(device: &AnyDevice) -> Result<Action> {
    let fresh = AnyDevice::open(&device.location().to_string())?;
    let (storage, layout) = (zeros(&fresh, 100)?, Layout::contiguous(100));
    Ok(Box::new(move || storage.unary(&layout, UnaryOp::Sin).map(drop)))
}

fn launch(device: &AnyDevice) -> Result<Action> {
    let (storage, layout) = (zeros(device, 100)?, Layout::contiguous(100));
    storage.unary(&layout, UnaryOp::Neg)?;
    Ok(Box::new(move || storage.unary(&layout, UnaryOp::Neg).map(drop)))
}

/// A device that closes with a loaded module.
fn close(device: &AnyDevice) -> Result<Action> {
    let fresh = AnyDevice::open(&device.location().to_string())?;
    let layout = Layout::contiguous(100);
    zeros(&fresh, 100)?.unary(&layout, UnaryOp::Sin)?;
    Ok(Box::new(move || {
        drop(fresh);
        Ok(())
    }))
}

const PTX: &str = ".version 7.8\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 room[];\n\
                   .visible .entry kernel()\n{\nret;\n}\n";

/// Launches a kernel with more shared memory than every block gets.
fn much_shared_memory(device: &AnyDevice) -> Result<Action> {
    // The module of a new device, whose kernel has asked for nothing yet.
    let fresh = AnyDevice::open(&device.location().to_string())?;
    let kernel = fresh.get_or_load_custom_func("kernel", "room", KernelCode::Ptx(PTX))?;
    let config = LaunchConfig { shared_bytes: 64 << 10, ..LaunchConfig::linear(1, 32) };
    Ok(Box::new(move || {
        // SAFETY: the kernel takes no arguments and does nothing.
        unsafe { isobit::AnyStorage::launch(&kernel, config, &mut []) }
    }))
}

/// Launches a kernel with shared memory.
fn shared_memory(device: &AnyDevice) -> Result<Action> {
    // A new device asks about each kernel once.
    let fresh = AnyDevice::open(&device.location().to_string())?;
    let kernel = fresh.get_or_load_func("neg_f32")?;
    let (x, mut y) = (zeros(&fresh, 100)?, zeros(&fresh, 100)?);
    let config = LaunchConfig { shared_bytes: 1 << 10, ..LaunchConfig::linear(1, 256) };
    Ok(Box::new(move || {
        // SAFETY: the kernel takes a destination, a source and their length.
        unsafe { kernel.builder().arg_mut(&mut y).arg(&x).value(100u64).launch(config) }
    }))
}

const LOAD: [&str; 2] = ["cuModuleLoadDataEx", "hipModuleLoadData"];

pub const CALLS: &[Call] = &[
    Call::new("loading a module", LOAD, "loading a kernel module", first_use),
    Call {
        expected: Expected::One(
            ["CUDA_ERROR_NO_BINARY_FOR_GPU", "hipErrorNoBinaryForGpu"],
            Outcome::Fails(ErrorKind::KernelMissing, "loading a kernel module"),
        ),
        ..Call::new("a module for another device", LOAD, "", first_use)
    },
    Call::new("finding a kernel", ["cuModuleGetFunction", "hipModuleGetFunction"], "finding a kernel", first_use),
    Call {
        expected: Expected::One(
            ["CUDA_ERROR_NOT_FOUND", "hipErrorNotFound"],
            Outcome::Fails(ErrorKind::KernelMissing, "finding a kernel"),
        ),
        ..Call::new(
            "a kernel that its module does not have",
            ["cuModuleGetFunction", "hipModuleGetFunction"],
            "",
            first_use,
        )
    },
    Call::new("a launch", ["cuLaunchKernel", "hipModuleLaunchKernel"], "launching a kernel", launch),
    Call::new(
        "the size of a kernel's shared memory",
        ["cuFuncGetAttribute", "hipFuncGetAttribute"],
        "querying an attribute of a kernel",
        shared_memory,
    ),
    Call::new(
        "a request for shared memory",
        ["cuFuncSetAttribute", ""],
        "requesting more shared memory",
        much_shared_memory,
    ),
];

/// Modules whose code is damaged. The first is a fault of the simulator, in the module of the tree;
/// the others are code that a program brings.
pub fn damaged(bench: &Bench) -> Vec<Row> {
    let load = LOAD[bench.card.vendor];
    let outcome = match bench.card.vendor {
        0 => Outcome::Fails(ErrorKind::KernelMissing, "loading a kernel module"),
        _ => Outcome::Fails(ErrorKind::KernelMissing, "kernel"),
    };
    bench.check(&format!("{load}:1:corrupt"), "", outcome, &first_use);
    let mut rows =
        vec![Row::new("a module without its second half", format!("{load}:1:corrupt"), "KernelMissing", CHECKED)];
    // A module that the closing device cannot unload is left to the driver.
    let unload = ["cuModuleUnload", "hipModuleUnload"][bench.card.vendor];
    let action = close(&bench.device).expect("a second device opens");
    let before = bench.simulator.injected();
    bench.simulator.fail(&format!("{unload}:1:1"));
    action().expect("closing cannot fail");
    bench.simulator.fail("");
    assert!(bench.simulator.injected() > before, "{}: no module is unloaded", bench.card.id);
    bench.works();
    rows.push(Row::new("unloading a module of a closing device", format!("{unload}:1:1"), "works", "call, works"));
    rows.push(own_code(bench));
    rows
}

/// PTX or a code object that ends anywhere, or has any byte changed, is refused or loaded, and
/// nothing else happens.
fn own_code(bench: &Bench) -> Row {
    let load = |bytes: &[u8]| -> Result<()> {
        let text = String::from_utf8_lossy(bytes).replace('\0', " ");
        let code = if bench.card.vendor == 0 { KernelCode::Ptx(&text) } else { KernelCode::Binary(bytes) };
        bench.device.get_or_load_custom_func("kernel", "damaged", code).map(drop)
    };
    let code = if bench.card.vendor == 0 { PTX.as_bytes().to_vec() } else { code_object() };
    if bench.card.vendor == 0 {
        load(&code).expect("the code itself is right");
    }
    let mut refused = 0;
    let mut take = |bytes: &[u8]| match load(bytes) {
        Ok(()) => {}
        Err(e) => {
            let kinds = [ErrorKind::KernelMissing, ErrorKind::InvalidArgument];
            assert!(kinds.contains(&e.kind()), "{}: {e:?}", bench.card.id);
            assert!(e.kernel().is_some_and(|kernel| ["damaged", "kernel"].contains(&kernel)), "{e:?}");
            refused += 1;
        }
    };
    let step = (code.len() / 40).max(1);
    (0..code.len()).step_by(step).for_each(|end| take(&code[..end]));
    for at in (0..code.len()).step_by(step) {
        let mut changed = code.clone();
        changed[at] ^= 0x55;
        take(&changed);
    }
    assert!(refused >= 40, "{}: only {refused} damaged modules are refused", bench.card.id);
    bench.device.synchronize().expect("no error is left");
    bench.works();
    Row::new(
        "a module of the program, cut off or changed at 80 places",
        "PTX or code object",
        "KernelMissing or InvalidArgument",
        "kernel's name, works",
    )
}

/// An AMD code object of version 5, with the headers of one and no code.
fn code_object() -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01\x40\x03".to_vec();
    file.resize(16, 0);
    // ET_DYN, EM_AMDGPU, version 1, no entry, program headers behind this one, no sections.
    file.extend([3, 0, 224, 0, 1, 0, 0, 0]);
    file.extend([0; 8]);
    file.extend(64u64.to_le_bytes());
    file.extend([0; 8]);
    // Flags: gfx90a.
    file.extend(0x53fu32.to_le_bytes());
    file.extend([64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
    // One segment that is the whole file.
    file.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    file.extend([0; 24]);
    file.extend(256u64.to_le_bytes());
    file.extend(256u64.to_le_bytes());
    file.extend(4096u64.to_le_bytes());
    file.resize(256, 0);
    file
}
