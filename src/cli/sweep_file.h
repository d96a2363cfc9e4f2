/* sweep_file.h: results of sweeps as SQLite files (doc/sweep.md has the schema). Functions print their errors and
 * return the exit code. */
#ifndef SOOTH_CLI_SWEEP_FILE_H
#define SOOTH_CLI_SWEEP_FILE_H

#include "plan/sweep.h"

typedef struct sweep_file sweep_file;

/* Opens or creates the file. *next_chunk is the first chunk that it lacks. A file of another plan is refused. */
int sweep_file_open(sweep_file **file, const char *path, const sweep *s, str plan, size_t *next_chunk);
void sweep_file_close(sweep_file *file); /* NULL is allowed */

/* Adds the result of a chunk (sweep_compute). Several chunks share a transaction. */
int sweep_file_add(sweep_file *file, const sweep *s, size_t chunk, str result);
int sweep_file_end(sweep_file *file); /* Ends the last transaction. */

/* A point and its network. Points are passed one by one, in order, so memory does not grow with their number. */
typedef struct sweep_found {
    uint64_t network; /* from 0 */
    size_t setting;
    int64_t batch, macs;
    double latency_ms, throughput_per_s, energy_j, utilization;
} sweep_found;
int sweep_file_walk(sweep_file *file, void (*take)(void *context, const sweep_found *p), void *context);
/* Counts networks and points without a prediction. *first_error is valid until the file is closed; "" if there is
 * none. */
int sweep_file_count(sweep_file *file, int64_t *failed_networks, int64_t *failed_points, const char **first_error);
/* Copies the graph of a network into `room`. */
int sweep_file_spec(sweep_file *file, uint64_t network, char room[SPACE_GRAPH_ROOM]);

#endif
