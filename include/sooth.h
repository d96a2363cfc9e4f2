/* sooth.h: the public interface of libsooth.
 *
 * Sooth reads a neural network's file and tells what it consists of and what it will cost, without running it.
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
 *                 printf("%.3f ms, with 90 %% certainty between %.3f and %.3f\n", totals.latency_ms.value,
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
 *   - Everything a model hands out (strings, arrays) belongs to the model and lives until sooth_free; what depends
 *     on dimensions (layers, values, totals) only until the next sooth_bind.
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
#define SOOTH_VERSION "0.1.0"

#define SOOTH_API __attribute__((visibility("default")))

/* The numbers are the exit codes of the program `sooth` too. */
typedef enum sooth_status {
    SOOTH_OK = 0,
    SOOTH_ANSWER_NO = 1,         /* the answer to the question is no (does not fit, target missed) */
    SOOTH_ERROR_USAGE = 2,       /* the caller asked for something that cannot be */
    SOOTH_ERROR_INPUT = 3,       /* the file is damaged, truncated or not a model */
    SOOTH_ERROR_UNSUPPORTED = 4, /* a sound file with something in it that Sooth does not know */
    SOOTH_ERROR_SYSTEM = 5,      /* no memory, unreadable file … */
} sooth_status;

/* What went wrong: what, where (byte or node), what to do. One line without the program's name. */
typedef struct sooth_error {
    sooth_status code;
    char message[768];
} sooth_error;

typedef struct sooth_model sooth_model;

/* A number that is not known. */
#define SOOTH_UNKNOWN INT64_MIN

/* ---- loading ------------------------------------------------------------------------------------------------ */

/* Reads the structure of the model at `path`; weights are never read. The format is told by the file's bytes; gzip
 * is looked through. "zoo:NAME" builds a network that ships with the library; search spaces and language models take
 * parameters: "zoo:NAME/VALUE?KEY=VALUE&KEY=VALUE", see sooth(1). On failure *model is NULL and *error is filled (error
 * may be NULL).
 *
 * A file is mapped, not read, and stays mapped until sooth_free: whoever makes it shorter meanwhile takes pages away, and the process that
 * touches one of them gets SIGBUS. The library leaves the process's signals alone (the program `sooth` says so and ends with exit code 3).
 * For files that others may be writing, read the bytes and give them to sooth_load_memory. */
SOOTH_API sooth_status sooth_load_file(const char *path, sooth_model **model, sooth_error *error);

/* The same from memory that the caller keeps unchanged until sooth_free. `name` stands for the file in messages. */
SOOTH_API sooth_status sooth_load_memory(const void *bytes, size_t size, const char *name, sooth_model **model,
                                         sooth_error *error);

SOOTH_API void sooth_free(sooth_model *model); /* NULL is allowed */

/* The version of the library that is linked, e.g. "0.1.0". */
SOOTH_API const char *sooth_version(void);

/* ---- binding dimensions ------------------------------------------------------------------------------------- */

typedef struct sooth_dim_binding {
    const char *name; /* of a symbolic dimension in the file */
    int64_t value;
} sooth_dim_binding;

enum {
    SOOTH_AS_IN_FILE = -1
}; /* a dimension of a shape that stays what the file says, or what a batch or a name binds it to */

typedef struct sooth_shape_binding {
    const char *input;   /* name of a graph input */
    const int64_t *dims; /* binds the names that the file has for them as well */
    size_t rank;
} sooth_shape_binding;

/* All zero means: as the file says, all recovery passes on. */
typedef struct sooth_options {
    int64_t
        batch; /* 0 = as in the file and the shapes. Binds the symbolic first dimension of the inputs, or replaces a number there */
    const sooth_dim_binding *dims;
    size_t dim_count;
    const sooth_shape_binding *shapes;
    size_t shape_count;
    const char *skip_passes;  /* comma-separated names of sooth_pass_name(), or "all"; NULL = none */
    const char *extra_passes; /* the same for the optional passes that are to run; NULL = none */
} sooth_options;

/* Resolves every shape under the given dimensions and recovers what exporters take apart. Must be called before
 * anything below; may be called again with other dimensions. options may be NULL. SOOTH_ERROR_USAGE names the
 * binding that fits nothing in the model. */
SOOTH_API sooth_status sooth_bind(sooth_model *model, const sooth_options *options, sooth_error *error);

