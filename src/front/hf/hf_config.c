/* hf_config.c: reads config.json of Hugging Face Transformers: an architecture and its sizes, from which the graph is
 * built.
 *
 *   {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, …}
 *
 * A composite model contains others under "text_config" (or "llm_config", "language_config"), "vision_config" …
 * Version 4 omits values equal to the defaults of its class; hf_families.c has these. Sizes are checked before
 * anything is built. */
#include "front/front.h"
#include "front/hf/hf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool hf_sniff(const uint8_t *bytes, size_t size)
{
    size_t i = 0;
    while (i < size && (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r' || bytes[i] == '\t'))
        i++;
    str head = {(const char *)bytes, size < 65536 ? size : 65536};
    return i < size && bytes[i] == '{' &&
           (str_contains(head, "\"model_type\"") || str_contains(head, "\"architectures\""));
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Reads the next word of a space-separated text; false at its end. */
static bool next_word(const char **rest, str *word)
{
    while (**rest == ' ')
        (*rest)++;
    *word = (str){*rest, strcspn(*rest, " ")};
    *rest += word->len;
    return word->len > 0;
}

static const json_node *member(const json_node *n, str key)
{
    for (const json_node *x = json_is(n, JSON_OBJECT) ? json_first(n) : NULL; x; x = x->next)
        if (str_eq(x->key, key))
            return x;
    return NULL;
}

bool hf_has(const hf *c, const char *key)
{
    return member(c->config, str_of(key)) != NULL;
}

/* Returns the first key that has a value; sets *is_null if a key is null. */
static const json_node *find(const hf *c, const char *keys, bool *is_null)
{
    str key;
    *is_null = false;
    while (next_word(&keys, &key)) {
        const json_node *n = member(c->config, key);
        if (n && n->kind != JSON_NULL)
            return n;
        *is_null |= n != NULL;
    }
    return NULL;
}

/* Returns the default of the first key that has one; empty if none has. */
static str default_of(const hf *c, const char *keys)
{
    str key, name, value;
    while (next_word(&keys, &key)) {
        const char *rest = c->defaults;
        while (next_word(&rest, &name) && next_word(&rest, &value))
            if (str_eq(name, key))
                return value;
    }
    return (str){0};
}

void hf_fail(const hf *c, const char *keys, const char *format, ...)
{
    char what[160];
    const char *rest = keys;
    str key, named = {0};
    while (next_word(&rest, &key)) /* finds the key that the file has */
        if (!named.len || (!member(c->config, named) && member(c->config, key)))
            named = key;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    fail_with(c->fail, SOOTH_ERROR_INPUT,
              "%s, at '%.*s' of the configuration (model_type '%.*s'); correct it, or give config.json as the model's "
              "repository has it",
              what, STR_ARG(named), STR_ARG(c->type));
}

void hf_unsupported(const hf *c, const char *what)
{
    fail_with(c->fail, SOOTH_ERROR_UNSUPPORTED,
              "%s (model_type '%.*s'); export the model (torch.export, ONNX) and give that file", what,
              STR_ARG(c->type));
}

int64_t hf_int(const hf *c, const char *keys, int64_t otherwise)
{
    bool is_null;
    const json_node *n = find(c, keys, &is_null);
    if (n) {
        int64_t number = json_int(n, -1);
        if (number < 0 || number > HF_MOST)
            hf_fail(c, keys, "not a possible size");
        return number;
    }
    str value = is_null ? (str){0} : default_of(c, keys);
    return value.len ? strtoll(value.ptr, NULL, 10) : otherwise;
}

int64_t hf_size(const hf *c, const char *keys, int64_t most)
{
    int64_t size = hf_int(c, keys, 0);
    if (size < 1)
        hf_fail(c, keys, "a size is missing");
    if (size > most)
        hf_fail(c, keys, "a size is larger than in any real network");
    return size;
}

bool hf_flag(const hf *c, const char *keys, bool otherwise)
{
    bool is_null;
    const json_node *n = find(c, keys, &is_null);
    if (n)
        return json_int(n, otherwise) != 0;
    str value = is_null ? (str){0} : default_of(c, keys);
    return value.len ? value.ptr[0] != '0' : otherwise;
}

double hf_real(const hf *c, const char *keys, double otherwise)
{
    bool is_null;
    const json_node *n = find(c, keys, &is_null);
    if (n)
        return json_double(n, otherwise);
    str value = is_null ? (str){0} : default_of(c, keys);
    return value.len ? strtod(value.ptr, NULL) : otherwise;
}

str hf_text(const hf *c, const char *keys)
{
    bool is_null;
    const json_node *n = find(c, keys, &is_null);
    str text = n ? json_text(n) : default_of(c, keys);
    return text.ptr ? text : STR("");
}

int hf_sizes(const hf *c, const char *keys, int64_t *sizes, int room, int64_t most)
{
    bool is_null;
    int count = 0;
    const json_node *n = find(c, keys, &is_null);
    if (n) {
        for (const json_node *x = json_is(n, JSON_ARRAY) ? json_first(n) : NULL; x; x = x->next, count++)
            if (count < room)
                sizes[count] = json_int(x, -1);
    } else if (!is_null) {
        str list = default_of(c, keys); /* "3,4,6,3" */
        for (size_t i = 0; i < list.len; i++)
            if ((i == 0 || list.ptr[i - 1] == ',') && count++ < room)
                sizes[count - 1] = strtoll(list.ptr + i, NULL, 10);
    }
    if (count < 1)
        hf_fail(c, keys, "a list of sizes is missing");
    if (count > room)
        hf_fail(c, keys, "%d sizes are more than in any real network", count);
    for (int i = 0; i < count; i++)
        if (sizes[i] < 1 || sizes[i] > most)
            hf_fail(c, keys, "not a possible size");
    return count;
}

const char *hf_activation_at(const hf *c, const char *keys)
{
    static const struct {
        const char *part, *op;
    } NAMES[] = {{"relu2", "Relu2"}, {"relu_squared", "Relu2"}, {"relu", "Relu"}, {"gelu", "Gelu"}, {"tanh", "Tanh"}};
    str name = hf_text(c, keys);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_contains(name, NAMES[i].part))
            return NAMES[i].op;
    return name.len ? "Swish" : "Gelu";
}

const char *hf_activation(const hf *c)
{
    return hf_activation_at(c,
                            "hidden_act hidden_activation activation_function mlp_hidden_act dense_act_fn activation");
}

hf hf_part(const hf *c, const json_node *config, const char *type)
{
    hf part = *c;
    part.config = config;
    part.type = json_text(member(config, STR("model_type")));
    if (!part.type.len)
        part.type = str_of(type);
    part.defaults = hf_defaults_of(part.type);
    return part;
}

bool hf_architecture(const hf *c, const char *ending)
{
    const json_node *list = member(c->root, STR("architectures"));
    return str_ends(json_text(json_first(list)), ending);
}

int64_t hf_class_count(const hf *c)
{
    const json_node *names = json_get(c->root, "id2label");
    return json_is(names, JSON_OBJECT) && names->count ? names->count : hf_int(c, "num_labels _num_labels", 2);
}

void hf_note(const hf *c, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    *(str *)ARENA_PUSH(c->b->arena, &c->b->source->notes) = arena_str(c->b->arena, str_of(text));
}

void hf_default(const hf *c, const char *dimension, int64_t value)
{
    *(dim_default *)ARENA_PUSH(c->b->arena, &c->b->source->defaults) = (dim_default){str_of(dimension), value};
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Returns the language model inside a composite model. */
static const json_node *language_part(const json_node *root)
{
    static const char *const PARTS[] = {"text_config", "llm_config", "language_config"};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (json_is(json_get(root, PARTS[i]), JSON_OBJECT))
            return json_get(root, PARTS[i]);
    return NULL;
}

static void find_family(hf *c)
{
    c->family = hf_family_of(c->type);
    const json_node *inside = c->family ? NULL : language_part(c->root);
    if (inside) {
        str outer = c->type;
        *c = hf_part(c, inside, arena_printf(c->b->arena, "%.*s_text", STR_ARG(outer)).ptr);
        c->family = hf_family_of(c->type);
        hf_note(c, "a composite model (model_type '%.*s'): only its language model is in the graph", STR_ARG(outer));
    }
    if (c->family)
        return;
    bool is_decoder = hf_architecture(c, "ForCausalLM") || hf_architecture(c, "LMHeadModel") ||
                      (inside && hf_has(c, "num_attention_heads"));
    if (!is_decoder)
        fail_with(c->fail, SOOTH_ERROR_UNSUPPORTED,
                  "model_type '%.*s' is not supported; export the model (torch.export, ONNX) and give that file",
                  STR_ARG(c->type));
    c->family = hf_family_of(STR("llama"));
    hf_note(c, "model_type '%.*s' is not known: built like Llama, as far as the configuration goes", STR_ARG(c->type));
}

void hf_read(builder *b, const uint8_t *bytes, size_t size)
{
    hf c = {.b = b, .fail = &b->model->fail};
    c.root = c.config = json_read((str){(const char *)bytes, size}, "the file", b->arena, c.fail);
    if (!json_is(c.root, JSON_OBJECT))
        fail_with(c.fail, SOOTH_ERROR_INPUT, "the configuration is not a JSON object, at byte 0; give a config.json");
    c.type = json_text(json_get(c.root, "model_type"));
    c.defaults = hf_defaults_of(c.type);
    find_family(&c);
    b->source->format = STR("hf-config");
    str version = json_text(json_get(c.root, "transformers_version"));
    b->source->producer = arena_printf(b->arena, "transformers%s%.*s", version.len ? " " : "", STR_ARG(version));
    str name = json_text(json_first(json_get(c.root, "architectures")));
    b->source->main.name = arena_str(b->arena, name.len ? name : c.type);
    hf_read_types(&c);
    c.family->build(&c);
}
