//! The macro behind the registry of queue disciplines.

/// Generates, from one line for each discipline, the configuration enum, the state enum and the
/// dispatch between them. The dispatch is a `match` instead of a pointer, because it runs several
/// times per packet.
macro_rules! queue_disciplines {
    ($($name:ident($config:ty) = $word:literal),* $(,)?) => {
        weir_proto::kinds! {
            /// The configuration of a queue, of any discipline.
            #[derive(Clone, Debug, PartialEq)]
            pub enum QueueConfig {
                $(#[doc = concat!("See [`", stringify!($config), "`].")]
                $name($config) = $word,)*
            }
        }

        $(impl From<$config> for QueueConfig {
            fn from(config: $config) -> Self {
                Self::$name(config)
            }
        })*

        impl QueueConfig {
            /// The capacity of the queue.
            pub fn limit(&self) -> QueueLimit {
                match self {
                    $(Self::$name(config) => config.limit(),)*
                }
            }

            /// Bits per second at which the discipline itself lets packets pass, if it shapes.
            pub fn rate(&self) -> Option<u64> {
                match self {
                    $(Self::$name(config) => config.rate(),)*
                }
            }

            /// True if it uses random numbers.
            pub const fn is_random(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$config as QueueDiscConfig>::IS_RANDOM,)*
                }
            }

            /// The names of all disciplines in tc.
            pub fn tc_names() -> impl Iterator<Item = TcQueue> {
                let all = [$(($word, <$config as QueueDiscConfig>::TC_NAMES),)*];
                all.into_iter().flat_map(|(kind, names)| {
                    names.iter().map(move |&name| TcQueue { kind, name })
                })
            }

            /// A random discipline and configuration for property tests: a short queue, any
            /// options.
            pub fn arbitrary(rng: &mut Rng) -> Self {
                let any: &[fn(&mut Rng) -> Self] = &[
                    $(|rng| Self::$name(<$config>::arbitrary(rng)),)*
                ];
                any[rng.below(any.len() as u64) as usize](rng)
            }
        }

        /// The state of a queue, of any discipline.
        #[derive(Debug)]
        pub(crate) enum Queue {
            $($name(<$config as QueueDiscConfig>::Disc),)*
        }

        impl Queue {
            /// An empty queue whose random stream, named `stream`, derives from this seed.
            pub(crate) fn new(config: &QueueConfig, seed: u64, stream: &str) -> Self {
                let rng = Rng::stream(seed, stream);
                match config {
                    $(QueueConfig::$name(config) => Self::$name(config.build(rng)),)*
                }
            }
        }

        impl QueueDisc for Queue {
            #[inline]
            fn enqueue(&mut self, now: Instant, packet: PacketRef, effects: &mut DropsAndMarks) {
                match self {
                    $(Self::$name(queue) => queue.enqueue(now, packet, effects),)*
                }
            }

            #[inline]
            fn dequeue(&mut self, now: Instant, effects: &mut DropsAndMarks) -> Option<PacketRef> {
                match self {
                    $(Self::$name(queue) => queue.dequeue(now, effects),)*
                }
            }

            #[inline]
            fn head_size(&self) -> Option<u32> {
                match self {
                    $(Self::$name(queue) => queue.head_size(),)*
                }
            }

            #[inline]
            fn backlog(&self) -> Backlog {
                match self {
                    $(Self::$name(queue) => queue.backlog(),)*
                }
            }

            #[inline]
            fn ready_at(&self) -> Instant {
                match self {
                    $(Self::$name(queue) => queue.ready_at(),)*
                }
            }

            fn shaping_time(&self, now: Instant) -> Duration {
                match self {
                    $(Self::$name(queue) => queue.shaping_time(now),)*
                }
            }

            #[inline]
            fn reads_acks(&self) -> bool {
                match self {
                    $(Self::$name(queue) => queue.reads_acks(),)*
                }
            }

            fn expect(&mut self, facts: Option<AckFacts>) {
                match self {
                    $(Self::$name(queue) => queue.expect(facts),)*
                }
            }

            #[inline]
            fn can_bypass(&self) -> bool {
                match self {
                    $(Self::$name(queue) => queue.can_bypass(),)*
                }
            }
        }
    };
}

pub(super) use queue_disciplines;
