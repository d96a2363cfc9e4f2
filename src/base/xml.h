/* xml.h: reads XML in one pass, in place, into a tree in an arena.
 *
 * Not expat or libxml2: names, attributes and texts stay slices of the mapped file, and nodes live in the model's
 * arena. Document types, and with them custom entities, are refused. UTF-8 only.
 *
 * Strict: tags must match, attributes are quoted, there is one root. Limits: XML_MAX_DEPTH levels, no recursion.
 * Comments, processing instructions and white space around elements are skipped. */
#ifndef SOOTH_BASE_XML_H
#define SOOTH_BASE_XML_H

#include "base/arena.h"

enum { XML_MAX_DEPTH = 128 };

typedef struct xml_attr {
    str name, value; /* entities are resolved */
} xml_attr;

typedef struct xml_node xml_node;
struct xml_node {
    str name;
    const xml_attr *attrs;
    int32_t attr_count;
    str text; /* text before the first child, trimmed; entities are not resolved */
    xml_node *first, *next;
};

/* True if the bytes look like XML with this root element. */
bool xml_sniff(const uint8_t *bytes, size_t size, const char *root);
/* Returns the root. Fails with the byte offset and the reason. */
const xml_node *xml_read(str bytes, arena *a, fail *f);

/* Child by name, or NULL; n may be NULL. */
const xml_node *xml_get(const xml_node *n, const char *name);
/* Value of an attribute; empty if it is absent or n is NULL. */
str xml_attr_of(const xml_node *n, const char *name);
/* for (const xml_node *x = xml_first(n); x; x = x->next); n may be NULL. */
static inline const xml_node *xml_first(const xml_node *n)
{
    return n ? n->first : NULL;
}

#endif
