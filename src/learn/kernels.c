/* kernels.c: packs works into bytes. A column is a number that every work has. A table lists the few distinct values
 * of a column, and a work stores indices of one to five bytes into it. Columns that are zero are omitted, and those that
 * follow from another. Which columns are stored, and the columns with few values, are a table value too. */
#include "learn/kernels.h"

#include <pthread.h>
#include <stdlib.h>

/* Number of a work: the offset of its first byte ÷ 4. It consists of a block and an offset in the block. */
enum { UNIT = 4, BLOCK_UNITS = 1 << 18, MAX_BLOCKS = 1 << (KERNEL_BITS - 18) };

/* Columns are 32 bits wide: first the halves of a work's doubles, then its features. */
enum { DOUBLES = 11, COLUMNS = 2 * DOUBLES + WORK_FEATURES, MASKS = (COLUMNS + 31) / 32 };
enum { KIN_BYTES = 4, NUMBER_BYTES = 5, MOST_BYTES = KIN_BYTES + NUMBER_BYTES * (1 + COLUMNS) };

/* Features with a few values, which vary together: types, layouts and counts of inputs. */
static const uint8_t IN_FORM[] = {4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 18, 19, 20, 21, 22};
enum { FORM_FEATURES = sizeof IN_FORM };

/* Columns whose value nearly always follows from another's: logarithms of FLOPs, bytes and elements. */
enum { FLOPS_HIGH = 1, BYTES_HIGH = 5, ELEMENTS_HIGH = 17 }; /* the upper halves of the doubles in spread() */
static const struct {
    uint8_t column, leader; /* the leader comes first */
} FOLLOWERS[] = {
    {2 * DOUBLES, FLOPS_HIGH},         {2 * DOUBLES + 1, BYTES_HIGH},     {2 * DOUBLES + 3, ELEMENTS_HIGH},
    {2 * DOUBLES + 12, ELEMENTS_HIGH}, {2 * DOUBLES + 17, ELEMENTS_HIGH},
};
enum { FOLLOWER_COUNT = sizeof FOLLOWERS / sizeof *FOLLOWERS };

/* Kind of a work, the set of columns that it stores, the set of FOLLOWERS with the expected value, and features. Few
 * distinct forms occur. */
typedef struct form {
    int16_t op;
    uint8_t group, product_dtype;
    uint16_t is_unknown, follows;
    uint32_t masks[MASKS], features[FORM_FEATURES];
} form;

/* Fields of a work that depend on the program: number of runs and cache reuse. */
typedef struct kernel_place {
    float reuse[2], count;
} kernel_place;

/* Table of distinct values: values by index, and indices by value. */
typedef struct values {
    char *items; /* values of equal size, densely packed */
    uint32_t count, capacity;
    uint32_t *slots; /* hash table of index + 1; at most half full */
    size_t room;
} values;

struct kernel_store {
    pthread_mutex_t lock;
    uint8_t *blocks[MAX_BLOCKS];
    uint32_t block_count, used; /* `used`: units of the last block */
    uint32_t *slots;            /* hash table of a work's index + 1; 0: free; at most half full */
    size_t room, count;
    values columns[COLUMNS]; /* uint32_t */
    /* By index of the leader's value: index + 1 of the value that this follower had with it first; 0: none yet. */
    uint32_t *expected[FOLLOWER_COUNT];
    size_t expected_room[FOLLOWER_COUNT];
    values forms, places;
};

kernel_store *kernels_new(void)
{
    kernel_store *s = calloc(1, sizeof *s);
    if (s && pthread_mutex_init(&s->lock, NULL) != 0) {
        free(s);
        return NULL;
    }
    return s;
}

static void close_values(values *v)
{
    free(v->slots);
    v->slots = NULL;
    v->room = 0;
}

void kernels_close(kernel_store *s)
{
    free(s->slots);
    s->slots = NULL;
    s->room = 0;
    for (int i = 0; i < COLUMNS; i++)
        close_values(&s->columns[i]);
    close_values(&s->forms);
    close_values(&s->places);
}

