/* shape_other.c: shapes of constants, signals, text, images, and operators removed from the standard since its first
 * versions. */
#include "graph/shape/shape.h"

/* Numbers such as INT64_MIN mark the open end of a range; they stay huge instead of becoming symbols. */
static const num *plain_numbers(infer *c, const int64_t *ints, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (num_known(ints[i]))
            continue;
        num *copy = arena_copy(c->arena, ints, (size_t)count, sizeof *ints);
        for (; i < count; i++)
            copy[i] = num_known(copy[i]) ? copy[i] : -INT64_MAX / 2;
        return copy;
    }
    return ints;
}

/* The output gets the file's tensor, or the attribute's numbers. */
void shape_constant(infer *c)
{
    value *v = out(c, 0);
    for (int32_t i = 0; v && i < c->node->attr_count; i++) {
        const attr *a = &c->node->attrs[i];
        num count = a->count;
        switch (a->kind) {
        case ATTR_TENSOR:
            v->tensor = a->tensor;
            set_out(c, 0, a->tensor->dtype, a->tensor->rank, a->tensor->dims);
            return;
        case ATTR_INT:
            set_out(c, 0, DT_INT64, 0, NULL);
            set_ints(c, 0, arena_copy(c->arena, plain_numbers(c, &a->integer, 1), 1, sizeof(num)));
            return;
        case ATTR_FLOAT:
            set_out(c, 0, DT_FLOAT32, 0, NULL);
            set_reals(c, 0, arena_copy(c->arena, &a->real, 1, sizeof(double)));
            return;
        case ATTR_STRING:
            set_out(c, 0, DT_STRING, 0, NULL);
            return;
        case ATTR_INTS:
            set_out(c, 0, DT_INT64, 1, &count);
            set_ints(c, 0, plain_numbers(c, a->ints, a->count));
            return;
        case ATTR_FLOATS:
            set_out(c, 0, DT_FLOAT32, 1, &count);
            set_reals(c, 0, a->reals);
            return;
        case ATTR_STRINGS:
            set_out(c, 0, DT_STRING, 1, &count);
            return;
        default:
            break;
        }
    }
}

/* Nothing is inferred; the file's declarations give the shapes. */
void shape_unknown(infer *c)
{
    (void)c;
}

/* ---- signals --------------------------------------------------------------------------------------------------- */

/* HannWindow and similar: (size). */
void shape_window(infer *c)
{
    num size;
    if (!scalar_int(c, 0, &size))
        size = NUM_UNKNOWN;
    set_out(c, 0, dtype_of_onnx(attr_int(c, "output_datatype", DT_FLOAT32)), 1, &size);
}

static num one_sided(infer *c, num length)
{
    return num_add(c->nums, num_floordiv(c->nums, length, 2), 1);
}

/* (dft_length/2 + 1, num_mel_bins) */
void shape_mel_weight_matrix(infer *c)
{
    num bins, length;
    num dims[2] = {scalar_int(c, 1, &length) ? one_sided(c, length) : NUM_UNKNOWN,
                   scalar_int(c, 0, &bins) ? bins : NUM_UNKNOWN};
    set_out(c, 0, dtype_of_onnx(attr_int(c, "output_datatype", DT_FLOAT32)), 2, dims);
}

/* (…, signal, 1 or 2) → (…, length or length/2 + 1, 2); the inverse of a one-sided transform is real. */
void shape_dft(infer *c)
{
    const value *v = in(c, 0);
    num axis = c->node->opset < 20 ? attr_int(c, "axis", 1) : -2, length;
    if (!v)
        return;
    set_dtype(c, 0, v->dtype);
    if (v->rank < 2)
        return;
    bool inverse = attr_int(c, "inverse", 0) != 0, onesided = attr_int(c, "onesided", 0) != 0;
    bool resizes = in(c, 1) || onesided;
    if (in(c, 2) && (!scalar_int(c, 2, &axis) || !num_known(axis))) {
        if (resizes) {
            set_rank_only(c, 0, v->dtype, v->rank);
            return;
        }
        axis = 0; /* any axis works, because no length changes */
    }
    int at = axis_of(c, axis, v->rank);
    if (at < 0)
        return;
    num dims[MAX_RANK];
    memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
    if (in(c, 1))
        dims[at] = scalar_int(c, 1, &length) ? length : NUM_UNKNOWN;
    else if (inverse && onesided)
        dims[at] = num_mul(c->nums, num_sub(c->nums, dims[at], 1), 2);
    if (onesided && !inverse)
        dims[at] = one_sided(c, dims[at]);
    dims[v->rank - 1] = onesided && inverse ? 1 : 2;
    set_shape(c, 0, v->rank, dims);
}

