//! The file form of records that `records.py` describes.

use std::fs;

use crate::Outcome;

pub struct Record {
    pub partition: i32,
    pub offset: i64,
    pub timestamp: i64,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Outcome<&'a [u8]> {
        let (head, tail) =
            self.0.split_at_checked(count).ok_or("the file of records ends early")?;
        self.0 = tail;
        Ok(head)
    }

    fn i32(&mut self) -> Outcome<i32> {
        Ok(i32::from_be_bytes(self.take(4)?.try_into()?))
    }

    fn i64(&mut self) -> Outcome<i64> {
        Ok(i64::from_be_bytes(self.take(8)?.try_into()?))
    }

    fn bytes(&mut self) -> Outcome<Option<Vec<u8>>> {
        match self.i32()? {
            -1 => Ok(None),
            length => Ok(Some(self.take(usize::try_from(length)?)?.to_vec())),
        }
    }

    fn record(&mut self) -> Outcome<Record> {
        let (partition, offset, timestamp) = (self.i32()?, self.i64()?, self.i64()?);
        let (key, value) = (self.bytes()?, self.bytes()?);
        let mut headers = Vec::new();
        for _ in 0..self.i32()? {
            let name = String::from_utf8(self.bytes()?.ok_or("a header without a name")?)?;
            headers.push((name, self.bytes()?));
        }
        Ok(Record { partition, offset, timestamp, key, value, headers })
    }
}

pub fn read_file(path: &str) -> Outcome<Vec<Record>> {
    let data = fs::read(path)?;
    let (mut reader, mut records) = (Reader(&data), Vec::new());
    while !reader.0.is_empty() {
        records.push(reader.record()?);
    }
    Ok(records)
}

fn put_bytes(out: &mut Vec<u8>, data: Option<&[u8]>) {
    let length =
        data.map_or(-1, |data| i32::try_from(data.len()).expect("a record of less than 2 GiB"));
    out.extend(length.to_be_bytes());
    out.extend(data.unwrap_or_default());
}

pub fn write_file(path: &str, records: &[Record]) -> Outcome<()> {
    let mut out = Vec::new();
    for record in records {
        out.extend(record.partition.to_be_bytes());
        out.extend(record.offset.to_be_bytes());
        out.extend(record.timestamp.to_be_bytes());
        put_bytes(&mut out, record.key.as_deref());
        put_bytes(&mut out, record.value.as_deref());
        out.extend(i32::try_from(record.headers.len())?.to_be_bytes());
        for (name, value) in &record.headers {
            put_bytes(&mut out, Some(name.as_bytes()));
            put_bytes(&mut out, value.as_deref());
        }
    }
    Ok(fs::write(path, out)?)
}
