/* num.c: polynomials over symbols, unique by their canonical text.
 *
 * An expression is a sum of terms. A term is a coefficient times atoms. An atom is a named symbol or a non-polynomial
 * function such as floor(a/b), identified by its text. An expression beyond the size limits is NUM_UNKNOWN.
 *
 * Networks repeat the same few sums and products, so a cache keeps the results of binary operations. Text is made
 * only for new expressions. */
#include "graph/num.h"

enum { MAX_TERMS = 12, MAX_ATOMS = 8, MAX_TEXT = 240 };
enum { LEAST_REMEMBERED = 128, MOST_REMEMBERED = 8192 };

typedef struct term {
    int64_t coefficient;
    int32_t atom_count;
    int32_t atoms[MAX_ATOMS]; /* Ascending indices of expressions that are single atoms. */
} term;

typedef enum operation { OP_NONE, OP_ADD, OP_MUL, OP_FLOORDIV, OP_MIN, OP_MAX } operation;

/* Cached result of an operation; a later one may overwrite it. */
struct num_remembered {
    num a, b, result;
    operation operation; /* OP_NONE if free. */
};

struct num_expression {
    const char *text;
    size_t text_len;
    int32_t term_count;
    term *terms;
    bool is_atom; /* True for a single symbol or function, which may occur inside terms. */
};

typedef struct poly {
    int32_t count;
    bool overflow;
    term terms[MAX_TERMS];
} poly;

static void clear(poly *p)
{
    p->count = 0;
    p->overflow = false;
}

void num_table_init(num_table *t, arena *a)
{
    *t = (num_table){.arena = a};
}

static num num_of_index(int32_t index)
{
    return INT64_MIN + 1 + index;
}

static num_expression *expression_of(const num_table *t, num a)
{
    if (!num_symbolic(a))
        return NULL;
    int64_t index = a - (INT64_MIN + 1);
    return index < t->expressions.count ? t->expressions.items[index] : NULL;
}

const char *num_text(const num_table *t, num a)
{
    num_expression *e = expression_of(t, a);
    return e ? e->text : NULL;
}

/* ---- what was computed before ---------------------------------------------------------------------------------- */

static num_remembered *place_of(const num_table *t, operation operation, num a, num b)
{
    uint64_t hash = ((uint64_t)a * 0x9E3779B97F4A7C15u ^ (uint64_t)b) * 0xC2B2AE3D27D4EB4Fu + operation;
    return &t->remembered[(hash ^ hash >> 32) & (uint64_t)(t->remembered_count - 1)];
}

/* The cache is created by the first symbolic operation, and grows while new results keep coming. */
static num_remembered *remembered(num_table *t, operation operation, num a, num b)
{
    if (t->remembered_new >= t->remembered_count && t->remembered_count < MOST_REMEMBERED) {
        int32_t before = t->remembered_count;
        const num_remembered *old = t->remembered;
        t->remembered_count = before ? before * 4 : LEAST_REMEMBERED;
        t->remembered = ARENA_ARRAY(t->arena, num_remembered, (size_t)t->remembered_count);
        t->remembered_new = 0;
        for (int32_t i = 0; i < before; i++)
            if (old[i].operation)
                *place_of(t, old[i].operation, old[i].a, old[i].b) = old[i];
    }
    return place_of(t, operation, a, b);
}

static inline bool is_that(const num_remembered *r, operation operation, num a, num b)
{
    return r->a == a && r->b == b && r->operation == operation;
}

