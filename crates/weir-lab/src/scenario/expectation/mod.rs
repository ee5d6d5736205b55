//! The language of expectations about runs: `expect = ["flow.video.goodput_bps > 2Mbit"]` in
//! scenarios, the checks of suites, and the numbers of the evaluation.
//!
//! An [`Expectation`] compares a number with a value in the unit of the number: `NUMBER < VALUE`,
//! with `<`, `<=`, `>` or `>=`, or with two values, `VALUE <= NUMBER <= VALUE`. [Numbers](Term) are
//! those of the summary, such as `flow.NAME.goodput_bps`. The case of a suite also has a trace:
//! [there](TraceMeasure) the number may be that of a column of the flow or of its visits to a
//! state, the value may be a multiple of the link's rate, of the bandwidth-delay product or of the
//! round-trip time, and the time may be restricted: `flow.x.rtt_s.max < 1.2 rtt during probe_rtt
//! from 2s`.

mod expression;
mod number;
mod trace;

pub(crate) use expression::Subject;
pub use expression::{Comparison, Expectation};
pub use number::{ExpectedOf, Quantity, Term, measures_of};
pub(crate) use trace::{CaseWords, Moment, Ratio, Reference, Take, TraceMeasure};

use weir_proto::settings::{Diagnostic, Kind, Raw, Reader, Spanned, Value};

/// All expectations of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expectations(pub Vec<Expectation>);

impl Value for Expectations {
    fn read(&mut self, value: &Spanned, reader: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let example = "[\"flow.NAME.goodput_bps > 2Mbit\"]";
        let expected = || Diagnostic::expected("a list of texts", &value.raw, example);
        let Raw::Array(elements) = &value.raw else {
            return Err(expected());
        };
        self.0.clear();
        for element in elements {
            let Raw::Text(text) = &element.raw else {
                return Err(expected());
            };
            match Expectation::parse(text) {
                Ok(expectation) => self.0.push(expectation),
                Err(mut wrong) => {
                    wrong.message = format!("expect: {}", wrong.message);
                    reader.report(element.place, wrong);
                }
            }
        }
        Ok(())
    }

    fn write(&self) -> Raw {
        let texts = self.0.iter().map(|one| Raw::Text(one.to_string()).into());
        Raw::Array(texts.collect())
    }

    fn kind(&self) -> Kind {
        Kind::List {
            of: Box::new(Kind::Text("PATH < VALUE, with <, <=, > or >=")),
            len: (0, None),
        }
    }
}

#[cfg(test)]
mod tests;
