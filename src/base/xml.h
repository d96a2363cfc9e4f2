/* xml.h: reads XML: one pass over the bytes where they lie, into a tree in an arena.
 *
 * An own reader instead of expat or libxml2: names, attributes and texts stay slices of the mapped file, nodes die with the model's arena,
 * and what makes XML dangerous is not there: a document type, and with it entities of its own, is refused. UTF-8 alone.
 *
 * Strict: tags must match, attributes are quoted, there is one root. Bounded: at most XML_MAX_DEPTH levels, no recursion.
 * Comments, processing instructions and CDATA marks are skipped; white space around elements too. */
#ifndef SOOTH_BASE_XML_H
#define SOOTH_BASE_XML_H

#include "base/arena.h"

enum { XML_MAX_DEPTH = 128 };

typedef struct xml_attr {
    str name, value; /* with entities resolved */
} xml_attr;

typedef struct xml_node xml_node;
struct xml_node {
    str name;
    const xml_attr *attrs;
    int32_t attr_count;
    str text; /* before its first child, without white space around it; entities are not resolved */
    xml_node *first, *next;
};

/* Do the bytes begin as XML does, with an element of that name? */
bool xml_sniff(const uint8_t *bytes, size_t size, const char *root);
/* The root. Fails with the byte and what is wrong there. */
const xml_node *xml_read(str bytes, arena *a, fail *f);

/* Child by name, or NULL; also if n is NULL. */
const xml_node *xml_get(const xml_node *n, const char *name);
/* Value of an attribute; empty if it is not there, or n is NULL. */
str xml_attr_of(const xml_node *n, const char *name);
/* for (const xml_node *x = xml_first(n); x; x = x->next): also for NULL. */
static inline const xml_node *xml_first(const xml_node *n)
{
    return n ? n->first : NULL;
}

#endif
