/* hlo.c: writes an HLO program (hlo.h) as a source: finds the parameters among the arguments, inlines calls, and
 * turns values of the program into tensors of the graph. Operators are in hlo_ops.c and the files it names. */
#include "front/hlo/hlo.h"

enum { MAX_WRITTEN = 1 << 18 };

/* ---- uses -------------------------------------------------------------------------------------------------------- */

static void count_uses(hlo_module *m, const hlo_region *r)
{
    for (int32_t i = 0; i < r->ops.count; i++) {
        const hlo_op *o = r->ops.items[i];
        for (int32_t k = 0; k < o->result_count; k++)
            hlo_at(m, o->first_result + k)->maker = o;
        for (int32_t k = 0; k < o->operand_count; k++) {
            hlo_value_info *v = hlo_at(m, o->operands[k]);
            v->uses++;
            v->user = o;
        }
        for (int32_t k = 0; k < o->region_count; k++)
            if (!o->regions[k]->is_function)
                count_uses(m, o->regions[k]);
    }
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* Flags of arguments. XLA programs do not distinguish parameters from data, so their uses do. */
enum { AS_WEIGHT = 1, AS_DATA = 2, AS_REPEATED = 4 };

typedef struct usage {
    hlo_module *m;
    uint8_t *flags; /* indexed by hlo_value */
    bool has_changed;
} usage;

static void mark(usage *u, const hlo_op *o, int32_t operand, uint8_t flags)
{
    if (operand >= o->operand_count)
        return;
    uint8_t *to = &u->flags[o->operands[operand]];
    u->has_changed |= (*to | flags) != *to;
    *to |= flags;
}

static bool is_view(str name)
{
    static const char *const VIEWS[] = {"reshape", "transpose",       "convert",  "copy",
                                        "bitcast", "dynamic_reshape", "broadcast"};
    for (size_t i = 0; i < sizeof VIEWS / sizeof *VIEWS; i++)
        if (str_is(name, VIEWS[i]))
            return true;
    return str_ends(name, "broadcast_in_dim");
}

static bool is_larger(const hlo_type *to, const hlo_type *from)
{
    num product[2] = {1, 1};
    for (int i = 0; i < to->rank; i++)
        if (to->dims[i] < 0 || __builtin_mul_overflow(product[0], to->dims[i], &product[0]))
            return true;
    for (int i = 0; i < from->rank; i++)
        if (from->dims[i] < 0 || __builtin_mul_overflow(product[1], from->dims[i], &product[1]))
            return false;
    return product[0] > product[1];
}

static void look_at_uses(usage *u, const hlo_region *r)
{
    for (int32_t i = r->ops.count - 1; i >= 0; i--) {
        const hlo_op *o = r->ops.items[i];
        for (int32_t k = 0; k < o->region_count; k++) {
            if (!o->regions[k]->is_function)
                look_at_uses(u, o->regions[k]);
            if (str_is(o->name, "while"))
                for (int32_t j = 0; j < o->regions[k]->argument_count; j++)
                    mark(u, o, j, u->flags[o->regions[k]->first_argument + j]);
        }
        if (str_is(o->name, "dot_general") || str_is(o->name, "convolution") || str_is(o->name, "dot")) {
            mark(u, o, 0, AS_DATA);
            mark(u, o, 1, AS_WEIGHT);
        } else if (str_is(o->name, "gather") || str_is(o->name, "dynamic_gather")) {
            mark(u, o, 0, AS_WEIGHT);
            mark(u, o, 1, AS_DATA);
        } else if (is_view(o->name) && o->operand_count && o->result_count == 1) {
            const hlo_type *from = &hlo_at(u->m, o->operands[0])->type, *to = &hlo_at(u->m, o->first_result)->type;
            uint8_t repeated = from->rank > 0 && is_larger(to, from) ? AS_REPEATED : 0;
            mark(u, o, 0, u->flags[o->first_result] | repeated);
        } else if (o->callee.len && !str_is(o->name, "custom_call")) {
            const hlo_function *f = hlo_find_function(u->m, o->callee);
            for (int32_t k = 0; f && k < f->body.argument_count; k++)
                mark(u, o, k, u->flags[f->body.first_argument + k]);
        }
    }
}

static void find_uses(usage *u)
{
    enum { MAX_ROUNDS = 16 }; /* each round looks one call deeper */
    for (int round = 0; round < MAX_ROUNDS; round++) {
        u->has_changed = false;
        for (int32_t i = u->m->functions.count - 1; i >= 0; i--)
            look_at_uses(u, &u->m->functions.items[i]->body);
        if (!u->has_changed)
            return;
    }
}

/* Returns the user's argument that this one is a part of: "params" for "params['Dense_0']['kernel']" and
 * "params__Dense_0__kernel__". */
static str root_of(str label)
{
    for (size_t i = 0; i < label.len; i++) {
        char c = label.ptr[i], next = i + 1 < label.len ? label.ptr[i + 1] : '\0';
        if (c == '[' || c == '.' || c == '/' || (c == '_' && (next == '_' || (next >= '0' && next <= '9'))))
            return (str){label.ptr, i};
    }
    return label;
}

static bool has_unknown_dim(const hlo_type *t)
{
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] == NUM_UNKNOWN)
            return true;
    return t->rank == RANK_UNKNOWN;
}

