//! A timer with a finer resolution than the runtime's millisecond.
//!
//! On Linux it is a timerfd, which expires within some tens of microseconds; the runtime polls it
//! like a socket. Elsewhere a sleep with the runtime's timer ends a millisecond early, and the
//! caller yields until the rest has passed.

#[cfg(target_os = "linux")]
pub(crate) use linux::Timer;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::Timer;

#[cfg(target_os = "linux")]
mod linux {
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use std::io;
    use std::time::{Duration, Instant};
    use tokio::net::unix::pipe::Receiver;

    /// A timerfd. The runtime has no type for it, so it is registered as the read end of a pipe,
    /// from which eight octets can be read after the timer has expired.
    pub(crate) struct Timer {
        timer: Receiver,
        /// When it expires, if it is armed.
        expires: Option<Instant>,
    }

    impl Timer {
        /// The shortest sleep: the kernel needs about as long to wake a task.
        pub(crate) const MIN_SLEEP_NANOS: u64 = 60_000;

        pub(crate) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            Ok(Self {
                timer: Receiver::from_owned_fd_unchecked(timer)?,
                expires: None,
            })
        }

        /// Sleeps for `nanos` minus the time that the kernel needs to wake a task. The sleep ends
        /// earlier if a cancelled sleep has left the timer armed for an earlier time.
        ///
        /// Arming the timer takes several microseconds on a virtual machine, and the driver sleeps
        /// after each batch of packets, so the timer is rearmed only for an earlier time.
        pub(crate) async fn sleep(&mut self, nanos: u64) -> io::Result<()> {
            let nanos = nanos.saturating_sub(Self::MIN_SLEEP_NANOS / 2).max(1);
            let end = Instant::now() + Duration::from_nanos(nanos);
            if self.expires.is_none_or(|at| end < at) {
                self.arm(nanos)?;
                self.expires = Some(end);
            }
            loop {
                self.timer.readable().await?;
                match self.timer.try_read(&mut [0; 8]) {
                    Ok(_) => {
                        self.expires = None;
                        return Ok(());
                    }
                    // The timer was rearmed after it had expired.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
        }

        fn arm(&self, nanos: u64) -> io::Result<()> {
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
    use super::Timer;
    use std::time::Duration;

    const HOUR_NANOS: u64 = 3_600_000_000_000;

    /// Cancels a sleep as soon as it has begun.
    async fn cancel(timer: &mut Timer, nanos: u64) {
        tokio::select! {
            biased;
            _ = timer.sleep(nanos) => panic!("it slept"),
            () = tokio::task::yield_now() => {}
        }
    }

    #[tokio::test]
    async fn a_cancelled_sleep_does_not_delay_the_next_one() {
        let ends = async {
            let mut timer = Timer::new().expect("a timer");
            cancel(&mut timer, HOUR_NANOS).await;
            timer.sleep(Timer::MIN_SLEEP_NANOS).await.expect("a sleep");
            // The expiry of a cancelled sleep ends the next sleep, once.
            cancel(&mut timer, 20_000_000).await;
            timer.sleep(HOUR_NANOS).await.expect("a sleep");
            cancel(&mut timer, HOUR_NANOS).await;
            // A timer that expires while no task waits.
            cancel(&mut timer, 1_000_000).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
            timer.sleep(HOUR_NANOS).await.expect("a sleep");
            cancel(&mut timer, HOUR_NANOS).await;
        };
        let limited = tokio::time::timeout(Duration::from_mins(1), ends);
        limited.await.expect("every sleep ends");
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;
    use std::time::Duration;

    /// The runtime's timer.
    pub(crate) struct Timer;

    impl Timer {
        /// The shortest sleep: the runtime rounds up to a millisecond.
        pub(crate) const MIN_SLEEP_NANOS: u64 = 1_500_000;

        #[allow(clippy::unnecessary_wraps, reason = "as on Linux")]
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        /// Sleeps for `nanos` minus the runtime's millisecond.
        pub(crate) async fn sleep(&mut self, nanos: u64) -> io::Result<()> {
            tokio::time::sleep(Duration::from_nanos(nanos.saturating_sub(1_000_000))).await;
            Ok(())
        }
    }
}
