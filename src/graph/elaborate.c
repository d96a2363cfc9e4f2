#include "graph/elaborate.h"
#include "graph/bind.h"
#include "graph/infer.h"

void elaborate_begin(builder *b, void (*run)(sooth_model *model, void *program), void *program)
{
    source *s = b->source;
    elaboration *e = ARENA_NEW(b->arena, elaboration);
    s->elaboration = e;
    e->run = run;
    e->program = program;
    e->base = *s;
    /* Arrays without spare capacity, because a run appends to copies of them that the next run frees. */
    e->base.values.capacity = s->values.count;
    e->base.main.nodes.capacity = s->main.nodes.count;
    e->base.main.outputs.capacity = s->main.outputs.count;
    e->mark = arena_marked(b->arena);
    *s = e->base;
    infer_network(b->model, NULL);
}

void elaborate_undo(sooth_model *model)
{
    elaboration *e = model->source.elaboration;
    if (!e)
        return;
    arena_rewind(&model->source_arena, e->mark);
    model->source = e->base;
}

void elaborate_run(sooth_model *model)
{
    elaboration *e = model->source.elaboration;
    e->contradicted = (str){0};
    e->run(model, e->program);
    model->source.main.end_value = model->source.values.count;
}

value_id elaborate_value(sooth_model *model, str name)
{
    const value v = {
        .name = name, .rank = RANK_UNKNOWN, .producer = NO_NODE, .copied_from = NO_VALUE, .reordered_of = NO_VALUE};
    *(value *)ARENA_PUSH_ROOM(&model->source_arena, &model->source.values) = v;
    *(value *)ARENA_PUSH_ROOM(model->net.arena, &model->net.values) = v;
    return model->net.values.count - 1;
}

value_id elaborate_constant(sooth_model *model, str name, const tensor *t)
{
    value_id id = elaborate_value(model, name);
    value *v = &model->source.values.items[id];
    v->dtype = t->dtype;
    v->rank = t->rank;
    v->dims = arena_copy(&model->source_arena, t->dims, (size_t)t->rank, sizeof *t->dims);
    v->is_initializer = v->is_declared = v->is_constant_node = true;
    v->tensor = t;
    model->net.values.items[id] = *v;
    return id;
}

void elaborate_declare(sooth_model *model, value_id id, dtype t, int rank, const num *dims)
{
    value *v = &model->source.values.items[id];
    if (v->is_initializer || v->is_declared || rank > MAX_RANK)
        return;
    v->dtype = t;
    v->rank = (int8_t)rank;
    v->dims = arena_copy(&model->source_arena, dims, rank > 0 ? (size_t)rank : 0, sizeof *dims);
    v->is_declared = true;
    model->net.values.items[id].is_declared = !model->binding->overrides;
    infer_merge_declared(model, id);
}

void elaborate_node(sooth_model *model, const node *n)
{
    const scope top = {.repeat = n->repeat};
    *(node *)ARENA_PUSH_ROOM(&model->source_arena, &model->source.main.nodes) = *n;
    model->source.node_count++;
    infer_append(model, n, &top);
}

void elaborate_output(sooth_model *model, value_id id)
{
    *(int32_t *)ARENA_PUSH(&model->source_arena, &model->source.main.outputs) = id;
}
