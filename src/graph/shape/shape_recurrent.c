/* shape_recurrent.c: shapes of RNN, GRU and LSTM. */
#include "graph/shape/shape_nn.h"

/* Y is (steps, directions, batch, hidden), the last states (directions, batch, hidden); with layout 1 the batch is
 * first. */
void shape_recurrent(infer *c)
{
    const value *x = in(c, 0), *recurrence = in(c, 2);
    bool batch_first = attr_int(c, "layout", 0) == 1;
    bool both_ways = str_is(attr_string(c, "direction", "forward"), "bidirectional");
    num directions = both_ways ? 2 : 1;
    num hidden = attr_int(c, "hidden_size", NUM_UNKNOWN);
    if (hidden == NUM_UNKNOWN)
        hidden = dim_of(recurrence, node_is(c->node, "DynamicQuantizeLSTM") ? 1 : 2);
    num steps = dim_of(x, batch_first ? 1 : 0), batch = dim_of(x, batch_first ? 0 : 1);
    dtype t = dtype_in(c, 0, DT_UNKNOWN);
    num all[4] = {steps, directions, batch, hidden}, last[3] = {directions, batch, hidden};
    if (batch_first) {
        all[0] = last[0] = batch;
        all[1] = steps;
        all[2] = last[1] = directions;
    }
    set_out(c, 0, t, 4, all);
    set_out(c, 1, t, 3, last);
    set_out(c, 2, t, 3, last);
}
