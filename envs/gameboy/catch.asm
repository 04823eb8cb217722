; Catch what falls, with a tray that is two cells wide. 10 columns and 9 rows of 16 x 16 pixels.
; C006 column and C007 row of what falls, C008 column of the tray.
begin:
    ld a, 12
    ld ($c003), a
    ld a, 4
    ld ($c008), a
    call drop
    jp draw

every_frame:
    ret

drop:                       ; the next one begins in the top row of a random column
    xor a
    ld ($c007), a
    call random
columns:
    cp 10
    jr c, chosen
    sub 10
    jr columns
chosen:
    ld ($c006), a
    ret

turn:
    ld a, ($c004)
    or a
    ret nz
    xor a
    call draw_ball
    xor a
    call draw_tray
    call buttons
    ld hl, $c008
    bit 0, a
    jr z, no_right
    ld a, (hl)
    cp 8
    jr z, moved
    inc (hl)
    jr moved
no_right:
    bit 1, a
    jr z, moved
    ld a, (hl)
    or a
    jr z, moved
    dec (hl)
moved:
    ld hl, $c007
    inc (hl)
    ld a, (hl)
    cp 8
    call z, arrive
draw:
    ld a, 4
    call draw_ball
    ld a, 8
    jr draw_tray

arrive:                     ; it is in the tray's row
    ld a, ($c008)
    ld b, a
    ld a, ($c006)
    sub b
    cp 2
    jr nc, missed
    ld hl, $c002
    inc (hl)
missed:
    ld hl, $c003
    dec (hl)
    jr nz, drop
    ld a, 1
    ld ($c004), a
    jr drop

draw_ball:                  ; with the tiles from A on
    push af
    ld a, ($c007)
    ld b, a
    ld a, ($c006)
    ld c, a
    pop af
    jp put

draw_tray:
    push af
    ld b, 8
    ld a, ($c008)
    ld c, a
    pop af
    push af
    call put
    ld b, 8
    ld a, ($c008)
    inc a
    ld c, a
    pop af
    jp put
