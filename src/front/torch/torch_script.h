/* torch_script.h: what the parts of the TorchScript reader share: the tree of its code, and the objects in its pickles. */
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
    CODE_CALL,      /* children: what is called, then the arguments; those by keyword have `key` */
    CODE_ATTRIBUTE, /* child: the object; text */
    CODE_INDEX,     /* children: the object, the index */
    CODE_MINUS,     /* child */
    /* statements */
    CODE_ASSIGN, /* children: the targets, at last the value; integer: there is a comma after the target, so the value is taken apart */
    CODE_EXPRESSION,
    CODE_RETURN, /* child, if there is one */
    CODE_IF,     /* children: condition, block, block */
    CODE_FOR,    /* text; children: what is gone through, block */
    CODE_WHILE,  /* children: condition, block */
    CODE_BLOCK,
    CODE_PASS,
    /* definitions */
    CODE_FUNCTION,  /* text; children: parameters, at last the block */
    CODE_PARAMETER, /* text; children: type, default (either may be CODE_PASS) */
    CODE_CLASS,     /* text; children: functions and fields */
    CODE_FIELD,     /* text; child: type */
    CODE_BUFFERS,   /* child: the list of the names of attributes that are no parameters */
    CODE_MEMBER,    /* of an Enum: text; child: value */
} code_kind;

typedef struct code code;
struct code {
    code_kind kind;
    int32_t count; /* of children */
    str text, key;
    union {
        int64_t integer;
        double real;
    };
    code *first, *next;
};

/* The definitions of one file, as a list. Fails with `subject`, the line, and what is wrong there. */
const code *torch_parse(str text, const char *subject, arena *a, fail *f);

/* ---- objects (torch_pickle.c) ------------------------------------------------------------------------------------ */

/* An object of a class of the file. */
struct torch_object {
    str class_name; /* "__torch__.nets.Net" */
    names names;    /* of attributes → index */
    struct {
        torch_value *items;
        int32_t count, capacity;
    } values;
    torch_value state; /* what an object of a foreign class was made from; None otherwise */
    str path;          /* of a module: "layer1.0.conv1" */
    bool is_named;
};

torch_value torch_attribute(const torch_object *o, str name, bool *found);
void torch_set_attribute(torch_object *o, str name, torch_value v, arena *a);

/* Reads the pickle of entry `<root>name`: tensors become constants of the source, their data stay where they are. Nothing is
 * executed: a global that is not one of the few that TorchScript writes is refused, and so is every other opcode. */
torch_value torch_unpickle(builder *b, zip *z, const zip_entry *entry, str root);

/* ---- running (torch_interpret.c) --------------------------------------------------------------------------------- */

typedef struct torch_script {
    sooth_model *model;
    names functions; /* "__torch__.torch.nn.functional.pad", "__torch__.nets.Net.forward" → definition */
    struct {
        const code **items;
        int32_t count, capacity;
    } definitions;
    names classes; /* "__torch__.nets.Net" → definition */
    torch_value root, constants;
    const code *forward;
    /* What forward is called with: inputs of the graph, numbers, or lists and tuples of inputs. */
    torch_value *arguments;
    int32_t argument_count;
    torch_expected *expected; /* room for TORCH_MAX_EXPECTED while it is being found out; else NULL */
    int32_t expected_count;
} torch_script;

const code *torch_script_function(const torch_script *s, str name);
const code *torch_script_class(const torch_script *s, str name);
void torch_interpret(sooth_model *model, void *script);

/* Functions that programs call and that are no operators on tensors (torch_builtins.c): arithmetic on numbers, lists, dictionaries,
 * texts. False if the name is none, or means an operator for these arguments. */
bool torch_builtin(torch *t, str name, const torch_argument *arguments, int count, torch_value *result);

#endif
