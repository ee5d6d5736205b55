//! Sleeping to less than the runtime's millisecond.
//!
//! Linux has timers that are file descriptors and go off within some tens of microseconds; the
//! runtime waits for them as for a socket. Elsewhere the runtime's own timer ends a millisecond
//! early, and the rest is waited for by yielding.

#[cfg(target_os = "linux")]
pub(crate) use linux::Alarm;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::Alarm;

#[cfg(target_os = "linux")]
mod linux {
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use std::io;
    use tokio::net::unix::pipe::Receiver;

    /// A timer of the kernel; to the runtime it is a pipe from which eight octets come when it
    /// goes off.
    pub(crate) struct Alarm(Receiver);

    impl Alarm {
        /// What is due sooner is not slept for: the kernel takes about as long to wake a sleeper.
        pub(crate) const SHORTEST_NANOS: u64 = 60_000;

        pub(crate) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            Receiver::from_owned_fd_unchecked(timer).map(Self)
        }

        /// Sleeps for this long, less what the kernel takes to wake.
        pub(crate) async fn sleep(&self, nanos: u64) -> io::Result<()> {
            let nanos = nanos.saturating_sub(Self::SHORTEST_NANOS / 2).max(1);
            let zero = Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            let once = Itimerspec {
                it_interval: zero,
                it_value: Timespec {
                    tv_sec: (nanos / 1_000_000_000) as i64,
                    tv_nsec: (nanos % 1_000_000_000) as i64,
                },
            };
            timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
            loop {
                self.0.readable().await?;
                match self.0.try_read(&mut [0; 8]) {
                    Ok(_) => return Ok(()),
                    // Readiness of an earlier sleep that was given up.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;
    use std::time::Duration;

    /// The runtime's timer.
    pub(crate) struct Alarm;

    impl Alarm {
        /// What is due sooner is not slept for.
        pub(crate) const SHORTEST_NANOS: u64 = 1_500_000;

        #[allow(clippy::unnecessary_wraps, reason = "as on Linux")]
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        /// Sleeps for this long, less the runtime's millisecond.
        pub(crate) async fn sleep(&self, nanos: u64) -> io::Result<()> {
            tokio::time::sleep(Duration::from_nanos(nanos.saturating_sub(1_000_000))).await;
            Ok(())
        }
    }
}
