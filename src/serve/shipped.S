/* shipped.S: embeds the description of the HTTP interface. */
    .section .rodata
    .balign 16
    .globl serve_openapi
    .hidden serve_openapi
serve_openapi:
    .incbin "src/serve/openapi.json"
    .byte 0
    .section .note.GNU-stack, "", %progbits
