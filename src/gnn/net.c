/* net.c: layout and initial values of the parameters. */
#include "gnn/net.h"

#include <math.h>
#include <stdio.h>

const char *const GNN_KIND_NAMES[GNN_KINDS + 1] = {"sage", "gcn", "gat", "gin", "mlp", NULL};
const char *const GNN_FEATURE_NAMES[3] = {"dippm", "full", NULL};
const char *const GNN_OUTPUT_NAMES[GNN_OUTPUTS] = {"latency_ms", "energy_j", "memory_mib"};
static const char *const PART_NAMES[GNN_PARTS] = {"weight", "bias", "own", "own_bias", "from", "to"};

static gnn_matrix placed(gnn_layout *l, size_t rows, size_t columns)
{
    gnn_matrix m = {l->count, rows, columns};
    l->count += rows * columns;
    return m;
}

gnn_layout gnn_layout_of(gnn_kind kind, size_t hidden)
{
    gnn_layout l = {.kind = kind, .hidden = hidden};
    for (int b = 0; b < GNN_BLOCKS; b++) {
        size_t inputs = b ? hidden : GNN_NODE_WIDTH;
        gnn_matrix *parts = l.block[b];
        parts[GNN_WEIGHT] = placed(&l, inputs, hidden);
        parts[GNN_BIAS] = placed(&l, 1, hidden);
        if (kind == GNN_SAGE)
            parts[GNN_OWN] = placed(&l, inputs, hidden);
        if (kind == GNN_GIN) {
            parts[GNN_OWN] = placed(&l, hidden, hidden);
            parts[GNN_OWN_BIAS] = placed(&l, 1, hidden);
        }
        if (kind == GNN_GAT) {
            parts[GNN_FROM] = placed(&l, 1, hidden);
            parts[GNN_TO] = placed(&l, 1, hidden);
        }
    }
    for (int d = 0; d < GNN_DENSE; d++) {
        size_t columns = d == GNN_DENSE - 1 ? GNN_OUTPUTS : hidden;
        l.dense[d] = placed(&l, hidden + (d ? 0 : GNN_ROW_WIDTH), columns);
        l.dense_bias[d] = placed(&l, 1, columns);
    }
    return l;
}

bool gnn_layout_matrix(const gnn_layout *l, size_t index, gnn_matrix *m, char name[32])
{
    for (int b = 0; b < GNN_BLOCKS; b++)
        for (int p = 0; p < GNN_PARTS; p++)
            if (l->block[b][p].rows && !index--) {
                *m = l->block[b][p];
                snprintf(name, 32, "block%d.%s", b + 1, PART_NAMES[p]);
                return true;
            }
    for (int d = 0; d < 2 * GNN_DENSE; d++)
        if (!index--) {
            *m = d % 2 ? l->dense_bias[d / 2] : l->dense[d / 2];
            snprintf(name, 32, "dense%d.%s", d / 2 + 1, d % 2 ? "bias" : "weight");
            return true;
        }
    return false;
}

uint64_t gnn_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void fill(const gnn_matrix *m, float limit, uint64_t *random, float *params)
{
    for (size_t i = 0; i < m->rows * m->columns; i++)
        params[m->at + i] = limit * ((float)(gnn_random(random) >> 40) / (float)(1 << 23) - 1);
}

/* Uniform within 1/sqrt(inputs) for linear layers; Glorot for GCN and GAT, whose biases begin at 0. */
void gnn_layout_fill(const gnn_layout *l, uint64_t seed, float *params)
{
    uint64_t random = seed;
    bool is_glorot = l->kind == GNN_GCN || l->kind == GNN_GAT;
    memset(params, 0, l->count * sizeof *params);
    for (int b = 0; b < GNN_BLOCKS; b++) {
        const gnn_matrix *parts = l->block[b];
        float inputs = (float)parts[GNN_WEIGHT].rows, outputs = (float)l->hidden;
        float limit = is_glorot ? sqrtf(6 / (inputs + outputs)) : 1 / sqrtf(inputs);
        float own_limit = l->kind == GNN_GIN ? 1 / sqrtf(outputs) : limit;
        fill(&parts[GNN_WEIGHT], limit, &random, params);
        if (!is_glorot)
            fill(&parts[GNN_BIAS], limit, &random, params);
        fill(&parts[GNN_OWN], own_limit, &random, params);
        fill(&parts[GNN_OWN_BIAS], own_limit, &random, params);
        fill(&parts[GNN_FROM], sqrtf(6 / (1 + outputs)), &random, params);
        fill(&parts[GNN_TO], sqrtf(6 / (1 + outputs)), &random, params);
    }
    for (int d = 0; d < GNN_DENSE; d++) {
        float limit = 1 / sqrtf((float)l->dense[d].rows);
        fill(&l->dense[d], limit, &random, params);
        fill(&l->dense_bias[d], limit, &random, params);
    }
}

void gnn_layout_transpose(const gnn_layout *l, size_t index, const float *params, float *transposed)
{
    enum { TILE = 16 };
    gnn_matrix m;
    char name[32];
    if (!gnn_layout_matrix(l, index, &m, name))
        return;
    for (size_t i = 0; i < m.rows; i += TILE)
        for (size_t k = 0; k < m.columns; k += TILE)
            for (size_t r = i; r < m.rows && r < i + TILE; r++)
                for (size_t c = k; c < m.columns && c < k + TILE; c++)
                    transposed[m.at + c * m.rows + r] = params[m.at + r * m.columns + c];
}
