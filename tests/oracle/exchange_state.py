"""What a broker says that it holds: topics, records, offsets, groups. Two such states have to be the same."""

from typing import NamedTuple

from confluent_kafka import IsolationLevel, TopicCollection, TopicPartition
from confluent_kafka.admin import ConfigResource, ConfigSource, OffsetSpec

import records as kit

INTERNAL = "__"
ISOLATIONS = {"read_uncommitted": IsolationLevel.READ_UNCOMMITTED, "read_committed": IsolationLevel.READ_COMMITTED}
PATIENCE = 60
SHORTENED = ("shortened", "dohles")  # topics whose records are deleted in front


class State(NamedTuple):
    topics: dict  # name: (id, partitions)
    configs: dict  # name: what is set for the topic
    offsets: dict  # (topic, partition, question): offset
    records: dict  # (topic, isolation): records in the order read
    groups: dict  # group: its type and state, and of each partition the offset, its epoch and metadata


def read(admin, reader, groups, times):
    """All of a broker. `reader(topic, partitions, config)` reads records, `groups()` what groups committed. Offsets are asked for at `times` too."""
    names = sorted(admin.list_topics(timeout=PATIENCE).topics)
    described = admin.describe_topics(TopicCollection(names), request_timeout=PATIENCE)
    described = {name: future.result(PATIENCE) for name, future in described.items()}
    topics = {name: (str(topic.topic_id), len(topic.partitions)) for name, topic in described.items()}
    partitions = [TopicPartition(name, p) for name, (_, count) in topics.items() for p in range(count)]
    offsets = read_offsets(admin, [place for place in partitions if not place.topic.startswith(INTERNAL)], times)
    records = {}
    for name, (_, count) in topics.items():
        if not name.startswith(INTERNAL):
            for isolation in ISOLATIONS:
                records[name, isolation] = reader(name, range(count), {"isolation.level": isolation})
    return State(topics, read_configs(admin, names), offsets, records, groups())


def read_configs(admin, names):
    resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
    configs = {}
    for resource, future in admin.describe_configs(resources, request_timeout=PATIENCE).items():
        entries = future.result(PATIENCE).values()
        own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        configs[resource.name] = {entry.name: entry.value for entry in entries if entry.source == own}
    return configs


def read_offsets(admin, partitions, times):
    questions = [("earliest", OffsetSpec.earliest(), "read_uncommitted"), ("latest", OffsetSpec.latest(), "read_uncommitted"),
                 ("stable", OffsetSpec.latest(), "read_committed"), ("max time", OffsetSpec.max_timestamp(), "read_uncommitted")]
    questions += [(f"at {time}", OffsetSpec.for_timestamp(time), "read_uncommitted") for time in times]
    offsets = {}
    for name, spec, isolation in questions:
        # Kafka looks into one segment only, and that may be one whose records are all deleted.
        places = [place for place in partitions if not (name.startswith("at") and place.topic in SHORTENED)]
        asked = admin.list_offsets({place: spec for place in places}, isolation_level=ISOLATIONS[isolation],
                                   request_timeout=PATIENCE)
        for place, future in asked.items():
            offsets[place.topic, place.partition, name] = future.result(PATIENCE).offset
    for (topic, partition, name), offset in offsets.items():
        # Kafka names the record with the greatest time also when it is deleted.
        if name == "max time" and offset < offsets[topic, partition, "earliest"]:
            offsets[topic, partition, name] = -1
    return offsets



# -- comparing -----------------------------------------------------------------------------------------------------------


def differences(expected, found, cleaner=()):
    """Sentences that say where two states part. A cleaner may have been at work meanwhile on the topics that are named."""
    for field in ("topics", "configs", "groups"):
        yield from unequal(field, getattr(expected, field), getattr(found, field))
    # There are more times to ask for as a story goes on.
    offsets = {key: offset for key, offset in expected.offsets.items() if key[0] not in cleaner or " " not in key[2]}
    yield from unequal("offsets", offsets, {key: found.offsets.get(key) for key in offsets})
    for (topic, isolation), rows in expected.records.items():
        now = found.records.get((topic, isolation), [])
        if topic in cleaner:
            rows = compacted(rows, now, isolation)
        yield from mismatch(f"{topic} {isolation}", rows, now)


def compacted(rows, found, isolation):
    """What has to be there of these records: what is there, and the last record of each key that is not deleted or aborted."""
    there = {(row.partition, row.offset) for row in found}
    last = {(row.partition, row.key): row.offset for row in rows if isolation == "read_committed"}
    return [row for row in rows if (row.partition, row.offset) in there
            or row.value is not None and last.get((row.partition, row.key)) == row.offset]


def mismatch(what, expected, found):
    try:
        kit.compare(expected, found)
    except kit.Mismatch as error:
        yield f"{what}: {error}"


def unequal(field, expected, found):
    for key in sorted(set(expected) | set(found), key=str):
        if expected.get(key) != found.get(key):
            name = " ".join(map(str, key)) if isinstance(key, tuple) else key
            yield f"{field} of {name}: expected {kit.brief(expected.get(key))}, found {kit.brief(found.get(key))}"


def altered(state):
    """The state with one thing changed, for each kind of thing, and a word that a difference has to name."""

    def changed(field, key, value):
        return state._replace(**{field: {**getattr(state, field), key: value}})

    key, rows = next((key, rows) for key, rows in state.records.items() if rows)
    row = rows[len(rows) // 2]
    for name, value in (("value", b"?"), ("timestamp", row.timestamp + 1), ("headers", (("x", None),)), ("key", b"?")):
        at = rows.index(row)
        yield name, changed("records", key, [*rows[:at], row._replace(**{name: value}), *rows[at + 1 :]])
    yield "not read", changed("records", key, [each for each in rows if each is not row])
    yield "never written", changed("records", key, [*rows, rows[-1]._replace(offset=rows[-1].offset + 1000)])
    topic, (number, count) = next(iter(state.topics.items()))
    yield "topics", changed("topics", topic, (number[::-1], count))
    yield "configs", changed("configs", topic, {"retention.ms": "1"})
    place, offset = next(iter(state.offsets.items()))
    yield "offsets", changed("offsets", place, offset + 1)
    group = next(iter(state.groups))
    yield "groups", changed("groups", group, {**state.groups[group], "offsets": {}})


def summary(state):
    counts = {isolation: sum(len(found) for (_, level), found in state.records.items() if level == isolation)
              for isolation in ISOLATIONS}
    places = sum(count for _, count in state.topics.values())
    told = ", ".join(f"{count} {level}" for level, count in counts.items())
    return f"{len(state.topics)} topics, {places} partitions, {told}, {len(state.groups)} groups"
