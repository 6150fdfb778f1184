/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers as harness/gdb/describe.c numbers them: 0-16 general and RIP, 17-23 RFLAGS and
 * selectors, 24-39 x87, 40-55 XMM, 56 MXCSR, 57 Linux's orig_rax, 58 and 59 the bases of FS and
 * GS. Source: the GDB manual, "Standard Target Features"; SDM Vol. 1, "FXSAVE Area".
 *
 * The program goes on with whatever is written here, by an IRET, an FXRSTOR and a WRMSR that
 * fault in ring 0 when a value is not allowed; so such values are refused or trimmed.
 */
#include "harness/gdb/stub.h"
#include "harness/gdb/text.h"
#include "hw/regs.h"
#include "hw/string.h"

enum {
    FIRST_X87 = 24,
    FIRST_X87_CONTROL = 32,
    FIRST_XMM = 40,
    NUMBER_MXCSR = 56,
    NUMBER_ORIG_RAX,
    NUMBER_FS_BASE,
    NUMBER_GS_BASE,
};

/* In the FXSAVE area. */
enum { FX_TAGS = 4, FX_MXCSR = 24, FX_MXCSR_MASK = 28, FX_X87 = 32, FX_XMM = 160 };

#define MXCSR_MASK_OF_OLD 0xFFBFu /* where the area says 0 */
/* What a debugger may change: the arithmetic flags, DF, NT, AC, ID. */
#define RFLAGS_FREE                                                                            \
    (RFLAGS_CF | RFLAGS_PF | RFLAGS_AF | RFLAGS_ZF | RFLAGS_SF | RFLAGS_DF | RFLAGS_OF |       \
     RFLAGS_AC | 1ull << 21)
#define CORE_BYTES (17 * 8 + 7 * 4)

static bool is_canonical(uint64_t address)
{
    return (uint64_t)((int64_t)(address << 16) >> 16) == address;
}

static unsigned core_bytes(unsigned number)
{
    return number <= GDB_RIP ? 8 : 4;
}

/* fctrl fstat ftag fiseg fioff foseg fooff fop: offset in the area and bytes used there. */
static const uint8_t control_at[8][2] = {{0, 2}, {2, 2},  {FX_TAGS, 1}, {12, 2},
                                         {8, 4}, {20, 2}, {16, 4},      {6, 2}};

/* FXSAVE keeps one bit a register, the debugger wants two: 3 = empty. */
static uint32_t full_tags(uint8_t used)
{
    uint32_t tags = 0;

    for (unsigned i = 0; i < 8; i++)
        tags |= used >> i & 1 ? 0 : 3u << (2 * i);
    return tags;
}

/* The reverse, as FXRSTOR takes it. */
static uint8_t used_tags(uint32_t tags)
{
    uint8_t used = 0;

    for (unsigned i = 0; i < 8; i++)
        used |= (uint8_t)(((tags >> (2 * i) & 3) != 3) << i);
    return used;
}

/* Where a register beyond the core ones lies; its size in *bytes, 0 = no such register. */
static uint8_t *place(struct gdb_registers *r, unsigned number, unsigned *bytes)
{
    *bytes = 0;
    if (number >= FIRST_X87 && number < FIRST_X87_CONTROL) {
        *bytes = 10;
        return r->fx + FX_X87 + 16 * (number - FIRST_X87);
    }
    if (number >= FIRST_XMM && number < NUMBER_MXCSR) {
        *bytes = 16;
        return r->fx + FX_XMM + 16 * (number - FIRST_XMM);
    }
    if (number == NUMBER_MXCSR) {
        *bytes = 4;
        return r->fx + FX_MXCSR;
    }
    return NULL;
}

/* Linux's own: the system call that the program is in, -1 outside. */
static uint64_t orig_rax(const struct gdb *gdb)
{
    return gdb->stop.kind == GDB_CALLING || gdb->stop.kind == GDB_CALLED ? gdb->stop.number
                                                                         : ~0ull;
}

static char *put_register(struct gdb *gdb, unsigned number, char *to)
{
    struct gdb_registers *r = &gdb->registers;
    uint64_t call = orig_rax(gdb);
    uint32_t word = 0;
    unsigned bytes;
    uint8_t *at = place(r, number, &bytes);

    if (number < GDB_CORE_REGISTERS)
        return text_bytes(to, &r->core[number], core_bytes(number));
    if (at)
        return text_bytes(to, at, bytes);
    if (number == NUMBER_ORIG_RAX)
        return text_bytes(to, &call, 8);
    if (number == NUMBER_FS_BASE)
        return text_bytes(to, &r->fs_base, 8);
    if (number == NUMBER_GS_BASE)
        return text_bytes(to, &r->gs_base, 8);
    if (number < FIRST_X87_CONTROL || number >= FIRST_XMM)
        return NULL;
    number -= FIRST_X87_CONTROL;
    memcpy(&word, r->fx + control_at[number][0], control_at[number][1]);
    if (control_at[number][0] == FX_TAGS)
        word = full_tags((uint8_t)word);
    return text_bytes(to, &word, 4);
}

