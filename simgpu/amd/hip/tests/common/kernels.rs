//! Small kernels, which clang compiles for the tests like a HIP compiler would, and bundles of
//! them.

use std::process::Command;

/// Compiles `source` for a processor.
pub fn compile(source: &str, arch: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder for the kernel");
    let (input, output) = (folder.path().join("kernel.hip"), folder.path().join("kernel.co"));
    std::fs::write(&input, source).expect("the kernel is written");
    let flags = ["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpuinc", "-nogpulib", "-O2"];
    let mut errors = Vec::new();
    for clang in
        std::env::var("ISOBIT_CLANG").into_iter().chain(["clang-19", "clang-20", "clang-21", "clang"].map(String::from))
    {
        let mut command = Command::new(&clang);
        command.args(flags).arg(format!("--offload-arch={arch}")).arg(&input).arg("-o").arg(&output);
        match command.output() {
            Ok(run) if run.status.success() => return std::fs::read(&output).expect("clang wrote the code"),
            Ok(run) => errors.push(format!("{clang}: {}", String::from_utf8_lossy(&run.stderr))),
            Err(error) => errors.push(format!("{clang}: {error}")),
        }
    }
    panic!("no clang compiles the kernel for {arch}; set ISOBIT_CLANG:\n{}", errors.join("\n"));
}

/// Bundles code objects by processor, in the format of clang-offload-bundler.
pub fn bundle(objects: &[(&str, &[u8])]) -> Vec<u8> {
    let mut image = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    image.extend((objects.len() as u64).to_le_bytes());
    let name = |arch: &str| format!("hipv4-amdgcn-amd-amdhsa--{arch}");
    let list: usize = objects.iter().map(|(arch, _)| 24 + name(arch).len()).sum();
    let mut at = (image.len() + list).next_multiple_of(4096);
    let mut places = Vec::new();
    for (arch, code) in objects {
        for number in [at, code.len(), name(arch).len()] {
            image.extend((number as u64).to_le_bytes());
        }
        image.extend(name(arch).as_bytes());
        places.push(at);
        at = (at + code.len()).next_multiple_of(4096);
    }
    for ((_, code), place) in objects.iter().zip(places) {
        image.resize(place, 0);
        image.extend(*code);
    }
    image
}

/// The source of the test kernels. `linear` writes three numbers per thread; `scale` needs dynamic
/// shared memory and a barrier; `limited` only accepts small blocks; `counter` is a variable.
pub const SOURCE: &str = r#"
#define KERNEL extern "C" __attribute__((global))
typedef unsigned int u32;
__attribute__((device)) u32 counter = 7;

KERNEL void linear(u32* out, u32 n, unsigned char step, unsigned long long bias) {
    u32 i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
    if (i < n) out[i] = i * step + (u32)bias;
}

KERNEL void add_one(u32* data, u32 n) {
    u32 i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
    if (i < n) data[i] = data[i] + 1;
}

KERNEL __attribute__((amdgpu_flat_work_group_size(1, 64))) void limited(u32* out) {
    out[__builtin_amdgcn_workitem_id_x()] = counter;
}

KERNEL void nothing() {}
"#;
