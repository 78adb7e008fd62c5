"""A disk that fills up under load. See README.md; `fulldisk` starts this where it may mount a file system."""

import argparse
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

import broker as brokers
import kill9

BALLAST = "to-be-deleted"


class Disk:
    """A file system of a fixed size, with a file that takes up most of it."""

    def __init__(self, place, megabytes):
        self.place, self.filler = place, place / "filler"
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)], check=True)

    def free(self):
        stat = os.statvfs(self.place)
        return stat.f_bavail * stat.f_frsize

    def fill(self, leave):
        """Takes all but `leave` bytes."""
        with open(self.filler, "ab") as file:
            while (left := self.free() - leave) > 0:
                try:
                    file.write(os.urandom(min(left, 1 << 20)))
                    file.flush()
                except OSError:
                    return

    def make_space(self):
        self.filler.unlink()

    def unmount(self):
        subprocess.run(["umount", "--lazy", str(self.place)], check=False)


def wait_until(what, condition, seconds, server):
    deadline = time.monotonic() + seconds
    while not condition():
        if not server.alive():
            raise brokers.BrokerError(f"the broker ended while waiting until {what}:\n{server.tail()}")
        if time.monotonic() > deadline:
            raise brokers.BrokerError(f"{seconds} s have passed, and not: {what}:\n{server.tail()}")
        time.sleep(0.05)


class Member(threading.Thread):
    """A member of a group that was there before the disk was full: it goes on reading, although nothing can be committed."""

    def __init__(self, bootstrap, logger):
        super().__init__(daemon=True)
        self.seen, self.stopping = set(), threading.Event()
        self.consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "readers", "auto.offset.reset": "earliest", "auto.commit.interval.ms": 500},
            logger=logger,
        )
        self.consumer.subscribe([kill9.TOPIC])

    def run(self):
        while not self.stopping.is_set():
            for message in self.consumer.consume(1000, timeout=0.2):
                if not message.error():
                    self.seen.add((message.partition(), message.offset()))
        self.consumer.close()


