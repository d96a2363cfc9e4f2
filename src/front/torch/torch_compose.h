/* torch_compose.h: functions with which ATen operators are composed of others. */
#ifndef SOOTH_FRONT_TORCH_TORCH_COMPOSE_H
#define SOOTH_FRONT_TORCH_TORCH_COMPOSE_H

#include "front/torch/torch.h"

static inline void give_up(torch_call *c)
{
    torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
}

/* Calls another operator with positional arguments. */
static inline torch_value call(torch_call *c, const char *name, const torch_value *args, int count)
{
    torch_argument arguments[8];
    for (int i = 0; i < count; i++)
        arguments[i] = (torch_argument){.name = {"", 0}, .value = args[i]};
    return torch_aten(c->torch, str_of(name), arguments, count);
}

static inline void give(torch_call *c, torch_value v)
{
    c->results[c->result_count++] = v;
}

static inline torch_value ints(torch *t, const num *numbers, int count)
{
    torch_value list = torch_new_list(t, TORCH_LIST, count);
    for (int i = 0; i < count; i++)
        list.list->items[i] = torch_int(numbers[i]);
    return list;
}

/* Calls the operator `canonical` with the same arguments. */
static inline void rule_renamed(torch_call *c)
{
    int count = 0;
    for (int i = 0; i < 8; i++)
        if (c->given[i])
            count = i + 1;
    give(c, call(c, c->op->canonical, c->args, count));
}

#endif
