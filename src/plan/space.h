/* space.h: a search space: its choices, and the graph of each combination of values. A space is a text, built in or in
 * a user's file:
 * 1. `#` starts a comment; empty lines are skipped. Every other line is `key = value`.
 * 2. `graph = TEXT` is the path of a model or a zoo name; {NAME} is replaced by the value of the choice NAME.
 * 3. `architecture = TEXT` names a candidate in tables and replaces {NAME} too; `graph` may contain {architecture}.
 * Default: the values of all choices, separated by commas.
 * 4. Any other key is a choice: `NAME = VALUE, VALUE`. Several names, separated by spaces, are choices with the same
 * values. FIRST:LAST:STEP is a range of numbers. The choice `batch` sets the batch, `dim.NAME` binds a symbolic
 * dimension.
 * Paths are relative to the file. */
#ifndef SOOTH_PLAN_SPACE_H
#define SOOTH_PLAN_SPACE_H

#include "base/arena.h"

enum { SPACE_MAX_CHOICES = 64, SPACE_MAX_VALUES = 255, SPACE_GRAPH_ROOM = 2048 };

typedef struct space_choice {
    str name;
    str *values;
    int32_t count;
} space_choice;

typedef struct space {
    str name;         /* name or path as given by the caller */
    str architecture; /* templates */
    str graph;
    space_choice choices[SPACE_MAX_CHOICES];
    int32_t choice_count;
    double candidates; /* number of combinations; may exceed 2^64 */
} space;

/* One candidate: the index of the value for each choice. */
typedef struct genes {
    uint8_t of[SPACE_MAX_CHOICES];
} genes;

/* Returns the built-in space of this name, or reads the file at this path. Allocates everything in `a`. */
const space *space_open(const char *name, arena *a, fail *f);
/* Reads a space from a text, which starts at this line of the file at `path`; `prefix` precedes messages. */
const space *space_read(const char *name, str text, const char *path, const char *prefix, int first_line, arena *a,
                        fail *f);
/* Return name and summary of a built-in space; NULL after the last. */
const char *space_name(size_t index);
const char *space_summary(size_t index);

/* Returns candidate `number` in order of enumeration: the first choice changes slowest. */
genes space_candidate(const space *s, uint64_t number);
/* Both write into `room` and fail if the text does not fit. */
void space_architecture(const space *s, const genes *g, char room[SPACE_GRAPH_ROOM], fail *f);
void space_graph(const space *s, const genes *g, char room[SPACE_GRAPH_ROOM], fail *f);

#endif
