/* sooth.h: the public interface of libsooth.
 *
 * Sooth reads a neural network's file and reports its layers and its cost on a GPU, without running it.
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
#define SOOTH_VERSION_MINOR 2
#define SOOTH_VERSION_PATCH 0
#define SOOTH_VERSION "0.2.0"

#define SOOTH_API __attribute__((visibility("default")))

/* The program `sooth` uses these numbers as exit codes. */
typedef enum sooth_status {
    SOOTH_OK = 0,
    SOOTH_ANSWER_NO = 1,         /* The answer is no: it does not fit, or it misses a target. */
    SOOTH_ERROR_USAGE = 2,       /* The request is invalid. */
    SOOTH_ERROR_INPUT = 3,       /* The file is damaged, truncated or not a model. */
    SOOTH_ERROR_UNSUPPORTED = 4, /* The file is valid but uses an unsupported feature. */
    SOOTH_ERROR_SYSTEM = 5,      /* Out of memory, unreadable file and similar. */
} sooth_status;

/* An error message states in one line what is wrong, where (byte or node), and how to fix it. */
typedef struct sooth_error {
    sooth_status code;
    char message[768];
} sooth_error;

typedef struct sooth_model sooth_model;

/* Value of an unknown number. */
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

SOOTH_API void sooth_free(sooth_model *model); /* `model` may be NULL. */

/* Version of the linked library, e.g. "0.2.0". */
SOOTH_API const char *sooth_version(void);

/* ---- binding dimensions ------------------------------------------------------------------------------------- */

typedef struct sooth_dim_binding {
    const char *name; /* Symbolic dimension of the file. */
    int64_t value;
} sooth_dim_binding;

/* As a dimension of a shape: keeps the file's dimension, or the one bound by batch or name. */
enum { SOOTH_AS_IN_FILE = -1 };

typedef struct sooth_shape_binding {
    const char *input;   /* Name of a graph input. */
    const int64_t *dims; /* Also binds the symbols that the file has at these positions. */
    size_t rank;
} sooth_shape_binding;

/* Zero-initialized options keep the file's dimensions and run all recovery passes. */
typedef struct sooth_options {
    int64_t batch; /* Sets the first dimension of the inputs; 0 keeps that of the file or of `shapes`. */
    const sooth_dim_binding *dims;
    size_t dim_count;
    const sooth_shape_binding *shapes;
    size_t shape_count;
    const char *skip_passes;  /* Passes to skip: comma-separated names (sooth_pass_name), or "all"; NULL: none. */
    const char *extra_passes; /* Optional passes to run, in the same form; NULL: none. */
} sooth_options;

/* Resolves every shape and recovers layers that exporters decompose. Call it before any function below, and again for
 * other dimensions. `options` may be NULL. SOOTH_ERROR_USAGE names a binding without a match. */
SOOTH_API sooth_status sooth_bind(sooth_model *model, const sooth_options *options, sooth_error *error);

/* The same, but a batch that file and options leave open becomes that of the first input, or 1, and is stored in
 * `options`. If a given shape contradicts it, the dimensions stay open. */
SOOTH_API sooth_status sooth_bind_open(sooth_model *model, sooth_options *options, sooth_error *error);

/* Returns the passes in the order in which they run; NULL after the last. */
SOOTH_API const char *sooth_pass_name(size_t index);
SOOTH_API const char *sooth_pass_summary(size_t index);
/* True if the pass runs only when extra_passes names it. */
SOOTH_API bool sooth_pass_is_optional(size_t index);

/* ---- the graph ---------------------------------------------------------------------------------------------- */

typedef struct sooth_info {
    const char *file;
    const char *format;   /* "onnx", "zoo" … */
    const char *producer; /* Exporter and version from the file; may be "". */
    const char *graph_name;
} sooth_info;

typedef struct sooth_totals {
    /* Trainable parameters, without batch norm statistics and constant tables; all weights of a file without a
     * graph. */
    int64_t params;
    int64_t macs; /* Sum over the layers of known cost; see unknown_layers. */
    int64_t flops;
    int64_t weight_bytes;     /* All stored constants that layers read. */
    int64_t activation_bytes; /* Sum of the outputs that layers write; views write nothing. */
    int64_t nodes;            /* layers */
    int64_t unknown_layers;   /* Layers of unknown cost: unbound dimension, data-dependent shape, unknown operator. */
    /* Sums as expressions of the unbound dimensions ("4089184256*N"); NULL if all are bound. */
    const char *macs_text, *flops_text, *activation_bytes_text;
} sooth_totals;

typedef struct sooth_layer {
    const char *name; /* Name from the file, or from the first output if the file has none. */
    const char *op;   /* Canonical operator, such as "Conv", "Linear" or "Attention". */
    const char *kind; /* "conv", "matmul", "attention", "recurrent", "norm", "pool", "reduce",
                         "pointwise", "move", "view", "sort", "control", "other" (unknown operators too) */
    bool op_known;
    size_t input_count, output_count; /* See sooth_layer_input and sooth_layer_output. */
    int64_t repeat;                   /* Runs per pass (loop bodies); the figures below include all runs. */
    int64_t params, macs, flops, weight_bytes, activation_bytes; /* SOOTH_UNKNOWN if not known. */
    /* Nodes of the file that are merged into this layer. */
    size_t fused_count;
} sooth_layer;

typedef struct sooth_value {
    const char *name;
    const char *dtype;   /* "float32", "int64" …; "" if unknown. */
    int rank;            /* -1 if unknown. For a sequence or map, the rank of its elements. */
    const int64_t *dims; /* `rank` numbers. A negative number is symbolic; see sooth_dim_text. */
    bool is_constant;    /* Initializer or constant. */
    bool is_tensor;      /* False for a sequence, optional or map. */
} sooth_value;

SOOTH_API sooth_info sooth_info_of(const sooth_model *model);
SOOTH_API sooth_totals sooth_totals_of(const sooth_model *model);
SOOTH_API size_t sooth_layer_count(const sooth_model *model);
SOOTH_API sooth_layer sooth_layer_at(const sooth_model *model, size_t index);
/* Returns the index of a value; SIZE_MAX for an absent optional input. */
SOOTH_API size_t sooth_layer_input(const sooth_model *model, size_t layer, size_t index);
SOOTH_API size_t sooth_layer_output(const sooth_model *model, size_t layer, size_t index);
/* Copies integers of an attribute ("strides", "group") into `ints`, at most `room`; returns how many, 0 if the layer
 * has no such attribute. Names are ONNX's. */
SOOTH_API size_t sooth_layer_ints(const sooth_model *model, size_t layer, const char *attribute, int64_t *ints,
                                  size_t room);
/* All tensors of the file, before fusion. */
SOOTH_API size_t sooth_value_count(const sooth_model *model);
SOOTH_API sooth_value sooth_value_at(const sooth_model *model, size_t index);
SOOTH_API size_t sooth_input_count(const sooth_model *model);
SOOTH_API size_t sooth_input(const sooth_model *model, size_t index); /* Returns the index of a value. */
SOOTH_API size_t sooth_output_count(const sooth_model *model);
SOOTH_API size_t sooth_output(const sooth_model *model, size_t index);
/* Returns the text of a symbolic dimension ("N", "floor((height-1)/2)+1"); NULL for other dimensions. */
SOOTH_API const char *sooth_dim_text(const sooth_model *model, int64_t dim);
/* Returns the names of the file's symbolic dimensions, which `dims` of sooth_options binds; NULL after the last. */
SOOTH_API const char *sooth_symbol(const sooth_model *model, size_t index);

/* Warnings about unknown or suspicious parts of the model, one sentence each. */
SOOTH_API size_t sooth_note_count(const sooth_model *model);
SOOTH_API const char *sooth_note_at(const sooth_model *model, size_t index);

