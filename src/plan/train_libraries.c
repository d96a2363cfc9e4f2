/* train_libraries.c: finds the convolutions of a prediction and asks conv_library.c for their times. */
#include "plan/train_libraries.h"
#include "base/lines.h"

#include <math.h>

static const char STACK_PREFIX[] = "cudnn-", OLD_VERSION[] = "5.1";
/* Pascal is the oldest generation on which the predictor's rows have whole networks. From Volta on, the host
 * determines the time of launches; before, the libraries' measured times include it. */
static const double LEAST_CAPABILITY = 6, HOST_LAUNCHES = 7;

/* ---- the choice -------------------------------------------------------------------------------------------------- */

static void choose_version(train_library_choice *c, sooth_predict_options *settings, double capability, fail *f)
{
    const char *stack = settings->stack;
    if (stack && strncmp(stack, STACK_PREFIX, strlen(STACK_PREFIX)) == 0) {
        const char *name = stack + strlen(STACK_PREFIX);
        settings->stack = NULL;
        c->version = conv_version_of(&c->constants, name);
        if (c->version < 0 && strcmp(name, "7") != 0 && strcmp(name, "8") != 0 && strcmp(name, "9") != 0)
            fail_with(f, SOOTH_ERROR_USAGE,
                      "the cuDNN version '%.40s' is not known; name r1, r2, r3, r4, 5.0, 5.1, 6, or 7 to 9, which are "
                      "predicted as trained",
                      name);
    } else if (capability < LEAST_CAPABILITY) {
        c->version = conv_version_of(&c->constants, OLD_VERSION);
    }
}

train_library_choice train_library_chosen(const char *library, sooth_predict_options *settings, const sooth_gpu *gpu,
                                          double launch_us, fail *f)
{
    train_library_choice c = {
        .version = -1, .compares = !library, .is_cublas = library && strcmp(library, "cublas") == 0};
    if (library && !c.is_cublas && strcmp(library, "cudnn") != 0)
        fail_with(f, SOOTH_ERROR_USAGE, "the library '%.40s' is not known; name cudnn or cublas", library);
    if (!conv_constants_shipped(&c.constants))
        fail_with(f, SOOTH_ERROR_SYSTEM,
                  "data/libraries.txt inside this program is damaged: a line cannot be understood or a number is "
                  "missing; build it again");
    const char *architecture = sooth_gpu_text(gpu, "architecture"), *text = sooth_gpu_text(gpu, "compute_capability");
    double capability;
    bool is_nvidia = text && line_number(str_of(text), &capability);
    c.gpu = (conv_gpu){.vector_flops_s = sooth_gpu_peak_flops(gpu, "fp32"),
                       .bytes_s = sooth_gpu_number(gpu, "bandwidth_gb_s") * 1e9,
                       .multiprocessors = sooth_gpu_number(gpu, "sms"),
                       .is_kepler = architecture && strcmp(architecture, "Kepler") == 0,
                       .is_pascal = architecture && strcmp(architecture, "Pascal") == 0};
    c.gpu.is_modern = !is_nvidia || capability >= HOST_LAUNCHES;
    c.gpu.launch_s = c.gpu.is_modern && launch_us > 0 ? launch_us * 1e-6 : 0;
    choose_version(&c, settings, is_nvidia ? capability : LEAST_CAPABILITY, f);
    return c;
}

bool train_library_replaces(const train_library_choice *choice)
{
    return choice->is_cublas || choice->version >= 0;
}

/* ---- convolutions of the prediction ------------------------------------------------------------------------------ */

static bool is_convolution(const sooth_predicted_kernel *k)
{
    return strcmp(k->op, "convolution") == 0 || strcmp(k->op, "convolution_backward") == 0;
}

/* Returns false unless the kernel is a forward convolution in two dimensions. Transposed convolutions and other
 * ranks keep their predicted times. */
