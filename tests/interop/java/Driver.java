import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Apache Kafka's Java client behind a pipe: one JSON command a line on stdin, one JSON answer a line on stdout, so that a whole
 * run costs one start of a JVM. Records travel in files, see records.py for their form.
 */
public class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long PATIENCE_MS = 60_000;

    private final String bootstrap;
    private final Admin admin;
    private final Transactions transactions = new Transactions();

    Driver(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(Map.of(
                "bootstrap.servers", bootstrap, "client.id", "interop-java-admin",
                "request.timeout.ms", 20_000, "default.api.timeout.ms", 30_000));
    }

    public static void main(String[] args) throws IOException {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Driver driver = new Driver(args[0]);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                driver.run(JSON.readTree(line), answer);
            } catch (ExecutionException e) {
                failed(answer, e.getCause());
            } catch (Exception e) {
                failed(answer, e);
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
        driver.admin.close(Duration.ofSeconds(5));
    }

    private static void failed(ObjectNode answer, Throwable cause) {
        answer.put("error", cause.getClass().getSimpleName());
        answer.put("message", String.valueOf(cause.getMessage()));
    }

    private void run(JsonNode command, ObjectNode answer) throws Exception {
        String topic = command.path("topic").asText();
        switch (command.get("do").asText()) {
            case "produce" -> produce(command, topic, answer);
            case "consume" -> consume(command, topic, answer);
            case "create" -> wait(admin.createTopics(List.of(
                    new NewTopic(topic, Optional.of(command.get("partitions").asInt()), Optional.empty())
                            .configs(strings(command.path("configs"))))).all());
            case "delete" -> wait(admin.deleteTopics(List.of(topic)).all());
            case "add-partitions" -> wait(admin.createPartitions(Map.of(
                    topic, NewPartitions.increaseTo(command.get("partitions").asInt()))).all());
            case "describe" -> describe(topic, answer);
            case "topics" -> {
                var names = answer.putArray("topics");
                wait(admin.listTopics().names()).forEach(names::add);
            }
            case "cluster" -> {
                var cluster = admin.describeCluster();
                answer.put("id", wait(cluster.clusterId()));
                answer.put("controller", wait(cluster.controller()).id());
                var nodes = answer.putArray("nodes");
                wait(cluster.nodes()).forEach(node -> nodes.add(node.id()));
            }
            case "alter-configs" -> alterConfigs(command);
            case "describe-configs" -> describeConfigs(command, answer);
            case "list-offsets" -> listOffsets(command, topic, answer);
            case "offsets-for-times" -> offsetsForTimes(command, topic, answer);
            case "delete-records" -> answer.put("low", wait(admin.deleteRecords(Map.of(
                            new TopicPartition(topic, command.get("partition").asInt()),
                            RecordsToDelete.beforeOffset(command.get("before").asLong())))
                    .lowWatermarks().values().iterator().next()).lowWatermark());
            case "tool" -> Tool.run(command, answer);
            case "groups" -> Groups.list(admin, answer);
            case "transact" -> transactions.run(command, client(command, "transactions"), answer);
            case "log-dirs" -> logDirs(command, topic, answer);
            default -> throw new IllegalArgumentException("no such command: " + command);
        }
    }

    private static <T> T wait(Future<T> future) throws Exception {
        return future.get(PATIENCE_MS, TimeUnit.MILLISECONDS);
    }

    private static Map<String, String> strings(JsonNode node) {
        Map<String, String> map = new HashMap<>();
        node.properties().forEach(entry -> map.put(entry.getKey(), entry.getValue().asText()));
        return map;
    }

    private Map<String, Object> client(JsonNode command, String role) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        config.put("client.id", "interop-java-" + role);
        config.putAll(strings(command.path("config")));
        return config;
    }

    /** Sends every record of `in`; writes them to `out` again with the partition, offset and timestamp that were reported. */
    private void produce(JsonNode command, String topic, ObjectNode answer) throws Exception {
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(
                Files.newInputStream(Path.of(command.get("in").asText()))))) {
            for (ProducerRecord<byte[], byte[]> record = read(in, topic); record != null; record = read(in, topic)) {
                records.add(record);
            }
        }
        List<Future<RecordMetadata>> sent = new ArrayList<>(records.size());
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(client(command, "producer"), new ByteArraySerializer(), new ByteArraySerializer());
        try {
            for (ProducerRecord<byte[], byte[]> record : records) {
                sent.add(producer.send(record));
            }
            producer.flush();
        } finally {
            producer.close(Duration.ofSeconds(30));
        }
        try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(
                Files.newOutputStream(Path.of(command.get("out").asText()))))) {
            for (int i = 0; i < records.size(); i++) {
                RecordMetadata report = wait(sent.get(i));
                ProducerRecord<byte[], byte[]> record = records.get(i);
                write(out, report.partition(), report.hasOffset() ? report.offset() : -1, report.timestamp(),
                        record.key(), record.value(), record.headers());
            }
        }
        answer.put("records", records.size());
    }

    /** Reads the named partitions from their start to the end they have now. */
    private void consume(JsonNode command, String topic, ObjectNode answer) throws Exception {
        List<TopicPartition> partitions = new ArrayList<>();
        command.get("partitions").forEach(p -> partitions.add(new TopicPartition(topic, p.asInt())));
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(command.get("timeout_ms").asLong());
        Map<String, Object> config = client(command, "consumer");
        config.put("enable.auto.commit", "false");
        config.putIfAbsent("auto.offset.reset", "none");
        long count = 0;
        try (KafkaConsumer<byte[], byte[]> consumer =
                        new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
                DataOutputStream out = new DataOutputStream(new BufferedOutputStream(
                        Files.newOutputStream(Path.of(command.get("out").asText()))))) {
            consumer.assign(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            if (command.has("from")) {
                partitions.forEach(p -> consumer.seek(p, command.get("from").asLong()));
            } else {
                consumer.seekToBeginning(partitions);
            }
            while (!ends.entrySet().stream().allMatch(end -> consumer.position(end.getKey()) >= end.getValue())) {
                if (System.nanoTime() > deadline) {
                    throw new IOException("only " + count + " records before the time was up; ends are " + ends);
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                    write(out, record.partition(), record.offset(), record.timestamp(),
                            record.key(), record.value(), record.headers());
                    count++;
                }
            }
        }
        answer.put("records", count);
    }

    private void describe(String topic, ObjectNode answer) throws Exception {
        TopicDescription description = wait(admin.describeTopics(List.of(topic)).allTopicNames()).get(topic);
        answer.put("id", description.topicId().toString());
        var partitions = answer.putArray("partitions");
        for (TopicPartitionInfo info : description.partitions()) {
            ObjectNode partition = partitions.addObject();
            partition.put("partition", info.partition());
            partition.put("leader", info.leader() == null ? -1 : info.leader().id());
            partition.put("replicas", info.replicas().size());
            partition.put("isr", info.isr().size());
        }
    }

    private static ConfigResource resource(JsonNode command) {
        return new ConfigResource(
                ConfigResource.Type.valueOf(command.get("type").asText()), command.get("name").asText());
    }

    private void alterConfigs(JsonNode command) throws Exception {
        Collection<AlterConfigOp> operations = new ArrayList<>();
        for (JsonNode operation : command.get("ops")) {
            operations.add(new AlterConfigOp(
                    new ConfigEntry(operation.get("key").asText(), operation.path("value").asText(null)),
                    AlterConfigOp.OpType.valueOf(operation.get("op").asText())));
        }
        wait(admin.incrementalAlterConfigs(Map.of(resource(command), operations)).all());
    }

    private void describeConfigs(JsonNode command, ObjectNode answer) throws Exception {
        ConfigResource resource = resource(command);
        Config config = wait(admin.describeConfigs(List.of(resource)).all()).get(resource);
        ObjectNode entries = answer.putObject("entries");
        for (ConfigEntry entry : config.entries()) {
            ObjectNode node = entries.putObject(entry.name());
            node.put("value", entry.value());
            node.put("source", entry.source().name());
            node.put("type", entry.type().name());
            node.put("read_only", entry.isReadOnly());
        }
    }

    private void listOffsets(JsonNode command, String topic, ObjectNode answer) throws Exception {
        OffsetSpec spec = switch (command.get("spec").asText()) {
            case "earliest" -> OffsetSpec.earliest();
            case "latest" -> OffsetSpec.latest();
            case "max-timestamp" -> OffsetSpec.maxTimestamp();
            default -> OffsetSpec.forTimestamp(command.get("spec").asLong());
        };
        Map<TopicPartition, OffsetSpec> request = new HashMap<>();
        command.get("partitions").forEach(p -> request.put(new TopicPartition(topic, p.asInt()), spec));
        ObjectNode offsets = answer.putObject("offsets");
        for (Map.Entry<TopicPartition, ListOffsetsResult.ListOffsetsResultInfo> entry
                : wait(admin.listOffsets(request).all()).entrySet()) {
            offsets.putArray(String.valueOf(entry.getKey().partition()))
                    .add(entry.getValue().offset()).add(entry.getValue().timestamp());
        }
    }

    private void offsetsForTimes(JsonNode command, String topic, ObjectNode answer) {
        Map<TopicPartition, Long> request = new HashMap<>();
        command.get("partitions").forEach(p ->
                request.put(new TopicPartition(topic, p.asInt()), command.get("timestamp").asLong()));
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                client(command, "consumer"), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            ObjectNode offsets = answer.putObject("offsets");
            for (Map.Entry<TopicPartition, OffsetAndTimestamp> entry : consumer.offsetsForTimes(request).entrySet()) {
                OffsetAndTimestamp found = entry.getValue();
                offsets.putArray(String.valueOf(entry.getKey().partition()))
                        .add(found == null ? -1 : found.offset()).add(found == null ? -1 : found.timestamp());
            }
        }
    }

    private void logDirs(JsonNode command, String topic, ObjectNode answer) throws Exception {
        List<Integer> brokers = new ArrayList<>();
        command.get("brokers").forEach(broker -> brokers.add(broker.asInt()));
        ObjectNode sizes = answer.putObject("sizes");
        for (var dirs : wait(admin.describeLogDirs(brokers).allDescriptions()).values()) {
            for (var dir : dirs.values()) {
                dir.replicaInfos().forEach((partition, info) -> {
                    if (partition.topic().equals(topic)) {
                        sizes.put(String.valueOf(partition.partition()), info.size());
                    }
                });
            }
        }
    }

    private static ProducerRecord<byte[], byte[]> read(DataInputStream in, String topic) throws IOException {
        int partition;
        try {
            partition = in.readInt();
        } catch (EOFException e) {
            return null;
        }
        in.readLong(); // the offset is the broker's to give
        long timestamp = in.readLong();
        byte[] key = readBytes(in);
        byte[] value = readBytes(in);
        List<Header> headers = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            String name = new String(readBytes(in), StandardCharsets.UTF_8);
            headers.add(new RecordHeader(name, readBytes(in)));
        }
        return new ProducerRecord<>(
                topic, partition < 0 ? null : partition, timestamp < 0 ? null : timestamp, key, value, headers);
    }

    private static byte[] readBytes(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0) {
            return null;
        }
        byte[] bytes = new byte[length];
        in.readFully(bytes);
        return bytes;
    }

    private static void write(DataOutputStream out, int partition, long offset, long timestamp, byte[] key, byte[] value,
            Iterable<Header> headers) throws IOException {
        out.writeInt(partition);
        out.writeLong(offset);
        out.writeLong(timestamp);
        writeBytes(out, key);
        writeBytes(out, value);
        int count = 0;
        for (Header ignored : headers) {
            count++;
        }
        out.writeInt(count);
        for (Header header : headers) {
            writeBytes(out, header.key().getBytes(StandardCharsets.UTF_8));
            writeBytes(out, header.value());
        }
    }

    private static void writeBytes(DataOutputStream out, byte[] bytes) throws IOException {
        if (bytes == null) {
            out.writeInt(-1);
        } else {
            out.writeInt(bytes.length);
            out.write(bytes);
        }
    }
}
