/* inflate.c: a state machine whose every step takes at most 48 bits, so that a step either has all of its bits or
 * changes nothing. A step that lacks bits keeps those it fetched for its next attempt. Bits left at the end of the data
 * therefore come from the current input, and are returned. */
#include "inflate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW_BYTES = 1 << 15,
    MOST_CODE_BITS = 15,
    FAST_BITS = 9, /* codes up to this length are looked up at once */
    LENGTH_CODES = 286,
    DISTANCE_CODES = 30,
    ORDER_CODES = 19,
    END_OF_BLOCK = 256
};

/* A canonical Huffman code. */
typedef struct code {
    uint16_t fast[1 << FAST_BITS]; /* symbol << 4 | bits; 0: longer, or no such code */
    uint16_t count[MOST_CODE_BITS + 1];
    uint16_t symbols[LENGTH_CODES + 2];
} code;

typedef enum step {
    GZIP_HEAD,
    GZIP_METHOD,
    GZIP_TIMES,
    GZIP_REST,
    GZIP_EXTRA_LENGTH,
    GZIP_EXTRA,
    GZIP_NAME,
    GZIP_COMMENT,
    GZIP_HEAD_SUM,
    BLOCK_HEAD,
    STORED_HEAD,
    STORED,
    CODES_HEAD,
    CODE_LENGTHS,
    LENGTHS,
    SYMBOLS,
    COPY,
    GZIP_SUM,
    GZIP_SIZE,
    END,
    DAMAGED
} step;

typedef struct inflate_state {
    bool is_gzip, is_last;
    step step;
    uint64_t bits; /* bits that were fetched but not used yet */
    int bit_count;
    uint32_t flags, head_sum, extra; /* flags, checksum and length of the extra field in the gzip header */
    uint32_t sum;                    /* checksum of the output */
    uint64_t made;                   /* bytes of output */
    uint32_t stored;                 /* bytes left of a stored block */
    uint32_t copy_bytes, copy_distance;
    uint32_t length_count, distance_count, order_count, index;
    uint8_t lengths[LENGTH_CODES + 2 + DISTANCE_CODES + 2];
    code of_lengths, of_distances;
    uint8_t window[WINDOW_BYTES];
} inflate_state;

/* ---- bits -------------------------------------------------------------------------------------------------------- */

static void fetch(inflate_stream *s, inflate_state *i)
{
    while (i->bit_count <= 56 && s->avail_in) {
        i->bits |= (uint64_t)*s->next_in++ << i->bit_count;
        i->bit_count += 8;
        s->avail_in--;
    }
}

static bool has(inflate_stream *s, inflate_state *i, int count)
{
    if (i->bit_count < count)
        fetch(s, i);
    return i->bit_count >= count;
}

static uint32_t take(inflate_state *i, int count)
{
    uint32_t value = (uint32_t)(i->bits & (((uint64_t)1 << count) - 1));
    i->bits >>= count;
    i->bit_count -= count;
    return value;
}

/* ---- codes ------------------------------------------------------------------------------------------------------- */

static uint32_t reversed(uint32_t value, int bits)
{
    uint32_t result = 0;
    for (int i = 0; i < bits; i++)
        result |= (value >> i & 1) << (bits - 1 - i);
    return result;
}

/* Returns false if the lengths form no code. A code of a single one-bit symbol may be incomplete. A distance code may
 * be empty if the data consist of literals. */