/* ---- reports ------------------------------------------------------------------------------------------------ */

typedef enum sooth_format {
    SOOTH_FORMAT_TABLE,      /* UTF-8 text in columns, for people. */
    SOOTH_FORMAT_JSON,       /* doc/json.md lists the fields. Later versions may add fields but rename none. */
    SOOTH_FORMAT_CSV,        /* One row per layer (RFC 4180 with plain newlines). An empty field is unknown. */
    SOOTH_FORMAT_DOT,        /* Graph in Graphviz's format. */
    SOOTH_FORMAT_SVG,        /* Graph as a picture. */
    SOOTH_FORMAT_TRACE,      /* Predictions only: timeline in Chrome's trace format, for Perfetto. */
    SOOTH_FORMAT_HTML,       /* Predictions only: a self-contained page. */
    SOOTH_FORMAT_MEMORY_SVG, /* Predictions with memory only: a picture of memory over time. */
    SOOTH_FORMAT_MIG_PARTED, /* MIG layouts only: YAML configuration for NVIDIA's mig-parted. */
} sooth_format;

/* A row of a comparison without a prediction, for example fp8 on a GPU without fp8 units. */
typedef struct sooth_refusal {
    const char *gpu, *mig; /* `mig` is "" for the whole GPU. */
    int64_t batch;         /* 0 if no batch was chosen. */
    const char *reason;
    size_t before; /* Index of the prediction that follows the row; the number of predictions for the last row. */
} sooth_refusal;

/* Zero-initialized options select the table with every layer, without colours. */
typedef struct sooth_report_options {
    sooth_format format;
    bool values; /* Also lists tensors; CSV lists them instead of layers. Pictures ignore it. */
    size_t top;  /* Lists the layers with the most MACs, and one row for the rest; 0: all. Pictures ignore it. */
    /* Merges layers that share this many leading parts of their names, split at '/' and '.'; 0: no merging. Pictures
     * ignore it. */
    size_t depth;
    size_t columns; /* Width of the table in columns; 0: unlimited. */
    bool colors;    /* Uses escape sequences in the table. */
    bool ascii;     /* Uses only ASCII characters in the table, except in names. */
    bool layers;    /* Predictions: the table lists every layer instead of the slowest ones; CSV lists layers. */
    bool kernels;   /* Predictions: also lists the kernels in launch order; CSV lists kernels. */
    bool memory;    /* Predictions: adds memory over time to table and JSON. */
    const sooth_refusal *refusals; /* Comparisons: rows without a prediction, in order. */
    size_t refusal_count;
    bool totals; /* Predictions as JSON: omits the layers, also those at the peak of memory. */
} sooth_report_options;

/* Writes the output of `sooth inspect`. *text is NUL-terminated and has *size bytes without the NUL (`size` may be
 * NULL). The caller frees it with free(). Rows sum to the totals. `options` may be NULL. The model must be bound. */
SOOTH_API sooth_status sooth_report(const sooth_model *model, const sooth_report_options *options, char **text,
                                    size_t *size, sooth_error *error);

/* Writes the graph as an ONNX file without weights. Constants of more than 64 elements become inputs documented as
 * weights, so other programs can read the file. Reading it back gives the same layers and totals, except for transposes
 * and reshapes of weights if the source is channels last. The caller frees *bytes with free(). */
SOOTH_API sooth_status sooth_write_onnx(const sooth_model *model, void **bytes, size_t *size, sooth_error *error);

/* Returns a name for "zoo:NAME" and its summary; NULL after the last. Networks come first, then families. */
SOOTH_API const char *sooth_zoo_name(size_t index);
SOOTH_API const char *sooth_zoo_summary(size_t index);
/* Returns the family and parameters of a network ("resnet?depth=50"); NULL for a family. */
SOOTH_API const char *sooth_zoo_definition(size_t index);

/* A parameter of a family. Its value is a number if `most` is not 0, otherwise a string. A network accepts the
 * parameters of its family, but lists them only if it is the family with all defaults. */
typedef struct sooth_zoo_parameter {
    const char *name;  /* NULL after the last. */
    const char *value; /* default */
    const char *summary;
    double least, most;
} sooth_zoo_parameter;
SOOTH_API sooth_zoo_parameter sooth_zoo_parameter_at(size_t network, size_t index);

/* Writes the output of `sooth zoo`: all networks, or the parameters of the network `name` if it is not NULL. Formats:
 * table, JSON. The caller frees *text with free(). SOOTH_ERROR_USAGE: no such network. */
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

/* Opens the shipped GPUs and those in every *.txt of `directory` (NULL: none). A file replaces a shipped GPU of the
 * same name. The program `sooth` passes the directory in the environment variable SOOTH_GPUS. On failure *gpus is NULL;
 * SOOTH_ERROR_INPUT names file and line. */
SOOTH_API sooth_status sooth_gpus_open(const char *directory, sooth_gpus **gpus, sooth_error *error);
SOOTH_API void sooth_gpus_free(sooth_gpus *gpus); /* `gpus` may be NULL. */
SOOTH_API size_t sooth_gpus_count(const sooth_gpus *gpus);
SOOTH_API const sooth_gpu *sooth_gpus_at(const sooth_gpus *gpus, size_t index); /* NULL after the last. */

/* Finds a GPU by name or alias. Letter case, separators and vendor names are ignored ("NVIDIA GeForce RTX 3090" is
 * "rtx-3090"). A name with '/' or the ending ".txt" is the path of a GPU file. SOOTH_ERROR_USAGE suggests the nearest
 * name. */
SOOTH_API sooth_status sooth_gpus_find(sooth_gpus *gpus, const char *name, const sooth_gpu **gpu, sooth_error *error);

/* Returns the fields of a GPU file and their summaries; NULL after the last. Names include units. */
SOOTH_API const char *sooth_gpu_field(size_t index);
SOOTH_API const char *sooth_gpu_field_summary(size_t index);
/* Returns a text field ("name", "vendor", "architecture", "chip" …); NULL if it is absent or a number. */
SOOTH_API const char *sooth_gpu_text(const sooth_gpu *gpu, const char *field);
/* Returns a number field: 0 if the GPU lacks the feature, NAN if the value or the field is unknown. */
SOOTH_API double sooth_gpu_number(const sooth_gpu *gpu, const char *field);
/* Returns the origin of a field's value as stated in its file; "" if there is none. */
SOOTH_API const char *sooth_gpu_origin(const sooth_gpu *gpu, const char *field);
SOOTH_API const char *sooth_gpu_alias(const sooth_gpu *gpu, size_t index); /* NULL after the last. */
SOOTH_API const char *sooth_gpu_file(const sooth_gpu *gpu);                /* Path of its file. */

/* Peak FLOP/s in a precision ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"), without sparsity. The first
 * function counts the fastest unit (fp16 products accumulate in fp32), the second excludes tensor cores. 0: no such
 * unit; NAN: unknown. */
SOOTH_API double sooth_gpu_peak_flops(const sooth_gpu *gpu, const char *precision);
SOOTH_API double sooth_gpu_vector_flops(const sooth_gpu *gpu, const char *precision);
SOOTH_API const char *sooth_gpu_precision(size_t index); /* Returns the precisions; NULL after the last. */

/* A MIG slice has its own multiprocessors and memory and a share of the GPU's bandwidth and L2 cache. Programs see it
 * as a device. data/mig.txt lists the profiles; a mig.txt in the directory of sooth_gpus_open adds profiles. */
