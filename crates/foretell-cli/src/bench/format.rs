//! Reports as tables of documents.

use super::{ceiling, interval, spread};
use crate::output::{self, decimals};
use foretell::benchmark::{Agreement, Report};
use foretell::report::text::grouped;

const HEADER: [&str; 10] = [
    "proxy",
    "tau [95 %]",
    "tau by seed",
    "rho [95 %]",
    "tau given params",
    "tau given depth",
    "close pairs",
    "top 10 %",
    "distinct",
    "failed",
];

/// The columns of [`bands`].
pub const BANDS: [&str; 5] = ["proxy", "parameters", "networks", "tau", "rho"];

fn cells(p: &Agreement, name: String) -> Vec<String> {
    vec![
        name,
        format!("{} {}", decimals(p.kendall), interval(p.kendall_ci)),
        spread(p),
        format!("{} {}", decimals(p.spearman), interval(p.spearman_ci)),
        decimals(p.kendall_given_params),
        decimals(p.kendall_given_depth),
        decimals(p.close_pairs.map(|pairs| pairs.agreement)),
        decimals(p.top_overlap[0]),
        p.distinct.to_string(),
        p.failed.to_string(),
    ]
}

/// Agreement within bands of parameters, a row per proxy and band.
pub fn bands(report: &Report) -> Vec<Vec<String>> {
    let row = |proxy: &Agreement| {
        let name = proxy.name.clone();
        let band = move |band: &foretell::rank::Band| {
            let ends = [band.low, band.high].map(|size| grouped(size as u64)).join(" to ");
            let taus = [band.kendall, band.spearman].map(decimals);
            [name.clone(), ends, band.n.to_string()].into_iter().chain(taus).collect::<Vec<String>>()
        };
        proxy.bands.iter().map(band).collect::<Vec<_>>()
    };
    report.proxies.iter().flat_map(row).collect()
}

fn better(report: &Report) -> &'static str {
    if report.lower_is_better { "lower" } else { "higher" }
}

/// Prints a report as Markdown.
pub fn markdown(report: &Report, banded: bool) {
    let better = better(report);
    output::line(format!(
        "### {}: {} {} networks, target `{}` ({better} is better)\n",
        report.benchmark, report.n, report.family, report.target
    ));
    if let Some(noise) = &report.noise {
        output::line(format!("{}\n", ceiling(noise)));
    }
    report.notes.iter().for_each(|note| output::line(format!("{note}\n")));
    let row = |p: &Agreement| cells(p, format!("{}{}", p.name, if p.trivial { " *(baseline)*" } else { "" }));
    lines(&HEADER, report.proxies.iter().map(row).collect());
    if banded {
        lines(&BANDS, bands(report));
    }
}

/// Prints a table as Markdown.
pub fn lines(header: &[&str], rows: Vec<Vec<String>>) {
    output::line(format!("| {} |", header.join(" | ")));
    output::line(format!("|{}", "---|".repeat(header.len())));
    rows.iter().for_each(|row| output::line(format!("| {} |", row.join(" | "))));
    output::line("");
}

/// Prints a report as a LaTeX table (package booktabs).
pub fn latex(report: &Report, banded: bool) {
    let caption = format!(
        "{}: {} {} networks, target {} ({} is better)",
        report.benchmark,
        report.n,
        report.family,
        report.target,
        better(report)
    );
    let row = |p: &Agreement| cells(p, format!("{}{}", p.name, if p.trivial { " (baseline)" } else { "" }));
    tabular(&caption, &HEADER, report.proxies.iter().map(row).collect());
    if banded {
        tabular(&format!("{caption}, by parameters"), &BANDS, bands(report));
    }
}

/// Prints a table as LaTeX.
pub fn tabular(caption: &str, header: &[&str], rows: Vec<Vec<String>>) {
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        format!("{} \\\\", cells.map(escaped).collect::<Vec<_>>().join(" & "))
    };
    output::line(format!("\\begin{{table}}\n\\caption{{{}}}", escaped(caption)));
    output::line(format!("\\begin{{tabular}}{{l{}}}\n\\toprule", "r".repeat(header.len() - 1)));
    output::line(format!("{}\n\\midrule", line(&mut header.iter().copied())));
    rows.iter().for_each(|row| output::line(line(&mut row.iter().map(String::as_str))));
    output::line("\\bottomrule\n\\end{tabular}\n\\end{table}\n");
}

/// A text in which no character is a command of LaTeX.
fn escaped(text: &str) -> String {
    let one = |c: char| match c {
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{c}"),
        '\\' => "\\textbackslash{}".to_owned(),
        '~' => "\\textasciitilde{}".to_owned(),
        '^' => "\\textasciicircum{}".to_owned(),
        '±' => "$\\pm$".to_owned(),
        '–' => "--".to_owned(),
        // A bracket behind the end of a line would be an option of it.
        '[' | ']' => format!("{{{c}}}"),
        other => other.to_string(),
    };
    text.chars().map(one).collect()
}
