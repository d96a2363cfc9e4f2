/* sooth.h: the public interface of libsooth.
 *
 * Sooth reads a neural network's file and reports what it consists of and what it costs on a GPU, without running it.
 *
 * A worked example (tests/suites/interface.sh compiles and runs it):
 *
 *     #include <sooth.h>
 *     #include <stdio.h>
 *
 *     int main(int argc, char **argv)
 *     {
 *         sooth_error error;
 *         sooth_model *model;
 *         if (argc < 2 || sooth_load_file(argv[1], &model, &error) != SOOTH_OK)
 *             return fprintf(stderr, "%s\n", argc < 2 ? "usage: example MODEL" : error.message), 1;
 *         sooth_options options = {.batch = 8};
 *         if (sooth_bind(model, &options, &error) == SOOTH_OK) {
 *             for (size_t i = 0; i < sooth_layer_count(model); i++) {
 *                 sooth_layer layer = sooth_layer_at(model, i);
 *                 printf("%-20s %12lld MACs  %s\n", layer.op, (long long)layer.macs, layer.name);
 *             }
 *             printf("%lld parameters\n", (long long)sooth_totals_of(model).params);
 *             sooth_prediction *prediction;
 *             sooth_predict_options where = {.gpu = "rtx-3090", .precision = "amp", .layout = "nhwc"};
 *             if (sooth_predict(model, &where, &prediction, &error) == SOOTH_OK) {
 *                 sooth_prediction_totals totals = sooth_prediction_totals_of(prediction);
 *                 printf("%.3f ms, 90 %% interval %.3f to %.3f\n", totals.latency_ms.value,
 *                        totals.latency_ms.low, totals.latency_ms.high);
 *                 sooth_prediction_free(prediction);
 *             }
 *         }
 *         sooth_free(model);
 *         return 0;
 *     }
 *
 * Contracts that hold everywhere:
 *   - The library never prints, never exits and has no global mutable state. A model may be used by one thread at
 *     a time; different models by different threads at once.
 *   - Strings and arrays that a model returns belong to the model and live until sooth_free. Those that depend on
 *     dimensions (layers, values, totals) live until the next sooth_bind.
 *   - Units are in the names. A count that cannot be known (it depends on an unbound dimension or on data)
 *     is SOOTH_UNKNOWN, never a guess.
 *   - MACs are multiply-accumulates of convolutions, matrix products and attention. FLOPs are all floating-point
 *     operations, two for each MAC.
 */
#ifndef SOOTH_H
#define SOOTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SOOTH_VERSION_MAJOR 0
#define SOOTH_VERSION_MINOR 1
#define SOOTH_VERSION_PATCH 0
#define SOOTH_VERSION "0.2.0"

#define SOOTH_API __attribute__((visibility("default")))

/* The program `sooth` uses these numbers as exit codes. */
typedef enum sooth_status {
    SOOTH_OK = 0,
    SOOTH_ANSWER_NO = 1,         /* the answer is no: it does not fit, a target is missed */
    SOOTH_ERROR_USAGE = 2,       /* the request makes no sense */
    SOOTH_ERROR_INPUT = 3,       /* the file is damaged, truncated or not a model */
    SOOTH_ERROR_UNSUPPORTED = 4, /* the file is valid but uses something unsupported */
    SOOTH_ERROR_SYSTEM = 5,      /* out of memory, unreadable file … */
} sooth_status;

/* An error message says what is wrong, where (byte or node) and what to do, in one line. */
typedef struct sooth_error {
    sooth_status code;
    char message[768];
} sooth_error;

typedef struct sooth_model sooth_model;

/* Marks a number that is not known. */
#define SOOTH_UNKNOWN INT64_MIN

/* ---- loading ------------------------------------------------------------------------------------------------ */

/* Reads the structure of the model at `path`; weights are never read. The format is detected from the file's bytes;
 * gzip is decompressed. "zoo:NAME" builds a network that ships with the library; families take parameters:
 * "zoo:NAME/VALUE?KEY=VALUE&KEY=VALUE", see sooth_zoo_parameter_at. On failure *model is NULL and *error is filled
 * (error may be NULL). SOOTH_ERROR_USAGE: `path` is NULL.
 *
 * The file is mapped until sooth_free. If someone shortens it meanwhile, touching a lost page raises SIGBUS. The
 * library does not touch signal handlers (the program `sooth` reports the loss and ends with exit code 3). Read files
 * that others may be writing into memory, and use sooth_load_memory. */
SOOTH_API sooth_status sooth_load_file(const char *path, sooth_model **model, sooth_error *error);

/* Reads a model from memory, which must stay unchanged until sooth_free. Messages call it `name` ("memory" if NULL). */
SOOTH_API sooth_status sooth_load_memory(const void *bytes, size_t size, const char *name, sooth_model **model,
                                         sooth_error *error);

SOOTH_API void sooth_free(sooth_model *model); /* NULL is allowed */

/* Version of the linked library, e.g. "0.2.0". */
SOOTH_API const char *sooth_version(void);

/* ---- binding dimensions ------------------------------------------------------------------------------------- */

typedef struct sooth_dim_binding {
    const char *name; /* symbolic dimension in the file */
    int64_t value;
} sooth_dim_binding;

/* In a shape: leaves this dimension as the file has it, or as the batch or a named dimension binds it. */
enum { SOOTH_AS_IN_FILE = -1 };

typedef struct sooth_shape_binding {
    const char *input;   /* name of a graph input */
    const int64_t *dims; /* also bind the symbols that the file has in these places */
    size_t rank;
} sooth_shape_binding;

/* All zero: as in the file, with all recovery passes. */
typedef struct sooth_options {
    int64_t batch; /* binds or replaces the first dimension of the inputs; 0 = as in the file and the shapes */
    const sooth_dim_binding *dims;
    size_t dim_count;
    const sooth_shape_binding *shapes;
    size_t shape_count;
    const char *skip_passes;  /* comma-separated names (sooth_pass_name), or "all"; NULL = none */
    const char *extra_passes; /* optional passes to run, in the same form; NULL = none */
} sooth_options;

/* Resolves every shape and recovers the layers that exporters take apart. Call it before any function below; call it
 * again for other dimensions. options may be NULL. SOOTH_ERROR_USAGE names the binding that matches nothing. */
SOOTH_API sooth_status sooth_bind(sooth_model *model, const sooth_options *options, sooth_error *error);

/* Recovery passes in the order they run; NULL after the last. */
SOOTH_API const char *sooth_pass_name(size_t index);
SOOTH_API const char *sooth_pass_summary(size_t index);
/* True if the pass runs only when extra_passes names it. */
SOOTH_API bool sooth_pass_is_optional(size_t index);

