"""What every check stands on: the clients, topics of its own, one printed line for each check."""

import itertools
import os
import threading
import time
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewTopic

from clients import ClientError, Confluent, Kcat, Tools
from drivers import FOREIGN, DriverError, Java
from records import Mismatch

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


class Plumbing:
    def __init__(self, bootstrap, count, codecs, directory):
        self.count, self.codecs, self.directory = count, codecs, Path(directory)
        self.kcat, self.confluent = Kcat(bootstrap), Confluent(bootstrap, directory)
        self.java = Java(bootstrap, directory)
        self.tools = Tools(bootstrap, directory, self.java)
        self.admin = self.confluent.admin()
        self.foreign = {driver.family: driver(bootstrap, directory) for driver in FOREIGN}
        self.bootstrap, self.server = bootstrap, None
        self.passed, self.failed, self.counting = 0, 0, threading.Lock()
        # Names of their own, so that a broker which has been used before is as good as an empty one.
        self.tag = f"{os.getpid():x}{int(time.time()) & 0xFFFFFF:x}"
        self.serial = itertools.count(1)

    def topic(self, name):
        return f"interop-{name}-{self.tag}-{next(self.serial)}"

    def check(self, name, action, *args, **kwargs):
        """Runs one check and prints its line. Returns what it returns, or None when it failed."""
        started = time.monotonic()
        try:
            result = action(*args, **kwargs)
        except Exception as error:  # whatever goes wrong is this check's failure, and the run goes on
            reason = " ".join(str(error).split()) or type(error).__name__
            if not isinstance(error, (Mismatch, ClientError, DriverError)):
                reason = f"{type(error).__name__}: {reason}"
            self.told(False, f"FAIL {name} {reason[:600]}")
            return None
        self.told(True, f"ok {name} {time.monotonic() - started:.1f}s")
        return True if result is None else result

    def not_run(self, name, reason):
        self.told(False, f"FAIL {name} not run: {reason}")

    def told(self, passed, line):
        """Counts and prints one result: some checks run beside each other."""
        with self.counting:
            self.passed += passed
            self.failed += not passed
            print(line, flush=True)

    def note(self, line):
        with self.counting:
            print(line, flush=True)

    def stop(self):
        for driver in (self.java, *self.foreign.values()):
            driver.stop()

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
            except DriverError as error:
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
        except DriverError as error:
            expect_equal(name, error.name, "error")
            return
        raise Mismatch(f"it succeeded, expected {name}")
