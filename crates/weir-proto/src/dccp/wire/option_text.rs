//! The text form of options in traces and listings.

use super::{DccpOption, LossInterval, RawOption, feature};
use std::fmt;

impl fmt::Display for DccpOption<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Other { kind, data } = *self {
            // Invalid data of a known type, or an unknown type.
            return match (RawOption { kind, data }.name(), data.is_empty()) {
                (Some(name), _) => write!(f, "invalid {name} {}", Hex(data)),
                (None, true) => write!(f, "option {kind}"),
                (None, false) => write!(f, "option {kind} {}", Hex(data)),
            };
        }
        f.write_str(
            RawOption {
                kind: self.kind(),
                data: &[],
            }
            .name()
            .unwrap_or_default(),
        )?;
        match *self {
            Self::Padding | Self::Mandatory | Self::SlowReceiver | Self::Other { .. } => Ok(()),
            Self::ChangeL { feature, values }
            | Self::ConfirmL { feature, values }
            | Self::ChangeR { feature, values }
            | Self::ConfirmR { feature, values } => write_feature(feature, values, f),
            Self::InitCookie(data) | Self::DataDropped(data) => write!(f, " {}", Hex(data)),
            Self::AckVector { cells, .. } => write!(f, " {}", Hex(cells)),
            Self::NdpCount(number) => write!(f, " {number}"),
            Self::TimestampEcho {
                timestamp,
                elapsed: None,
            } => write!(f, " {timestamp}"),
            Self::TimestampEcho {
                timestamp,
                elapsed: Some(elapsed),
            } => {
                write!(f, " {timestamp} elapsed {elapsed}")
            }
            Self::DataChecksum(crc) => write!(f, " {crc:08x}"),
            Self::LossEventRate(u32::MAX) => write!(f, " none"),
            Self::LossEventRate(number) => write!(f, " 1/{number}"),
            Self::Timestamp(number)
            | Self::ElapsedTime(number)
            | Self::RttEstimate(number)
            | Self::ReceiveRate(number) => write!(f, " {number}"),
            Self::DroppedPackets(counts) => counts.chunks_exact(3).try_for_each(|count| {
                let number = count.iter().fold(0, |n, octet| n << 8 | u32::from(*octet));
                write!(f, " {number}")
            }),
            Self::LossIntervals { skip, intervals } => {
                write!(f, " skip {skip}")?;
                LossInterval::read_all(intervals).try_for_each(|interval| {
                    let LossInterval {
                        lossless_length,
                        nonce,
                        loss_length,
                        data_length,
                    } = interval;
                    let nonce = u8::from(nonce);
                    write!(f, " {lossless_length}+{loss_length}/{data_length}:{nonce}")
                })
            }
        }
    }
}

/// The feature's name and its value or list of values.
fn write_feature(number: u8, values: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match feature::name(number) {
        Some(name) => write!(f, " ({name}")?,
        None => write!(f, " (feature {number}")?,
    }
    let is_number = feature::rule(number) == Some(feature::ReconciliationRule::NonNegotiable);
    match feature::decode_number(number, values).filter(|_| is_number) {
        Some(value) => write!(f, " {value}")?,
        None => values.iter().try_for_each(|value| write!(f, " {value}"))?,
    }
    f.write_str(")")
}

/// Octets in hexadecimal.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_read_as_the_rfc_names_them() {
        let interval = LossInterval {
            lossless_length: 5,
            nonce: true,
            loss_length: 1,
            data_length: 6,
        };
        let intervals = &interval.to_bytes();
        for (option, text) in [
            (DccpOption::SlowReceiver, "Slow Receiver"),
            (
                DccpOption::ChangeR {
                    feature: 1,
                    values: &[3, 2],
                },
                "Change R (CCID 3 2)",
            ),
            (
                DccpOption::ConfirmL {
                    feature: 3,
                    values: &[0, 0, 0, 0, 1, 0],
                },
                "Confirm L (Sequence Window 256)",
            ),
            (
                DccpOption::ConfirmR {
                    feature: 77,
                    values: &[],
                },
                "Confirm R (feature 77)",
            ),
            (
                DccpOption::AckVector {
                    nonce: true,
                    cells: &[0x40],
                },
                "Ack Vector [Nonce 1] 40",
            ),
            (
                DccpOption::DroppedPackets(&[1, 2, 3, 0, 0, 7]),
                "Dropped Packets 66051 7",
            ),
            (DccpOption::LossEventRate(100), "Loss Event Rate 1/100"),
            (DccpOption::LossEventRate(u32::MAX), "Loss Event Rate none"),
            (
                DccpOption::LossIntervals { skip: 0, intervals },
                "Loss Intervals skip 0 5+1/6:1",
            ),
            (
                DccpOption::Other {
                    kind: 44,
                    data: &[1, 2],
                },
                "invalid Data Checksum 0102",
            ),
            (
                DccpOption::Other {
                    kind: 99,
                    data: &[1, 2],
                },
                "option 99 0102",
            ),
        ] {
            assert_eq!(option.to_string(), text);
        }
    }
}
