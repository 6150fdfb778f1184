/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest's memory, through the guest's own page tables.
 *
 * A walk as in SDM Vol. 3, "4-Level Paging and 5-Level Paging", "PAE Paging", "32-Bit Paging"
 * and "Access Rights": the same rights, the same error codes, accessed and dirty bits set on
 * the way. Guest-physical is host-physical: there is no nested paging.
 */
#include "hw/model/processor/cpu.h"

enum {
    ENTRY_PRESENT = 1,
    ENTRY_WRITE = 2,
    ENTRY_USER = 4,
    ENTRY_WRITE_THROUGH = 8,
    ENTRY_CACHE_DISABLE = 0x10,
    ENTRY_ACCESSED = 0x20,
    ENTRY_DIRTY = 0x40,
    ENTRY_LARGE = 0x80
};
#define ENTRY_NX      (1ull << 63)
#define ENTRY_ADDRESS 0x000FFFFFFFFFF000ull
#define PAGE_BYTES    4096ull
/* In a cache key beside enum access: whether EFLAGS.AC lets the supervisor at user pages. */
#define KEY_AC 0x40u

static bool raise_page_fault(struct model_cpu *cpu, uint64_t linear, unsigned access,
                             uint32_t error)
{
    const struct vmcb_save *save = &cpu->vmcb->save;

    if (access & ACCESS_WRITE)
        error |= PF_WRITE;
    if (access & ACCESS_USER)
        error |= PF_USER;
    if (access & ACCESS_FETCH && (save->efer & EFER_NXE || save->cr4 & CR4_SMEP))
        error |= PF_FETCH;
    cpu->fault = (struct fault){.vector = VECTOR_PF, .error = error, .address = linear};
    return false;
}

void *guest_physical(const struct model_cpu *cpu, uint64_t physical)
{
    if (physical >= cpu->top_of_map)
        return cpu->nowhere + (physical & (PAGE_BYTES - 1));
    return (void *)(uintptr_t)(physical + cpu->physical_offset);
}

bool guest_is_ram(const struct model_cpu *cpu, uint64_t physical)
{
    bool legacy_hole = physical >= 0xA0000 && physical < 0x100000;
    bool device_hole = physical >= 0xC0000000u && physical <= 0xFFFFFFFFu;

    return physical < cpu->top_of_ram && !legacy_hole && !device_hole;
}

bool guest_canonical(const struct model_cpu *cpu, uint64_t linear)
{
    unsigned shift = cpu->vmcb->save.cr4 & CR4_LA57 ? 7 : 16;

    return (uint64_t)((int64_t)(linear << shift) >> shift) == linear;
}

void guest_forget_translations(struct model_cpu *cpu)
{
    for (size_t i = 0; i < TRANSLATION_SLOTS; i++)
        cpu->translations[i].key = ~0ull;
}

/* Rights over all levels: the AND of W and U, the OR of NX. */
struct rights {
    bool write, user, no_execute;
};

static bool allowed(const struct model_cpu *cpu, const struct rights *rights, unsigned access)
{
    const struct vmcb_save *save = &cpu->vmcb->save;
    bool by_user = access & ACCESS_USER;

    if (by_user && !rights->user)
        return false;
    if (access & ACCESS_FETCH) {
        if (save->efer & EFER_NXE && rights->no_execute)
            return false;
        return by_user || !(save->cr4 & CR4_SMEP) || !rights->user;
    }
    if (!by_user && rights->user && save->cr4 & CR4_SMAP &&
        (access & ACCESS_IMPLICIT || !(save->rflags & FLAG_AC)))
        return false;
    if (access & ACCESS_WRITE && !rights->write)
        return !by_user && !(save->cr0 & CR0_WP);
    return true;
}

static bool reserved_bits_clear(const struct model_cpu *cpu, uint64_t entry, unsigned level)
{
    uint64_t beyond =
        cpu->physical_bits < 52 ? ENTRY_ADDRESS & ~((1ull << cpu->physical_bits) - 1) : 0;

    if (entry & beyond || (entry & ENTRY_NX && !(cpu->vmcb->save.efer & EFER_NXE)))
        return false;
    return level < 4 || !(entry & ENTRY_LARGE);
}

