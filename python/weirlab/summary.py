"""The types of ``run.summary``, which is ``summary.json``. `python/stubs.py` writes this file from
the structs of `crates/weir-lab/src/summary`.

A key may be missing where a flow or link has no such number; see the page on columns.
"""

from __future__ import annotations

from typing import TypedDict


class FrameCounts(TypedDict, total=False):
    """Frames of a station of an 802.11 medium."""

    #: 802.11 frames that the station sent, retries included.
    sent: int
    #: 802.11 frames that were not acknowledged.
    failed: int
    #: Of these, those that met another station's frame.
    collided: int


class ImpairmentCounts(TypedDict, total=False):
    """What netem and the faults with ECN did to packets of a direction of a link."""

    #: Copies that came into being.
    duplicated: int
    #: Packets that were damaged and went on.
    damaged: int
    #: Packets that were not delayed.
    reordered: int
    #: Packets whose ECN field was cleared.
    bleached: int


class QueueBytes(TypedDict, total=False):
    """Octets waiting in a queue."""

    #: Mean over time.
    mean: float
    #: Most at any time since the start of the run.
    max: int


class RequestSummary(TypedDict, total=False):
    """The requests of a flow that began after the warm-up."""

    #: Requests that began after the warm-up.
    requests: int
    #: Of these, requests whose whole response came before the end of the run.
    completed: int
    #: How long those took, from the first byte of a request to the last of its response.
    completion_time_s: Distribution
    #: The mean size of the requests.
    request_bytes_mean: float
    #: The mean size of the responses.
    response_bytes_mean: float


class VideoSummary(TypedDict, total=False):
    """The video of a flow: frames that were captured from the warm-up on, and long enough before the end to be complete in time."""

    #: Frames of video that were captured.
    frames: int
    #: Of these, frames that were not encoded, because too much waited in the sender.
    not_encoded: int
    #: Frames of which every packet arrived.
    complete: int
    #: Of these, frames whose delay was longer than the deadline.
    late: int
    #: Frames that were encoded and never complete.
    lost: int
    #: The mean of the encoder's rate.
    encoder_rate_bps: float
    #: From the capture of a frame until its last packet arrived, over the complete ones.
    frame_delay_s: Distribution
    #: Freezes of the video: intervals between two shown frames that were much longer than those
    #: before them.
    freezes: int
    #: The longest freeze.
    longest_freeze_s: float
    #: All freezes together.
    frozen_s: float


class AudioSummary(TypedDict, total=False):
    """The playback of audio since the start of the run."""

    #: Units of audio, frames or pages, that were due.
    units: int
    #: Units of audio that were played from their own packets.
    on_time: int
    #: Units of audio that forward error correction recovered.
    repaired: int
    #: Units of audio that arrived after their playout time.
    late: int
    #: Units of audio that never arrived.
    lost: int
    #: Units of audio that were played though damaged.
    corrupted: int
    #: Gaps in the audio: runs of units that were not played.
    gaps: int
    #: The longest gap in the audio.
    longest_gap_s: float
    #: All gaps in the audio together.
    silence_s: float


class MeanCov(TypedDict, total=False):
    """Mean and coefficient of variation over time."""

    #: Mean.
    mean: float
    #: Coefficient of variation, 0 for a mean of 0.
    cov: float


class LatencyUnderLoad(TypedDict, total=False):
    """How much longer the measured round trips took than one on the idle path."""

    #: The round-trip time of the idle path: propagation, access links and hosts, without
    #: transmission times and 802.11; the smallest measured one, if that is shorter.
    base_rtt_s: float
    #: The median of the round-trip times less that of the idle path.
    added_p50_s: float
    #: The 95th percentile of the round-trip times less that of the idle path.
    added_p95_s: float


class Distribution(TypedDict, total=False):
    """A distribution. Percentiles are by nearest rank, the deviation is that of the population."""

    #: Smallest.
    min: float
    #: Mean.
    mean: float
    #: Median.
    p50: float
    #: 95th percentile.
    p95: float
    #: 99th percentile.
    p99: float
    #: Largest.
    max: float
    #: Standard deviation.
    stddev: float