/* Finds the arguments that are parameters. With labels, these are all parts of a user's argument that contains
 * weights. Without labels, JAX's order decides: parameters first, data last. */
static void find_parameters(usage *u, const hlo_region *entry, bool *is_parameter)
{
    const hlo_value first = entry->first_argument;
    int32_t n = entry->argument_count, labelled = 0;
    bool has_weight = false, has_roots = false;
    for (int32_t i = 0; i < n; i++) {
        const uint8_t flags = u->flags[first + i];
        has_weight |= flags & AS_WEIGHT && !(flags & AS_DATA);
        labelled += hlo_at(u->m, first + i)->label.len > 0;
        has_roots |= !str_eq(root_of(hlo_at(u->m, first + i)->label), root_of(hlo_at(u->m, first)->label));
    }
    if (!has_weight)
        return;
    if (labelled == n && has_roots) {
        names roots;
        names_init(&roots, u->m->b->arena);
        for (int32_t i = 0; i < n; i++) {
            str root = root_of(hlo_at(u->m, first + i)->label);
            if (u->flags[first + i] & AS_WEIGHT && !(u->flags[first + i] & AS_DATA))
                names_put(&roots, root, 1);
        }
        for (int32_t i = 0; i < n; i++)
            is_parameter[i] = names_get(&roots, root_of(hlo_at(u->m, first + i)->label), 0) == 1;
        return;
    }
    int32_t last = n - 1;
    uint8_t flags = u->flags[first + last];
    /* the program has the order f(x, parameters) */
    if (!u->m->data_are_last && (flags & (AS_WEIGHT | AS_REPEATED)) && !(flags & AS_DATA)) {
        for (int32_t i = 0; i < n; i++)
            is_parameter[i] = u->flags[first + i] & (AS_WEIGHT | AS_REPEATED) && !(u->flags[first + i] & AS_DATA);
        return;
    }
    for (; last > 0; last--) {
        const hlo_type *t = &hlo_at(u->m, first + last - 1)->type;
        flags = u->flags[first + last - 1];
        bool is_data = dtype_is_integer(t->dtype) || has_unknown_dim(t) || (flags & AS_DATA && !(flags & AS_WEIGHT));
        if (!is_data)
            break;
    }
    for (int32_t i = 0; i < last; i++)
        is_parameter[i] = true;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

hlo_bound *hlo_bound_of(hlo_writer *w, hlo_value v)
{
    return &w->bound[v];
}

const hlo_type *hlo_type_of(hlo_writer *w, hlo_value v)
{
    return &hlo_at(w->m, v)->type;
}

bool hlo_static_dims(const hlo_type *t, int64_t to[MAX_RANK])
{
    for (int i = 0; i < t->rank; i++) {
        if (!dim_known(t->dims[i]))
            return false;
        to[i] = t->dims[i];
    }
    return t->rank >= 0;
}

value_id hlo_result(hlo_writer *w, hlo_value v)
{
    const hlo_value_info *info = hlo_at(w->m, v);
    builder *b = w->e.b;
    value_id id = build_fresh(b, arena_printf(b->arena, "%.*s%.*s", STR_ARG(w->prefix), STR_ARG(info->name)));
    if (info->type.rank >= 0 && info->type.dtype != DT_UNKNOWN)
        build_type(b, id, info->type.dtype, info->type.rank, info->type.dims);
    return id;
}

void hlo_bind_as(hlo_writer *w, hlo_value v, hlo_bound as)
{
    w->bound[v] = as;
}

void hlo_bind(hlo_writer *w, hlo_value v, value_id id)
{
    w->bound[v] = (hlo_bound){.kind = HLO_PLAIN, .id = id, .shape = NO_VALUE, .whole = NO_VALUE};
}

value_id hlo_shape_of(hlo_writer *w, hlo_value v)
{
    int64_t dims[MAX_RANK];
    const hlo_bound *b = hlo_bound_of(w, v);
    if (hlo_static_dims(hlo_type_of(w, v), dims))
        return emit_list(&w->e, dims, hlo_type_of(w, v)->rank);
    if (b->kind == HLO_BROADCAST && b->shape != NO_VALUE)
        return b->shape;
    return emit_1(&w->e, "Shape", hlo_in(w, v), NO_VALUE);
}

value_id hlo_kept(hlo_writer *w, hlo_value v)
{
    const hlo_bound *b = hlo_bound_of(w, v);
    hlo_reduced *r = b->reduced;
    if (!r)
        return b->id;
    if (r->made == NO_VALUE || r->made_in != w->graph) {
        r->made = emit_reduce(&w->e, r->op, r->x, emit_list(&w->e, r->axes, r->axis_count), true, NO_VALUE)->outputs[0];
        r->made_in = w->graph;
    }
    return r->made;
}

/* Removes dimensions that a reduction kept and that no reader needs. */
static value_id write_squeezed(hlo_writer *w, hlo_value v, const hlo_bound *b)
{
    hlo_reduced *r = b->reduced;
    int64_t axes[MAX_RANK];
    int count = 0;
    if (!b->repeated)
        return hlo_kept(w, v);
    if (r && r->made == NO_VALUE && hlo_at(w->m, v)->uses <= 1)
        return emit_reduce(&w->e, r->op, r->x, emit_list(&w->e, r->axes, r->axis_count), false, hlo_result(w, v))
            ->outputs[0];
    for (int i = 0; i < b->id_rank; i++)
        if (b->repeated >> i & 1)
            axes[count++] = i;
    return emit_squeeze(&w->e, hlo_kept(w, v), axes, count, hlo_result(w, v));
}

static value_id write_whole(hlo_writer *w, hlo_value v, const hlo_bound *b)
{
    const hlo_type *t = hlo_type_of(w, v);
    if (b->kind == HLO_SQUEEZED)
        return write_squeezed(w, v, b);
    if (b->kind == HLO_SPLIT) {
        int64_t split[MAX_RANK];
        for (int i = 0; i < t->rank; i++) /* 0 keeps a dimension */
            split[i] = i < t->rank - b->id_rank ? 0 : t->dims[i];
        return emit_reshaped(&w->e, b->id, split, t->rank, hlo_result(w, v));
    }
    if (b->kind == HLO_PERMUTED)
        return emit_transpose(&w->e, b->id, b->perm, t->rank, hlo_result(w, v));
    int64_t dims[MAX_RANK];
    bool is_static = hlo_static_dims(t, dims);
    if (b->is_weight && is_static && !b->repeated)
        return hlo_reshaped_weight(w, b->id, dims, t->rank);
    if (is_static && !b->repeated && b->id_rank == t->rank)
        return b->id;
    value_id shape = is_static ? emit_list(&w->e, dims, t->rank) : b->shape;
    if (shape == NO_VALUE)
        return b->id;
    return emit_2(&w->e, "Expand", b->id, shape, hlo_result(w, v));
}

value_id hlo_in(hlo_writer *w, hlo_value v)
{
    hlo_bound *b = hlo_bound_of(w, v);
    if (b->kind == HLO_PLAIN)
        return b->id;
    if (b->kind == HLO_NOTHING || b->kind == HLO_TUPLE)
        return NO_VALUE;
    if (b->kind == HLO_UNBOUND)
        fail_with(&w->e.b->model->fail, SOOTH_ERROR_INPUT,
                  "the value %.*s is used before it is made; write the program again", STR_ARG(hlo_at(w->m, v)->name));
    if (b->whole == NO_VALUE || b->whole_in != w->graph) {
        value_id whole = write_whole(w, v, b);
        b = hlo_bound_of(w, v);
        b->whole = whole;
        b->whole_in = w->graph;
    }
    return b->whole;
}

value_id hlo_operand(hlo_writer *w, hlo_value v)
{
    const hlo_bound *b = hlo_bound_of(w, v);
    return b->kind == HLO_BROADCAST ? b->id : hlo_in(w, v);
}

bool hlo_is_weight(hlo_writer *w, hlo_value v)
{
    return hlo_bound_of(w, v)->is_weight;
}

value_id hlo_reshaped_weight(hlo_writer *w, value_id x, const int64_t *dims, int rank)
{
    if (!emit_constant_of(&w->e, x)) /* a repeated weight is a computed value */
        return hlo_reshape(w, x, dims, rank, NO_VALUE);
    char order[256] = "as";
    size_t length = 2;
    for (int i = 0; i < rank && length < sizeof order - 24; i++) {
        order[length++] = i ? 'x' : '_';
        str digits = arena_printf(w->e.b->arena, "%lld", (long long)dims[i]);
        memcpy(order + length, digits.ptr, digits.len);
        length += digits.len;
    }
    order[length] = '\0';
    return emit_reordered(&w->e, x, rank, dims, order);
}

static const tensor *constant_behind(hlo_writer *w, hlo_value v)
{
    const hlo_bound *b = hlo_bound_of(w, v);
    const tensor *t = b->kind == HLO_PLAIN || b->kind == HLO_BROADCAST ? emit_constant_of(&w->e, b->id) : NULL;
    if (!t || t->encoding != TENSOR_RAW)
        return NULL;
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] != 1)
            return NULL;
    return t;
}

