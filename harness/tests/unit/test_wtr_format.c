/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace format from writer to reader: what was written is read, and any change of a file
 * is noticed, wherever it strikes.
 */
#include "harness/tests/fakes/unit.h"
#include "harness/tests/fakes/wtr_sample.h"
#include "harness/wtr/core/records.h"
#include "harness/wtr/core/trace.h"

#define BRANCHES_MAX 5000

struct seen {
    struct wtr_branch branches[BRANCHES_MAX];
    size_t count, events, gaps, kinds[WTR_KINDS];
    uint64_t next_index;
    bool in_order;
};

static struct seen seen;

static void see_branch(void *context, const struct branch *branch)
{
    (void)context;
    seen.in_order &= branch->index == seen.next_index++;
    if (seen.count < BRANCHES_MAX)
        seen.branches[seen.count] =
            (struct wtr_branch){branch->from, branch->to, branch->flags};
    seen.count++;
}

static void see_event(void *context, const struct event *event)
{
    (void)context;
    seen.events++;
    seen.kinds[event->kind]++;
    seen.gaps += event->kind == WTR_LOST && event->lost.reason == WTR_REASON_DAMAGE;
}

/* Reads a copy; false when it is no trace. Fills seen; *whole tells whether it is complete. */
static bool read_copy(const uint8_t *bytes, size_t size, bool *whole)
{
    static const struct visitor visitor = {.branch = see_branch, .event = see_event};
    struct trace trace;
    uint8_t *copy = malloc(size ? size : 1);

    memcpy(copy, bytes, size);
    seen = (struct seen){.in_order = true};
    *whole = false;
    if (!trace_adopt(&trace, "test", copy, size))
        return false;
    trace_walk(&trace, &visitor, NULL);
    *whole = trace_whole(&trace);
    trace_close(&trace);
    return true;
}

static uint64_t state = 0x9E3779B97F4A7C15;

static uint64_t random_number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    /* Short distances and long ones. */
    return state >> (state >> 58);
}

static void packed_branches_come_back(void)
{
    static uint8_t file[1 << 18];
    static struct wtr_branch written[BRANCHES_MAX];
    size_t used = wtr_put_header(file, sizeof file, 0, "x", "y"), done = 0, taken;
    bool whole;

    for (size_t i = 0; i < BRANCHES_MAX; i++)
        written[i] = (struct wtr_branch){random_number(), random_number(),
                                         i < BRANCHES_MAX / 2 ? 0 : random_number()};
    while (done < BRANCHES_MAX) {
        /* Little room: many records, which must split anywhere. */
        size_t bytes = wtr_pack(file + used, 100 + state % 3000, 3, 9, written + done,
                                BRANCHES_MAX - done, &taken);

        EXPECT(bytes % 8 == 0 && taken > 0);
        used += bytes;
        done += taken;
    }
    EXPECT(read_copy(file, used, &whole));
    EXPECT(!whole);
    EXPECT_EQ(seen.count, BRANCHES_MAX);
    EXPECT(seen.in_order);
    EXPECT(memcmp(seen.branches, written, sizeof written) == 0);
}

static void nothing_is_written_past_the_room(void)
{
    static const struct wtr_branch branches[40] = {{~0ull, 1, ~0ull}, {5, ~0ull >> 1, 1}};
    uint8_t out[800];
    size_t taken, bytes;

    for (size_t room = 0; room < 700; room++) {
        memset(out, 0xA5, sizeof out);
        bytes = wtr_pack(out, room, 0, 1, branches, 40, &taken);
        EXPECT(bytes <= room && (bytes == 0) == (taken == 0));
        EXPECT_EQ(out[room], 0xA5);
        bytes = wtr_put_branches(out, room, 0, 1, branches, 2);
        EXPECT(bytes <= room);
        EXPECT_EQ(out[room], 0xA5);
    }
}

static void sample_is_read_whole(void)
{
    static uint8_t file[1 << 14];
    size_t size = sample_trace(file, sizeof file);
    bool whole;

    ASSERT(read_copy(file, size, &whole));
    EXPECT(whole);
    EXPECT_EQ(seen.count, SAMPLE_BRANCHES);
    for (unsigned kind = WTR_ARRIVES; kind < WTR_END; kind++)
        EXPECT(seen.kinds[kind] > 0);
}

