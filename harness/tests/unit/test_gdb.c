/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets and the commands of the GDB server, without GDB. */
#include "harness/tests/fakes/unit.h"

#include "harness/tests/fakes/gdb_fake.h"

/* --- packets */

static void good_packet(void)
{
    fake_start();
    EXPECT_STR(fake_answer("?"), "T05thread:1;");
    EXPECT_EQ(fake.out[0], '+');
}

static void bad_checksum(void)
{
    fake_start();
    fake_send("$?#00", 5);
    EXPECT_EQ(fake.out_bytes, 1);
    EXPECT_EQ(fake.out[0], '-');
    fake_send("$?#zz", 5);
    EXPECT_EQ(fake.out_bytes, 1);
    EXPECT_EQ(fake.out[0], '-');
    EXPECT_STR(fake_answer("?"), "T05thread:1;");
}

static void asked_again(void)
{
    char first[64];
    size_t bytes;

    fake_start();
    fake_packet("?");
    bytes = fake.out_bytes - 1;
    memcpy(first, fake.out + 1, bytes);
    fake_send("-", 1);
    EXPECT_EQ(fake.out_bytes, bytes);
    EXPECT(memcmp(fake.out, first, bytes) == 0);
}

static void cut_and_restarted(void)
{
    fake_start();
    fake_send("$m401000,4", 10);
    EXPECT_EQ(fake.out_bytes, 0);
    EXPECT_STR(fake_answer("?"), "T05thread:1;");
    fake_send("$m401000,4#", 11);
    EXPECT_STR(fake_answer("?"), "T05thread:1;");
    fake_send("$m401000,4#1", 12);
    EXPECT_STR(fake_answer("?"), "T05thread:1;");
}

static void too_long(void)
{
    static char payload[PACKET_BYTES + 100];

    fake_start();
    memset(payload, 'm', PACKET_BYTES);
    EXPECT_STR(fake_answer(payload), "E01");
    memset(payload, 'm', PACKET_BYTES + 1);
    EXPECT_STR(fake_answer(payload), "E.The packet is longer than PacketSize.");
    memset(payload, '0', PACKET_BYTES + 90);
    EXPECT_STR(fake_answer(payload), "E.The packet is longer than PacketSize.");
    EXPECT_STR(fake_answer("?"), "T05thread:1;");
}

static void no_acknowledgement(void)
{
    fake_start();
    fake_answer("qSupported");
    EXPECT_STR(fake_answer("QStartNoAckMode"), "OK");
    fake_packet("?");
    EXPECT_EQ(fake.out[0], '$');
    /* One who comes anew knows nothing of it, and is waiting for a sign. */
    fake_packet("qSupported:swbreak+");
    EXPECT_EQ(fake.out[0], '+');
    fake_packet("?");
    EXPECT_EQ(fake.out[0], '+');
}

/* Every length of a run, and beside it what is special. */
static void run_lengths(void)
{
    fake_start();
    for (unsigned count = 1; count < 250; count++) {
        char want[1024], ask[64], *to = want;

        memset(fake.memory, 0x11, count);
        fake.memory[count] = 0x23;
        for (unsigned i = 0; i < count; i++)
            to += sprintf(to, "11");
        sprintf(to, "23");
        sprintf(ask, "m401000,%x", count + 1);
        EXPECT_STR(fake_answer(ask), want);
        /* No count may look like framing. */
        for (size_t i = 2; i + 3 < fake.out_bytes; i++) {
            EXPECT(!strchr("$#+-", fake.out[i]));
        }
    }
}

static void escapes(void)
{
    fake_start();
    EXPECT_STR(fake_answer("X401000,3:}\x03}\x04}]"), "OK");
    EXPECT_EQ(fake.memory[0], '#');
    EXPECT_EQ(fake.memory[1], '$');
    EXPECT_EQ(fake.memory[2], '}');
}

/* --- memory and registers */

static void memory(void)
{
    fake_start();
    EXPECT_STR(fake_answer("M401000,2:abcd"), "OK");
    EXPECT_STR(fake_answer("m401000,2"), "abcd");
    EXPECT_STR(fake_answer("m0x401000,2"), "abcd");
    EXPECT_STR(fake_answer("M401000,3:abcd"), "E01");
    EXPECT_STR(fake_answer("M401000,2:abcx"), "E01");
    EXPECT_STR(fake_answer("m402fff,10"), "00");
    /* GDB 13 takes no other form of error for this packet. */
    EXPECT_STR(fake_answer("m403000,1"), "E01");
    EXPECT_STR(fake_answer("m11111111111111111,1"), "E01");
    EXPECT_STR(fake_answer("M402fff,2:0000"), "E.The program has no memory there.");
    EXPECT_EQ(strlen(fake_answer("m401000,ffffffffffffffff")), PACKET_BYTES / 2 * 2);
}

