//! Expectations refer to existing parts of the scenario.

use super::super::expectation::{ExpectedOf, Term, measures_of};
use super::super::model::Flow;
use super::{Check, Checked};
use crate::scenario::document::Step::{Index, Key};
use crate::scenario::error::suggestion;

impl Check<'_> {
    /// Every expectation refers to an existing part of the scenario.
    pub(super) fn expectations(&self) -> Checked {
        let scenario = &*self.scenario;
        let names_of_flows = |wanted: fn(&Flow) -> bool| -> Vec<String> {
            let flows = scenario.flows.iter().filter(|flow| wanted(flow));
            flows.flat_map(Flow::names).collect()
        };
        let expectations = scenario.expect.0.iter().enumerate();
        let numbers = expectations.flat_map(|(index, expectation)| {
            let numbers = expectation.term().into_iter().flat_map(Term::all);
            numbers.map(move |number| (index, &number.of))
        });
        for (index, of) in numbers {
            let names: Vec<String> = match of.part {
                "flow" => scenario.connection_names().collect(),
                "transfers" => names_of_flows(|flow| !flow.is_one_connection()),
                "link" => scenario.trace_names().collect(),
                "group" => scenario.group_names().into_iter().collect(),
                _ => continue,
            };
            if names.iter().any(|name| of.covers(name)) {
                continue;
            }
            let (list, name) = (of.list, of.name.as_deref().unwrap_or_default());
            if let Some((what, part)) = self.other_part(of) {
                let message = format!("expect: \"{name}\" of {list} is {what}");
                let measures = measures_of(part).join(", ");
                let help = format!("write \"{part}.{name}.MEASURE\"; measures: {measures}");
                return self.error(&[Key("expect"), Index(index)], message, help);
            }
            let message = format!("expect: no name of {list} is \"{name}\"");
            let names: Vec<&str> = names.iter().map(String::as_str).take(20).collect();
            let help = suggestion(name, list, &names);
            return self.error(&[Key("expect"), Index(index)], message, help);
        }
        Ok(())
    }

    /// If the name belongs to a flow of the other kind: its description, and the part of the
    /// summary with its measures.
    fn other_part(&self, of: &ExpectedOf) -> Option<(&'static str, &'static str)> {
        let flows = self.scenario.flows.iter();
        let names = flows.flat_map(Flow::names);
        let is_known = names.into_iter().any(|name| of.covers(&name));
        match of.part {
            "flow" if is_known => Some((
                "a flow with arrivals, whose connections are summed up as transfers",
                "transfers",
            )),
            "transfers" if is_known => Some(("a flow without arrivals, of one connection", "flow")),
            _ => None,
        }
    }
}
