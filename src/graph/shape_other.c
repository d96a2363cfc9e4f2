/* shape_other.c: operators of no larger family. */
#include "graph/shape.h"

/* Attributes stand for the data: the output takes the file's tensor, or the numbers of the attribute. */
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
            set_ints(c, 0, arena_copy(c->arena, &a->integer, 1, sizeof(num)));
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
            set_ints(c, 0, a->ints);
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
