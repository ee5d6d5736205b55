//! `weir plot RUN…`: the pictures of one run, or comparing several runs, as SVG, PNG or PDF, and
//! one page with all of them.

use super::summary_table::{SummaryTables, summary_tables};
use crate::arguments::{JsonOutput, print_files, time};
use crate::exit::Failure;
use crate::files::{Files, check_folder};
use crate::terminal;
use clap::{Args, ValueEnum};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use weir_lab::diagnosis::{Explanation, Trace, explain, explanation_html, with_findings};
use weir_lab::report::page::{escaped, pictures_page};
use weir_lab::report::{self, NamedPlot, PlotData, PlotError, PlotSelection, RunPictures};
use weir_lab::run::Summary;
use weir_lab::trace::RunFolder;
use weir_lab::trace::import::{self, Imported};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder of a run; several for pictures that compare them: settings by settings, with the
    /// spread over their seeds; or one trace of another program, as `weir explain` reads them
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Where the pictures go; by default into the first run's folder, below plots
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Only these flows, in full detail; `*` stands for any characters
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    flow: Vec<String>,
    /// Only the queues of these directions of links; `*` stands for any characters
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    link: Vec<String>,
    /// The start of the time shown, such as 5s
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<Duration>,
    /// The end of the time shown, such as 6.5s
    #[arg(long, value_name = "TIME", value_parser = time)]
    to: Option<Duration>,
    /// A picture for each of these columns of the traces, in place of the usual ones, such as
    /// `cwnd_bytes,queue_bytes`; `*` stands for any characters
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    columns: Vec<String>,
    /// Width and height of each picture in pixels, such as 800x450; a PNG has twice as many
    #[arg(long, value_name = "WxH", value_parser = size)]
    size: Option<(f64, f64)>,
    /// The files to write beside the page
    #[arg(
        long,
        value_name = "FORMAT",
        value_delimiter = ',',
        default_value = "svg,png"
    )]
    format: Vec<Format>,
    #[command(flatten)]
    output: JsonOutput,
}

/// A format of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Scalable, for the web
    Svg,
    /// Pixels
    Png,
    /// Scalable, for documents
    Pdf,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Pdf => "pdf",
        }
    }

    fn of(self, svg: &str) -> Result<Vec<u8>, Failure> {
        let failed = |error: String| Failure::Failed(error);
        match self {
            Self::Svg => Ok(svg.as_bytes().to_vec()),
            Self::Png => report::png(svg, 2.0).map_err(|error| failed(error.to_string())),
            Self::Pdf => report::pdf(svg).map_err(|error| failed(error.to_string())),
        }
    }
}

/// Parses width and height in pixels.
fn size(text: &str) -> Result<(f64, f64), String> {
    let numbers = text.split_once(['x', 'X']);
    let parsed = numbers.and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    let sane = |pixels: &f64| (120.0..=10_000.0).contains(pixels);
    parsed
        .filter(|(width, height)| sane(width) && sane(height))
        .ok_or_else(|| "expected WIDTHxHEIGHT in pixels from 120 to 10000, such as 800x450".into())
}

/// Draws the pictures.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let selection = PlotSelection {
        flows: arguments.flow.clone(),
        links: arguments.link.clone(),
        from_s: arguments.from.map(|time| time.as_secs_f64()),
        to_s: arguments.to.map(|time| time.as_secs_f64()),
        columns: arguments.columns.clone(),
        size: arguments.size,
    };
    let first = &arguments.runs[0];
    let is_foreign = arguments.runs.len() == 1 && first.is_file();
    let beside = if is_foreign {
        first.with_extension("plots")
    } else {
        first.join("plots")
    };
    let out = arguments.out.clone().unwrap_or(beside);
    check_folder(&out)?;
    let (runs, explanation) = if is_foreign {
        imported(first)?
    } else {
        runs_of(arguments, &selection)?
    };
    let (title, head, pictures) = match runs.as_slice() {
        [run] => {
            let what = if is_foreign { "Trace" } else { "Run" };
            let title = format!("{what} {}", first.display());
            match explained(run, &selection, &explanation, is_foreign) {
                Ok((head, pictures)) => (title, head, Ok(pictures)),
                Err(error) => (title, String::new(), Err(error)),
            }
        }
        several => {
            let pictures = report::comparison(several, &selection);
            let names: BTreeSet<&str> = several.iter().map(|run| &*run.name).collect();
            let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
            let of = match names.as_slice() {
                [only] => format!(" of {only}"),
                _ => String::new(),
            };
            (
                format!("{} runs{of} compared", several.len()),
                String::new(),
                pictures,
            )
        }
    };
    let pictures =
        pictures.map_err(|error| Failure::Usage(format!("{}: {error}", first.display())))?;
    let page = pictures_page(&title, &head, &pictures);
    let written = write(arguments, &out, &pictures, &page)?;
    for left_out in &pictures.left_out {
        terminal::status(&format!("not drawn: {left_out}"));
    }
    print_files(arguments.output, &written)
}