/* Names of the recovery passes in the order they run; NULL after the last. */
SOOTH_API const char *sooth_pass_name(size_t index);
SOOTH_API const char *sooth_pass_summary(size_t index);
/* Does it run only if extra_passes asks for it? */
SOOTH_API bool sooth_pass_is_optional(size_t index);

/* ---- the graph ---------------------------------------------------------------------------------------------- */

typedef struct sooth_info {
    const char *file;
    const char *format;   /* "onnx", "zoo" … */
    const char *producer; /* the exporter and its version as the file says, may be "" */
    const char *graph_name;
} sooth_info;

typedef struct sooth_totals {
    int64_t params; /* trainable parameters; statistics of batch norm and constant tables do not count */
    int64_t macs;   /* sums over the layers that are known; see unknown_layers */
    int64_t flops;
    int64_t weight_bytes;     /* all stored constants that layers read */
    int64_t activation_bytes; /* sum of the outputs that layers write (views write nothing) */
    int64_t nodes;            /* layers */
    int64_t unknown_layers;   /* layers whose cost is not known (unbound dimension, data-dependent, unknown operator) */
    /* Where layers depend on unbound dimensions: the sums with those layers, as expressions ("4089184256*N"); else NULL. */
    const char *macs_text, *flops_text, *activation_bytes_text;
} sooth_totals;

typedef struct sooth_layer {
    const char *name; /* as in the file, or made from its first output where the file has none */
    const char *op;   /* canonical operator, e.g. "Conv", "Linear", "Attention" */
    const char *kind; /* what sort of work it is: "conv", "matmul", "attention", "recurrent", "norm", "pool", "reduce",
                         "pointwise", "move", "view", "sort", "control", "other" (unknown operators too) */
    bool op_known;
    size_t input_count, output_count; /* see sooth_layer_input, sooth_layer_output */
    int64_t repeat;                   /* how often it runs (body of a loop), counted in the figures below */
    int64_t params, macs, flops, weight_bytes, activation_bytes; /* or SOOTH_UNKNOWN */
    size_t fused_count;                                          /* nodes of the file that this layer stands for */
} sooth_layer;

typedef struct sooth_value {
    const char *name;
    const char *dtype;   /* "float32", "int64" …, "" if unknown */
    int rank;            /* -1 if unknown; for a sequence or map that of its elements */
    const int64_t *dims; /* `rank` numbers; one that is not >= 0 is not known: sooth_dim_text tells its symbol */
    bool is_constant;    /* initializer or constant */
    bool is_tensor;      /* false: sequence, optional, map */
} sooth_value;

SOOTH_API sooth_info sooth_info_of(const sooth_model *model);
SOOTH_API sooth_totals sooth_totals_of(const sooth_model *model);
SOOTH_API size_t sooth_layer_count(const sooth_model *model);
SOOTH_API sooth_layer sooth_layer_at(const sooth_model *model, size_t index);
/* Index of a value, or SIZE_MAX for an optional input that is absent. */
SOOTH_API size_t sooth_layer_input(const sooth_model *model, size_t layer, size_t index);
SOOTH_API size_t sooth_layer_output(const sooth_model *model, size_t layer, size_t index);
/* Every tensor of the file, before any fusing. */
SOOTH_API size_t sooth_value_count(const sooth_model *model);
SOOTH_API sooth_value sooth_value_at(const sooth_model *model, size_t index);
SOOTH_API size_t sooth_input_count(const sooth_model *model);
SOOTH_API size_t sooth_input(const sooth_model *model, size_t index); /* index of a value */
SOOTH_API size_t sooth_output_count(const sooth_model *model);
SOOTH_API size_t sooth_output(const sooth_model *model, size_t index);
/* The symbol or expression of a dimension that is not a number ("N", "floor((height-1)/2)+1"), NULL if it has none. */
SOOTH_API const char *sooth_dim_text(const sooth_model *model, int64_t dim);

/* What stayed unknown and what looked wrong, one sentence each ("dimension N is not bound: use --batch or …"). */
SOOTH_API size_t sooth_note_count(const sooth_model *model);
SOOTH_API const char *sooth_note_at(const sooth_model *model, size_t index);

/* ---- reports ------------------------------------------------------------------------------------------------ */