class Retransmissions(TypedDict, total=False):
    """What was sent again (TCP, QUIC), and the timeouts. ``packets_lost`` counts what acknowledgements showed to be lost, not what TCP's timeout presumed."""

    #: Packets whose data was sent before.
    packets: int
    #: Of these, the ones that a timeout presumed lost (TCP).
    by_timeout: int
    #: Expiries of the timer that waits for acknowledgements or feedback, or for the peer's answer
    #: when the connection is opened or closed.
    timeouts: int


class Totals(TypedDict, total=False):
    """All flows of a run together. Rates are over the whole time from the warm-up to the end."""

    #: Flows, each transfer of a flow with arrivals counted.
    flows: int
    #: Octets of transport packets that all receivers got.
    throughput_bps: float
    #: Octets of application data delivered for the first time.
    goodput_bps: float
    #: Jain's fairness index of the goodputs (Jain, Chiu and Hawe 1984; RFC 5166 §2.3) of the flows
    #: without arrivals that were alive in that time: 1 if all have the same, 1/n if one has all;
    #: none if nothing was delivered.
    jain_index: float
    #: What held the senders back: the mean of each share of the flows that were alive in that
    #: time, of which one with arrivals is one, with the share of all its transfers together.
    bound_share: dict[str, float]
    #: Packets that all senders handed over.
    packets_sent: int
    #: Of these, packets that were found to be lost.
    packets_lost: int
    #: Packets that all senders sent again, as far as they count them.
    retransmissions: int
    #: Timeouts of all senders that count them.
    timeouts: int
    #: Packets that all receivers got with Congestion Experienced.
    marks: int


class TransferSummary(TypedDict, total=False):
    """The transfers of a flow with arrivals that began after the warm-up; rates, packets and delays are those of all its connections from the warm-up to the end."""

    #: Transfers that began after the warm-up.
    transfers: int
    #: Of these, those that delivered everything before the end of the run.
    completed: int
    #: How long those took that delivered everything, from the opening of the connection.
    completion_time_s: Distribution
    #: The sizes of all transfers that began.
    size_bytes: Distribution
    #: Octets of transport packets received by the target.
    throughput_bps: float
    #: Octets of application data delivered for the first time.
    goodput_bps: float
    #: Packets that the senders handed over.
    packets_sent: int
    #: Packets that the transport found to be lost.
    packets_lost: int
    #: Packets that the receivers' transports got.
    packets_received: int
    #: Packets that arrived with Congestion Experienced.
    marks: int
    #: Packets whose data was sent before.
    retransmissions: int
    #: Timeouts of the senders.
    timeouts: int
    #: Round-trip times as the senders of all connections measured them.
    rtt_s: Distribution
    #: From the senders' transport to the receivers'.
    one_way_delay_s: Distribution
    #: Time in queues of links and 802.11 stations.
    queueing_delay_s: Distribution
    #: RFC 3550's interarrival jitter after each packet, of each connection by itself (§6.4.1).
    jitter_s: Distribution
    #: What held the senders back: the share of the time for each word of the column ``bound``. The
    #: time is that in which the connections were alive, summed over all of them: of each from its
    #: opening, or the end of the warm-up if that is later, until its last octet was delivered or
    #: it failed, or to the end of the run.
    bound_share: dict[str, float]


