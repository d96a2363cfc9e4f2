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
