/* What librdkafka does when driven as hard, or as steadily, as told. Twin of tests/examples/client_perf.rs, which says what the
 * arguments and the answer are; tests/perf/clients runs both.
 *
 * Calls what librdkafka's own benchmark calls: rd_kafka_produce with a copy of the value, a delivery report for each record,
 * rd_kafka_poll after every 1000; rd_kafka_consume_batch_queue on the queue of the consumer. That call waits for a full batch, so
 * records that come at a rate are read by rd_kafka_consumer_poll, one by one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rdkafka.h"

#define SILENCE_MS 30000
#define BATCH 1000

struct job {
        const char *servers, *topic;
        size_t size;
        uint64_t count, rate;
        char **settings;
};

static uint64_t acknowledged, failed, *micros, heard;

static void die(const char *why) {
        fprintf(stderr, "librdkafka: %s\n", why);
        exit(1);
}

static uint64_t clock_us(clockid_t clock) {
        struct timespec at;
        clock_gettime(clock, &at);
        return (uint64_t)at.tv_sec * 1000000 + (uint64_t)at.tv_nsec / 1000;
}

static int compare(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
        return x < y ? -1 : x > y;
}

static uint64_t at(unsigned permille) {
        return micros[(heard - 1) * permille / 1000];
}

static void report(uint64_t count, uint64_t took_us) {
        printf("{\"records\":%" PRIu64 ",\"seconds\":%.6f,\"latency_us\":", count, (double)took_us / 1e6);
        if (heard == 0) {
                printf("null}\n");
                return;
        }
        qsort(micros, heard, sizeof(*micros), compare);
        printf("{\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"p999\":%" PRIu64 ",\"max\":%" PRIu64 "}}\n", at(500), at(990),
               at(999), at(1000));
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
        const struct job *job = opaque;
        (void)rk;
        if (message->err)
                failed++;
        else if (job->rate > 0 && acknowledged >= job->rate)
                micros[heard++] = clock_us(CLOCK_MONOTONIC) - (uint64_t)(uintptr_t)message->_private;
        acknowledged++;
}

static rd_kafka_conf_t *configured(const struct job *job) {
        char error[512];
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        if (rd_kafka_conf_set(conf, "bootstrap.servers", job->servers, error, sizeof(error)))
                die(error);
        for (char **setting = job->settings; *setting; setting++) {
                char *value = strchr(*setting, '=');
                if (!value)
                        die("settings are KEY=VALUE");
                *value++ = '\0';
                if (rd_kafka_conf_set(conf, *setting, value, error, sizeof(error)))
                        die(error);
        }
        rd_kafka_conf_set_opaque(conf, (void *)job);
        return conf;
}

static void produce(const struct job *job) {
        char error[512], *value = malloc(job->size);
        rd_kafka_conf_t *conf = configured(job);
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof(error));
        if (!rk)
                die(error);
        rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, job->topic, NULL);
        memset(value, 'x', job->size);
        uint64_t start = clock_us(CLOCK_MONOTONIC), sent = 0;
        while (sent < job->count) {
                uint64_t due = job->count;
                if (job->rate > 0)
                        due = (clock_us(CLOCK_MONOTONIC) - start) * job->rate / 1000000;
                for (; sent < due && sent < job->count; sent++) {
                        uint64_t wall = clock_us(CLOCK_REALTIME);
                        uintptr_t mono = job->rate > 0 ? (uintptr_t)clock_us(CLOCK_MONOTONIC) : 0;
                        memcpy(value, &wall, sizeof(wall));
                        while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, value, job->size, NULL, 0,
                                                (void *)mono)) {
                                if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
                                        die(rd_kafka_err2str(rd_kafka_last_error()));
                                rd_kafka_poll(rk, 10);
                        }
                        if (sent % 1000 == 999)
                                rd_kafka_poll(rk, 0);
                }
                if (job->rate > 0)
                        rd_kafka_poll(rk, 1);
        }
        if (rd_kafka_flush(rk, SILENCE_MS))
                die("not everything was flushed");
        uint64_t took = clock_us(CLOCK_MONOTONIC) - start;
        if (failed > 0 || acknowledged != sent)
                die("not every record was written");
        report(sent, took);
        rd_kafka_topic_destroy(topic);
        rd_kafka_destroy(rk);
        free(value);
}

static ssize_t next(rd_kafka_t *rk, rd_kafka_queue_t *queue, rd_kafka_message_t **messages, const struct job *job) {
        if (job->rate == 0)
                return rd_kafka_consume_batch_queue(queue, 10, messages, BATCH);
        messages[0] = rd_kafka_consumer_poll(rk, 100);
        return messages[0] != NULL;
}

static void consume(const struct job *job) {
        char error[512];
        rd_kafka_conf_t *conf = configured(job);
        if (rd_kafka_conf_set(conf, "auto.offset.reset", "earliest", error, sizeof(error)))
                die(error);
        rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof(error));
        if (!rk)
                die(error);
        rd_kafka_poll_set_consumer(rk);
        rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(topics, job->topic, RD_KAFKA_PARTITION_UA);
        if (rd_kafka_subscribe(rk, topics))
                die("cannot subscribe");
        rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(rk);
        rd_kafka_message_t *messages[BATCH];
        uint64_t start = 0, seen = 0, quiet_since = clock_us(CLOCK_MONOTONIC);
        while (seen < job->count) {
                ssize_t got = next(rk, queue, messages, job);
                uint64_t mono = clock_us(CLOCK_MONOTONIC);
                if (got > 0)
                        quiet_since = mono;
                else if (mono - quiet_since > SILENCE_MS * 1000ull)
                        die("no record comes");
                if (got > 0 && start == 0)
                        start = mono;
                uint64_t now = job->rate > 0 ? clock_us(CLOCK_REALTIME) : 0;
                for (ssize_t i = 0; i < got; i++) {
                        rd_kafka_message_t *message = messages[i];
                        if (message->err)
                                die(rd_kafka_message_errstr(message));
                        if (message->len != job->size)
                                die("a record of another size");
                        if (job->rate > 0 && seen >= job->rate) {
                                uint64_t sent;
                                memcpy(&sent, message->payload, sizeof(sent));
                                micros[heard++] = now > sent ? now - sent : 0;
                        }
                        seen++;
                        rd_kafka_message_destroy(message);
                }
        }
        report(seen, clock_us(CLOCK_MONOTONIC) - start);
        rd_kafka_queue_destroy(queue);
        rd_kafka_topic_partition_list_destroy(topics);
        rd_kafka_consumer_close(rk);
        rd_kafka_destroy(rk);
}

int main(int argc, char **argv) {
        if (argc < 7)
                die("usage: librdkafka produce|consume SERVERS TOPIC SIZE COUNT RATE [KEY=VALUE]...");
        struct job job = {.servers = argv[2],
                          .topic = argv[3],
                          .size = strtoull(argv[4], NULL, 10),
                          .count = strtoull(argv[5], NULL, 10),
                          .rate = strtoull(argv[6], NULL, 10),
                          .settings = argv + 7};
        if (job.size < sizeof(uint64_t))
                die("a value has room for the time it was sent");
        micros = malloc(sizeof(*micros) * (job.rate > 0 ? job.count : 1));
        if (!strcmp(argv[1], "produce"))
                produce(&job);
        else if (!strcmp(argv[1], "consume"))
                consume(&job);
        else
                die("neither produce nor consume");
        return 0;
}
