/* invariants.h: invariants of every answer, for any file. A failed check prints the reason and aborts. */
#ifndef SOOTH_FUZZ_INVARIANTS_H
#define SOOTH_FUZZ_INVARIANTS_H

#include "sooth.h"

/* Number of the settings in use, for messages. */
extern uint64_t invariants_settings;

_Noreturn void broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A failure has a code and a one-line message. */
void check_error(sooth_status status, const sooth_error *error);
/* Figures of layers are unknown or not negative and sum to the totals; everything the model returns can be read. */
void check_model(const sooth_model *model);
/* Numbers are finite and not negative, low <= value <= high; layers, kernels and parts of memory sum to the totals. */
void check_prediction(const sooth_prediction *prediction);
void check_plan(const sooth_mig_plan *plan);

/* Writers' texts: JSON and SVG parse, table rows have equal lengths, all are UTF-8. */
void check_text(const char *text, size_t size, sooth_format format);
/* The same for the JSON of `sooth inspect`; its rows sum to its totals. */
void check_inspect_json(const char *text, size_t size);

#endif
