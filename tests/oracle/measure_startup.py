"""How long a broker takes to start, what it weighs when idle, and what an idle consumer costs it.

    measure-startup [--json] [--runs N] [--command 'SHELL COMMAND with {port} and {dir}']

- start: from the start of the process on an empty directory to the first answered Metadata request, median of N runs
- memory: VmRSS and VmHWM five seconds after that
- idle: CPU time per second over twenty seconds with one consumer that waits at the end of a partition

Without --command, Dohle is built and measured. The command must end up as the broker's own process (exec), or its
process is not the one that is measured:

    measure-startup --runs 3 --command 'exec tests/oracle/start-kafka --foreground {dir} {port}'
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interop"))
import broker as brokers  # noqa: E402

# Metadata version 1, correlation id 1, client id "m", no topics: the smallest question about the cluster.
METADATA = struct.pack(">hhih1si", 3, 1, 1, 1, b"m", 0)
METADATA = struct.pack(">i", len(METADATA)) + METADATA

CONSUMER = """
import sys
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
server = {"bootstrap.servers": sys.argv[1]}
admin = AdminClient(server)
admin.create_topics([NewTopic("idle", 1)], operation_timeout=30)["idle"].result(60)
consumer = Consumer({**server, "group.id": "never-used", "enable.auto.commit": False, "auto.offset.reset": "error"})
consumer.assign([TopicPartition("idle", 0, 0)])
print("assigned", flush=True)
while True:
    message = consumer.poll(1)
    if message is not None:
        sys.exit(f"expected no record, got {message.error() or message.value()}")
"""


def ask(port):
    """One try at an answer to Metadata: whether it came, naming at least one broker."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.settimeout(5)
            connection.sendall(METADATA)
            answer = b""
            while len(answer) < 4 or len(answer) < 4 + struct.unpack_from(">i", answer)[0]:
                data = connection.recv(4096)
                if not data:
                    return False
                answer += data
    except OSError:
        return False
    size, correlation, nodes = struct.unpack_from(">iii", answer)
    if correlation != 1:
        raise brokers.BrokerError(f"the answer to Metadata has correlation id {correlation}, expected 1")
    return nodes > 0


def start(command, port, log, seconds=120):
    """Starts it and returns (process, seconds until Metadata was answered)."""
    if brokers.answers(port):
        raise brokers.BrokerError(f"something else answers on 127.0.0.1:{port}; a broker was to be started there")
    with open(log, "ab") as output:
        begun = time.monotonic()
        process = subprocess.Popen(command, shell=isinstance(command, str), stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
    while not ask(port):
        if process.poll() is not None:
            tail = "\n".join(Path(log).read_text(errors="replace").splitlines()[-20:])
            raise brokers.BrokerError(f"the broker ended with exit code {process.returncode} before it answered:\n{tail}")
        if time.monotonic() - begun > seconds:
            stop(process)
            raise brokers.BrokerError(f"Metadata was not answered within {seconds} s; see {log}")
        time.sleep(0.0002)
    return process, time.monotonic() - begun


def stop(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait(timeout=30)


def memory(pid):
    """(VmRSS, VmHWM) in MB."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return tuple(int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(options, directory):
    binary = None if options.command else brokers.build()

    def command(number, port):
        data = directory / f"data-{number}"
        data.mkdir()
        if options.command:
            return options.command.format(port=port, dir=data)
        return [str(binary), "start", "--listen", f"127.0.0.1:{port}", "--data", str(data)]

    log = directory / "broker.log"
    times, memories = [], []
    for number in range(options.runs):
        port = brokers.free_port()
        process, seconds = start(command(number, port), port, log)
        times.append(seconds)
        try:
            if number < options.memory_runs:
                time.sleep(options.settle)
                memories.append(memory(process.pid))
        finally:
            stop(process)
        shutil.rmtree(directory / f"data-{number}", ignore_errors=True)
        print(f"# start {number + 1}/{options.runs}: {seconds * 1000:.1f} ms", file=sys.stderr, flush=True)

    port = brokers.free_port()
    process, _ = start(command("idle", port), port, log)
    consumer = None
    try:
        consumer = subprocess.Popen([sys.executable, "-c", CONSUMER, f"127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True)
        if consumer.stdout.readline().strip() != "assigned":
            raise brokers.BrokerError("the idle consumer could not be assigned a partition (its message is above)")
        time.sleep(options.settle)
        before, begun = cpu_seconds(process.pid), time.monotonic()
        time.sleep(options.idle_seconds)
        spent, lasted = cpu_seconds(process.pid) - before, time.monotonic() - begun
        if consumer.poll() is not None:
            raise brokers.BrokerError("the idle consumer ended by itself (its message is above)")
    finally:
        if consumer is not None:
            consumer.kill()
            consumer.wait()
        stop(process)
    return {
        "runs": options.runs,
        "start_ms_median": round(statistics.median(times) * 1000, 2),
        "start_ms_min": round(min(times) * 1000, 2),
        "start_ms_max": round(max(times) * 1000, 2),
        "rss_mb": round(statistics.median(m[0] for m in memories), 1),
        "rss_peak_mb": round(statistics.median(m[1] for m in memories), 1),
        "idle_cpu_ms_per_s": round(spent / lasted * 1000, 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, metavar="N")
    parser.add_argument("--memory-runs", type=int, default=3, metavar="N", help="how many of them are weighed (default 3)")
    parser.add_argument("--settle", type=float, default=5, metavar="SECONDS")
    parser.add_argument("--idle-seconds", type=float, default=20, metavar="SECONDS")
    parser.add_argument("--command", metavar="SHELL")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.runs < 1 or options.memory_runs < 1:
        parser.error("--runs and --memory-runs must be at least 1")
    directory = Path(tempfile.mkdtemp(prefix="dohle-startup-"))
    try:
        result = measure(options, directory)
    except brokers.BrokerError as error:
        print(f"measure-startup: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if options.json:
        print(json.dumps(result))
        return 0
    print(f"start to first Metadata   median {result['start_ms_median']} ms"
          f"   ({result['start_ms_min']} to {result['start_ms_max']}, {result['runs']} runs)")
    print(f"memory after {options.settle:g} s         VmRSS {result['rss_mb']} MB, VmHWM {result['rss_peak_mb']} MB")
    print(f"one idle consumer         {result['idle_cpu_ms_per_s']} ms CPU per second")
    return 0


if __name__ == "__main__":
    sys.exit(main())