typedef enum sooth_format {
    SOOTH_FORMAT_TABLE, /* for people: UTF-8 text in columns */
    SOOTH_FORMAT_JSON,  /* doc/design.md fixes the fields: some may be added, none renamed */
    SOOTH_FORMAT_CSV,   /* one row for each layer (RFC 4180 with plain newlines); an empty field is not known */
    SOOTH_FORMAT_DOT,   /* the graph for Graphviz */
    SOOTH_FORMAT_SVG,   /* the graph as a picture */
    SOOTH_FORMAT_TRACE, /* predictions alone: a timeline, Chrome's trace format, for Perfetto and chrome://tracing */
    SOOTH_FORMAT_HTML,  /* predictions alone: one page that needs nothing else */
    SOOTH_FORMAT_MEMORY_SVG, /* predictions with memory alone: memory over time as a picture */
    SOOTH_FORMAT_MIG_PARTED, /* layouts of slices alone: a configuration (YAML) for NVIDIA's mig-parted */
} sooth_format;

/* What was asked for beside other predictions and has none, as on a GPU without the units: a row that says why. */
typedef struct sooth_refusal {
    const char *gpu, *mig; /* mig is "" for the whole GPU */
    int64_t batch;         /* 0: none was settled on */
    const char *reason;
    size_t before; /* index of the prediction that it stands before; their count: it comes last */
} sooth_refusal;

/* All zero means: the table, every layer, no colours. */
typedef struct sooth_report_options {
    sooth_format format;
    bool values;    /* every tensor too; as CSV: the tensors instead of the layers. Not for pictures */
    size_t top;     /* only so many layers, those with most MACs, and one row for the rest; 0 = all. Not for pictures */
    size_t depth;   /* one row for the layers that share so many leading parts of their names, split at '/' and '.';
                       0 = every layer by itself. Not for pictures */
    size_t columns; /* of the terminal, for the table; 0 = as wide as the names are */
    bool colors;    /* escape sequences in the table */
    bool ascii;     /* no other characters in the table than those of ASCII, but for names */
    bool layers;    /* of a prediction: every layer in the table, not only the costliest; CSV of layers */
    bool kernels;   /* of a prediction: the kernels in launch order too; CSV of kernels */
    bool memory;    /* of a prediction: memory over time too, in table and JSON */
    const sooth_refusal *refusals; /* of a comparison, in its order; table, JSON and CSV of totals have them */
    size_t refusal_count;
    bool totals; /* of a prediction as JSON: without its layers and those at the peak of memory */
} sooth_report_options;

/* What `sooth inspect` prints. *text is NUL-terminated, *size bytes long without the NUL (size may be NULL), and the
 * caller's: give it back with free(). The rows always sum to the totals. options may be NULL. The model must be bound. */
SOOTH_API sooth_status sooth_report(const sooth_model *model, const sooth_report_options *options, char **text,
                                    size_t *size, sooth_error *error);

/* The source graph as an ONNX file without weights: larger constants keep their type and dimensions, and are inputs that are documented as
 * weights, so that the file is whole for other programs. Reading it gives the same
 * layers and totals, but for transposes where channels come last in the source. *bytes is the caller's: free(). */
SOOTH_API sooth_status sooth_write_onnx(const sooth_model *model, void **bytes, size_t *size, sooth_error *error);

/* The networks that "zoo:NAME" builds, and what each is in one line; NULL after the last. */
SOOTH_API const char *sooth_zoo_name(size_t index);
SOOTH_API const char *sooth_zoo_summary(size_t index);

/* ---- GPUs --------------------------------------------------------------------------------------------------- */

/* A GPU is a text file of some forty numbers (`key = value  # origin`; CONTRIBUTING.md says how to write one). Those of
 * data/gpus are inside the library.
 *
 *     sooth_gpus *gpus;
 *     const sooth_gpu *gpu;
 *     if (sooth_gpus_open(NULL, &gpus, &error) == SOOTH_OK) {
 *         if (sooth_gpus_find(gpus, "a100", &gpu, &error) == SOOTH_OK)
 *             printf("%g SMs, %g TFLOP/s\n", sooth_gpu_number(gpu, "sms"), sooth_gpu_peak_flops(gpu, "fp16") / 1e12);
 *         sooth_gpus_free(gpus);
 *     }
 *
 * A list may be used by one thread at a time; GPUs and what they hand out belong to the list and live until sooth_gpus_free. */
typedef struct sooth_gpus sooth_gpus;
typedef struct sooth_gpu sooth_gpu;

/* The GPUs that ship and those of every *.txt in `directory` (NULL: none), which take the place of shipped ones of the
 * same name. The program `sooth` gives the directory that the environment variable SOOTH_GPUS names. On failure *gpus is NULL;
 * SOOTH_ERROR_INPUT names file and line. */
