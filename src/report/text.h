/* text.h: the growing text of a report, and the format of numbers and names.
 *
 * A text fails through its `fail` when memory runs out, so no function returns an error. Names come from files: they
 * are read as UTF-8, and invalid bytes or control characters become U+FFFD. */
#ifndef SOOTH_REPORT_TEXT_H
#define SOOTH_REPORT_TEXT_H

#include "base/arena.h"

/* Receives the first part of a text before the text is complete; returns false on failure. */
typedef struct text_sink {
    bool (*take)(void *context, const char *bytes, size_t size);
    void *context;
} text_sink;

typedef struct text {
    char *bytes; /* NUL-terminated once something was added; free() */
    size_t size, capacity;
    fail *fail;
    const text_sink *sink; /* NULL if the text is kept as a whole */
} text;

/* Writes a report; failures end here. `write` receives `report`, the text and an arena for temporary data. On success
 * the caller frees *bytes. `size` and `error` may be NULL. */
typedef void (*text_writer)(void *report, text *out, arena *scratch);
sooth_status text_report(text_writer write, void *report, char **bytes, size_t *size, sooth_error *error);
/* Ends a public function that makes a text: returns the text if `done` (size may be NULL), otherwise frees it and
 * returns the error of its `fail`. */
sooth_status text_hand_out(text *t, bool done, char **bytes, size_t *size);

/* Called between rows: if there is a sink and the text is long, passes the text on, so that memory does not grow
 * with the report. Shorter reports are passed on only by text_end(), so that nothing of them appears after an error. */
void text_pass_on(text *t);
void text_end(text *t);

void text_add(text *t, const char *bytes, size_t size);
void text_puts(text *t, const char *s);
void text_printf(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_character(text *t, uint32_t character); /* as UTF-8 */
void text_repeat(text *t, const char *s, size_t count);

/* ---- numbers; anything negative is not known and reads "?" ------------------------------------------------------ */

enum { NUMBER_ROOM = 32 };
const char *number_whole(char room[NUMBER_ROOM], int64_t n);   /* "25557032" */
const char *number_short(char room[NUMBER_ROOM], int64_t n);   /* "512", "25.56 M", "4.09 G" */
const char *number_grouped(char room[NUMBER_ROOM], int64_t n); /* "25,557,032" */
const char *number_real(char room[NUMBER_ROOM], double x);     /* "936.2", "6"; six decimals, twelve below 0.001 */
const char *number_digits(char room[NUMBER_ROOM], double x);   /* four digits: "0.01234", "5.123", "97.49", "1234" */
const char *number_bytes(char room[NUMBER_ROOM], int64_t n);   /* "512 B", "97.49 MiB" */

void text_number(text *t, int64_t n); /* formatted as by number_whole */

/* ---- characters ------------------------------------------------------------------------------------------------- */

/* Reads one character of *s, which is not at its end; returns U+FFFD for invalid UTF-8. */
uint32_t utf8_next(const char **s);
/* Number of columns that text_cell needs for a name. */
size_t name_width(const char *s);

typedef enum cell_align { CELL_LEFT, CELL_RIGHT } cell_align;
/* Writes a name into a column of `width`: replaces control characters, shortens in the middle, pads with spaces. */
void text_cell(text *t, const char *s, size_t width, cell_align align, bool ascii);
/* Like text_cell without padding. Does not shorten if the width is SIZE_MAX. */
void text_name(text *t, const char *s, size_t width, bool ascii);

/* Writes a share, 0 to 1, as a bar of at most TEXT_BAR columns; returns its width. */
enum { TEXT_BAR = 24 };
size_t text_bar(text *t, double share, bool ascii);

/* Writes a field of CSV, in quotes if necessary. */
void text_csv(text *t, const char *s);
/* Write a comma and the next field of a row; an unknown number is empty. */
void text_csv_text(text *t, const char *s); /* NULL is written as an empty field */
void text_csv_number(text *t, int64_t n);
void text_csv_real(text *t, double x);
/* Writes text between tags of XML and HTML, or inside a quoted attribute. */
void text_xml(text *t, const char *s);

#endif