void kernels_free(kernel_store *s)
{
    if (!s)
        return;
    kernels_close(s);
    for (uint32_t i = 0; i < s->block_count; i++)
        free(s->blocks[i]);
    for (int i = 0; i < COLUMNS; i++)
        free(s->columns[i].items);
    for (int i = 0; i < FOLLOWER_COUNT; i++)
        free(s->expected[i]);
    free(s->forms.items);
    free(s->places.items);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Hashes whole 32-bit words. */
static size_t hash_of(const void *bytes, size_t size)
{
    uint64_t h = 0;
    for (size_t i = 0; i < size; i += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, (const char *)bytes + i, sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return (size_t)h;
}

static bool grow_slots(values *v, size_t size)
{
    size_t room = v->room ? 2 * v->room : 16;
    uint32_t *slots = calloc(room, sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t i = 0; i < v->count; i++) {
        size_t k = hash_of(v->items + i * size, size) & (room - 1);
        while (slots[k])
            k = (k + 1) & (room - 1);
        slots[k] = i + 1;
    }
    free(v->slots);
    v->slots = slots;
    v->room = room;
    return true;
}

static bool grow_values(values *v, size_t size)
{
    uint32_t capacity = v->capacity ? v->capacity + v->capacity / 2 : 16;
    char *items = capacity > v->capacity ? realloc(v->items, capacity * size) : NULL;
    if (!items)
        return false;
    v->items = items;
    v->capacity = capacity;
    return true;
}

/* Returns the index of a value; adds a new value. Returns false if out of memory. */
static bool number_of(values *v, const void *value, size_t size, uint32_t *number)
{
    if (2 * ((size_t)v->count + 1) > v->room && !grow_slots(v, size))
        return false;
    size_t k = hash_of(value, size) & (v->room - 1);
    for (; v->slots[k]; k = (k + 1) & (v->room - 1))
        if (memcmp(v->items + (v->slots[k] - 1) * size, value, size) == 0) {
            *number = v->slots[k] - 1;
            return true;
        }
    if (v->count == v->capacity && !grow_values(v, size))
        return false;
    memcpy(v->items + v->count * size, value, size);
    *number = v->count++;
    v->slots[k] = v->count;
    return true;
}

/* ---- one work ---------------------------------------------------------------------------------------------------- */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Splits a work into columns. Features that repeat the cache reuse are stored as differences from it. */
static void spread(const work *w, uint32_t columns[COLUMNS])
{
    const double doubles[DOUBLES] = {w->flops,   w->macs,    w->bytes,    w->weight_bytes, w->gemm[0], w->gemm[1],
                                     w->gemm[2], w->gemm[3], w->elements, w->operands,     w->threads};
    memcpy(columns, doubles, sizeof doubles);
    memcpy(columns + 2 * DOUBLES, w->features, sizeof w->features);
    for (int i = 0; i < 2; i++)
        columns[2 * DOUBLES + WORK_REUSE + i] ^= bits_of(w->reuse[i]);
}

static void gather(uint32_t columns[COLUMNS], work *w)
{
    double doubles[DOUBLES];
    memcpy(doubles, columns, sizeof doubles);
    w->flops = doubles[0];
    w->macs = doubles[1];
    w->bytes = doubles[2];
    w->weight_bytes = doubles[3];
    memcpy(w->gemm, doubles + 4, sizeof w->gemm);
    w->elements = doubles[8];
    w->operands = doubles[9];
    w->threads = doubles[10];
    for (int i = 0; i < 2; i++)
        columns[2 * DOUBLES + WORK_REUSE + i] ^= bits_of(w->reuse[i]);
    memcpy(w->features, columns + 2 * DOUBLES, sizeof w->features);
}

static uint8_t *put_number(uint8_t *next, uint32_t number)
{
    for (; number >= 0x80; number >>= 7)
        *next++ = (uint8_t)(number | 0x80);
    *next++ = (uint8_t)number;
    return next;
}

static const uint8_t *take_number(const uint8_t *next, uint32_t *number)
{
    *number = *next & 0x7F;
    for (int shift = 7; *next++ & 0x80; shift += 7)
        *number |= (uint32_t)(*next & 0x7F) << shift;
    return next;
}

/* Moves the columns that are part of the form into it. */
static void take_form(uint32_t columns[COLUMNS], form *of)
{
    for (size_t i = 0; i < FORM_FEATURES; i++) {
        of->features[i] = columns[2 * DOUBLES + IN_FORM[i]];
        columns[2 * DOUBLES + IN_FORM[i]] = 0;
    }
}

/* Sets the place of the value that follower `i` had first with this value of its leader. Returns false if out of
 * memory. */
static bool expect(kernel_store *s, int i, uint32_t of, uint32_t **value)
{
    if (of >= s->expected_room[i]) {
        size_t room = s->columns[FOLLOWERS[i].leader].capacity;
        uint32_t *larger = realloc(s->expected[i], room * sizeof *larger);
        if (!larger)
            return false;
        memset(larger + s->expected_room[i], 0, (room - s->expected_room[i]) * sizeof *larger);
        s->expected[i] = larger;
        s->expected_room[i] = room;
    }
    *value = &s->expected[i][of];
    return true;
}

/* Drops the followers with the expected value from the columns to store. Returns false if out of memory. */
static bool drop_followers(kernel_store *s, const uint32_t numbers[COLUMNS], form *of)
{
    for (int i = 0; i < FOLLOWER_COUNT; i++) {
        const uint32_t column = FOLLOWERS[i].column, leader = FOLLOWERS[i].leader;
        uint32_t *value;
        if (!(of->masks[column / 32] >> column % 32 & 1) || !(of->masks[leader / 32] >> leader % 32 & 1))
            continue;
        if (!expect(s, i, numbers[leader], &value))
            return false;
        if (!*value)
            *value = numbers[column] + 1;
        if (*value != numbers[column] + 1)
            continue;
        of->masks[column / 32] &= ~(1u << column % 32);
        of->follows |= (uint16_t)(1u << i);
    }
    return true;
}

/* Returns the packed size in whole units; 0 if out of memory. */
static size_t pack(kernel_store *s, const work *w, uint8_t packed[MOST_BYTES + UNIT])
{
    uint32_t columns[COLUMNS], numbers[COLUMNS], number;
    spread(w, columns);
    form of = {.op = w->op, .group = (uint8_t)w->group, .product_dtype = w->product_dtype, .is_unknown = w->is_unknown};
    take_form(columns, &of);
    for (size_t i = 0; i < COLUMNS; i++) {
        of.masks[i / 32] |= columns[i] ? 1u << i % 32 : 0;
        if (columns[i] && !number_of(&s->columns[i], &columns[i], sizeof columns[i], &numbers[i]))
            return 0;
    }
    if (!drop_followers(s, numbers, &of) || !number_of(&s->forms, &of, sizeof of, &number))
        return 0;
    memcpy(packed, &w->kin, KIN_BYTES);
    uint8_t *next = put_number(packed + KIN_BYTES, number);
    for (size_t i = 0; i < COLUMNS; i++)
        if (of.masks[i / 32] >> i % 32 & 1)
            next = put_number(next, numbers[i]);
    while ((next - packed) % UNIT)
        *next++ = 0;
    return (size_t)(next - packed);
}

static const uint8_t *at(const kernel_store *s, uint32_t work)
{
    return s->blocks[work / BLOCK_UNITS] + (size_t)(work % BLOCK_UNITS) * UNIT;
}

/* Returns the form of a packed work and sets the start of its column indices. */
static const form *form_of(const kernel_store *s, const uint8_t *packed, const uint8_t **columns)
{
    uint32_t number;
    *columns = take_number(packed + KIN_BYTES, &number);
    return (const form *)(const void *)s->forms.items + number;
}

kernel_head kernels_head(const kernel_store *s, uint32_t work)
{
    const uint8_t *packed = at(s, work), *columns;
    const form *f = form_of(s, packed, &columns);
    kernel_head head = {.op = f->op, .group = f->group};
    memcpy(&head.kin, packed, KIN_BYTES);
    return head;
}

static size_t size_of(const kernel_store *s, const uint8_t *packed)
{
    const uint8_t *next;
    const form *f = form_of(s, packed, &next);
    uint32_t number;
    for (int i = 0; i < MASKS; i++)
        for (int n = __builtin_popcount(f->masks[i]); n > 0; n--)
            next = take_number(next, &number);
    return (size_t)(next - packed + UNIT - 1) / UNIT * UNIT;
}

static const kernel_place *place_at(const kernel_store *s, uint32_t place)
{
    return (const kernel_place *)(const void *)s->places.items + place;
}

float kernels_count(const kernel_store *s, uint32_t place)
{
    return place_at(s, place)->count;
}

static uint32_t value_at(const kernel_store *s, size_t column, uint32_t index)
{
    uint32_t value;
    memcpy(&value, s->columns[column].items + index * sizeof value, sizeof value);
    return value;
}

void kernels_get(const kernel_store *s, kernel_number number, work *w)
{
    const uint8_t *packed = at(s, number.work), *next;
    const form *f = form_of(s, packed, &next);
    uint32_t columns[COLUMNS] = {0}, leaders[2 * DOUBLES], value;
    for (size_t m = 0; m < MASKS; m++)
        for (uint32_t mask = f->masks[m]; mask; mask &= mask - 1) {
            size_t i = 32 * m + (size_t)__builtin_ctz(mask);
            next = take_number(next, &value);
            columns[i] = value_at(s, i, value);
            if (i < 2 * DOUBLES)
                leaders[i] = value;
        }
    for (int i = 0; i < FOLLOWER_COUNT; i++)
        if (f->follows >> i & 1)
            columns[FOLLOWERS[i].column] =
                value_at(s, FOLLOWERS[i].column, s->expected[i][leaders[FOLLOWERS[i].leader]] - 1);
    for (size_t i = 0; i < FORM_FEATURES; i++)
        columns[2 * DOUBLES + IN_FORM[i]] = f->features[i];
    memcpy(&w->kin, packed, KIN_BYTES);
    w->op = f->op;
    w->group = (work_group)f->group;
    w->is_unknown = f->is_unknown != 0;
    w->product_dtype = f->product_dtype;
    w->like = 0;
    const kernel_place *place = place_at(s, number.place);
    w->count = place->count;
    memcpy(w->reuse, place->reuse, sizeof w->reuse);
    gather(columns, w);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* Initial slots of the hash table, above malloc's largest mmap threshold (32 MiB). The table is the largest allocation
 * freed before training, and a mapped block returns to the system at once. Untouched pages cost nothing. */
enum { MAPPED_SLOTS = (33 << 20) / sizeof(uint32_t) };

static bool grow_works(kernel_store *s)
{
    size_t room = s->room ? 2 * s->room : 1024;
    uint32_t *larger = calloc(room < MAPPED_SLOTS ? MAPPED_SLOTS : room, sizeof *larger);
    if (!larger)
        return false;
    for (size_t i = 0; i < s->room; i++) {
        if (!s->slots[i])
            continue;
        const uint8_t *packed = at(s, s->slots[i] - 1);
        size_t k = hash_of(packed, size_of(s, packed)) & (room - 1);
        while (larger[k])
            k = (k + 1) & (room - 1);
        larger[k] = s->slots[i];
    }
    free(s->slots);
    s->slots = larger;
    s->room = room;
    return true;
}

/* Reserves `size` bytes at the end. Returns false if out of memory. */
static bool append(kernel_store *s, size_t size, uint32_t *work)
{
    if (s->block_count == 0 || s->used + size / UNIT > BLOCK_UNITS) {
        uint8_t *block = s->block_count < MAX_BLOCKS ? malloc((size_t)BLOCK_UNITS * UNIT) : NULL;
        if (!block)
            return false;
        s->blocks[s->block_count++] = block;
        s->used = 0;
    }
    *work = (s->block_count - 1) * BLOCK_UNITS + s->used;
    s->used += (uint32_t)(size / UNIT);
    return true;
}

static bool add_one(kernel_store *s, const work *w, kernel_number *number)
{
    uint8_t packed[MOST_BYTES + UNIT];
    const kernel_place place = {.reuse = {w->reuse[0], w->reuse[1]}, .count = (float)w->count};
    size_t size = pack(s, w, packed);
    if (!size || !number_of(&s->places, &place, sizeof place, &number->place))
        return false;
    if (2 * (s->count + 1) > s->room && !grow_works(s))
        return false;
    size_t k = hash_of(packed, size) & (s->room - 1);
    for (; s->slots[k]; k = (k + 1) & (s->room - 1)) {
        const uint8_t *other = at(s, s->slots[k] - 1);
        if (memcmp(other, packed, UNIT) == 0 && size_of(s, other) == size && memcmp(other, packed, size) == 0) {
            number->work = s->slots[k] - 1;
            return true;
        }
    }
    if (!append(s, size, &number->work))
        return false;
    memcpy(s->blocks[number->work / BLOCK_UNITS] + (size_t)(number->work % BLOCK_UNITS) * UNIT, packed, size);
    s->slots[k] = number->work + 1;
    s->count++;
    return true;
}

bool kernels_add(kernel_store *s, const work *works, int32_t count, kernel_number *numbers)
{
    bool good = true;
    pthread_mutex_lock(&s->lock);
    for (int32_t i = 0; i < count && good; i++)
        good = add_one(s, &works[i], &numbers[i]);
    pthread_mutex_unlock(&s->lock);
    return good;
}
