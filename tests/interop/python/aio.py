"""aiokafka behind the line protocol of drivers.py."""

import asyncio
import sys

from common import leave_event, serve, tell, tell_read

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import CommitFailedError, IllegalGenerationError, KafkaError, RebalanceInProgressError, UnknownMemberIdError
from records import Record, read_file, write_file

BOOTSTRAP = sys.argv[1]
ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor, "sticky": StickyPartitionAssignor}
OVERTAKEN = (CommitFailedError, IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError)


async def produce(command):
    records = read_file(command["in"])
    codec = command["config"].get("compression.type", "none")
    settings = {"compression_type": None if codec == "none" else codec, "linger_ms": 20, "acks": "all"}
    idempotent = command["config"].get("enable.idempotence") == "true"
    placed = []
    async with AIOKafkaProducer(bootstrap_servers=BOOTSTRAP, enable_idempotence=idempotent, **settings) as producer:
        sent = []
        for record in records:
            sent.append(await producer.send(
                command["topic"], record.value, record.key, None if record.partition < 0 else record.partition,
                None if record.timestamp < 0 else record.timestamp, list(record.headers),
            ))
        for record, future in zip(records, sent):
            report = await future
            # What it reports as the time is that of the first record in the batch.
            placed.append(record._replace(partition=report.partition, offset=report.offset))
    write_file(command["out"], placed)
    return {"records": len(placed)}


async def consume(command):
    ends = {TopicPartition(command["topic"], int(p)): end for p, end in command["ends"].items() if end > 0}
    consumer = AIOKafkaConsumer(bootstrap_servers=BOOTSTRAP, enable_auto_commit=False, auto_offset_reset="none")
    records, left = [], set(ends)
    await consumer.start()
    try:
        consumer.assign(list(ends))
        await consumer.seek_to_beginning(*ends)
        async with asyncio.timeout(command["timeout_ms"] / 1000):
            while left:
                for partition, batch in (await consumer.getmany(timeout_ms=500)).items():
                    for r in batch:
                        records.append(Record(r.partition, r.offset, r.timestamp, r.key, r.value, tuple(r.headers)))
                    if batch[-1].offset + 1 >= ends[partition]:
                        left.discard(partition)
    finally:
        await consumer.stop()
    write_file(command["out"], records)
    return {"records": len(records)}


class Listener(ConsumerRebalanceListener):
    def __init__(self, pending):
        self.pending = pending

    async def on_partitions_revoked(self, revoked):
        self.pending.clear()
        tell("revoked", partitions=[partition.partition for partition in revoked])

    async def on_partitions_assigned(self, assigned):
        tell("assigned", partitions=[partition.partition for partition in assigned])


async def join(command):
    leaving = leave_event()
    consumer = AIOKafkaConsumer(
        bootstrap_servers=BOOTSTRAP, client_id=command["client_id"], group_id=command["group"],
        group_instance_id=command.get("instance"), session_timeout_ms=command["session_ms"], heartbeat_interval_ms=500,
        enable_auto_commit=False, auto_offset_reset="earliest",
        partition_assignment_strategy=(ASSIGNORS[command.get("strategy", "range")],),
    )
    await consumer.start()
    try:
        pending = {}  # positions that no commit has confirmed yet
        consumer.subscribe([command["topic"]], listener=Listener(pending))
        while not leaving.is_set():
            for partition, batch in (await consumer.getmany(timeout_ms=100)).items():
                tell_read(partition.partition, [record.offset for record in batch])
                pending[partition] = batch[-1].offset + 1
            if pending:
                positions = dict(pending)
                try:
                    await consumer.commit(positions)
                    pending.clear()
                    tell("committed", offsets={partition.partition: offset for partition, offset in positions.items()})
                except KafkaError as error:
                    if not (error.retriable or isinstance(error, OVERTAKEN)):
                        raise
                    tell("uncommitted", message=repr(error))
    finally:
        await consumer.stop()


serve({"produce": produce, "consume": consume}, join)
