/* path.h: checks file names that a model file contains. Sooth does not open them, but other programs might. */
#ifndef SOOTH_BASE_PATH_H
#define SOOTH_BASE_PATH_H

#include "base/str.h"

/* Does the name lead out of its directory: is it absolute, or does it contain ".." or a NUL? */
bool path_leads_out(str path);

#endif
