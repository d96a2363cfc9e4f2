/* shape_resize.c: shapes of operators that resize, sample or rearrange images: Resize, grids, regions of interest,
 * blocks. */
#include "graph/shape/shape_nn.h"

#include <math.h>

enum { LARGEST_SIZE = 1 << 30 };

/* Rounds to the nearest integer, halves up; NUM_UNKNOWN for an invalid size. */
static num rounded(float size)
{
    return size >= 0 && size < (float)LARGEST_SIZE ? (num)floorf(size + 0.5f) : NUM_UNKNOWN;
}

/* floor(size * scale) in single precision, as runtimes compute it. A symbolic size is scaled if the scale is a small
 * fraction. */
static num scaled(infer *c, num size, double scale)
{
    enum { MAX_DENOMINATOR = 16 };
    if (!(scale > 0) || scale > 1e6)
        return NUM_UNKNOWN;
    if (dim_known(size)) {
        float product = (float)scale * (float)size;
        return product < (float)LARGEST_SIZE ? (num)product : NUM_UNKNOWN;
    }
    for (int denominator = 1; denominator <= MAX_DENOMINATOR; denominator++) {
        double numerator = scale * denominator;
        if (numerator == floor(numerator) && numerator > 0)
            return num_floordiv(c->nums, num_mul(c->nums, size, (num)numerator), denominator);
    }
    return NUM_UNKNOWN;
}

/* Returns the axes of scales or sizes: all, or those of the attribute. False if they are invalid. */
static bool resized_axes(infer *c, int rank, int *axes, int32_t *count)
{
    const int64_t *given = attr_ints(c, "axes", count);
    if (!given) {
        *count = rank;
        for (int i = 0; i < rank; i++)
            axes[i] = i;
        return true;
    }
    if (*count > rank)
        return false;
    for (int32_t i = 0; i < *count; i++)
        if ((axes[i] = axis_of(c, given[i], rank)) < 0)
            return false;
    return true;
}

/* A region of interest (tf_crop_and_resize) should scale the size too, but neither ONNX's shape inference nor ONNX
 * Runtime does so. */
static void resize_by_scales(infer *c, const value *x, const double *scales, const int *axes, int32_t count)
{
    num dims[MAX_RANK];
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    for (int32_t i = 0; i < count; i++)
        dims[axes[i]] = scaled(c, x->dims[axes[i]], scales[i]);
    set_shape(c, 0, x->rank, dims);
}

static void resize_to_sizes(infer *c, const value *x, const num *sizes, const int *axes, int32_t count)
{
    num dims[MAX_RANK];
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    str policy = attr_string(c, "keep_aspect_ratio_policy", "stretch");
    bool fits = str_is(policy, "not_larger"), covers = str_is(policy, "not_smaller");
    float scale = fits ? INFINITY : 0;
    for (int32_t i = 0; i < count && (fits || covers); i++) {
        num size = x->dims[axes[i]];
        bool is_known = dim_known(size) && size > 0 && dim_known(sizes[i]);
        float ratio = is_known ? (float)sizes[i] / (float)size : NAN;
        scale = fits ? fminf(scale, ratio) : fmaxf(scale, ratio);
        if (!is_known)
            scale = NAN;
        if (isnan(scale))
            break;
    }
    for (int32_t i = 0; i < count; i++) {
        int axis = axes[i];
        if (fits || covers)
            dims[axis] = rounded(scale * (float)x->dims[axis]);
        else if (c->net->batch_from && axis == 0 && sizes[i] == c->net->batch_from && dims[0] == c->net->batch_to)
            continue; /* the file's fixed batch is being replaced */
        else
            dims[axis] = sizes[i];
    }
    set_shape(c, 0, x->rank, dims);
}

void shape_resize(infer *c)
{
    const value *x = ranked_input(c, 0);
    if (!x)
        return;
    bool old = c->node->opset < 11 && c->node->input_count < 3;
    int axes[MAX_RANK];
    int32_t axis_count, count;
    if (!resized_axes(c, x->rank, axes, &axis_count)) {
        set_rank_only(c, 0, x->dtype, x->rank);
        return;
    }
    const double *scales = const_reals(c, old ? 1 : 2, &count);
    if (scales && count > 0 && count == axis_count) {
        resize_by_scales(c, x, scales, axes, axis_count);
        return;
    }
    const num *sizes = old ? NULL : const_ints(c, 3, &count);
    if (sizes && count > 0 && count == axis_count) {
        resize_to_sizes(c, x, sizes, axes, axis_count);
        return;
    }
    num dims[MAX_RANK];
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    for (int32_t i = 0; i < axis_count; i++)
        dims[axes[i]] = NUM_UNKNOWN;
    set_shape(c, 0, x->rank, dims);
}

