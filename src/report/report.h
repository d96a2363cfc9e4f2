/* report.h: shared by the writers of `sooth inspect`: rows, totals by operator, shapes as text.
 *
 * The writers see a model only through sooth.h. Rows are made once for every format, so they sum to the totals in all
 * of them. */
#ifndef SOOTH_REPORT_REPORT_H
#define SOOTH_REPORT_REPORT_H

#include "base/arena.h"
#include "report/text.h"

/* Sums skip unknown values; a sum without any known value is unknown. */
typedef struct figures {
    int64_t params, macs, flops, weight_bytes, activation_bytes;
    uint8_t partial; /* Bits figure_bit() of the figures whose sum omits unknown values. */
} figures;

typedef enum figure_bit {
    PARAMS_BIT = 1,
    MACS_BIT = 2,
    FLOPS_BIT = 4,
    WEIGHT_BYTES_BIT = 8,
    ACTIVATION_BYTES_BIT = 16,
} figure_bit;

typedef struct report_row {
    const char *name;
    const char *op;      /* NULL: several layers */
    size_t last_layer;   /* Layer whose output gives the row's shape; SIZE_MAX: none. */
    int64_t layer_count; /* layers of the row */
    int64_t repeat, fused_count;
    bool op_known;
    figures sums;
} report_row;

typedef struct operator_row {
    const char *op;
    const char *kind;
    bool op_known;
    int64_t count;
    figures sums;
} operator_row;

typedef struct report {
    const sooth_model *model;
    sooth_report_options options;
    text *out;
    arena *scratch;
    report_row *rows; /* NULL if there is one row per layer, made on demand */
    size_t row_count;
    operator_row *operators; /* sorted by MACs, then FLOPs, then number of layers, largest first */
    size_t operator_count;
    sooth_totals totals;
    figures sums; /* sums over all layers, equal to the totals */
} report;

/* Formats a sum: `text` itself, with a sign for "at least" if some terms are unknown, or "?" if all are. */
const char *report_sum(report *r, const figures *f, figure_bit which, int64_t known, const char *text);

report_row report_row_at(const report *r, size_t index);

/* Formats a shape, "1×3×224×224": dims joined by `separator`, symbols by name, "?" for an unknown one; "scalar"
 * without dimensions, "" without a shape. Allocates in the scratch arena, which the caller may rewind. */
const char *report_shape(report *r, size_t value, const char *separator);
/* First existing output of a layer; SIZE_MAX if it has none. */
size_t report_first_output(const sooth_model *model, size_t layer);

/* One writer per format. */
void inspect_table(report *r);
void inspect_json(report *r);
void inspect_csv(report *r);
void graph_dot(report *r);
void graph_svg(report *r);

#endif
