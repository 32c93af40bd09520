//! `foretell sample`: random architectures, inside limits by construction.

use crate::args::Sample;
use crate::output::{self, genes, grouped, short};
use foretell::architecture::Counter;
use foretell::error::Result;
use foretell::seed::Seed;
use foretell::space;

pub fn run(args: &Sample, json: bool) -> Result<()> {
    args.limits.check()?;
    let space = space::open(&args.space)?;
    let inside =
        if args.limits.given() || args.uniform { Some(space.within(&args.limits.limits())?) } else { None };
    let mut rows = Vec::new();
    for index in 0..args.n {
        // A stream of its own: the tenth sample is the same whether or not nine came before it.
        let mut rng = Seed(args.seed).stream("sample", index);
        let architecture = match &inside {
            Some(inside) => inside.sample(args.uniform, &mut rng)?,
            None => space.sample(&mut rng),
        };
        if json {
            let object = space.write(&architecture);
            output::line(serde_json::Value::Object(object));
            continue;
        }
        let flops = architecture.flops(Counter::Exact).unwrap_or(0);
        rows.push(vec![
            architecture.id(),
            grouped(architecture.params().total),
            short(flops),
            genes(&architecture),
        ]);
    }
    if !json {
        output::line(output::table(&["id", "parameters", "multiply-adds", "architecture"], rows));
    }
    Ok(())
}
