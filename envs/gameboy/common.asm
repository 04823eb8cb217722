; What both cartridges share: the start, the loop that waits for the vertical blank, and routines.
; Memory: C000 magic, C001 seed, C002 score, C003 left, C004 over, C005 frames.
org $40
    reti
org $100
    nop
    jp start
org $150
start:
    di
    ld sp, $fffe
wait:
    ldh a, ($44)
    cp 144
    jr nz, wait
    xor a
    ldh ($40), a            ; screen off
    ldh ($42), a
    ldh ($43), a
    ld hl, $c000
clear:
    ld (hl+), a
    ld a, h
    cp $c1
    ld a, 0
    jr nz, clear
    ld hl, $9800
blank:
    ld (hl+), a
    ld a, h
    cp $9c
    ld a, 0
    jr nz, blank
    ld hl, tiles
    ld de, $8000
    ld bc, tiles_end - tiles
copy:
    ld a, (hl+)
    ld (de), a
    inc de
    dec bc
    ld a, b
    or c
    jr nz, copy
    ld a, $50
    ld ($c000), a
    ld a, $2d
    ld ($c001), a
    call begin
    ld a, $e4
    ldh ($47), a
    ld a, $91
    ldh ($40), a
    ld a, 1
    ldh ($ff), a
    xor a
    ldh ($0f), a
    ei
loop:
    halt
    nop
    call random
    call every_frame
    ld hl, $c005
    inc (hl)
    ld a, (hl)
    and 3
    call z, turn
    jr loop

random:                     ; the next number, in A and C001
    ld a, ($c001)
    ld b, a
    sla b
    jr nc, no_tap
    ld a, b
    xor $1d
    ld b, a
no_tap:
    ld a, b
    ld ($c001), a
    ret

buttons:                    ; pressed arrows in A: right left up down from bit 0; they also stir the seed
    ld a, $20
    ldh ($00), a
    ldh a, ($00)
    ldh a, ($00)
    cpl
    and 15
    ld b, a
    ld a, $30
    ldh ($00), a
    ld a, ($c001)
    add a, b
    jr nz, stirred
    ld a, $2d
stirred:
    ld ($c001), a
    ld a, b
    ret

put:                        ; draw the four tiles from A on into the cell in row B and column C
    push af
    ld h, 0
    ld l, b
    add hl, hl
    add hl, hl
    add hl, hl
    add hl, hl
    add hl, hl
    add hl, hl
    ld a, c
    add a, a
    ld e, a
    ld d, $98
    add hl, de
    pop af
    ld (hl+), a
    inc a
    ld (hl), a
    ld de, 31
    add hl, de
    inc a
    ld (hl+), a
    inc a
    ld (hl), a
    ret
