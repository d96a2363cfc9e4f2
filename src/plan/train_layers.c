/* train_layers.c: the layers of a predicted training step: time by phase, efficiency and memory. */
#include "plan/train_layers.h"

#include <math.h>

/* Sums over the kernels of a layer, weighted by their time on the device. */
typedef struct layer_sums {
    double device_us, compute_us, occupied_us, shaped_us, covered_us, bytes, l2_bytes;
    int products; /* Number of products in the backward pass. */
} layer_sums;

/* PyTorch launches the weight gradient after the data gradient; in the program one cuDNN kernel represents both. */
static void add_backward(sooth_train_layer *l, const sooth_predicted_kernel *k, bool needs_data, layer_sums *s)
{
    bool is_product = k->algorithm != NULL;
    l->backward_ms += k->latency_ms;
    if (k->is_again)
        return;
    if (is_product && k->output_count > 1)
        l->backward_weights_ms += k->latency_ms / (needs_data ? 2 : 1);
    else if (is_product && (s->products > 0 || !needs_data))
        l->backward_weights_ms += k->latency_ms;
    s->products += is_product;
}

/* Bytes through the L2 cache, at least those of DRAM. Each block of a product reads its rows and columns again: with
 * square tiles of area m·n÷blocks, all blocks together read 2·k·sqrt(m·n·blocks) elements. */
static double l2_bytes_of(const sooth_predicted_kernel *k, double outputs, double element_bytes)
{
    double bytes = (double)k->bytes;
    if (!k->algorithm || !(k->blocks > 0) || !(outputs > 0))
        return bytes;
    double sum = (double)k->flops / (2 * outputs);
    return fmax(bytes, element_bytes * 2 * sum * sqrt(outputs * k->blocks));
}

static double outputs_of(const sooth_prediction *p, size_t kernel, double *element_bytes)
{
    sooth_predicted_tensor y = sooth_predicted_output(p, kernel, 0);
    double elements = 1;
    for (int d = 0; d < y.rank; d++)
        elements *= (double)y.dims[d];
    *element_bytes = y.dtype && strcmp(y.dtype, "float32") != 0 ? 2 : 4;
    return y.rank > 0 ? elements : 0;
}

static void add_kernel(sooth_train_layer *l, layer_sums *s, const sooth_predicted_kernel *k, bool needs_data,
                       double l2_bytes)
{
    if (k->phase[0] == 'f')
        l->forward_ms += k->latency_ms;
    else
        add_backward(l, k, needs_data, s);
    s->device_us += k->device_us;
    s->compute_us += k->compute_us;
    s->bytes += (double)k->bytes;
    s->l2_bytes += l2_bytes;
    if (k->waves > 0) {
        s->shaped_us += k->device_us;
        s->occupied_us += k->device_us * k->occupancy;
        s->covered_us += k->device_us * 100 * fmin(1, k->waves);
    }
    l->flops += k->flops;
    if (k->algorithm && !*l->algorithm)
        l->algorithm = k->algorithm;
}

static void finish_layer(sooth_train_layer *l, const layer_sums *s, const sooth_prediction_totals *t, double l2_bytes_s)
{
    l->backward_data_ms = l->backward_ms - l->backward_weights_ms;
    if (!(s->device_us > 0)) {
        l->library = "none";
        return;
    }
    l->efficiency = 100 * s->compute_us / s->device_us;
    l->occupancy = s->shaped_us > 0 ? s->occupied_us / s->shaped_us : NAN;
    l->sm_coverage = s->shaped_us > 0 ? s->covered_us / s->shaped_us : NAN;
    l->dram = 100 * s->bytes / (s->device_us / 1e6) / t->bandwidth_bytes_s;
    l->l2 = fmin(100, 100 * s->l2_bytes / (s->device_us / 1e6) / l2_bytes_s);
}

static double state_copies(const char *optimizer)
{
    if (strncmp(optimizer, "adam", 4) == 0)
        return 2;
    return strcmp(optimizer, "sgd-momentum") == 0 || strcmp(optimizer, "sgd-nesterov") == 0 ? 1 : 0;
}

/* Parameters are float32 unless the whole network is converted. */
static void set_memory(sooth_train_layer *l, const sooth_layer *of, const sooth_prediction_totals *t)
{
    bool is_half = strcmp(t->precision, "fp16") == 0 || strcmp(t->precision, "bf16") == 0;
    int64_t bytes = is_half ? 2 : 4, params = of->params > 0 ? of->params : 0;
    l->weight_bytes = of->weight_bytes > 0 ? of->weight_bytes / (is_half ? 2 : 1) : 0;
    l->gradient_bytes = params * bytes;
    l->optimizer_bytes = (int64_t)((double)(params * bytes) * state_copies(t->optimizer));
}

