/* embed.h: files embedded by the assembler (shipped.S), in the dialects of ELF and of WebAssembly, where every object
 * needs a type and a size. */
#ifndef SOOTH_BASE_EMBED_H
#define SOOTH_BASE_EMBED_H

/* clang-format off */
#ifdef __wasm__
#define EMBED_SECTION(name) .section .rodata.name,"",@
#define EMBED_BEGIN(name) .hidden name; .globl name; .type name,@object; name:
#define EMBED_END(name) .size name, .-name
#define EMBED_LAST
#else
#define EMBED_SECTION(name) .section .rodata
#define EMBED_BEGIN(name) .globl name; .hidden name; name:
#define EMBED_END(name)
#define EMBED_LAST .section .note.GNU-stack, "", %progbits
#endif
/* clang-format on */

#endif
