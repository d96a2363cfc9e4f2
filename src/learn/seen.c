/* seen.c: lists the kernels, sequences and graphs that a training sees. */
#include "learn/seen.h"

#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* A set of numbers with open addressing. Zero marks a free slot; a flag records whether the set contains 0. */
typedef struct number_set {
    uint32_t *slots;
    size_t room, count; /* at most half full */
    bool has_zero;
} number_set;

static bool grow_set(number_set *set)
{
    number_set larger = {.room = set->room ? 2 * set->room : 4096, .count = set->count, .has_zero = set->has_zero};
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < set->room; i++) {
        size_t k = set->slots[i] & (larger.room - 1); /* the numbers are hashes already */
        while (set->slots[i] && larger.slots[k])
            k = (k + 1) & (larger.room - 1);
        if (set->slots[i])
            larger.slots[k] = set->slots[i];
    }
    free(set->slots);
    *set = larger;
    return true;
}

static bool put_number(number_set *set, uint32_t number)
{
    set->has_zero |= number == 0;
    if (number == 0)
        return true;
    if (2 * (set->count + 1) > set->room && !grow_set(set))
        return false;
    size_t k = number & (set->room - 1);
    while (set->slots[k] && set->slots[k] != number)
        k = (k + 1) & (set->room - 1);
    set->count += !set->slots[k];
    set->slots[k] = number;
    return true;
}

/* Adds the kernels, sequences and graph of a network. */
static bool put_example(const dataset *d, const example *e, number_set *kernels, number_set *chains, number_set *graphs)
{
    const sample_program *p = e->program;
    bool good = !p->graph || put_number(graphs, interval_print(p->graph, seen_class(e, NULL)));
    for (int32_t k = 0; k < p->sample_count && good; k++)
        good = put_number(kernels, sample_head(d, &p->samples[k]).kin);
    for (int32_t k = 0; k < p->chain_count && good; k++)
        good = put_number(chains, p->chains[k].chain);
    return good;
}

/* Sorts the numbers and moves them to the front of the set's memory. */
static number_list list_of(number_set *set)
{
    size_t n = 0;
    for (size_t i = 0; i < set->room; i++)
        if (set->slots[i])
            set->slots[n++] = set->slots[i];
    if (set->has_zero)
        set->slots[n++] = 0;
    qsort(set->slots, n, sizeof *set->slots, by_number);
    return (number_list){set->slots, (uint32_t)n};
}

seen_numbers seen_collect(const dataset *d, const lists *l, fail *f)
{
    number_set sets[3] = {{.count = 0}};
    bool good = grow_set(&sets[0]) && grow_set(&sets[1]) && grow_set(&sets[2]);
    for (int32_t i = 0; i < l->network_count && good; i++)
        good = put_example(d, &d->items[l->networks[i]], &sets[0], &sets[1], &sets[2]);
    if (!good) {
        for (int i = 0; i < 3; i++)
            free(sets[i].slots);
        fail_with(f, SOOTH_ERROR_SYSTEM, "out of memory");
    }
    return (seen_numbers){list_of(&sets[0]), list_of(&sets[1]), list_of(&sets[2])};
}

void seen_free(seen_numbers *s)
{
    free((void *)s->kernels.items);
    free((void *)s->chains.items);
    free((void *)s->graphs.items);
    *s = (seen_numbers){.kernels = {NULL, 0}};
}

void seen_mark(const dataset *d, const seen_numbers *s, const int32_t *order, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const sample_program *p = d->items[order[i]].program;
        for (int32_t k = 0; k < p->sample_count; k++) {
            p->samples[k].is_new = !number_list_has(&s->kernels, sample_head(d, &p->samples[k]).kin);
            p->samples[k].strange = 0;
        }
        for (int32_t k = 0; k < p->chain_count; k++)
            if (!number_list_has(&s->chains, p->chains[k].chain))
                p->samples[p->chains[k].sample].strange += p->chains[k].share;
    }
}

interval_class seen_class(const example *e, uint32_t *groups)
{
    uint32_t all = 0;
    for (int g = 0; g < WORK_GROUP_COUNT; g++)
        all |= e->program->first_of_group[g + 1] > e->program->first_of_group[g] ? 1u << g : 0;
    if (groups)
        *groups = all;
    return interval_class_of(&e->row->where, all);
}

bool seen_graph(const seen_numbers *s, const example *e)
{
    return e->program->graph && number_list_has(&s->graphs, interval_print(e->program->graph, seen_class(e, NULL)));
}
