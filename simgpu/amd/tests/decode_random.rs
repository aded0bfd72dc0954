//! Random words that no compiler generated: the decoder rejects them or gives the same text as
//! LLVM, and never panics.

mod llvm;

use isobit_simgpu_amd::isa::{Arch, decode};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes for any instruction: a VOP3 with a literal or a permutation has 12.
type Code = [u8; 16];

/// A generator with a fixed seed: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns true with a probability of one in `times`.
    fn once_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[(self.next() % values.len() as u64) as usize]
    }

    fn code(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }
}

/// Returns the encodings: the leading bits of the first word, and their number. VOP2 contains VOP1
/// and VOPC, SOP2 the other scalar ones.
fn encodings(arch: Arch) -> Vec<(u32, u32)> {
    let scalar = [(0x8000_0000, 2), (0xb000_0000, 4), (0xbe80_0000, 9), (0xbf00_0000, 9), (0xbf80_0000, 9)];
    let vector = [(0x7e00_0000, 7), (0x7c00_0000, 7), (0, 1)];
    let memory = [(0xd800_0000, 6), (0xdc00_0000, 6), (0xe000_0000, 6)];
    let own: &[(u32, u32)] = if arch.is_gfx9() {
        &[(0xc000_0000, 6), (0xd000_0000, 6), (0xd380_0000, 9)] // SMEM, VOP3, VOP3P
    } else {
        // SMEM, VOP3 and VOP3P as above, and VOPD
        &[(0xf400_0000, 6), (0xd400_0000, 6), (0xcc00_0000, 9), (0xc800_0000, 6)]
    };
    [&scalar[..], &vector, &memory, own].concat()
}

/// Codes of sources that are rare in random words: literal, permutations, parts, constants, and the
/// special registers.
const SOURCES: [u32; 18] =
    [0xff, 0xfa, 0xf9, 0xe9, 0xea, 0x7c, 0x7d, 0x7e, 0x7f, 0x6a, 0x6c, 0x66, 0xf8, 0xf0, 0xf2, 0xc1, 0x80, 0xfd];

/// Literals that equal constants of some type, or almost.
const LITERALS: [u32; 20] = [
    0x3f00_0000,
    0xbf80_0000,
    0x4000_0000,
    0x3e22_f983,
    0x3ff0_0000,
    0x3f80,
    0x3e22,
    0x3c00,
    0xb800,
    0x3118,
    0x3c00_3c00,
    0,
    0x10,
    64,
    65,
    0xffff_fff0,
    0xffff_ffef,
    0xfff0,
    0xffff,
    0x8000_0000,
];

/// Returns a word of an encoding. Fields are random, sometimes with few set bits, or with a code or
/// literal from the lists above.
fn word(random: &mut Random, (head, bits): (u32, u32)) -> Code {
    let mut code = random.code();
    if random.once_in(3) {
        code &= random.code();
    }
    if random.once_in(3) {
        code &= random.code();
    }
    let mut put = |low: u32, width: u32, value: u32| {
        let mask = ((1u128 << width) - 1) << low;
        code = code & !mask | u128::from(value) << low;
    };
    let long = head >> 30 == 3;
    if random.once_in(4) {
        let is_vector = head == 0 || matches!(head >> 24, 0x7c | 0x7e);
        put(if long { 32 } else { 0 }, if long || is_vector { 9 } else { 8 }, random.one_of(&SOURCES));
    }
    if random.once_in(4) {
        put(if long { 41 } else { 8 }, if long { 9 } else { 8 }, random.one_of(&SOURCES));
    }
    if random.once_in(4) {
        put(48, 7, random.one_of(&[0x7f, 0x7e, 0x7d, 0x7c, 0x6a]));
    }
    if random.once_in(3) {
        put(if long { 64 } else { 32 }, 32, random.one_of(&LITERALS));
    }
    put(32 - bits, bits, head >> (32 - bits));
    code.to_le_bytes()
}

/// Returns words of a target that the decoder accepts, each with its text; `of_each` for every
/// encoding.
fn accepted(arch: Arch, of_each: usize) -> Vec<(Vec<u8>, String)> {
    let mut random = Random(2026);
    let mut out = Vec::new();
    for encoding in encodings(arch) {
        let mut tries = 0;
        for _ in 0..of_each {
            let (code, inst) = loop {
                tries += 1;
                assert!(tries < 1000 * of_each, "{} accepts hardly any word of {encoding:x?}", arch.name());
                let code = word(&mut random, encoding);
                if let Ok(inst) = decode(arch, &code) {
                    break (code, inst);
                }
            };
            out.push((code[..usize::from(inst.size)].to_vec(), inst.display(arch).to_string()));
        }
    }
    out
}

