/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * branch_taken against this processor: all 16 conditions in all 32 states of the flags they
 * depend on, and the LOOP group over counts around its edges.
 */
#include "harness/oracle/decode.h"
#include "harness/tests/fakes/unit.h"

/* CF, PF, ZF, SF, OF */
static const unsigned flag_bits[5] = {0, 2, 6, 7, 11};

#define JCC_TAKEN(name)                                                                        \
    static bool name##_taken(uint64_t rflags)                                                  \
    {                                                                                          \
        uint64_t taken = 1;                                                                    \
                                                                                               \
        __asm__ volatile("sub $128, %%rsp\n\t" /* clear of the red zone */                     \
                         "push %1\n\tpopfq\n\t" #name " 1f\n\tmov $0, %k0\n1:\n\t"             \
                         "lea 128(%%rsp), %%rsp"                                               \
                         : "+r"(taken)                                                         \
                         : "r"(rflags)                                                         \
                         : "cc", "memory");                                                    \
        return taken;                                                                          \
    }
JCC_TAKEN(jo)
JCC_TAKEN(jno)
JCC_TAKEN(jb)
JCC_TAKEN(jae)
JCC_TAKEN(je)
JCC_TAKEN(jne)
JCC_TAKEN(jbe)
JCC_TAKEN(ja)
JCC_TAKEN(js)
JCC_TAKEN(jns)
JCC_TAKEN(jp)
JCC_TAKEN(jnp)
JCC_TAKEN(jl)
JCC_TAKEN(jge)
JCC_TAKEN(jle)
JCC_TAKEN(jg)

/* In the order of the condition codes. */
static bool (*const jcc[16])(uint64_t) = {
    jo_taken, jno_taken, jb_taken, jae_taken, je_taken, jne_taken, jbe_taken, ja_taken,
    js_taken, jns_taken, jp_taken, jnp_taken, jl_taken, jge_taken, jle_taken, jg_taken};

static void conditions(void)
{
    for (unsigned condition = 0; condition < 16; condition++) {
        uint8_t code[2] = {(uint8_t)(0x70 + condition), 0};
        struct decoded d;

        EXPECT(decode(code, 2, &d) && d.condition == condition);
        for (unsigned state = 0; state < 32; state++) {
            uint64_t rflags = 0x202;

            for (unsigned i = 0; i < 5; i++)
                rflags |= (uint64_t)(state >> i & 1) << flag_bits[i];
            EXPECT_EQ(branch_taken(&d, rflags, 0), jcc[condition](rflags));
        }
    }
}

struct counted {
    bool taken;
    uint64_t after;
};

#define LOOP_TAKEN(name, instruction)                                                          \
    static struct counted name##_taken(uint64_t rflags, uint64_t count)                        \
    {                                                                                          \
        uint64_t taken = 1;                                                                    \
                                                                                               \
        __asm__ volatile("sub $128, %%rsp\n\t"                                                 \
                         "push %2\n\tpopfq\n\t" instruction " 1f\n\tmov $0, %k0\n1:\n\t"       \
                         "lea 128(%%rsp), %%rsp"                                               \
                         : "+r"(taken), "+c"(count)                                            \
                         : "r"(rflags)                                                         \
                         : "cc", "memory");                                                    \
        return (struct counted){taken, count};                                                 \
    }
LOOP_TAKEN(loopne, "loopne")
LOOP_TAKEN(loope, "loope")
LOOP_TAKEN(loop64, "loop")
LOOP_TAKEN(jrcxz, "jrcxz")
LOOP_TAKEN(loopne32, "addr32 loopne")
LOOP_TAKEN(loope32, "addr32 loope")
LOOP_TAKEN(loop32, "addr32 loop")
LOOP_TAKEN(jecxz, "jecxz")

static void loops(void)
{
    static struct counted (*const loop[8])(uint64_t, uint64_t) = {
        loopne_taken,   loope_taken,   loop64_taken, jrcxz_taken,
        loopne32_taken, loope32_taken, loop32_taken, jecxz_taken};
    static const uint64_t counts[] = {0,          1,           2,           0x80000000,
                                      0xFFFFFFFF, 0x100000000, 0x100000001, 0x7FFFFFFF00000000,
                                      UINT64_MAX};

    for (unsigned which = 0; which < 8; which++) {
        uint8_t code[3] = {0x67, (uint8_t)(0xE0 + which % 4), 0};
        struct decoded d;

        EXPECT(which < 4 ? decode(code + 1, 2, &d) : decode(code, 3, &d));
        EXPECT_EQ(d.address32, which >= 4);
        for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
            for (uint64_t zero = 0; zero < 2; zero++) {
                uint64_t rflags = 0x202 | zero << 6;
                struct counted real = loop[which](rflags, counts[i]);

                EXPECT_EQ(branch_taken(&d, rflags, real.after), real.taken);
            }
        }
    }
}

static void unconditional(void)
{
    static const uint8_t code[][2] = {{0xEB, 0}, {0xC3}, {0xFF, 0xE0}, {0xCC}};
    struct decoded d;

    for (unsigned i = 0; i < 4; i++)
        EXPECT(decode(code[i], 2, &d) && branch_taken(&d, 0, 0));
}

int main(void)
{
    RUN(conditions);
    RUN(loops);
    RUN(unconditional);
    UNIT_END();
}
