"""Exchanges data directories with Apache Kafka 4.4, both ways, and compares all that is in them.

    exchange                         both stories below, with the release binary, which is built
    exchange --only clean            one of them: clean (brokers are stopped) or killed (kill -9 under writers)
    exchange --binary PATH           this binary
    exchange --keep                  keeps the working directory also when all is well

Apache Kafka writes a directory: segments in plenty, every codec, idempotent and transactional producers, compacted topics
whose cleaner has been at work, deleted records and topics, groups of both protocols. Dohle opens it as it is and has to hold
the same: ids and configs of topics; offset, time, key, value and headers of every record, uncommitted and committed; first,
last and last stable offsets and those by time; what groups committed; producers (their last batch again is known, the next
one is taken, one that leaves a gap is not). Then Dohle writes and Apache Kafka opens; then Apache Kafka writes once more and Dohle opens.
In each place Kafka's DumpLogSegments (check-dir) and `dohle log verify` read every file. In the killed story the writers are the reference: all
that was acknowledged has to be there, and what readers of committed records see has to be what the batches say.

The comparison itself is put to the test with changed records, ids, configs, offsets and groups.

A line for each check; the working directory is kept after a failure. Exits with 0 if there is no difference.
"""

import argparse
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "interop"))
import broker as brokers  # noqa: E402
import clients  # noqa: E402
import drivers  # noqa: E402
import records as kit  # noqa: E402

import exchange_kill as killing  # noqa: E402
import exchange_load as load  # noqa: E402
import exchange_state as states  # noqa: E402
import exchange_wire as wire  # noqa: E402

# Small coordinators, a cleaner in a hurry, and checkpoints that a kill finds fresh.
SETTINGS = ("offsets.topic.num.partitions=2", "transaction.state.log.num.partitions=2", "log.cleaner.backoff.ms=200",
            "log.cleaner.dedupe.buffer.size=8388608", "log.flush.start.offset.checkpoint.interval.ms=500",
            "offsets.retention.check.interval.ms=500")
OUT_OF_ORDER, FENCED = 45, 47
# What is written while they are killed. (Kafka's cleaner is not at work then: what it leaves half done is Kafka's to finish.)
KAFKA_KILLED = (("codec-none", "shortened"), ("codec-zstd", "txn")), (("txn", "codec-gzip"), ("txn", "codec-lz4"))
DOHLE_KILLED = ("codec-none", "shortened"), ("codec-zstd", "txn")
STARTS = itertools.count(1)
CLEANED = ("compacted", "compacted-soon", "txn-compacted", "__consumer_offsets")


class Node:
    """A data directory, and the broker that has it at the moment."""

    def __init__(self, home, port, binary):
        self.home, self.port, self.binary = Path(home), port, binary
        self.data, self.bootstrap = self.home / "data", f"127.0.0.1:{port}"
        self.broker = self.java = None
        self.times = []

    def kafka(self):
        self.home.mkdir(exist_ok=True)
        command = [str(HERE / "start-kafka"), "--foreground", str(self.home), str(self.port), *SETTINGS]
        return self.start(command, "kafka.log", 90)

    def dohle(self):
        """With the very file that Apache Kafka was started with."""
        return self.start([str(self.binary), "start", "--config", str(self.home / "server.properties")], "dohle.log", 30)

    def start(self, command, log, seconds):
        self.broker = brokers.Broker(command, self.port, self.home / log)
        self.broker.start(seconds)
        self.java = drivers.Java(self.bootstrap, self.home)
        self.confluent = clients.Confluent(self.bootstrap, self.home)
        self.settle()
        write = load.Load(self.java, self.confluent, 1000 * next(STARTS))
        self.times = write.times = self.times + write.times
        return write

    def settle(self):
        """A broker that has just started may tell of leaders that its partitions do not know of yet."""
        admin, deadline = self.confluent.admin(), time.monotonic() + 30
        while True:
            try:
                topics = admin.list_topics(timeout=30).topics.values()
                places = [states.TopicPartition(topic.topic, p) for topic in topics for p in topic.partitions]
                asked = admin.list_offsets({place: states.OffsetSpec.latest() for place in places}) if places else {}
                for future in asked.values():
                    future.result(30)
                return
            except load.KafkaException as error:
                if time.monotonic() > deadline:
                    raise brokers.BrokerError(f"offsets cannot be had 30 s after the start: {error}") from None
                time.sleep(0.3)

    def state(self):
        def reader(topic, ends, config):
            return self.java.read(topic, {partition: -1 for partition in ends}, config)

        return states.read(self.confluent.admin(), reader, lambda: self.java.call("groups")["groups"], sorted(set(self.times)))

    def stop(self):
        self.close()
        code = self.broker.stop(60)
        if code not in (0, 143):  # a JVM says 143 after SIGTERM
            raise brokers.BrokerError(f"exit code {code} after SIGTERM:\n{self.broker.tail()}")

    def kill(self):
        if self.broker is not None:
            self.broker.kill()
        self.close()

    def close(self):
        if self.java is not None:
            self.java.stop()
            self.java = None

    def move(self, home):
        """A copy under another name: nothing in it may depend on where it lies but the file of settings."""
        shutil.copytree(self.home, home)
        settings = Path(home) / "server.properties"
        settings.write_text(settings.read_text().replace(str(self.data), str(Path(home) / "data")))
        moved = Node(home, self.port, self.binary)
        moved.times = self.times
        return moved


