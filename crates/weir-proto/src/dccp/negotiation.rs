//! Feature negotiation (RFC 4340 §6).
//!
//! A feature is located at one of the two hosts. That host sends Change L and Confirm L, the other
//! host Change R and Confirm R. A server-priority feature takes the first entry of the server's
//! list that is also in the client's list; a non-negotiable feature takes the value of its host. A
//! Change is repeated on every packet that may carry it until it is confirmed; a timer with backoff
//! sends packets for it (§6.6.3).
//!
//! Does not model: a change of preferences during negotiation (UNSTABLE, §6.6.2); the preferred
//! values are fixed when the connection is created.

use super::wire::feature::{self, ReconciliationRule};
use super::wire::{DccpOption, Options};

/// Reset code 5, "Option Error" (RFC 4340 §5.6).
pub(super) const OPTION_ERROR: u8 = 5;
/// Reset code 6, "Mandatory Error" (RFC 4340 §5.6).
pub(super) const MANDATORY_FAILURE: u8 = 6;

/// The host at which a feature is located (RFC 4340 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// This host.
    Local,
    /// The other host.
    Remote,
}

/// The state of a feature (RFC 4340 §6.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeatureState {
    Stable,
    Changing,
}

#[derive(Clone, Debug)]
struct Feature {
    location: Location,
    number: u8,
    rule: ReconciliationRule,
    value: u64,
    /// The acceptable values of a server-priority feature, in order of preference.
    preferences: Vec<u8>,
    state: FeatureState,
}

/// A Confirm that must be sent; it is empty for an unknown feature or an invalid value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PendingConfirm {
    location: Location,
    number: u8,
    values: Vec<u8>,
}

/// All features of a connection.
#[derive(Clone, Debug)]
pub(super) struct Negotiation {
    server: bool,
    features: Vec<Feature>,
    /// A Change awaits its Confirm; stored because every packet checks it.
    is_changing: bool,
    pending_confirms: Vec<PendingConfirm>,
}

/// A Change or Confirm option that arrived; locations are those of this host.
#[derive(Clone, Copy, Debug)]
pub(super) enum Message<'a> {
    /// The other host requests a value.
    Change {
        location: Location,
        number: u8,
        values: &'a [u8],
    },
    /// The other host confirms a value.
    Confirm {
        location: Location,
        number: u8,
        values: &'a [u8],
    },
}

impl<'a> Message<'a> {
    /// The message of this option; `None` for other options.
    pub(super) fn from_option(option: DccpOption<'a>) -> Option<Self> {
        use Location::{Local, Remote};
        Some(match option {
            DccpOption::ChangeL {
                feature: number,
                values,
            } => Self::Change {
                location: Remote,
                number,
                values,
            },
            DccpOption::ChangeR {
                feature: number,
                values,
            } => Self::Change {
                location: Local,
                number,
                values,
            },
            DccpOption::ConfirmL {
                feature: number,
                values,
            } => Self::Confirm {
                location: Remote,
                number,
                values,
            },
            DccpOption::ConfirmR {
                feature: number,
                values,
            } => Self::Confirm {
                location: Local,
                number,
                values,
            },
            _ => return None,
        })
    }
}

impl Negotiation {
    /// Every feature at its initial value (RFC 4340 table 4).
    pub(super) fn new(server: bool) -> Self {
        let initial = |number| match number {
            feature::CCID | feature::ACK_RATIO => 2,
            feature::SEQUENCE_WINDOW => 100,
            _ => 0,
        };
        let numbers = (feature::CCID..=feature::CHECK_DATA_CHECKSUM)
            .chain([feature::SEND_RTT_ESTIMATE, feature::SEND_LOSS_EVENT_RATE]);
        let mut features = Vec::new();
        for number in numbers {
            for location in [Location::Local, Location::Remote] {
                let Some(rule) = feature::rule(number) else {
                    continue;
                };
                let value = initial(number);
                // By default only the current value is acceptable; Boolean features that require
                // nothing of this host may take either value.
                let preferences = match number {
                    feature::CCID => vec![2],
                    feature::SEND_NDP_COUNT
                    | feature::SEND_ACK_VECTOR
                    | feature::SEND_LOSS_EVENT_RATE => {
                        vec![0, 1]
                    }
                    _ => vec![value as u8],
                };
                features.push(Feature {
                    location,
                    number,
                    rule,
                    value,
                    preferences,
                    state: FeatureState::Stable,
                });
            }
        }
        features.shrink_to_fit();
        Self {
            server,
            features,
            is_changing: false,
            pending_confirms: Vec::new(),
        }
    }

    fn position(&self, location: Location, number: u8) -> Option<usize> {
        self.features
            .iter()
            .position(|f| f.location == location && f.number == number)
    }

