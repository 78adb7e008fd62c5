"""kill -9 under load. See README.md; `kill9` starts this in the venv with the client installed."""

import argparse
import logging
import random
import sys
import threading
import time
from collections import Counter

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import broker as brokers

TOPIC = "kill9"


def payload(seed, writer, partition, number):
    """What record `number` of a writer in a partition holds: anyone can compute it again."""
    rng = random.Random(f"{seed}/{writer}/{partition}/{number}")
    return f"{writer}:{partition}:{number}:".encode() + rng.randbytes(rng.choice((0, 10, 100, 1000)))


# -- the checker ---------------------------------------------------------------------------------------------------------


class History:
    """What was sent, what was acknowledged, and what is there in the end.

    sent:  {(writer, partition): count}: the records are number 0 … count - 1, sent in this order
    acked: {(writer, partition, number): offset}, offset < 0 when the client was not told
    read:  {partition: [(offset, bytes)]} in the order read
    """

    def __init__(self, seed):
        self.seed, self.sent, self.acked, self.read = seed, {}, {}, {}


def check(history):
    """All complaints, as text. Empty: nothing acknowledged was lost, doubled, reordered, moved or changed."""
    complaints, found = [], {}
    for partition, records in sorted(history.read.items()):
        last_number, last_offset = {}, -1
        for offset, data in records:
            place = f"partition {partition} offset {offset}"
            if offset <= last_offset:
                complaints.append(f"order: {place} was read after offset {last_offset}")
            last_offset = offset
            try:
                writer, home, number = (int(part) for part in data.split(b":", 3)[:3])
            except ValueError:
                complaints.append(f"foreign: {place} holds a record nobody sent: {data[:60]!r}")
                continue
            name = f"record {number} of writer {writer}"
            if home != partition or number >= history.sent.get((writer, partition), 0):
                complaints.append(f"foreign: {place} holds {name} for partition {home}, which was not sent there")
                continue
            if data != payload(history.seed, writer, partition, number):
                complaints.append(f"changed: {place} holds {name} with other bytes than were sent")
            if (writer, partition, number) in found:
                complaints.append(
                    f"duplicate: {place} holds {name} again, first at offset {found[writer, partition, number]}"
                )
                continue
            found[writer, partition, number] = offset
            before = last_number.get(writer, -1)
            if number < before:
                complaints.append(f"order: {place} holds {name}, behind record {before}")
            last_number[writer] = max(before, number)
    for (writer, partition, number), offset in sorted(history.acked.items()):
        name = f"record {number} of writer {writer} in partition {partition}"
        if (writer, partition, number) not in found:
            complaints.append(f"lost: {name} was acknowledged at offset {offset} and is not there")
        elif offset >= 0 and found[writer, partition, number] != offset:
            complaints.append(
                f"moved: {name} was acknowledged at offset {offset} and is at {found[writer, partition, number]}"
            )
    return complaints


def self_test():
    """The checker must accept a sound history and complain, with the right word, about each kind of broken one."""

    def sound():
        history = History("self-test")
        for partition in range(3):
            history.read[partition] = []
            for number in range(20):
                for writer in range(2):
                    offset = len(history.read[partition])
                    history.read[partition].append((offset, payload("self-test", writer, partition, number)))
                    history.acked[writer, partition, number] = offset
            for writer in range(2):
                history.sent[writer, partition] = 20
        return history

    def renumber(records):
        return [(offset, data) for offset, (_, data) in enumerate(records)]

    def untouched(history):
        pass

    def never_acknowledged(history):
        # A record in flight at the end may be there or not.
        del history.acked[1, 2, 19]
        history.read[2].pop()

    def not_told_where(history):
        history.acked[0, 0, 3] = -1

    def lost_at_the_end(history):
        history.read[1].pop()

    def lost_in_the_middle(history):
        del history.read[1][10]

    def lost_partition(history):
        history.read[0] = []

    def duplicated_next_to_it(history):
        history.read[0].insert(5, history.read[0][4])
        history.read[0] = renumber(history.read[0])

    def duplicated_far_behind(history):
        history.read[2].append((len(history.read[2]), history.read[2][3][1]))

    def reordered(history):
        records = history.read[1]
        records[8], records[10] = (8, records[10][1]), (10, records[8][1])

    def reordered_without_offsets(history):
        # As above, but the acknowledgements did not say where: only the order can tell.
        reordered(history)
        history.acked = {key: -1 for key in history.acked}

    def changed(history):
        offset, data = history.read[0][7]
        history.read[0][7] = (offset, data + b"?")

    def foreign(history):
        history.read[0].append((len(history.read[0]), b"who am I"))

    def wrong_partition(history):
        history.read[0].append((len(history.read[0]), history.read[1][0][1]))

    def offsets_step_back(history):
        history.read[0][5], history.read[0][6] = history.read[0][6], history.read[0][5]

    failures = 0
    for break_it, word in (
        (untouched, None), (never_acknowledged, None), (not_told_where, None),
        (lost_at_the_end, "lost"), (lost_in_the_middle, "lost"), (lost_partition, "lost"),
        (duplicated_next_to_it, "duplicate"), (duplicated_far_behind, "duplicate"),
        (reordered, "order"), (reordered_without_offsets, "order"), (offsets_step_back, "order"),
        (changed, "changed"), (foreign, "foreign"), (wrong_partition, "foreign"),
    ):
        history = sound()
        break_it(history)
        complaints = check(history)
        kinds = {complaint.split(":")[0] for complaint in complaints}
        right = not complaints if word is None else word in kinds
        failures += not right
        print(f"{'ok' if right else 'FAIL'} self-test {break_it.__name__} {complaints[0] if complaints else 'no complaint'}")
    return failures


