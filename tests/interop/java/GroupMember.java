import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** The Java client as a member of a group: one event a line on stdout until the next line on stdin, see members.py. */
public class GroupMember implements ConsumerRebalanceListener {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final PrintStream events;
    private final JsonNode command;
    /** Positions that no commit has confirmed yet. */
    private final Map<TopicPartition, OffsetAndMetadata> pending = new HashMap<>();

    GroupMember(PrintStream events, JsonNode command) {
        this.events = events;
        this.command = command;
    }

    public static void main(String[] args) throws Exception {
        PrintStream events = System.out;
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        GroupMember member = new GroupMember(events, JSON.readTree(lines.readLine()));
        AtomicBoolean leaving = new AtomicBoolean();
        Thread waiter = new Thread(() -> {
            try {
                lines.readLine();
            } catch (Exception e) {
                // Nobody is there to tell it.
            }
            leaving.set(true);
        });
        waiter.setDaemon(true);
        waiter.start();
        try {
            member.live(args[0], leaving);
            member.tell("left", JSON.createObjectNode());
            System.exit(0);
        } catch (Exception e) {
            member.tell("failed", JSON.createObjectNode().put("message", e.toString()));
            System.exit(1);
        }
    }

    private synchronized void tell(String event, ObjectNode more) {
        more.put("event", event).put("at", ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()));
        events.println(more);
        events.flush();
    }

    private Map<String, Object> config(String bootstrap) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        config.put("client.id", command.get("client_id").asText());
        config.put("group.id", command.get("group").asText());
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "earliest");
        String protocol = command.path("protocol").asText("classic");
        config.put("group.protocol", protocol);
        if (protocol.equals("classic")) {
            boolean cooperative = command.path("strategy").asText().equals("cooperative-sticky");
            config.put("session.timeout.ms", command.get("session_ms").asInt());
            config.put("heartbeat.interval.ms", 500);
            config.put("partition.assignment.strategy",
                    (cooperative ? CooperativeStickyAssignor.class : RangeAssignor.class).getName());
        }
        if (command.hasNonNull("instance")) {
            config.put("group.instance.id", command.get("instance").asText());
        }
        return config;
    }

    private void live(String bootstrap, AtomicBoolean leaving) {
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(config(bootstrap), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(command.get("topic").asText()), this);
            while (!leaving.get()) {
                step(consumer);
            }
        }
    }

    private void step(KafkaConsumer<byte[], byte[]> consumer) {
        ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
        for (TopicPartition partition : records.partitions()) {
            long next = tellRead(partition.partition(), records.records(partition));
            pending.put(partition, new OffsetAndMetadata(next));
        }
        if (!pending.isEmpty()) {
            commit(consumer, Map.copyOf(pending));
        }
    }

    private void commit(KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, OffsetAndMetadata> positions) {
        try {
            consumer.commitSync(positions);
            pending.keySet().removeAll(positions.keySet());
        } catch (CommitFailedException | RebalanceInProgressException e) {
            // A rebalance was quicker.
            tell("uncommitted", JSON.createObjectNode().put("message", e.toString()));
            return;
        }
        ObjectNode event = JSON.createObjectNode();
        ObjectNode offsets = event.putObject("offsets");
        positions.forEach((partition, position) -> offsets.put(String.valueOf(partition.partition()), position.offset()));
        tell("committed", event);
    }

    /** One event for each stretch without a gap; returns the position behind. */
    private long tellRead(int partition, List<ConsumerRecord<byte[], byte[]>> records) {
        long first = records.get(0).offset();
        long next = first;
        for (ConsumerRecord<byte[], byte[]> record : records) {
            if (record.offset() != next) {
                tellStretch(partition, first, next);
                first = record.offset();
            }
            next = record.offset() + 1;
        }
        tellStretch(partition, first, next);
        return next;
    }

    private void tellStretch(int partition, long first, long next) {
        tell("read", JSON.createObjectNode().put("partition", partition).put("first", first).put("next", next));
    }

    private void tellPartitions(String event, Collection<TopicPartition> partitions) {
        ObjectNode more = JSON.createObjectNode();
        var numbers = more.putArray("partitions");
        partitions.forEach(partition -> numbers.add(partition.partition()));
        tell(event, more);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        pending.keySet().removeAll(partitions);
        tellPartitions("assigned", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        pending.keySet().removeAll(partitions);
        tellPartitions("revoked", partitions);
    }
}
