//! DCTCP (RFC 8257): for data centres whose switches mark above a short queue.
//!
//! Packets are ECT(0). The window grows by a packet in each round trip, as Reno, and not in the
//! round in which marks have reduced it. The receiver counts marks, in QUIC's ACK frames or with
//! TCP's AccECN, so that the state machine of §3.2, which has one bit for delayed acknowledgements,
//! is not needed. alpha is 1 at first and follows the share of marks from the first round on: a
//! flow whose first mark comes late is reduced by little (§3.3; Linux's tcp_dctcp does the same,
//! with `dctcp_alpha_on_init` = 1024).

use super::ControllerEntry;
use super::scalable::{Marking, Scalable};
use crate::cc::EcnCapability;

/// The registry's entry.
pub(super) const ENTRY: ControllerEntry = ControllerEntry {
    name: "dctcp",
    doc: "DCTCP (RFC 8257), with ECT(0); needs the receiver's count of marks",
    rules: &[&["undo_spurious", "pacing"]],
    make: |config| Box::new(Dctcp::new(config, DctcpMarking)),
};

/// DCTCP.
pub type Dctcp = Scalable<DctcpMarking>;

/// DCTCP's response to marks.
#[derive(Clone, Copy, Debug)]
pub struct DctcpMarking;

impl Marking for DctcpMarking {
    const ECN: EcnCapability = EcnCapability::Ect0;
    const GROWS_WHILE_REDUCED: bool = false;
    const LEARNS_BEFORE_MARKS: bool = true;
}
