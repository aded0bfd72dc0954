//! Loading and launching: valid and invalid PTX, variables, kernel attributes, and launch shapes.

use crate::common::{Card, main_with, module};
use isobit_simgpu_core::finding::FindingKind;
use isobit_simgpu_core::memory::Memory;
use isobit_simgpu_nvidia::arch::Arch;
use isobit_simgpu_nvidia::module::{Argument, LoadError, Module};
use std::sync::Arc;

fn load(arch: Arch, image: &[u8]) -> Result<Module, LoadError> {
    Module::load(arch, 0, &Arc::new(Memory::new(1 << 24).expect("addresses")), image)
}

fn refused(ptx: &str) -> LoadError {
    load(Arch::Sm80, ptx.as_bytes()).expect_err("an error")
}

#[test]
fn images_that_are_no_ptx() {
    for image in
        [b"\x7fELF\x02\x01".as_slice(), b"\x50\xed\x55\xba\x01\x00", b"", b"\0\0\0", b".version \xff\xfe", b" \n\t "]
    {
        let error = load(Arch::Sm80, image).expect_err("no PTX");
        assert!(matches!(error, LoadError::NotPtx(_)), "{image:?}: {error}");
    }
    // A driver gets text that ends with a NUL.
    let text = format!("{}\0garbage \u{7f}", module(".entry k() { ret; }"));
    assert!(load(Arch::Sm80, text.as_bytes()).expect("a module").kernel("k").is_some());
}

#[test]
fn versions_and_targets() {
    let text = |version: &str, target: &str| {
        format!(".version {version}\n.target {target}\n.address_size 64\n.visible .entry k() {{ ret; }}")
    };
    for (version, target) in [("6.3", "sm_70"), ("7.0", "sm_80"), ("8.5", "sm_90"), ("9.0", "sm_90a"), ("9.5", "sm_75")]
    {
        let loaded = load(Arch::Sm90, text(version, target).as_bytes()).unwrap_or_else(|e| panic!("{version}: {e}"));
        let digits: String = target.chars().filter(char::is_ascii_digit).collect();
        assert_eq!(loaded.kernel("k").expect("the kernel").ptx_version.to_string(), digits);
    }
    let newer = |card: Arch, target: u32| LoadError::WrongArch { card, target };
    assert_eq!(load(Arch::Sm75, text("7.8", "sm_80").as_bytes()).unwrap_err(), newer(Arch::Sm75, 80));
    assert_eq!(load(Arch::Sm80, text("8.0", "sm_90a").as_bytes()).unwrap_err(), newer(Arch::Sm80, 90));
    assert_eq!(load(Arch::Sm90, text("9.0", "sm_100f").as_bytes()).unwrap_err(), newer(Arch::Sm90, 100));
    assert!(matches!(load(Arch::Sm90, text("10.0", "sm_90").as_bytes()), Err(LoadError::Invalid(_))));
}

#[test]
fn what_is_not_known_is_named_with_its_line_and_its_kernel() {
    let kernel = |body: &str| module(&format!(".visible .entry k()\n{{\n.reg .b32 %r<9>;\n{body}\nret;\n}}"));
    for (body, why) in [
        ("frobnicate.u32 %r1, %r2;", "line 7, in k: the instruction frobnicate is not simulated"),
        ("bra.uni.odd L;\nL:", "line 7, in k: the modifier .odd is not supported here"),
        ("bar.sync.wide 0;", "line 7, in k: bar.sync.wide: the modifier .wide is not supported here"),
        ("bar.red.popc.f32 %r1, 0, %r2;", "line 7, in k: bar.red.popc.f32: "),
    ] {
        let error = refused(&kernel(body)).to_string();
        assert!(error.starts_with(why), "{error}");
    }
}