/* Scales are two attributes in operator set 1, one attribute in 7, and an input since 9. */
void shape_upsample(infer *c)
{
    const value *x = ranked_input(c, 0);
    if (!x)
        return;
    const attr *given = node_attr(c->node, "scales");
    int32_t count = 0;
    const double *scales = NULL;
    double old_scales[4] = {1, 1, attr_real(c, "height_scale", 0), attr_real(c, "width_scale", 0)};
    if (given && given->kind == ATTR_FLOATS) {
        scales = given->reals;
        count = given->count;
    } else if (in(c, 1)) {
        scales = const_reals(c, 1, &count);
    } else if (old_scales[2] > 0) {
        scales = old_scales;
        count = 4;
    }
    if (!scales || count != x->rank) {
        set_rank_only(c, 0, x->dtype, x->rank);
        return;
    }
    num dims[MAX_RANK];
    for (int i = 0; i < x->rank; i++)
        dims[i] = scaled(c, x->dims[i], scales[i]);
    set_shape(c, 0, x->rank, dims);
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static void move_blocks(infer *c, bool to_space)
{
    const value *x = in(c, 0);
    if (!x)
        return;
    set_dtype(c, 0, x->dtype);
    int64_t block = attr_int(c, "blocksize", 0);
    if (x->rank < 3 || block < 1 || block > INT32_MAX)
        return;
    bool channels_last = attr_int(c, "channels_last", 0) != 0;
    num area = 1, dims[MAX_RANK];
    dims[0] = x->dims[0];
    int channel = channels_last ? x->rank - 1 : 1;
    for (int i = 1; i < x->rank; i++) {
        if (i == channel)
            continue;
        area = num_mul(c->nums, area, block);
        dims[i] = to_space ? num_mul(c->nums, x->dims[i], block) : num_floordiv(c->nums, x->dims[i], block);
    }
    num channels = x->dims[channel];
    if (to_space && dim_known(channels) && dim_known(area) && channels % area != 0)
        complain(c, "%lld channels do not divide into blocks of %lld", (long long)channels, (long long)area);
    dims[channel] = to_space ? num_floordiv(c->nums, channels, area) : num_mul(c->nums, channels, area);
    set_shape(c, 0, x->rank, dims);
}

void shape_depth_to_space(infer *c)
{
    move_blocks(c, true);
}

void shape_space_to_depth(infer *c)
{
    move_blocks(c, false);
}

/* (N, C * product(block), L) and the image's shape → (N, C, image…). */
void shape_col2im(infer *c)
{
    const value *x = in(c, 0);
    if (!x)
        return;
    set_dtype(c, 0, x->dtype);
    int32_t image_count, block_count;
    const num *image = const_ints(c, 1, &image_count), *block = const_ints(c, 2, &block_count);
    if (x->rank != 3 || !image || image_count < 1 || image_count > MAX_RANK - 2)
        return;
    num dims[MAX_RANK];
    dims[0] = x->dims[0];
    dims[1] = block ? num_floordiv(c->nums, x->dims[1], num_product(c->nums, block, block_count)) : NUM_UNKNOWN;
    for (int i = 0; i < image_count; i++)
        dims[2 + i] = image[i];
    set_shape(c, 0, image_count + 2, dims);
}

/* ---- grids and regions ----------------------------------------------------------------------------------------- */

void shape_grid_sample(infer *c)
{
    const value *x = in(c, 0), *grid = in(c, 1);
    if (!x || !grid)
        return;
    set_dtype(c, 0, x->dtype);
    int rank = x->rank >= 0 ? x->rank : grid->rank;
    if (rank < 3)
        return;
    num dims[MAX_RANK];
    dims[0] = x->rank >= 0 ? x->dims[0] : grid->dims[0];
    dims[1] = x->rank >= 0 ? x->dims[1] : NUM_UNKNOWN;
    for (int i = 2; i < rank; i++)
        dims[i] = grid->rank == rank ? grid->dims[i - 1] : NUM_UNKNOWN;
    set_shape(c, 0, rank, dims);
}

/* Size (N,C,H,W) gives a grid (N,H,W,2), size (N,C,D,H,W) a grid (N,D,H,W,3). */
void shape_affine_grid(infer *c)
{
    int32_t count;
    const num *size = const_ints(c, 1, &count);
    if (in(c, 0))
        set_dtype(c, 0, in(c, 0)->dtype);
    if (!size || count < 4 || count > 5)
        return;
    num dims[5] = {size[0]};
    for (int i = 2; i < count; i++)
        dims[i - 1] = size[i];
    dims[count - 1] = count - 2;
    set_shape(c, 0, count, dims);
}

static void pool_regions(infer *c, num regions, num height, num width)
{
    const value *x = in(c, 0);
    num dims[4] = {regions, x && x->rank == 4 ? x->dims[1] : NUM_UNKNOWN, height, width};
    set_out(c, 0, x ? x->dtype : DT_UNKNOWN, 4, dims);
}

void shape_max_roi_pool(infer *c)
{
    int32_t count;
    const int64_t *pooled = attr_ints(c, "pooled_shape", &count);
    const value *rois = in(c, 1);
    num regions = rois && rois->rank == 2 ? rois->dims[0] : NUM_UNKNOWN;
    if (pooled && count == 2)
        pool_regions(c, regions, pooled[0], pooled[1]);
}

void shape_roi_align(infer *c)
{
    const value *rois = in(c, 1), *batches = in(c, 2);
    num regions = rois && rois->rank == 2         ? rois->dims[0]
                  : batches && batches->rank == 1 ? batches->dims[0]
                                                  : NUM_UNKNOWN;
    pool_regions(c, regions, attr_int(c, "output_height", 1), attr_int(c, "output_width", 1));
}

/* com.microsoft: input 3 is crop_size (height, width). */
void shape_crop_and_resize(infer *c)
{
    const value *rois = in(c, 1);
    int32_t count;
    const num *size = const_ints(c, 3, &count);
    bool is_known = size && count == 2;
    pool_regions(c, rois && rois->rank == 2 ? rois->dims[0] : NUM_UNKNOWN, is_known ? size[0] : NUM_UNKNOWN,
                 is_known ? size[1] : NUM_UNKNOWN);
}

/* Dropout's mask has the data's type before operator set 10. */
void shape_dropout(infer *c)
{
    const value *x = in(c, 0);
    set_like(c, 0, x);
    if (x)
        set_out(c, 1, c->node->opset >= 10 ? DT_BOOL : x->dtype, x->rank, x->dims);
}
