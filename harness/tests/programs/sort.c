/* SPDX-License-Identifier: BSD-2-Clause */
/* Quicksort with a comparison by pointer; branches that depend on data, memory from brk. */
#include "guest/runtime/runtime.h"

#define COUNT 300

static int rising(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void sort(uint32_t *first, long count, int (*compare)(const void *, const void *))
{
    while (count > 1) {
        uint32_t middle = first[count / 2];
        long low = 0, high = count - 1;

        while (low <= high) {
            while (compare(&first[low], &middle) < 0)
                low++;
            while (compare(&first[high], &middle) > 0)
                high--;
            if (low > high)
                break;
            uint32_t other = first[low];
            first[low++] = first[high];
            first[high--] = other;
        }
        sort(first, high + 1, compare);
        first += low;
        count -= low;
    }
}

int main(void)
{
    uint32_t *numbers = allocate(COUNT * sizeof *numbers), seed = 12345;

    if (!numbers)
        return 1;
    for (unsigned i = 0; i < COUNT; i++) {
        seed = seed * 1103515245 + 12345;
        numbers[i] = seed >> 16 & 0x3FFF;
    }
    sort(numbers, COUNT, rising);
    for (unsigned i = 1; i < COUNT; i++)
        if (numbers[i - 1] > numbers[i])
            return 2;
    print("least ");
    print_number(numbers[0]);
    print(", most ");
    print_number(numbers[COUNT - 1]);
    print("\n");
    return 0;
}
