/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the guest's code: the instruction at an address, decoded once while its bytes stay.
 */
#include "hw/model/host/host.h"

static enum fetch decode_at(struct model_cpu *cpu, uint64_t linear, unsigned access,
                            const uint8_t *bytes, size_t room, struct insn *insn)
{
    enum decode_status status = insn_decode(bytes, room, guest_mode(cpu), insn);

    if (status == DECODE_SHORT) {
        uint8_t whole[INSN_MAX_BYTES];

        if (!guest_read(cpu, linear, whole, INSN_MAX_BYTES, access))
            return FETCH_FAULT;
        status = insn_decode(whole, INSN_MAX_BYTES, guest_mode(cpu), insn);
    }
    return status == DECODE_OK ? FETCH_DECODED : FETCH_UNDEFINED;
}

enum fetch insn_fetch(struct model_cpu *cpu, uint64_t linear, struct insn *insn)
{
    unsigned access = ACCESS_FETCH | guest_user_access(cpu);
    uint64_t physical;

    if (!guest_translate(cpu, linear, access, &physical))
        return FETCH_FAULT;
    size_t room = 4096 - (linear & 4095);
    const uint8_t *bytes = guest_physical(cpu, physical);
    if (room < 16)
        return decode_at(cpu, linear, access, bytes, room, insn);
    const loose64 *now = (const loose64 *)bytes;
    struct decoded *known = &cpu->decoded[linear % DECODED_SLOTS];
    if (known->linear == linear && known->bytes[0] == now[0] && known->bytes[1] == now[1] &&
        known->mode == guest_mode(cpu)) {
        *insn = known->insn;
        return FETCH_DECODED;
    }
    if (decode_at(cpu, linear, access, bytes, INSN_MAX_BYTES, insn) != FETCH_DECODED)
        return FETCH_UNDEFINED;
    *known = (struct decoded){.linear = linear,
                              .bytes = {now[0], now[1]},
                              .mode = (uint8_t)guest_mode(cpu),
                              .insn = *insn};
    return FETCH_DECODED;
}
