/* hdf5.c: reads attributes and shapes of HDF5 files (hdf5.h). */
#include "front/common/hdf5.h"

enum {
    MESSAGE_DATASPACE = 1,
    MESSAGE_DATATYPE = 3,
    MESSAGE_LINK = 6,
    MESSAGE_ATTRIBUTE = 12,
    MESSAGE_CONTINUATION = 16,
    MESSAGE_SYMBOL_TABLE = 17,
    MAX_VISITS = 100000, /* groups may contain themselves, so the number of object headers and tree nodes is limited */
    MAX_DEPTH = 32,
    MAX_BLOCKS = 256,
};

static _Noreturn void damaged(const hdf5 *h, uint64_t at, const char *what)
{
    fail_with(h->fail, SOOTH_ERROR_INPUT, "%s, at byte %llu; the HDF5 file is damaged or cut off: get it again", what,
              (unsigned long long)at);
}

/* Returns `count` bytes at an offset. */
static const uint8_t *bytes_at(const hdf5 *h, uint64_t at, uint64_t count)
{
    if (at > h->size || count > h->size - at)
        damaged(h, at, "an address points outside of the file");
    return h->bytes + at;
}

static uint64_t number(const uint8_t *p, int bytes)
{
    uint64_t x = 0;
    for (int i = bytes - 1; i >= 0; i--)
        x = x << 8 | p[i];
    return x;
}

static uint64_t number_at(const hdf5 *h, uint64_t at, int bytes)
{
    return number(bytes_at(h, at, (uint64_t)bytes), bytes);
}

static void count_visit(hdf5 *h, uint64_t at)
{
    if (++h->visits > MAX_VISITS)
        damaged(h, at, "the file has more objects than any network");
}

bool hdf5_sniff(const uint8_t *bytes, size_t size)
{
    return size > 64 && memcmp(bytes, "\x89HDF\r\n\x1a\n", 8) == 0;
}

void hdf5_open(hdf5 *h, const uint8_t *bytes, size_t size, arena *a, fail *f)
{
    *h = (hdf5){.bytes = bytes, .size = size, .arena = a, .fail = f};
    uint64_t version = number_at(h, 8, 1);
    bool is_old = version < 2;
    uint64_t offset_bytes = number_at(h, is_old ? 13 : 9, 1), length_bytes = number_at(h, is_old ? 14 : 10, 1);
    if (version > 3 || offset_bytes != 8 || length_bytes != 8)
        fail_with(f, SOOTH_ERROR_UNSUPPORTED,
                  "an HDF5 file of superblock version %llu with addresses of %llu bytes is not supported; save the "
                  "model again with Keras",
                  (unsigned long long)version, (unsigned long long)offset_bytes);
    h->end = is_old ? number_at(h, (version == 0 ? 24 : 28) + 2 * 8, 8) : number_at(h, 12 + 2 * 8, 8);
    /* Superblock: base, free space, end, driver; then the root entry: name, header. Version 1 has four more bytes
     * before them. */
    h->root = is_old ? number_at(h, (version == 0 ? 24 : 28) + 4 * 8 + 8, 8) : number_at(h, 12 + 3 * 8, 8);
}

/* ---- messages of an object header ------------------------------------------------------------------------------ */

typedef struct message {
    int type;
    const uint8_t *bytes;
    uint64_t size;
} message;

typedef struct block {
    uint64_t at, size;
} block;

/* Iterates over the messages of a header and its continuations. */
typedef struct messages {
    hdf5 *h;
    block blocks[MAX_BLOCKS];
    int block_count, block;
    uint64_t at, end;
    bool is_new;    /* true for version 2 */
    int head_bytes; /* bytes of a message's header */
} messages;

static void add_block(messages *m, uint64_t at, uint64_t size)
{
    bytes_at(m->h, at, size);
    if (m->block_count == MAX_BLOCKS)
        damaged(m->h, at, "an object has too many parts");
    m->blocks[m->block_count++] = (block){at, size};
}

static void begin_messages(messages *m, hdf5 *h, uint64_t header)
{
    count_visit(h, header);
    *m = (messages){.h = h, .block = -1};
    m->is_new = memcmp(bytes_at(h, header, 16), "OHDR", 4) == 0;
    if (!m->is_new) {
        if (number_at(h, header, 1) != 1)
            damaged(h, header, "an object header has an unknown version");
        m->head_bytes = 8;
        add_block(m, header + 16, number_at(h, header + 8, 4));
        return;
    }
    uint64_t flags = number_at(h, header + 5, 1), at = header + 6;
    at += flags & 0x20 ? 16 : 0; /* timestamps */
    at += flags & 0x10 ? 4 : 0;  /* skips the limits for attributes */
    int width = 1 << (flags & 3);
    m->head_bytes = flags & 4 ? 6 : 4;
    add_block(m, at + (uint64_t)width, number_at(h, at, width));
}

