/* trace.h: events of Chrome's trace format (JSON), for Perfetto and chrome://tracing. */
#ifndef SOOTH_REPORT_TRACE_H
#define SOOTH_REPORT_TRACE_H

#include "report/json.h"

/* Names a process or a track; `what` is "process_name" or "thread_name". */
static inline void trace_name(json *j, const char *what, int64_t process, int64_t track, const char *name)
{
    json_open(j, '{', true);
    json_pair_string(j, "ph", "M");
    json_pair_string(j, "name", what);
    json_pair_number(j, "pid", process);
    json_pair_number(j, "tid", track);
    json_key(j, "args");
    json_open(j, '{', true);
    json_pair_string(j, "name", name);
    json_close(j, '}');
    json_close(j, '}');
}

/* Begins the object of an event; the caller may add members and closes it. */
static inline void trace_event(json *j, int64_t process, int64_t track, const char *name, const char *category,
                               double start_us, double length_us)
{
    json_open(j, '{', true);
    json_pair_string(j, "ph", "X");
    json_pair_string(j, "name", name);
    json_pair_string(j, "cat", category);
    json_pair_number(j, "pid", process);
    json_pair_number(j, "tid", track);
    json_key(j, "ts");
    json_real(j, start_us);
    json_key(j, "dur");
    json_real(j, length_us);
}

#endif
