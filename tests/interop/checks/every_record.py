"""Every record, through each client, in each codec: what one wrote, all the others read."""

import json
import time

from checks.plumbing import MINUTE, PARTITIONS, ends_of, expect, expect_equal
from clients import Kcat, Tools
from records import Record, by_place, check_contiguous, compare, compare_unplaced, generate, generate_text


class RecordChecks:
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

    def read_back_by(self, client, prefix, topic, expected):
        """The client itself reads all records, and so does the Java client."""
        expected = by_place(expected)
        ends = ends_of(expected)
        self.check(f"{prefix} read-by-{client.family}", lambda: compare(expected, client.read(topic, ends)))
        self.check(f"{prefix} read-by-java", lambda: compare(expected, self.java.read(topic, ends)))

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
        """A client library: any key, value, headers and time, anywhere."""
        name = f"{family}-{codec}"
        topic = self.topic(name)
        client = {"confluent": self.confluent, "java": self.java, **self.foreign}[family]
        create = self.confluent_create if family == "confluent" else self.create

        def produce():
            config = {"compression.type": codec, "linger.ms": 20, "acks": "all"}
            records = generate(self.count, name)
            if family in self.foreign:
                records = [client.sendable(record) for record in records]
            placed = client.produce(topic, records, config)
            expect_equal(self.count, len(placed), "records")
            # confluent-kafka's queue for a partition the caller chose and the ones the partitioner chose is the same.
            check_contiguous(placed, name)
            return placed

        if not self.check(f"{name} create-topic", create, topic):
            return self.not_run(f"{name} produce", "there is no topic")
        placed = self.check(f"{name} produce", produce)
        if placed and family in self.foreign:
            self.read_back_by(client, name, topic, placed)
        elif placed:
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
