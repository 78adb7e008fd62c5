"""confluent-kafka as a member of a group, behind the line protocol of drivers.py."""

import sys

from common import leave_event, serve, tell, tell_read

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

OVERTAKEN = (KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS, KafkaError.STALE_MEMBER_EPOCH,
             KafkaError.UNKNOWN_MEMBER_ID, KafkaError._NO_OFFSET)



def join(command):
    leaving = leave_event()
    config = {
        "bootstrap.servers": sys.argv[1], "client.id": command["client_id"], "group.id": command["group"],
        "enable.auto.commit": False, "auto.offset.reset": "earliest", "group.protocol": command.get("protocol", "classic"),
    }
    if command.get("instance"):
        config["group.instance.id"] = command["instance"]
    if config["group.protocol"] == "classic":
        config |= {"session.timeout.ms": command["session_ms"], "heartbeat.interval.ms": 500,
                   "partition.assignment.strategy": command.get("strategy", "range")}
    consumer = Consumer(config)

    pending = {}  # positions that no commit has confirmed yet

    def rebalanced(event):
        def callback(_, partitions):
            for partition in partitions:
                pending.pop(partition.partition, None)
            tell(event, partitions=[partition.partition for partition in partitions])

        return callback

    revoked = rebalanced("revoked")
    consumer.subscribe([command["topic"]], on_assign=rebalanced("assigned"), on_revoke=revoked, on_lost=revoked)
    while not leaving.is_set():
        step(consumer, command["topic"], pending)
    consumer.close()


def step(consumer, topic, pending):
    read = {}
    for message in consumer.consume(500, timeout=0.1):
        if message.error():
            raise KafkaException(message.error())
        read.setdefault(message.partition(), []).append(message.offset())
    for partition, offsets in read.items():
        tell_read(partition, offsets)
        pending[partition] = offsets[-1] + 1
    if pending:
        commit(consumer, topic, pending)


def commit(consumer, topic, pending):
    positions = dict(pending)
    wanted = [TopicPartition(topic, partition, offset) for partition, offset in positions.items()]
    try:
        done = consumer.commit(offsets=wanted, asynchronous=False)
    except KafkaException as error:
        if error.args[0].code() not in OVERTAKEN:
            raise
        tell("uncommitted", message=str(error))
        return
    for partition in done:
        if partition.error is not None:
            raise KafkaException(partition.error)
    pending.clear()
    tell("committed", offsets=positions)


serve({}, join)
