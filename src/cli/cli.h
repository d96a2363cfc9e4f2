/* cli.h: shared by all subcommands: errors, output, exit codes (those of sooth_status). */
#ifndef SOOTH_CLI_CLI_H
#define SOOTH_CLI_CLI_H

#include "sooth.h"

typedef struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the subcommand; returns the exit code */
} command;

int inspect_main(int argc, char **argv);
int convert_main(int argc, char **argv);
int predict_main(int argc, char **argv);
int mig_main(int argc, char **argv);
int survey_main(int argc, char **argv);
int nas_main(int argc, char **argv);
int measure_main(int argc, char **argv);
int sweep_main(int argc, char **argv);
int dataset_main(int argc, char **argv);
int train_phase_main(int argc, char **argv);
int choose_main(int argc, char **argv);
int gpus_main(int argc, char **argv);
int zoo_main(int argc, char **argv);
int eval_main(int argc, char **argv);
int learn_main(int argc, char **argv);
int gnn_main(int argc, char **argv);
int serve_main(int argc, char **argv);

/* "sooth: SUBJECT: MESSAGE" on standard error. Returns the code. */
int cli_fail(sooth_status code, const char *subject, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A usage error: the message and a pointer to the help. */
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Opens the GPUs that ship and those of the directory in SOOTH_GPUS. Returns the exit code after printing the error. */
int cli_open_gpus(sooth_gpus **gpus);

/* Writes to the file, or to standard output if path is NULL or "-". The file is renamed from a temporary file, so
 * only a complete one appears. Returns the exit code. A full disk is reported; a closed pipe (`| head`) is not. */
int cli_write(const char *path, const void *bytes, size_t size);
/* Writes a report and frees it, or prints its error. Returns the exit code. */
int cli_report(const char *subject, const char *output, sooth_status status, const sooth_error *error, char *text,
               size_t size);
/* cli_write() in pieces. Set `path` and zero the rest. Nothing is opened before the first piece. cli_end() discards
 * the output unless `done` is set. */
typedef struct cli_output {
    const char *path;
    int file; /* descriptor + 1; 0: not open */
    int error;
    char name[4096]; /* temporary file that is renamed when complete; "" if the path is written directly */
} cli_output;
bool cli_put(void *output, const char *bytes, size_t size);
int cli_end(cli_output *o, bool done);
/* The same for output through stdio. */
int cli_flush(void);

#endif
