//! Lines of the trace.

use bytes::Bytes;
use dohle_core::disk::DiskOp;

use super::UnitId;

/// A node or a unit of it, as the trace names it.
pub(super) fn who(node: usize, unit: Option<UnitId>) -> String {
    match unit {
        None => format!("n{node}"),
        Some(UnitId::Control) => format!("n{node}.control"),
        Some(UnitId::Shard(id)) => format!("n{node}.shard{id}"),
        Some(UnitId::Session(id)) => format!("n{node}.conn{id}"),
    }
}

/// An input in one short line.
pub(super) fn brief(input: &impl std::fmt::Debug) -> String {
    let mut text = format!("{input:?}");
    if let Some((cut, _)) = text.char_indices().nth(160) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

pub(super) fn brief_op(op: &DiskOp) -> String {
    match op {
        DiskOp::Write { id, file, position, data } => {
            let len: usize = data.iter().map(Bytes::len).sum();
            format!("write {:?} {len} bytes at {position}, {:?} {}", file.0, id.what, id.end)
        }
        DiskOp::Put { path, data, durable, .. } => {
            format!("put {} {} bytes durable={durable}", path.path, data.len())
        }
        other => brief(other),
    }
}