/* ---- the graph ---------------------------------------------------------------------------------------------- */

typedef struct sooth_info {
    const char *file;
    const char *format;   /* "onnx", "zoo" … */
    const char *producer; /* exporter and version as the file states them; may be "" */
    const char *graph_name;
} sooth_info;

typedef struct sooth_totals {
    int64_t params; /* trainable; no batch norm statistics or constant tables; all weights of a file without a graph */
    int64_t macs;   /* sum over the layers with known cost; see unknown_layers */
    int64_t flops;
    int64_t weight_bytes;     /* all stored constants that layers read */
    int64_t activation_bytes; /* sum of the outputs that layers write; views write nothing */
    int64_t nodes;            /* layers */
    int64_t unknown_layers;   /* cost not known: unbound dimension, data-dependent, unknown operator */
    /* Sums as expressions of the unbound dimensions ("4089184256*N"); NULL if all are bound. */
    const char *macs_text, *flops_text, *activation_bytes_text;
} sooth_totals;

typedef struct sooth_layer {
    const char *name; /* as in the file; derived from the first output if the file has none */
    const char *op;   /* canonical operator, e.g. "Conv", "Linear", "Attention" */
    const char *kind; /* "conv", "matmul", "attention", "recurrent", "norm", "pool", "reduce",
                         "pointwise", "move", "view", "sort", "control", "other" (unknown operators too) */
    bool op_known;
    size_t input_count, output_count; /* see sooth_layer_input, sooth_layer_output */
    int64_t repeat;                   /* runs per pass (loop bodies); included in the figures below */
    int64_t params, macs, flops, weight_bytes, activation_bytes; /* or SOOTH_UNKNOWN */
    size_t fused_count;                                          /* nodes of the file merged into this layer */
} sooth_layer;

typedef struct sooth_value {
    const char *name;
    const char *dtype;   /* "float32", "int64" …, "" if unknown */
    int rank;            /* -1 if unknown; of the elements for a sequence or map */
    const int64_t *dims; /* `rank` numbers; a negative one is symbolic: see sooth_dim_text */
    bool is_constant;    /* initializer or constant */
    bool is_tensor;      /* false: sequence, optional, map */
} sooth_value;

SOOTH_API sooth_info sooth_info_of(const sooth_model *model);
SOOTH_API sooth_totals sooth_totals_of(const sooth_model *model);
SOOTH_API size_t sooth_layer_count(const sooth_model *model);
SOOTH_API sooth_layer sooth_layer_at(const sooth_model *model, size_t index);
/* Index of a value; SIZE_MAX for an absent optional input. */
SOOTH_API size_t sooth_layer_input(const sooth_model *model, size_t layer, size_t index);
SOOTH_API size_t sooth_layer_output(const sooth_model *model, size_t layer, size_t index);
/* Every tensor of the file, before fusion. */
SOOTH_API size_t sooth_value_count(const sooth_model *model);
SOOTH_API sooth_value sooth_value_at(const sooth_model *model, size_t index);
SOOTH_API size_t sooth_input_count(const sooth_model *model);
SOOTH_API size_t sooth_input(const sooth_model *model, size_t index); /* index of a value */
SOOTH_API size_t sooth_output_count(const sooth_model *model);
SOOTH_API size_t sooth_output(const sooth_model *model, size_t index);
/* Text of a symbolic dimension ("N", "floor((height-1)/2)+1"); NULL if it has none. */
SOOTH_API const char *sooth_dim_text(const sooth_model *model, int64_t dim);

/* Warnings about what is unknown or looks wrong, one sentence each. */
SOOTH_API size_t sooth_note_count(const sooth_model *model);
SOOTH_API const char *sooth_note_at(const sooth_model *model, size_t index);

/* ---- reports ------------------------------------------------------------------------------------------------ */

typedef enum sooth_format {
    SOOTH_FORMAT_TABLE,      /* for people: UTF-8 text in columns */
    SOOTH_FORMAT_JSON,       /* fields are listed in doc/json.md; some may be added, none renamed */
    SOOTH_FORMAT_CSV,        /* one row per layer (RFC 4180 with plain newlines); an empty field is unknown */
    SOOTH_FORMAT_DOT,        /* the graph for Graphviz */
    SOOTH_FORMAT_SVG,        /* the graph as a picture */
    SOOTH_FORMAT_TRACE,      /* predictions only: a timeline in Chrome's trace format, for Perfetto */
    SOOTH_FORMAT_HTML,       /* predictions only: a self-contained page */
    SOOTH_FORMAT_MEMORY_SVG, /* predictions with memory only: memory over time */
    SOOTH_FORMAT_MIG_PARTED, /* MIG layouts only: a YAML configuration for NVIDIA's mig-parted */
} sooth_format;

/* A row of a comparison that could not be predicted, such as fp8 on a GPU without fp8 units. */
typedef struct sooth_refusal {
    const char *gpu, *mig; /* mig is "" for the whole GPU */
    int64_t batch;         /* 0: none was chosen */
    const char *reason;
    size_t before; /* index of the prediction that follows it; the number of predictions if it is last */
} sooth_refusal;

/* All zero: the table, every layer, no colours. */
typedef struct sooth_report_options {
    sooth_format format;
    bool values;    /* also list tensors; in CSV instead of layers. Ignored in pictures */
    size_t top;     /* the layers with most MACs, and one row for the rest; 0 = all. Ignored in pictures */
    size_t depth;   /* merge layers that share this many leading name parts, split at '/' and '.'; 0 = no
                       merging. Ignored in pictures */
    size_t columns; /* width of the terminal, for the table; 0 = unlimited */
    bool colors;    /* escape sequences in the table */
    bool ascii;     /* ASCII characters only in the table, except in names */
    bool layers;    /* predictions: every layer in the table, not only the costliest; CSV of layers */
    bool kernels;   /* predictions: also the kernels, in launch order; CSV of kernels */
    bool memory;    /* predictions: also memory over time, in table and JSON */
    const sooth_refusal *refusals; /* comparisons: rows without a prediction, in order */
    size_t refusal_count;
    bool totals; /* of a prediction as JSON: without its layers and those at the peak of memory */
} sooth_report_options;

/* Writes what `sooth inspect` prints. *text is NUL-terminated and has *size bytes without the NUL (size may be NULL);
 * the caller frees it with free(). Rows sum to the totals. options may be NULL. The model must be bound. */
SOOTH_API sooth_status sooth_report(const sooth_model *model, const sooth_report_options *options, char **text,
                                    size_t *size, sooth_error *error);