SOOTH_API sooth_status sooth_gpus_open(const char *directory, sooth_gpus **gpus, sooth_error *error);
SOOTH_API void sooth_gpus_free(sooth_gpus *gpus); /* NULL is allowed */
SOOTH_API size_t sooth_gpus_count(const sooth_gpus *gpus);
SOOTH_API const sooth_gpu *sooth_gpus_at(const sooth_gpus *gpus, size_t index); /* NULL after the last */

/* By name or alias; letter case, separators and words of the vendor do not matter ("NVIDIA GeForce RTX 3090" is "rtx-3090").
 * What has a '/' in it or ends in ".txt" is the path of a GPU file. SOOTH_ERROR_USAGE suggests the nearest name. */
SOOTH_API sooth_status sooth_gpus_find(sooth_gpus *gpus, const char *name, const sooth_gpu **gpu, sooth_error *error);

/* The fields of a GPU file in their order, and what each is in one line; NULL after the last. Units are in the names. */
SOOTH_API const char *sooth_gpu_field(size_t index);
SOOTH_API const char *sooth_gpu_field_summary(size_t index);
/* A field that is a text ("name", "vendor", "architecture", "chip" …); NULL if it is not given or is a number. */
SOOTH_API const char *sooth_gpu_text(const sooth_gpu *gpu, const char *field);
/* A field that is a number: 0 where the GPU has no such thing, NAN where it is not known or there is no such field. */
SOOTH_API double sooth_gpu_number(const sooth_gpu *gpu, const char *field);
/* Where the value of a field comes from, as its file says; "" if it says nothing. */
SOOTH_API const char *sooth_gpu_origin(const sooth_gpu *gpu, const char *field);
SOOTH_API const char *sooth_gpu_alias(const sooth_gpu *gpu, size_t index); /* NULL after the last */
SOOTH_API const char *sooth_gpu_file(const sooth_gpu *gpu);                /* that it was read from */

/* Peak FLOP/s in a precision ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"), without sparsity: of the fastest unit that
 * has it (products of fp16 are summed in fp32), and of the units that are not tensor cores. 0: it has none; NAN: not known. */
SOOTH_API double sooth_gpu_peak_flops(const sooth_gpu *gpu, const char *precision);
SOOTH_API double sooth_gpu_vector_flops(const sooth_gpu *gpu, const char *precision);
SOOTH_API const char *sooth_gpu_precision(size_t index); /* the precisions; NULL after the last */

/* Slices of a GPU (NVIDIA's MIG): a slice has its own multiprocessors, memory, part of the bandwidth and of the L2 cache, and is a device to
 * every program. data/mig.txt has those that are known; a mig.txt in the directory of sooth_gpus_open adds to them. */
typedef struct sooth_mig_profile {
    const char *name;       /* as nvidia-smi prints it: "2g.10gb"; "+me" at its end: with the media engines */
    int id;                 /* in nvidia-smi */
    int compute_slices;     /* "2g" has two */
    int sms;                /* multiprocessors */
    double memory_gib;      /* that a program can use; less than the name says */
    double bandwidth_share; /* of the GPU's memory bandwidth, 0 to 1 */
    double l2_share;        /* of its L2 cache */
    int copy_engines;
    int most;             /* of them that a GPU can have */
    int slots;            /* places along the GPU's memory that it takes */
    uint32_t start_slots; /* bit i: it may begin at place i */
    const char *origin;   /* where the numbers come from */
} sooth_mig_profile;
/* How many profiles a GPU has, from small to large; 0: it cannot be cut. */
SOOTH_API size_t sooth_mig_count(const sooth_gpu *gpu);
SOOTH_API sooth_mig_profile sooth_mig_at(const sooth_gpu *gpu, size_t index); /* name is "" after the last */
SOOTH_API int sooth_mig_slots(const sooth_gpu *gpu); /* places along the memory of the whole GPU */

/* What `sooth gpus` prints: all of them, or one with the origin of every number if `gpu` is not NULL. The formats are table, JSON
 * and CSV; of the options only format, colors and ascii count. *text is the caller's: free(). */
SOOTH_API sooth_status sooth_gpus_report(const sooth_gpus *gpus, const sooth_gpu *gpu,
                                         const sooth_report_options *options, char **text, size_t *size,
                                         sooth_error *error);