# -- the load ------------------------------------------------------------------------------------------------------------


class Writer(threading.Thread):
    """One idempotent producer that lives through all the kills. `partitions`: the indexes that it writes to."""

    RATE = 3000  # records a second: enough to keep five requests in flight, little enough to read back quickly
    WINDOW = 2000

    def __init__(self, number, bootstrap, partitions, seed, logger):
        super().__init__(daemon=True)
        self.number, self.partitions, self.seed = number, partitions, seed
        self.sent, self.acked, self.errors = Counter(), {}, []
        self.stopping = threading.Event()
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": f"kill9-writer-{number}",
                "enable.idempotence": True,
                "acks": "all",
                "max.in.flight.requests.per.connection": 5,
                "linger.ms": 2,
                "batch.num.messages": 40,
                "message.timeout.ms": 300_000,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "retry.backoff.ms": 20,
                "compression.type": ("none", "lz4")[number % 2],
                "error_cb": self.on_error,
            },
            logger=logger,
        )

    def on_error(self, error):
        if error.fatal():
            self.errors.append(f"fatal error of the producer: {error}")

    def run(self):
        rng = random.Random(f"{self.seed}/load/{self.number}")
        outstanding, begun, total = 0, time.monotonic(), 0

        def delivered(key):
            def callback(error, message):
                nonlocal outstanding
                outstanding -= 1
                if error is None:
                    self.acked[key] = message.offset()
                else:
                    self.errors.append(f"{key} failed: {error}")

            return callback

        try:
            while not self.stopping.is_set() and not self.errors:
                ahead = total - (time.monotonic() - begun) * self.RATE
                if ahead < -self.RATE:  # it was down: no burst to catch up
                    begun = time.monotonic() - total / self.RATE
                if outstanding >= self.WINDOW or ahead > 0:
                    self.producer.poll(0.005)
                    continue
                partition = rng.choice(self.partitions)
                key = (self.number, partition, self.sent[partition])
                try:
                    self.producer.produce(TOPIC, payload(self.seed, *key), partition=partition, on_delivery=delivered(key))
                except BufferError:
                    self.producer.poll(0.05)
                    continue
                self.sent[partition] += 1
                outstanding += 1
                total += 1
                self.producer.poll(0)
            left = self.producer.flush(120)
            if left:
                self.errors.append(f"{left} records were not delivered within 120 s of the last restart")
        except KafkaException as error:
            self.errors.append(str(error))


def read_all(bootstrap, partitions, logger, patience=120):
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "kill9-never-used", "enable.auto.commit": False, "check.crcs": True,
         "auto.offset.reset": "error"},
        logger=logger,
    )
    try:
        ends, read = {}, {partition: [] for partition in partitions}
        for partition in partitions:
            low, ends[partition] = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=60)
            if low != 0:
                raise brokers.BrokerError(f"partition {partition} starts at offset {low}, expected 0")
        consumer.assign([TopicPartition(TOPIC, p, 0) for p in ends if ends[p] > 0])
        left, deadline = {p for p in ends if ends[p] > 0}, time.monotonic() + patience
        while left:
            if time.monotonic() > deadline:
                raise brokers.BrokerError(f"reading back was not done within {patience} s; partitions {left} are not at their end")
            for message in consumer.consume(1000, timeout=0.5):
                if message.error():
                    raise KafkaException(message.error())
                read[message.partition()].append((message.offset(), message.value()))
                if message.offset() + 1 >= ends[message.partition()]:
                    left.discard(message.partition())
        return read
    finally:
        consumer.close()


def acknowledged(writers):
    return sum(len(writer.acked) for writer in writers)


def history_of(writers, seed, read):
    history = History(seed)
    for writer in writers:
        history.sent.update({(writer.number, partition): writer.sent[partition] for partition in writer.partitions})
        history.acked.update(writer.acked)
    history.read = read
    return history