/// Returns LLVM's text for each code. It is one line if an instruction takes the whole code,
/// otherwise it is empty or has several lines.
fn disassembled(arch: Arch, codes: impl Iterator<Item = Vec<u8>>) -> Vec<String> {
    // The separator between two codes: an instruction that is not a code of the sample.
    const BETWEEN: (&str, &str) = ("[0x7b,0x7b,0x80,0xbf]", "s_nop 0x7b7b");
    let mut input = String::new();
    for code in codes {
        let bytes: Vec<String> = code.iter().map(|byte| format!("{byte:#04x}")).collect();
        writeln!(input, "[{}]\n{}", bytes.join(","), BETWEEN.0).expect("a string takes all text");
    }
    let file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    std::fs::write(file.path(), input).expect("a temporary file can be written");
    let path = file.path().to_str().expect("the path of a temporary file is text");
    let cpu = format!("--mcpu={}", arch.name());
    let output = llvm::run("llvm-mc", &["--disassemble", "--triple=amdgcn-amd-amdhsa", &cpu, path]);
    let text = String::from_utf8(output.stdout).expect("llvm-mc writes UTF-8");
    let mut out = vec![String::new()];
    for line in text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")) {
        match line.as_str() {
            "" => {}
            line if line.starts_with('.') => {}
            line if line == BETWEEN.1 => out.push(String::new()),
            line => {
                let last = out.last_mut().expect("there is always a last");
                last.push_str(if last.is_empty() { "" } else { " ; " });
                last.push_str(line);
            }
        }
    }
    assert_eq!(out.pop().as_deref(), Some(""), "llvm-mc ended early: {}", String::from_utf8_lossy(&output.stderr));
    out
}

#[test]
fn accepted_words_are_what_llvm_says() {
    if !llvm::is_there() {
        return;
    }
    for arch in Arch::ALL {
        let sample = accepted(arch, 2000);
        let expected = disassembled(arch, sample.iter().map(|(code, _)| code.clone()));
        assert_eq!(sample.len(), expected.len(), "LLVM has a text for every code");
        let mut differences = Vec::new();
        for ((code, found), expected) in sample.iter().zip(&expected) {
            // LLVM writes an offset of zero next to an offset register if the bit for an offset is
            // set; the address is the same.
            if *found != expected.replace(" offset:0x0", "") {
                differences.push(format!("{code:02x?}: LLVM {expected:?}, the decoder {found:?}"));
            }
        }
        println!("{}: {} random words have the same text as LLVM's", arch.name(), sample.len() - differences.len());
        let count = differences.len();
        differences.truncate(20);
        assert!(count == 0, "{}: {count} of {}:\n{}", arch.name(), sample.len(), differences.join("\n"));
    }
}

#[test]
fn no_bytes_make_it_panic() {
    const WORDS: u64 = 1_000_000;
    let taken = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for arch in Arch::ALL {
            let taken = &taken;
            scope.spawn(move || {
                let (mut random, encodings) = (Random(arch as u64), encodings(arch));
                for count in 0..WORDS {
                    let code = match count % 2 {
                        0 => random.code().to_le_bytes(),
                        _ => word(&mut random, encodings[count as usize / 2 % encodings.len()]),
                    };
                    // Try whole codes, and codes that are cut off at any position.
                    let end = if count % 8 < 6 { code.len() } else { (random.next() % 16) as usize };
                    match decode(arch, &code[..end]) {
                        Ok(inst) => {
                            assert!(usize::from(inst.size) <= end, "{}: {code:02x?} ends within", arch.name());
                            assert!(!inst.display(arch).to_string().is_empty());
                            taken.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => assert!(!error.what.is_empty(), "an error says what is wrong"),
                    }
                }
            });
        }
    });
    let taken = taken.into_inner();
    println!("{} random codes, of which {taken} are instructions", 3 * WORDS);
    assert!(taken > WORDS / 2, "only {taken} codes are instructions: the words are not those of the encodings");
}

/// Returns the number of matrix instructions that LLVM knows for a target.
fn matrix_instructions(arch: Arch) -> usize {
    match arch {
        Arch::Gfx90a => 27,
        Arch::Gfx942 => 46,
        Arch::Gfx1100 => 6,
    }
}

#[test]
fn matrix_instructions_are_what_llvm_says() {
    if !llvm::is_there() {
        return;
    }
    for arch in Arch::ALL {
        let mut random = Random(2511);
        let (mut sample, mut mnemonics) = (Vec::new(), BTreeSet::new());
        for opcode in 0..128 {
            let head = if arch.is_gfx9() { 0xd380_0000 } else { 0xcc00_0000 };
            for _ in 0..500 {
                let code = word(&mut random, (head | opcode << 16, 16));
                let Ok(inst) = decode(arch, &code) else { continue };
                if ["v_mfma_", "v_smfmac_", "v_wmma_"].iter().any(|kind| inst.name.starts_with(kind)) {
                    mnemonics.insert(inst.mnemonic);
                    sample.push((code[..usize::from(inst.size)].to_vec(), inst.display(arch).to_string()));
                }
            }
        }
        assert_eq!(mnemonics.len(), matrix_instructions(arch), "{}: {mnemonics:?}", arch.name());
        let expected = disassembled(arch, sample.iter().map(|(code, _)| code.clone()));
        for ((code, found), expected) in sample.iter().zip(&expected) {
            assert_eq!(found, expected, "{}: {code:02x?}", arch.name());
        }
        println!("{}: {} random matrix instructions have the same text as LLVM's", arch.name(), sample.len());
    }
}