typedef struct sooth_mig_profile {
    const char *name;       /* Name in nvidia-smi: "2g.10gb"; "+me" adds media engines. */
    int id;                 /* Profile ID in nvidia-smi. */
    int compute_slices;     /* Compute slices; 2 for "2g". */
    int sms;                /* multiprocessors */
    double memory_gib;      /* Memory available to a program; less than the name states. */
    double bandwidth_share; /* Share of the GPU's memory bandwidth, 0 to 1. */
    double l2_share;        /* Share of the GPU's L2 cache. */
    int copy_engines;
    int most;             /* Largest number of instances per GPU. */
    int slots;            /* Memory slots per instance. */
    uint32_t start_slots; /* Bit i is set if an instance may start at slot i. */
    const char *origin;   /* Origin of the numbers. */
} sooth_mig_profile;
/* Returns the number of profiles, ordered from small to large; 0 if the GPU has no MIG. */
SOOTH_API size_t sooth_mig_count(const sooth_gpu *gpu);
SOOTH_API sooth_mig_profile sooth_mig_at(const sooth_gpu *gpu, size_t index); /* The name is "" after the last. */
SOOTH_API int sooth_mig_slots(const sooth_gpu *gpu);                          /* Memory slots of the whole GPU. */

/* Writes the output of `sooth gpus`: all GPUs, or one with the origin of every number if `gpu` is not NULL. Formats:
 * table, JSON, CSV. Uses the options format, colors and ascii. The caller frees *text with free(). */
SOOTH_API sooth_status sooth_gpus_report(const sooth_gpus *gpus, const sooth_gpu *gpu,
                                         const sooth_report_options *options, char **text, size_t *size,
                                         sooth_error *error);

/* ---- predictions -------------------------------------------------------------------------------------------- */

/* Weights of the predictor, learned from measurements. Several threads may share them. */
typedef struct sooth_predictor sooth_predictor;

/* Reads weights written by `sooth learn`. SOOTH_ERROR_INPUT: damaged or another version. SOOTH_ERROR_USAGE: `path` is
 * NULL. */
SOOTH_API sooth_status sooth_predictor_open(const char *path, sooth_predictor **predictor, sooth_error *error);
SOOTH_API void sooth_predictor_free(sooth_predictor *predictor); /* `predictor` may be NULL. */

/* GPU and settings of a prediction. Zero, NULL and "" select the default. */
typedef struct sooth_predict_options {
    const char *gpu;                  /* Name, alias or path of a GPU file; default "a100-sxm4-40gb". */
    const sooth_gpu *device;          /* Replaces `gpu`; read only during the call. */
    const sooth_predictor *predictor; /* Default: the shipped weights. */
    /* "fp32", "tf32", "fp16", "bf16", "amp-fp16" (also "amp"), "amp-bf16", "int8", "fp8", "int4". Default: the file's
     * own type if it states one (Hugging Face's configurations), else "amp-fp16". */
    const char *precision;
    const char *layout;  /* "nchw" (default) or "nhwc". Channels-last files always run as nhwc. */
    const char *runtime; /* "eager" (default), "inductor", "engine" */
    const char *mode;    /* "infer" (default), "train" (forward, backward, update) or "train-forward". */
    /* Used in training: "sgd-momentum" (default), "sgd", "sgd-nesterov", "adam", "adamw",
     * "adam-l2" (weight_decay added to the gradients), "none". */
    const char *optimizer;
    const char *stack;  /* Software version ("pt2.4-cu124"); default: unknown. */
    const char *source; /* Benchmark whose options apply ("timm", "nvidia-dle"); default: none. */
    const char *mig;    /* MIG profile ("2g.10gb", see sooth_mig_at); default: the whole GPU. */
    /* Host that launches the kernels: "reference" (default; the mean of the measured hosts), "measured" (that of the
     * GPU's measurements), or a name or file of a host (see sooth_hosts_find), whose launch_us scales
     * the reference's. */
    const char *host;
    /* Power limit, as set by nvidia-smi -pl; default: the board's. A lower limit slows kernels down. */
    double power_limit_w;
    double co2_g_per_kwh; /* CO2 per kWh of electricity, for co2_g; default: unknown. */
    int kv_cache_bits;    /* Engines: bits per element of the KV cache, 8 or 16; default: as the file states, or 16. */
    bool memory;          /* Also computes memory; see sooth_prediction_memory. */
    bool by_estimate;     /* For sooth_largest_batch: uses the estimate instead of the upper end of the interval. */
    /* Level of the intervals: 50, 80, 90 (default), 95 or 99. What fits is decided by the 90 % interval. */
    int interval_percent;
    bool cuda_graphs; /* A captured graph launches all kernels of a pass at once. */
} sooth_predict_options;

/* Returns the valid values of an option ("precision", "layout", "runtime", "mode", "optimizer"); NULL after the
 * last. */
SOOTH_API const char *sooth_predict_choice(const char *part, size_t index);

/* Predicts one pass or training step of the bound model. The caller owns the prediction, which outlives the model, the
 * next sooth_bind and the GPU. SOOTH_ERROR_USAGE: unknown name; the message suggests the nearest.
 * SOOTH_ERROR_UNSUPPORTED: the model or the options cannot be lowered to kernels. */
typedef struct sooth_prediction sooth_prediction;
SOOTH_API sooth_status sooth_predict(sooth_model *model, const sooth_predict_options *options,
                                     sooth_prediction **prediction, sooth_error *error);
SOOTH_API void sooth_prediction_free(sooth_prediction *prediction); /* `prediction` may be NULL. */

/* A value and its interval, of 90 % unless sooth_predict_options.interval_percent says otherwise. */
typedef struct sooth_interval {
    double value, low, high;
} sooth_interval;

/* Totals of a prediction. Shares are in percent; NAN if they need an unknown property of the GPU. */
typedef struct sooth_prediction_totals {
    const char *file, *format, *producer, *graph_name;                         /* See sooth_info. */
    const char *gpu, *precision, *layout, *runtime, *mode, *optimizer, *stack; /* `stack` is "" if unknown. */
    const char *mig;                                                           /* MIG profile; "" for the whole GPU. */
    int64_t batch;                                                             /* First dimension of the first input. */
    sooth_interval latency_ms;
    const char *interval_kind; /* What the interval rests on, in one phrase. */
    int interval_percent;      /* Level of the intervals. */
    double throughput_per_s;   /* samples */
    int64_t flops, bytes;      /* Sums over all kernels: bytes read and written. */
    double compute_share;      /* GPU utilization: achieved FLOP/s ÷ peak for the precision. */
    double dram_share;         /* Bytes per second moved to and from memory ÷ its bandwidth. */
    double occupancy;          /* Occupancy: resident threads ÷ maximum; time-weighted mean. */
    double wave_efficiency;    /* Thread blocks ÷ capacity of their waves; time-weighted mean. */
    double layer_share;        /* Achieved FLOP/s ÷ peak of the units that each kernel can use; time-weighted mean. */
    double device_ms, host_ms; /* Sums over kernels: run time on the device, launch time on the host. */
    /* Roofline times of compute-bound kernels and of memory-bound kernels, and the remaining wait for launches. */
    double ideal_compute_ms, ideal_memory_ms, ideal_launch_ms;
    double peak_flops;        /* Peak FLOP/s for the precision. */
    double bandwidth_bytes_s; /* Bandwidth of the memory. */
    double unknown_share;     /* Share of the latency in unknown operators, whose times are guesses. */
    sooth_interval energy_j;  /* Energy of the board for one pass or step, including idle time; excludes the host. */
    sooth_interval power_w;   /* Mean power over the latency. */
    const char *energy_interval_kind; /* Calibration set of both intervals. */
    double power_limit_w;             /* Power limit in force. */
    double energy_j_per_1000;         /* Energy per 1,000 samples. */
    double co2_g;                     /* CO2 of one pass or step; NAN if co2_g_per_kwh is not given. */
    /* Arithmetic of matrix products: "fp32", "tf32", "fp16", "bf16", "int8", "fp8". A note explains a deviation. */
    const char *arithmetic;
    const char *weights; /* Identity of the predictor's weights: 8 hexadecimal digits; "" without weights. */
    const char *host;    /* "reference", "measured", "CUDA graph", or the name of a host. */
} sooth_prediction_totals;
SOOTH_API sooth_prediction_totals sooth_prediction_totals_of(const sooth_prediction *prediction);

