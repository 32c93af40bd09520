//! A whole study: a space, a score, limits, the winner and what it is compared with.

use foretell::prelude::*;

fn main() -> Result<()> {
    let study = Study::builder(space::preset("gpt2")?)
        .objective(Objective::proxy("nsc")?)
        .limits(Limits { params: Bound { min: 0, max: 20_000_000 }, ..Limits::default() })
        .run()?;
    let winner = study.winner.expect("some networks have at most 20 million parameters");
    println!("{} parameters, nsc {:.1}", winner.architecture.params().total, winner.values[0]);
    println!("{}", serde_json::Value::Object(space::write_architecture(&winner.architecture)));
    for reference in &study.answer.references {
        println!("{:?} {:?}", reference.kind, reference.value);
    }
    assert!(study.answer.proved, "the score is a sum over layers, so the best network is known exactly");

    // Two objectives: the front, and its knee as the winner.
    let study = Study::builder(space::preset("flexibert")?)
        .objective(Objective::proxy("zerolm")?)
        .objective(Objective::Params)
        .budget(400)
        .run()?;
    println!("{} networks on the front, the knee is trial {:?}", study.front.len(), study.leaderboard.knee);
    assert!(study.front.len() > 3);
    Ok(())
}