/* signal (N, length, 1 or 2) → (N, frames, bins, 2) */
void shape_stft(infer *c)
{
    const value *signal = in(c, 0), *window = in(c, 2);
    num step, frame = NUM_UNKNOWN;
    if (!signal)
        return;
    set_rank_only(c, 0, signal->dtype, 4);
    if (signal->rank < 2)
        return;
    if (in(c, 3))
        frame = scalar_int(c, 3, &frame) ? frame : NUM_UNKNOWN;
    else if (window)
        frame = window->rank == 1 ? window->dims[0] : NUM_UNKNOWN;
    else
        frame = signal->dims[1];
    num dims[4] = {signal->dims[0], NUM_UNKNOWN, attr_int(c, "onesided", 1) ? one_sided(c, frame) : frame, 2};
    if (scalar_int(c, 1, &step))
        dims[1] = num_add(c->nums, num_floordiv(c->nums, num_sub(c->nums, signal->dims[1], frame), step), 1);
    set_shape(c, 0, 4, dims);
}

/* ---- text and images ------------------------------------------------------------------------------------------- */

/* Each string becomes a row of an unknown number of pieces. */
void shape_string_split(infer *c)
{
    const value *v = in(c, 0);
    num dims[MAX_RANK];
    set_dtype(c, 0, DT_STRING);
    set_dtype(c, 1, DT_INT64);
    if (!v || v->rank < 0 || v->rank >= MAX_RANK)
        return;
    if (v->rank)
        memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
    dims[v->rank] = value_elements(c->net, v) == 0 ? 0 : NUM_UNKNOWN;
    set_shape(c, 0, v->rank + 1, dims);
    set_shape(c, 1, v->rank, dims);
}

/* Removed stop words shorten the list by an unknown number. */
void shape_string_normalizer(infer *c)
{
    const value *v = in(c, 0);
    if (!v)
        return;
    set_like(c, 0, v);
    set_dtype(c, 0, DT_STRING);
    if (!node_attr(c->node, "stopwords") || v->rank < 1)
        return;
    num dims[MAX_RANK];
    memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
    dims[v->rank - 1] = NUM_UNKNOWN;
    set_shape(c, 0, v->rank, dims);
}

/* (C) → (K), (N, C) → (N, K) with K the largest of ngram_indexes plus one */
void shape_tf_idf_vectorizer(infer *c)
{
    const value *v = in(c, 0);
    int32_t count;
    const int64_t *indexes = attr_ints(c, "ngram_indexes", &count);
    set_dtype(c, 0, DT_FLOAT32);
    if (!v || v->rank < 0 || v->rank > 2)
        return;
    num last = NUM_UNKNOWN;
    for (int32_t i = 0; i < count; i++)
        if (indexes[i] >= 0 && (last == NUM_UNKNOWN || indexes[i] > last))
            last = indexes[i];
    num dims[2] = {v->rank == 2 ? v->dims[0] : NUM_UNKNOWN, NUM_UNKNOWN};
    int rank = v->rank == 2 ? 2 : 1;
    dims[rank - 1] = num_add(c->nums, last, 1);
    set_shape(c, 0, rank, dims);
}

/* Height and width are only in the encoded bytes. */
void shape_image_decoder(infer *c)
{
    bool gray = str_is(attr_string(c, "pixel_format", "RGB"), "Grayscale");
    num dims[3] = {NUM_UNKNOWN, NUM_UNKNOWN, gray ? 1 : 3};
    set_out(c, 0, DT_UINT8, 3, dims);
}

/* ---- first operator sets --------------------------------------------------------------------------------------- */

/* (N, C, H, W); border: left, top, right, bottom; scale: height and width of the result. */
void shape_crop(infer *c)
{
    const value *v = in(c, 0);
    int32_t border_count, scale_count;
    if (!v)
        return;
    set_dtype(c, 0, v->dtype);
    const int64_t *border = attr_ints(c, "border", &border_count), *scale = attr_ints(c, "scale", &scale_count);
    if (v->rank != 4 || border_count != 4)
        return;
    num dims[4] = {v->dims[0], v->dims[1], v->dims[2], v->dims[3]};
    for (int i = 0; i < 2; i++)
        dims[2 + i] = scale && scale_count == 2
                          ? scale[i]
                          : num_sub(c->nums, v->dims[2 + i], num_add(c->nums, border[1 - i], border[3 - i]));
    set_shape(c, 0, 4, dims);
}