/* Writes the graph as an ONNX file without weights. Constants of more than 64 elements become inputs that are
 * documented as weights, so the file is complete for other programs. Reading it back gives the same layers and
 * totals, except for transposes and reshapes of weights if the source has channels last. The caller frees *bytes with
 * free(). */
SOOTH_API sooth_status sooth_write_onnx(const sooth_model *model, void **bytes, size_t *size, sooth_error *error);

/* What "zoo:NAME" builds, and a summary of each; NULL after the last. Networks come first, then families. */
SOOTH_API const char *sooth_zoo_name(size_t index);
SOOTH_API const char *sooth_zoo_summary(size_t index);
/* The family of a network and the parameters that make it, "resnet?depth=50"; NULL for a family. */
SOOTH_API const char *sooth_zoo_definition(size_t index);

/* A parameter of a family. Its value is a number if `most` is not 0, else a text. Networks have the parameters of their
 * family; they are listed here only if the network is the family with all defaults. */
typedef struct sooth_zoo_parameter {
    const char *name;  /* NULL after the last */
    const char *value; /* default */
    const char *summary;
    double least, most;
} sooth_zoo_parameter;
SOOTH_API sooth_zoo_parameter sooth_zoo_parameter_at(size_t network, size_t index);

/* Writes what `sooth zoo` prints: all networks, or the parameters of the one called `name` if that is not NULL.
 * Formats: table, JSON. The caller frees *text with free(). SOOTH_ERROR_USAGE: no such network. */
SOOTH_API sooth_status sooth_zoo_report(const char *name, const sooth_report_options *options, char **text,
                                        size_t *size, sooth_error *error);

/* ---- GPUs --------------------------------------------------------------------------------------------------- */

/* A GPU is a text file of some forty numbers (`key = value  # origin`; see CONTRIBUTING.md). The files of data/gpus are
 * embedded in the library.
 *
 *     sooth_gpus *gpus;
 *     const sooth_gpu *gpu;
 *     if (sooth_gpus_open(NULL, &gpus, &error) == SOOTH_OK) {
 *         if (sooth_gpus_find(gpus, "a100", &gpu, &error) == SOOTH_OK)
 *             printf("%g SMs, %g TFLOP/s\n", sooth_gpu_number(gpu, "sms"), sooth_gpu_peak_flops(gpu, "fp16") / 1e12);
 *         sooth_gpus_free(gpus);
 *     }
 *
 * A list may be used by one thread at a time. GPUs and their strings belong to the list and live until
 * sooth_gpus_free. */
typedef struct sooth_gpus sooth_gpus;
typedef struct sooth_gpu sooth_gpu;

/* Opens the GPUs that ship and those of every *.txt in `directory` (NULL: none). A file replaces a shipped GPU of the
 * same name. The program `sooth` passes the directory in the environment variable SOOTH_GPUS. On failure *gpus is
 * NULL; SOOTH_ERROR_INPUT names file and line. */
SOOTH_API sooth_status sooth_gpus_open(const char *directory, sooth_gpus **gpus, sooth_error *error);
SOOTH_API void sooth_gpus_free(sooth_gpus *gpus); /* NULL is allowed */
SOOTH_API size_t sooth_gpus_count(const sooth_gpus *gpus);
SOOTH_API const sooth_gpu *sooth_gpus_at(const sooth_gpus *gpus, size_t index); /* NULL after the last */

/* Finds a GPU by name or alias. Letter case, separators and the vendor's words do not matter ("NVIDIA GeForce RTX
 * 3090" is "rtx-3090"). A name with a '/' or the ending ".txt" is the path of a GPU file. SOOTH_ERROR_USAGE suggests
 * the nearest name. */
SOOTH_API sooth_status sooth_gpus_find(sooth_gpus *gpus, const char *name, const sooth_gpu **gpu, sooth_error *error);

/* Fields of a GPU file, and a summary of each; NULL after the last. Units are in the names. */
SOOTH_API const char *sooth_gpu_field(size_t index);
SOOTH_API const char *sooth_gpu_field_summary(size_t index);
/* Value of a text field ("name", "vendor", "architecture", "chip" …); NULL if it is absent or a number. */
SOOTH_API const char *sooth_gpu_text(const sooth_gpu *gpu, const char *field);
/* Value of a number field: 0 if the GPU has no such thing, NAN if it is not known or there is no such field. */
SOOTH_API double sooth_gpu_number(const sooth_gpu *gpu, const char *field);
/* Origin of a field's value as its file states it; "" if it states none. */
SOOTH_API const char *sooth_gpu_origin(const sooth_gpu *gpu, const char *field);
SOOTH_API const char *sooth_gpu_alias(const sooth_gpu *gpu, size_t index); /* NULL after the last */
SOOTH_API const char *sooth_gpu_file(const sooth_gpu *gpu);                /* path of its file */

/* Peak FLOP/s in a precision ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"), without sparsity: of the
 * fastest unit (fp16 products accumulate in fp32), and of the units other than tensor cores. 0: no such unit; NAN:
 * unknown. */
SOOTH_API double sooth_gpu_peak_flops(const sooth_gpu *gpu, const char *precision);
SOOTH_API double sooth_gpu_vector_flops(const sooth_gpu *gpu, const char *precision);
SOOTH_API const char *sooth_gpu_precision(size_t index); /* the precisions; NULL after the last */

/* A MIG slice of a GPU has its own multiprocessors and memory and a share of the bandwidth and the L2 cache. Programs
 * see it as a device. data/mig.txt lists the profiles; a mig.txt in the directory of sooth_gpus_open adds to them. */
typedef struct sooth_mig_profile {
    const char *name;       /* as nvidia-smi prints it: "2g.10gb"; "+me": with media engines */
    int id;                 /* in nvidia-smi */
    int compute_slices;     /* "2g" has two */
    int sms;                /* multiprocessors */
    double memory_gib;      /* usable by a program; less than the name says */
    double bandwidth_share; /* of the GPU's memory bandwidth, 0 to 1 */
    double l2_share;        /* of its L2 cache */
    int copy_engines;
    int most;             /* instances that a GPU can have */
    int slots;            /* memory slots that it takes */
    uint32_t start_slots; /* bit i: it may start at slot i */
    const char *origin;   /* where the numbers come from */
} sooth_mig_profile;
/* Number of profiles, from small to large; 0: the GPU has no MIG. */
SOOTH_API size_t sooth_mig_count(const sooth_gpu *gpu);
SOOTH_API sooth_mig_profile sooth_mig_at(const sooth_gpu *gpu, size_t index); /* name is "" after the last */
SOOTH_API int sooth_mig_slots(const sooth_gpu *gpu);                          /* memory slots of the whole GPU */

/* Writes what `sooth gpus` prints: all GPUs, or one with the origin of every number if `gpu` is not NULL. Formats:
 * table, JSON, CSV; options used: format, colors, ascii. The caller frees *text with free(). */
