/* paddle_program.c: writes a program of blocks (paddle.h) as a graph.
 *
 * A variable of a program may be written many times, a graph value only once. So each scope tracks the value that a
 * name currently stands for.
 *
 *   while               Loop: its output variables are carried
 *   conditional_block   If. The two sides of a Python `if` are two blocks, on a condition and its negation; later
 *                       select_input operators choose between their results
 *   arrays of tensors   sequences */
#include "front/paddle/paddle.h"

#include "base/names.h"

enum { MAX_BLOCKS_WRITTEN = 2000, MAX_LOOK = 512 };

typedef struct scope {
    struct scope *outer;
    names current; /* variables and their current values */
    bool *is_done; /* indexed by operator of the block: an If already contains it */
} scope;

typedef struct program {
    emitter *e;
    const paddle_blocks *blocks;
    names vars; /* variables of all blocks, and their indices in `all` */
    names read; /* variables that some operator reads */
    struct {
        const paddle_var **items;
        int32_t count, capacity;
    } all;
    scope *scope;
    int32_t blocks_written, serial;
} program;

/* ---- variables ------------------------------------------------------------------------------------------------- */

static const paddle_var *var_of(const program *p, str name)
{
    int32_t i = names_get(&p->vars, name, -1);
    return i >= 0 ? p->all.items[i] : NULL;
}

static value_id current(const program *p, str name)
{
    value_id v = NO_VALUE;
    for (const scope *s = p->scope; s && v == NO_VALUE; s = s->outer)
        v = names_get(&s->current, name, NO_VALUE);
    return v;
}

/* Creates a value of the open graph, named like the variable, or similarly if the name is taken. */
static value_id fresh(program *p, str name)
{
    builder *b = p->e->b;
    int32_t before = b->source->values.count;
    value_id v = build_local(b, name);
    while (b->source->values.count == before)
        v = build_local(b, arena_printf(b->arena, "%.*s#%d", STR_ARG(name), ++p->serial));
    return v;
}

static void declare(program *p, value_id v, str name)
{
    const paddle_var *var = var_of(p, name);
    if (var)
        build_type(p->e->b, v, var->type, var->rank, var->dims);
}

/* Starts a new value for the name. */
static value_id define(program *p, str name)
{
    value_id v = name.len ? fresh(p, name) : NO_VALUE;
    if (v != NO_VALUE) {
        declare(p, v, name);
        names_put(&p->scope->current, name, v);
    }
    return v;
}

static void add_input(program *p, str name)
{
    builder *b = p->e->b;
    const paddle_var *var = var_of(p, name);
    num dims[MAX_RANK];
    value_id v = fresh(p, name);
    int rank = var ? var->rank : RANK_UNKNOWN;
    for (int i = 0; i < rank; i++)
        dims[i] = dim_known(var->dims[i])
                      ? var->dims[i]
                      : num_symbol(&b->source->symbols,
                                   i == 0 ? STR("N") : arena_printf(b->arena, "%.*s[%d]", STR_ARG(name), i));
    build_type(b, v, var ? var->type : DT_UNKNOWN, rank, dims);
    build_input(b, v);
    names_put(&p->scope->current, name, v);
}

static value_id value_named(program *p, str name)
{
    value_id v = name.len ? current(p, name) : NO_VALUE;
    if (v != NO_VALUE || name.len == 0)
        return v;
    if (!p->scope->outer) { /* a variable that nothing writes or feeds is an input */
        add_input(p, name);
        return current(p, name);
    }
    v = define(p, name);
    emit_foreign(p->e, STR("paddle"), STR("uninitialized"), NULL, 0, &v, 1);
    return v;
}

/* ---- operators ------------------------------------------------------------------------------------------------- */

/* True if the output is a result, not a statistic updated in place or an output for gradients. */
static bool is_result(const program *p, const paddle_slots *slots, int32_t slot, str name)
{
    static const char *const MAIN[] = {"Out", "Output", "Y"};
    const paddle_var *var = var_of(p, name);
    if (var && var->is_persistable)
        return false;
    for (size_t i = 0; i < sizeof MAIN / sizeof *MAIN; i++)
        if (str_is(slots->items[slot].name, MAIN[i]))
            return true;
    return slots->count == 1 || names_get(&p->read, name, 0);
}

