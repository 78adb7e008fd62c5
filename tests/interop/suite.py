"""The interop checks. See README.md; `run` starts this in the venv with the clients installed."""

import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

import broker as brokers
from clients import ORACLE, ClientError, Confluent, Java, JavaError, Kcat, Tools
from groups import GroupChecks
from records import (
    Mismatch,
    Record,
    by_place,
    check_contiguous,
    compare,
    compare_unplaced,
    generate,
    generate_text,
)

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
QUICK_CODECS = ("snappy", "zstd")
PARTITIONS = 3
MINUTE = 60


def expect(condition, message):
    if not condition:
        raise Mismatch(message)


def expect_equal(expected, got, what):
    expect(expected == got, f"{what}: expected {expected!r}, got {got!r}")


def ends_of(records, partitions=PARTITIONS):
    ends = {partition: 0 for partition in range(partitions)}
    for record in records:
        ends[record.partition] = max(ends[record.partition], record.offset + 1)
    return ends


class Suite(GroupChecks):
    def __init__(self, bootstrap, count, codecs, directory):
        self.count, self.codecs, self.directory = count, codecs, Path(directory)
        self.kcat, self.confluent = Kcat(bootstrap), Confluent(bootstrap, directory)
        self.tools, self.java = Tools(bootstrap, directory), Java(bootstrap, directory)
        self.admin = self.confluent.admin()
        self.passed, self.failed = 0, 0
        # Names of their own, so that a broker which has been used before is as good as an empty one.
        self.tag = f"{os.getpid():x}{int(time.time()) & 0xFFFFFF:x}"
        self.serial = 0

    # -- plumbing --------------------------------------------------------------------------------------------------------

    def topic(self, name):
        self.serial += 1
        return f"interop-{name}-{self.tag}-{self.serial}"

    def check(self, name, action, *args, **kwargs):
        """Runs one check and prints its line. Returns what it returns, or None when it failed."""
        started = time.monotonic()
        try:
            result = action(*args, **kwargs)
        except Exception as error:  # whatever goes wrong is this check's failure, and the run goes on
            self.failed += 1
            reason = " ".join(str(error).split()) or type(error).__name__
            if not isinstance(error, (Mismatch, ClientError, JavaError)):
                reason = f"{type(error).__name__}: {reason}"
            print(f"FAIL {name} {reason[:600]}", flush=True)
            return None
        self.passed += 1
        print(f"ok {name} {time.monotonic() - started:.1f}s", flush=True)
        return True if result is None else result

    def not_run(self, name, reason):
        self.failed += 1
        print(f"FAIL {name} not run: {reason}", flush=True)

    def create(self, topic, partitions=PARTITIONS, configs=None):
        """By the Java client."""
        self.java.call("create", topic=topic, partitions=partitions, configs=configs or {})
        return self.visible(topic, partitions)

    def confluent_create(self, topic, partitions=PARTITIONS, configs=None):
        self.admin.create_topics([NewTopic(topic, partitions, config=configs or {})])[topic].result(MINUTE)
        return self.visible(topic, partitions)

    def visible(self, topic, partitions=PARTITIONS):
        """Returns the topic once the broker's metadata show it: with Apache Kafka that is after its creation was confirmed."""

        def shown():
            try:
                return len(self.java.call("describe", topic=topic)["partitions"]) == partitions
            except JavaError as error:
                if error.name != "UnknownTopicOrPartitionException":
                    raise
                return False

        self.wait_until(f"{partitions} partitions of {topic} in the metadata", shown)
        return topic

    def wait_until(self, what, condition, seconds=15):
        """Metadata spreads with a delay: give it a moment."""
        deadline = time.monotonic() + seconds
        while True:
            got = condition()
            if got:
                return got
            expect(time.monotonic() < deadline, f"{what} did not happen within {seconds} s")
            time.sleep(0.1)

    def topics(self):
        return self.java.call("topics")["topics"]

    def broker_error(self, code, action):
        """The action must fail with this librdkafka error code."""
        try:
            action()
        except KafkaException as error:
            expect_equal(KafkaError(code).name(), error.args[0].name(), "error")
            return
        raise Mismatch(f"it succeeded, expected {KafkaError(code).name()}")

    def java_error(self, name, action):
        try:
            action()
        except JavaError as error:
            expect_equal(name, error.name, "error")
            return
        raise Mismatch(f"it succeeded, expected {name}")

    # -- every record, through each client, in each codec -------------------------------------------------------------------

    def read_back(self, prefix, topic, expected, console):
        """All three families read all records; the console consumer reads the partitions named."""
        expected = by_place(expected)
        ends = ends_of(expected)
        self.check(f"{prefix} read-by-kcat", lambda: compare(expected, self.kcat.read(topic, ends), Kcat.shape))
        self.check(f"{prefix} read-by-confluent", lambda: compare(expected, self.confluent.read(topic, ends)))
        self.check(f"{prefix} read-by-java", lambda: compare(expected, self.java.read(topic, ends)))
        for partition in console:
            wanted = [Tools.console_line(record) for record in expected if record.partition == partition]
            self.check(f"{prefix} read-by-console-consumer partition {partition}", self.console_read, topic, partition, wanted)

    def console_read(self, topic, partition, wanted):
        if not wanted:
            return
        got = self.tools.console_read(topic, partition, len(wanted))
        expect_equal(len(wanted), len(got), "lines")
        for want, have in zip(wanted, got):
            expect_equal(want, have, "line")

    def kcat_codec(self, codec):
        """kcat has one partition and one set of headers for a run, so: one run for each partition."""
        name = f"kcat-{codec}"
        topic = self.topic(name)

        def produce():
            everything = generate(self.count, f"kcat {codec}")
            headers = ((("trace", b"42"), ("empty", b"")), (), (("ключ", "vrána".encode()), ("null", None)))
            placed = []
            for partition in range(PARTITIONS):
                mine = []
                for i, record in enumerate(everything[partition::PARTITIONS]):
                    key, value = record.key, record.value
                    if partition == 1:  # with -Z: whatever is empty is null
                        key, value = key or None, value or None
                    else:
                        value = b"" if value is None else value
                    if key is None and not value:
                        value = b"not nothing"  # kcat leaves out a line that is empty
                    mine.append(Record(partition, i, -1, key, value, headers[partition]))
                self.kcat.produce(topic, mine, partition, codec, null_empty=partition == 1)
                placed += mine
            # kcat reports no timestamps: take what is stored, within reason, and hold the other readers to it.
            now, stamps = time.time() * 1000, {}
            for record in self.kcat.read(topic, None):
                expect(abs(now - record.timestamp) < 10 * MINUTE * 1000, f"timestamp {record.timestamp} is not about now")
                stamps[record.partition, record.offset] = record.timestamp
            return [r._replace(timestamp=stamps.get((r.partition, r.offset), -1)) for r in placed]

        def create():
            self.tools.run("topics", "--create", "--topic", topic, "--partitions", str(PARTITIONS))
            self.visible(topic)

        if not self.check(f"{name} create-topic-by-topics-tool", create):
            return self.not_run(f"{name} produce", "there is no topic")
        placed = self.check(f"{name} produce", produce)
        if placed:
            self.read_back(name, topic, placed, console=(0,))
        else:
            self.not_run(f"{name} read", "nothing was produced")

    def library_codec(self, family, codec):
        """confluent-kafka or the Java client: any key, value, headers and time, anywhere."""
        name = f"{family}-{codec}"
        topic = self.topic(name)
        client = {"confluent": self.confluent, "java": self.java}[family]
        create = {"confluent": self.confluent_create, "java": self.create}[family]

        def produce():
            config = {"compression.type": codec, "linger.ms": 20, "acks": "all"}
            placed = client.produce(topic, generate(self.count, name), config)
            expect_equal(self.count, len(placed), "records")
            # confluent-kafka's queue for a partition the caller chose and the ones the partitioner chose is the same.
            check_contiguous(placed, name)
            return placed

        if not self.check(f"{name} create-topic", create, topic):
            return self.not_run(f"{name} produce", "there is no topic")
        placed = self.check(f"{name} produce", produce)
        if placed:
            self.read_back(name, topic, placed, console=(1,) if family == "java" else (2,))
        else:
            self.not_run(f"{name} read", "nothing was produced")

    def console_codec(self, codec):
        name = f"console-producer-{codec}"
        topic = self.topic(name)
        sent = generate_text(self.count, name)

        def produce():
            self.create(topic)
            self.tools.console_produce(topic, sent, codec)
            placed = self.java.read(topic, {p: None for p in range(PARTITIONS)})
            compare_unplaced(sent, placed, name)
            return placed

        placed = self.check(f"{name} produce", produce)
        if placed:
            self.read_back(name, topic, placed, console=range(PARTITIONS))
        else:
            self.not_run(f"{name} read", "nothing was produced")

    def verifiable_codec(self, codec):
        name = f"verifiable-producer-{codec}"
        topic = self.topic(name)

        def produce():
            self.create(topic)
            config = self.directory / f"{name}.properties"
            config.write_text(f"compression.type={codec}\nlinger.ms=20\n")
            done = self.tools.run("verifiable-producer", "--topic", topic, "--max-messages", str(self.count), "--acks", "-1",
                                  "--repeating-keys", "50", "--command-config", str(config))
            placed = []
            for line in done.stdout.splitlines():
                event = json.loads(line)
                expect(event["name"] != "producer_send_error", f"{line!r}")
                if event["name"] == "producer_send_success":
                    placed.append(Record(event["partition"], event["offset"], -1, event["key"].encode(),
                                         event["value"].encode(), ()))
            expect_equal(self.count, len(placed), "acknowledged records")
            values = sorted(int(record.value) for record in placed)
            expect(values == list(range(self.count)), "the acknowledged values are not 0, 1, 2 …")
            check_contiguous(placed, name)
            stamps = {(r.partition, r.offset): r.timestamp for r in self.java.read(topic, ends_of(placed))}
            return [r._replace(timestamp=stamps.get((r.partition, r.offset), -2)) for r in placed]

        placed = self.check(f"{name} produce", produce)
        if placed:
            self.read_back(name, topic, placed, console=())
        else:
            self.not_run(f"{name} read", "nothing was produced")

    # -- topics ------------------------------------------------------------------------------------------------------------

    def describe_topic(self, topic):
        """The topics tool's description: (head fields, [partition fields])."""
        output = self.tools.run("topics", "--describe", "--topic", topic).stdout.decode()
        rows = []
        for line in output.splitlines():
            if line.strip():
                fields = (field.split(":", 1) for field in line.strip().split("\t"))
                rows.append({field[0].strip(): field[1].strip() for field in fields if len(field) == 2})
        return rows[0], rows[1:]

    def topics_tool(self):
        name, topic = "topics-tool", self.topic("topics")

        def create():
            output = self.tools.run("topics", "--create", "--topic", topic, "--partitions", "3", "--replication-factor", "1",
                                    "--config", "retention.ms=7200000", "--config", "cleanup.policy=compact").stdout.decode()
            expect_equal(f"Created topic {topic}.", output.strip().splitlines()[-1], "output")
            self.visible(topic)

        def described(partitions):
            head, rows = self.describe_topic(topic)
            node = str(self.java.call("cluster")["nodes"][0])
            expect_equal(topic, head["Topic"], "Topic")
            expect(re.fullmatch(r"[A-Za-z0-9_-]{22}", head["TopicId"]), f"TopicId is {head['TopicId']!r}")
            expect_equal(str(partitions), head["PartitionCount"], "PartitionCount")
            expect_equal("1", head["ReplicationFactor"], "ReplicationFactor")
            configs = head["Configs"].split(",")
            for config in ("retention.ms=7200000", "cleanup.policy=compact"):
                expect(config in configs, f"{config} is not in Configs {configs}")
            expect_equal([str(p) for p in range(partitions)], [row["Partition"] for row in rows], "partitions")
            for row in rows:
                expect_equal((node, node, node), (row["Leader"], row["Replicas"], row["Isr"]), f"Leader, Replicas, Isr of {row}")

        def listed():
            names = self.tools.run("topics", "--list").stdout.decode().split()
            expect(topic in names, f"{topic} is not in the list {names[:20]}")

        def increase():
            self.tools.run("topics", "--alter", "--topic", topic, "--partitions", "5")
            self.visible(topic, 5)
            described(5)

        def delete():
            self.tools.run("topics", "--delete", "--topic", topic)
            self.wait_until("the deletion", lambda: topic not in self.topics())

        if not self.check(f"{name} create", create):
            return self.not_run(f"{name} describe", "there is no topic")
        self.check(f"{name} describe", described, 3)
        self.check(f"{name} list", listed)
        self.check(f"{name} create-again-is-refused", self.tools.refused, "TopicExistsException", "topics", "--create",
                   "--topic", topic)
        self.check(f"{name} create-if-not-exists", self.tools.run, "topics", "--create", "--if-not-exists", "--topic", topic)
        self.check(f"{name} bad-replication-factor-is-refused", self.tools.refused, "InvalidReplicationFactorException",
                   "topics", "--create", "--topic", self.topic("three"), "--replication-factor", "3")
        self.check(f"{name} increase-partitions", increase)
        self.check(f"{name} decrease-is-refused", self.tools.refused, "InvalidPartitionsException", "topics", "--alter",
                   "--topic", topic, "--partitions", "2")
        self.check(f"{name} delete", delete)
        self.check(f"{name} describe-unknown-is-refused", self.tools.refused, "does not exist", "topics", "--describe",
                   "--topic", topic)

    def partitions(self):
        """More partitions by each admin client; the old records stay, the new partitions work."""
        name = "partitions"

        def grow(increase):
            topic = self.create(self.topic("grow"), 2)
            before = self.confluent.produce(topic, [Record(p, -1, -1, b"k", b"old", ()) for p in (0, 1)])
            increase(topic, 6)
            self.visible(topic, 6)
            after = self.java.produce(topic, [Record(p, -1, -1, b"k", b"new", ()) for p in range(6)])
            got = self.confluent.read(topic, ends_of(after, 6))
            expect_equal([(r.partition, r.offset, r.value) for r in by_place(before + after)],
                         [(r.partition, r.offset, r.value) for r in by_place(got)], "records")

        def confluent(topic, total):
            self.admin.create_partitions([NewPartitions(topic, total)])[topic].result(MINUTE)

        self.check(f"{name} increase-by-confluent", grow, confluent)
        self.check(f"{name} increase-by-java", grow, lambda t, n: self.java.call("add-partitions", topic=t, partitions=n))
        topic = self.topic("same")
        self.create(topic, 2)
        self.check(f"{name} same-number-is-refused", self.java_error, "InvalidPartitionsException",
                   lambda: self.java.call("add-partitions", topic=topic, partitions=2))
        self.check(f"{name} unknown-topic-is-refused", self.java_error, "UnknownTopicOrPartitionException",
                   lambda: self.java.call("add-partitions", topic=self.topic("no"), partitions=2))

    def create_delete(self):
        """Creating and deleting by each admin client; a topic made again under the old name is empty and another topic."""
        name = "create-delete"

        def again(create, delete):
            topic = self.topic("again")
            create(topic)
            first = self.java.call("describe", topic=topic)["id"]
            self.confluent.produce(topic, [Record(0, -1, -1, b"k", b"v", ())] * 10)
            delete(topic)
            self.wait_until("the deletion", lambda: topic not in self.topics())
            create(topic)
            second = self.java.call("describe", topic=topic)["id"]
            expect(first != second, f"the second topic has the first one's id {first}")
            placed = self.confluent.produce(topic, [Record(0, -1, -1, b"k", b"second", ())])
            expect_equal(0, placed[0].offset, "first offset of the new topic")
            expect_equal([b"second"], [r.value for r in self.confluent.read(topic, ends_of(placed, 1))], "records")

        def confluent_delete(topic):
            self.admin.delete_topics([topic])[topic].result(MINUTE)

        def consume_deleted():
            topic = self.topic("gone")
            self.confluent_create(topic)
            confluent_delete(topic)
            self.wait_until("the deletion", lambda: topic not in self.topics())
            expect_equal("UNKNOWN_TOPIC_OR_PART", self.metadata_error(topic), "metadata of a deleted topic")

        self.check(f"{name} again-by-confluent", again, self.confluent_create, confluent_delete)
        self.check(f"{name} again-by-java", again, self.create, lambda t: self.java.call("delete", topic=t))
        self.check(f"{name} metadata-of-a-deleted-topic", consume_deleted)
        self.check(f"{name} delete-unknown-by-confluent", self.broker_error, KafkaError.UNKNOWN_TOPIC_OR_PART,
                   lambda: confluent_delete(self.topic("unknown")))
        self.check(f"{name} delete-unknown-by-java", self.java_error, "UnknownTopicOrPartitionException",
                   lambda: self.java.call("delete", topic=self.topic("unknown")))
        self.check(f"{name} bad-name-by-confluent", self.broker_error, KafkaError.TOPIC_EXCEPTION,
                   lambda: self.confluent_create("no spaces, please"))
        self.check(f"{name} bad-name-by-java", self.java_error, "InvalidTopicException", lambda: self.create("no/slash"))
        # The topics tool would refuse these by itself; the library leaves it to the broker.
        self.check(f"{name} bad-config-value-by-java", self.java_error, "InvalidConfigurationException",
                   lambda: self.create(self.topic("bad"), configs={"cleanup.policy": "shred"}))
        self.check(f"{name} unknown-config-by-java", self.java_error, "InvalidConfigurationException",
                   lambda: self.create(self.topic("bad"), configs={"no.such.config": "1"}))
        topic = self.create(self.topic("twice"))
        self.check(f"{name} create-twice-by-confluent", self.broker_error, KafkaError.TOPIC_ALREADY_EXISTS,
                   lambda: self.confluent_create(topic))
        self.check(f"{name} no-partitions-is-refused", self.java_error, "InvalidPartitionsException",
                   lambda: self.create(self.topic("zero"), 0))

    def metadata_error(self, topic):
        """The error name in a topic's metadata, asked for by a client that does not let it be created for asking.

        librdkafka's admin client does let it: its plain metadata requests create topics.
        """
        consumer = self.confluent.consumer({"allow.auto.create.topics": False})
        try:
            error = consumer.list_topics(topic, timeout=MINUTE).topics[topic].error
        finally:
            consumer.close()
        return error and error.name()

    def auto_create(self):
        name = "auto-create"

        def exists(topic):
            self.wait_until(f"topic {topic}", lambda: topic in self.topics())
            expect(self.java.call("describe", topic=topic)["partitions"], "it has no partitions")

        def confluent():
            topic = self.topic("auto")
            placed = self.confluent.produce(topic, [Record(-1, -1, -1, b"k", b"v", ())] * 10)
            exists(topic)
            check_contiguous(placed, topic)

        def java():
            topic = self.topic("auto")
            placed = self.java.produce(topic, [Record(-1, -1, -1, b"k", b"v", ())] * 10)
            exists(topic)
            check_contiguous(placed, topic)

        def kcat():
            topic = self.topic("auto")
            self.kcat.run("-P", "-t", topic, "-K", ":", stdin=b"k:one\nk:two\n")
            exists(topic)
            expect_equal([b"one", b"two"], [record.value for record in self.kcat.read(topic, None)], "records")

        def reading():
            topic = self.topic("not-auto")
            expect_equal("UNKNOWN_TOPIC_OR_PART", self.metadata_error(topic), "metadata of a topic that is not there")
            time.sleep(2)  # a broker may create it behind its answer
            expect(topic not in self.topics(), "asking for metadata created the topic")

        self.check(f"{name} by-confluent", confluent)
        self.check(f"{name} by-java", java)
        self.check(f"{name} by-kcat", kcat)
        self.check(f"{name} not-by-a-consumer-that-forbids-it", reading)

    # -- configs -------------------------------------------------------------------------------------------------------------

    def configs_tool(self):
        name, topic = "configs-tool", self.topic("configs")
        if not self.check(f"{name} create-topic", self.create, topic):
            return self.not_run(f"{name} topic", "there is no topic")

        def shown(entity, entity_name, everything=False):
            which = ["--entity-default"] if entity_name is None else ["--entity-name", entity_name]
            flags = ["--all"] if everything else []
            output = self.tools.run("configs", "--describe", "--entity-type", entity, *which, *flags).stdout.decode()
            return dict(re.findall(r"^\s+([a-z][\w.]*)=(\S*) sensitive=", output, re.M))

        def alter(entity, entity_name, *change):
            which = ["--entity-default"] if entity_name is None else ["--entity-name", entity_name]
            self.tools.run("configs", "--alter", "--entity-type", entity, *which, *change)

        def topic_round_trip():
            alter("topics", topic, "--add-config", "retention.ms=3600000,max.message.bytes=200000,cleanup.policy=[compact,delete]")
            got = shown("topics", topic)
            for key, value in (("retention.ms", "3600000"), ("max.message.bytes", "200000"), ("cleanup.policy", "compact,delete")):
                expect_equal(value, got.get(key), key)
            alter("topics", topic, "--delete-config", "max.message.bytes", "--add-config", "segment.bytes=1048576")
            got = shown("topics", topic)
            expect("max.message.bytes" not in got, "max.message.bytes is still there after --delete-config")
            expect_equal("3600000", got.get("retention.ms"), "retention.ms, which was not touched")
            expect_equal("1048576", got.get("segment.bytes"), "segment.bytes")

        def defaults():
            got = shown("topics", topic, everything=True)
            for key, value in (("max.message.bytes", "1048588"), ("retention.bytes", "-1"), ("compression.type", "producer"),
                               ("message.timestamp.type", "CreateTime"), ("min.insync.replicas", "1")):
                expect_equal(value, got.get(key), f"default of {key}")

        def broker_round_trip(node, key, value):
            before = shown("brokers", node)
            expect(key not in before, f"{key} is set before the check sets it: {before}")
            alter("brokers", node, "--add-config", f"{key}={value}")
            try:
                self.wait_until(f"{key}={value}", lambda: shown("brokers", node).get(key) == value)
            finally:
                alter("brokers", node, "--delete-config", key)
            self.wait_until(f"removal of {key}", lambda: key not in shown("brokers", node))

        self.check(f"{name} topic-round-trip", topic_round_trip)
        self.check(f"{name} topic-defaults", defaults)
        self.check(f"{name} bad-value-is-refused", self.tools.refused, "InvalidConfigurationException", "configs", "--alter",
                   "--entity-type", "topics", "--entity-name", topic, "--add-config", "retention.ms=soon")
        self.check(f"{name} unknown-key-is-refused", self.tools.refused, "InvalidConfigurationException", "configs", "--alter",
                   "--entity-type", "topics", "--entity-name", topic, "--add-config", "no.such.config=1")
        node = str(self.java.call("cluster")["nodes"][0])
        self.check(f"{name} broker-round-trip", broker_round_trip, node, "log.retention.ms", "7200000")
        self.check(f"{name} cluster-default-round-trip", broker_round_trip, None, "log.retention.ms", "7300000")

    def configs(self):
        """The same through the client libraries: incremental, and the old full replacement."""
        name = "configs"
        topic = self.topic("configs")
        if not self.check(f"{name} create-topic-with-configs", self.create, topic, configs={"retention.ms": "1000000"}):
            return self.not_run(f"{name} round trips", "there is no topic")

        def java_get(kind, entity):
            return self.java.call("describe-configs", type=kind, name=entity)["entries"]

        def java_alter(kind, entity, *ops):
            self.java.call("alter-configs", type=kind, name=entity,
                           ops=[dict(zip(("op", "key", "value"), op)) for op in ops])

        def created_with():
            entry = java_get("TOPIC", topic)["retention.ms"]
            expect_equal(("1000000", "DYNAMIC_TOPIC_CONFIG"), (entry["value"], entry["source"]), "retention.ms")

        def java_incremental():
            java_alter("TOPIC", topic, ("SET", "max.message.bytes", "300000"), ("APPEND", "cleanup.policy", "compact"))
            entries = java_get("TOPIC", topic)
            expect_equal(("300000", "DYNAMIC_TOPIC_CONFIG", "INT"),
                         tuple(entries["max.message.bytes"][k] for k in ("value", "source", "type")), "max.message.bytes")
            expect_equal("delete,compact", entries["cleanup.policy"]["value"], "cleanup.policy after APPEND")
            java_alter("TOPIC", topic, ("SUBTRACT", "cleanup.policy", "compact"), ("DELETE", "max.message.bytes"))
            entries = java_get("TOPIC", topic)
            expect_equal("delete", entries["cleanup.policy"]["value"], "cleanup.policy after SUBTRACT")
            expect_equal(("1048588", "DEFAULT_CONFIG"),
                         tuple(entries["max.message.bytes"][k] for k in ("value", "source")), "max.message.bytes after DELETE")

        def confluent_get(kind, entity):
            resource = ConfigResource(kind, entity)
            return self.admin.describe_configs([resource])[resource].result(MINUTE)

        def confluent_incremental():
            change = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[
                ConfigEntry("segment.bytes", "2097152", incremental_operation=AlterConfigOpType.SET),
                ConfigEntry("retention.ms", None, incremental_operation=AlterConfigOpType.DELETE)])
            self.admin.incremental_alter_configs([change])[change].result(MINUTE)
            got = confluent_get(ResourceType.TOPIC, topic)
            expect_equal("2097152", got["segment.bytes"].value, "segment.bytes")
            expect(not got["segment.bytes"].is_default, "segment.bytes is shown as a default")
            expect_equal("604800000", got["retention.ms"].value, "retention.ms after DELETE")

        def confluent_replace():
            change = ConfigResource(ResourceType.TOPIC, topic, set_config={"retention.bytes": "123456789"})
            self.admin.alter_configs([change])[change].result(MINUTE)
            got = confluent_get(ResourceType.TOPIC, topic)
            expect_equal("123456789", got["retention.bytes"].value, "retention.bytes")
            expect_equal("1073741824", got["segment.bytes"].value, "segment.bytes, which the replacement left out")

        def broker():
            node = str(self.java.call("cluster")["nodes"][0])
            entries = java_get("BROKER", node)
            for key in ("log.retention.hours", "num.partitions", "message.max.bytes", "auto.create.topics.enable"):
                expect(key in entries, f"the broker's description lacks {key}")
            java_alter("BROKER", node, ("SET", "log.retention.bytes", "999999999"))
            try:
                self.wait_until("the change", lambda: java_get("BROKER", node)["log.retention.bytes"]["value"] == "999999999")
                expect_equal("DYNAMIC_BROKER_CONFIG", java_get("BROKER", node)["log.retention.bytes"]["source"], "source")
            finally:
                java_alter("BROKER", node, ("DELETE", "log.retention.bytes", None))
            self.wait_until("the removal", lambda: java_get("BROKER", node)["log.retention.bytes"]["value"] == "-1")
            confluent = confluent_get(ResourceType.BROKER, node)
            expect_equal("-1", confluent["log.retention.bytes"].value, "log.retention.bytes by confluent")

        self.check(f"{name} created-with", created_with)
        self.check(f"{name} incremental-by-java", java_incremental)
        self.check(f"{name} incremental-by-confluent", confluent_incremental)
        self.check(f"{name} replacement-by-confluent", confluent_replace)
        self.check(f"{name} broker-by-java", broker)
        self.check(f"{name} unknown-topic-is-refused", self.java_error, "UnknownTopicOrPartitionException",
                   lambda: java_get("TOPIC", self.topic("unknown")))
        self.check(f"{name} bad-value-is-refused", self.java_error, "InvalidConfigurationException",
                   lambda: java_alter("TOPIC", topic, ("SET", "cleanup.policy", "shred")))

    # -- offsets -------------------------------------------------------------------------------------------------------------

    def offsets(self):
        """Earliest, latest, by time and the largest time, by every client."""
        name, topic = "offsets", self.topic("offsets")
        base = int(time.time() * 1000) - 100_000
        # Partition 0: 100 records a second apart in batches of ten; its largest time is in the middle. 1: three. 2: none.
        stamps = {0: [base + 1000 * i for i in range(100)], 1: [base, base + 5000, base + 2000], 2: []}
        stamps[0][60] = base + 99_500
        largest = {0: (60, base + 99_500), 1: (1, base + 5000)}

        def produce():
            self.create(topic)
            for first in range(0, 100, 10):
                self.confluent.produce(topic, [Record(0, -1, t, b"k", b"v", ()) for t in stamps[0][first : first + 10]],
                                       {"linger.ms": 50, "compression.type": "gzip"})
            self.java.produce(topic, [Record(1, -1, t, b"k", b"v", ()) for t in stamps[1]])

        def at(timestamp):
            """The first offset of each partition whose time is not smaller."""
            return {p: next((i for i, t in enumerate(times) if t >= timestamp), None) for p, times in stamps.items()}

        def tool(time_argument, expected):
            output = self.tools.run("get-offsets", "--topic", topic, "--time", time_argument).stdout.decode().split()
            # The tool leaves out a partition that has no such record.
            expected = sorted(f"{topic}:{p}:{offset}" for p, offset in expected.items() if offset is not None)
            expect_equal(expected, sorted(output), f"--time {time_argument}")

        def java(spec, expected):
            got = self.java.call("list-offsets", topic=topic, partitions=list(range(3)), spec=spec)["offsets"]
            expect_equal({str(p): o for p, o in expected.items()}, {p: o[0] for p, o in got.items()}, f"offsets for {spec}")
            return got

        def java_times(timestamp):
            got = self.java.call("offsets-for-times", topic=topic, partitions=list(range(3)), timestamp=timestamp)["offsets"]
            want = {str(p): [-1, -1] if o is None else [o, stamps[p][o]] for p, o in at(timestamp).items()}
            expect_equal({p: o for p, o in want.items() if o != [-1, -1]}, {p: o for p, o in got.items() if o != [-1, -1]},
                         "offset and time")

        def java_largest():
            got = java("max-timestamp", {0: largest[0][0], 1: largest[1][0], 2: -1})
            expect_equal(largest[0][1], got["0"][1], "largest time of partition 0")
            expect_equal(largest[1][1], got["1"][1], "largest time of partition 1")

        def confluent_times(timestamp):
            consumer = self.confluent.consumer()
            try:
                got = consumer.offsets_for_times([TopicPartition(topic, p, timestamp) for p in range(3)], timeout=MINUTE)
            finally:
                consumer.close()
            for found in got:
                want = at(timestamp)[found.partition]
                expect_equal(-1 if want is None else want, found.offset, f"offset for the time in partition {found.partition}")

        def confluent_admin():
            for spec, expected in ((OffsetSpec.earliest(), {0: 0, 1: 0, 2: 0}), (OffsetSpec.latest(), {0: 100, 1: 3, 2: 0}),
                                   (OffsetSpec.max_timestamp(), {0: 60, 1: 1, 2: -1}),
                                   (OffsetSpec.for_timestamp(base + 4500), {0: 5, 1: 1, 2: -1})):
                futures = self.admin.list_offsets({TopicPartition(topic, p): spec for p in range(3)})
                got = {partition.partition: future.result(MINUTE).offset for partition, future in futures.items()}
                expect_equal(expected, got, f"list_offsets {spec}")

        def kcat(timestamp):
            output = self.kcat.run("-Q", *(a for p in range(3) for a in ("-t", f"{topic}:{p}:{timestamp}"))).stdout.decode()
            got = {int(p): int(o) for p, o in re.findall(r"\[(\d+)\] offset (-?\d+)", output)}
            want = at(timestamp)
            ends = {p: len(times) for p, times in stamps.items()}
            # Without an answer kcat shows the end, or -1.
            for p, offset in got.items():
                allowed = (want[p],) if want[p] is not None else (-1, ends[p])
                expect(offset in allowed, f"partition {p}: expected {allowed}, got {offset}")
            expect_equal([0, 1, 2], sorted(got), "partitions")

        if not self.check(f"{name} produce", produce):
            return self.not_run(f"{name} reads", "nothing was produced")
        self.check(f"{name} get-offsets-tool earliest", tool, "earliest", {0: 0, 1: 0, 2: 0})
        self.check(f"{name} get-offsets-tool latest", tool, "latest", {0: 100, 1: 3, 2: 0})
        self.check(f"{name} get-offsets-tool max-timestamp", tool, "max-timestamp", {0: 60, 1: 1})
        self.check(f"{name} get-offsets-tool timestamp", tool, str(base + 4500), at(base + 4500))
        self.check(f"{name} java earliest", java, "earliest", {0: 0, 1: 0, 2: 0})
        self.check(f"{name} java latest", java, "latest", {0: 100, 1: 3, 2: 0})
        self.check(f"{name} java max-timestamp", java_largest)
        self.check(f"{name} java timestamp", java_times, base + 4500)
        self.check(f"{name} java timestamp-in-a-batch", java_times, base + 37_001)
        self.check(f"{name} confluent timestamp", confluent_times, base + 4500)
        self.check(f"{name} confluent timestamp-in-a-batch", confluent_times, base + 37_001)
        self.check(f"{name} confluent admin", confluent_admin)
        self.check(f"{name} kcat timestamp", kcat, base + 4500)

    def delete_records(self):
        name, topic = "delete-records", self.topic("delete-records")

        def produce():
            self.create(topic)
            self.confluent.produce(topic, [Record(i % 3, -1, -1, b"k", b"%d" % i, ()) for i in range(300)])

        def earliest():
            got = self.java.call("list-offsets", topic=topic, partitions=[0, 1, 2], spec="earliest")["offsets"]
            return {int(p): o[0] for p, o in got.items()}

        def tool():
            file = self.directory / "delete-records.json"
            file.write_text(json.dumps({"version": 1, "partitions": [
                {"topic": topic, "partition": 0, "offset": 30}, {"topic": topic, "partition": 1, "offset": -1}]}))
            output = self.tools.run("delete-records", "--offset-json-file", str(file)).stdout.decode()
            got = dict(re.findall(rf"partition: {topic}-(\d)\s+low_watermark: (\d+)", output))
            expect_equal({"0": "30", "1": "100"}, got, f"low watermarks in {output!r}")
            expect_equal({0: 30, 1: 100, 2: 0}, earliest(), "earliest offsets")

        def readers():
            ends = {0: 100, 2: 100}
            got = self.java.read(topic, ends)
            expect_equal((30, 100), (min(r.offset for r in got if r.partition == 0), len([r for r in got if r.partition == 2])),
                         "first offset of partition 0 and records of partition 2 by java")
            got = self.confluent.read(topic, ends, starts={0: 30})
            expect_equal(list(range(30, 100)), [r.offset for r in got if r.partition == 0], "offsets by confluent")
            got = self.kcat.read(topic, None)
            expect_equal(list(range(30, 100)), [r.offset for r in got if r.partition == 0], "offsets by kcat")

        def below_start():
            self.java_error("OffsetOutOfRangeException", lambda: self.java.read(topic, {0: 100}, start=5))
            got = self.java.read(topic, {0: 100}, {"auto.offset.reset": "earliest"}, start=5)
            expect_equal(30, got[0].offset, "first offset after the reset")

        def confluent_below_start():
            self.broker_error(KafkaError._AUTO_OFFSET_RESET, lambda: self.confluent.read(topic, {0: 100}, starts={0: 5}))
            got = self.confluent.read(topic, {0: 100}, {"auto.offset.reset": "earliest"}, starts={0: 5})
            expect_equal(30, got[0].offset, "first offset after the reset")

        def confluent():
            futures = self.admin.delete_records([TopicPartition(topic, 2, 50)])
            got = [future.result(MINUTE).low_watermark for future in futures.values()]
            expect_equal([50], got, "low watermark")
            expect_equal(50, earliest()[2], "earliest offset")

        if not self.check(f"{name} produce", produce):
            return self.not_run(f"{name} delete", "nothing was produced")
        self.check(f"{name} by-tool", tool)
        self.check(f"{name} readers-start-behind-it", readers)
        self.check(f"{name} java-below-the-start", below_start)
        self.check(f"{name} confluent-below-the-start", confluent_below_start)
        self.check(f"{name} by-confluent", confluent)
        self.check(f"{name} beyond-the-end-is-refused", self.java_error, "OffsetOutOfRangeException",
                   lambda: self.java.call("delete-records", topic=topic, partition=0, before=1000))

    # -- producing --------------------------------------------------------------------------------------------------------------

    def idempotent(self):
        name = "idempotent"

        def round_trip(client, config):
            topic = self.create(self.topic("idempotent"))
            placed = client.produce(topic, generate(self.count, topic), {"enable.idempotence": "true", "linger.ms": 5, **config})
            check_contiguous(placed, topic)
            compare(by_place(placed), self.java.read(topic, ends_of(placed), {"isolation.level": "read_committed"}))

        self.check(f"{name} by-confluent", round_trip, self.confluent, {})
        self.check(f"{name} by-java", round_trip, self.java, {"max.in.flight.requests.per.connection": 5})
        # Small batches: as many requests in flight as the protocol of sequences allows.
        self.check(f"{name} many-small-batches-by-confluent", round_trip, self.confluent, {"batch.num.messages": 10})
        self.check(f"{name} many-small-batches-by-java", round_trip, self.java, {"batch.size": 1000})

    def acks(self):
        name = "acks"

        def round_trip(client, acks, extra=None):
            topic = self.create(self.topic(f"acks-{acks}"))
            sent = generate(min(self.count, 1000), topic)
            client.produce(topic, sent, {"acks": acks, "enable.idempotence": "false", **(extra or {})})
            # acks=0 knows neither offsets nor arrival: wait, then find everything in order.
            got = self.wait_until("arrival of all records", lambda: self.arrived(topic, len(sent)))
            compare_unplaced_by_content(sent, got)

        def kcat(acks):
            topic = self.create(self.topic(f"acks-{acks}"))
            sent = [Record(1, i, -1, b"k", b"%d" % i, ()) for i in range(100)]
            # A client that hangs up right behind acks=0 may take the last records with it.
            self.kcat.produce(topic, sent, 1, config=[f"acks={acks}"], linger=1 if acks == "0" else 0)
            got = self.wait_until("arrival of all records", lambda: self.arrived(topic, len(sent)))
            expect_equal([r.value for r in sent], [r.value for r in got], "values")

        for acks in ("0", "1", "all"):
            self.check(f"{name} {acks}-by-confluent", round_trip, self.confluent, acks)
            self.check(f"{name} {acks}-by-java", round_trip, self.java, acks)
            self.check(f"{name} {acks}-by-kcat", kcat, acks)

    def arrived(self, topic, count):
        got = self.java.call("list-offsets", topic=topic, partitions=list(range(PARTITIONS)), spec="latest")["offsets"]
        if sum(end[0] for end in got.values()) < count:
            return None
        return by_place(self.java.read(topic, {p: None for p in range(PARTITIONS)}))

    def too_large(self):
        name, topic = "too-large", self.topic("too-large")
        if not self.check(f"{name} create-topic", self.create, topic, 1, {"max.message.bytes": "20000"}):
            return self.not_run(f"{name} produce", "there is no topic")
        big = [Record(0, -1, -1, b"k", os.urandom(50_000), ())]
        fits = [Record(0, -1, -1, b"k", os.urandom(15_000), ())]

        def kcat():
            done = self.kcat.run("-P", "-t", topic, "-p", "0", "-D", Kcat.RECORD, check=False, stdin=b"x" * 50_000)
            expect(b"Message size too large" in done.stderr, f"kcat said {done.stderr[-200:]!r} and exited with {done.returncode}")

        def after():
            placed = self.confluent.produce(topic, fits) + self.java.produce(topic, fits)
            expect_equal([0, 1], [record.offset for record in placed], "offsets after the refusals")

        def broker_limit():
            other = self.create(self.topic("limit"), 1)
            settings = {"message.max.bytes": 4_000_000}
            self.broker_error(KafkaError.MSG_SIZE_TOO_LARGE,
                              lambda: self.confluent.produce(other, [Record(0, -1, -1, None, os.urandom(2_000_000), ())], settings))
            large = [Record(0, -1, 1_700_000_000_000, b"large", os.urandom(1_000_000), ())]
            placed = self.confluent.produce(other, large, settings)
            for client in (self.confluent, self.java):
                compare(placed, client.read(other, ends_of(placed, 1)))
            compare(placed, self.kcat.read(other, None), Kcat.shape)

        self.check(f"{name} by-confluent", self.broker_error, KafkaError.MSG_SIZE_TOO_LARGE,
                   lambda: self.confluent.produce(topic, big))
        self.check(f"{name} by-java", self.java_error, "RecordTooLargeException", lambda: self.java.produce(topic, big))
        self.check(f"{name} by-kcat", kcat)
        self.check(f"{name} nothing-was-written", after)
        self.check(f"{name} broker-default-limit", broker_limit)

    # -- reading ------------------------------------------------------------------------------------------------------------------

    def fetching(self):
        """Small limits, isolation levels, and a reader that waits at the end."""
        name, topic = "fetching", self.topic("fetching")

        def produce():
            self.create(topic)
            return self.java.produce(topic, generate(self.count, topic), {"compression.type": "lz4", "batch.size": 30_000})

        placed = self.check(f"{name} produce", produce)
        if not placed:
            return self.not_run(f"{name} read", "nothing was produced")
        expected, ends = by_place(placed), ends_of(placed)
        # Smaller than a batch: a broker must send the first batch whole, or the reader never moves.
        small = {"fetch.message.max.bytes": 1000, "fetch.max.bytes": 2000, "message.max.bytes": 2000}
        self.check(f"{name} small-limits-by-confluent", lambda: compare(expected, self.confluent.read(topic, ends, small)))
        small = {"max.partition.fetch.bytes": 1, "fetch.max.bytes": 1}
        self.check(f"{name} small-limits-by-java", lambda: compare(expected, self.java.read(topic, ends, small)))
        for level in ("read_committed", "read_uncommitted"):
            self.check(f"{name} {level}-by-java",
                       lambda: compare(expected, self.java.read(topic, ends, {"isolation.level": level})))
            self.check(f"{name} {level}-by-confluent",
                       lambda: compare(expected, self.confluent.read(topic, ends, {"isolation.level": level})))
        self.check(f"{name} check-crcs-by-confluent", lambda: compare(expected, self.confluent.read(topic, ends, {"check.crcs": True})))

        def from_the_middle():
            starts = {p: end // 2 for p, end in ends.items()}
            got = self.confluent.read(topic, ends, starts=starts)
            compare([r for r in expected if r.offset >= starts[r.partition]], got)

        def waits_at_the_end():
            """A record must reach a waiting reader when it is written, not when the reader's wait is over."""
            consumer = self.confluent.consumer({"fetch.wait.max.ms": 10_000, "socket.timeout.ms": 20_000})
            try:
                consumer.assign([TopicPartition(topic, 0, ends[0])])
                message = consumer.poll(3)
                expect(message is None, f"a record was read beyond the end: {message}")
                producer = self.confluent.producer({"linger.ms": 0})
                producer.produce(topic, b"wake up", partition=0)
                producer.flush(MINUTE)
                acknowledged = time.monotonic()
                message = consumer.poll(20)
                waited = time.monotonic() - acknowledged
                expect(message is not None and message.value() == b"wake up", f"the record did not arrive: {message}")
                expect(waited < 2, f"the record arrived {waited:.1f} s after it was acknowledged")
            finally:
                consumer.close()

        self.check(f"{name} from-the-middle-by-confluent", from_the_middle)
        self.check(f"{name} wakes-a-waiting-reader", waits_at_the_end)

    # -- other tools --------------------------------------------------------------------------------------------------------------

    def cluster_tools(self):
        name, topic = "cluster-tools", self.topic("log-dirs")
        cluster = self.check(f"{name} describe-cluster-by-java", lambda: self.java.call("cluster"))
        if not cluster:
            return self.not_run(f"{name} tools", "the cluster cannot be described")

        def cluster_id():
            output = self.tools.run("cluster", "cluster-id", after=True).stdout.decode()
            expect(cluster["id"] in output, f"expected {cluster['id']} in {output!r}")
            expect_equal(cluster["id"], self.admin.list_topics(timeout=MINUTE).cluster_id, "cluster id by confluent")

        def api_versions():
            output = self.tools.run("broker-api-versions").stdout.decode()
            for api in ("Produce", "Fetch", "ListOffsets", "Metadata", "ApiVersions", "CreateTopics", "InitProducerId",
                        "IncrementalAlterConfigs", "DescribeTopicPartitions"):
                expect(re.search(rf"\t{api}\(\d+\): \d+.*\[usable: \d+\]", output), f"no usable version of {api} in the output")

        def log_dirs():
            self.create(topic)
            placed = self.confluent.produce(topic, [Record(p, -1, -1, b"k", b"x" * 1000, ()) for p in (0, 0, 1)])
            expect_equal(3, len(placed), "records")
            output = self.tools.run("log-dirs", "--describe", "--topic-list", topic).stdout.decode()
            answer = next(json.loads(line) for line in output.splitlines() if line.startswith("{"))
            sizes = {}
            for broker in answer["brokers"]:
                for directory in broker["logDirs"]:
                    expect_equal(None, directory["error"], f"error of {directory['logDir']}")
                    for partition in directory["partitions"]:
                        sizes[partition["partition"]] = partition["size"]
                        expect(not partition["isFuture"], f"{partition} is a future replica")
            expect_equal({f"{topic}-{p}" for p in range(PARTITIONS)}, set(sizes), "partitions")
            expect(sizes[f"{topic}-0"] > 2000 > sizes[f"{topic}-1"] > 1000 and sizes[f"{topic}-2"] == 0, f"sizes are {sizes}")
            java = self.java.call("log-dirs", topic=topic, brokers=cluster["nodes"])["sizes"]
            expect_equal({p.rsplit("-", 1)[1]: size for p, size in sizes.items()}, java, "sizes by java")

        def kcat_list():
            listing = json.loads(self.kcat.run("-L", "-J").stdout)
            expect_equal(sorted(cluster["nodes"]), sorted(node["id"] for node in listing["brokers"]), "brokers by kcat")
            expect_equal(cluster["controller"], listing["controllerid"], "controller by kcat")

        def confluent_cluster():
            described = self.admin.describe_cluster().result(MINUTE)
            expect_equal(cluster["id"], described.cluster_id, "cluster id")
            expect_equal(sorted(cluster["nodes"]), sorted(node.id for node in described.nodes), "nodes")

        self.check(f"{name} cluster-id", cluster_id)
        self.check(f"{name} broker-api-versions", api_versions)
        self.check(f"{name} log-dirs", log_dirs)
        self.check(f"{name} kcat-list", kcat_list)
        self.check(f"{name} describe-cluster-by-confluent", confluent_cluster)

    def groups(self):
        """Everything there is, by name: what --only chooses from."""
        groups = {}
        for codec in self.codecs:
            groups[f"kcat-{codec}"] = lambda codec=codec: self.kcat_codec(codec)
            groups[f"confluent-{codec}"] = lambda codec=codec: self.library_codec("confluent", codec)
            groups[f"java-{codec}"] = lambda codec=codec: self.library_codec("java", codec)
            groups[f"console-producer-{codec}"] = lambda codec=codec: self.console_codec(codec)
            groups[f"verifiable-producer-{codec}"] = lambda codec=codec: self.verifiable_codec(codec)
        for group in (self.topics_tool, self.create_delete, self.partitions, self.auto_create, self.configs_tool, self.configs,
                      self.offsets, self.delete_records, self.idempotent, self.acks, self.too_large, self.fetching,
                      self.cluster_tools, self.kcat_group, self.java_group, self.python_group, self.group_tool):
            groups[group.__name__.replace("_", "-")] = group
        for strategy in ("range", "roundrobin", "cooperative-sticky"):
            groups[f"confluent-group-{strategy}"] = lambda strategy=strategy: self.confluent_group(strategy)
        return groups


def compare_unplaced_by_content(sent, got):
    """For acks=0: the content of each partition, in the order sent; equal records are the same to us."""
    expect_equal(len(sent), len(got), "records")
    left = {}
    for record in got:
        left.setdefault((record.timestamp, record.key, record.value, record.headers), []).append(record.partition)
    order = {}
    for index, record in enumerate(sent):
        order.setdefault((record.timestamp, record.key, record.value, record.headers), index)
        places = left.get((record.timestamp, record.key, record.value, record.headers))
        expect(places, f"record {index} is missing")
        partition = places.pop(0)
        expect(record.partition in (-1, partition), f"record {index} is in partition {partition}, not {record.partition}")
    last = {}
    for record in got:
        index = order[record.timestamp, record.key, record.value, record.headers]
        expect(index >= last.get(record.partition, -1), f"{record.partition}@{record.offset} stands out of order")
        last[record.partition] = index


def read_files(tool, data, more):
    """What the broker left is read by Apache Kafka's own tool, and the same is found in it."""
    done = subprocess.run([str(ORACLE / tool), str(data), *map(str, more)], capture_output=True, timeout=15 * MINUTE)
    said = done.stdout.decode(errors="replace").strip().splitlines() or [done.stderr.decode(errors="replace")[-300:]]
    expect(done.returncode == 0, f"{said[0]} … {said[-1]}")
    print(f"# {tool}: {said[-1]}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="run", description="Runs foreign Kafka clients against a broker and compares every record.")
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="a running broker; without it Dohle is built and started")
    parser.add_argument("--records", metavar="N", type=int, help="records for each client and codec (default 10000, --quick 1000)")
    parser.add_argument("--quick", action="store_true", help=f"1000 records and the codecs {' and '.join(QUICK_CODECS)}")
    parser.add_argument("--only", metavar="NAME", action="append",
                        help="only these groups, a name or a pattern such as 'kcat-*'; may be given more than once; "
                             "'list' names them")
    parser.add_argument("--keep", action="store_true", help="keep the working directory (logs, the broker's data)")
    options = parser.parse_args()
    count = options.records or (1000 if options.quick else 10_000)
    if count < 100:
        parser.error("--records must be at least 100, or there is too little of each odd shape")
    codecs = QUICK_CODECS if options.quick and not options.only else CODECS

    directory = Path(tempfile.mkdtemp(prefix="dohle-interop-"))
    server = None
    if options.only == ["list"]:
        print("\n".join(Suite("127.0.0.1:1", count, CODECS, directory).groups()))
        shutil.rmtree(directory, ignore_errors=True)
        return 0
    started = time.monotonic()
    try:
        bootstrap = options.bootstrap
        if bootstrap is None:
            binary = brokers.build()
            port = brokers.free_port()
            server = brokers.dohle(binary, port, directory / "data", directory / "broker.log")
            server.start()
            bootstrap = f"127.0.0.1:{port}"
        print(f"# {count} records for each client and codec, codecs {' '.join(codecs)}, broker at {bootstrap}", flush=True)
        suite = Suite(bootstrap, count, codecs, directory)
        groups = suite.groups()
        chosen = [name for name in groups if not options.only or any(fnmatch.fnmatch(name, only) for only in options.only)]
        if not chosen:
            parser.error(f"no group is called {' or '.join(options.only)}; there are: {' '.join(groups)}")
        for number, name in enumerate(chosen, 1):
            print(f"# {number}/{len(chosen)} {name} ({time.monotonic() - started:.0f} s)", flush=True)
            try:
                groups[name]()
            except Exception as error:  # outside any check: still a failure of this group
                suite.not_run(name, f"{type(error).__name__}: {' '.join(str(error).split())[:400]}")
            if server is not None and not server.alive():
                suite.not_run("broker", f"it ended during {name} with exit code {server.process.returncode}")
                print(server.tail(40), flush=True)
                break
        suite.java.stop()
        if server is not None and server.alive():
            def stops():
                expect_equal(0, server.stop(), "exit code after SIGTERM")
            suite.check("broker stops-on-SIGTERM", stops)
            if not options.quick:
                for name, tool, more in (("check-dir", "check-dir", ()), ("compare-dumps", "compare-dumps", ("--dohle", binary))):
                    suite.check(f"files {name}", read_files, tool, directory / "data", more)
        if suite.failed and server is not None:
            options.keep = True
        print(f"# {time.monotonic() - started:.0f} s" + (f", logs in {directory}" if options.keep else ""), flush=True)
        print(f"{suite.passed} passed, {suite.failed} failed", flush=True)
        return 1 if suite.failed else 0
    except brokers.BrokerError as error:
        print(f"run: {error}", file=sys.stderr)
        options.keep = True
        return 2
    finally:
        if server is not None:
            server.kill()
        if not options.keep:
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
