/* wire.c: compares Sooth's protobuf reader and nanopb on the same bytes.
 *
 *     wire FILE [SECONDS]
 *
 * Both decode every field of onnx.proto, copy nothing, and compute the same checksum, so that neither can skip work.
 * Prints the fastest time of each in microseconds, and the number of nodes. */
#include "front/common/wire.h"
#include "onnx.pb.h"

#include <pb_decode.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct sums {
    uint64_t text_bytes, numbers, nodes, dims;
} sums;

/* ---- nanopb: a callback for everything that repeats or has a length -------------------------------------------- */

static bool np_text(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    ((sums *)*arg)->text_bytes += stream->bytes_left; /* stream->state points into the bytes: nothing is copied */
    return pb_read(stream, NULL, stream->bytes_left);
}

static bool np_integers(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    uint64_t n;
    if (!pb_decode_varint(stream, &n))
        return false;
    ((sums *)*arg)->numbers += n;
    ((sums *)*arg)->dims++;
    return true;
}

#define TEXT(s)                                                                                                        \
    {                                                                                                                  \
        .funcs.decode = np_text, .arg = (s)                                                                            \
    }
#define INTEGERS(s)                                                                                                    \
    {                                                                                                                  \
        .funcs.decode = np_integers, .arg = (s)                                                                        \
    }
#define NESTED(function, s)                                                                                            \
    {                                                                                                                  \
        .funcs.decode = (function), .arg = (s)                                                                         \
    }

static bool np_opset(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    sums *s = *arg;
    Opset m = {.domain = TEXT(s)};
    if (!pb_decode(stream, Opset_fields, &m))
        return false;
    s->numbers += (uint64_t)m.version;
    return true;
}

static bool np_dim(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    sums *s = *arg;
    Dim m = {.symbol = TEXT(s)};
    if (!pb_decode(stream, Dim_fields, &m))
        return false;
    s->numbers += (uint64_t)m.size;
    return true;
}

static bool np_value(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    sums *s = *arg;
    Value m = {.name = TEXT(s), .type.tensor.shape.dims = NESTED(np_dim, s)};
    if (!pb_decode_ex(stream, Value_fields, &m, PB_DECODE_NOINIT))
        return false;
    s->numbers += (uint64_t)m.type.tensor.type;
    return true;
}

static bool np_tensor(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    sums *s = *arg;
    Tensor m = {.dims = INTEGERS(s), .name = TEXT(s)};
    if (!pb_decode(stream, Tensor_fields, &m))
        return false;
    s->numbers += (uint64_t)m.type + (uint64_t)m.location;
    return true;
}

static Graph np_graph_of(sums *s);

static bool np_attribute(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    sums *s = *arg;
    Attribute m = {.name = TEXT(s),
                   .text = TEXT(s),
                   .tensor.dims = INTEGERS(s),
                   .tensor.name = TEXT(s),
                   .graph = np_graph_of(s),
                   .integers = INTEGERS(s)};
    if (!pb_decode_ex(stream, Attribute_fields, &m, PB_DECODE_NOINIT))
        return false;
    s->numbers += (uint64_t)m.integer + (uint64_t)m.kind + (uint64_t)m.tensor.type + (uint64_t)m.tensor.location;
    return true;
}

static bool np_node(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    sums *s = *arg;
    s->nodes++;
    Node m = {.inputs = TEXT(s), .outputs = TEXT(s), .name = TEXT(s), .type = TEXT(s), .domain = TEXT(s)};
    m.attributes = (pb_callback_t)NESTED(np_attribute, s);
    return pb_decode(stream, Node_fields, &m);
}

static Graph np_graph_of(sums *s)
{
    return (Graph){.nodes = NESTED(np_node, s),
                   .name = TEXT(s),
                   .initializers = NESTED(np_tensor, s),
                   .inputs = NESTED(np_value, s),
                   .outputs = NESTED(np_value, s),
                   .values = NESTED(np_value, s)};
}

static bool np_model(const uint8_t *bytes, size_t size, sums *s)
{
    Model m = {
        .producer = TEXT(s), .producer_version = TEXT(s), .graph = np_graph_of(s), .opsets = NESTED(np_opset, s)};
    pb_istream_t stream = pb_istream_from_buffer(bytes, size);
    if (!pb_decode_ex(&stream, Model_fields, &m, PB_DECODE_NOINIT))
        return fprintf(stderr, "nanopb: %s\n", PB_GET_ERROR(&stream)), false;
    s->numbers += (uint64_t)m.ir_version;
    return true;
}

