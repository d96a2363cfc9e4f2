/* hlo_control.c: maps calls, branches and loops. */
#include "front/hlo/hlo.h"

static str region_prefix(hlo_writer *w, str name)
{
    return arena_printf(w->e.b->arena, "%.*s.%d/", STR_ARG(name), ++w->calls);
}

/* Writes the region's operators into the open graph; its results go to `results`. */
static void inline_region(hlo_writer *w, const hlo_region *r, str name, hlo_bound *results, int32_t count)
{
    str outer = w->prefix;
    w->prefix = region_prefix(w, name);
    hlo_region_ops(w, r);
    w->prefix = outer;
    const hlo_op *end = hlo_terminator(r);
    for (int32_t i = 0; i < count; i++)
        results[i] = end && str_is(end->name, "return") && i < end->operand_count
                         ? *hlo_bound_of(w, end->operands[i])
                         : (hlo_bound){.kind = HLO_NOTHING, .id = NO_VALUE};
}

static void bind_results(hlo_writer *w, const hlo_op *o, const hlo_bound *results)
{
    for (int32_t i = 0; i < o->result_count; i++)
        hlo_bind_as(w, o->first_result + i, results[i]);
}

void hlo_map_call(hlo_writer *w, const hlo_op *o)
{
    str callee = o->callee;
    const hlo_attr *decomposition = hlo_attr_of(o, "decomposition", "callee");
    if (decomposition)
        callee = decomposition->text;
    const hlo_function *f = callee.len ? hlo_find_function(w->m, callee) : NULL;
    const hlo_region *r = f ? &f->body : o->region_count == 1 ? o->regions[0] : NULL;
    if (!r || (f && !f->has_body) || r->argument_count != o->operand_count) {
        hlo_foreign(w, o);
        return;
    }
    hlo_bound *arguments = ARENA_ARRAY(w->e.b->arena, hlo_bound, (size_t)o->operand_count + 1);
    hlo_bound *results = ARENA_ARRAY(w->e.b->arena, hlo_bound, (size_t)o->result_count + 1);
    for (int32_t i = 0; i < o->operand_count; i++)
        arguments[i] = *hlo_bound_of(w, o->operands[i]);
    for (int32_t i = 0; i < o->operand_count; i++)
        hlo_bind_as(w, r->first_argument + i, arguments[i]);
    inline_region(w, r, f ? f->name : o->name, results, o->result_count);
    bind_results(w, o, results);
}

/* ---- branches ---------------------------------------------------------------------------------------------------- */

/* HLO passes one operand to each branch; branches in MLIR read outer values. */
static void bind_branch_argument(hlo_writer *w, const hlo_op *o, int32_t branch)
{
    const hlo_region *r = o->regions[branch];
    if (r->argument_count == 1 && o->operand_count > 1 + branch) {
        hlo_bound argument = *hlo_bound_of(w, o->operands[1 + branch]);
        hlo_bind_as(w, r->first_argument, argument);
    }
}

/* Opens a graph with a new number, for a branch or a loop body. */
static graph *open_graph(hlo_writer *w, int32_t *outer)
{
    graph *g = ARENA_NEW(w->e.b->arena, graph);
    *outer = w->graph;
    w->graph = ++w->graphs;
    g->name = STR("");
    build_open(w->e.b, g, false);
    return g;
}

static void close_graph(hlo_writer *w, int32_t outer)
{
    build_close(w->e.b);
    w->graph = outer;
}

/* Adds an output. Outputs must be values made in the graph itself. */
static void add_output(hlo_writer *w, value_id id)
{
    build_output(w->e.b, emit_1(&w->e, "Identity", id, NO_VALUE));
}

static value_id result_of(hlo_writer *w, const hlo_region *r, int32_t i)
{
    const hlo_op *end = hlo_terminator(r);
    if (!end || !str_is(end->name, "return") || i >= end->operand_count)
        return NO_VALUE;
    return hlo_bound_of(w, end->operands[i])->kind == HLO_UNBOUND ? NO_VALUE : hlo_in(w, end->operands[i]);
}