/* ---- predictions -------------------------------------------------------------------------------------------- */

/* What the predictor has learned from measurements. One may be used by many threads at once. */
typedef struct sooth_predictor sooth_predictor;

/* Reads weights that `sooth learn` has written. SOOTH_ERROR_INPUT: they are damaged or of another version. */
SOOTH_API sooth_status sooth_predictor_open(const char *path, sooth_predictor **predictor, sooth_error *error);
SOOTH_API void sooth_predictor_free(sooth_predictor *predictor); /* NULL is allowed */

/* Where the model runs and how. All zero, and any text that is NULL or "", means the default. */
typedef struct sooth_predict_options {
    const char *gpu;         /* name or alias of one that ships, or the path of a GPU file; default "a100-sxm4-40gb" */
    const sooth_gpu *device; /* takes the place of `gpu`: found once, used often. Must live during the call only */
    const sooth_predictor *predictor; /* default: the one that ships */
    const char *
        precision; /* "fp32", "tf32", "fp16", "bf16", "amp-fp16" (default; "amp" is the same), "amp-bf16", "int8", "fp8" */
    const char *layout;    /* "nchw" (default), "nhwc"; files with their channels last run so: nhwc */
    const char *runtime;   /* "eager" (default), "inductor", "engine" */
    const char *mode;      /* "infer" (default), "train": forward, backward and update; "train-forward" */
    const char *optimizer; /* in training: "sgd-momentum" (default), "sgd", "sgd-nesterov", "adam", "adamw", "none" */
    const char *stack;     /* version of the software as measured rows name it ("pt2.4-cu124"); default: unknown */
    const char *source; /* whose benchmark runs it: "timm" (norms in 16 bits, TF32), "nvidia-dle"; default: nobody's */
    const char *name;   /* of the network in that source's tables ("swin_tiny_patch4_window7_224"); default: unknown */
    const char *mig;    /* a slice of the GPU ("2g.10gb": sooth_mig_at); default: the whole GPU */
    double
        power_limit_w; /* that the GPU was told to keep (nvidia-smi -pl); default: its own. Less makes kernels slower */
    double co2_g_per_kwh; /* of the electricity, for co2_g; default: not known */
    bool memory;          /* how much memory of the GPU it needs, too: see sooth_prediction_memory */
    bool by_estimate;     /* sooth_largest_batch goes by the estimate of memory, not by the upper end of its interval */
} sooth_predict_options;

/* The names that a part of the options ("precision", "layout", "runtime", "mode", "optimizer") may have; NULL after the last. */
SOOTH_API const char *sooth_predict_choice(const char *part, size_t index);

/* How long one pass (or one training step) of the bound model takes. The prediction is the caller's and stands by itself: it
 * outlives the model, the next sooth_bind and the GPU. SOOTH_ERROR_USAGE: a name that is not known, with the nearest that is;
 * SOOTH_ERROR_UNSUPPORTED: the model or the options cannot be lowered to kernels; the message says what to do. */
typedef struct sooth_prediction sooth_prediction;
SOOTH_API sooth_status sooth_predict(sooth_model *model, const sooth_predict_options *options,
                                     sooth_prediction **prediction, sooth_error *error);
SOOTH_API void sooth_prediction_free(sooth_prediction *prediction); /* NULL is allowed */

/* A number and the 90 % interval around it. */
typedef struct sooth_interval {
    double value, low, high;
} sooth_interval;

