/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions of the PEBS half: requests and their refusals, both halves at once, switches. */
#include "harness/tests/fakes/session_fixture.h"

#define PERIOD 5

static struct pmc pmc;
static struct pebs_counter counter;
static struct session_sampling sampling;
static struct pebs_sample samples[SLOTS];
static size_t called, told;

static void take(void *context, session_id id, const struct pebs_sample *sample)
{
    EXPECT(context == &called);
    EXPECT_EQ(sample->eventing_ip % PERIOD, PERIOD - 1);
    EXPECT_EQ(session_release(id, &profiler), DS_EBUSY);
    called++;
}

static void tell(void *context, session_id id)
{
    EXPECT(context == &called);
    EXPECT(id != 0);
    told++;
}

static void start_sampling(void)
{
    start();
    fake.capabilities = 0x23C0;
    fake.global_control = 0xF; /* as after reset */
    pmc_identify(&pmc);
    machine.pmc = &pmc;
    session_init(&machine);
    called = told = 0;
    counter = (struct pebs_counter){1, PMC_INSTRUCTIONS, pebs_reset_value(&pmc, 1, PERIOD)};
    sampling = (struct session_sampling){
        .owner = &profiler,
        .records = SLOTS,
        .threshold = SESSION_NO_THRESHOLD,
        .counters = &counter,
        .counter_count = 1,
        .user = true,
        .notify = tell,
        .context = &called,
    };
}

static session_id ask_for_samples(void)
{
    EXPECT_EQ(session_sample(&sampling, &result), DS_OK);
    EXPECT(result.id != 0);
    return result.id;
}

static void refused(enum ds_error error, const char *why)
{
    size_t used = pool_used(&pool);

    EXPECT_EQ(session_sample(&sampling, &result), error);
    EXPECT_EQ(result.id, 0);
    EXPECT_STR(result.why, why);
    EXPECT_EQ(pool_used(&pool), used);
    EXPECT_EQ(fake.pebs_enable, 0);
}

static void expect_registers_left(void)
{
    expect_nothing_left();
    EXPECT_EQ(fake.pebs_enable | fake.selects[1], 0);
    EXPECT_EQ(fake.global_control, 0xF);
    EXPECT_EQ(fake.sampling_crashes, 0);
}

static void test_one_session(void)
{
    session_id id;
    size_t count;

    start_sampling();
    id = ask_for_samples();
    EXPECT_EQ(fake.pebs_enable, 2);
    fake_retire_some(0, 4 * PERIOD);
    EXPECT(status_of(id).running);
    EXPECT_EQ(status_of(id).half, DS_HALF_PEBS);
    EXPECT_EQ(status_of(id).records, 4);
    EXPECT_EQ(session_samples(id, &profiler, samples, SLOTS, SLOTS, &count), DS_EBUSY);
    EXPECT_EQ(session_suspend(id, &profiler), DS_OK);
    fake_retire_some(0, 4 * PERIOD);
    EXPECT_EQ(session_samples(id, &profiler, samples, 3, SLOTS, &count), DS_EIO);
    EXPECT_EQ(session_samples(id, &profiler, NULL, 3, 3, &count), DS_EFAULT);
    EXPECT_EQ(session_samples(id, &debugger, samples, SLOTS, SLOTS, &count), DS_EPERM);
    EXPECT_EQ(session_samples(id, &profiler, samples, 3, 3, &count), DS_OK);
    EXPECT_EQ(count, 3);
    EXPECT_EQ(samples[2].eventing_ip, 3 * PERIOD - 1);
    EXPECT_EQ(session_reset(id, &profiler), DS_OK);
    EXPECT_EQ(status_of(id).records, 0);
    EXPECT_EQ(session_resume(id, &profiler), DS_OK);
    fake_retire_some(0, PERIOD);
    EXPECT_EQ(status_of(id).records, 1);
    EXPECT_EQ(session_release(id, &profiler), DS_OK);
    expect_registers_left();
}

