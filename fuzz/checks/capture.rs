//! Arbitrary bytes as a capture file and as a frame: no input panics, and reading ends.

use std::io::Cursor;
use weir_lab::trace::capture::{Capture, find_dccp};

const LINK_TYPES: [u16; 10] = [0, 1, 12, 14, 101, 108, 113, 228, 229, 276];

pub fn check(bytes: &[u8]) {
    for link in LINK_TYPES {
        if let Ok(Some(segment)) = find_dccp(link, bytes) {
            assert!(segment.bytes.len() <= bytes.len());
        }
    }
    let Ok(mut capture) = Capture::from_reader(Cursor::new(bytes.to_vec())) else {
        return;
    };
    let mut last = 0;
    while let Ok(Some(row)) = capture.next_row() {
        assert!(row.frame > last, "frame numbers increase");
        last = row.frame;
        assert!(row.json().to_string().starts_with("{\"frame\":"));
        assert!(!row.to_string().is_empty());
    }
}