/* Shares are in percent; NAN where a number of the GPU that they need is not known. */
typedef struct sooth_prediction_totals {
    const char *file, *format, *producer, *graph_name;                         /* of the model, as in sooth_info */
    const char *gpu, *precision, *layout, *runtime, *mode, *optimizer, *stack; /* stack is "" if unknown */
    const char *mig; /* profile of the slice; "" for the whole GPU */
    int64_t batch;   /* first dimension of the first input */
    sooth_interval latency_ms;
    const char *interval_kind; /* what the interval was calibrated on ("known GPU, new family" …) */
    double throughput_per_s;   /* samples */
    int64_t flops, bytes;      /* of all kernels, and what they read and write */
    double compute_share;      /* GPU utilization: achieved FLOP/s by the peak for the precision */
    double dram_share;         /* bytes read and written each second by the memory's bandwidth */
    double occupancy;          /* resident threads by the most that fit, mean over the kernels' time */
    double wave_efficiency;    /* blocks by the room of the rounds that they run in, mean over the kernels' time */
    double layer_share; /* achieved FLOP/s by the peak of the units that a kernel can use, mean over the kernels' time:
                                  how well they run while they run */
    double device_ms, host_ms; /* sums over the kernels: busy on the device, launching on the host */
    /* On a GPU that reaches its peaks: kernels whose FLOPs take longer than their bytes, the other ones, and how long the GPU
     * would still wait for the host's launches. */
    double ideal_compute_ms, ideal_memory_ms, ideal_launch_ms;
    double peak_flops;        /* for the precision, FLOP/s */
    double bandwidth_bytes_s; /* of the memory */
    double unknown_share;     /* of the latency that a guess for operators that are not known makes up; their real share
                                 is not known */
    sooth_interval
        energy_j; /* of the GPU's board for one pass or step, what it draws while it waits included; not of the host */
    sooth_interval power_w;           /* its mean over the latency */
    const char *energy_interval_kind; /* what their intervals were calibrated on */
    double power_limit_w;             /* that the kernels keep */
    double energy_j_per_1000;         /* samples */
    double co2_g;                     /* for one pass or step; NAN if co2_g_per_kwh was not given */
    const char *
        arithmetic; /* what products are multiplied in: "fp32", "tf32", "fp16", "bf16", "int8", "fp8"; a note says why where
                               that is not what the precision says */
} sooth_prediction_totals;
SOOTH_API sooth_prediction_totals sooth_prediction_totals_of(const sooth_prediction *prediction);

/* The memory of the GPU that a pass or a step of training takes at its peak, as the driver's tools show it: what tensors and workspaces
 * need, what PyTorch's caching allocator holds beside that, the driver's context. Played through request by request. All zero if it
 * was not asked for. */
typedef struct sooth_memory {
    bool known;
    sooth_interval total_mib;
    /* Parts; they sum to the value. */
    double weights_mib, gradients_mib, optimizer_mib, inputs_mib, activations_mib, workspace_mib;
    double cache_mib;    /* held by the allocator and not in use at the peak */
    double context_mib;  /* driver, code of kernels, handles of libraries */
    double capacity_mib; /* of the GPU; NAN: not known */
    bool fits;           /* the value; before it fails, the allocator gives back what it does not use: that counts */
    bool fits_upper;     /* the upper end of the interval too */
    const char *limit;  /* what stops it although it fits: a size that the software cannot index; NULL: nothing known */
    size_t peak_kernel; /* index of the kernel that runs at the peak; SIZE_MAX: before all */
} sooth_memory;
SOOTH_API sooth_memory sooth_prediction_memory(const sooth_prediction *prediction);

/* Every layer of the network in order, then what belongs to none (loss, optimizer). Their latencies sum to the total. */
typedef struct sooth_predicted_layer {
    const char *name, *op; /* as in sooth_layer */
    const char
        *bound; /* what most of its time is limited by: "compute", "memory", "launch", "none" (nothing is launched) */
    double latency_ms;    /* its part: while its kernels run, and while the GPU waits for the host to launch them */
    double ideal_ms;      /* on a GPU that reaches its peaks */
    double compute_share; /* as of the totals */
    int64_t flops, bytes;
    size_t kernel_count; /* that it launches */
    double energy_j;     /* its part; these sum to the total */
    int64_t
        peak_bytes; /* of what it made, at the peak of memory; weights and their gradients not counted. 0 without memory */
    double device_ms; /* while its kernels run; the rest of latency_ms is waiting */
} sooth_predicted_layer;
SOOTH_API size_t sooth_predicted_layer_count(const sooth_prediction *prediction);
SOOTH_API sooth_predicted_layer sooth_predicted_layer_at(const sooth_prediction *prediction, size_t index);

/* What is launched, in order. A view launches nothing: the host's time for it is in the kernel after it. Latencies sum to the
 * total. */