static const paddle_slot *slot_of(const paddle_slots *slots, const char *name)
{
    static const paddle_slot NONE = {0};
    for (int32_t i = 0; i < slots->count; i++)
        if (str_is(slots->items[i].name, name))
            return &slots->items[i];
    return &NONE;
}

static str first_var(const paddle_slots *slots, const char *name)
{
    const paddle_slot *s = slot_of(slots, name);
    return s->vars.count ? s->vars.items[0] : (str){0};
}

static const named_slot *named_slots(program *p, const paddle_slots *from, bool is_output)
{
    arena *a = p->e->b->arena;
    named_slot *slots = ARENA_ARRAY(a, named_slot, (size_t)from->count + 1);
    for (int32_t i = 0; i < from->count; i++) {
        const paddle_slot *s = &from->items[i];
        value_id *ids = ARENA_ARRAY(a, value_id, (size_t)s->vars.count + 1);
        for (int32_t k = 0; k < s->vars.count; k++)
            ids[k] = !is_output                                ? value_named(p, s->vars.items[k])
                     : is_result(p, from, i, s->vars.items[k]) ? define(p, s->vars.items[k])
                                                               : NO_VALUE;
        slots[i] = (named_slot){.name = s->name, .ids = ids, .count = s->vars.count};
    }
    return slots;
}

static void write_plain(program *p, const paddle_desc *d)
{
    named_op o = {.type = d->type, .attrs = d->attrs.items, .attr_count = d->attrs.count};
    o.in = named_slots(p, &d->in, false);
    o.in_count = d->in.count;
    o.out = named_slots(p, &d->out, true);
    o.out_count = d->out.count;
    value_id out = paddle_out(&o);
    p->e->name = out == NO_VALUE ? STR("") : build_at(p->e->b, out)->name;
    paddle_map(p->e, &o);
}

/* ---- arrays of tensors ----------------------------------------------------------------------------------------- */

static value_id array_named(program *p, str name)
{
    value_id v = current(p, name);
    return v != NO_VALUE ? v : emit_op(p->e, "SequenceEmpty", NULL, 0, NO_VALUE)->outputs[0];
}

static bool write_array(program *p, const paddle_desc *d)
{
    str x = first_var(&d->in, "X"), out = first_var(&d->out, "Out");
    if (str_is(d->type, "write_to_array")) {
        value_id array = array_named(p, out), element = value_named(p, x);
        emit_2(p->e, "SequenceInsert", array, element, define(p, out));
    } else if (str_is(d->type, "read_from_array")) {
        value_id array = array_named(p, x), at = value_named(p, first_var(&d->in, "I"));
        emit_2(p->e, "SequenceAt", array, emit_index(p->e, at), define(p, out));
    } else if (str_is(d->type, "lod_array_length")) {
        emit_1(p->e, "SequenceLength", array_named(p, x), define(p, out));
    } else if (str_is(d->type, "tensor_array_to_tensor")) {
        named_op o = {.attrs = d->attrs.items, .attr_count = d->attrs.count};
        value_id array = array_named(p, x);
        node *n = emit_op(p->e, "ConcatFromSequence", &array, 1, define(p, out));
        emit_int(n, "axis", named_int(p->e, &o, "axis", 0));
        emit_int(n, "new_axis", named_true(p->e, &o, "use_stack"));
    } else {
        return false;
    }
    return true;
}

/* ---- branches and loops ---------------------------------------------------------------------------------------- */

static void write_block(program *p, const paddle_block *block);

static const paddle_block *block_of(program *p, const paddle_desc *d)
{
    named_op o = {.attrs = d->attrs.items, .attr_count = d->attrs.count};
    int64_t index = named_int(p->e, &o, "sub_block", -1);
    if (index < 1 || index >= p->blocks->count)
        fail_with(&p->e->b->model->fail, SOOTH_ERROR_INPUT,
                  "operator '%.*s' refers to block %lld, but the program has blocks 0 to %d; export the model again",
                  STR_ARG(d->type), (long long)index, p->blocks->count - 1);
    return &p->blocks->items[index];
}