SOOTH_API sooth_status sooth_gpus_report(const sooth_gpus *gpus, const sooth_gpu *gpu,
                                         const sooth_report_options *options, char **text, size_t *size,
                                         sooth_error *error);

/* ---- predictions -------------------------------------------------------------------------------------------- */

/* Weights of the predictor, learned from measurements. Many threads may share one. */
typedef struct sooth_predictor sooth_predictor;

/* Reads weights that `sooth learn` wrote. SOOTH_ERROR_INPUT: damaged or of another version. SOOTH_ERROR_USAGE: `path`
 * is NULL. */
SOOTH_API sooth_status sooth_predictor_open(const char *path, sooth_predictor **predictor, sooth_error *error);
SOOTH_API void sooth_predictor_free(sooth_predictor *predictor); /* NULL is allowed */

/* GPU and settings of a prediction. Zero, NULL and "" select the default. */
typedef struct sooth_predict_options {
    const char *gpu;                  /* name, alias or path of a GPU file; default "a100-sxm4-40gb" */
    const sooth_gpu *device;          /* replaces `gpu`; needed during the call only */
    const sooth_predictor *predictor; /* default: the one that ships */
    /* "fp32", "tf32", "fp16", "bf16", "amp-fp16" (default; also "amp"), "amp-bf16", "int8", "fp8" */
    const char *precision;
    const char *layout;    /* "nchw" (default), "nhwc"; channels-last files always run as nhwc */
    const char *runtime;   /* "eager" (default), "inductor", "engine" */
    const char *mode;      /* "infer" (default), "train": forward, backward and update; "train-forward" */
    const char *optimizer; /* in training: "sgd-momentum" (default), "sgd", "sgd-nesterov", "adam", "adamw", "none" */
    const char *stack;     /* software version ("pt2.4-cu124"); default: unknown */
    const char *source;    /* benchmark whose options apply: "timm", "nvidia-dle"; default: none */
    const char *mig;       /* MIG profile ("2g.10gb", see sooth_mig_at); default: the whole GPU */
    double power_limit_w;  /* as set by nvidia-smi -pl; default: the board's own. A lower one slows kernels down */
    double co2_g_per_kwh;  /* CO2 of the electricity, for co2_g; default: unknown */
    bool memory;           /* also compute memory: see sooth_prediction_memory */
    bool by_estimate;      /* sooth_largest_batch: use the estimate, not the upper end of the interval */
} sooth_predict_options;

/* Valid values of an option ("precision", "layout", "runtime", "mode", "optimizer"); NULL after the last. */
SOOTH_API const char *sooth_predict_choice(const char *part, size_t index);

/* Predicts one pass (or one training step) of the bound model. The caller owns the prediction, which outlives the
 * model, the next sooth_bind and the GPU. SOOTH_ERROR_USAGE: an unknown name, with the nearest known one;
 * SOOTH_ERROR_UNSUPPORTED: the model or the options cannot be lowered to kernels; the message says what to do. */
typedef struct sooth_prediction sooth_prediction;
SOOTH_API sooth_status sooth_predict(sooth_model *model, const sooth_predict_options *options,
                                     sooth_prediction **prediction, sooth_error *error);
SOOTH_API void sooth_prediction_free(sooth_prediction *prediction); /* NULL is allowed */

/* A value and its 90 % interval. */
typedef struct sooth_interval {
    double value, low, high;
} sooth_interval;

/* Shares are in percent; NAN if a figure of the GPU that they need is unknown. */
typedef struct sooth_prediction_totals {
    const char *file, *format, *producer, *graph_name;                         /* as in sooth_info */
    const char *gpu, *precision, *layout, *runtime, *mode, *optimizer, *stack; /* stack is "" if unknown */
    const char *mig;                                                           /* MIG profile; "" for the whole GPU */
    int64_t batch;                                                             /* first dimension of the first input */
    sooth_interval latency_ms;
    const char *interval_kind; /* rows that the interval was calibrated on */
    double throughput_per_s;   /* samples */
    int64_t flops, bytes;      /* sums over all kernels; bytes read and written */
    double compute_share;      /* GPU utilization: achieved FLOP/s ÷ peak for the precision */
    double dram_share;         /* bytes per second ÷ memory bandwidth */
    double occupancy;          /* resident threads ÷ threads that fit, time-weighted mean */
    double wave_efficiency;    /* blocks ÷ room in their waves, time-weighted mean */
    double layer_share;        /* achieved FLOP/s ÷ peak of the units a kernel can use, time-weighted mean */
    double device_ms, host_ms; /* sums over kernels: running on the device, launching on the host */
    /* Roofline: time of compute-bound kernels, of memory-bound kernels, and what the GPU would still wait for
     * launches. */
    double ideal_compute_ms, ideal_memory_ms, ideal_launch_ms;
    double peak_flops;        /* for the precision, FLOP/s */
    double bandwidth_bytes_s; /* of the memory */
    double unknown_share;     /* share of the latency that is a guess for unknown operators */
    sooth_interval energy_j;  /* of the GPU's board for one pass or step, idle time included; without the host */
    sooth_interval power_w;   /* mean over the latency */
    const char *energy_interval_kind; /* rows that both intervals were calibrated on */
    double power_limit_w;             /* limit in force */
    double energy_j_per_1000;         /* per 1,000 samples */
    double co2_g;                     /* for one pass or step; NAN if co2_g_per_kwh was not given */
    /* Type that products multiply in: "fp32", "tf32", "fp16", "bf16", "int8", "fp8". A note explains a deviation. */
    const char *arithmetic;
    const char *weights; /* identity of the predictor's weights: 8 hexadecimal digits; "" without weights */
} sooth_prediction_totals;
SOOTH_API sooth_prediction_totals sooth_prediction_totals_of(const sooth_prediction *prediction);

/* Where the GPU's peak goes: losses in percent of the latency. They and compute_share sum to 100. NAN if the peak is
 * unknown. `other` is negative where Winograd's algorithm multiplies less than is counted. doc/survey.md has the
 * formula of each. */
typedef struct sooth_losses {
    double launch;    /* the GPU waits for the host */
    double memory;    /* memory-bound kernels wait for DRAM */
    double units;     /* kernels run on slower units than the peak's, such as those other than tensor cores */
    double waves;     /* thread blocks do not fill the last wave */
    double alignment; /* tiles of products are padded */
    double other;     /* what is left of compute-bound kernels */
} sooth_losses;
SOOTH_API sooth_losses sooth_prediction_losses(const sooth_prediction *prediction);