static graph *branch_graph(hlo_writer *w, const hlo_op *o, int32_t branch)
{
    int32_t outer;
    graph *g = open_graph(w, &outer);
    str prefix = w->prefix;
    bind_branch_argument(w, o, branch);
    w->prefix = region_prefix(w, o->name);
    hlo_region_ops(w, o->regions[branch]);
    for (int32_t i = 0; i < o->result_count; i++) {
        value_id id = result_of(w, o->regions[branch], i);
        if (id != NO_VALUE)
            add_output(w, id);
    }
    w->prefix = prefix;
    close_graph(w, outer);
    return g;
}

/* Selects branch `first` if the index equals it, otherwise one of the later branches. */
static void choose(hlo_writer *w, const hlo_op *o, value_id index, int32_t first, const value_id *outputs,
                   int output_count)
{
    emitter *e = &w->e;
    value_id condition = index;
    if (hlo_type_of(w, o->operands[0])->dtype != DT_BOOL)
        condition = emit_2(e, "Equal", index, emit_scalar(e, hlo_type_of(w, o->operands[0])->dtype, first), NO_VALUE);
    graph *taken = branch_graph(w, o, first), *other;
    if (first + 2 >= o->region_count) {
        other = branch_graph(w, o, first + 1);
    } else {
        int32_t outer;
        value_id *inner = ARENA_ARRAY(e->b->arena, value_id, (size_t)output_count + 1);
        if (++w->depth > MAX_NESTING)
            fail_with(&e->b->model->fail, SOOTH_ERROR_INPUT, "a choice has more than %d branches", MAX_NESTING);
        other = open_graph(w, &outer);
        for (int i = 0; i < output_count; i++)
            inner[i] = emit_temp(e);
        choose(w, o, index, first + 1, inner, output_count);
        for (int i = 0; i < output_count; i++)
            build_output(e->b, inner[i]);
        close_graph(w, outer);
        w->depth--;
    }
    node *n = emit_many(e, "If", &condition, 1, outputs, output_count);
    emit_graph(n, "then_branch", taken);
    emit_graph(n, "else_branch", other);
}

