/* path.h: names in paths, and checks of file names that a model file contains. Sooth does not open those files, but
 * other programs might. */
#ifndef SOOTH_BASE_PATH_H
#define SOOTH_BASE_PATH_H

#include "base/str.h"

/* True if the name leads out of its directory: it is absolute, or contains ".." or a NUL. */
bool path_leads_out(str path);
/* Returns the last part without its ending and ".gz": "resnet50" for "models/resnet50.onnx.gz". */
str path_stem(str path);

#endif
