/* interval.h: width of the prediction intervals. Half the width, as a logarithm, is a scale times a multiple. The
 * scale is learned from the contents of a program and the share of it that training saw. The multiple depends on the
 * level and is calibrated on the errors of hold-out rows. */
#ifndef SOOTH_PREDICT_INTERVAL_H
#define SOOTH_PREDICT_INTERVAL_H

#include "predict/predict.h"
#include "predict/work.h"

/* Classes of programs, each with its own scale. */
typedef enum interval_class {
    INTERVAL_EAGER, /* Inference of networks, in the order of lower_runtime. */
    INTERVAL_COMPILED,
    INTERVAL_ENGINE,
    INTERVAL_TRAINING,
    INTERVAL_OPERATOR, /* A single operator. */
    INTERVAL_CONVOLUTION,
    INTERVAL_CLASSES,
} interval_class;
interval_class interval_class_of(const setting *where, uint32_t groups);

/* A model per class and per known or new GPU. */
enum { INTERVAL_MODELS = INTERVAL_CLASSES * 2 };
static inline int interval_model(interval_class c, bool gpu_known)
{
    return (int)c * 2 + (gpu_known ? 0 : 1);
}

/* How well training knows a graph; each kind has multiples of its own. */
typedef enum interval_graph {
    GRAPH_KNOWN,   /* Training saw the graph itself. */
    GRAPH_ALIKE,   /* Nearly all of its time is in sequences of kernels that training saw. */
    GRAPH_STRANGE, /* Other graphs. */
    GRAPH_KINDS,
} interval_graph;

/* Bounds of the scale's logarithm: a hundredth of a percent and a factor of twenty. */
static const double INTERVAL_LEAST_LOG = -9, INTERVAL_MOST_LOG = 3;

/* Inputs of the scale: the share of each kernel group in the time, then the numbers below. */
enum {
    TRAIT_NEW = WORK_GROUP_COUNT, /* Share of time in unfamiliar kernels. */
    TRAIT_NEW_ROOT,               /* Its square root. */
    TRAIT_STRANGE,                /* Share of time in unfamiliar sequences of kernels. */
    TRAIT_STRANGE_ROOT,
    TRAIT_BOTH, /* Product of both shares. */
    TRAIT_HOST, /* Host time ÷ (host time + device time). */
    TRAIT_SIZE, /* log10 of the latency in milliseconds. */
    TRAIT_NHWC, /* 1: channels last. */
    TRAIT_FULL, /* 1: no 16-bit arithmetic. */
    INTERVAL_TRAITS,
};

/* Sums over the kernels of a program, in microseconds. */
typedef struct interval_sums {
    double us[WORK_GROUP_COUNT]; /* Predicted time. */
    /* Unfamiliar kernels: predicted and roofline time. All kernels: roofline time. */
    double new_us, new_ideal_us, ideal_us;
    double strange_us; /* Time of kernels at the end of an unfamiliar sequence. */
    double host_us, latency_us;
} interval_sums;

void interval_traits(const interval_sums *s, const setting *where, float traits[INTERVAL_TRAITS]);
/* A graph with at least this share TRAIT_STRANGE is GRAPH_STRANGE. */
interval_graph interval_graph_of(bool is_known, const float traits[INTERVAL_TRAITS]);
/* Number of a graph in the weights, which does not depend on the batch. `of` is work_list.graph. */
uint32_t interval_print(uint64_t of, interval_class c);

enum { INTERVAL_ROW = 1 + INTERVAL_TRAITS + 1 };

/* The calibrated numbers, in the weights. */
typedef struct interval_table {
    /* [INTERVAL_MODELS][INTERVAL_ROW]: slopes of the scale's logarithm; the first is the constant, the last the
     * largest logarithm. */
    const float *slopes;
    const float *stacks;    /* [INTERVAL_MODELS][stack]: added to the scale's logarithm. */
    const float *gpus;      /* [INTERVAL_MODELS][gpu] */
    const float *multiples; /* [INTERVAL_MODELS][GRAPH_KINDS][INTERVAL_LEVELS], ascending; 0: not calibrated */
    int stack_count, gpu_count;
} interval_table;
size_t interval_floats(int stack_count, int gpu_count);
interval_table interval_table_at(const float *floats, int stack_count, int gpu_count);
/* True if no number is absurd. */
bool interval_is_sound(const interval_table *t);

/* Sets half the widths of all levels. `gpu` is UNKNOWN unless training saw the GPU. */
void interval_halves(const interval_table *t, interval_class c, bool gpu_known, interval_graph graph, int stack,
                     int gpu, const float *traits, double halves[INTERVAL_LEVELS]);
/* Returns the calibration set of an interval as a phrase. */
const char *interval_kind_name(interval_class c, bool gpu_known, interval_graph graph);

#endif
