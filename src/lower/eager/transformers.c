/* transformers.c: how the code of Hugging Face's transformers trains language models of 2024 and later, where the
 * graph of a configuration does not show it. */
#include "lower/eager/eager.h"

int eager_transformers_version(const sooth_model *model)
{
    static const char NAME[] = "transformers";
    enum { NEWEST = 9999 };
    str made_by = model->source.producer;
    if (!str_starts(made_by, NAME))
        return 0;
    int parts[2] = {0};
    size_t at = strlen(NAME) + 1;
    if (at >= made_by.len)
        return NEWEST;
    for (int i = 0; i < 2; i++, at++)
        for (; at < made_by.len && made_by.ptr[at] >= '0' && made_by.ptr[at] <= '9' && parts[i] < 100; at++)
            parts[i] = parts[i] * 10 + (made_by.ptr[at] - '0');
    return parts[0] * 100 + parts[1];
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

/* Returns the input of an RMS norm if the node squares it or scales it; NO_VALUE for any other node. */
static value_id norm_input(const eager *e)
{
    const node *n = e->node;
    if (n->input_count < 2 || n->output_count < 1 || n->outputs[0] == NO_VALUE)
        return NO_VALUE;
    if (node_is(n, "Pow")) {
        const node *reader = eager_reader_of(e, n->outputs[0]);
        return reader && node_is(reader, "ReduceMean") ? n->inputs[0] : NO_VALUE;
    }
    bool scales = node_is(n, "Mul") && n->inputs[0] == e->in_float && eager_maker_of(e, n->inputs[1], "Reciprocal");
    return scales ? n->inputs[0] : NO_VALUE;
}

tensor_id eager_enter_norm(eager *e)
{
    value_id v = e->transformers && !e->autocasts ? norm_input(e) : NO_VALUE;
    tensor_id own = v == NO_VALUE ? NO_TENSOR : eager_tensor_of(e, v);
    if (own == NO_TENSOR || !eager_is_low(tensor_dtype(e, own)))
        return NO_TENSOR;
    if (e->in_float != v) {
        e->in_float = v;
        e->float_copy = eager_cast(e, own, DT_FLOAT32);
    }
    e->of_value[v] = e->float_copy;
    return own;
}

void eager_leave_norm(eager *e, tensor_id own)
{
    if (own == NO_TENSOR)
        return;
    e->of_value[e->in_float] = own;
    if (node_is(e->node, "Mul")) {
        value_id made = e->node->outputs[0];
        e->of_value[made] = eager_cast(e, e->of_value[made], tensor_dtype(e, own));
        e->in_float = NO_VALUE;
    }
}

/* ---- loss -------------------------------------------------------------------------------------------------------- */

/* ForCausalLMLoss: the loss is computed in float32. Versions before 4.50 copied all but the last token; later ones
 * shift the labels instead. */
tensor_id eager_loss_logits(eager *e, tensor_id y)
{
    enum { SHIFTS_LABELS = 450 };
    y = eager_cast(e, y, DT_FLOAT32);
    extent x = tensor_extent(e, y);
    if (e->transformers >= SHIFTS_LABELS || x.rank != 3 || x.dims[1] < 2)
        return y;
    x.dims[1]--;
    return eager_clone(e, eager_view_as(e, "slice", y, &x));
}
