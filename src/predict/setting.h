/* setting.h: the setting of a program by name: precision, layout, runtime, mode, optimizer and software stack. */
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

/* Tables of measured rows use this for an unrecorded optimizer: setting_set maps it to the default, but users cannot
 * name it. */
#define SETTING_NOT_NOTED "unknown"
/* Sets one part by name; an empty name changes nothing. False: unknown name. */
bool setting_set(setting *s, setting_part part, str name);
/* Sets the stack and the launch rules of its framework version. The text must outlive the setting. */
void setting_set_stack(setting *s, str stack);

/* Once device, precision, runtime and stack are set: fp32 is TF32 where that version of the framework allows it by
 * default, and a compiler knows the device's multiprocessors. */
void setting_settle(setting *s);

/* Type in which products multiply on the device ("fp32", "bf16" …), and a note if it differs from the precision, else
 * NULL. */
typedef struct arithmetic {
    const char *products;
    const char *note;
} arithmetic;
arithmetic setting_arithmetic(const setting *s);
/* Why the device cannot run the precision, and what to do; NULL: it can. */
const char *setting_refusal(const setting *s);

/* The name of the current value, as setting_set accepts it. */
const char *setting_name(const setting *s, setting_part part);
/* Name of a part ("precision"), and its values in order; NULL after the last. */
const char *setting_part_name(setting_part part);
const char *setting_choice(setting_part part, size_t index);

#endif