static void open_block(program *p, graph *g, scope *s)
{
    if (++p->blocks_written > MAX_BLOCKS_WRITTEN)
        fail_with(&p->e->b->model->fail, SOOTH_ERROR_INPUT,
                  "blocks refer to one another more than %d times; no real exporter does that", MAX_BLOCKS_WRITTEN);
    build_open(p->e->b, g, false);
    *s = (scope){.outer = p->scope};
    names_init(&s->current, p->e->b->arena);
    p->scope = s;
}

static void close_block(program *p)
{
    p->scope = p->scope->outer;
    build_close(p->e->b);
}

/* A graph's outputs must be made inside it. */
static void give(program *p, str name)
{
    value_id v = value_named(p, name);
    if (v != NO_VALUE && !build_is_local(p->e->b, v))
        v = emit_1(p->e, "Identity", v, NO_VALUE);
    build_output(p->e->b, v);
}

/* Writes one branch of an If. Returns the variables after the block; without a block, they are unchanged. */
static graph *write_side(program *p, const paddle_block *block, const str *results, int32_t count)
{
    graph *g = ARENA_NEW(p->e->b->arena, graph);
    scope s;
    open_block(p, g, &s);
    if (block)
        write_block(p, block);
    for (int32_t i = 0; i < count; i++)
        give(p, results[i]);
    close_block(p);
    return g;
}

static bool is_in(const paddle_slot *s, str name)
{
    for (int32_t i = 0; i < s->vars.count; i++)
        if (str_eq(s->vars.items[i], name))
            return true;
    return false;
}

/* Finds the block with the opposite condition of `at`; -1 if there is none nearby. */
static int32_t find_opposite(const paddle_block *block, int32_t at)
{
    str condition = first_var(&block->descs.items[at].in, "Cond"), opposite = {0};
    for (int32_t i = at + 1; i < block->descs.count && i <= at + MAX_LOOK; i++) {
        const paddle_desc *d = &block->descs.items[i];
        if (str_is(d->type, "logical_not") && str_eq(first_var(&d->in, "X"), condition))
            opposite = first_var(&d->out, "Out");
        if (str_is(d->type, "conditional_block"))
            return opposite.len && str_eq(first_var(&d->in, "Cond"), opposite) ? i : -1;
    }
    return -1;
}

/* Collects the results that later select_input operators take from either side, and marks these operators as done. */
static int32_t find_selected(program *p, const paddle_block *block, int32_t yes, int32_t no, str *results[3])
{
    const paddle_slot *yes_out = slot_of(&block->descs.items[yes].out, "Out");
    const paddle_slot *no_out = slot_of(&block->descs.items[no].out, "Out");
    int32_t count = 0;
    for (int32_t i = no + 1; i < block->descs.count && i <= no + MAX_LOOK && count < MAX_LOOK; i++) {
        const paddle_desc *d = &block->descs.items[i];
        const paddle_slot *x = slot_of(&d->in, "X");
        if (!str_is(d->type, "select_input") || x->vars.count != 2 || !is_in(no_out, x->vars.items[0]) ||
            !is_in(yes_out, x->vars.items[1]))
            continue;
        results[0][count] = x->vars.items[0];
        results[1][count] = x->vars.items[1];
        results[2][count++] = first_var(&d->out, "Out");
        p->scope->is_done[i] = true;
    }
    return count;
}

static void write_if(program *p, value_id condition, graph *yes, graph *no, const str *results, int32_t count)
{
    value_id *outputs = ARENA_ARRAY(p->e->b->arena, value_id, (size_t)count + 1);
    for (int32_t i = 0; i < count; i++)
        outputs[i] = define(p, results[i]);
    if (count == 0)
        return;
    p->e->name = build_at(p->e->b, outputs[0])->name;
    node *n = emit_many(p->e, "If", &condition, 1, outputs, count);
    emit_graph(n, "then_branch", yes);
    emit_graph(n, "else_branch", no);
}

