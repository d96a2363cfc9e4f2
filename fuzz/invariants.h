/* invariants.h: what holds of every answer, whatever the file. A check that fails prints what is wrong and aborts. */
#ifndef SOOTH_FUZZ_INVARIANTS_H
#define SOOTH_FUZZ_INVARIANTS_H

#include "sooth.h"

/* Number of the settings in use, for messages. */
extern uint64_t invariants_settings;

_Noreturn void broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A failure has a code and one line of text. */
void check_error(sooth_status status, const sooth_error *error);
/* Figures of layers are unknown or not negative, and sum to the totals; all that the model hands out can be read. */
void check_model(const sooth_model *model);
/* Numbers are finite and not negative, low <= value <= high; layers, kernels and parts of memory sum to the totals. */
void check_prediction(const sooth_prediction *prediction);
void check_plan(const sooth_mig_plan *plan);

/* Texts of the writers: JSON and SVG parse, tables have rows of one length, all are UTF-8. */
void check_text(const char *text, size_t size, sooth_format format);
/* The same of what `sooth inspect` writes as JSON; rows sum to the totals in the text too. */
void check_inspect_json(const char *text, size_t size);

#endif
