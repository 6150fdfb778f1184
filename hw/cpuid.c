/* SPDX-License-Identifier: BSD-2-Clause */
/* CPUID: leaves and bit positions, and who the processor says it is. */
#include "hw/cpuid.h"

#include "hw/msr.h"
#include "hw/string.h"

enum leaf {
    LEAF_VENDOR = 0x0,
    LEAF_FEATURES = 0x1,
    LEAF_STRUCTURED_FEATURES = 0x7,
    LEAF_PERFMON = 0xA,
    LEAF_HYPERVISOR = 0x40000000,
    LEAF_EXTENDED = 0x80000000,
    LEAF_EXTENDED_FEATURES = 0x80000001,
    LEAF_BRAND_FIRST = 0x80000002,
    LEAF_BRAND_LAST = 0x80000004,
    LEAF_ADDRESS_SIZES = 0x80000008,
};

enum {
    FEATURES_ECX_DTES64 = 2,
    FEATURES_ECX_DS_CPL = 4,
    FEATURES_ECX_PDCM = 15,
    FEATURES_ECX_PCID = 17,
    FEATURES_ECX_X2APIC = 21,
    FEATURES_ECX_HYPERVISOR = 31,
    FEATURES_EDX_DS = 21,
    STRUCTURED_EBX_SMEP = 7,
    STRUCTURED_EBX_RTM = 11,
    STRUCTURED_EBX_SMAP = 20,
    STRUCTURED_ECX_LA57 = 16,
    STRUCTURED_ECX_BUS_LOCK_DETECT = 24,
    EXTENDED_ECX_SVM = 2,
    EXTENDED_EDX_NX = 20,
    EXTENDED_EDX_PAGE_1GIB = 26,
};

struct cpuid_regs cpuid_query(uint32_t leaf, uint32_t subleaf)
{
    struct cpuid_regs r;

    __asm__ volatile("cpuid"
                     : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
                     : "a"(leaf), "c"(subleaf));
    return r;
}

/* A leaf beyond the maximum returns the data of another one: report it as all zero. */
static struct cpuid_regs query(uint32_t leaf)
{
    uint32_t range = leaf & 0xC0000000u;

    if (leaf > cpuid_query(range, 0).eax)
        return (struct cpuid_regs){0, 0, 0, 0};
    return cpuid_query(leaf, 0);
}

static bool bit(uint32_t reg, unsigned position)
{
    return reg >> position & 1;
}

bool cpu_has_ds(void)
{
    return bit(query(LEAF_FEATURES).edx, FEATURES_EDX_DS);
}

bool cpu_has_dtes64(void)
{
    return bit(query(LEAF_FEATURES).ecx, FEATURES_ECX_DTES64);
}

bool cpu_has_ds_cpl(void)
{
    return bit(query(LEAF_FEATURES).ecx, FEATURES_ECX_DS_CPL);
}

bool cpu_has_pdcm(void)
{
    return bit(query(LEAF_FEATURES).ecx, FEATURES_ECX_PDCM);
}

bool cpu_has_x2apic(void)
{
    return bit(query(LEAF_FEATURES).ecx, FEATURES_ECX_X2APIC);
}

bool cpu_has_hypervisor(void)
{
    return bit(query(LEAF_FEATURES).ecx, FEATURES_ECX_HYPERVISOR);
}

bool cpu_has_pcid(void)
{
    return bit(query(LEAF_FEATURES).ecx, FEATURES_ECX_PCID);
}

bool cpu_has_nx(void)
{
    return bit(query(LEAF_EXTENDED_FEATURES).edx, EXTENDED_EDX_NX);
}

bool cpu_has_1gib_pages(void)
{
    return bit(query(LEAF_EXTENDED_FEATURES).edx, EXTENDED_EDX_PAGE_1GIB);
}

/* Extended family and model 0: others of that base family are another vendor's. */
bool cpu_is_netburst(void)
{
    uint32_t signature = query(LEAF_FEATURES).eax;

    return (signature >> 8 & 15) == 15 && (signature >> 16 & 0xFFF) == 0 && cpu_has_ds();
}

bool cpu_has_smep(void)
{
    return bit(query(LEAF_STRUCTURED_FEATURES).ebx, STRUCTURED_EBX_SMEP);
}

