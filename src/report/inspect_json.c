/* inspect_json.c: `sooth inspect --format json`. Scripts read it: fields may be added, never renamed. */
#include "report/json.h"
#include "report/report.h"

enum { SCHEMA = 1 }; /* version of the fields: doc/json.md */

/* Array of numbers; an unknown dimension is its symbol or null. Null if the rank is unknown. */
static void shape(report *r, json *j, size_t index)
{
    if (index == SIZE_MAX) {
        json_null(j);
        return;
    }
    sooth_value v = sooth_value_at(r->model, index);
    if (v.rank < 0) {
        json_null(j);
        return;
    }
    json_open(j, '[', true);
    for (int i = 0; i < v.rank; i++) {
        const char *symbol = v.dims[i] < 0 ? sooth_dim_text(r->model, v.dims[i]) : NULL;
        if (symbol)
            json_string(j, symbol);
        else
            json_number(j, v.dims[i]);
    }
    json_close(j, ']');
}

static void tensor_of(report *r, json *j, size_t index)
{
    sooth_value v = sooth_value_at(r->model, index);
    json_open(j, '{', true);
    json_pair_string(j, "name", v.name);
    json_key(j, "dtype");
    if (v.dtype && *v.dtype)
        json_string(j, v.dtype);
    else
        json_null(j);
    json_key(j, "shape");
    shape(r, j, index);
    if (!v.is_tensor) {
        json_key(j, "tensor");
        json_bool(j, false);
    }
    json_close(j, '}');
}

static void tensors(report *r, json *j, const char *key, size_t count, size_t (*at)(const sooth_model *, size_t))
{
    json_key(j, key);
    json_open(j, '[', false);
    for (size_t i = 0; i < count; i++)
        tensor_of(r, j, at(r->model, i));
    json_close(j, ']');
}

static size_t itself(const sooth_model *model, size_t index)
{
    (void)model;
    return index;
}

static void costs(json *j, const figures *f)
{
    json_pair_number(j, "params", f->params);
    json_pair_number(j, "macs", f->macs);
    json_pair_number(j, "flops", f->flops);
}

/* Names of the tensors that a layer reads or writes. */
static void tensor_names(report *r, json *j, const char *key, size_t layer, size_t count,
                         size_t (*at)(const sooth_model *, size_t, size_t))
{
    json_key(j, key);
    json_open(j, '[', true);
    for (size_t i = 0; i < count; i++) {
        size_t value = at(r->model, layer, i);
        if (value != SIZE_MAX)
            json_string(j, sooth_value_at(r->model, value).name);
    }
    json_close(j, ']');
}

static void layers(report *r, json *j)
{
    json_key(j, "layers");
    json_open(j, '[', false);
    for (size_t i = 0; i < r->row_count; i++) {
        const report_row one = report_row_at(r, i), *row = &one;
        text_pass_on(r->out);
        json_open(j, '{', true);
        json_pair_string(j, "name", row->name);
        json_key(j, "op");
        if (row->op)
            json_string(j, row->op);
        else
            json_null(j);
        json_key(j, "shape");
        shape(r, j, row->last_layer == SIZE_MAX ? SIZE_MAX : report_first_output(r->model, row->last_layer));
        costs(j, &row->sums);
        json_pair_number(j, "weight_bytes", row->sums.weight_bytes);
        json_pair_number(j, "activation_bytes", row->sums.activation_bytes);
        json_pair_number(j, "repeat", row->repeat);
        json_pair_number(j, "fused", row->fused_count);
        if (r->options.depth || r->options.top)
            json_pair_number(j, "layers", row->layer_count);
        if (r->options.values && row->layer_count == 1 && row->last_layer != SIZE_MAX) {
            sooth_layer layer = sooth_layer_at(r->model, row->last_layer);
            tensor_names(r, j, "inputs", row->last_layer, layer.input_count, sooth_layer_input);
            tensor_names(r, j, "outputs", row->last_layer, layer.output_count, sooth_layer_output);
        }
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void operators(report *r, json *j)
{
    json_key(j, "operators");
    json_open(j, '[', false);
    for (size_t i = 0; i < r->operator_count; i++) {
        const operator_row *o = &r->operators[i];
        json_open(j, '{', true);
        json_pair_string(j, "op", o->op);
        json_pair_number(j, "count", o->count);
        costs(j, &o->sums);
        json_pair_string(j, "kind", o->kind);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void unknown_operators(report *r, json *j)
{
    json_key(j, "unknown_operators");
    json_open(j, '[', false);
    for (size_t i = 0; i < r->operator_count; i++) {
        if (r->operators[i].op_known)
            continue;
        json_open(j, '{', true);
        json_pair_string(j, "op", r->operators[i].op);
        json_pair_number(j, "count", r->operators[i].count);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void inspect_json(report *r)
{
    json writer = {.out = r->out}, *j = &writer;
    sooth_info info = sooth_info_of(r->model);
    json_open(j, '{', false);
    json_identity(j, SCHEMA, NULL);

    json_key(j, "model");
    json_open(j, '{', true);
    json_pair_string(j, "file", info.file);
    json_pair_string(j, "format", info.format);
    json_pair_string(j, "producer", info.producer);
    json_pair_string(j, "graph", info.graph_name);
    json_close(j, '}');

    tensors(r, j, "inputs", sooth_input_count(r->model), sooth_input);
    tensors(r, j, "outputs", sooth_output_count(r->model), sooth_output);
    json_key(j, "dimensions");
    json_open(j, '[', true);
    const char *symbol;
    for (size_t i = 0; (symbol = sooth_symbol(r->model, i)); i++)
        json_string(j, symbol);
    json_close(j, ']');

    json_key(j, "totals");
    json_open(j, '{', true);
    json_pair_number(j, "params", r->totals.params);
    json_pair_number(j, "macs", r->totals.macs);
    json_pair_number(j, "flops", r->totals.flops);
    json_pair_number(j, "weight_bytes", r->totals.weight_bytes);
    json_pair_number(j, "activation_bytes", r->totals.activation_bytes);
    json_pair_number(j, "nodes", r->totals.nodes);
    json_pair_number(j, "unknown_layers", r->totals.unknown_layers);
    if (r->totals.macs_text)
        json_pair_string(j, "macs_expression", r->totals.macs_text);
    if (r->totals.flops_text)
        json_pair_string(j, "flops_expression", r->totals.flops_text);
    if (r->totals.activation_bytes_text)
        json_pair_string(j, "activation_bytes_expression", r->totals.activation_bytes_text);
    json_close(j, '}');

    operators(r, j);
    layers(r, j);
    if (r->options.values)
        tensors(r, j, "values", sooth_value_count(r->model), itself);
    unknown_operators(r, j);

    json_key(j, "notes");
    json_open(j, '[', false);
    for (size_t i = 0; i < sooth_note_count(r->model); i++)
        json_string(j, sooth_note_at(r->model, i));
    json_close(j, ']');

    json_close(j, '}');
    text_puts(r->out, "\n");
}