typedef struct sooth_predicted_kernel {
    const char
        *op; /* as PyTorch names it ("convolution", "addmm", "_to_copy" …); "triton_poi" … where operators are fused */
    const char *name;  /* the same with the operators that are fused in it */
    size_t layer;      /* index of sooth_predicted_layer_at */
    const char *phase; /* "forward", "backward", "update" */
    const char
        *algorithm; /* of products and convolutions ("implicit GEMM", "Winograd" …), and why; NULL: nothing to choose */
    const char *reason;
    const char *bound; /* "compute", "memory", "launch" */
    bool is_hidden;    /* launched by the operator before it (bias of a convolution, copy into another layout) */
    bool op_known;     /* false: an operator without a rule, named as in the file */
    int64_t repeat;    /* how often it runs in a pass; the figures are of all runs */
    double latency_ms; /* its part: while it runs, and while the GPU waits for the host to launch it */
    double energy_j;   /* its part, of all runs; these sum to the total */
    double device_us, host_us;    /* busy on the device, launching on the host */
    double compute_us, memory_us; /* on a GPU that reaches its peaks */
    int64_t flops, bytes;
    int64_t gemm[4];                   /* batch, m, n, k of a product; 0 if it is none */
    double blocks, waves;              /* thread blocks, rounds of them; 0 if not computed */
    double wave_efficiency, occupancy; /* in percent */
    size_t input_count, output_count;
    int64_t allocated_bytes,
        reserved_bytes; /* while it runs: by tensors, and by the allocator for them. 0 without memory */
} sooth_predicted_kernel;
SOOTH_API size_t sooth_predicted_kernel_count(const sooth_prediction *prediction);
SOOTH_API sooth_predicted_kernel sooth_predicted_kernel_at(const sooth_prediction *prediction, size_t index);

typedef struct sooth_predicted_tensor {
    const char *dtype; /* "float16" … */
    int rank;
    const int64_t *dims;
    bool is_weight; /* there before the pass begins */
} sooth_predicted_tensor;
SOOTH_API sooth_predicted_tensor sooth_predicted_input(const sooth_prediction *prediction, size_t kernel, size_t index);
SOOTH_API sooth_predicted_tensor sooth_predicted_output(const sooth_prediction *prediction, size_t kernel,
                                                        size_t index);

/* The operators that a compiler fused into a kernel, under PyTorch's names; NULL after the last. */
SOOTH_API const char *sooth_predicted_fused(const sooth_prediction *prediction, size_t kernel, size_t index);

/* The largest batch of at most `most` (0: 1,048,576) with which the model fits into the GPU's memory under the options, the upper end of the interval too
 * (or the value alone: by_estimate), and nothing else stops it; 0 if not even one sample does. `dims` are as of sooth_bind, but for its batch; NULL: as the file has them. The model is bound anew, in the end to the batch
 * that was found (or to 1). SOOTH_ERROR_UNSUPPORTED: its batch is fixed, or the GPU's memory is not known. */
SOOTH_API sooth_status sooth_largest_batch(sooth_model *model, const sooth_options *dims,
                                           const sooth_predict_options *options, int64_t most, int64_t *batch,
                                           sooth_error *error);

/* Operators that have no rule, one after the other, and how many kernels each stands for; NULL after the last. */
SOOTH_API const char *sooth_prediction_unknown(const sooth_prediction *prediction, size_t index, size_t *count);

/* What a reader of the figures should know, one sentence each: that the GPU computes in another precision than was asked for, that other software
 * stands in for the one named, that the file left something open, that operators are not known and their time is a guess. NULL after the last. */
SOOTH_API const char *sooth_prediction_note(const sooth_prediction *prediction, size_t index);
/* The same of the figures of single layers, where these are shown; NULL if there is nothing to know. */
SOOTH_API const char *sooth_prediction_layers_note(const sooth_prediction *prediction);

/* What `sooth predict` prints: of one prediction everything; of several (`count`), or where others were refused (options->refusals), a comparison, in JSON an array. The formats are
 * table, JSON, CSV, trace, HTML and the picture of memory (the last two of one). *text is the caller's: free(). options may be NULL. */
SOOTH_API sooth_status sooth_prediction_report(const sooth_prediction *const *predictions, size_t count,
                                               const sooth_report_options *options, char **text, size_t *size,
                                               sooth_error *error);

/* ---- slices for models (MIG) ---------------------------------------------------------------------------------- */

/* Which slice of a GPU a model needs, and how slices for several models lie on as few GPUs as possible.
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
    sooth_model *model; /* bound; the same one may stand for several workloads only if they have the same dimensions */
    const sooth_options
        *dims; /* that it is bound to, to look for a smaller batch where this one is too large; NULL: not looked for */
    sooth_predict_options options; /* how it runs; gpu, device and mig are not looked at */
    double latency_ms;             /* that a pass may take, at the upper end of the interval; 0: any */
    size_t count;                  /* instances, each in a slice of its own; 0 is 1 */
    const char *name;              /* in reports; NULL: the model's file */
} sooth_mig_workload;

