/* coreml.c: reads CoreML models (.mlmodel, and model.mlmodel in an .mlpackage): protobuf.
 *
 *   Model               1 specificationVersion, 2 description, then one of: 303 neuralNetworkRegressor,
 *                       403 neuralNetworkClassifier, 500 neuralNetwork, 502 mlProgram; others are not networks
 *   ModelDescription    1 input, 10 output
 *   FeatureDescription  1 name, 3 type (4 imageType: 1 width, 2 height, 3 colorSpace; 5 multiArrayType: 1 shape, 2
 *   dataType)
 *
 * A program's weights are in weights/weight.bin, which is not needed: the program has the types. */
#include "front/coreml/coreml.h"
#include "front/front.h"

enum { REGRESSOR = 303, CLASSIFIER = 403, NETWORK = 500, PROGRAM = 502 };

/* ---- the description ------------------------------------------------------------------------------------------- */

static dtype array_type(int64_t number)
{
    return number == 65568    ? DT_FLOAT32
           : number == 65552  ? DT_FLOAT16
           : number == 65600  ? DT_FLOAT64
           : number == 131104 ? DT_INT32
           : number == 131080 ? DT_INT8
                              : DT_UNKNOWN;
}

static void read_array(wire w, coreml_feature *f)
{
    wire_field field;
    f->rank = 0;
    while (wire_next(&w, &field)) {
        int64_t some[MAX_RANK];
        if (field.number == 2)
            f->type = array_type((int64_t)field.varint);
        if (field.number != 1)
            continue;
        size_t count = wire_ints(&w, &field, some, MAX_RANK);
        if (count > (size_t)(MAX_RANK - f->rank))
            wire_fail(&w, field.bytes, "an array has more than 64 dimensions");
        for (size_t i = 0; i < count; i++) {
            if (some[i] < -1)
                wire_fail(&w, field.bytes, "an array has a negative dimension");
            f->dims[f->rank++] = some[i] >= 0 ? some[i] : NUM_UNKNOWN;
        }
    }
}

static void read_image(wire w, coreml_feature *f)
{
    enum { GRAYSCALE = 10, GRAYSCALE_HALF = 40 };
    wire_field field;
    f->type = DT_FLOAT32;
    f->is_image = true;
    f->rank = 3;
    f->dims[0] = 3;
    f->dims[1] = f->dims[2] = NUM_UNKNOWN;
    while (wire_next(&w, &field)) {
        if (field.number == 1 && field.varint <= INT32_MAX)
            f->dims[2] = (int64_t)field.varint;
        else if (field.number == 2 && field.varint <= INT32_MAX)
            f->dims[1] = (int64_t)field.varint;
        else if (field.number == 3)
            f->dims[0] = field.varint == GRAYSCALE || field.varint == GRAYSCALE_HALF ? 1 : 3;
    }
}

static void read_feature(wire w, coreml_feature *f)
{
    wire_field field, part;
    f->rank = RANK_UNKNOWN;
    while (wire_next(&w, &field)) {
        if (field.number == 1)
            f->name = wire_str(&field);
        if (field.number == 3)
            for (wire type = wire_message(&w, &field); wire_next(&type, &part);) {
                if (part.number == 4)
                    read_image(wire_message(&type, &part), f);
                else if (part.number == 5)
                    read_array(wire_message(&type, &part), f);
            }
    }
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

/* Skips a field and returns its number; false at the end and on damage. For sniffing, so it never fails. */
static bool skip_field(const uint8_t **at, const uint8_t *end, uint64_t *number)
{
    uint64_t parts[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        int shift = 0;
        do {
            if (*at == end || shift > 56)
                return false;
            parts[i] |= (uint64_t)(**at & 127) << shift;
            shift += 7;
        } while (*(*at)++ >= 128);
        if (i == 0 && (parts[0] & 7) != 0 && (parts[0] & 7) != 2)
            return false;
    }
    *number = parts[0] >> 3;
    if ((parts[0] & 7) == 2) {
        if (parts[1] > (uint64_t)(end - *at))
            return *number >= 200; /* truncated, but the kind of model is known */
        *at += parts[1];
    }
    return true;
}

/* True if there is a version, a description, and a field for the kind of model. No other format has such field
 * numbers. */
bool coreml_sniff(const uint8_t *bytes, size_t size)
{
    const uint8_t *at = bytes, *end = bytes + size;
    uint64_t number;
    if (size < 4 || bytes[0] != 0x08 || bytes[1] == 0 || bytes[1] > 100 || bytes[2] != 0x12)
        return false;
    for (int i = 0; i < 8 && skip_field(&at, end, &number); i++) {
        if (number >= 200 && number <= 3000)
            return true;
        if (number != 1 && number != 2 && number != 10)
            return false;
    }
    return false;
}

static const char *kind_name(uint32_t number)
{
    static const struct {
        uint32_t number;
        const char *name;
    } KINDS[] = {{200, "a pipeline"},
                 {201, "a pipeline"},
                 {202, "a pipeline"},
                 {302, "a tree ensemble"},
                 {402, "a tree ensemble"},
                 {401, "a support vector machine"},
                 {301, "a support vector machine"},
                 {300, "a linear model"},
                 {400, "a linear model"},
                 {404, "a nearest-neighbour classifier"},
                 {556, "a link to another model"},
                 {555, "a custom model"}};
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (KINDS[i].number == number)
            return KINDS[i].name;
    return "a model without a network";
}

void coreml_read(builder *b, const uint8_t *bytes, size_t size)
{
    emitter e;
    coreml_features inputs = {0}, outputs = {0};
    uint32_t kind = 0;
    wire body = {0};
    wire_field f, part;
    emit_begin(&e, b, "coreml");
    for (wire w = wire_of(bytes, size, &b->model->fail); wire_next(&w, &f);) {
        if (f.number == 1)
            b->source->producer = arena_printf(b->arena, "CoreML specification %d", (int)(f.varint & 0xffff));
        if (f.number == 2)
            for (wire d = wire_message(&w, &f); wire_next(&d, &part);)
                if (part.number == 1 || part.number == 10)
                    read_feature(wire_message(&d, &part), ARENA_PUSH(b->arena, part.number == 1 ? &inputs : &outputs));
        if (f.number >= 200 && f.type == 2) {
            kind = f.number;
            body = wire_message(&w, &f);
        }
    }
    if (kind == PROGRAM)
        coreml_read_program(&e, body);
    else if (kind == NETWORK || kind == CLASSIFIER || kind == REGRESSOR)
        coreml_read_net(&e, body, &inputs, &outputs);
    else
        fail_with(&b->model->fail, SOOTH_ERROR_UNSUPPORTED,
                  "it is %s (field %u of the CoreML model); give a neural network or an ML program", kind_name(kind),
                  (unsigned)kind);
}
