#include "plan/space.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/lines.h"
#include "base/nearest.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- spaces that ship -------------------------------------------------------------------------------------------- */

typedef struct shipped_space {
    const char *name, *summary, *text;
} shipped_space;

#define FBNET_BLOCKS                                                                                                   \
    "{b1},{b2},{b3},{b4},{b5},{b6},{b7},{b8},{b9},{b10},{b11},{b12},{b13},{b14},{b15},{b16},{b17},{b18},{b19},{b20},"  \
    "{b21},{b22}"
#define OFA_KERNELS                                                                                                    \
    "{k1} {k2} {k3} {k4} {k5} {k6} {k7} {k8} {k9} {k10} {k11} {k12} {k13} {k14} {k15} {k16} {k17} {k18} {k19} {k20}"
#define OFA_EXPANSIONS                                                                                                 \
    "{e1} {e2} {e3} {e4} {e5} {e6} {e7} {e8} {e9} {e10} {e11} {e12} {e13} {e14} {e15} {e16} {e17} {e18} {e19} {e20}"

static const shipped_space SHIPPED[] = {
    {"nasbench201", "NAS-Bench-201: six edges with five operations, images of 32 x 32, 100 classes",
     "architecture = |{e10}~0|+|{e20}~0|{e21}~1|+|{e30}~0|{e31}~1|{e32}~2|\n"
     "graph = zoo:nasbench201/{architecture}?classes=100\n"
     "e10 e20 e21 e30 e31 e32 = none, skip_connect, nor_conv_1x1, nor_conv_3x3, avg_pool_3x3\n"},
    {"nasbench-macro", "NAS-Bench-Macro: eight layers of identity or one of two MobileNetV2 blocks, 32 x 32",
     "architecture = {l1}{l2}{l3}{l4}{l5}{l6}{l7}{l8}\n"
     "graph = zoo:nasbench_macro/{architecture}\n"
     "l1 l2 l3 l4 l5 l6 l7 l8 = 0, 1, 2\n"},
    {"fbnet", "FBNet for images of 32 x 32: 22 blocks of nine kinds",
     "architecture = " FBNET_BLOCKS "\n"
     "graph = zoo:fbnet/{architecture}\n"
     "b1 b2 b3 b4 b5 b6 b7 b8 b9 b10 b11 b12 b13 b14 b15 b16 b17 b18 b19 b20 b21 b22 = "
     "k3_e1, k3_e1_g2, k3_e3, k3_e6, k5_e1, k5_e1_g2, k5_e3, k5_e6, skip\n"},
    {"ofa", "Once-for-All MobileNetV3: kernels, expansions, depths and resolution",
     "architecture = " OFA_KERNELS "; " OFA_EXPANSIONS "; {d1} {d2} {d3} {d4} {d5}; {resolution}\n"
     "graph = zoo:ofa?kernels=" OFA_KERNELS "&expansions=" OFA_EXPANSIONS
     "&depths={d1} {d2} {d3} {d4} {d5}&resolution={resolution}\n"
     "k1 k2 k3 k4 k5 k6 k7 k8 k9 k10 k11 k12 k13 k14 k15 k16 k17 k18 k19 k20 = 3, 5, 7\n"
     "e1 e2 e3 e4 e5 e6 e7 e8 e9 e10 e11 e12 e13 e14 e15 e16 e17 e18 e19 e20 = 3, 4, 6\n"
     "d1 d2 d3 d4 d5 = 2, 3, 4\n"
     "resolution = 160:224:4\n"},
    {"resnet", "ResNet and ResNeXt: depth, width, groups and image",
     "graph = zoo:resnet/{depth}?width={width}&groups={groups}&image={image}\n"
     "depth = 18, 34, 50, 101, 152\n"
     "width = 32, 48, 64, 96, 128\n"
     "groups = 1\n"
     "image = 128:288:32\n"},
    {"efficientnet", "EfficientNet: width and depth in percent, and image",
     "graph = zoo:efficientnet?width={width}&depth={depth}&image={image}\n"
     "width = 80:200:20\n"
     "depth = 80:300:20\n"
     "image = 128:384:32\n"},
    {"vit", "Vision Transformer: layers, hidden size, heads, patch and image",
     "graph = zoo:vit?layers={layers}&hidden={hidden}&heads={heads}&patch={patch}&image={image}\n"
     "layers = 6, 8, 12, 16, 24\n"
     "hidden = 192, 384, 768, 1152\n"
     "heads = 3, 6, 12\n"
     "patch = 8, 16, 32\n"
     "image = 128, 160, 192, 224, 256\n"},
};
enum { SHIPPED_COUNT = sizeof SHIPPED / sizeof *SHIPPED };