bool hlo_map_case(hlo_writer *w, const hlo_op *o)
{
    int64_t index;
    bool is_bool = hlo_type_of(w, o->operands[0])->dtype == DT_BOOL;
    if (o->region_count < 1)
        return false;
    bool is_known = hlo_number(w, o->operands[0], &index);
    if (is_known && is_bool)
        index = index ? 0 : 1;
    if (is_known && (index < 0 || index >= o->region_count))
        index = o->region_count - 1;
    if (o->region_count == 1) {
        is_known = true;
        index = 0;
    }
    if (is_known) {
        hlo_bound *results = ARENA_ARRAY(w->e.b->arena, hlo_bound, (size_t)o->result_count + 1);
        bind_branch_argument(w, o, (int32_t)index);
        inline_region(w, o->regions[index], o->name, results, o->result_count);
        bind_results(w, o, results);
        return true;
    }
    if (is_bool && o->region_count != 2)
        return false;
    value_id *outputs = ARENA_ARRAY(w->e.b->arena, value_id, (size_t)o->result_count + 1);
    int count = 0;
    for (int32_t i = 0; i < o->result_count; i++) {
        if (hlo_type_of(w, o->first_result + i)->rank < 0)
            return false;
        outputs[count++] = hlo_result(w, o->first_result + i);
    }
    if (!count)
        return false;
    choose(w, o, hlo_in(w, o->operands[0]), 0, outputs, count);
    for (int32_t i = 0; i < o->result_count; i++)
        hlo_bind(w, o->first_result + i, outputs[i]);
    return true;
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* The carried values of a loop as a list; in HLO they are one tuple. */
typedef struct loop {
    const hlo_op *o;
    const hlo_region *condition, *body;
    int32_t count;
    const hlo_bound *initial;
    bool is_tuple;
    hlo_type *types;
} loop;

static bool read_loop(hlo_writer *w, const hlo_op *o, loop *l)
{
    builder *b = w->e.b;
    if (o->region_count != 2 || o->operand_count < 1)
        return false;
    *l = (loop){.o = o, .condition = o->regions[0], .body = o->regions[1], .count = o->operand_count};
    const hlo_type *first = hlo_type_of(w, o->operands[0]);
    l->is_tuple = o->operand_count == 1 && first->elements;
    if (l->is_tuple)
        l->count = first->element_count;
    hlo_bound *initial = ARENA_ARRAY(b->arena, hlo_bound, (size_t)l->count + 1);
    l->types = ARENA_ARRAY(b->arena, hlo_type, (size_t)l->count + 1);
    const hlo_bound *tuple = hlo_bound_of(w, o->operands[0]);
    if (l->is_tuple && (tuple->kind != HLO_TUPLE || tuple->element_count != l->count))
        return false;
    for (int32_t i = 0; i < l->count; i++) {
        initial[i] = l->is_tuple ? tuple->elements[i] : *hlo_bound_of(w, o->operands[i]);
        l->types[i] = l->is_tuple ? first->elements[i] : *hlo_type_of(w, o->operands[i]);
        bool is_whole = initial[i].kind == HLO_PLAIN || initial[i].kind == HLO_NOTHING;
        if (!is_whole && l->is_tuple)
            return false;
    }
    l->initial = initial;
    int32_t arguments = l->is_tuple ? 1 : l->count;
    return l->body->argument_count == arguments && l->condition->argument_count == arguments;
}

/* Returns which carried value `v` is inside a region of the loop; -1 if it is none. */
static int32_t carried(hlo_writer *w, const loop *l, const hlo_region *r, hlo_value v)
{
    const hlo_op *maker = hlo_at(w->m, v)->maker;
    if (l->is_tuple) {
        if (!maker || !str_is(maker->name, "get_tuple_element") || maker->operands[0] != r->first_argument)
            return -1;
        return (int32_t)hlo_int(maker, "index", "list", -1);
    }
    return v >= r->first_argument && v < r->first_argument + r->argument_count ? v - r->first_argument : -1;
}

static hlo_value next_of(hlo_writer *w, const loop *l, int32_t i)
{
    const hlo_op *end = hlo_terminator(l->body);
    if (!end || !str_is(end->name, "return"))
        return HLO_NO_VALUE;
    if (l->is_tuple) {
        end = end->operand_count == 1 ? hlo_at(w->m, end->operands[0])->maker : NULL;
        if (!end || !str_is(end->name, "tuple"))
            return HLO_NO_VALUE;
    }
    return i < end->operand_count ? end->operands[i] : HLO_NO_VALUE;
}

static bool constant_of(hlo_writer *w, hlo_value v, int64_t *number)
{
    const hlo_op *maker = v == HLO_NO_VALUE ? NULL : hlo_at(w->m, v)->maker;
    return maker && maker->constant && dtype_is_integer(maker->constant->dtype) &&
           maker->constant->encoding == TENSOR_RAW && tensor_ints(maker->constant, number, 1);
}

static bool initial_number(hlo_writer *w, const loop *l, int32_t i, int64_t *number)
{
    const tensor *t =
        i >= 0 && i < l->count && l->initial[i].kind != HLO_NOTHING ? emit_constant_of(&w->e, l->initial[i].id) : NULL;
    return t && t->rank == 0 && dtype_is_integer(t->dtype) && tensor_ints(t, number, 1);
}

/* Trip count of i < limit; i += step. -1 if unknown. */
static int64_t rounds_of(hlo_writer *w, const loop *l)
{
    const hlo_op *end = hlo_terminator(l->condition);
    const hlo_op *compare = end && end->operand_count == 1 ? hlo_at(w->m, end->operands[0])->maker : NULL;
    int64_t start, limit, step = 0;
    if (!compare || !str_is(compare->name, "compare") || compare->operand_count != 2)
        return -1;
    const hlo_attr *direction = hlo_attr_of(compare, "comparison_direction", "direction");
    str name = direction ? direction->text : compare->attr_count ? compare->attrs[0].text : STR("");
    int32_t counter = carried(w, l, l->condition, compare->operands[0]);
    int32_t bound = carried(w, l, l->condition, compare->operands[1]);
    if (!initial_number(w, l, counter, &start) ||
        !(constant_of(w, compare->operands[1], &limit) || initial_number(w, l, bound, &limit)))
        return -1;
    hlo_value next = next_of(w, l, counter);
    const hlo_op *add = next == HLO_NO_VALUE ? NULL : hlo_at(w->m, next)->maker;
    if (!add || !str_is(add->name, "add") || add->operand_count != 2)
        return -1;
    for (int i = 0; i < 2; i++)
        if (carried(w, l, l->body, add->operands[i]) == counter)
            constant_of(w, add->operands[1 - i], &step);
    bool is_open = str_is(name, "LT"), is_closed = str_is(name, "LE");
    if (step < 1 || (!is_open && !is_closed) || limit > INT32_MAX || start < -INT32_MAX || step > INT32_MAX)
        return -1;
    limit += is_closed;
    return limit <= start ? 0 : (limit - start + step - 1) / step;
}

/* True if the body returns value i unchanged. Weights are carried this way and stay constants. */
static bool is_unchanged(hlo_writer *w, const loop *l, int32_t i)
{
    hlo_value next = next_of(w, l, i);
    return next != HLO_NO_VALUE && carried(w, l, l->body, next) == i;
}

bool hlo_map_while(hlo_writer *w, const hlo_op *o)
{
    loop l;
    emitter *e = &w->e;
    builder *b = e->b;
    int32_t outer, kept = 0;
    if (!read_loop(w, o, &l))
        return false;
    int64_t rounds = hlo_int(o, "known_trip_count", "", -1);
    if (rounds < 0)
        rounds = rounds_of(w, &l);
    value_id *inputs = ARENA_ARRAY(b->arena, value_id, (size_t)l.count + 2);
    value_id *outputs = ARENA_ARRAY(b->arena, value_id, (size_t)l.count + 1);
    hlo_bound *state = ARENA_ARRAY(b->arena, hlo_bound, (size_t)l.count + 1);
    hlo_bound *results = ARENA_ARRAY(b->arena, hlo_bound, (size_t)l.count + 1);
    bool *stays = ARENA_ARRAY(b->arena, bool, (size_t)l.count + 1);
    inputs[0] = rounds >= 0 ? emit_number(e, rounds) : NO_VALUE;
    inputs[1] = emit_scalar(e, DT_BOOL, 1);
    for (int32_t i = 0; i < l.count; i++) {
        stays[i] = is_unchanged(w, &l, i) || l.types[i].rank < 0 || l.initial[i].kind == HLO_NOTHING;
        if (stays[i]) {
            state[i] = l.initial[i];
            results[i] = l.initial[i];
            continue;
        }
        inputs[2 + kept] = l.is_tuple ? l.initial[i].id : hlo_in(w, o->operands[i]);
        outputs[kept] = l.is_tuple ? emit_temp(e) : hlo_result(w, o->first_result + i);
        results[i] = (hlo_bound){.kind = HLO_PLAIN, .id = outputs[kept], .shape = NO_VALUE, .whole = NO_VALUE};
        kept++;
    }
    if (!kept)
        return false;
    graph *g = open_graph(w, &outer);
    build_input(b, emit_temp(e));
    value_id condition = emit_temp(e);
    build_input(b, condition);
    for (int32_t i = 0; i < l.count; i++) {
        if (stays[i])
            continue;
        value_id id = emit_temp(e);
        build_type(b, id, l.types[i].dtype, l.types[i].rank, l.types[i].dims);
        build_input(b, id);
        state[i] = (hlo_bound){.kind = HLO_PLAIN, .id = id, .shape = NO_VALUE, .whole = NO_VALUE};
    }
    if (l.is_tuple)
        hlo_bind_as(w, l.body->first_argument,
                    (hlo_bound){.kind = HLO_TUPLE, .id = NO_VALUE, .elements = state, .element_count = l.count});
    for (int32_t i = 0; !l.is_tuple && i < l.count; i++)
        hlo_bind_as(w, l.body->first_argument + i, state[i]);
    str prefix = w->prefix;
    w->prefix = region_prefix(w, o->name);
    hlo_region_ops(w, l.body);
    build_output(b, emit_1(e, "Identity", condition, NO_VALUE));
    for (int32_t i = 0; i < l.count; i++) {
        hlo_value next = next_of(w, &l, i);
        if (!stays[i])
            add_output(w, next != HLO_NO_VALUE ? hlo_in(w, next) : state[i].id);
    }
    w->prefix = prefix;
    close_graph(w, outer);
    emit_graph(emit_many(e, "Loop", inputs, kept + 2, outputs, kept), "body", g);
    if (l.is_tuple)
        hlo_bind_as(w, o->first_result,
                    (hlo_bound){.kind = HLO_TUPLE, .id = NO_VALUE, .elements = results, .element_count = l.count});
    for (int32_t i = 0; !l.is_tuple && i < l.count && i < o->result_count; i++)
        hlo_bind_as(w, o->first_result + i, results[i]);
    return true;
}