class Run:
    def __init__(self, options, directory):
        self.options = options
        self.disk = Disk(directory / "disk", options.megabytes)
        port = brokers.free_port()
        self.bootstrap, self.log = f"127.0.0.1:{port}", directory / "broker.log"
        self.server = brokers.dohle(options.binary or brokers.build(), port, self.disk.place / "data", self.log)
        self.logger = logging.getLogger("librdkafka")
        self.logger.propagate = False
        self.logger.addHandler(logging.FileHandler(directory / "librdkafka.log"))
        self.complaints, self.member = [], None

    def create(self, topic, partitions):
        admin = AdminClient({"bootstrap.servers": self.bootstrap}, logger=self.logger)
        admin.create_topics([NewTopic(topic, partitions)], operation_timeout=30)[topic].result(60)

    def check(self, writers, when):
        """Everything that was acknowledged by now can be read, by assignment."""
        before = [dict(writer.acked) for writer in writers]
        read = kill9.read_all(self.bootstrap, range(self.options.partitions), self.logger)
        history = kill9.history_of(writers, self.options.seed, read)
        history.acked = {key: offset for acked in before for key, offset in acked.items()}
        self.complaints += [f"{when}: {complaint}" for complaint in kill9.check(history)]
        return sum(len(records) for records in read.values())

    def said(self, text):
        return self.log.read_text(errors="replace").count(text)

    def until_full(self, writers):
        times = self.said("is full")
        self.disk.fill(self.options.room << 10)
        wait_until("the broker says that its disk is full", lambda: self.said("is full") > times, 60, self.server)
        time.sleep(1.5)
        stalled = kill9.acknowledged(writers)
        time.sleep(1.5)
        if kill9.acknowledged(writers) != stalled:
            self.complaints.append("records were acknowledged on the full disk")
        return stalled

    def until_it_goes_on(self, writers, stalled):
        begun = time.monotonic()
        wait_until("records are acknowledged again", lambda: kill9.acknowledged(writers) > stalled, 60, self.server)
        return time.monotonic() - begun

    def until_read(self, count):
        wait_until(f"the group has read all {count} records", lambda: len(self.member.seen) >= count, 60, self.server)

    def round(self, number, writers):
        stalled = self.until_full(writers)
        there = self.check(writers, f"round {number}, full")
        self.until_read(there)
        for how in ("stopped", "killed"):
            if how == "stopped":
                code = self.server.stop()
                if code != 0:
                    self.complaints.append(f"round {number}: exit code {code} after SIGTERM on the full disk, expected 0")
            else:
                self.server.kill()
            begun = time.monotonic()
            self.server.start(self.options.start_seconds)
            took = time.monotonic() - begun
            self.until_read(self.check(writers, f"round {number}, {how} on the full disk"))
            print(f"# round {number}: {how} and started on the full disk in {took:.2f} s", flush=True)
        stalled = max(stalled, kill9.acknowledged(writers))
        self.disk.make_space()
        took = self.until_it_goes_on(writers, stalled)
        print(f"# round {number}: full with {stalled} acknowledged, {there} read; goes on {took:.2f} s after there was space", flush=True)

    def free_by_deletion(self, writers):
        """A topic is deleted on the full disk: that alone makes the space."""
        stalled = self.until_full(writers)
        admin = AdminClient({"bootstrap.servers": self.bootstrap}, logger=self.logger)
        admin.delete_topics([BALLAST], operation_timeout=30)[BALLAST].result(60)
        took = self.until_it_goes_on(writers, stalled)
        print(f"# a topic was deleted on the full disk, {took:.2f} s later records are acknowledged", flush=True)

    def run(self):
        options, writers = self.options, []
        try:
            self.server.start(options.start_seconds)
            self.create(kill9.TOPIC, options.partitions)
            self.create(BALLAST, 1)
            self.write_ballast()
            writers = [kill9.Writer(n, self.bootstrap, range(options.partitions), options.seed, self.logger) for n in range(2)]
            for writer in writers:
                writer.start()
            self.member = Member(self.bootstrap, self.logger)
            self.member.start()
            wait_until("the group reads", lambda: self.member.seen, 60, self.server)
            for number in range(1, options.rounds + 1):
                self.round(number, writers)
            self.free_by_deletion(writers)
            for writer in writers:
                writer.stopping.set()
            for writer in writers:
                writer.join(180)
            total = self.check(writers, "in the end")
            self.complaints += [f"writer {w.number}: {error}" for w in writers for error in w.errors[:5]]
            self.until_read(total)
            self.member.stopping.set()
            self.member.join(30)
            code = self.server.stop()
            if code != 0:
                self.complaints.append(f"exit code {code} after SIGTERM, expected 0")
            return kill9.acknowledged(writers), total
        finally:
            for writer in writers:
                writer.stopping.set()
            self.server.kill()
            self.disk.unmount()

    def write_ballast(self):
        producer = Producer({"bootstrap.servers": self.bootstrap}, logger=self.logger)
        for _ in range(12):
            producer.produce(BALLAST, os.urandom(900_000))
        if producer.flush(60):
            raise brokers.BrokerError("the topic that is to be deleted could not be written")


def verdict(options, directory):
    run = Run(options, directory)
    acked, total = run.run()
    for complaint in run.complaints[:20]:
        print(f"FAIL fulldisk {complaint}")
    told = f"{len(run.complaints)} complaints" if run.complaints else "nothing acknowledged was lost, doubled or out of order"
    print(f"fulldisk: {options.rounds} rounds, seed {options.seed}, {acked} acknowledged, {total} read: {told}")
    return 1 if run.complaints else 0


def main():
    parser = argparse.ArgumentParser(prog="fulldisk", description="Fills the disk under a broker that is written to.")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the records (default: the time)")
    parser.add_argument("--partitions", type=int, default=4, metavar="N")
    parser.add_argument("--megabytes", type=int, default=96, metavar="N", help="size of the file system (default 96)")
    parser.add_argument("--room", type=int, default=700, metavar="KB", help="left to the broker each time (default 700)")
    parser.add_argument("--binary", type=Path, metavar="PATH", help="a broker that is built already")
    parser.add_argument("--start-seconds", type=int, default=60, metavar="N", help="how long a start may take (default 60)")
    parser.add_argument("--keep", action="store_true", help="keep the logs")
    options = parser.parse_args()
    print(f"# seed {options.seed}, {options.rounds} rounds, {options.megabytes} MB", flush=True)
    return brokers.in_a_folder("fulldisk", options.keep, (KafkaException,), lambda folder: verdict(options, folder))


if __name__ == "__main__":
    sys.exit(main())