    /// The current value.
    pub(super) fn value(&self, location: Location, number: u8) -> u64 {
        self.position(location, number)
            .map_or(0, |at| self.features[at].value)
    }

    /// Requests the first of these values that is acceptable for a server-priority feature.
    pub(super) fn prefer(&mut self, location: Location, number: u8, preferences: &[u8]) {
        if let Some(at) = self.position(location, number) {
            let feature = &mut self.features[at];
            feature.preferences = preferences.to_vec();
            if preferences
                .first()
                .is_some_and(|&first| u64::from(first) != feature.value)
            {
                feature.state = FeatureState::Changing;
                self.is_changing = true;
            }
        }
    }

    /// Accepts these values of a server-priority feature at either host, without a request.
    pub(super) fn accept(&mut self, number: u8, preferences: &[u8]) {
        for feature in self.features.iter_mut().filter(|f| f.number == number) {
            if feature.state == FeatureState::Stable {
                feature.preferences = preferences.to_vec();
            }
        }
    }

    /// From now on only the current values are acceptable.
    pub(super) fn freeze(&mut self, number: u8) {
        for feature in self.features.iter_mut().filter(|f| f.number == number) {
            feature.preferences = vec![feature.value as u8];
        }
    }

    /// Announces the value of a non-negotiable feature that is located at this host.
    pub(super) fn announce(&mut self, number: u8, value: u64) {
        if let Some(at) = self.position(Location::Local, number) {
            let feature = &mut self.features[at];
            if feature.value != value {
                feature.value = value;
                feature.state = FeatureState::Changing;
                self.is_changing = true;
            }
        }
    }

    /// True while a Confirm must be sent.
    pub(super) fn has_pending_confirm(&self) -> bool {
        !self.pending_confirms.is_empty()
    }

    /// True while a Change awaits its Confirm.
    pub(super) fn is_changing(&self) -> bool {
        self.is_changing
    }

    /// True while a Change that every packet should carry awaits its Confirm. A changed Ack Ratio
    /// leaves once, and again by a timer: each Change elicits an acknowledgement, and a greater
    /// ratio is meant to reduce their number.
    pub(super) fn is_changing_urgently(&self) -> bool {
        let is_urgent =
            |f: &Feature| f.state == FeatureState::Changing && f.number != feature::ACK_RATIO;
        self.is_changing && self.features.iter().any(is_urgent)
    }

    /// Processes a Change or Confirm.
    ///
    /// # Errors
    /// The code of the Reset that must be sent.
    pub(super) fn on_message(&mut self, message: Message<'_>, mandatory: bool) -> Result<(), u8> {
        let outcome = match message {
            Message::Change {
                location,
                number,
                values,
            } => self.on_change(location, number, values, mandatory),
            Message::Confirm {
                location,
                number,
                values,
            } => self.on_confirm(location, number, values),
        };
        let changes = |f: &Feature| f.state == FeatureState::Changing;
        self.is_changing = self.features.iter().any(changes);
        outcome
    }

    fn on_change(
        &mut self,
        location: Location,
        number: u8,
        values: &[u8],
        mandatory: bool,
    ) -> Result<(), u8> {
        let outcome = match self.position(location, number) {
            // §6.6.7: a Change without values is invalid.
            Some(at) if !values.is_empty() => self.reconcile(at, values),
            _ => None,
        };
        match outcome {
            Some(values) => self.queue_confirm(location, number, values),
            None if mandatory => return Err(MANDATORY_FAILURE),
            None => self.queue_confirm(location, number, Vec::new()),
        }
        Ok(())
    }

    fn queue_confirm(&mut self, location: Location, number: u8, values: Vec<u8>) {
        self.pending_confirms
            .retain(|confirm| (confirm.location, confirm.number) != (location, number));
        self.pending_confirms.push(PendingConfirm {
            location,
            number,
            values,
        });
    }

    /// Reconciles a Change with the local preferences. Returns the values of the Confirm; `None`
    /// for an invalid Change.
    fn reconcile(&mut self, at: usize, values: &[u8]) -> Option<Vec<u8>> {
        let server = self.server;
        let feature = &mut self.features[at];
        if feature.rule == ReconciliationRule::NonNegotiable {
            // §6.3.2: only the host of the feature may change it.
            let number = feature::decode_number(feature.number, values)
                .filter(|_| feature.location == Location::Remote)
                .filter(|&value| is_valid(feature.number, value))?;
            feature.value = number;
            return Some(values.to_vec());
        }
        let (servers, clients) = if server {
            (feature.preferences.as_slice(), values)
        } else {
            (values, feature.preferences.as_slice())
        };
        let agreed = servers
            .iter()
            .find(|value| clients.contains(value))
            .copied();
        // §6.3.1: without a common entry the value does not change.
        feature.value = agreed.map_or(feature.value, u64::from);
        feature.state = FeatureState::Stable;
        let mut confirm = vec![feature.value as u8];
        confirm.extend(&feature.preferences);
        Some(confirm)
    }

