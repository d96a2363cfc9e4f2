/* mlir_text.h: shared by both halves of the MLIR text reader: tokens, types and attributes (mlir_tokens.c),
 * operators, functions and modules (mlir_text.c). */
#ifndef SOOTH_FRONT_HLO_MLIR_TEXT_H
#define SOOTH_FRONT_HLO_MLIR_TEXT_H

#include "front/hlo/hlo.h"

typedef struct scope_entry {
    str name;
    hlo_value first;
    int32_t count;    /* number of results under one name */
    int32_t shadowed; /* index of the entry with the same name in an outer region; -1 if there is none */
} scope_entry;

typedef struct parser {
    hlo_module *m;
    arena *arena;
    const char *start, *at, *end;
    names values; /* names of values, and the indices of their entries */
    struct {
        scope_entry *items;
        int32_t count, capacity;
    } scope;
    names location_names;
    struct {
        str *items;
        int32_t count, capacity;
    } locations;
    struct {
        hlo_op **items;
        int32_t count, capacity;
    } labelled; /* operators whose label is still the text of a location */
    int depth;
} parser;

typedef struct type_list {
    hlo_type *items;
    int32_t count, capacity;
} type_list;

/* The parts of an operator, collected while its text is read. */
typedef struct draft {
    struct {
        hlo_attr *items;
        int32_t count, capacity;
    } attrs;
    struct {
        hlo_value *items;
        int32_t count, capacity;
    } operands;
    struct {
        const hlo_region **items;
        int32_t count, capacity;
    } regions;
    struct {
        str *items;
        int32_t count, capacity;
    } iterated; /* names of the values that a loop carries */
    type_list types, result_types;
    bool has_arrow;
    int parens;
    str name;
    str callee, location, literal;
    hlo_type literal_type;
    hlo_type dynamic_type; /* type of a constant's result, if it differs from that of its data */
    bool has_literal, is_done;
} draft;

typedef struct int_list {
    int64_t *items;
    int32_t count, capacity;
} int_list;

enum { MAX_INTS = 4096 };

static const hlo_type NO_TENSOR = {.rank = RANK_UNKNOWN};

/* ---- letters; all but the first pass over white space and comments ---- */

_Noreturn void text_bad(parser *p, const char *what);
bool text_is_letter(char c);
bool text_is_digit(char c);
void text_skip(parser *p);
char text_peek(parser *p); /* '\0' at the end */
bool text_accept(parser *p, const char *text);
void text_expect(parser *p, const char *text);
str text_word(parser *p); /* a name: letters, digits, and the signs that names contain */
bool text_at_word(parser *p, const char *text);
bool text_accept_word(parser *p, const char *text);
str text_quoted(parser *p); /* the text between the quotes */
str text_symbol(parser *p); /* a word, or a quoted string */
/* Skips brackets with their content, from the opening bracket on. */
void text_skip_brackets(parser *p);

hlo_type text_type(parser *p);
/* Reads comma-separated types up to `close`. */
void text_types(parser *p, type_list *to, char close);

/* ---- attributes ---- */

void text_add_attr(parser *p, draft *d, str name, const int_list *ints, str text);
void text_push_int(parser *p, int_list *list, int64_t x);
/* Reads all numbers and booleans inside the brackets that open here; skips words. */
void text_bracketed_ints(parser *p, int_list *to);
/* `is_typed`: a type may come after a number. Outside of brackets, the operator's types come next. */
void text_attr(parser *p, draft *d, str name, bool is_typed);
/* Reads {a = 1, b, "c.d" = …} after the opening bracket. */
void text_attr_members(parser *p, draft *d, char close);
/* Parses a convolution's dimension numbers, from `from` to the current position. */
void text_conv_attrs(parser *p, draft *d, const char *from);
/* Reads dense<…> : type, from the bracket on. */
void text_dense(parser *p, draft *d, str name);

#endif
