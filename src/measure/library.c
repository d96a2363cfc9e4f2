/* library.c: opens a shared library while the program runs. */
#include "measure/library.h"

#include <dlfcn.h>
#include <string.h>

void *library_open(const char *file, const char *package, const library_symbol *symbols, size_t count, void *to,
                   fail *f)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail_with(f, SOOTH_ERROR_UNSUPPORTED, "%s cannot be opened: install %s", file, package);
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(handle, symbols[i].name);
        if (!address) {
            dlclose(handle);
            fail_with(f, SOOTH_ERROR_UNSUPPORTED, "%s has no function %s: install %s", file, symbols[i].name, package);
        }
        memcpy((char *)to + symbols[i].offset, &address, sizeof address);
    }
    return handle;
}

void library_close(void *handle)
{
    if (handle)
        dlclose(handle);
}

bool library_is_there(const char *file)
{
    void *handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (handle)
        dlclose(handle);
    return handle != NULL;
}