#[test]
fn variables_of_modules_and_functions() {
    let ptx = main_with(
        "",
        "
    .global .u32 own[2] = { 300, 400 };
    ld.global.u32 %r1, [values+4];
    ld.const.u32 %r2, [fixed];
    ld.global.u32 %r3, [own+4];
    ld.global.u64 %rd1, [pointer];
    ld.global.u32 %r4, [%rd1];
    ld.global.u32 %r5, [zeros];
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    add.u32 %r1, %r1, %r4;
    add.u32 %r1, %r1, %r5;
    st.global.u32 [%out], %r1;
    ret;",
    )
    .replace(
        ".visible .entry",
        "
.visible .global .u32 values[3] = { 1, 20, 3000 };
.visible .const .align 4 .u32 fixed = 50000;
.visible .global .u64 pointer = values+8;
.visible .global .u32 zeros[100];
.visible .entry",
    );
    let card = Card::new(Arch::Sm80, ptx.as_bytes());
    let out = card.upload(&[0u32; 32]);
    assert_eq!(card.findings("main", 1, 32, &[out]), []);
    assert_eq!(card.download::<u32>(out, 32), [20 + 50_000 + 400 + 3000; 32]);
    let (values, bytes) = card.module.global("values").expect("the variable");
    assert_eq!((bytes, card.download::<u32>(values, 3)), (12, vec![1, 20, 3000]));
    assert_eq!(card.download::<u64>(card.module.global("pointer").expect("the variable").0, 1), [values + 8]);
    assert_eq!(card.module.global("zeros").expect("the variable").1, 400);
    assert_eq!((card.module.global("own"), card.module.global("main")), (None, None));
    // The variables are freed with the module and its kernels.
    let Card { module, device, gpu } = card;
    let kernel = module.kernel("main");
    drop((module, gpu));
    assert!(device.memory.find(values).is_some());
    drop(kernel);
    assert!(device.memory.find(values).is_none());
}

#[test]
fn accesses_beside_variables_are_found_by_their_names() {
    let ptx = main_with(
        "",
        "
    ld.global.u32 %r1, [values+12];
    mov.u64 %rd1, fixed;
    st.global.u32 [%rd1], %r1;
    ret;",
    )
    .replace(".visible .entry", ".global .u32 values[3];\n.const .u32 fixed = 5;\n.visible .entry");
    let card = Card::new(Arch::Sm80, ptx.as_bytes());
    let found = card.findings("main", 1, 1, &[0]);
    assert!(found.iter().all(|f| f.kind == FindingKind::OutOfBounds), "{found:?}");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].buffer.contains("(values)") && found[0].offset == 12, "{found:?}");
    assert!(found[1].buffer.contains("(fixed)") && found[1].message.contains("only read"), "{found:?}");
}

#[test]
fn variables_that_nothing_defines() {
    let ptx = main_with("", "ld.global.u32 %r1, [elsewhere]; ret;");
    let ptx = ptx.replace(".visible .entry", ".extern .global .u32 elsewhere;\n.visible .entry");
    assert_eq!(refused(&ptx), LoadError::Unresolved("elsewhere".into()));
    let ptx = module(".global .u64 pointer = generic(elsewhere);\n.extern .global .u32 elsewhere;\n");
    assert_eq!(refused(&ptx), LoadError::Unresolved("elsewhere".into()));
}

#[test]
fn shared_memory_of_the_launch_comes_behind_that_of_the_kernel() {
    let ptx = main_with(
        ".shared .align 1 .b8 own[5];",
        "
    mov.u32 %r1, dynamic;
    mov.u32 %r2, %dynamic_smem_size;
    mad.lo.u32 %r3, %r2, 1000, %r1;
    mad.lo.u32 %r4, %t, 4, %r1;
    st.shared.u32 [%r4], %r3;
    st.shared.u8 [own+4], 1;
    ld.shared.u32 %r5, [%r4];
    st.global.u32 [%out], %r5;
    ret;",
    );
    let ptx = ptx
        .replace(".visible .entry", ".extern .shared .align 16 .b8 dynamic[];\n.shared .u64 unused;\n.visible .entry");
    let card = Card::new(Arch::Sm80, ptx.as_bytes());
    let kernel = card.module.kernel("main").expect("the kernel");
    assert_eq!(kernel.shared_bytes, 16);
    let out = card.upload(&[0u32; 32]);
    let run = |bytes: u32| {
        card.gpu.launch(&kernel, [1; 3], [32, 1, 1], bytes, &out.to_le_bytes()).map(|()| card.findings.take())
    };
    assert_eq!(run(128).expect("a launch"), []);
    assert_eq!(card.download::<u32>(out, 32), [128_016; 32]);
    let found = run(124).expect("a launch");
    assert!(found.iter().all(|f| f.kind == FindingKind::OutOfBounds && f.offset == 140), "{found:?}");
    let most = Arch::Sm80.shared_bytes();
    assert!(run(most - 16).is_ok());
    assert!(run(most).expect_err("too much").to_string().contains("bytes of shared memory"));
}