class GroupSummary(TypedDict, total=False):
    """The flows of an entry with a ``count``, or of one ``group``: means and spreads over those members that were alive between the warm-up and the end. One that had ended before, or had not yet begun, has no rate and no delay there; completion times are those of all. A flow with arrivals is a member with what all its transfers got; each of its transfers that began after the warm-up counts as a flow, and has its own completion time. It has no part in the fairness index, because what its transfers get is what arrives."""

    #: The names of the members.
    members: list[str]
    #: Flows, each transfer of a flow with arrivals counted.
    flows: int
    #: Of these, those that were alive between the warm-up and the end.
    active: int
    #: Of all, those that ended by themselves and delivered everything, also before the end of the
    #: warm-up.
    completed: int
    #: The throughput of each member that was alive.
    throughput_bps: Distribution
    #: The goodput of each member that was alive.
    goodput_bps: Distribution
    #: Jain's fairness index of the goodputs of flows without arrivals: 1 if all are equal, 1/n if
    #: one has all.
    jain_index: float
    #: The completion times of those that completed.
    completion_time_s: Distribution
    #: The mean one-way delay of each member.
    one_way_delay_s: Distribution
    #: The mean queueing delay of each member.
    queueing_delay_s: Distribution
    #: The mean jitter of each member.
    jitter_s: Distribution
    #: The mean round-trip time of each member.
    rtt_s: Distribution
    #: What held the senders back: the mean of each share of the members that were alive.
    bound_share: dict[str, float]
    #: Packets that all together sent.
    packets_sent: int
    #: Of these, packets that were found to be lost.
    packets_lost: int
    #: Packets that all together sent again.
    retransmissions: int
    #: Timeouts of all together.
    timeouts: int
    #: Packets that all together received with Congestion Experienced.
    marks: int
    #: The requests of all together, if their applications have such.
    requests: RequestSummary


class LinkSummary(TypedDict, total=False):
    """One direction of a link, from the warm-up to the end."""

    #: Share of the time spent transmitting; behind a token bucket or a policer, if that is more,
    #: the share of the time in which tokens were missing from it, so that its rate is 1; on an
    #: 802.11 medium the station's share of the air.
    utilisation: float
    #: Packets dropped, for any reason.
    drops: int
    #: Of these, those that the queue dropped: it was full, or its active queue management chose
    #: them.
    queue_drops: int
    #: Of the drops, those that were lost on the wire: by the loss model, in an outage, for their
    #: ECN field, or because their IP header was damaged. The rest came too fast for the policer,
    #: were thinned out or too large for the link, or were not acknowledged on the air.
    wire_losses: int
    #: Packets that it marked.
    marks: int
    #: Octets in the queue.
    queue_bytes: QueueBytes
    #: Copies that came into being, packets that were damaged and went on, packets that were not
    #: delayed, and packets whose ECN field was cleared, where there are such.
    impaired: ImpairmentCounts
    #: Frames on the air, for stations of an 802.11 medium.
    frames: FrameCounts