/* Losses in percent of the latency. They and compute_share sum to 100. NAN if the peak is unknown. `other` is negative
 * where Winograd convolutions multiply less than the counted FLOPs. doc/survey.md has the formulas. */
typedef struct sooth_losses {
    double launch;    /* The GPU waits for the host. */
    double memory;    /* Memory-bound kernels wait for DRAM. */
    double units;     /* Kernels run on units slower than those of the peak, such as CUDA cores. */
    double waves;     /* Thread blocks do not fill the last wave. */
    double alignment; /* Tiles of products are padded. */
    double other;     /* Remaining loss of compute-bound kernels. */
} sooth_losses;
SOOTH_API sooth_losses sooth_prediction_losses(const sooth_prediction *prediction);

/* Peak memory of a pass or training step, as shown by nvidia-smi: tensors, workspaces, cached memory of PyTorch's
 * allocator, and the driver's context. Simulates every allocation. All zero if memory was not requested. */
typedef struct sooth_memory {
    bool known;
    sooth_interval total_mib;
    /* Parts, which sum to total_mib.value. */
    double weights_mib, gradients_mib, optimizer_mib, inputs_mib, activations_mib, workspace_mib;
    double cache_mib;    /* Held by the allocator but unused at the peak. */
    double context_mib;  /* Driver, kernel code and library handles. */
    double capacity_mib; /* Memory of the GPU; NAN if unknown. */
    bool fits;           /* The estimate fits. The allocator frees its cache before it fails. */
    bool fits_upper;     /* The upper end of the interval also fits. */
    /* Reason other than memory why the run fails, such as a size beyond 32-bit indices; NULL if there is none. */
    const char *limit;
    size_t peak_kernel; /* Index of the kernel at the peak; SIZE_MAX if the peak precedes all kernels. */
} sooth_memory;
SOOTH_API sooth_memory sooth_prediction_memory(const sooth_prediction *prediction);

/* Layers in order, then rows for loss and optimizer. Latencies sum to the total. */
typedef struct sooth_predicted_layer {
    const char *name, *op; /* See sooth_layer. */
    /* Bound of most of its time: "compute", "memory" or "launch"; "none" if it launches nothing. */
    const char *bound;
    double latency_ms;    /* Time of its kernels and of the GPU's wait for their launches. */
    double ideal_ms;      /* roofline */
    double compute_share; /* See the totals. */
    int64_t flops, bytes;
    size_t kernel_count; /* Number of kernels. */
    double energy_j;     /* Sums to the total. */
    /* Its tensors alive at the memory peak, without weights and gradients; 0 if memory was not requested. */
    int64_t peak_bytes;
    double device_ms; /* Time in which its kernels run; the rest of latency_ms is waiting. */
    /* Its outputs that autograd keeps for the backward pass, and the largest workspace of its convolutions; 0 if memory
     * was not requested. */
    int64_t kept_bytes, workspace_bytes;
} sooth_predicted_layer;
SOOTH_API size_t sooth_predicted_layer_count(const sooth_prediction *prediction);
SOOTH_API sooth_predicted_layer sooth_predicted_layer_at(const sooth_prediction *prediction, size_t index);

/* Kernels in launch order. Views launch nothing; their host time counts for the next kernel. Latencies sum to the
 * total. */
typedef struct sooth_predicted_kernel {
    /* PyTorch's name ("convolution", "addmm", "_to_copy" …), or "triton_poi" and similar for fused operators. */
    const char *op;
    const char *name;  /* The same, followed by the fused operators. */
    size_t layer;      /* Index for sooth_predicted_layer_at. */
    const char *phase; /* "forward", "backward", "update" */
    /* Algorithm of a product or convolution ("implicit GEMM", "Winograd" …); NULL for other kernels. */
    const char *algorithm;
    const char *reason;        /* Reason why the library selects it. */
    const char *bound;         /* "compute", "memory", "launch" */
    bool is_hidden;            /* Launched by the preceding operator (bias of a convolution, copy to another layout). */
    bool op_known;             /* False if the operator has no rule; it then has its name from the file. */
    int64_t repeat;            /* Runs per pass; the figures include all runs. */
    double latency_ms;         /* Its run time and the GPU's wait for its launch. */
    double energy_j;           /* Sums to the total. */
    double device_us, host_us; /* Run time on the device, launch time on the host. */
    double compute_us, memory_us; /* roofline */
    int64_t flops, bytes;
    int64_t gemm[4];                   /* Batch, m, n, k of a product; 0 for other kernels. */
    double blocks, waves;              /* Thread blocks and waves; 0 if not computed. */
    double wave_efficiency, occupancy; /* In percent. */
    size_t input_count, output_count;
    /* Memory in tensors and in the allocator while it runs; 0 if memory was not requested. */
    int64_t allocated_bytes, reserved_bytes;
    bool is_again; /* Runs again in the backward pass (activation checkpointing). */
} sooth_predicted_kernel;
SOOTH_API size_t sooth_predicted_kernel_count(const sooth_prediction *prediction);
SOOTH_API sooth_predicted_kernel sooth_predicted_kernel_at(const sooth_prediction *prediction, size_t index);

/* Memory by part while a kernel runs, in MiB; the parts sum to its allocated_bytes. */
typedef struct sooth_memory_parts {
    double weights_mib, gradients_mib, optimizer_mib, inputs_mib, activations_mib, workspace_mib;
} sooth_memory_parts;
/* Fills one entry per kernel; zeros if memory was not requested. */
SOOTH_API void sooth_prediction_memory_parts(const sooth_prediction *prediction, sooth_memory_parts *parts);

typedef struct sooth_predicted_tensor {
    const char *dtype; /* "float16" … */
    int rank;
    const int64_t *dims;
    bool is_weight; /* Exists before the pass begins. */
} sooth_predicted_tensor;
SOOTH_API sooth_predicted_tensor sooth_predicted_input(const sooth_prediction *prediction, size_t kernel, size_t index);
SOOTH_API sooth_predicted_tensor sooth_predicted_output(const sooth_prediction *prediction, size_t kernel,
                                                        size_t index);

/* Returns the operators that a compiler fused into the kernel, by PyTorch's names; NULL after the last. */
SOOTH_API const char *sooth_predicted_fused(const sooth_prediction *prediction, size_t kernel, size_t index);

/* Finds the largest batch, at most `most` (0: 1,048,576), whose memory fits the GPU: the upper end of the interval,
 * or the estimate if by_estimate is set. Sets it to 0 if one sample does not fit. `dims` is as for sooth_bind
 * without its batch; NULL: the file's. On return the model is bound to the batch found, or to 1.
 * SOOTH_ERROR_UNSUPPORTED: the batch is fixed, or the GPU's memory is unknown. */
SOOTH_API sooth_status sooth_largest_batch(sooth_model *model, const sooth_options *dims,
                                           const sooth_predict_options *options, int64_t most, int64_t *batch,
                                           sooth_error *error);