static void registers(void)
{
    char all[329];

    fake_start();
    EXPECT_EQ(strlen(fake_answer("g")), 328);
    EXPECT_STR(fake_answer("p10"), "0010400000000000");
    EXPECT_STR(fake_answer("P3=1122334455667788"), "OK");
    EXPECT_EQ(fake.gdb.registers.core[3], 0x8877665544332211);
    /* An IRET would fault in the kernel on these. */
    EXPECT_STR(fake_answer("P10=0000000000008000"), "E01");
    EXPECT_EQ(fake.gdb.registers.core[GDB_RIP], FAKE_BASE);
    EXPECT_STR(fake_answer("P11=ffffffff"), "OK");
    EXPECT_EQ(fake.gdb.registers.core[GDB_RFLAGS] & 0x27700, 0x200 | 0x400);
    EXPECT_STR(fake_answer("P12=00000000"), "OK");
    EXPECT_STR(fake_answer("P12=33000000"), "E01");
    /* MXCSR, the tags of an empty x87, FS. */
    EXPECT_STR(fake_answer("P38=00000100"), "E01");
    EXPECT_STR(fake_answer("P38=801f0000"), "OK");
    EXPECT_STR(fake_answer("p38"), "801f0000");
    EXPECT_STR(fake_answer("p22"), "ffff0000");
    EXPECT_STR(fake_answer("P22=fcff0000"), "OK");
    EXPECT_STR(fake_answer("p22"), "fcff0000");
    EXPECT_EQ(fake.gdb.registers.fx[4], 1);
    /* Linux's orig_rax: there is none, and what is written with a jump changes nothing. */
    EXPECT_STR(fake_answer("p39"), "ffffffffffffffff");
    EXPECT_STR(fake_answer("P39=ffffffffffffffff"), "OK");
    EXPECT_EQ(fake.gdb.registers.fs_base, 0);
    EXPECT_STR(fake_answer("P3a=0000000000010000"), "OK");
    EXPECT_EQ(fake.gdb.registers.fs_base, 0x10000000000);
    EXPECT_STR(fake_answer("p3a"), "0000000000010000");
    EXPECT_STR(fake_answer("P3a=0000000000000080"), "E01");
    EXPECT_STR(fake_answer("p3b"), "0000000000000000");
    EXPECT_EQ(strlen(fake_answer("p28")), 32);
    EXPECT_EQ(strlen(fake_answer("p18")), 20);
    EXPECT_STR(fake_answer("p3c"), "E01");
    EXPECT_STR(fake_answer("P3b=01"), "E01");
    EXPECT_STR(fake_answer("p"), "E01");
    strcpy(all, fake_answer("g"));
    memcpy(all, "0100000000000000", 16);
    {
        char packet[330] = "G";

        strcat(packet, all);
        EXPECT_STR(fake_answer(packet), "OK");
        packet[40] = 'x';
        EXPECT_STR(fake_answer(packet), "E01");
    }
    EXPECT_EQ(fake.gdb.registers.core[0], 1);
    EXPECT_STR(fake_answer("G0100"), "E01");
}

/* --- breakpoints and runs */

static void breakpoints(void)
{
    fake_start();
    fake_answer("qSupported:swbreak+");
    fake.memory[0x10] = 0x90;
    EXPECT_STR(fake_answer("Z0,401010,1"), "OK");
    EXPECT_STR(fake_answer("Z0,401010,1"), "OK");
    EXPECT_STR(fake_answer("m401010,1"), "90");
    fake.stops[0].kind = GDB_BREAKPOINT;
    fake.stop_at[0] = 0x401011;
    EXPECT_STR(fake_answer("vCont;c"), "T05swbreak:;thread:1;");
    EXPECT(fake.int3_seen);
    EXPECT_EQ(fake.memory[0x10], 0x90);
    EXPECT_STR(fake_answer("p10"), "1010400000000000");
    EXPECT_STR(fake_answer("z0,401010,1"), "OK");
    fake_answer("vCont;c");
    EXPECT(!fake.int3_seen);
    EXPECT_STR(fake_answer("Z0,500000,1"), "E.The program has no memory there.");
    EXPECT_STR(fake_answer("Z0"), "E01");
    for (unsigned i = 0; i < GDB_BREAKPOINTS; i++) {
        char packet[32];

        sprintf(packet, "Z0,%x,1", 0x401100 + i);
        EXPECT_STR(fake_answer(packet), "OK");
    }
    EXPECT_STR(fake_answer("Z0,401200,1"), "E.Too many breakpoints.");
    /* Those of a session whose line dropped would stop the next one for no reason. */
    fake_answer("qSupported");
    EXPECT_STR(fake_answer("Z0,401200,1"), "OK");
}

