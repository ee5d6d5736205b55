//! Tables that were written are read back by the library; and pages calculated by hand.

use super::encoding::{put_deltas, put_hybrid, put_streams};
use super::page_buffer::PageBuffer;
use super::{Description, GroupWriter, PageCoder, Part, TableReader, read};
use crate::table::{Column, ColumnNote, RowThinning, Table, Values};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Encoding;
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use weir_proto::rng::mix64;

/// Lengths at and around those of groups, blocks, splits and pages.
const LENGTHS: [usize; 13] = [
    1, 2, 7, 8, 9, 32, 128, 129, 130, 1025, 20_479, 20_481, 45_000,
];

fn octets_of(tables: &[Table]) -> Vec<u8> {
    in_row_groups(&[tables], &Description::default(), |_| ()).1
}

/// The octets of a file with these row groups, and what is seen before its metadata is written.
fn in_row_groups<T>(
    groups: &[&[Table]],
    description: &Description,
    look: impl FnOnce(&mut Vec<u8>) -> T,
) -> (T, Vec<u8>) {
    let mut coder = PageCoder::new().unwrap();
    let mut writer = GroupWriter::new(&groups[0][0], description, Vec::new()).unwrap();
    for tables in groups {
        let mut group = writer.row_group();
        for table in *tables {
            group.append(table, &mut coder).unwrap();
        }
        writer.write(group.encode(&mut coder).unwrap()).unwrap();
    }
    writer.close(look).unwrap()
}

/// Setting up a compressor costs more than writing a short page.
#[test]
fn only_pages_of_some_length_are_compressed() {
    use parquet::basic::Compression;
    for (rows, expected) in [(1, false), (16, false), (1024, true), (30_000, true)] {
        let table = Table {
            columns: vec![Column {
                name: "time_s".to_owned(),
                values: Values::F64((0..rows).map(|row| random(row) as f64).collect()),
            }],
        };
        let octets = octets_of(std::slice::from_ref(&table));
        let reader = SerializedFileReader::new(bytes::Bytes::from(octets.clone())).unwrap();
        let column = reader.metadata().row_group(0).column(0);
        let is_compressed = column.compression() != Compression::UNCOMPRESSED;
        assert_eq!(is_compressed, expected, "{rows} rows");
        assert_eq!(
            read(octets).unwrap().columns[0].values,
            table.columns[0].values
        );
    }
}

