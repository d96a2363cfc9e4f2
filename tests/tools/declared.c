/* declared.c: `declared FILE…` compares inferred shapes with the file's declared shapes of inner tensors, which
 * inference does not see here. Tensors without a producer (workspaces, statistics) are left out. Prints a line for each
 * file,
 *     FILE<tab>exact<tab>unknown<tab>wrong
 * followed by a line for each tensor that is not exact; or FILE<tab>refused<tab>why. */
#include "graph/graph.h"
#include "sooth.h"

#include <stdio.h>
#include <stdlib.h>

static void print_dims(const num *dims, int rank)
{
    putchar('[');
    for (int i = 0; i < rank; i++)
        printf("%s%lld", i ? "," : "", dim_known(dims[i]) ? (long long)dims[i] : -1);
    putchar(']');
}

typedef enum verdict { EXACT, UNKNOWN, WRONG } verdict;

static verdict compare(const value *got, const value *want)
{
    if (got->rank == RANK_UNKNOWN)
        return UNKNOWN;
    if (got->rank != want->rank)
        return WRONG;
    verdict v = got->dtype == DT_UNKNOWN ? UNKNOWN : got->dtype != want->dtype ? WRONG : EXACT;
    for (int i = 0; i < got->rank; i++) {
        if (!dim_known(want->dims[i]))
            continue;
        if (!dim_known(got->dims[i]))
            v = v == WRONG ? WRONG : UNKNOWN;
        else if (got->dims[i] != want->dims[i])
            v = WRONG;
    }
    return v;
}

static const char *maker_of(const sooth_model *m, value_id v)
{
    for (int32_t i = 0; i < m->net.nodes.count; i++)
        for (int32_t k = 0; k < m->net.nodes.items[i].output_count; k++)
            if (m->net.nodes.items[i].outputs[k] == v)
                return m->net.nodes.items[i].type.ptr;
    return "?";
}

static void mark_made(const graph *g, bool *is_made)
{
    for (int32_t i = 0; i < g->inputs.count; i++)
        is_made[g->inputs.items[i]] = true;
    for (int32_t i = 0; i < g->nodes.count; i++) {
        const node *n = &g->nodes.items[i];
        for (int32_t k = 0; k < n->output_count; k++)
            if (n->outputs[k] != NO_VALUE)
                is_made[n->outputs[k]] = true;
        for (int32_t k = 0; k < n->attr_count; k++)
            if (n->attrs[k].kind == ATTR_GRAPH)
                mark_made(n->attrs[k].graph, is_made);
    }
}

static void check(const char *path)
{
    sooth_error error;
    sooth_model *m;
    if (sooth_load_file(path, &m, &error) != SOOTH_OK) {
        printf("%s\trefused\t%s\n", path, error.message);
        return;
    }
    int32_t count = m->source.values.count;
    bool *was_declared = calloc((size_t)count + 1, sizeof *was_declared);
    bool *is_made = calloc((size_t)count + 1, sizeof *is_made);
    if (!was_declared || !is_made)
        exit(5);
    mark_made(&m->source.main, is_made);
    for (int32_t i = 0; i < count; i++) {
        value *v = &m->source.values.items[i];
        was_declared[i] = v->is_declared && !v->is_initializer && v->rank >= 0 && is_made[i];
        v->is_declared = false;
    }
    for (int32_t i = 0; i < m->source.main.inputs.count; i++) {
        value_id v = m->source.main.inputs.items[i];
        m->source.values.items[v].is_declared = true;
        was_declared[v] = false;
    }
    sooth_options options = {.skip_passes = "all"};
    if (sooth_bind(m, &options, &error) != SOOTH_OK) {
        printf("%s\trefused\t%s\n", path, error.message);
    } else {
        int verdicts[3] = {0};
        for (int32_t i = 0; i < count; i++)
            if (was_declared[i])
                verdicts[compare(&m->net.values.items[i], &m->source.values.items[i])]++;
        printf("%s\t%d\t%d\t%d\n", path, verdicts[EXACT], verdicts[UNKNOWN], verdicts[WRONG]);
        for (int32_t i = 0; i < count; i++) {
            const value *got = &m->net.values.items[i], *want = &m->source.values.items[i];
            if (!was_declared[i] || compare(got, want) == EXACT)
                continue;
            printf("  %s\t%s\t%s\t%s", compare(got, want) == WRONG ? "wrong" : "unknown", want->name.ptr,
                   maker_of(m, i), dtype_name(got->dtype));
            print_dims(got->dims, got->rank);
            printf("\tdeclared %s", dtype_name(want->dtype));
            print_dims(want->dims, want->rank);
            putchar('\n');
        }
    }
    free(is_made);
    free(was_declared);
    sooth_free(m);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        check(argv[i]);
    return 0;
}
