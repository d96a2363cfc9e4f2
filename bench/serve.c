/* serve.c: asks `sooth serve` the same question over and over, on connections that stay open.
 *
 *     serve PORT CONNECTIONS SECONDS RATE PATH
 *
 * Each connection asks when its last answer is there, at most RATE questions per second together (0: as fast as they
 * are answered). Prints one line: answers per second; median, 99th percentile and longest time in milliseconds;
 * answers that were not 200; bytes of an answer. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 256, MOST_TIMES = 1 << 20, ROOM = 1 << 20 };

typedef struct asker {
    pthread_t thread;
    int port;
    double until_s, every_s; /* time between two questions of this connection; 0: none */
    const char *path;
    float *times_ms;
    size_t count, bad, bytes;
} asker;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Reads one answer; returns its status, or 0. */
static int read_answer(int client, char *room, size_t *bytes)
{
    size_t used = 0, wanted = 0;
    for (;;) {
        ssize_t n = recv(client, room + used, ROOM - 1 - used, 0);
        if (n <= 0)
            return 0;
        used += (size_t)n;
        room[used] = '\0';
        char *end = wanted ? NULL : strstr(room, "\r\n\r\n");
        char *length = end ? strstr(room, "Content-Length: ") : NULL;
        if (length)
            wanted = (size_t)(end - room) + 4 + strtoul(length + 16, NULL, 10);
        if (wanted && used >= wanted)
            break;
    }
    *bytes = wanted;
    return atoi(room + strlen("HTTP/1.1 "));
}

static void *ask(void *of)
{
    asker *a = of;
    char *room = malloc(ROOM), question[512];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)a->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    snprintf(question, sizeof question, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", a->path);
    if (!room || client < 0 || connect(client, (struct sockaddr *)&address, sizeof address) != 0) {
        a->bad++;
        free(room);
        return NULL;
    }
    for (double next = now_s(), begin; (begin = now_s()) < a->until_s && a->count < MOST_TIMES;) {
        if (a->every_s > 0 && next > begin) {
            double wait = next - begin;
            nanosleep(
                &(struct timespec){.tv_sec = (time_t)wait, .tv_nsec = (long)((wait - (double)(time_t)wait) * 1e9)},
                NULL);
            begin = next;
        }
        next += a->every_s;
        if (send(client, question, strlen(question), MSG_NOSIGNAL) < 0 || read_answer(client, room, &a->bytes) != 200) {
            a->bad++;
            break;
        }
        a->times_ms[a->count++] = (float)((now_s() - begin) * 1e3);
    }
    close(client);
    free(room);
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static asker askers[MOST_CONNECTIONS];
    int connections = argc == 6 ? atoi(argv[2]) : 0;
    if (connections < 1 || connections > MOST_CONNECTIONS)
        return fprintf(stderr, "usage: serve PORT CONNECTIONS SECONDS RATE PATH\n"), 2;
    double seconds = atof(argv[3]), rate = atof(argv[4]), begin = now_s();
    for (int i = 0; i < connections; i++) {
        askers[i] = (asker){.port = atoi(argv[1]), .until_s = begin + seconds, .path = argv[5]};
        askers[i].every_s = rate > 0 ? connections / rate : 0;
        askers[i].times_ms = malloc(MOST_TIMES * sizeof(float));
        if (!askers[i].times_ms || pthread_create(&askers[i].thread, NULL, ask, &askers[i]) != 0)
            return fprintf(stderr, "serve: out of memory\n"), 5;
    }
    size_t count = 0, bad = 0;
    for (int i = 0; i < connections; i++) {
        pthread_join(askers[i].thread, NULL);
        count += askers[i].count;
        bad += askers[i].bad;
    }
    double took = now_s() - begin;
    float *all = malloc((count + 1) * sizeof *all);
    size_t used = 0;
    for (int i = 0; all && i < connections; i++) {
        memcpy(all + used, askers[i].times_ms, askers[i].count * sizeof *all);
        used += askers[i].count;
        free(askers[i].times_ms);
    }
    if (!count || !all)
        return fprintf(stderr, "serve: no answer\n"), 1;
    qsort(all, count, sizeof *all, ascending);
    printf("%.0f %.3f %.3f %.3f %zu %zu\n", (double)count / took, (double)all[count / 2],
           (double)all[count - 1 - count / 100], (double)all[count - 1], bad, askers[0].bytes);
    free(all);
    return bad ? 1 : 0;
}
