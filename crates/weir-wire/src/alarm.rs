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
    use std::time::{Duration, Instant};
    use tokio::net::unix::pipe::Receiver;

    /// A timer of the kernel; to the runtime it is a pipe from which eight octets come when it
    /// goes off.
    pub(crate) struct Alarm {
        timer: Receiver,
        /// When it goes off, if it is set.
        set_for: Option<Instant>,
    }

    impl Alarm {
        /// What is due sooner is not slept for: the kernel takes about as long to wake a sleeper.
        pub(crate) const SHORTEST_NANOS: u64 = 60_000;

        pub(crate) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            Ok(Self {
                timer: Receiver::from_owned_fd_unchecked(timer)?,
                set_for: None,
            })
        }

        /// Sleeps for this long, less what the kernel takes to wake; or less, if an earlier sleep
        /// that was given up would have ended before.
        ///
        /// That end is left as it is because setting a timer is dear where the processor is a
        /// virtual one: several microseconds, for each time that a hub looks for something to do.
        pub(crate) async fn sleep(&mut self, nanos: u64) -> io::Result<()> {
            let nanos = nanos.saturating_sub(Self::SHORTEST_NANOS / 2).max(1);
            let end = Instant::now() + Duration::from_nanos(nanos);
            if self.set_for.is_none_or(|at| end < at) {
                self.set(nanos)?;
                self.set_for = Some(end);
            }
            loop {
                self.timer.readable().await?;
                match self.timer.try_read(&mut [0; 8]) {
                    Ok(_) => {
                        self.set_for = None;
                        return Ok(());
                    }
                    // It was set anew after it went off.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
        }

        fn set(&self, nanos: u64) -> io::Result<()> {
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
            timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
            Ok(())
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Alarm;
    use std::time::Duration;

    const HOUR_NANOS: u64 = 3_600_000_000_000;

    /// Gives up a sleep as soon as it has begun.
    async fn give_up(alarm: &mut Alarm, nanos: u64) {
        tokio::select! {
            biased;
            _ = alarm.sleep(nanos) => panic!("it slept"),
            () = tokio::task::yield_now() => {}
        }
    }

    #[tokio::test]
    async fn neither_a_longer_nor_a_shorter_sleep_given_up_delays_the_next() {
        let ends = async {
            let mut alarm = Alarm::new().expect("a timer");
            give_up(&mut alarm, HOUR_NANOS).await;
            alarm.sleep(Alarm::SHORTEST_NANOS).await.expect("a sleep");
            // The end of a sleep that was given up wakes the next, once.
            give_up(&mut alarm, 20_000_000).await;
            alarm.sleep(HOUR_NANOS).await.expect("a sleep");
            give_up(&mut alarm, HOUR_NANOS).await;
            // A timer that went off while nobody waited.
            give_up(&mut alarm, 1_000_000).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
            alarm.sleep(HOUR_NANOS).await.expect("a sleep");
            give_up(&mut alarm, HOUR_NANOS).await;
        };
        let net = tokio::time::timeout(Duration::from_mins(1), ends);
        net.await.expect("every sleep ends");
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
        pub(crate) async fn sleep(&mut self, nanos: u64) -> io::Result<()> {
            tokio::time::sleep(Duration::from_nanos(nanos.saturating_sub(1_000_000))).await;
            Ok(())
        }
    }
}
