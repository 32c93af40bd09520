//! The whole pipeline; also the front page of the library.

use foretell::{proxy::Request, rank, seed::Seed, space};

fn main() -> foretell::error::Result<()> {
    // Which architectures exist, and which of them fit.
    let space = space::preset("autoformer-tiny")?;
    let limits = space::Limits { params: space::Bound { min: 0, max: 6_000_000 }, ..Default::default() };
    let feasible = space.within(&limits)?;

    // A hundred of them, each from a stream of its own.
    let draw = |index| feasible.sample(false, &mut Seed(0).stream("sample", index));
    let candidates = (0..100).map(draw).collect::<Result<Vec<_>, _>>()?;

    // A proxy, beside the count it has to beat.
    let score = |proxy: &str| -> foretell::error::Result<Vec<f64>> {
        let proxy = Request::parse(proxy)?;
        candidates.iter().map(|candidate| proxy.of_shape(candidate)).collect()
    };
    let agreement = rank::kendall_tau_b(&score("nsc")?, &score("params")?);

    assert!(candidates.iter().all(|candidate| candidate.params().total <= 6_000_000));
    assert!(agreement.is_some_and(|tau| tau > 0.8));
    Ok(())
}
