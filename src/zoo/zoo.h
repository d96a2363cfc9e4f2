/* zoo.h: well-known networks, built straight as graphs. They need no file, so that the program has something to show,
 * tests have networks with published figures, and a search space can be described by code.
 *
 * Each has the symbolic batch N and the layer names of its reference implementation. Weights have a type and a shape only. */
#ifndef SOOTH_ZOO_ZOO_H
#define SOOTH_ZOO_ZOO_H

#include "graph/build.h"

typedef struct zoo_entry {
    const char *name;
    const char *summary;
    void (*build)(builder *b, const struct zoo_entry *entry);
    int variant; /* what `build` makes of it: depth of a ResNet … */
} zoo_entry;

/* The list; *count entries. */
const zoo_entry *zoo_list(size_t *count);

/* Builds the network of that name (without "zoo:") into a builder that build_begin has made. False if there is none. */
bool zoo_build(builder *b, str name);
/* The name that was probably meant; empty if none is near. */
str zoo_nearest(str name);

/* The families (cnn.c, transformer.c). */
void zoo_resnet(builder *b, const zoo_entry *entry);
void zoo_mobilenet_v2(builder *b, const zoo_entry *entry);
void zoo_vgg(builder *b, const zoo_entry *entry);
void zoo_vit(builder *b, const zoo_entry *entry);
void zoo_bert(builder *b, const zoo_entry *entry);

#endif
