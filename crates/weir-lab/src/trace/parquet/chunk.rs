//! A column of a row group: its encoded pages, in memory until the row group ends, because a file
//! has them column by column.

use super::page_buffer::PageBuffer;
use super::pending::{PAGE, PendingNumbers, PendingWords};
use crate::table::{ColumnTarget, RowBatch, ValueKind};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::io::{self, Write};
use std::ops::Range;
use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

/// The level of zstd.
const LEVEL: i32 = 1;
/// zstd's `targetLength` for streams of octets, which determines how far its search skips. For
/// times, 2 takes a fifth less work than the default for 3 % more octets, and larger values would
/// cost 15 %; for other numbers, 4 takes another quarter less for 2 %.
const SKIP_IN_TIMES: u32 = 2;
const SKIP: u32 = 4;
/// If a column has a single page with fewer octets than this, it is not compressed: setting up the
/// compressor takes longer than writing the page.
const LEAST_COMPRESSED: usize = 256;

/// The encoder shared by all columns of all files.
pub(in crate::trace) struct PageCoder {
    compressor: Compressor<'static>,
    /// For streams of octets.
    of_streams: Compressor<'static>,
    /// For streams of octets of the column of times.
    of_times: Compressor<'static>,
    /// A page before compression.
    body: PageBuffer,
    numbers: Vec<f64>,
    counts: Vec<u64>,
    words: Vec<u32>,
}

impl PageCoder {
    /// An encoder for any number of files.
    ///
    /// # Errors
    /// If the library cannot be set up.
    pub(in crate::trace) fn new() -> io::Result<Self> {
        let skipping = |skip| {
            let mut compressor = Compressor::new(LEVEL)?;
            compressor.set_parameter(CParameter::TargetLength(skip))?;
            io::Result::Ok(compressor)
        };
        Ok(Self {
            compressor: Compressor::new(LEVEL)?,
            of_streams: skipping(SKIP)?,
            of_times: skipping(SKIP_IN_TIMES)?,
            body: PageBuffer::default(),
            numbers: Vec::new(),
            counts: Vec::new(),
            words: Vec::new(),
        })
    }
}

enum Pending {
    Numbers(PendingNumbers),
    Counts(PendingNumbers),
    Words(PendingWords),
}

impl Pending {
    /// The minimum and the maximum, if they are known.
    fn statistics(&self) -> Option<Statistics> {
        match self {
            Self::Numbers(pending) => {
                let (least, most) = pending.range?;
                let nulls = Some(pending.nulls as u64);
                Some(Statistics::double(
                    Some(least),
                    Some(most),
                    None,
                    nulls,
                    false,
                ))
            }
            Self::Counts(_) => None,
            Self::Words(pending) => {
                let words = pending.dictionary.words().iter();
                let (least, most) = (words.clone().min()?, words.max()?);
                let [least, most] = [least, most].map(|word| Some((&**word).into()));
                Some(Statistics::byte_array(least, most, None, Some(0), false))
            }
        }
    }
}

/// A column of a row group.
pub(super) struct Chunk {
    described: ColumnDescPtr,
    ranged: bool,
    pending: Pending,
    pages: Vec<u8>,
    encodings: Vec<Encoding>,
    /// False if the only page is short.
    compressed: bool,
    rows: usize,
    /// Octets of the pages before compression.
    plain_len: usize,
}

impl Chunk {
    /// An empty column. If it is `ranged`, as the column of times and that of names are, by which
    /// readers skip row groups, the file has its minimum and maximum.
    pub(super) fn new(described: ColumnDescPtr, kind: ValueKind, ranged: bool) -> Self {
        Self {
            described,
            ranged,
            pending: match kind {
                ValueKind::Number => Pending::Numbers(PendingNumbers::new(kind, ranged)),
                ValueKind::Count => Pending::Counts(PendingNumbers::new(kind, ranged)),
                ValueKind::Word => Pending::Words(PendingWords::default()),
            },
            pages: Vec::new(),
            encodings: vec![Encoding::RLE],
            compressed: true,
            rows: 0,
            plain_len: 0,
        }
    }

    fn waiting(&self) -> usize {
        match &self.pending {
            Pending::Numbers(pending) | Pending::Counts(pending) => pending.len(),
            Pending::Words(pending) => pending.len(),
        }
    }

    /// The memory allocated for values and pages.
    pub(super) fn held_bytes(&self) -> usize {
        let pending = match &self.pending {
            Pending::Numbers(pending) | Pending::Counts(pending) => pending.held_bytes(),
            Pending::Words(pending) => pending.held_bytes(),
        };
        pending + self.pages.capacity()
    }

