"""The foreign clients, each behind the same few verbs. A reader always takes explicit partitions: no group, no commit."""

import logging
import subprocess
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from records import Record

HERE = Path(__file__).resolve().parent
ORACLE = HERE.parent / "oracle"
PATIENCE = 60  # seconds that any one step may take


class ClientError(Exception):
    pass


# -- kcat ----------------------------------------------------------------------------------------------------------------


class Kcat:
    # Separators that no generated record contains.
    KEY, RECORD = "<|key|>", "<|record|>"

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def run(self, *args, stdin=b"", check=True, timeout=PATIENCE):
        done = subprocess.run(["kcat", "-b", self.bootstrap, *args], input=stdin, capture_output=True, timeout=timeout)
        if check and done.returncode != 0:
            raise ClientError(f"kcat {' '.join(args)} exited with {done.returncode}: {last_line(done.stderr)}")
        return done

    def produce(self, topic, records, partition, codec="none", config=(), null_empty=False, linger=0):
        """All of one partition, with one set of headers: kcat has no headers for each record. It stays for `linger` seconds."""
        args = ["-P", "-t", topic, "-p", str(partition), "-z", codec, "-K", self.KEY, "-D", self.RECORD]
        for setting in config:
            args += ["-X", setting]
        if null_empty:
            args.append("-Z")
        for name, value in records[0].headers:
            args += ["-H", name if value is None else f"{name}={value.decode()}"]
        lines = []
        for record in records:
            assert record.headers == records[0].headers
            if record.key is not None:
                lines += [record.key, self.KEY.encode()]
            lines += [record.value or b"", self.RECORD.encode()]
        if not linger:
            self.run(*args, stdin=b"".join(lines))
            return
        process = subprocess.Popen(["kcat", "-b", self.bootstrap, *args], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            process.stdin.write(b"".join(lines))
            process.stdin.flush()
            time.sleep(linger)
            _, stderr = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        if process.returncode != 0:
            raise ClientError(f"kcat exited with {process.returncode}: {last_line(stderr)}")

    @staticmethod
    def shape(record):
        """What kcat's %h shows of headers: it stops at the first zero byte of a value."""
        shown = b",".join(
            name.encode() + b"=" + (b"NULL" if value is None else value.split(b"\0")[0]) for name, value in record.headers
        )
        return record._replace(headers=shown)

    def read(self, topic, ends, config=()):
        args = ["-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", "%p %o %T %K %S\n%k%s%h\n"]
        for setting in config:
            args += ["-X", setting]
        data = self.run(*args).stdout
        records, at = [], 0
        while at < len(data):
            line_end = data.index(b"\n", at)
            partition, offset, timestamp, key_size, size = map(int, data[at:line_end].split())
            at = line_end + 1
            key = None if key_size < 0 else data[at : at + key_size]
            at += max(key_size, 0)
            value = None if size < 0 else data[at : at + size]
            at += max(size, 0)
            line_end = data.index(b"\n", at)
            records.append(Record(partition, offset, timestamp, key, value, data[at:line_end]))
            at = line_end + 1
        return records


# -- confluent-kafka (librdkafka) -----------------------------------------------------------------------------------------


class Confluent:
    def __init__(self, bootstrap, directory):
        self.bootstrap = bootstrap
        # The library's own messages go to a file, out of the way of the results.
        self.logger = logging.getLogger("librdkafka")
        self.logger.propagate = False
        self.logger.addHandler(logging.FileHandler(Path(directory) / "librdkafka.log"))

    def producer(self, config=None):
        return Producer(self.config("producer", config), logger=self.logger)

    def config(self, role, extra):
        return {"bootstrap.servers": self.bootstrap, "client.id": f"interop-confluent-{role}", **(extra or {})}

    def admin(self):
        return AdminClient(self.config("admin", None), logger=self.logger)

    def produce(self, topic, records, config=None):
        """Sends all; returns them with the partition, offset and timestamp that were reported. Raises on the first failure."""
        producer = self.producer(config)
        reports = [None] * len(records)

        def reported(index):
            def callback(error, message):
                reports[index] = (error, message.partition(), message.offset())

            return callback

        deadline = time.monotonic() + PATIENCE
        for index, record in enumerate(records):
            arguments = {"headers": list(record.headers), "on_delivery": reported(index)}
            if record.partition >= 0:
                arguments["partition"] = record.partition
            if record.timestamp >= 0:
                arguments["timestamp"] = record.timestamp
            while True:
                try:
                    producer.produce(topic, record.value, record.key, **arguments)
                    break
                except BufferError:
                    if time.monotonic() > deadline:
                        raise ClientError("the producer's queue stayed full") from None
                    producer.poll(0.1)
            producer.poll(0)
        if producer.flush(PATIENCE) > 0:
            raise ClientError(f"{len(producer)} of {len(records)} records were not reported within {PATIENCE} s")
        placed = []
        for record, (error, partition, offset) in zip(records, reports):
            if error is not None:
                raise KafkaException(error)
            placed.append(record._replace(partition=partition, offset=offset))
        return placed

    def consumer(self, config=None):
        return Consumer(
            self.config(
                "consumer",
                {
                    "group.id": "interop-never-used",  # the library wants one; nothing is subscribed or committed
                    "enable.auto.commit": False,
                    "enable.auto.offset.store": False,
                    "auto.offset.reset": "error",
                    **(config or {}),
                },
            ),
            logger=self.logger,
        )

    def read(self, topic, ends, config=None, starts=None):
        """`ends` says for each partition where it must end; more or fewer records are an error."""
        consumer = self.consumer(config)
        try:
            for partition, end in ends.items():
                low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=PATIENCE)
                if high != end:
                    raise ClientError(f"{topic}-{partition} ends at {high}, expected {end}")
            consumer.assign([TopicPartition(topic, p, (starts or {}).get(p, 0)) for p, end in ends.items() if end > 0])
            left = {p for p, end in ends.items() if end > (starts or {}).get(p, 0)}
            records, deadline = [], time.monotonic() + PATIENCE
            while left:
                if time.monotonic() > deadline:
                    raise ClientError(f"only {len(records)} records arrived within {PATIENCE} s; partitions {left} are not done")
                for message in consumer.consume(1000, timeout=0.5):
                    if message.error():
                        raise KafkaException(message.error())
                    record = Record(
                        message.partition(),
                        message.offset(),
                        message.timestamp()[1],
                        message.key(),
                        message.value(),
                        tuple(message.headers() or ()),
                    )
                    records.append(record)
                    if record.offset + 1 >= ends[record.partition]:
                        left.discard(record.partition)
            return records
        finally:
            consumer.close()


