//! Arbitrary bytes as a Parquet file: no input panics, and a table that was read can be written and
//! read again.

use weir_lab::trace::{read_table, table_octets};

pub fn check(bytes: &[u8]) {
    match read_table(bytes.to_vec()) {
        Ok(table) => {
            let octets = table_octets(&table, |_| None).expect("a table can be written");
            let again = read_table(octets).expect("a written table can be read");
            assert_eq!(again.rows(), table.rows());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