bool cpu_has_smap(void)
{
    return bit(query(LEAF_STRUCTURED_FEATURES).ebx, STRUCTURED_EBX_SMAP);
}

bool cpu_has_la57(void)
{
    return bit(query(LEAF_STRUCTURED_FEATURES).ecx, STRUCTURED_ECX_LA57);
}

unsigned cpu_linear_bits(void)
{
    return cpu_has_la57() ? 57 : 48;
}

unsigned cpu_perfmon_version(void)
{
    return query(LEAF_PERFMON).eax & 0xFF;
}

void cpu_perfmon(struct cpu_perfmon *out)
{
    struct cpuid_regs r = query(LEAF_PERFMON);

    *out = (struct cpu_perfmon){.version = r.eax & 0xFF};
    if (!out->version)
        return;
    out->general = r.eax >> 8 & 0xFF;
    out->general_bits = r.eax >> 16 & 0xFF;
    out->event_bits = r.eax >> 24;
    out->events_absent = r.ebx;
    if (out->version < 2)
        return; /* EDX says nothing yet */
    out->fixed = r.edx & 0x1F;
    out->fixed_bits = r.edx >> 5 & 0xFF;
    out->any_thread_deprecated = bit(r.edx, 15);
    out->fixed_present = out->version >= 5 ? r.ecx : 0;
}

unsigned cpu_initial_apic_id(void)
{
    return query(LEAF_FEATURES).ebx >> 24;
}

static void put4(char *to, uint32_t reg)
{
    memcpy(to, &reg, 4);
}

/* CPUID leaf 1 in between makes Intel processors latch the revision into 63:32. */
static uint32_t microcode_revision(const char *vendor)
{
    if (strcmp(vendor, "AuthenticAMD") == 0)
        return (uint32_t)msr_read(MSR_IA32_BIOS_SIGN_ID); /* there: revision in 31:0 */
    if (strcmp(vendor, "GenuineIntel") != 0)
        return 0;
    msr_write(MSR_IA32_BIOS_SIGN_ID, 0);
    cpuid_query(LEAF_FEATURES, 0);
    return (uint32_t)(msr_read(MSR_IA32_BIOS_SIGN_ID) >> 32);
}

static void read_brand(char *brand)
{
    for (uint32_t leaf = LEAF_BRAND_FIRST; leaf <= LEAF_BRAND_LAST; leaf++) {
        struct cpuid_regs r = query(leaf);
        char *to = brand + (leaf - LEAF_BRAND_FIRST) * 16;

        put4(to, r.eax);
        put4(to + 4, r.ebx);
        put4(to + 8, r.ecx);
        put4(to + 12, r.edx);
    }
    while (brand[0] == ' ') /* some processors right-justify it */
        memmove(brand, brand + 1, strlen(brand));
}

/* Extended family counts only with base family 0FH, extended model with 6 and 0FH. */
static void decode_signature(struct cpu_identity *out)
{
    uint32_t s = out->signature;
    unsigned family = s >> 8 & 0xF;

    out->family = family == 0xF ? family + (s >> 20 & 0xFF) : family;
    out->model = s >> 4 & 0xF;
    if (family == 0x6 || family == 0xF)
        out->model |= s >> 12 & 0xF0;
    out->stepping = s & 0xF;
}

bool cpu_has_long_sysenter(void)
{
    struct cpu_identity identity;

    cpu_identify(&identity);
    return strcmp(identity.vendor, "GenuineIntel") == 0;
}

void cpu_identify(struct cpu_identity *out)
{
    struct cpuid_regs r = cpuid_query(LEAF_VENDOR, 0);

    memset(out, 0, sizeof(*out));
    put4(out->vendor, r.ebx);
    put4(out->vendor + 4, r.edx);
    put4(out->vendor + 8, r.ecx);
    out->signature = cpuid_query(LEAF_FEATURES, 0).eax;
    decode_signature(out);
    read_brand(out->brand);
    if (cpu_has_hypervisor()) {
        r = cpuid_query(LEAF_HYPERVISOR, 0);
        put4(out->hypervisor, r.ebx);
        put4(out->hypervisor + 4, r.ecx);
        put4(out->hypervisor + 8, r.edx);
    }
    out->microcode = microcode_revision(out->vendor);
}