class FlowSummary(TypedDict, total=False):
    """A flow, from the warm-up to the end."""

    #: Octets of transport packets received by the target.
    throughput_bps: float
    #: Octets of application data delivered for the first time.
    goodput_bps: float
    #: The time in which the flow was alive, which both rates are divided by.
    active_s: float
    #: Of an application that ends by itself: from the start of the flow, its handshake included,
    #: to the delivery of its last octet; none if not all was delivered.
    completion_time_s: float
    #: Packets that the sender handed over.
    packets_sent: int
    #: Packets of the sender that the transport found to be lost: the sender itself, or for TFRC
    #: and UDP the receiver. With UDP and RTP less those that arrived after all, also if they were
    #: found to be lost in the warm-up, and at least none.
    packets_lost: int
    #: Packets whose data was sent before, and timeouts. ``None`` with UDP, which has neither; of
    #: quinn the timeouts alone.
    retransmissions: Retransmissions
    #: Packets that the target received.
    packets_received: int
    #: Packets that the target received with Congestion Experienced (RFC 3168).
    marks: int
    #: Loss events (TFRC) or congestion events (windows) of the packets that were sent in the time
    #: of the statistics, per such packet: data packets, and with QUIC all that elicit
    #: acknowledgements. What TFRC feeds into its equation is a weighted mean over the last
    #: intervals and is in the trace.
    loss_event_rate: float
    #: Round-trip times as the sender measured them; none without a sample.
    rtt_s: Distribution | None
    #: From the sender's transport to the receiver's, which takes the packet: hosts with their
    #: ``handshake_delay`` and access links included, over the packets that arrived (RFC 7679);
    #: none without a packet, and on real sockets.
    one_way_delay_s: Distribution
    #: Time that packets spent in queues of links and 802.11 stations.
    queueing_delay_s: Distribution
    #: RFC 3550's interarrival jitter after each packet (§6.4.1).
    jitter_s: Distribution
    #: How much longer round trips took than on the idle path.
    latency_under_load: LatencyUnderLoad
    #: The controller's allowed rate; for windows cwnd / smoothed RTT; none if it never reported.
    rate_bps: MeanCov | None
    #: What held the sender back: the share of the time for each word of the column ``bound``, zero
    #: for those that never held, from the end of the warm-up, or from the start of the flow if
    #: that is later.
    bound_share: dict[str, float]
    #: Time from the opening of the connection until 65,536 octets were delivered: how fast the
    #: flow starts. None for TFRC, and if fewer were delivered.
    startup_s: float
    #: After the longest time without delivery: from its beginning until a second has 80 % of the
    #: goodput before. None without such a time of half a second, and if the flow does not recover.
    recovery_s: float
    #: The coefficient of variation of the goodput by the length of the intervals in seconds: how
    #: smoothly the flow delivers.
    goodput_cov: dict[str, float]
    #: The playback, if the application is audio; from the start of the run.
    audio: AudioSummary
    #: The video, if the application is that.
    video: VideoSummary
    #: The requests, if the application is that.
    requests: RequestSummary
    #: How the connection ended, if not in good order.
    ended: str


class RunSummary(TypedDict, total=False):
    """ The run itself."""

    #: The format of the folder: ``RUN_FORMAT``.
    format: int
    #: BLAKE3 of the resolved scenario.
    scenario: str
    #: The seed.
    seed: int
    #: Virtual time of the run in seconds.
    duration_s: float
    #: Time of the run before the statistics begin, in seconds.
    warmup_s: float
    #: Events of the simulator.
    events: int
    #: The program that ran it.
    build: str
    #: The commit of its source, with the suffix ``-dirty`` if files were changed; ``None`` if the
    #: caller does not know it.
    commit: str
    #: The virtual time in seconds from which the trace was too long to be kept completely: from
    #: then on it has every change of a word, such as the state and the limit, and for intervals of
    #: at least a round-trip time the first row, the last one and the extremes. Absent if it is
    #: complete.
    trace_thinned_from_s: float
    #: The virtual time in seconds from which the table of packets was too long to be kept
    #: completely: from then on it has the packets that were lost, dropped or marked, and of the
    #: others a half, a quarter and so on, each with all its rows. Absent if it is complete.
    packets_left_out_from_s: float
    #: For a run in real time: the 99th percentile of the lateness of events in seconds. Much more
    #: than a millisecond means that the machine was too busy.
    lateness_p99_s: float


class Summary(TypedDict, total=False):
    """ The summary of a run; ``summary.json`` has exactly these fields."""

    #: The run itself.
    run: RunSummary
    #: Flows by name, in natural order like all names.
    flows: dict[str, FlowSummary]
    #: Directions of links by name, ``NAME`` forward and ``NAME.backward`` backward, and stations
    #: of 802.11 media, ``NAME.HOST``.
    links: dict[str, LinkSummary]
    #: Entries of the scenario that stand for several flows (``count``), by name.
    groups: dict[str, GroupSummary]
    #: Flows with arrivals, by name.
    transfers: dict[str, TransferSummary]
    #: All flows together.
    totals: Totals
    #: What the run drew once from its seed, in seconds: ``flow.NAME.start_s``,
    #: ``flow.NAME.access_delay_s``, ``link.NAME.delay_s``. Only what the scenario gives as a
    #: range.
    drawn: dict[str, float]