/* Peak memory of a pass or training step, as nvidia-smi shows it: tensors, workspaces, what PyTorch's caching
 * allocator holds beyond them, and the driver's context. Every request is simulated. All zero if it was not
 * requested. */
typedef struct sooth_memory {
    bool known;
    sooth_interval total_mib;
    /* Parts; they sum to total_mib.value. */
    double weights_mib, gradients_mib, optimizer_mib, inputs_mib, activations_mib, workspace_mib;
    double cache_mib;    /* held by the allocator, unused at the peak */
    double context_mib;  /* driver, kernel code, library handles */
    double capacity_mib; /* memory of the GPU; NAN: unknown */
    bool fits;           /* the estimate fits; the allocator frees its cache before it fails */
    bool fits_upper;     /* the upper end of the interval fits too */
    const char *limit;   /* what stops the run besides memory, such as a size beyond 32-bit indices; NULL: nothing */
    size_t peak_kernel;  /* index of the kernel at the peak; SIZE_MAX: before the first */
} sooth_memory;
SOOTH_API sooth_memory sooth_prediction_memory(const sooth_prediction *prediction);

/* Layers in order, then rows for loss and optimizer. Latencies sum to the total. */
typedef struct sooth_predicted_layer {
    const char *name, *op; /* as in sooth_layer */
    const char *bound;     /* limits most of its time: "compute", "memory", "launch"; "none": launches nothing */
    double latency_ms;     /* its kernels' time, and the GPU's wait for their launches */
    double ideal_ms;       /* roofline */
    double compute_share;  /* as in the totals */
    int64_t flops, bytes;
    size_t kernel_count; /* kernels launched */
    double energy_j;     /* sums to the total */
    int64_t peak_bytes;  /* its tensors alive at the memory peak, without weights and gradients; 0 without memory */
    double device_ms;    /* time while its kernels run; the rest of latency_ms is waiting */
} sooth_predicted_layer;
SOOTH_API size_t sooth_predicted_layer_count(const sooth_prediction *prediction);
SOOTH_API sooth_predicted_layer sooth_predicted_layer_at(const sooth_prediction *prediction, size_t index);

/* Kernels in launch order. Views launch nothing; their host time counts for the next kernel. Latencies sum to the
 * total. */
typedef struct sooth_predicted_kernel {
    const char *op; /* PyTorch's name ("convolution", "addmm", "_to_copy" …); "triton_poi" … for fused operators */
    const char *name;      /* the same, with the fused operators */
    size_t layer;          /* index for sooth_predicted_layer_at */
    const char *phase;     /* "forward", "backward", "update" */
    const char *algorithm; /* of products and convolutions ("implicit GEMM", "Winograd" …); NULL: no choice */
    const char *reason;    /* why the library picks it */
    const char *bound;     /* "compute", "memory", "launch" */
    bool is_hidden;        /* launched by the operator before it (bias of a convolution, copy into another layout) */
    bool op_known;         /* false: no rule for the operator; named as in the file */
    int64_t repeat;        /* runs per pass; figures cover all runs */
    double latency_ms;     /* its time, and the GPU's wait for its launch */
    double energy_j;       /* sums to the total */
    double device_us, host_us;    /* running on the device, launching on the host */
    double compute_us, memory_us; /* roofline */
    int64_t flops, bytes;
    int64_t gemm[4];                   /* batch, m, n, k of a product; else 0 */
    double blocks, waves;              /* thread blocks and waves; 0 if not computed */
    double wave_efficiency, occupancy; /* in percent */
    size_t input_count, output_count;
    int64_t allocated_bytes, reserved_bytes; /* in tensors and in the allocator while it runs; 0 without memory */
} sooth_predicted_kernel;
SOOTH_API size_t sooth_predicted_kernel_count(const sooth_prediction *prediction);
SOOTH_API sooth_predicted_kernel sooth_predicted_kernel_at(const sooth_prediction *prediction, size_t index);

typedef struct sooth_predicted_tensor {
    const char *dtype; /* "float16" … */
    int rank;
    const int64_t *dims;
    bool is_weight; /* exists before the pass begins */
} sooth_predicted_tensor;
SOOTH_API sooth_predicted_tensor sooth_predicted_input(const sooth_prediction *prediction, size_t kernel, size_t index);
SOOTH_API sooth_predicted_tensor sooth_predicted_output(const sooth_prediction *prediction, size_t kernel,
                                                        size_t index);

/* Operators that a compiler fused into the kernel, by PyTorch's names; NULL after the last. */
SOOTH_API const char *sooth_predicted_fused(const sooth_prediction *prediction, size_t kernel, size_t index);

/* Finds the largest batch, at most `most` (0: 1,048,576), that fits into the GPU's memory by the upper end of the
 * interval (with by_estimate: by the estimate); 0 if not even one sample fits. `dims` are as for sooth_bind, its
 * batch is ignored; NULL: as in the file. On return the model is bound to the batch found, or to 1.
 * SOOTH_ERROR_UNSUPPORTED: the batch is fixed, or the GPU's memory is unknown. */
SOOTH_API sooth_status sooth_largest_batch(sooth_model *model, const sooth_options *dims,
                                           const sooth_predict_options *options, int64_t most, int64_t *batch,
                                           sooth_error *error);

/* Operators without a rule, and the number of kernels of each; NULL after the last. */
SOOTH_API const char *sooth_prediction_unknown(const sooth_prediction *prediction, size_t index, size_t *count);

/* Notes, one sentence each: another arithmetic than requested, another software version standing in, dimensions that
 * the file left open, unknown operators. NULL after the last. */
SOOTH_API const char *sooth_prediction_note(const sooth_prediction *prediction, size_t index);
/* A note about the figures of single layers; NULL if there is none. */
SOOTH_API const char *sooth_prediction_layers_note(const sooth_prediction *prediction);

/* Writes what `sooth predict` prints: one prediction in full; several, or one beside refusals, as a comparison (in
 * JSON an array). Formats: table, JSON, CSV, trace; for one prediction also HTML and memory SVG. The caller frees
 * *text with free(). options may be NULL. */
SOOTH_API sooth_status sooth_prediction_report(const sooth_prediction *const *predictions, size_t count,
                                               const sooth_report_options *options, char **text, size_t *size,
                                               sooth_error *error);

/* ---- slices for models (MIG) ---------------------------------------------------------------------------------- */

/* Finds the slice that a model needs, and places the slices of several models on as few GPUs as possible.
 *
 *     sooth_mig_workload work[] = {{.model = a, .latency_ms = 10, .count = 3}, {.model = b}};
 *     sooth_mig_options where = {.gpu = "a100"};
 *     sooth_mig_plan *plan;
 *     sooth_status status = sooth_mig_plan_make(work, 2, &where, &plan, &error);
 *     if (status == SOOTH_OK)
 *         printf("%zu GPUs\n", sooth_mig_plan_totals_of(plan).gpu_count);
 *     else if (status == SOOTH_ANSWER_NO)
 *         printf("%s\n", sooth_mig_plan_totals_of(plan).nearest);
 *     sooth_mig_plan_free(plan);
 */
