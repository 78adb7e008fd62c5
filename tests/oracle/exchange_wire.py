"""Record batches as they lie in log files, and Produce requests made of them: what a client library would not let one send."""

import socket
import struct
from pathlib import Path
from typing import NamedTuple

import broker as brokers

HEADER = struct.Struct(">qiibIhiqqqhii")  # the 61 bytes in front of the records
TRANSACTIONAL, CONTROL = 0x10, 0x20
ABORT = b"\0\0\0\0"


class Batch(NamedTuple):
    base: int
    last: int
    attributes: int
    producer: int
    epoch: int
    sequence: int
    count: int
    bytes: bytes

    @property
    def is_control(self):
        return bool(self.attributes & CONTROL)

    @property
    def is_transactional(self):
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def aborts(self):
        """Of a control batch: its one record is length, attributes, two deltas, key length, key …, none longer than a byte."""
        return self.bytes[HEADER.size + 5 : HEADER.size + 9] == ABORT


def batches(partition):
    """The batches of a partition's folder, in order. What is torn off at the end is left out."""
    for segment in sorted(Path(partition).glob("*.log")):
        data, at = segment.read_bytes(), 0
        while at + HEADER.size <= len(data):
            base, length, _, magic, crc, attributes, delta, _, _, producer, epoch, sequence, count = HEADER.unpack_from(data, at)
            whole = data[at : at + 12 + length]
            if magic != 2 or len(whole) < 12 + length or crc32c(whole[21:]) != crc:
                break
            yield Batch(base, base + delta, attributes, producer, epoch, sequence, count, whole)
            at += len(whole)


def stable(partition, end):
    """By the batches alone: (last stable offset, the ranges of offsets that readers of committed records see below it)."""
    ranges, unsettled = [], {}
    for batch in batches(partition):
        if batch.is_control:
            kept = unsettled.pop(batch.producer, [])
            ranges += [] if batch.aborts else kept
        elif batch.is_transactional:
            unsettled.setdefault(batch.producer, []).append((batch.base, batch.last))
        else:
            ranges.append((batch.base, batch.last))
    bound = min([end, *(kept[0][0] for kept in unsettled.values())])
    return bound, [(base, last) for base, last in ranges if base < bound]


# -- sending -------------------------------------------------------------------------------------------------------------


def renumbered(batch, sequence=None, epoch=None):
    """A batch with another first sequence or producer epoch."""
    fields = list(HEADER.unpack_from(batch.bytes))
    fields[0], fields[2] = 0, -1
    fields[10] = batch.epoch if epoch is None else epoch
    fields[11] = batch.sequence if sequence is None else sequence
    whole = HEADER.pack(*fields) + batch.bytes[HEADER.size :]
    return whole[:17] + struct.pack(">I", crc32c(whole[21:])) + whole[21:]


def produce(port, topic, partition, batch):
    """(error code, base offset) of a Produce request of version 7."""
    name = topic.encode()
    body = struct.pack(">hhiih", -1, -1, 30_000, 1, len(name)) + name  # no transaction, acks of all
    body += struct.pack(">iii", 1, partition, len(batch)) + batch
    request = struct.pack(">hhih", 0, 7, 1, 1) + b"x" + body
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", brokers.exactly(connection, 4))
        answer = brokers.exactly(connection, size)
    return struct.unpack_from(">hq", answer, 4 + 4 + 2 + len(name) + 4 + 4)


# -- CRC-32C -------------------------------------------------------------------------------------------------------------


def table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        yield value


TABLE = tuple(table())


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF
