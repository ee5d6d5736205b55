//! Checks of a scenario that involve several keys.

mod classes;
mod expected;
mod handovers;
mod stations;
mod tunnels;
mod ways;

use super::arrivals::load_pairs;
use super::document::{Document, Step};
use super::error::{ScenarioError, suggestion};
use super::files::leaves_folder;
use super::model::{Direction, Flow, Host, Link, MAX_FLOWS, MAX_NODES, MAX_TRANSFERS, Scenario};
use super::rate_trace;
use super::transport::{RFC4341, Transport};
use super::wifi::Wifi;
use Step::{Index, Key};
use std::collections::BTreeSet;
use std::path::Path;
use weir_net::AppConfig;
use weir_net::app::BulkConfig;
use weir_proto::settings::{Diagnostic, Variants as _};
use weir_proto::time::Duration;

/// The maximum duration of a run: a year.
const MAX_DURATION: Duration = Duration::from_secs(366 * 86_400);
/// The maximum number of rows of all interval tables together.
const MAX_INTERVALS: u64 = 100_000_000;
/// The maximum number of writes of all constant-bit-rate flows together.
const MAX_WRITES: f64 = 1e10;

type Checked = Result<(), ScenarioError>;

/// A scenario and the document from which it was read.
pub(crate) struct Check<'a> {
    pub(crate) document: &'a Document,
    pub(crate) scenario: &'a mut Scenario,
    /// For each flow the index of its entry in the document.
    pub(crate) entries: Vec<usize>,
}

