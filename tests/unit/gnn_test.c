/* gnn_test.c: graph networks: gradients against differences, the order of sums, splits, and files that are no models.
 * tests/suites/gnn.py compares them with PyTorch Geometric. */
#include "gnn/file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

enum { NODES = 7, GRAPHS = 3, ROWS = 5, HIDDEN = 32 };

typedef struct made {
    sooth_error error;
    fail fail;
    arena arena;
    gnn_pool pool;
    gnn_graph graphs[GRAPHS];
    gnn_row rows[ROWS];
    float settings[2][GNN_SETTINGS];
    gnn_scaling scaling;
} made;

static float some(uint64_t *random)
{
    return (float)(gnn_random(random) >> 40) / (float)(1 << 23) - 1;
}

/* Graphs with forks, joins, doubled edges and nodes that read nothing; rows with unknown outputs. */
static void make(made *m)
{
    static uint8_t op[NODES] = {0, 1, 4, 1, 6, 2, 15};
    static float values[NODES][GNN_VALUES];
    static const int32_t first[] = {0, 0, 1, 2, 4, 7, 8, 8}, from[] = {0, 1, 1, 2, 3, 3, 0, 4};
    static const int32_t chain_first[] = {0, 0, 1, 2}, chain_from[] = {0, 1}, alone_first[] = {0, 0};
    uint64_t random = 7;
    memset(m, 0, sizeof *m);
    m->fail.error = &m->error;
    arena_init(&m->arena, &m->fail, ARENA_GIB(1));
    m->pool.fail = &m->fail;
    for (int i = 0; i < NODES; i++)
        for (int k = 0; k < GNN_VALUES; k++)
            values[i][k] = some(&random);
    const float(*shared)[GNN_VALUES] = (const float(*)[GNN_VALUES])values;
    m->graphs[0] = (gnn_graph){7, 8, op, shared, first, from, {1, 2, 3, 4, 5}};
    m->graphs[1] = (gnn_graph){3, 2, op + 2, shared + 2, chain_first, chain_from, {2, 1, 2, 0, 1}};
    m->graphs[2] = (gnn_graph){1, 0, op, shared, alone_first, from, {0, 0, 1, 0, 0}};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < GNN_SETTINGS; k++)
            m->settings[i][k] = some(&random);
    for (int r = 0; r < ROWS; r++) {
        m->rows[r] = (gnn_row){.graph = r % GRAPHS, .setting = r % 2};
        for (int o = 0; o < GNN_OUTPUTS; o++)
            m->rows[r].target[o] = (r + o) % 4 == 3 ? NAN : 2 * some(&random);
    }
    for (int k = 0; k < GNN_VALUES; k++)
        m->scaling.value_scale[k] = 1;
    for (int k = 0; k < GNN_ROW_WIDTH; k++)
        m->scaling.row_scale[k] = 0.5F;
}

static void unmake(made *m)
{
    gnn_pool_free(&m->pool);
    arena_free(&m->arena);
}

static gnn_batch batch_of(made *m)
{
    static const gnn_row *lists[GRAPHS][ROWS];
    static const gnn_row *const *starts[GRAPHS];
    static const gnn_graph *graphs[GRAPHS];
    static int32_t counts[GRAPHS];
    static const uint64_t seeds[GRAPHS] = {1, 2, 3};
    memset(counts, 0, sizeof counts);
    for (int r = 0; r < ROWS; r++) {
        int g = m->rows[r].graph;
        lists[g][counts[g]++] = &m->rows[r];
    }
    for (int g = 0; g < GRAPHS; g++) {
        graphs[g] = &m->graphs[g];
        starts[g] = lists[g];
    }
    const gnn_batch_source source = {
        graphs, starts, counts, seeds, GRAPHS, (const float(*)[GNN_SETTINGS])m->settings, &m->scaling};
    return gnn_batch_of(&source, &m->pool);
}

static void transpose(const gnn_layout *l, const float *params, float *transposed)
{
    gnn_matrix matrix;
    char name[32];
    for (size_t i = 0; gnn_layout_matrix(l, i, &matrix, name); i++)
        gnn_layout_transpose(l, i, params, transposed);
}

