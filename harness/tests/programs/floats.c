/* SPDX-License-Identifier: BSD-2-Clause */
/* SSE and x87 with output between, so that their state must outlive the kernel. */
#include "guest/runtime/runtime.h"

int main(void)
{
    double sum = 0;
    long double product = 1;

    for (unsigned i = 1; i <= 40; i++) {
        sum += 1.0 / (i * (double)i);
        product *= 1.0L + 1.0L / (i * (long double)i);
        if (i % 10 == 0)
            print(".");
    }
    print(" ");
    print_number((uint64_t)(sum * 1e12));
    print(" ");
    print_number((uint64_t)(product * 1e15L));
    print("\n");
    return sum > 1.6 && sum < 1.7 ? 0 : 1;
}
