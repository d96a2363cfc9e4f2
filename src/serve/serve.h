/* serve.h: `sooth serve`: the page and the predictions over HTTP. */
#ifndef SOOTH_SERVE_SERVE_H
#define SOOTH_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct serve_options {
    uint16_t port;          /* 0: any free port */
    const char *bind;       /* numeric address */
    size_t most_body_bytes; /* limit on the body of a request */
    size_t kept_bytes;      /* limit on the models kept between requests */
    size_t workers;         /* number of threads that predict */
    bool is_quiet;          /* no log of requests */
    const char *page;       /* directory with the files of the web page; NULL if there is none */
} serve_options;

/* Serves until SIGTERM or SIGINT; requests that run then are answered first. Prints its address and one JSON line per
 * request to standard error. Returns an exit code after printing the error. */
int serve_run(const serve_options *options);

#endif
