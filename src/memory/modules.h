/* modules.h: the modules of the network's code around the kernels of the forward pass, from the names of the nodes, and
 * the extent of each call. Names are parsed once; then modules are compared by number. */
#ifndef SOOTH_MEMORY_MODULES_H
#define SOOTH_MEMORY_MODULES_H

#include "lower/lower.h"

/* Deeper modules count as their caller's own code. */
enum { MAX_DEPTH = 12, MAX_PARTS = MAX_DEPTH + 1 };

/* The modules around a kernel, outermost first: of "/layer1/layer1.0/conv1/Conv" all parts but the last; of a name
 * without slashes, "layer1.0.conv1", all parts. Two scopes have equal modules at a depth if all parts up to there are
 * equal. */
typedef struct scope {
    str path;                   /* taken from the node's name */
    bool is_dotted;             /* the kernel's own name is the last part */
    int8_t count;               /* number of parts, at most MAX_PARTS */
    int32_t modules[MAX_PARTS]; /* module numbers, from 1; 0 after the last */
} scope;

typedef struct calls {
    const program *program;
    int32_t count;              /* kernels of the forward pass; 0 if modules are not known */
    int32_t *scope_of;          /* by kernel: index of its scope */
    int32_t *last_alike;        /* by kernel: the last of consecutive kernels in the same modules */
    int32_t (*ends)[MAX_DEPTH]; /* by kernel: the last kernel of the call of the module at each depth */
    struct {
        scope *items;
        int32_t count, capacity;
    } scopes;
    struct {
        str *items;
        int32_t count, capacity;
    } names; /* by module: its own name; the first is empty */
} calls;

/* `net` may be NULL: modules are not known. Everything is in `a`. */
calls find_calls(const program *p, const network *net, arena *a);

static inline const scope *scope_at(const calls *c, int32_t kernel_index)
{
    return &c->scopes.items[c->scope_of[kernel_index]];
}

static inline int depth_of(const scope *s)
{
    return s->count < MAX_DEPTH ? s->count : MAX_DEPTH;
}

/* Number of leading modules that two scopes share, at most MAX_DEPTH. */
static inline int shared_depth(const scope *a, const scope *b)
{
    int depth = 0;
    if (a == b)
        return depth_of(a);
    while (depth < MAX_DEPTH && a->modules[depth] && a->modules[depth] == b->modules[depth])
        depth++;
    return depth;
}

/* The module that got the result of `maker` as an argument, and in which `reader` reads it, returns after this
 * kernel. */
int32_t held_until(const calls *c, int32_t maker, int32_t reader);
/* The innermost module around the kernel returns after this kernel. */
int32_t returns_at(const calls *c, int32_t kernel_index);
/* If two kernels that read the result of `maker` are called from the code of one module, the result is a variable there: the last kernel of
 * that module. */
int32_t named_until(const calls *c, int32_t maker, int32_t first, int32_t second);
/* True if the second kernel is in the module whose code calls the first. */
bool is_within(const calls *c, int32_t first, int32_t second);
/* An activation may overwrite what the enclosing code made, not what that code was given. */
bool is_made_beside(const calls *c, int32_t maker, int32_t index);
/* The module that the enclosing code calls next returns after this kernel. */
int32_t next_call_end(const calls *c, int32_t kernel_index);
#endif
