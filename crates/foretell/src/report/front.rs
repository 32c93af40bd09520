//! The trade-off: the Pareto front of two objectives, or the best score for each size.

use super::Subject;
use super::chart::{Chart, Mark, Plot, Point, Scale};
use super::text::grouped;
use crate::error::Result;
use crate::rank;
use crate::study::Objective;

/// The chart and its caption.
pub(super) fn chart(subject: &Subject) -> Result<Option<(Chart, String)>> {
    let several = subject.objectives.len() > 1;
    let trials = &subject.order;
    // One objective is drawn against the size; of several, the first two are drawn.
    let (x_name, x): (String, Vec<f64>) = if several {
        (subject.axis(1), trials.iter().map(|trial| subject.shown(*trial, 1)).collect())
    } else if subject.objectives[0] == Objective::Params {
        ("multiply-adds".into(), trials.iter().map(|trial| subject.counts(*trial).flops as f64).collect())
    } else {
        ("parameters".into(), trials.iter().map(|trial| subject.counts(*trial).params as f64).collect())
    };
    let y: Vec<f64> = trials.iter().map(|trial| subject.shown(*trial, 0)).collect();
    let scales = Scale::of(x.iter().copied()).zip(Scale::of(y.iter().copied()));
    let Some((x_scale, y_scale)) = scales else { return Ok(None) };
    let mut plot = Plot::new(x_scale, y_scale, [&x_name, &subject.axis(0)]);
    let mut place_of = vec![None; subject.view.trials];
    trials.iter().enumerate().for_each(|(place, trial)| place_of[*trial] = Some(place));
    let place = |trial: usize| place_of[trial];
    let mut front: Vec<usize> = if several {
        subject.leaderboard.front.iter().filter_map(|trial| place(*trial)).collect()
    } else {
        let sign = subject.sign(0);
        let points: Vec<Vec<f64>> = (0..trials.len()).map(|place| vec![sign * y[place], -x[place]]).collect();
        rank::pareto_front(&points)
    };
    front.sort_by(|a, b| x[*a].total_cmp(&x[*b]).then(a.cmp(b)));
    let on: std::collections::HashSet<usize> = front.iter().copied().collect();
    // By trial, so that the squares of the thinning keep the earliest.
    let mut rest: Vec<usize> = (0..trials.len()).filter(|place| !on.contains(place)).collect();
    rest.sort_by_key(|place| trials[*place]);
    let places: Vec<(f64, f64)> = rest.iter().map(|place| (x[*place], y[*place])).collect();
    let kept = plot.thin(&places);
    for i in &kept {
        plot.point(&Point {
            x: places[*i].0,
            y: places[*i].1,
            class: "",
            title: subject.title(trials[rest[*i]])?,
        });
    }
    if subject.objectives.len() <= 2 {
        plot.steps(&front.iter().map(|place| (x[*place], y[*place])).collect::<Vec<_>>(), "a", false);
    }
    // Equal points lie on top of each other: one mark stands for all.
    let mut marked = front.clone();
    marked.dedup_by_key(|place| (x[*place].to_bits(), y[*place].to_bits()));
    for place in &marked {
        let title = subject.title(trials[*place])?;
        plot.point(&Point { x: x[*place], y: y[*place], class: "on", title });
    }
    if let Some(winner) = subject.winner().and_then(place) {
        if !on.contains(&winner) {
            let title = subject.title(trials[winner])?;
            plot.point(&Point { x: x[winner], y: y[winner], class: "on", title });
        }
        plot.ring(x[winner], y[winner], "winner");
    }
    let name = if several { "Pareto front" } else { "best for its size" };
    plot.legend(&[(Mark::Dot("on"), name), (Mark::Dot(""), "other candidates")]);
    let ties = match front.len() - marked.len() {
        0 => String::new(),
        _ => format!(" ({} different points)", grouped(marked.len() as u64)),
    };
    let total = grouped(trials.len() as u64);
    let mut caption = if several {
        format!(
            "{} of {total} candidates{ties} are on the front: no other candidate is better in every objective. They cover \
             {:.3} of the box between the worst and the best value of each objective.",
            grouped(front.len() as u64),
            subject.leaderboard.hypervolume
        )
    } else {
        format!(
            "Each point is a candidate. The line joins the {}{ties} of {total} that no candidate of the same size or smaller \
             beats.",
            grouped(front.len() as u64)
        )
    };
    if kept.len() < rest.len() {
        caption += &format!(
            " Points are thinned: {} of the {} other candidates are drawn.",
            grouped(kept.len() as u64),
            grouped(rest.len() as u64)
        );
    }
    let label = format!(
        "{} against {x_name}. {caption} Arrow keys move along the highlighted points.",
        subject.axis(0)
    );
    Ok(Some((plot.chart(label), caption)))
}