def run(options, directory):
    rng = random.Random(options.seed)
    port = brokers.free_port()
    bootstrap = f"127.0.0.1:{port}"
    data, log = directory / "data", directory / "broker.log"
    data.mkdir()
    if options.command:
        server = brokers.Broker(options.command.format(port=port, dir=data), port, log)
    else:
        server = brokers.dohle(brokers.build(), port, data, log)
    logger = logging.getLogger("librdkafka")
    logger.propagate = False
    logger.addHandler(logging.FileHandler(directory / "librdkafka.log"))

    writers = []
    try:
        server.start(options.start_seconds)
        admin = AdminClient({"bootstrap.servers": bootstrap}, logger=logger)
        admin.create_topics([NewTopic(TOPIC, options.partitions)], operation_timeout=30)[TOPIC].result(60)
        writers = [Writer(n, bootstrap, range(options.partitions), options.seed, logger) for n in range(options.writers)]
        for writer in writers:
            writer.start()
        for number in range(1, options.rounds + 1):
            before, patience = acknowledged(writers), time.monotonic() + options.start_seconds + 60
            # One round in five is killed while it still recovers; the others once records flow again.
            early = number > 1 and rng.random() < 0.2
            moment = rng.uniform(0, 0.1) if early else rng.uniform(0.05, 1.5)
            while not early and acknowledged(writers) == before and not any(w.errors for w in writers):
                if time.monotonic() > patience:
                    raise brokers.BrokerError(f"round {number}: no record was acknowledged after the restart")
                if not server.alive():
                    raise brokers.BrokerError(f"round {number}: the broker ended by itself:\n{server.tail()}")
                time.sleep(0.005)
            time.sleep(moment)
            if any(w.errors for w in writers):
                break
            if not server.alive():
                raise brokers.BrokerError(f"round {number}: the broker ended by itself:\n{server.tail()}")
            server.kill()
            killed = time.monotonic()
            time.sleep(rng.uniform(0, 0.3))
            server.start(options.start_seconds)
            print(f"# round {number}/{options.rounds}: killed {moment:.2f} s {'into recovery' if early else 'into the load'}, "
                  f"{acknowledged(writers)} acknowledged, up again {time.monotonic() - killed:.2f} s later", flush=True)
        for writer in writers:
            writer.stopping.set()
        for writer in writers:
            writer.join(180)
            if writer.is_alive():
                writer.errors.append("it did not finish within 180 s")

        history = history_of(writers, options.seed, read_all(bootstrap, range(options.partitions), logger))
        complaints = [f"writer {w.number}: {error}" for w in writers for error in w.errors[:5]] + check(history)
        code = server.stop()
        if code != 0 and not options.command:
            complaints.append(f"exit: code {code} after SIGTERM, expected 0")
    finally:
        for writer in writers:
            writer.stopping.set()
        server.kill()

    total = sum(len(records) for records in history.read.values())
    for complaint in complaints[:20]:
        print(f"FAIL kill9 {complaint}")
    if len(complaints) > 20:
        print(f"FAIL kill9 … and {len(complaints) - 20} more")
    kinds = Counter(complaint.split(":")[0] for complaint in complaints)
    verdict = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "nothing lost, doubled or out of order"
    print(f"kill9: {options.rounds} rounds, seed {options.seed}, {sum(history.sent.values())} sent, {len(history.acked)} acknowledged, "
          f"{total} read: {verdict}")
    return 1 if complaints else 0


def main():
    parser = argparse.ArgumentParser(
        prog="kill9", description="Kills a broker with SIGKILL under idempotent load, again and again, and reads everything back.")
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the moments and the records (default: the time)")
    parser.add_argument("--partitions", type=int, default=4, metavar="N")
    parser.add_argument("--writers", type=int, default=2, metavar="N")
    parser.add_argument("--command", metavar="SHELL", help="starts another broker in the foreground, on {port} with its data in {dir}")
    parser.add_argument("--start-seconds", type=int, default=60, metavar="N", help="how long a start may take (default 60)")
    parser.add_argument("--keep", action="store_true", help="keep the working directory (logs, the broker's data)")
    parser.add_argument("--self-test", action="store_true", help="only prove that the checker complains about broken histories")
    options = parser.parse_args()
    failures = self_test()
    if failures:
        print(f"kill9: the checker failed {failures} of its own tests")
        return 1
    if options.self_test:
        return 0

    print(f"# seed {options.seed}, {options.rounds} rounds", flush=True)
    return brokers.in_a_folder("kill9", options.keep, (KafkaException,), lambda folder: run(options, folder))


if __name__ == "__main__":
    sys.exit(main())
