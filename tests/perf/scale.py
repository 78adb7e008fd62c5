"""Many partitions, many bytes. See `scale`, which starts this in the venv with the client installed."""

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "interop"))
import broker as brokers  # noqa: E402

PER_TOPIC = 1000

# What a node with 10,000 partitions, or 20 GB of logs, may take at most.
LIMITS = {"clean_start_s": 2, "start_after_kill_s": 2, "idle_mb": 60, "peak_mb": 300, "acknowledged_s": 2}


def status(pid, field):
    """A figure of /proc/PID/status in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return round(int(line.split()[1]) / 1024, 1)
    raise brokers.BrokerError(f"/proc/{pid}/status has no {field}")


def handles(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Broker:
    """The broker under test: a process that starts on one directory again and again."""

    def __init__(self, options, directory):
        self.port = brokers.free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"
        binary = options.binary or brokers.build()
        self.server = brokers.dohle(binary, self.port, directory / "data", directory / "broker.log")

    def start(self, topic=None):
        """Seconds until it serves: until a record of that topic is acknowledged, or else it listens."""
        begun = time.monotonic()
        self.server.start(120)
        if topic is not None:
            self.acknowledged(topic, 1)
        return time.monotonic() - begun

    @property
    def pid(self):
        return self.server.process.pid

    def producer(self, **settings):
        return Producer({"bootstrap.servers": self.bootstrap, "acks": "all", **settings})

    def acknowledged(self, topic, partitions):
        """Waits until every partition of a topic has taken a record."""
        producer, failed = self.producer(**{"linger.ms": 0, "message.timeout.ms": 120_000}), []
        for partition in range(partitions):
            producer.produce(topic, b"x" * 100, partition=partition, on_delivery=lambda e, _: failed.append(e) if e else None)
        if producer.flush(120) or failed:
            raise brokers.BrokerError(f"records of {topic} were not acknowledged: {failed[:3]}")


def create(broker, topics, partitions):
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for topic in topics:  # one after the other: a request may not make more than 10,000 records
        admin.create_topics([NewTopic(topic, partitions)], operation_timeout=120)[topic].result(180)


def write_all(broker, topics, partitions, seconds, say):
    """Writes to every partition in turn, as fast as a single producer can. Gives what the broker needs meanwhile."""
    producer = broker.producer(**{"linger.ms": 5, "queue.buffering.max.messages": 1_000_000})
    failed, count, most, deadline = [], 0, 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        for topic in topics:
            for partition in range(partitions):
                while True:
                    try:
                        producer.produce(topic, b"x" * 100, partition=partition,
                                         on_delivery=lambda e, _: failed.append(e) if e else None)
                        break
                    except BufferError:
                        producer.poll(0.1)
                count += 1
            producer.poll(0)
            most = max(most, handles(broker.pid))
    if producer.flush(120) or failed:
        raise brokers.BrokerError(f"records were not acknowledged: {failed[:3]}")
    say(f"{count} records to {len(topics) * partitions} partitions in {seconds} s")
    return {"written": count, "peak_mb": status(broker.pid, "VmHWM"), "rss_mb": status(broker.pid, "VmRSS"), "handles": most}


def partitions(options, broker, say):
    count = max(1, options.count // PER_TOPIC)
    per_topic = min(PER_TOPIC, options.count)
    topics = [f"many-{number}" for number in range(count)]
    broker.start()
    begun = time.monotonic()
    create(broker, topics, per_topic)
    figures = {"partitions": count * per_topic, "create_s": round(time.monotonic() - begun, 2)}
    for topic in topics:
        broker.acknowledged(topic, per_topic)
    say(f"made {count * per_topic} partitions in {figures['create_s']} s, each with a record")
    broker.server.stop(120)
    figures["clean_start_s"] = round(broker.start(topics[-1]), 2)
    time.sleep(5)
    figures["idle_mb"], figures["idle_handles"] = status(broker.pid, "VmRSS"), handles(broker.pid)
    say(f"clean start {figures['clean_start_s']} s, idle {figures['idle_mb']} MB, {figures['idle_handles']} handles")
    figures |= write_all(broker, topics, per_topic, options.seconds, say)
    say(f"all written: {figures['rss_mb']} MB, at most {figures['peak_mb']} MB, {figures['handles']} handles")
    broker.server.kill()
    figures["start_after_kill_s"] = round(broker.start(topics[-1]), 2)
    say(f"start after kill -9: {figures['start_after_kill_s']} s")
    broker.server.stop(120)
    return figures


class Flood(threading.Thread):
    """Writes until it is stopped; what fails after that does not matter."""

    def __init__(self, broker, count):
        super().__init__(daemon=True)
        self.broker, self.count, self.bytes, self.stopping = broker, count, 0, threading.Event()

    def run(self):
        producer = self.broker.producer(**{"linger.ms": 20, "batch.size": 1_000_000, "queue.buffering.max.kbytes": 262_144})
        payload, number = os.urandom(100_000), 0

        def delivered(error, message):
            self.bytes += 0 if error else len(payload)

        while not self.stopping.is_set():
            try:
                producer.produce("flood", payload, partition=number % self.count, on_delivery=delivered)
                number += 1
            except BufferError:
                producer.poll(0.05)
            producer.poll(0)
        producer.purge()


def recovery(options, broker, say):
    count = 4
    broker.start()
    create(broker, ["flood"], count)
    flood, begun = Flood(broker, count), time.monotonic()
    flood.start()
    while flood.bytes < options.gigabytes << 30:
        if time.monotonic() - begun > 1200 or not flood.is_alive():
            raise brokers.BrokerError(f"only {flood.bytes >> 20} MB were written in {time.monotonic() - begun:.0f} s")
        time.sleep(0.01)
    speed = flood.bytes / (time.monotonic() - begun)
    broker.server.kill()
    flood.stopping.set()
    flood.join(30)
    begun = time.monotonic()
    broker.start()
    listens = time.monotonic() - begun
    broker.acknowledged("flood", count)
    figures = {"gigabytes": options.gigabytes, "written_mb_s": round(speed / 1e6), "listens_s": round(listens, 2),
               "acknowledged_s": round(time.monotonic() - begun, 2)}
    say(f"{options.gigabytes} GB at {figures['written_mb_s']} MB/s, killed: listens after {listens:.2f} s, "
        f"every partition takes records after {figures['acknowledged_s']} s")
    broker.server.stop(120)
    return figures


def main():
    parser = argparse.ArgumentParser(prog="scale", description="Many partitions, many bytes.")
    parser.add_argument("what", choices=("partitions", "recovery"))
    parser.add_argument("--count", type=int, default=10_000, metavar="N", help="partitions (default 10,000)")
    parser.add_argument("--seconds", type=int, default=20, metavar="N", help="how long all of them are written (default 20)")
    parser.add_argument("--gigabytes", type=int, default=20, metavar="N", help="of logs before the kill (default 20)")
    parser.add_argument("--binary", type=Path, metavar="PATH", help="a broker that is built already")
    parser.add_argument("--data", type=Path, metavar="DIR", help="where the data go")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--check", action="store_true",
                        help="fail unless " + ", ".join(f"{name} < {most}" for name, most in LIMITS.items()))
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="dohle-scale-", dir=options.data))
    broker = Broker(options, directory)
    try:
        figures = {"partitions": partitions, "recovery": recovery}[options.what](
            options, broker, lambda text: print(f"# {text}", flush=True))
        print(json.dumps(figures))
        if options.json:
            options.json.write_text(json.dumps(figures) + "\n")
        over = {name: most for name, most in LIMITS.items() if figures.get(name, 0) >= most}
        if options.check and over:
            print(f"FAIL scale {', '.join(f'{name} is {figures[name]}, limit {most}' for name, most in over.items())}")
            return 1
        return 0
    except (brokers.BrokerError, KafkaException) as error:
        print(f"FAIL scale {error}")
        return 2
    finally:
        broker.server.kill()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
