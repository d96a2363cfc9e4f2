/* access.c: merges, composes and compares accesses to a buffer. An access is a nest of loops with strides. */
#include "lower/fused/access.h"

static void push(piece *to, int *count, int64_t size, int64_t stride)
{
    if (size == 1)
        return;
    if (*count > 0) {
        piece *last = &to[*count - 1];
        if (last->stride == mul_wrapping(size, stride)) {
            last->size = mul_wrapping(last->size, size);
            last->stride = stride;
            return;
        }
    }
    to[(*count)++] = (piece){size, stride};
}

static access keep(arena *a, const piece *pieces, int count)
{
    piece *own = arena_room(a, (size_t)count + 1, sizeof *own);
    for (int i = 0; i < count; i++)
        own[i] = pieces[i];
    return (access){.pieces = own, .count = (int16_t)count, .outer_count = (int16_t)count};
}

access access_of(arena *a, const piece *pieces, int count)
{
    piece merged[MAX_PIECES];
    int n = 0;
    if (count > MAX_PIECES)
        return access_scattered(a, 1);
    for (int i = 0; i < count; i++)
        push(merged, &n, pieces[i].size, pieces[i].stride);
    return keep(a, merged, n);
}

access access_scattered(arena *a, int64_t elements)
{
    access x = keep(a, &(piece){elements, 1}, 1);
    x.is_scattered = true;
    return x;
}

static int64_t elements_of(const access *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->count; i++)
        n = mul_wrapping(n, x->pieces[i].size);
    return n;
}

/* Splits one loop over addresses into loops over elements, innermost first. Returns the number of loops, or -1 if
 * strides cannot describe them. */
static int compose_loop(piece loop, const access *of, piece *made, int room)
{
    int count = 0, at = of->count - 1;
    if (at == 0 && of->pieces[0].stride == 1 && loop.size > 1 && loop.stride < of->pieces[0].size &&
        loop.size - 1 < INT32_MAX && loop.stride < INT32_MAX &&
        /* Within the innermost consecutive addresses, each address is one element. */
        (loop.size - 1) * loop.stride < of->pieces[0].size) {
        made[0] = loop;
        return 1;
    }
    int64_t unit = 1; /* Number of addresses between steps of piece `at`. */
    while (at >= 0 && loop.stride >= mul_wrapping(unit, of->pieces[at].size))
        unit = mul_wrapping(unit, of->pieces[at--].size);
    while (loop.size > 1) {
        bool is_step = loop.stride == unit; /* The usual case; it avoids a slow division. */
        if (at < 0 || count == room || unit <= 0 || (!is_step && loop.stride % unit != 0))
            return -1;
        piece own = of->pieces[at];
        if (own.size < 2)
            return -1;
        int64_t step = is_step ? 1 : loop.stride / unit, fits = is_step ? own.size : (own.size + step - 1) / step;
        if (loop.size <= fits) {
            made[count++] = (piece){loop.size, mul_wrapping(step, own.stride)};
            return count;
        }
        if ((!is_step && own.size % step != 0) || loop.size % fits != 0)
            return -1;
        made[count++] = (piece){fits, mul_wrapping(step, own.stride)};
        loop.size /= fits;
        unit = mul_wrapping(unit, own.size);
        loop.stride = unit;
        at--;
    }
    return count;
}

/* True if the access is known and its loops are merged; those of a join may not be. */
static bool is_merged(const access *x)
{
    return !x->is_scattered && x->outer_count == x->count && x->count > 0 && x->count < MAX_PIECES;
}

/* True if `at` visits all elements of `of` in order. The composition then has the loops of `of`. */
static bool visits_all(const access *at, const access *of)
{
    int64_t elements = 1;
    if (at->count != 1 || at->pieces[0].stride != 1)
        return false;
    for (int i = 0; i < of->count; i++)
        if (of->pieces[i].size < 2 || __builtin_mul_overflow(elements, of->pieces[i].size, &elements))
            return false;
    return at->pieces[0].size == elements;
}