/* The format of the tables: that of IA-32e mode, PAE, or the one with 32-bit entries. */
struct format {
    unsigned top;         /* level of the table that CR3 names; 1 is the last */
    unsigned entry_bytes; /* 4 or 8 */
    unsigned index_bits;
    bool is_long;
};

static struct format format_in_force(const struct model_cpu *cpu)
{
    const struct vmcb_save *save = &cpu->vmcb->save;

    if (save->efer & EFER_LMA)
        return (struct format){save->cr4 & CR4_LA57 ? 5 : 4, 8, 9, true};
    if (save->cr4 & CR4_PAE)
        return (struct format){3, 8, 9, false};
    return (struct format){2, 4, 10, false};
}

static uint64_t entry_value(const uint8_t *entry, const struct format *format)
{
    return format->entry_bytes == 8 ? *(const loose64 *)entry : *(const loose32 *)entry;
}

static bool is_leaf(const struct model_cpu *cpu, uint64_t entry, unsigned level,
                    const struct format *format)
{
    if (level == 1 || !(entry & ENTRY_LARGE))
        return level == 1;
    if (format->is_long)
        return level <= 3;
    return level == 2 && (format->entry_bytes == 8 || cpu->vmcb->save.cr4 & CR4_PSE);
}

/*
 * entries[level] receives a pointer to the entry used at that level; returns the level of
 * the leaf, or 0 with cpu->fault set.
 */
static unsigned walk(struct model_cpu *cpu, uint64_t linear, unsigned access,
                     const struct format *format, struct rights *rights, uint8_t *entries[6])
{
    uint64_t table = cpu->vmcb->save.cr3 & ENTRY_ADDRESS;

    *rights = (struct rights){true, true, false};
    if (!format->is_long) /* the four entries of PAE need not begin a page */
        table = cpu->vmcb->save.cr3 & (format->top == 3 ? 0xFFFFFFE0u : 0xFFFFF000u);
    for (unsigned level = format->top;; level--) {
        uint64_t slot = linear >> (12 + format->index_bits * (level - 1));

        slot &= (1u << format->index_bits) - 1;
        entries[level] = guest_physical(cpu, table + slot * format->entry_bytes);
        uint64_t entry = entry_value(entries[level], format);
        if (!(entry & ENTRY_PRESENT))
            return raise_page_fault(cpu, linear, access, 0);
        if (!reserved_bits_clear(cpu, entry, level))
            return raise_page_fault(cpu, linear, access, PF_PRESENT | PF_RESERVED);
        table = entry & ENTRY_ADDRESS;
        if (level == 3 && !format->is_long)
            continue; /* no rights there */
        rights->write &= (entry & ENTRY_WRITE) != 0;
        rights->user &= (entry & ENTRY_USER) != 0;
        rights->no_execute |= (entry & ENTRY_NX) != 0;
        if (is_leaf(cpu, entry, level, format))
            return level;
    }
}

static uint64_t walk_page(struct model_cpu *cpu, uint64_t linear, unsigned access)
{
    struct format format = format_in_force(cpu);
    uint8_t *entries[6];
    struct rights rights;
    unsigned leaf = walk(cpu, linear, access, &format, &rights, entries);

    if (leaf == 0)
        return ~0ull;
    if (!allowed(cpu, &rights, access)) {
        raise_page_fault(cpu, linear, access, PF_PRESENT);
        return ~0ull;
    }
    if (!(access & ACCESS_KEEP_AD)) {
        for (unsigned level = format.top; level >= leaf; level--)
            if (level != 3 || format.is_long)
                *entries[level] |= ENTRY_ACCESSED;
        if (access & ACCESS_WRITE)
            *entries[leaf] |= ENTRY_DIRTY;
    }
    uint64_t within = (PAGE_BYTES << (format.index_bits * (leaf - 1))) - 1;
    return (entry_value(entries[leaf], &format) & ENTRY_ADDRESS & ~within) |
           (linear & within & ~(PAGE_BYTES - 1));
}

