//! `products`: what `docs/numerics/products.md` says about matrix products, measured.

use super::args::{AccuracyArgs, CostArgs, LargeArgs, ProductsCommand};
use super::devices;
use super::simulated::Simulated;
use super::simulator::Simulator;
use anyhow::{Context, Result, bail, ensure};
use isobit::{AnyDevice, DType};
use isobit_conformance::products::{accuracy, cost, large};
use isobit_conformance::run::Watch;
use isobit_hal::Matmul;
use std::path::Path;
use std::time::{Duration, Instant};

/// Seconds between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);

/// Runs a command. Returns true if everything passed.
///
/// # Errors
/// Fails if a device is absent or returns an error, or if a page cannot be written.
pub fn main(command: &ProductsCommand) -> Result<bool> {
    match command {
        ProductsCommand::Accuracy(args) => match elsewhere(&args.device, args.inside)? {
            Some(passed) => Ok(passed),
            None => accuracy(args),
        },
        ProductsCommand::Large(args) => match elsewhere(&args.device, args.inside)? {
            Some(passed) => Ok(passed),
            None => large(args),
        },
        ProductsCommand::Cost(args) => cost(args),
    }
}

/// Runs the program again for a simulated device, and returns whether it passed.
fn elsewhere(id: &str, inside: bool) -> Result<Option<bool>> {
    let Some(simulated) = Simulated::of(&devices::canonical(id)?).filter(|_| !inside) else { return Ok(None) };
    simulated.ready()?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    simulated.again(threads).map(Some)
}

/// Prints what a simulated device found; returns whether that is nothing.
fn no_findings() -> Result<bool> {
    let seen = Simulator::loaded().map(|s| s.look()).transpose().map_err(anyhow::Error::msg)?.unwrap_or_default();
    seen.iter().for_each(|sighting| println!("{}: {}", sighting.finding, sighting.message));
    Ok(seen.is_empty())
}

/// Checks that dtypes have products with the numerics that are asked for.
fn check_dtypes(dtypes: &[DType], has: fn(DType) -> bool, all: &str) -> Result<()> {
    let bad = dtypes.iter().find(|&&dtype| !has(dtype));
    bad.map_or(Ok(()), |dtype| bail!("{dtype} is none of the dtypes that can be compared here: {all}"))
}

fn open(id: &str) -> Result<(AnyDevice, String)> {
    let id = devices::canonical(id)?;
    let device = devices::open(&id)?;
    let name = devices::row(&id, &device)?.name;
    Ok((device, format!("{id} ({name})")))
}

fn accuracy(args: &AccuracyArgs) -> Result<bool> {
    check_dtypes(&args.dtypes, |dtype| Matmul::block_digits(dtype).is_some(), "f8e4m3, bf16, f16 and f32")?;
    let (device, name) = open(&args.device)?;
    let options = accuracy::Options {
        products: args.products.into(),
        dtypes: args.dtypes.clone(),
        ..accuracy::Options::default()
    };
    let rows = accuracy::measure(&device, &options, |row| eprintln!("{} {}", row.dtype, row.inputs.name()))?;
    let text = format!("Measured on {name}. {}", accuracy::tables(&rows, &options));
    println!("{text}");
    if let Some(page) = &args.write {
        write(page, "accuracy", &text)?;
    }
    Ok(accuracy::within_bounds(&rows) && no_findings()?)
}

