/* torch_archive.h: the kinds of PyTorch's ZIP archives, for torch_archive.c. */
#ifndef SOOTH_FRONT_TORCH_TORCH_ARCHIVE_H
#define SOOTH_FRONT_TORCH_TORCH_ARCHIVE_H

#include "base/zip.h"
#include "graph/build.h"

/* torch_export.c */
bool torch_export_has(const zip *z);
void torch_export_read(builder *b, zip *z);

/* torch_script.c */
bool torch_script_has(const zip *z);
void torch_script_read(builder *b, zip *z);

#endif
