use super::*;
use crate::keyed_tag::TAG_OCTETS;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::timeout;

/// Fails a test that hangs.
const LIMIT: Duration = Duration::from_secs(20);

fn config(reverse: bool) -> TestConfig {
    TestConfig {
        reverse,
        ecn: true,
        media: false,
        length: 200,
        rate_bps: Some(1.6e6),
        duration: Duration::from_millis(200),
        ..TestConfig::default()
    }
}

async fn listen() -> TestListener {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let bound =
        TestListener::bind(address, &EndpointConfig::default(), ServerSetup::default()).await;
    bound.expect("loopback is there")
}

#[tokio::test]
async fn a_request_without_a_valid_token_gets_a_shorter_challenge_and_no_data() {
    let mut listener = listen().await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let to = listener.local_address();
    socket.connect(to).await.expect("connected");
    let mut request = Vec::new();
    let answer = async |request: &[u8]| {
        socket.send(request).await.expect("sent");
        let mut octets = vec![0; 2048];
        let received = timeout(LIMIT, socket.recv(&mut octets)).await;
        octets.truncate(received.expect("an answer").expect("an answer"));
        octets
    };
    // Without a token, and with a forged one.
    for token in [None, Some([1; TAG_OCTETS])] {
        request.clear();
        Message::Request(config(true), token.map(Into::into)).write(5, &mut request);
        let answer = answer(&request).await;
        assert!(answer.len() < request.len() / 2, "{}", answer.len());
        let read = Message::read(&answer);
        assert!(matches!(read, Some((5, Message::Challenge(_)))), "{read:?}");
    }
    // With the token of another address.
    let other = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    request.clear();
    Message::Request(config(true), None).write(6, &mut request);
    let read = Message::read(&answer(&request).await);
    let Some((_, Message::Challenge(token))) = read else {
        panic!("{read:?}");
    };
    request.clear();
    Message::Request(config(true), Some(token.into())).write(6, &mut request);
    other.send_to(&request, to).await.expect("sent");
    let mut octets = [0; 2048];
    let (count, _) = timeout(LIMIT, other.recv_from(&mut octets))
        .await
        .expect("an answer")
        .expect("an answer");
    let read = Message::read(&octets[..count]);
    assert!(matches!(read, Some((6, Message::Challenge(_)))), "{read:?}");
    // With the token of this address.
    let read = Message::read(&answer(&request).await);
    assert!(matches!(read, Some((6, Message::Alive))), "{read:?}");
    let test = timeout(LIMIT, listener.accept()).await.expect("a test");
    assert_eq!(test.map(|test| test.config().reverse).ok(), Some(true));
}

#[tokio::test]
async fn a_server_of_datagrams_refuses_a_test_that_carries_media() {
    let listener = listen().await;
    let to = listener.local_address();
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    socket.connect(to).await.expect("connected");
    let config = TestConfig {
        media: true,
        ..config(false)
    };
    let mut token = None;
    let answer = loop {
        let mut request = Vec::new();
        Message::Request(config, token.map(Into::into)).write(7, &mut request);
        socket.send(&request).await.expect("sent");
        let mut octets = [0; 2048];
        let received = timeout(LIMIT, socket.recv(&mut octets)).await;
        let count = received.expect("an answer").expect("an answer");
        match Message::read(&octets[..count]) {
            Some((7, Message::Challenge(new))) if token.is_none() => token = Some(new),
            other => break other,
        }
    };
    assert_eq!(answer, Some((7, Message::OtherMedia)));
}

#[tokio::test]
async fn both_ends_of_a_test_on_loopback_agree() {
    for reverse in [false, true] {
        let mut listener = listen().await;
        let to = listener.local_address();
        let endpoint = EndpointConfig::default();
        let client = Test::connect(to, config(reverse), &endpoint, ClientSetup::default());
        let client = timeout(LIMIT, client)
            .await
            .expect("in time")
            .expect("a test");
        let server = listener.accept().await.expect("a test");
        assert_eq!(server.config(), &config(reverse));
        for end in [&client, &server] {
            timeout(LIMIT, end.ended())
                .await
                .expect("in time")
                .expect("the end");
        }
        let [client, server] = [client.stats(), server.stats()];
        assert!(client.complete && server.complete);
        assert_eq!(client.received, server.received);
        let sender = if reverse { server } else { client };
        assert_eq!(sender.sent, sender.received.expected);
        assert!(sender.received.received > 50, "{sender:?}");
    }
}

#[tokio::test]
async fn an_unused_port_is_an_error_at_once() {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let to = socket.local_addr().expect("an address");
    drop(socket);
    let endpoint = EndpointConfig::default();
    let test = Test::connect(to, config(false), &endpoint, ClientSetup::default());
    let error = timeout(LIMIT, test).await.expect("in time").err();
    assert!(
        matches!(error, Some(Error::Refused(at)) if at == to),
        "{error:?}"
    );
}