fn large(args: &LargeArgs) -> Result<bool> {
    check_dtypes(&args.dtypes, |dtype| dtype.is_float(), "f8e4m3, bf16, f16, f32 and f64")?;
    let (device, name) = open(&args.device)?;
    let options = large::Options {
        first: args.product.unwrap_or(0),
        products: args.product.map_or(args.products, |_| 1),
        max_side: args.max_side as usize,
        dtypes: args.dtypes.clone(),
        numerics: args.numerics,
        seed: args.seed,
        time: Duration::from_secs(args.seconds),
    };
    let (start, mut told, mut failures) = (Instant::now(), Instant::now(), 0);
    let outcome = large::run(&device, &options, |so_far| {
        so_far.failures[failures..].iter().for_each(|failure| println!("{failure}"));
        failures = so_far.failures.len();
        if told.elapsed() > PROGRESS {
            told = Instant::now();
            eprintln!("{} of {} products in {:.0} s", so_far.products, options.products, start.elapsed().as_secs_f64());
        }
    })?;
    let dtypes: Vec<&str> = options.dtypes.iter().map(|dtype| dtype.as_str()).collect();
    println!(
        "{name}: {} {} products of {}, sides up to {}, seed {}: {} compared whole, and of all {:.3e} results {:.3e} ({:.3e} \
         multiply-adds on the device, {:.0} s). Products with results that differ from the CPU's: {}",
        outcome.products,
        options.numerics,
        dtypes.join(", "),
        options.max_side,
        options.seed,
        outcome.whole,
        outcome.results as f64,
        outcome.compared as f64,
        outcome.work,
        start.elapsed().as_secs_f64(),
        outcome.failures.len(),
    );
    if let Some(first) = outcome.failures.first() {
        println!(
            "run the first one again: isobit-conformance products large --device {} --numerics {} --dtypes {} --max-side {} \
             --seed {} --product {}",
            args.device,
            options.numerics,
            dtypes.join(","),
            options.max_side,
            options.seed,
            first.index
        );
    }
    let left = options.products - outcome.products;
    if left > 0 {
        println!("{left} products did not run: give more --seconds");
    }
    Ok(outcome.failures.is_empty() && left == 0 && no_findings()?)
}

fn cost(args: &CostArgs) -> Result<bool> {
    let rows = cost::measure(args.threads.into(), |row| eprintln!("{} {:?}", row.dtype, row.sides))?;
    let text = cost::table(&rows, args.threads.into());
    println!("{text}");
    if let Some(page) = &args.write {
        write(page, "cost", &text)?;
    }
    Ok(true)
}

/// Replaces what is between a page's markers of a name.
fn write(page: &Path, name: &str, text: &str) -> Result<()> {
    let old = std::fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    let new = replaced(&old, name, text).with_context(|| page.display().to_string())?;
    std::fs::write(page, new).with_context(|| format!("cannot write {}", page.display()))
}

fn replaced(old: &str, name: &str, text: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let parts = old.split_once(&begin).and_then(|(head, rest)| Some((head, rest.split_once(&end)?)));
    let Some((head, (between, tail))) = parts else { bail!("the page has no lines {} and {end}", begin.trim_end()) };
    // A page with a vendor's column is from a card; a run without one would lose the column.
    let has_vendor = |text: &str| text.contains("| vendor |");
    ensure!(
        !has_vendor(between) || has_vendor(text),
        "the page has results of a vendor's library, and this run has none: run it on a card (--device cuda:0)"
    );
    Ok(format!("{head}{begin}\n{}\n\n{end}{tail}", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_is_replaced() {
        let page = "above\n<!-- cost -->\nold\n<!-- end of cost -->\nbelow <!-- cost -->\n";
        let new = replaced(page, "cost", "| a |\n").unwrap();
        assert_eq!(new, "above\n<!-- cost -->\n\n| a |\n\n<!-- end of cost -->\nbelow <!-- cost -->\n");
        assert_eq!(replaced(&new, "cost", "| a |\n").unwrap(), new);
        let e = replaced(page, "accuracy", "").unwrap_err().to_string();
        assert!(e.contains("<!-- accuracy -->"), "{e}");
    }

    #[test]
    fn a_vendors_column_is_not_lost() {
        let page = "<!-- accuracy -->\n| chain | vendor |\n<!-- end of accuracy -->";
        assert!(replaced(page, "accuracy", "| chain |").unwrap_err().to_string().contains("cuda:0"));
        assert!(replaced(page, "accuracy", "| chain | vendor |").is_ok());
    }
}
