/* http.c: HTTP of `sooth serve`, by libmicrohttpd. One thread reads and writes all connections. A whole request goes to
 * a worker, and its connection sleeps until the answer is there, so slow clients and long answers delay nobody else. */
#include "serve/serve.h"

#ifdef SOOTH_MICROHTTPD

#include "report/json.h"
#include "serve/jobs.h"
#include "serve/metrics.h"
#include "serve/page.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_PAIRS = 64,
    MOST_WAITING = 1024, /* waiting requests; further ones get status 503 */
    MOST_CONNECTIONS = 4096,
    IDLE_S = 20,           /* seconds without data before a connection is closed */
    MOST_UPLOAD_S = 120,   /* seconds for a whole body */
    BODIES_IN_FLIGHT = 4,  /* Limit on the bodies of all requests together, in units of the largest body. */
    SMALL_BODY = 64 << 10, /* smaller bodies are accepted beyond that limit */
    STOP_S = 10,
    PEER_ROOM = 64,
    URL_ROOM = 200,
};

typedef struct server {
    const serve_options *options;
    kept *kept;
    metrics *metrics;
    jobs *jobs;
    page page;
    answerer *answerers;
    void **states; /* One answerer per worker. */
    struct MHD_Daemon *daemon;
    atomic_size_t running, body_bytes;
    atomic_size_t computing; /* requests that wait for a worker or have one */
    atomic_bool stops;
    bool is_loopback;
} server;

/* One request and its answer. */
typedef struct exchange {
    job job; /* first member, so that a job can be cast to an exchange */
    server *server;
    struct MHD_Connection *connection;
    request request;
    response response;
    pair pairs[MOST_PAIRS];
    struct timespec began;
    size_t body_room, bytes_in;
    bool is_too_large, is_crowded, is_queued;
    bool is_computed; /* A worker has computed the answer. */
    unsigned status;
    size_t bytes_out;
    char method[8], url[URL_ROOM], peer[PEER_ROOM];
} exchange;

extern const char serve_openapi[] __attribute__((visibility("hidden")));

static double seconds_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + (double)(now.tv_nsec - then->tv_nsec) / 1e9;
}

