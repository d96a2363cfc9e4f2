/* num.c: polynomials over symbols, kept unique by their canonical text.
 *
 * An expression is a sum of terms; a term is a coefficient times atoms; an atom is a named symbol or a function that
 * is not a polynomial, such as floor(a/b), told apart by its text. The sizes are capped: an expression that
 * outgrows them is NUM_UNKNOWN. */
#include "graph/num.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_TERMS = 12, MAX_ATOMS = 8, MAX_TEXT = 240 };

typedef struct term {
    int64_t coefficient;
    int32_t atom_count;
    int32_t atoms[MAX_ATOMS]; /* indices of expressions that are single atoms, ascending */
} term;

struct num_expression {
    const char *text;
    size_t text_len;
    int32_t term_count;
    term *terms;
    bool is_atom; /* one symbol or function: may stand inside terms */
};

typedef struct poly {
    int32_t count;
    bool overflow;
    term terms[MAX_TERMS];
} poly;

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

/* The expression of that text; made by the caller's terms if it is new. */
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
    p->overflow = false;
    p->count = 0;
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

/* Orders terms: more atoms first, then by atoms; the constant comes last. */
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

static num store(num_table *t, const poly *p)
{
    if (p->overflow)
        return NUM_UNKNOWN;
    if (p->count == 0)
        return 0;
    if (p->count == 1 && p->terms[0].atom_count == 0)
        return num_known(p->terms[0].coefficient) ? p->terms[0].coefficient : NUM_UNKNOWN;
    char text[MAX_TEXT + 64];
    size_t len = 0;
    for (int32_t i = 0; i < p->count; i++) {
        const term *x = &p->terms[i];
        bool bare = x->atom_count && (x->coefficient == 1 || x->coefficient == -1);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s", x->coefficient < 0 ? "-" : i ? "+" : "");
        if (!bare)
            len += (size_t)snprintf(
                text + len, sizeof text - len, "%llu",
                (unsigned long long)(x->coefficient < 0 ? 0 - (uint64_t)x->coefficient : (uint64_t)x->coefficient));
        for (int32_t k = 0; k < x->atom_count; k++) {
            const num_expression *atom = t->expressions.items[x->atoms[k]];
            if (len + atom->text_len + 2 > MAX_TEXT)
                return NUM_UNKNOWN;
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", k || !bare ? "*" : "", atom->text);
        }
        if (len > MAX_TEXT)
            return NUM_UNKNOWN;
    }
    return intern(t, text, len, p->terms, p->count);
}

num num_add_symbolic(num_table *t, num a, num b)
{
    poly p, q;
    load(t, a, &p);
    load(t, b, &q);
    if (q.overflow)
        return NUM_UNKNOWN;
    for (int32_t i = 0; i < q.count; i++)
        add_term(&p, &q.terms[i]);
    return store(t, &p);
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
    poly p, q, r = {.count = 0};
    load(t, a, &p);
    load(t, b, &q);
    if (p.overflow || q.overflow)
        return NUM_UNKNOWN;
    for (int32_t i = 0; i < p.count; i++)
        for (int32_t k = 0; k < q.count; k++) {
            term x;
            if (!multiply_terms(&p.terms[i], &q.terms[k], &x))
                return NUM_UNKNOWN;
            add_term(&r, &x);
        }
    return store(t, &r);
}

/* a / b for terms, if it is exact. */
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

/* A function of two numbers that is not a polynomial becomes an atom named by its text. */
static num function_atom(num_table *t, const char *format, num a, num b)
{
    char left[MAX_TEXT + 1], right[MAX_TEXT + 1], text[2 * MAX_TEXT + 16];
    const num operands[2] = {a, b};
    char *texts[2] = {left, right};
    for (int i = 0; i < 2; i++) {
        if (num_known(operands[i]))
            snprintf(texts[i], MAX_TEXT + 1, "%lld", (long long)operands[i]);
        else if (num_text(t, operands[i]))
            snprintf(texts[i], MAX_TEXT + 1, "%s", num_text(t, operands[i]));
        else
            return NUM_UNKNOWN;
    }
    int n = snprintf(text, sizeof text, format, left, right);
    return n < 0 || n > MAX_TEXT ? NUM_UNKNOWN : intern(t, text, (size_t)n, NULL, 0);
}

static int64_t floor_division(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

num num_floordiv(num_table *t, num a, num b)
{
    if (b == 0)
        return NUM_UNKNOWN;
    if (num_known(a) && num_known(b))
        return b == 1 ? a : floor_division(a, b); /* most strides are 1, and dividing is slow */
    if (a == b && num_symbolic(a))
        return 1;
    poly p, q, quotient = {.count = 0}, rest = {.count = 0};
    load(t, a, &p);
    load(t, b, &q);
    if (p.overflow || q.overflow)
        return NUM_UNKNOWN;
    if (q.count != 1)
        return function_atom(t, "floor((%s)/(%s))", a, b);
    /* floor((x*b + r)/b) = x + floor(r/b): what divides exactly is taken out. */
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
    return num_add(t, whole, function_atom(t, num_known(b) ? "floor((%s)/%s)" : "floor((%s)/(%s))", part, b));
}

num num_ceildiv(num_table *t, num a, num b)
{
    return num_mul(t, num_floordiv(t, num_mul(t, a, -1), b), -1);
}

num num_mod(num_table *t, num a, num b)
{
    return num_sub(t, a, num_mul(t, b, num_floordiv(t, a, b)));
}

num num_min(num_table *t, num a, num b)
{
    if (num_known(a) && num_known(b))
        return a < b ? a : b;
    return a == b ? a : function_atom(t, "min(%s,%s)", a, b);
}

num num_max(num_table *t, num a, num b)
{
    if (num_known(a) && num_known(b))
        return a > b ? a : b;
    return a == b ? a : function_atom(t, "max(%s,%s)", a, b);
}