    /// Adds the values of the column at this index in these rows.
    pub(super) fn append(
        &mut self,
        (batch, place): (&dyn RowBatch, usize),
        rows: Range<usize>,
        coder: &mut PageCoder,
    ) -> Result<(), ParquetError> {
        let expected = self.waiting() + rows.len();
        match &mut self.pending {
            Pending::Numbers(pending) => {
                coder.numbers.clear();
                batch.append_to(place, rows, ColumnTarget::Numbers(&mut coder.numbers));
                pending.extend_numbers(&coder.numbers);
            }
            Pending::Counts(pending) => {
                coder.counts.clear();
                batch.append_to(place, rows, ColumnTarget::Counts(&mut coder.counts));
                pending.extend_counts(&coder.counts);
            }
            Pending::Words(pending) => {
                coder.words.clear();
                let target = ColumnTarget::Words(&mut pending.dictionary, &mut coder.words);
                batch.append_to(place, rows, target);
                pending.extend(&coder.words);
            }
        }
        let waiting = self.waiting();
        if waiting != expected {
            let message = "a piece of a table has other columns than the table".to_owned();
            return Err(ParquetError::General(message));
        }
        if waiting >= PAGE {
            self.end_page(coder, false)?;
        }
        Ok(())
    }

    fn end_page(&mut self, coder: &mut PageCoder, is_last: bool) -> Result<(), ParquetError> {
        let rows = self.waiting();
        if rows == 0 {
            return Ok(());
        }
        coder.body.clear();
        let encoding = match &mut self.pending {
            Pending::Numbers(pending) | Pending::Counts(pending) => {
                pending.put_page(&mut coder.body)
            }
            Pending::Words(pending) => pending.put_page(&mut coder.body),
        };
        if !self.encodings.contains(&encoding) {
            self.encodings.push(encoding);
        }
        self.rows += rows;
        let compressor = match encoding {
            Encoding::BYTE_STREAM_SPLIT if self.ranged => &mut coder.of_times,
            Encoding::BYTE_STREAM_SPLIT => &mut coder.of_streams,
            _ => &mut coder.compressor,
        };
        let is_only = is_last && self.pages.is_empty();
        self.compressed = !is_only || coder.body.len() >= LEAST_COMPRESSED;
        let page = Page::DataPage {
            buf: page_octets(&coder.body, self.compressed.then_some(compressor))?,
            num_values: rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let page = CompressedPage::new(page, coder.body.len());
        self.plain_len += put_page(&mut self.pages, page)?;
        Ok(())
    }

    /// The octets of the column, and its metadata.
    pub(super) fn finish(
        mut self,
        coder: &mut PageCoder,
    ) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        self.end_page(coder, true)?;
        let mut octets = self.put_dictionary(coder)?;
        let dictionary_len = octets.len() as i64;
        if octets.is_empty() {
            octets = self.pages;
        } else {
            octets.append(&mut self.pages);
        }
        let mut metadata = ColumnChunkMetaData::builder(self.described)
            .set_compression(if self.compressed {
                Compression::ZSTD(ZstdLevel::try_new(LEVEL)?)
            } else {
                Compression::UNCOMPRESSED
            })
            .set_encodings(self.encodings)
            .set_total_compressed_size(octets.len() as i64)
            .set_total_uncompressed_size(self.plain_len as i64)
            .set_num_values(self.rows as i64)
            .set_data_page_offset(dictionary_len)
            .set_dictionary_page_offset((dictionary_len > 0).then_some(0));
        if let Some(statistics) = self.pending.statistics().filter(|_| self.ranged) {
            metadata = metadata.set_statistics(statistics);
        }
        let closed = ColumnCloseResult {
            bytes_written: octets.len() as u64,
            rows_written: self.rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((octets.into(), closed))
    }

    /// The dictionary page; empty without a dictionary.
    fn put_dictionary(&mut self, coder: &mut PageCoder) -> Result<Vec<u8>, ParquetError> {
        coder.body.clear();
        let len = match &self.pending {
            Pending::Numbers(pending) | Pending::Counts(pending) => {
                pending.put_dictionary(&mut coder.body)
            }
            Pending::Words(pending) => pending.put_dictionary(&mut coder.body),
        };
        let mut octets = Vec::new();
        if len == 0 {
            return Ok(octets);
        }
        self.encodings.push(Encoding::PLAIN);
        let compressor = self.compressed.then_some(&mut coder.compressor);
        let page = Page::DictionaryPage {
            buf: page_octets(&coder.body, compressor)?,
            num_values: len as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let page = CompressedPage::new(page, coder.body.len());
        self.plain_len += put_page(&mut octets, page)?;
        Ok(octets)
    }
}

/// The octets of a page in the file.
fn page_octets(
    body: &PageBuffer,
    compressor: Option<&mut Compressor<'static>>,
) -> io::Result<Bytes> {
    let octets = match compressor {
        Some(compressor) => compressor.compress(body.octets())?,
        None => body.octets().to_vec(),
    };
    Ok(octets.into())
}

/// Appends a page with its header; returns their uncompressed length.
fn put_page(octets: &mut Vec<u8>, page: CompressedPage) -> Result<usize, ParquetError> {
    let mut sink = TrackedWrite::new(octets);
    let spec = SerializedPageWriter::new(&mut sink).write_page(page)?;
    sink.flush()?;
    Ok(spec.uncompressed_size)
}
