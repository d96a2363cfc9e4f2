/* keras_settings.c: helpers of Keras layers: settings, shapes, weights, and a layer's activation. Keras 1 names of
 * settings are accepted next to those of Keras 2 and 3. */
#include "front/keras/keras.h"

/* ---- settings -------------------------------------------------------------------------------------------------- */

const json_node *keras_setting(const keras_call *c, const char *name, const char *old_name)
{
    const json_node *n = json_get(c->config, name);
    return n || !old_name ? n : json_get(c->config, old_name);
}

int64_t keras_int(const keras_call *c, const char *name, const char *old_name, int64_t otherwise)
{
    return json_int(keras_setting(c, name, old_name), otherwise);
}

bool keras_bool(const keras_call *c, const char *name, const char *old_name, bool otherwise)
{
    return json_int(keras_setting(c, name, old_name), otherwise) != 0;
}

double keras_real(const keras_call *c, const char *name, double otherwise)
{
    return json_double(json_get(c->config, name), otherwise);
}

str keras_text(const keras_call *c, const char *name, const char *old_name)
{
    return json_text(keras_setting(c, name, old_name));
}

int keras_ints(const json_node *n, int64_t *to, int room)
{
    if (json_is(n, JSON_INT) && room > 0) {
        to[0] = n->integer;
        return 1;
    }
    int count = 0;
    for (const json_node *x = json_first(n); x && count < room; x = x->next)
        to[count++] = json_int(x, -1);
    return count;
}

bool keras_channels_first(const keras_call *c)
{
    str format = keras_text(c, "data_format", "dim_ordering");
    return str_is(format, "channels_first") || str_is(format, "th");
}

int keras_shape(keras_call *c, value_id v, num *dims)
{
    sooth_model *model = c->e->b->model;
    infer_built(model, &c->k->done);
    const value *x = v == NO_VALUE ? NULL : &model->net.values.items[v];
    if (!x || x->rank < 0)
        return RANK_UNKNOWN;
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    return x->rank;
}

num keras_dim(keras_call *c, value_id v, int axis)
{
    num dims[MAX_RANK];
    int rank = keras_shape(c, v, dims);
    if (axis < 0)
        axis += rank;
    return axis >= 0 && axis < rank ? dims[axis] : NUM_UNKNOWN;
}

value_id keras_weight(keras_call *c, const char *name, int rank, const int64_t *dims)
{
    return emit_weight(c->e, keras_joined(c->e->b->arena, c->path, str_of(name)), DT_FLOAT32, rank, dims);
}

void keras_foreign(keras_call *c)
{
    emit_foreign(c->e, STR("keras"), c->class_name, c->in, c->in_count, &c->out, 1);
}

void keras_per_axis(const keras_call *c, const char *name, const char *old_name, int axes, int64_t otherwise,
                    int64_t *to)
{
    int count = keras_ints(keras_setting(c, name, old_name), to, axes);
    for (int i = 0; i < axes; i++) {
        if (i >= count)
            to[i] = count == 1 ? to[0] : otherwise;
        to[i] = to[i] > 0 ? to[i] : 1;
    }
}

/* ---- activations ----------------------------------------------------------------------------------------------- */

str keras_activation_name(const json_node *activation)
{
    return json_is(activation, JSON_TEXT) ? json_text(activation) : json_text(json_get(activation, "class_name"));
}

static bool is_linear(const json_node *activation)
{
    str name = keras_activation_name(activation);
    return name.len == 0 || str_is(name, "linear");
}

value_id keras_before(keras_call *c, const json_node *activation)
{
    return is_linear(activation) ? c->out : emit_temp(c->e);
}

void keras_activation(keras_call *c, str name, const json_node *config, value_id x, value_id y)
{
    static const struct {
        const char *name, *canonical;
    } PLAIN[] = {{"relu", "Relu"},
                 {"ReLU", "Relu"},
                 {"tanh", "Tanh"},
                 {"sigmoid", "Sigmoid"},
                 {"elu", "Elu"},
                 {"selu", "Selu"},
                 {"gelu", "Gelu"},
                 {"softplus", "Softplus"},
                 {"softsign", "Softsign"},
                 {"exponential", "Exp"},
                 {"mish", "Mish"},
                 {"hard_sigmoid", "HardSigmoid"},
                 {"leaky_relu", "LeakyRelu"},
                 {"LeakyReLU", "LeakyRelu"},
                 {"hard_swish", "HardSwish"},
                 {"hard_silu", "HardSwish"},
                 {"ELU", "Elu"}};
    emitter *e = c->e;
    if (str_is(name, "softmax") || str_is(name, "log_softmax") || str_is(name, "Softmax")) {
        node *n = emit_op(e, str_is(name, "log_softmax") ? "LogSoftmax" : "Softmax", &x, 1, y);
        emit_int(n, "axis", json_int(json_get(config, "axis"), -1));
        return;
    }
    if (str_is(name, "swish") || str_is(name, "silu")) {
        emit_2(e, "Mul", x, emit_1(e, "Sigmoid", x, NO_VALUE), y);
        return;
    }
    if (str_is(name, "relu6")) {
        emit_clip(c->e, x, 0, 6, y);
        return;
    }
    for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++)
        if (str_is(name, PLAIN[i].name)) {
            emit_1(e, PLAIN[i].canonical, x, y);
            return;
        }
    if (name.len == 0 || str_is(name, "linear"))
        emit_1(e, "Identity", x, y);
    else
        emit_foreign(e, STR("keras"), name, &x, 1, &y, 1);
}

void keras_activate(keras_call *c, const json_node *activation, value_id x)
{
    if (!is_linear(activation))
        keras_activation(c, keras_activation_name(activation), json_get(activation, "config"), x, c->out);
}
