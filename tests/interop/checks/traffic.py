"""Producing with and without idempotence, with each kind of acknowledgement, too much at once; reading within limits."""

import os
import time

from confluent_kafka import KafkaError, TopicPartition

from checks.plumbing import MINUTE, PARTITIONS, ends_of, expect, expect_equal
from clients import Kcat
from records import Record, by_place, check_contiguous, compare, generate


class TrafficChecks:
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
