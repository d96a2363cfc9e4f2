/* shape_ml.c: shapes of ai.onnx.ml and ai.onnx.preview.training. Inputs are (N, features) or (features); each input
 * row gives one output row. */
#include "graph/shape/shape.h"

static num row_count(const value *v)
{
    return !v || v->rank < 0 ? NUM_UNKNOWN : v->rank == 1 ? 1 : v->rank == 0 ? 1 : v->dims[0];
}

/* Length of a list attribute; 0 if absent. */
static int32_t attr_count(const infer *c, const char *name)
{
    const attr *a = node_attr(c->node, name);
    return a && (a->kind == ATTR_INTS || a->kind == ATTR_FLOATS || a->kind == ATTR_STRINGS) ? a->count : 0;
}

static dtype attr_tensor_dtype(const infer *c, const char *name)
{
    const attr *a = node_attr(c->node, name);
    return a && a->kind == ATTR_TENSOR ? a->tensor->dtype : DT_UNKNOWN;
}

/* Number of classes and type of their labels, from either of the two attributes. */
static num classes(const infer *c, const char *strings, const char *ints, dtype *label)
{
    int32_t named = attr_count(c, strings), numbered = attr_count(c, ints);
    *label = named ? DT_STRING : DT_INT64;
    return named ? named : numbered ? numbered : NUM_UNKNOWN;
}

static void set_scores(infer *c, int i, num rows, num columns)
{
    num dims[2] = {rows, columns};
    set_out(c, i, DT_FLOAT32, 2, dims);
}

/* Labels (N) and scores (N, classes). A binary classifier with one score column still outputs two. */
void shape_classifier(infer *c)
{
    dtype label;
    num rows = row_count(in(c, 0));
    num count = classes(c, "classlabels_strings",
                        node_is(c->node, "LinearClassifier") ? "classlabels_ints" : "classlabels_int64s", &label);
    if (count == NUM_UNKNOWN)
        count = classes(c, "classlabels_strings", "classlabels_ints", &label);
    /* Without labels, the number of intercepts is that of classes. */
    if (count == NUM_UNKNOWN && node_is(c->node, "LinearClassifier") && attr_count(c, "intercepts"))
        count = attr_count(c, "intercepts");
    if (count == 1)
        count = 2;
    set_out(c, 0, label, 1, &rows);
    set_scores(c, 1, rows, count);
}

/* Output (N, targets). */
void shape_regressor(infer *c)
{
    num targets = node_is(c->node, "SVMRegressor")
                      ? 1
                      : attr_int(c, node_is(c->node, "LinearRegressor") ? "targets" : "n_targets",
                                 node_is(c->node, "LinearRegressor") ? 1 : NUM_UNKNOWN);
    set_scores(c, 0, row_count(in(c, 0)), targets);
}

void shape_tree_ensemble(infer *c)
{
    num dims[2] = {row_count(in(c, 0)), attr_int(c, "n_targets", NUM_UNKNOWN)};
    set_out(c, 0, in(c, 0) ? in(c, 0)->dtype : DT_UNKNOWN, 2, dims);
}

/* Normalizer, Scaler: floats of the input's shape. */
void shape_same_float(infer *c)
{
    const value *v = in(c, 0);
    if (v)
        set_out(c, 0, DT_FLOAT32, v->rank, v->dims);
}

/* The output has the type of the mapped values. */
void shape_label_encoder(infer *c)
{
    const value *v = in(c, 0);
    if (!v)
        return;
    dtype t = attr_tensor_dtype(c, "values_tensor");
    if (attr_count(c, "values_strings"))
        t = DT_STRING;
    else if (attr_count(c, "values_int64s"))
        t = DT_INT64;
    else if (attr_count(c, "values_floats"))
        t = DT_FLOAT32;
    else if (attr_count(c, "classes_strings")) /* version 1: the output type is the one that the input does not have */
        t = v->dtype == DT_STRING ? DT_INT64 : DT_STRING;
    set_out(c, 0, t, v->rank, v->dims);
}

