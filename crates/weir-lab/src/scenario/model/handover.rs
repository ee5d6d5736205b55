//! `handover`: a flow whose client changes its address during the run.

use super::Flow;
use weir_proto::settings;
use weir_proto::settings::{name, or_word};
use weir_proto::time::Duration;

settings! {
    /// A change of the address of the end that opens the connection.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HandoverConfig {
        /// When it happens.
        pub at: Duration [required],
        /// The host that stands for its other interface: packets of the flow take the links of
        /// that host from then on, both ways. With "rebinding" only the port changes, as by a NAT,
        /// and the way is the same.
        pub to: Option<String> => or_word("rebinding", name()),
    }
}

impl Flow {
    /// The host of the end that opens the connection, whose address a handover changes, and that of
    /// its peer.
    pub(crate) fn client_and_server(&self) -> [&str; 2] {
        if self.app.receiver_connects() {
            [&self.to, &self.from]
        } else {
            [&self.from, &self.to]
        }
    }

    /// The hosts of sender and receiver, at first and after each handover to another host.
    pub(crate) fn ways(&self) -> impl Iterator<Item = [&str; 2]> {
        let receiver_moves = self.app.receiver_connects();
        let hosts = self.handovers.iter().filter_map(|of| of.to.as_deref());
        let moved = hosts.map(move |host| {
            if receiver_moves {
                [&*self.from, host]
            } else {
                [host, &*self.to]
            }
        });
        std::iter::once([&*self.from, &*self.to]).chain(moved)
    }

    /// True if a handover leads its packets to other links.
    pub(crate) fn changes_way(&self) -> bool {
        self.ways().nth(1).is_some()
    }
}