/* A language model as a server runs it: `batch` sequences with `context` tokens each. */
typedef struct sooth_serving {
    char gpu[64], precision[16], runtime[16];
    char weights[16]; /* Identity of the predictor's weights. */
    int64_t batch, context;
    sooth_interval prefill_ms;         /* One pass over all prompts: the time to the first token. */
    sooth_interval decode_ms;          /* One step: the next token of every sequence. */
    sooth_interval energy_j_per_token; /* Energy of a decode step ÷ its tokens. */
    double tokens_per_s;               /* New tokens of all sequences. */
    double weights_mib, kv_cache_mib;  /* Parts of memory_mib. */
    sooth_interval memory_mib, prefill_memory_mib;
    double capacity_mib; /* NAN if unknown. */
    bool fits;           /* The upper end of memory_mib fits. Servers cut long prompts into chunks that fit too. */
    /* Largest number of sequences with this context that fit while decoding; 0 if none fits or memory is unknown. */
    int64_t largest_batch;
} sooth_serving;

/* Predicts a prefill of `context` tokens and a decode step after them. `dims` and `options` are as for sooth_bind and
 * sooth_predict; both may be NULL. On return the model is bound to some batch. SOOTH_ERROR_USAGE: the model has no
 * dimensions seq and past. */
SOOTH_API sooth_status sooth_serving_of(sooth_model *model, const sooth_options *dims,
                                        const sooth_predict_options *options, int64_t context, sooth_serving *serving,
                                        sooth_error *error);

/* Returns the operators without a rule and their numbers of kernels; NULL after the last. */
SOOTH_API const char *sooth_prediction_unknown(const sooth_prediction *prediction, size_t index, size_t *count);

/* Returns notes, one sentence each: changed arithmetic, substituted software version, open dimensions of the file,
 * unknown operators. NULL after the last. */
SOOTH_API const char *sooth_prediction_note(const sooth_prediction *prediction, size_t index);
/* Returns a note about the figures of single layers; NULL if there is none. */
SOOTH_API const char *sooth_prediction_layers_note(const sooth_prediction *prediction);

/* Writes the cells of `sooth predict --context` for the model called `file`. Formats: table, JSON, CSV. The caller
 * frees *text with free(). `options` may be NULL. */
SOOTH_API sooth_status sooth_serving_report(const char *file, const sooth_serving *cells, size_t count,
                                            const sooth_report_options *options, char **text, size_t *size,
                                            sooth_error *error);

/* Writes the output of `sooth predict`: one prediction in full; several predictions, or one with refusals, as a
 * comparison (an array in JSON). Formats: table, JSON, CSV, trace; for one prediction also HTML and memory SVG. The
 * caller frees *text with free(). `options` may be NULL. */
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
    sooth_model *model; /* Must be bound. Workloads may share a model only if their dimensions are equal. */
    /* Its dimensions, used to suggest a smaller batch if this one is too large; may be NULL. */
    const sooth_options *dims;
    sooth_predict_options options; /* `gpu`, `device` and `mig` are ignored. */
    double latency_ms;             /* Target for the upper end of the interval; 0: none. */
    size_t count;                  /* Number of instances, one slice each; 0 means 1. */
    const char *name;              /* Name in reports; NULL: the model's file. */
} sooth_mig_workload;

typedef struct sooth_mig_options {
    const char *gpu;         /* Name, alias or path of a GPU file; default "a100-sxm4-40gb". */
    const sooth_gpu *device; /* Replaces `gpu`. */
    size_t most_gpus;        /* Number of available GPUs; 0: unlimited. */
    /* Time limit of searches beyond eight GPUs; 0: 10 s. Up to eight GPUs the answer is optimal. */
    double time_limit_s;
    /* Called during such a search with the number of GPUs being tried and the number known to suffice. Returning false
     * stops the search. May be NULL. */
    bool (*progress)(void *context, size_t tried, size_t enough, double seconds);
    void *context;
} sooth_mig_options;

typedef struct sooth_mig_plan sooth_mig_plan;
/* Computes a plan. SOOTH_ANSWER_NO: no layout exists; the plan contains the reason and the nearest possible request.
 * The caller owns the plan, which outlives the models. On other failures it is NULL. On return models are bound to
 * their own dimensions. */
SOOTH_API sooth_status sooth_mig_plan_make(const sooth_mig_workload *workloads, size_t count,
                                           const sooth_mig_options *options, sooth_mig_plan **plan, sooth_error *error);
SOOTH_API void sooth_mig_plan_free(sooth_mig_plan *plan); /* `plan` may be NULL. */

typedef struct sooth_mig_plan_totals {
    const char *gpu;
    size_t workload_count;
    size_t gpu_count;    /* GPUs in the layout; 0 if there is no layout. */
    size_t least_gpus;   /* Proven lower bound; below gpu_count if the time limit was reached. */
    int slots;           /* Memory slots of a GPU. */
    bool is_possible;    /* Every workload has a slice, and the GPUs suffice. */
    const char *reason;  /* Reason why it is impossible; "" if it is possible. */
    const char *nearest; /* Nearest possible request; "" if there is none or this one is possible. */
    const char *weights; /* See sooth_prediction_totals. */
} sooth_mig_plan_totals;
SOOTH_API sooth_mig_plan_totals sooth_mig_plan_totals_of(const sooth_mig_plan *plan);

typedef struct sooth_mig_planned {
    const char *name, *precision, *layout, *runtime, *mode;
    int64_t batch;
    double latency_ms; /* Target; 0: none. */
    size_t count;
    const char *profile; /* Smallest profile that meets the target; "" if none does. */
    /* Profile by DIPPM's rule: the smallest whose nominal memory exceeds the need, at any latency. */
    const char *dippm_profile;
    size_t candidate_count; /* Profiles of the GPU, without variants that only add media engines. */
} sooth_mig_planned;
SOOTH_API sooth_mig_planned sooth_mig_planned_at(const sooth_mig_plan *plan, size_t workload);

typedef struct sooth_mig_candidate {
    const char *profile;
    sooth_interval latency_ms;
    sooth_interval memory_mib; /* NAN if unknown. */
    sooth_interval energy_j;   /* Energy of a pass, by the slice's share of the board's power; NAN if unknown. */
    double usable_mib;         /* Memory of the slice that a program can use. */
    bool fits;                 /* Fits by the upper end of memory_mib. */
    bool meets_target;         /* Meets the target by the upper end of latency_ms. */
    const char *reason;        /* Reason why the profile fails; "" if it does not. */
} sooth_mig_candidate;
SOOTH_API sooth_mig_candidate sooth_mig_candidate_at(const sooth_mig_plan *plan, size_t workload, size_t index);

/* Notes on a workload, as from sooth_prediction_note; NULL after the last. */
SOOTH_API const char *sooth_mig_note(const sooth_mig_plan *plan, size_t workload, size_t index);

/* Slices on a GPU of the layout, in slot order; `workload` is SIZE_MAX after the last. */
typedef struct sooth_mig_placed {
    size_t workload;
    const char *profile;
    int start, slots; /* In memory slots. */
} sooth_mig_placed;
SOOTH_API size_t sooth_mig_placed_count(const sooth_mig_plan *plan, size_t gpu);
SOOTH_API sooth_mig_placed sooth_mig_placed_at(const sooth_mig_plan *plan, size_t gpu, size_t index);

/* Writes the output of `sooth mig`. Formats: table, JSON, CSV (candidates), SVG (slots of the GPUs),
 * SOOTH_FORMAT_MIG_PARTED. The caller frees *text with free(). `options` may be NULL. SOOTH_ERROR_USAGE: SVG or
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
    const char *graph; /* Path of a model, or zoo:NAME. */
    const char *name;  /* Name in reports; NULL: the path's last part without its ending. */
    double accuracy;   /* Accuracy in reports; valid if has_accuracy is true. */
    bool has_accuracy;
} sooth_survey_network;

