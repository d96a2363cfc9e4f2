/* team.h: the processes of a job, such as the ranks of an MPI program. Process 0 collects all results. Only the
 * thread that runs the job calls these functions. */
#ifndef SOOTH_BASE_TEAM_H
#define SOOTH_BASE_TEAM_H

#include "base/bytes.h"

typedef struct team {
    int rank, size;
    void (*send)(void *context, const void *data, size_t size); /* Sends to process 0. */
    /* Replaces the content of `to`; returns false if out of memory. */
    bool (*receive)(void *context, int from, bytes *to);
    void (*share)(void *context, void *data, size_t size); /* Copies the data of process 0 to all processes. */
    void *context;
} team;

/* Work of `count` shards: a process has those from team_first(rank) to team_first(rank + 1) - 1. NULL: process 0 has
 * all. */
int team_first(const team *all, int rank, int count);

/* Copies each process's shards to process 0; a shard has `size` bytes. Returns false if process 0 ran out of memory. */
bool team_gather(const team *all, void *shards, int count, size_t size);

#endif
