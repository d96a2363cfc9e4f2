/* xml.c: reads XML (xml.h). */
#include "base/xml.h"

typedef struct reader {
    const char *at, *end, *start;
    arena *arena;
    fail *fail;
} reader;

_Noreturn static void damaged(const reader *r, const char *what)
{
    fail_with(r->fail, SOOTH_ERROR_INPUT, "the XML is not well-formed: %s, at byte %zu; write the file again", what,
              (size_t)(r->at - r->start));
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void skip_space(reader *r)
{
    while (r->at < r->end && is_space(*r->at))
        r->at++;
}

static bool begins(const reader *r, const char *text)
{
    return str_starts((str){r->at, (size_t)(r->end - r->at)}, text);
}

static void skip_behind(reader *r, const char *mark, const char *what)
{
    size_t length = strlen(mark);
    while (!begins(r, mark)) {
        const char *next = r->at < r->end ? memchr(r->at + 1, mark[0], (size_t)(r->end - r->at) - 1) : NULL;
        if (!next)
            damaged(r, what);
        r->at = next;
    }
    r->at += length;
}

/* Skips comments, processing instructions and white space. */
static void skip_beside(reader *r)
{
    for (;;) {
        skip_space(r);
        if (begins(r, "<!--"))
            skip_behind(r, "-->", "a comment does not end");
        else if (begins(r, "<?"))
            skip_behind(r, "?>", "a processing instruction does not end");
        else
            return;
    }
}

static bool ends_name(char c)
{
    return is_space(c) || c == '>' || c == '/' || c == '=' || c == '<' || c == '"' || c == '\'';
}

static str read_name(reader *r)
{
    const char *from = r->at;
    while (r->at < r->end && !ends_name(*r->at))
        r->at++;
    if (r->at == from)
        damaged(r, "a name is expected");
    return (str){from, (size_t)(r->at - from)};
}

/* Decodes an entity or character reference as UTF-8; returns 0 bytes if it is unknown. */
static size_t resolve(str name, char *to)
{
    static const struct {
        const char *name;
        char c;
    } NAMED[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    for (size_t i = 0; i < sizeof NAMED / sizeof *NAMED; i++)
        if (str_is(name, NAMED[i].name)) {
            *to = NAMED[i].c;
            return 1;
        }
    uint32_t code = 0;
    bool is_hex = name.len > 2 && name.ptr[1] == 'x';
    if (name.len < 2 || name.len > 9 || name.ptr[0] != '#')
        return 0;
    for (size_t i = is_hex ? 2 : 1; i < name.len; i++) {
        char c = name.ptr[i];
        int digit = c >= '0' && c <= '9'             ? c - '0'
                    : is_hex && c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : is_hex && c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
        if (digit < 0)
            return 0;
        code = code * (is_hex ? 16 : 10) + (uint32_t)digit;
    }
    if (code == 0 || code > 0x10ffff)
        return 0;
    size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t FIRST[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = count; i-- > 1; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(FIRST[count] | code);
    return count;
}

static str decoded(reader *r, str text)
{
    if (!text.len || !memchr(text.ptr, '&', text.len))
        return text;
    char *to = arena_room(r->arena, text.len + 1, 1); /* a reference is longer than its character */
    size_t length = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '&') {
            to[length++] = text.ptr[i];
            continue;
        }
        const char *semicolon = memchr(text.ptr + i, ';', text.len - i < 16 ? text.len - i : 16);
        str name = {text.ptr + i + 1, semicolon ? (size_t)(semicolon - text.ptr) - i - 1 : 0};
        size_t bytes = semicolon ? resolve(name, to + length) : 0;
        if (bytes == 0)
            damaged(r, "an entity that begins with '&' is unknown");
        length += bytes;
        i += name.len + 1;
    }
    return (str){to, length};
}

static xml_attr read_attr(reader *r)
{
    xml_attr a = {.name = read_name(r)};
    skip_space(r);
    if (r->at == r->end || *r->at != '=')
        damaged(r, "an attribute has no value");
    r->at++;
    skip_space(r);
    if (r->at == r->end || (*r->at != '"' && *r->at != '\''))
        damaged(r, "a value has no quotation marks");
    const char *from = r->at + 1, *close = memchr(from, *r->at, (size_t)(r->end - from));
    if (!close)
        damaged(r, "a value does not end");
    a.value = decoded(r, (str){from, (size_t)(close - from)});
    r->at = close + 1;
    return a;
}

/* Reads a tag; true if the element has no content. */
static bool read_tag(reader *r, xml_node *n)
{
    struct {
        xml_attr *items;
        int32_t count, capacity;
    } attrs = {0};
    n->name = read_name(r);
    for (;;) {
        skip_space(r);
        if (r->at == r->end)
            damaged(r, "a tag does not end");
        if (*r->at == '>' || *r->at == '/')
            break;
        *(xml_attr *)ARENA_PUSH(r->arena, &attrs) = read_attr(r);
    }
    n->attrs = attrs.items;
    n->attr_count = attrs.count;
    bool is_empty = *r->at == '/';
    r->at += is_empty;
    if (r->at == r->end || *r->at != '>')
        damaged(r, "a tag does not end");
    r->at++;
    return is_empty;
}

typedef struct open_element {
    xml_node *node, *last;
} open_element;

static void read_text(reader *r, open_element *e)
{
    const char *from = r->at, *to = memchr(r->at, '<', (size_t)(r->end - r->at));
    if (!to)
        damaged(r, "an element does not end");
    r->at = to;
    while (to > from && is_space(to[-1]))
        to--;
    if (!e->last && e->node->text.len == 0)
        e->node->text = (str){from, (size_t)(to - from)};
}

static void close_element(reader *r, const open_element *e)
{
    r->at += 2;
    if (!str_eq(read_name(r), e->node->name))
        damaged(r, "an end tag matches no open element");
    skip_space(r);
    if (r->at == r->end || *r->at != '>')
        damaged(r, "a tag does not end");
    r->at++;
}

static void add_child(open_element *parent, xml_node *child)
{
    if (parent->last)
        parent->last->next = child;
    else
        parent->node->first = child;
    parent->last = child;
}

const xml_node *xml_read(str bytes, arena *a, fail *f)
{
    static const char MARK[] = "\xef\xbb\xbf";
    reader r = {.at = bytes.ptr, .end = bytes.ptr + bytes.len, .start = bytes.ptr, .arena = a, .fail = f};
    open_element open[XML_MAX_DEPTH];
    int depth = 0;
    if (begins(&r, MARK))
        r.at += sizeof MARK - 1;
    skip_beside(&r);
    if (begins(&r, "<!"))
        damaged(&r, "it has a document type declaration, which is not supported");
    if (r.at == r.end || *r.at != '<')
        damaged(&r, "an element is expected");
    r.at++;
    xml_node *root = ARENA_NEW(a, xml_node);
    if (!read_tag(&r, root))
        open[depth++] = (open_element){.node = root};
    while (depth > 0) {
        open_element *parent = &open[depth - 1];
        skip_beside(&r);
        if (begins(&r, "</")) {
            close_element(&r, parent);
            depth--;
        } else if (begins(&r, "<![CDATA[")) {
            skip_behind(&r, "]]>", "a CDATA section does not end");
        } else if (begins(&r, "<!")) {
            damaged(&r, "a declaration is inside an element");
        } else if (begins(&r, "<")) {
            r.at++;
            xml_node *child = ARENA_NEW(a, xml_node);
            add_child(parent, child);
            if (read_tag(&r, child))
                continue;
            if (depth == XML_MAX_DEPTH)
                damaged(&r, "elements are nested more than 128 levels deep");
            open[depth++] = (open_element){.node = child};
        } else {
            read_text(&r, parent);
        }
    }
    skip_beside(&r);
    if (r.at != r.end)
        damaged(&r, "there is text after the root element");
    return root;
}

bool xml_sniff(const uint8_t *bytes, size_t size, const char *root)
{
    enum { LOOKED_AT = 4096 };
    reader r = {.at = (const char *)bytes};
    r.end = r.at + (size < LOOKED_AT ? size : LOOKED_AT);
    if (begins(&r, "\xef\xbb\xbf"))
        r.at += 3;
    for (;;) {
        skip_space(&r);
        bool is_comment = begins(&r, "<!--");
        if (!is_comment && !begins(&r, "<?"))
            break;
        while (r.at < r.end && !begins(&r, is_comment ? "-->" : "?>"))
            r.at++;
        r.at += r.end - r.at >= 3 ? is_comment ? 3 : 2 : r.end - r.at;
    }
    if (!begins(&r, "<"))
        return false;
    r.at++;
    size_t length = strlen(root);
    return begins(&r, root) && (size_t)(r.end - r.at) > length && ends_name(r.at[length]);
}

const xml_node *xml_get(const xml_node *n, const char *name)
{
    for (const xml_node *child = xml_first(n); child; child = child->next)
        if (str_is(child->name, name))
            return child;
    return NULL;
}

str xml_attr_of(const xml_node *n, const char *name)
{
    for (int32_t i = 0; n && i < n->attr_count; i++)
        if (str_is(n->attrs[i].name, name))
            return n->attrs[i].value;
    return (str){0};
}
