/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing and reading the lines of the journal. */
#include "harness/suite/journal.h"

#include "harness/check/format.h"
#include "hw/string.h"

#define LINE_BYTES 256

/* FNV-1a, 32 bits: tells option sets apart, and nobody attacks a file on his own stick. */
static uint32_t mix(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return (hash ^ 0xFF) * 16777619u;
}

size_t journal_header(char *to, size_t bytes, const char *version, const char *machine,
                      size_t planned, const struct options *options)
{
    char numbers[120];
    uint32_t hash = mix(2166136261u, options->run);

    hash = mix(hash, options->skip);
    for (unsigned i = 0; i < options->model_words; i++)
        hash = mix(hash, options->model_word[i]);
    fmt(numbers, sizeof(numbers), "%u %u %u %u %lx %u %u %u %lx", (unsigned)options->provider,
        options->cpus, (unsigned)options->soak, (unsigned)options->x2apic, options->seed,
        options->soak_seconds, options->repeat, (unsigned)options->order_given, options->order);
    hash = mix(hash, numbers);
    return fmt(to, bytes,
               "waymark journal format=1 version=%s machine=%s planned=%zu options=%x", version,
               machine, planned, (unsigned)hash);
}

size_t journal_result(char *to, size_t bytes, const char *name, enum verdict verdict,
                      const char *reason)
{
    size_t used = fmt(to, bytes - 1, "%s %s%s%s", verdict_word(verdict), name,
                      *reason ? " " : "", reason);

    for (size_t i = 0; i < used; i++)
        if (to[i] < ' ' || to[i] > '~')
            to[i] = '?';
    to[used++] = '\n';
    return used;
}

/* What follows a word and a blank; NULL when the line does not begin so. */
static char *behind(char *line, const char *word)
{
    size_t length = strlen(word);

    if (strlen(line) <= length || memcmp(line, word, length) != 0 || line[length] != ' ')
        return NULL;
    return line + length + 1;
}

/*
 * Cuts text at the first such character and returns what follows; the end when there is none.
 */
static char *cut(char *text, char at)
{
    char *found = strchr(text, at);

    if (!found)
        return text + strlen(text);
    *found = 0;
    return found + 1;
}

static bool read_line(char *line, struct journal_end *end, const struct journal_reader *reader)
{
    char *rest, *more;

    if (!line[0])
        return true;
    if (behind(line, "run")) {
        end->boots++;
        return true;
    }
    if ((rest = behind(line, "step"))) {
        fmt(end->stuck, sizeof(end->stuck), "%s", rest);
        return true;
    }
    if ((rest = behind(line, "observe"))) {
        more = cut(rest, '=');
        reader->observe(rest, more);
        return true;
    }
    for (unsigned i = VERDICT_PASS; i <= VERDICT_FAIL; i++) {
        if (!(rest = behind(line, verdict_word((enum verdict)i))))
            continue;
        more = cut(rest, ' ');
        reader->result(rest, (enum verdict)i, more);
        end->stuck[0] = 0;
        return true;
    }
    return false;
}

struct journal_end journal_read(const char *text, size_t bytes, const char *header,
                                const struct journal_reader *reader)
{
    struct journal_end end = {0};
    char line[LINE_BYTES];
    size_t at = 0;

    while (at < bytes) {
        size_t length = 0;

        while (at + length < bytes && text[at + length] != '\n')
            length++;
        if (at + length == bytes || length >= sizeof(line))
            break;
        memcpy(line, text + at, length);
        line[length] = 0;
        if (at == 0)
            end.usable = strcmp(line, header) == 0;
        else if (strlen(line) != length || !read_line(line, &end, reader))
            break;
        if (!end.usable)
            break;
        at += length + 1;
    }
    return end;
}