/* ---- the project's reader ---------------------------------------------------------------------------------------- */

/* Meaning of a message's field, by its number. */
enum what {
    PASS,
    NUMBER,
    TEXT_OF,
    INTS,
    MODEL,
    OPSET,
    GRAPH,
    NODE,
    ATTRIBUTE,
    TENSOR,
    VALUE,
    TYPE,
    TENSOR_TYPE,
    SHAPE,
    DIM
};
static const uint8_t fields[][26] = {
    [MODEL] = {[1] = NUMBER, [2] = TEXT_OF, [3] = TEXT_OF, [7] = GRAPH, [8] = OPSET},
    [OPSET] = {[1] = TEXT_OF, [2] = NUMBER},
    [GRAPH] = {[1] = NODE, [2] = TEXT_OF, [5] = TENSOR, [11] = VALUE, [12] = VALUE, [13] = VALUE},
    [NODE] = {[1] = TEXT_OF, [2] = TEXT_OF, [3] = TEXT_OF, [4] = TEXT_OF, [5] = ATTRIBUTE, [7] = TEXT_OF},
    [ATTRIBUTE] = {[1] = TEXT_OF, [3] = NUMBER, [4] = TEXT_OF, [5] = TENSOR, [6] = GRAPH, [8] = INTS, [20] = NUMBER},
    [TENSOR] = {[1] = INTS, [2] = NUMBER, [8] = TEXT_OF, [14] = NUMBER},
    [VALUE] = {[1] = TEXT_OF, [2] = TYPE},
    [TYPE] = {[1] = TENSOR_TYPE},
    [TENSOR_TYPE] = {[1] = NUMBER, [2] = SHAPE},
    [SHAPE] = {[1] = DIM},
    [DIM] = {[1] = NUMBER, [2] = TEXT_OF},
};

static void own_message(wire w, enum what message, sums *s)
{
    s->nodes += message == NODE;
    wire_field f;
    while (wire_next(&w, &f)) {
        enum what what = f.number < 26 ? fields[message][f.number] : PASS;
        int64_t ints[64];
        switch (what) {
        case PASS:
            break;
        case NUMBER:
            s->numbers += f.varint;
            break;
        case TEXT_OF:
            s->text_bytes += wire_str(&f).len;
            break;
        case INTS:
            for (size_t i = 0, n = wire_ints(&w, &f, ints, 64); i < n && i < 64; i++, s->dims++)
                s->numbers += (uint64_t)ints[i];
            break;
        default:
            own_message(wire_message(&w, &f), what, s);
        }
    }
}

/* ---- timing ------------------------------------------------------------------------------------------------------ */

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static uint8_t *read_whole(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        return NULL;
    long length = ftell(f);
    rewind(f);
    uint8_t *bytes = length > 0 ? malloc((size_t)length) : NULL;
    if (bytes && fread(bytes, 1, (size_t)length, f) != (size_t)length)
        return NULL;
    fclose(f);
    *size = (size_t)length;
    return bytes;
}

int main(int argc, char **argv)
{
    size_t size = 0;
    uint8_t *bytes = argc > 1 ? read_whole(argv[1], &size) : NULL;
    if (!bytes)
        return fprintf(stderr, "usage: wire FILE [SECONDS]\n"), 2;
    sooth_error error;
    fail failure = {.error = &error};
    if (setjmp(failure.jump))
        return fprintf(stderr, "%s: %s\n", argv[1], error.message), 1;
    double end = now_us() + 1e6 * (argc > 2 ? atof(argv[2]) : 1.0);
    double fastest_own = 1e12, fastest_np = 1e12;
    sums own = {0}, np = {0};
    do {
        own = np = (sums){0};
        double start = now_us();
        own_message(wire_of(bytes, size, &failure), MODEL, &own);
        double between = now_us();
        if (!np_model(bytes, size, &np))
            return 1;
        double done = now_us();
        fastest_own = between - start < fastest_own ? between - start : fastest_own;
        fastest_np = done - between < fastest_np ? done - between : fastest_np;
    } while (now_us() < end);
    if (memcmp(&own, &np, sizeof own) != 0)
        return fprintf(stderr, "%s: the readers disagree\n", argv[1]), 1;
    printf("%.1f %.1f %llu\n", fastest_own, fastest_np, (unsigned long long)own.nodes);
    free(bytes);
    return 0;
}
