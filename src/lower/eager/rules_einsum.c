/* rules_einsum.c: lowers einsum of two operands: permutes both to a common order of labels, then runs a batched
 * matrix product. */
#include "lower/eager/eager.h"

enum { LEFT, RIGHT, RESULT };

typedef struct labels {
    char names[MAX_PLACED_RANK]; /* Labels of the result, followed by the summed labels. */
    int count, kept;
} labels;

static int find_label(const char *names, int count, char c)
{
    for (int i = 0; i < count; i++)
        if (names[i] == c)
            return i;
    return -1;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Computes how many dimensions (at most ten) "..." stands for in each term: the operand's rank minus its letters. */
static void count_dots(str equation, const int operand_ranks[2], int dots[3])
{
    int letters[3] = {0}, at = LEFT;
    for (size_t i = 0; i < equation.len; i++) {
        letters[at] += is_letter(equation.ptr[i]);
        at += (equation.ptr[i] == ',' || equation.ptr[i] == '>') && at < RESULT;
    }
    dots[RESULT] = 0;
    for (int i = LEFT; i <= RIGHT; i++) {
        dots[i] = operand_ranks[i] - letters[i];
        dots[i] = dots[i] < 0 ? 0 : dots[i] > 10 ? 10 : dots[i];
        dots[RESULT] = dots[i] > dots[RESULT] ? dots[i] : dots[RESULT];
    }
}

/* Parses "ab,bc->ac" or "...ab,bc->...ac". Returns false for other forms. */
static bool read_terms(str equation, const int operand_ranks[2], char terms[3][MAX_PLACED_RANK], int ranks[3])
{
    int at = LEFT, dots[3];
    count_dots(equation, operand_ranks, dots);
    memset(ranks, 0, 3 * sizeof *ranks);
    for (size_t i = 0; i < equation.len; i++) {
        char c = equation.ptr[i];
        if (c == ' ')
            continue;
        if (c == ',' && at == LEFT) {
            at = RIGHT;
        } else if (c == '-' && at == RIGHT && i + 1 < equation.len && equation.ptr[i + 1] == '>') {
            at = RESULT;
            i++;
        } else if (is_letter(c) && ranks[at] < MAX_PLACED_RANK && find_label(terms[at], ranks[at], c) < 0) {
            terms[at][ranks[at]++] = c;
        } else if (c == '.' && i + 2 < equation.len && equation.ptr[i + 1] == '.' && equation.ptr[i + 2] == '.' &&
                   find_label(terms[at], ranks[at], '9') < 0 && ranks[at] + dots[at] <= MAX_PLACED_RANK) {
            for (int k = 10 - dots[at]; k < 10; k++) /* "..." aligns at the last dimension. */
                terms[at][ranks[at]++] = (char)('0' + k);
            i += 2;
        } else {
            return false;
        }
    }
    return at == RESULT;
}

/* Returns a view with one dimension per label; missing labels have size 1. */
static tensor_id spread(eager *e, tensor_id t, const char *names, int rank, const labels *all)
{
    extent from = tensor_extent(e, t), x = {.rank = all->count};
    int8_t places[MAX_PLACED_RANK] = {0};
    for (int i = 0; i < all->count; i++) {
        int own = find_label(names, rank, all->names[i]);
        x.dims[i] = own < 0 ? 1 : from.dims[own];
        x.strides[i] = own < 0 ? 1 : from.strides[own];
        if (own >= 0)
            places[own] = (int8_t)i;
    }
    tensor_id made = eager_view_as(e, "permute", t, &x);
    if (e->trains)
        eager_note_turn(e, places, from.rank);
    return made;
}

/* Groups the labels and counts each group: in both operands, only in the left, only in the right, summed. */
typedef struct partition {
    int64_t both[MAX_PLACED_RANK], left[MAX_PLACED_RANK], right[MAX_PLACED_RANK], summed[MAX_PLACED_RANK];
    int both_count, left_count, right_count, summed_count;
    int64_t both_size, left_size, right_size, summed_size;
} partition;

static partition divide(const extent *a, const extent *b, int kept)
{
    partition p = {.both_size = 1, .left_size = 1, .right_size = 1, .summed_size = 1};
    for (int i = 0; i < a->rank; i++) {
        bool in_left = a->dims[i] > 1, in_right = b->dims[i] > 1;
        if (i >= kept) {
            p.summed[p.summed_count++] = i;
            p.summed_size = mul_wrapping(p.summed_size, a->dims[i]);
        } else if (in_left && in_right) {
            p.both[p.both_count++] = i;
            p.both_size = mul_wrapping(p.both_size, a->dims[i]);
        } else if (in_left) {
            p.left[p.left_count++] = i;
            p.left_size = mul_wrapping(p.left_size, a->dims[i]);
        } else {
            p.right[p.right_count++] = i;
            p.right_size = mul_wrapping(p.right_size, b->dims[i]);
        }
    }
    return p;
}

static int append(int64_t *order, int at, const int64_t *items, int count)
{
    memcpy(order + at, items, (size_t)count * sizeof *items);
    return at + count;
}

static tensor_id multiply(eager *e, tensor_id a, tensor_id b, int kept)
{
    extent xa = tensor_extent(e, a), xb = tensor_extent(e, b);
    partition p = divide(&xa, &xb, kept);
    int64_t order[MAX_PLACED_RANK] = {0};
    int n = append(order, 0, p.both, p.both_count);
    n = append(order, n, p.left, p.left_count);
    n = append(order, n, p.summed, p.summed_count);
    append(order, n, p.right, p.right_count);
    a = eager_reshape(e, eager_permute(e, a, order), 3, (const int64_t[]){p.both_size, p.left_size, p.summed_size});
    /* Result of the product, in the order of the left operand. */
    extent y = {.rank = xa.rank};
    int64_t back[MAX_PLACED_RANK] = {0};
    for (int i = 0; i < xa.rank; i++) {
        int64_t d = order[i];
        y.dims[i] = d >= kept ? 1 : xa.dims[d] > 1 ? xa.dims[d] : xb.dims[d];
        back[d] = i;
    }
    n = append(order, 0, p.both, p.both_count);
    n = append(order, n, p.summed, p.summed_count);
    n = append(order, n, p.right, p.right_count);
    append(order, n, p.left, p.left_count);
    b = eager_reshape(e, eager_permute(e, b, order), 3, (const int64_t[]){p.both_size, p.summed_size, p.right_size});
    tensor_id c = eager_batched_product(e, a, b);
    return eager_permute(e, eager_reshape(e, c, y.rank, y.dims), back);
}

void lower_einsum(eager *e)
{
    char terms[3][MAX_PLACED_RANK];
    int ranks[3];
    const node *n = e->node;
    bool has_both = n->input_count == 2 && n->inputs[0] != NO_VALUE && n->inputs[1] != NO_VALUE;
    const int operand_ranks[2] = {has_both ? eager_input_rank(e, 0) : 0, has_both ? eager_input_rank(e, 1) : 0};
    bool is_pair = has_both && read_terms(node_attr_string(n, "equation", ""), operand_ranks, terms, ranks) &&
                   ranks[LEFT] == operand_ranks[LEFT] && ranks[RIGHT] == operand_ranks[RIGHT];
    labels all = {.count = 0};
    for (int i = 0; is_pair && i < ranks[RESULT]; i++)
        all.names[all.count++] = terms[RESULT][i];
    all.kept = all.count;
    for (int i = 0; is_pair && i < ranks[LEFT]; i++) {
        if (find_label(all.names, all.kept, terms[LEFT][i]) >= 0)
            continue;
        is_pair = find_label(terms[RIGHT], ranks[RIGHT], terms[LEFT][i]) >= 0 && all.count < MAX_PLACED_RANK;
        if (is_pair)
            all.names[all.count++] = terms[LEFT][i];
    }
    /* A label that only the right operand has must be in the result. */
    for (int i = 0; is_pair && i < ranks[RIGHT]; i++)
        is_pair = find_label(all.names, all.count, terms[RIGHT][i]) >= 0;
    if (!is_pair) {
        lower_unknown(e);
        return;
    }
    tensor_id a = spread(e, eager_to_low(e, eager_input_of(e, 0)), terms[LEFT], ranks[LEFT], &all);
    tensor_id b = spread(e, eager_to_low(e, eager_input_of(e, 1)), terms[RIGHT], ranks[RIGHT], &all);
    eager_set_result(e, 0, multiply(e, a, b, all.kept));
}
