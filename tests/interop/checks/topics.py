"""Topics: created, described, grown and deleted by each admin client, or by being written to."""

import re
import time

from confluent_kafka import KafkaError
from confluent_kafka.admin import NewPartitions

from checks.plumbing import MINUTE, ends_of, expect, expect_equal
from records import Record, by_place, check_contiguous


class TopicChecks:
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
            names = self.tools.process("topics", "--list").stdout.decode().split()
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