static bool make_code(code *c, const uint8_t *lengths, uint32_t count, bool may_be_partial)
{
    uint16_t offsets[MOST_CODE_BITS + 2] = {0};
    uint32_t next[MOST_CODE_BITS + 2] = {0};
    memset(c->count, 0, sizeof c->count);
    memset(c->fast, 0, sizeof c->fast);
    for (uint32_t n = 0; n < count; n++)
        c->count[lengths[n]]++;
    uint32_t used = count - c->count[0];
    c->count[0] = 0;
    int32_t left = 1;
    for (int bits = 1; bits <= MOST_CODE_BITS; bits++) {
        left = left * 2 - c->count[bits];
        if (left < 0)
            return false;
        offsets[bits + 1] = (uint16_t)(offsets[bits] + c->count[bits]);
        next[bits + 1] = (next[bits] + c->count[bits]) << 1;
    }
    if (left > 0 && !(may_be_partial && (used == 0 || (used == 1 && c->count[1] == 1))))
        return false;
    for (uint32_t n = 0; n < count; n++) {
        int bits = lengths[n];
        if (!bits)
            continue;
        c->symbols[offsets[bits]++] = (uint16_t)n;
        uint32_t word = reversed(next[bits]++, bits);
        for (; bits <= FAST_BITS && word < 1u << FAST_BITS; word += 1u << bits)
            c->fast[word] = (uint16_t)(n << 4 | (uint32_t)bits);
    }
    return true;
}

/* Returns the symbol at bit `skip`, and its length. Returns -1 if there are not enough bits, -2 if there is no such
 * code. */
static int peek_symbol(const inflate_state *i, const code *c, int skip, int *length)
{
    uint64_t bits = i->bits >> skip;
    int have = i->bit_count - skip;
    uint16_t fast = c->fast[bits & ((1u << FAST_BITS) - 1)];
    if (fast && (fast & 15) <= have) {
        *length = fast & 15;
        return fast >> 4;
    }
    int32_t word = 0, first = 0, index = 0;
    for (int n = 1; n <= MOST_CODE_BITS; n++) {
        if (n > have)
            return -1;
        word |= (int32_t)(bits >> (n - 1) & 1);
        int32_t count = c->count[n];
        if (word - count < first) {
            *length = n;
            return c->symbols[index + (word - first)];
        }
        index += count;
        first = (first + count) << 1;
        word <<= 1;
    }
    return -2;
}

