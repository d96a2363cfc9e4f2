/* alternatives.c: predicts a setting and the settings that bound it. */
#include "predict/alternatives.h"
#include "predict/setting.h"

#include <math.h>

enum { MOST_ALTERNATIVES = 3 };

/* Lists settings whose kernels this one could run. */
static int list_alternatives(const setting *where, lower_options *to)
{
    lower_options o = where->lower;
    int count = 0;
    if (o.mode != MODE_INFER)
        return 0;
    to[0] = to[1] = to[2] = o;
    switch (o.precision) {
    case PRECISION_INT8:
    case PRECISION_FP8:
    case PRECISION_INT4:
        to[count++].precision = PRECISION_FP16;
        return count;
    case PRECISION_FP16:
        if (o.runtime != RUNTIME_ENGINE)
            to[count++].precision = PRECISION_AMP_FP16;
        break;
    case PRECISION_BF16:
        if (o.runtime != RUNTIME_ENGINE)
            to[count++].precision = PRECISION_AMP_BF16;
        break;
    case PRECISION_TF32:
        to[count++].precision = PRECISION_FP32;
        break;
    default:
        break;
    }
    if (o.runtime == RUNTIME_INDUCTOR && (o.precision == PRECISION_FP32 || o.precision == PRECISION_TF32))
        to[count++].runtime = RUNTIME_EAGER;
    if (o.runtime == RUNTIME_ENGINE)
        for (int layout = LAYOUT_NCHW; layout <= LAYOUT_NHWC; layout++) {
            to[count].layout = (lower_layout)layout;
            to[count].narrow_cache = false;
            to[count++].runtime = RUNTIME_INDUCTOR;
        }
    return count;
}

static bool has_maps(const lowered *l)
{
    for (int32_t i = 0; i < l->works.count; i++)
        if (l->works.items[i].group <= WORK_GROUPED)
            return true;
    return false;
}

static prediction *predict_held(const predictor *with, const lowered_hold *hold, const setting *where, arena *a)
{
    return predict_program(with, hold->lowered->program, &hold->lowered->works, where, a);
}

/* True if measurements back the prediction: it names a stack, or is for a benchmark's row. Slices have a model of their
 * own. */
static bool measurements_stand(const prediction *p, const predictor *with, const setting *where)
{
    return !with || where->on_own_host || p->stack_is_measured || where->device->whole;
}

/* Each alternative is itself limited by its own alternatives. */
void limit_by_alternatives(prediction *p, sooth_model *model, const predictor *with, const setting *where, arena *a)
{
    lower_options to[MOST_ALTERNATIVES];
    if (measurements_stand(p, with, where))
        return;
    int count = list_alternatives(where, to);
    for (int i = 0; i < count; i++) {
        setting other = *where;
        other.lower = to[i];
        setting_settle(&other);
        if (setting_refusal(&other))
            continue;
        lowered *held;
        prediction *limit = predict_best(model, with, &other, &held, a);
        prediction_limit(p, limit);
        lowered_release(held);
    }
}

prediction *predict_best(sooth_model *model, const predictor *with, setting *where, lowered **held, arena *a)
{
    lowered_hold *outer = model->holds, *best = lowered_take(model, &where->lower, a);
    prediction *p = predict_held(with, best, where, a);
    if (!measurements_stand(p, with, where) && where->lower.runtime == RUNTIME_ENGINE && has_maps(best->lowered)) {
        setting other = *where;
        other.lower.layout = where->lower.layout == LAYOUT_NCHW ? LAYOUT_NHWC : LAYOUT_NCHW;
        lowered_hold *second = lowered_take(model, &other.lower, a);
        prediction *turned = predict_held(with, second, &other, a);
        bool is_faster = turned->latency_ms < p->latency_ms ||
                         (turned->latency_ms <= p->latency_ms && other.lower.layout == LAYOUT_NHWC);
        lowered_give_back(is_faster ? best : second);
        if (is_faster) {
            *where = other;
            best = second;
            p = turned;
        }
    }
    limit_by_alternatives(p, model, with, where, a);
    *held = best->lowered; /* The caller owns it from here on. */
    model->holds = outer;
    return p;
}
