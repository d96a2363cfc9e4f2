/* einsum.c: parses Einsum equations such as "bij,bjk->bik", with implicit outputs, ellipses and repeated labels. */
#include "graph/einsum.h"

enum { LETTERS = 52 };

typedef struct labels {
    num size[LETTERS]; /* 0: letter not used */
    int uses[LETTERS];
    int ellipsis_rank;
    num ellipsis[MAX_RANK]; /* aligned at the right end of ellipsis_rank */
    bool fits;
} labels;

static int letter_of(char ch)
{
    return ch >= 'A' && ch <= 'Z' ? ch - 'A' : ch >= 'a' && ch <= 'z' ? ch - 'a' + 26 : -1;
}

/* Merges two sizes of one label; 1 broadcasts to the other. */
static num merged(labels *l, num a, num b)
{
    if (a == b || b == 1)
        return a;
    if (a == 1)
        return b;
    if (dim_known(a) && dim_known(b))
        l->fits = false;
    return dim_known(a) ? a : b;
}

static str without_spaces(arena *a, str s)
{
    char *copy = arena_alloc(a, s.len + 1, 1);
    size_t len = 0;
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] != ' ')
            copy[len++] = s.ptr[i];
    return (str){copy, len};
}

/* Counts the letters of a term and reports "..."; -1 on any other character. */
static int count_letters(str term, bool *has_ellipsis)
{
    int letters = 0;
    *has_ellipsis = false;
    for (size_t i = 0; i < term.len; i++) {
        if (term.ptr[i] == '.') {
            if (*has_ellipsis || i + 2 >= term.len || term.ptr[i + 1] != '.' || term.ptr[i + 2] != '.')
                return -1;
            *has_ellipsis = true;
            i += 2;
        } else if (letter_of(term.ptr[i]) < 0 || ++letters > MAX_RANK) {
            return -1;
        }
    }
    return letters;
}

static void meet_ellipsis(labels *l, const num *dims, int rank)
{
    if (rank > l->ellipsis_rank) {
        int wider = rank - l->ellipsis_rank;
        memmove(l->ellipsis + wider, l->ellipsis, (size_t)l->ellipsis_rank * sizeof(num));
        for (int i = 0; i < wider; i++)
            l->ellipsis[i] = 1;
        l->ellipsis_rank = rank;
    }
    for (int i = 0; i < rank; i++) {
        num *at = &l->ellipsis[l->ellipsis_rank - rank + i];
        *at = merged(l, *at, dims[i]);
    }
}

static bool meet_operand(labels *l, str term, const value *v)
{
    bool has_ellipsis;
    int letters = count_letters(term, &has_ellipsis);
    if (letters < 0 || !v || v->rank < letters || (!has_ellipsis && v->rank != letters))
        return false;
    int axis = 0;
    for (size_t i = 0; i < term.len; i++) {
        if (term.ptr[i] == '.') {
            meet_ellipsis(l, v->dims + axis, v->rank - letters);
            axis += v->rank - letters;
            i += 2;
            continue;
        }
        int letter = letter_of(term.ptr[i]);
        l->size[letter] = l->uses[letter]++ ? merged(l, l->size[letter], v->dims[axis]) : v->dims[axis];
        axis++;
    }
    return true;
}

static bool put(einsum *e, num dim)
{
    if (e->rank == MAX_RANK)
        return false;
    e->dims[e->rank++] = dim;
    return true;
}

/* Without "->" the output is the ellipsis, then the letters that occur once, in alphabetical order. */
static bool implicit_output(const labels *l, einsum *e)
{
    bool ok = true;
    for (int i = 0; i < l->ellipsis_rank; i++)
        ok &= put(e, l->ellipsis[i]);
    for (int i = 0; i < LETTERS; i++)
        if (l->uses[i] == 1)
            ok &= put(e, l->size[i]);
    return ok;
}

static bool explicit_output(const labels *l, str term, einsum *e)
{
    bool has_ellipsis, ok = count_letters(term, &has_ellipsis) >= 0;
    for (size_t i = 0; i < term.len && ok; i++) {
        if (term.ptr[i] == '.') {
            for (int k = 0; k < l->ellipsis_rank; k++)
                ok &= put(e, l->ellipsis[k]);
            i += 2;
            continue;
        }
        int letter = letter_of(term.ptr[i]);
        ok = l->uses[letter] > 0 && put(e, l->size[letter]);
    }
    return ok;
}

bool einsum_read(network *net, const node *n, einsum *e)
{
    str equation = without_spaces(net->arena, node_attr_string(n, "equation", ""));
    size_t end = equation.len;
    for (size_t i = 0; i + 1 < equation.len; i++)
        if (equation.ptr[i] == '-' && equation.ptr[i + 1] == '>') {
            end = i;
            break;
        }
    labels *l = ARENA_NEW(net->arena, labels);
    l->fits = true;
    *e = (einsum){.all_labels = 1};
    int operand = 0;
    for (size_t start = 0; start <= end; operand++) {
        size_t stop = start;
        while (stop < end && equation.ptr[stop] != ',')
            stop++;
        bool has_value = operand < n->input_count && n->inputs[operand] != NO_VALUE;
        if (!has_value ||
            !meet_operand(l, (str){equation.ptr + start, stop - start}, &net->values.items[n->inputs[operand]]))
            return false;
        start = stop + 1;
    }
    if (operand != n->input_count || !l->fits)
        return false;
    for (int i = 0; i < LETTERS; i++)
        if (l->uses[i])
            e->all_labels = num_mul(&net->nums, e->all_labels, l->size[i]);
    e->all_labels = num_mul(&net->nums, e->all_labels, num_product(&net->nums, l->ellipsis, l->ellipsis_rank));
    return end == equation.len ? implicit_output(l, e)
                               : explicit_output(l, (str){equation.ptr + end + 2, equation.len - end - 2}, e);
}