# -- Apache Kafka's command line tools -------------------------------------------------------------------------------------


class Tools:
    # These are called so often that the start of a JVM for each would be most of the time.
    IN_DRIVER = {
        "broker-api-versions": "BrokerApiVersionsCommand", "cluster": "ClusterTool", "configs": "ConfigCommand",
        "consumer-groups": "consumer.group.ConsumerGroupCommand", "delete-records": "DeleteRecordsCommand",
        "get-offsets": "GetOffsetShell", "log-dirs": "LogDirsCommand", "topics": "TopicCommand",
    }

    def __init__(self, bootstrap, directory, java):
        self.bootstrap, self.directory, self.java = bootstrap, Path(directory), java

    def run(self, tool, *args, check=True, after=False):
        """`after`: the tool has verbs, and options only behind the verb."""
        if tool not in self.IN_DRIVER:
            return self.process(tool, *args, check=check)
        args = [*args, *self.server()] if after else [*self.server(), *args]
        answer = self.java.call("tool", **{"class": f"org.apache.kafka.tools.{self.IN_DRIVER[tool]}"}, args=args)
        output = answer["stdout"].encode(), answer["stderr"].encode()
        return self.checked(tool, subprocess.CompletedProcess(args, answer["status"], *output), check)

    def process(self, tool, *args, stdin=b"", check=True, timeout=PATIENCE):
        """The tool as people run it."""
        done = subprocess.run(self.command(tool, *args), input=stdin, capture_output=True, timeout=timeout)
        return self.checked(tool, done, check)

    @staticmethod
    def checked(tool, done, check):
        if check and done.returncode != 0:
            raise ClientError(f"{tool} {' '.join(done.args)} exited with {done.returncode}: {telling_line(done)}")
        return done

    def server(self):
        return ["--bootstrap-server", self.bootstrap]

    def command(self, tool, *args):
        return [str(ORACLE / "kafka"), tool, *self.server(), *args]

    def refused(self, expected, tool, *args):
        """The tool must fail, and say why with the expected word."""
        done = self.run(tool, *args, check=False)
        text = (done.stdout + done.stderr).decode(errors="replace")
        if done.returncode == 0:
            raise ClientError(f"{tool} {' '.join(args)} succeeded, expected {expected}")
        if expected not in text:
            raise ClientError(f"{tool} {' '.join(args)}: expected {expected} in the message, got: {telling_line(done)}")

    # The console producer reads text lines, with a marker for null, and none of these in the records.
    NULL = "<null>"

    def console_produce(self, topic, records, codec, client_config=()):
        lines = []
        for record in records:
            pairs = [f"{name}:".encode() + (self.NULL.encode() if value is None else value) for name, value in record.headers]
            parts = [b",".join(pairs) if pairs else self.NULL.encode()]
            parts += [self.NULL.encode() if part is None else part for part in (record.key, record.value)]
            lines.append(b"\t".join(parts) + b"\n")
        args = ["--topic", topic, "--compression-codec", codec]
        for setting in ("parse.key=true", "parse.headers=true", f"null.marker={self.NULL}"):
            args += ["--reader-property", setting]
        # The tool's own default, 1.5 s, is short for a busy machine.
        args += ["--request-timeout-ms", "20000"]
        for setting in client_config:
            args += ["--command-property", setting]
        done = self.process("console-producer", *args, stdin=b"".join(lines))
        if b"ERROR" in done.stderr or b"Exception" in done.stderr:
            raise ClientError(f"console-producer: {telling_line(done)}")

    BETWEEN, END = "<|>", "<|end|>"

    def console_read(self, topic, partition, count, config=()):
        """The lines that the console consumer prints for one partition, as they are."""
        args = ["--topic", topic, "--partition", str(partition), "--offset", "earliest"]
        args += ["--max-messages", str(count), "--timeout-ms", "20000"]
        for name in ("timestamp", "partition", "offset", "headers", "key", "value"):
            args += ["--formatter-property", f"print.{name}=true"]
        for setting in (
            f"key.separator={self.BETWEEN}",
            f"line.separator={self.END}",
            f"null.literal={self.NULL}",
            "headers.separator=,",
        ):
            args += ["--formatter-property", setting]
        for setting in config:
            args += ["--command-property", setting]
        done = self.run("console-consumer", *args)
        lines = done.stdout.split(self.END.encode())
        if f"Processed a total of {count} messages".encode() not in done.stderr:
            raise ClientError(f"console-consumer stopped after {len(lines) - 1} of {count} records: {telling_line(done)}")
        return lines[:-1]

    @classmethod
    def console_line(cls, record):
        """What the console consumer must print for a record."""

        def shown(part):
            return cls.NULL.encode() if part is None else part

        headers = b",".join(name.encode() + b":" + shown(value) for name, value in record.headers) or b"NO_HEADERS"
        return cls.BETWEEN.encode().join(
            (
                f"CreateTime:{record.timestamp}".encode(),
                f"Partition:{record.partition}".encode(),
                f"Offset:{record.offset}".encode(),
                headers,
                shown(record.key),
                shown(record.value),
            )
        )


def last_line(output):
    lines = [line for line in output.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "(it said nothing)"


def telling_line(done):
    """The line of a tool's output that says most about a failure."""
    lines = (done.stderr + b"\n" + done.stdout).decode(errors="replace").splitlines()
    for mark in ("Exception", "ERROR", "Error", "WARN"):
        for line in lines:
            if mark in line and not line.lstrip().startswith("at "):
                return line.strip()[:400]
    return last_line(done.stderr or done.stdout)[:400]
