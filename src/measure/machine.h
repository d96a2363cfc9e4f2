/* machine.h: peak rates of this machine: floating-point operations and bytes from memory per second. */
#ifndef SOOTH_MEASURE_MACHINE_H
#define SOOTH_MEASURE_MACHINE_H

#include "measure/run.h"

typedef struct machine {
    char cpu[96];
    int cores, threads;
    double peak_flops_s;      /* fused multiply-adds of float32 on all threads */
    double bandwidth_bytes_s; /* a + k b on arrays far larger than the caches */
    double memory_mib;
} machine;

/* Reads name, cores and memory; measures nothing. */
machine machine_of(size_t threads);
/* Measures both peaks with that many threads, in some tenths of a second. Keeps the larger of the old and new
 * values. */
void machine_measure(machine *m, size_t threads, fail *f);

#endif