bool hlo_scalar(hlo_writer *w, hlo_value v, double *x)
{
    const tensor *t = constant_behind(w, v);
    int64_t whole;
    if (!t)
        return false;
    if (tensor_reals(t, x, 1))
        return true;
    if (!tensor_ints(t, &whole, 1))
        return false;
    *x = (double)whole;
    return true;
}

bool hlo_scalar_ahead(hlo_writer *w, hlo_value v, double *x)
{
    enum { MAX_STEPS = 4 };
    for (int step = 0; step < MAX_STEPS; step++) {
        if (hlo_bound_of(w, v)->kind != HLO_UNBOUND && hlo_scalar(w, v, x))
            return true;
        const hlo_op *maker = hlo_at(w->m, v)->maker;
        if (!maker)
            return false;
        if (maker->constant) {
            const tensor *t = maker->constant;
            return t->encoding == TENSOR_RAW && t->size == (size_t)dtype_bits(t->dtype) / 8 && tensor_reals(t, x, 1);
        }
        if (!is_view(maker->name) || !maker->operand_count)
            return false;
        v = maker->operands[0];
    }
    return false;
}

bool hlo_number(hlo_writer *w, hlo_value v, int64_t *number)
{
    const tensor *t = constant_behind(w, v);
    return t && dtype_is_integer(t->dtype) && tensor_ints(t, number, 1);
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

void hlo_region_ops(hlo_writer *w, const hlo_region *r)
{
    str outer_name = w->e.name;
    if (++w->depth > MAX_NESTING)
        fail_with(&w->e.b->model->fail, SOOTH_ERROR_INPUT,
                  "functions call one another more than %d levels deep, or recursively; no real program does that",
                  MAX_NESTING);
    for (int32_t i = 0; i < r->ops.count; i++) {
        const hlo_op *o = r->ops.items[i];
        if (str_is(o->name, "return"))
            continue;
        if (++w->written > MAX_WRITTEN)
            fail_with(&w->e.b->model->fail, SOOTH_ERROR_INPUT,
                      "calls expand to more than %d operators; no real program is that large", MAX_WRITTEN);
        if (o->result_count && w->is_done[o->first_result]) {
            w->is_done[o->first_result] = false; /* the function may be called again, so its results are written anew */
            continue;
        }
        if (o->label.len)
            w->e.name = arena_str(w->e.b->arena, o->label);
        else
            w->e.name = arena_printf(w->e.b->arena, "%.*s%.*s", STR_ARG(w->prefix),
                                     STR_ARG(o->result_count ? hlo_at(w->m, o->first_result)->name : o->name));
        hlo_map(w, o);
    }
    w->e.name = outer_name;
    w->depth--;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static void add_input(hlo_writer *w, hlo_value v, value_id id)
{
    builder *b = w->e.b;
    const hlo_type *t = hlo_type_of(w, v);
    num dims[MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        dims[i] = t->dims[i] != NUM_UNKNOWN ? t->dims[i]
                  : i == 0                  ? num_symbol(&b->source->symbols, STR("N"))
                                            : num_symbol(&b->source->symbols,
                                                         arena_printf(b->arena, "%.*s[%d]", STR_ARG(build_at(b, id)->name), i));
    build_type(b, id, t->dtype, t->rank, dims);
    build_input(b, id);
}

static hlo_bound argument(hlo_writer *w, const hlo_type *t, str name, bool is_parameter, hlo_value v)
{
    int64_t dims[MAX_RANK];
    emitter *e = &w->e;
    hlo_bound bound = {.kind = HLO_PLAIN, .shape = NO_VALUE, .whole = NO_VALUE};
    if (is_parameter && hlo_static_dims(t, dims)) {
        bound.id = emit_weight(e, name, t->dtype, t->rank, dims);
        bound.is_weight = true;
        return bound;
    }
    bound.id = build_local(e->b, name);
    add_input(w, v, bound.id);
    return bound;
}

/* Returns one argument; each element of a tuple is an argument of its own. */
static hlo_bound tuple_argument(hlo_writer *w, const hlo_type *t, str name)
{
    hlo_bound *elements = ARENA_ARRAY(w->e.b->arena, hlo_bound, (size_t)t->element_count + 1);
    for (int32_t i = 0; i < t->element_count; i++) {
        str element = arena_printf(w->e.b->arena, "%.*s.%d", STR_ARG(name), i);
        hlo_value v = hlo_new_value(w->m, t->elements[i], element);
        if (t->elements[i].rank < 0)
            elements[i] = (hlo_bound){.kind = HLO_NOTHING, .id = NO_VALUE};
        else
            elements[i] = argument(w, &t->elements[i], element, false, v);
    }
    return (hlo_bound){.kind = HLO_TUPLE, .id = NO_VALUE, .elements = elements, .element_count = t->element_count};
}

static void add_arguments(hlo_writer *w, const hlo_region *entry, const bool *is_parameter)
{
    emitter *e = &w->e;
    for (int32_t i = 0; i < entry->argument_count; i++) {
        hlo_value v = entry->first_argument + i;
        const hlo_value_info *info = hlo_at(w->m, v);
        str name = arena_str(e->b->arena, info->label.len ? info->label : info->name);
        if (!name.len)
            name = arena_printf(e->b->arena, "arg%d", i);
        if (str_is(name, "_platform_index")) { /* a value that selects the platform; all choices compute the same */
            hlo_bind(w, v, emit_scalar(e, DT_INT32, 0));
        } else if (info->type.elements) {
            hlo_bound tuple = tuple_argument(w, &info->type, name);
            hlo_bind_as(w, v, tuple);
        } else if (info->type.rank < 0) {
            hlo_bind_as(w, v, (hlo_bound){.kind = HLO_NOTHING, .id = NO_VALUE});
        } else {
            hlo_bind_as(w, v, argument(w, &info->type, name, is_parameter[i], v));
        }
    }
}

static void add_output(hlo_writer *w, const hlo_bound *b, value_id id)
{
    if (b->kind == HLO_TUPLE) {
        for (int32_t i = 0; i < b->element_count; i++)
            add_output(w, &b->elements[i], b->elements[i].kind == HLO_PLAIN ? b->elements[i].id : NO_VALUE);
    } else if (id != NO_VALUE) {
        /* An input that is also an output goes through an Identity. */
        const value *v = build_at(w->e.b, id);
        bool is_made = !v->is_input && !v->is_initializer && !v->is_output;
        build_output(w->e.b, is_made ? id : emit_1(&w->e, "Identity", id, NO_VALUE));
    }
}

static const hlo_function *find_entry(hlo_module *m)
{
    if (m->entry)
        return m->entry;
    const hlo_function *main = hlo_find_function(m, STR("main"));
    if (main && main->has_body)
        return main;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < m->functions.count; i++)
            if (m->functions.items[i]->has_body && (pass || !m->functions.items[i]->is_private))
                return m->functions.items[i];
    fail_with(&m->b->model->fail, SOOTH_ERROR_INPUT, "the program has no function to run; export the model again");
}

static bool has_graph(const node *n)
{
    bool has = false;
    for (int32_t k = 0; k < n->attr_count; k++)
        has |= n->attrs[k].kind == ATTR_GRAPH;
    return has;
}

/* Removes nodes for which `stays` is false, and the declarations of their outputs. */
static void keep_nodes(builder *b, graph *g, const bool *stays)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < g->nodes.count; i++) {
        const node *n = &g->nodes.items[i];
        for (int32_t k = 0; !stays[i] && k < n->output_count; k++)
            if (n->outputs[k] != NO_VALUE)
                build_at(b, n->outputs[k])->is_declared = false;
        if (stays[i])
            g->nodes.items[kept++] = *n;
    }
    g->nodes.count = kept;
}