class Report:
    def __init__(self):
        self.failures = 0

    def check(self, name, complaints, note=""):
        complaints = list(complaints)
        self.failures += len(complaints)
        for complaint in complaints[:12]:
            print(f"FAIL {name}: {complaint}")
        if len(complaints) > 12:
            print(f"FAIL {name}: and {len(complaints) - 12} more")
        if not complaints:
            print(f"ok {name}{' (' + note + ')' if note else ''}", flush=True)


# -- what is written -----------------------------------------------------------------------------------------------------


def by_kafka(node, write):
    """The first directory, by Apache Kafka."""
    write.create(load.TOPICS)
    write.plain("gone", 50)
    write.plain("again", 50)
    write.codecs(160)
    write.large(900)
    for topic, partitions in (("compacted", 2), ("compacted-soon", 1)):
        write.compacted(topic, 500, partitions)
    write.plain("shortened", 200, 2)
    write.plain("configured", 40)
    write.mark()
    write.transactions("txn", 2, 4)
    write.mark()
    write.librdkafka_transactions("txn")
    write.transactions("txn-compacted", 1, 4)
    write.member("g-classic", "codec-none", "classic")
    write.member("g-consumer", "codec-gzip", "consumer")
    write.set_topic("__consumer_offsets", {"segment.ms": "300", "min.cleanable.dirty.ratio": "0.001"})
    write.transactional_offsets({"g-commit": "commit", "g-abort": "abort"})
    for _ in range(3):
        write.commit_often("g-often", 20)
        time.sleep(0.4)
    write.commit("g-simple", {("large", 0): 17}, "by hand")
    write.commit("g-deleted", {("large", 0): 1})
    write.admin.delete_consumer_groups(["g-deleted"], request_timeout=60)["g-deleted"].result(60)
    write.shorten("shortened", 0.6)
    write.delete("gone", "again")
    write.create({"again": load.TOPICS["again"]})
    write.plain("again", 30)
    for topic, partitions in (("compacted", 2), ("compacted-soon", 1)):
        write.compacted(topic, 150, partitions)
    compacted(node)
    write.leave_open("open", "txn", 1)
    write.transactional_offsets({"g-commit-late": "commit", "g-abort-late": "abort", "g-open": "open"})


def by_dohle(node, write):
    """More of it by Dohle, which has no transactions yet."""
    write.create({"dohles": (2, load.SMALL)})
    write.plain("dohles", 120, 2)
    write.codecs(60)
    write.large(300)
    write.compacted("compacted", 120, 2)
    write.plain("shortened", 80, 2)
    write.plain("configured", 10)
    write.plain("txn", 20, 2)
    write.shorten("shortened", 0.5)
    write.member("g-classic", "codec-none", "classic")
    write.member("g-consumer", "codec-gzip", "consumer")
    write.member("g-new", "codec-zstd", "consumer")
    write.commit("g-simple", {("large", 0): 29}, "by hand, again")
    write.commit("g-dohle", {("dohles", 1): 3})


