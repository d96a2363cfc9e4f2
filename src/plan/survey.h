/* survey.h: a survey in progress or done. */
#ifndef SOOTH_PLAN_SURVEY_H
#define SOOTH_PLAN_SURVEY_H

#include "base/arena.h"
#include "base/ordered.h"

struct sooth_survey {
    arena arena;
    fail fail;
    const char *mode, *weights;
    sooth_survey_row *rows; /* The rows of one network are adjacent. */
    size_t row_count, rows_of_network;
    char *errors; /* SURVEY_ERROR_ROOM bytes per row, for rows with an error; NULL: no row has one. */
};

enum { SURVEY_ERROR_ROOM = 320 };

/* ---- the journal: rows of finished networks on disk (survey_journal.c) ------------------------------------------- */

/* 1. The first line is "sooth survey 1 HASH". The hash covers everything that determines the rows: networks with size
 *    and time of their files, GPUs, batches, settings, the version.
 * 2. Every further line is a network: "INDEX FIELDS... CRC\n". Numbers are hexadecimal floats, so nothing is lost;
 *    an error is percent-encoded. CRC is the CRC-32 of the preceding text.
 * 3. A truncated or damaged line is dropped with everything after it. Those networks are predicted again. */
typedef struct survey_journal {
    int file; /* -1: none is kept */
    fail *fail;
    const char *path;
} survey_journal;

/* Opens or creates the journal and marks the networks whose rows it has in `is_done`. Fails through s->fail. */
void survey_journal_open(survey_journal *j, const sooth_survey_options *o, sooth_survey *s, bool *is_done);
/* Appends the rows of one network. Returns 0 or errno. */
int survey_journal_add(const survey_journal *j, const sooth_survey *s, size_t network);
void survey_journal_close(survey_journal *j);

/* Formats the line of a network in memory from malloc; processes also exchange lines. Returns 0 or errno. */
int survey_line(const sooth_survey *s, size_t network, char **line, size_t *size);
/* Parses a line without its newline into the rows. Returns false if it is damaged. */
bool survey_read_line(char *line, const sooth_survey_options *o, sooth_survey *s, bool *is_done);

/* sooth_survey_make on several processes. Process 0 has the journal and receives all rows. `agree` is called once
 * before the work; it takes the status of this process and returns the common one. */
sooth_status survey_make_together(const sooth_survey_options *options, const team *team, int (*agree)(int status),
                                  sooth_survey **survey, sooth_error *error);

#endif