static const gnn_loss LOSS = {.huber = 0.5, .dropout = 0.25, .per_label = 0.1};

static double loss_at(made *m, const gnn_layout *l, const float *params, float *transposed, float *gradient)
{
    transpose(l, params, transposed);
    const gnn_network net = {*l, params, transposed};
    gnn_pool_reset(&m->pool);
    gnn_batch b = batch_of(m);
    memset(gradient, 0, l->count * sizeof *gradient);
    return gnn_pass_gradient(&net, &b, &LOSS, &m->pool, gradient, NULL);
}

/* The slope of the loss along a random direction, by differences and by the gradient, for each matrix alone. With the
 * same dropout: its random numbers depend on the graphs' seeds. */
static void gradients_of(gnn_kind kind)
{
    made m;
    make(&m);
    assert_int_equal(setjmp(m.fail.jump), 0);
    const gnn_layout l = gnn_layout_of(kind, HIDDEN);
    float *params = ARENA_ARRAY(&m.arena, float, l.count), *moved = ARENA_ARRAY(&m.arena, float, l.count);
    float *transposed = ARENA_ARRAY(&m.arena, float, l.count), *gradient = ARENA_ARRAY(&m.arena, float, l.count);
    float *unused = ARENA_ARRAY(&m.arena, float, l.count);
    gnn_layout_fill(&l, 3, params);
    loss_at(&m, &l, params, transposed, gradient);
    gnn_matrix matrix;
    char name[32];
    uint64_t random = 11;
    for (size_t i = 0; gnn_layout_matrix(&l, i, &matrix, name); i++) {
        double along = 0, largest = 0;
        const double step = 5e-4;
        memcpy(moved, params, l.count * sizeof *moved);
        for (size_t k = matrix.at; k < matrix.at + matrix.rows * matrix.columns; k++)
            largest = fmax(largest, fabs((double)gradient[k]));
        for (size_t k = matrix.at; k < matrix.at + matrix.rows * matrix.columns; k++) {
            /* The direction is the gradient plus small noise, so that the slope is large compared with rounding and
             * the kinks of ReLU. */
            double by = largest > 0 ? ((double)gradient[k] / largest + 0.1 * (double)some(&random)) * step : 0;
            moved[k] = (float)((double)params[k] + by);
            along += (double)gradient[k] * ((double)moved[k] - (double)params[k]);
        }
        double above = loss_at(&m, &l, moved, transposed, unused);
        for (size_t k = matrix.at; k < matrix.at + matrix.rows * matrix.columns; k++)
            moved[k] = 2 * params[k] - moved[k];
        double below = loss_at(&m, &l, moved, transposed, unused), measured = (above - below) / 2;
        if (fabs(measured - along) > 0.08 * fabs(along) + 5e-7)
            fail_msg("%s %s: slope %g by the gradient, %g by differences", GNN_KIND_NAMES[kind], name, along, measured);
    }
    unmake(&m);
}

static void gradients(void **state)
{
    (void)state;
    for (int kind = 0; kind < GNN_KINDS; kind++)
        gradients_of((gnn_kind)kind);
}

/* A training step's result must not depend on how its graphs are divided. */
static void dropout_by_graph(void **state)
{
    (void)state;
    made m;
    make(&m);
    assert_int_equal(setjmp(m.fail.jump), 0);
    const gnn_layout l = gnn_layout_of(GNN_SAGE, HIDDEN);
    float *params = ARENA_ARRAY(&m.arena, float, l.count), *transposed = ARENA_ARRAY(&m.arena, float, l.count);
    float *gradient = ARENA_ARRAY(&m.arena, float, l.count);
    gnn_layout_fill(&l, 3, params);
    transpose(&l, params, transposed);
    const gnn_network net = {l, params, transposed};
    gnn_batch b = batch_of(&m);
    float together[ROWS][GNN_OUTPUTS], apart[ROWS][GNN_OUTPUTS];
    gnn_pass_gradient(&net, &b, &LOSS, &m.pool, gradient, together[0]);
    for (int32_t g = 0, row = 0; g < GRAPHS; g++) {
        const gnn_graph *graphs[] = {&m.graphs[g]};
        const gnn_row *rows[ROWS], *const *starts[] = {rows};
        const uint64_t seeds[] = {b.seeds[g]};
        int32_t counts[] = {0};
        for (int r = 0; r < ROWS; r++)
            if (m.rows[r].graph == g)
                rows[counts[0]++] = &m.rows[r];
        const gnn_batch_source source = {graphs,    starts, counts, seeds, 1, (const float(*)[GNN_SETTINGS])m.settings,
                                         &m.scaling};
        gnn_batch one = gnn_batch_of(&source, &m.pool);
        gnn_pass_gradient(&net, &one, &LOSS, &m.pool, gradient, apart[row]);
        row += counts[0];
    }
    for (int r = 0; r < ROWS; r++)
        for (int o = 0; o < GNN_OUTPUTS; o++)
            assert_float_equal(together[r][o], apart[r][o], 1e-5);
    unmake(&m);
}