impl Check<'_> {
    /// Checks everything, and adds the hosts that only links refer to.
    pub(crate) fn all(&mut self) -> Checked {
        self.run()?;
        self.hosts()?;
        self.rate_traces()?;
        self.arrivals()?;
        self.links()?;
        self.wifi()?;
        self.flows()?;
        self.tunnels()?;
        self.entries = self.scenario.write_out_templates();
        self.paths()?;
        self.cost()?;
        self.expectations()
    }

    /// Checks only the links of a scenario without flows, and adds their hosts.
    pub(crate) fn links_alone(&mut self) -> Checked {
        self.hosts()?;
        self.links()
    }

    fn error<T>(
        &self,
        path: &[Step<'_>],
        message: String,
        help: impl Into<String>,
    ) -> Result<T, ScenarioError> {
        let place = self.document.place(path);
        Err(self.document.error(place, message, Some(help.into())))
    }

    fn run(&self) -> Checked {
        let run = &self.scenario.run;
        let at = |key| [Key("run"), Key(key)];
        if run.duration.is_zero() || run.duration > MAX_DURATION {
            let message = format!(
                "duration: expected more than 0s and at most a year, found {}",
                run.duration
            );
            return self.error(&at("duration"), message, "write a duration such as \"10s\"");
        }
        if run.warmup >= run.duration {
            let message = format!(
                "warmup: {} leaves nothing of the duration of {}",
                run.warmup, run.duration
            );
            return self.error(
                &at("warmup"),
                message,
                "write a warmup shorter than the duration",
            );
        }
        let flows = self.scenario.flows.iter();
        let flows = flows.map(|flow| u64::from(flow.count)).sum::<u64>().max(1);
        if let Some(interval) = run.interval.filter(|interval| !interval.is_zero()) {
            let rows = (run.duration.as_nanos() / interval.as_nanos()).saturating_mul(flows);
            if rows > MAX_INTERVALS {
                let message = format!(
                    "interval: {interval} makes {rows} rows of all flows, expected at most \
                     {MAX_INTERVALS}"
                );
                return self.error(&at("interval"), message, "write a longer one, or \"auto\"");
            }
        }
        if self.scenario.links.is_empty() && self.scenario.wifi.is_empty() {
            let help = "add [[link]] with name and between = [\"server\", \"client\"]";
            return self.error(&[], "the scenario has no link".to_owned(), help);
        }
        if self.scenario.flows.is_empty() {
            let help = "add [[flow]] with name, from, to and transport";
            return self.error(&[], "the scenario has no flow".to_owned(), help);
        }
        Ok(())
    }

    /// Names are unique; `key` is the name of the list.
    fn unique(&self, key: &str, names: &[(usize, String)]) -> Checked {
        let mut seen = BTreeSet::new();
        for (index, name) in names {
            if !seen.insert(name) {
                let path = [Key(key), Index(*index), Key("name")];
                let message = format!("there are two {key}s called \"{name}\"");
                return self.error(&path, message, "give each a name of its own");
            }
        }
        Ok(())
    }

    fn hosts(&mut self) -> Checked {
        self.nodes()?;
        let names = names_of(&self.scenario.hosts, |host| host.names().collect());
        self.unique("host", &names)?;
        let mut known: BTreeSet<String> = names.into_iter().map(|(_, name)| name).collect();
        let explicit = known.clone();
        known.extend(self.scenario.templates().into_keys());
        let joined = joined_hosts(self.scenario);
        for name in &joined {
            if known.insert(name.clone()) {
                let name = name.clone();
                let host = Host {
                    name,
                    ..Host::default()
                };
                self.scenario.hosts.push(host);
            }
        }
        for (index, host) in self.scenario.hosts.iter().enumerate() {
            let jitter = host.timing.jitter;
            if !jitter.is_random() && !jitter.most.is_zero() {
                let path = [Key("host"), Index(index), Key("jitter")];
                let message = format!("jitter: {jitter} is the same for each packet");
                let help =
                    format!("write the range from which each packet draws: \"0s..{jitter}\"");
                return self.error(&path, message, help);
            }
        }
        let joined: BTreeSet<&String> = joined.iter().collect();
        for (index, host) in self.scenario.hosts.iter().enumerate() {
            let by_number = || host.names().any(|name| joined.contains(&name));
            let stated = explicit.contains(&host.name) || host.count > 1;
            if stated && !joined.contains(&host.name) && !by_number() {
                let path = [Key("host"), Index(index), Key("name")];
                let others: Vec<&str> = joined.iter().map(|name| name.as_str()).collect();
                let message = format!("no link leads to the host \"{}\"", host.name);
                let help = suggestion(&host.name, "hosts of the links", &others);
                return self.error(&path, message, help);
            }
        }
        Ok(())
    }

    fn links(&self) -> Checked {
        let links = &self.scenario.links;
        let names = names_of(links, |link| link.names().collect());
        self.unique("link", &names)?;
        for (index, link) in links.iter().enumerate() {
            self.ends_of_link(index, link)?;
            if link.between[0] == link.between[1] {
                let path = [Key("link"), Index(index), Key("between")];
                let message = format!(
                    "link \"{}\" leads from \"{}\" back to it",
                    link.name, link.between[0]
                );
                return self.error(&path, message, "name two hosts");
            }
            let both = [Key("link"), Index(index)];
            for (direction, key) in [(&link.forward, "forward"), (&link.backward, "backward")] {
                let own = [both.as_slice(), &[Key(key)]].concat();
                let stands_apart = self.document.place(&own) != self.document.place(&both);
                let path = if stands_apart { own.as_slice() } else { &both };
                self.direction(direction, path)?;
            }
        }
        Ok(())
    }

    /// The number of hosts and links is within the limit.
    fn nodes(&self) -> Checked {
        let hosts = self.scenario.hosts.iter().map(|host| u64::from(host.count));
        let links = self.scenario.links.iter().map(|link| u64::from(link.count));
        if hosts.sum::<u64>() > MAX_NODES || links.sum::<u64>() > MAX_NODES {
            let message = format!("expected at most {MAX_NODES} hosts and links");
            return self.error(&[], message, "make the scenario smaller");
        }
        Ok(())
    }

    /// The count of a link equals that of the hosts that it joins.
    fn ends_of_link(&self, index: usize, link: &Link) -> Checked {
        let templates = self.scenario.templates();
        let counts = link.between.iter().filter_map(|host| {
            let count = templates.get(host)?;
            Some((host, *count))
        });
        let counts: Vec<_> = counts.collect();
        let at = |key| [Key("link"), Index(index), Key(key)];
        if let Some((host, count)) = counts.iter().find(|(_, count)| *count != link.count) {
            let links = link.count;
            let message = format!("count: {links} links cannot join {count} hosts \"{host}\"");
            let help = format!("write count = {count}, or name one of them, \"{host}-1\"");
            return self.error(&at("count"), message, help);
        }
        if link.count > 1 && counts.is_empty() {
            let message = "count: the links would all join the same two hosts".to_owned();
            let count = link.count;
            let help = format!("give one of the hosts a [[host]] with count = {count}");
            return self.error(&at("count"), message, help);
        }
        Ok(())
    }

    /// Checks the keys of a direction that depend on each other; `path` leads to the direction.
    fn direction(&self, direction: &Direction, path: &[Step<'_>]) -> Checked {
        let at = |steps: &[Step<'static>]| [path, steps].concat();
        if let Some(shaper) = &direction.shaper
            && shaper.limit.is_some() == shaper.latency.is_some()
        {
            let message = "shaper: expected either \"limit\" or \"latency\"".to_owned();
            let help = "write limit = \"30000b\" or latency = \"200ms\"";
            return self.error(&at(&[Key("shaper")]), message, help);
        }
        self.classes(&direction.queue, &at(&[Key("queue")]))?;
        for (n, change) in direction.changes.iter().enumerate() {
            let at = |key| at(&[Key("change"), Index(n), Key(key)]);
            if n > 0 && change.at <= direction.changes[n - 1].at {
                let message = format!("at: {} is not after the change before it", change.at);
                return self.error(&at("at"), message, "put the changes in order of time");
            }
            if change.shaper_rate.is_some() && direction.shaper.is_none() {
                let message = "shaper_rate: the link has no shaper".to_owned();
                let help = "give it a shaper, or change `rate`";
                return self.error(&at("shaper_rate"), message, help);
            }
        }
        Ok(())
    }

    /// Reads the files of rate traces; their paths are relative to the scenario's folder.
    fn rate_traces(&mut self) -> Checked {
        let folder = self.document.sources.first().map(|source| &source.name);
        let folder = folder.map_or(Path::new(""), |name| {
            Path::new(name).parent().unwrap_or(Path::new(""))
        });
        for (index, link) in self.scenario.links.iter_mut().enumerate() {
            for direction in [&mut link.forward, &mut link.backward] {
                let Some(file) = direction.rate_trace.file.take() else {
                    continue;
                };
                if leaves_folder(&file) {
                    self.scenario.outside.push(format!(
                        "rate_trace of link \"{}\": \"{file}\" lies outside the scenario's folder, \
                         which therefore is not complete",
                        link.name
                    ));
                    // Both directions usually have the same file.
                    self.scenario.outside.dedup();
                }
                let read = self.document.files.read(folder, &file).map_err(|error| {
                    let help = "name a file beside the scenario";
                    Diagnostic::new(format!("cannot read \"{file}\": {error}"), help)
                });
                match read.and_then(|text| rate_trace::parse(&file, &text)) {
                    Ok(millis) => direction.rate_trace.millis = millis.into(),
                    Err(mut wrong) => {
                        wrong.message = format!("rate_trace: {}", wrong.message);
                        let path = [Key("link"), Index(index), Key("rate_trace")];
                        return Err(self.document.diagnosed(self.document.place(&path), wrong));
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads the files of arrivals and of sizes, whose paths are relative to the scenario's folder,
    /// and checks their values.
    fn arrivals(&mut self) -> Checked {
        let folder = self.document.sources.first().map(|source| &source.name);
        let folder = folder.and_then(|name| Path::new(name).parent());
        let folder = folder.unwrap_or(Path::new("")).to_owned();
        for (index, flow) in self.scenario.flows.iter_mut().enumerate() {
            let mut path = vec![Key("flow"), Index(index), Key("arrivals")];
            let mut read = Ok(());
            if let Some((pairs, keys)) = flow.arrivals.pairs_mut() {
                path.extend(keys.iter().map(|key| Key(key)));
                read = load_pairs(pairs, &folder, &self.document.files);
            }
            if let Err(mut wrong) = read.and_then(|()| flow.arrivals.check()) {
                wrong.message = format!("arrivals: {}", wrong.message);
                return Err(self.document.diagnosed(self.document.place(&path), wrong));
            }
            for (key, size) in flow.app.sizes_mut() {
                let cdf = size.cdf_mut();
                let read = cdf.map(|pairs| load_pairs(pairs, &folder, &self.document.files));
                if let Err(wrong) = read.unwrap_or(Ok(())).and_then(|()| size.check()) {
                    let path = [Key("flow"), Index(index), Key("app"), Key(key), Key("cdf")];
                    return Err(self.document.diagnosed(self.document.place(&path), wrong));
                }
            }
        }
        Ok(())
    }

    /// The arrivals of a flow are within the limit, and its application has no size of its own.
    fn transfers(&self, index: usize, flow: &Flow) -> Checked {
        let at = |key| [Key("flow"), Index(index), Key(key)];
        let Some(expected) = flow.arrivals.expected(self.scenario.run.duration) else {
            return Ok(());
        };
        let transfers = expected * f64::from(flow.count);
        if transfers > MAX_TRANSFERS as f64 {
            let message = format!(
                "arrivals: about {transfers:.0} transfers, expected at most {MAX_TRANSFERS}"
            );
            let help = "let fewer begin in a second, or run shorter";
            return self.error(&at("arrivals"), message, help);
        }
        if !matches!(flow.app, AppConfig::Bulk(BulkConfig { total: None, .. })) {
            let message = "app: the sizes of transfers are those of \"arrivals\"".to_owned();
            let help = "write app = { kind = \"bulk\" } without a total, or leave it out";
            return self.error(&at("app"), message, help);
        }
        Ok(())
    }

    fn wifi(&self) -> Checked {
        let media = &self.scenario.wifi;
        let named = |wifi: &Wifi| wifi.name.clone();
        let names: Vec<_> = media.iter().map(named).enumerate().collect();
        self.unique("wifi", &names)?;
        for (index, wifi) in media.iter().enumerate() {
            if self
                .scenario
                .links
                .iter()
                .any(|link| link.name == wifi.name)
            {
                let path = [Key("wifi"), Index(index), Key("name")];
                let message = format!("there is a link called \"{}\" too", wifi.name);
                return self.error(&path, message, "give each a name of its own");
            }
            wifi.check(self.document, index)?;
            self.stations(index, wifi)?;
        }
        Ok(())
    }

    fn flows(&self) -> Checked {
        let flows = &self.scenario.flows;
        let total: u64 = flows.iter().map(|flow| u64::from(flow.count)).sum();
        if total > MAX_FLOWS {
            let path = [Key("flow"), Index(0), Key("count")];
            let message = format!("the scenario has {total} flows, expected at most {MAX_FLOWS}");
            return self.error(&path, message, "make \"count\" smaller");
        }
        let names = names_of(flows, |flow| flow.names().collect());
        self.unique("flow", &names)?;
        for (index, flow) in flows.iter().enumerate() {
            self.flow(index, flow)?;
        }
        Ok(())
    }

    fn flow(&self, index: usize, flow: &Flow) -> Checked {
        let at = |key| [Key("flow"), Index(index), Key(key)];
        self.ends_of_flow(index, flow)?;
        self.controller(index, flow)?;
        self.app(index, flow)?;
        self.transfers(index, flow)?;
        if flow.from == flow.to {
            let message = format!("to: the flow leads from \"{}\" back to it", flow.from);
            return self.error(&at("to"), message, "name another host");
        }
        let last = u64::from(flow.count).saturating_sub(1);
        let wait = flow.stagger.as_nanos().saturating_mul(last);
        let start = flow.start.most + Duration::from_nanos(wait);
        if start >= self.scenario.run.duration {
            let duration = self.scenario.run.duration;
            let message = format!("start: {start} is not before the end of the run at {duration}");
            return self.error(&at("start"), message, "start earlier, or run longer");
        }
        if flow.stop.is_some_and(|stop| stop <= start) {
            let message = format!("stop: the flow would stop before it starts at {start}");
            return self.error(&at("stop"), message, "stop later, or write \"never\"");
        }
        Ok(())
    }

    /// Only CCID 2 has a window controller, because CCIDs 3 and 4 are TFRC.
    fn controller(&self, index: usize, flow: &Flow) -> Checked {
        let Transport::Dccp(dccp) = &flow.transport else {
            return Ok(());
        };
        if dccp.ccid == 2 || dccp.controller == RFC4341.word {
            return Ok(());
        }
        let path = [
            Key("flow"),
            Index(index),
            Key("transport"),
            Key("controller"),
        ];
        let message = format!(
            "controller: CCID {} is TFRC, which has no window controller",
            dccp.ccid
        );
        self.error(&path, message, "write ccid = 2")
    }

    /// The hosts of a flow exist, and the flow has a count if its host stands for several.
    fn ends_of_flow(&self, index: usize, flow: &Flow) -> Checked {
        let hosts = &self.scenario.hosts;
        for (key, name) in [("from", &flow.from), ("to", &flow.to)] {
            let at = [Key("flow"), Index(index), Key(key)];
            let template = hosts.iter().find(|host| host.name == *name);
            if let Some(Host { count, .. }) = template.filter(|host| host.count > 1) {
                if flow.count > 1 {
                    continue;
                }
                let message = format!("{key}: \"{name}\" stands for {count} hosts");
                let help = format!("write count = {count}, or name one of them, \"{name}-1\"");
                return self.error(&at, message, help);
            }
            if template.is_none() && !hosts.iter().flat_map(Host::names).any(|one| one == *name) {
                let message = format!("{key}: there is no host \"{name}\"");
                let hosts: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
                return self.error(&at, message, suggestion(name, "hosts", &hosts));
            }
        }
        Ok(())
    }

    /// Checks the keys of an application that depend on each other or on the transport.
    fn app(&self, index: usize, flow: &Flow) -> Checked {
        let at = |key| {
            let (flow, index) = (Key("flow"), Index(index));
            [flow, index, Key("app"), Key(key)]
        };
        let takes_all = flow.app.load().is_none();
        if takes_all && let Some(what) = flow.transport.takes_all() {
            let kind = flow.app.word();
            let message = format!("{kind}: {what} takes as much as it is given, without end");
            let help = "write app = { kind = \"cbr\", rate = \"1Mbit\" }, or another transport";
            return self.error(&at("kind"), message, help);
        }
        let is_stream = flow.transport.is_stream();
        if is_stream && flow.app.needs_datagrams() {
            let kind = flow.app.word();
            let message = format!("{kind}: its packets are datagrams, not octets of a stream");
            let help = "write transport = { kind = \"rtp\" }, or \"udp\" or \"dccp\", or \"quic\" \
                        with media = \"datagrams\"";
            return self.error(&at("kind"), message, help);
        }
        if !is_stream && flow.app.needs_stream() {
            let kind = flow.app.word();
            let message = format!("{kind}: a lost datagram would leave it waiting for ever");
            let help = "write transport = { kind = \"tcp\" }, or \"quic\", \"quinn\" or \"noq\"";
            return self.error(&at("kind"), message, help);
        }
        match flow.app.check() {
            Ok(()) => Ok(()),
            Err(wrong) => self.error(&at(wrong.key), wrong.message, wrong.help),
        }
    }

    fn cost(&self) -> Checked {
        let duration = self.scenario.run.duration;
        let mut writes = 0.0;
        for (flow, &index) in self.scenario.flows.iter().zip(&self.entries) {
            let Some(load) = flow.app.load() else {
                continue;
            };
            let end = flow.stop.map_or(duration, |stop| stop.min(duration));
            let active = end.saturating_sub(flow.start.least).as_secs_f64();
            let each = (active * load.per_second).min(load.count.unwrap_or(u64::MAX) as f64);
            writes += each * f64::from(flow.count);
            if writes > MAX_WRITES {
                let path = [Key("flow"), Index(index), Key("app"), Key("rate")];
                let message = format!(
                    "rate: the flows would write {writes:.1e} packets, expected at most {MAX_WRITES:.0e}"
                );
                let help = "lower the rate, use larger packets, or run shorter";
                return self.error(&path, message, help);
            }
        }
        Ok(())
    }
}

/// The names of all entries, each with the index of its entry.
fn names_of<T>(entries: &[T], names: impl Fn(&T) -> Vec<String>) -> Vec<(usize, String)> {
    let numbered = entries.iter().enumerate();
    let names = numbered.flat_map(|(index, entry)| {
        let names = names(entry).into_iter();
        names.map(move |name| (index, name))
    });
    names.collect()
}

/// The hosts named by links and stations, in the order of the file.
fn joined_hosts(scenario: &Scenario) -> Vec<String> {
    let links = scenario.links.iter().flat_map(|link| &link.between);
    let media = scenario.wifi.iter().flat_map(|wifi| &wifi.stations);
    links
        .chain(media.map(|station| &station.host))
        .cloned()
        .collect()
}