/* An INT3 of the program's own is an instruction like others: RIP behind it. */
static void own_int3(void)
{
    fake_start();
    fake.stops[0].kind = GDB_BREAKPOINT;
    fake.stop_at[0] = 0x401011;
    EXPECT_STR(fake_answer("c"), "T05thread:1;");
    EXPECT_STR(fake_answer("p10"), "1110400000000000");
}

static void watches(void)
{
    fake_start();
    EXPECT_STR(fake_answer("Z2,401018,8"), "OK");
    EXPECT_STR(fake_answer("Z3,401018,8"), "");
    EXPECT_STR(fake_answer("Z4,401020,1"), "OK");
    EXPECT_STR(fake_answer("Z1,401020,1"), "OK");
    EXPECT_STR(fake_answer("Z1,401021,1"), "OK");
    EXPECT_STR(fake_answer("Z1,401022,1"), "E.All four debug registers are taken.");
    fake.stops[0] = (struct gdb_stop){GDB_WATCHED, 0, 0};
    EXPECT_STR(fake_answer("c"), "T05watch:0000000000401018;thread:1;");
    EXPECT_STR(fake_answer("z2,401018,8"), "OK");
    EXPECT_STR(fake_answer("Z1,401022,1"), "OK");
}

/* What one register cannot watch takes several, all of them or none. */
static void watches_in_pieces(void)
{
    fake_start();
    EXPECT_STR(fake_answer("Z2,401019,3"), "OK");
    EXPECT_EQ(fake.gdb.watches[0].bytes, 1);
    EXPECT_EQ(fake.gdb.watches[1].address, 0x40101A);
    EXPECT_EQ(fake.gdb.watches[1].bytes, 2);
    EXPECT_EQ(fake.gdb.watches[2].users, 0);
    /* 1, 2, 4 and 1 bytes: two of those are there, one more is free than needed less one. */
    EXPECT_STR(fake_answer("Z2,401019,8"), "OK");
    EXPECT_EQ(fake.gdb.watches[1].users, 2);
    EXPECT_STR(fake_answer("Z2,401030,8"), "E.All four debug registers are taken.");
    EXPECT_STR(fake_answer("z2,401019,3"), "OK");
    EXPECT_EQ(fake.gdb.watches[1].users, 1);
    EXPECT_STR(fake_answer("z2,401019,8"), "OK");
    EXPECT_STR(fake_answer("Z2,401001,20"), "E.All four debug registers are taken.");
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(fake.gdb.watches[i].users, 0);
    EXPECT_STR(fake_answer("Z2,401000,20"), "OK");
    EXPECT_STR(fake_answer("Z2,401000,21"), "E.The processor cannot watch that.");
    EXPECT_STR(fake_answer("Z2,401000,0"), "E.The processor cannot watch that.");
}

static void range_steps(void)
{
    fake_start();
    fake.stop_at[0] = 0x401004;
    fake.stop_at[1] = 0x401008;
    fake.stop_at[2] = 0x40100C;
    EXPECT_STR(fake_answer("vCont;r401000,40100c:1"), "T05thread:1;");
    EXPECT_EQ(fake.runs, 3);
    EXPECT(fake.stepped[2]);
    EXPECT_EQ(fake.gdb.registers.core[GDB_RIP], 0x40100C);
    EXPECT_STR(fake_answer("vCont;s:1;c"), "T05thread:1;");
    EXPECT_EQ(fake.runs, 4);
    EXPECT_STR(fake_answer("vCont;s:2;c"), "T05thread:1;");
    EXPECT(!fake.stepped[4]);
    EXPECT_STR(fake_answer("vCont;q"), "E01");
    EXPECT_STR(fake_answer("vCont"), "E01");
    EXPECT_STR(fake_answer("vCont;r401000"), "E01");
    EXPECT_EQ(fake.runs, 5);
}