typedef struct sooth_mig_options {
    const char *gpu;         /* name or alias, or the path of a GPU file; default "a100-sxm4-40gb" */
    const sooth_gpu *device; /* takes its place */
    size_t most_gpus;        /* that there are; 0: any number */
    double
        time_limit_s; /* of a search for more than eight GPUs; 0: 10. For up to eight GPUs the answer is always the best */
    /* Called now and then in such a search: that many GPUs are being tried, so many are known to be enough. False: stop. May be NULL. */
    bool (*progress)(void *context, size_t tried, size_t enough, double seconds);
    void *context;
} sooth_mig_options;

typedef struct sooth_mig_plan sooth_mig_plan;
/* SOOTH_ANSWER_NO: there is no such layout; the plan is there all the same and tells why, and what comes nearest. The plan is the caller's and
 * stands by itself. On other failures it is NULL. Models are bound to their dimensions again where others were tried. */
SOOTH_API sooth_status sooth_mig_plan_make(const sooth_mig_workload *workloads, size_t count,
                                           const sooth_mig_options *options, sooth_mig_plan **plan, sooth_error *error);
SOOTH_API void sooth_mig_plan_free(sooth_mig_plan *plan); /* NULL is allowed */

typedef struct sooth_mig_plan_totals {
    const char *gpu;
    size_t workload_count;
    size_t gpu_count;    /* of the layout; 0: there is none */
    size_t least_gpus;   /* fewer are not enough; less than gpu_count if time ran out before that was settled */
    int slots;           /* places along the memory of a GPU */
    bool is_possible;    /* every workload has a slice, and there are GPUs enough */
    const char *reason;  /* why not; "" if it is possible */
    const char *nearest; /* what would be; "" if it is possible or nothing is near */
} sooth_mig_plan_totals;
SOOTH_API sooth_mig_plan_totals sooth_mig_plan_totals_of(const sooth_mig_plan *plan);

typedef struct sooth_mig_planned {
    const char *name, *precision, *layout, *runtime, *mode;
    int64_t batch;
    double latency_ms; /* target; 0: none */
    size_t count;
    const char *profile; /* the smallest that will do; "" if none does */
    const char *
        dippm_profile; /* by DIPPM's rule: the first whose name plate is more than the memory, whatever the latency; "" */
    size_t candidate_count; /* profiles of the GPU, without those that differ in media engines alone */
} sooth_mig_planned;
SOOTH_API sooth_mig_planned sooth_mig_planned_at(const sooth_mig_plan *plan, size_t workload);

typedef struct sooth_mig_candidate {
    const char *profile;
    sooth_interval latency_ms;
    sooth_interval memory_mib; /* NAN: not known */
    sooth_interval energy_j;   /* of a pass, the slice's share of the board's power; NAN: not known */
    double usable_mib;         /* of the slice */
    bool fits;                 /* memory: the upper end of its interval */
    bool meets_target;         /* latency: the upper end of its interval */
    const char *reason;        /* why it will not do; "" if it will */
} sooth_mig_candidate;
SOOTH_API sooth_mig_candidate sooth_mig_candidate_at(const sooth_mig_plan *plan, size_t workload, size_t index);

/* What to know beside the numbers of a workload, as sooth_prediction_note tells it; NULL after the last. */
SOOTH_API const char *sooth_mig_note(const sooth_mig_plan *plan, size_t workload, size_t index);

/* The slices of a GPU of the layout, from the left; workload is SIZE_MAX after the last. */
typedef struct sooth_mig_placed {
    size_t workload;
    const char *profile;
    int start, slots; /* places along the memory */
} sooth_mig_placed;
SOOTH_API size_t sooth_mig_placed_count(const sooth_mig_plan *plan, size_t gpu);
SOOTH_API sooth_mig_placed sooth_mig_placed_at(const sooth_mig_plan *plan, size_t gpu, size_t index);

/* What `sooth mig` prints: as table, JSON, CSV (candidates), SVG (a picture of the GPUs' places) or SOOTH_FORMAT_MIG_PARTED. *text is the
 * caller's: free(). options may be NULL. SOOTH_ERROR_USAGE: a picture or a configuration of a plan without a layout. */
SOOTH_API sooth_status sooth_mig_plan_report(const sooth_mig_plan *plan, const sooth_report_options *options,
                                             char **text, size_t *size, sooth_error *error);

#ifdef __cplusplus
}
#endif
#endif