/* ---- routes ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *path, *method;
    route route;
} ROUTES[] = {
    {"/v1/predict", "POST", ROUTE_PREDICT}, {"/v1/inspect", "POST", ROUTE_INSPECT},    {"/v1/mig", "POST", ROUTE_MIG},
    {"/v1/convert", "POST", ROUTE_CONVERT}, {"/v1/batch", "POST", ROUTE_BATCH},        {"/v1/gpus", "GET", ROUTE_GPUS},
    {"/v1/zoo", "GET", ROUTE_ZOO},          {"/healthz", "GET", ROUTE_HEALTH},         {"/readyz", "GET", ROUTE_HEALTH},
    {"/metrics", "GET", ROUTE_METRICS},     {"/v1/openapi.json", "GET", ROUTE_OPENAPI}};

/* Returns the method that the path accepts; NULL if there is no such path. */
static const char *find_route(const server *s, const char *url, route *found)
{
    for (size_t i = 0; i < sizeof ROUTES / sizeof *ROUTES; i++)
        if (strcmp(ROUTES[i].path, url) == 0) {
            *found = ROUTES[i].route;
            return ROUTES[i].method;
        }
    *found = page_find(&s->page, url) || strcmp(url, "/") == 0 ? ROUTE_PAGE : ROUTE_NONE;
    return *found == ROUTE_PAGE ? "GET" : NULL;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void add_header(struct MHD_Response *r, const char *name, const char *value)
{
    MHD_add_response_header(r, name, value);
}

static void add_headers(const exchange *x, struct MHD_Response *r)
{
    add_header(r, "X-Content-Type-Options", "nosniff");
    add_header(r, "Referrer-Policy", "no-referrer");
    add_header(r, "X-Frame-Options", "DENY");
    add_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    add_header(r, "Content-Security-Policy",
               x->request.route == ROUTE_PAGE
                   ? "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
                     "img-src 'self' data: blob:; worker-src 'self'; object-src 'none'; base-uri 'none'; "
                     "form-action 'none'; frame-ancestors 'none'"
                   : "default-src 'none'; frame-ancestors 'none'");
    add_header(r, "Cache-Control", x->request.route == ROUTE_PAGE ? "no-cache" : "no-store");
    if (x->response.type)
        add_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, x->response.type);
    if (x->response.digest[0])
        add_header(r, "X-Sooth-Model", x->response.digest);
    if (x->status == 503)
        add_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    if (atomic_load(&x->server->stops))
        add_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* Passes the answer to the daemon; false on failure, which ends the connection. */
static bool queue(exchange *x, struct MHD_Response *r)
{
    if (!r)
        return false;
    add_headers(x, r);
    if (x->status == 405) {
        route ignored;
        add_header(r, MHD_HTTP_HEADER_ALLOW, find_route(x->server, x->url, &ignored));
    }
    bool is_done = MHD_queue_response(x->connection, x->status, r) == MHD_YES;
    MHD_destroy_response(r);
    x->is_queued = is_done;
    return is_done;
}

/* Sends x->response, which takes over its bytes. */
static bool send_response(exchange *x)
{
    x->status = x->response.status ? x->response.status : 503;
    x->bytes_out = x->response.size;
    struct MHD_Response *r =
        MHD_create_response_from_buffer(x->response.size, x->response.bytes, MHD_RESPMEM_MUST_FREE);
    if (r)
        x->response.bytes = NULL;
    return queue(x, r);
}

static bool send_error(exchange *x, unsigned status, const char *code, const char *message)
{
    answer_error(&x->response, status, code, message);
    return send_response(x);
}

/* Sends bytes that live longer than any request. */
static bool send_lasting(exchange *x, const char *type, const char *bytes, size_t size)
{
    x->status = 200;
    x->response.type = type;
    x->bytes_out = size;
    return queue(x, MHD_create_response_from_buffer(size, (void *)bytes, MHD_RESPMEM_PERSISTENT));
}

static bool write_metrics(exchange *x, text *t, fail *f)
{
    if (setjmp(f->jump))
        return false;
    metrics_write(x->server->metrics, x->server->kept, atomic_load(&x->server->running), t);
    return true;
}

static bool send_metrics(exchange *x)
{
    sooth_error error;
    fail f = {.error = &error};
    text t = {.fail = &f};
    bool done = write_metrics(x, &t, &f);
    x->response = (response){.status = 200, .type = "text/plain; version=0.0.4; charset=utf-8"};
    if (text_hand_out(&t, done, &x->response.bytes, &x->response.size) != SOOTH_OK)
        return send_error(x, 503, "system", "out of memory");
    return send_response(x);
}

static bool send_page(exchange *x)
{
    const page_file *file = page_find(&x->server->page, x->url);
    if (file)
        return send_lasting(x, file->type, file->bytes, file->size);
    static const char TEXT[] = "sooth serve: the page is not installed (make web, then --page build/web); the service "
                               "answers under /v1/, see /v1/openapi.json\n";
    return send_lasting(x, "text/plain; charset=utf-8", TEXT, sizeof TEXT - 1);
}

/* ---- work -------------------------------------------------------------------------------------------------------- */

static void free_body(exchange *x)
{
    atomic_fetch_sub(&x->server->body_bytes, x->request.body_size);
    free(x->request.body);
    x->request.body = NULL;
    x->request.body_size = x->body_room = 0;
}

/* Runs in a worker: computes the answer and wakes the connection. */
static void run_job(job *self, void *worker)
{
    exchange *x = (exchange *)self;
    struct MHD_Connection *connection = x->connection;
    answer_request(worker, &x->request, &x->response);
    x->is_computed = true;
    server *s = x->server;
    send_response(x);
    MHD_resume_connection(connection); /* x may be freed from here on */
    atomic_fetch_sub(&s->computing, 1);
}

static bool start_job(exchange *x)
{
    x->job.run = run_job;
    server *s = x->server;
    MHD_suspend_connection(x->connection);
    atomic_fetch_add(&s->computing, 1);
    if (jobs_add(s->jobs, &x->job))
        return true;
    atomic_fetch_sub(&s->computing, 1);
    bool is_sent = send_error(x, 503, "busy", "too many requests wait: try again in a second");
    MHD_resume_connection(x->connection);
    return is_sent;
}

static bool answer_whole(exchange *x)
{
    server *s = x->server;
    if (x->is_too_large)
        return send_error(x, 413, "too_large", "the body is larger than the server takes (--max-mib)");
    if (x->is_crowded)
        return send_error(x, 503, "busy", "too many large bodies at once: try again in a second");
    switch (x->request.route) {
    case ROUTE_HEALTH:
        if (strcmp(x->url, "/readyz") == 0 && atomic_load(&s->stops))
            return send_error(x, 503, "stopping", "the server stops");
        return send_lasting(x, "application/json; charset=utf-8", "{\"status\": \"ok\"}\n", 17);
    case ROUTE_METRICS:
        return send_metrics(x);
    case ROUTE_OPENAPI:
        return send_lasting(x, "application/json; charset=utf-8", serve_openapi, strlen(serve_openapi));
    case ROUTE_PAGE:
        return send_page(x);
    default:
        return start_job(x);
    }
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static enum MHD_Result take_pair(void *of, enum MHD_ValueKind kind, const char *key, const char *value)
{
    exchange *x = of;
    (void)kind;
    if (x->request.pair_count == MOST_PAIRS)
        return MHD_NO;
    x->pairs[x->request.pair_count++] = (pair){key, value ? value : ""};
    return MHD_YES;
}

/* Refuses requests under a foreign host name, because a page of another site could otherwise reach a server on this
 * machine. */
static bool is_own_host(const server *s, const char *host)
{
    static const char *const NAMES[] = {"localhost", "127.0.0.1", "[::1]"};
    if (!s->is_loopback || !host)
        return true;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        size_t length = strlen(NAMES[i]);
        if (strncmp(host, NAMES[i], length) == 0 && (!host[length] || host[length] == ':'))
            return true;
    }
    return false;
}

/* Answers a request that can be refused by its head; returns false if it may continue. Reads a body that is only
 * slightly too large to its end, because many clients read no answer before they have sent everything. */
static bool refuse(exchange *x)
{
    server *s = x->server;
    const char *wanted = find_route(s, x->url, &x->request.route);
    const char *length = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const char *type = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE);
    const char *host = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    bool is_head = strcmp(x->method, "HEAD") == 0;
    x->request.is_json = type && strncmp(type, "application/json", strlen("application/json")) == 0;
    if (!is_own_host(s, host))
        send_error(x, 403, "forbidden", "the server answers on this machine alone: use localhost");
    else if (!wanted)
        send_error(x, 404, "not_found", "there is no such path: /v1/openapi.json lists them");
    else if (strcmp(wanted, x->method) != 0 && !(is_head && strcmp(wanted, "GET") == 0))
        send_error(x, 405, "method", "this path takes another method, see the header Allow");
    else if (atomic_load(&s->stops) && x->request.route != ROUTE_HEALTH)
        send_error(x, 503, "stopping", "the server stops");
    else if (length && strtoull(length, NULL, 10) > 2 * s->options->most_body_bytes)
        send_error(x, 413, "too_large", "the body is larger than the server takes (--max-mib)");
    else if (type && strncmp(type, "multipart/", strlen("multipart/")) == 0)
        send_error(x, 415, "type", "send the file itself as the body (curl --data-binary @FILE), not a form");
    else if (MHD_get_connection_values(x->connection, MHD_GET_ARGUMENT_KIND, take_pair, x) > MOST_PAIRS)
        send_error(x, 400, "usage", "the query has more than 64 options");
    return x->is_queued;
}

