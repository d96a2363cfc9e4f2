/* shipped.S: the text of data/memory.txt as it is, inside the library for the reason that src/device/list.c gives. */
    .section .rodata
    .balign 16
    .globl memory_shipped_text
    .hidden memory_shipped_text
memory_shipped_text:
    .incbin MEMORY_TEXT
    .byte 0
    .section .note.GNU-stack, "", %progbits