static bool decodes(const char *bytes, size_t size, gnn_model *model, made *m)
{
    if (setjmp(m->fail.jump))
        return false;
    gnn_file_decode((str){bytes, size}, model, &m->arena);
    return true;
}

static void seal(char *bytes, size_t size)
{
    uint32_t sum = (uint32_t)crc32(0, (const Bytef *)bytes + 20, (uInt)(size - 20));
    for (int i = 0; i < 4; i++)
        bytes[16 + i] = (char)(sum >> 8 * i);
}

/* Models are written and read; damage, and impossible values with a good checksum, are refused. */
static void files(void **state)
{
    (void)state;
    made m;
    make(&m);
    gnn_model model = {.which = GNN_FULL, .layout = gnn_layout_of(GNN_GAT, HIDDEN), .outputs = 5, .seed = 1ULL << 40};
    model.identity = 0x123456789abcdef0U;
    model.scaling = m.scaling;
    assert_int_equal(setjmp(m.fail.jump), 0);
    model.params = ARENA_ARRAY(&m.arena, float, model.layout.count);
    gnn_layout_fill(&model.layout, 5, model.params);
    str bytes = gnn_file_encode(&model, &m.arena);
    gnn_model read;
    assert_true(decodes(bytes.ptr, bytes.len, &read, &m));
    assert_int_equal(read.layout.kind, GNN_GAT);
    assert_true(read.identity == model.identity && read.seed == model.seed && read.outputs == 5);
    assert_memory_equal(read.params, model.params, model.layout.count * sizeof *model.params);
    char *damaged = malloc(bytes.len + 4);
    assert_non_null(damaged);
    for (size_t size = 0; size < bytes.len; size += size < 300 ? 1 : 997) {
        memcpy(damaged, bytes.ptr, size);
        assert_false(decodes(damaged, size, &read, &m));
        if (size > 20)
            seal(damaged, size); /* still too short */
        assert_false(decodes(damaged, size, &read, &m));
    }
    for (size_t at = 0; at < bytes.len; at += 61) {
        memcpy(damaged, bytes.ptr, bytes.len);
        damaged[at] = (char)(damaged[at] ^ 0x10);
        assert_false(decodes(damaged, bytes.len, &read, &m));
    }
    /* kind, features, hidden units (too many, zero, no multiple), outputs, split, parameters; NaN at the end */
    const uint32_t words[][2] = {{0, 99},   {1, 2}, {2, 0xffffffe0}, {2, 0}, {2, 33},
                                 {2, 2080}, {3, 0}, {3, 8},          {4, 4}, {10, 0xfffffff}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        memcpy(damaged, bytes.ptr, bytes.len);
        for (int k = 0; k < 4; k++)
            damaged[20 + 4 * words[i][0] + (unsigned)k] = (char)(words[i][1] >> 8 * k);
        seal(damaged, bytes.len);
        assert_false(decodes(damaged, bytes.len, &read, &m));
    }
    memcpy(damaged, bytes.ptr, bytes.len);
    memset(damaged + bytes.len - 4, 0xff, 4);
    seal(damaged, bytes.len);
    assert_false(decodes(damaged, bytes.len, &read, &m));
    free(damaged);
    unmake(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),
        cmocka_unit_test(dropout_by_graph),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
