/* SPDX-License-Identifier: BSD-2-Clause */
/* The name of what VMRUN refuses: one broken rule at a time in a state that breaks none. */
#include "harness/tests/fakes/unit.h"
#include "hw/model/processor/refusal.h"

#define PHYSICAL_BITS 40

static const struct entry_state good = {.efer = EFER_SVME | EFER_LME | EFER_LMA,
                                        .cr0 = CR0_PE | CR0_PG,
                                        .cr3 = 0x1000,
                                        .cr4 = CR4_PAE,
                                        .dr6 = DR6_FIXED,
                                        .dr7 = DR7_FIXED,
                                        .cs_attributes = SEGMENT_LONG};

static void expect(struct entry_state state, const char *field, uint64_t value)
{
    struct refusal refusal = refusal_find(&state, PHYSICAL_BITS);

    ASSERT(refusal.field);
    EXPECT_STR(refusal.field, field);
    EXPECT_EQ(refusal.value, value);
}

/* The name of the field that has this value in a state that is good but for it. */
#define REFUSED(member, bad, name)                                                             \
    do {                                                                                       \
        struct entry_state state = good;                                                       \
        state.member = (bad);                                                                  \
        expect(state, name, (bad));                                                            \
    } while (0)

static void registers(void)
{
    EXPECT(!refusal_find(&good, PHYSICAL_BITS).field);
    REFUSED(efer, EFER_LME | EFER_LMA, "EFER");
    REFUSED(efer, good.efer | 1ull << 16, "EFER");
    REFUSED(cr0, good.cr0 | CR0_NW, "CR0");
    REFUSED(cr0, good.cr0 | 1ull << 32, "CR0");
    REFUSED(cr3, 1ull << PHYSICAL_BITS, "CR3");
    REFUSED(cr4, good.cr4 | 1ull << 32, "CR4");
    REFUSED(dr6, good.dr6 | 1ull << 32, "DR6");
    REFUSED(dr7, good.dr7 | 1ull << 63, "DR7");
    struct entry_state both = good;
    both.cr0 |= CR0_NW | CR0_CD;
    EXPECT(!refusal_find(&both, PHYSICAL_BITS).field);
}

static void modes(void)
{
    const char *name = "EFER.LME with CR0, CR4.PAE and CS";
    struct entry_state state = good;

    state.cr4 = 0;
    expect(state, name, good.cr0);
    state = good;
    state.cs_attributes = SEGMENT_LONG | SEGMENT_BIG;
    expect(state, name, good.cr0);
    state = good;
    state.cr0 = CR0_PG;
    expect(state, name, CR0_PG);
    state.efer = EFER_SVME;
    EXPECT(!refusal_find(&state, PHYSICAL_BITS).field);
}

static void events(void)
{
    REFUSED(event, EVENT_VALID | EVENT_EXCEPTION | VECTOR_NMI, "EVENTINJ");
    REFUSED(event, EVENT_VALID | EVENT_EXCEPTION | 32, "EVENTINJ");
    REFUSED(event, EVENT_VALID | 1 << 8, "EVENTINJ");
    struct entry_state state = good;
    state.event = EVENT_VALID | EVENT_EXCEPTION | VECTOR_UD;
    EXPECT(!refusal_find(&state, PHYSICAL_BITS).field);
    state.event = EVENT_EXCEPTION | 32;
    EXPECT(!refusal_find(&state, PHYSICAL_BITS).field);
}

int main(void)
{
    RUN(registers);
    RUN(modes);
    RUN(events);
    UNIT_END();
}
