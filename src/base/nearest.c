#include "base/nearest.h"

enum { LONGEST = 63 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned nearest_distance(str a, str b)
{
    if (a.len > LONGEST || b.len > LONGEST)
        return str_eq(a, b) ? 0 : 1000;
    /* Rows of the table for the optimal string alignment; a transposition refers to the row before the previous one. */
    unsigned rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.len; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.len; j++) {
            unsigned change = above[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]);
            row[j] = least(change, 1 + least(above[j], row[j - 1]));
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1])
                row[j] = least(row[j], above2[j - 2] + 1);
        }
    }
    return rows[a.len % 3][b.len];
}