static void describe_peer(exchange *x)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    snprintf(x->peer, sizeof x->peer, "?");
    if (address && address->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, x->peer, sizeof x->peer);
    else if (address && address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, x->peer, sizeof x->peer);
}

static exchange *begin(server *s, struct MHD_Connection *connection, const char *url, const char *method)
{
    exchange *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    x->server = s;
    x->connection = connection;
    x->request.pairs = x->pairs;
    clock_gettime(CLOCK_MONOTONIC, &x->began);
    snprintf(x->method, sizeof x->method, "%s", method);
    snprintf(x->url, sizeof x->url, "%s", url);
    describe_peer(x);
    atomic_fetch_add(&s->running, 1);
    return x;
}

/* Adds a piece of the body; returns false to end the connection. A refused body is read on, but not kept. */
static bool add_body(exchange *x, const char *bytes, size_t size)
{
    server *s = x->server;
    size_t most = s->options->most_body_bytes, before = x->request.body_size;
    if (seconds_since(&x->began) > MOST_UPLOAD_S)
        return false;
    x->bytes_in += size;
    x->is_too_large = x->is_too_large || x->bytes_in > most;
    x->is_crowded =
        x->is_crowded || (before + size > SMALL_BODY && atomic_load(&s->body_bytes) + size > BODIES_IN_FLIGHT * most);
    if (x->is_too_large || x->is_crowded) {
        free_body(x);
        return x->bytes_in <= 2 * most;
    }
    if (before + size > x->body_room) {
        size_t room = 2 * (before + size) < (size_t)4 << 10 ? (size_t)4 << 10 : 2 * (before + size);
        char *grown = realloc(x->request.body, room);
        if (!grown)
            return false;
        x->request.body = grown;
        x->body_room = room;
    }
    memcpy((char *)x->request.body + before, bytes, size);
    x->request.body_size += size;
    atomic_fetch_add(&s->body_bytes, size);
    return true;
}