static num remember(num_table *t, num_remembered *r, operation operation, num a, num b, num result)
{
    if (result != NUM_UNKNOWN) { /* The result overflowed into the range that denotes expressions. */
        *r = (num_remembered){a, b, result, operation};
        t->remembered_new++;
    }
    return result;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static void grow_buckets(num_table *t)
{
    int32_t count = t->bucket_count ? t->bucket_count * 2 : 64;
    t->buckets = ARENA_ARRAY(t->arena, int32_t, (size_t)count);
    t->bucket_count = count;
    for (int32_t i = 0; i < t->expressions.count; i++) {
        num_expression *e = t->expressions.items[i];
        uint32_t slot = str_hash((str){e->text, e->text_len});
        while (t->buckets[slot &= (uint32_t)count - 1])
            slot++;
        t->buckets[slot] = i + 1;
    }
}

/* Expression with that text; created from the given terms if it is new. */
static num intern(num_table *t, const char *text, size_t len, const term *terms, int32_t term_count)
{
    if (t->expressions.count * 2 >= t->bucket_count)
        grow_buckets(t);
    uint32_t slot = str_hash((str){text, len});
    int32_t found;
    while ((found = t->buckets[slot &= (uint32_t)t->bucket_count - 1])) {
        num_expression *e = t->expressions.items[found - 1];
        if (e->text_len == len && memcmp(e->text, text, len) == 0)
            return num_of_index(found - 1);
        slot++;
    }
    if (t->expressions.count >= NUM_MAX_EXPRESSIONS - 2)
        return NUM_UNKNOWN;
    num_expression *e = ARENA_NEW(t->arena, num_expression);
    str copy = arena_str(t->arena, (str){text, len});
    e->text = copy.ptr;
    e->text_len = copy.len;
    int32_t index = t->expressions.count;
    if (terms) {
        e->terms = arena_copy(t->arena, terms, (size_t)term_count, sizeof *terms);
        e->term_count = term_count;
    } else {
        e->is_atom = true;
        e->terms = ARENA_NEW(t->arena, term);
        e->terms[0] = (term){.coefficient = 1, .atom_count = 1, .atoms = {index}};
        e->term_count = 1;
    }
    *(num_expression **)ARENA_PUSH(t->arena, &t->expressions) = e;
    t->buckets[slot] = index + 1;
    return num_of_index(index);
}

num num_symbol(num_table *t, str name)
{
    if (name.len == 0 || name.len > MAX_TEXT)
        return NUM_UNKNOWN;
    return intern(t, name.ptr, name.len, NULL, 0);
}

static void load(const num_table *t, num a, poly *p)
{
    clear(p);
    if (num_known(a)) {
        if (a != 0)
            p->terms[p->count++] = (term){.coefficient = a};
        return;
    }
    num_expression *e = expression_of(t, a);
    if (!e) {
        p->overflow = true;
        return;
    }
    p->count = e->term_count;
    memcpy(p->terms, e->terms, (size_t)e->term_count * sizeof(term));
}

/* Term order: more atoms first, then by atoms; the constant is last. */
static int compare_terms(const term *a, const term *b)
{
    if (a->atom_count != b->atom_count)
        return b->atom_count - a->atom_count;
    for (int32_t i = 0; i < a->atom_count; i++)
        if (a->atoms[i] != b->atoms[i])
            return a->atoms[i] - b->atoms[i];
    return 0;
}

static void add_term(poly *p, const term *x)
{
    int32_t i = 0;
    while (i < p->count && compare_terms(&p->terms[i], x) < 0)
        i++;
    if (i < p->count && compare_terms(&p->terms[i], x) == 0) {
        if (__builtin_add_overflow(p->terms[i].coefficient, x->coefficient, &p->terms[i].coefficient))
            p->overflow = true;
        if (p->terms[i].coefficient == 0) {
            memmove(&p->terms[i], &p->terms[i + 1], (size_t)(p->count - i - 1) * sizeof(term));
            p->count--;
        }
        return;
    }
    if (p->count == MAX_TERMS) {
        p->overflow = true;
        return;
    }
    memmove(&p->terms[i + 1], &p->terms[i], (size_t)(p->count - i) * sizeof(term));
    p->terms[i] = *x;
    p->count++;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

typedef struct text {
    char bytes[2 * MAX_TEXT + 64];
    size_t len;
} text;

static void append(text *to, const char *bytes, size_t len)
{
    memcpy(to->bytes + to->len, bytes, len);
    to->len += len;
}

static void append_number(text *to, uint64_t number)
{
    char digits[20];
    size_t first = sizeof digits;
    do
        digits[--first] = (char)('0' + number % 10);
    while (number /= 10);
    append(to, digits + first, sizeof digits - first);
}

static uint64_t magnitude(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

/* False if the text is too long. */
static bool write_poly(const num_table *t, const poly *p, text *to)
{
    to->len = 0;
    for (int32_t i = 0; i < p->count; i++) {
        const term *x = &p->terms[i];
        bool bare = x->atom_count && (x->coefficient == 1 || x->coefficient == -1);
        if (x->coefficient < 0 || i)
            append(to, x->coefficient < 0 ? "-" : "+", 1);
        if (!bare)
            append_number(to, magnitude(x->coefficient));
        for (int32_t k = 0; k < x->atom_count; k++) {
            const num_expression *atom = t->expressions.items[x->atoms[k]];
            if (to->len + atom->text_len + 2 > MAX_TEXT)
                return false;
            append(to, "*", k || !bare);
            append(to, atom->text, atom->text_len);
        }
        if (to->len > MAX_TEXT)
            return false;
    }
    return true;
}

static num store(num_table *t, const poly *p)
{
    if (p->overflow)
        return NUM_UNKNOWN;
    if (p->count == 0)
        return 0;
    if (p->count == 1 && p->terms[0].atom_count == 0)
        return num_known(p->terms[0].coefficient) ? p->terms[0].coefficient : NUM_UNKNOWN;
    text written;
    return write_poly(t, p, &written) ? intern(t, written.bytes, written.len, p->terms, p->count) : NUM_UNKNOWN;
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

num num_add_symbolic(num_table *t, num a, num b)
{
    if (a == NUM_UNKNOWN || b == NUM_UNKNOWN)
        return NUM_UNKNOWN;
    if ((a == 0 && expression_of(t, b)) || (b == 0 && expression_of(t, a)))
        return a + b;
    num_remembered *r = remembered(t, OP_ADD, a, b);
    if (is_that(r, OP_ADD, a, b))
        return r->result;
    poly p, q;
    load(t, a, &p);
    load(t, b, &q);
    if (q.overflow)
        return NUM_UNKNOWN;
    for (int32_t i = 0; i < q.count; i++)
        add_term(&p, &q.terms[i]);
    return remember(t, r, OP_ADD, a, b, store(t, &p));
}

static bool multiply_terms(const term *a, const term *b, term *result)
{
    if (__builtin_mul_overflow(a->coefficient, b->coefficient, &result->coefficient) ||
        a->atom_count + b->atom_count > MAX_ATOMS)
        return false;
    int32_t i = 0, k = 0;
    result->atom_count = 0;
    while (i < a->atom_count || k < b->atom_count) {
        bool first = k == b->atom_count || (i < a->atom_count && a->atoms[i] <= b->atoms[k]);
        result->atoms[result->atom_count++] = first ? a->atoms[i++] : b->atoms[k++];
    }
    return true;
}

num num_mul_symbolic(num_table *t, num a, num b)
{
    if (a == 0 || b == 0)
        return 0;
    if (a == NUM_UNKNOWN || b == NUM_UNKNOWN)
        return NUM_UNKNOWN;
    if ((a == 1 && expression_of(t, b)) || (b == 1 && expression_of(t, a)))
        return a == 1 ? b : a;
    num_remembered *r = remembered(t, OP_MUL, a, b);
    if (is_that(r, OP_MUL, a, b))
        return r->result;
    poly p, q, product;
    clear(&product);
    load(t, a, &p);
    load(t, b, &q);
    if (p.overflow || q.overflow)
        return NUM_UNKNOWN;
    for (int32_t i = 0; i < p.count; i++)
        for (int32_t k = 0; k < q.count; k++) {
            term x;
            if (!multiply_terms(&p.terms[i], &q.terms[k], &x))
                return NUM_UNKNOWN;
            add_term(&product, &x);
        }
    return remember(t, r, OP_MUL, a, b, store(t, &product));
}

/* Divides terms; false unless the division is exact. */
static bool divide_terms(const term *a, const term *b, term *result)
{
    if (b->coefficient == 0 || (a->coefficient == INT64_MIN && b->coefficient == -1) ||
        a->coefficient % b->coefficient != 0)
        return false;
    result->coefficient = a->coefficient / b->coefficient;
    result->atom_count = 0;
    int32_t k = 0;
    for (int32_t i = 0; i < a->atom_count; i++) {
        if (k < b->atom_count && a->atoms[i] == b->atoms[k])
            k++;
        else
            result->atoms[result->atom_count++] = a->atoms[i];
    }
    return k == b->atom_count;
}

/* False if the operand is unknown. */
static bool write_operand(const num_table *t, num a, text *to)
{
    const num_expression *e = expression_of(t, a);
    if (num_known(a)) {
        append(to, "-", a < 0);
        append_number(to, magnitude(a));
    } else if (e) {
        append(to, e->text, e->text_len);
    }
    return num_known(a) || e;
}

/* A non-polynomial function of two numbers becomes an atom named by its text. */
static num function_atom(num_table *t, const char *before, num a, const char *between, num b, const char *after)
{
    text written = {.len = 0};
    append(&written, before, strlen(before));
    if (!write_operand(t, a, &written))
        return NUM_UNKNOWN;
    append(&written, between, strlen(between));
    if (!write_operand(t, b, &written))
        return NUM_UNKNOWN;
    append(&written, after, strlen(after));
    return written.len > MAX_TEXT ? NUM_UNKNOWN : intern(t, written.bytes, written.len, NULL, 0);
}

static int64_t floor_division(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* b is not 0, and at least one of the two is symbolic. */
static num floordiv_symbolic(num_table *t, num a, num b)
{
    poly p, q, quotient, rest;
    clear(&quotient);
    clear(&rest);
    load(t, a, &p);
    load(t, b, &q);
    if (p.overflow || q.overflow)
        return NUM_UNKNOWN;
    if (q.count != 1)
        return function_atom(t, "floor((", a, ")/(", b, "))");
    /* floor((x*b + r)/b) = x + floor(r/b): takes terms that divide exactly out of the floor. */
    for (int32_t i = 0; i < p.count; i++) {
        term x;
        if (divide_terms(&p.terms[i], &q.terms[0], &x)) {
            add_term(&quotient, &x);
        } else if (p.terms[i].atom_count == 0 && q.terms[0].atom_count == 0 && q.terms[0].coefficient > 0) {
            int64_t whole = floor_division(p.terms[i].coefficient, b);
            if (whole)
                add_term(&quotient, &(term){.coefficient = whole});
            add_term(&rest, &(term){.coefficient = p.terms[i].coefficient - whole * b});
        } else {
            add_term(&rest, &p.terms[i]);
        }
    }
    num whole = store(t, &quotient), part = store(t, &rest);
    if (part == 0)
        return whole;
    if (num_known(part) && num_known(b) && b > 0 && part > 0 && part < b)
        return whole;
    return num_add(t, whole,
                   num_known(b) ? function_atom(t, "floor((", part, ")/", b, ")")
                                : function_atom(t, "floor((", part, ")/(", b, "))"));
}

num num_floordiv(num_table *t, num a, num b)
{
    if (b == 0 || a == NUM_UNKNOWN || b == NUM_UNKNOWN)
        return NUM_UNKNOWN;
    if (num_known(a) && num_known(b))
        return b == 1 ? a : floor_division(a, b); /* Avoids the slow division for the most common stride. */
    if (a == b && num_symbolic(a))
        return 1;
    num_remembered *r = remembered(t, OP_FLOORDIV, a, b);
    if (is_that(r, OP_FLOORDIV, a, b))
        return r->result;
    num result = floordiv_symbolic(t, a, b);
    /* Looks the slot up again, because the division may have computed sums and so moved the cache. */
    return remember(t, remembered(t, OP_FLOORDIV, a, b), OP_FLOORDIV, a, b, result);
}

num num_ceildiv(num_table *t, num a, num b)
{
    return num_mul(t, num_floordiv(t, num_mul(t, a, -1), b), -1);
}

num num_mod(num_table *t, num a, num b)
{
    return num_sub(t, a, num_mul(t, b, num_floordiv(t, a, b)));
}

static num smaller_or_larger(num_table *t, operation operation, const char *before, num a, num b)
{
    num_remembered *r = remembered(t, operation, a, b);
    if (is_that(r, operation, a, b))
        return r->result;
    return remember(t, r, operation, a, b, function_atom(t, before, a, ",", b, ")"));
}

num num_min(num_table *t, num a, num b)
{
    if (num_known(a) && num_known(b))
        return a < b ? a : b;
    return a == b ? a : smaller_or_larger(t, OP_MIN, "min(", a, b);
}

num num_max(num_table *t, num a, num b)
{
    if (num_known(a) && num_known(b))
        return a > b ? a : b;
    return a == b ? a : smaller_or_larger(t, OP_MAX, "max(", a, b);
}

/* ---- long sums --------------------------------------------------------------------------------------------------- */

struct num_sum {
    poly total;
    /* Upper bound on the text length of a sum of these terms, for any coefficients; 0 if unknown. */
    int32_t short_terms;
};

num_sum *num_sum_begin(num_table *t)
{
    num_sum *sum = arena_room(t->arena, 1, sizeof *sum);
    clear(&sum->total);
    sum->short_terms = 0;
    return sum;
}

/* True if the text is certainly short enough. */
static bool is_short(const num_table *t, const poly *p)
{
    enum { SIGN_AND_DIGITS = 21 };
    size_t len = 0;
    for (int32_t i = 0; i < p->count; i++) {
        len += SIGN_AND_DIGITS;
        for (int32_t k = 0; k < p->terms[i].atom_count; k++)
            len += 2 + t->expressions.items[p->terms[i].atoms[k]]->text_len;
    }
    return len <= MAX_TEXT;
}

void num_sum_add(num_table *t, num_sum *sum, num x)
{
    poly *total = &sum->total;
    const num_expression *e = expression_of(t, x);
    if (total->overflow || x == 0)
        return;
    if (num_known(x))
        add_term(total, &(term){.coefficient = x});
    else if (!e)
        total->overflow = true;
    for (int32_t i = 0; e && i < e->term_count; i++)
        add_term(total, &e->terms[i]);
    /* A single term may change a coefficient or the number of terms. */
    if ((e && e->term_count != 1) || total->count != sum->short_terms) {
        text written;
        sum->short_terms = is_short(t, total) ? total->count : 0;
        if (!sum->short_terms && !write_poly(t, total, &written))
            total->overflow = true;
    }
    if (total->count == 1 && total->terms[0].atom_count == 0 && !num_known(total->terms[0].coefficient))
        total->overflow = true;
}

num num_sum_end(num_table *t, const num_sum *sum)
{
    return store(t, &sum->total);
}
