"""Dohle and Apache Kafka under the same foreign clients.

A round starts one broker on an empty directory, warms it up, lets every workload run, and stops it; then comes the other broker, on
the same disk. Rounds follow one another A B A B; a figure is the median of a broker's rounds. A ratio is Dohle : Kafka.

The clients are librdkafka's `rdkafka_performance`, Kafka's own performance tools, and `knock` (knock.c): bare loops of blocking
sockets. With --tansu that broker has a turn in each round, too, with its memory engine; what it cannot do is left out. CPU time is the
broker process's own (user and system, /proc/PID/stat), from the first record of a workload to the last. A client's cores are its CPU time
by the time that it took, its start included.

The floor is `dohle bench floor` in the same run: what loops without a broker take for the same bytes.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
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

ORACLE = os.environ["ORACLE_DIR"]
TICK = os.sysconf("SC_CLK_TCK")
PARTITIONS = 6
LIMIT = 600
DESCRIPTORS = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
CONNECTIONS = min(10_000, DESCRIPTORS // 3)  # Dohle sets two descriptors aside for each, and some for files.
CODECS = ("gzip", "snappy", "lz4")  # The ones that librdkafka was built with.
BATCHES = {"linger.ms": 5, "batch.size": 1_000_000, "queue.buffering.max.kbytes": 1_000_000}


class Failure(Exception):
    pass


# -- brokers -----------------------------------------------------------------------------------------------------------------


class Subject:
    """A broker process that is started on an empty directory."""

    def __init__(self, name, command, folder, port):
        self.name, self.port, self.folder = name, port, folder
        self.server = brokers.Broker(f"exec {command}", port, folder / "broker.log")

    def start(self):
        begun = time.monotonic()
        self.server.start(120)
        return time.monotonic() - begun

    @property
    def pid(self):
        return self.server.process.pid

    def cpu(self):
        """User and system time so far, in seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def memory(self, field):
        """VmRSS or VmHWM in MB."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"{field}:\s*(\d+)", text)[1]) / 1024

    def stop(self):
        self.server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


SUBJECTS = ("dohle", "kafka", "tansu")


def subject(name, args):
    folder = Path(tempfile.mkdtemp(prefix=f"compare-{name}-", dir=args.dir))
    port = brokers.free_port()
    commands = {
        "dohle": f"{args.binary} start --listen 127.0.0.1:{port} --data {folder}/data",
        "kafka": f"{ORACLE}/start-kafka --foreground {folder} {port}",
        "tansu": f"{os.environ.get('TANSU')} broker --silent --storage-engine memory://tansu/ "
                 f"--listener-url tcp://127.0.0.1:{port} --advertised-listener-url tcp://127.0.0.1:{port}",
    }
    return Subject(name, commands[name], folder, port)


# -- clients -----------------------------------------------------------------------------------------------------------------


def compile_clients():
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "release"
    where = Path(os.environ["LIBRDKAFKA"])
    rdkafka, knock = target / "rdkafka_performance", target / "knock"
    source = where / "examples" / "rdkafka_performance.c"
    link = [where / "src" / "librdkafka.a", "-lm", "-lz", "-lpthread", "-ldl"]
    subprocess.run(["cc", "-O2", f"-I{where / 'src'}", source, *link, "-o", rdkafka], check=True, timeout=300)
    subprocess.run(["cc", "-O2", "-Wall", "-pthread", HERE / "knock.c", "-o", knock], check=True, timeout=300)
    return rdkafka, knock


class Clients:
    """What is done to one broker."""

    def __init__(self, args, tools, subject):
        self.args, (self.rdkafka, self.knocker), self.subject = args, tools, subject
        self.address = f"127.0.0.1:{subject.port}"
        self.serial = 0
        self.create_ms = None

    def topic(self, partitions=PARTITIONS, **config):
        self.serial += 1
        name = f"t{self.serial}"
        settings = [word for key, value in config.items() for word in ("--config", f"{key.replace('_', '.')}={value}")]
        command = [self.args.binary, "topic", "create", name, "--bootstrap", self.address, "--partitions", str(partitions), *settings]
        begun = time.monotonic()
        subprocess.run(command, check=True, timeout=120, stdout=subprocess.DEVNULL)
        self.create_ms = (time.monotonic() - begun) * 1000
        self.await_topic(name)
        return name

    def await_topic(self, name):
        """Kafka's controller answers before its broker knows of the topic."""
        command = [self.args.binary, "topic", "describe", name, "--bootstrap", self.address]
        for _ in range(100):
            if subprocess.run(command, capture_output=True, timeout=120).returncode == 0:
                return
            time.sleep(0.1)
        raise Failure(f"topic {name} was made, and is not there")

    def drop(self, topic):
        command = [self.args.binary, "topic", "delete", topic, "--bootstrap", self.address]
        subprocess.run(command, check=True, timeout=120, stdout=subprocess.DEVNULL)

    def performance(self, *words, **settings):
        """rdkafka_performance: (records, bytes, seconds)."""
        options = [word for key, value in settings.items() for word in ("-X", f"{key}={value}")]
        command = [self.rdkafka, "-b", self.address, *map(str, words), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        totals = re.findall(r"(\d+) messages (?:produced|\().*?(\d+) bytes\).*? in (\d+)ms", done.stdout)
        if done.returncode != 0 or not totals:
            raise Failure(f"{' '.join(map(str, command))}: {done.stdout[-500:]} {done.stderr[-500:]}")
        records, size, ms = map(int, totals[-1])
        return records, size, ms / 1000

    def knock(self, topic, threads, seconds, acks, size, partitions=PARTITIONS):
        command = [self.knocker, "127.0.0.1", self.subject.port, topic, partitions, threads, seconds, acks, size]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=LIMIT)
        if done.returncode != 0:
            raise Failure(f"knock: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def produce(self, topic, size, count, acks=1, codec="none"):
        return self.performance("-P", "-t", topic, "-s", size, "-c", count, "-a", acks, "-z", codec, **BATCHES)

    def consume(self, topic, count, group):
        return self.performance("-G", group, "-t", topic, "-o", "beginning", "-c", count, **{"auto.offset.reset": "earliest"})

    def java(self, tool, pattern, *words):
        """One of Kafka's performance tools: the numbers that `pattern` finds last in what it prints."""
        command = [f"{ORACLE}/kafka", tool, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        found = re.findall(pattern, done.stdout)
        if done.returncode != 0 or not found:
            raise Failure(f"{' '.join(command)}: {done.stdout[-500:]} {done.stderr[-500:]}")
        return [float(number) for number in found[-1]]

    def tail(self, topic, group):
        command = [self.rdkafka, "-b", self.address, "-G", group, "-t", topic, "-q", "-X", "auto.offset.reset=latest"]
        return subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


# -- workloads: each gives its figures by name -----------------------------------------------------------------------------------


def bulk(clients, run):
    """The figures of a workload that moves records: `run` gives (records, bytes, seconds)."""
    before, client, begun = clients.subject.cpu(), of_clients(), time.monotonic()
    records, size, seconds = run()
    cpu, busy = clients.subject.cpu() - before, (of_clients() - client) / (time.monotonic() - begun)
    return {
        "records/s": records / seconds,
        "MB/s": size / seconds / 1e6,
        "CPU s/GB": cpu / size * 1e9,
        "CPU us/record": cpu / records * 1e6,
        "client's cores": busy,
    }


def of_clients():
    """CPU time, in seconds, of all clients that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def produced(size, count, acks=1, codec="none"):
    def workload(clients, scale):
        topic = clients.topic()
        found = bulk(clients, lambda: clients.produce(topic, size, int(count * scale), acks, codec))
        clients.drop(topic)
        return found

    return workload


def fetched(clients, scale):
    topic, count = clients.topic(), int(1_000_000 * scale)
    clients.produce(topic, 1024, count)
    found = bulk(clients, lambda: clients.consume(topic, count, "once"))
    clients.drop(topic)
    return found


def java_produced(clients, scale):
    topic, count = clients.topic(), int(1_000_000 * scale)
    command = ["--topic", topic, "--num-records", count, "--record-size", 1024, "--throughput", -1, "--command-property",
               f"bootstrap.servers={clients.address}", "acks=1", "linger.ms=5", "batch.size=262144", "buffer.memory=134217728"]

    def run():
        records, rate = clients.java("producer-perf", r"(\d+) records sent, ([\d.]+) records/sec", *command)
        if not rate:
            raise Failure("producer-perf: nothing was sent")
        return records, records * 1024, records / rate

    found = bulk(clients, run)
    clients.drop(topic)
    return found


def java_fetched(clients, scale):
    topic, count = clients.topic(), int(1_000_000 * scale)
    clients.produce(topic, 1024, count)

    def run():
        begun = time.monotonic()
        pattern = r"[\d:-]+ [\d:]+, [\d-]+ [\d:]+, ([\d.]+), [\d.]+, (\d+),"
        command = ["--bootstrap-server", clients.address, "--topic", topic, "--num-records", count, "--timeout", 60_000]
        _, records = clients.java("consumer-perf", pattern, *command)
        return records, records * 1024, time.monotonic() - begun

    found = bulk(clients, run)
    clients.drop(topic)
    return found


def knocked(threads, acks, size=100, seconds=5, **config):
    def workload(clients, scale):
        topic = clients.topic(**config)
        before, client, begun = clients.subject.cpu(), of_clients(), time.monotonic()
        found = clients.knock(topic, threads, max(2, int(seconds * scale)), acks, size)
        cpu, us = clients.subject.cpu() - before, found["latency_us"]
        busy = (of_clients() - client) / (time.monotonic() - begun)
        clients.drop(topic)
        return {
            "records/s": found["records"] / found["seconds"],
            "p50 us": us["p50"],
            "p99 us": us["p99"],
            "p99.9 us": us["p999"],
            "CPU us/record": cpu / found["answers"] * 1e6,
            "client's cores": busy,
        }

    return workload


def thousand_partitions(clients, scale):
    topic = clients.topic(1000)
    took = clients.create_ms
    found = bulk(clients, lambda: clients.produce(topic, 1024, int(500_000 * scale)))
    clients.drop(topic)
    return {"create ms": took, **found}


def end_to_end(clients, scale):
    """An open load, from when a record is due until it is read (dohle bench e2e)."""
    topic = clients.topic()
    command = [clients.args.binary, "bench", "e2e", "--bootstrap", clients.address, "--topic", topic, "--rate", "5000", "--record-size", "1024",
               "--for", f"{max(3, int(10 * scale))}s", "--warmup", "3s", "-X", "linger.ms=0", "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != 0:
        raise Failure(done.stderr.strip())
    clients.drop(topic)
    ms = json.loads(done.stdout)["latency_ms"]
    return {"p50 us": ms["p50"] * 1000, "p99 us": ms["p99"] * 1000, "p99.9 us": ms["p999"] * 1000}


def ten_tails(clients, scale):
    topic = clients.topic()
    tails = [clients.tail(topic, f"tail-{number}") for number in range(10)]
    try:
        time.sleep(3)
        found = bulk(clients, lambda: clients.produce(topic, 1024, int(200_000 * scale)))
        del found["client's cores"]  # Not those of the readers, which go on.
        return found
    finally:
        for tail in tails:
            tail.send_signal(signal.SIGKILL)
            tail.wait()
        clients.drop(topic)


def idle(count, reading):
    """What connections cost that are open, or consumers that wait for records; the probe beside them asks once a second."""

    def workload(clients, scale):
        broker, topic = clients.subject, clients.topic(10)
        before = broker.memory("VmRSS")
        seconds = max(2, int(10 * scale))
        command = [clients.args.binary, "bench", "connections", "--bootstrap", clients.address, "--count", count, "--rate", 1, "--json",
                   "--for", f"{seconds + 5}s", *(("--topic", topic) if reading else ())]
        bench = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 120
        while broker.descriptors() < count and bench.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(2)
        cpu = broker.cpu()
        time.sleep(seconds)
        cpu, after = broker.cpu() - cpu, broker.memory("VmRSS")
        _, errors = bench.communicate(timeout=120)
        if bench.returncode != 0:
            raise Failure(f"{count} connections: {errors.strip()}")
        clients.drop(topic)
        return {"connections": count, "MB": after, "MB more": after - before, "% of a core": 100 * cpu / seconds}

    return workload


def cold_reader(clients, scale):
    """What one writer waits while others read what is no longer in memory."""
    cold, hot, count = clients.topic(), clients.topic(), int(2_000_000 * scale)
    clients.produce(cold, 1024, count)
    alone = clients.knock(hot, 1, max(2, int(5 * scale)), 1, 1024)["latency_us"]
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("1")
    command = [clients.rdkafka, "-b", clients.address, "-G", "cold", "-t", cold, "-o", "beginning", "-c", str(count), "-q",
               "-X", "auto.offset.reset=earliest"]
    reader = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        beside = clients.knock(hot, 1, max(2, int(5 * scale)), 1, 1024)["latency_us"]
    finally:
        reader.kill()
        reader.wait()
    for topic in (cold, hot):
        clients.drop(topic)
    return {"p99 us, alone": alone["p99"], "p99 us, beside": beside["p99"], "times": beside["p99"] / max(alone["p99"], 1)}


WORKLOADS = {
    "produce-1k": produced(1024, 1_000_000),
    "produce-1k-all": produced(1024, 1_000_000, acks=-1),
    "produce-100": produced(100, 5_000_000),
    **{f"produce-{codec}": produced(1024, 300_000, codec=codec) for codec in CODECS},
    "fetch-1k": fetched,
    "java-produce-1k": java_produced,
    "java-fetch-1k": java_fetched,
    "one-in-flight": knocked(1, -1),
    "fifty": knocked(50, 1),
    "fifty-synced": knocked(50, -1, flush_messages=1),
    "one-synced": knocked(1, -1, size=1024, flush_messages=1),
    "1000-partitions": thousand_partitions,
    "end-to-end": end_to_end,
    "ten-tails": ten_tails,
    "cold-reader": cold_reader,
    "idle-connections": idle(CONNECTIONS, reading=False),
    "idle-consumers": idle(1000, reading=True),
}


def warm_up(clients, scale):
    """A virtual machine compiles what it runs often; nothing of this is counted."""
    for workload in ("produce-1k", "produce-100", "fetch-1k", "fifty"):
        attempt(clients, workload, scale * 0.5)


def attempt(clients, workload, scale):
    """The figures of a workload; none where a broker that is only looked at beside cannot do it."""
    try:
        return WORKLOADS[workload](clients, scale)
    except (Failure, subprocess.SubprocessError) as error:
        if clients.subject.name != "tansu":
            raise
        print(f"# tansu cannot do {workload}: {str(error)[:200]}", flush=True)
        return {}


def play(name, args, tools):
    """One round of one broker: figures by workload."""
    broker = subject(name, args)
    found = {}
    try:
        found["node"] = {"start s": broker.start()}
        time.sleep(5)
        found["node"]["idle MB"] = broker.memory("VmRSS")
        clients = Clients(args, tools, broker)
        warm_up(clients, args.scale)
        for workload in args.only:
            found[workload] = attempt(clients, workload, args.scale)
            print(f"# {name} {workload} {told(found[workload])}", flush=True)
        found["node"]["peak MB"] = broker.memory("VmHWM")
    finally:
        broker.stop()
    return found


def told(figures):
    return ", ".join(f"{figure} {value:.4g}" for figure, value in figures.items())


def table(rounds):
    names = [name for name in SUBJECTS if rounds.get(name)]
    head = f"{'workload':18}{'figure':18}" + "".join(f"{name:>12}" for name in names)
    lines = [head + "".join(f"{'/' + name:>9}" for name in names[1:])]
    for workload, figures in rounds["dohle"][0].items():
        for figure in figures:
            medians = [median(rounds[name], workload, figure) for name in names]
            values = "".join(f"{value:12.4g}" if value is not None else f"{'-':>12}" for value in medians)
            ratios = "".join(f"{medians[0] / max(other, 1e-9):9.3f}" if other is not None else f"{'-':>9}" for other in medians[1:])
            lines.append(f"{workload:18}{figure:18}{values}{ratios}")
    return "\n".join(lines)


def median(found, workload, figure):
    values = [one[workload][figure] for one in found if figure in one.get(workload, {})]
    return statistics.median(values) if values else None


def floor(args):
    done = subprocess.run([args.binary, "bench", "floor", "--json", "--dir", args.dir], check=True, capture_output=True, text=True, timeout=300)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="of each broker (default 3)")
    parser.add_argument("--only", action="append", choices=WORKLOADS, metavar="WORKLOAD", help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument("--scale", type=float, default=1.0, help="times the records of each workload (default 1)")
    parser.add_argument("--dir", default=tempfile.gettempdir(), help="where the data directories are made")
    parser.add_argument("--binary", type=Path, metavar="PATH", help="a release build of dohle; otherwise it is built")
    parser.add_argument("--tansu", action="store_true", help="a turn for Tansu in each round, too")
    parser.add_argument("--json", metavar="FILE", help="every figure of every round")
    args = parser.parse_args()
    args.only = args.only or list(WORKLOADS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))  # Brokers and clients have it from here.
    try:
        args.binary = args.binary or brokers.build()
        tools = compile_clients()
        names = SUBJECTS if args.tansu else SUBJECTS[:2]
        rounds = {name: [] for name in names} | {"floor": [floor(args)]}
        for _ in range(args.rounds):
            for name in names:
                rounds[name].append(play(name, args, tools))
        rounds["floor"].append(floor(args))
    except (Failure, brokers.BrokerError, subprocess.SubprocessError, OSError) as error:
        sys.exit(f"compare: {error}")
    print(table(rounds))
    for one in rounds["floor"]:
        print(f"floor: receive {one['receive_cpu_s_gb']:.3f} CPU s/GB, sendfile {one['sendfile_cpu_s_gb']:.3f} CPU s/GB, "
              f"a request {one['request_cpu_us']:.1f} CPU us, append and sync p50 {one['append_sync_ms']['p50']} ms, round trip p50 {one['round_trip_ms']['p50']} ms")
    if args.json:
        Path(args.json).write_text(json.dumps(rounds, indent=1))


if __name__ == "__main__":
    main()