/* Drops nodes without readers, as XLA does: wrapped indices, bounds checks. */
static void drop_unread(hlo_writer *w)
{
    builder *b = w->e.b;
    graph *g = &b->source->main;
    bool *is_read = ARENA_ARRAY(b->arena, bool, (size_t)b->source->values.count + 1);
    bool *stays = ARENA_ARRAY(b->arena, bool, (size_t)g->nodes.count + 1);
    for (int32_t i = 0; i < g->outputs.count; i++)
        is_read[g->outputs.items[i]] = true;
    for (int32_t i = g->nodes.count - 1; i >= 0; i--) {
        const node *n = &g->nodes.items[i];
        if (has_graph(n)) { /* Bodies may read any value of the outer graph, so all earlier nodes stay. */
            for (int32_t k = 0; k <= i; k++)
                stays[k] = true;
            break;
        }
        stays[i] = g->outputs.count == 0 || n->output_count == 0;
        for (int32_t k = 0; k < n->output_count; k++)
            stays[i] |= n->outputs[k] != NO_VALUE && is_read[n->outputs[k]];
        for (int32_t k = 0; stays[i] && k < n->input_count; k++)
            if (n->inputs[k] != NO_VALUE)
                is_read[n->inputs[k]] = true;
    }
    keep_nodes(b, g, stays);
}

