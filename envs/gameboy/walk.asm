; Walk to a cell, in three stages. Columns up to the walker's and rows down to it are darker, so that pictures of near
; cells look alike. C002 stage, C006 column and C007 row of the walker, C008 the row that is redrawn next, or 9,
; C009 whether the stage is over.
begin:
    ld a, 9
    ld ($c008), a
    ld b, 0
first:
    push bc
    call draw_row
    pop bc
    inc b
    ld a, b
    cp 9
    jr nz, first
    ret

every_frame:                ; redraws a row of a new stage
    ld a, ($c008)
    cp 9
    ret z
    ld b, a
    inc a
    ld ($c008), a
    jp draw_row

turn:
    ld a, ($c008)
    cp 9
    ret nz
    ld a, ($c004)
    or a
    ret nz
    ld a, ($c009)
    or a
    jr nz, next_stage
    call buttons
    ld b, a
    ld a, ($c006)
    ld d, a
    ld a, ($c007)
    ld e, a
    bit 0, b
    jr nz, right
    bit 1, b
    jr nz, left
    bit 2, b
    jr nz, up
    bit 3, b
    ret z
    ld a, e
    cp 8
    ret z
    inc e
    ld b, e
    jr move_row
up:
    ld a, e
    or a
    ret z
    ld b, e
    dec e
move_row:                   ; from the row in C007 to E; row B changes
    ld a, e
    ld ($c007), a
    call draw_row
    jr arrived
right:
    ld a, d
    cp 9
    ret z
    inc d
    ld c, d
    jr move_column
left:
    ld a, d
    or a
    ret z
    ld c, d
    dec d
move_column:
    ld a, d
    ld ($c006), a
    call draw_column

arrived:                    ; is this the stage's cell?
    call goal
    ld a, ($c006)
    cp (hl)
    ret nz
    inc hl
    ld a, ($c007)
    cp (hl)
    ret nz
    ld a, 1
    ld ($c009), a
    ret

goal:                       ; the address of the stage's cell in HL
    ld a, ($c002)
    add a, a
    ld e, a
    ld d, 0
    ld hl, goals
    add hl, de
    ret

goals:
    db 7, 6, 2, 2, 5, 7

next_stage:
    xor a
    ld ($c009), a
    ld hl, $c002
    inc (hl)
    ld a, (hl)
    cp 3
    jr z, over
    xor a
    ld ($c008), a
    ret
over:
    ld a, 1
    ld ($c004), a
    ret

draw_row:                   ; row B
    ld c, 0
row_cell:
    push bc
    call draw_cell
    pop bc
    inc c
    ld a, c
    cp 10
    jr nz, row_cell
    ret

draw_column:                ; column C
    ld b, 0
column_cell:
    push bc
    call draw_cell
    pop bc
    inc b
    ld a, b
    cp 9
    jr nz, column_cell
    ret

draw_cell:                  ; the cell in row B and column C
    ld d, 0
    ld a, ($c006)
    cp c
    jr c, beyond_column
    inc d
beyond_column:
    ld a, ($c007)
    cp b
    jr c, beyond_row
    inc d
beyond_row:
    ld a, ($c002)           ; three groups of tiles per stage
    cp 3
    jr c, known_stage
    ld a, 2
known_stage:
    ld e, a
    add a, a
    add a, e
    add a, d
    add a, a
    add a, a
    jp put
