//! Runs a mutant of a kernel: the device compiles the changed source itself, so nothing is built.

use crate::list::Mutant;
use crate::outcome::{Kill, Outcome};
use crate::suite::{Failed, GROUP, Ran, Selection, Suite};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// What mutants run on, and what is known of the suite without a mutant.
#[derive(Debug)]
pub struct Bench {
    /// The suite as it is.
    pub suite: Suite,
    /// The devices, in the order in which a mutant runs on them.
    pub devices: Vec<String>,
    /// The root of the checkout.
    pub root: PathBuf,
    /// A folder for scratch files.
    pub work: PathBuf,
    /// Whether a cell passes without a mutant.
    sound: Mutex<BTreeMap<String, bool>>,
}

impl Bench {
    /// Creates a bench on which nothing has run.
    pub fn new(suite: Suite, devices: Vec<String>, root: PathBuf, work: PathBuf) -> Self {
        Self { suite, devices, root, work, sound: Mutex::new(BTreeMap::new()) }
    }

    /// Returns the names of the devices.
    pub fn device_names(&self) -> Vec<&str> {
        self.devices.iter().map(String::as_str).collect()
    }

    /// Whether a selection passes without a mutant. A selection runs once.
    ///
    /// # Errors
    /// Fails if the suite does not start.
    pub fn is_sound(&self, selection: &Selection<'_>, out: &Path) -> Result<bool> {
        let Selection { device, ops, dtypes, deferred, sources } = *selection;
        let key = format!("{device} {ops:?} {dtypes:?} {deferred} {}", sources.is_some());
        if let Some(&known) = self.sound.lock().expect("nothing panics here").get(&key) {
            return Ok(known);
        }
        let empty = self.work.join("unchanged");
        std::fs::create_dir_all(&empty).with_context(|| format!("cannot create {}", empty.display()))?;
        let unchanged = Selection { sources: sources.map(|_| empty.as_path()), ..*selection };
        let passed = self.suite.run(&unchanged, &out.join("unchanged"))? == Ran::Passed;
        self.sound.lock().expect("nothing panics here").insert(key, passed);
        Ok(passed)
    }

    /// Runs a mutant's cells with a suite: on one device after the other with the dtypes that the
    /// mutant names, then with all dtypes, and its groups once more with work deferred.
    ///
    /// # Errors
    /// Fails if the suite does not start, or if what the mutant fails also fails without it.
    pub fn cells(
        &self,
        mutant: &Mutant,
        (suite, devices): (&Suite, &[&str]),
        sources: Option<&Path>,
        out: &Path,
    ) -> Result<Outcome> {
        let groups: Vec<String> = mutant.ops.iter().filter(|op| op.starts_with(GROUP)).cloned().collect();
        let on = |device, ops, dtypes, deferred| Selection { device, ops, dtypes, deferred, sources };
        let mut stages: Vec<Selection<'_>> = Vec::new();
        for &device in devices {
            stages.push(on(device, &mutant.ops, &mutant.dtypes, false));
        }
        if !mutant.dtypes.is_empty() {
            stages.extend(devices.iter().map(|device| on(device, &mutant.ops, &[], false)));
        }
        if !groups.is_empty() {
            stages.extend(devices.iter().map(|device| on(device, &groups, &[], true)));
        }
        let mut refused = None;
        for stage in stages {
            match suite.run(&stage, &out.join("report"))? {
                Ran::Passed => {}
                Ran::Failed(failed) => return self.kill(&stage, failed, out),
                // It may be text that this device's compiler does not see in another way.
                Ran::DoesNotCompile(message) => refused = refused.or(Some(message)),
                Ran::CouldNotRun(message) if self.is_sound(&stage, out)? => {
                    let check = format!("{} does not run", stage.ops.join(","));
                    let device = Some(stage.device.to_string());
                    return Ok(Outcome::Killed(Kill { by: crate::outcome::By::Results, device, check, message }));
                }
                Ran::CouldNotRun(message) => return Ok(Outcome::NotRun { message }),
            }
        }
        Ok(refused.map_or(Outcome::Survived, |message| Outcome::DoesNotCompile { message }))
    }

    /// A kill counts if the same cell passes without the mutant.
    fn kill(&self, stage: &Selection<'_>, failed: Failed, out: &Path) -> Result<Outcome> {
        let (op, dtypes) = &failed.cell;
        let ops = if op.is_empty() { stage.ops.to_vec() } else { vec![op.clone()] };
        let dtypes = if dtypes.is_empty() { Vec::new() } else { vec![dtypes.clone()] };
        let same = Selection { ops: &ops, dtypes: &dtypes, ..*stage };
        if !self.is_sound(&same, out)? {
            let Failed { kill: Kill { check, .. }, .. } = failed;
            let message = format!("{check} fails on {} without any mutant: repair it first", stage.device);
            return Ok(Outcome::NotRun { message });
        }
        Ok(Outcome::Killed(failed.kill))
    }

    /// Runs a mutant whose file is compiled on the device, `source` below the kernel tree.
    ///
    /// # Errors
    /// Fails as [`cells`](Self::cells) does, or if a scratch file cannot be written.
    pub fn kernel(&self, mutant: &Mutant, source: &str) -> Result<Outcome> {
        let out = self.work.join("kernels").join(&mutant.id);
        let (sources, original) = (out.join("src"), self.root.join(&mutant.file));
        let text = std::fs::read_to_string(&original).with_context(|| format!("cannot read {}", original.display()))?;
        let changed = sources.join(source);
        let folder = changed.parent().context("a source has a folder")?;
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        std::fs::write(&changed, mutant.applied_to(&text)?)
            .with_context(|| format!("cannot write {}", changed.display()))?;
        let sees = |device: &&str| !mutant.clang_only || device.contains("rocm");
        let devices: Vec<&str> = self.device_names().into_iter().filter(sees).collect();
        let outcome = self.cells(mutant, (&self.suite, &devices), Some(&sources), &out);
        // What is left of a failed run explains it; the rest is only large.
        if outcome.is_ok() {
            std::fs::remove_dir_all(&out).with_context(|| format!("cannot remove {}", out.display()))?;
        }
        outcome
    }
}
