/* hosts.c: the public functions about hosts. Failures to read or find them are caught here. */
#include "base/nearest.h"
#include "device/host.h"

#include <math.h>
#include <stdlib.h>

static const size_t ARENA_CAP = (size_t)16 << 20;

static sooth_status fill(host_list *list)
{
    if (setjmp(list->fail.jump))
        return list->fail.error->code;
    host_list_add_shipped(list);
    return SOOTH_OK;
}

sooth_status sooth_hosts_open(sooth_hosts **hosts, sooth_error *error)
{
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    *hosts = NULL;
    host_list *list = calloc(1, sizeof *list);
    if (!list)
        return error_say(e, SOOTH_ERROR_SYSTEM, "out of memory");
    list->fail.error = e;
    list->map.descriptor = -1;
    arena_init(&list->arena, &list->fail, ARENA_CAP);
    sooth_status status = fill(list);
    list->fail.error = NULL;
    if (status == SOOTH_OK)
        *hosts = list;
    else
        sooth_hosts_free(list);
    return status;
}

void sooth_hosts_free(sooth_hosts *hosts)
{
    if (!hosts)
        return;
    file_close(&hosts->map);
    arena_free(&hosts->arena);
    free(hosts);
}

size_t sooth_hosts_count(const sooth_hosts *hosts)
{
    return (size_t)hosts->hosts.count;
}

const sooth_host *sooth_hosts_at(const sooth_hosts *hosts, size_t index)
{
    return index < sooth_hosts_count(hosts) ? hosts->hosts.items[index] : NULL;
}

static bool is_path(str name)
{
    return memchr(name.ptr, '/', name.len) || str_ends(name, ".txt");
}

static sooth_status find(host_list *list, const char *name, const sooth_host **found)
{
    str wanted = str_of(name);
    if (setjmp(list->fail.jump)) {
        file_close(&list->map);
        return list->fail.error->code;
    }
    *found = is_path(wanted) ? host_list_read_file(list, name) : host_list_find(list, wanted);
    if (*found)
        return SOOTH_OK;
    nearest near = nearest_to(wanted);
    for (int32_t i = 0; i < list->hosts.count; i++)
        nearest_try(&near, list->hosts.items[i]->texts[HOST_NAME]);
    if (near.best.len)
        fail_with(&list->fail, SOOTH_ERROR_USAGE, "there is no host '%.60s'; did you mean '%.*s'?", name,
                  STR_ARG(near.best));
    fail_with(&list->fail, SOOTH_ERROR_USAGE,
              "there is no host '%.60s'; name one of those that `sooth train-phase --hosts` lists, or the path of a "
              "host file",
              name);
}

sooth_status sooth_hosts_find(sooth_hosts *hosts, const char *name, const sooth_host **host, sooth_error *error)
{
    sooth_error own;
    *host = NULL;
    hosts->fail.error = error_or(error, &own);
    sooth_status status = find(hosts, name, host);
    hosts->fail.error = NULL;
    return status;
}

const char *sooth_host_field(size_t index)
{
    return index < HOST_FIELD_COUNT ? host_fields()[index].key : NULL;
}

const char *sooth_host_field_summary(size_t index)
{
    return index < HOST_FIELD_COUNT ? host_fields()[index].summary : NULL;
}

static host_field field_of(const char *name)
{
    int i = 0;
    while (i < HOST_FIELD_COUNT && strcmp(name, host_fields()[i].key) != 0)
        i++;
    return (host_field)i;
}

const char *sooth_host_text(const sooth_host *host, const char *field)
{
    host_field i = field_of(field);
    return i < HOST_FIRST_NUMBER ? host->texts[i].ptr : NULL;
}

double sooth_host_number(const sooth_host *host, const char *field)
{
    host_field i = field_of(field);
    return i >= HOST_FIRST_NUMBER && i < HOST_FIELD_COUNT ? host->numbers[i] : NAN;
}

const char *sooth_host_origin(const sooth_host *host, const char *field)
{
    host_field i = field_of(field);
    return i < HOST_FIELD_COUNT && host->origins[i].ptr ? host->origins[i].ptr : "";
}
