/* paddle_js.c: reads Paddle.js model.json: a program of one block in JSON.
 *
 *   {"ops": [{"type", "attrs": {name: value}, "inputs": {slot: [variable …]}, "outputs": {…}}], "vars": [{"name",
 *   "shape", "persistable"}]}
 *
 * The weight files next to it are not needed. */
#include "front/front.h"
#include "front/paddle/paddle.h"

#include "base/json_read.h"
#include "base/names.h"

static str decoded(builder *b, const json_node *n)
{
    return n && n->has_escapes ? json_decoded(n, b->arena) : json_text(n);
}

static void read_var(builder *b, const json_node *n, paddle_var *v)
{
    num dims[MAX_RANK];
    v->name = decoded(b, json_get(n, "name"));
    v->type = DT_FLOAT32;
    v->is_persistable = json_int(json_get(n, "persistable"), 0) != 0;
    for (const json_node *d = json_first(json_get(n, "shape")); d; d = d->next) {
        if (v->rank == MAX_RANK)
            fail_with(&b->model->fail, SOOTH_ERROR_INPUT,
                      "variable '%.*s' has more than %d dimensions; export the model again", STR_ARG(v->name),
                      MAX_RANK);
        int64_t dim = json_int(d, -1);
        dims[v->rank++] = build_dim(b, dim);
    }
    v->dims = arena_copy(b->arena, dims, (size_t)v->rank, sizeof *dims);
}

static void read_slots(builder *b, const json_node *n, paddle_slots *slots)
{
    for (const json_node *s = json_first(n); s; s = s->next) {
        paddle_slot *slot = ARENA_PUSH(b->arena, slots);
        slot->name = s->key;
        for (const json_node *name = json_first(s); name; name = name->next)
            *(str *)ARENA_PUSH(b->arena, &slot->vars) = decoded(b, name);
    }
}

static void read_attr(builder *b, const json_node *n, named_attr *a)
{
    const json_node *first = json_is(n, JSON_ARRAY) ? json_first(n) : n;
    int32_t count = json_is(n, JSON_ARRAY) ? n->count : 1, i = 0;
    bool is_whole = true;
    a->name = n->key;
    if (json_is(n, JSON_TEXT)) {
        a->kind = NAMED_TEXT;
        a->text = decoded(b, n);
        return;
    }
    if (json_is(n, JSON_OBJECT) || json_is_null(n))
        return;
    int64_t *ints = ARENA_ARRAY(b->arena, int64_t, (size_t)count + 1);
    double *reals = ARENA_ARRAY(b->arena, double, (size_t)count + 1);
    for (const json_node *x = first; x && i < count; x = x->next, i++) {
        is_whole = is_whole && (json_is(x, JSON_INT) || json_is(x, JSON_BOOL));
        ints[i] = json_int(x, 0);
        reals[i] = json_double(x, 0);
    }
    a->kind = is_whole ? NAMED_INTS : NAMED_REALS;
    a->count = count;
    if (is_whole)
        a->ints = ints;
    else
        a->reals = reals;
}

static void read_op(builder *b, const json_node *n, paddle_desc *d)
{
    d->type = decoded(b, json_get(n, "type"));
    read_slots(b, json_get(n, "inputs"), &d->in);
    read_slots(b, json_get(n, "outputs"), &d->out);
    for (const json_node *a = json_first(json_get(n, "attrs")); a; a = a->next)
        read_attr(b, a, ARENA_PUSH(b->arena, &d->attrs));
}

/* A variable that an operator writes is not a weight, even if the file says so. */
static void mark_written(builder *b, paddle_block *block)
{
    names written;
    names_init(&written, b->arena);
    for (int32_t i = 0; i < block->descs.count; i++)
        for (int32_t s = 0; s < block->descs.items[i].out.count; s++)
            for (int32_t k = 0; k < block->descs.items[i].out.items[s].vars.count; k++)
                names_put(&written, block->descs.items[i].out.items[s].vars.items[k], 1);
    for (int32_t i = 0; i < block->vars.count; i++)
        if (names_get(&written, block->vars.items[i].name, 0))
            block->vars.items[i].is_persistable = false;
}

bool paddle_js_sniff(const uint8_t *bytes, size_t size)
{
    enum { LOOKED_AT = 4096 };
    str start = {(const char *)bytes, size < LOOKED_AT ? size : LOOKED_AT};
    size_t i = 0;
    while (i < start.len && (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r' || bytes[i] == '\t'))
        i++;
    return i < start.len && bytes[i] == '{' && str_contains(start, "\"ops\"") && str_contains(start, "\"inputs\"") &&
           str_contains((str){(const char *)bytes, size}, "\"vars\"");
}

void paddle_js_read(builder *b, const uint8_t *bytes, size_t size)
{
    emitter e;
    paddle_blocks blocks = {0};
    emit_begin(&e, b, "paddle");
    const json_node *root = json_read((str){(const char *)bytes, size}, "the program", b->arena, &b->model->fail);
    paddle_block *block = ARENA_PUSH(b->arena, &blocks);
    for (const json_node *n = json_first(json_get(root, "vars")); n; n = n->next)
        read_var(b, n, ARENA_PUSH(b->arena, &block->vars));
    for (const json_node *n = json_first(json_get(root, "ops")); n; n = n->next)
        read_op(b, n, ARENA_PUSH(b->arena, &block->descs));
    mark_written(b, block);
    b->source->producer = STR("Paddle.js");
    paddle_write_program(&e, &blocks);
}