/* True if the addresses of `of` are its elements. The composition then has the loops of `at`. */
static bool is_dense(const access *at, const access *of)
{
    if (of->count != 1 || of->pieces[0].stride != 1)
        return false;
    for (int i = 0; i < at->count; i++) {
        piece loop = at->pieces[i];
        if (loop.size < 2 || loop.size > INT32_MAX || loop.stride < 0 || loop.stride >= INT32_MAX ||
            loop.stride >= of->pieces[0].size || (loop.size - 1) * loop.stride >= of->pieces[0].size)
            return false;
    }
    return true;
}

/* Composes without the flags. Stores nothing if the loops are those of one operand, which is common. */
static access compose_loops(arena *a, const access *at, const access *of)
{
    if (is_merged(at) && is_merged(of)) {
        if (is_dense(at, of))
            return (access){.pieces = at->pieces, .count = at->count, .outer_count = at->count};
        if (visits_all(at, of))
            return (access){.pieces = of->pieces, .count = of->count, .outer_count = of->count};
    }
    piece made[MAX_PIECES];
    int count = 0;
    bool known = !at->is_scattered && !of->is_scattered;
    for (int i = 0; known && i < at->count; i++) {
        piece loop = at->pieces[i], inner[MAX_PIECES];
        if (count + of->count + 1 > MAX_PIECES || loop.stride < 0) {
            known = false;
        } else if (loop.stride == 0) {
            push(made, &count, loop.size, 0);
        } else {
            int n = compose_loop(loop, of, inner, of->count);
            known = n >= 0;
            while (n-- > 0)
                push(made, &count, inner[n].size, inner[n].stride);
        }
    }
    return known ? keep(a, made, count) : access_scattered(a, elements_of(at));
}

access access_compose(arena *a, const access *at, const access *of)
{
    access x = compose_loops(a, at, of);
    x.part = at->part * 31 + of->part;
    x.is_gathered = at->is_gathered || of->is_gathered;
    x.is_narrow = at->is_narrow || of->is_narrow || (at->is_scattered && access_repeated(of) > 1);
    return x;
}

int access_along(const access *of, int64_t size, int64_t stride, int64_t *made_stride)
{
    piece inner[MAX_PIECES], made[MAX_PIECES];
    int count = 0;
    if (of->is_scattered)
        return -1;
    if (size == 1)
        return 0;
    if (stride < 0 || of->count + 1 > MAX_PIECES)
        return -1;
    if (stride == 0) {
        *made_stride = 0;
        return 1;
    }
    int n = compose_loop((piece){size, stride}, of, inner, of->count);
    if (n < 0)
        return -1;
    if (n == 1 && inner[0].size != 1) { /* The common case. */
        *made_stride = inner[0].stride;
        return 1;
    }
    while (n-- > 0)
        push(made, &count, inner[n].size, inner[n].stride);
    if (count)
        *made_stride = made[0].stride;
    return count;
}

access access_join(arena *a, const access *outer, const access *inner)
{
    if (outer->is_scattered || inner->is_scattered || outer->count + inner->count > MAX_PIECES) {
        access all = access_scattered(a, mul_wrapping(elements_of(outer), elements_of(inner)));
        all.is_gathered = outer->is_gathered || inner->is_gathered;
        all.is_narrow = outer->is_narrow || inner->is_narrow;
        return all;
    }
    piece all[MAX_PIECES];
    memcpy(all, outer->pieces, (size_t)outer->count * sizeof *all);
    memcpy(all + outer->count, inner->pieces, (size_t)inner->count * sizeof *all);
    access x = keep(a, all, outer->count + inner->count);
    x.outer_count = outer->count;
    x.part = outer->part;
    return x;
}

