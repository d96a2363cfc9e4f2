/* fold.c: folds element-wise arithmetic on known data: the shape computations that exporters leave in graphs.
 * fold_move.c has data movement, fold_reduce.c reductions. */
#include "graph/fold/fold.h"

#include <math.h>

/* ---- shared by all fold rules ---------------------------------------------------------------------------------- */

/* In a tensor without elements the other dimensions may be so huge that offsets overflow. */
static bool has_small_dims(const num *dims, int rank)
{
    int64_t product = 1;
    for (int i = 0; i < rank; i++) {
        if (dims[i] > MAX_FOLDED / product)
            return false;
        product *= dims[i] ? dims[i] : 1;
    }
    return true;
}

bool fold_input(infer *c, int i, data *d)
{
    const value *v = in(c, i);
    if (!v || v->kind != VALUE_TENSOR || (!v->ints && !v->reals && !v->tensor) || !value_shape_known(v) ||
        !has_small_dims(v->dims, v->rank))
        return false;
    *d = (data){.rank = v->rank, .dims = v->dims, .dtype = v->dtype};
    if (v->ints || dtype_is_integer(v->dtype))
        d->ints = const_ints(c, i, &d->count);
    else if (dtype_is_float(v->dtype) && value_elements(c->net, v) <= MAX_FOLDED_REALS)
        d->reals = const_reals(c, i, &d->count);
    return d->ints || d->reals;
}

static bool room(infer *c, int i, bool is_int, folded *f)
{
    const value *v = out(c, i);
    f->count = foldable_count(c, i);
    if (f->count < 0 || !value_shape_known(v) || !has_small_dims(v->dims, v->rank) ||
        (!is_int && f->count > MAX_FOLDED_REALS))
        return false;
    c->net->folded_elements += f->count;
    if (c->net->folded_elements > MAX_FOLDED_IN_ALL)
        return false;
    f->rank = v->rank;
    f->dims = v->dims;
    f->ints = is_int ? ARENA_ARRAY(c->arena, num, (size_t)f->count + 1) : NULL;
    f->reals = is_int ? NULL : ARENA_ARRAY(c->arena, double, (size_t)f->count + 1);
    return true;
}

bool fold_output(infer *c, int i, const data *like, folded *f)
{
    return room(c, i, like->ints != NULL, f);
}

void fold_store(infer *c, int i, const folded *f)
{
    if (f->reals) {
        set_reals(c, i, f->reals);
        return;
    }
    for (int32_t k = 0; k < f->count; k++)
        if (f->ints[k] != NUM_UNKNOWN) {
            set_ints(c, i, f->ints);
            return;
        }
    if (f->count == 0)
        set_ints(c, i, f->ints);
}

void fold_strides(const num *dims, int rank, int64_t *strides)
{
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= dims[i];
    }
}