/* Writes a block without an opposite, which changes existing variables. */
static void write_one_side(program *p, const paddle_desc *d)
{
    const paddle_slot *out = slot_of(&d->out, "Out");
    str *results = ARENA_ARRAY(p->e->b->arena, str, (size_t)out->vars.count + 1);
    int32_t count = 0;
    for (int32_t i = 0; i < out->vars.count; i++)
        if (current(p, out->vars.items[i]) != NO_VALUE)
            results[count++] = out->vars.items[i];
    value_id condition = value_named(p, first_var(&d->in, "Cond"));
    graph *yes = write_side(p, block_of(p, d), results, count), *no = write_side(p, NULL, results, count);
    write_if(p, condition, yes, no, results, count);
}

static void write_conditional(program *p, const paddle_block *block, int32_t at)
{
    const paddle_desc *d = &block->descs.items[at];
    str *results[3];
    int32_t no = find_opposite(block, at);
    if (no < 0) {
        write_one_side(p, d);
        return;
    }
    for (int i = 0; i < 3; i++)
        results[i] = ARENA_ARRAY(p->e->b->arena, str, MAX_LOOK);
    int32_t count = find_selected(p, block, at, no, results);
    p->scope->is_done[no] = true;
    value_id condition = value_named(p, first_var(&d->in, "Cond"));
    graph *then_side = write_side(p, block_of(p, d), results[1], count);
    graph *else_side = write_side(p, block_of(p, &block->descs.items[no]), results[0], count);
    write_if(p, condition, then_side, else_side, results[2], count);
}

/* Returns the trip count, limit - counter, if the condition compares both and the counter grows by 1. */
static value_id trip_count(program *p, const paddle_block *block, int32_t at, str condition)
{
    for (int32_t i = at - 1; i >= 0 && i >= at - MAX_LOOK; i--) {
        const paddle_desc *d = &block->descs.items[i];
        if (!str_eq(first_var(&d->out, "Out"), condition))
            continue;
        if (!str_is(d->type, "less_than"))
            return NO_VALUE;
        value_id counter = current(p, first_var(&d->in, "X")), limit = current(p, first_var(&d->in, "Y"));
        if (counter == NO_VALUE || limit == NO_VALUE)
            return NO_VALUE;
        return emit_2(p->e, "Sub", emit_index(p->e, limit), emit_index(p->e, counter), NO_VALUE);
    }
    return NO_VALUE;
}

static void write_while(program *p, const paddle_block *block, int32_t at)
{
    builder *b = p->e->b;
    const paddle_desc *d = &block->descs.items[at];
    const paddle_slot *out = slot_of(&d->out, "Out");
    str condition = first_var(&d->in, "Condition");
    graph *g = ARENA_NEW(b->arena, graph);
    scope s;
    str *carried = ARENA_ARRAY(b->arena, str, (size_t)out->vars.count + 1);
    value_id *inputs = ARENA_ARRAY(b->arena, value_id, (size_t)out->vars.count + 2);
    int32_t count = 0;
    if (out->vars.count > INT16_MAX)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "a loop has more than %d variables", INT16_MAX);
    inputs[0] = trip_count(p, block, at, condition);
    inputs[1] = emit_scalar(p->e, DT_BOOL, 1);
    for (int32_t i = 0; i < out->vars.count; i++) {
        value_id v = current(p, out->vars.items[i]);
        if (v == NO_VALUE || str_eq(out->vars.items[i], condition))
            continue;
        inputs[2 + count] = v;
        carried[count++] = out->vars.items[i];
    }
    const paddle_block *body = block_of(p, d);
    open_block(p, g, &s);
    build_input(b, emit_temp(p->e));
    value_id goes_on = emit_temp(p->e);
    build_input(b, goes_on);
    for (int32_t i = 0; i < count; i++)
        build_input(b, define(p, carried[i]));
    build_output(b, emit_1(p->e, "Identity", goes_on, NO_VALUE));
    write_block(p, body);
    for (int32_t i = 0; i < count; i++)
        give(p, carried[i]);
    close_block(p);
    value_id *outputs = ARENA_ARRAY(b->arena, value_id, (size_t)count + 1);
    for (int32_t i = 0; i < count; i++)
        outputs[i] = define(p, carried[i]);
    if (count == 0)
        return;
    p->e->name = build_at(b, outputs[0])->name;
    emit_graph(emit_many(p->e, "Loop", inputs, count + 2, outputs, count), "body", g);
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static void write_desc(program *p, const paddle_block *block, int32_t i)
{
    const paddle_desc *d = &block->descs.items[i];
    if (p->scope->is_done[i])
        return;
    if (str_is(d->type, "feed")) {
        str name = first_var(&d->out, "Out");
        if (name.len && current(p, name) == NO_VALUE)
            add_input(p, name);
    } else if (str_is(d->type, "fetch")) {
        const paddle_slot *x = slot_of(&d->in, "X");
        for (int32_t k = 0; k < x->vars.count; k++)
            if (!p->scope->outer)
                build_output(p->e->b, value_named(p, x->vars.items[k]));
    } else if (str_is(d->type, "conditional_block")) {
        write_conditional(p, block, i);
    } else if (str_is(d->type, "while")) {
        write_while(p, block, i);
    } else if (!write_array(p, d)) {
        write_plain(p, d);
    }
}

