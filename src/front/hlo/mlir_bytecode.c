/* mlir_bytecode.c: reads MLIR bytecode with operators of VHLO, the versioned form of StableHLO: the content of
 * `jax.export` files and of StableHLO's portable artifacts. Attributes and types are in mlir_attributes.c.
 *
 *   file      "ML\xEFR", version (varint), producer (NUL-terminated), sections
 *   section   byte: number, bit 7: aligned; length (varint); [alignment (varint), bytes of 0xCB]; data
 *             0 strings, 1 dialects and operator names, 2 attributes and types, 3 their sizes, 4 operators, 8
 *             properties;
 *             others are skipped
 *   varint    the trailing zeros of the first byte count the further bytes; 0: eight bytes. Signed: zigzag (0, -1, 1,
 *   …)
 *   strings   count, lengths (with NUL) from the last to the first, the texts from the first to the last
 *   dialects  count; name << 1 | has a section with its version; then [number of operators], groups: dialect, count,
 *             name << 1 | registered
 *   sizes     number of attributes, of types; groups: dialect, count, size << 1 | has an encoding of its own
 *   operator  name, byte of flags, location, [attributes: 1] [properties: 0x40] [results: 2] [operands: 4]
 *             [successors: 8] [order of uses: 0x20]
 *             [regions: 0x10: count << 1 | isolated; an isolated one is in a section of its own]
 *   region    number of blocks, number of values, blocks: operators << 1 | has arguments: count, type << 1 | has a
 *             location, byte: order of uses
 *
 * Values are numbered across all open regions. jax.export wraps the bytecode into a FlatBuffer: the field that
 * begins with the magic. */
#include "front/hlo/mlir_bytecode.h"

#include "front/front.h"

enum { MAX_VERSION = 6, MAGIC_BYTES = 4 };
static const uint8_t MAGIC[MAGIC_BYTES] = {'M', 'L', 0xEF, 'R'};

enum {
    HAS_ATTRS = 1,
    HAS_RESULTS = 2,
    HAS_OPERANDS = 4,
    HAS_SUCCESSORS = 8,
    HAS_REGIONS = 16,
    HAS_USE_ORDER = 32,
    HAS_PROPERTIES = 64
};
enum {
    SECTION_STRINGS,
    SECTION_DIALECTS,
    SECTION_ATTRS,
    SECTION_SIZES,
    SECTION_IR,
    SECTION_PROPERTIES = 8,
    SECTION_COUNT
};

