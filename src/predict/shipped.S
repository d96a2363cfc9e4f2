/* shipped.S: the weights that `sooth learn` made, as data/weights.bin has them. Zeros follow, so that an empty file is no weights
 * instead of whatever lies behind it. */
    .section .rodata
    .balign 16
    .globl shipped_weights
    .hidden shipped_weights
shipped_weights:
    .incbin WEIGHTS_FILE
    .zero 128
    .section .note.GNU-stack, "", %progbits
