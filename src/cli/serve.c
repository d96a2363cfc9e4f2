/* serve.c: `sooth serve`: the page and the predictions over HTTP. */
#include "serve/serve.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void help(const option *options, size_t count)
{
    puts("usage: sooth serve [OPTION]...\n\n"
         "Answers over HTTP: the page at /, predictions under /v1/ (POST a file, or JSON that names a network of the\n"
         "zoo; /v1/openapi.json describes all of it), /metrics for Prometheus. Files are read in memory and never\n"
         "written. SIGTERM ends it after the requests that run.\n\nOptions:");
    options_help(options, count);
    puts("\nExamples:\n"
         "  sooth serve --port 8080\n"
         "  curl --data-binary @model.onnx 'http://127.0.0.1:8080/v1/predict?gpu=h100,l4&batch=32'\n"
         "  curl -H 'Content-Type: application/json' -d '{\"model\": \"zoo:resnet50\", \"gpu\": \"h100\"}' \\\n"
         "      http://127.0.0.1:8080/v1/predict");
}

/* The page beside the program: in the build directory, or installed. NULL: there is none. */
static const char *find_page(char *room, size_t size)
{
    static const char *const PLACES[] = {"web", "../share/sooth/web"};
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    while (length > 0 && program[length - 1] != '/')
        length--;
    for (size_t i = 0; length > 0 && i < sizeof PLACES / sizeof *PLACES; i++) {
        int needed = snprintf(room, size, "%.*s%s/index.html", (int)length, program, PLACES[i]);
        if (needed > 0 && (size_t)needed < size && access(room, R_OK) == 0) {
            room[(size_t)needed - sizeof "/index.html" + 1] = '\0';
            return room;
        }
    }
    return NULL;
}

int serve_main(int argc, char **argv)
{
    int64_t port = 8080, most_mib = 256, keep_mib = 512, threads = 0;
    const char *address = "127.0.0.1", *page = NULL;
    bool is_quiet = false;
    const option options[] = {
        {.name = "port",
         .kind = OPTION_NUMBER,
         .target = &port,
         .least = 0,
         .most = 65535,
         .argument = "N",
         .help = "port (default 8080; 0: any free one)"},
        {.name = "bind",
         .kind = OPTION_TEXT,
         .target = &address,
         .argument = "ADDRESS",
         .help = "address to listen on (default 127.0.0.1: this machine alone)"},
        {.name = "max-mib",
         .kind = OPTION_NUMBER,
         .target = &most_mib,
         .least = 1,
         .most = 65536,
         .argument = "N",
         .help = "largest body of a request (default 256 MiB)"},
        {.name = "keep-mib",
         .kind = OPTION_NUMBER,
         .target = &keep_mib,
         .least = 0,
         .most = 1 << 20,
         .argument = "N",
         .help = "models that stay loaded for further questions (default 512 MiB)"},
        {.name = "threads",
         .kind = OPTION_NUMBER,
         .target = &threads,
         .least = 1,
         .most = 1024,
         .argument = "N",
         .help = "threads that predict (default: one per core)"},
        {.name = "page",
         .kind = OPTION_TEXT,
         .target = &page,
         .argument = "DIRECTORY",
         .help = "files of the page (default: those beside the program)"},
        {.name = "quiet", .kind = OPTION_FLAG, .target = &is_quiet, .help = "no line for each request"},
    };
    int code;
    if (options_done("serve", options, sizeof options / sizeof *options, &argc, argv, help, &code))
        return code;
    if (argc > 1)
        return cli_usage("serve", "no file is needed: clients send them; omit '%.60s'", argv[1]);
    char room[4200];
    const serve_options serve = {.port = (uint16_t)port,
                                 .bind = address,
                                 .most_body_bytes = (size_t)most_mib << 20,
                                 .kept_bytes = (size_t)keep_mib << 20,
                                 .workers = threads ? (size_t)threads : threads_available(),
                                 .is_quiet = is_quiet,
                                 .page = page ? page : find_page(room, sizeof room)};
    return serve_run(&serve);
}
