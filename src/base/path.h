/* path.h: names of other files that a model's file gives. Sooth opens none of them, but whoever goes on with the file might. */
#ifndef SOOTH_BASE_PATH_H
#define SOOTH_BASE_PATH_H

#include "base/str.h"

/* Whether a name is not one of a file below the directory that it is meant for: absolute, with a "..", or with a NUL inside. */
bool path_leads_out(str path);

#endif
