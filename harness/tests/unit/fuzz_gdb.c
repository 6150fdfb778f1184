/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz entry of the GDB server: any bytes on the line. It must write nothing but well-formed
 * packets, leave what is not the program's alone, and serve the next debugger as if nothing had
 * been. With libFuzzer:
 *
 *     clang -fsanitize=fuzzer,address -I. -DWAYMARK_HOST harness/tests/unit/fuzz_gdb.c \
 *         harness/gdb/{packet,text,btrace,btrace_symbols,registers,describe,breakpoint}.c \
 *         harness/gdb/{commands,resume,query,documents,files,host}.c
 *
 * Built as a unit test it brings its own main, which sends packets with random mistakes.
 */
#include "harness/tests/fakes/unit.h"

#include "harness/tests/fakes/gdb_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static void demand_well_formed(void)
{
    static char payload[PACKET_BYTES];
    size_t at = 0;

    while (at < fake.out_bytes) {
        if (fake.out[at] == '+' || fake.out[at] == '-')
            at++;
        else
            demand(fake_decode(&at, payload, sizeof(payload)) >= 0);
    }
}

static int serve(const uint8_t *data, size_t size)
{
    fake_start();
    for (unsigned i = 0; i < 8; i++)
        fake.stops[i].kind = size > i ? data[i] % (GDB_LOST + 1) : GDB_STEPPED;
    /* More would overrun the place for what comes back. */
    fake_send(data, size < 2048 ? size : 2048);
    demand_well_formed();
    if (fake.gdb.ended)
        return 0;
    demand(strncmp(fake_answer("qSupported:swbreak+"), "PacketSize=1008;", 16) == 0);
    demand(fake.out[0] == '+' || fake.out[1] == '+');
    demand(strncmp(fake_answer("?"), fake.gdb.gone ? "W" : "T", 1) == 0);
    demand(strlen(fake_answer("g")) == 328);
    for (unsigned i = 0; i < GDB_BREAKPOINTS; i++)
        demand(!fake.gdb.breakpoints[i].inserted);
    return 0;
}

/* Chance finds no checksum: lines are made packets of, each with its own. */
static size_t framed(char *to, const uint8_t *data, size_t size)
{
    uint8_t sum = 0;
    size_t used = 0;

    to[used++] = '$';
    for (size_t i = 0; i < size && used < 2000; i++) {
        if (data[i] == '\n') {
            used += (size_t)sprintf(to + used, "#%02x$", sum);
            sum = 0;
        } else {
            to[used++] = (char)data[i];
            sum += data[i];
        }
    }
    return used + (size_t)sprintf(to + used, "#%02x", sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char packets[4096];

    if (size == 0 || data[0] % 4 == 0)
        return serve(data, size);
    return serve((uint8_t *)packets, framed(packets, data + 1, size - 1));
}

#ifdef FUZZ_MAIN
static const char *const samples[] = {
    "qSupported:swbreak+;xmlRegisters=i386",
    "QStartNoAckMode",
    "?",
    "g",
    "G00",
    "p10",
    "P10=0010400000000000",
    "P38=ffffffff",
    "m401000,40",
    "m401ff0,ffffffffffffffff",
    "M401010,2:9090",
    "X401010,1:}\003",
    "Z0,401010,1",
    "z0,401010,1",
    "Z2,401018,8",
    "Z1,401020,1",
    "vCont?",
    "vCont;c",
    "vCont;s:1;c",
    "vCont;r401000,401200:1",
    "c",
    "S05;401000",
    "Qbtrace:bts",
    "Qbtrace-conf:bts:size=0x10000",
    "Qbtrace:off",
    "qXfer:btrace:read:delta:0,ffb",
    "qXfer:btrace:read:all:20,40",
    "qXfer:btrace-conf:read::0,ffb",
    "qXfer:features:read:target.xml:0,ffb",
    "qRcmd,68656c70",
    "qRcmd,626c6f636b73746570206f6e",
    "Hg1",
    "T1",
    "D",
};

static uint32_t state = 1;

static uint32_t random_below(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % limit;
}

static size_t add_packet(char *to, const char *payload)
{
    uint8_t sum = 0;

    for (const char *c = payload; *c; c++)
        sum += (uint8_t)*c;
    return (size_t)sprintf(to, "$%s#%02x", payload, sum);
}

static void random_sessions(void)
{
    char bytes[4096];
    unsigned alive = 0;

    for (unsigned i = 0; i < 60000; i++) {
        size_t count = 0;

        for (unsigned k = random_below(8) + 1; k > 0; k--) {
            count += add_packet(bytes + count,
                                samples[random_below(sizeof(samples) / sizeof(samples[0]))]);
            /* An acknowledgement asks for the reply again now and then. */
            if (random_below(3) == 0)
                bytes[count++] = random_below(2) ? '+' : random_below(2) ? '-' : 3;
        }
        for (unsigned k = random_below(4); k > 0; k--)
            bytes[random_below((uint32_t)count)] = (char)random_below(256);
        alive += serve((uint8_t *)bytes, count) == 0;
    }
    EXPECT_EQ(alive, 60000);
}

int main(void)
{
    RUN(random_sessions);
    UNIT_END();
}
#endif
