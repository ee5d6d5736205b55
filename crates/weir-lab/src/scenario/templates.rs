//! `count` of hosts, links and flows: one entry of the file for several of the same kind, called
//! NAME-1, NAME-2 and so on.
//!
//! The file is checked as it was written, so that errors have their places, and then the entries
//! are expanded. An expanded scenario does not change when it is expanded again.

use super::model::{Flow, Host, Link, Scenario, numbered};
use std::collections::BTreeMap;
use weir_proto::DurationRange;
use weir_proto::time::Duration;

/// The hosts with a count, by name.
pub(super) type Templates = BTreeMap<String, u32>;

/// The host that `name` means in the entry with this index.
fn host_of(templates: &Templates, name: &str, number: u32) -> String {
    match templates.get(name) {
        Some(&count) => format!("{name}-{}", number % count + 1),
        None => name.to_owned(),
    }
}

impl Scenario {
    /// The hosts with a count.
    pub(super) fn templates(&self) -> Templates {
        let several = self.hosts.iter().filter(|host| host.count > 1);
        let several = several.map(|host| (host.name.clone(), host.count));
        several.collect()
    }

    /// Expands hosts and links with a count, and the flows between such hosts. Returns for each
    /// flow the index of its original entry.
    pub(super) fn write_out_templates(&mut self) -> Vec<usize> {
        let templates = self.templates();
        let hosts = std::mem::take(&mut self.hosts);
        self.hosts = hosts.iter().flat_map(hosts_of).collect();
        let links = std::mem::take(&mut self.links);
        let links = links.iter().flat_map(|link| links_of(link, &templates));
        self.links = links.collect();
        let mut entries = Vec::new();
        for (entry, flow) in std::mem::take(&mut self.flows).into_iter().enumerate() {
            let joins_one = |host| !templates.contains_key(host);
            if joins_one(&flow.from) && joins_one(&flow.to) {
                self.flows.push(flow);
            } else {
                self.flows.extend(flows_of(&flow, &templates));
            }
            entries.resize(self.flows.len(), entry);
        }
        entries
    }
}

fn hosts_of(host: &Host) -> impl Iterator<Item = Host> + '_ {
    numbered(&host.name, host.count).map(|name| Host {
        name,
        count: 1,
        ..host.clone()
    })
}

fn links_of<'a>(link: &'a Link, templates: &'a Templates) -> impl Iterator<Item = Link> + 'a {
    let names = numbered(&link.name, link.count).zip(0..);
    names.map(|(name, number)| Link {
        name,
        count: 1,
        between: [&link.between[0], &link.between[1]].map(|host| host_of(templates, host, number)),
        ..link.clone()
    })
}

fn flows_of<'a>(flow: &'a Flow, templates: &'a Templates) -> impl Iterator<Item = Flow> + 'a {
    flow.names().zip(0..).map(move |(name, number)| {
        let later = flow.stagger * u64::from(number);
        Flow {
            name,
            count: 1,
            from: host_of(templates, &flow.from, number),
            to: host_of(templates, &flow.to, number),
            group: flow.group.clone().or_else(|| Some(flow.name.clone())),
            start: DurationRange {
                least: flow.start.least + later,
                most: flow.start.most + later,
            },
            stagger: Duration::ZERO,
            ..flow.clone()
        }
    })
}
