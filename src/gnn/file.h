/* file.h: files of graph networks: a trained model, and the state of a training.
 *
 * A model is little-endian words of 32 bits:
 *
 *   1. "sooth gnn net 1\0".
 *   2. CRC-32 of everything after this word.
 *   3. Kind, form of the nodes (gnn_features), hidden units, known outputs (bit o: output o), split, seed of the split
 *      (two words), identity of set and split (two words), epochs trained, number of parameters.
 *   4. Scaling: means and scales of values and rows, centres (gnn_scaling).
 *   5. For each output, the 5 % and the 95 % quantile of log(label / output) on the validation labels.
 *   6. The parameters in the order of gnn_layout.
 *
 * A checkpoint is in the machine's byte order: "sooth gnn run 1\0", CRC-32 of the rest, its header, then the
 * parameters, both moments, and the best parameters. */
#ifndef SOOTH_GNN_FILE_H
#define SOOTH_GNN_FILE_H

#include "gnn/trainer.h"

typedef struct gnn_model {
    gnn_features which;
    gnn_layout layout;
    uint32_t outputs; /* bit o: output o was trained */
    gnn_split split;
    uint64_t seed, identity;
    uint32_t epochs;
    gnn_scaling scaling;
    float low[GNN_OUTPUTS], high[GNN_OUTPUTS];
    float *params;
} gnn_model;

/* Returns the bytes of a model file, in `a`. */
str gnn_file_encode(const gnn_model *m, arena *a);
/* Reads a model from bytes into memory of `a`. Fails if they are damaged or no model. */
void gnn_file_decode(str stored, gnn_model *m, arena *a);

/* Writes the state under another name, flushes and renames it. `identity` hashes the set, the split and all options. */
void gnn_file_keep(const char *path, const gnn_trainer *t, uint64_t identity, fail *f);
/* Continues from the file. Returns false if there is none; fails if it is damaged or belongs to another training. */
bool gnn_file_go_on(const char *path, gnn_trainer *t, uint64_t identity, fail *f);

#endif