_Noreturn void mlir_fail(mlir *m, const char *what)
{
    fail_with(&m->module->b->model->fail, SOOTH_ERROR_INPUT, "MLIR bytecode: %s; serialize the program again", what);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

uint8_t mlir_byte(mlir_bytes *b)
{
    if (b->at >= b->end)
        mlir_fail(b->m, "it is cut off");
    return *b->at++;
}

uint64_t mlir_varint(mlir_bytes *b)
{
    uint8_t first = mlir_byte(b);
    int more = first ? __builtin_ctz(first) : 8;
    uint64_t x = first;
    if (more == 0)
        return first >> 1;
    if (b->end - b->at < more)
        mlir_fail(b->m, "it is cut off");
    if (more == 8)
        x = 0;
    for (int i = 0; i < more; i++)
        x |= (uint64_t)b->at[i] << (more == 8 ? 8 * i : 8 * (i + 1));
    b->at += more;
    return more == 8 ? x : x >> (more + 1);
}

int64_t mlir_signed(mlir_bytes *b)
{
    uint64_t x = mlir_varint(b);
    return (int64_t)(x >> 1 ^ (0 - (x & 1)));
}

/* Reads a count of items that take at least one byte each. */
uint32_t mlir_count(mlir_bytes *b)
{
    uint64_t n = mlir_varint(b);
    if (n > (uint64_t)(b->end - b->at))
        mlir_fail(b->m, "a list is longer than the file");
    return (uint32_t)n;
}

mlir_bytes mlir_part(mlir_bytes *b, uint64_t size)
{
    if (size > (uint64_t)(b->end - b->at))
        mlir_fail(b->m, "a part is longer than the file");
    mlir_bytes part = {b->m, b->at, b->at + size};
    b->at += size;
    return part;
}

static mlir_bytes read_section(mlir_bytes *b, uint8_t *number)
{
    uint8_t head = mlir_byte(b);
    uint64_t size = mlir_varint(b);
    if (head & 0x80) {
        mlir_varint(b);
        while (b->at < b->end && *b->at == 0xCB)
            b->at++;
    }
    *number = head & 0x7f;
    return mlir_part(b, size);
}

str mlir_string(mlir *m, uint64_t index)
{
    if (index >= m->string_count)
        mlir_fail(m, "a string does not exist");
    return m->strings[index];
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void read_strings(mlir *m, mlir_bytes b)
{
    m->string_count = mlir_count(&b);
    m->strings = ARENA_ARRAY(m->arena, str, (size_t)m->string_count + 1);
    const uint8_t *end = b.end;
    for (uint32_t i = m->string_count; i-- > 0;) {
        uint64_t size = mlir_varint(&b);
        if (size == 0 || size > (uint64_t)(end - b.at))
            mlir_fail(m, "a string is longer than the file");
        end -= size;
        m->strings[i] = (str){(const char *)end, (size_t)size - 1};
    }
}

static void read_dialects(mlir *m, mlir_bytes b)
{
    m->dialect_count = mlir_count(&b);
    m->dialects = ARENA_ARRAY(m->arena, str, (size_t)m->dialect_count + 1);
    for (uint32_t i = 0; i < m->dialect_count; i++) {
        uint64_t name = mlir_varint(&b);
        uint8_t number;
        m->dialects[i] = mlir_string(m, m->version >= 1 ? name >> 1 : name);
        if (m->version >= 1 && name & 1)
            read_section(&b, &number);
    }
    if (m->version >= 4)
        mlir_varint(&b);
    struct {
        mlir_op_name *items;
        int32_t count, capacity;
    } list = {0};
    while (b.at < b.end) {
        uint64_t dialect = mlir_varint(&b);
        uint32_t count = mlir_count(&b);
        if (dialect >= m->dialect_count)
            mlir_fail(m, "a dialect does not exist");
        for (uint32_t i = 0; i < count; i++) {
            uint64_t name = mlir_varint(&b);
            *(mlir_op_name *)ARENA_PUSH(m->arena, &list) =
                (mlir_op_name){m->dialects[dialect], mlir_string(m, m->version >= 5 ? name >> 1 : name)};
        }
    }
    m->op_names = list.items;
    m->op_name_count = (uint32_t)list.count;
}

static void read_sizes(mlir *m, mlir_bytes sizes, mlir_bytes data)
{
    uint64_t counts[2];
    counts[0] = mlir_varint(&sizes);
    counts[1] = mlir_varint(&sizes);
    if (counts[0] > (uint64_t)(sizes.end - sizes.at) || counts[1] > (uint64_t)(sizes.end - sizes.at))
        mlir_fail(m, "a list is longer than the file");
    m->attr_count = (uint32_t)counts[0];
    m->type_count = (uint32_t)counts[1];
    m->attrs = ARENA_ARRAY(m->arena, mlir_entry, (size_t)m->attr_count + 1);
    m->types = ARENA_ARRAY(m->arena, mlir_entry, (size_t)m->type_count + 1);
    for (uint64_t done = 0; done < counts[0] + counts[1];) {
        uint64_t dialect = mlir_varint(&sizes);
        uint32_t count = mlir_count(&sizes);
        if (dialect >= m->dialect_count || count == 0 || done + count > counts[0] + counts[1])
            mlir_fail(m, "the list of attributes is inconsistent");
        for (uint32_t i = 0; i < count; i++, done++) {
            uint64_t size = mlir_varint(&sizes);
            mlir_entry *e = done < counts[0] ? &m->attrs[done] : &m->types[done - counts[0]];
            *e = (mlir_entry){m->dialects[dialect], size & 1, mlir_part(&data, size >> 1)};
        }
    }
}

static void read_properties(mlir *m, mlir_bytes b)
{
    m->property_count = mlir_count(&b);
    m->properties = ARENA_ARRAY(m->arena, mlir_bytes, (size_t)m->property_count + 1);
    for (uint32_t i = 0; i < m->property_count; i++)
        m->properties[i] = mlir_part(&b, mlir_varint(&b));
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Skips the order of uses, which has no effect. */
static void skip_use_order(mlir_bytes *b, uint32_t values)
{
    uint64_t count = values > 1 ? mlir_count(b) : 1;
    for (uint64_t i = 0; i < count; i++) {
        if (values > 1)
            mlir_varint(b);
        uint64_t length = mlir_varint(b) >> 1;
        if (length > (uint64_t)(b->end - b->at))
            mlir_fail(b->m, "a list is longer than the file");
        for (uint64_t k = 0; k < length; k++)
            mlir_varint(b);
    }
}

static void define(mlir *m, hlo_value v)
{
    if (m->next_id >= m->id_end)
        mlir_fail(m, "a region has more values than it declares");
    m->ids.items[m->next_id++] = v;
}

static hlo_value use(mlir *m, uint64_t id)
{
    if (id >= (uint64_t)m->ids.count || m->ids.items[id] == HLO_NO_VALUE)
        mlir_fail(m, "a value is used before it is made");
    return m->ids.items[id];
}

static void read_region(mlir *m, mlir_bytes *b, hlo_region *r, bool is_isolated);

/* "vhlo.dot_general_v2" → "dot_general" */
static str plain_name(const mlir_op_name *n)
{
    str name = n->name;
    size_t end = name.len;
    while (end > 0 && name.ptr[end - 1] >= '0' && name.ptr[end - 1] <= '9')
        end--;
    if (end < name.len && end > 2 && name.ptr[end - 1] == 'v' && name.ptr[end - 2] == '_')
        name.len = end - 2;
    return name;
}

static hlo_op *new_op(mlir *m, const mlir_op_name *n)
{
    hlo_op *o = ARENA_NEW(m->arena, hlo_op);
    bool is_own = str_is(n->dialect, "vhlo") || str_is(n->dialect, "func");
    o->name = is_own ? plain_name(n) : arena_printf(m->arena, "%.*s.%.*s", STR_ARG(n->dialect), STR_ARG(n->name));
    return o;
}

/* Returns the region for an operator's body; a function is an operator with one. */
static hlo_region *region_for(mlir *m, const hlo_op *o, bool is_function)
{
    if (!is_function)
        return ARENA_NEW(m->arena, hlo_region);
    const hlo_attr *name = hlo_attr_of(o, "sym_name", ""), *visibility = hlo_attr_of(o, "sym_visibility", "");
    hlo_function *f = hlo_new_function(m->module, name ? name->text : STR(""));
    f->has_body = true;
    f->is_private = visibility && str_is(visibility->text, "private");
    return &f->body;
}

static void finish_op(mlir *m, hlo_op *o)
{
    const hlo_attr *callee = hlo_attr_of(o, "callee", "call_target_name");
    if (callee)
        o->callee = callee->text;
    if (str_is(o->name, "constant") && o->result_count == 1)
        o->constant = mlir_constant(m, o);
}

static void read_op(mlir *m, mlir_bytes *b, hlo_region *to)
{
    uint64_t name = mlir_varint(b);
    uint8_t flags = mlir_byte(b);
    uint64_t location = mlir_varint(b);
    if (name >= m->op_name_count)
        mlir_fail(m, "an operator has no name");
    hlo_op *o = new_op(m, &m->op_names[name]);
    bool is_module = str_is(o->name, "builtin.module"), is_function = str_is(o->name, "func");
    if (str_is(m->op_names[name].dialect, "stablehlo") || str_is(m->op_names[name].dialect, "mhlo"))
        mlir_fail(m, "it uses the unversioned dialect; use serialize_portable_artifact, jax.export, or text");
    int64_t attrs = flags & HAS_ATTRS ? (int64_t)mlir_varint(b) : -1;
    int64_t properties = flags & HAS_PROPERTIES ? (int64_t)mlir_varint(b) : -1;
    mlir_read_attrs(m, o, attrs, properties);
    o->label = mlir_label(m, location);
    o->first_result = m->module->values.count;
    if (flags & HAS_RESULTS) {
        o->result_count = (int32_t)mlir_count(b);
        for (int32_t i = 0; i < o->result_count; i++) {
            hlo_type t = mlir_type(m, mlir_varint(b));
            hlo_value v = hlo_new_value(m->module, t, STR(""));
            hlo_at(m->module, v)->name = arena_printf(m->arena, "%d", (int)v);
        }
    }
    if (flags & HAS_OPERANDS) {
        o->operand_count = (int32_t)mlir_count(b);
        hlo_value *operands = ARENA_ARRAY(m->arena, hlo_value, (size_t)o->operand_count + 1);
        for (int32_t i = 0; i < o->operand_count; i++)
            operands[i] = use(m, mlir_varint(b));
        o->operands = operands;
    }
    if (flags & HAS_SUCCESSORS)
        mlir_fail(m, "a region has several blocks with branches between them, which StableHLO programs do not have");
    if (flags & HAS_USE_ORDER)
        skip_use_order(b, (uint32_t)o->result_count);
    for (int32_t i = 0; i < o->result_count; i++)
        define(m, o->first_result + i);
    if (flags & HAS_REGIONS) {
        uint64_t head = mlir_varint(b);
        bool is_isolated = head & 1;
        if (head >> 1 > MAX_NESTING)
            mlir_fail(m, "an operator has too many regions");
        o->region_count = (int32_t)(head >> 1);
        const hlo_region **regions = ARENA_ARRAY(m->arena, const hlo_region *, (size_t)o->region_count + 1);
        for (int32_t i = 0; i < o->region_count; i++) {
            hlo_region *r = region_for(m, o, is_function);
            regions[i] = r;
            if (is_isolated && m->version >= 2) {
                uint8_t number;
                mlir_bytes section = read_section(b, &number);
                read_region(m, &section, r, true);
            } else {
                read_region(m, b, r, is_isolated);
            }
        }
        o->regions = regions;
        for (int32_t i = 0; is_function && i < o->region_count; i++)
            mlir_label_arguments(m, o, regions[i]);
    }
    finish_op(m, o);
    if (!is_module && !is_function)
        *(hlo_op **)ARENA_PUSH(m->arena, &to->ops) = o;
}

static void read_block(mlir *m, mlir_bytes *b, hlo_region *r)
{
    uint64_t head = mlir_varint(b);
    if (head & 1) {
        uint32_t count = mlir_count(b);
        r->first_argument = m->module->values.count;
        r->argument_count = (int32_t)count;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t type = mlir_varint(b), location = 0;
            bool has_location = m->version < 4 || type & 1;
            if (has_location)
                location = mlir_varint(b);
            hlo_type t = mlir_type(m, m->version < 4 ? type : type >> 1);
            hlo_value v = hlo_new_value(m->module, t, arena_printf(m->arena, "arg%u", (unsigned)i));
            if (has_location)
                hlo_at(m->module, v)->label = mlir_label(m, location);
        }
        for (uint32_t i = 0; i < count; i++)
            define(m, r->first_argument + (hlo_value)i);
        if (m->version >= 3 && mlir_byte(b))
            skip_use_order(b, count);
    }
    if (head >> 1 > (uint64_t)(b->end - b->at))
        mlir_fail(m, "a list is longer than the file");
    for (uint64_t i = 0; i < head >> 1; i++)
        read_op(m, b, r);
}

static void read_region(mlir *m, mlir_bytes *b, hlo_region *r, bool is_isolated)
{
    int32_t outer_next = m->next_id, outer_end = m->id_end, outer_count = m->ids.count;
    if (++m->depth > MAX_NESTING)
        mlir_fail(m, "regions are nested too deeply");
    uint64_t blocks = mlir_varint(b);
    if (blocks > 1)
        mlir_fail(m, "a region has several blocks with branches between them, which StableHLO programs do not have");
    if (blocks) {
        uint64_t values = mlir_varint(b);
        /* An isolated region numbers its values from 0 and sees no outer ones. */
        mlir_ids outer = m->ids;
        if (is_isolated)
            m->ids = (mlir_ids){0};
        if (values > (uint64_t)(b->end - b->at))
            mlir_fail(m, "a list is longer than the file");
        m->next_id = m->ids.count;
        for (uint64_t i = 0; i < values; i++)
            *(hlo_value *)ARENA_PUSH(m->arena, &m->ids) = HLO_NO_VALUE;
        m->id_end = m->ids.count;
        read_block(m, b, r);
        if (is_isolated)
            m->ids = outer;
    }
    m->ids.count = outer_count;
    m->next_id = outer_next;
    m->id_end = outer_end;
    m->depth--;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static uint32_t little_endian(const uint8_t *p, int bytes)
{
    uint32_t x = 0;
    for (int i = 0; i < bytes; i++)
        x |= (uint32_t)p[i] << (8 * i);
    return x;
}

/* Finds the bytecode in a FlatBuffer: the vector field of the root table that begins with the magic. NULL if there
 * is none. */
static const uint8_t *find_bytecode(const uint8_t *bytes, size_t size, size_t *length)
{
    enum { MAX_FIELDS = 64, HEAD = 4 };
    if (size < 64)
        return NULL;
    size_t root = little_endian(bytes, 4);
    if (root < HEAD || root > size - HEAD)
        return NULL;
    size_t back = little_endian(bytes + root, 4);
    if (back > root) /* a vtable after its table has a negative distance */
        back -= (size_t)UINT32_MAX + 1;
    size_t vtable = root - back;
    if (vtable > size - HEAD)
        return NULL;
    size_t fields = little_endian(bytes + vtable, 2);
    if (fields < HEAD || fields > HEAD + 2 * MAX_FIELDS || fields > size - vtable)
        return NULL;
    for (size_t i = HEAD; i + 1 < fields; i += 2) {
        size_t field = little_endian(bytes + vtable + i, 2), at = root + field;
        if (!field || at > size - HEAD)
            continue;
        size_t vector = at + little_endian(bytes + at, 4);
        if (vector > size - HEAD || size - HEAD - vector < MAGIC_BYTES)
            continue;
        *length = little_endian(bytes + vector, 4);
        if (*length <= size - HEAD - vector && memcmp(bytes + vector + HEAD, MAGIC, MAGIC_BYTES) == 0)
            return bytes + vector + HEAD;
    }
    return NULL;
}

bool mlir_bytecode_sniff(const uint8_t *bytes, size_t size)
{
    size_t length;
    return (size >= MAGIC_BYTES && memcmp(bytes, MAGIC, MAGIC_BYTES) == 0) || find_bytecode(bytes, size, &length);
}

void mlir_bytecode_read(builder *b, const uint8_t *bytes, size_t size)
{
    hlo_module module;
    hlo_begin(&module, b, "stablehlo");
    mlir *m = ARENA_NEW(b->arena, mlir);
    m->module = &module;
    m->arena = b->arena;
    if (memcmp(bytes, MAGIC, MAGIC_BYTES) != 0) {
        bytes = find_bytecode(bytes, size, &size);
        module.data_are_last = true;
    }
    mlir_bytes all = {m, bytes + MAGIC_BYTES, bytes + size}, sections[SECTION_COUNT] = {{0}};
    m->version = (int)mlir_varint(&all);
    if (m->version < 0 || m->version > MAX_VERSION)
        mlir_fail(m, "its version is newer than 6");
    const uint8_t *end = memchr(all.at, '\0', (size_t)(all.end - all.at));
    if (!end)
        mlir_fail(m, "it is cut off");
    b->source->producer = arena_str(b->arena, (str){(const char *)all.at, (size_t)(end - all.at)});
    all.at = end + 1;
    for (int i = 0; i < SECTION_COUNT; i++)
        sections[i] = (mlir_bytes){m, all.at, all.at};
    while (all.at < all.end) {
        uint8_t number;
        mlir_bytes section = read_section(&all, &number);
        if (number < SECTION_COUNT)
            sections[number] = section;
    }
    read_strings(m, sections[SECTION_STRINGS]);
    read_dialects(m, sections[SECTION_DIALECTS]);
    read_sizes(m, sections[SECTION_SIZES], sections[SECTION_ATTRS]);
    if (sections[SECTION_PROPERTIES].at < sections[SECTION_PROPERTIES].end)
        read_properties(m, sections[SECTION_PROPERTIES]);
    hlo_region loose = {0};
    read_block(m, &sections[SECTION_IR], &loose);
    hlo_write(&module);
}