typedef struct sooth_mig_workload {
    sooth_model *model;        /* bound; workloads may share a model only if their dimensions are equal */
    const sooth_options *dims; /* its dimensions, to suggest a smaller batch if this one is too large; may be NULL */
    sooth_predict_options options; /* gpu, device and mig are ignored */
    double latency_ms;             /* target for the upper end of the interval; 0: none */
    size_t count;                  /* instances, one slice each; 0 means 1 */
    const char *name;              /* for reports; NULL: the model's file */
} sooth_mig_workload;

typedef struct sooth_mig_options {
    const char *gpu;         /* name, alias or path of a GPU file; default "a100-sxm4-40gb" */
    const sooth_gpu *device; /* replaces `gpu` */
    size_t most_gpus;        /* GPUs available; 0: any number */
    double time_limit_s;     /* for searches beyond eight GPUs; 0: 10. Up to eight GPUs the answer is optimal */
    /* Called during such a search with the number of GPUs being tried and the number known to suffice. Returning
     * false stops the search. May be NULL. */
    bool (*progress)(void *context, size_t tried, size_t enough, double seconds);
    void *context;
} sooth_mig_options;

typedef struct sooth_mig_plan sooth_mig_plan;
/* SOOTH_ANSWER_NO: no layout exists; the plan then has the reason and the nearest possible request. The caller owns
 * the plan, which outlives the models. On other failures it is NULL. On return models are bound to their own
 * dimensions. */
SOOTH_API sooth_status sooth_mig_plan_make(const sooth_mig_workload *workloads, size_t count,
                                           const sooth_mig_options *options, sooth_mig_plan **plan, sooth_error *error);
SOOTH_API void sooth_mig_plan_free(sooth_mig_plan *plan); /* NULL is allowed */

typedef struct sooth_mig_plan_totals {
    const char *gpu;
    size_t workload_count;
    size_t gpu_count;    /* in the layout; 0: there is none */
    size_t least_gpus;   /* proven lower bound; below gpu_count if time ran out */
    int slots;           /* memory slots of a GPU */
    bool is_possible;    /* every workload has a slice, and the GPUs suffice */
    const char *reason;  /* why it is not possible; "" if it is */
    const char *nearest; /* nearest possible request; "" if none is near, or this one is possible */
    const char *weights; /* as in sooth_prediction_totals */
} sooth_mig_plan_totals;
SOOTH_API sooth_mig_plan_totals sooth_mig_plan_totals_of(const sooth_mig_plan *plan);

typedef struct sooth_mig_planned {
    const char *name, *precision, *layout, *runtime, *mode;
    int64_t batch;
    double latency_ms; /* target; 0: none */
    size_t count;
    const char *profile;       /* smallest that meets the target; "" if none does */
    const char *dippm_profile; /* by DIPPM's rule: smallest whose nominal memory exceeds the need, at any latency */
    size_t candidate_count;    /* profiles of the GPU, without variants that only add media engines */
} sooth_mig_planned;
SOOTH_API sooth_mig_planned sooth_mig_planned_at(const sooth_mig_plan *plan, size_t workload);

typedef struct sooth_mig_candidate {
    const char *profile;
    sooth_interval latency_ms;
    sooth_interval memory_mib; /* NAN: unknown */
    sooth_interval energy_j;   /* of a pass, by the slice's share of the board's power; NAN: unknown */
    double usable_mib;         /* memory of the slice */
    bool fits;                 /* by the upper end of memory_mib */
    bool meets_target;         /* by the upper end of latency_ms */
    const char *reason;        /* why it fails; "" if it does not */
} sooth_mig_candidate;
SOOTH_API sooth_mig_candidate sooth_mig_candidate_at(const sooth_mig_plan *plan, size_t workload, size_t index);

/* Notes on a workload, as sooth_prediction_note has them; NULL after the last. */
SOOTH_API const char *sooth_mig_note(const sooth_mig_plan *plan, size_t workload, size_t index);

/* Slices on a GPU of the layout, in slot order; workload is SIZE_MAX after the last. */
typedef struct sooth_mig_placed {
    size_t workload;
    const char *profile;
    int start, slots; /* in memory slots */
} sooth_mig_placed;
SOOTH_API size_t sooth_mig_placed_count(const sooth_mig_plan *plan, size_t gpu);
SOOTH_API sooth_mig_placed sooth_mig_placed_at(const sooth_mig_plan *plan, size_t gpu, size_t index);

/* Writes what `sooth mig` prints: table, JSON, CSV (candidates), SVG (the slots of the GPUs) or
 * SOOTH_FORMAT_MIG_PARTED. The caller frees *text with free(). options may be NULL. SOOTH_ERROR_USAGE: SVG or
 * configuration without a layout. */
SOOTH_API sooth_status sooth_mig_plan_report(const sooth_mig_plan *plan, const sooth_report_options *options,
                                             char **text, size_t *size, sooth_error *error);

/* ---- surveys: many networks on many GPUs ---------------------------------------------------------------------- */

/* Predicts every combination of networks, GPUs, batches and settings. Each network is loaded once; networks are shared
 * out among threads. The answer is the same for any number of threads.
 *
 *     sooth_survey_network networks[] = {{.graph = "zoo:resnet50"}, {.graph = "model.onnx"}};
 *     const sooth_gpu *gpus[] = {a100, t4};
 *     int64_t batches[] = {1, 32};
 *     sooth_survey_options options = {.networks = networks, .network_count = 2, .gpus = gpus, .gpu_count = 2,
 *                                     .batches = batches, .batch_count = 2};
 *     sooth_survey *survey;
 *     if (sooth_survey_make(&options, &survey, &error) == SOOTH_OK)
 *         for (size_t i = 0; i < sooth_survey_row_count(survey); i++)
 *             printf("%s: %.1f %%\n", sooth_survey_row_at(survey, i).name, sooth_survey_row_at(survey, i).utilization);
 *     sooth_survey_free(survey);
 */
typedef struct sooth_survey_network {
    const char *graph; /* path of a model, or zoo:NAME */
    const char *name;  /* for reports; NULL: from the path, without folder and ending */
    double accuracy;   /* for reports; has_accuracy says whether it is known */
    bool has_accuracy;
} sooth_survey_network;

