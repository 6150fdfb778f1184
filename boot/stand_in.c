/* SPDX-License-Identifier: BSD-2-Clause */
/* The model's switches, as the suite may use them without knowing the model. */
#include "boot/stand_in.h"

#include "hw/model/model.h"

static bool defect(size_t index, struct stand_in_item *item)
{
    const struct model_defect *d = model_defect(index);

    if (d)
        *item = (struct stand_in_item){d->name, d->description, d->clause, NULL};
    return d;
}

static bool policy(size_t index, struct stand_in_item *item)
{
    const struct model_policy *p = model_policy(index);

    if (p)
        *item = (struct stand_in_item){p->name, p->description, p->clause, p->values};
    return p;
}

static bool set(const char *key, const char *value)
{
    return model_set(key, value) == MODEL_OK;
}

const struct stand_in stand_in = {defect, policy, set};