static bool is_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static const char *library_of(const char *kind)
{
    if (is_text(kind, "conv"))
        return "cudnn";
    return is_text(kind, "matmul") ? "cublas" : "aten";
}

/* Distributes the time of the update over the layers in proportion to their parameters. */
static void share_update(sooth_train *t, const int64_t *params, double update_ms)
{
    double sum = 0;
    for (size_t i = 0; i < t->layer_count; i++)
        sum += (double)params[i];
    for (size_t i = 0; i < t->layer_count; i++)
        t->layers[i].update_ms = sum > 0 ? update_ms * (double)params[i] / sum : 0;
    if (!(sum > 0) && t->layer_count)
        t->layers[t->layer_count - 1].update_ms = update_ms;
}

static void name_layer(sooth_train *t, const sooth_model *model, const sooth_prediction *p, size_t i)
{
    sooth_train_layer *l = &t->layers[i];
    sooth_predicted_layer of = sooth_predicted_layer_at(p, i);
    bool is_layer = i < sooth_layer_count(model);
    const char *kind = is_layer ? sooth_layer_at(model, i).kind : "";
    l->name = arena_str(&t->arena, str_of(of.name)).ptr;
    l->op = arena_str(&t->arena, str_of(of.op)).ptr;
    l->kind = arena_str(&t->arena, str_of(kind)).ptr;
    l->bound = arena_str(&t->arena, str_of(of.bound)).ptr;
    l->library = library_of(kind);
    l->algorithm = "";
    l->feature_map_peak_bytes = of.peak_bytes;
    l->feature_map_bytes = of.kept_bytes;
    l->workspace_bytes = of.workspace_bytes;
    l->efficiency = l->occupancy = l->sm_coverage = l->dram = l->l2 = NAN;
    l->cudnn = l->cublas = (sooth_train_library){
        .forward_ms = NAN, .backward_ms = NAN, .efficiency = NAN, .algorithm = "", .workspace_bytes = -1};
}

size_t train_first_layer(const sooth_model *model)
{
    size_t i = 0;
    while (i < sooth_layer_count(model) && !(sooth_layer_at(model, i).params > 0))
        i++;
    return i;
}

/* Removes rows without time and memory, such as the optimizer's after its time was distributed. */
static void drop_empty(sooth_train *t, size_t model_layers)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->layer_count; i++) {
        const sooth_train_layer *l = &t->layers[i];
        if (i < model_layers || l->forward_ms + l->backward_ms + l->update_ms > 0)
            t->layers[kept++] = *l;
    }
    t->layer_count = kept;
}

void train_layers(sooth_train *t, const sooth_model *model, const sooth_prediction *p, double l2_bytes_s)
{
    sooth_prediction_totals totals = sooth_prediction_totals_of(p);
    size_t layers = sooth_layer_count(model), first = train_first_layer(model);
    double update_ms = 0;
    t->layer_count = sooth_predicted_layer_count(p);
    t->layers = ARENA_ARRAY(&t->arena, sooth_train_layer, t->layer_count);
    layer_sums *sums = ARENA_ARRAY(&t->arena, layer_sums, t->layer_count);
    int64_t *params = ARENA_ARRAY(&t->arena, int64_t, t->layer_count);
    for (size_t i = 0; i < t->layer_count; i++) {
        name_layer(t, model, p, i);
        if (i >= layers)
            continue;
        sooth_layer of = sooth_layer_at(model, i);
        params[i] = of.params > 0 ? of.params : 0;
        set_memory(&t->layers[i], &of, &totals);
    }
    for (size_t i = 0; i < sooth_predicted_kernel_count(p); i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, i);
        if (k.phase[0] == 'u')
            update_ms += k.latency_ms;
        else {
            double element_bytes, outputs = outputs_of(p, i, &element_bytes);
            add_kernel(&t->layers[k.layer], &sums[k.layer], &k, k.layer > first,
                       l2_bytes_of(&k, outputs, element_bytes));
        }
    }
    for (size_t i = 0; i < t->layer_count; i++) {
        t->layers[i].algorithm = arena_str(&t->arena, str_of(t->layers[i].algorithm)).ptr;
        finish_layer(&t->layers[i], &sums[i], &totals, l2_bytes_s);
    }
    share_update(t, params, update_ms);
    drop_empty(t, layers);
}
