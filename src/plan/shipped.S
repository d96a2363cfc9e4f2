/* shipped.S: the plan of DIPPM's families (data/plans/dippm.txt), as study_plan.c reads it. */
    .section .rodata
    .globl study_shipped_dippm
    .hidden study_shipped_dippm
study_shipped_dippm:
    .incbin "data/plans/dippm.txt"
    .byte 0
    .section .note.GNU-stack, "", %progbits
