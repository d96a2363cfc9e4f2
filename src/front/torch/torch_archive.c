/* torch_archive.c: distinguishes PyTorch files: ZIP archives of torch.export, of TorchScript and of weights
 * (torch.save), and pickles written by torch.save before version 1.6. */
#include "front/torch/torch_archive.h"
#include "front/front.h"

/* The magic number 0x1950a86a20f9469cfc6c as a pickle. */
static const uint8_t LEGACY[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};

static const char HOW_TO_EXPORT[] =
    "holds weights (a state_dict or a pickled module) but no graph; load it in PyTorch and save "
    "torch.export.export(model, (example,)) with torch.export.save(program, 'model.pt2')";

static bool is_legacy(const uint8_t *bytes, size_t size)
{
    return size >= sizeof LEGACY && memcmp(bytes, LEGACY, sizeof LEGACY) == 0;
}

bool torch_sniff(const uint8_t *bytes, size_t size)
{
    return zip_sniff(bytes, size) || is_legacy(bytes, size);
}

void torch_read(builder *b, const uint8_t *bytes, size_t size)
{
    fail *f = &b->model->fail;
    if (is_legacy(bytes, size))
        fail_with(f, SOOTH_ERROR_UNSUPPORTED, "the file %s", HOW_TO_EXPORT);
    zip *z = ARENA_NEW(b->arena, zip);
    zip_open(z, bytes, size, b->arena, f);
    if (torch_export_has(z))
        torch_export_read(b, z);
    else if (torch_script_has(z))
        torch_script_read(b, z);
    else if (zip_find_ending(z, "data.pkl"))
        fail_with(f, SOOTH_ERROR_UNSUPPORTED, "the archive %s", HOW_TO_EXPORT);
    else
        fail_with(f, SOOTH_ERROR_UNSUPPORTED,
                  "a ZIP archive of %d entries without a model that Sooth knows; unpack it and give the model inside",
                  z->count);
}
