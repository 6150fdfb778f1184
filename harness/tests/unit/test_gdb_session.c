/* SPDX-License-Identifier: BSD-2-Clause */
/* What a debugger asks beyond registers and runs: processes, files, calls, threads. */
#include "harness/tests/fakes/unit.h"

#include "harness/tests/fakes/gdb_fake.h"

static void processes(void)
{
    fake_start();
    fake_answer("qSupported:swbreak+;multiprocess+");
    EXPECT_STR(fake_answer("qfThreadInfo"), "mp1.1");
    EXPECT_STR(fake_answer("Hgp1.1"), "OK");
    EXPECT_STR(fake_answer("Hgp0.0"), "OK");
    EXPECT_STR(fake_answer("Hcp1.-1"), "OK");
    EXPECT_STR(fake_answer("Hgp2.1"), "E01");
    EXPECT_STR(fake_answer("Hgp1.2"), "E01");
    EXPECT_STR(fake_answer("qAttached:1"), "1");
    EXPECT_STR(fake_answer("vCont;s:p1.1;c:p1.-1"), "T05thread:p1.1;");
    EXPECT(fake.stepped[0]);
    fake.stops[1] = (struct gdb_stop){GDB_EXITING, 1, 0};
    EXPECT_STR(fake_answer("vCont;c:p1.-1"), "W01;process:1");
}

/* Who is in the extended mode stays, and runs it again. */
static void run_again(void)
{
    fake_start();
    EXPECT_STR(fake_answer("!"), "OK");
    fake.stops[0] = (struct gdb_stop){GDB_EXITING, 3, 0};
    EXPECT_STR(fake_answer("c"), "W03");
    EXPECT(!fake.gdb.ended);
    EXPECT_STR(fake_answer("?"), "W00");
    EXPECT_STR(fake_answer("c"), "E01");
    EXPECT_STR(fake_answer("qfThreadInfo"), "l");
    EXPECT_STR(fake_answer("T1"), "E01");
    EXPECT_STR(fake_answer("vRun;6e6f"),
               "E.There is no other program than the one on the volume.");
    EXPECT_STR(fake_answer("vRun;;6162;63"), "T05thread:1;");
    EXPECT_EQ(fake.word_count, 3);
    EXPECT(memcmp(fake.words, "/bin/prog\0ab\0c", 15) == 0);
    EXPECT_STR(fake_answer("qAttached"), "0");
    EXPECT_STR(fake_answer("vRun;70726f67"), "T05thread:1;");
    EXPECT_EQ(fake.word_count, 1);
    EXPECT_STR(fake_answer("vKill;1"), "OK");
    EXPECT(!fake.gdb.ended);
    EXPECT_STR(fake_answer("qRcmd,65786974"), "7468652073657373696f6e20656e64730a");
    EXPECT(fake.gdb.ended);
    fake_start();
    EXPECT_STR(fake_answer("vKill;1"), "OK");
    EXPECT(fake.gdb.ended);
}

static void system_calls(void)
{
    fake_start();
    EXPECT(!gdb_catches(&fake.gdb, 1));
    EXPECT_STR(fake_answer("QCatchSyscalls:1;1;e7"), "OK");
    EXPECT(gdb_catches(&fake.gdb, 1) && gdb_catches(&fake.gdb, 231));
    EXPECT(!gdb_catches(&fake.gdb, 2));
    fake.stops[0] = (struct gdb_stop){GDB_CALLING, 0, 231};
    fake.stops[1] = (struct gdb_stop){GDB_CALLED, 0, 1};
    EXPECT_STR(fake_answer("c"), "T05syscall_entry:e7;thread:1;");
    EXPECT_STR(fake_answer("p39"), "e700000000000000");
    EXPECT_STR(fake_answer("c"), "T05syscall_return:1;thread:1;");
    EXPECT_STR(fake_answer("QCatchSyscalls:1"), "OK");
    EXPECT(gdb_catches(&fake.gdb, 2));
    EXPECT_STR(fake_answer("QCatchSyscalls:0"), "OK");
    EXPECT(!gdb_catches(&fake.gdb, 1));
    EXPECT_STR(fake_answer("QCatchSyscalls:1;x"), "E01");
    EXPECT_STR(fake_answer("QCatchSyscalls:"), "E01");
}