static void fixed_codes(inflate_state *i)
{
    uint8_t lengths[LENGTH_CODES + 2];
    for (int n = 0; n < LENGTH_CODES + 2; n++)
        lengths[n] = n < 144 ? 8 : n < 256 ? 9 : n < 280 ? 7 : 8;
    make_code(&i->of_lengths, lengths, LENGTH_CODES + 2, false);
    memset(lengths, 5, 32);
    make_code(&i->of_distances, lengths, 32, false); /* codes 30 and 31 exist, but data with them are refused */
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

static void put(inflate_stream *s, inflate_state *i, uint8_t byte)
{
    *s->next_out++ = byte;
    s->avail_out--;
    i->window[i->made++ % WINDOW_BYTES] = byte;
}

/* Copies the rest of a match; returns false if the output is full before its end. */
static bool copy(inflate_stream *s, inflate_state *i)
{
    for (; i->copy_bytes && s->avail_out; i->copy_bytes--)
        put(s, i, i->window[(i->made - i->copy_distance) % WINDOW_BYTES]);
    return !i->copy_bytes;
}

/* Copies the rest of a stored block; returns false without more input or room. */
static bool copy_stored(inflate_stream *s, inflate_state *i)
{
    while (i->stored && s->avail_out && has(s, i, 8)) {
        put(s, i, (uint8_t)take(i, 8));
        i->stored--;
    }
    return !i->stored;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static step after_block(const inflate_state *i)
{
    return !i->is_last ? BLOCK_HEAD : i->is_gzip ? GZIP_SUM : END;
}

static step begin_block(inflate_state *i)
{
    i->is_last = take(i, 1);
    switch (take(i, 2)) {
    case 0:
        take(i, i->bit_count % 8);
        return STORED_HEAD;
    case 1:
        fixed_codes(i);
        return SYMBOLS;
    case 2:
        return CODES_HEAD;
    }
    return DAMAGED;
}

static step begin_codes(inflate_state *i)
{
    i->length_count = take(i, 5) + 257;
    i->distance_count = take(i, 5) + 1;
    i->order_count = take(i, 4) + 4;
    i->index = 0;
    memset(i->lengths, 0, sizeof i->lengths);
    return i->length_count > LENGTH_CODES || i->distance_count > DISTANCE_CODES ? DAMAGED : CODE_LENGTHS;
}

static step read_code_length(inflate_state *i)
{
    static const uint8_t ORDER[ORDER_CODES] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    i->lengths[ORDER[i->index++]] = (uint8_t)take(i, 3);
    if (i->index < i->order_count)
        return CODE_LENGTHS;
    if (!make_code(&i->of_lengths, i->lengths, ORDER_CODES, false))
        return DAMAGED;
    i->index = 0;
    memset(i->lengths, 0, sizeof i->lengths);
    return LENGTHS;
}

static step make_codes(inflate_state *i)
{
    if (!i->lengths[END_OF_BLOCK] || !make_code(&i->of_lengths, i->lengths, i->length_count, true) ||
        !make_code(&i->of_distances, i->lengths + i->length_count, i->distance_count, true))
        return DAMAGED;
    return SYMBOLS;
}

/* Reads one symbol of the code lengths; returns false if it needs more bits. */
static bool read_length(inflate_stream *s, inflate_state *i)
{
    static const uint8_t EXTRA_BITS[] = {2, 3, 7}, LEAST[] = {3, 3, 11};
    int bits = 0;
    fetch(s, i);
    int symbol = peek_symbol(i, &i->of_lengths, 0, &bits);
    if (symbol == -1)
        return false;
    if (symbol < 0) {
        i->step = DAMAGED;
        return true;
    }
    uint32_t repeat = 1;
    uint8_t value = (uint8_t)symbol;
    if (symbol >= 16) {
        if (i->bit_count < bits + EXTRA_BITS[symbol - 16])
            return false;
        take(i, bits);
        repeat = take(i, EXTRA_BITS[symbol - 16]) + LEAST[symbol - 16];
        value = symbol == 16 && i->index ? i->lengths[i->index - 1] : 0;
    } else {
        take(i, bits);
    }
    uint32_t all = i->length_count + i->distance_count;
    if (repeat > all - i->index || (symbol == 16 && !i->index)) {
        i->step = DAMAGED;
        return true;
    }
    memset(i->lengths + i->index, value, repeat);
    i->index += repeat;
    if (i->index == all)
        i->step = make_codes(i);
    return true;
}

/* Returns the base of a length or distance plus its extra bits. */
typedef struct span {
    uint16_t base;
    uint8_t bits;
} span;
static const span LENGTHS_OF[] = {{3, 0},   {4, 0},   {5, 0},   {6, 0},   {7, 0},  {8, 0},  {9, 0},  {10, 0},
                                  {11, 1},  {13, 1},  {15, 1},  {17, 1},  {19, 2}, {23, 2}, {27, 2}, {31, 2},
                                  {35, 3},  {43, 3},  {51, 3},  {59, 3},  {67, 4}, {83, 4}, {99, 4}, {115, 4},
                                  {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}};
static const span DISTANCES_OF[] = {{1, 0},     {2, 0},     {3, 0},     {4, 0},      {5, 1},      {7, 1},
                                    {9, 2},     {13, 2},    {17, 3},    {25, 3},     {33, 4},     {49, 4},
                                    {65, 5},    {97, 5},    {129, 6},   {193, 6},    {257, 7},    {385, 7},
                                    {513, 8},   {769, 8},   {1025, 9},  {1537, 9},   {2049, 10},  {3073, 10},
                                    {4097, 11}, {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}};

/* Reads a literal, a match or the end of the block; returns false if it needs more bits or room. */
static bool read_symbol(inflate_stream *s, inflate_state *i)
{
    int bits = 0;
    if (i->bit_count < 48)
        fetch(s, i);
    int symbol = peek_symbol(i, &i->of_lengths, 0, &bits);
    if (symbol == -1)
        return false;
    if (symbol >= 0 && symbol < END_OF_BLOCK) {
        if (!s->avail_out)
            return false;
        take(i, bits);
        put(s, i, (uint8_t)symbol);
        return true;
    }
    if (symbol == END_OF_BLOCK) {
        take(i, bits);
        i->step = after_block(i);
        return true;
    }
    i->step = DAMAGED;
    if (symbol < 0 || symbol - 257 >= (int)(sizeof LENGTHS_OF / sizeof *LENGTHS_OF))
        return true;
    span length = LENGTHS_OF[symbol - 257];
    int distance_bits = 0, before = bits + length.bits;
    int code = i->bit_count < before ? -1 : peek_symbol(i, &i->of_distances, before, &distance_bits);
    if (code == -1) {
        i->step = SYMBOLS;
        return false;
    }
    if (code < 0 || code >= DISTANCE_CODES)
        return true;
    span distance = DISTANCES_OF[code];
    i->step = SYMBOLS;
    if (i->bit_count < before + distance_bits + distance.bits)
        return false;
    take(i, bits);
    i->copy_bytes = length.base + take(i, length.bits);
    take(i, distance_bits);
    i->copy_distance = distance.base + take(i, distance.bits);
    i->step = i->copy_distance > i->made ? DAMAGED : COPY;
    return true;
}

/* ---- gzip -------------------------------------------------------------------------------------------------------- */

enum { FLAG_HEAD_SUM = 2, FLAG_EXTRA = 4, FLAG_NAME = 8, FLAG_COMMENT = 16, FLAGS_RESERVED = 0xE0, METHOD = 8 };

/* Reads a byte of the header and adds it to the header's checksum. */
static uint32_t head_byte(inflate_state *i)
{
    uint8_t byte = (uint8_t)take(i, 8);
    i->head_sum = inflate_crc32(i->head_sum, &byte, 1);
    return byte;
}

static step read_gzip_head(inflate_state *i)
{
    uint32_t first = head_byte(i), second = head_byte(i);
    return first == 0x1f && second == 0x8b ? GZIP_METHOD : DAMAGED;
}

static step read_gzip_method(inflate_state *i)
{
    uint32_t method = head_byte(i);
    i->flags = head_byte(i);
    return method == METHOD && !(i->flags & FLAGS_RESERVED) ? GZIP_TIMES : DAMAGED;
}

/* Returns false if it needs more input. */
static bool read_gzip(inflate_stream *s, inflate_state *i)
{
    static const uint8_t BITS[] = {
        [GZIP_HEAD] = 16, [GZIP_METHOD] = 16, [GZIP_TIMES] = 32,  [GZIP_REST] = 16,    [GZIP_EXTRA_LENGTH] = 16,
        [GZIP_EXTRA] = 8, [GZIP_NAME] = 8,    [GZIP_COMMENT] = 8, [GZIP_HEAD_SUM] = 16};
    static const uint8_t NEEDS[] = {[GZIP_EXTRA_LENGTH] = FLAG_EXTRA,
                                    [GZIP_EXTRA] = FLAG_EXTRA,
                                    [GZIP_NAME] = FLAG_NAME,
                                    [GZIP_COMMENT] = FLAG_COMMENT,
                                    [GZIP_HEAD_SUM] = FLAG_HEAD_SUM};
    if ((i->step > GZIP_REST && !(i->flags & NEEDS[i->step])) || (i->step == GZIP_EXTRA && !i->extra)) {
        i->step++;
        return true;
    }
    if (!has(s, i, BITS[i->step]))
        return false;
    uint32_t sum;
    switch (i->step) {
    case GZIP_HEAD:
        i->step = read_gzip_head(i);
        break;
    case GZIP_METHOD:
        i->step = read_gzip_method(i);
        break;
    case GZIP_TIMES:
        for (int n = 0; n < 4; n++)
            head_byte(i);
        i->step++;
        break;
    case GZIP_REST:
        head_byte(i);
        head_byte(i);
        i->step++;
        break;
    case GZIP_EXTRA_LENGTH:
        i->extra = head_byte(i);
        i->extra |= head_byte(i) << 8;
        i->step++;
        break;
    case GZIP_EXTRA:
        head_byte(i);
        i->extra--;
        break;
    case GZIP_NAME:
    case GZIP_COMMENT:
        i->step += head_byte(i) == 0;
        break;
    default:
        sum = i->head_sum & 0xFFFF;
        i->step = take(i, 16) == sum ? BLOCK_HEAD : DAMAGED;
    }
    return true;
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

/* Takes one step; returns false if it needs more input or room. */
static bool advance(inflate_stream *s, inflate_state *i)
{
    uint32_t stored;
    switch (i->step) {
    default:
        return read_gzip(s, i);
    case BLOCK_HEAD:
        if (!has(s, i, 3))
            return false;
        i->step = begin_block(i);
        return true;
    case STORED_HEAD:
        if (!has(s, i, 32))
            return false;
        stored = take(i, 16);
        i->stored = stored;
        i->step = take(i, 16) == (stored ^ 0xFFFF) ? STORED : DAMAGED;
        return true;
    case STORED:
        if (!copy_stored(s, i))
            return false;
        i->step = after_block(i);
        return true;
    case CODES_HEAD:
        if (!has(s, i, 14))
            return false;
        i->step = begin_codes(i);
        return true;
    case CODE_LENGTHS:
        if (!has(s, i, 3))
            return false;
        i->step = read_code_length(i);
        return true;
    case LENGTHS:
        return read_length(s, i);
    case SYMBOLS:
        return read_symbol(s, i);
    case COPY:
        if (!copy(s, i))
            return false;
        i->step = SYMBOLS;
        return true;
    case GZIP_SUM:
        take(i, i->bit_count % 8);
        if (!has(s, i, 32))
            return false;
        i->step = take(i, 32) == i->sum ? GZIP_SIZE : DAMAGED;
        return true;
    case GZIP_SIZE:
        if (!has(s, i, 32))
            return false;
        i->step = take(i, 32) == (uint32_t)i->made ? END : DAMAGED;
        return true;
    case END:
    case DAMAGED:
        return false;
    }
}

/* Updates the checksum before it is compared, or the caller takes the bytes away. */
static void add_sum(inflate_state *i, const uint8_t *from, const uint8_t *to)
{
    if (i->is_gzip)
        i->sum = inflate_crc32(i->sum, from, (size_t)(to - from));
}

inflate_result inflate_run(inflate_stream *s)
{
    inflate_state *i = s->state;
    const uint8_t *in = s->next_in, *out = s->next_out, *summed = out;
    for (;;) {
        if (i->step == GZIP_SUM) {
            add_sum(i, summed, s->next_out);
            summed = s->next_out;
        }
        if (!advance(s, i))
            break;
    }
    add_sum(i, summed, s->next_out);
    if (i->step == END) { /* returns whole bytes that were fetched after the end of the data */
        size_t early = (size_t)i->bit_count / 8;
        s->next_in -= early;
        s->avail_in += early;
        i->bits = 0;
        i->bit_count = 0;
        return INFLATE_END;
    }
    if (i->step == DAMAGED)
        return INFLATE_DAMAGED;
    return s->next_in == in && s->next_out == out ? INFLATE_NO_PROGRESS : INFLATE_MORE;
}

void inflate_restart(inflate_stream *s)
{
    inflate_state *i = s->state;
    bool is_gzip = i->is_gzip;
    memset(i, 0, offsetof(inflate_state, lengths));
    i->is_gzip = is_gzip;
    i->step = is_gzip ? GZIP_HEAD : BLOCK_HEAD;
}

inflate_result inflate_open(inflate_stream *s, int is_gzip)
{
    s->state = malloc(sizeof *s->state);
    if (!s->state)
        return INFLATE_NO_MEMORY;
    s->state->is_gzip = is_gzip;
    inflate_restart(s);
    return INFLATE_MORE;
}

void inflate_close(inflate_stream *s)
{
    free(s->state);
    s->state = NULL;
}

uint32_t inflate_crc32(uint32_t crc, const uint8_t *bytes, size_t size)
{
    static const uint32_t NIBBLES[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                         0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                         0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    crc = ~crc;
    for (size_t n = 0; n < size; n++) {
        crc ^= bytes[n];
        crc = crc >> 4 ^ NIBBLES[crc & 15];
        crc = crc >> 4 ^ NIBBLES[crc & 15];
    }
    return ~crc;
}