void fold_next(int32_t *at, const num *dims, int rank)
{
    for (int i = rank - 1; i >= 0 && ++at[i] >= dims[i]; i--)
        at[i] = 0;
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

/* Rounds to `bits` fraction bits with exponents of at least `lowest`, as float16 and bfloat16 do. */
static double rounded_to_bits(double x, int bits, int lowest)
{
    int exponent;
    if (x == 0 || !isfinite(x))
        return x;
    frexp(x, &exponent);
    int step = exponent - bits < lowest ? lowest : exponent - bits;
    return ldexp(nearbyint(ldexp(x, -step)), step);
}

static double fitted_real(dtype t, double x)
{
    switch (t) {
    case DT_FLOAT32:
        return (double)(float)x;
    case DT_FLOAT16:
        x = rounded_to_bits(x, 11, -24);
        return fabs(x) > 65504 ? copysign(INFINITY, x) : x;
    case DT_BFLOAT16:
        return rounded_to_bits(x, 8, -133);
    default:
        return x;
    }
}

/* Results that overflow a narrow type become unknown. */
static num fitted_int(dtype t, num a)
{
    int bits = dtype_bits(t);
    if (!num_known(a) || bits == 0)
        return a;
    if (t == DT_BOOL)
        return a != 0;
    bool is_unsigned =
        t == DT_UINT8 || t == DT_UINT16 || t == DT_UINT32 || t == DT_UINT64 || t == DT_UINT4 || t == DT_UINT2;
    if (is_unsigned)
        return a < 0 || (bits < 64 && a >> bits != 0) ? NUM_UNKNOWN : a;
    if (bits == 64)
        return a;
    int64_t most = (INT64_C(1) << (bits - 1)) - 1;
    return a > most || a < -most - 1 ? NUM_UNKNOWN : a;
}

static num int_of_real(double x)
{
    return isfinite(x) && fabs(x) < 9e18 ? (num)x : NUM_UNKNOWN;
}

/* ---- operators on single numbers ------------------------------------------------------------------------------- */

typedef enum code {
    ABS,
    ADD,
    AND,
    BITWISE_AND,
    BITWISE_NOT,
    BITWISE_OR,
    CEIL,
    COS,
    DIV,
    EQUAL,
    EXP,
    FLOOR,
    GREATER,
    GREATER_OR_EQUAL,
    LESS,
    LESS_OR_EQUAL,
    LOG,
    MAX,
    MEAN,
    MIN,
    MOD,
    MUL,
    NEG,
    NOT,
    OR,
    POW,
    RECIPROCAL,
    RELU,
    ROUND,
    SIGN,
    SIN,
    SQRT,
    SUB,
    SUM,
    XOR,
} code;

/* Sorted by name. */
static const struct {
    const char *name;
    code code;
} CODES[] = {
    {"Abs", ABS},
    {"Add", ADD},
    {"And", AND},
    {"BitwiseAnd", BITWISE_AND},
    {"BitwiseNot", BITWISE_NOT},
    {"BitwiseOr", BITWISE_OR},
    {"Ceil", CEIL},
    {"Cos", COS},
    {"Div", DIV},
    {"Equal", EQUAL},
    {"Exp", EXP},
    {"Floor", FLOOR},
    {"Greater", GREATER},
    {"GreaterOrEqual", GREATER_OR_EQUAL},
    {"Less", LESS},
    {"LessOrEqual", LESS_OR_EQUAL},
    {"Log", LOG},
    {"Max", MAX},
    {"Mean", MEAN},
    {"Min", MIN},
    {"Mod", MOD},
    {"Mul", MUL},
    {"Neg", NEG},
    {"Not", NOT},
    {"Or", OR},
    {"Pow", POW},
    {"Reciprocal", RECIPROCAL},
    {"Relu", RELU},
    {"Round", ROUND},
    {"Sign", SIGN},
    {"Sin", SIN},
    {"Sqrt", SQRT},
    {"Sub", SUB},
    {"Sum", SUM},
    {"Xor", XOR},
};

static bool find_code(const node *n, code *found)
{
    for (size_t i = 0; i < sizeof CODES / sizeof *CODES; i++)
        if (strcmp(n->op->name, CODES[i].name) == 0) {
            *found = CODES[i].code;
            return true;
        }
    return false;
}

/* Symbols stand for sizes, so a sum of symbols with positive coefficients is not negative. */
static bool is_not_negative(const infer *c, num a)
{
    const char *text = num_text(c->nums, a);
    return num_known(a) ? a >= 0 : text && !strchr(text, '-');
}

/* Returns -1, 0, 1 for a below, equal to, above b; 2 if unknown. */
static int compare(const infer *c, num a, num b)
{
    if (a == NUM_UNKNOWN || b == NUM_UNKNOWN)
        return 2;
    if (num_known(a) && num_known(b))
        return a < b ? -1 : a > b;
    if (a == b)
        return 0;
    num difference = num_sub(c->nums, a, b);
    if (num_known(difference))
        return difference < 0 ? -1 : difference > 0;
    if (num_known(b) && b < 0 && is_not_negative(c, a))
        return 1;
    if (num_known(a) && a < 0 && is_not_negative(c, b))
        return -1;
    return 2;
}

static num truth(int order, bool below, bool equal, bool above)
{
    return order == 2 ? NUM_UNKNOWN : order < 0 ? below : order == 0 ? equal : above;
}

/* ONNX integer division rounds towards zero. */
static num int_div(infer *c, num a, num b)
{
    if (b == 0 || a == NUM_UNKNOWN || b == NUM_UNKNOWN)
        return NUM_UNKNOWN;
    if (num_known(a) && num_known(b))
        return a / b; /* INT64_MIN is not a known number, so this cannot overflow */
    return num_floordiv(c->nums, a, b);
}

static num int_mod(infer *c, num a, num b)
{
    if (b == 0)
        return NUM_UNKNOWN;
    if (attr_int(c, "fmod", 0) && num_known(a) && num_known(b))
        return a % b;
    return num_mod(c->nums, a, b);
}

static num int_pow(infer *c, num base, num exponent)
{
    num result = 1;
    if (!num_known(exponent) || exponent < 0 || exponent > 64)
        return NUM_UNKNOWN;
    for (num i = 0; i < exponent; i++)
        result = num_mul(c->nums, result, base);
    return result;
}

static num logical(code op, num a, num b)
{
    if (op == AND && (a == 0 || b == 0))
        return 0;
    if (op == OR && ((num_known(a) && a != 0) || (num_known(b) && b != 0)))
        return 1;
    if (!num_known(a) || !num_known(b))
        return NUM_UNKNOWN;
    return op == AND ? 1 : op == OR ? 0 : (a != 0) != (b != 0);
}

static num int_binary(infer *c, code op, num a, num b)
{
    switch (op) {
    case ADD:
    case SUM:
        return num_add(c->nums, a, b);
    case SUB:
        return num_sub(c->nums, a, b);
    case MUL:
        return num_mul(c->nums, a, b);
    case DIV:
        return int_div(c, a, b);
    case MOD:
        return int_mod(c, a, b);
    case POW:
        return int_pow(c, a, b);
    case MIN:
        return compare(c, a, b) == 2 ? num_min(c->nums, a, b) : compare(c, a, b) < 0 ? a : b;
    case MAX:
        return compare(c, a, b) == 2 ? num_max(c->nums, a, b) : compare(c, a, b) > 0 ? a : b;
    case EQUAL:
        return truth(compare(c, a, b), 0, 1, 0);
    case LESS:
        return truth(compare(c, a, b), 1, 0, 0);
    case LESS_OR_EQUAL:
        return truth(compare(c, a, b), 1, 1, 0);
    case GREATER:
        return truth(compare(c, a, b), 0, 0, 1);
    case GREATER_OR_EQUAL:
        return truth(compare(c, a, b), 0, 1, 1);
    case AND:
    case OR:
    case XOR:
        return logical(op, a, b);
    case BITWISE_AND:
        return num_known(a) && num_known(b) ? a & b : NUM_UNKNOWN;
    case BITWISE_OR:
        return num_known(a) && num_known(b) ? a | b : NUM_UNKNOWN;
    default:
        return NUM_UNKNOWN;
    }
}

static num int_unary(infer *c, code op, num a)
{
    switch (op) {
    case ABS:
        return is_not_negative(c, a) ? a : num_known(a) ? -a : NUM_UNKNOWN;
    case NEG:
        return num_mul(c->nums, a, -1);
    case NOT:
        return num_known(a) ? a == 0 : NUM_UNKNOWN;
    case BITWISE_NOT:
        return num_known(a) ? ~a : NUM_UNKNOWN;
    case SIGN:
        return num_known(a) ? (a > 0) - (a < 0) : NUM_UNKNOWN;
    case RELU:
        return is_not_negative(c, a) ? a : num_known(a) ? 0 : NUM_UNKNOWN;
    case SUM: /* Variadic operators with a single operand. */
    case MAX:
    case MIN:
        return a;
    default:
        return NUM_UNKNOWN;
    }
}

static double real_binary(infer *c, code op, double a, double b)
{
    switch (op) {
    case ADD:
    case SUM:
    case MEAN:
        return a + b;
    case SUB:
        return a - b;
    case MUL:
        return a * b;
    case DIV:
        return a / b;
    case POW:
        return pow(a, b);
    case MOD:
        return attr_int(c, "fmod", 0) ? fmod(a, b) : a - b * floor(a / b);
    case MIN:
        return a < b ? a : b;
    case MAX:
        return a > b ? a : b;
    default:
        return NAN;
    }
}

static num real_compare(code op, double a, double b)
{
    switch (op) {
    case EQUAL:
        return a == b;
    case LESS:
        return a < b;
    case LESS_OR_EQUAL:
        return a <= b;
    case GREATER:
        return a > b;
    case GREATER_OR_EQUAL:
        return a >= b;
    default:
        return NUM_UNKNOWN;
    }
}

static double real_unary(code op, double a)
{
    switch (op) {
    case ABS:
        return fabs(a);
    case NEG:
        return -a;
    case CEIL:
        return ceil(a);
    case FLOOR:
        return floor(a);
    case ROUND:
        return nearbyint(a); /* rounds halves to even, as ONNX specifies */
    case SQRT:
        return sqrt(a);
    case EXP:
        return exp(a);
    case LOG:
        return log(a);
    case COS:
        return cos(a);
    case SIN:
        return sin(a);
    case SIGN:
        return (a > 0) - (a < 0);
    case RELU:
        return a > 0 ? a : 0;
    case RECIPROCAL:
        return 1 / a;
    case SUM:
    case MEAN:
    case MAX:
    case MIN:
        return a;
    default:
        return NAN;
    }
}

/* ---- elementwise rules ----------------------------------------------------------------------------------------- */

enum { MAX_OPERANDS = 8 };

/* Operands broadcast to the output's shape. */
typedef struct spread {
    data operand[MAX_OPERANDS];
    int64_t strides[MAX_OPERANDS][MAX_RANK]; /* strides along the output's axes; 0 where the operand is repeated */
    int count;
} spread;

/* Reads all inputs; false if one is unknown. The first operand decides between integers and reals. */
static bool spread_inputs(infer *c, spread *s)
{
    s->count = c->node->input_count;
    if (s->count > MAX_OPERANDS)
        return false;
    for (int i = 0; i < s->count; i++) { /* Stops before decoding anything if one operand is an activation. */
        const value *v = in(c, i);
        if (!v || (!v->ints && !v->reals && !v->tensor))
            return false;
    }
    for (int i = 0; i < s->count; i++)
        if (!fold_input(c, i, &s->operand[i]))
            return false;
    return s->count > 0;
}

static bool spread_over(spread *s, const folded *f)
{
    for (int i = 0; i < s->count; i++) {
        const data *d = &s->operand[i];
        int64_t own[MAX_RANK];
        if (d->rank > f->rank)
            return false;
        fold_strides(d->dims, d->rank, own);
        for (int k = 0; k < f->rank; k++) {
            int at = k - (f->rank - d->rank);
            s->strides[i][k] = at < 0 || d->dims[at] == 1 ? 0 : own[at];
            if (at >= 0 && d->dims[at] != 1 && d->dims[at] != f->dims[k])
                return false;
        }
    }
    return true;
}

static int64_t spread_index(const spread *s, int operand, const int32_t *at, int rank)
{
    int64_t index = 0;
    for (int k = 0; k < rank; k++)
        index += s->strides[operand][k] * at[k];
    return index;
}

static double as_real(const data *d, int64_t index)
{
    return d->reals ? d->reals[index] : (double)d->ints[index];
}

/* True if all integers are plain; integer operands next to reals (exponents) must be. */
static bool all_plain(const data *d)
{
    for (int32_t i = 0; d->ints && i < d->count; i++)
        if (!num_known(d->ints[i]))
            return false;
    return true;
}

static void fold_ints(infer *c, code op, const spread *s, folded *f)
{
    int32_t at[MAX_RANK] = {0};
    dtype t = out(c, 0)->dtype;
    for (int32_t i = 0; i < f->count; i++, fold_next(at, f->dims, f->rank)) {
        num x = s->operand[0].ints[spread_index(s, 0, at, f->rank)];
        if (s->count == 1)
            x = int_unary(c, op, x);
        for (int k = 1; k < s->count; k++)
            x = int_binary(c, op, x, s->operand[k].ints[spread_index(s, k, at, f->rank)]);
        f->ints[i] = fitted_int(t, x);
    }
}

static void fold_reals(infer *c, code op, const spread *s, folded *f)
{
    int32_t at[MAX_RANK] = {0};
    dtype t = out(c, 0)->dtype;
    for (int32_t i = 0; i < f->count; i++, fold_next(at, f->dims, f->rank)) {
        double x = as_real(&s->operand[0], spread_index(s, 0, at, f->rank));
        if (f->ints) {
            f->ints[i] = real_compare(op, x, as_real(&s->operand[1], spread_index(s, 1, at, f->rank)));
            continue;
        }
        if (s->count == 1)
            x = real_unary(op, x);
        for (int k = 1; k < s->count; k++)
            x = fitted_real(t, real_binary(c, op, x, as_real(&s->operand[k], spread_index(s, k, at, f->rank))));
        f->reals[i] = fitted_real(t, op == MEAN ? x / s->count : x);
    }
}

/* Folds every pointwise operator in CODES. */
void fold_elementwise(infer *c)
{
    spread s;
    folded f;
    code op;
    if (!spread_inputs(c, &s) || !find_code(c->node, &op))
        return;
    bool ints = true;
    for (int i = 0; i < s.count; i++)
        ints &= s.operand[i].ints != NULL;
    bool is_bool = out(c, 0) && out(c, 0)->dtype == DT_BOOL;
    if (!room(c, 0, ints || is_bool, &f) || !spread_over(&s, &f) || (is_bool && !ints && s.count != 2))
        return;
    if (ints) {
        fold_ints(c, op, &s, &f);
    } else {
        for (int i = 0; i < s.count; i++)
            if (!all_plain(&s.operand[i]))
                return;
        fold_reals(c, op, &s, &f);
    }
    fold_store(c, 0, &f);
}

void fold_where(infer *c)
{
    spread s;
    folded f;
    if (!spread_inputs(c, &s) || s.count != 3 || !s.operand[0].ints || !s.operand[1].ints != !s.operand[2].ints ||
        !fold_output(c, 0, &s.operand[1], &f) || !spread_over(&s, &f))
        return;
    int32_t at[MAX_RANK] = {0};
    for (int32_t i = 0; i < f.count; i++, fold_next(at, f.dims, f.rank)) {
        num condition = s.operand[0].ints[spread_index(&s, 0, at, f.rank)];
        int64_t yes = spread_index(&s, 1, at, f.rank), no = spread_index(&s, 2, at, f.rank);
        if (num_known(condition))
            fold_copy(&f, i, &s.operand[condition ? 1 : 2], (int32_t)(condition ? yes : no));
        else if (f.ints)
            f.ints[i] = s.operand[1].ints[yes] == s.operand[2].ints[no] ? s.operand[1].ints[yes] : NUM_UNKNOWN;
        else
            return;
    }
    fold_store(c, 0, &f);
}

/* The bounds are inputs 1 and 2; in old operator sets they are attributes. */
void fold_clip(infer *c)
{
    data d;
    folded f;
    if (!fold_input(c, 0, &d) || !fold_output(c, 0, &d, &f))
        return;
    double low = attr_real(c, "min", -INFINITY), high = attr_real(c, "max", INFINITY);
    if ((in(c, 1) && !scalar_real(c, 1, &low)) || (in(c, 2) && !scalar_real(c, 2, &high)))
        return;
    for (int32_t i = 0; i < f.count; i++) {
        if (f.reals) {
            double x = d.reals[i] < low ? low : d.reals[i];
            f.reals[i] = x > high ? high : x;
        } else {
            num x = d.ints[i];
            if (low > -9e18)
                x = int_binary(c, MAX, x, int_of_real(low));
            if (high < 9e18)
                x = int_binary(c, MIN, x, int_of_real(high));
            f.ints[i] = x;
        }
    }
    fold_store(c, 0, &f);
}

void fold_cast(infer *c)
{
    data d;
    folded f;
    const value *o = out(c, 0);
    if (!o || !fold_input(c, 0, &d))
        return;
    bool to_int = dtype_is_integer(o->dtype);
    if ((!to_int && !dtype_is_float(o->dtype)) || (!to_int && !all_plain(&d)) || !room(c, 0, to_int, &f))
        return;
    for (int32_t i = 0; i < f.count; i++) {
        if (!to_int)
            f.reals[i] = fitted_real(o->dtype, as_real(&d, i));
        else if (o->dtype == DT_BOOL)
            f.ints[i] = d.reals ? d.reals[i] != 0 : num_known(d.ints[i]) ? d.ints[i] != 0 : NUM_UNKNOWN;
        else
            f.ints[i] = fitted_int(o->dtype, d.reals ? int_of_real(d.reals[i]) : d.ints[i]);
    }
    fold_store(c, 0, &f);
}
