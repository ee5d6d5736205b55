use super::*;
use crate::test_protocol::TOKEN;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::timeout;

/// Nothing here takes so long.
const NET: Duration = Duration::from_secs(20);

fn config(reverse: bool) -> TestConfig {
    TestConfig {
        reverse,
        ecn: true,
        length: 200,
        rate_bps: Some(1.6e6),
        duration: Duration::from_millis(200),
    }
}

async fn listen() -> TestListener {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let bound = TestListener::bind(address, &EndpointConfig::default()).await;
    bound.expect("loopback is there")
}

#[tokio::test]
async fn a_request_without_its_token_is_answered_with_less_than_it_is_and_with_no_data() {
    let mut listener = listen().await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let to = listener.local_address();
    socket.connect(to).await.expect("connected");
    let mut asked = Vec::new();
    let answer = async |asked: &[u8]| {
        socket.send(asked).await.expect("sent");
        let mut octets = vec![0; 2048];
        let received = timeout(NET, socket.recv(&mut octets)).await;
        octets.truncate(received.expect("an answer").expect("an answer"));
        octets
    };
    // Neither without a token nor with one that was not given.
    for token in [None, Some([1; TOKEN])] {
        asked.clear();
        Message::Request(config(true), token).write(5, &mut asked);
        let answer = answer(&asked).await;
        assert!(answer.len() < asked.len() / 2, "{}", answer.len());
        let read = Message::read(&answer);
        assert!(matches!(read, Some((5, Message::Challenge(_)))), "{read:?}");
    }
    // Nor with one that another address, or another test, was given.
    let other = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    asked.clear();
    Message::Request(config(true), None).write(6, &mut asked);
    let read = Message::read(&answer(&asked).await);
    let Some((_, Message::Challenge(token))) = read else {
        panic!("{read:?}");
    };
    asked.clear();
    Message::Request(config(true), Some(token)).write(6, &mut asked);
    other.send_to(&asked, to).await.expect("sent");
    let mut octets = [0; 2048];
    let (count, _) = timeout(NET, other.recv_from(&mut octets))
        .await
        .expect("an answer")
        .expect("an answer");
    let read = Message::read(&octets[..count]);
    assert!(matches!(read, Some((6, Message::Challenge(_)))), "{read:?}");
    // Who brings back his own is served.
    let read = Message::read(&answer(&asked).await);
    assert!(matches!(read, Some((6, Message::Alive))), "{read:?}");
    let test = timeout(NET, listener.accept()).await.expect("a test");
    assert_eq!(test.map(|test| test.config().reverse).ok(), Some(true));
}

#[tokio::test]
async fn both_ends_of_a_test_on_loopback_agree() {
    for reverse in [false, true] {
        let mut listener = listen().await;
        let to = listener.local_address();
        let options = EndpointConfig::default();
        let client = Test::connect(to, config(reverse), &options);
        let client = timeout(NET, client)
            .await
            .expect("in time")
            .expect("a test");
        let server = listener.accept().await.expect("a test");
        assert_eq!(server.config(), &config(reverse));
        for end in [&client, &server] {
            timeout(NET, end.ended())
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
async fn nobody_at_the_port_is_an_error_at_once() {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let to = socket.local_addr().expect("an address");
    drop(socket);
    let options = EndpointConfig::default();
    let test = Test::connect(to, config(false), &options);
    let error = timeout(NET, test).await.expect("in time").err();
    assert!(
        matches!(error, Some(Error::Refused(at)) if at == to),
        "{error:?}"
    );
}