static void files(void)
{
    fake_start();
    EXPECT_STR(fake_answer("vFile:setfs:0"), "F0");
    EXPECT_STR(fake_answer("vFile:open:2f62696e2f70726f67,0,0"), "F3");
    EXPECT_STR(fake_answer("vFile:open:2f62696e2f70726f67,1,0"), "F-1,0d");
    EXPECT_STR(fake_answer("vFile:open:2f657463,0,0"), "F-1,02");
    EXPECT_STR(fake_answer("vFile:pread:3,10,0"), "F0006;\177ELF}#");
    EXPECT_STR(fake_answer("vFile:pread:3,2,3"), "F0002;F}");
    EXPECT_STR(fake_answer("vFile:pread:3,2,ffffffffffffffff"), "F0000;");
    EXPECT_STR(fake_answer("vFile:pread:7,2,0"), "F-1,09");
    EXPECT_STR(fake_answer("vFile:close:3"), "F0");
    EXPECT_STR(fake_answer("vFile:pwrite:3,0,x"), "F-1,0d");
    /* /proc/1/maps, in parts of any size. */
    EXPECT_STR(fake_answer("vFile:open:2f70726f632f312f6d617073,0,0"), "F4");
    EXPECT_STR(fake_answer("vFile:pread:4,ff,0"),
               "F0062;000000401000-000000402000 r-xp 00000000 00:00 0 \n"
               "000000402000-000000403000 rw-p 00000000 00:00 0 \n");
    EXPECT_STR(fake_answer("vFile:pread:4,6,1b"), "F0006;-xp 00");
    EXPECT_STR(fake_answer("vFile:pread:4,4,2e"), "F0004;0 \n0");
    EXPECT_STR(fake_answer("vFile:pread:4,ff,64"), "F0000;");
    EXPECT_STR(fake_answer("qXfer:exec-file:read:1:0,20"), "l/bin/prog");
}

static void put(size_t at, uint64_t value)
{
    memcpy(fake.memory + at, &value, sizeof(value));
}

/* One word, no environment, two entries. */
static void make_stack(void)
{
    fake_start();
    fake.gdb.start_rsp = FAKE_BASE + 0x100;
    put(0x100, 1);
    put(0x108, FAKE_BASE);
    put(0x120, 3);
    put(0x128, FAKE_BASE + 0x200);
    put(0x130, 5);
    put(0x138, 2);
    memset(fake.memory + 0x140, 0, 16);
}

static void auxiliary_vector(void)
{
    uint64_t value;

    make_stack();
    EXPECT(gdb_auxv_entry(&fake.gdb, 5, &value));
    EXPECT_EQ(value, 2);
    EXPECT(!gdb_auxv_entry(&fake.gdb, 6, &value));
    fake_answer("qXfer:auxv:read::0,8");
    EXPECT_EQ(gdb_auxv(&fake.gdb, 0, &value, 8), 8);
    EXPECT_EQ(value, 3);
    EXPECT_EQ(gdb_auxv(&fake.gdb, 0x28, &value, 100), 8);
    EXPECT_EQ(gdb_auxv(&fake.gdb, 0x30, &value, 8), 0);
    /* A program that has written over it has none. */
    fake.gdb.start_rsp = FAKE_BASE + FAKE_BYTES - 8;
    EXPECT(!gdb_auxv_entry(&fake.gdb, 5, &value));
    EXPECT_STR(fake_answer("qXfer:auxv:read::0,100"), "l");
}

/* The second of two headers is the block's: 0x28 bytes, 0x20 apart. */
static void thread_local(void)
{
    make_stack();
    put(0x238, 7);
    put(0x238 + 40, 0x28);
    put(0x238 + 48, 0x20);
    fake.gdb.registers.fs_base = 0x500000;
    EXPECT_STR(fake_answer("qGetTLSAddr:1,10,0"), "00000000004fffd0");
    put(0x238, 1);
    EXPECT_STR(fake_answer("qGetTLSAddr:1,10,0"), "E.The program has no thread-local storage.");
    EXPECT_STR(fake_answer("qGetTLSAddr:1"), "E01");
}

/* One that does not know swbreak gets no auxiliary vector, and asks otherwise. */
static void foreign_debugger(void)
{
    fake_start();
    EXPECT(strstr(fake_answer("qSupported:swbreak+"), "qXfer:auxv:read+"));
    EXPECT(!strstr(fake_answer("qSupported:xmlRegisters=i386"), "auxv"));
    EXPECT_STR(fake_answer("qProcessInfo"),
               "pid:1;triple:7838365f36342d756e6b6e6f776e2d6c696e75782d676e75;ptrsize:8;"
               "endian:little;");
    EXPECT_STR(fake_answer("qMemoryRegionInfo:402010"),
               "start:0000000000402000;size:0000000000001000;permissions:rw;");
    EXPECT_STR(fake_answer("qMemoryRegionInfo:10"),
               "start:0000000000000010;size:0000000000400ff0;");
    EXPECT_STR(fake_answer("qMemoryRegionInfo:403000"),
               "start:0000000000403000;size:ffffffffffbfcfff;");
}

int main(void)
{
    RUN(processes);
    RUN(run_again);
    RUN(system_calls);
    RUN(files);
    RUN(auxiliary_vector);
    RUN(thread_local);
    RUN(foreign_debugger);
    UNIT_END();
}
