use super::*;
use weir_proto::packet::Payload;
use weir_proto::time::Instant;

fn mp3() -> AudioConfig {
    AudioConfig {
        unit: 400,
        packet: 408,
        playout: Duration::from_millis(100),
        ..AudioConfig::default()
    }
}

fn datagrams(config: AudioConfig) -> AudioStream {
    AudioStream::new(config, Delivery::Datagrams)
}

fn content(group: u32, index: u32) -> Payload {
    Payload::from_bytes(&[group.to_be_bytes(), index.to_be_bytes()].concat())
}

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

#[test]
fn a_lost_packet_is_a_gap_of_one_unit_and_a_late_one_too() {
    // 400 octets at 128 kbit/s are 25 ms; unit n plays at 100 + 25 n.
    let mut sink = AudioSink::new(datagrams(mp3()));
    for n in 0..20_u64 {
        match n {
            5 => {}
            8 => {
                sink.play(at(310));
                sink.on_packet(at(310), &content(8, 0));
            }
            _ => {
                sink.play(at(n * 25));
                sink.on_packet(at(n * 25), &content(n as u32, 0));
            }
        }
    }
    sink.play(at(100 + 19 * 25));
    let audio = sink.audio_statistics(at(600));
    assert_eq!(
        (audio.units, audio.on_time, audio.late, audio.lost),
        (20, 18, 1, 1)
    );
    assert_eq!((audio.gaps, audio.silence), (2, Duration::from_millis(50)));
}

#[test]
fn damage_is_played_and_counted() {
    let mut sink = AudioSink::new(datagrams(mp3()));
    sink.on_packet(at(0), &content(0, 0));
    sink.on_packet(at(25), &content(1, 0).damaged());
    sink.play(at(126));
    let audio = sink.audio_statistics(at(126));
    assert_eq!((audio.on_time, audio.corrupted, audio.gaps), (2, 1, 0));
}

#[test]
fn any_k_of_n_packets_give_back_the_group() {
    let config = AudioConfig {
        fec_data: 10,
        fec_packets: 30,
        playout: Duration::from_millis(500),
        ..mp3()
    };
    let mut sink = AudioSink::new(datagrams(config));
    // Ten of the thirty packets; only the first of them carries data.
    for index in [0, 11, 12, 13, 14, 25, 26, 27, 28, 29] {
        sink.on_packet(at(u64::from(index) * 8), &content(0, index));
    }
    sink.play(at(500 + 225));
    let audio = sink.audio_statistics(at(725));
    assert_eq!(
        (audio.units, audio.on_time, audio.repaired, audio.gaps),
        (10, 1, 9, 0)
    );
}

#[test]
fn a_group_given_back_from_a_damaged_packet_is_corrupted() {
    let config = AudioConfig {
        fec_data: 2,
        fec_packets: 4,
        playout: Duration::from_millis(500),
        ..mp3()
    };
    // Any two of four packets restore a group of two units. The packets that arrive, in order, and
    // whether each is damaged; then the units on time, repaired and corrupted.
    let table: [(&[(u32, bool)], _); 5] = [
        // Only packets of the error correction arrive: both units are restored.
        (&[(2, false), (3, false)], (0, 2, 0)),
        (&[(2, false), (3, true)], (0, 2, 2)),
        // Unit 0 arrives undamaged; unit 1 is computed from it and a damaged packet.
        (&[(0, false), (3, true)], (1, 1, 1)),
        // Unit 0 arrives damaged, so what is computed from it is damaged too.
        (&[(0, true), (3, false)], (1, 1, 2)),
        // The third packet is not needed.
        (&[(0, false), (2, false), (3, true)], (1, 1, 0)),
    ];
    for (packets, expected) in table {
        let mut sink = AudioSink::new(datagrams(config));
        for &(index, damaged) in packets {
            let sound = content(0, index);
            let payload = if damaged { sound.damaged() } else { sound };
            sink.on_packet(at(u64::from(index)), &payload);
        }
        sink.play(at(530));
        let audio = sink.audio_statistics(at(530));
        let found = (audio.on_time, audio.repaired, audio.corrupted);
        assert_eq!(found, expected, "{packets:?}");
    }
}

#[test]
fn nine_of_ten_are_too_few() {
    let config = AudioConfig {
        fec_data: 10,
        fec_packets: 30,
        playout: Duration::from_millis(500),
        ..mp3()
    };
    let mut sink = AudioSink::new(datagrams(config));
    for index in 21..30 {
        sink.on_packet(at(240), &content(0, index));
    }
    sink.play(at(2000));
    let audio = sink.audio_statistics(at(2000));
    assert_eq!(audio.on_time + audio.repaired, 0);
    assert_eq!(audio.gaps, 1);
}

#[test]
fn a_stream_that_stalls_is_silent_until_it_has_caught_up() {
    let stream = AudioStream::new(mp3(), Delivery::Stream);
    let mut sink = AudioSink::new(stream);
    for n in 0..8_u64 {
        sink.play(at(n * 25));
        sink.on_octets(at(n * 25), 400);
    }
    // Units 8 to 11 arrive at 380 ms; they were due at 300, 325, 350 and 375.
    sink.play(at(380));
    sink.on_octets(at(380), 1600);
    for n in 12..20_u64 {
        sink.play(at(n * 25 + 85));
        sink.on_octets(at(n * 25 + 85), 400);
    }
    sink.play(at(100 + 19 * 25));
    let audio = sink.audio_statistics(at(600));
    assert_eq!(
        (audio.units, audio.on_time, audio.late, audio.lost),
        (20, 16, 4, 0)
    );
    assert_eq!((audio.gaps, audio.silence), (1, Duration::from_millis(100)));
}

#[test]
fn packets_of_a_group_are_spread_over_its_music() {
    let config = AudioConfig {
        fec_data: 10,
        fec_packets: 30,
        ..mp3()
    };
    let stream = datagrams(config);
    assert_eq!(stream.sending_time(1, 0), Duration::from_millis(250));
    assert_eq!(stream.sending_time(1, 15), Duration::from_millis(375));
}
