/* setting.h: where a program runs, as people and tables write it: the names of precisions, layouts, runtimes, modes,
 * optimizers and software stacks. */
#ifndef SOOTH_PREDICT_SETTING_H
#define SOOTH_PREDICT_SETTING_H

#include "predict/predict.h"

typedef enum setting_part {
    SETTING_PRECISION,
    SETTING_LAYOUT,
    SETTING_RUNTIME,
    SETTING_MODE,
    SETTING_OPTIMIZER,
} setting_part;

/* Autocast to fp16, nchw, eager PyTorch 2, inference; neither device nor stack. */
setting setting_default(void);

/* What tables of measured rows have for an optimizer that nobody wrote down: setting_set takes it for the default, but it is no name that
 * a user may ask for. */
#define SETTING_NOT_NOTED "unknown"
/* Sets one part by its name; an empty one changes nothing. False: there is no such name. */
bool setting_set(setting *s, setting_part part, str name);
/* Sets the stack, and how its version of the framework launches what others launch otherwise. The text must outlive the
 * setting. */
void setting_set_stack(setting *s, str stack);

/* Once device, precision, runtime and stack are set: fp32 is TF32 where that version of the framework allows it by default, and a compiler
 * knows the device's multiprocessors. */
void setting_settle(setting *s);

/* What products are multiplied in on the device ("fp32", "bf16" …), and why that is not what the precision says; NULL: it is. */
typedef struct arithmetic {
    const char *products;
    const char *note;
} arithmetic;
arithmetic setting_arithmetic(const setting *s);
/* Why the device cannot run the precision at all, and what to do; NULL: it can. */
const char *setting_refusal(const setting *s);

/* The name that is set, one that setting_set takes. */
const char *setting_name(const setting *s, setting_part part);
/* What a part is called ("precision"), and the names that it has one after the other; NULL after the last. */
const char *setting_part_name(setting_part part);
const char *setting_choice(setting_part part, size_t index);

#endif