typedef struct sooth_survey_options {
    const sooth_survey_network *networks;
    size_t network_count;
    const sooth_gpu *const *gpus;
    size_t gpu_count;
    const int64_t *batches; /* each at least 1 */
    size_t batch_count;
    /* Names as in sooth_predict_options; NULL: the one of `settings`. */
    const char *const *precisions, *const *layouts, *const *runtimes;
    size_t precision_count, layout_count, runtime_count;
    sooth_predict_options settings; /* everything else; its gpu and device are ignored */
    size_t threads;                 /* 0: one for each core */
    /* File that keeps the rows of finished networks: the same survey, started again, continues there. NULL: none.
     * SOOTH_ERROR_USAGE: it belongs to another survey. The caller removes it when it has the answer. */
    const char *journal;
    /* Called now and then with the number of finished networks. Returning false stops: SOOTH_ANSWER_NO. May be NULL. */
    bool (*progress)(void *context, size_t done, size_t count, double seconds);
    void *context;
} sooth_survey_options;

typedef struct sooth_survey_row {
    const char *name, *graph, *gpu, *precision, *layout, *runtime;
    int64_t batch;
    sooth_interval latency_ms, energy_j;
    sooth_interval memory_mib; /* NAN unless settings.memory */
    double throughput_per_s;
    double device_ms, host_ms; /* as in sooth_prediction_totals */
    int64_t params, macs;      /* of the pass */
    int64_t flops;
    double utilization, dram_utilization, occupancy; /* in percent */
    sooth_losses lost;                               /* sums to 100 with the utilization */
    double accuracy;                                 /* NAN: unknown */
    const char *error;                               /* why there is no prediction; "" if there is one */
} sooth_survey_row;

typedef struct sooth_survey sooth_survey;
/* A network that cannot be predicted has rows with an error and does not stop the others. A failure of the system
 * does: SOOTH_ERROR_SYSTEM. The caller owns the survey; on failure it is NULL. */
SOOTH_API sooth_status sooth_survey_make(const sooth_survey_options *options, sooth_survey **survey,
                                         sooth_error *error);
SOOTH_API void sooth_survey_free(sooth_survey *survey); /* NULL is allowed */
/* Rows by network, then batch, precision, layout, runtime, GPU, in the order of the options. */
SOOTH_API size_t sooth_survey_row_count(const sooth_survey *survey);
SOOTH_API sooth_survey_row sooth_survey_row_at(const sooth_survey *survey, size_t index);
/* What all rows have in common: the mode ("infer", "train" …), and the weights as in sooth_prediction_totals. */
SOOTH_API const char *sooth_survey_mode(const sooth_survey *survey);
SOOTH_API const char *sooth_survey_weights(const sooth_survey *survey);

/* Writes what `sooth survey` prints: table, JSON, CSV or HTML. The caller frees *text with free(). options may be
 * NULL. */
SOOTH_API sooth_status sooth_survey_report(const sooth_survey *survey, const sooth_report_options *options, char **text,
                                           size_t *size, sooth_error *error);

/* ---- architecture search -------------------------------------------------------------------------------------- */

/* Searches a space of architectures: predicts candidates on one GPU, keeps those within the limits, and finds the most
 * accurate ones with few evaluations. Everything is deterministic for a seed. */

typedef enum sooth_nas_method {
    SOOTH_NAS_ALL,       /* every candidate is predicted and evaluated; for spaces of at most two million */
    SOOTH_NAS_RANDOM,    /* candidates at random, none twice */
    SOOTH_NAS_EVOLUTION, /* regularised evolution: the oldest dies */
    SOOTH_NAS_LOCAL,     /* hill climbing over all changes of one choice, with restarts */
} sooth_nas_method;

/* What a table of the caller may say of an architecture. */
typedef enum sooth_nas_column {
    SOOTH_NAS_ACCURACY,   /* higher is better */
    SOOTH_NAS_LATENCY_MS, /* measured latency, in place of the predicted one */
    SOOTH_NAS_METRIC,     /* to prune by; higher is better */
} sooth_nas_column;

typedef struct sooth_nas_options {
    const char *space;       /* name (sooth_nas_space_name), or path of a space file; doc/nas.md has the format */
    const sooth_gpu *device; /* NULL: settings.gpu */
    int64_t batch;           /* 0: 1 */
    sooth_predict_options settings;
    double latency_ms, memory_mib, energy_j; /* limits on the predictions; 0: none */
    sooth_nas_method method;
    /* Keep only this share of the candidates within the limits, the best by a metric: "utilization", "macs", "params",
     * "latency" (largest first), "energy" (smallest first), or "table" for SOOTH_NAS_METRIC. 0: all. */
    const char *prune_by;
    double prune_share;
    size_t trials; /* evaluations; 0: 100 (all candidates with SOOTH_NAS_ALL) */
    uint64_t seed;
    /* Looks an architecture up. Called by several threads at once. False: it has no such value. May be NULL. */
    bool (*lookup)(void *context, sooth_nas_column column, const char *architecture, double *value);
    bool has_column[3]; /* by sooth_nas_column: true if lookup provides the column */
    /* Evaluates architectures that lookup does not know; fills values (NAN: failed). Returns false to stop. May be
     * NULL. Called by one thread at a time, with up to `jobs` architectures. */
    bool (*evaluate)(void *context, const char *const *architectures, size_t count, double *values);
    size_t jobs;    /* 0: 1 */
    size_t repeats; /* searches with seeds from `seed` on, for statistics; 0: one search. Needs a lookup of accuracy */
    double within[4]; /* with repeats: count the evaluations until this close to the best candidate within the limits */
    size_t within_count;
    size_t threads;                                                             /* 0: one for each core */
    bool (*progress)(void *context, size_t done, size_t count, double seconds); /* false stops; may be NULL */
    void *context;
    /* An earlier search of the same space, GPU, batch and settings, without measured latencies. Its predictions are
     * used again, so that many searches predict a space once. NULL: none. */
    const struct sooth_nas *like;
} sooth_nas_options;

typedef struct sooth_nas_candidate {
    sooth_interval latency_ms;
    double utilization, dram_utilization; /* in percent */
    int64_t macs, params;
    double memory_mib, energy_j; /* memory: NAN unless it has a limit or the candidate is in the answer */
    double accuracy;             /* NAN: not evaluated, or unknown */
    bool is_feasible;            /* within the limits */
    bool is_kept;                /* and not pruned */
    const char *error;           /* why it has no prediction; "" if it has one */
} sooth_nas_candidate;

