"""What the broker says of itself, and what its files say of it."""

import json
import re
import subprocess

from checks.plumbing import MINUTE, PARTITIONS, expect, expect_equal
from clients import ORACLE
from records import Record


class ClusterChecks:
    def cluster_tools(self):
        name, topic = "cluster-tools", self.topic("log-dirs")
        cluster = self.check(f"{name} describe-cluster-by-java", lambda: self.java.call("cluster"))
        if not cluster:
            return self.not_run(f"{name} tools", "the cluster cannot be described")

        def cluster_id():
            output = self.tools.run("cluster", "cluster-id", after=True).stdout.decode()
            expect(cluster["id"] in output, f"expected {cluster['id']} in {output!r}")
            expect_equal(cluster["id"], self.admin.list_topics(timeout=MINUTE).cluster_id, "cluster id by confluent")

        def api_versions():
            output = self.tools.run("broker-api-versions").stdout.decode()
            for api in ("Produce", "Fetch", "ListOffsets", "Metadata", "ApiVersions", "CreateTopics", "InitProducerId",
                        "IncrementalAlterConfigs", "DescribeTopicPartitions"):
                expect(re.search(rf"\t{api}\(\d+\): \d+.*\[usable: \d+\]", output), f"no usable version of {api} in the output")

        def log_dirs():
            self.create(topic)
            placed = self.confluent.produce(topic, [Record(p, -1, -1, b"k", b"x" * 1000, ()) for p in (0, 0, 1)])
            expect_equal(3, len(placed), "records")
            output = self.tools.run("log-dirs", "--describe", "--topic-list", topic).stdout.decode()
            answer = next(json.loads(line) for line in output.splitlines() if line.startswith("{"))
            sizes = {}
            for broker in answer["brokers"]:
                for directory in broker["logDirs"]:
                    expect_equal(None, directory["error"], f"error of {directory['logDir']}")
                    for partition in directory["partitions"]:
                        sizes[partition["partition"]] = partition["size"]
                        expect(not partition["isFuture"], f"{partition} is a future replica")
            expect_equal({f"{topic}-{p}" for p in range(PARTITIONS)}, set(sizes), "partitions")
            expect(sizes[f"{topic}-0"] > 2000 > sizes[f"{topic}-1"] > 1000 and sizes[f"{topic}-2"] == 0, f"sizes are {sizes}")
            java = self.java.call("log-dirs", topic=topic, brokers=cluster["nodes"])["sizes"]
            expect_equal({p.rsplit("-", 1)[1]: size for p, size in sizes.items()}, java, "sizes by java")

        def quorum():
            described = ["metadata-quorum", "describe"]
            status = self.tools.run(*described, "--status").stdout.decode()
            said = dict(re.findall(r"^(\w+): +(.+)$", status, re.MULTILINE))
            expect_equal(cluster["id"], said["ClusterId"], "cluster id")
            expect_equal(cluster["controller"], int(said["LeaderId"]), "leader")
            expect(int(said["LeaderEpoch"]) > 0 and int(said["HighWatermark"]) > 0, f"{status!r}")
            table = self.tools.run(*described, "--replication").stdout.decode().strip().splitlines()
            rows = [row.split("\t") for row in table if not row.startswith("NodeId")]
            expect_equal([(said["LeaderId"], "0", "Leader")], [(r[0].strip(), r[3].strip(), r[6].strip()) for r in rows], "replicas")

        def kcat_list():
            listing = json.loads(self.kcat.run("-L", "-J").stdout)
            expect_equal(sorted(cluster["nodes"]), sorted(node["id"] for node in listing["brokers"]), "brokers by kcat")
            expect_equal(cluster["controller"], listing["controllerid"], "controller by kcat")

        def confluent_cluster():
            described = self.admin.describe_cluster().result(MINUTE)
            expect_equal(cluster["id"], described.cluster_id, "cluster id")
            expect_equal(sorted(cluster["nodes"]), sorted(node.id for node in described.nodes), "nodes")

        self.check(f"{name} cluster-id", cluster_id)
        self.check(f"{name} broker-api-versions", api_versions)
        self.check(f"{name} log-dirs", log_dirs)
        self.check(f"{name} metadata-quorum", quorum)
        self.check(f"{name} kcat-list", kcat_list)
        self.check(f"{name} describe-cluster-by-confluent", confluent_cluster)


def read_files(tool, data, more):
    """What the broker left is read by Apache Kafka's own tool, and the same is found in it."""
    done = subprocess.run([str(ORACLE / tool), str(data), *map(str, more)], capture_output=True, timeout=15 * MINUTE)
    said = done.stdout.decode(errors="replace").strip().splitlines() or [done.stderr.decode(errors="replace")[-300:]]
    expect(done.returncode == 0, f"{said[0]} … {said[-1]}")
    print(f"# {tool}: {said[-1]}", flush=True)
