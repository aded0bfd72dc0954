//! What is changed in candle's crates. Each edit names a text that occurs a known number of times;
//! if it does not, candle has changed there, and nothing is written.

use super::Crate;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::Path;

/// One edit.
#[derive(Debug)]
pub struct Edit {
    file: &'static str,
    what: What,
}

#[derive(Debug)]
enum What {
    /// Each occurrence of a text is replaced by another.
    Replace { text: &'static str, times: usize, with: &'static str },
    /// A file of `integrations/candle` is inserted after the line that ends with a text.
    Insert { after: &'static str, file: &'static str },
    /// The file is given another name.
    Rename { to: &'static str },
    /// A file or folder of `integrations/candle` takes this place.
    Place { from: &'static str },
    /// A text is added at the end.
    Append { text: &'static str },
    /// A file of tests for the CPU is copied, with the device instead of the CPU.
    MoveToDevice { to: &'static str },
}

const fn replace(file: &'static str, text: &'static str, times: usize, with: &'static str) -> Edit {
    Edit { file, what: What::Replace { text, times, with } }
}

/// Turns off the code that needs NVIDIA's own CUDA: the feature `cuda` means Isobit's backend.
const fn without_cudarc(file: &'static str, times: usize) -> Edit {
    replace(file, "feature = \"cuda\"", times, "feature = \"nvidia-cuda\"")
}

const fn insert(file: &'static str, after: &'static str, from: &'static str) -> Edit {
    Edit { file, what: What::Insert { after, file: from } }
}

const fn place(file: &'static str, from: &'static str) -> Edit {
    Edit { file, what: What::Place { from } }
}

const fn on_device(file: &'static str, to: &'static str) -> Edit {
    Edit { file, what: What::MoveToDevice { to } }
}

/// Features that no manifest declares are not warned about, nor imports for them: they are
/// NVIDIA's.
const LINTS: &str = "\n[lints.rust]\nunexpected_cfgs = \"allow\"\nunused_imports = \"allow\"\n";

/// The edits of candle-core.
pub const CORE: &[Edit] = &[
    replace("Cargo.toml", "\ncuda = [", 1, "\nnvidia-cuda = ["),
    replace("Cargo.toml", "\ncudnn = [", 1, "\nnvidia-cudnn = ["),
    replace("Cargo.toml", "    \"cuda\",", 3, "    \"nvidia-cuda\","),
    replace(
        "Cargo.toml",
        "\n[features]\n",
        1,
        "\n[features]\ncuda = [\"dep:isobit-candle-glue\"]\ncudnn = [\"cuda\"]\n",
    ),
    replace(
        "Cargo.toml",
        "\n[dependencies.half]\n",
        1,
        "\n[dependencies.isobit-candle-glue]\npath = \"{glue}\"\noptional = true\n\n[dependencies.half]\n",
    ),
    Edit { file: "Cargo.toml", what: What::Append { text: LINTS } },
    without_cudarc("src/lib.rs", 3),
    replace("src/lib.rs", "feature = \"cudnn\"", 1, "feature = \"nvidia-cudnn\""),
    without_cudarc("src/sort.rs", 2),
    without_cudarc("src/safetensors.rs", 4),
    replace(
        "src/safetensors.rs",
        "\"CUDA support not compiled\".to_string()",
        2,
        "format!(\"Isobit has no dtype {}: load it on the CPU\", dtype.as_str())",
    ),
    without_cudarc("src/quantized/mod.rs", 6),
    // Tests of cudarc itself; `proofs` has them for Isobit.
    without_cudarc("tests/tensor_tests.rs", 3),
    Edit { file: "src/dummy_cuda_backend.rs", what: What::Rename { to: "src/no_cuda_backend.rs" } },
    place("src/dummy_cuda_backend.rs", "core/chosen_backend.rs"),
    place("src/isobit_backend", "core/backend"),
    Edit { file: "src/quantized/dummy_cuda.rs", what: What::Rename { to: "src/quantized/no_cuda.rs" } },
    place("src/quantized/dummy_cuda.rs", "core/chosen_quantized.rs"),
    place("src/quantized/isobit.rs", "core/quantized.rs"),
    insert("src/sort.rs", "impl crate::CustomOp1 for ArgSort {", "fragments/argsort.rs"),
];

/// The edits of candle-nn.
pub const NN: &[Edit] = &[
    Edit { file: "Cargo.toml", what: What::Append { text: LINTS } },
    without_cudarc("src/ops.rs", 4),
    without_cudarc("src/rotary_emb.rs", 3),
    replace("src/moe.rs", "cfg(feature = \"cuda\")", 3, "cfg(feature = \"nvidia-cuda\")"),
    insert("src/moe.rs", "pub mod cutile;", "fragments/moe.rs"),
    place("src/moe/isobit.rs", "nn/moe.rs"),
    insert("src/ops.rs", "impl candle::CustomOp1 for Sigmoid {", "fragments/sigmoid.rs"),
    insert("src/ops.rs", "impl candle::CustomOp1 for SoftmaxLastDim {", "fragments/softmax_last_dim.rs"),
    insert("src/ops.rs", "impl candle::CustomOp2 for RmsNorm {", "fragments/rms_norm.rs"),
    insert("src/ops.rs", "impl candle::CustomOp3 for LayerNorm {", "fragments/layer_norm.rs"),
    insert("src/rotary_emb.rs", "impl candle::CustomOp3 for RotaryEmbI {", "fragments/rope_i.rs"),
    insert("src/rotary_emb.rs", "impl candle::CustomOp3 for RotaryEmb {", "fragments/rope.rs"),
    insert("src/rotary_emb.rs", "impl candle::CustomOp3 for RotaryEmbThd {", "fragments/rope_thd.rs"),
    Edit { file: "Cargo.toml", what: What::Append { text: TESTS } },
    on_device("tests/batch_norm.rs", "tests/batch_norm_on_device.rs"),
    on_device("tests/group_norm.rs", "tests/group_norm_on_device.rs"),
    on_device("tests/kv_cache.rs", "tests/kv_cache_on_device.rs"),
    on_device("tests/layer_norm.rs", "tests/layer_norm_on_device.rs"),
    on_device("tests/loss.rs", "tests/loss_on_device.rs"),
    on_device("tests/one_hot.rs", "tests/one_hot_on_device.rs"),
    on_device("tests/optim.rs", "tests/optim_on_device.rs"),
    on_device("tests/rnn.rs", "tests/rnn_on_device.rs"),
];

/// Where a test of candle-nn names the CPU, and what stands there for the device.
const CPU: &str = "Device::Cpu";
const DEVICE: &str = "Device::new_cuda(0)?";

/// The tests that are moved to the device: the manifest names each test.
const TESTS: &str = r#"
[[test]]
name = "batch_norm_on_device"
path = "tests/batch_norm_on_device.rs"

[[test]]
name = "group_norm_on_device"
path = "tests/group_norm_on_device.rs"

[[test]]
name = "kv_cache_on_device"
path = "tests/kv_cache_on_device.rs"

[[test]]
name = "layer_norm_on_device"
path = "tests/layer_norm_on_device.rs"

[[test]]
name = "loss_on_device"
path = "tests/loss_on_device.rs"

[[test]]
name = "one_hot_on_device"
path = "tests/one_hot_on_device.rs"

[[test]]
name = "optim_on_device"
path = "tests/optim_on_device.rs"

[[test]]
name = "rnn_on_device"
path = "tests/rnn_on_device.rs"
"#;

/// The licences of candle require that a changed file says so.
const NOTICE: &str = "Changed by `cargo xtask candle` of Isobit: see integrations/candle there.";

/// Makes all edits of a crate in its folder, or none.
pub fn apply(of: &Crate, folder: &Path, isobit: &Path) -> Result<()> {
    let mine = isobit.join("integrations/candle");
    let mut changed = BTreeMap::new();
    for edit in of.edits {
        changed_by(edit, folder, &mine, &mut changed).with_context(|| format!("{} does not fit", of.name))?;
    }
    let glue = mine.join("glue");
    for (file, text) in changed {
        let mark = if file.ends_with(".toml") { "#" } else { "//" };
        let text = text.replace("{glue}", &glue.to_string_lossy());
        super::sources::write_changed(&folder.join(file), format!("{mark} {NOTICE}\n{text}").as_bytes())?;
    }
    for edit in of.edits {
        let to = folder.join(edit.file);
        match edit.what {
            What::Rename { to: name } => std::fs::rename(&to, folder.join(name))?,
            What::Place { from } if mine.join(from).is_dir() => super::sources::mirror(&mine.join(from), &to)?,
            What::Place { from } => super::sources::write_changed(&to, &std::fs::read(mine.join(from))?)?,
            What::MoveToDevice { to: name } => {
                let moved = std::fs::read_to_string(&to)?.replace(CPU, DEVICE);
                super::sources::write_changed(&folder.join(name), format!("// {NOTICE}\n{moved}").as_bytes())?;
            }
            What::Replace { .. } | What::Insert { .. } | What::Append { .. } => {}
        }
    }
    Ok(())
}

/// Returns the edits that do not fit, each with the reason.
pub fn misfits(of: &Crate, folder: &Path) -> Vec<anyhow::Error> {
    let mine = crate::shell::root().join("integrations/candle");
    let mut changed = BTreeMap::new();
    of.edits.iter().filter_map(|edit| changed_by(edit, folder, &mine, &mut changed).err()).collect()
}

/// Makes an edit of a text in memory, and checks that the file of any other edit exists.
fn changed_by(edit: &Edit, folder: &Path, mine: &Path, changed: &mut BTreeMap<&'static str, String>) -> Result<()> {
    let file = folder.join(edit.file);
    match edit.what {
        What::Place { .. } => return Ok(()),
        What::Rename { .. } => {
            ensure!(file.exists(), "{}: there is no such file", edit.file);
            return Ok(());
        }
        _ => {}
    }
    let text = match changed.get(edit.file) {
        Some(text) => text.clone(),
        None => std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?,
    };
    let count = |anchor: &str, times: usize| match text.matches(anchor).count() {
        found if found == times => Ok(()),
        found => bail!("{}: `{}` is there {found} times, not {times}", edit.file, anchor.trim()),
    };
    let edited = match edit.what {
        What::Replace { text: anchor, times, with } => {
            count(anchor, times)?;
            text.replace(anchor, with)
        }
        What::Insert { after, file } => {
            let line = format!("{after}\n");
            count(&line, 1)?;
            let fragment = std::fs::read_to_string(mine.join(file)).with_context(|| format!("cannot read {file}"))?;
            text.replace(&line, &format!("{line}{fragment}\n"))
        }
        What::Append { text: added } => text + added,
        What::MoveToDevice { .. } => {
            ensure!(text.contains(CPU), "{}: `{CPU}` is not there", edit.file);
            return Ok(());
        }
        What::Rename { .. } | What::Place { .. } => unreachable!("these do not change a text"),
    };
    changed.insert(edit.file, edited);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate of one file, in a folder of its own.
    fn folder(test: &str, text: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("isobit-edits-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.rs"), text).unwrap();
        folder
    }

    fn of(edits: &'static [Edit]) -> Crate {
        Crate { name: "a-crate", sha256: "", edits }
    }

    #[test]
    fn edits_are_made_and_the_file_says_so() {
        const EDITS: &[Edit] = &[
            replace("a.rs", "one", 2, "two"),
            insert("a.rs", "impl X {", "fragments/moe.rs"),
            on_device("a.rs", "b.rs"),
        ];
        let folder = folder("made", "one\nimpl X {\n}\none Device::Cpu\n");
        apply(&of(EDITS), &folder, crate::shell::root()).unwrap();
        let text = std::fs::read_to_string(folder.join("a.rs")).unwrap();
        let (notice, rest) = text.split_once('\n').unwrap();
        assert!(notice.starts_with("// Changed by"), "{text}");
        assert!(rest.starts_with("two\nimpl X {\n#[cfg(feature = \"cuda\")]\nmod isobit;"), "{text}");
        assert!(rest.ends_with("}\ntwo Device::Cpu\n"), "{text}");
        let moved = std::fs::read_to_string(folder.join("b.rs")).unwrap();
        assert!(moved.ends_with("two Device::new_cuda(0)?\n"), "{moved}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_anchor_that_is_not_there_as_often_as_expected_is_named_and_nothing_is_written() {
        const EDITS: &[Edit] = &[
            replace("a.rs", "one", 1, "two"),
            replace("a.rs", "one", 1, "three"),
            insert("a.rs", "impl Y {", "fragments/moe.rs"),
            replace("absent.rs", "one", 1, "two"),
        ];
        let folder = folder("misfits", "one\n");
        let wrong: Vec<String> = misfits(&of(EDITS), &folder).iter().map(|e| format!("{e:#}")).collect();
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        assert_eq!(wrong[0], "a.rs: `one` is there 0 times, not 1");
        assert_eq!(wrong[1], "a.rs: `impl Y {` is there 0 times, not 1");
        assert!(wrong[2].contains("absent.rs"), "{wrong:?}");
        let e = format!("{:#}", apply(&of(EDITS), &folder, crate::shell::root()).unwrap_err());
        assert!(e.starts_with("a-crate does not fit: a.rs: `one`"), "{e}");
        assert_eq!(std::fs::read_to_string(folder.join("a.rs")).unwrap(), "one\n");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