/// What stands above the pictures of a run, or of a trace of another program, and the pictures with
/// the findings below them.
pub fn explained(
    data: &PlotData,
    selection: &PlotSelection,
    explanation: &Explanation,
    is_foreign: bool,
) -> Result<(String, RunPictures), PlotError> {
    let pictures = report::pictures_of(data, selection)?;
    let pictures = if is_foreign {
        without_network(pictures)
    } else {
        pictures
    };
    let head = tables(&data.output.summary, is_foreign) + &explanation_html(explanation);
    Ok((head, with_findings(pictures, explanation)))
}

/// What the pictures of the runs need, and the explanation of a single one.
fn runs_of(
    arguments: &Arguments,
    selection: &PlotSelection,
) -> Result<(Vec<PlotData>, Explanation), Failure> {
    let opened = arguments.runs.iter().map(|run| RunFolder::open(run));
    let opened = opened.collect::<Result<Vec<_>, _>>()?;
    if let [folder] = opened.as_slice() {
        let explanation = explain(&Trace::of_folder(folder)?);
        return Ok((vec![PlotData::read(folder, selection)?], explanation));
    }
    let runs = opened.iter().map(PlotData::read_to_compare);
    Ok((runs.collect::<Result<_, _>>()?, Explanation::default()))
}

/// A trace of another program.
pub fn read_import(path: &Path) -> Result<Imported, Failure> {
    import::read(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

/// A trace of another program in the form of a run, and its explanation.
fn imported(path: &Path) -> Result<(Vec<PlotData>, Explanation), Failure> {
    let imported = read_import(path)?;
    let explanation = explain(&Trace::of_import(&imported));
    Ok((vec![plot_data(imported)?], explanation))
}

/// What the pictures of a trace of another program need.
pub fn plot_data(imported: Imported) -> Result<PlotData, Failure> {
    let run = imported.into_run();
    let run = run.map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(PlotData::of_run(run))
}

/// Writes the pictures in each format and the page, either all or none; returns their paths.
fn write(
    arguments: &Arguments,
    out: &Path,
    pictures: &RunPictures,
    page: &str,
) -> Result<Vec<String>, Failure> {
    let figures: Vec<&NamedPlot> = pictures.figures().collect();
    let bar = terminal::progress(figures.len() as u64, "drawing");
    let drawn = weir_lab::replication::in_order(&figures, |named| {
        let svg = named.drawing.svg();
        let formats = arguments.format.iter();
        let files: Result<Vec<(String, Vec<u8>)>, Failure> = formats
            .map(|format| {
                let name = format!("{}.{}", named.name, format.extension());
                Ok((name, format.of(&svg)?))
            })
            .collect();
        bar.inc(1);
        files
    });
    bar.finish_and_clear();
    let mut files = Files::in_folder(out)?;
    for picture in drawn {
        for (name, bytes) in picture? {
            files.write(name, &bytes)?;
        }
    }
    files.write("index.html", page.as_bytes())?;
    files.commit()
}

/// The pictures without that of the network, which a trace of another program does not show.
fn without_network(mut pictures: RunPictures) -> RunPictures {
    for section in &mut pictures.sections {
        section.figures.retain(|figure| figure.name != "network");
    }
    pictures
}

/// The tables of the summary of a run, or of a trace of another program, in HTML, as `weir run`
/// prints them.
fn tables(summary: &Summary, is_foreign: bool) -> String {
    let run = &summary.run;
    let mut html = if is_foreign {
        format!(
            "<p>{:.3} s of a trace of another program.</p>\n",
            run.duration_s
        )
    } else {
        format!(
            "<p>{} s of virtual time, statistics from {} s on, seed {}.</p>\n",
            run.duration_s, run.warmup_s, run.seed
        )
    };
    let SummaryTables { tables, notes } = summary_tables(summary);
    for cells in tables {
        html.push_str("<div class=\"scroll\"><table>\n");
        for (number, line) in cells.iter().enumerate() {
            let tag = if number == 0 { "th" } else { "td" };
            html.push_str("<tr>");
            for (place, cell) in line.iter().enumerate() {
                let class = if place == 0 { "" } else { " class=\"n\"" };
                let _ = write!(html, "<{tag}{class}>{}</{tag}>", escaped(cell));
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</table></div>\n");
    }
    for note in notes {
        let _ = writeln!(html, "<p>{}</p>", escaped(&note));
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_lab::run::{FlowSummary, GroupSummary};

    #[test]
    fn the_page_has_groups_and_units_that_fit() {
        let mut summary = Summary::default();
        let flow = FlowSummary {
            goodput_bps: 486.0,
            ..FlowSummary::default()
        };
        summary.flows.insert("slow".to_owned(), flow.clone());
        let members: Vec<String> = (1..=100).map(|number| format!("f-{number}")).collect();
        for name in &members {
            summary.flows.insert(name.clone(), flow.clone());
        }
        let group = GroupSummary {
            flows: 100,
            members,
            ..GroupSummary::default()
        };
        summary.groups.insert("f".to_owned(), group);
        let html = tables(&summary, false);
        assert!(html.contains("<td class=\"n\">486 bit/s</td>"), "{html}");
        assert!(
            html.contains("<td>f</td><td class=\"n\">100</td>"),
            "{html}"
        );
        assert!(html.contains("<th class=\"n\">goodput mean</th>"), "{html}");
        assert!(!html.contains("f-1"), "{html}");
    }
}
