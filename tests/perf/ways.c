/* What it costs a broker's thread to send what is in the page cache, in CPU seconds a gigabyte: by sendfile, by a read into a buffer of its
 * own, from a mapping of the whole file, from a mapping made for each step. tests/perf/ways runs it.
 *
 *   ways DIR MEGABYTES ROUNDS
 *
 * The other end of a loopback connection is a thread that reads and forgets; only the sender's time counts. Every way has a turn in each
 * round; one line of JSON says the medians.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define STEP (256 * 1024)
#define ROUNDS_MAX 100

struct job {
    int to, file;
    size_t size;
    char *buffer, *map;
};

static void die(const char *what) {
    fprintf(stderr, "ways: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double cpu_seconds(void) {
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void send_all(int to, const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t sent = send(to, bytes, len, MSG_NOSIGNAL);
        if (sent < 0)
            die("send");
        bytes += sent;
        len -= (size_t)sent;
    }
}

static void by_sendfile(struct job *job, off_t at, size_t len) {
    off_t end = at + (off_t)len;
    while (at < end)
        if (sendfile(job->to, job->file, &at, (size_t)(end - at)) <= 0)
            die("sendfile");
}

static void by_pread(struct job *job, off_t at, size_t len) {
    if (pread(job->file, job->buffer, len, at) != (ssize_t)len)
        die("pread");
    send_all(job->to, job->buffer, len);
}

static void by_mapping(struct job *job, off_t at, size_t len) {
    send_all(job->to, job->map + at, len);
}

static void by_mapping_each_step(struct job *job, off_t at, size_t len) {
    char *map = mmap(NULL, len, PROT_READ, MAP_SHARED, job->file, at);
    if (map == MAP_FAILED)
        die("mmap");
    send_all(job->to, map, len);
    munmap(map, len);
}

static const struct {
    const char *name;
    void (*send)(struct job *, off_t, size_t);
} WAYS[] = {{"sendfile", by_sendfile}, {"pread", by_pread}, {"mapped", by_mapping}, {"mapped_each_step", by_mapping_each_step}};
#define WAY_COUNT (sizeof(WAYS) / sizeof(WAYS[0]))

static void *forget(void *argument) {
    int from = *(int *)argument;
    char *buffer = malloc(STEP);
    while (read(from, buffer, STEP) > 0)
        ;
    free(buffer);
    return NULL;
}

/* A loopback TCP connection: ends[0] to send, ends[1] to read. */
static void connection(int ends[2]) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, len) || listen(listener, 1))
        die("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &len))
        die("getsockname");
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(ends[0], (struct sockaddr *)&address, len))
        die("connect");
    ends[1] = accept(listener, NULL, NULL);
    close(listener);
}

static int file_of(const char *dir, size_t size, char *buffer) {
    int file = open(dir, O_TMPFILE | O_RDWR, 0600);
    if (file < 0)
        die(dir);
    memset(buffer, 'x', STEP);
    for (size_t at = 0; at < size; at += STEP)
        if (write(file, buffer, STEP) != STEP)
            die("write");
    return file;
}

static double seconds_a_gigabyte(struct job *job, size_t way) {
    double before = cpu_seconds();
    for (size_t at = 0; at < job->size; at += STEP)
        WAYS[way].send(job, (off_t)at, STEP);
    return (cpu_seconds() - before) / (double)job->size * 1e9;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: ways DIR MEGABYTES ROUNDS\n");
        return 2;
    }
    int rounds = atoi(argv[3]), ends[2];
    struct job job = {.size = (size_t)atol(argv[2]) * 1000 * 1000 / STEP * STEP, .buffer = malloc(STEP)};
    if (rounds < 1 || rounds > ROUNDS_MAX || job.size == 0) {
        fprintf(stderr, "ways: expected a megabyte at least, and 1 to %d rounds\n", ROUNDS_MAX);
        return 2;
    }
    job.file = file_of(argv[1], job.size, job.buffer);
    job.map = mmap(NULL, job.size, PROT_READ, MAP_SHARED, job.file, 0);
    if (job.map == MAP_FAILED)
        die("mmap");
    connection(ends);
    job.to = ends[0];
    pthread_t reader;
    pthread_create(&reader, NULL, forget, &ends[1]);
    static double took[WAY_COUNT][ROUNDS_MAX];
    for (int round = 0; round < rounds; round++)
        for (size_t way = 0; way < WAY_COUNT; way++)
            took[way][round] = seconds_a_gigabyte(&job, way);
    close(job.to);
    pthread_join(reader, NULL);
    for (size_t way = 0; way < WAY_COUNT; way++) {
        qsort(took[way], (size_t)rounds, sizeof(double), compare);
        printf("%s\"%s_cpu_s_gb\": %.3f", way == 0 ? "{" : ", ", WAYS[way].name, took[way][rounds / 2]);
    }
    printf("}\n");
    return 0;
}