static bool shape_of(const sooth_prediction *p, size_t kernel, bool needs_data, double element_bytes, conv_shape *s)
{
    sooth_predicted_tensor x = sooth_predicted_input(p, kernel, 0), w = sooth_predicted_input(p, kernel, 1),
                           y = sooth_predicted_output(p, kernel, 0);
    if (x.rank != 4 || w.rank != 4 || y.rank != 4 || w.dims[1] <= 0 || x.dims[1] % w.dims[1] || w.dims[0] != y.dims[1])
        return false;
    *s = (conv_shape){.batch = (double)x.dims[0],
                      .channels = (double)x.dims[1],
                      .height = (double)x.dims[2],
                      .width = (double)x.dims[3],
                      .outputs = (double)y.dims[1],
                      .out_height = (double)y.dims[2],
                      .out_width = (double)y.dims[3],
                      .kernel_height = (double)w.dims[2],
                      .kernel_width = (double)w.dims[3],
                      .groups = (double)(x.dims[1] / w.dims[1]),
                      .element_bytes = element_bytes,
                      .needs_data = needs_data};
    s->stride = fmax(1, round(s->height / fmax(1, s->out_height)));
    s->is_pointwise = w.dims[2] == 1 && w.dims[3] == 1 && s->stride == 1;
    return true;
}

typedef struct layer_convolutions {
    double forward_ms, again_ms, data_ms, weights_ms; /* predicted; again: forward kernels of the backward pass */
    conv_times cublas, cudnn;
    int64_t flops;
    int count;
} layer_convolutions;

static void add_times(conv_times *to, const conv_times *t, double repeat)
{
    to->forward_ms += t->forward_ms * repeat;
    to->data_ms += t->data_ms * repeat;
    to->weights_ms += t->weights_ms * repeat;
    to->parts.products_ms += t->parts.products_ms * repeat;
    to->parts.copies_ms += t->parts.copies_ms * repeat;
    to->parts.launches_ms += t->parts.launches_ms * repeat;
    to->parts.launches += t->parts.launches * repeat;
    to->workspace_bytes = fmax(to->workspace_bytes, t->workspace_bytes);
    to->algorithm = t->algorithm;
}

static void add_shape(layer_convolutions *l, const conv_shape *s, const train_library_choice *c, double repeat)
{
    conv_times cublas = conv_by_cublas(&c->constants, &c->gpu, s);
    add_times(&l->cublas, &cublas, repeat);
    if (c->version >= 0) {
        conv_times cudnn = conv_by_cudnn(&c->constants, &c->gpu, s, c->version);
        add_times(&l->cudnn, &cudnn, repeat);
    }
    l->count++;
}

/* Kernels that a convolution launches itself (bias, copies to another layout) belong to it. */
static void find(layer_convolutions *of, const sooth_prediction *p, size_t first, const train_library_choice *c)
{
    for (size_t i = 0; i < sooth_predicted_kernel_count(p); i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, i);
        layer_convolutions *l = &of[k.layer];
        bool is_forward = k.phase[0] == 'f', is_backward = k.phase[0] == 'b';
        conv_shape s;
        if (is_convolution(&k) && is_forward && shape_of(p, i, k.layer > first, c->element_bytes, &s))
            add_shape(l, &s, c, (double)k.repeat);
        if (!l->count || !(is_convolution(&k) || k.is_hidden))
            continue;
        if (is_forward)
            l->forward_ms += k.latency_ms;
        else if (k.is_again)
            l->again_ms += k.latency_ms;
        else if (is_backward && is_convolution(&k)) {
            l->weights_ms += k.latency_ms / (k.layer > first ? 2 : 1);
            l->data_ms += k.layer > first ? k.latency_ms / 2 : 0;
        }
        if (is_convolution(&k) && !k.is_again)
            l->flops += k.flops;
    }
}

/* ---- into layers ------------------------------------------------------------------------------------------------- */

static sooth_train_library column(sooth_train *t, double forward_ms, double backward_ms, int64_t flops, double peak,
                                  const char *algorithm, int64_t workspace)
{
    return (sooth_train_library){
        .forward_ms = forward_ms,
        .backward_ms = backward_ms,
        .efficiency = 100 * (double)flops / ((forward_ms + backward_ms) / 1e3) / peak,
        .algorithm = arena_str(&t->arena, str_of(algorithm)).ptr,
        .workspace_bytes = workspace,
    };
}

static void replace(sooth_train_layer *l, const layer_convolutions *was, const conv_times *by,
                    const sooth_train_library *column, const char *library)
{
    l->forward_ms = fmax(0, l->forward_ms - was->forward_ms) + by->forward_ms;
    l->backward_data_ms = fmax(0, l->backward_data_ms - was->data_ms - was->again_ms) + by->data_ms +
                          (was->again_ms > 0 ? by->forward_ms : 0);
    l->backward_weights_ms = fmax(0, l->backward_weights_ms - was->weights_ms) + by->weights_ms;
    l->backward_ms = l->backward_data_ms + l->backward_weights_ms;
    l->library = library;
    l->algorithm = column->algorithm;
    l->efficiency = column->efficiency;
    l->workspace_bytes = column->workspace_bytes;
    l->occupancy = l->sm_coverage = l->dram = l->l2 = NAN;
    l->bound = by->parts.launches_ms > by->parts.products_ms + by->parts.copies_ms ? "launch"
               : by->parts.copies_ms > by->parts.products_ms                       ? "memory"
                                                                                   : "compute";
}

