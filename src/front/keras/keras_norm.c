/* keras_norm.c: maps Keras layers that normalize or scale: batch, layer, RMS and group norm, Normalization,
 * Rescaling. */
#include "front/keras/keras.h"

/* Returns a vector of weights; constants if the layer does not train them. */
static value_id norm_weight(keras_call *c, const char *name, bool is_trained, int64_t channels)
{
    value_id v = keras_weight(c, name, 1, &channels);
    if (!is_trained)
        build_at(c->e->b, v)->is_constant_node = build_at(c->e->b, v)->is_untrained = true;
    return v;
}

void keras_batch_norm(keras_call *c, const char *canonical)
{
    int64_t axis = -1;
    num dims[MAX_RANK];
    int rank = keras_shape(c, c->in[0], dims);
    keras_ints(json_get(c->config, "axis"), &axis, 1);
    num channels = keras_dim(c, c->in[0], (int)(axis < -MAX_RANK || axis > MAX_RANK ? -1 : axis));
    if (!dim_known(channels)) {
        keras_foreign(c);
        return;
    }
    bool is_last = axis < 0 || axis == rank - 1;
    value_id inputs[5] = {c->in[0], norm_weight(c, "gamma", keras_bool(c, "scale", NULL, true), channels),
                          norm_weight(c, "beta", keras_bool(c, "center", NULL, true), channels),
                          norm_weight(c, "moving_mean", false, channels),
                          norm_weight(c, "moving_variance", false, channels)};
    node *n = emit_op(c->e, canonical, inputs, 5, c->out);
    emit_real(n, "epsilon", keras_real(c, "epsilon", 1e-3));
    if (is_last && rank > 2)
        emit_int(n, "channels_last", 1);
}

/* Returns the permutation that moves the normalized axes to the end, and their number; 0 if they are unknown or
 * none. */
static int axes_behind(keras_call *c, const num *dims, int rank, int64_t *perm, int64_t *sizes)
{
    int64_t axes[MAX_RANK] = {-1};
    bool is_normed[MAX_RANK] = {false};
    int given = keras_ints(json_get(c->config, "axis"), axes, MAX_RANK), count = 0, at = 0;
    for (int i = 0; i < (given ? given : 1); i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank || !dim_known(dims[axis]))
            return 0;
        is_normed[axis] = true;
    }
    for (int i = 0; i < rank; i++)
        if (!is_normed[i])
            perm[at++] = i;
    for (int i = 0; i < rank; i++)
        if (is_normed[i]) {
            sizes[count++] = dims[i];
            perm[at++] = i;
        }
    return count;
}

static value_id layer_norm_weight(keras_call *c, const char *name, const char *setting, int rank, const int64_t *sizes)
{
    value_id v = keras_weight(c, name, rank, sizes);
    if (!keras_bool(c, setting, NULL, true))
        build_at(c->e->b, v)->is_constant_node = build_at(c->e->b, v)->is_untrained = true;
    return v;
}

/* Transposes the axes to the end and back, unless they are last already. */
void keras_layer_norm(keras_call *c, const char *canonical)
{
    num dims[MAX_RANK];
    int64_t perm[MAX_RANK], back[MAX_RANK], sizes[MAX_RANK];
    int rank = keras_shape(c, c->in[0], dims), count = axes_behind(c, dims, rank, perm, sizes);
    if (!count) {
        keras_foreign(c);
        return;
    }
    bool is_turned = false;
    for (int i = 0; i < rank; i++) {
        back[perm[i]] = i;
        is_turned |= perm[i] != i;
    }
    value_id x = is_turned ? emit_transpose(c->e, c->in[0], perm, rank, NO_VALUE) : c->in[0];
    value_id y = is_turned ? emit_temp(c->e) : c->out;
    value_id inputs[3] = {x, layer_norm_weight(c, "gamma", "scale", count, sizes),
                          keras_bool(c, "center", NULL, true) ? layer_norm_weight(c, "beta", "center", count, sizes)
                                                              : NO_VALUE};
    node *n = emit_op(c->e, canonical, inputs, 3, y);
    emit_int(n, "axis", -count);
    emit_real(n, "epsilon", keras_real(c, "epsilon", 1e-3));
    if (is_turned)
        emit_transpose(c->e, y, back, rank, c->out);
}

void keras_rms_norm(keras_call *c, const char *canonical)
{
    num channels = keras_dim(c, c->in[0], -1);
    if (!dim_known(channels))
        keras_foreign(c);
    else
        emit_int(
            emit_op(c->e, canonical, (const value_id[]){c->in[0], norm_weight(c, "scale", true, channels)}, 2, c->out),
            "axis", -1);
}

void keras_group_norm(keras_call *c, const char *canonical)
{
    num channels = keras_dim(c, c->in[0], (int)keras_int(c, "axis", NULL, -1));
    if (!dim_known(channels)) {
        keras_foreign(c);
        return;
    }
    value_id inputs[3] = {c->in[0], norm_weight(c, "gamma", keras_bool(c, "scale", NULL, true), channels),
                          norm_weight(c, "beta", keras_bool(c, "center", NULL, true), channels)};
    node *n = emit_op(c->e, canonical, inputs, 3, c->out);
    emit_int(n, "num_groups", keras_int(c, "groups", NULL, 32));
    emit_int(n, "channels_last", 1);
}

/* (x - mean) / deviation, with constants from the data set. */
void keras_normalization(keras_call *c, const char *unused)
{
    (void)unused;
    emitter *e = c->e;
    num channels = keras_dim(c, c->in[0], -1);
    if (!dim_known(channels)) {
        keras_foreign(c);
        return;
    }
    value_id x = emit_2(e, "Sub", c->in[0], norm_weight(c, "mean", false, channels), NO_VALUE);
    emit_2(e, "Div", x, norm_weight(c, "variance", false, channels), c->out);
}

/* x·scale + offset */
void keras_rescaling(keras_call *c, const char *unused)
{
    (void)unused;
    emitter *e = c->e;
    value_id x = emit_2(e, "Mul", c->in[0], emit_scalar(e, DT_FLOAT32, keras_real(c, "scale", 1)), NO_VALUE);
    emit_2(e, "Add", x, emit_scalar(e, DT_FLOAT32, keras_real(c, "offset", 0)), c->out);
}

/* ConvNeXt's factor per channel. */
void keras_layer_scale(keras_call *c, const char *unused)
{
    (void)unused;
    int64_t channels = keras_int(c, "projection_dim", NULL, 0);
    emit_2(c->e, "Mul", c->in[0], keras_weight(c, "gamma", 1, &channels), c->out);
}
