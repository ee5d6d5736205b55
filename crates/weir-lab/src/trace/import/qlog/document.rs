//! Reads JSON, JSON-SEQ and NDJSON as one stream of texts: a file of one text has its traces with
//! their events in it, a sequence has a head and then an event in each text. Events are handed over
//! one at a time and never held together.

use super::connections::Collector;
use super::input::Input;
use crate::trace::import::ImportError;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fmt;
use std::io::{self, Read};

/// The input, which the visitors tell of each event.
struct Shared<'a, 'i>(&'a RefCell<Input<'i>>);

impl Read for Shared<'_, '_> {
    fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(place)
    }
}

/// Hands every event of the file to the collector.
///
/// # Errors
/// [`ImportError::Damaged`] with the line and octet, unless the file ends within a text: what came
/// before is kept, as of the log of a program that crashed.
pub(super) fn read_into(input: Input<'_>, collector: &mut Collector) -> Result<(), ImportError> {
    let input = RefCell::new(input);
    loop {
        match input.borrow_mut().skip_to_record() {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                collector.note_truncated();
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        let mut deserializer = serde_json::Deserializer::from_reader(Shared(&input));
        let text = Text {
            collector: &mut *collector,
            input: &input,
        };
        let Err(error) = text.deserialize(&mut deserializer) else {
            continue;
        };
        let ends_early = match error.classify() {
            Category::Eof => true,
            Category::Io => error.io_error_kind() == Some(io::ErrorKind::UnexpectedEof),
            Category::Syntax | Category::Data => false,
        };
        if ends_early && collector.has_events() {
            collector.note_truncated();
            return Ok(());
        }
        // The position within the text is that of the reader, which is told with its event.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        return Err(ImportError::Damaged {
            place: format!("event {}, {}", collector.read() + 1, input.borrow().place()),
            message: message.to_owned(),
        });
    }
}

/// A text of the stream.
struct Text<'a, 'i> {
    collector: &'a mut Collector,
    input: &'a RefCell<Input<'i>>,
}

impl<'de> DeserializeSeed<'de> for Text<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of qlog")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut others = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "traces" => map.next_value_seed(Traces {
                    collector: &mut *self.collector,
                    input: self.input,
                })?,
                "trace" => {
                    self.collector.begin_trace();
                    map.next_value_seed(Trace {
                        collector: &mut *self.collector,
                        input: self.input,
                    })?;
                }
                _ => {
                    let value: Value = map.next_value()?;
                    others.insert(name, value);
                }
            }
        }
        self.collector
            .take_text(others)
            .map_err(serde::de::Error::custom)
    }

    /// An event of draft-01 by itself on its line.
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        let event = Value::Array(items);
        self.collector
            .take_event(event)
            .map_err(serde::de::Error::custom)
    }
}

/// The list of traces.
struct Traces<'a, 'i> {
    collector: &'a mut Collector,
    input: &'a RefCell<Input<'i>>,
}

impl<'de> DeserializeSeed<'de> for Traces<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Traces<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of traces")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        loop {
            self.collector.begin_trace();
            let trace = Trace {
                collector: &mut *self.collector,
                input: self.input,
            };
            if seq.next_element_seed(trace)?.is_none() {
                return Ok(());
            }
        }
    }
}

/// A trace.
struct Trace<'a, 'i> {
    collector: &'a mut Collector,
    input: &'a RefCell<Input<'i>>,
}

impl<'de> DeserializeSeed<'de> for Trace<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Trace<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a trace, which is an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "events" => map.next_value_seed(Events {
                    collector: &mut *self.collector,
                    input: self.input,
                })?,
                "title" | "vantage_point" | "configuration" | "common_fields" | "event_fields" => {
                    let value: Value = map.next_value()?;
                    self.collector.head().take(&name, &value);
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            self.input.borrow_mut().begin_event();
        }
        Ok(())
    }
}

/// The events of a trace.
struct Events<'a, 'i> {
    collector: &'a mut Collector,
    input: &'a RefCell<Input<'i>>,
}

impl<'de> DeserializeSeed<'de> for Events<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Events<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.input.borrow_mut().begin_event();
        while let Some(event) = seq.next_element::<Value>()? {
            self.collector
                .take_event(event)
                .map_err(serde::de::Error::custom)?;
            self.input.borrow_mut().begin_event();
        }
        Ok(())
    }
}
