"""Consumer groups of foreign clients: who reads what, who commits what, what the tools say of it."""

import threading
import time

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from kafka import KafkaConsumer
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as PythonTopicPartition

from clients import PATIENCE, ClientError
from records import Mismatch, generate

PARTITIONS = 6
OVERTAKEN = (KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS)


class Readers:
    """What the members of one group have read: every record has to come, and within a member each partition in order."""

    def __init__(self, total):
        self.total, self.lock = total, threading.Lock()
        self.seen, self.again, self.trouble = set(), 0, []

    def take(self, member, partition, offset):
        with self.lock:
            last = member.setdefault(partition, -1)
            if offset <= last:
                self.trouble.append(f"{partition}@{offset} came after {last}")
            member[partition] = offset
            self.again += (partition, offset) in self.seen
            self.seen.add((partition, offset))

    def done(self):
        with self.lock:
            return len(self.seen) >= self.total or bool(self.trouble)

    def check(self):
        if self.trouble:
            raise Mismatch(f"{len(self.trouble)} records out of order, first: {self.trouble[0]}")
        if len(self.seen) != self.total:
            raise Mismatch(f"{len(self.seen)} of {self.total} records were read")


class ConfluentMember(threading.Thread):
    """A librdkafka consumer that commits what it has handed on before it gives partitions up."""

    def __init__(self, suite, group, topic, readers, config=None):
        super().__init__(daemon=True)
        settings = {"group.id": group, "auto.offset.reset": "earliest", "session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
        self.consumer = suite.confluent.consumer({**settings, **(config or {})})
        self.topic, self.readers, self.leaving = topic, readers, threading.Event()
        self.last, self.assigned, self.trouble = {}, set(), None

    def run(self):
        try:
            self.consumer.subscribe([self.topic], on_assign=self.on_assign, on_revoke=self.on_revoke, on_lost=self.on_lost)
            while not self.leaving.is_set():
                for message in self.consumer.consume(500, timeout=0.1):
                    if message.error():
                        raise KafkaException(message.error())
                    self.readers.take(self.last, message.partition(), message.offset())
            self.commit_at_last()
        except Exception as error:  # told by whoever waits for the member
            self.trouble = error
        finally:
            self.consumer.close()

    def commit(self):
        offsets = [TopicPartition(self.topic, partition, last + 1) for partition, last in self.last.items() if partition in self.assigned]
        if offsets:
            self.consumer.commit(offsets=offsets, asynchronous=False)

    def commit_at_last(self):
        """A commit meets a generation that is over while a cooperative rebalance goes on: once it is through, it counts."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self.commit()
            except KafkaException as error:
                if error.args[0].code() not in OVERTAKEN or time.monotonic() > deadline:
                    raise
            for message in self.consumer.consume(1, timeout=0.1):
                self.readers.take(self.last, message.partition(), message.offset())

    def on_assign(self, _, partitions):
        for partition in partitions:
            # The position is the committed one: what this member read before may come again, from another's commit on.
            self.last.pop(partition.partition, None)
        # A cooperative assignor tells only what is new.
        self.assigned |= {partition.partition for partition in partitions}

    def on_revoke(self, _, partitions):
        try:
            self.commit()
        except KafkaException as error:
            if error.args[0].code() not in OVERTAKEN:  # else whoever gets the partition reads a little again
                raise
        self.assigned -= {partition.partition for partition in partitions}

    def on_lost(self, _, partitions):
        self.assigned -= {partition.partition for partition in partitions}

    def leave(self):
        self.leaving.set()
        self.join(PATIENCE)
        if self.is_alive():
            raise ClientError("a member does not leave")
        if self.trouble is not None:
            raise self.trouble


class GroupChecks:
    """Mixed into the suite."""

    def filled(self, name, count=None):
        """A topic with records in all partitions, and where each partition ends."""
        topic = self.create(self.topic(name), PARTITIONS)
        count = count or self.count
        records = [record._replace(partition=index % PARTITIONS) for index, record in enumerate(generate(count, "confluent"))]
        self.confluent.produce(topic, records)
        return topic, {partition: len(range(partition, count, PARTITIONS)) for partition in range(PARTITIONS)}

    def committed(self, group, topic, partitions=PARTITIONS):
        wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition) for partition in range(partitions)])
        found = self.admin.list_consumer_group_offsets([wanted])[group].result(PATIENCE)
        return {part.partition: part.offset for part in found.topic_partitions}

    def expect_committed(self, group, topic, ends):
        found = self.committed(group, topic)
        if found != ends:
            raise Mismatch(f"committed {found}, expected {ends}")

    def confluent_group(self, strategy):
        """Members come and go while the group reads; everything is read, and everything is committed at the end."""
        name = f"group-confluent-{strategy}"

        def churn():
            topic, ends = self.filled(name)
            group = f"{topic}-group"
            readers = Readers(sum(ends.values()))
            config = {"partition.assignment.strategy": strategy}
            members = []
            for _ in range(4):
                member = ConfluentMember(self, group, topic, readers, config)
                member.start()
                members.append(member)
                time.sleep(0.5)
            members.pop(0).leave()
            deadline = time.monotonic() + PATIENCE
            while not readers.done():
                if time.monotonic() > deadline:
                    break
                time.sleep(0.1)
            for member in members:
                member.leave()
            readers.check()
            self.expect_committed(group, topic, ends)

        self.check(f"{name} churn", churn)

    def kcat_group(self):
        def read():
            topic, ends = self.filled("group-kcat")
            group, total = f"{topic}-group", sum(ends.values())
            for count in (total // 2, total - total // 2):
                settings = ["-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=6000"]
                done = self.kcat.run("-G", group, *settings, "-q", "-c", str(count), "-f", "%p %o\n", topic)
                lines = done.stdout.split(b"\n")[:-1]
                if len(lines) != count:
                    raise Mismatch(f"kcat read {len(lines)} of {count} records")
            self.expect_committed(group, topic, ends)

        self.check("group-kcat resumes", read)

    def java_group(self, protocol="classic"):
        """The console consumer: reads a part, then goes on where it was."""

        def read():
            topic, ends = self.filled(f"group-java-{protocol}")
            group, total = f"{topic}-group", sum(ends.values())
            seen = set()
            for count in (total // 3, total - total // 3):
                args = ["--topic", topic, "--group", group, "--max-messages", str(count), "--timeout-ms", "20000"]
                for setting in ("auto.offset.reset=earliest", f"group.protocol={protocol}"):
                    args += ["--command-property", setting]
                for shown in ("partition", "offset"):
                    args += ["--formatter-property", f"print.{shown}=true"]
                args += ["--formatter-property", "print.value=false"]
                done = self.tools.run("console-consumer", *args)
                lines = done.stdout.split(b"\n")[:-1]
                if len(lines) != count:
                    raise Mismatch(f"{len(lines)} of {count} records were read: {done.stderr[-300:]!r}")
                if seen & set(lines):
                    raise Mismatch(f"{len(seen & set(lines))} records were read again")
                seen |= set(lines)
            self.expect_committed(group, topic, ends)

        self.check(f"group-java-{protocol} resumes", read)

    def python_group(self):
        """kafka-python: two members, manual commits."""

        def read():
            topic, ends = self.filled("group-python")
            group, total = f"{topic}-group", sum(ends.values())
            readers, members, stop, trouble = Readers(total), [], threading.Event(), []

            def member():
                last = {}
                try:
                    consumer = KafkaConsumer(
                        topic, bootstrap_servers=self.confluent.bootstrap, group_id=group, auto_offset_reset="earliest",
                        enable_auto_commit=False, session_timeout_ms=6000, heartbeat_interval_ms=500,
                    )
                    while not stop.is_set():
                        for records in consumer.poll(timeout_ms=200).values():
                            for record in records:
                                readers.take(last, record.partition, record.offset)
                        positions = {
                            PythonTopicPartition(topic, partition): OffsetAndMetadata(offset + 1, "", -1)
                            for partition, offset in last.items()
                            if PythonTopicPartition(topic, partition) in consumer.assignment()
                        }
                        if positions:
                            consumer.commit(positions)
                    consumer.close(autocommit=False)
                except Exception as error:
                    trouble.append(error)

            for _ in range(2):
                members.append(threading.Thread(target=member, daemon=True))
                members[-1].start()
            deadline = time.monotonic() + PATIENCE
            while not readers.done() and not trouble and time.monotonic() < deadline:
                time.sleep(0.1)
            time.sleep(1)
            stop.set()
            for thread in members:
                thread.join(PATIENCE)
            if trouble:
                raise trouble[0]
            if len(readers.seen) != total:
                raise Mismatch(f"{len(readers.seen)} of {total} records were read")
            self.expect_committed(group, topic, ends)

        self.check("group-python two-members", read)