void hlo_write(hlo_module *m)
{
    enum { TUPLE_ROOM = 4096 };
    builder *b = m->b;
    const hlo_function *entry = find_entry(m);
    const hlo_region *body = &entry->body;
    int32_t elements = 0;
    for (int32_t i = 0; i < body->argument_count; i++)
        elements += hlo_at(m, body->first_argument + i)->type.element_count;
    if (elements > TUPLE_ROOM)
        fail_with(&b->model->fail, SOOTH_ERROR_INPUT, "the program has tuples of more than %d values as arguments",
                  TUPLE_ROOM);
    hlo_writer *w = ARENA_NEW(b->arena, hlo_writer);
    size_t values = (size_t)m->values.count + (size_t)elements + 1;
    usage u = {.m = m, .flags = ARENA_ARRAY(b->arena, uint8_t, values)};
    bool *is_parameter = ARENA_ARRAY(b->arena, bool, (size_t)body->argument_count + 1);
    for (int32_t i = 0; i < m->functions.count; i++)
        count_uses(m, &m->functions.items[i]->body);
    find_uses(&u);
    find_parameters(&u, body, is_parameter);
    w->m = m;
    w->bound = ARENA_ARRAY(b->arena, hlo_bound, values);
    w->is_done = ARENA_ARRAY(b->arena, bool, values);
    w->prefix = STR("");
    emit_begin(&w->e, b, m->format);
    build_open(b, &b->source->main, false);
    b->source->main.name = arena_str(b->arena, m->name.len ? m->name : entry->name);
    add_arguments(w, body, is_parameter);
    hlo_region_ops(w, body);
    const hlo_op *end = hlo_terminator(body);
    for (int32_t i = 0; end && str_is(end->name, "return") && i < end->operand_count; i++) {
        hlo_bound bound = *hlo_bound_of(w, end->operands[i]);
        add_output(w, &bound, bound.kind == HLO_TUPLE ? NO_VALUE : hlo_in(w, end->operands[i]));
    }
    drop_unread(w);
    build_close(b);
}
