"""The records that travel through the broker, the file form they are exchanged in, and the exact comparison.

A file of records is, for each: partition i32 (-1: the client chooses), offset i64, timestamp i64 (-1: none), key, value, the
number of headers i32, and for each header its name and value. Byte strings are an i32 length (-1: null) and the bytes. All
numbers are big-endian. Every driver reads and writes the same.
"""

import random
import struct
import time
from typing import NamedTuple, Optional

Bytes = Optional[bytes]


class Record(NamedTuple):
    partition: int
    offset: int
    timestamp: int
    key: Bytes
    value: Bytes
    headers: tuple  # of (str, Bytes)


class Mismatch(Exception):
    """What was read is not what was written."""


# -- making them ---------------------------------------------------------------------------------------------------------

UNICODE = "čšžüß€漢字кавка🐦"
HEADER_SETS = (
    (),
    (("trace", b"42"),),
    (("empty", b""), ("null", None)),
    (("same", b"1"), ("same", b"2"), ("ключ", "šedá vrána".encode())),
    (("bytes", bytes([1, 255, 0, 254])),),
)


def value_size(rng):
    """Mostly small, sometimes up to 4 KB, so that batches hold from a few to a few hundred records."""
    return rng.choice((rng.randrange(64), rng.randrange(256), rng.randrange(1024), rng.randrange(4097)))