const char *space_name(size_t index)
{
    return index < SHIPPED_COUNT ? SHIPPED[index].name : NULL;
}

const char *space_summary(size_t index)
{
    return index < SHIPPED_COUNT ? SHIPPED[index].summary : NULL;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct space_reader {
    space *space;
    arena *arena;
    fail *fail;
    const char *prefix; /* prefix of messages: "file: " or "" */
    int line;
} space_reader;

static _Noreturn void refuse(const space_reader *r, const char *what, str about)
{
    fail_with(r->fail, SOOTH_ERROR_INPUT, "%sline %d: %s '%.*s'", r->prefix, r->line, what, STR_ARG(about));
}

static void add_value(space_reader *r, space_choice *c, str value)
{
    if (!value.len)
        refuse(r, "an empty value of the choice", c->name);
    if (c->count == SPACE_MAX_VALUES)
        refuse(r, "more than 255 values of the choice", c->name);
    c->values[c->count++] = arena_str(r->arena, value);
}

/* Parses FIRST:LAST:STEP; returns false if the value is not numbers with colons. */
static bool add_range(space_reader *r, space_choice *c, str range)
{
    double ends[3] = {0};
    str rest = range;
    int count = 0;
    for (; rest.len && count < 3; count++)
        if (!line_number(line_trimmed(line_taken(&rest, ':')), &ends[count]))
            return false;
    if (rest.len || count < 3)
        refuse(r, "a range is FIRST:LAST:STEP, not", range);
    if (!(ends[2] > 0) || ends[1] < ends[0])
        refuse(r, "an empty range", range);
    for (double x = ends[0]; x <= ends[1] + ends[2] * 1e-9; x += ends[2])
        add_value(r, c, arena_printf(r->arena, "%.10g", x));
    return true;
}

static void read_values(space_reader *r, space_choice *c, str list)
{
    c->values = ARENA_ARRAY(r->arena, str, SPACE_MAX_VALUES);
    do {
        bool has_more = list.len && memchr(list.ptr, ',', list.len);
        str value = line_trimmed(line_taken(&list, ','));
        if (!(value.len && memchr(value.ptr, ':', value.len) && add_range(r, c, value)))
            add_value(r, c, value);
        if (!has_more)
            break;
    } while (true);
}

static const space_choice *find_choice(const space *s, str name)
{
    for (int32_t i = 0; i < s->choice_count; i++)
        if (str_eq(s->choices[i].name, name))
            return &s->choices[i];
    return NULL;
}

static void read_choices(space_reader *r, str names, str values)
{
    space *s = r->space;
    while (names.len) {
        str name = line_trimmed(line_taken(&names, ' '));
        if (!name.len)
            continue;
        if (s->choice_count == SPACE_MAX_CHOICES)
            refuse(r, "more than 64 choices; the first too many is", name);
        if (find_choice(s, name))
            refuse(r, "there are two choices called", name);
        space_choice *c = &s->choices[s->choice_count++];
        c->name = arena_str(r->arena, name);
        read_values(r, c, values);
        s->candidates *= c->count;
    }
}

static void read_space_line(space_reader *r, str line)
{
    str rest = line;
    str key = line_trimmed(line_taken(&rest, '='));
    if (key.len == line_trimmed(line).len)
        refuse(r, "a line without '=':", line);
    str value = line_trimmed(rest);
    if (str_is(key, "graph"))
        r->space->graph = arena_str(r->arena, value);
    else if (str_is(key, "architecture"))
        r->space->architecture = arena_str(r->arena, value);
    else
        read_choices(r, key, value);
}

/* Removes a comment, which starts at '#' at the beginning or after a space; a '#' inside a path stays. */
static str without_comment(str line)
{
    for (size_t i = 0; i < line.len; i++)
        if (line.ptr[i] == '#' && (i == 0 || line.ptr[i - 1] == ' ' || line.ptr[i - 1] == '\t'))
            line.len = i;
    return line_trimmed(line);
}

/* Checks that every choice occurs in the graph and every {NAME} is a choice, so that typing errors fail early. */
static void check_template(const space_reader *r, str template, bool may_have_architecture)
{
    const char *at = template.ptr, *end = at + template.len;
    while ((at = memchr(at, '{', (size_t)(end - at)))) {
        const char *close = memchr(at, '}', (size_t)(end - at));
        str name = {at + 1, close ? (size_t)(close - at - 1) : 0};
        if (!close)
            fail_with(r->fail, SOOTH_ERROR_INPUT, "%s'%.*s' has a '{' without '}'", r->prefix, STR_ARG(template));
        if (!find_choice(r->space, name) && !(may_have_architecture && str_is(name, "architecture")))
            fail_with(r->fail, SOOTH_ERROR_INPUT, "%s{%.*s} in '%.*s' is not a choice of this space", r->prefix,
                      STR_ARG(name), STR_ARG(template));
        at = close;
    }
}

static bool is_binding(str name)
{
    return str_is(name, "batch") || str_starts(name, "dim.");
}

static bool is_in(str template, str name)
{
    const char *at = template.ptr, *end = at + template.len;
    while ((at = memchr(at, '{', (size_t)(end - at)))) {
        at++;
        if ((size_t)(end - at) > name.len && memcmp(at, name.ptr, name.len) == 0 && at[name.len] == '}')
            return true;
    }
    return false;
}

/* Values that bind a dimension are sizes. */
static void check_binding(const space_reader *r, const space_choice *c)
{
    int64_t least = str_is(c->name, "batch"), size;
    for (int32_t i = 0; i < c->count; i++)
        if (!csv_whole(c->values[i], &size) || size < least)
            fail_with(r->fail, SOOTH_ERROR_INPUT, "%s'%.*s = %.*s' is not a size: write a whole number of at least %d",
                      r->prefix, STR_ARG(c->name), STR_ARG(c->values[i]), (int)least);
}

static void check_space(const space_reader *r)
{
    space *s = r->space;
    if (!s->graph.len)
        fail_with(r->fail, SOOTH_ERROR_INPUT, "%sthe space has no line 'graph = MODEL'", r->prefix);
    if (!s->choice_count)
        fail_with(r->fail, SOOTH_ERROR_INPUT, "%sthe space has no choices: add a line 'NAME = VALUE, VALUE'",
                  r->prefix);
    check_template(r, s->graph, true);
    check_template(r, s->architecture, false);
    for (int32_t i = 0; i < s->choice_count; i++) {
        str name = s->choices[i].name;
        bool is_used = is_in(s->graph, name) || (is_in(s->graph, STR("architecture")) && is_in(s->architecture, name));
        if (is_binding(name))
            check_binding(r, &s->choices[i]);
        else if (!is_used)
            fail_with(r->fail, SOOTH_ERROR_INPUT, "%sthe choice '%.*s' is not in the graph '%.*s': write {%.*s} there",
                      r->prefix, STR_ARG(name), STR_ARG(s->graph), STR_ARG(name));
    }
}

static void read_text(space_reader *r, str rest)
{
    while (rest.len) {
        r->line++;
        str line = without_comment(line_taken(&rest, '\n'));
        if (line.len)
            read_space_line(r, line);
    }
    check_space(r);
}

/* The model's path in a space file is relative to that file. */
static void place_graph(space *s, const char *path, arena *a)
{
    const char *slash = strrchr(path, '/');
    if (!slash || s->graph.ptr[0] == '/' || str_starts(s->graph, "zoo:"))
        return;
    size_t folder = (size_t)(slash + 1 - path);
    char *placed = arena_room(a, folder + s->graph.len + 1, 1);
    memcpy(placed, path, folder);
    memcpy(placed + folder, s->graph.ptr, s->graph.len + 1);
    s->graph = (str){placed, folder + s->graph.len};
}

const space *space_read(const char *name, str text, const char *path, const char *prefix, int first_line, arena *a,
                        fail *f)
{
    space *s = ARENA_NEW(a, space);
    s->name = arena_str(a, str_of(name));
    s->candidates = 1;
    s->architecture = STR("");
    space_reader r = {.space = s, .arena = a, .fail = f, .prefix = prefix, .line = first_line - 1};
    read_text(&r, text);
    place_graph(s, path, a);
    return s;
}

const space *space_open(const char *name, arena *a, fail *f)
{
    for (size_t i = 0; i < SHIPPED_COUNT; i++)
        if (strcmp(name, SHIPPED[i].name) == 0)
            return space_read(name, str_of(SHIPPED[i].text), "", "", 1, a, f);
    if (!file_is_there(name)) {
        nearest near = nearest_to(str_of(name));
        str known = {"", 0};
        for (size_t i = 0; i < SHIPPED_COUNT; i++) {
            nearest_try(&near, str_of(SHIPPED[i].name));
            known = arena_printf(a, "%s%s%s", known.ptr, i ? ", " : "", SHIPPED[i].name);
        }
        fail_with(f, SOOTH_ERROR_USAGE, "there is no space and no file '%.100s'%s%.*s%s; spaces are %s", name,
                  near.best.len ? "; did you mean '" : "", STR_ARG(near.best), near.best.len ? "'" : "", known.ptr);
    }
    file_map map = {.descriptor = -1};
    file_open(&map, name, f);
    /* Copies the text, because the space outlives the mapped file. */
    str text = arena_str(a, (str){(const char *)map.bytes, map.size});
    file_close(&map);
    return space_read(name, text, name, arena_printf(a, "%s: ", name).ptr, 1, a, f);
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

genes space_candidate(const space *s, uint64_t number)
{
    genes g = {{0}};
    for (int32_t i = s->choice_count - 1; i >= 0; i--) {
        g.of[i] = (uint8_t)(number % (uint64_t)s->choices[i].count);
        number /= (uint64_t)s->choices[i].count;
    }
    return g;
}

typedef struct writing {
    char *room;
    size_t used;
    fail *fail;
} writing;

static void put(writing *w, str s)
{
    if (w->used + s.len >= SPACE_GRAPH_ROOM)
        fail_with(w->fail, SOOTH_ERROR_INPUT, "the name of a candidate has more than %d bytes", SPACE_GRAPH_ROOM - 1);
    memcpy(w->room + w->used, s.ptr, s.len);
    w->used += s.len;
    w->room[w->used] = '\0';
}

static void put_template(writing *w, const space *s, str template, const genes *g)
{
    while (template.len) {
        const char *open = memchr(template.ptr, '{', template.len);
        size_t plain = open ? (size_t)(open - template.ptr) : template.len;
        put(w, (str){template.ptr, plain});
        template = (str){template.ptr + plain, template.len - plain};
        if (!open)
            return;
        const char *close = memchr(open, '}', template.len);
        str name = {open + 1, (size_t)(close - open - 1)};
        const space_choice *c = find_choice(s, name);
        if (c) {
            put(w, c->values[g->of[c - s->choices]]);
        } else {
            char architecture[SPACE_GRAPH_ROOM];
            space_architecture(s, g, architecture, w->fail);
            put(w, str_of(architecture));
        }
        template = (str){close + 1, template.len - name.len - 2};
    }
}

void space_architecture(const space *s, const genes *g, char room[SPACE_GRAPH_ROOM], fail *f)
{
    writing w = {.room = room, .fail = f};
    room[0] = '\0';
    if (s->architecture.len) {
        put_template(&w, s, s->architecture, g);
        return;
    }
    for (int32_t i = 0; i < s->choice_count; i++) {
        put(&w, i ? STR(",") : STR(""));
        put(&w, s->choices[i].values[g->of[i]]);
    }
}

void space_graph(const space *s, const genes *g, char room[SPACE_GRAPH_ROOM], fail *f)
{
    writing w = {.room = room, .fail = f};
    room[0] = '\0';
    put_template(&w, s, s->graph, g);
}