/* The entry that maps the page, or ~0 with cpu->fault set. */
static uint64_t leaf_entry(struct model_cpu *cpu, uint64_t linear)
{
    struct format format = format_in_force(cpu);
    uint8_t *entries[6];
    struct rights rights;
    unsigned leaf =
        walk(cpu, linear, ACCESS_IMPLICIT | ACCESS_WRITE, &format, &rights, entries);

    return leaf ? entry_value(entries[leaf], &format) : ~0ull;
}

bool guest_page_used(struct model_cpu *cpu, uint64_t linear)
{
    uint64_t used = ENTRY_ACCESSED | ENTRY_DIRTY;

    if (!(cpu->vmcb->save.cr0 & CR0_PG))
        return true;
    uint64_t entry = leaf_entry(cpu, linear);
    return entry != ~0ull && (entry & used) == used;
}

bool guest_page_cached(struct model_cpu *cpu, uint64_t linear)
{
    if (!(cpu->vmcb->save.cr0 & CR0_PG))
        return true;
    uint64_t entry = leaf_entry(cpu, linear);
    return entry == ~0ull || !(entry & (ENTRY_WRITE_THROUGH | ENTRY_CACHE_DISABLE));
}

bool guest_translate(struct model_cpu *cpu, uint64_t linear, unsigned access,
                     uint64_t *physical)
{
    if (!(cpu->vmcb->save.cr0 & CR0_PG)) {
        *physical = linear & 0xFFFFFFFFu;
        return true;
    }
    if (!(cpu->vmcb->save.efer & EFER_LMA))
        linear = (uint32_t)linear;
    if (!guest_canonical(cpu, linear))
        return fault_raise(cpu, access & ACCESS_STACK ? VECTOR_SS : VECTOR_GP, 0);
    uint64_t page = linear & ~(PAGE_BYTES - 1);
    uint64_t key = page | (access & ~(unsigned)ACCESS_STACK);
    if (cpu->vmcb->save.rflags & FLAG_AC)
        key |= KEY_AC;
    struct translation *slot =
        &cpu->translations[((page >> 12) ^ (key & 0x7F)) % TRANSLATION_SLOTS];
    if (slot->key != key) {
        uint64_t found = walk_page(cpu, linear, access);

        if (found == ~0ull)
            return false;
        *slot = (struct translation){.key = key, .physical = found};
    }
    *physical = slot->physical | (linear & (PAGE_BYTES - 1));
    return true;
}

/* Moves bytes one page at a time; both pages are translated before the first byte moves. */
static bool move(struct model_cpu *cpu, uint64_t linear, uint8_t *to, const uint8_t *from,
                 size_t bytes, unsigned access)
{
    uint64_t first, second = 0;
    size_t room = PAGE_BYTES - (linear & (PAGE_BYTES - 1));

    if (!guest_translate(cpu, linear, access, &first))
        return false;
    if (bytes > room && !guest_translate(cpu, linear + room, access, &second))
        return false;
    uint8_t *near = guest_physical(cpu, first);
    if (bytes <= room && bytes % 8 == 0) {
        for (size_t i = 0; i < bytes / 8; i++) {
            if (to)
                ((loose64 *)to)[i] = ((const loose64 *)near)[i];
            else
                ((loose64 *)near)[i] = ((const loose64 *)from)[i];
        }
        return true;
    }
    uint8_t *far = bytes > room ? guest_physical(cpu, second) : near;
    for (size_t i = 0; i < bytes; i++) {
        uint8_t *at = i < room ? near + i : far + (i - room);

        if (to)
            to[i] = *at;
        else
            *at = from[i];
    }
    return true;
}

bool guest_read(struct model_cpu *cpu, uint64_t linear, void *to, size_t bytes, unsigned access)
{
    watch_access(cpu, linear, bytes, access);
    return move(cpu, linear, to, NULL, bytes, access);
}

bool guest_write(struct model_cpu *cpu, uint64_t linear, const void *from, size_t bytes,
                 unsigned access)
{
    watch_access(cpu, linear, bytes, access | ACCESS_WRITE);
    return move(cpu, linear, NULL, from, bytes, access | ACCESS_WRITE);
}
