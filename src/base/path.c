#include "base/path.h"

static bool is_separator(char c)
{
    return c == '/' || c == '\\'; /* backslash separates directories on Windows */
}

bool path_leads_out(str path)
{
    if (path.len == 0)
        return false;
    if (is_separator(path.ptr[0]) || (path.len > 1 && path.ptr[1] == ':') || memchr(path.ptr, '\0', path.len))
        return true;
    for (size_t start = 0, i = 0; i <= path.len; i++)
        if (i == path.len || is_separator(path.ptr[i])) {
            if (i - start == 2 && memcmp(path.ptr + start, "..", 2) == 0)
                return true;
            start = i + 1;
        }
    return false;
}

str path_stem(str path)
{
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    size_t begin = path.len;
    while (begin > 0 && path.ptr[begin - 1] != '/')
        begin--;
    str name = {path.ptr + begin, path.len - begin};
    if (str_ends(name, ".gz"))
        name.len -= strlen(".gz");
    for (size_t i = name.len; i > 1; i--)
        if (name.ptr[i - 1] == '.')
            return (str){name.ptr, i - 1};
    return name;
}