static void every_cut_is_noticed(void)
{
    static uint8_t file[1 << 14];
    size_t size = sample_trace(file, sizeof file), before = 0;
    bool whole;

    for (size_t cut = 0; cut < size; cut++) {
        bool opened = read_copy(file, cut, &whole);

        EXPECT(!whole);
        EXPECT_EQ(opened, cut >= sizeof(struct wtr_file_header));
        EXPECT(!opened || seen.count >= before);
        before = opened ? seen.count : 0;
    }
    EXPECT_EQ(before, SAMPLE_BRANCHES);
}

static void every_changed_bit_is_noticed(void)
{
    static uint8_t file[1 << 14];
    size_t size = sample_trace(file, sizeof file);
    bool whole;

    for (size_t bit = 0; bit < size * 8; bit++) {
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (read_copy(file, size, &whole) && whole)
            printf("bit %zu\n", bit);
        EXPECT(!whole);
        /* One record is gone at most; the ones before and behind it are not. */
        EXPECT(seen.count == 0 || seen.count + 5 >= SAMPLE_BRANCHES);
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void damage_in_the_middle_costs_one_record(void)
{
    static const struct wtr_branch branches[4] = {{1, 2, 0}, {3, 4, 0}, {5, 6, 0}, {7, 8, 0}};
    static uint8_t file[4096];
    struct wtr_end end = {.records = 4, .branches = 4};
    size_t used = wtr_put_header(file, sizeof file, 0, "x", "y"), second = 0, taken;
    bool whole;

    for (size_t i = 0; i < 4; i++) {
        second = i == 1 ? used : second;
        used += wtr_pack(file + used, sizeof file - used, 0, 1, branches + i, 1, &taken);
    }
    used += wtr_put(file + used, sizeof file - used, WTR_END, 0, 0, &end, sizeof end, NULL, 0);
    EXPECT(read_copy(file, used, &whole) && whole);
    memset(file + second, 0xFF, 24);
    EXPECT(read_copy(file, used, &whole) && !whole);
    EXPECT_EQ(seen.count, 3);
    EXPECT_EQ(seen.gaps, 1);
    EXPECT_EQ(seen.branches[1].from, 5);
}

static void unknown_kinds_are_skipped(void)
{
    static uint8_t file[4096];
    struct wtr_end end = {.records = 1, .branches = 0};
    size_t used = wtr_put_header(file, sizeof file, 0, "x", "y");
    bool whole;

    used += wtr_put(file + used, sizeof file - used, (enum wtr_kind)999, 0, 1, "new", 4, "", 0);
    used += wtr_put(file + used, sizeof file - used, WTR_END, 0, 0, &end, sizeof end, NULL, 0);
    EXPECT(read_copy(file, used, &whole) && whole);
    EXPECT_EQ(seen.events, 0);
    end.records = 2;
    used = sizeof(struct wtr_file_header);
    used += wtr_put(file + used, sizeof file - used, WTR_END, 0, 0, &end, sizeof end, NULL, 0);
    EXPECT(read_copy(file, used, &whole) && !whole);
}

static void a_longer_fixed_part_is_read(void)
{
    static uint8_t file[4096];
    struct wtr_end end = {.records = 1};
    struct {
        struct wtr_exit exit;
        uint64_t newer;
    } longer = {.exit = {.code = 3}, .newer = 9};
    size_t used = wtr_put_header(file, sizeof file, 0, "x", "y");
    bool whole;

    used += wtr_put(file + used, sizeof file - used, WTR_EXIT, 0, 1, &longer, sizeof longer,
                    NULL, 0);
    used += wtr_put(file + used, sizeof file - used, WTR_END, 0, 0, &end, sizeof end, NULL, 0);
    EXPECT(read_copy(file, used, &whole) && whole);
    EXPECT_EQ(seen.kinds[WTR_EXIT], 1);
}

int main(void)
{
    complaints_muted = true;
    RUN(packed_branches_come_back);
    RUN(nothing_is_written_past_the_room);
    RUN(sample_is_read_whole);
    RUN(every_cut_is_noticed);
    RUN(every_changed_bit_is_noticed);
    RUN(damage_in_the_middle_costs_one_record);
    RUN(unknown_kinds_are_skipped);
    RUN(a_longer_fixed_part_is_read);
    UNIT_END();
}
