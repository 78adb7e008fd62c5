//! Reading over the records of a batch without giving any of them out.
//!
//! Each batch that a client sends is looked through once, and nearly all are right: what decides
//! about them is learnt in one pass without a branch for each kind of error. Where the pass finds
//! anything amiss it says so and no more; [`super::RecordIter`] tells what.

use crate::codec::varint;

/// What the records of a batch have in common.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Skimmed {
    /// The smallest timestamp minus the base timestamp of the batch, in milliseconds.
    pub least_timestamp_delta: i64,
    /// The largest.
    pub most_timestamp_delta: i64,
    /// Whether the offset deltas are 0, 1, 2, …
    pub consecutive: bool,
    /// Whether every record has a key.
    pub all_keyed: bool,
}

/// Reads over `bytes`, which are not compressed: `None` unless they are exactly `count` records,
/// one at least.
#[must_use]
pub fn skim(bytes: &[u8], count: i32) -> Option<Skimmed> {
    let mut rest = bytes;
    let mut seen = Skimmed {
        least_timestamp_delta: i64::MAX,
        most_timestamp_delta: i64::MIN,
        consecutive: true,
        all_keyed: true,
    };
    for index in 0..count {
        let body = sized(&mut rest)?;
        let (_attributes, mut body) = body.split_first()?;
        let time = varlong(&mut body)?;
        seen.least_timestamp_delta = seen.least_timestamp_delta.min(time);
        seen.most_timestamp_delta = seen.most_timestamp_delta.max(time);
        seen.consecutive &= int(&mut body)? == index;
        seen.all_keyed &= skip_nullable(&mut body)?;
        skip_nullable(&mut body)?;
        let headers = int(&mut body)?;
        if headers != 0 {
            skip_headers(&mut body, headers)?;
        }
        if !body.is_empty() {
            return None;
        }
    }
    (rest.is_empty() && count > 0).then_some(seen)
}

/// Headers are few, or so many that each one costs more than the call.
#[inline(never)]
fn skip_headers(bytes: &mut &[u8], count: i32) -> Option<()> {
    if usize::try_from(count).ok()? > bytes.len() {
        return None;
    }
    for _ in 0..count {
        sized(bytes)?;
        skip_nullable(bytes)?;
    }
    Some(())
}

/// A length and as many bytes.
#[inline]
fn sized<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = int(bytes)?;
    take(bytes, len)
}

/// Passes over a length and as many bytes: whether there are any to be, even none.
#[inline]
fn skip_nullable(bytes: &mut &[u8]) -> Option<bool> {
    match int(bytes)? {
        -1 => Some(false),
        len => take(bytes, len).map(|_| true),
    }
}

#[inline]
fn take<'a>(bytes: &mut &'a [u8], len: i32) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(len).ok()?)?;
    *bytes = rest;
    Some(taken)
}

#[inline]
fn int(bytes: &mut &[u8]) -> Option<i32> {
    let value = bits(bytes, varint::MAX_LEN_32)?;
    u32::try_from(value).ok().map(|value| varint::unzigzag(value.into()) as i32)
}

#[inline]
fn varlong(bytes: &mut &[u8]) -> Option<i64> {
    bits(bytes, varint::MAX_LEN_64).map(varint::unzigzag)
}

#[inline]
fn bits(bytes: &mut &[u8], max_len: u32) -> Option<u64> {
    let (value, len) = varint::read(bytes, max_len).ok()?;
    *bytes = &bytes[len..];
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::RecordIter;
    use super::*;

    /// The same, by the reader that gives records out.
    fn read(bytes: &[u8], count: i32) -> Option<Skimmed> {
        let records: Vec<_> = RecordIter::new(bytes, count).collect::<Result<_, _>>().ok()?;
        let times = || records.iter().map(|record| record.timestamp_delta);
        Some(Skimmed {
            least_timestamp_delta: times().min()?,
            most_timestamp_delta: times().max()?,
            consecutive: records.iter().zip(0..).all(|(record, at)| record.offset_delta == at),
            all_keyed: records.iter().all(|record| record.key.is_some()),
        })
    }

    /// A record, perhaps with a byte that does not belong there.
    fn record() -> impl Strategy<Value = Vec<u8>> {
        let bytes = || prop::option::of(prop::collection::vec(any::<u8>(), 0..70));
        let header = (prop::collection::vec(any::<u8>(), 0..5), bytes());
        let headers = prop::collection::vec(header, 0..3);
        let numbers = (any::<i8>(), any::<i64>(), 0..3_i32, 0..64_u32);
        let wrong = prop::option::weighted(0.2, (any::<prop::sample::Index>(), any::<u8>()));
        (numbers, bytes(), bytes(), headers, wrong).prop_map(
            |(numbers, key, value, headers, wrong)| {
                let (attributes, time, offset, shift) = numbers;
                let mut body = vec![attributes.cast_unsigned()];
                put(&mut body, time >> shift);
                put(&mut body, offset.into());
                put_bytes(&mut body, key.as_deref());
                put_bytes(&mut body, value.as_deref());
                put(&mut body, headers.len() as i64);
                for (key, value) in &headers {
                    put_bytes(&mut body, Some(key));
                    put_bytes(&mut body, value.as_deref());
                }
                let mut record = Vec::new();
                put_bytes(&mut record, Some(&body));
                if let Some((at, byte)) = wrong {
                    let at = at.index(record.len());
                    record[at] = byte;
                }
                record
            },
        )
    }

    fn put(bytes: &mut Vec<u8>, value: i64) {
        varint::write(varint::zigzag(value), |byte| bytes.push(byte));
    }

    fn put_bytes(bytes: &mut Vec<u8>, value: Option<&[u8]>) {
        put(bytes, value.map_or(-1, |value| value.len() as i64));
        bytes.extend_from_slice(value.unwrap_or_default());
    }

    proptest! {
        #[test]
        fn what_is_skimmed_is_what_is_read(
            records in prop::collection::vec(record(), 0..4),
            more in prop_oneof![4 => Just(0), 1 => Just(1), 1 => Just(-1)],
            cut in prop::option::weighted(0.1, any::<prop::sample::Index>()),
        ) {
            let mut bytes = records.concat();
            if let Some(cut) = cut.filter(|_| !bytes.is_empty()) {
                bytes.truncate(cut.index(bytes.len()));
            }
            let count = records.len() as i32 + more;
            prop_assert_eq!(skim(&bytes, count), read(&bytes, count));
        }
    }
}
