#include "cli/cluster.h"
#include "base/threads.h"
#include "cli/cli.h"

#ifdef SOOTH_MPI

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 1 };

static struct job {
    team team;
    int neighbours; /* Processes on this machine. */
    bool has_agreed, is_working;
    FILE *messages; /* Messages of a process other than 0, until all processes agree. */
    int standard_error;
} job;

/* Sleeps instead of MPI's busy waiting, which would occupy a core that threads need. */
static void wait_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 100 * 1000}, NULL);
}

static void send_result(void *context, const void *data, size_t size)
{
    MPI_Request request;
    int is_done = 0;
    (void)context;
    if (size > INT_MAX) {
        cli_fail(SOOTH_ERROR_UNSUPPORTED, "cluster", "a result of %zu bytes is too large for a message", size);
        MPI_Abort(MPI_COMM_WORLD, SOOTH_ERROR_UNSUPPORTED);
    }
    MPI_Isend(data, (int)size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    for (MPI_Test(&request, &is_done, MPI_STATUS_IGNORE); !is_done; MPI_Test(&request, &is_done, MPI_STATUS_IGNORE))
        wait_a_little();
}

static bool receive_result(void *context, int from, bytes *to)
{
    MPI_Status status;
    int is_there = 0, size;
    (void)context;
    for (MPI_Iprobe(from, TAG, MPI_COMM_WORLD, &is_there, &status); !is_there;
         MPI_Iprobe(from, TAG, MPI_COMM_WORLD, &is_there, &status))
        wait_a_little();
    MPI_Get_count(&status, MPI_BYTE, &size);
    if (to->capacity < (size_t)size) {
        char *data = realloc(to->data, (size_t)size);
        if (!data)
            return false;
        to->data = data;
        to->capacity = (size_t)size;
    }
    to->size = (size_t)size;
    MPI_Recv(to->data, size, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return true;
}

static void share_data(void *context, void *data, size_t size)
{
    (void)context;
    for (size_t at = 0; at < size; at += INT_MAX) {
        size_t piece = size - at < INT_MAX ? size - at : INT_MAX;
        MPI_Bcast((char *)data + at, (int)piece, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
}

/* Holds messages back: all processes meet the same errors, but only one report should appear. */
static void hold_messages(void)
{
    job.messages = tmpfile();
    if (!job.messages)
        return;
    job.standard_error = dup(STDERR_FILENO);
    dup2(fileno(job.messages), STDERR_FILENO);
    if (!freopen("/dev/null", "w", stdout))
        fputs("sooth: cluster: standard output cannot be closed\n", stderr);
}

static void release_messages(bool is_shown)
{
    char piece[4096];
    size_t size;
    if (!job.messages)
        return;
    fflush(stderr);
    dup2(job.standard_error, STDERR_FILENO);
    close(job.standard_error);
    rewind(job.messages);
    while (is_shown && (size = fread(piece, 1, sizeof piece, job.messages)) > 0)
        fwrite(piece, 1, size, stderr);
    fclose(job.messages);
    job.messages = NULL;
}

/* True under mpirun or srun, which tell a program the number of its processes. Otherwise MPI is not initialized. */
static bool is_launched(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE") || getenv("PMIX_RANK");
}

int cluster_begin(bool shares_work)
{
    int given;
    MPI_Comm machine;
    if (!is_launched())
        return SOOTH_OK;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given);
    job.team = (team){.send = send_result, .receive = receive_result, .share = share_data};
    MPI_Comm_rank(MPI_COMM_WORLD, &job.team.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.team.size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &job.neighbours);
    MPI_Comm_free(&machine);
    if (job.team.rank)
        hold_messages();
    if (!shares_work && job.team.size > 1)
        return cli_usage("",
                         "only `dataset make`, `gnn train`, `learn`, `survey` and `sweep` run on several processes");
    return SOOTH_OK;
}

const team *cluster_team(void)
{
    return job.team.size > 1 ? &job.team : NULL;
}

size_t cluster_threads(void)
{
    size_t cores = threads_available(), processes = job.neighbours > 0 ? (size_t)job.neighbours : 1;
    return cores > processes ? cores / processes : 1;
}

int cluster_agree(int code)
{
    if (!cluster_team() || job.has_agreed)
        return code;
    int first = code != SOOTH_OK ? job.team.rank : INT_MAX, agreed;
    MPI_Allreduce(&first, &agreed, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    job.has_agreed = true;
    if (agreed == INT_MAX || agreed == job.team.rank)
        release_messages(agreed == job.team.rank);
    job.is_working = agreed == INT_MAX;
    if (job.is_working)
        return SOOTH_OK;
    MPI_Bcast(&code, 1, MPI_INT, agreed, MPI_COMM_WORLD);
    return code;
}

int cluster_end(int code)
{
    if (!job.team.size)
        return code;
    if (!job.has_agreed)
        code = cluster_agree(code);
    if (job.is_working && code > SOOTH_ANSWER_NO && cluster_team()) {
        fflush(NULL);
        MPI_Abort(MPI_COMM_WORLD, code);
    }
    release_messages(false);
    MPI_Finalize();
    return code;
}

#else

int cluster_begin(bool shares_work)
{
    (void)shares_work;
    return SOOTH_OK;
}

const team *cluster_team(void)
{
    return NULL;
}

size_t cluster_threads(void)
{
    return threads_available();
}

int cluster_agree(int code)
{
    return code;
}

int cluster_end(int code)
{
    return code;
}

#endif