static enum MHD_Result handle(void *of, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *size, void **state)
{
    exchange *x = *state;
    (void)version;
    if (!x) {
        *state = x = begin(of, connection, url, method);
        if (!x)
            return MHD_NO;
        refuse(x);
        return MHD_YES;
    }
    if (x->is_queued) {
        *size = 0;
        return MHD_YES;
    }
    if (*size) {
        bool goes_on = add_body(x, data, *size);
        *size = 0;
        return goes_on ? MHD_YES : MHD_NO;
    }
    /* Out of memory: the answer cannot be sent. Ends the connection, because the body is already consumed. */
    if (x->is_computed)
        return MHD_NO;
    return answer_whole(x) ? MHD_YES : MHD_NO;
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

static bool write_log(const exchange *x, text *t, double seconds, fail *f)
{
    if (setjmp(f->jump))
        return false;
    char when[32];
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    json writer = {.out = t}, *j = &writer;
    json_open(j, '{', true);
    json_pair_string(j, "time", when);
    json_pair_string(j, "peer", x->peer);
    json_pair_string(j, "method", x->method);
    json_pair_string(j, "path", x->url);
    json_pair_number(j, "status", x->status);
    json_pair_real(j, "ms", seconds * 1e3);
    json_pair_number(j, "bytes_in", (int64_t)x->bytes_in);
    json_pair_number(j, "bytes_out", (int64_t)x->bytes_out);
    json_close(j, '}');
    text_puts(t, "\n");
    return true;
}

static void finish(void *of, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode why)
{
    server *s = of;
    exchange *x = *state;
    (void)connection;
    (void)why;
    if (!x)
        return;
    double seconds = seconds_since(&x->began);
    metrics_add(s->metrics, x->request.route, x->status, seconds, x->bytes_in, x->bytes_out);
    if (!s->options->is_quiet) {
        sooth_error error;
        fail f = {.error = &error};
        text line = {.fail = &f};
        if (write_log(x, &line, seconds, &f))
            fwrite(line.bytes, 1, line.size, stderr);
        free(line.bytes);
    }
    free_body(x);
    free(x->response.bytes);
    free(x);
    *state = NULL;
    atomic_fetch_sub(&s->running, 1);
}

/* ---- the server -------------------------------------------------------------------------------------------------- */

static int complain(sooth_status code, const char *what, const char *why)
{
    fprintf(stderr, "sooth serve: %s: %s\n", what, why);
    return code;
}

static bool open_workers(server *s)
{
    size_t count = s->options->workers;
    s->answerers = calloc(count, sizeof *s->answerers);
    s->states = calloc(count, sizeof *s->states);
    if (!s->answerers || !s->states)
        return false;
    for (size_t i = 0; i < count; i++) {
        sooth_error error;
        s->answerers[i].kept = s->kept;
        s->states[i] = &s->answerers[i];
        if (sooth_gpus_open(NULL, &s->answerers[i].gpus, &error) != SOOTH_OK)
            return false;
    }
    s->jobs = jobs_open(count, s->states, MOST_WAITING);
    return s->jobs != NULL;
}

static void close_server(server *s)
{
    if (s->jobs)
        jobs_close(s->jobs);
    if (s->daemon)
        MHD_stop_daemon(s->daemon);
    for (size_t i = 0; s->answerers && i < s->options->workers; i++)
        sooth_gpus_free(s->answerers[i].gpus);
    free(s->answerers);
    free(s->states);
    kept_close(s->kept);
    metrics_close(s->metrics);
    page_free(&s->page);
}

/* Number of connections: as many as this process may open files, less a reserve. */
static unsigned connections(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return 256;
    files.rlim_cur = files.rlim_max < MOST_CONNECTIONS + 64 ? files.rlim_max : MOST_CONNECTIONS + 64;
    setrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur > 128 ? (unsigned)files.rlim_cur - 64 : 64;
}

static bool listen_on(server *s, struct sockaddr_storage *address)
{
    const serve_options *o = s->options;
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
    unsigned flags = MHD_USE_EPOLL_INTERNALLY | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    if (inet_pton(AF_INET, o->bind, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(o->port);
        s->is_loopback = ntohl(four->sin_addr.s_addr) >> 24 == 127;
    } else if (inet_pton(AF_INET6, o->bind, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(o->port);
        s->is_loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
        flags |= MHD_USE_IPv6;
    } else {
        errno = EINVAL;
        return false;
    }
    s->daemon = MHD_start_daemon(
        flags, o->port, NULL, NULL, handle, s, MHD_OPTION_SOCK_ADDR, address, MHD_OPTION_CONNECTION_LIMIT,
        connections(), MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_NOTIFY_COMPLETED, finish, s,
        MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    return s->daemon != NULL;
}

static void announce(const server *s)
{
    const union MHD_DaemonInfo *port = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    bool is_six = strchr(s->options->bind, ':') != NULL;
    fprintf(stderr, "sooth serve: http://%s%s%s:%u/\n", is_six ? "[" : "", s->options->bind, is_six ? "]" : "",
            (unsigned)(port ? port->port : s->options->port));
    if (!s->is_loopback)
        fprintf(stderr,
                "sooth serve: other machines can reach this address; there is no password and no encryption. Put a "
                "proxy with both before it, or use --bind 127.0.0.1\n");
}

/* Accepts no new connections and lets running requests finish; then slow clients have STOP_S. */
static void stop(server *s)
{
    atomic_store(&s->stops, true);
    MHD_socket listening = MHD_quiesce_daemon(s->daemon);
    struct timespec began;
    clock_gettime(CLOCK_MONOTONIC, &began);
    while (atomic_load(&s->running) && seconds_since(&began) < STOP_S) {
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
        if (atomic_load(&s->computing))
            clock_gettime(CLOCK_MONOTONIC, &began);
    }
    if (listening != MHD_INVALID_SOCKET)
        close(listening);
}

static int run(server *s, sigset_t *ends)
{
    const serve_options *o = s->options;
    struct sockaddr_storage address = {0};
    int wrong = o->page ? page_read(&s->page, o->page) : 0;
    if (wrong)
        return complain(SOOTH_ERROR_INPUT, o->page, strerror(wrong));
    s->kept = kept_open(o->kept_bytes);
    s->metrics = metrics_open();
    if (!s->kept || !s->metrics || !open_workers(s))
        return complain(SOOTH_ERROR_SYSTEM, "start", "out of memory");
    if (!listen_on(s, &address))
        return errno == EINVAL
                   ? complain(SOOTH_ERROR_USAGE, o->bind, "--bind takes an address such as 127.0.0.1 or ::1")
                   : complain(SOOTH_ERROR_SYSTEM, o->bind, strerror(errno));
    announce(s);
    int signal;
    sigwait(ends, &signal);
    fprintf(stderr, "sooth serve: stops\n");
    stop(s);
    return SOOTH_OK;
}

int serve_run(const serve_options *options)
{
    server *s = calloc(1, sizeof *s);
    if (!s)
        return complain(SOOTH_ERROR_SYSTEM, "start", "out of memory");
    s->options = options;
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    /* set before any thread starts, because the main thread waits for these signals */
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    int code = run(s, &ends);
    close_server(s);
    free(s);
    return code;
}

#else

#include "sooth.h"

#include <stdio.h>

int serve_run(const serve_options *options)
{
    (void)options;
    fputs("sooth serve: this program was built without libmicrohttpd: install libmicrohttpd-dev and build again\n",
          stderr);
    return SOOTH_ERROR_UNSUPPORTED;
}

#endif