    fn on_confirm(&mut self, location: Location, number: u8, values: &[u8]) -> Result<(), u8> {
        let Some(at) = self.position(location, number) else {
            return Ok(());
        };
        let feature = &mut self.features[at];
        // §6.6.2: a Confirm without a Change is ignored.
        if feature.state != FeatureState::Changing {
            return Ok(());
        }
        let number = feature.number;
        if feature.rule == ReconciliationRule::NonNegotiable
            && feature::decode_number(number, values).is_some_and(|value| value != feature.value)
        {
            // The Confirm is for an older value; the Change of the present one continues.
            return Ok(());
        }
        feature.state = FeatureState::Stable;
        let Some(&value) = values.first() else {
            // The other host does not know the feature: its value does not change.
            return Ok(());
        };
        if feature.rule == ReconciliationRule::NonNegotiable {
            return Ok(());
        }
        // §6.6.8: a host rejects a value that it did not offer.
        let possible = feature.preferences.contains(&value) || u64::from(value) == feature.value;
        if !possible {
            return Err(OPTION_ERROR);
        }
        feature.value = u64::from(value);
        Ok(())
    }

    /// Writes the Confirms that are due and the Changes that are not confirmed yet.
    pub(super) fn write(&mut self, options: &mut Options) {
        for PendingConfirm {
            location,
            number: feature,
            values,
        } in self.pending_confirms.drain(..)
        {
            let values = values.as_slice();
            match location {
                Location::Local => options.push(&DccpOption::ConfirmL { feature, values }),
                Location::Remote => options.push(&DccpOption::ConfirmR { feature, values }),
            };
        }
        for feature in self
            .features
            .iter()
            .filter(|f| f.state == FeatureState::Changing)
        {
            let (octets, len) = feature::encode_number(feature.number, feature.value);
            let values = match feature.rule {
                ReconciliationRule::NonNegotiable => &octets[..len],
                ReconciliationRule::ServerPriority => feature.preferences.as_slice(),
            };
            let number = feature.number;
            match feature.location {
                Location::Local => options.push(&DccpOption::ChangeL {
                    feature: number,
                    values,
                }),
                Location::Remote => options.push(&DccpOption::ChangeR {
                    feature: number,
                    values,
                }),
            };
        }
    }
}