static bool next_message(messages *m, message *result)
{
    for (;;) {
        while (m->block < 0 || m->at + (uint64_t)m->head_bytes > m->end) {
            if (++m->block >= m->block_count)
                return false;
            m->at = m->blocks[m->block].at;
            m->end = m->at + m->blocks[m->block].size;
        }
        const uint8_t *head = bytes_at(m->h, m->at, (uint64_t)m->head_bytes);
        uint64_t size = number(head + (m->is_new ? 1 : 2), 2), data = m->at + (uint64_t)m->head_bytes;
        result->type = (int)number(head, m->is_new ? 1 : 2);
        if (size > m->end - data)
            damaged(m->h, m->at, "a message is longer than its object");
        result->bytes = m->h->bytes + data;
        result->size = size;
        m->at = data + size;
        if (result->type != MESSAGE_CONTINUATION || size < 16)
            return true;
        uint64_t at = number(result->bytes, 8), length = number(result->bytes + 8, 8);
        if (m->is_new) { /* "OCHK" … checksum */
            if (length < 8)
                damaged(m->h, at, "a part of an object is too short");
            add_block(m, at + 4, length - 8);
        } else {
            add_block(m, at, length);
        }
    }
}

/* ---- texts ----------------------------------------------------------------------------------------------------- */

/* Returns object `index` of a collection in the global heap. */
static str heap_object(hdf5 *h, uint64_t collection, uint64_t index)
{
    if (memcmp(bytes_at(h, collection, 16), "GCOL", 4) != 0)
        damaged(h, collection, "a global heap has a wrong signature");
    uint64_t end = collection + number_at(h, collection + 8, 8), at = collection + 16;
    if (end < collection || end > h->size)
        damaged(h, collection, "a global heap is longer than the file");
    while (at + 16 <= end) {
        uint64_t id = number_at(h, at, 2), size = number_at(h, at + 8, 8);
        if (id == 0 || size > end - at - 16)
            break;
        if (id == index)
            return (str){(const char *)h->bytes + at + 16, (size_t)size};
        at += 16 + ((size + 7) & ~(uint64_t)7);
    }
    damaged(h, collection, "a string is not in the global heap");
}

static str until_zero(const uint8_t *p, uint64_t size)
{
    size_t n = 0;
    while (n < size && p[n])
        n++;
    return (str){(const char *)p, n};
}

/* Reads name and value of an attribute that is a single string. Version 1 pads its parts to 8 bytes. */
static bool read_attribute(hdf5 *h, const message *m, str *name, str *text)
{
    if (m->size < 9)
        return false;
    uint64_t version = m->bytes[0], name_size = number(m->bytes + 2, 2), type_size = number(m->bytes + 4, 2),
             space_size = number(m->bytes + 6, 2), at = version == 3 ? 9 : 8;
    if (version == 1) {
        name_size = (name_size + 7) & ~(uint64_t)7;
        type_size = (type_size + 7) & ~(uint64_t)7;
        space_size = (space_size + 7) & ~(uint64_t)7;
    }
    if (version < 1 || version > 3 || at + name_size + type_size + space_size > m->size || type_size < 8)
        return false;
    *name = until_zero(m->bytes + at, name_size);
    const uint8_t *type = m->bytes + at + name_size, *data = type + type_size + space_size;
    uint64_t data_size = m->size - at - name_size - type_size - space_size, element = number(type + 4, 4);
    int class = type[0] & 15;
    if (class == 3) {
        *text = until_zero(data, element < data_size ? element : data_size);
        return true;
    }
    if (class != 9 || data_size < 16)
        return false;
    str object = heap_object(h, number(data + 4, 8), number(data + 12, 4));
    uint64_t length = number(data, 4);
    *text = (str){object.ptr, length < object.len ? (size_t)length : object.len};
    return true;
}

bool hdf5_root_text(hdf5 *h, const char *name, str *text)
{
    messages *walk = ARENA_NEW(h->arena, messages);
    message m;
    str found;
    begin_messages(walk, h, h->root);
    while (next_message(walk, &m))
        if (m.type == MESSAGE_ATTRIBUTE && read_attribute(h, &m, &found, text) && str_is(found, name))
            return true;
    return false;
}

/* ---- groups ---------------------------------------------------------------------------------------------------- */

typedef struct visitor {
    hdf5 *h;
    void (*found)(void *context, const hdf5_dataset *d);
    void *context;
} visitor;

static void visit(visitor *v, uint64_t header, str path, int depth);

static str joined(arena *a, str path, str name)
{
    char *text = arena_room(a, path.len + name.len + 2, 1);
    memcpy(text, path.ptr, path.len);
    text[path.len] = '/';
    memcpy(text + path.len + 1, name.ptr, name.len);
    text[path.len + name.len + 1] = '\0';
    return (str){text, path.len + name.len + 1};
}