def fill(rng, size):
    """Bytes that compress well, hardly, or are text of several bytes a character."""
    kind = rng.randrange(3)
    if kind == 0:
        return (b"the jackdaw steals what shines. " * (size // 32 + 1))[:size]
    if kind == 1:
        return rng.randbytes(size)
    text = "".join(rng.choice(UNICODE) for _ in range(size // 4))
    return text.encode()


def generate(count, seed, partitions=3):
    """Records with every odd shape: null, empty, binary and repeated keys, null and empty values, 0 to 3 headers.

    Two in three go to a fixed partition, the rest where the client's partitioner sends them.
    """
    rng = random.Random(seed)
    start = int(time.time() * 1000) - 10 * count
    records = []
    for i in range(count):
        shape = rng.randrange(20)
        if shape == 0:
            key = None
        elif shape == 1:
            key = b""
        elif shape == 2:
            key = rng.randbytes(rng.randrange(1, 40))
        elif shape == 3:
            key = f"{UNICODE}-{i}".encode()
        else:
            key = f"key-{rng.randrange(200)}".encode()
        shape = rng.randrange(20)
        if shape == 0:
            value = None
        elif shape == 1:
            value = b""
        else:
            value = f"{i}:".encode() + fill(rng, value_size(rng))
        partition = rng.randrange(partitions) if i % 3 else -1
        # Not in order: the broker must keep each record's own time.
        timestamp = start + 10 * i + rng.randrange(-500, 500)
        records.append(Record(partition, -1, timestamp, key, value, rng.choice(HEADER_SETS)))
    return records


TEXT_HEADERS = ((), (("a", b"1"),), (("empty", b""), ("null", None)), (("ключ", "vrána".encode()), ("a", b"1"), ("a", b"2")))


def generate_text(count, seed):
    """Records that fit on a line of a console tool: no tabs, line breaks or separators inside; each can be told by its key or value."""
    rng = random.Random(seed)
    records = []
    for i in range(count):
        shape = rng.randrange(20)
        key, value = f"key-{rng.randrange(200)}".encode(), None
        if shape == 0:
            key = f"null-{i}".encode()
        elif shape == 1:
            key, value = f"empty-{i}".encode(), b""
        else:
            size = value_size(rng) // 4
            value = f"{i} {''.join(rng.choice(UNICODE + 'abc ') for _ in range(size))}.".encode()
            if shape == 2:
                key = None
            elif shape == 3:
                key = b""
        records.append(Record(-1, -1, -1, key, value, rng.choice(TEXT_HEADERS)))
    return records


# -- files ---------------------------------------------------------------------------------------------------------------


def put_bytes(out, data):
    out.append(struct.pack(">i", -1 if data is None else len(data)))
    if data:
        out.append(data)


def write_file(path, records):
    out = []
    for record in records:
        out.append(struct.pack(">iqq", record.partition, record.offset, record.timestamp))
        put_bytes(out, record.key)
        put_bytes(out, record.value)
        out.append(struct.pack(">i", len(record.headers)))
        for name, value in record.headers:
            put_bytes(out, name.encode())
            put_bytes(out, value)
    with open(path, "wb") as file:
        file.write(b"".join(out))


def read_file(path):
    with open(path, "rb") as file:
        data = file.read()
    records, at = [], 0

    def get_bytes():
        nonlocal at
        (length,) = struct.unpack_from(">i", data, at)
        at += 4
        if length < 0:
            return None
        at += length
        return data[at - length : at]

    while at < len(data):
        partition, offset, timestamp = struct.unpack_from(">iqq", data, at)
        at += 20
        key, value = get_bytes(), get_bytes()
        (count,) = struct.unpack_from(">i", data, at)
        at += 4
        headers = tuple((get_bytes().decode(), get_bytes()) for _ in range(count))
        records.append(Record(partition, offset, timestamp, key, value, headers))
    return records


# -- comparing -----------------------------------------------------------------------------------------------------------


def brief(thing):
    text = repr(thing)
    return text if len(text) <= 160 else f"{text[:120]}… ({len(text)} characters)"


def by_place(records):
    return sorted(records, key=lambda record: (record.partition, record.offset))


def check_contiguous(records, what, starts=None):
    """Records in the order they were sent must have offsets 0, 1, 2 … in each partition, with no gap and no step back."""
    following = dict(starts or {})
    for index, record in enumerate(records):
        expected = following.get(record.partition, 0)
        if record.offset != expected:
            raise Mismatch(
                f"{what}: record {index} was acknowledged at {record.partition}@{record.offset}, expected offset {expected}"
            )
        following[record.partition] = expected + 1
    return following


def compare(expected, got, shape=None):
    """Both are all records of a topic. `shape` maps an expected record to what this reader can show of it."""
    wanted = {}
    for record in expected:
        wanted[record.partition, record.offset] = shape(record) if shape else record
    seen, previous, wrong = set(), {}, []
    for record in got:
        place = record.partition, record.offset
        if place in seen:
            wrong.append(f"{place[0]}@{place[1]} was read twice")
        elif record.offset <= previous.get(record.partition, -1):
            wrong.append(f"{place[0]}@{place[1]} was read after @{previous[record.partition]}")
        elif place not in wanted:
            wrong.append(f"{place[0]}@{place[1]} was read but never written: {brief(record)}")
        elif wanted[place] != record:
            for field in Record._fields:
                want, have = getattr(wanted[place], field), getattr(record, field)
                if want != have:
                    wrong.append(f"{place[0]}@{place[1]} {field}: expected {brief(want)}, read {brief(have)}")
        seen.add(place)
        previous[record.partition] = record.offset
    missing = sorted(set(wanted) - seen)
    if missing:
        wrong.append(f"{len(missing)} records were not read, the first is {missing[0][0]}@{missing[0][1]}")
    if wrong:
        more = f" (and {len(wrong) - 1} more differences)" if len(wrong) > 1 else ""
        raise Mismatch(wrong[0] + more)


def compare_unplaced(sent, got, what):
    """For a producer that does not say where its records went: each partition must hold a part of them in the order sent."""
    index = {}
    for i, record in enumerate(sent):
        identity = (record.key, record.value, record.headers)
        index.setdefault(identity, []).append(i)
    last, used = {}, set()
    for record in by_place(got):
        candidates = index.get((record.key, record.value, record.headers))
        if not candidates:
            raise Mismatch(f"{what}: {record.partition}@{record.offset} was never written: {brief(record)}")
        position = candidates.pop(0)
        if position in used:
            raise Mismatch(f"{what}: {brief(record)} is there twice")
        used.add(position)
        if position < last.get(record.partition, -1):
            raise Mismatch(
                f"{what}: in partition {record.partition} record {position} stands behind record {last[record.partition]}"
            )
        last[record.partition] = position
    if len(used) != len(sent):
        lost = next(i for i in range(len(sent)) if i not in used)
        raise Mismatch(f"{what}: {len(sent) - len(used)} records are missing, the first is {brief(sent[lost])}")
    keys = {}
    for record in got:
        if record.key is not None and keys.setdefault(record.key, record.partition) != record.partition:
            raise Mismatch(f"{what}: key {brief(record.key)} is in partitions {keys[record.key]} and {record.partition}")
