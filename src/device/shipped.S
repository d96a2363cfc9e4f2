/* shipped.S: the texts of data/gpus as the Makefile put them after one another, and that of data/mig.txt, as they are. The assembler copies them: no
 * tool turns them into source, and every target that assembles has it. list.c says why they are inside. */
    .section .rodata
    .balign 16
    .globl device_shipped_texts
    .hidden device_shipped_texts
device_shipped_texts:
    .incbin GPU_TEXTS
    .byte 0
    .globl device_shipped_slices
    .hidden device_shipped_slices
device_shipped_slices:
    .incbin "data/mig.txt"
    .byte 0
    .section .note.GNU-stack, "", %progbits
