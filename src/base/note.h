/* note.h: how a note that is about single layers begins: reports that show no layers leave it out. */
#ifndef SOOTH_BASE_NOTE_H
#define SOOTH_BASE_NOTE_H

#include <stdbool.h>
#include <string.h>

#define LAYERS_NOTE "Utilization of layers above 100 %"

static inline bool note_is_of_layers(const char *note)
{
    return strncmp(note, LAYERS_NOTE, strlen(LAYERS_NOTE)) == 0;
}

#endif