typedef struct sooth_survey_options {
    const sooth_survey_network *networks;
    size_t network_count;
    const sooth_gpu *const *gpus;
    size_t gpu_count;
    const int64_t *batches; /* Each at least 1. */
    size_t batch_count;
    /* Names as in sooth_predict_options; NULL: the one in `settings`. */
    const char *const *precisions, *const *layouts, *const *runtimes;
    size_t precision_count, layout_count, runtime_count;
    sooth_predict_options settings; /* Other settings; `gpu` and `device` are ignored. */
    size_t threads;                 /* Threads; 0: one per core. */
    /* File with the rows of finished networks, so that an interrupted survey can continue. NULL: none.
     * SOOTH_ERROR_USAGE: it belongs to another survey. The caller removes the file. */
    const char *journal;
    /* Called regularly with the number of finished networks. Returning false stops the survey with SOOTH_ANSWER_NO. May
     * be NULL. */
    bool (*progress)(void *context, size_t done, size_t count, double seconds);
    void *context;
} sooth_survey_options;

typedef struct sooth_survey_row {
    const char *name, *graph, *gpu, *precision, *layout, *runtime;
    int64_t batch;
    sooth_interval latency_ms, energy_j;
    sooth_interval memory_mib; /* NAN unless settings.memory is set. */
    double throughput_per_s;
    double device_ms, host_ms; /* See sooth_prediction_totals. */
    int64_t params, macs;      /* Of the whole batch. */
    int64_t flops;
    double utilization, dram_utilization, occupancy; /* In percent. */
    sooth_losses lost;                               /* Sum to 100 with the utilization. */
    double accuracy;                                 /* NAN if unknown. */
    const char *error;                               /* Reason for a missing prediction; "" if there is one. */
} sooth_survey_row;

typedef struct sooth_survey sooth_survey;
/* Runs a survey. A network that cannot be predicted has rows with an error and does not stop the others. System
 * failures stop the survey: SOOTH_ERROR_SYSTEM. The caller owns the survey; on failure it is NULL. */
SOOTH_API sooth_status sooth_survey_make(const sooth_survey_options *options, sooth_survey **survey,
                                         sooth_error *error);
SOOTH_API void sooth_survey_free(sooth_survey *survey); /* `survey` may be NULL. */
/* Rows by network, then batch, precision, layout, runtime and GPU, in the order of the options. */
SOOTH_API size_t sooth_survey_row_count(const sooth_survey *survey);
SOOTH_API sooth_survey_row sooth_survey_row_at(const sooth_survey *survey, size_t index);
/* Properties common to all rows: the mode ("infer", "train" …), and the weights as in sooth_prediction_totals. */
SOOTH_API const char *sooth_survey_mode(const sooth_survey *survey);
SOOTH_API const char *sooth_survey_weights(const sooth_survey *survey);

/* Writes the output of `sooth survey`. Formats: table, JSON, CSV, HTML. The caller frees *text with free(). `options`
 * may be NULL. */
SOOTH_API sooth_status sooth_survey_report(const sooth_survey *survey, const sooth_report_options *options, char **text,
                                           size_t *size, sooth_error *error);

/* ---- architecture search -------------------------------------------------------------------------------------- */

/* Searches a space of architectures: predicts candidates on one GPU, keeps those within the limits, and finds the most
 * accurate ones with few evaluations. The result is deterministic for a seed. */

typedef enum sooth_nas_method {
    SOOTH_NAS_ALL,       /* Predicts and evaluates every candidate; for spaces of at most two million. */
    SOOTH_NAS_RANDOM,    /* Random candidates without repetition. */
    SOOTH_NAS_EVOLUTION, /* Regularised evolution: removes the oldest member. */
    SOOTH_NAS_LOCAL,     /* Hill climbing over all changes of one choice, with restarts. */
} sooth_nas_method;

/* Columns that the caller's table may provide for an architecture. */
typedef enum sooth_nas_column {
    SOOTH_NAS_ACCURACY,   /* Higher is better. */
    SOOTH_NAS_LATENCY_MS, /* Measured latency, used instead of the predicted one. */
    SOOTH_NAS_METRIC,     /* Metric for pruning; higher is better. */
} sooth_nas_column;

typedef struct sooth_nas_options {
    const char *space;       /* Name (sooth_nas_space_name), or path of a space file (format: doc/nas.md). */
    const sooth_gpu *device; /* NULL: settings.gpu. */
    int64_t batch;           /* 0 means 1. */
    sooth_predict_options settings;
    double latency_ms, memory_mib, energy_j; /* Limits on the predictions; 0: none. */
    sooth_nas_method method;
    /* Keeps only this share of the candidates within the limits, ranked by a metric: "utilization", "macs", "params",
     * "latency" (largest first), "energy" (smallest first), or "table" for SOOTH_NAS_METRIC. 0: all. */
    const char *prune_by;
    double prune_share;
    size_t trials; /* Number of evaluations; 0: 100 (SOOTH_NAS_ALL: all candidates). */
    uint64_t seed;
    /* Looks up a value of an architecture. Several threads call it at once. Returns false if there is no value. May be
     * NULL. */
    bool (*lookup)(void *context, sooth_nas_column column, const char *architecture, double *value);
    bool has_column[3]; /* Indexed by sooth_nas_column: true if `lookup` provides the column. */
    /* Evaluates architectures that `lookup` does not have; fills `values` (NAN: failed). Returns false to stop. May be
     * NULL. One thread at a time calls it, with up to `jobs` architectures. */
    bool (*evaluate)(void *context, const char *const *architectures, size_t count, double *values);
    size_t jobs; /* 0 means 1. */
    /* Repeats the search with seeds from `seed` on, for statistics; 0: one search. Needs a lookup of accuracy. */
    size_t repeats;
    /* With repeats: counts the evaluations until a result is this close to the best candidate within the limits. */
    double within[4];
    size_t within_count;
    size_t threads; /* Threads; 0: one per core. */
    /* Returning false stops the search; may be NULL. */
    bool (*progress)(void *context, size_t done, size_t count, double seconds);
    void *context;
    /* An earlier search of the same space, GPU, batch and settings, without measured latencies. Its predictions are
     * reused. NULL: none. */
    const struct sooth_nas *like;
} sooth_nas_options;

typedef struct sooth_nas_candidate {
    sooth_interval latency_ms;
    double utilization, dram_utilization; /* In percent. */
    int64_t macs, params;
    double memory_mib, energy_j; /* Memory is NAN unless it has a limit or the candidate is in the answer. */
    double accuracy;             /* NAN if not evaluated or unknown. */
    bool is_feasible;            /* Within the limits. */
    bool is_kept;                /* Within the limits and not pruned. */
    const char *error;           /* Reason for a missing prediction; "" if there is one. */
} sooth_nas_candidate;

typedef struct sooth_nas_totals {
    const char *space, *gpu, *precision, *layout, *runtime, *mode, *weights, *method;
    int64_t batch;
    double candidates; /* Size of the space; may exceed any integer type. */
    size_t predicted, failed, feasible, kept, evaluated;
    /* Utilization over the feasible candidates, in percent. */
    double utilization_p10, utilization_median, utilization_p90, utilization_max;
    /* Spearman's rank correlations over the predicted feasible candidates; NAN if unknown. */
    double utilization_with_latency, utilization_with_accuracy, macs_with_accuracy;
    double best_accuracy; /* Best of all feasible candidates that `lookup` has; NAN if unknown. */
} sooth_nas_totals;

