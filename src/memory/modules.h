/* modules.h: finds the modules around each kernel of the forward pass and the extent of each call, from node names.
 * Names are parsed once; modules are then compared by number. */
#ifndef SOOTH_MEMORY_MODULES_H
#define SOOTH_MEMORY_MODULES_H

#include "lower/lower.h"

/* Modules beyond this depth are treated as code of the module around them. */
enum { MAX_DEPTH = 12, MAX_PARTS = MAX_DEPTH + 1 };

/* The modules around a kernel, outermost first. For "/layer1/layer1.0/conv1/Conv" these are all parts but the last; for
 * a name without slashes, "layer1.0.conv1", all parts. Two scopes share a module at a depth if all parts up to it are
 * equal. */
typedef struct scope {
    str path;                   /* From the node's name. */
    bool is_dotted;             /* The last part is the kernel's own name. */
    int8_t count;               /* Number of parts, at most MAX_PARTS. */
    int32_t modules[MAX_PARTS]; /* Module numbers from 1 on; 0 after the last. */
} scope;

typedef struct calls {
    const program *program;
    int32_t count;              /* Kernels of the forward pass; 0 if modules are unknown. */
    int32_t *scope_of;          /* Indexed by kernel: its scope. */
    int32_t *last_alike;        /* Indexed by kernel: last of the consecutive kernels in the same modules. */
    int32_t (*ends)[MAX_DEPTH]; /* Indexed by kernel: last kernel of the module call at each depth. */
    struct {
        scope *items;
        int32_t count, capacity;
    } scopes;
    struct {
        str *items;
        int32_t count, capacity;
    } names; /* Indexed by module: its own name; the first is empty. */
} calls;

/* If `net` is NULL, modules are unknown. Allocates in `a`. */
calls find_calls(const program *p, const network *net, arena *a);

static inline const scope *scope_at(const calls *c, int32_t kernel_index)
{
    return &c->scopes.items[c->scope_of[kernel_index]];
}

static inline int depth_of(const scope *s)
{
    return s->count < MAX_DEPTH ? s->count : MAX_DEPTH;
}

/* Returns the number of leading modules that two scopes share, at most MAX_DEPTH. */
static inline int shared_depth(const scope *a, const scope *b)
{
    int depth = 0;
    if (a == b)
        return depth_of(a);
    while (depth < MAX_DEPTH && a->modules[depth] && a->modules[depth] == b->modules[depth])
        depth++;
    return depth;
}

/* Returns the last kernel of the module that receives the result of `maker` as an argument and contains `reader`. */
int32_t held_until(const calls *c, int32_t maker, int32_t reader);
/* Returns the last kernel of the innermost module around the kernel. */
int32_t returns_at(const calls *c, int32_t kernel_index);
/* Returns the last kernel of the module whose code has the result of `maker` in a variable: the module from which
 * both kernels are called. */
int32_t named_until(const calls *c, int32_t maker, int32_t first, int32_t second);
/* True if the second kernel's module is part of the module whose code calls the first kernel. */
bool is_within(const calls *c, int32_t first, int32_t second);
/* True if an activation may overwrite its input, which requires that the module around it created the input itself. */
bool is_made_beside(const calls *c, int32_t maker, int32_t index);
/* Returns the last kernel of the next module that the surrounding code calls. */
int32_t next_call_end(const calls *c, int32_t kernel_index);
#endif
