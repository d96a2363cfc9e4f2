/* setting.h: parses the settings of a program by name: precision, layout, runtime, mode, optimizer and software
 * stack. */
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

/* Default setting: autocast to fp16, NCHW, eager PyTorch 2, inference; no device and no stack. */
setting setting_default(void);

/* Optimizer in tables of measured rows that do not record it. setting_set() maps it to the default; users cannot
 * select it. */
#define SETTING_NOT_NOTED "unknown"
/* Sets one part by name; an empty name changes nothing. Returns false for an unknown name. */
bool setting_set(setting *s, setting_part part, str name);
/* Sets the precision that the file states, if any. Call it after runtime, mode and device are set. Returns a note if
 * these cannot keep the file's types, else NULL. */
const char *setting_follow_file(setting *s, const own_types *own);
/* Sets the stack and the launch rules of its framework version. The text must outlive the setting. */
void setting_set_stack(setting *s, str stack);

/* Completes the setting; call it after device, precision, runtime and stack are set. fp32 becomes TF32 where the
 * framework version allows it by default, and a compiler receives the device's number of multiprocessors. */
void setting_settle(setting *s);

/* Returns the type in which products multiply on the device ("fp32", "bf16" …). Sets a note if it differs from the
 * precision, else NULL. */
typedef struct arithmetic {
    const char *products;
    const char *note;
} arithmetic;
arithmetic setting_arithmetic(const setting *s);
/* Returns why the device cannot run the precision, and a remedy; NULL if it can. */
const char *setting_refusal(const setting *s);

/* Returns the name of the current value, as accepted by setting_set(). */
const char *setting_name(const setting *s, setting_part part);
/* Return the name of a part ("precision"), and its values in order; NULL after the last. */
const char *setting_part_name(setting_part part);
const char *setting_choice(setting_part part, size_t index);

#endif