static void write_block(program *p, const paddle_block *block)
{
    p->scope->is_done = ARENA_ARRAY(p->e->b->arena, bool, (size_t)block->descs.count + 1);
    for (int32_t i = 0; i < block->descs.count; i++)
        write_desc(p, block, i);
}

static void note_read(program *p, const paddle_block *block)
{
    for (int32_t i = 0; i < block->descs.count; i++)
        for (int32_t s = 0; s < block->descs.items[i].in.count; s++) {
            const paddle_slot *slot = &block->descs.items[i].in.items[s];
            for (int32_t k = 0; k < slot->vars.count; k++)
                names_put(&p->read, slot->vars.items[k], 1);
        }
}

/* Programs of single operators have no fetch, so values without readers are their results. */
static void give_unread(program *p, const paddle_block *block)
{
    for (int32_t i = 0; i < block->descs.count; i++) {
        const paddle_slots *out = &block->descs.items[i].out;
        for (int32_t s = 0; s < out->count; s++)
            for (int32_t k = 0; k < out->items[s].vars.count; k++) {
                str name = out->items[s].vars.items[k];
                value_id v = current(p, name);
                if (v != NO_VALUE && !names_get(&p->read, name, 0) && is_result(p, out, s, name))
                    build_output(p->e->b, v);
            }
    }
}

static void add_weights(program *p)
{
    for (int32_t i = 0; i < p->all.count; i++) {
        const paddle_var *v = p->all.items[i];
        bool is_known = v->is_persistable && v->rank != RANK_UNKNOWN && v->name.len;
        for (int k = 0; is_known && k < v->rank; k++)
            is_known = dim_known(v->dims[k]);
        p->e->name = v->name;
        if (is_known && current(p, v->name) == NO_VALUE)
            names_put(&p->scope->current, v->name, emit_weight(p->e, v->name, v->type, v->rank, v->dims));
    }
}

void paddle_write_program(emitter *e, const paddle_blocks *blocks)
{
    program p = {.e = e, .blocks = blocks};
    scope main = {0};
    if (blocks->count == 0)
        fail_with(&e->b->model->fail, SOOTH_ERROR_INPUT, "the program has no block; export the model again");
    build_open(e->b, &e->b->source->main, false);
    p.scope = &main;
    names_init(&main.current, e->b->arena);
    names_init(&p.vars, e->b->arena);
    names_init(&p.read, e->b->arena);
    for (int32_t i = 0; i < blocks->count; i++) {
        note_read(&p, &blocks->items[i]);
        for (int32_t k = 0; k < blocks->items[i].vars.count; k++) {
            const paddle_var *v = &blocks->items[i].vars.items[k];
            if (names_get(&p.vars, v->name, -1) < 0)
                names_put(&p.vars, v->name, p.all.count);
            *(const paddle_var **)ARENA_PUSH(e->b->arena, &p.all) = v;
        }
    }
    add_weights(&p);
    write_block(&p, &blocks->items[0]);
    if (e->b->source->main.outputs.count == 0)
        give_unread(&p, &blocks->items[0]);
    build_close(e->b);
}