/// True if a non-negotiable feature may have this value (RFC 4340 §7.5.2 and §11.3).
fn is_valid(number: u8, value: u64) -> bool {
    match number {
        feature::SEQUENCE_WINDOW => (32..1 << 46).contains(&value),
        feature::ACK_RATIO => value > 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exchanges messages until neither side has any; returns the number of rounds.
    fn converse(a: &mut Negotiation, b: &mut Negotiation) -> usize {
        for round in 0..10 {
            let mut silent = true;
            for turn in 0..2 {
                let (from, to) = if turn == 0 {
                    (&mut *a, &mut *b)
                } else {
                    (&mut *b, &mut *a)
                };
                if from.has_pending_confirm() || from.is_changing() {
                    silent = false;
                    let mut options = Options::new();
                    from.write(&mut options);
                    for message in options.iter().filter_map(Message::from_option) {
                        assert_eq!(to.on_message(message, false), Ok(()));
                    }
                }
            }
            if silent {
                return round;
            }
        }
        panic!("the negotiation does not end");
    }

    fn pair() -> (Negotiation, Negotiation) {
        (Negotiation::new(false), Negotiation::new(true))
    }

    #[test]
    fn the_first_common_entry_of_the_servers_list_is_chosen() {
        for (client, server, agreed) in [
            (&[3, 2][..], &[2, 3][..], 2),
            (&[3, 2], &[3, 2], 3),
            (&[3], &[2, 3], 3),
            (&[3], &[4, 3], 3),
            (&[4], &[3], 2),
        ] {
            let (mut a, mut b) = pair();
            a.prefer(Location::Local, feature::CCID, client);
            b.prefer(Location::Remote, feature::CCID, server);
            converse(&mut a, &mut b);
            assert_eq!(
                a.value(Location::Local, feature::CCID),
                agreed,
                "{client:?} {server:?}"
            );
            assert_eq!(
                b.value(Location::Remote, feature::CCID),
                agreed,
                "{client:?} {server:?}"
            );
            assert_eq!(
                a.value(Location::Remote, feature::CCID),
                2,
                "the other direction"
            );
        }
    }

    #[test]
    fn a_host_announces_its_own_sequence_window() {
        let (mut a, mut b) = pair();
        a.announce(feature::SEQUENCE_WINDOW, 5000);
        converse(&mut a, &mut b);
        assert_eq!(b.value(Location::Remote, feature::SEQUENCE_WINDOW), 5000);
        assert_eq!(b.value(Location::Local, feature::SEQUENCE_WINDOW), 100);
    }

    #[test]
    fn an_invalid_change_is_answered_by_an_empty_confirm() {
        let location = Location::Remote;
        for (number, values) in [
            (feature::SEQUENCE_WINDOW, &[0, 0, 0, 0, 0, 31][..]),
            (feature::SEQUENCE_WINDOW, &[0x40, 0, 0, 0, 0, 0]),
            (feature::SEQUENCE_WINDOW, &[1]),
            (feature::ACK_RATIO, &[0, 0]),
            (feature::CCID, &[]),
            (77, &[1]),
        ] {
            let mut b = Negotiation::new(true);
            let change = Message::Change {
                location,
                number,
                values,
            };
            assert_eq!(b.on_message(change, false), Ok(()));
            assert_eq!(
                b.pending_confirms,
                [PendingConfirm {
                    location,
                    number,
                    values: vec![]
                }],
                "{number} {values:?}"
            );
            assert_eq!(b.on_message(change, true), Err(MANDATORY_FAILURE));
        }
        // Only its host may change a non-negotiable feature.
        let mut b = Negotiation::new(true);
        let values = &[0, 5][..];
        let change = Message::Change {
            location: Location::Local,
            number: feature::ACK_RATIO,
            values,
        };
        assert_eq!(b.on_message(change, false), Ok(()));
        assert_eq!(b.value(Location::Local, feature::ACK_RATIO), 2);
    }

    #[test]
    fn a_confirm_of_an_unoffered_value_is_an_option_error() {
        let mut a = Negotiation::new(false);
        a.prefer(Location::Local, feature::CCID, &[3]);
        let confirm = Message::Confirm {
            location: Location::Local,
            number: feature::CCID,
            values: &[4, 4],
        };
        assert_eq!(a.on_message(confirm, false), Err(OPTION_ERROR));
        let mut a = Negotiation::new(false);
        let unasked = Message::Confirm {
            location: Location::Local,
            number: feature::CCID,
            values: &[3],
        };
        assert_eq!(a.on_message(unasked, false), Ok(()));
        assert_eq!(a.value(Location::Local, feature::CCID), 2);
    }

    /// The server, too, accepts only a value that it offered.
    #[test]
    fn a_client_cannot_confirm_what_the_server_did_not_offer() {
        let mut server = Negotiation::new(true);
        server.prefer(Location::Local, feature::CCID, &[3, 2]);
        let confirm = Message::Confirm {
            location: Location::Local,
            number: feature::CCID,
            values: &[200],
        };
        assert_eq!(server.on_message(confirm, false), Err(OPTION_ERROR));
        assert_eq!(server.value(Location::Local, feature::CCID), 2);
    }

    #[test]
    fn a_ccid_in_use_is_not_changed() {
        for server in [false, true] {
            let mut end = Negotiation::new(server);
            end.prefer(Location::Local, feature::CCID, &[3]);
            end.freeze(feature::CCID);
            for _ in 0..1000 {
                let change = Message::Change {
                    location: Location::Local,
                    number: feature::CCID,
                    values: &[3],
                };
                assert_eq!(end.on_message(change, false), Ok(()));
                assert_eq!(end.value(Location::Local, feature::CCID), 2);
            }
            let values = vec![2, 2];
            let (location, number) = (Location::Local, feature::CCID);
            let confirm = PendingConfirm {
                location,
                number,
                values,
            };
            assert_eq!(
                end.pending_confirms,
                [confirm],
                "one Confirm for repeated Changes"
            );
        }
    }

    #[test]
    fn long_lists_with_unknown_and_repeated_entries_are_read() {
        let values: Vec<u8> = [0, 1, 255, 255, 4]
            .into_iter()
            .chain(5..=249)
            .chain([3])
            .collect();
        let mut server = Negotiation::new(true);
        server.prefer(Location::Remote, feature::CCID, &[3]);
        let change = Message::Change {
            location: Location::Remote,
            number: feature::CCID,
            values: &values,
        };
        assert_eq!(server.on_message(change, true), Ok(()));
        assert_eq!(server.value(Location::Remote, feature::CCID), 3);
    }

    #[test]
    fn a_sequence_window_has_32_packets_at_the_least() {
        // RFC 4340 §7.5.2; §11.3: an Ack Ratio of zero is invalid.
        let window = |value| is_valid(feature::SEQUENCE_WINDOW, value);
        assert_eq!(
            [31, 32, (1 << 46) - 1, 1 << 46].map(window),
            [false, true, true, false]
        );
        let ratio = |value| is_valid(feature::ACK_RATIO, value);
        assert_eq!([0, 1].map(ratio), [false, true]);
        assert_eq!(Negotiation::new(true).value(Location::Local, 77), 0);
    }
}
