/* Bare loops of blocking sockets: each thread has a connection, sends a Produce request of one record and waits for its answer.
 *
 *   knock HOST PORT TOPIC PARTITIONS THREADS SECONDS ACKS SIZE
 *
 * Thread t writes to partition t mod PARTITIONS. What happens in the first two seconds counts nowhere. Prints one JSON object:
 * records that count, all answers, seconds, and percentiles of the time from a request to its answer, in microseconds.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 22, ANSWER = 4096 };

static const int64_t WARMUP_NS = 2000000000;

static const char *host, *topic;
static int port, partitions, threads, seconds, acks, size;
static int64_t begin_ns;

struct worker {
    pthread_t thread;
    int index;
    uint32_t *us, count;
    size_t answers;
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint32_t crc32c(const uint8_t *bytes, size_t len) {
    uint32_t crc = ~0u;
    for (size_t at = 0; at < len; at++) {
        crc ^= bytes[at];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0x82f63b78 & -(crc & 1));
    }
    return ~crc;
}

static uint8_t *put(uint8_t *at, int width, int64_t number) {
    for (int shift = 8 * (width - 1); shift >= 0; shift -= 8)
        *at++ = number >> shift;
    return at;
}

static uint8_t *varint(uint8_t *at, int32_t number) {
    uint32_t zigzag = (uint32_t)number << 1 ^ (uint32_t)(number >> 31);
    for (; zigzag >= 0x80; zigzag >>= 7)
        *at++ = zigzag | 0x80;
    *at++ = zigzag;
    return at;
}

/* A record batch of one record (format 2); where it ends. */
static uint8_t *batch(uint8_t *at) {
    int64_t ms = time(NULL) * INT64_C(1000);
    uint8_t record[16], *end = record;
    *end++ = 0;            /* attributes */
    end = varint(end, 0);  /* timestamp delta */
    end = varint(end, 0);  /* offset delta */
    end = varint(end, -1); /* no key */
    end = varint(end, size);
    int head = end - record;
    uint8_t *length = put(at, 8, 0), *crc = length + 9;
    put(length + 4, 4, -1); /* leader epoch */
    length[8] = 2;          /* magic */
    at = put(crc + 4, 2, 0);
    at = put(at, 4, 0);
    at = put(at, 8, ms);
    at = put(at, 8, ms);
    at = put(at, 8, -1); /* no producer id */
    at = put(at, 2, -1);
    at = put(at, 4, -1);
    at = put(at, 4, 1);
    at = varint(at, head + size + 1);
    memcpy(at, record, head);
    memset(at + head, 'x', size);
    at += head + size;
    *at++ = 0; /* no headers */
    put(length, 4, at - length - 4);
    put(crc, 4, crc32c(crc + 4, at - crc - 4));
    return at;
}

/* A Produce request, version 7; its length. */
static size_t request(uint8_t *frame, int partition) {
    uint8_t *at = frame + 4;
    at = put(at, 2, 0);
    at = put(at, 2, 7);
    at = put(at, 4, 1);
    at = put(at, 2, -1); /* client id */
    at = put(at, 2, -1); /* transactional id */
    at = put(at, 2, acks);
    at = put(at, 4, 30000);
    at = put(at, 4, 1);
    at = put(at, 2, strlen(topic));
    memcpy(at, topic, strlen(topic));
    at = put(at + strlen(topic), 4, 1);
    at = put(at, 4, partition);
    uint8_t *end = batch(at + 4);
    put(at, 4, end - at - 4);
    put(frame, 4, end - frame - 4);
    return end - frame;
}

static void whole(int socket, uint8_t *at, size_t len) {
    while (len > 0) {
        ssize_t got = recv(socket, at, len, 0);
        if (got <= 0)
            fail("the connection ended");
        at += got;
        len -= got;
    }
}

/* The error in an answer. */
static int error_of(int socket) {
    uint8_t answer[ANSWER];
    uint32_t len;
    whole(socket, answer, 4);
    memcpy(&len, answer, 4);
    len = ntohl(len);
    if (len > ANSWER || len < 14 + strlen(topic) + 10)
        fail("an answer of an odd length");
    whole(socket, answer, len);
    /* correlation id, topics, name, partitions, index, error */
    const uint8_t *error = answer + 4 + 4 + 2 + strlen(topic) + 4 + 4;
    return error[0] << 8 | error[1];
}

static void *work(void *argument) {
    struct worker *me = argument;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, host, &address.sin_addr);
    int one = 1, socket_ = socket(AF_INET, SOCK_STREAM, 0);
    if (socket_ < 0 || connect(socket_, (struct sockaddr *)&address, sizeof address) < 0)
        fail("connect");
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    uint8_t *frame = malloc(size + 1024);
    size_t len = request(frame, me->index % partitions);
    int64_t end_ns = begin_ns + WARMUP_NS + seconds * INT64_C(1000000000);
    for (;;) {
        int64_t sent = now();
        if (sent >= end_ns)
            break;
        if (send(socket_, frame, len, MSG_NOSIGNAL) != (ssize_t)len)
            fail("send");
        int error = error_of(socket_), counts = sent >= begin_ns + WARMUP_NS;
        /* A partition may have no leader yet. */
        if (error && counts) {
            fprintf(stderr, "error %d in an answer\n", error);
            exit(1);
        }
        me->answers += !error;
        if (error)
            usleep(10000);
        if (!error && counts && me->count < (threads == 1 ? MOST : MOST / 16))
            me->us[me->count++] = (now() - sent) / 1000;
    }
    close(socket_);
    return NULL;
}

static int ascending(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv) {
    if (argc != 9) {
        fprintf(stderr, "usage: knock HOST PORT TOPIC PARTITIONS THREADS SECONDS ACKS SIZE\n");
        return 2;
    }
    host = argv[1];
    port = atoi(argv[2]);
    topic = argv[3];
    partitions = atoi(argv[4]);
    threads = atoi(argv[5]);
    seconds = atoi(argv[6]);
    acks = atoi(argv[7]);
    size = atoi(argv[8]);
    struct worker *workers = calloc(threads, sizeof *workers);
    begin_ns = now();
    for (int index = 0; index < threads; index++) {
        workers[index].index = index;
        workers[index].us = malloc(sizeof(uint32_t) * (threads == 1 ? MOST : MOST / 16));
        pthread_create(&workers[index].thread, NULL, work, &workers[index]);
    }
    size_t count = 0, answers = 0;
    for (int index = 0; index < threads; index++) {
        pthread_join(workers[index].thread, NULL);
        count += workers[index].count;
        answers += workers[index].answers;
    }
    uint32_t *all = malloc(sizeof(uint32_t) * (count + 1));
    count = 0;
    for (int index = 0; index < threads; index++) {
        memcpy(all + count, workers[index].us, sizeof(uint32_t) * workers[index].count);
        count += workers[index].count;
    }
    if (count == 0)
        fail("no answer");
    qsort(all, count, sizeof *all, ascending);
    printf("{\"records\":%zu,\"answers\":%zu,\"seconds\":%d,\"latency_us\":{\"p50\":%u,\"p99\":%u,\"p999\":%u,\"max\":%u}}\n", count, answers, seconds,
           all[(count - 1) / 2], all[(count - 1) * 99 / 100], all[(count - 1) * 999 / 1000], all[count - 1]);
    return 0;
}
