/* shipped.S: the texts of data/plans/dippm.txt (study_plan.c) and data/libraries.txt (conv_constants.c) as they are. */
    .section .rodata
    .globl study_shipped_dippm
    .hidden study_shipped_dippm
study_shipped_dippm:
    .incbin "data/plans/dippm.txt"
    .byte 0
    .globl plan_shipped_libraries
    .hidden plan_shipped_libraries
plan_shipped_libraries:
    .incbin "data/libraries.txt"
    .byte 0
    .section .note.GNU-stack, "", %progbits