bool gdb_jump(struct gdb *gdb, uint64_t address)
{
    uint64_t *rip = &gdb->registers.core[GDB_RIP];

    if (!is_canonical(address))
        return false;
    /* Nothing branched here; but what comes next does not follow from what came before. */
    if (gdb->trace.on && address != *rip)
        btrace_add(&gdb->trace, *rip, address);
    *rip = address;
    return true;
}

static bool set_core(struct gdb *gdb, unsigned number, uint64_t value)
{
    uint64_t *core = gdb->registers.core;

    if (number == GDB_RIP)
        return gdb_jump(gdb, value);
    if (number == GDB_RFLAGS) {
        core[number] = (core[number] & ~RFLAGS_FREE) | (value & RFLAGS_FREE);
    } else if (number < GDB_RIP) {
        core[number] = value;
    } else {
        return value == core[number]; /* selectors stay what they are */
    }
    return true;
}

static bool set_mxcsr(struct gdb_registers *r, uint32_t value)
{
    uint32_t mask;

    memcpy(&mask, r->fx + FX_MXCSR_MASK, sizeof(mask));
    if (value & ~(mask ? mask : MXCSR_MASK_OF_OLD))
        return false;
    memcpy(r->fx + FX_MXCSR, &value, sizeof(value));
    return true;
}

/* bytes holds count of them, the rest 0. */
static bool set_register(struct gdb *gdb, unsigned number, const uint8_t bytes[16])
{
    struct gdb_registers *r = &gdb->registers;
    unsigned size;
    uint8_t *at = place(r, number, &size);
    uint64_t value;

    memcpy(&value, bytes, sizeof(value));
    if (number < GDB_CORE_REGISTERS)
        return set_core(gdb, number, value);
    if (number == NUMBER_MXCSR)
        return set_mxcsr(r, (uint32_t)value);
    if (at) {
        memcpy(at, bytes, size);
        return true;
    }
    if (number == NUMBER_FS_BASE && is_canonical(value)) {
        r->fs_base = value;
        return true;
    }
    /* GDB writes -1 with every jump, so that Linux restarts no call; none is restarted. */
    if (number == NUMBER_ORIG_RAX)
        return true;
    if (number < FIRST_X87_CONTROL || number >= FIRST_XMM)
        return number == NUMBER_GS_BASE && value == r->gs_base;
    number -= FIRST_X87_CONTROL;
    if (control_at[number][0] == FX_TAGS)
        r->fx[FX_TAGS] = used_tags((uint32_t)value);
    else
        memcpy(r->fx + control_at[number][0], bytes, control_at[number][1]);
    return true;
}

static bool read_one(struct gdb *gdb, const char *packet)
{
    uint64_t number;
    char *end;

    if (!text_number(&packet, &number) || *packet || number > NUMBER_GS_BASE)
        return false;
    end = put_register(gdb, (unsigned)number, gdb->line.sent);
    if (!end)
        return false;
    gdb_reply_to(gdb, end);
    return true;
}

static bool write_one(struct gdb *gdb, const char *packet)
{
    uint8_t bytes[16] = {0};
    uint64_t number;

    return text_number(&packet, &number) && text_skip(&packet, '=') &&
           text_unhex(&packet, bytes, sizeof(bytes)) > 0 && !*packet &&
           number <= NUMBER_GS_BASE && set_register(gdb, (unsigned)number, bytes);
}

/* As many as come; none is set unless every value is a whole one. */
static bool write_all(struct gdb *gdb, const char *packet)
{
    size_t digits = strlen(packet);
    bool good = true;

    if (digits < 2 * CORE_BYTES || digits % 2 || digits > 2 * PACKET_BYTES)
        return false;
    for (const char *c = packet; *c; c++)
        if (packet_digit(*c) < 0)
            return false;
    for (unsigned i = 0; i < GDB_CORE_REGISTERS; i++) {
        uint8_t bytes[16] = {0};

        text_unhex(&packet, bytes, core_bytes(i));
        /* Selectors are sent along unchanged, flags are trimmed: only RIP can be wrong. */
        if (i <= GDB_RFLAGS)
            good &= set_register(gdb, i, bytes);
    }
    return good;
}

bool gdb_registers_packet(struct gdb *gdb, const char *packet)
{
    char *to = gdb->line.sent;
    bool good;

    switch (*packet++) {
    case 'g':
        for (unsigned i = 0; i < GDB_CORE_REGISTERS; i++)
            to = put_register(gdb, i, to);
        gdb_reply_to(gdb, to);
        return true;
    case 'p':
        if (!read_one(gdb, packet))
            gdb_reply(gdb, "E01");
        return true;
    case 'G':
        good = write_all(gdb, packet);
        break;
    case 'P':
        good = write_one(gdb, packet);
        break;
    default:
        return false;
    }
    gdb_reply(gdb, good ? "OK" : "E01");
    return true;
}
