"""Writers that a broker is killed under, and what has to be there afterwards."""

import threading
import time

import records as kit
from confluent_kafka import KafkaException

import exchange_state as states
import exchange_wire as wire


class Writer(threading.Thread):
    """Sends until it is told to stop or its broker is gone; `acked` is what was acknowledged, by place."""

    def __init__(self, confluent, name, topics, transactional):
        super().__init__(daemon=True)
        config = {"enable.idempotence": True, "linger.ms": 2, "batch.num.messages": 7, "compression.type": "lz4"}
        if transactional:
            config.update({"transactional.id": f"killed-{name}", "transaction.timeout.ms": 800_000, "compression.type": "none"})
        self.name, self.topics, self.transactional = name, topics, transactional
        self.producer, self.stopping, self.count = confluent.producer(config), threading.Event(), 0
        self.acked, self.committed, self.aborted = {}, set(), set()

    def run(self):
        try:
            if self.transactional:
                self.producer.init_transactions(20)
                while not self.stopping.is_set():
                    self.transaction()
            while not self.stopping.is_set():
                self.send([])
                self.producer.poll(0.002)
        except (KafkaException, BufferError):
            pass  # the broker was killed

    def transaction(self):
        places = []
        self.producer.begin_transaction()
        for _ in range(1 + self.count % 4):
            self.send(places)
        self.producer.flush(20)
        if self.count % 3:
            self.producer.commit_transaction(20)
            self.committed.update(places)
        else:
            self.producer.abort_transaction(20)
            self.aborted.update(places)

    def send(self, places):
        topic, number = self.topics[self.count % len(self.topics)], self.count
        key, value, stamp = f"key-{number % 9}".encode(), f"{self.name} {number}".encode(), int(time.time() * 1000)
        self.count += 1

        def delivered(error, message):
            if error is None:
                place = message.partition(), message.offset()
                self.acked[topic, *place] = kit.Record(*place, stamp, key, value, ())
                places.append((topic, *place))

        self.producer.produce(topic, value, key, partition=number % 2, timestamp=stamp, on_delivery=delivered)


def write_and_kill(node, seconds, topics, transactional=()):
    """Keeps writers busy for a while, kills the broker in the middle of it. Returns the writers."""
    name = f"{node.home.name}-{time.time()}"
    writers = [Writer(node.confluent, f"{name}-{n}", written, False) for n, written in enumerate(topics)]
    writers += [Writer(node.confluent, f"{name}-t{n}", written, True) for n, written in enumerate(transactional)]
    for writer in writers:
        writer.start()
    time.sleep(seconds)
    node.kill()
    for writer in writers:
        writer.stopping.set()
    for writer in writers:
        writer.join(60)
        # Or it would go on with what is in its queue as soon as there is a broker again.
        writer.producer.purge()
        writer.producer.flush(1)
        del writer.producer
    return writers


def lost(before, found, writers, cleaner=()):
    """What was there before the writers began has to be the same, and all that was acknowledged has to be there."""
    for field in ("topics", "configs", "groups"):
        yield from states.unequal(field, getattr(before, field), getattr(found, field))
    for (topic, partition, question), offset in before.offsets.items():
        now = found.offsets.get((topic, partition, question))
        if question == "earliest" and now != offset or question == "latest" and now < offset:
            yield f"{question} of {topic}-{partition}: expected {offset}, found {now}"
    there = {}
    for (topic, isolation), rows in before.records.items():
        if isolation != "read_uncommitted" or topic in cleaner:
            continue
        ends = {partition: before.offsets[topic, partition, "latest"] for partition in range(before.topics[topic][1])}
        now = found.records[topic, isolation]
        yield from states.mismatch(f"{topic} before the writers", rows, [row for row in now if row.offset < ends[row.partition]])
        late = [row for row in now if row.offset >= ends[row.partition]]
        there.update({(topic, row.partition, row.offset): row for row in late})
        if len({(row.partition, row.value) for row in late}) != len(late):
            yield f"{topic}: records are there twice"
    for writer in writers:
        for place, record in writer.acked.items():
            if there.get(place) != record:
                yield f"{place} was acknowledged as {kit.brief(record)} and is {kit.brief(there.get(place))}"


def miscommitted(data, found, writers):
    """Readers of committed records have to see what the batches say."""
    for topic, (_, count) in found.topics.items():
        if topic.startswith(states.INTERNAL):
            continue
        seen = {(row.partition, row.offset) for row in found.records[topic, "read_committed"]}
        for partition in range(count):
            bound, ranges = wire.stable(data / f"{topic}-{partition}", found.offsets[topic, partition, "latest"])
            if found.offsets[topic, partition, "stable"] != bound:
                yield f"{topic}-{partition}: stable up to {found.offsets[topic, partition, 'stable']}, by its batches up to {bound}"
            rows = [row.offset for row in found.records[topic, "read_uncommitted"] if row.partition == partition]
            expected = {row for row in rows if any(base <= row <= last for base, last in ranges)}
            got = {offset for place, offset in seen if place == partition}
            if got != expected:
                yield f"{topic}-{partition}: committed are {kit.brief(sorted(expected - got))}, read {kit.brief(sorted(got - expected))}"
    aborted = {place for writer in writers for place in writer.aborted}
    for topic in {topic for topic, _, _ in aborted}:
        for row in found.records[topic, "read_committed"]:
            if (topic, row.partition, row.offset) in aborted:
                yield f"{topic}-{row.partition}@{row.offset} was aborted"