/* Statistics of repeated searches. */
typedef struct sooth_nas_repeat {
    double within; /* In points of accuracy. */
    /* Mean number of evaluations and its 95 % confidence interval. A failed search counts all its trials. */
    double mean, low, high;
    double median;
    size_t reached, repeats; /* Number of searches that came this close. */
} sooth_nas_repeat;

/* Mean utilization and accuracy of the feasible candidates with this value of a choice. */
typedef struct sooth_nas_effect {
    const char *choice, *value; /* `choice` is NULL after the last. */
    size_t count;
    double utilization, latency_ms, accuracy;
} sooth_nas_effect;

typedef struct sooth_nas sooth_nas;
/* Runs a search. SOOTH_ANSWER_NO: no candidate is within the limits; the search still has its totals. On other failures
 * it is NULL. */
SOOTH_API sooth_status sooth_nas_search(const sooth_nas_options *options, sooth_nas **nas, sooth_error *error);
SOOTH_API void sooth_nas_free(sooth_nas *nas); /* `search` may be NULL. */
SOOTH_API sooth_nas_totals sooth_nas_totals_of(const sooth_nas *nas);
/* All predicted candidates. */
SOOTH_API size_t sooth_nas_candidate_count(const sooth_nas *nas);
SOOTH_API sooth_nas_candidate sooth_nas_candidate_at(const sooth_nas *nas, size_t index);
/* Writes the candidate's name in tables and the name of its model to buffers of at least SOOTH_NAS_NAME_ROOM bytes.
 * Either may be NULL. */
enum { SOOTH_NAS_NAME_ROOM = 2048 };
SOOTH_API sooth_status sooth_nas_name(const sooth_nas *nas, size_t index, char *architecture, char *graph, size_t room);
/* Return indices of candidates, SIZE_MAX after the last. sooth_nas_best() ranks by accuracy, or by utilization
 * without accuracies. sooth_nas_pareto() lists the front of latency and accuracy, or of latency and MACs without
 * accuracies, fastest first. */
SOOTH_API size_t sooth_nas_best(const sooth_nas *nas, size_t rank);
SOOTH_API size_t sooth_nas_pareto(const sooth_nas *nas, size_t index);
/* Returns the candidate evaluated as number `trial` of the search; SIZE_MAX after the last. */
SOOTH_API size_t sooth_nas_trial(const sooth_nas *nas, size_t trial);
SOOTH_API sooth_nas_repeat sooth_nas_repeat_at(const sooth_nas *nas, size_t index); /* `repeats` is 0 after the last. */
SOOTH_API sooth_nas_effect sooth_nas_effect_at(const sooth_nas *nas, size_t index);

/* Shipped spaces; NULL after the last. */
SOOTH_API const char *sooth_nas_space_name(size_t index);
SOOTH_API const char *sooth_nas_space_summary(size_t index);

/* Writes the output of `sooth nas`. Formats: table, JSON, CSV (all predicted candidates), HTML. `top` is the number of
 * best candidates to list (0: 10). The caller frees *text with free(). `options` may be NULL. */
SOOTH_API sooth_status sooth_nas_report(const sooth_nas *nas, const sooth_report_options *options, char **text,
                                        size_t *size, sooth_error *error);

/* ---- which GPU, batch, slice and setting ------------------------------------------------------------------------- */

/* Finds the largest batch and the best setting that meet a target, for each GPU and each of its MIG slices. Ranks them
 * by cost if prices are given, else by throughput. Intervals count by their worse end. */
typedef struct sooth_choose_options {
    const sooth_options *dims; /* Dimensions other than the batch; NULL: the file's. */
    const sooth_gpu *const *gpus;
    size_t gpu_count;
    const double *prices_usd_h; /* Indexed by GPU; NAN or 0 if unknown. NULL: no prices. */
    /* Names as in sooth_predict_options; NULL: the one in `settings`. */
    const char *const *precisions, *const *layouts, *const *runtimes;
    size_t precision_count, layout_count, runtime_count;
    sooth_predict_options settings; /* Other settings. */
    double latency_ms;              /* Target for the upper end of the latency; 0: none. */
    double throughput_per_s;        /* Target for the throughput at the upper end of the latency; 0: none. */
    int64_t most_batch;             /* 0 means 65536. */
    bool with_slices;               /* Also considers MIG slices. */
    int64_t epoch_samples;          /* Samples of an epoch, for its time and cost; bounds the batch. 0: none. */
} sooth_choose_options;

typedef struct sooth_choice {
    const char *gpu, *mig; /* `mig` is "" for the whole GPU. */
    const char *precision, *layout, *runtime;
    int64_t batch; /* Largest batch that meets the target, or 1 if none does. */
    sooth_interval latency_ms, memory_mib, energy_j;
    double capacity_mib;
    double throughput_per_s, throughput_per_s_low; /* `low` is at the upper end of the latency. */
    double utilization;                            /* In percent. */
    double usd_h;                                  /* Price of the GPU, or the slice's share of it; NAN if unknown. */
    double usd_per_million;                        /* Cost of a million samples; NAN if unknown. */
    double epoch_h, usd_per_epoch;                 /* NAN if unknown, or without epoch_samples. */
    bool meets;
    const char *reason; /* Reason why it fails; "" if it does not. */
    double miss;        /* Distance from the target as a factor; 1 if it meets the target. */
} sooth_choice;

typedef struct sooth_choices sooth_choices;
/* SOOTH_ANSWER_NO: nothing meets the target; the choices then start with the nearest. On other failures *choices is
 * NULL. On return the model is bound to a batch of the search. */
SOOTH_API sooth_status sooth_choose(sooth_model *model, const sooth_choose_options *options, sooth_choices **choices,
                                    sooth_error *error);
SOOTH_API void sooth_choices_free(sooth_choices *choices); /* `choices` may be NULL. */
/* Choices by rank, one per GPU and slice; those that meet the target come first. */
SOOTH_API size_t sooth_choice_count(const sooth_choices *choices);
SOOTH_API sooth_choice sooth_choice_at(const sooth_choices *choices, size_t rank);

typedef struct sooth_choose_totals {
    const char *file, *mode, *weights;   /* See sooth_prediction_totals. */
    double latency_ms, throughput_per_s; /* Targets; 0: none. */
    int64_t epoch_samples;               /* 0: none. */
    bool has_prices;
} sooth_choose_totals;
SOOTH_API sooth_choose_totals sooth_choose_totals_of(const sooth_choices *choices);

/* Writes the output of `sooth choose`. Formats: table, JSON, CSV. The caller frees *text with free(). `options` may be
 * NULL. */
SOOTH_API sooth_status sooth_choose_report(const sooth_choices *choices, const sooth_report_options *options,
                                           char **text, size_t *size, sooth_error *error);

/* ---- hosts ------------------------------------------------------------------------------------------------------- */

/* The computer around a GPU: cores that decode samples, storage, the link to the device. A host is a text file like a
 * GPU; those of data/hosts are embedded in the library. A list may be used by one thread at a time; hosts and their
 * strings belong to it. */
typedef struct sooth_hosts sooth_hosts;
typedef struct sooth_host sooth_host;
SOOTH_API sooth_status sooth_hosts_open(sooth_hosts **hosts, sooth_error *error); /* *hosts is NULL on failure */
SOOTH_API void sooth_hosts_free(sooth_hosts *hosts);                              /* `hosts` may be NULL. */
SOOTH_API size_t sooth_hosts_count(const sooth_hosts *hosts);
SOOTH_API const sooth_host *sooth_hosts_at(const sooth_hosts *hosts, size_t index); /* NULL after the last. */
/* Finds a host by name or alias, or reads a host file: a path with '/' or the ending ".txt". */
SOOTH_API sooth_status sooth_hosts_find(sooth_hosts *hosts, const char *name, const sooth_host **host,
                                        sooth_error *error);