#[test]
fn attributes_of_kernels() {
    let ptx = module(
        ".visible .entry a(.param .u8 x, .param .u64 y, .param .align 8 .b8 z[12]) .maxntid 64, 2, 1 { ret; }
.visible .entry b() .reqntid 8, 4 { ret; }
.visible .entry c() { ret; }",
    );
    let card = Card::new(Arch::Sm90, ptx.as_bytes());
    let kernel = |name: &str| card.module.kernel(name).expect("the kernel");
    let places: Vec<Argument> = [(0, 1), (8, 8), (16, 12)].map(|(offset, bytes)| Argument { offset, bytes }).to_vec();
    assert_eq!((kernel("a").arguments.clone(), kernel("a").argument_bytes()), (places, 28));
    assert_eq!((kernel("a").max_threads, kernel("a").required_threads), (128, None));
    assert_eq!((kernel("b").max_threads, kernel("b").required_threads), (32, Some([8, 4, 1])));
    assert_eq!((kernel("c").max_threads, kernel("c").argument_bytes()), (1024, 0));
    assert_eq!(card.module.kernels().count(), 3);

    let launch = |name: &str, grid: [u32; 3], block: [u32; 3]| card.gpu.launch(&kernel(name), grid, block, 0, &[]);
    let one = [1; 3];
    assert!(launch("a", one, [128, 1, 1]).is_ok());
    assert!(launch("b", one, [8, 4, 1]).is_ok());
    assert!(launch("c", [2, 3, 4], [1, 2, 64]).is_ok());
    for (name, grid, block, why) in [
        ("a", one, [129, 1, 1], "a: a block of 129 threads exceeds the maximum of 128"),
        ("b", one, [32, 1, 1], "b: a block of [32, 1, 1] threads, but the kernel requires [8, 4, 1]"),
        ("c", one, [1025, 1, 1], "c: a block of [1025, 1, 1] threads exceeds the maximum of [1024, 1024, 64]"),
        ("c", one, [1, 1, 65], "c: a block of [1, 1, 65] threads exceeds the maximum of [1024, 1024, 64]"),
        ("c", one, [512, 3, 1], "c: a block of 1536 threads exceeds the maximum of 1024"),
        ("c", [0, 1, 1], one, "c: a grid of [0, 1, 1] blocks of [1, 1, 1] threads is empty"),
        ("c", [1, 65_536, 1], one, "c: a grid of [1, 65536, 1] blocks"),
        ("c", [u32::MAX, 1, 1], one, "c: a grid of [4294967295, 1, 1] blocks"),
        ("c", [1 << 30, 1 << 15, 1], one, "c: a grid of [1073741824, 32768, 1] blocks"),
    ] {
        let error = launch(name, grid, block).expect_err(why).to_string();
        assert!(error.starts_with(why), "{error}");
    }
}

#[test]
fn arguments_that_are_not_given_read_as_zero() {
    let ptx = module(
        ".visible .entry k(.param .u64 out, .param .u32 a, .param .u32 b)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [a];
    ld.param.u32 %r2, [b];
    mad.lo.u32 %r1, %r1, 100, %r2;
    st.global.u32 [%rd1], %r1;
    ret;
}",
    );
    let card = Card::new(Arch::Sm75, ptx.as_bytes());
    let kernel = card.module.kernel("k").expect("the kernel");
    let out = card.uninitialised(4);
    let all: Vec<u8> = out.to_le_bytes().into_iter().chain([7, 0, 0, 0, 9, 0, 0, 0]).collect();
    for (given, expected) in [(16, 709), (12, 700), (8, 0), (16, 709)] {
        card.gpu.launch(&kernel, [1; 3], [1; 3], 0, &all[..given]).expect("a launch");
        assert_eq!(card.download::<u32>(out, 1), [expected]);
    }
}
