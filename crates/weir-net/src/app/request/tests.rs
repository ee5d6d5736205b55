use super::*;
use crate::app::test_stream::Stream;
use weir_proto::endpoint::EndpointEvent;

/// Moves what one end has written to the other, and queues the events at both.
fn carry(from: &mut Stream, to: &mut Stream) {
    to.incoming = std::mem::take(&mut from.written) as u32;
    if to.incoming > 0 {
        to.events.push_back(EndpointEvent::Readable);
    }
    from.room = 2;
    from.events.push_back(EndpointEvent::Writable);
}

#[test]
fn each_response_follows_its_request_and_each_request_a_pause() {
    let config = RequestConfig {
        packet: 1000,
        request: TransferSize::constant(2500),
        response: TransferSize::constant(10_000),
        think: Duration::from_millis(30),
        think_times: LengthDistribution::Constant,
        count: Some(3),
    };
    let pair = config.build(AppEnvironment {
        seed: 1,
        flow: "web",
        delivery: super::super::Delivery::Stream,
    });
    let (mut server, mut client) = (pair.source, pair.sink);
    let mut ends = [(); 2].map(|()| Stream {
        events: [EndpointEvent::Connected].into(),
        room: 2,
        ..Stream::default()
    });
    // Each direction takes a millisecond and carries two writes.
    for millis in 0..200 {
        let now = Instant::ZERO + Duration::from_millis(millis);
        let [at_client, at_server] = &mut ends;
        client.poll(now, at_client);
        server.poll(now, at_server);
        assert!(client.poll_timeout().is_none_or(|due| due > now));
        carry(at_client, at_server);
        carry(at_server, at_client);
    }
    let millis = |at: Instant| at.since(Instant::ZERO).as_nanos() / 1_000_000;
    let times = client.report(Instant::ZERO).requests.iter();
    let times: Vec<_> = times
        .map(|request| (millis(request.start), request.completed.map(millis)))
        .collect();
    // Three writes of a request take two rounds, ten of a response five, and the pause 30 ms.
    assert_eq!(times, [(0, Some(7)), (37, Some(44)), (74, Some(81))]);
    assert!(ends[1].closed && server.done());
    let bytes = |app: &dyn App| {
        let statistics = app.report(Instant::ZERO).statistics;
        (statistics.bytes_written, statistics.bytes_read)
    };
    assert_eq!(bytes(&*client), (7500, 30_000));
    assert_eq!(bytes(&*server), (30_000, 7500));
}

#[test]
fn both_ends_draw_the_same_sizes() {
    let config = RequestConfig {
        request: TransferSize::Exponential(crate::app::size::ExponentialSize { mean: 900 }),
        response: TransferSize::WebSearch,
        ..RequestConfig::default()
    };
    let sizes = || Sizes {
        config: config.clone(),
        left: Some(100),
        rng: Rng::stream(7, "requests"),
    };
    let draw = |mut sizes: Sizes| -> Vec<_> { std::iter::from_fn(move || sizes.next()).collect() };
    let drawn = draw(sizes());
    assert_eq!(drawn, draw(sizes()));
    assert_eq!(drawn.len(), 100);
}
