/* shipped.S: the weights that `sooth learn` made, as data/weights.bin has them, and the constants of slices (data/slices.txt) and of power
 * (data/energy.txt), and how benchmarks ran (data/benchmarks.txt). Zeros follow the weights, so that an empty file is no weights instead of whatever lies behind it. */
    .section .rodata
    .balign 16
    .globl shipped_weights
    .hidden shipped_weights
shipped_weights:
    .incbin WEIGHTS_FILE
    .zero 128
    .globl slice_shipped_text
    .hidden slice_shipped_text
slice_shipped_text:
    .incbin "data/slices.txt"
    .byte 0
    .globl shipped_energy
    .hidden shipped_energy
shipped_energy:
    .incbin "data/energy.txt"
    .byte 0
    .globl source_shipped_text
    .hidden source_shipped_text
source_shipped_text:
    .incbin "data/benchmarks.txt"
    .byte 0
    .section .note.GNU-stack, "", %progbits
