"""Clients that live in programs of their own: one JSON command a line on their stdin, one JSON answer a line on their stdout.

Records travel in files, see records.py for their form. A program that is told to join a group answers no more: it writes one
event a line until it is told to leave, see members.py.
"""

import hashlib
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path

from clients import HERE, ORACLE, PATIENCE, ClientError
from records import read_file, write_file


class DriverError(Exception):
    """The class of the exception that the client threw, and its message."""

    def __init__(self, name, message):
        super().__init__(f"{name}: {message}")
        self.name = name


def cache(name):
    """Where paths.sh says that something is installed."""
    if name not in os.environ:
        raise ClientError(f"{name} is not set; start the checks with tests/interop/run")
    return Path(os.environ[name])


class Driver:
    """One program, started when it is first needed, for all that a client does outside of groups."""

    family = None

    def __init__(self, bootstrap, directory):
        self.bootstrap, self.directory = bootstrap, Path(directory)
        self.process, self.serial, self.lock = None, 0, threading.RLock()

    def command(self):
        """The program and its arguments, in front of the broker's address."""
        raise NotImplementedError

    def environment(self):
        return None

    def start(self):
        self.log = open(self.directory / f"{self.family}-driver.log", "ab")
        self.process = subprocess.Popen([*self.command(), self.bootstrap], env=self.environment(),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.answers = queue.Queue()
        threading.Thread(target=self.listen, args=(self.process, self.answers), daemon=True).start()

    @staticmethod
    def listen(process, answers):
        for line in process.stdout:
            answers.put(line)
        answers.put(None)

    def call(self, do, timeout=PATIENCE + 15, **arguments):
        with self.lock:
            return self.answer(do, timeout, arguments)

    def answer(self, do, timeout, arguments):
        if self.process is None:
            self.start()
        self.process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
        self.process.stdin.flush()
        try:
            line = self.answers.get(timeout=timeout)
        except queue.Empty:
            self.process.kill()
            self.stop()
            raise ClientError(f"{self.family} did not finish '{do}' within {timeout} s; see {self.log.name}") from None
        if line is None:
            self.process = None
            raise ClientError(f"{self.family} ended during '{do}'; see {self.log.name}")
        answer = json.loads(line)
        if "error" in answer:
            raise DriverError(answer["error"], answer["message"])
        return answer

    @staticmethod
    def sendable(record):
        """The record, or what comes closest to it of what this client can send."""
        return record

    def file(self, name):
        with self.lock:
            self.serial += 1
            return str(self.directory / f"{self.family}-{self.serial}-{name}")

    def produce(self, topic, records, config=None):
        """Sends all; returns them with the partition, offset and timestamp that were reported."""
        source, result = self.file("in"), self.file("out")
        write_file(source, records)
        config = {name: str(value) for name, value in (config or {}).items()}
        try:
            self.call("produce", topic=topic, config=config, **{"in": source, "out": result})
            return read_file(result)
        finally:
            remove(source, result)

    def read(self, topic, ends, config=None, start=None):
        """All of each partition, to its end."""
        result = self.file("read")
        arguments = {"from": start} if start is not None else {}
        try:
            self.call("consume", topic=topic, partitions=list(ends), ends={str(p): end for p, end in ends.items()}, out=result,
                      config=config or {}, timeout_ms=PATIENCE * 1000, **arguments)
            return read_file(result)
        finally:
            remove(result)

    def stop(self):
        if self.process is None:
            return
        try:
            self.process.stdin.close()
            self.process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait(timeout=10)
        self.process = None


def remove(*paths):
    for path in paths:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass


# -- the families --------------------------------------------------------------------------------------------------------


class Java(Driver):
    """Apache Kafka's Java client: a whole run costs one start of a JVM, and members of groups one each."""

    family, main = "java", "Driver"

    def command(self):
        return java_command(self.main)


class Aiokafka(Driver):
    family = "aiokafka"

    def command(self):
        return [sys.executable, "-W", "ignore", str(HERE / "python" / "aio.py")]

    @staticmethod
    def sendable(record):
        return record._replace(key=b"") if record.key is None and record.value is None else record


class Confluent(Driver):
    """For members only: all else the suite does with the library itself."""

    family = "confluent"

    def command(self):
        return [sys.executable, "-W", "ignore", str(HERE / "python" / "confluent.py")]


class Kafkajs(Driver):
    family = "kafkajs"

    def command(self):
        return ["node", str(HERE / "node" / "driver.js")]

    def environment(self):
        return {**os.environ, "NODE_PATH": str(cache("INTEROP_NODE") / "node_modules"), "KAFKAJS_NO_PARTITIONER_WARNING": "1"}

    @staticmethod
    def sendable(record):
        return record._replace(headers=tuple((name, value or b"") for name, value in record.headers))


class FranzGo(Driver):
    family = "franz-go"

    def command(self):
        return [str(cache("INTEROP_GO") / "driver"), "franz-go"]


class Sarama(Driver):
    family = "sarama"

    def command(self):
        return [str(cache("INTEROP_GO") / "driver"), "sarama"]


class Rdkafka(Driver):
    """librdkafka as Rust programs use it."""

    family = "rdkafka"

    def command(self):
        return [str(cache("INTEROP_RUST") / "driver")]


FOREIGN = (Aiokafka, FranzGo, Sarama, Kafkajs, Rdkafka)


def java_command(main):
    """One of the classes beside Driver.java, with Apache Kafka's jars."""
    classes = compile_java()
    script = (f'set -euo pipefail; . "{ORACLE}/lib.sh"; need_kafka >&2; '
              f'exec "$JDK/bin/java" -Xmx512m "${{JAVA_FLAGS[@]}}" -cp "{classes}:$KAFKA_LIBS/*" "$@"')
    return ["bash", "-c", script, "java", main]


COMPILING = threading.Lock()


def compile_java():
    """Compiles the Java sources into the cache, once for each version of them."""
    sources = sorted((HERE / "java").glob("*.java"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in (*sources, ORACLE / "pom.xml"))).hexdigest()[:16]
    home = Path(os.environ.get("DOHLE_CACHE") or Path.home() / ".cache" / "dohle")
    classes = home / f"interop-driver-{digest}"
    with COMPILING:
        if not (classes / "Driver.class").is_file():
            staging = home / f"interop-driver-{digest}.{os.getpid()}"
            names = " ".join(f'"{path}"' for path in sources)
            script = (f'set -euo pipefail; . "{ORACLE}/lib.sh"; need_kafka >&2; '
                      f'"$JDK/bin/javac" --release 17 -nowarn -proc:none -d "{staging}" -cp "$KAFKA_LIBS/*" {names}')
            done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=120)
            if done.returncode != 0:
                raise ClientError(f"javac could not compile {HERE / 'java'}:\n{done.stderr.decode(errors='replace')}")
            try:
                staging.rename(classes)
            except OSError:  # another run was quicker
                pass
    return classes
