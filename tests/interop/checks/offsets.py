"""Offsets by time, and what readers find when records were deleted below one."""

import json
import re
import time

from confluent_kafka import KafkaError, TopicPartition
from confluent_kafka.admin import OffsetSpec

from checks.plumbing import MINUTE, expect, expect_equal
from records import Record


class OffsetChecks:
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
