"""A data directory that fails under load. See README.md; `sickdisk` starts this where it may mount a file system."""

import argparse
import fcntl
import logging
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

import broker as brokers
import kill9
from fulldisk import wait_until

PARTITIONS = 6
FIRST = 9  # the writer of each partition's first record
SHUT_DOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN: from now on the file system answers everything with EIO
WITHOUT_FLUSH = 2


class Disk:
    """An ext4 file system in a file."""

    def __init__(self, folder):
        self.image, self.place = folder / "disk.image", folder / "disk"
        self.place.mkdir()
        with open(self.image, "wb") as image:
            image.truncate(256 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self.image)], check=True)
        self.mount()

    def mount(self):
        subprocess.run(["mount", "-o", "loop,errors=remount-ro", str(self.image), str(self.place)], check=True)

    def device(self):
        return os.path.basename(os.path.realpath(f"/sys/dev/block/{os.major(self.number())}:{os.minor(self.number())}"))

    def number(self):
        return os.stat(self.place).st_dev

    def unmount(self):
        subprocess.run(["umount", "--lazy", str(self.place)], check=False, stderr=subprocess.DEVNULL)

    def mend(self):
        """What an operator does: unmount, check, mount. Whoever has files open there has to be gone."""
        self.unmount()
        subprocess.run(["e2fsck", "-f", "-y", str(self.image)], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.mount()


# -- ailments: each makes the disk sick under the broker; what makes it well again is Disk.mend ----------------------------


def dies(run):
    """Everything fails, reads too. What was not synced is gone."""
    folder = os.open(run.disk.place, os.O_RDONLY)
    try:
        fcntl.ioctl(folder, SHUT_DOWN, struct.pack("I", WITHOUT_FLUSH))
    finally:
        os.close(folder)


def read_only(run):
    """The file system finds an error in itself, and takes no more writes. No sync is under way: ext4 says yes to some that are."""
    os.kill(run.server.process.pid, signal.SIGSTOP)
    time.sleep(0.3)
    Path(f"/sys/fs/ext4/{run.disk.device()}/trigger_fs_error").write_text("1")
    os.kill(run.server.process.pid, signal.SIGCONT)


def vanishes(run):
    """It is unmounted under the broker; an empty folder has its name."""
    run.disk.unmount()


def syncs_fail(run):
    """fdatasync and fsync of the segments answer EIO."""
    run.inject("fdatasync,fsync")


def writes_fail(run):
    """Writes to the segments answer EIO."""
    run.inject("pwritev,pwrite64")


AILMENTS = {function.__name__.replace("_", "-"): function for function in (dies, read_only, vanishes, syncs_fail, writes_fail)}


# -- one broker with one sick disk ------------------------------------------------------------------------------------------


class Run:
    """`alone`: the only data directory, which has the metadata, gets sick; otherwise the second of two."""

    def __init__(self, options, folder, alone):
        self.options, self.alone, self.complaints, self.tracer = options, alone, [], None
        folder.mkdir()
        self.disk = Disk(folder)
        self.sound, self.sick = folder / "sound", self.disk.place / "data"
        port = brokers.free_port()
        self.bootstrap, self.log = f"127.0.0.1:{port}", folder / "broker.log"
        dirs = [self.sick] if alone else [self.sound, self.sick]
        self.server = brokers.dohle(options.binary, port, ",".join(map(str, dirs)), self.log)
        self.logger = logging.getLogger(f"librdkafka.{folder.name}")
        self.logger.propagate = False
        self.logger.addHandler(logging.FileHandler(folder / "librdkafka.log"))
        self.writers = []

    def inject(self, calls):
        """Lets system calls on the sick segments fail, until the broker ends."""
        paths = [word for path in self.sick.glob(f"{kill9.TOPIC}-*/*.log") for word in ("-P", str(path))]
        traced = ["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(self.server.process.pid), *paths]
        self.tracer = subprocess.Popen([*traced, "-e", f"trace={calls}", "-e", f"inject={calls}:error=EIO"])

    def create(self, topic, partitions):
        admin = AdminClient({"bootstrap.servers": self.bootstrap}, logger=self.logger)
        new = NewTopic(topic, partitions, config={"flush.messages": "1"})
        admin.create_topics([new], operation_timeout=30)[topic].result(60)
        producer = Producer({"bootstrap.servers": self.bootstrap, "message.timeout.ms": 20_000}, logger=self.logger)
        for partition in range(partitions):
            producer.produce(topic, kill9.payload(self.options.seed, FIRST, partition, 0), partition=partition)
        if producer.flush(30):
            raise brokers.BrokerError(f"{topic} could not be written")

    def partitions(self, place, topic=kill9.TOPIC):
        found = (path.name.rpartition("-") for path in place.glob(f"{topic}-*"))
        return sorted(int(index) for name, _, index in found if name == topic)

    def writer(self, number, partitions):
        writer = kill9.Writer(number, self.bootstrap, partitions, self.options.seed, self.logger)
        writer.start()
        self.writers.append(writer)
        return writer

    def until_more(self, writer):
        before = len(writer.acked)
        wait_until("more is acknowledged", lambda: len(writer.acked) > before + 20, 60, self.server)

    def until_quiet(self, writer):
        """What was answered before may still be on its way, or not taken in: that has ended when nothing came for a second."""
        seen = [len(writer.acked), time.monotonic()]

        def is_quiet():
            if len(writer.acked) > seen[0]:
                seen[:] = [len(writer.acked), time.monotonic()]
            return time.monotonic() - seen[1] > 1

        wait_until("nothing more is acknowledged on the sick disk", is_quiet, 20, self.server)

    def read(self, when, writers):
        """Everything that these writers were acknowledged by now can be read."""
        acked = {key: offset for writer in writers for key, offset in dict(writer.acked).items()}
        read = kill9.read_all(self.bootstrap, [partition for writer in writers for partition in writer.partitions], self.logger)
        history = kill9.history_of(writers, self.options.seed, read)
        history.acked = acked
        history.sent.update({(FIRST, partition): 1 for partition in read})
        self.complaints += [f"{when}: {complaint}" for complaint in kill9.check(history)]
        return len(acked)

    def end_tracing(self):
        if self.tracer is not None:
            self.tracer.terminate()
            self.tracer.wait(10)

    def second_of_two(self, ailment):
        """The sick directory goes offline alone; the broker goes on, ends and starts without it."""
        sound, sick = self.partitions(self.sound), self.partitions(self.sick)
        if len(sound) != len(sick):
            self.complaints.append(f"placement: partitions {sound} and {sick}")
        healthy, poor = self.writer(0, sound), self.writer(1, sick)
        for writer in self.writers:
            self.until_more(writer)
        ailment(self)
        begun = time.monotonic()
        wait_until("the sick directory is offline", lambda: f"the data directory {self.sick} failed" in self.log.read_text(), 90, self.server)
        print(f"#   offline {time.monotonic() - begun:.2f} s later, {len(poor.acked)} acknowledged there", flush=True)
        self.until_more(healthy)
        self.until_quiet(poor)
        stalled = len(poor.acked)
        self.create("later", 2)
        if self.partitions(self.sound, "later") != [0, 1]:
            self.complaints.append("a topic made later is not on the sound disk")
        self.until_more(healthy)
        if len(poor.acked) != stalled:
            self.complaints.append(f"{len(poor.acked) - stalled} records were acknowledged on the sick disk")
        self.read("sick", [healthy])
        code = self.server.stop()
        self.end_tracing()
        if code != 0:
            self.complaints.append(f"exit code {code} after SIGTERM, expected 0")
        self.server.start(60)
        self.until_more(healthy)
        self.read("started on the sick disk", [healthy])
        self.server.kill()

    def the_only_one(self, ailment):
        """The broker ends by itself, and says why."""
        writer = self.writer(0, self.partitions(self.sick))
        self.until_more(writer)
        ailment(self)
        begun = time.monotonic()
        try:
            code = self.server.process.wait(90)
        except subprocess.TimeoutExpired:
            raise brokers.BrokerError(f"the broker did not end:\n{self.server.tail()}") from None
        self.end_tracing()
        said = self.log.read_text()
        print(f"#   ended {time.monotonic() - begun:.2f} s later with exit code {code}, {len(writer.acked)} acknowledged", flush=True)
        if code != 1 or "panicked" in said or str(self.sick) not in said.splitlines()[-1]:
            self.complaints.append(f"exit code {code}, expected 1 and a last line about {self.sick}:\n{self.server.tail()}")

    def run(self, ailment):
        try:
            self.server.start(60)
            self.create(kill9.TOPIC, PARTITIONS)
            (self.the_only_one if self.alone else self.second_of_two)(ailment)
            self.disk.mend()
            self.server.start(60)
            for writer in self.writers:
                self.until_more(writer)
                writer.stopping.set()
            for writer in self.writers:
                writer.join(180)
            self.complaints += [f"writer {w.number}: {error}" for w in self.writers for error in w.errors[:5]]
            total = self.read("in the end", self.writers)
            code = self.server.stop()
            if code != 0:
                self.complaints.append(f"exit code {code} after SIGTERM in the end, expected 0")
            return total
        finally:
            for writer in self.writers:
                writer.stopping.set()
            self.server.kill()
            self.end_tracing()
            self.disk.unmount()


def verdict(options, folder):
    complaints = []
    for name in options.only or AILMENTS:
        for alone in (False, True):
            print(f"# {name}, {'the only directory' if alone else 'one of two directories'}", flush=True)
            run = Run(options, folder / f"{name}-{'one' if alone else 'two'}", alone)
            total = run.run(AILMENTS[name])
            told = f"{len(run.complaints)} complaints" if run.complaints else "all read"
            print(f"{'FAIL' if run.complaints else 'ok'} {name} {'alone' if alone else 'beside'}: {total} acknowledged, {told}", flush=True)
            for complaint in run.complaints[:20]:
                print(f"FAIL {name} {complaint}", flush=True)
            complaints += run.complaints
    return 1 if complaints else 0


def main():
    parser = argparse.ArgumentParser(prog="sickdisk", description="Lets a data directory fail under a broker that is written to.")
    parser.add_argument("--only", action="append", choices=AILMENTS, metavar="AILMENT", help=f"of {', '.join(AILMENTS)}")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the records (default: the time)")
    parser.add_argument("--binary", type=Path, metavar="PATH", help="a broker that is built already")
    parser.add_argument("--keep", action="store_true", help="keep the logs")
    options = parser.parse_args()
    options.binary = options.binary or brokers.build()
    print(f"# seed {options.seed}", flush=True)
    trouble = (KafkaException, OSError, subprocess.SubprocessError)
    return brokers.in_a_folder("sickdisk", options.keep, trouble, lambda folder: verdict(options, folder))


if __name__ == "__main__":
    sys.exit(main())
