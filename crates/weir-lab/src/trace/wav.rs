//! What the listener of an audio stream hears, as a WAV file: a melody, silent in the gaps.
//!
//! The simulator carries no sound. The melody stands for the music: the first phrase of the Ode to
//! Joy (Beethoven 1824), repeated from the beginning of the run to its end. Units that were played
//! though damaged sound like the others.

use crate::run::RunOutput;
use crate::table::Table;
use std::io::Cursor;

/// Samples a second: those of telephony, enough for tones below 1 kHz.
const SAMPLE_RATE: u32 = 8_000;
/// The length of an eighth note in samples: 240 a minute.
const EIGHTH: usize = SAMPLE_RATE as usize / 4;
/// The notes of the phrase: half tones above A at 440 Hz, and their lengths in eighths.
const PHRASE: [(i32, usize); 15] = [
    (-5, 2),
    (-5, 2),
    (-4, 2),
    (-2, 2),
    (-2, 2),
    (-4, 2),
    (-5, 2),
    (-7, 2),
    (-9, 2),
    (-9, 2),
    (-7, 2),
    (-5, 2),
    (-5, 3),
    (-7, 1),
    (-7, 4),
];
/// The loudness of a note's beginning, of the largest sample.
const LOUDNESS: f64 = 0.5;

/// The WAV file of each flow whose application is audio, with the name of the flow.
pub(super) fn files(run: &RunOutput) -> Vec<(&str, Vec<u8>)> {
    let seconds = run.scenario.run.duration.as_secs_f64();
    let flows = run.flows.iter();
    let heard = flows.filter_map(|flow| Some((&*flow.name, flow.gaps.as_ref()?)));
    heard
        .filter_map(|(name, gaps)| Some((name, file(gaps, seconds)?)))
        .collect()
}

/// The melody of this length in seconds, silent in the gaps; `None` if it is too long for a file.
fn file(gaps: &Table, seconds: f64) -> Option<Vec<u8>> {
    let mut samples = melody((seconds * f64::from(SAMPLE_RATE)) as usize);
    let (begun, lengths) = (gaps.numbers("time_s")?, gaps.numbers("gap_s")?);
    for (begin, length) in begun.iter().zip(lengths) {
        let at = |time: f64| ((time * f64::from(SAMPLE_RATE)) as usize).min(samples.len());
        let gap = at(*begin)..at(begin + length);
        samples[gap].fill(0);
    }
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: SAMPLE_RATE,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut octets = Cursor::new(Vec::new());
    let mut writer = hound::WavWriter::new(&mut octets, spec).ok()?;
    for sample in samples {
        writer.write_sample(sample).ok()?;
    }
    writer.finalize().ok()?;
    Some(octets.into_inner())
}

/// So many samples of the phrase, repeated.
fn melody(count: usize) -> Vec<i16> {
    let phrase: Vec<i16> = PHRASE
        .iter()
        .flat_map(|&(half_tones, eighths)| note(half_tones, eighths * EIGHTH))
        .collect();
    phrase.into_iter().cycle().take(count).collect()
}

/// A tone with its octave, which fades.
fn note(half_tones: i32, samples: usize) -> impl Iterator<Item = i16> {
    let frequency = 440.0 * libm::pow(2.0, f64::from(half_tones) / 12.0);
    (0..samples).map(move |number| {
        let time = number as f64 / f64::from(SAMPLE_RATE);
        let angle = core::f64::consts::TAU * frequency * time;
        let tone = 0.8 * libm::sin(angle) + 0.2 * libm::sin(2.0 * angle);
        let fading = 1.0 - number as f64 / samples as f64;
        (f64::from(i16::MAX) * LOUDNESS * fading * tone) as i16
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Values};

    #[test]
    fn the_melody_is_silent_in_the_gaps() {
        let column = |name: &str, values: &[f64]| Column {
            name: name.to_owned(),
            values: Values::F64(values.to_vec()),
        };
        let gaps = Table {
            columns: vec![column("time_s", &[1.0, 3.5]), column("gap_s", &[0.5, 9.0])],
        };
        let octets = file(&gaps, 4.0).unwrap();
        let mut reader = hound::WavReader::new(Cursor::new(octets)).unwrap();
        assert_eq!(reader.spec().sample_rate, SAMPLE_RATE);
        let samples: Vec<i16> = reader.samples().map(Result::unwrap).collect();
        assert_eq!(samples.len(), 4 * SAMPLE_RATE as usize);
        let is_silent = |from_s: f64, until_s: f64| {
            let at = |time: f64| (time * f64::from(SAMPLE_RATE)) as usize;
            samples[at(from_s)..at(until_s)]
                .iter()
                .all(|sample| *sample == 0)
        };
        assert!(is_silent(1.0, 1.5) && is_silent(3.5, 4.0));
        for from_s in [0.0, 0.9, 1.5, 2.0, 3.3] {
            assert!(!is_silent(from_s, from_s + 0.1), "{from_s}");
        }
        // 330 Hz at the beginning: 33 upward crossings of zero in a tenth of a second.
        let crossings = samples[..800]
            .windows(2)
            .filter(|pair| pair[0] < 0 && pair[1] >= 0);
        assert!((32..=33).contains(&crossings.count()));
    }
}
