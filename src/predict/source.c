/* source.c: applies the facts of data/benchmarks.txt, lines of `source.key = value`, to a setting. */
#include "predict/source.h"
#include "base/lines.h"
#include "memory/backend.h"

extern const char source_shipped_text[];

/* Facts of one source in data/benchmarks.txt. */
typedef struct facts {
    bool autocast_backward, autotunes, returns_outputs, allows_tf32;
    str stack;                        /* Stack of rows that name none. */
    int fast_norms, fast_token_norms; /* Versions (torch_version()) from which norms run in 16 bits; 0: never. */
    int in_place_norms_end;           /* First version in which InPlace-ABN is not used; 0: no version uses it. */
    str fast_norms_except;            /* GPU whose rows were measured without InPlace-ABN. */
} facts;

static int version_of(str value)
{
    char stack[16] = "pt";
    if (value.len > sizeof stack - 3)
        return 0;
    memcpy(stack + 2, value.ptr, value.len);
    return torch_version(str_of(stack));
}

/* Returns false if the key or its value is unknown. */
static bool set_fact(facts *to, str key, str value)
{
    const struct {
        const char *key;
        bool *flag;
    } FLAGS[] = {{"autocast_backward", &to->autocast_backward},
                 {"autotunes", &to->autotunes},
                 {"returns_outputs", &to->returns_outputs},
                 {"allows_tf32", &to->allows_tf32}};
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (str_is(key, FLAGS[i].key))
            return *FLAGS[i].flag = str_is(value, "yes");
    if (str_is(key, "stack"))
        return (to->stack = value).len > 0;
    if (str_is(key, "fast_norms_except"))
        return (to->fast_norms_except = value).len > 0;
    if (str_is(key, "fast_norms_since"))
        return (to->fast_norms = version_of(value)) > 0;
    if (str_is(key, "norms_in_place_before"))
        return (to->in_place_norms_end = version_of(value)) > 0;
    return str_is(key, "fast_token_norms_since") && (to->fast_token_norms = version_of(value)) > 0;
}

static facts read_facts(str source, fail *f)
{
    const char *prefix = "data/benchmarks.txt: ";
    facts found = {0};
    str text = str_of(source_shipped_text);
    for (int number = 1; text.len; number++) {
        str line = line_taken(&text, '\n');
        line_check(line, number, prefix, f);
        str statement = line_taken(&line, '#');
        str key = line_trimmed(line_taken(&statement, '=')), name = line_taken(&key, '.');
        if (!name.len || source.len < name.len || !str_eq((str){source.ptr, name.len}, name))
            continue;
        if (!set_fact(&found, key, line_trimmed(statement)))
            fail_with(f, SOOTH_ERROR_INPUT, "%sline %d: '%.*s' is not a known fact, or its value is unknown", prefix,
                      number, STR_ARG(key));
    }
    return found;
}

static bool is_on(const setting *s, str gpu)
{
    return gpu.len && s->device && str_eq(s->device->texts[DEVICE_NAME], gpu);
}

static lower_norms norms_of(const setting *s, const facts *of)
{
    int version = torch_version(s->stack);
    if (!of->fast_norms || !s->stack.len || s->lower.mode != MODE_INFER || s->lower.runtime != RUNTIME_EAGER ||
        version < of->fast_norms || is_on(s, of->fast_norms_except))
        return NORMS_FLOAT;
    return version >= of->fast_token_norms ? NORMS_LOW : NORMS_LOW_MAPS;
}

void source_follow(setting *s, str source, fail *f)
{
    if (!source.len)
        return;
    facts of = read_facts(source, f);
    if (!s->stack.len)
        s->stack = of.stack;
    s->lower.autocast_backward |= of.autocast_backward;
    s->autotunes |= of.autotunes;
    s->returns |= of.returns_outputs;
    s->norms_in_place = torch_version(s->stack) < of.in_place_norms_end;
    s->lower.norms = norms_of(s, &of);
    if (of.allows_tf32 && s->lower.precision == PRECISION_FP32 && s->device &&
        s->device->numbers[DEVICE_TENSOR_TF32] > 0)
        s->lower.precision = PRECISION_TF32;
}
