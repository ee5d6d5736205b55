"""Classes for the tables of a scenario. `python/stubs.py` writes this file from the declaration of
the keys."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

__all__ = [
    "Flow",
    "Host",
    "Link",
    "Tunnel",
    "Wifi",
    "aarf",
    "ack_frequency_request",
    "app_request",
    "arf",
    "audio",
    "bulk",
    "cake",
    "cbr",
    "cdf",
    "codel",
    "constant",
    "data_mining",
    "datagrams",
    "dccp",
    "droptail",
    "dualpi2",
    "every",
    "exponential",
    "fixed",
    "fq",
    "fq_codel",
    "fq_pie",
    "gilbert",
    "gilbert_time",
    "hadoop",
    "htb",
    "list",
    "minstrel",
    "netem",
    "none",
    "noq",
    "on_off",
    "once",
    "pareto",
    "periodic",
    "pie",
    "poisson",
    "police",
    "quic",
    "quinn",
    "random",
    "red",
    "resume",
    "rtp",
    "same",
    "state",
    "step",
    "tbf",
    "tcp",
    "trace",
    "udp",
    "video",
    "web_search",
]

#: A rate: a text such as "5Mbit", or a number in bit/s.
Rate = str | float
#: A time: a text such as "20ms", or a number in seconds.
Time = str | float
#: A share: a number from 0 to 1, or a text such as "1%".
Share = str | float

class Setting(Mapping[str, Any]):
    """A table of a scenario with the given keys and the kind."""
    def __getitem__(self, key: str) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __hash__(self) -> int: ...

CLASSES: dict[str, type[Setting]]

def plain(value: Any) -> Any: ...
def with_units(kind: dict[str, Any], value: Any) -> Any: ...
def with_units_at(path: str, value: Any) -> Any: ...
def from_tables(tables: Mapping[str, Any]) -> Any: ...

class Run(Setting):
    """How long to run, and the seed of its random numbers.

    Args:
        duration: Virtual time of the run, such as "10s". Default: None.
        warmup: The summary's statistics count from this time on; traces have everything. Default: '0s'.
        seed: The seed of all random numbers. Default: 1.
        interval: Between two rows of the tables of goodput, delay and losses over time; "auto" is 1, 2 or 5 times a power of ten: 200 to 500 rows. Default: 'auto'.
        codec: Encode and decode every packet on its way. Changes nothing but the time it takes. Default: False.
        max_time: Time of the clock after which it ends with an error, such as "10min"; `weir run` counts all its runs together. The option --max-time goes before it. Default: 'unlimited'.
        max_events: Events after which it ends with an error, the same one on every machine. The option --max-events goes before it. Default: 'unlimited'.
        max_memory: Memory of the process at which it ends with an error, such as "4GB"; "auto" is 80 % of the machine's with `weir run` and `weir sweep`, else unlimited. The option --max-memory goes before it. Default: 'auto'.
    """
    def __init__(
        self,
        duration: Time | None = None,
        warmup: Time | None = None,
        seed: int | None = None,
        interval: Literal['auto'] | Time | None = None,
        codec: bool | None = None,
        max_time: Literal['unlimited'] | Time | None = None,
        max_events: Literal['unlimited'] | int | None = None,
        max_memory: Literal['auto'] | int | str | None = None,
    ) -> None: ...

class Host(Setting):
    """A host with the timing of its stack. Hosts with ideal timing need no entry: the links name them.

    Args:
        name: The name that links and flows use. Default: None.
        count: So many hosts of the same kind, called NAME-1, NAME-2 and so on. A link with the same count joins one each, and the flows of a count take them in turn, if they use NAME. Default: 1.
        transmit_delay: Time from the protocol's handing over of a packet until it enters the wire. Default: '0s'.
        stamp: Which moment the protocol takes as the time of sending: the handing over, or when the packet has really left. Default: 'transmitted'.
        receive_delay: Time from the wire until the protocol handles the packet. Default: '0s'.
        jitter: Time that each packet takes in the host's interface, drawn uniformly for each: between the wire and the stack, both ways. Packets of one flow keep their order. The stack and its captures are on the other side of it. Default: '0s'.
        timer_hz: Timers fire at ticks of this frequency, in hertz; "ideal" fires them exactly. Default: 'ideal'.
        handshake_delay: Additional time that the host takes to answer a packet of the handshake. Default: '0s'.
    """
    def __init__(
        self,
        name: str | None = None,
        count: int | None = None,
        transmit_delay: Time | None = None,
        stamp: Literal['handover', 'transmitted'] | None = None,
        receive_delay: Time | None = None,
        jitter: Time | None = None,
        timer_hz: Literal['ideal'] | int | None = None,
        handshake_delay: Time | None = None,
    ) -> None: ...

class Link(Setting):
    """A wire between two hosts. What stands beside `forward` and `backward` is for both directions.

    Args:
        name: The name that traces and options use. Default: None.
        count: So many links of the same kind, called NAME-1, NAME-2 and so on: each joins one of several hosts with such a count. Default: 1.
        between: The two hosts that it joins, such as ["server", "client"]. Default: None.
        rate: Bits per second, such as "10Mbit"; "unlimited" transmits in no time. Default: 'unlimited'.
        delay: Propagation delay, such as "5ms". A range is drawn once a run, and both directions of the link lie at the same place of their ranges. Default: '0s'.
        mtu: Largest packet in bytes, IP header included; larger ones are dropped. Default: 1500.
        queue: Where packets wait for their transmission. Default: None.
        loss: What gets lost on the wire. Default: None.
        shaper: A token bucket with a queue of its own, in place of `queue`. Default: None.
        policer: A token bucket that drops what comes too fast, before the queue. Default: None.
        ack_thinning: What thins acknowledgements out, before the queue. Default: None.
        netem: Jitter, reordering, duplication, corruption and slots on the wire, as netem has them. Default: None.
        outage: Times in which nothing passes. Beside the link's other keys they strike both directions at the same times. Default: None.
        ecn_faults: What the wire does to packets because of their ECN field. Default: None.
        class_delay: Additional delays of packets by their size and ECN field. Default: None.
        rate_trace: In place of `rate`: a file with a delivery opportunity of 1504 bytes per line, in milliseconds, or its numbers; repeated when it ends. Default: None.
        change: What changes at a time: rate, delay, shaper_rate, loss, netem. Default: None.
        forward: Only from the first host of `between` to the second. Default: None.
        backward: Only from the second host of `between` to the first. Default: None.
    """
    def __init__(
        self,
        name: str | None = None,
        count: int | None = None,
        between: Sequence[str] | None = None,
        rate: Literal['unlimited'] | Rate | None = None,
        delay: Time | None = None,
        mtu: int | str | None = None,
        queue: Mapping[str, Any] | Literal['droptail', 'red', 'codel', 'fq_codel', 'pie', 'fq_pie', 'fq', 'cake', 'htb', 'dualpi2', 'step'] | None = None,
        loss: Mapping[str, Any] | Literal['none', 'periodic', 'random', 'gilbert', 'state', 'gilbert_time', 'trace'] | None = None,
        shaper: Mapping[str, Any] | Literal['none', 'tbf'] | None = None,
        policer: Mapping[str, Any] | Literal['none', 'police'] | None = None,
        ack_thinning: Mapping[str, Any] | Literal['none', 'every'] | None = None,
        netem: Mapping[str, Any] | None = None,
        outage: Sequence[Mapping[str, Any]] | None = None,
        ecn_faults: Mapping[str, Any] | None = None,
        class_delay: Sequence[Mapping[str, Any]] | None = None,
        rate_trace: str | Sequence[int] | None = None,
        change: Sequence[Mapping[str, Any]] | None = None,
        forward: Mapping[str, Any] | None = None,
        backward: Mapping[str, Any] | None = None,
    ) -> None: ...

class Wifi(Setting):
    """An 802.11 medium that its stations share.

    Args:
        name: The name that traces and options use. Default: None.
        standard: 802.11b with the long preamble, 802.11b with the short one, or 802.11g. Default: 'g'.
        slot: A slot: "standard", or "20us" for a cell of g with b stations in it. Default: 'standard'.
        min_window: The smallest contention window as the largest number of slots drawn. Default: 'standard'.
        ack_rate: The fastest rate of MAC acknowledgements: the access point's basic rates. Default: 'mandatory'.
        noise: Noise of a receiver in dBm: thermal noise of 20 MHz (-101 dBm) and its own. Default: -95.0.
        loss_at_1m: Path loss over the first metre in dB: 40 in free space at 2.4 GHz. Default: 40.0.
        path_loss: The exponent of the path loss: 2 in free space, 3 to 4 indoors. Default: 3.0.
        energy_detection: From this power in dBm on a station hears interference that is not 802.11. Default: -62.0.
        station: A station: a host on this medium, with its own queue. Default: None.
        move: A station goes to another place. Default: None.
        signal: A signal-to-noise ratio from a time on, in place of that by distance. Default: None.
        interference: A source of bursts of interference that are not 802.11. Default: None.
    """
    def __init__(
        self,
        name: str | None = None,
        standard: Literal['b', 'b_short', 'g'] | None = None,
        slot: Literal['standard'] | Time | None = None,
        min_window: Literal['standard'] | int | None = None,
        ack_rate: Literal['mandatory'] | Rate | None = None,
        noise: float | None = None,
        loss_at_1m: float | None = None,
        path_loss: float | None = None,
        energy_detection: float | None = None,
        station: Sequence[Mapping[str, Any]] | None = None,
        move: Sequence[Mapping[str, Any]] | None = None,
        signal: Sequence[Mapping[str, Any]] | None = None,
        interference: Sequence[Mapping[str, Any]] | None = None,
    ) -> None: ...

class Flow(Setting):
    """Data from one host to another over one connection.

    Args:
        name: The name that traces and options use. Default: None.
        count: So many flows of the same kind, called NAME-1, NAME-2 and so on. Default: 1.
        group: The flows that `summary.json` and the tables sum up together; those of a `count` are a group of their own name. A flow with `arrivals` is a part with all its transfers. Default: 'none'.
        from: The host that sends the data: of requests, the server. Default: None.
        to: The host that receives the data: of requests, the client, which opens the connection. Default: None.
        transport: The protocol that carries the data. Default: None.
        app: What writes the data. If nothing is said, bulk with packets of 1400 bytes, and video over rtp. Default: None.
        arrivals: Short flows in place of one connection: when transfers begin, each over a connection of its own, and how large they are. `app` must be bulk without `total`; `stop` ends the arrivals. `summary.json` has them together, also what held their senders back, `transfers/NAME` each, `intervals/NAME` what all of them got over time. Default: None.
        loss: What the sender's packets suffer at its socket, before the wire. Default: None.
        start: When the connection is opened; a range is drawn for each flow of `count`. Default: '0s'.
        access_delay: Propagation delay, each way, of an access link of the flow's own between its sender's host and the network; a range is drawn for each flow of `count`. Default: '0s'.
        dscp: Differentiated Services codepoint of its packets, both ways: a name such as "ef" or "cs1", or a number. Default: 'cs0'.
        stagger: How much later each next flow of `count` is opened. Default: '0s'.
        handover: When the end that opens the connection changes its address, and to which: QUIC only. Default: None.
        stop: When the sender stops writing; "never" before the end of the run. Default: 'never'.
    """
    def __init__(
        self,
        name: str | None = None,
        count: int | None = None,
        group: Literal['none'] | str | None = None,
        from_: str | None = None,
        to: str | None = None,
        transport: Mapping[str, Any] | Literal['dccp', 'quic', 'quinn', 'noq', 'rtp', 'tcp', 'udp'] | None = None,
        app: Mapping[str, Any] | Literal['bulk', 'cbr', 'on_off', 'audio', 'video', 'request'] | None = None,
        arrivals: Mapping[str, Any] | Literal['once', 'poisson', 'list'] | None = None,
        loss: Mapping[str, Any] | Literal['none', 'periodic', 'random', 'gilbert', 'state', 'gilbert_time', 'trace'] | None = None,
        start: Time | None = None,
        access_delay: Time | None = None,
        dscp: Literal['cs0', 'cs1', 'cs2', 'cs3', 'cs4', 'cs5', 'cs6', 'cs7', 'af11', 'af12', 'af13', 'af21', 'af22', 'af23', 'af31', 'af32', 'af33', 'af41', 'af42', 'af43', 'ef', 'va', 'le'] | int | None = None,
        stagger: Time | None = None,
        handover: Sequence[Mapping[str, Any]] | None = None,
        stop: Literal['never'] | Time | None = None,
    ) -> None: ...

class Tunnel(Setting):
    """A hop between two hosts over an outer connection with a congestion control of its own.

    Args:
        name: The name that traces and options use: of the outer connection, which is recorded like a flow, and of the queues at its ends, which are recorded like those of a link: NAME at the first host and NAME.backward at the second. Default: None.
        between: The two hosts that it joins, such as ["laptop", "proxy"]. The first opens the connection when the run starts, and is the sender whose window and rate are recorded. Default: None.
        transport: The protocol of the outer connection: "quic", "dccp" or "udp" for datagrams, "quic" or "tcp" for a stream. What a stream buffers (`send_queue_limit`, `send_buffer`) waits in front of what `queue` holds. Default: None.
        mode: How it carries packets. Default: 'datagram'.
        queue: Where packets wait for the outer connection, at both ends. Default: None.
        mtu: Largest packet inside in bytes, IP header included; larger ones are dropped. "auto" is what fits a datagram, and 1500 in a stream. Default: 'auto'.
        overhead: Bytes that the tunnel adds to each packet, such as the two of the identifiers in front of an HTTP datagram or of a length in a stream. Default: 2.
    """
    def __init__(
        self,
        name: str | None = None,
        between: Sequence[str] | None = None,
        transport: Mapping[str, Any] | Literal['dccp', 'quic', 'quinn', 'noq', 'rtp', 'tcp', 'udp'] | None = None,
        mode: Literal['datagram', 'stream'] | None = None,
        queue: Mapping[str, Any] | Literal['droptail', 'red', 'codel', 'fq_codel', 'pie', 'fq_pie', 'fq', 'cake', 'htb', 'dualpi2', 'step'] | None = None,
        mtu: Literal['auto'] | int | str | None = None,
        overhead: int | str | None = None,
    ) -> None: ...

class droptail(Setting):
    """First in, first out; a packet that finds it full is dropped.

    Args:
        limit: What it holds at most: packets as a number, or bytes such as "30000b". Default: 1000.
    """
    def __init__(
        self,
        limit: int | str | float | None = None,
    ) -> None: ...

class red(Setting):
    """Random early detection (Floyd and Jacobson 1993), in bytes.

    Args:
        limit: The most bytes that it holds. Default: None.
        min: Mean bytes below which nothing is dropped. Default: None.
        max: Mean bytes at which packets are dropped with `probability`; more than `min`. Default: None.
        probability: The probability of an early drop at `max`. Default: 0.02.
        weight: The weight of one arrival in the mean. Default: 0.002.
        packet_time: The time of a mean packet on the wire: how the mean ages while the queue is empty. Default: '1ms'.
        gentle: Let the probability rise to 1 between `max` and twice `max`. Default: True.
        ecn: Mark packets of ECN-capable transports where others would be dropped early. Default: False.
        harddrop: Drop all where everything is dropped, also what `ecn` would mark (RFC 7567 §4.2.1). Default: True.
    """
    def __init__(
        self,
        limit: int | str | None = None,
        min: int | str | None = None,
        max: int | str | None = None,
        probability: Share | None = None,
        weight: Share | None = None,
        packet_time: Time | None = None,
        gentle: bool | None = None,
        ecn: bool | None = None,
        harddrop: bool | None = None,
    ) -> None: ...

class codel(Setting):
    """Controlled delay (RFC 8289).

    Args:
        target: The standing delay to allow. Default: '5ms'.
        interval: A round-trip time of the slowest expected flows. Default: '100ms'.
        limit: The most packets that it holds. Default: 1000.
        ecn: Mark packets of ECN-capable transports where others would be dropped early. Default: False.
    """
    def __init__(
        self,
        target: Time | None = None,
        interval: Time | None = None,
        limit: int | None = None,
        ecn: bool | None = None,
    ) -> None: ...

class fq_codel(Setting):
    """Flow queueing with controlled delay (RFC 8290).

    Args:
        target: The standing delay to allow. Default: '5ms'.
        interval: A round-trip time of the slowest expected flows. Default: '100ms'.
        limit: The most packets that it holds. Default: 10240.
        ecn: Mark packets of ECN-capable transports where others would be dropped early. Default: True.
        flows: Number of queues. Default: 1024.
        quantum: Bytes that a queue may send in a turn. Default: 1514.
    """
    def __init__(
        self,
        target: Time | None = None,
        interval: Time | None = None,
        limit: int | None = None,
        ecn: bool | None = None,
        flows: int | None = None,
        quantum: int | str | None = None,
    ) -> None: ...

class pie(Setting):
    """Proportional integral controller enhanced (RFC 8033).

    Args:
        target: The delay to hold. Default: '15ms'.
        tupdate: The controller's period. Default: '15ms'.
        alpha: Weight of the distance from the target, in 1/16 per second. Default: 2.
        beta: Weight of the change of the delay, in 1/16 per second. Default: 20.
        max_burst: How long a burst passes untouched. Default: '150ms'.
        limit: The most packets that it holds. Default: 1000.
        ecn: Mark packets of ECN-capable transports where others would be dropped early. Default: False.
    """
    def __init__(
        self,
        target: Time | None = None,
        tupdate: Time | None = None,
        alpha: int | None = None,
        beta: int | None = None,
        max_burst: Time | None = None,
        limit: int | None = None,
        ecn: bool | None = None,
    ) -> None: ...

class fq_pie(Setting):
    """Flow queueing with PIE.

    Args:
        target: The delay to hold. Default: '15ms'.
        tupdate: The controller's period. Default: '15ms'.
        alpha: Weight of the distance from the target, in 1/16 per second. Default: 2.
        beta: Weight of the change of the delay, in 1/16 per second. Default: 20.
        max_burst: How long a burst passes untouched. Default: '150ms'.
        limit: The most packets that it holds. Default: 10240.
        ecn: Mark packets of ECN-capable transports where others would be dropped early. Default: False.
        flows: Number of queues. Default: 1024.
        quantum: Bytes that a queue may send in a turn. Default: 1514.
        memory_limit: The most bytes that all queues hold. Default: 33554432.
        ecn_prob: The probability from which ECN-capable packets are dropped too, in percent. Default: 10.
    """
    def __init__(
        self,
        target: Time | None = None,
        tupdate: Time | None = None,
        alpha: int | None = None,
        beta: int | None = None,
        max_burst: Time | None = None,
        limit: int | None = None,
        ecn: bool | None = None,
        flows: int | None = None,
        quantum: int | str | None = None,
        memory_limit: int | str | None = None,
        ecn_prob: int | None = None,
    ) -> None: ...

class fq(Setting):
    """A queue for each flow, with pacing.

    Args:
        limit: The most packets that all flows hold together. Default: 10000.
        flow_limit: The most packets of one flow. Default: 100.
        quantum: Bytes that a flow may send in a turn. Default: 3028.
        initial_quantum: Bytes that a new flow may send in its first turn. Default: 15140.
        maxrate: The most bits per second of each flow. Default: 'unlimited'.
        low_rate_threshold: Flows up to this rate are spaced packet by packet. Default: '550kbit'.
        flow_refill_delay: Idle time after which a flow has a quantum again. Default: '40ms'.
        pacing: Pace flows at `maxrate`. Default: True.
        ce_threshold: Mark ECN-capable packets that have waited for longer. Default: 'off'.
        buckets: Buckets of the hash table; without effect, because flows do not collide here. Default: 1024.
    """
    def __init__(
        self,
        limit: int | None = None,
        flow_limit: int | None = None,
        quantum: int | str | None = None,
        initial_quantum: int | str | None = None,
        maxrate: Literal['unlimited'] | Rate | None = None,
        low_rate_threshold: Rate | None = None,
        flow_refill_delay: Time | None = None,
        pacing: bool | None = None,
        ce_threshold: Literal['off'] | Time | None = None,
        buckets: int | None = None,
    ) -> None: ...

class cake(Setting):
    """CAKE: shaper, fairness of hosts and flows, classes, queue management.

    Args:
        bandwidth: Bits per second of the shaper. Default: 'unlimited'.
        rtt: The round-trip time that the queue management assumes. Default: '100ms'.
        diffserv: The classes of packets. Default: 'diffserv3'.
        flowmode: Between what the link is shared. Default: 'triple-isolate'.
        ack_filter: Which acknowledgements are dropped for a later one. Default: 'no-ack-filter'.
        overhead: Bytes that each packet takes beyond its IP size. Default: 0.
        mpu: The least bytes that a packet takes. Default: 0.
        atm: The framing of the link. Default: 'noatm'.
        ingress: Count dropped packets as sent: for a shaper behind the bottleneck. Default: False.
        wash: Clear the DiffServ field. Default: False.
        memlimit: The most bytes that it holds; "auto" by bandwidth and round-trip time. Default: 'auto'.
    """
    def __init__(
        self,
        bandwidth: Literal['unlimited'] | Rate | None = None,
        rtt: Literal['datacentre', 'lan', 'metro', 'regional', 'internet', 'oceanic', 'satellite', 'interplanetary'] | Time | None = None,
        diffserv: Literal['besteffort', 'diffserv8', 'diffserv4', 'diffserv3'] | None = None,
        flowmode: Literal['flowblind', 'srchost', 'dsthost', 'hosts', 'flows', 'dual-srchost', 'dual-dsthost', 'triple-isolate'] | None = None,
        ack_filter: Literal['no-ack-filter', 'ack-filter', 'ack-filter-aggressive'] | None = None,
        overhead: int | str | None = None,
        mpu: int | str | None = None,
        atm: Literal['noatm', 'atm', 'ptm'] | None = None,
        ingress: bool | None = None,
        wash: bool | None = None,
        memlimit: Literal['auto'] | int | str | None = None,
    ) -> None: ...

class htb(Setting):
    """A hierarchy of token buckets: classes with a guaranteed rate that borrow from each other.

    Args:
        default: The class of packets that belong to no other; "none" sends them unshaped. Default: 'none'.
        r2q: Rate in bytes per second over quantum. Default: 10.
        direct_qlen: The most unshaped packets that wait. Default: 1000.
        class: The classes; the first leaf that a packet belongs to gets it. Default: None.
    """
    def __init__(
        self,
        default: Literal['none'] | int | None = None,
        r2q: int | None = None,
        direct_qlen: int | None = None,
        class_: Sequence[Mapping[str, Any]] | None = None,
    ) -> None: ...

class dualpi2(Setting):
    """Dual-queue coupled AQM for L4S (RFC 9332): ECT(1) and CE get a queue of low latency.

    Args:
        target: The delay at which the classic queue is held. Default: '15ms'.
        tupdate: The controller's period. Default: '16ms'.
        alpha: What a second of delay beyond the target adds to the base probability in a period. Default: 0.16.
        beta: What a second of growing delay adds to the base probability. Default: 3.2.
        coupling_factor: The marking of the queue of low latency over the root of the classic drops (k). Default: 2.0.
        step_thresh: The delay from which the queue of low latency marks on its own. Default: '1ms'.
        ramp: How far above `step_thresh` every packet is marked; 0 is a step. RFC 9332 has a ramp from 800us over 400us. Default: '0s'.
        min_qlen_step: Packets in the queue of low latency up to which it does not mark on its own. Default: 1.
        classic_protection: The classic queue's share of the link while both hold packets. Default: 0.1.
        limit: The most packets that both hold together. Default: 10000.
    """
    def __init__(
        self,
        target: Time | None = None,
        tupdate: Time | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        coupling_factor: float | None = None,
        step_thresh: Time | None = None,
        ramp: Time | None = None,
        min_qlen_step: int | None = None,
        classic_protection: Share | None = None,
        limit: int | None = None,
    ) -> None: ...

class step(Setting):
    """Marks ECN-capable packets above a threshold, as switches do for DCTCP (RFC 8257).

    Args:
        limit: What it holds at most: packets as a number, or bytes such as "30000b". Default: 1000.
        threshold: Above this it marks: packets as a number, bytes such as "30000b", or from this time of waiting on such as "1ms". Default: None.
        drop_others: Drop packets that are not ECN-capable where others are marked. Default: False.
    """
    def __init__(
        self,
        limit: int | str | float | None = None,
        threshold: int | str | float | Time | None = None,
        drop_others: bool | None = None,
    ) -> None: ...

class none(Setting):
    """Nothing is lost.

    Args:
    """
    def __init__(self) -> None: ...

class periodic(Setting):
    """1/rate packets are delivered, then one is lost.

    Args:
        rate: 1/rate packets are delivered, then one is lost; 1/rate must be whole. Default: None.
    """
    def __init__(
        self,
        rate: Share | None = None,
    ) -> None: ...

class random(Setting):
    """Each packet is lost with the same probability, independently.

    Args:
        rate: The probability that a packet is lost. Default: None.
    """
    def __init__(
        self,
        rate: Share | None = None,
    ) -> None: ...

class gilbert(Setting):
    """Losses in bursts, counted in packets: a chain of a good and a bad state that steps once for each packet, however far apart they are.

    Args:
        to_bad: Probability per packet of going from the good state to the bad one. Default: None.
        to_good: Probability per packet of going from the bad state to the good one. Default: None.
        loss_in_good: Probability of loss in the good state. Default: 0.0.
        loss_in_bad: Probability of loss in the bad state. Default: 1.0.
    """
    def __init__(
        self,
        to_bad: Share | None = None,
        to_good: Share | None = None,
        loss_in_good: Share | None = None,
        loss_in_bad: Share | None = None,
    ) -> None: ...

class state(Setting):
    """Losses in bursts: netem's chain of four states.

    Args:
        p13: Probability per packet of a burst's begin. Default: None.
        p31: Probability per packet of a burst's end. Default: None.
        p32: Probability per packet of arriving within a burst. Default: 0.0.
        p23: Probability per packet of being lost again within a burst. Default: 1.0.
        p14: Probability per packet of a single loss outside of a burst. Default: 0.0.
    """
    def __init__(
        self,
        p13: Share | None = None,
        p31: Share | None = None,
        p32: Share | None = None,
        p23: Share | None = None,
        p14: Share | None = None,
    ) -> None: ...

class gilbert_time(Setting):
    """Losses in bursts that last a time, however many packets pass meanwhile: a chain of a good and a bad state with exponentially distributed stays.

    Args:
        mean_good: Mean time in the good state. Default: None.
        mean_bad: Mean time in the bad state: the mean length of a burst. Default: None.
        loss_in_good: Probability of loss in the good state. Default: 0.0.
        loss_in_bad: Probability of loss in the bad state. Default: 1.0.
    """
    def __init__(
        self,
        mean_good: Time | None = None,
        mean_bad: Time | None = None,
        loss_in_good: Share | None = None,
        loss_in_bad: Share | None = None,
    ) -> None: ...

class trace(Setting):
    """The packets with these numbers are lost.

    Args:
        drops: Numbers of the packets that are lost, counted from 0. Default: None.
    """
    def __init__(
        self,
        drops: Sequence[int] | None = None,
    ) -> None: ...

class tbf(Setting):
    """A token bucket as Linux's tbf: `rate`, `burst`, `limit`, `peakrate`.

    Args:
        rate: Bits per second. Default: None.
        burst: Bytes that may leave at once; a larger packet never passes. Default: None.
        limit: The most bytes that wait for tokens; or write `latency`. Default: 'by_latency'.
        latency: In place of `limit`: the longest time that a packet waits for tokens. Default: 'by_limit'.
        peakrate: Bits per second within a burst. Default: 'unlimited'.
        peakmtu: Bytes of one step at the peak rate: tc's mtu of tbf. Default: 1540.
        overhead: Bytes that each packet counts beyond its IP size: 14 on Ethernet. Default: 0.
    """
    def __init__(
        self,
        rate: Rate | None = None,
        burst: int | str | None = None,
        limit: Literal['by_latency'] | int | str | None = None,
        latency: Literal['by_limit'] | Time | None = None,
        peakrate: Literal['unlimited'] | Rate | None = None,
        peakmtu: int | str | None = None,
        overhead: int | str | None = None,
    ) -> None: ...

class police(Setting):
    """A token bucket that drops, as tc's police: `rate`, `burst`.

    Args:
        rate: Bits per second. Default: None.
        burst: Bytes that may pass at once; a larger packet never passes. Default: None.
        overhead: Bytes that each packet counts beyond its IP size: 14 on Ethernet. Default: 0.
    """
    def __init__(
        self,
        rate: Rate | None = None,
        burst: int | str | None = None,
        overhead: int | str | None = None,
    ) -> None: ...

class every(Setting):
    """Each `n`-th acknowledgement of a flow passes.

    Args:
        n: Of so many acknowledgements in a row one passes. Default: None.
        largest: The largest packet that counts as an acknowledgement without data, in bytes. Default: 100.
        gap: One passes anyhow if none of its flow has passed for so long. Default: '10ms'.
    """
    def __init__(
        self,
        n: int | None = None,
        largest: int | str | None = None,
        gap: Time | None = None,
    ) -> None: ...

class same(Setting):
    """As before.

    Args:
    """
    def __init__(self) -> None: ...

class netem(Setting):
    """These impairments and no others.

    Args:
        jitter: How far delays vary around the link's `delay`. Default: '0s'.
        jitter_correlation: How much each delay follows the one before, 0 to 1. Default: 0.0.
        distribution: How delays vary: within jitter, or with jitter as their deviation. Default: 'uniform'.
        keep_order: Packets whose delays differ wait for each other. Default: False.
        reorder: Probability that a packet is not delayed. Default: 0.0.
        reorder_correlation: Its correlation. Default: 0.0.
        reorder_gap: Only each so many packets may be reordered; 0 for any. Default: 0.
        duplicate: Probability that a packet arrives twice. Default: 0.0.
        duplicate_correlation: Its correlation. Default: 0.0.
        corrupt: Probability that an octet of a packet is damaged. Default: 0.0.
        corrupt_correlation: Its correlation. Default: 0.0.
        ecn: Packets of ECN-capable transports that the loss model takes are marked instead. Default: False.
        packet_overhead: Bytes that each packet takes on the wire beyond its IP size. Default: 0.
        cell_size: Bytes of a cell: packets take whole cells; 0 without cells. Default: 0.
        cell_overhead: Bytes that each cell takes beyond its size: 5 with ATM's cells of 48. Default: 0.
        slot: Packets gather and arrive together, this long after the first of them or after the slot before: a time, or a range of which each slot draws; 0 lets each arrive alone. Default: '0s'.
        slot_packets: Packets that a slot takes at most; 0 for any number. Default: 0.
        slot_bytes: Bytes after which a slot takes no more; 0 for any number. Default: 0.
    """
    def __init__(
        self,
        jitter: Time | None = None,
        jitter_correlation: Share | None = None,
        distribution: Literal['uniform', 'normal', 'pareto'] | None = None,
        keep_order: bool | None = None,
        reorder: Share | None = None,
        reorder_correlation: Share | None = None,
        reorder_gap: int | None = None,
        duplicate: Share | None = None,
        duplicate_correlation: Share | None = None,
        corrupt: Share | None = None,
        corrupt_correlation: Share | None = None,
        ecn: bool | None = None,
        packet_overhead: int | str | None = None,
        cell_size: int | str | None = None,
        cell_overhead: int | str | None = None,
        slot: Time | None = None,
        slot_packets: int | None = None,
        slot_bytes: int | str | None = None,
    ) -> None: ...

class minstrel(Setting):
    """Samples all rates and takes the one of the most throughput, as Linux does.

    Args:
    """
    def __init__(self) -> None: ...

class aarf(Setting):
    """Adaptive ARF: waits longer after each rise that failed. Takes collisions for a poor signal: not for cells where several stations contend.

    Args:
    """
    def __init__(self) -> None: ...

class arf(Setting):
    """Up after ten successes, down after two failures. Takes collisions for a poor signal: not for cells where several stations contend.

    Args:
    """
    def __init__(self) -> None: ...

class fixed(Setting):
    """Always the same `rate`.

    Args:
        rate: A rate of the standard, such as "11Mbit". Default: None.
    """
    def __init__(
        self,
        rate: Rate | None = None,
    ) -> None: ...

class dccp(Setting):
    """Datagrams without reliability, with congestion control (RFC 4340).

    Args:
        ccid: The congestion control: 2 is like TCP (RFC 4341), 3 is TFRC (RFC 4342), 4 is TFRC for small packets (RFC 5622). Default: 3.
        controller: The window controller of CCID 2. Default: 'rfc4341'.
        cubic: The constants of CUBIC (RFC 9438). Default: None.
        bbr: The constants of BBR (draft-ietf-ccwg-bbr). Default: None.
        bbr1: The constants of BBRv1 (Linux tcp_bbr). Default: None.
        copa: The constants of Copa (NSDI 2018). Default: None.
        profile: TFRC's rules as one revision has them; CCID 3 and 4. Default: 'rfc5348'.
        tfrc: Single rules of TFRC, on top of `profile`. Default: None.
        sequence_window: Sequence Window of both ends (RFC 4340 §7.5.2): about five packets per round trip are needed. Default: 10000.
        send_queue: Datagrams that may wait for their transmission, as Linux's tx_qlen. Default: 5.
        ecn: Data packets use explicit congestion notification. Default: False.
        ecn_nonces: With ecn: data packets are ECT(0) or ECT(1) by chance, and the sender verifies that the receiver knows which (RFC 4340 §12.2; historic by RFC 8311). Default: False.
        checksum_coverage: CsCov (RFC 4340 §9.2): 0 covers all of a packet, 1 the header, n another 4 (n - 1) bytes of payload; damage beyond is delivered. Default: 0.
        data_checksum: Data packets carry a Data Checksum (RFC 4340 §9.3): damaged data is dropped and reported with Data Dropped, and its loss is not taken for congestion by TFRC. Default: False.
    """
    def __init__(
        self,
        ccid: int | None = None,
        controller: str | None = None,
        cubic: Mapping[str, Any] | None = None,
        bbr: Mapping[str, Any] | None = None,
        bbr1: Mapping[str, Any] | None = None,
        copa: Mapping[str, Any] | None = None,
        profile: Literal['rfc3448', 'linux-2008', 'linux-mainline', 'rfc5348'] | None = None,
        tfrc: Mapping[str, Any] | None = None,
        sequence_window: int | None = None,
        send_queue: int | None = None,
        ecn: bool | None = None,
        ecn_nonces: bool | None = None,
        checksum_coverage: int | None = None,
        data_checksum: bool | None = None,
    ) -> None: ...

class quic(Setting):
    """A reliable stream (RFC 9000 and 9002, without TLS).

    Args:
        rules: The rules in which revisions and models differ, with their headers and handshake, as one of them has them. Default: 'rfc9002'.
        overrides: Single rules, on top of `rules`. Default: None.
        controller: The window controller. Default: 'newreno'.
        cubic: The constants of CUBIC (RFC 9438). Default: None.
        bbr: The constants of BBR (draft-ietf-ccwg-bbr). Default: None.
        bbr1: The constants of BBRv1 (Linux tcp_bbr). Default: None.
        copa: The constants of Copa (NSDI 2018). Default: None.
        ack_every: Ack-eliciting packets after which the receiver acknowledges at once. Default: 2.
        max_ack_delay: The longest that the receiver delays an acknowledgement. Default: '25ms'.
        ack_on_gap: A late packet, and one after a gap, is acknowledged at once. Default: True.
        ack_first_at_once: Packet number 0 is acknowledged at once. Default: False.
        ack_ranges: Ranges of packet numbers that an acknowledgement reports: the newest. Default: 32.
        ack_frequency: What the sender asks of the receiver's acknowledgements. Default: None.
        bundle_acks: Packets that ask for no acknowledgement are acknowledged with data packets. Default: False.
        max_datagram_size: Bytes of the largest datagram without IP and UDP headers; "path" takes what the path's MTU allows. Default: 'path'.
        initial_window: Initial window in bytes; "rfc9002" is min(10 packets, max(2 packets, 14720)). Default: 'rfc9002'.
        send_queue_limit: Bytes that may wait for their first transmission. Default: 64000000.
        low_water_ratio: The application may write again below this share of the limit, in 0..1. Default: 0.4.
        packet_threshold: kPacketThreshold (RFC 9002 §6.1.1): a packet is lost when one that was sent so many packets later is acknowledged. Default: 3.
        pto_max: The longest that a probe timeout grows to by back-off, which RFC 9002 §6.2.1 does not bound; "none" is the RFC's. A timeout that is longer without back-off stays as it is. Default: 'none'.
        header: Sizes of headers. Default: None.
        initial_max_data: The receiver's credit in bytes, for the whole connection. Default: 15000000.
        initial_max_stream_data: The receiver's credit in bytes, for the stream. Default: 6000000.
        max_data_threshold: New credit for the connection is due when this share of it is left, in 0..1. Default: 0.5.
        max_stream_data_threshold: New credit for the stream is due when this share of it is left, in 0..1. Default: 0.5.
        announce_at_once: New credit makes a packet of its own instead of waiting for one. Default: False.
        max_datagram_frame_size: The largest DATAGRAM frame in bytes that an end takes, type and length included; 0 takes none. Default: 65535.
        datagram_queue: Datagrams of a tunnel that may wait in the connection for the window and the pacer; media has `send_queue`. Default: 16.
        datagram_lifetime: A datagram that waits longer in the connection is dropped; "none" waits. Default: 'none'.
        media: Media: what the application writes goes into datagrams, under a controller of media. Default: None.
        handshake: How the connection begins: open from the start, or after one exchange. Default: 'one-rtt'.
        ecn: Packets are ECN-capable: ECT(0). DCTCP and Prague make them so whatever this says. Default: False.
        new_path: What becomes of the congestion controller when the peer's or the own address changes. Default: 'reset'.
        new_path_resume: What an earlier connection has learnt of the new path. Default: None.
        idle_timeout: Ends the connection after this duration without a packet, or "never". Default: 'never'.
    """
    def __init__(
        self,
        rules: Literal['inet-2025', 'inet-now', 'rfc9002'] | None = None,
        overrides: Mapping[str, Any] | None = None,
        controller: str | None = None,
        cubic: Mapping[str, Any] | None = None,
        bbr: Mapping[str, Any] | None = None,
        bbr1: Mapping[str, Any] | None = None,
        copa: Mapping[str, Any] | None = None,
        ack_every: int | None = None,
        max_ack_delay: Time | None = None,
        ack_on_gap: bool | None = None,
        ack_first_at_once: bool | None = None,
        ack_ranges: int | None = None,
        ack_frequency: Mapping[str, Any] | Literal['none', 'request'] | None = None,
        bundle_acks: bool | None = None,
        max_datagram_size: Literal['path'] | int | str | None = None,
        initial_window: Literal['rfc9002'] | int | str | None = None,
        send_queue_limit: int | str | None = None,
        low_water_ratio: Share | None = None,
        packet_threshold: int | None = None,
        pto_max: Literal['none'] | Time | None = None,
        header: Mapping[str, Any] | None = None,
        initial_max_data: int | str | None = None,
        initial_max_stream_data: int | str | None = None,
        max_data_threshold: Share | None = None,
        max_stream_data_threshold: Share | None = None,
        announce_at_once: bool | None = None,
        max_datagram_frame_size: int | str | None = None,
        datagram_queue: int | None = None,
        datagram_lifetime: Literal['none'] | Time | None = None,
        media: Mapping[str, Any] | Literal['none', 'datagrams'] | None = None,
        handshake: Literal['established', 'one-rtt'] | None = None,
        ecn: bool | None = None,
        new_path: Literal['reset', 'keep'] | None = None,
        new_path_resume: Mapping[str, Any] | Literal['none', 'resume'] | None = None,
        idle_timeout: Literal['never'] | Time | None = None,
    ) -> None: ...

class resume(Setting):
    """A jump once the initial window is acknowledged.

    Args:
        saved_cwnd: Bytes that the earlier connection had in flight in a round-trip time. Default: None.
        saved_rtt: Its minimum round-trip time. The path counts as the same if the minimum is now above half of this and at most ten times as long. Default: None.
        max_jump: The largest window that the jump leads to, in bytes, beside half of `saved_cwnd`. Default: 'none'.
        ssthresh_percent: Beta: the share of PipeSize that is ssthresh after a Safe Retreat. Default: 50.
    """
    def __init__(
        self,
        saved_cwnd: int | str | None = None,
        saved_rtt: Time | None = None,
        max_jump: Literal['none'] | int | str | None = None,
        ssthresh_percent: int | None = None,
    ) -> None: ...

class ack_frequency_request(Setting):
    """An ACK_FREQUENCY frame with the first data.

    Args:
        ack_eliciting_threshold: Ack-Eliciting Threshold: the packets that the receiver gets before it acknowledges the next at once. 1 is the standard, every other packet. Default: 10.
        requested_max_ack_delay: Requested Max Ack Delay: the longest that the receiver delays an acknowledgement. Default: '25ms'.
        reordering_threshold: Reordering Threshold: a packet so many numbers above a missing one is acknowledged at once; 0 acknowledges none at once for that. Default: 3.
    """
    def __init__(
        self,
        ack_eliciting_threshold: int | None = None,
        requested_max_ack_delay: Time | None = None,
        reordering_threshold: int | None = None,
    ) -> None: ...

class app_request(Setting):
    """A client at `to` sends requests to the server at `from`, which answers each with a response: one at a time, over one connection, which the client opens. The responses are the data of the flow. Needs a stream: TCP, QUIC or quinn.

    Args:
        packet: Bytes of one write of either end. Default: 1400.
        request: How large requests are. Default: None.
        response: How large responses are. Default: None.
        think: Mean time from the last byte of a response to the next request. Default: '0s'.
        think_times: How these times are distributed; "pareto" has shape 1.5. Default: 'exponential'.
        count: Number of requests, then the server closes the connection; "endless" never closes it. Default: 'endless'.
    """
    def __init__(
        self,
        packet: int | str | None = None,
        request: Mapping[str, Any] | Literal['constant', 'exponential', 'pareto', 'cdf', 'web_search', 'data_mining', 'hadoop'] | None = None,
        response: Mapping[str, Any] | Literal['constant', 'exponential', 'pareto', 'cdf', 'web_search', 'data_mining', 'hadoop'] | None = None,
        think: Time | None = None,
        think_times: Literal['exponential', 'constant', 'pareto'] | None = None,
        count: Literal['endless'] | int | None = None,
    ) -> None: ...

class datagrams(Setting):
    """Media in datagrams, with receive timestamps.

    Args:
        controller: The congestion controller of media. Default: 'nada'.
        feedback_interval: From one report to the controller to the next, at least: acknowledgements come more often. Default: '100ms'.
        nested: Nested congestion control: the window and the pacer of the connection hold datagrams back too, below the controller of media, which is the only one otherwise. Default: False.
        send_queue: Packets that may wait to be sent; then a write is refused. Default: 2000.
        max_receive_timestamps_per_ack: Receive timestamps that an ACK frame may have. Default: 64.
        receive_timestamps_exponent: Receive timestamps count in units of 2 to this power microseconds. Default: 0.
        nada: The parameters of NADA. Default: None.
        gcc: The constants of GCC. Default: None.
        scream: The constants of SCReAMv2. Default: None.
    """
    def __init__(
        self,
        controller: str | None = None,
        feedback_interval: Time | None = None,
        nested: bool | None = None,
        send_queue: int | None = None,
        max_receive_timestamps_per_ack: int | None = None,
        receive_timestamps_exponent: int | None = None,
        nada: Mapping[str, Any] | None = None,
        gcc: Mapping[str, Any] | None = None,
        scream: Mapping[str, Any] | None = None,
    ) -> None: ...

class quinn(Setting):
    """A reliable stream by the QUIC implementation quinn, with TLS, in virtual time.

    Args:
        controller: The window controller: one of Weir's, or quinn's own. Default: 'newreno'.
        rules: The rules of Weir's controllers as one revision has them; those of sending and acknowledging are quinn's. Default: 'rfc9002'.
        overrides: Single rules, on top of `rules`. Default: None.
        cubic: The constants of CUBIC (RFC 9438). Default: None.
        bbr: The constants of BBR (draft-ietf-ccwg-bbr). Default: None.
        bbr1: The constants of BBRv1 (Linux tcp_bbr). Default: None.
        copa: The constants of Copa (NSDI 2018). Default: None.
        initial_window: Initial window of Weir's controllers in bytes; "rfc9002" is min(10 packets, max(2 packets, 14720)). Default: 'rfc9002'.
        max_datagram_size: Bytes of the largest datagram without IP and UDP headers; "path" takes what the path's MTU allows. Default: 'path'.
        ack_every: Ack-eliciting packets for each acknowledgement, asked of the receiver by draft-ietf-quic-ack-frequency; "receiver" leaves it to the receiver. Default: 'receiver'.
        stream_window: Bytes of the stream that the receiver takes in advance. Default: 1250000.
        send_window: Bytes that the application may have unacknowledged. Default: 10000000.
        ecn: Packets are ECN-capable. Default: True.
        idle_timeout: Ends the connection after this duration without a packet, or "never". Default: '30s'.
    """
    def __init__(
        self,
        controller: str | None = None,
        rules: Literal['inet-2025', 'inet-now', 'rfc9002'] | None = None,
        overrides: Mapping[str, Any] | None = None,
        cubic: Mapping[str, Any] | None = None,
        bbr: Mapping[str, Any] | None = None,
        bbr1: Mapping[str, Any] | None = None,
        copa: Mapping[str, Any] | None = None,
        initial_window: Literal['rfc9002'] | int | str | None = None,
        max_datagram_size: Literal['path'] | int | str | None = None,
        ack_every: Literal['receiver'] | int | None = None,
        stream_window: int | str | None = None,
        send_window: int | str | None = None,
        ecn: bool | None = None,
        idle_timeout: Literal['never'] | Time | None = None,
    ) -> None: ...

class noq(Setting):
    """A reliable stream by the QUIC implementation noq, a fork of quinn.

    Args:
        controller: The window controller: one of Weir's, or noq's own. Default: 'newreno'.
        rules: The rules of Weir's controllers as one revision has them; those of sending and acknowledging are noq's. Default: 'rfc9002'.
        overrides: Single rules, on top of `rules`. Default: None.
        cubic: The constants of CUBIC (RFC 9438). Default: None.
        bbr: The constants of BBR (draft-ietf-ccwg-bbr). Default: None.
        bbr1: The constants of BBRv1 (Linux tcp_bbr). Default: None.
        copa: The constants of Copa (NSDI 2018). Default: None.
        initial_window: Initial window of Weir's controllers in bytes; "rfc9002" is min(10 packets, max(2 packets, 14720)). Default: 'rfc9002'.
        max_datagram_size: Bytes of the largest datagram without IP and UDP headers; "path" takes what the path's MTU allows. Default: 'path'.
        ack_every: Ack-eliciting packets for each acknowledgement, asked of the receiver by draft-ietf-quic-ack-frequency; "receiver" leaves it to the receiver. Default: 'receiver'.
        stream_window: Bytes of the stream that the receiver takes in advance. Default: 1250000.
        send_window: Bytes that the application may have unacknowledged. Default: 10000000.
        ecn: Packets are ECN-capable. Default: True.
        idle_timeout: Ends the connection after this duration without a packet, or "never". Default: '30s'.
    """
    def __init__(
        self,
        controller: str | None = None,
        rules: Literal['inet-2025', 'inet-now', 'rfc9002'] | None = None,
        overrides: Mapping[str, Any] | None = None,
        cubic: Mapping[str, Any] | None = None,
        bbr: Mapping[str, Any] | None = None,
        bbr1: Mapping[str, Any] | None = None,
        copa: Mapping[str, Any] | None = None,
        initial_window: Literal['rfc9002'] | int | str | None = None,
        max_datagram_size: Literal['path'] | int | str | None = None,
        ack_every: Literal['receiver'] | int | None = None,
        stream_window: int | str | None = None,
        send_window: int | str | None = None,
        ecn: bool | None = None,
        idle_timeout: Literal['never'] | Time | None = None,
    ) -> None: ...

class rtp(Setting):
    """Media with feedback about each packet (RFC 3550, RFC 8888).

    Args:
        controller: The congestion controller. Default: 'nada'.
        feedback_interval: From one report of the receiver to the next: DELTA of NADA (RFC 8698 §4.1), 50 to 200 ms by RFC 8888 §4. Default: '100ms'.
        ecn: The ECN codepoint of media. Default: 'off'.
        send_queue: Packets that may wait to be sent; then a write is refused. Default: 2000.
        nada: The parameters of NADA. Default: None.
        gcc: The constants of GCC. Default: None.
        scream: The constants of SCReAMv2. Default: None.
    """
    def __init__(
        self,
        controller: str | None = None,
        feedback_interval: Time | None = None,
        ecn: Literal['off', 'ect0', 'ect1'] | None = None,
        send_queue: int | None = None,
        nada: Mapping[str, Any] | None = None,
        gcc: Mapping[str, Any] | None = None,
        scream: Mapping[str, Any] | None = None,
    ) -> None: ...

class tcp(Setting):
    """A reliable stream: the baseline of friendliness.

    Args:
        controller: The congestion controller. Default: 'newreno'.
        rules: The rules of loss recovery and of the retransmission timer, as one of them has them. Default: 'linux'.
        overrides: Single rules, on top of `rules`. Default: None.
        sack: Selective acknowledgements (RFC 2018); without them RFC 6582 recovers losses. Default: True.
        ecn: Explicit congestion notification: true is RFC 3168, "accurate" AccECN (RFC 9768). DCTCP and Prague have "accurate" whatever this says. Default: False.
        ack_every: Segments after which an acknowledgement leaves at once. Default: 2.
        max_ack_delay: The longest time that an acknowledgement waits. Default: '40ms'.
        rto_initial: The retransmission timeout before the first sample (RFC 6298 §2.1). Default: '1s'.
        rto_min: The smallest retransmission timeout, or its smallest variance term (RFC 6298 §2.4). Default: '200ms'.
        rto_max: The greatest retransmission timeout, after back-off (RFC 6298 §2.5): Linux's `tcp_rto_max_ms`. Default: '120s'.
        receive_buffer: Receive buffer: the window that is advertised. Default: 6000000.
        send_buffer: Bytes that the application may have written and that are not acknowledged (SO_SNDBUF): a flow has no more than these in flight. The default is the bound of Linux's automatic size (`tcp_wmem`), which is more than twice the window below it and so never in its way. Default: 4194304.
        cubic: The constants of CUBIC (RFC 9438). Default: None.
        bbr: The constants of BBR (draft-ietf-ccwg-bbr). Default: None.
        bbr1: The constants of BBRv1 (Linux tcp_bbr). Default: None.
        copa: The constants of Copa (NSDI 2018). Default: None.
    """
    def __init__(
        self,
        controller: str | None = None,
        rules: Literal['linux', 'rfc', 'ns2-sack1'] | None = None,
        overrides: Mapping[str, Any] | None = None,
        sack: bool | None = None,
        ecn: bool | Literal['accurate'] | None = None,
        ack_every: int | None = None,
        max_ack_delay: Time | None = None,
        rto_initial: Time | None = None,
        rto_min: Time | None = None,
        rto_max: Time | None = None,
        receive_buffer: int | str | None = None,
        send_buffer: int | str | None = None,
        cubic: Mapping[str, Any] | None = None,
        bbr: Mapping[str, Any] | None = None,
        bbr1: Mapping[str, Any] | None = None,
        copa: Mapping[str, Any] | None = None,
    ) -> None: ...

class udp(Setting):
    """Datagrams without reliability and without congestion control.

    Args:
        checksum: What it covers: damage elsewhere is delivered. Default: 'full'.
    """
    def __init__(
        self,
        checksum: Literal['full', 'headers', 'none'] | None = None,
    ) -> None: ...

class bulk(Setting):
    """Writes as much as the transport takes.

    Args:
        packet: Bytes of one write: the payload of a datagram, or a piece of a stream. Default: 1400.
        total: Bytes in all, then the connection is closed; "endless" never closes it. Default: 'endless'.
    """
    def __init__(
        self,
        packet: int | str | None = None,
        total: Literal['endless'] | int | str | None = None,
    ) -> None: ...

class cbr(Setting):
    """Writes at constant intervals of packet * 8 / rate seconds.

    Args:
        packet: Bytes of one write: the payload of a datagram, or a piece of a stream. Default: 1400.
        rate: Payload bits per second, such as "64kbit". Default: None.
        offset: Time from the handshake to the first write. Default: '0s'.
        count: Number of writes, then the connection is closed; "endless" never closes it. Default: 'endless'.
        when_blocked: When the transport has no room: "skip" the write, "shift" it and all later ones, or "catch_up" with the timetable. Default: 'shift'.
    """
    def __init__(
        self,
        packet: int | str | None = None,
        rate: Rate | None = None,
        offset: Time | None = None,
        count: Literal['endless'] | int | None = None,
        when_blocked: Literal['skip', 'shift', 'catch_up'] | None = None,
    ) -> None: ...

class on_off(Setting):
    """Writes at a constant rate for a while, pauses, and begins again.

    Args:
        packet: Bytes of one write: the payload of a datagram, or a piece of a stream. Default: 1400.
        rate: Payload bits per second while it is on, such as "64kbit". Default: None.
        on: Mean length of a period of writing. Default: None.
        off: Mean length of a pause. Default: None.
        lengths: How lengths are distributed; "pareto" has shape 1.5. Default: 'exponential'.
    """
    def __init__(
        self,
        packet: int | str | None = None,
        rate: Rate | None = None,
        on: Time | None = None,
        off: Time | None = None,
        lengths: Literal['exponential', 'constant', 'pareto'] | None = None,
    ) -> None: ...

class audio(Setting):
    """Streams music to a listener; over TCP and QUIC as HTTP streaming does.

    Args:
        format: Sizes as in "mp3" (frames of 418 bytes, one a packet) or "ogg" (pages of 4096 bytes in packets of 1400). Default: 'mp3'.
        bitrate: Bits per second of the music. Default: '128kbit'.
        unit: Bytes of a frame or page, which plays as a whole or not at all. Default: 418.
        packet: Bytes of a datagram, 8 of group and index included. Default: 426.
        fec_data: Packets of a group that carry data; any so many give back the group. Default: 1.
        fec_packets: Packets of a group, those of the correction included; 1 for none. Default: 1.
        playout: From the first packet's arrival until the music starts. Default: '1s'.
    """
    def __init__(
        self,
        format: Literal['mp3', 'ogg'] | None = None,
        bitrate: Rate | None = None,
        unit: int | str | None = None,
        packet: int | str | None = None,
        fec_data: int | None = None,
        fec_packets: int | None = None,
        playout: Time | None = None,
    ) -> None: ...

class video(Setting):
    """Video of an encoder that follows the target rate of the transport's controller.

    Args:
        rate: Payload bits per second while the transport says no target: without a controller for media always. Default: '1Mbit'.
        frame_rate: Frames per second. Default: 30.
        packet: Bytes of a packet at most, 28 of the frame's description included. Default: 1200.
        key_frame_interval: From one key frame to the next; "never" for none but the first. Default: '10s'.
        key_frame_ratio: The size of a key frame in sizes of other frames. Default: 3.0.
        encoder_lag: The least time between two changes of the encoder's rate: its reaction latency. Default: '200ms'.
        size_variation: The most by which the size of a frame varies at random, in 0..1 of its size. Default: 0.0.
        drop_above: A frame is not encoded while more waits in the sender than leaves in so long at the target rate; "never" encodes all. Default: 'never'.
        deadline: A frame is late if its delay is longer. Default: '200ms'.
        pause: When the source is paused, one pause after the other. Default: None.
    """
    def __init__(
        self,
        rate: Rate | None = None,
        frame_rate: int | None = None,
        packet: int | str | None = None,
        key_frame_interval: Literal['never'] | Time | None = None,
        key_frame_ratio: float | None = None,
        encoder_lag: Time | None = None,
        size_variation: Share | None = None,
        drop_above: Literal['never'] | Time | None = None,
        deadline: Time | None = None,
        pause: Sequence[Mapping[str, Any]] | None = None,
    ) -> None: ...

class constant(Setting):
    """All alike.

    Args:
        bytes: Bytes of each. Default: None.
    """
    def __init__(
        self,
        bytes: int | str | None = None,
    ) -> None: ...

class exponential(Setting):
    """Distributed exponentially.

    Args:
        mean: Mean in bytes. Default: None.
    """
    def __init__(
        self,
        mean: int | str | None = None,
    ) -> None: ...

class pareto(Setting):
    """Distributed by Pareto: most are small, a few very large.

    Args:
        mean: Mean in bytes. Default: None.
        shape: The shape: the nearer to 1, the heavier the tail. Default: 1.2.
    """
    def __init__(
        self,
        mean: int | str | None = None,
        shape: float | None = None,
    ) -> None: ...

class cdf(Setting):
    """Distributed as measured: a cumulative distribution.

    Args:
        cdf: A file with a size in bytes and the share of transfers up to it per line, from 0 to 1, or a list of such pairs: [[1000, 0.5], [10000, 1.0]]. Between two lines the share grows evenly, as in ns-2's empirical distributions. Default: None.
    """
    def __init__(
        self,
        cdf: str | Sequence[Sequence[float]] | None = None,
    ) -> None: ...

class web_search(Setting):
    """As in a cluster that answers web searches (DCTCP, SIGCOMM 2010): 1.7 MB on average.

    Args:
    """
    def __init__(self) -> None: ...

class data_mining(Setting):
    """As in a cluster that mines data (VL2, SIGCOMM 2009): half are below 1.1 kB, 2 % above 100 MB; 12.7 MB on average.

    Args:
    """
    def __init__(self) -> None: ...

class hadoop(Setting):
    """As in a cluster with Hadoop (Roy et al., SIGCOMM 2015): half are below 700 bytes; 120 kB on average.

    Args:
    """
    def __init__(self) -> None: ...

class once(Setting):
    """One connection, over which the application writes.

    Args:
    """
    def __init__(self) -> None: ...

class poisson(Setting):
    """Transfers over connections of their own, at random.

    Args:
        per_second: How many begin in a second, on average. Default: None.
        size: How large they are. Default: None.
    """
    def __init__(
        self,
        per_second: float | None = None,
        size: Mapping[str, Any] | Literal['constant', 'exponential', 'pareto', 'cdf', 'web_search', 'data_mining', 'hadoop'] | None = None,
    ) -> None: ...

class list(Setting):
    """Transfers over connections of their own, at stated times.

    Args:
        transfers: A file with the begin in seconds after the flow's start and the size in bytes of a transfer per line, or a list of such pairs: [[0.0, 64000], [0.5, 1500]]. Default: None.
    """
    def __init__(
        self,
        transfers: str | Sequence[Sequence[float]] | None = None,
    ) -> None: ...