/* A range that is an endless loop, of steps too short to hear Ctrl-C. */
static void endless_range(void)
{
    static const char step_and_break[] = "$vCont;r401000,402000:1#99\003";
    char text[PACKET_BYTES + 1] = "";
    size_t at = 0;

    fake_start();
    fake.brief = true;
    fake_send(step_and_break, sizeof(step_and_break) - 1);
    fake_decode(&at, text, PACKET_BYTES);
    EXPECT_STR(text, "T02thread:1;");
    EXPECT_EQ(fake.runs, 1);
}

/* After `detach` a byte that looks like Ctrl-C stops nothing. */
static void alone(void)
{
    fake_start();
    fake_send("$D#44\003", 6);
    EXPECT(fake.gdb.ended && fake.gdb.registers.core[GDB_RIP] == fake.stop_at[0]);
}

static void ends(void)
{
    fake_start();
    fake.stops[0] = (struct gdb_stop){GDB_EXITING, 7, 0};
    EXPECT_STR(fake_answer("c"), "W07");
    EXPECT(fake.gdb.ended);
    /* With a recording, which would go with the program, it stops before. */
    fake_start();
    fake.stops[0] = (struct gdb_stop){GDB_EXITING, 7, 0};
    EXPECT_STR(fake_answer("Qbtrace:bts"), "OK");
    EXPECT_STR(fake_answer("c"), "T05thread:1;");
    EXPECT(!fake.gdb.ended);
    EXPECT_STR(fake_answer("c"), "W07");
    EXPECT(fake.gdb.ended);
    fake_start();
    fake.stops[0] = (struct gdb_stop){GDB_SIGNALLED, GDB_SIGSEGV, 0};
    EXPECT_STR(fake_answer("c"), "T0bthread:1;");
    EXPECT_STR(fake_answer("vCont;C0b:1"), "X0b");
    EXPECT(fake.gdb.ended);
    fake_start();
    EXPECT_STR(fake_answer("D"), "OK");
    EXPECT(fake.gdb.ended);
    EXPECT_EQ(fake.runs, 1);
}

static void interrupted(void)
{
    static const char run_and_break[] = "$c#63\003";

    fake_start();
    fake_send(run_and_break, sizeof(run_and_break) - 1);
    {
        char text[PACKET_BYTES + 1] = "";
        size_t at = 0;

        fake_decode(&at, text, PACKET_BYTES);
        EXPECT_STR(text, "T02thread:1;");
    }
    /* The line dropped while the program ran: the next debugger finds it standing. */
    fake_send("$c#63$?#3f", 10);
    EXPECT(strstr(fake.out, "$T02thread:1;#"));
    EXPECT(strchr(fake.out, '$') == strrchr(fake.out, '$'));
}

static void program_output(void)
{
    fake_start();
    gdb_output(&fake.gdb, (const uint8_t *)"no", 2);
    EXPECT_EQ(fake.out_bytes, 0);
    fake.gdb.running = fake.gdb.attached = true;
    gdb_output(&fake.gdb, (const uint8_t *)"hi\n", 3);
    EXPECT(fake.out_bytes == 11 && memcmp(fake.out, "$O68690a#", 9) == 0);
}

static void monitor(void)
{
    fake_start();
    EXPECT_EQ(strncmp(fake_answer("qRcmd,68656c70"), "626c6f636b73746570", 18), 0);
    EXPECT(strlen(fake_answer("qRcmd,6e6f")) > 10);
    EXPECT(strlen(fake_answer("qRcmd,zz")) > 10);
    EXPECT_STR(fake_answer("vMustReplyEmpty"), "");
    EXPECT_STR(fake_answer("Hg1"), "OK");
    EXPECT_STR(fake_answer("Hc-1"), "OK");
    EXPECT_STR(fake_answer("Hg2"), "E01");
    EXPECT_STR(fake_answer("T1"), "OK");
    EXPECT_STR(fake_answer(""), "");
}

int main(void)
{
    RUN(good_packet);
    RUN(bad_checksum);
    RUN(asked_again);
    RUN(cut_and_restarted);
    RUN(too_long);
    RUN(no_acknowledgement);
    RUN(run_lengths);
    RUN(escapes);
    RUN(memory);
    RUN(registers);
    RUN(breakpoints);
    RUN(own_int3);
    RUN(watches);
    RUN(watches_in_pieces);
    RUN(range_steps);
    RUN(endless_range);
    RUN(alone);
    RUN(ends);
    RUN(interrupted);
    RUN(program_output);
    RUN(monitor);
    UNIT_END();
}
