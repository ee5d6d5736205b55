//! `--probe FILE`: the state of the sender's controller during the test, a line of CSV for each
//! change, like Linux's dccp_probe and tcp_probe.

use crate::exit::Failure;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use weir_proto::event::{Event, RateState, WindowState};
use weir_proto::time::Duration;

/// The first line. A column that does not apply to a controller is empty: TFRC has no window, and
/// window controllers have no rate.
const COLUMNS: &str = "time_s,flow,rate_bps,receive_rate_bps,loss_event_rate,cwnd_bytes,\
                       in_flight_bytes,ssthresh_bytes,rtt_s,smoothed_rtt_s,state,limit\n";

/// The output for the lines of all tests of a command.
#[derive(Clone)]
pub struct Probe(Arc<Mutex<Output>>);

struct Output {
    out: Box<dyn Write + Send>,
    /// The first error of writing.
    failed: Option<io::Error>,
}

impl Probe {
    /// Writes into this file, or to stdout for `-`.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let out: Box<dyn Write + Send> = if path == Path::new("-") {
            Box::new(io::stdout())
        } else {
            Box::new(File::create(path).map_err(|error| {
                let path = path.display();
                Failure::Usage(format!("cannot write the probe \"{path}\": {error}"))
            })?)
        };
        let probe = Self::to(out);
        probe.flush();
        Ok(probe)
    }

    fn to(out: Box<dyn Write + Send>) -> Self {
        let probe = Self(Arc::new(Mutex::new(Output {
            out: Box::new(BufWriter::new(out)),
            failed: None,
        })));
        probe.write(COLUMNS);
        probe
    }

    /// Writes the line of a controller's event at this time since the opening of the connection;
    /// other events are ignored.
    pub fn record(&self, flow: &str, at: Duration, event: &Event) {
        let rest = match event {
            Event::Rate(state) => rate_columns(state),
            Event::Window(state) => window_columns(state),
            _ => return,
        };
        self.write(&format!("{:.6},{flow},{rest}\n", at.as_secs_f64()));
    }

    /// Flushes the output.
    pub fn flush(&self) {
        self.attempt(Write::flush);
    }

    /// Fails if lines could not be written.
    pub fn finish(&self) -> Result<(), Failure> {
        self.flush();
        match self.output().failed.take() {
            None => Ok(()),
            Some(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::ClosedPipe),
            Some(error) => Err(Failure::Failed(format!("cannot write the probe: {error}"))),
        }
    }

    fn write(&self, text: &str) {
        self.attempt(|out| out.write_all(text.as_bytes()));
    }

    fn attempt(&self, write: impl FnOnce(&mut Box<dyn Write + Send>) -> io::Result<()>) {
        let mut output = self.output();
        if output.failed.is_none() {
            output.failed = write(&mut output.out).err();
        }
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn rate_columns(state: &RateState) -> String {
    format!(
        "{:.0},{:.0},{:e},,,,{:.6},{:.6},{},{}",
        state.allowed_rate.as_bps(),
        state.receive_rate.as_bps(),
        state.loss_event_rate,
        state.rtt.as_secs_f64(),
        state.smoothed_rtt.as_secs_f64(),
        state.state,
        state.limit.name(),
    )
}

fn window_columns(state: &WindowState) -> String {
    let ssthresh = state.ssthresh.map(|octets| octets.to_string());
    format!(
        ",,,{},{},{},{:.6},{:.6},{},{}",
        state.cwnd,
        state.bytes_in_flight,
        ssthresh.unwrap_or_default(),
        state.rtt.as_secs_f64(),
        state.smoothed_rtt.as_secs_f64(),
        state.state,
        state.limit.name(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_proto::event::Limit;
    use weir_proto::units::Rate;

    /// A writer that a test can read, with a limited capacity in octets.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<(Vec<u8>, Option<usize>)>>);

    impl Write for Shared {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            let mut shared = self.0.lock().expect("not poisoned");
            if shared.1.is_some_and(|room| shared.0.len() >= room) {
                return Err(ErrorKind::StorageFull.into());
            }
            shared.0.extend_from_slice(octets);
            Ok(octets.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn window() -> Event {
        Event::Window(WindowState {
            cwnd: 4380,
            bytes_in_flight: 1400,
            ssthresh: None,
            smoothed_rtt: Duration::from_millis(30),
            state: "slow_start",
            limit: Limit::SlowStart,
            ..WindowState::default()
        })
    }

    #[test]
    fn each_state_is_a_line_with_all_columns() {
        let shared = Shared::default();
        let probe = Probe::to(Box::new(shared.clone()));
        let at = Duration::from_millis(1500);
        probe.record("stream-1", at, &window());
        let rate = Event::Rate(RateState {
            allowed_rate: Rate::from_bps(80_000.0),
            equation_rate: None,
            receive_rate: Rate::from_bps(40_000.0),
            loss_event_rate: 0.25,
            rtt: Duration::from_millis(31),
            smoothed_rtt: Duration::from_millis(30),
            inter_packet_interval: Duration::from_millis(100),
            segment_size: 1000,
            state: "slow_start",
            limit: Limit::SlowStart,
            media: None,
        });
        probe.record("stream-2", at, &rate);
        probe.record("stream-2", at, &Event::Write(7));
        assert!(probe.finish().is_ok());
        let text = shared.0.lock().expect("not poisoned").0.clone();
        let text = String::from_utf8(text).expect("text");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[1..],
            [
                "1.500000,stream-1,,,,4380,1400,,0.000000,0.030000,slow_start,slow_start",
                "1.500000,stream-2,80000,40000,2.5e-1,,,,0.031000,0.030000,slow_start,slow_start",
            ]
        );
        for line in &lines {
            assert_eq!(
                line.split(',').count(),
                lines[0].split(',').count(),
                "{line}"
            );
        }
    }

    #[test]
    fn a_full_disk_is_a_failure_at_the_end_and_nothing_before() {
        let shared = Shared::default();
        shared.0.lock().expect("not poisoned").1 = Some(100);
        let probe = Probe::to(Box::new(shared));
        for _ in 0..3 {
            probe.record("stream-1", Duration::ZERO, &window());
            probe.flush();
        }
        assert!(matches!(probe.finish(), Err(Failure::Failed(_))));
    }
}
