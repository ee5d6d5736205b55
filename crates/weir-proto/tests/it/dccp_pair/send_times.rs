//! The CCID is asked once an instant for the time of the next data packet, as long as no event
//! occurs.

use super::*;
use proptest::prelude::*;

/// The time that the client keeps for its next data packet is the time that it computes again.
fn check(pair: &mut Pair) {
    let known = pair.ends[0].next_data_at();
    // After a timer that may have expired, the connection asks its CCID again.
    pair.ends[0].handle_timeout(pair.now);
    assert!(pair.ends[0].poll_transmit(pair.now).is_none());
    assert_eq!(pair.ends[0].next_data_at(), known);
}

proptest! {
    #[test]
    fn a_time_that_is_kept_is_the_time_that_is_computed_again(
        writes in proptest::collection::vec((1_u32..1400, 0_u64..3_000), 1..120),
        lost in 2_u64..40,
        linux in any::<bool>(),
    ) {
        let profile = if linux { Profile::linux_mainline() } else { Profile::rfc5348() };
        let mut pair = Pair::new(|config| {
            config.send_ccid = Ccid::Tfrc(Box::new(profile.clone()));
            config.receive_ccid = Ccid::Tfrc(Box::new(profile.clone()));
        });
        let mut sent = 0;
        pair.drops = Box::new(move |end, packet| {
            sent += u64::from(end == 0 && packet.size > 100);
            end == 0 && packet.size > 100 && sent % lost == 0
        });
        pair.ends[0].connect(pair.now);
        pair.run(Duration::from_millis(100));
        for (len, micros) in writes {
            pair.to_write.push_back(len);
            let until = pair.now + Duration::from_micros(micros);
            while pair.go_to_next_event(until) {
                // Feedback arrives after the CCID was asked at the same instant.
                pair.flush();
                pair.process_events();
                check(&mut pair);
            }
            pair.flush();
            check(&mut pair);
        }
    }
}