def by_kafka_again(node, write):
    """And once more by Apache Kafka, over what Dohle wrote."""
    write.finish("open")
    write.finish("offsets-g-open")
    write.plain("dohles", 40, 2)
    write.codecs(40)
    write.transactions("txn", 2, 2)
    write.compacted("compacted", 200, 2)
    write.shorten("shortened", 0.7)
    write.shorten("dohles", 0.5)
    write.member("g-new", "codec-zstd", "consumer")
    write.commit_often("g-often", 20)
    time.sleep(0.4)
    write.commit_often("g-often", 5)
    compacted(node)


def compacted(node):
    """Waits until the cleaner has gone over all that it may."""
    deadline = time.monotonic() + 40
    while True:
        cleaned = checkpoint(node.data / "cleaner-offset-checkpoint")
        behind = [place for place in folders(node.data, CLEANED) if not is_cleaned(node.data / place, cleaned.get(place))]
        if not behind:
            return
        if time.monotonic() > deadline:
            raise brokers.BrokerError(f"Kafka's cleaner has not come to the end of {behind}: {cleaned}")
        time.sleep(0.2)


def is_cleaned(folder, upto):
    """Up to its last segment."""
    bases = sorted(int(file.stem) for file in folder.glob("*.log"))
    return len(bases) < 2 or upto is not None and upto >= bases[-1]


def folders(data, topics):
    return [path.name for path in sorted(data.iterdir()) if path.is_dir() and path.name.rpartition("-")[0] in topics]


def checkpoint(path):
    if not path.exists():
        return {}
    rows = [line.split() for line in path.read_text().splitlines()[2:]]
    return {f"{topic}-{partition}": int(offset) for topic, partition, offset in rows}


# -- producers -----------------------------------------------------------------------------------------------------------


def last_batches(data, topics):
    """The last batch of each idempotent producer in each partition."""
    found = {}
    for place in folders(data, topics):
        topic, _, partition = place.rpartition("-")
        for batch in wire.batches(data / place):
            if batch.producer >= 0 and not batch.is_transactional:
                found[topic, int(partition), batch.producer] = batch
    return found


def producers(node, last):
    """Each producer's last batch again, an older epoch, one behind a gap, the next one, which is taken."""
    for (topic, partition, producer), batch in last.items():
        name = f"{topic}-{partition} producer {producer}"
        end = batch.sequence + batch.count
        ends = node.confluent.admin()

        def send(what, expected, offset=None, **changes):
            code, base = wire.produce(node.port, topic, partition, wire.renumbered(batch, **changes))
            if code not in expected or offset is not None and base != offset:
                yield f"{name}: {what} was answered with error {code}, offset {base}; expected {expected}, {offset}"

        before = latest(ends, topic, partition)
        yield from send("its last batch again", (0,), batch.base)
        yield from send("one behind a gap", (OUT_OF_ORDER,), sequence=end + 7)
        if batch.epoch > 0:
            yield from send("one of an older epoch", (FENCED,), sequence=end, epoch=batch.epoch - 1)
        after = latest(ends, topic, partition)
        if before != after:
            yield f"{name}: the log went from {before} to {after} by batches that it has or cannot take"
        yield from send("the next batch", (0,), after, sequence=end)


def latest(admin, topic, partition):
    place = states.TopicPartition(topic, partition)
    return admin.list_offsets({place: states.OffsetSpec.latest()}, request_timeout=60)[place].result(60).offset


def producer_ids(data):
    return {batch.producer for place in folders(data, load.TOPICS) for batch in wire.batches(data / place)} - {-1}


# -- the stories ---------------------------------------------------------------------------------------------------------


def sound(node):
    """What the tools of both say of the files. Compaction leaves gaps between offsets, in whatever topic."""
    for command in ([str(HERE / "check-dir"), "--allow-gaps"], [str(node.binary), "log", "verify"]):
        done = subprocess.run([*command, str(node.data)], capture_output=True, text=True)
        if done.returncode != 0:
            yield from (done.stdout or done.stderr).splitlines()


def same(node, expected, name, report, cleaner=()):
    found = node.state()
    report.check(name, states.differences(expected, found, cleaner), states.summary(found))


