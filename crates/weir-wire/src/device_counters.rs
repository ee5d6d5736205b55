//! The kernel's counters of a network device in this thread's namespace.

use std::io;

/// The counters of a device since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Packets sent through the device.
    pub sent: u64,
    /// Packets to be sent through the device that the kernel dropped, because its queue was full.
    pub send_drops: u64,
    /// Packets received through the device.
    pub received: u64,
    /// Packets received through the device that the kernel dropped.
    pub receive_drops: u64,
}

impl DeviceCounters {
    /// The counters of the device with this name in the network namespace of the calling thread;
    /// `None` if there is no such device.
    ///
    /// # Errors
    /// If the kernel does not provide them.
    pub fn read(device: &str) -> io::Result<Option<Self>> {
        // The file of the thread, because the process may be in another namespace.
        let text = std::fs::read_to_string("/proc/thread-self/net/dev")?;
        Ok(Self::parse(&text, device))
    }

    /// Parses the table of proc_net_dev(5).
    fn parse(text: &str, device: &str) -> Option<Self> {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let (_, row) = lines.find(|(name, _)| name.trim() == device)?;
        let numbers: Vec<u64> = row
            .split_whitespace()
            .map_while(|word| word.parse().ok())
            .collect();
        // bytes, packets, errs, drop, … of received packets, and the same of sent ones after eight
        // columns.
        Some(Self {
            received: *numbers.get(1)?,
            receive_drops: *numbers.get(3)?,
            sent: *numbers.get(9)?,
            send_drops: *numbers.get(11)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_the_kernels_table_is_read_by_its_name() {
        let table = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop\n\
                     weir12:  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
                     weir1:   21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36\n short: 1 2\n";
        let counters = |device| DeviceCounters::parse(table, device);
        let expected = DeviceCounters {
            received: 22,
            receive_drops: 24,
            sent: 30,
            send_drops: 32,
        };
        assert_eq!(counters("weir1"), Some(expected));
        assert_eq!(counters("weir12").map(|device| device.send_drops), Some(12));
        for device in ["weir", "short", ""] {
            assert_eq!(counters(device), None, "{device}");
        }
    }

    #[test]
    fn loopback_is_there() {
        let counters = DeviceCounters::read("lo").expect("this is Linux");
        assert!(counters.is_some());
    }
}
