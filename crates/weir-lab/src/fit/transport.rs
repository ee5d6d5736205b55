//! The transport of the fitted flow: the trace's own, with the controller that it names.

use super::parameter::Parameter;
use super::{FitError, Subject};
use crate::scenario::error::suggestion;
use weir_proto::cc::window;
use weir_proto::settings::{Raw, Table, Value as _, word_here};

/// The controller of TCP and QUIC where the trace names none: that of Linux.
const USUAL_CONTROLLER: &str = "cubic";

/// The others that are tried then.
const OTHER_CONTROLLERS: [&str; 2] = ["newreno", "bbr"];
/// Another controller is taken if the distance of its run is below this share of the usual one's.
pub(super) const CLEARLY: f64 = 0.6;

/// The names of the controllers, and the one that was probably meant, for an error.
pub(super) fn known(name: &str) -> String {
    let words = window::keywords().into_iter();
    let words: Vec<&str> = words.map(|keyword| keyword.word).collect();
    suggestion(&name.to_ascii_lowercase(), "expected one of", &words)
}

/// A controller's name as scenarios have it.
fn in_our_words(name: &str) -> String {
    word_here(&name.to_ascii_lowercase()).to_owned()
}

/// True for a controller that scenarios have.
pub(super) fn is_known(name: &str) -> bool {
    window::find(&in_our_words(name)).is_some()
}

/// The transports to try, the likeliest first: several if the trace names no controller.
pub(super) fn candidates(subject: &Subject<'_>) -> Result<Vec<(Raw, Parameter)>, FitError> {
    let mut all = vec![of(subject)?];
    let is_open = subject.declared.is_none() && subject.controller.is_none();
    if is_open && ["tcp", "quic"].contains(&subject.transport.as_str()) {
        for name in OTHER_CONTROLLERS {
            let mut other = subject.clone();
            other.controller = Some(name.to_owned());
            let (raw, mut parameter) = of(&other)?;
            parameter.how = String::from(
                "the trace names no controller: the run with this one is much nearer \
                             than with that of Linux",
            );
            all.push((raw, parameter));
        }
    }
    Ok(all)
}

/// The transport as a table of a file, and how it was found.
fn of(subject: &Subject<'_>) -> Result<(Raw, Parameter), FitError> {
    let of_run = subject.declared.map(|flow| flow.transport.write());
    let name = subject.controller.as_deref().map(in_our_words);
    let (raw, how) = match (of_run, subject.transport.as_str()) {
        (Some(raw), "tcp" | "quic" | "quinn" | "noq" | "dccp") => {
            (with_controller(raw, name.as_deref()), "as the run has it")
        }
        (None, "dccp") => {
            let is_tfrc = name.as_deref().is_none_or(|name| name == "tfrc");
            let ccid = Raw::Integer(if is_tfrc { 3 } else { 2 });
            (
                table(&[("kind", text("dccp")), ("ccid", ccid)]),
                "the trace has DCCP",
            )
        }
        (None, kind @ ("tcp" | "quic")) => {
            let how = match &name {
                Some(_) => "the trace names the controller",
                None => "the trace names no controller: that of Linux",
            };
            let known = name.as_deref().unwrap_or(USUAL_CONTROLLER);
            window::find(known).ok_or_else(|| FitError::Controller(known.to_owned()))?;
            let keys = [("kind", text(kind)), ("controller", text(known))];
            (table(&keys), how)
        }
        (_, other) => return Err(FitError::Transport(other.to_owned())),
    };
    let word = |key: &str| {
        let entry = raw.as_table().and_then(|table| table.get(key));
        entry
            .and_then(|entry| entry.value.raw.as_text())
            .unwrap_or_default()
            .to_owned()
    };
    let value = format!("{} {}", word("kind"), word("controller"));
    let parameter = Parameter::new("flow.transport", value.trim(), how);
    Ok((raw, parameter))
}

fn with_controller(mut raw: Raw, name: Option<&str>) -> Raw {
    if let (Raw::Table(table), Some(name)) = (&mut raw, name)
        && let Some(entry) = table.get_mut("controller")
    {
        entry.value = text(name).into();
    }
    raw
}

/// A text value.
pub(super) fn text(word: impl Into<String>) -> Raw {
    Raw::Text(word.into())
}

/// A table of these keys.
pub(super) fn table(keys: &[(&str, Raw)]) -> Raw {
    let mut table = Table::default();
    for (key, raw) in keys {
        table.put(key, raw.clone());
    }
    Raw::Table(table)
}
