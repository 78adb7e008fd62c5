"""dohle-client against librdkafka: throughput, CPU time per record, latency at a fixed rate.

Both clients are driven by twins (tests/examples/client_perf.rs, tests/perf/librdkafka.c) through the calls that a user in a hurry
makes, with the same settings where a setting matters (SAME), and take turns on the same broker: which of them begins changes from
round to round. A figure is the median of the rounds, and a verdict compares medians.

- produce: COUNT records without key to a new topic of PARTITIONS partitions, every one acknowledged
- consume: the same COUNT records, read from the beginning by a group of one
- rate: RATE records a second are written and read at the same time by two processes of the same client; what a record takes from the
  call that sends it to its acknowledgement, and to the call that gives it out; without the first second, in which connections are made

CPU time is that of the whole process, user and system. The broker runs on the same cores, so throughput is bounded by what the
client and the broker take together. Its data directory is in memory where there is /dev/shm: clients are compared, not disks.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "interop"))
import broker as brokers  # noqa: E402

CLIENTS = ("dohle", "librdkafka")
PARTITIONS = 4
# Bytes of the values of one measured round: enough for some seconds.
VOLUME = 1_200_000_000
RATE = 10_000
RATE_SECONDS = 11
LIMIT = 300
MEMORY = Path("/dev/shm")

# Kafka's defaults where the two differ, and a batch size at which neither is held up by the number of requests.
SAME = {
    "produce": {"acks": "all", "enable.idempotence": "true", "linger.ms": "5", "batch.size": "1000000"},
    "consume": {"fetch.min.bytes": "1", "max.partition.fetch.bytes": "1048576", "check.crcs": "true"},
}
DOHLE = {"consume": {"fetch.max.wait.ms": "500"}}
LIBRDKAFKA = {"consume": {"fetch.wait.max.ms": "500"}}


class Failure(Exception):
    pass


def build_dohle():
    command = ["cargo", "build", "--release", "--locked", "-p", "dohle-tests", "--example", "client_perf"]
    if subprocess.run(command, cwd=ROOT, timeout=3600).returncode != 0:
        raise Failure("the driver of dohle-client could not be built (its messages are above)")
    return target() / "release" / "examples" / "client_perf"


def target():
    return Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")


def build_librdkafka():
    source, where = HERE / "librdkafka.c", Path(os.environ["LIBRDKAFKA"]) / "src"
    binary = target() / "release" / "librdkafka_perf"
    command = ["cc", "-O2", "-Wall", f"-I{where}", source, where / "librdkafka.a", "-lm", "-lz", "-lpthread", "-ldl", "-o", binary]
    if subprocess.run(command, timeout=300).returncode != 0:
        raise Failure("the driver of librdkafka could not be built (its messages are above)")
    return binary


class Run:
    """A driver at work."""

    def __init__(self, bench, client, what, topic, size, count, rate, settings):
        merged = {**SAME[what], **(DOHLE if client == "dohle" else LIBRDKAFKA).get(what, {}), **settings}
        command = [bench.drivers[client], what, bench.bootstrap, topic, size, count, rate]
        command = [str(word) for word in command] + [f"{key}={value}" for key, value in merged.items()]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.client = client

    def result(self):
        """What it printed, and `cpu_us`: CPU time for each record, in microseconds."""
        with self.process.stdout as out:
            text = out.read()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode != 0:
            raise Failure(f"{self.client} failed with exit code {self.process.returncode} (its message is above)")
        answer = json.loads(text)
        answer["per_s"] = answer["records"] / answer["seconds"]
        answer["cpu_us"] = (usage.ru_utime + usage.ru_stime) * 1e6 / answer["records"]
        return answer


class Bench:
    def __init__(self, args, bootstrap, drivers, dohle):
        self.args, self.bootstrap, self.drivers, self.dohle = args, bootstrap, drivers, dohle
        self.serial = 0
        self.results = []

    def name(self, what):
        self.serial += 1
        return f"perf-{what}-{os.getpid()}-{self.serial}"

    def topic(self, action, name, *options):
        command = [str(self.dohle), "topic", action, name, "--bootstrap", self.bootstrap, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)} failed: {done.stderr.strip()}")

    def create(self, what):
        name = self.name(what)
        self.topic("create", name, "--partitions", str(PARTITIONS))
        return name

    def run(self, client, what, topic, size, count, rate=0, **settings):
        settings = {key.replace("_", "."): value for key, value in settings.items()}
        return Run(self, client, what, topic, size, count, rate, settings)

    def turns(self, number):
        return CLIENTS if number % 2 == 0 else CLIENTS[::-1]

    def add(self, what, size, rounds):
        self.results.append({"what": what, "size": size, "rounds": rounds})
        print(row(self.results[-1]), flush=True)

    def count(self, size):
        return int(VOLUME * self.args.scale / max(size, 256))

    def produce(self, size):
        rounds = {client: [] for client in CLIENTS}
        for number in range(self.args.rounds):
            for client in self.turns(number):
                topic = self.create("produce")
                rounds[client].append(self.run(client, "produce", topic, size, self.count(size)).result())
                self.topic("delete", topic)
        self.add("produce", size, rounds)

    def consume(self, size):
        topic = self.create("consume")
        self.run("dohle", "produce", topic, size, self.count(size)).result()
        rounds = {client: [] for client in CLIENTS}
        for number in range(self.args.rounds):
            for client in self.turns(number):
                run = self.run(client, "consume", topic, size, self.count(size), group_id=self.name("group"))
                rounds[client].append(run.result())
        self.topic("delete", topic)
        self.add("consume", size, rounds)

    def rate(self, size):
        acks = {client: [] for client in CLIENTS}
        reads = {client: [] for client in CLIENTS}
        count = int(RATE * RATE_SECONDS * self.args.scale)
        for number in range(self.args.rounds):
            for client in self.turns(number):
                topic = self.create("rate")
                reader = self.run(client, "consume", topic, size, count, RATE, group_id=self.name("group"))
                time.sleep(2)  # Until it has the partitions.
                writer = self.run(client, "produce", topic, size, count, RATE)
                acks[client].append(writer.result())
                reads[client].append(reader.result())
                self.topic("delete", topic)
        self.add("acknowledged", size, acks)
        self.add("read", size, reads)


def median(rounds, key):
    pick = (lambda one: one["latency_us"][key]) if key.startswith("p") and key != "per_s" else (lambda one: one[key])
    return statistics.median(pick(one) for one in rounds)


HEAD = f"{'what':13}{'bytes':>6}  {'figure':24}{'dohle':>12}{'librdkafka':>12}{'ratio':>8}"


def row(result):
    """The lines of one measurement: a ratio above 1 is in favour of Dohle."""
    timed = result["rounds"]["dohle"][0]["latency_us"] is not None
    figures = [("p50 (us)", "p50", False), ("p99 (us)", "p99", False), ("p99.9 (us)", "p999", False)] if timed else []
    figures = [*(figures or [("records/s", "per_s", True)]), ("CPU (us/record)", "cpu_us", False)]
    lines = []
    for name, key, more in figures:
        dohle, other = (median(result["rounds"][client], key) for client in CLIENTS)
        ratio = (dohle / other) if more else (other / max(dohle, 1e-9))
        lines.append(f"{result['what']:13}{result['size']:>6}  {name:24}{dohle:>12.2f}{other:>12.2f}{ratio:>8.2f}")
    return "\n".join(lines)


def measure(args, bootstrap, dohle):
    drivers = {"dohle": build_dohle(), "librdkafka": build_librdkafka()}
    bench = Bench(args, bootstrap, drivers, dohle)
    print(HEAD, flush=True)
    for size in args.sizes:
        for what in args.only:
            getattr(bench, what)(size)
    if args.json:
        Path(args.json).write_text(json.dumps(bench.results, indent=1))


def on_own_broker(args, dohle):
    folder = Path(tempfile.mkdtemp(prefix="dohle-perf-", dir=MEMORY if MEMORY.is_dir() else None))
    port = brokers.free_port()
    command = [str(dohle), "start", "--listen", f"127.0.0.1:{port}", "--data", str(folder / "data")]
    broker = brokers.Broker(command, port, folder / "broker.log")
    broker.start()
    try:
        measure(args, f"127.0.0.1:{port}", dohle)
    finally:
        broker.kill()
        shutil.rmtree(folder)


def words(text):
    chosen = text.split(",")
    if not set(chosen) <= {"produce", "consume", "rate"}:
        raise argparse.ArgumentTypeError("produce, consume and rate are what there is")
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="a broker that runs already; otherwise Dohle is built and started")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measurement (default 5)")
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[100, 1024])
    parser.add_argument("--scale", type=float, default=1.0, help="times the records of a round (default 1)")
    parser.add_argument("--only", type=words, default=["rate", "produce", "consume"])
    parser.add_argument("--json", metavar="FILE", help="every figure of every round")
    args = parser.parse_args()
    try:
        dohle = brokers.build()
        if args.bootstrap:
            measure(args, args.bootstrap, dohle)
        else:
            on_own_broker(args, dohle)
    except (Failure, brokers.BrokerError, subprocess.TimeoutExpired) as error:
        sys.exit(f"clients: {error}")


if __name__ == "__main__":
    main()
