//! The goodput of each flow over the run as a line of blocks, for terminals.

use super::summary_table::listed_flows;
use std::fmt::Write as _;
use weir_lab::run::RunOutput;
use weir_lab::theory::format_digits;

/// The eighths of a block.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The number of blocks of a line.
const WIDTH: usize = 48;

/// A line for each flow that the summary's tables list; empty without a trace. All lines have one
/// scale, so that their heights compare.
pub fn goodput_lines(output: &RunOutput) -> String {
    let (listed, _) = listed_flows(&output.summary);
    let flows = listed.iter().filter_map(|(name, _)| {
        let flow = output.flows.iter().find(|flow| flow.name == *name)?;
        let goodput = flow.intervals.as_ref()?.numbers("goodput_bps")?;
        Some((*name, goodput))
    });
    lines(
        &flows.collect::<Vec<_>>(),
        output.scenario.run.duration.as_secs_f64(),
    )
}

fn lines(flows: &[(&str, &[f64])], duration_s: f64) -> String {
    let means = flows.iter().map(|(name, values)| (*name, means(values)));
    let means: Vec<(&str, Vec<f64>)> = means.filter(|(_, means)| !means.is_empty()).collect();
    let most = means.iter().flat_map(|(_, means)| means);
    let most = most.copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let name_width = means.iter().map(|(name, _)| name.chars().count()).max();
    let name_width = name_width.unwrap_or_default();
    let mut text = String::new();
    for (name, means) in &means {
        let blocks: String = means.iter().map(|mean| block(mean / most)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<name_width$}  {blocks}");
    }
    let top = format_digits(most, "bit/s", 3);
    let end = format_digits(duration_s, "s", 3);
    text + &format!("goodput from 0 to {end}; a full block is {top}\n")
}

/// The means of at most [`WIDTH`] parts of equal length.
fn means(values: &[f64]) -> Vec<f64> {
    let parts = values.len().min(WIDTH);
    let bound = |part: usize| part * values.len() / parts.max(1);
    let part = |part: usize| {
        let of_part = &values[bound(part)..bound(part + 1)];
        let known = of_part.iter().copied().filter(|value| value.is_finite());
        let (sum, count) = known.fold((0.0, 0), |(sum, n), value| (sum + value, n + 1));
        sum / f64::from(count.max(1))
    };
    (0..parts).map(part).collect()
}

/// A space for nothing at all.
fn block(share: f64) -> char {
    if share <= 0.0 {
        return ' ';
    }
    let eighth = (share * BLOCKS.len() as f64).round() as usize;
    BLOCKS[eighth.clamp(1, BLOCKS.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_shares_of_the_highest_of_all_flows() {
        let text = lines(&[("a", &[0.0, 8e6, 4e6]), ("long", &[1e6, 1e6, 2e6])], 3.0);
        let expected = "a      █▄\nlong  ▁▁▂\ngoodput from 0 to 3 s; a full block is 8 Mbit/s\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn many_values_are_means_and_none_are_nothing() {
        let mut values = vec![1e6; 480];
        values[..10].fill(3e6);
        let text = lines(&[("f", &values)], 60.0);
        let blocks: Vec<char> = text
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .skip(3)
            .collect();
        assert_eq!(blocks.len(), WIDTH);
        assert_eq!((blocks[0], blocks[1], blocks[47]), ('█', '▃', '▃'));
        assert_eq!(lines(&[("f", &[])], 1.0), "");
        assert_eq!(lines(&[("f", &[0.0, f64::NAN])], 1.0), "");
    }
}
