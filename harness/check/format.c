/* SPDX-License-Identifier: BSD-2-Clause */
/* Formatting into a bounded buffer. */
#include "harness/check/format.h"

#include "hw/string.h"

#include <stdbool.h>
#include <stdint.h>

struct sink {
    char *out;
    size_t size, used;
};

struct spec {
    bool left, zero, upper, negative;
    int width, precision, longs; /* longs: -2 hh, -1 h, 0 none, 1 l/z, 2 ll */
};

static void put(struct sink *s, char c)
{
    if (s->used + 1 < s->size)
        s->out[s->used++] = c;
}

static void put_padded(struct sink *s, const struct spec *spec, const char *text, size_t bytes)
{
    size_t sign = spec->negative ? 1 : 0;
    int fill = spec->width - (int)(bytes + sign);

    if (spec->negative && spec->zero)
        put(s, '-');
    for (; fill > 0 && !spec->left; fill--)
        put(s, spec->zero ? '0' : ' ');
    if (spec->negative && !spec->zero)
        put(s, '-');
    for (size_t i = 0; i < bytes; i++)
        put(s, text[i]);
    for (; fill > 0; fill--)
        put(s, ' ');
}

static void put_number(struct sink *s, const struct spec *spec, uint64_t value, unsigned base)
{
    const char *digits = spec->upper ? "0123456789ABCDEF" : "0123456789abcdef";
    char text[24];
    size_t at = sizeof(text);

    do
        text[--at] = digits[value % base];
    while ((value /= base) != 0);
    put_padded(s, spec, text + at, sizeof(text) - at);
}

static const char *parse_spec(const char *f, struct spec *spec, va_list *args)
{
    *spec = (struct spec){.precision = -1};
    for (;; f++) {
        if (*f == '-')
            spec->left = true;
        else if (*f == '0')
            spec->zero = true;
        else
            break;
    }
    for (; *f >= '0' && *f <= '9'; f++)
        spec->width = spec->width * 10 + (*f - '0');
    if (f[0] == '.' && f[1] == '*') {
        spec->precision = va_arg(*args, int);
        f += 2;
    } else if (*f == '.') {
        for (spec->precision = 0, f++; *f >= '0' && *f <= '9'; f++)
            spec->precision = spec->precision * 10 + (*f - '0');
    }
    for (; *f == 'l' || *f == 'z' || *f == 'h'; f++)
        spec->longs += *f == 'h' ? -1 : 1;
    return f;
}

static int64_t signed_argument(const struct spec *spec, va_list *arguments)
{
    return spec->longs > 0 ? va_arg(*arguments, int64_t) : va_arg(*arguments, int);
}

static uint64_t unsigned_argument(const struct spec *spec, va_list *arguments)
{
    return spec->longs > 0 ? va_arg(*arguments, uint64_t) : va_arg(*arguments, unsigned);
}

static void put_conversion(struct sink *s, char conversion, struct spec *spec, va_list *args)
{
    const char *text;
    int64_t number;
    size_t bytes;
    char c;

    switch (conversion) {
    case 'd':
    case 'i':
        number = signed_argument(spec, args);
        spec->negative = number < 0;
        put_number(s, spec, number < 0 ? -(uint64_t)number : (uint64_t)number, 10);
        break;
    case 'u':
        put_number(s, spec, unsigned_argument(spec, args), 10);
        break;
    case 'X':
        spec->upper = true; /* fall through */
    case 'x':
        put_number(s, spec, unsigned_argument(spec, args), 16);
        break;
    case 'p':
        put_number(s, spec, (uintptr_t)va_arg(*args, void *), 16);
        break;
    case 'c':
        c = (char)va_arg(*args, int);
        put_padded(s, spec, &c, 1);
        break;
    case 's':
        text = va_arg(*args, const char *);
        if (!text)
            text = "(null)";
        for (bytes = 0;
             text[bytes] && (spec->precision < 0 || bytes < (size_t)spec->precision);)
            bytes++;
        put_padded(s, spec, text, bytes);
        break;
    default:
        put(s, conversion);
    }
}

size_t vfmt(char *out, size_t size, const char *format, va_list arguments)
{
    struct sink s = {out, size, 0};
    struct spec spec;
    va_list args;

    if (size == 0)
        return 0;
    va_copy(args, arguments);
    for (const char *f = format; *f; f++) {
        if (*f != '%') {
            put(&s, *f);
            continue;
        }
        f = parse_spec(f + 1, &spec, &args);
        if (*f == 0)
            break;
        put_conversion(&s, *f, &spec, &args);
    }
    va_end(args);
    out[s.used] = 0;
    return s.used;
}

size_t fmt(char *out, size_t size, const char *format, ...)
{
    va_list arguments;
    size_t used;

    va_start(arguments, format);
    used = vfmt(out, size, format, arguments);
    va_end(arguments);
    return used;
}
