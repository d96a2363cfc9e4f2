/* shipped.S: embeds the texts of data/gpus and data/hosts, concatenated by the Makefile, and of data/mig.txt. The assembler copies them,
 * so that no tool has to turn them into source. list.c says why they are embedded. */
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
    .globl host_shipped_texts
    .hidden host_shipped_texts
host_shipped_texts:
    .incbin HOST_TEXTS
    .byte 0
    .section .note.GNU-stack, "", %progbits
