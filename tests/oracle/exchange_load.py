"""What is written into the directories that are exchanged."""

import time

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

import records as kit

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# Segments are small by the times of the records: so far apart that a few dozen fill one.
SMALL = {"segment.ms": "1000"}
COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", **SMALL}
TOPICS = {
    **{f"codec-{codec}": (3, SMALL) for codec in CODECS},
    "large": (1, {"segment.bytes": "1048576"}),
    "compacted": (2, COMPACT),
    "compacted-soon": (1, {**COMPACT, "delete.retention.ms": "0"}),
    "txn": (2, SMALL),
    "txn-compacted": (1, COMPACT),
    "shortened": (2, SMALL),
    "configured": (1, {"retention.ms": "-1", "max.message.bytes": "2000000", "compression.type": "zstd",
                       "message.timestamp.type": "LogAppendTime"}),
    "empty": (4, {}),
    "gone": (1, {}),
    "again": (1, SMALL),
}
EXPIRY = {"transaction.timeout.ms": "800000"}  # longer than all of this takes


class Load:
    """Writes through the clients of one broker."""

    def __init__(self, java, confluent, seed):
        self.java, self.confluent, self.seed = java, confluent, seed
        self.admin = confluent.admin()
        self.clock = int(time.time() * 1000) - 10_000_000
        self.times = [self.clock]

    def create(self, topics):
        new = [NewTopic(name, count, 1, config=config) for name, (count, config) in topics.items()]
        for future in self.admin.create_topics(new, operation_timeout=30).values():
            future.result(60)

    def delete(self, *topics):
        for future in self.admin.delete_topics(list(topics), operation_timeout=30).values():
            future.result(60)

    def stamp(self, step=37):
        self.clock += step
        return self.clock

    def mark(self):
        """Offsets will be asked for by these times: of records, and of markers, whose times are those of the clock."""
        self.times += [self.clock, int(time.time() * 1000)]

    def records(self, count, partitions):
        made = kit.generate(count, self.seed, partitions)
        self.seed += 1
        return [record._replace(timestamp=self.stamp()) for record in made]

    # -- plain records ---------------------------------------------------------------------------------------------------

    def codecs(self, count):
        """Each codec by both families of clients, the one idempotent by default, the other by request."""
        for codec in CODECS:
            config = {"compression.type": codec, "linger.ms": 3, "batch.size": 4000}
            self.java.produce(f"codec-{codec}", self.records(count, 3), config)
            config = {"compression.type": codec, "linger.ms": 3, "batch.num.messages": 20}
            self.confluent.produce(f"codec-{codec}", self.records(count, 3), {**config, "enable.idempotence": True})
            self.confluent.produce(f"codec-{codec}", self.records(count // 4, 3), config)

    def large(self, count):
        rows = [kit.Record(0, -1, self.stamp(), None, bytes([n % 251]) * 4000, ()) for n in range(count)]
        self.java.produce("large", rows, {"batch.size": 60_000, "linger.ms": 5})

    def plain(self, topic, count, partitions=1):
        self.java.produce(topic, self.records(count, partitions), {"batch.size": 2000})

    def compacted(self, topic, count, partitions):
        """A few keys, again and again; one in five is a tombstone; some keys are never written again."""
        rows = []
        for n in range(count):
            key = f"once-{self.seed}-{n}" if n % 40 == 0 else f"key-{n % 23}"
            value = None if n % 5 == 4 else f"{self.seed} {n} ".encode() + b"x" * (n % 90)
            rows.append(kit.Record(n % partitions, -1, self.stamp(), key.encode(), value, (("n", str(n).encode()),)))
        self.seed += 1
        self.java.produce(topic, rows, {"batch.size": 900, "compression.type": "lz4"})

    def shorten(self, topic, share):
        """Deletes records in front: to the middle of a segment in partition 0, all of partition 1."""
        places = {}
        for partition in (0, 1):
            low, high = self.watermarks(topic, partition)
            places[partition] = low + int((high - low) * share) if partition == 0 else high
        asked = [TopicPartition(topic, partition, offset) for partition, offset in places.items()]
        for future in self.admin.delete_records(asked, operation_timeout=30).values():
            future.result(60)

    def watermarks(self, topic, partition):
        consumer = Consumer(self.confluent.config("watermarks", {"group.id": "never-used"}), logger=self.confluent.logger)
        try:
            return consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
        finally:
            consumer.close()

    # -- transactions ----------------------------------------------------------------------------------------------------

    def act(self, name, act, **arguments):
        return self.java.call("transact", id=name, act=act, config=EXPIRY if act == "init" else {}, **arguments)

    def send(self, name, topic, partition, text, key=None):
        return self.act(name, "send", topic=topic, partition=partition, timestamp=self.stamp(90), key=key, value=text)

    def transactions(self, topic, partitions, rounds, names=("one", "two", "three")):
        """Three producers whose transactions overlap, committed and aborted by turns, with other records between them."""
        for name in names:
            self.act(name, "init")
        for number in range(rounds):
            for name in names:
                self.act(name, "begin")
            for step in range(4):
                for name in names:
                    key = f"{name}-{step}" if number % 2 else f"key-{step}"
                    self.send(name, topic, (step + number) % partitions, f"{name} {number} {step}", key)
            row = kit.Record(number % partitions, -1, self.stamp(), b"between", str(number).encode(), ())
            self.confluent.produce(topic, [row], {"enable.idempotence": bool(number % 2)})
            for at, name in enumerate(names):
                self.act(name, "abort" if (number + at) % 2 else "commit")
        for name in names:
            self.act(name, "leave")

    def librdkafka_transactions(self, topic):
        """The older protocol of transactions, in which markers do not raise the epoch."""
        producer = self.confluent.producer({"transactional.id": "librdkafka", "transaction.timeout.ms": 800_000})
        producer.init_transactions(60)
        for number in range(4):
            producer.begin_transaction()
            for partition in (0, 1):
                producer.produce(topic, f"older {number}", f"{number}", partition, timestamp=self.stamp(90))
            producer.flush(30)
            (producer.abort_transaction if number % 2 else producer.commit_transaction)(60)

    def leave_open(self, name, topic, partition):
        """A transaction that nobody ends, and records behind it."""
        self.act(name, "init")
        self.act(name, "begin")
        self.send(name, topic, partition, "open")
        self.send(name, topic, partition, "open still")
        self.transactions(topic, partition + 1, 1, names=("behind",))

    def finish(self, name):
        """The next producer of the name aborts what was left open."""
        self.act(name, "init")
        self.act(name, "leave")

    # -- groups ----------------------------------------------------------------------------------------------------------

    def member(self, group, topic, protocol, enough=40):
        """One member that reads a part of a topic and commits it."""
        config = {"group.id": group, "group.protocol": protocol, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        consumer = Consumer(self.confluent.config(group, config), logger=self.confluent.logger)
        consumer.subscribe([topic])
        read, deadline = 0, time.monotonic() + 60
        try:
            while read < enough:
                message = consumer.poll(0.5)
                if message is not None and not message.error():
                    read += 1
                elif time.monotonic() > deadline:
                    raise KafkaException(f"{group} read {read} of {enough} records within a minute")
            consumer.commit(asynchronous=False)
        finally:
            consumer.close()

    def commit(self, group, places, metadata=""):
        """Offsets of a group without members."""
        wanted = [TopicPartition(topic, partition, offset, metadata) for (topic, partition), offset in places.items()]
        asked = self.admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, wanted)], request_timeout=60)
        asked[group].result(60)

    def commit_often(self, group, rounds):
        """So that the log of the groups has segments to compact."""
        for number in range(rounds):
            self.commit(group, {("codec-none", partition): number + partition for partition in range(3)}, f"round {number}")

    def transactional_offsets(self, endings):
        """Offsets that are committed in transactions, which end like this."""
        for group, ending in endings.items():
            self.commit(group, {("txn", 0): 1, ("txn", 1): 1}, "before")
            name = f"offsets-{group}"
            self.act(name, "init")
            self.act(name, "begin")
            self.send(name, "txn", 0, f"with offsets of {group}")
            self.act(name, "offsets", group=group, topic="txn", partition=0, offset=7, metadata=ending)
            if ending != "open":
                self.act(name, ending)
            self.commit(group, {("txn", 1): 2}, "behind")
            self.act(name, "leave")

    def set_topic(self, topic, settings):
        entries = [ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in settings.items()]
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
        for future in self.admin.incremental_alter_configs([resource]).values():
            future.result(60)
