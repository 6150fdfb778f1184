/* SPDX-License-Identifier: BSD-2-Clause */
/* The words for verdicts, which every reader of results relies on. */
#include "harness/check/verdict.h"

const char *verdict_word(enum verdict verdict)
{
    static const char *const words[] = {[VERDICT_NONE] = "none",
                                        [VERDICT_PASS] = "pass",
                                        [VERDICT_SKIP] = "skip",
                                        [VERDICT_ERROR] = "error",
                                        [VERDICT_FAIL] = "fail"};

    return words[verdict];
}