void shape_category_mapper(infer *c)
{
    const value *v = in(c, 0);
    if (v)
        set_out(c, 0,
                v->dtype == DT_STRING  ? DT_INT64
                : v->dtype == DT_INT64 ? DT_STRING
                                       : DT_UNKNOWN,
                v->rank, v->dims);
}

/* Adds a dimension for the categories. */
void shape_one_hot_encoder(infer *c)
{
    const value *v = in(c, 0);
    set_dtype(c, 0, DT_FLOAT32);
    if (!v || v->rank < 0 || v->rank >= MAX_RANK)
        return;
    num dims[MAX_RANK];
    int32_t count = attr_count(c, "cats_strings") ? attr_count(c, "cats_strings") : attr_count(c, "cats_int64s");
    if (v->rank)
        memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
    dims[v->rank] = count ? count : NUM_UNKNOWN;
    set_shape(c, 0, v->rank + 1, dims);
}

/* Selects columns of the last dimension by index; one-dimensional data give one row. */
void shape_array_feature_extractor(infer *c)
{
    const value *v = in(c, 0), *indices = in(c, 1);
    if (!v || !indices)
        return;
    set_dtype(c, 0, v->dtype);
    if (v->rank < 0 || indices->rank < 0)
        return;
    num dims[MAX_RANK], picked = value_elements(c->net, indices);
    if (v->rank <= 1) {
        dims[0] = 1;
        dims[1] = picked;
        set_shape(c, 0, 2, dims);
        return;
    }
    memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
    dims[v->rank - 1] = picked;
    set_shape(c, 0, v->rank, dims);
}

/* Concatenates all inputs: (N, sum of inputdimensions). */
void shape_feature_vectorizer(infer *c)
{
    int32_t count;
    const int64_t *widths = attr_ints(c, "inputdimensions", &count);
    num total = widths && count ? 0 : NUM_UNKNOWN;
    for (int32_t i = 0; i < count; i++)
        total = num_add(c->nums, total, widths[i]);
    set_scores(c, 0, row_count(in(c, 0)), total);
}

/* A sequence with one map per row. */
void shape_zip_map(infer *c)
{
    value *o = out(c, 0);
    if (!o)
        return;
    o->kind = VALUE_SEQUENCE;
    o->element_count = -1;
    set_dtype(c, 0, DT_FLOAT32);
}

/* A map becomes a row with one column per word. */
void shape_dict_vectorizer(infer *c)
{
    int32_t words = attr_count(c, "string_vocabulary"), numbers = attr_count(c, "int64_vocabulary");
    num dims[2] = {1, words ? words : numbers ? numbers : NUM_UNKNOWN};
    set_shape(c, 0, 2, dims);
}

void shape_cast_map(infer *c)
{
    str to = attr_string(c, "cast_to", "TO_FLOAT");
    bool is_dense = str_is(attr_string(c, "map_form", "DENSE"), "DENSE");
    num dims[2] = {1, is_dense ? NUM_UNKNOWN : attr_int(c, "max_map", 1)};
    set_out(c, 0, str_is(to, "TO_STRING") ? DT_STRING : str_is(to, "TO_INT64") ? DT_INT64 : DT_FLOAT32, 2, dims);
}

/* ---- ai.onnx.preview.training ---------------------------------------------------------------------------------- */

/* Inputs: R, T, then `groups` tensors for each of n parameters (X, G, optimizer state). Outputs: the new X and
 * state, each with the shape of the input it replaces. */
static void set_updated(infer *c, int groups)
{
    int n = (c->node->input_count - 2) / groups;
    for (int i = 0; i < c->node->output_count; i++) {
        int input = i < n ? 2 + i : 2 + n + i;
        set_like(c, i, in(c, input));
    }
}

void shape_optimizer_one_state(infer *c)
{
    set_updated(c, 3);
}

void shape_optimizer_two_states(infer *c)
{
    set_updated(c, 4);
}

/* Gradients have the shapes of the tensors they are taken with respect to: the first inputs. */
void shape_gradient(infer *c)
{
    for (int i = 0; i < c->node->output_count; i++)
        set_like(c, i, in(c, i));
}
