"""Configs of topics and brokers, by the tool and by the client libraries."""

import re

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from checks.plumbing import MINUTE, expect, expect_equal


class ConfigChecks:
    def configs_tool(self):
        name, topic = "configs-tool", self.topic("configs")
        if not self.check(f"{name} create-topic", self.create, topic):
            return self.not_run(f"{name} topic", "there is no topic")

        def shown(entity, entity_name, everything=False):
            which = ["--entity-default"] if entity_name is None else ["--entity-name", entity_name]
            flags = ["--all"] if everything else []
            output = self.tools.run("configs", "--describe", "--entity-type", entity, *which, *flags).stdout.decode()
            return dict(re.findall(r"^\s+([a-z][\w.]*)=(\S*) sensitive=", output, re.M))

        def alter(entity, entity_name, *change):
            which = ["--entity-default"] if entity_name is None else ["--entity-name", entity_name]
            self.tools.run("configs", "--alter", "--entity-type", entity, *which, *change)

        def topic_round_trip():
            alter("topics", topic, "--add-config", "retention.ms=3600000,max.message.bytes=200000,cleanup.policy=[compact,delete]")
            got = shown("topics", topic)
            for key, value in (("retention.ms", "3600000"), ("max.message.bytes", "200000"), ("cleanup.policy", "compact,delete")):
                expect_equal(value, got.get(key), key)
            alter("topics", topic, "--delete-config", "max.message.bytes", "--add-config", "segment.bytes=1048576")
            got = shown("topics", topic)
            expect("max.message.bytes" not in got, "max.message.bytes is still there after --delete-config")
            expect_equal("3600000", got.get("retention.ms"), "retention.ms, which was not touched")
            expect_equal("1048576", got.get("segment.bytes"), "segment.bytes")

        def defaults():
            got = shown("topics", topic, everything=True)
            for key, value in (("max.message.bytes", "1048588"), ("retention.bytes", "-1"), ("compression.type", "producer"),
                               ("message.timestamp.type", "CreateTime"), ("min.insync.replicas", "1")):
                expect_equal(value, got.get(key), f"default of {key}")

        def broker_round_trip(node, key, value):
            before = shown("brokers", node)
            expect(key not in before, f"{key} is set before the check sets it: {before}")
            alter("brokers", node, "--add-config", f"{key}={value}")
            try:
                self.wait_until(f"{key}={value}", lambda: shown("brokers", node).get(key) == value)
            finally:
                alter("brokers", node, "--delete-config", key)
            self.wait_until(f"removal of {key}", lambda: key not in shown("brokers", node))

        self.check(f"{name} topic-round-trip", topic_round_trip)
        self.check(f"{name} topic-defaults", defaults)
        self.check(f"{name} bad-value-is-refused", self.tools.refused, "InvalidConfigurationException", "configs", "--alter",
                   "--entity-type", "topics", "--entity-name", topic, "--add-config", "retention.ms=soon")
        self.check(f"{name} unknown-key-is-refused", self.tools.refused, "InvalidConfigurationException", "configs", "--alter",
                   "--entity-type", "topics", "--entity-name", topic, "--add-config", "no.such.config=1")
        node = str(self.java.call("cluster")["nodes"][0])
        self.check(f"{name} broker-round-trip", broker_round_trip, node, "log.retention.ms", "7200000")
        self.check(f"{name} cluster-default-round-trip", broker_round_trip, None, "log.retention.ms", "7300000")

    def configs(self):
        """The same through the client libraries: incremental, and the old full replacement."""
        name = "configs"
        topic = self.topic("configs")
        if not self.check(f"{name} create-topic-with-configs", self.create, topic, configs={"retention.ms": "1000000"}):
            return self.not_run(f"{name} round trips", "there is no topic")

        def java_get(kind, entity):
            return self.java.call("describe-configs", type=kind, name=entity)["entries"]

        def java_alter(kind, entity, *ops):
            self.java.call("alter-configs", type=kind, name=entity,
                           ops=[dict(zip(("op", "key", "value"), op)) for op in ops])

        def created_with():
            entry = java_get("TOPIC", topic)["retention.ms"]
            expect_equal(("1000000", "DYNAMIC_TOPIC_CONFIG"), (entry["value"], entry["source"]), "retention.ms")

        def java_incremental():
            java_alter("TOPIC", topic, ("SET", "max.message.bytes", "300000"), ("APPEND", "cleanup.policy", "compact"))
            entries = java_get("TOPIC", topic)
            expect_equal(("300000", "DYNAMIC_TOPIC_CONFIG", "INT"),
                         tuple(entries["max.message.bytes"][k] for k in ("value", "source", "type")), "max.message.bytes")
            expect_equal("delete,compact", entries["cleanup.policy"]["value"], "cleanup.policy after APPEND")
            java_alter("TOPIC", topic, ("SUBTRACT", "cleanup.policy", "compact"), ("DELETE", "max.message.bytes"))
            entries = java_get("TOPIC", topic)
            expect_equal("delete", entries["cleanup.policy"]["value"], "cleanup.policy after SUBTRACT")
            expect_equal(("1048588", "DEFAULT_CONFIG"),
                         tuple(entries["max.message.bytes"][k] for k in ("value", "source")), "max.message.bytes after DELETE")

        def confluent_get(kind, entity):
            resource = ConfigResource(kind, entity)
            return self.admin.describe_configs([resource])[resource].result(MINUTE)

        def confluent_incremental():
            change = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[
                ConfigEntry("segment.bytes", "2097152", incremental_operation=AlterConfigOpType.SET),
                ConfigEntry("retention.ms", None, incremental_operation=AlterConfigOpType.DELETE)])
            self.admin.incremental_alter_configs([change])[change].result(MINUTE)
            got = confluent_get(ResourceType.TOPIC, topic)
            expect_equal("2097152", got["segment.bytes"].value, "segment.bytes")
            expect(not got["segment.bytes"].is_default, "segment.bytes is shown as a default")
            expect_equal("604800000", got["retention.ms"].value, "retention.ms after DELETE")

        def confluent_replace():
            change = ConfigResource(ResourceType.TOPIC, topic, set_config={"retention.bytes": "123456789"})
            self.admin.alter_configs([change])[change].result(MINUTE)
            got = confluent_get(ResourceType.TOPIC, topic)
            expect_equal("123456789", got["retention.bytes"].value, "retention.bytes")
            expect_equal("1073741824", got["segment.bytes"].value, "segment.bytes, which the replacement left out")

        def broker():
            node = str(self.java.call("cluster")["nodes"][0])
            entries = java_get("BROKER", node)
            for key in ("log.retention.hours", "num.partitions", "message.max.bytes", "auto.create.topics.enable"):
                expect(key in entries, f"the broker's description lacks {key}")
            java_alter("BROKER", node, ("SET", "log.retention.bytes", "999999999"))
            try:
                self.wait_until("the change", lambda: java_get("BROKER", node)["log.retention.bytes"]["value"] == "999999999")
                expect_equal("DYNAMIC_BROKER_CONFIG", java_get("BROKER", node)["log.retention.bytes"]["source"], "source")
            finally:
                java_alter("BROKER", node, ("DELETE", "log.retention.bytes", None))
            self.wait_until("the removal", lambda: java_get("BROKER", node)["log.retention.bytes"]["value"] == "-1")
            confluent = confluent_get(ResourceType.BROKER, node)
            expect_equal("-1", confluent["log.retention.bytes"].value, "log.retention.bytes by confluent")

        self.check(f"{name} created-with", created_with)
        self.check(f"{name} incremental-by-java", java_incremental)
        self.check(f"{name} incremental-by-confluent", confluent_incremental)
        self.check(f"{name} replacement-by-confluent", confluent_replace)
        self.check(f"{name} broker-by-java", broker)
        self.check(f"{name} unknown-topic-is-refused", self.java_error, "UnknownTopicOrPartitionException",
                   lambda: java_get("TOPIC", self.topic("unknown")))
        self.check(f"{name} bad-value-is-refused", self.java_error, "InvalidConfigurationException",
                   lambda: java_alter("TOPIC", topic, ("SET", "cleanup.policy", "shred")))
