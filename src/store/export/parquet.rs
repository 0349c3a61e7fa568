//! The Parquet form of an export: optional columns, row groups of bounded size.

use super::{COLUMNS, Field, Kind, Record, Store, StoreError, fields};
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::fs::File;
use std::sync::Arc;

/// Records held in memory at a time.
const ROW_GROUP: usize = 4096;

/// Writes every record of `store` to `file`.
pub(super) fn write(store: &Store, file: File, failed: &dyn Fn(String) -> StoreError) -> Result<usize, StoreError> {
    let refused = |error: ParquetError| failed(error.to_string());
    let properties = Arc::new(WriterProperties::builder().set_compression(Compression::SNAPPY).build());
    let mut out = SerializedFileWriter::new(file, Arc::new(schema().map_err(refused)?), properties).map_err(refused)?;
    let mut n_records = 0;
    let mut records = store.records();
    loop {
        let group: Vec<Record> = records.by_ref().take(ROW_GROUP).collect::<Result<_, _>>()?;
        if group.is_empty() {
            break;
        }
        n_records += group.len();
        write_group(&mut out, &group).map_err(refused)?;
    }
    out.close().map_err(refused)?;
    Ok(n_records)
}

fn schema() -> Result<Type, ParquetError> {
    let mut columns = Vec::with_capacity(COLUMNS.len());
    for (name, kind) in COLUMNS {
        let (physical, logical) = match kind {
            Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Int => (PhysicalType::INT64, None),
            Kind::Real => (PhysicalType::DOUBLE, None),
        };
        let column = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        columns.push(Arc::new(column));
    }
    Type::group_type_builder("record").with_fields(columns).build()
}

fn write_group(out: &mut SerializedFileWriter<File>, records: &[Record]) -> Result<(), ParquetError> {
    let mut columns: Vec<Vec<Field>> = COLUMNS.iter().map(|_| Vec::with_capacity(records.len())).collect();
    for record in records {
        for (column, field) in columns.iter_mut().zip(fields(record)) {
            column.push(field);
        }
    }
    let mut group = out.next_row_group()?;
    for ((_, kind), column) in COLUMNS.into_iter().zip(columns) {
        let Some(mut writer) = group.next_column()? else { break };
        // A level says whether the row has a value.
        let (mut levels, mut texts, mut ints, mut reals) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for field in column {
            let present = match field {
                Field::Text(text) => text.map(|text| texts.push(ByteArray::from(text.into_bytes()))).is_some(),
                Field::Int(n) => {
                    ints.push(n);
                    true
                }
                Field::Real(value) => value.map(|value| reals.push(value)).is_some(),
            };
            levels.push(i16::from(present));
        }
        match kind {
            Kind::Int => writer.typed::<Int64Type>().write_batch(&ints, Some(&levels), None)?,
            Kind::Real => writer.typed::<DoubleType>().write_batch(&reals, Some(&levels), None)?,
            Kind::Text => writer.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None)?,
        };
        writer.close()?;
    }
    group.close()?;
    Ok(())
}
