/* inspect_csv.c: `sooth inspect --format csv`: a header and one row per layer, or per tensor with --values. There is
 * no row of totals, which are the sums of the columns. An empty field is unknown. */
#include "report/report.h"

#include <inttypes.h>

static void shape_field(report *r, size_t value)
{
    arena_mark before = arena_marked(r->scratch);
    const char *shape = report_shape(r, value, "x");
    text_csv_text(r->out, strcmp(shape, "?") == 0 ? "" : shape);
    arena_rewind(r->scratch, before);
}

static void tensors(report *r)
{
    text_puts(r->out, "name,dtype,shape\n");
    for (size_t i = 0; i < sooth_value_count(r->model); i++) {
        sooth_value v = sooth_value_at(r->model, i);
        text_csv(r->out, v.name);
        text_printf(r->out, ",%s", v.dtype ? v.dtype : "");
        shape_field(r, i);
        text_puts(r->out, "\n");
        text_pass_on(r->out);
    }
}

void inspect_csv(report *r)
{
    if (r->options.values) {
        tensors(r);
        return;
    }
    text_puts(r->out, "name,op,shape,params,macs,flops,weight_bytes,activation_bytes,repeat,fused,layers\n");
    for (size_t i = 0; i < r->row_count; i++) {
        const report_row one = report_row_at(r, i), *row = &one;
        text_pass_on(r->out);
        text_csv(r->out, row->name);
        text_csv_text(r->out, row->op);
        shape_field(r, row->last_layer == SIZE_MAX ? SIZE_MAX : report_first_output(r->model, row->last_layer));
        text_csv_number(r->out, row->sums.params);
        text_csv_number(r->out, row->sums.macs);
        text_csv_number(r->out, row->sums.flops);
        text_csv_number(r->out, row->sums.weight_bytes);
        text_csv_number(r->out, row->sums.activation_bytes);
        text_csv_number(r->out, row->repeat);
        text_csv_number(r->out, row->fused_count);
        text_csv_number(r->out, row->layer_count);
        text_puts(r->out, "\n");
    }
}
