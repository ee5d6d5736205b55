//! Durations within bounds, for values that would keep a run from advancing at or near zero.

use super::diagnostic::Diagnostic;
use super::kind::Kind;
use super::raw::{Raw, Spanned};
use super::read::{Form, Reader, Value};
use crate::time::Duration;
use std::ops::RangeInclusive;

/// A duration within bounds.
#[derive(Clone, Copy, Debug)]
pub struct BoundedDuration {
    min: Duration,
    max: Duration,
}

/// A duration within bounds.
pub const fn duration(bounds: RangeInclusive<Duration>) -> BoundedDuration {
    BoundedDuration {
        min: *bounds.start(),
        max: *bounds.end(),
    }
}

impl Form<Duration> for BoundedDuration {
    fn read(
        &self,
        slot: &mut Duration,
        value: &Spanned,
        reader: &mut Reader<'_>,
    ) -> Result<(), Diagnostic> {
        let Self { min, max } = *self;
        let mut read = Duration::ZERO;
        read.read(value, reader)?;
        if !(min..=max).contains(&read) {
            return Err(Diagnostic::new(
                format!("expected a duration from {min} to {max}, found {read}"),
                format!("write at least \"{min}\""),
            ));
        }
        *slot = read;
        Ok(())
    }

    fn write(&self, value: &Duration) -> Raw {
        value.write()
    }

    fn kind(&self, _: &Duration) -> Kind {
        let Self { min, max } = *self;
        Kind::Duration { min, max }
    }
}
