import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Transactional producers by their id. They stay, with what they have open, until the process ends or they are told to leave. */
class Transactions {
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();

    void run(JsonNode command, Map<String, Object> config, ObjectNode answer) throws Exception {
        String id = command.get("id").asText();
        KafkaProducer<byte[], byte[]> producer = producers.get(id);
        switch (command.get("act").asText()) {
            case "init" -> init(id, config);
            case "begin" -> producer.beginTransaction();
            case "send" -> send(producer, command, answer);
            case "offsets" -> producer.sendOffsetsToTransaction(
                    Map.of(new TopicPartition(command.get("topic").asText(), command.get("partition").asInt()),
                            new OffsetAndMetadata(command.get("offset").asLong(), command.path("metadata").asText(""))),
                    new ConsumerGroupMetadata(command.get("group").asText()));
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            // Without a goodbye: what is open stays open.
            case "leave" -> producers.remove(id).close(Duration.ZERO);
            default -> throw new IllegalArgumentException("no such act: " + command);
        }
    }

    private void init(String id, Map<String, Object> config) {
        config.put("transactional.id", id);
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
        producers.put(id, producer);
        producer.initTransactions();
    }

    /** Sends one record and waits for it, so that producers can be interleaved as the caller wants. */
    private static void send(KafkaProducer<byte[], byte[]> producer, JsonNode command, ObjectNode answer) throws Exception {
        byte[] key = command.path("key").isTextual() ? command.get("key").asText().getBytes("UTF-8") : null;
        byte[] value = command.path("value").isTextual() ? command.get("value").asText().getBytes("UTF-8") : null;
        Future<RecordMetadata> sent = producer.send(new ProducerRecord<>(
                command.get("topic").asText(), command.get("partition").asInt(), command.get("timestamp").asLong(),
                key, value, List.of()));
        producer.flush();
        answer.put("offset", sent.get(30, TimeUnit.SECONDS).offset());
    }
}
