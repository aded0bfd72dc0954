//! Compares several ranks on the CPU with one, bit for bit.

mod common;

use common::tiny;
use isobit::{CpuDevice, DType, ErrorKind, Numerics};
use isobit_llama::session::Outcome;
use isobit_llama::{Config, Job, Measured, Ranks, Timing, data_parallel, generate, tensor_parallel};

fn job(prompts: usize) -> Job {
    let prompts = generate::prompts(prompts, 9, Config::TINY.vocabulary);
    Job { prompts, steps: 4, measured: Measured::Once }
}

fn together(ranks: usize, job: &Job, dtype: DType, numerics: Numerics) -> (Timing, Vec<Outcome>) {
    tensor_parallel::run(&vec![CpuDevice; ranks], job, |_, ranks| Ok(tiny(dtype, numerics, ranks))).unwrap()
}

fn beside(ranks: usize, job: &Job, dtype: DType, numerics: Numerics) -> (Timing, Vec<Outcome>) {
    data_parallel::run(&vec![CpuDevice; ranks], job, |_, ranks| Ok(tiny(dtype, numerics, ranks))).unwrap()
}

#[test]
fn ranks_give_the_bits_of_one() {
    let job = job(4);
    for numerics in [Numerics::Portable, Numerics::Block] {
        for dtype in [DType::F32, DType::BF16] {
            let model = std::sync::Arc::new(tiny(dtype, numerics, Ranks::alone()));
            let one: Vec<_> =
                job.prompts.iter().map(|prompt| generate::once(&model, prompt, job.steps).unwrap().1).collect();
            let words = |outcomes: &[Outcome]| outcomes.iter().flat_map(Outcome::words).collect::<Vec<_>>();
            assert!(one.windows(2).all(|pair| pair[0] != pair[1]), "prompts that differ");
            for ranks in [1, 2, 4] {
                for (how, run) in [("tensor", together as fn(_, &_, _, _) -> _), ("data", beside)] {
                    let (timing, outcomes) = run(ranks, &job, dtype, numerics);
                    assert_eq!(words(&outcomes), words(&one), "{how}-parallel, {ranks} ranks, {dtype}, {numerics}");
                    assert_eq!((timing.prompt, timing.tokens), (4 * 9, 4 * 4));
                }
            }
        }
    }
}

/// Up to, and over, the end of a block of 128 keys.
#[test]
fn ranks_give_the_bits_of_one_over_a_block_of_keys() {
    let job = Job { prompts: generate::prompts(1, 126, Config::TINY.vocabulary), steps: 5, measured: Measured::Once };
    let one = together(1, &job, DType::F32, Numerics::Block).1;
    for ranks in [2, 4] {
        assert!(together(ranks, &job, DType::F32, Numerics::Block).1 == one, "{ranks} ranks");
    }
}

#[test]
fn medians_are_of_the_same_without_a_graph() {
    let once = job(2);
    let many = Job { measured: Measured::Medians, ..once.clone() };
    for run in [together, beside] {
        let (timing, outcomes) = run(2, &many, DType::F32, Numerics::Portable);
        assert!(outcomes == run(2, &once, DType::F32, Numerics::Portable).1);
        assert!(timing.graph_ms.is_none() && timing.decode_ms > 0.0);
    }
}

#[test]
fn what_ranks_cannot_do_is_an_error() {
    let devices = [CpuDevice; 3];
    let (dtype, numerics) = (DType::F32, Numerics::Portable);
    let model = |_: &_, ranks: Ranks<_>| {
        let source = isobit_llama::weights::random(&CpuDevice, dtype, 0);
        isobit_llama::Model::new(&CpuDevice, &Config::TINY, dtype, numerics, ranks, source)
    };
    let e = format!("{:#}", tensor_parallel::run(&devices, &job(1), model).unwrap_err());
    assert!(e.contains("3 ranks cannot share 4 heads evenly"), "{e}");
    let e = format!("{:#}", data_parallel::run(&devices, &job(4), model).unwrap_err());
    assert!(e.contains("3 ranks cannot share the prompts evenly: their number is 4"), "{e}");

    // No rank has the vector of such a token.
    let mut job = job(1);
    job.prompts[0][3] = Config::TINY.vocabulary as u32;
    let e = tensor_parallel::run(&[CpuDevice; 2], &job, model).unwrap_err();
    assert_eq!(e.downcast_ref().map(isobit::Error::kind), Some(ErrorKind::IndexOutOfRange), "{e:#}");
}
