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
         "written. SIGTERM ends it after the running requests.\n\nOptions:");
    options_help(options, count);
    puts("\nExamples:\n"
         "  sooth serve --port 8080\n"
         "  curl --data-binary @model.onnx 'http://127.0.0.1:8080/v1/predict?gpu=h100,l4&batch=32'\n"
         "  curl -H 'Content-Type: application/json' -d '{\"model\": \"zoo:resnet50\", \"gpu\": \"h100\"}' \\\n"
         "      http://127.0.0.1:8080/v1/predict");
}

/* Finds the files of the page: in the build directory beside the program, or installed. Returns NULL if there are
 * none. */
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
        NUMBER_OPTION("port", &port, "N", 0, 65535, "port (default 8080; 0: any free one)"),
        TEXT_OPTION("bind", &address, "ADDRESS", "address to listen on (default 127.0.0.1: this machine alone)"),
        NUMBER_OPTION("max-mib", &most_mib, "N", 1, 65536, "largest body of a request (default 256 MiB)"),
        NUMBER_OPTION("keep-mib", &keep_mib, "N", 0, 1 << 20,
                      "models that stay loaded for further questions (default 512 MiB)"),
        NUMBER_OPTION("threads", &threads, "N", 1, 1024, "threads that predict (default: one per core)"),
        TEXT_OPTION("page", &page, "DIRECTORY", "files of the page (default: those beside the program)"),
        FLAG_OPTION("quiet", &is_quiet, "no line for each request"),
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
