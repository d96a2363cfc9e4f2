/* path.h: checks file names that a model file contains. Sooth does not open them, but other programs might. */
#ifndef SOOTH_BASE_PATH_H
#define SOOTH_BASE_PATH_H

#include "base/str.h"

/* True if the name leads out of its directory: it is absolute, or contains ".." or a NUL. */
bool path_leads_out(str path);

#endif
