/* torch_script.h: shared by the parts of the TorchScript reader: its syntax tree, and the objects in its pickles. */
#ifndef SOOTH_FRONT_TORCH_TORCH_SCRIPT_H
#define SOOTH_FRONT_TORCH_TORCH_SCRIPT_H

#include "base/names.h"
#include "base/zip.h"
#include "front/torch/torch.h"

/* ---- code (torch_parse.c) ---------------------------------------------------------------------------------------- */

typedef enum code_kind {
    /* expressions */
    CODE_NAME, /* text */
    CODE_INT,
    CODE_REAL,
    CODE_TEXT,
    CODE_NONE,
    CODE_BOOL,      /* integer */
    CODE_LIST,      /* children */
    CODE_TUPLE,     /* children */
    CODE_DICT,      /* children: key, value, key, value … */
    CODE_CALL,      /* children: the callee, then the arguments; keyword arguments have their name in `key` */
    CODE_ATTRIBUTE, /* child: object; text: name */
    CODE_INDEX,     /* children: object, index */
    CODE_MINUS,     /* child */
    /* statements */
    /* children: the targets, then the value. integer: a comma follows the target, which unpacks the value */
    CODE_ASSIGN,
    CODE_EXPRESSION,
    CODE_RETURN, /* child: the value, if any */
    CODE_IF,     /* children: condition, block, block */
    CODE_FOR,    /* text: variable; children: iterable, block */
    CODE_WHILE,  /* children: condition, block */
    CODE_BLOCK,
    CODE_PASS,
    /* definitions */
    CODE_FUNCTION,  /* text: name; children: parameters, then the block */
    CODE_PARAMETER, /* text: name; children: type, default (each may be CODE_PASS) */
    CODE_CLASS,     /* text: name; children: functions and fields */
    CODE_FIELD,     /* text: name; child: type */
    CODE_BUFFERS,   /* child: list of attribute names that are not parameters */
    CODE_MEMBER,    /* Enum member: text: name; child: value */
} code_kind;

typedef struct code code;
struct code {
    code_kind kind;
    int32_t count; /* number of children */
    str text, key;
    union {
        int64_t integer;
        double real;
    };
    code *first, *next;
};

/* Parses one file into a list of definitions. Fails with `subject`, the line and the reason. */
const code *torch_parse(str text, const char *subject, arena *a, fail *f);

/* ---- objects (torch_pickle.c) ------------------------------------------------------------------------------------ */

/* An object of a class in the file. */
struct torch_object {
    str class_name; /* "__torch__.nets.Net" */
    names names;    /* attribute name → index */
    struct {
        torch_value *items;
        int32_t count, capacity;
    } values;
    torch_value state; /* constructor arguments of an object of a foreign class; None otherwise */
    str path;          /* path of the module that it is: "layer1.0.conv1" */
    bool is_named;
};

torch_value torch_attribute(const torch_object *o, str name, bool *found);
void torch_set_attribute(torch_object *o, str name, torch_value v, arena *a);

/* Reads the pickle of entry `<root>name`. Tensors become constants of the source; their data stay in place. Nothing
 * is executed: unknown globals and opcodes are refused. */
torch_value torch_unpickle(builder *b, zip *z, const zip_entry *entry, str root);

/* ---- running (torch_interpret.c) --------------------------------------------------------------------------------- */

typedef struct torch_script {
    sooth_model *model;
    names functions; /* "__torch__.torch.nn.functional.pad", "__torch__.nets.Net.forward" → definition */
    struct {
        const code **items;
        int32_t count, capacity;
    } definitions;
    names classes; /* classes by name, such as "__torch__.nets.Net" */
    torch_value root, constants;
    const code *forward;
    /* Arguments of forward: graph inputs, numbers, or lists and tuples of inputs. */
    torch_value *arguments;
    int32_t argument_count;
    torch_expected *expected; /* room for TORCH_MAX_EXPECTED during the first run; else NULL */
    int32_t expected_count;
} torch_script;

const code *torch_script_function(const torch_script *s, str name);
const code *torch_script_class(const torch_script *s, str name);
void torch_interpret(sooth_model *model, void *script);

/* Functions on numbers, lists, dictionaries and strings (torch_builtins.c). False if it is no such function, or if
 * these arguments need the tensor operator of that name. */
bool torch_builtin(torch *t, str name, const torch_argument *arguments, int count, torch_value *result);

#endif