/* A call for one half on a session of the other one. */
static void test_wrong_half(void)
{
    struct bts_record record;
    session_id branches, id;
    size_t count;

    start_sampling();
    id = ask_for_samples();
    branches = ask();
    EXPECT_EQ(session_get(id, &profiler, 0, &record), DS_EINVAL);
    EXPECT_EQ(session_drain(id, &profiler, &record, 1, 1, &count), DS_EINVAL);
    EXPECT_EQ(session_samples(branches, &debugger, samples, 1, 1, &count), DS_EINVAL);
    EXPECT_EQ(session_set_reset(branches, &debugger, 1, counter.reset, NULL), DS_EINVAL);
    EXPECT_EQ(session_owner_died(&profiler), 0);
    EXPECT(status_of(branches).running);
    EXPECT_EQ(session_owner_died(&debugger), 0);
    expect_registers_left();
}

static void test_refusals_in_order(void)
{
    session_id id;

    start_sampling();
    machine.interrupts = false;
    session_init(&machine);
    sampling.threshold = 3;
    refused(DS_EOPNOTSUPP, "there is no interrupt to be had");
    machine.interrupts = true;
    machine.pmc = NULL;
    session_init(&machine);
    refused(DS_EOPNOTSUPP, "the processor has no PEBS");
    machine.pmc = &pmc;
    session_init(&machine);
    pmc.pebs_format = 5;
    refused(DS_EOPNOTSUPP, "the PEBS record format is not known");
    pmc.pebs_format = 3;
    sampling.records = 0;
    refused(DS_EINVAL, "no buffer given");
    sampling.records = 1;
    refused(DS_EINVAL, "the buffer is smaller than two records");
    sampling.records = SIZE_MAX;
    sampling.threshold = SESSION_NO_THRESHOLD;
    refused(DS_ENOMEM, "the pool or the payer's limit is exhausted");
    sampling.records = SLOTS;
    sampling.threshold = SLOTS;
    refused(DS_EINVAL, "the threshold lies outside the buffer");
    sampling.threshold = 4;
    sampling.user = false;
    refused(DS_EINVAL, "neither user nor kernel: nothing would be stored");
    sampling.user = true;
    counter.reset = 0;
    refused(DS_EINVAL, "the counter reset is 0");
    counter.reset = 1ull << 48;
    refused(DS_EINVAL, "the counter reset is wider than the counter");
    counter.reset = 77;
    refused(DS_EINVAL, "the counter reset is not negative");
    counter.reset = pebs_reset_value(&pmc, 1, PERIOD);
    counter.counter = 4;
    refused(DS_EINVAL, "the processor has no such counter");
    counter.counter = 1;
    fake.pebs_faults = 2;
    refused(DS_EOPNOTSUPP, "the registers could not be written now");
    fake.pebs_faults = 0;
    id = ask_for_samples();
    EXPECT_EQ(session_sample(&sampling, &result), DS_EBUSY);
    EXPECT(result.holder == &profiler);
    EXPECT_EQ(session_release(id, &profiler), DS_OK);
    expect_registers_left();
}

static void test_resets(void)
{
    const char *why = NULL;
    session_id id;

    start_sampling();
    id = ask_for_samples();
    EXPECT_EQ(session_set_reset(id, &debugger, 1, counter.reset, &why), DS_EPERM);
    EXPECT_EQ(session_set_reset(id, &profiler, 2, counter.reset, &why), DS_EINVAL);
    EXPECT_STR(why, "the processor has no such counter");
    EXPECT_EQ(session_set_reset(id, &profiler, 1, 0, &why), DS_EINVAL);
    EXPECT_STR(why, "the counter reset is 0");
    EXPECT_EQ(session_set_reset(id, &profiler, 1, pebs_reset_value(&pmc, 1, 1), &why), DS_OK);
    fake_retire_some(0, PERIOD + 3);
    EXPECT_EQ(status_of(id).records, 4);
    EXPECT_EQ(session_release(id, &profiler), DS_OK);
}