fn random(row: u64) -> u64 {
    mix64(row.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Columns whose pages use all encodings.
fn table(rows: Range<u64>) -> Table {
    let numbers = |value: fn(u64) -> f64| Values::F64(rows.clone().map(value).collect());
    let counts = |value: fn(u64) -> u64| Values::U64(rows.clone().map(value).collect());
    let words = |value: fn(u64) -> u64| {
        let words = rows.clone().map(value);
        Values::Text(words.map(|word| word.to_string().into()).collect())
    };
    let columns = [
        numbers(|row| row as f64 * 0.6e-3),
        numbers(|_| f64::NAN),
        numbers(|_| -0.0),
        numbers(|row| if row < 900 { f64::NAN } else { row as f64 }),
        numbers(|row| {
            if random(row).is_multiple_of(3) {
                f64::NAN
            } else {
                1.5
            }
        }),
        numbers(|row| (row / 700) as f64),
        numbers(|row| if row.is_multiple_of(9) { -0.0 } else { 0.0 }),
        numbers(|row| f64::from_bits(random(row) & 0xffef_ffff_ffff_ffff)),
        numbers(|row| {
            [f64::INFINITY, f64::MIN_POSITIVE, f64::NEG_INFINITY, 5e-324][row as usize % 4]
        }),
        counts(|_| 7),
        counts(|row| row / 1000),
        counts(|row| row * 1500 + random(row) % 1500),
        counts(random),
        counts(|row| if row.is_multiple_of(2) { 0 } else { u64::MAX }),
        words(|_| 0),
        words(|row| row / 100 % 5),
        words(|row| random(row) % 300),
        words(|row| row),
    ];
    let columns = columns.into_iter().enumerate();
    let columns = columns.map(|(number, values)| Column {
        name: format!("column {number}"),
        values,
    });
    Table {
        columns: columns.collect(),
    }
}

#[test]
fn what_is_read_is_what_was_written() {
    for len in LENGTHS {
        let table = table(0..len as u64);
        let found = read(octets_of(std::slice::from_ref(&table))).unwrap();
        for (found, expected) in found.columns.iter().zip(&table.columns) {
            assert!(found == expected, "{} of {len} rows", expected.name);
        }
        assert_eq!(found.columns.len(), table.columns.len());
    }
}

/// Values in runs of any length, with few or many different values.
fn runs() -> impl Strategy<Value = Vec<(u64, usize)>> {
    let value = prop_oneof![0_u64..4, any::<u64>(), (0_u32..64).prop_map(|bit| 1 << bit)];
    let length = prop_oneof![4 => 1_usize..4, 2 => 1_usize..40, 1 => 1_usize..5000];
    prop::collection::vec((value, length), 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_runs_of_values_are_read_as_they_were_written(runs in runs()) {
        let values = || {
            let each = runs.iter().map(|&(value, length)| std::iter::repeat_n(value, length));
            each.flatten()
        };
        let number = |value: u64| match f64::from_bits(value) {
            finite if finite.is_finite() => finite,
            _ => f64::NAN,
        };
        let columns = [
            Values::U64(values().collect()),
            Values::F64(values().map(number).collect()),
            Values::Text(values().map(|value| value.to_string().into()).collect()),
        ];
        let columns = columns.into_iter().enumerate().map(|(place, values)| Column {
            name: format!("column {place}"),
            values,
        });
        let table = Table {
            columns: columns.collect(),
        };
        let found = read(octets_of(std::slice::from_ref(&table))).unwrap();
        prop_assert!(found.columns == table.columns);
    }
}

#[test]
fn the_octets_do_not_depend_on_the_pieces_of_a_batch_length() {
    let whole = octets_of(&[table(0..50_000)]);
    let pieces: Vec<Table> = (0..50_000)
        .step_by(1024)
        .map(|start| table(start..50_000.min(start + 1024)))
        .collect();
    assert!(octets_of(&pieces) == whole);
}

#[test]
fn numbers_that_mostly_stay_refer_to_a_dictionary() {
    let octets = octets_of(&[table(0..45_000)]);
    let file = SerializedFileReader::new(bytes::Bytes::from(octets)).unwrap();
    let group = file.metadata().row_group(0);
    let has = |column: usize, encoding| {
        let mut encodings = group.column(column).encodings();
        encodings.any(|found| found == encoding)
    };
    let cases = [
        (0, false),
        (2, true),
        (5, true),
        (7, false),
        (9, true),
        (10, true),
        (11, false),
    ];
    for (column, dictionary) in cases {
        assert_eq!(
            has(column, Encoding::RLE_DICTIONARY),
            dictionary,
            "{column}"
        );
    }
    // Constant columns take very few octets.
    for column in [1, 2, 9, 14] {
        let size = group.column(column).compressed_size();
        assert!(size < 200, "column {column}: {size}");
    }
    assert!(has(12, Encoding::DELTA_BINARY_PACKED));
    assert!(has(7, Encoding::BYTE_STREAM_SPLIT));
}

#[test]
fn the_first_column_has_its_range() {
    let column = |name: &str, values: &[f64]| Column {
        name: name.to_owned(),
        values: Values::F64(values.to_vec()),
    };
    let values = [f64::NAN, 2.0, -3.0, f64::NAN, 7.5];
    let table = Table {
        columns: vec![column("first", &values), column("second", &values)],
    };
    let file = SerializedFileReader::new(bytes::Bytes::from(octets_of(&[table]))).unwrap();
    let group = file.metadata().row_group(0);
    let first = group.column(0).statistics().expect("it has a range");
    let octets = |value: f64| value.to_le_bytes().to_vec();
    assert_eq!(first.min_bytes_opt(), Some(&*octets(-3.0)));
    assert_eq!(first.max_bytes_opt(), Some(&*octets(7.5)));
    assert_eq!(first.null_count_opt(), Some(2));
    assert!(group.column(1).statistics().is_none());
}

/// Two row groups: thinning of one does not depend on the other.
#[test]
fn a_part_of_a_table_has_its_columns_and_row_group_by_row_group_its_rows() {
    let column = |name: &str, values: Vec<f64>| Column {
        name: name.to_owned(),
        values: Values::F64(values),
    };
    let piece = |from: u32| {
        let rows = (from..from + 1000).map(f64::from);
        Table {
            columns: vec![
                column("time_s", rows.clone().map(|row| row * 1e-3).collect()),
                column("saw", rows.clone().map(|row| row % 250.0).collect()),
                column("other", rows.collect()),
            ],
        }
    };
    let (first, second) = (piece(0), piece(1000));
    let groups = [&[first][..], &[second]];
    let ((), octets) = in_row_groups(&groups, &Description::default(), |_| ());
    let thinning = |from_rows| RowThinning {
        from_rows,
        span_s: (0.0, 2.0),
        inside_s: 0.5,
        outside_s: 0.5,
    };
    let part = |from_rows| {
        let part = Part {
            columns: &|name| name != "other",
            thinning: Some(&thinning(from_rows)),
        };
        let file = TableReader::open(bytes::Bytes::from(octets.clone())).unwrap();
        (file.read(&part).unwrap(), file.columns())
    };
    let (whole, columns) = part(2000);
    let names: Vec<&str> = columns.iter().map(|column| column.0.as_str()).collect();
    assert_eq!(names, ["time_s", "saw", "other"]);
    assert_eq!((whole.columns.len(), whole.rows()), (2, 2000));
    let (thin, _) = part(1999);
    // For each half second the first row, which is also the lowest, the highest and the last.
    let times = [0.0, 0.249, 0.499].map(|at| [at, at + 0.5, at + 1.0, at + 1.5]);
    let mut times = times.concat();
    times.sort_by(f64::total_cmp);
    let found = thin.numbers("time_s").unwrap();
    assert_eq!(found.len(), times.len(), "{found:?}");
    let near = found.iter().zip(&times).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(near, "{found:?}");
}

#[test]
fn columns_of_other_kinds_or_lengths_are_refused() {
    let column = |values| Column {
        name: "a".to_owned(),
        values,
    };
    let of = |columns: Vec<Column>| Table { columns };
    let numbers = || column(Values::F64(vec![1.0, 2.0]));
    let begun = of(vec![numbers(), numbers()]);
    let others = [
        of(vec![numbers(), column(Values::U64(vec![1, 2]))]),
        of(vec![
            numbers(),
            column(Values::Text(vec!["a".into(), "b".into()])),
        ]),
        of(vec![numbers(), column(Values::F64(vec![1.0]))]),
        of(vec![numbers(), column(Values::F64(vec![1.0, 2.0, 3.0]))]),
        of(vec![numbers()]),
    ];
    for other in others {
        let mut coder = PageCoder::new().unwrap();
        let description = Description::default();
        let writer = GroupWriter::new(&begun, &description, Vec::new()).unwrap();
        let mut group = writer.row_group();
        group.append(&begun, &mut coder).unwrap();
        let error = group.append(&other, &mut coder).unwrap_err();
        assert!(error.to_string().contains("other columns"), "{error}");
    }
}

/// The example of Encodings.md: the numbers 0 to 7 with three bits each.
#[test]
fn bits_are_packed_from_the_lowest_on() {
    let mut octets = PageBuffer::default();
    put_hybrid(&mut octets, 3, &[0, 1, 2, 3, 4, 5, 6, 7]);
    // One group: 1 << 1 | 1.
    assert_eq!(octets.octets(), [3, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
}

#[test]
fn runs_stand_between_packed_bits() {
    let mut octets = PageBuffer::default();
    let mut numbers = vec![1, 0];
    numbers.extend([1; 20]);
    numbers.push(0);
    put_hybrid(&mut octets, 1, &numbers);
    // 1, 0 and six of the run in one group; 14 more as a run; a group of 0, padded.
    assert_eq!(octets.octets(), [3, 0b1111_1101, 14 << 1, 1, 3, 0]);
}

/// The second example of Encodings.md, in blocks of 128: the differences of 7, 5, 3, 1, 2, 3, 4, 5
/// are -2 (three times) and 1 (four times); the least is -2, and two bits hold 0 and 3.
#[test]
fn counts_are_differences() {
    let mut octets = PageBuffer::default();
    put_deltas(&mut octets, &[7, 5, 3, 1, 2, 3, 4, 5]);
    let head = [0x80, 1, 4, 8, 14];
    let block = [3, 2, 0, 0, 0];
    let packed = [0b1100_0000, 0b0011_1111, 0, 0, 0, 0, 0, 0];
    assert_eq!(octets.octets(), [&head[..], &block, &packed].concat());
}

/// A buffer keeps octets of earlier pages, which must not appear in a later one.
#[test]
fn a_page_in_used_room_is_the_same_as_in_new_room() {
    for len in [1, 2, 30, 33, 129, 150, 300] {
        let numbers: Vec<u64> = (0..len).map(|row| random(row) >> (row % 60)).collect();
        let small: Vec<u32> = numbers.iter().map(|number| *number as u32 & 7).collect();
        let put = |octets: &mut PageBuffer| {
            put_deltas(octets, &numbers);
            put_hybrid(octets, 3, &small);
            put_hybrid(octets, 20, &small);
            put_streams(octets, &numbers);
        };
        let (mut new, mut used) = (PageBuffer::default(), PageBuffer::default());
        used.extend(&[0xff; 10_000]);
        used.clear();
        put(&mut new);
        put(&mut used);
        assert_eq!(new.octets(), used.octets(), "{len}");
    }
}

/// The example of Encodings.md has numbers of four octets; here they have eight.
#[test]
fn numbers_are_split_into_streams() {
    for len in [1, 7, 8, 9, 63, 64, 512, 600] {
        let numbers: Vec<u64> = (0..len).map(random).collect();
        let mut octets = PageBuffer::default();
        octets.push(0xaa);
        put_streams(&mut octets, &numbers);
        let (first, rest) = octets.octets().split_at(1);
        assert_eq!(first, [0xaa]);
        let streams = (0..8).flat_map(|stream| {
            let numbers = numbers.iter();
            numbers.map(move |number| number.to_le_bytes()[stream])
        });
        assert_eq!(rest, streams.collect::<Vec<u8>>());
    }
}

#[test]
fn a_file_says_what_its_columns_and_its_table_are() {
    let column = |name: &str, values| Column {
        name: name.to_owned(),
        values,
    };
    let table = Table {
        columns: vec![
            column("rtt_s", Values::F64(vec![0.1, f64::NAN, 0.3])),
            column("none_s", Values::F64(vec![f64::NAN; 3])),
            column("drops", Values::U64(vec![1, 2, u64::MAX])),
            column(
                "state",
                Values::Text(["a", "b", "a"].map(Arc::from).to_vec()),
            ),
        ],
    };
    let note = |name: &str, unit, doc: &str| ColumnNote {
        name: name.to_owned(),
        unit,
        doc: doc.to_owned(),
    };
    let description = Description {
        columns: vec![
            note("rtt_s", "s", "the round-trip time"),
            note("state", "", "the state"),
        ],
        properties: vec![("weir.seed", "7".to_owned())],
    };
    // The table is written in two parts.
    let twice = [table.clone(), table];
    let (rows, octets) = in_row_groups(&[&twice], &description, |octets| octets.len());
    assert!(rows > 4 && rows < octets.len());
    let file = bytes::Bytes::from(octets.clone());
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let rtt = reader.schema().field_with_name("rtt_s").unwrap();
    assert_eq!(rtt.metadata()["unit"], "s");
    assert_eq!(rtt.metadata()["description"], "the round-trip time");
    let state = reader.schema().field_with_name("state").unwrap();
    assert!(
        matches!(state.data_type(), DataType::Dictionary(..)),
        "{state}"
    );
    let properties = reader.metadata().file_metadata().key_value_metadata();
    let seed = properties
        .unwrap()
        .iter()
        .find(|property| property.key == "weir.seed");
    assert_eq!(seed.unwrap().value.as_deref(), Some("7"));
    let read = read(octets).unwrap();
    assert_eq!(read.rows(), 6);
    let rtts = read.numbers("rtt_s").unwrap();
    assert!(rtts[1].is_nan() && rtts[4].is_nan());
    assert_eq!((rtts[0], rtts[5]), (0.1, 0.3));
    assert!(
        read.numbers("none_s")
            .unwrap()
            .iter()
            .all(|value| value.is_nan())
    );
    assert_eq!(read.column("drops").map(Values::len), Some(6));
    assert_eq!(read.words("state").unwrap()[4].as_ref(), "b");
}
