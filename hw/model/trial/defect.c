/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of defects, for listing and for setting by name. */
#include "hw/model/trial/defect.h"

#include "hw/model/model.h"

bool defect_values[DEFECT_COUNT];

static const struct model_defect table[DEFECT_COUNT] = {
#define X(identifier, name, clause, description) {name, clause, description},
    DEFECTS(X) DEFECTS_OUTSIDE(X) DEFECTS_PERFMON(X)
#undef X
};

size_t model_defect_count(void)
{
    return DEFECT_COUNT;
}

const struct model_defect *model_defect(size_t index)
{
    return index < DEFECT_COUNT ? &table[index] : NULL;
}
