/* SPDX-License-Identifier: BSD-2-Clause */
/* Repeating a check: system management interrupts set a run aside, at most three times. */
#include "harness/suite/repeat.h"
#include "harness/tests/fakes/unit.h"

static struct {
    const char *verdicts; /* p, s, e, f for each run; the last one goes on */
    const char *smis;     /* interrupts that come into each run, as a digit */
    unsigned runs, kept, told, last_again;
    uint32_t count;
    bool counts;
} fake;

static enum verdict word(char letter)
{
    return letter == 'p'   ? VERDICT_PASS
           : letter == 's' ? VERDICT_SKIP
           : letter == 'e' ? VERDICT_ERROR
                           : VERDICT_FAIL;
}

static char at(const char *text, unsigned index)
{
    return text[index < strlen(text) ? index : strlen(text) - 1];
}

static enum verdict run(void *context)
{
    (void)context;
    fake.count += (uint32_t)(at(fake.smis, fake.runs) - '0');
    return word(at(fake.verdicts, fake.runs++));
}

static void keep(void *context)
{
    (void)context;
    fake.kept = fake.runs;
}

static bool interrupts(void *context, uint32_t *count)
{
    (void)context;
    *count = fake.count;
    return fake.counts;
}

static void tell(void *context, uint32_t came, enum verdict verdict, unsigned again)
{
    (void)context;
    (void)verdict;
    EXPECT(came > 0);
    fake.told++;
    fake.last_again = again;
}

static struct repeat_account with(const char *verdicts, const char *smis, unsigned times)
{
    static const struct repeat_io io = {run, keep, interrupts, tell, NULL};
    struct repeat_account account = {0};

    memset(&fake, 0, sizeof(fake));
    fake.verdicts = verdicts;
    fake.smis = smis;
    fake.counts = true;
    fake.count = UINT32_MAX; /* so that it wraps */
    repeat_run(&io, times, &account);
    return account;
}

static void undisturbed(void)
{
    struct repeat_account a = with("f", "0", 1);

    EXPECT_EQ(fake.runs, 1);
    EXPECT_EQ(a.worst, VERDICT_FAIL);
    EXPECT_EQ(a.set_aside + a.disturbed + a.interrupts, 0);
    EXPECT_EQ(fake.told, 0);
    EXPECT(!repeat_unstable(&a));
}

static void set_aside(void)
{
    struct repeat_account a = with("fp", "20", 1);

    EXPECT_EQ(fake.runs, 2);
    EXPECT_EQ(a.worst, VERDICT_PASS);
    EXPECT_EQ(a.set_aside, 1);
    EXPECT_EQ(a.aside[VERDICT_FAIL], 1);
    EXPECT_EQ(a.interrupts, 2);
    EXPECT_EQ(fake.last_again, 1);
    EXPECT_EQ(fake.kept, 2);
    EXPECT(!repeat_unstable(&a));
}

static void at_most_three_times(void)
{
    struct repeat_account a = with("pppf", "1", 1);

    EXPECT_EQ(fake.runs, 4);
    EXPECT_EQ(a.set_aside, REPEAT_SET_ASIDE_MAX);
    EXPECT_EQ(a.disturbed, 1);
    EXPECT_EQ(a.worst, VERDICT_FAIL);
    EXPECT_EQ(a.runs, 1);
    EXPECT_EQ(fake.told, 4);
    EXPECT_EQ(fake.last_again, 0);
}

static void nobody_counts(void)
{
    static const struct repeat_io io = {run, keep, interrupts, tell, NULL};
    struct repeat_account account = {0};

    memset(&fake, 0, sizeof(fake));
    fake.verdicts = "f";
    fake.smis = "9";
    repeat_run(&io, 1, &account);
    EXPECT_EQ(fake.runs, 1);
    EXPECT_EQ(account.set_aside, 0);
}

static void many_runs(void)
{
    struct repeat_account a = with("ppfep", "0", 5);

    EXPECT_EQ(a.runs, 5);
    EXPECT_EQ(a.worst, VERDICT_FAIL);
    EXPECT_EQ(fake.kept, 3);
    EXPECT_EQ(a.counts[VERDICT_PASS], 3);
    EXPECT(repeat_unstable(&a));
    a = with("p", "0", 7);
    EXPECT_EQ(a.counts[VERDICT_PASS], 7);
    EXPECT(!repeat_unstable(&a));
    /* Each run has its own three repeats. */
    a = with("p", "1110", 2);
    EXPECT_EQ(a.set_aside, 3);
    EXPECT_EQ(a.disturbed, 0);
    a = with("ps", "0", 2);
    EXPECT_EQ(a.worst, VERDICT_SKIP);
    EXPECT(repeat_unstable(&a));
}

int main(void)
{
    RUN(undisturbed);
    RUN(set_aside);
    RUN(at_most_three_times);
    RUN(nobody_counts);
    RUN(many_runs);
    UNIT_END();
}