/* Splits both accesses into loops of equal sizes. Returns the number of loops, or 0 if the sizes do not divide. */
static int cut_alike(const access *x, const access *y, piece *xs, piece *ys)
{
    int i = x->count - 1, j = y->count - 1, n = 0;
    piece p = i >= 0 ? x->pieces[i] : (piece){1, 0}, q = j >= 0 ? y->pieces[j] : (piece){1, 0};
    while (i >= 0 && j >= 0) {
        int64_t size = p.size < q.size ? p.size : q.size;
        /* The common case, without slow divisions. */
        bool is_all_p = p.size == size, is_all_q = q.size == size;
        if (n == MAX_PIECES || size < 2 || (!is_all_p && p.size % size != 0) || (!is_all_q && q.size % size != 0))
            return 0;
        xs[n] = (piece){size, p.stride};
        ys[n++] = (piece){size, q.stride};
        if (!is_all_p)
            p = (piece){p.size / size, mul_wrapping(p.stride, size)};
        else if (--i >= 0)
            p = x->pieces[i];
        if (!is_all_q)
            q = (piece){q.size / size, mul_wrapping(q.stride, size)};
        else if (--j >= 0)
            q = y->pieces[j];
    }
    return i < 0 && j < 0 ? n : 0;
}

access access_sorted(arena *a, const access *x, const access *order)
{
    piece xs[MAX_PIECES], ys[MAX_PIECES];
    int n = x->is_scattered || order->is_scattered ? 0 : cut_alike(x, order, xs, ys);
    if (n == 0)
        return *x;
    for (int i = 1; i < n; i++) /* Insertion sort by stride in `order`, largest first. */
        for (int k = i; k > 0 && ys[k].stride > ys[k - 1].stride; k--) {
            piece px = xs[k], py = ys[k];
            xs[k] = xs[k - 1];
            ys[k] = ys[k - 1];
            xs[k - 1] = px;
            ys[k - 1] = py;
        }
    access sorted = access_of(a, xs, n);
    sorted.part = x->part;
    return sorted;
}

int64_t access_touched(const access *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->count; i++)
        n = x->pieces[i].stride ? mul_wrapping(n, x->pieces[i].size) : n;
    return n;
}

int64_t access_repeated(const access *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->count; i++)
        n = x->pieces[i].stride ? n : mul_wrapping(n, x->pieces[i].size);
    return n;
}

/* Collects the loops with a stride other than 0, sorted by stride (smallest last) and merged. Returns their number. */
static int moving(const access *x, piece *to)
{
    piece sorted[MAX_PIECES];
    int n = 0, count = 0;
    for (int i = 0; i < x->count; i++) {
        if (x->pieces[i].stride == 0)
            continue;
        int at = n++;
        while (at > 0 && sorted[at - 1].stride < x->pieces[i].stride) {
            sorted[at] = sorted[at - 1];
            at--;
        }
        sorted[at] = x->pieces[i];
    }
    for (int i = 0; i < n; i++)
        push(to, &count, sorted[i].size, sorted[i].stride);
    return count;
}

bool access_covers(const access *x, int64_t elements)
{
    piece loops[MAX_PIECES];
    if (x->is_scattered)
        return false;
    int n = moving(x, loops);
    return n == 0 ? elements == 1 : n == 1 && loops[0].stride == 1 && loops[0].size == elements;
}

bool access_is_row(const access *x)
{
    bool moves = x->count > 0 && x->pieces[0].stride != 0;
    return !x->is_scattered && x->count <= 2 && (x->count < 2 || moves) && (x->count < 2 || x->pieces[1].stride == 0) &&
           (!moves || x->pieces[0].stride == 1);
}

static uint64_t hash_loops(const access *x, const piece *loops, int count)
{
    uint64_t hash = 1469598103934665603u ^ (uint64_t)x->part;
    for (int i = 0; i < count; i++) {
        hash = (hash ^ (uint64_t)loops[i].size) * 1099511628211u;
        hash = (hash ^ (uint64_t)loops[i].stride) * 1099511628211u;
    }
    return x->is_scattered ? ~hash : hash;
}

uint64_t access_hash(const access *x)
{
    piece loops[MAX_PIECES];
    int count = moving(x, loops);
    return hash_loops(x, loops, count);
}

uint64_t access_order_hash(const access *x)
{
    return hash_loops(x, x->pieces, x->count);
}
