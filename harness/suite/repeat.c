/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs of one check: which count, and what they say together. */
#include "harness/suite/repeat.h"

/* One run that counts. The count of interrupts is 32 bits wide and may wrap. */
static enum verdict counted(const struct repeat_io *io, struct repeat_account *account)
{
    for (unsigned again = 1;; again++) {
        uint32_t before = 0, after = 0;
        bool counts = io->interrupts(io->context, &before);
        enum verdict verdict = io->run(io->context);

        if (!counts || !io->interrupts(io->context, &after) || after == before)
            return verdict;
        account->interrupts += after - before;
        if (again > REPEAT_SET_ASIDE_MAX) {
            account->disturbed++;
            io->tell(io->context, after - before, verdict, 0);
            return verdict;
        }
        account->set_aside++;
        account->aside[verdict]++;
        io->tell(io->context, after - before, verdict, again);
    }
}

void repeat_run(const struct repeat_io *io, unsigned times, struct repeat_account *account)
{
    for (unsigned i = 0; i < times; i++) {
        enum verdict verdict = counted(io, account);

        account->counts[verdict]++;
        if (account->runs++ == 0 || verdict > account->worst) {
            account->worst = verdict;
            io->keep(io->context);
        }
    }
}

bool repeat_unstable(const struct repeat_account *account)
{
    return account->counts[account->worst] != account->runs;
}