static void visit_symbols(visitor *v, uint64_t node, uint64_t names, uint64_t names_size, str path, int depth)
{
    hdf5 *h = v->h;
    uint64_t count = number_at(h, node + 6, 2);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t entry = node + 8 + 40 * i, name = number_at(h, entry, 8);
        if (name >= names_size)
            damaged(h, entry, "a name is outside of its heap");
        visit(v, number_at(h, entry + 8, 8),
              joined(h->arena, path, until_zero(h->bytes + names + name, names_size - name)), depth + 1);
    }
}

/* Walks a tree of symbol nodes: signature, type, level, entries, two siblings; then key, child, key, child, … */
static void visit_tree(visitor *v, uint64_t tree, uint64_t names, uint64_t names_size, str path, int depth)
{
    hdf5 *h = v->h;
    count_visit(h, tree);
    if (depth > MAX_DEPTH)
        damaged(h, tree, "groups are nested too deeply");
    const uint8_t *head = bytes_at(h, tree, 24);
    if (memcmp(head, "SNOD", 4) == 0) {
        visit_symbols(v, tree, names, names_size, path, depth);
        return;
    }
    if (memcmp(head, "TREE", 4) != 0)
        damaged(h, tree, "a group's index does not begin as one");
    uint64_t count = number(head + 6, 2);
    for (uint64_t i = 0; i < count; i++)
        visit_tree(v, number_at(h, tree + 24 + 8 + 16 * i, 8), names, names_size, path, depth + 1);
}

static void visit_group(visitor *v, const message *m, str path, int depth)
{
    hdf5 *h = v->h;
    if (m->size < 16)
        return;
    uint64_t tree = number(m->bytes, 8), heap = number(m->bytes + 8, 8);
    if (memcmp(bytes_at(h, heap, 32), "HEAP", 4) != 0)
        damaged(h, heap, "a group's names do not begin as a heap");
    uint64_t size = number_at(h, heap + 8, 8), names = number_at(h, heap + 24, 8);
    bytes_at(h, names, size);
    visit_tree(v, tree, names, size, path, depth + 1);
}

/* Reads a link in a new-style group: version, flags, [type], [creation order], [character set], length, name,
 * address. */
static void visit_link(visitor *v, const message *m, str path, int depth)
{
    if (m->size < 4)
        return;
    uint64_t flags = m->bytes[1], at = 2, type = 0;
    if (flags & 8)
        type = m->bytes[at++];
    at += flags & 4 ? 8 : 0;
    at += flags & 16 ? 1 : 0;
    int width = 1 << (flags & 3);
    if (type != 0 || at + (uint64_t)width > m->size)
        return;
    uint64_t length = number(m->bytes + at, width);
    at += (uint64_t)width;
    if (length > m->size - at || m->size - at - length < 8)
        return;
    str name = {(const char *)m->bytes + at, (size_t)length};
    visit(v, number(m->bytes + at + length, 8), joined(v->h->arena, path, name), depth + 1);
}

static bool read_dataspace(const message *m, hdf5_dataset *d)
{
    uint64_t version = m->size >= 4 ? m->bytes[0] : 0, rank = m->size >= 4 ? m->bytes[1] : 0;
    uint64_t at = version == 1 ? 8 : 4;
    if ((version != 1 && version != 2) || rank > 32 || at + 8 * rank > m->size)
        return false;
    d->rank = (int)rank;
    for (uint64_t i = 0; i < rank; i++) {
        uint64_t dim = number(m->bytes + at + 8 * i, 8);
        if (dim > INT64_MAX / 2)
            return false;
        d->dims[i] = (int64_t)dim;
    }
    return true;
}

static void visit(visitor *v, uint64_t header, str path, int depth)
{
    hdf5 *h = v->h;
    if (depth > MAX_DEPTH)
        damaged(h, header, "groups are nested too deeply");
    messages *walk = ARENA_NEW(h->arena, messages);
    message m;
    hdf5_dataset d = {.path = path};
    bool has_space = false, has_type = false;
    begin_messages(walk, h, header);
    while (next_message(walk, &m)) {
        if (m.type == MESSAGE_SYMBOL_TABLE)
            visit_group(v, &m, path, depth);
        else if (m.type == MESSAGE_LINK)
            visit_link(v, &m, path, depth);
        else if (m.type == MESSAGE_DATASPACE)
            has_space = read_dataspace(&m, &d);
        else if (m.type == MESSAGE_DATATYPE && m.size >= 8) {
            has_type = true;
            d.element_class = m.bytes[0] & 15;
            d.element_bytes = (int)(number(m.bytes + 4, 4) & 0xffff);
        }
    }
    if (has_space && has_type)
        v->found(v->context, &d);
}

void hdf5_datasets(hdf5 *h, void (*found)(void *context, const hdf5_dataset *d), void *context)
{
    visitor v = {h, found, context};
    visit(&v, h->root, STR(""), 0);
}