static void set_layer(sooth_train *t, sooth_train_layer *l, const layer_convolutions *found,
                      const train_library_choice *c)
{
    double peak = c->gpu.flops_s;
    const conv_times *blas = &found->cublas, *dnn = &found->cudnn;
    sooth_train_library cublas = column(t, blas->forward_ms, blas->data_ms + blas->weights_ms, found->flops, peak,
                                        blas->algorithm, (int64_t)blas->workspace_bytes);
    sooth_train_library cudnn = c->version >= 0
                                    ? column(t, dnn->forward_ms, dnn->data_ms + dnn->weights_ms, found->flops, peak,
                                             dnn->algorithm, (int64_t)dnn->workspace_bytes)
                                    : column(t, found->forward_ms, found->data_ms + found->weights_ms, found->flops,
                                             peak, l->algorithm, l->workspace_bytes);
    if (c->is_cublas)
        replace(l, found, blas, &cublas, "cublas");
    else if (c->version >= 0)
        replace(l, found, dnn, &cudnn, "cudnn");
    if (c->is_cublas || c->compares) {
        l->cublas = cublas;
        t->cublas_parts.products_ms += blas->parts.products_ms;
        t->cublas_parts.copies_ms += blas->parts.copies_ms;
        t->cublas_parts.launches_ms += blas->parts.launches_ms;
        t->cublas_parts.launches += blas->parts.launches;
    }
    if (!c->is_cublas || c->compares)
        l->cudnn = cudnn;
}

/* ---- other layers with windows ----------------------------------------------------------------------------------- */

static double elements_of(const sooth_predicted_tensor *x)
{
    double elements = 1;
    for (int d = 0; d < x->rank; d++)
        elements *= (double)x->dims[d];
    return elements;
}

static bool is_response_norm(const sooth_train_layer *l)
{
    return strcmp(l->op, "LRN") == 0;
}

/* Frameworks of that time have own kernels for pools and response norms; PyTorch has slower ones, or several. */
static void replace_windows(sooth_train *t, const sooth_prediction *p, const train_library_choice *c)
{
    bool *is_done = ARENA_ARRAY(&t->arena, bool, t->layer_count + 1);
    for (size_t i = 0; i < sooth_predicted_kernel_count(p); i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, i);
        if (k.phase[0] != 'f' || k.layer >= t->layer_count || is_done[k.layer])
            continue;
        sooth_train_layer *l = &t->layers[k.layer];
        sooth_predicted_tensor x = sooth_predicted_input(p, i, 0), y = sooth_predicted_output(p, i, 0);
        bool is_pool = strncmp(k.op, "max_pool2d", 10) == 0 || strcmp(k.op, "avg_pool2d") == 0;
        if (!is_pool && !is_response_norm(l))
            continue;
        window_times by = is_pool ? conv_pool_by_framework(&c->constants, &c->gpu, elements_of(&x), elements_of(&y),
                                                           (double)k.flops / (double)k.repeat)
                                  : conv_norm_by_framework(&c->constants, &c->gpu, elements_of(&x));
        is_done[k.layer] = true;
        l->forward_ms = by.forward_ms * (double)k.repeat;
        l->backward_ms = l->backward_data_ms = by.backward_ms * (double)k.repeat;
        l->backward_weights_ms = 0;
    }
}

void train_libraries(sooth_train *t, const sooth_model *model, const sooth_prediction *p, size_t first,
                     train_library_choice *choice)
{
    size_t layers = sooth_layer_count(model), count = sooth_predicted_layer_count(p);
    if (train_library_replaces(choice))
        replace_windows(t, p, choice);
    layer_convolutions *found = ARENA_ARRAY(&t->arena, layer_convolutions, count);
    find(found, p, first, choice);
    for (size_t i = 0; i < t->layer_count && i < layers; i++)
        if (found[i].count)
            set_layer(t, &t->layers[i], &found[i], choice);
}