def bites(state):
    """What would be said of each kind of difference."""
    for word, other in states.altered(state):
        said = list(states.differences(state, other))
        if not any(word in sentence for sentence in said):
            yield f"a change of {word} would not be noticed: {said[:1]}"


IDEMPOTENT = tuple(f"codec-{codec}" for codec in load.CODECS)


def stories(work, binary, only, report):
    # A JVM takes long to take its port; other suites that run meanwhile look for theirs further down.
    node = Node(work / "kafka", brokers.free_port(21000 + os.getpid() % 5000 * 2), binary)
    nodes = [node]
    try:
        by_kafka(node, node.kafka())
        before = node.state()
        if only != "clean":
            writers = killing.write_and_kill(node, 2.5, *KAFKA_KILLED)
            nodes.append(node.move(work / "killed"))
            killed(nodes[-1], before, writers, report)
        if only != "killed":
            if only is None:
                node.kafka()
            nodes.append(clean(node, work, report))
    finally:
        for each in nodes:
            each.kill()


def killed(node, before, writers, report):
    """Both brokers are killed while others write, each time with the other one to open what is left."""
    node.dohle()
    found = node.state()
    count = sum(len(writer.acked) for writer in writers)
    report.check("Dohle holds what Apache Kafka had when it was killed", killing.lost(before, found, writers),
                 f"{count} acknowledged by the way, {states.summary(found)}")
    report.check("what is committed there", killing.miscommitted(node.data, found, writers))
    writers = killing.write_and_kill(node, 1.5, DOHLE_KILLED)
    node.kafka()
    again = node.state()
    count = sum(len(writer.acked) for writer in writers)
    report.check("Apache Kafka holds what Dohle had when it was killed", killing.lost(found, again, writers, CLEANED),
                 f"{count} acknowledged by the way, {states.summary(again)}")
    node.stop()
    report.check("what is left, by the tools of both", sound(node))


def clean(first, work, report):
    """Brokers are stopped, and hand over."""
    written = first.state()
    first.stop()
    report.check("what Apache Kafka wrote, by the tools of both", sound(first), states.summary(written))
    node = first.move(work / "exchanged")
    try:
        exchange(node, written, report)
    finally:
        node.kill()
    return node


def exchange(node, written, report):
    last, ids = last_batches(node.data, IDEMPOTENT), producer_ids(node.data)
    write = node.dohle()
    report.check("every kind of change would be noticed", bites(written))
    same(node, written, "Dohle holds what Apache Kafka wrote", report)
    report.check("Dohle knows Kafka's producers", producers(node, last), f"{len(last)} producers")
    by_dohle(node, write)
    written = node.state()
    node.stop()
    fresh = producer_ids(node.data) - ids
    report.check("producer ids are new ones", [f"{min(fresh)} is not above {max(ids)}"] if min(fresh) <= max(ids) else [])
    report.check("what Dohle wrote, by the tools of both", sound(node))

    last = last_batches(node.data, IDEMPOTENT + ("dohles",))
    write = node.kafka()
    same(node, written, "Apache Kafka holds what Dohle wrote", report, CLEANED)
    report.check("Apache Kafka knows Dohle's producers", producers(node, last), f"{len(last)} producers")
    by_kafka_again(node, write)
    written = node.state()
    node.stop()

    last = last_batches(node.data, IDEMPOTENT)
    node.dohle()
    same(node, written, "Dohle holds what Apache Kafka wrote over it", report)
    report.check("Dohle knows all producers", producers(node, last), f"{len(last)} producers")
    node.stop()
    report.check("all of it, by the tools of both", sound(node))


def main():
    parser = argparse.ArgumentParser(prog="exchange", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("clean", "killed"))
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    # So that what was started is stopped then too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    binary = options.binary or brokers.build()
    work = Path(tempfile.mkdtemp(prefix="dohle-exchange-"))
    print(f"# working directory {work}", flush=True)
    report, result = Report(), 2
    try:
        stories(work, binary.resolve(), options.only, report)
        result = 1 if report.failures else 0
    except (brokers.BrokerError, clients.ClientError, drivers.DriverError, load.KafkaException, kit.Mismatch) as error:
        print(f"FAIL {error}")
    finally:
        if options.keep or result != 0:
            print(f"# kept {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)
    return result


if __name__ == "__main__":
    sys.exit(main())
