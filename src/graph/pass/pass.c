/* pass.c: the table of the recovery passes, and the function that runs them. */
#include "graph/pass/pass.h"

/* ---- the simplest pass ----------------------------------------------------------------------------------------- */

/* Removes shape arithmetic with known results, then nodes without readers. Calls of a program run whether
 * or not their results are known or read. */
static void drop_shape_arithmetic(pass_context *p)
{
    for (int32_t i = p->net->nodes.count - 1; i >= 0; i--) {
        node *n = &p->net->nodes.items[i];
        bool read = false;
        for (int32_t k = 0; k < n->output_count; k++)
            read |= n->outputs[k] != NO_VALUE && pass_is_read(p, n->outputs[k]);
        bool shows = false;
        for (int32_t k = 0; k < n->output_count; k++)
            shows |= n->outputs[k] != NO_VALUE && p->net->values.items[n->outputs[k]].is_output;
        bool is_call = node_attr(n, "eager_call") != NULL;
        n->is_dead = !shows && n->op && !is_call && (n->is_host || !read);
    }
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const pass_info PASSES[] = {
    {"shape-arithmetic", "removes nodes that only compute shapes, and nodes without readers", drop_shape_arithmetic,
     false, true},
    {"batch-norm", "batch norm with constant statistics, written out", pass_batch_norm, false, false},
    {"softmax", "softmax and its logarithm, written out", pass_softmax, false, false},
    {"layer-norm", "layer norm and RMS norm over the last dimensions", pass_layer_norm, false, false},
    {"group-norm", "group norm, written as an instance norm between two reshapes", pass_group_norm, false, false},
    {"weight-standardization", "convolution weights that are normalised in every pass", pass_weight_standardization,
     false, false},
    {"l2-normalize", "division by the Euclidean norm", pass_l2_normalize, false, false},
    {"gelu", "GELU by erf or by tanh", pass_gelu, false, false},
    {"mish", "softplus and Mish", pass_mish, false, false},
    {"silu", "x * sigmoid(x)", pass_silu, false, true},
    {"hard-swish", "hard sigmoid and hard swish", pass_hard_swish, false, false},
    {"linear", "matrix product with a weight, and its bias", pass_linear, false, true},
    {"conv-bias", "a bias that is added after a convolution", pass_conv_bias, false, false},
    {"attention", "scaled dot-product attention where PyTorch runs it as one kernel", pass_attention, false, false},
    {"pixel-shuffle", "pixel shuffle, pixel unshuffle and channel shuffle", pass_pixel_shuffle, false, false},
    {"windows", "window partition and its reverse", pass_windows, false, false},
    {"roll", "two slices joined in swapped order (roll)", pass_roll, false, false},
    {"global-pool", "means over height and width", pass_global_pool, false, false},
    {"explicit-attention", "attention that PyTorch runs step by step", pass_explicit_attention, true, false},
    {"conv-batchnorm", "batch norm after a convolution", pass_conv_batch_norm, true, false},
};
enum { PASS_COUNT = sizeof PASSES / sizeof *PASSES };

const pass_info *pass_table(size_t *count)
{
    *count = PASS_COUNT;
    return PASSES;
}

static bool is_named(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ",");
        if ((n == len && memcmp(at, name, len) == 0) || (n == 3 && memcmp(at, "all", 3) == 0))
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

static const pass_info *find_pass(const char *name, size_t len)
{
    for (size_t i = 0; i < PASS_COUNT; i++)
        if (strlen(PASSES[i].name) == len && memcmp(name, PASSES[i].name, len) == 0)
            return &PASSES[i];
    return NULL;
}

static void check_names(sooth_model *model, const char *list, bool is_optional)
{
    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ",");
        const pass_info *pass = find_pass(at, n);
        bool is_all = n == 3 && memcmp(at, "all", 3) == 0;
        if (!pass && !is_all)
            fail_with(&model->fail, SOOTH_ERROR_USAGE, "no pass is called '%.*s'; 'sooth inspect --help' lists them",
                      (int)(n > 100 ? 100 : n), at);
        if (pass && pass->is_optional != is_optional)
            fail_with(&model->fail, SOOTH_ERROR_USAGE, "pass '%s' %s", pass->name,
                      is_optional ? "always runs; only optional passes can be added (--fuse)"
                                  : "is optional and runs only if it is added (--fuse); nothing to skip");
        at += n + (at[n] == ',');
    }
}

static void compact(network *net)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < net->nodes.count; i++) {
        node *n = &net->nodes.items[i];
        if (n->is_dead) { /* Data already folded from it stay in use. */
            for (int32_t k = 0; k < n->output_count; k++)
                if (n->outputs[k] != NO_VALUE && net->values.items[n->outputs[k]].producer == i)
                    net->values.items[n->outputs[k]].producer = NO_NODE;
            continue;
        }
        for (int32_t k = 0; k < n->output_count; k++)
            if (n->outputs[k] != NO_VALUE)
                net->values.items[n->outputs[k]].producer = kept;
        if (!n->name.len && n->output_count && n->outputs[0] != NO_VALUE)
            n->name = net->values.items[n->outputs[0]].name;
        if (!n->name.len)
            n->name = STR("");
        if (n != &net->nodes.items[kept])
            net->nodes.items[kept] = *n;
        kept++;
    }
    net->nodes.count = kept;
}

void pass_run_all(sooth_model *model, const char *skip, const char *extra)
{
    check_names(model, skip, false);
    check_names(model, extra, true);
    pass_context p = {.model = model, .net = &model->net, .ops = model->ops};
    bool begun = false;
    for (size_t i = 0; i < PASS_COUNT; i++) {
        bool is_off = PASSES[i].is_optional || (model->source.is_literal && !PASSES[i].is_notation);
        if (is_named(skip, PASSES[i].name) || (is_off && !is_named(extra, PASSES[i].name)))
            continue;
        if (!begun)
            pass_begin(&p);
        begun = true;
        PASSES[i].run(&p);
    }
    compact(&model->net);
}
