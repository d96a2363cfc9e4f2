#include "base/team.h"

#include <stdlib.h>
#include <string.h>

int team_first(const team *all, int rank, int count)
{
    return all ? (int)((int64_t)count * rank / all->size) : rank * count;
}

bool team_gather(const team *all, void *shards, int count, size_t size)
{
    bytes got = {0};
    bool is_good = true;
    if (all->rank) {
        for (int i = team_first(all, all->rank, count); i < team_first(all, all->rank + 1, count); i++)
            all->send(all->context, (char *)shards + (size_t)i * size, size);
        return true;
    }
    for (int rank = 1; rank < all->size && is_good; rank++)
        for (int i = team_first(all, rank, count); i < team_first(all, rank + 1, count) && is_good; i++) {
            is_good = all->receive(all->context, rank, &got) && got.size == size;
            if (is_good)
                memcpy((char *)shards + (size_t)i * size, got.data, size);
        }
    free(got.data);
    return is_good;
}