typedef struct sooth_nas_totals {
    const char *space, *gpu, *precision, *layout, *runtime, *mode, *weights, *method;
    int64_t batch;
    double candidates; /* of the space; may be larger than any integer type */
    size_t predicted, failed, feasible, kept, evaluated;
    double utilization_p10, utilization_median, utilization_p90, utilization_max; /* of the feasible ones */
    /* Spearman's rank correlations over the feasible candidates that were predicted; NAN: unknown. */
    double utilization_with_latency, utilization_with_accuracy, macs_with_accuracy;
    double best_accuracy; /* of all feasible candidates that lookup knows; NAN: unknown */
} sooth_nas_totals;

/* Statistics of repeated searches. */
typedef struct sooth_nas_repeat {
    double within; /* points of accuracy */
    /* Evaluations: mean and its 95 % confidence interval. A search that failed counts all its trials. */
    double mean, low, high;
    double median;
    size_t reached, repeats; /* searches that came this close, of all */
} sooth_nas_repeat;

/* Mean utilization and accuracy of the feasible candidates that have this value of a choice. */
typedef struct sooth_nas_effect {
    const char *choice, *value; /* choice is NULL after the last */
    size_t count;
    double utilization, latency_ms, accuracy;
} sooth_nas_effect;

typedef struct sooth_nas sooth_nas;
/* SOOTH_ANSWER_NO: no candidate is within the limits; the search then has the totals. On other failures it is NULL. */
SOOTH_API sooth_status sooth_nas_search(const sooth_nas_options *options, sooth_nas **nas, sooth_error *error);
SOOTH_API void sooth_nas_free(sooth_nas *nas); /* NULL is allowed */
SOOTH_API sooth_nas_totals sooth_nas_totals_of(const sooth_nas *nas);
/* All predicted candidates. */
SOOTH_API size_t sooth_nas_candidate_count(const sooth_nas *nas);
SOOTH_API sooth_nas_candidate sooth_nas_candidate_at(const sooth_nas *nas, size_t index);
/* How tables call it, and the model that it is; each into a room of at least SOOTH_NAS_NAME_ROOM bytes; either may be
 * NULL. */
enum { SOOTH_NAS_NAME_ROOM = 2048 };
SOOTH_API sooth_status sooth_nas_name(const sooth_nas *nas, size_t index, char *architecture, char *graph, size_t room);
/* Indices of candidates: the best by accuracy (without accuracies: by utilization), best first; and the Pareto front
 * of latency against accuracy (without: against MACs), fastest first. SIZE_MAX after the last. */
SOOTH_API size_t sooth_nas_best(const sooth_nas *nas, size_t rank);
SOOTH_API size_t sooth_nas_pareto(const sooth_nas *nas, size_t index);
/* Index of the candidate that was evaluated as number `trial` of the search; SIZE_MAX after the last. */
SOOTH_API size_t sooth_nas_trial(const sooth_nas *nas, size_t trial);
SOOTH_API sooth_nas_repeat sooth_nas_repeat_at(const sooth_nas *nas, size_t index); /* repeats is 0 after the last */
SOOTH_API sooth_nas_effect sooth_nas_effect_at(const sooth_nas *nas, size_t index);

/* Spaces that ship; NULL after the last. */
SOOTH_API const char *sooth_nas_space_name(size_t index);
SOOTH_API const char *sooth_nas_space_summary(size_t index);

/* Writes what `sooth nas` prints: table, JSON, CSV (all predicted candidates) or HTML. The caller frees *text with
 * free(). options may be NULL; `top` is how many of the best to list (0: 10). */
SOOTH_API sooth_status sooth_nas_report(const sooth_nas *nas, const sooth_report_options *options, char **text,
                                        size_t *size, sooth_error *error);

/* ---- which GPU, batch, slice and setting -------------------------------------------------------------------------- */

/* Finds for each GPU, and each MIG slice of it, the largest batch and the best setting that meet a target, and ranks
 * them: by cost if prices are given, else by throughput. Intervals count by their worse end. */
typedef struct sooth_choose_options {
    const sooth_options *dims; /* dimensions other than the batch; NULL: as in the file */
    const sooth_gpu *const *gpus;
    size_t gpu_count;
    const double *prices_usd_h; /* by GPU; NAN or 0: unknown. NULL: none */
    /* Names as in sooth_predict_options; NULL: the one of `settings`. */
    const char *const *precisions, *const *layouts, *const *runtimes;
    size_t precision_count, layout_count, runtime_count;
    sooth_predict_options settings; /* everything else */
    double latency_ms;              /* target for the upper end of the latency; 0: none */
    double throughput_per_s;        /* target for the throughput at the upper end of the latency; 0: none */
    int64_t most_batch;             /* 0: 65536 */
    bool with_slices;               /* MIG slices too */
} sooth_choose_options;

typedef struct sooth_choice {
    const char *gpu, *mig; /* mig is "" for the whole GPU */
    const char *precision, *layout, *runtime;
    int64_t batch; /* the largest that meets the target; if none does, 1 */
    sooth_interval latency_ms, memory_mib, energy_j;
    double capacity_mib;
    double throughput_per_s, throughput_per_s_low; /* low: at the upper end of the latency */
    double utilization;                            /* in percent */
    double usd_h;                                  /* of the GPU, or the share of it that the slice has; NAN: unknown */
    double usd_per_million;                        /* samples; NAN: unknown */
    bool meets;
    const char *reason; /* why it fails; "" if it does not */
    double miss;        /* how far from the target, as a factor above 1; 1 if it meets it */
} sooth_choice;

typedef struct sooth_choices sooth_choices;
/* SOOTH_ANSWER_NO: nothing meets the target; the choices are there, the nearest first. On other failures *choices is
 * NULL. On return the model is bound to a batch of the search. */
SOOTH_API sooth_status sooth_choose(sooth_model *model, const sooth_choose_options *options, sooth_choices **choices,
                                    sooth_error *error);
SOOTH_API void sooth_choices_free(sooth_choices *choices); /* NULL is allowed */
/* Ranked: first those that meet the target, best first; one for each GPU and slice. */
SOOTH_API size_t sooth_choice_count(const sooth_choices *choices);
SOOTH_API sooth_choice sooth_choice_at(const sooth_choices *choices, size_t rank);

typedef struct sooth_choose_totals {
    const char *file, *mode, *weights;   /* as in sooth_prediction_totals */
    double latency_ms, throughput_per_s; /* targets; 0: none */
    bool has_prices;
} sooth_choose_totals;
SOOTH_API sooth_choose_totals sooth_choose_totals_of(const sooth_choices *choices);

/* Writes what `sooth choose` prints: table, JSON or CSV. The caller frees *text with free(). options may be NULL. */
SOOTH_API sooth_status sooth_choose_report(const sooth_choices *choices, const sooth_report_options *options,
                                           char **text, size_t *size, sooth_error *error);

#ifdef __cplusplus
}
#endif
#endif
