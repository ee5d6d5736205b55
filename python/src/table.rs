//! Tables for Python in Arrow's format: numbers and counts use the memory that the run wrote, and
//! words are dictionary-encoded.

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, RecordBatchIterator,
    StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use weir_lab::table::{ColumnInfo, Values};

/// Columns of equal length, each with its unit and meaning.
#[pyclass(frozen, module = "weirlab._weirlab", from_py_object)]
#[derive(Clone)]
pub struct Table(RecordBatch);

impl Table {
    /// Converts a table of the laboratory.
    pub fn new(table: weir_lab::table::Table, infos: Vec<ColumnInfo>) -> PyResult<Self> {
        let columns = table.columns.into_iter().map(|column| {
            let info = infos.iter().find(|info| info.name == column.name);
            let described = match info {
                Some(info) => Some((info.unit, info.doc)),
                None => unit_in(&column.name).map(|unit| (unit, "")),
            };
            (column.name, described, array_of(column.values))
        });
        Self::of_arrays(columns)
    }

    fn of_arrays<'a>(
        columns: impl Iterator<Item = (String, Option<(&'a str, &'a str)>, ArrayRef)>,
    ) -> PyResult<Self> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (name, described, array) in columns {
            let field = Field::new(name, array.data_type().clone(), true);
            let metadata = described.map(|(unit, doc)| {
                HashMap::from([
                    ("unit".to_owned(), unit.to_owned()),
                    ("description".to_owned(), doc.to_owned()),
                ])
            });
            fields.push(field.with_metadata(metadata.unwrap_or_default()));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let batch = if arrays.is_empty() {
            Ok(RecordBatch::new_empty(schema))
        } else {
            RecordBatch::try_new(schema, arrays)
        };
        Ok(Self(batch.map_err(value_error)?))
    }

    fn array(&self, name: &str) -> PyResult<&ArrayRef> {
        self.0.column_by_name(name).ok_or_else(|| {
            let schema = self.0.schema();
            let names = schema.fields().iter().map(|field| field.name().as_str());
            let names: Vec<&str> = names.collect();
            PyKeyError::new_err(format!(
                "no column \"{name}\"; columns: {}",
                names.join(", ")
            ))
        })
    }
}

/// The unit in the name of a measure's column, as in `rtt_s_p95`.
fn unit_in(name: &str) -> Option<&'static str> {
    let units = [("bps", "bit/s"), ("s", "s"), ("bytes", "bytes")];
    let of_word = |word: &str| {
        units
            .iter()
            .find(|(part, _)| *part == word)
            .map(|(_, unit)| *unit)
    };
    name.split('_').skip(1).find_map(of_word)
}

fn value_error(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The values without a copy; NaN becomes null.
fn array_of(values: Values) -> ArrayRef {
    match values {
        Values::F64(values) => Arc::new(numbers(values)),
        Values::U64(values) => Arc::new(UInt64Array::new(values.into(), None)),
        Values::Text(values) => Arc::new(words(values.iter().map(|word| Some(&**word)))),
    }
}

fn numbers(values: Vec<f64>) -> Float64Array {
    let nulls = values.iter().any(|value| value.is_nan()).then(|| {
        let known: Vec<bool> = values.iter().map(|value| !value.is_nan()).collect();
        known.into()
    });
    Float64Array::new(values.into(), nulls)
}

/// Words as a dictionary array: indices into the different words, in the order of their first use.
fn words<'a>(values: impl Iterator<Item = Option<&'a str>>) -> DictionaryArray<Int32Type> {
    let mut numbers: BTreeMap<&str, i32> = BTreeMap::new();
    let mut words: Vec<&str> = Vec::new();
    let keys = values.map(|word| {
        let word = word?;
        let number = *numbers.entry(word).or_insert_with(|| {
            words.push(word);
            words.len() as i32 - 1
        });
        Some(number)
    });
    let keys: Int32Array = keys.collect();
    let words = StringArray::from_iter_values(words);
    DictionaryArray::new(keys, Arc::new(words))
}