/* Return a field of a host file and its summary; NULL after the last. Names include units. */
SOOTH_API const char *sooth_host_field(size_t index);
SOOTH_API const char *sooth_host_field_summary(size_t index);
/* NULL if it is absent or a number. */
SOOTH_API const char *sooth_host_text(const sooth_host *host, const char *field);
SOOTH_API double sooth_host_number(const sooth_host *host, const char *field);      /* NAN if unknown. */
SOOTH_API const char *sooth_host_origin(const sooth_host *host, const char *field); /* "" if there is none. */

/* ---- the training phase ------------------------------------------------------------------------------------------ */

/* Predicts a training step along the flow of the data: read, decode, copy, forward, backward, update. Gives the time
 * without overlap, and with a data loader that prefetches. */
typedef struct sooth_train_options {
    const sooth_options *dims; /* Dimensions of the model, including the batch; NULL: those of the file. */
    const sooth_host *host;    /* NULL: "epyc-9b14". */
    /* The data set: "imagenet" (JPEG), "cifar" (raw), "none" (samples are on the device),
     * "jpeg:width=W,height=H,bytes=N" or "raw:bytes=N". NULL: imagenet if the inputs are images of three channels
     * and at least 64 pixels, otherwise raw samples as large as the inputs. */
    const char *data;
    int workers;             /* Worker processes of the data loader; 0: as many as cores, at most 8. */
    bool pinned, no_overlap; /* Pinned memory: copies overlap with kernels. */
    int accumulate;          /* Batches per update (gradient accumulation); 0 means 1. */
    /* Activation checkpointing: the backward pass computes segments of the network again; the forward pass keeps only
     * their inputs. */
    bool checkpoint;
    /* Checkpoints these modules instead: patterns ('*', '?') of their paths, separated by commas, such as
     * "*.mlp,*layernorm". NULL: none. */
    const char *checkpoint_modules;
    const char *library;            /* Library of convolutions: "cudnn" or "cublas" (im2col and GEMM); NULL: cudnn. */
    sooth_predict_options settings; /* Ignores `mode`. The stack may be a version of cuDNN: "cudnn-r2" to "cudnn-6". */
} sooth_train_options;

enum { SOOTH_TRAIN_STAGES = 6 };
typedef struct sooth_train_stage {
    const char *stage;         /* "read", "decode", "copy", "forward", "backward", "update" */
    sooth_interval latency_ms; /* Without overlap, with one core decoding; sums to step_ms_sum. */
    const char *resource;      /* "storage", "host cores", "link", "GPU" */
    double resource_share;     /* Share of the resource that is busy during the step, in percent. */
} sooth_train_stage;

/* A convolution by one library, without the other kernels of its layer. */
typedef struct sooth_train_library {
    double forward_ms, backward_ms; /* NAN if the layer is no convolution or the library is not compared. */
    double efficiency;              /* FLOP/s ÷ peak, in percent. */
    const char *algorithm;          /* Algorithm of the forward pass; "" if there is none. */
    int64_t workspace_bytes;        /* -1 if unknown. */
} sooth_train_library;

typedef struct sooth_train_layer {
    const char *name, *op;
    const char *kind;                          /* As in sooth_layer; "" for the loss. */
    double forward_ms, backward_ms, update_ms; /* Summed over the layers, they give the times of the stages. */
    /* The weight gradients, and the rest of the backward pass. */
    double backward_data_ms, backward_weights_ms;
    const char *library;                     /* "cudnn", "cublas", "aten", "none" */
    const char *algorithm;                   /* "" if there is no choice. */
    double efficiency;                       /* FLOP/s of forward and backward ÷ peak of the units used, in percent. */
    double occupancy, sm_coverage, dram, l2; /* Time-weighted means, in percent; NAN if unknown. */
    const char *bound;                       /* "compute", "memory", "launch", "none" */
    int64_t flops;
    int64_t weight_bytes, gradient_bytes, optimizer_bytes;
    int64_t feature_map_bytes;      /* Feature maps kept for the backward pass. */
    int64_t feature_map_peak_bytes; /* Feature maps alive at the memory peak. */
    int64_t workspace_bytes;        /* Workspace of the library; -1 if unknown. */
    sooth_train_library cudnn, cublas;
} sooth_train_layer;

/* Memory during a part of the step. The GPU's context comes on top of it. */
typedef struct sooth_train_moment {
    const char *phase; /* "forward", "backward", "update" */
    double begin_ms, end_ms;
    double weights_mib, gradients_mib, optimizer_mib, inputs_mib, activations_mib, workspace_mib, cache_mib;
} sooth_train_moment;

typedef struct sooth_train_finding {
    const char *name; /* "cudnn_over_cublas", "convolution_over_linear", "memory_share" */
    double value;     /* NAN if the network has no such layers. */
    double study;     /* Value found by the study. */
    bool holds;
    const char *why;
} sooth_train_finding;

/* Effect of changing one option. */
typedef struct sooth_train_change {
    const char *name; /* NULL after the last. */
    double step_ms, gpu_waits_percent;
    int64_t samples;
} sooth_train_change;

typedef struct sooth_train_totals {
    const char *file, *gpu, *host, *cpu, *data, *precision, *optimizer, *runtime, *weights;
    const char *origin;     /* "predicted", "measured" */
    int64_t batch, samples; /* Samples of a step: batch times accumulated batches. */
    int workers;
    bool pinned, overlaps;
    double step_ms_sum, step_ms_overlapped; /* Without overlap; with prefetching, in the steady state. */
    double loader_ms;                       /* Time in which all workers together load the samples of a step. */
    const char *limited_by;                 /* Name of a stage, or "loader" if the hand-over of samples is the limit. */
    double gpu_waits_percent;
    int workers_needed; /* Fewest workers at which the GPU never waits; -1 if there is no such number. */
    double throughput_per_s;
    sooth_memory memory;
    const char *library; /* "cudnn", "cublas" */
    const char *cudnn;   /* Version of cuDNN if the stack names one; otherwise "". */
} sooth_train_totals;

typedef struct sooth_train sooth_train;
/* Predicts a training step. On return the model is bound to the dimensions of the options. On failure *train is
 * NULL. */
SOOTH_API sooth_status sooth_train_phase(sooth_model *model, const sooth_train_options *options, sooth_train **train,
                                         sooth_error *error);
SOOTH_API void sooth_train_free(sooth_train *train); /* `train` may be NULL. */
SOOTH_API sooth_train_totals sooth_train_totals_of(const sooth_train *train);
SOOTH_API sooth_train_stage sooth_train_stage_at(const sooth_train *train, size_t index);
SOOTH_API size_t sooth_train_layer_count(const sooth_train *train);
SOOTH_API sooth_train_layer sooth_train_layer_at(const sooth_train *train, size_t index);
SOOTH_API size_t sooth_train_moment_count(const sooth_train *train); /* 0 if memory is not known. */
SOOTH_API sooth_train_moment sooth_train_moment_at(const sooth_train *train, size_t index);
/* `name` is NULL after the last. */
SOOTH_API sooth_train_finding sooth_train_finding_at(const sooth_train *train, size_t index);
SOOTH_API sooth_train_change sooth_train_change_at(const sooth_train *train, size_t index);
SOOTH_API const char *sooth_train_note(const sooth_train *train, size_t index); /* NULL after the last */

/* Writes the output of `sooth train-phase`. Formats: table, JSON, CSV (layers), trace, HTML. The caller frees *text
 * with free(). */
SOOTH_API sooth_status sooth_train_report(const sooth_train *train, const sooth_report_options *options, char **text,
                                          size_t *size, sooth_error *error);

#ifdef __cplusplus
}
#endif
#endif