/* Two owners, two halves, one area, one interrupt; either may go first. */
static void test_halves(void)
{
    for (int first = 0; first < 2; first++) {
        session_id branches, id;

        start_sampling();
        sampling.threshold = 4;
        sampling.sampled = take;
        request.threshold = 6;
        id = ask_for_samples();
        branches = ask();
        EXPECT_EQ(fake.ds_area, (uintptr_t)broker_ds_area());
        for (unsigned i = 0; i < 8 * PERIOD; i++)
            fake_retire_some(i, 1);
        EXPECT_EQ(called, 8);
        EXPECT_EQ(status_of(id).overflows, 2);
        fake_branches(0, 6);
        EXPECT(status_of(branches).overflowed);
        EXPECT_EQ(session_release(first ? branches : id, first ? &debugger : &profiler), DS_OK);
        EXPECT(fake.ds_area != 0);
        if (first) {
            fake_retire_some(0, 4 * PERIOD);
            EXPECT_EQ(called, 12);
            EXPECT_EQ(session_release(id, &profiler), DS_OK);
        } else {
            EXPECT_EQ(session_reset(branches, &debugger), DS_OK);
            EXPECT_EQ(session_resume(branches, &debugger), DS_OK);
            fake_branches(0, 6);
            EXPECT_EQ(status_of(branches).overflows, 2);
            EXPECT_EQ(session_release(branches, &debugger), DS_OK);
        }
        expect_registers_left();
    }
}

/* Without a callback: suspended, told once, and all waits for a drain. */
static void test_waits(void)
{
    session_id id;
    size_t count;

    start_sampling();
    sampling.threshold = 4;
    id = ask_for_samples();
    fake_retire_some(0, 20 * PERIOD);
    EXPECT_EQ(told, 1);
    EXPECT(status_of(id).overflowed && !status_of(id).running);
    EXPECT_EQ(status_of(id).records, 4);
    EXPECT_EQ(session_resume(id, &profiler), DS_EBUSY);
    EXPECT_EQ(session_samples(id, &profiler, samples, SLOTS, SLOTS, &count), DS_OK);
    EXPECT_EQ(count, 4);
    EXPECT_EQ(session_resume(id, &profiler), DS_OK);
    fake_retire_some(0, 4 * PERIOD);
    EXPECT_EQ(told, 2);
    EXPECT_EQ(session_release(id, &profiler), DS_OK);
    expect_registers_left();
}

/* A task takes its counter along: what others do, and where it runs, makes no difference. */
static void test_tasks(void)
{
    session_id id;

    start_sampling();
    sampling.task = &task_a;
    id = ask_for_samples();
    EXPECT_EQ(fake.pebs_enable, 0);
    for (unsigned i = 0; i < 4 * PERIOD; i++) {
        fake_go_to(i % 3);
        fake.global_control = 0xF;
        EXPECT_EQ(session_switch(NULL, &task_a), DS_OK);
        EXPECT_EQ(fake.pebs_enable, 2);
        fake_retire_some(i, 1);
        EXPECT_EQ(session_switch(&task_a, &task_b), DS_OK);
        EXPECT_EQ(fake.pebs_enable | fake.selects[1], 0);
        fake_retire_some(0xDEAD0, 7);
        EXPECT_EQ(session_switch(&task_b, NULL), DS_OK);
    }
    EXPECT_EQ(status_of(id).records, 4);
    EXPECT_EQ(session_task_ended(&task_a), 0);
    expect_registers_left();
}

static void test_processor_leaves(void)
{
    session_id id;

    start_sampling();
    id = ask_for_samples();
    fake_retire_some(0, 3 * PERIOD);
    session_processor_leaves();
    EXPECT_EQ(fake.pebs_enable | fake.ds_area, 0);
    EXPECT_EQ(status_of(id).records, 3);
    EXPECT_EQ(session_request(&request, &result), DS_EBUSY);
    EXPECT(result.holder == &profiler);
    fake_go_to(1);
    EXPECT_EQ(session_release(id, &profiler), DS_OK);
    fake_go_to(0);
    expect_registers_left();
}

int main(void)
{
    RUN(test_one_session);
    RUN(test_wrong_half);
    RUN(test_refusals_in_order);
    RUN(test_resets);
    RUN(test_halves);
    RUN(test_waits);
    RUN(test_tasks);
    RUN(test_processor_leaves);
    UNIT_END();
}