#[pymethods]
impl Table {
    /// Creates a table from lists of words, integers and numbers, with `None` for missing values.
    /// The third part of a column is its unit.
    #[staticmethod]
    fn from_columns(columns: Vec<(String, Bound<'_, PyList>, String)>) -> PyResult<Self> {
        let mut made = Vec::new();
        for (name, values, unit) in &columns {
            made.push((
                name.clone(),
                Some((unit.as_str(), "")),
                array_of_list(values)?,
            ));
        }
        Self::of_arrays(made.into_iter())
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    /// Name, unit and meaning of each column.
    #[getter]
    fn columns(&self) -> Vec<(String, String, String)> {
        let schema = self.0.schema();
        let fields = schema.fields().iter();
        let of = |field: &Arc<Field>, key: &str| field.metadata().get(key).cloned();
        let parts = fields.map(|field| {
            (
                field.name().clone(),
                of(field, "unit").unwrap_or_default(),
                of(field, "description").unwrap_or_default(),
            )
        });
        parts.collect()
    }

    /// A column of numbers or counts; `None` for words. Missing numbers are NaN.
    fn numbers(&self, name: &str) -> PyResult<Option<Column>> {
        let array = self.array(name)?;
        let is_number = matches!(array.data_type(), DataType::Float64 | DataType::UInt64);
        Ok(is_number.then(|| Column(Arc::clone(array))))
    }

    /// The values of a column of words.
    fn words(&self, name: &str) -> PyResult<Vec<Option<String>>> {
        let any = self.array(name)?.as_any();
        let array = any.downcast_ref::<DictionaryArray<Int32Type>>();
        let Some(words) = array.and_then(DictionaryArray::downcast_dict::<StringArray>) else {
            let message = format!("column \"{name}\" has no words");
            return Err(PyTypeError::new_err(message));
        };
        let owned = words.into_iter().map(|word| word.map(str::to_owned));
        Ok(owned.collect())
    }

    /// A capsule of a stream of Arrow's C data interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer may request another schema and must accept this one (PyCapsule protocol).
        drop(requested_schema);
        let schema = self.0.schema();
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// A capsule of a schema of Arrow's C data interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let fields = self.0.schema().fields().clone();
        let schema = FFI_ArrowSchema::try_from(&DataType::Struct(fields)).map_err(value_error)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

/// A column of numbers, which numpy reads without a copy.
#[pyclass(frozen, module = "weirlab._weirlab")]
pub struct Column(ArrayRef);

#[pymethods]
impl Column {
    /// Numpy's array interface, version 3. Numpy keeps a reference to the column while it has an
    /// array of it.
    #[getter(__array_interface__)]
    fn array_interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let any = self.0.as_any();
        let floats = any
            .downcast_ref::<Float64Array>()
            .map(|array| array.values().inner());
        let counts = any
            .downcast_ref::<UInt64Array>()
            .map(|array| array.values().inner());
        let kind = if floats.is_some() { "<f8" } else { "<u8" };
        let address = floats.or(counts).map_or(0, |buffer| buffer.as_ptr().addr());
        let is_read_only = true;
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", kind)?;
        interface.set_item("shape", (self.0.len(),))?;
        interface.set_item("data", (address, is_read_only))?;
        Ok(interface)
    }
}

/// The values of a list: counts if all are non-negative integers, words if one is a word, else
/// numbers.
fn array_of_list(values: &Bound<'_, PyList>) -> PyResult<ArrayRef> {
    let present = || values.iter().filter(|value| !value.is_none());
    if present().any(|value| value.extract::<String>().is_ok()) {
        let texts: PyResult<Vec<Option<String>>> = values
            .iter()
            .map(|value| Ok((!value.is_none()).then(|| value.to_string())))
            .collect();
        let texts = texts?;
        return Ok(Arc::new(words(texts.iter().map(Option::as_deref))));
    }
    let whole = |value: &Bound<'_, PyAny>| value.extract::<u64>().ok();
    if present().next().is_some() && values.iter().all(|value| whole(&value).is_some()) {
        let counts = values.iter().filter_map(|value| whole(&value));
        return Ok(Arc::new(UInt64Array::from_iter_values(counts)));
    }
    let numbers_of: PyResult<Vec<f64>> = values
        .iter()
        .map(|value| {
            if value.is_none() {
                Ok(f64::NAN)
            } else {
                value.extract()
            }
        })
        .collect();
    Ok(Arc::new(numbers(numbers_of?)))
}
