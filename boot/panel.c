/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drawing text. The glyphs are the firmware's own, fetched once and enlarged by whole numbers.
 * Nothing is ever scrolled: on a large screen that would read the whole frame buffer, which is
 * slow on real machines. The body is written around and around, a blank line ahead of the text.
 * Source: UEFI Specification, "Graphics Output Protocol", "EFI_HII_FONT_PROTOCOL".
 */
#include "boot/panel.h"

#include "boot/firmware.h"
#include "boot/memory.h"

#include "harness/check/format.h"
#include "hw/string.h"

#define GLYPH_WIDTH  8
#define GLYPH_HEIGHT 19
#define FIRST_GLYPH  ' '
#define GLYPHS       ('~' - ' ' + 1)
#define LINES_A_STEP 720 /* of the screen, for each step of enlargement */
#define COLUMNS_MAX  200
#define AUTO_HEIGHT  1440
#define MODES_MAX    256u

typedef EFI_GRAPHICS_OUTPUT_BLT_PIXEL pixel;

/* GNU-EFI has no header for fonts. */
#define HII_FONT_GUID                                                                          \
    {                                                                                          \
        0xE9CA4775, 0x8657, 0x47FC,                                                            \
        {                                                                                      \
            0x97, 0xE7, 0x7E, 0xD6, 0x5A, 0x08, 0x43, 0x24                                     \
        }                                                                                      \
    }
struct image_output {
    UINT16 width, height;
    pixel *bitmap;
};
struct hii_font {
    void *string_to_image, *string_id_to_image;
    EFI_STATUS(EFIAPI *get_glyph)
    (struct hii_font *self, CHAR16 character, const void *info, struct image_output **image,
     UINTN *baseline);
};

enum colour { INK, BAD, GOOD, STATUS };
static const struct {
    uint32_t ink, paper; /* 00RRGGBB */
} colours[] = {[INK] = {0xD8D8D8, 0x000000},
               [BAD] = {0xFF8080, 0x000000},
               [GOOD] = {0x80E090, 0x000000},
               [STATUS] = {0xFFFFFF, 0x204080}};

static EFI_GRAPHICS_OUTPUT_PROTOCOL *graphics;
static uint8_t glyphs[GLYPHS][GLYPH_HEIGHT]; /* a bit a pixel, the leftmost one highest */
static uint32_t *row_pixels;
static unsigned scale, columns, rows, at_row;
static struct {
    char group[64], step[64];
    unsigned planned, pass, skip, bad;
} progress;

/* Said early, and still wanted beside the verdict. */
static const char *const kept_words[] = {
    "# cpu=", "# microcode=", "# provider=", "# results: "};
#define KEPT (sizeof(kept_words) / sizeof(kept_words[0]))
static char kept[KEPT][COLUMNS_MAX];

static bool fetch_glyphs(void)
{
    EFI_GUID guid = HII_FONT_GUID;
    struct hii_font *font;

    if (firmware_boot->LocateProtocol(&guid, NULL, (void **)&font) != EFI_SUCCESS)
        return false;
    for (unsigned i = 0; i < GLYPHS; i++) {
        struct image_output *image = NULL;

        if (font->get_glyph(font, (CHAR16)(FIRST_GLYPH + i), NULL, &image, NULL) !=
                EFI_SUCCESS ||
            !image || image->width < GLYPH_WIDTH || image->height < GLYPH_HEIGHT)
            return false;
        for (unsigned y = 0; y < GLYPH_HEIGHT; y++)
            for (unsigned x = 0; x < GLYPH_WIDTH; x++)
                if (image->bitmap[y * image->width + x].Green >= 0x80)
                    glyphs[i][y] |= (uint8_t)(0x80 >> x);
        firmware_boot->FreePool(image->bitmap);
        firmware_boot->FreePool(image);
    }
    /* A font that draws in another colour would leave every glyph empty. */
    return glyphs['#' - FIRST_GLYPH][GLYPH_HEIGHT / 2] != 0;
}

static bool set_mode(unsigned width, unsigned height)
{
    UINTN bytes;
    EFI_GRAPHICS_OUTPUT_MODE_INFORMATION *info;

    for (UINT32 mode = 0; mode < graphics->Mode->MaxMode && mode < MODES_MAX; mode++)
        if (graphics->QueryMode(graphics, mode, &bytes, &info) == EFI_SUCCESS &&
            info->HorizontalResolution == width && info->VerticalResolution == height)
            return graphics->SetMode(graphics, mode) == EFI_SUCCESS;
    return false;
}

static void draw_row(unsigned row, const char *text, size_t bytes, enum colour colour)
{
    unsigned width = graphics->Mode->Info->HorizontalResolution;

    for (unsigned y = 0; y < GLYPH_HEIGHT * scale; y++)
        for (unsigned x = 0; x < width; x++) {
            unsigned column = x / (GLYPH_WIDTH * scale);
            uint8_t bits = 0;

            if (column < bytes && text[column] >= ' ' && text[column] <= '~')
                bits = glyphs[text[column] - FIRST_GLYPH][y / scale];
            row_pixels[y * width + x] = bits & 0x80 >> x / scale % GLYPH_WIDTH
                                            ? colours[colour].ink
                                            : colours[colour].paper;
        }
    graphics->Blt(graphics, (pixel *)row_pixels, EfiBltBufferToVideo, 0, 0, 0,
                  row * GLYPH_HEIGHT * scale, width, GLYPH_HEIGHT * scale, 0);
}

static void clear(void)
{
    pixel black = {0};

    graphics->Blt(graphics, &black, EfiBltVideoFill, 0, 0, 0, 0,
                  graphics->Mode->Info->HorizontalResolution,
                  graphics->Mode->Info->VerticalResolution, 0);
    at_row = 1;
}

static void draw_status(void)
{
    char text[COLUMNS_MAX];

    draw_row(0, text,
             fmt(text, sizeof(text), " waymark  %u of %u  pass %u  not ok %u  skip %u  %s  %s",
                 progress.pass + progress.bad + progress.skip, progress.planned, progress.pass,
                 progress.bad, progress.skip, progress.group, progress.step),
             STATUS);
}

bool panel_open(unsigned width, unsigned height)
{
    EFI_GUID guid = EFI_GRAPHICS_OUTPUT_PROTOCOL_GUID;

    if (firmware_boot->LocateProtocol(&guid, NULL, (void **)&graphics) != EFI_SUCCESS ||
        !graphics->Mode || !graphics->Mode->Info)
        return false;
    if (width == 0 && graphics->Mode->Info->VerticalResolution < AUTO_HEIGHT)
        return false;
    if (!fetch_glyphs() || (width != 0 && !set_mode(width, height)))
        return false;
    width = graphics->Mode->Info->HorizontalResolution;
    height = graphics->Mode->Info->VerticalResolution;
    scale = height / LINES_A_STEP > 0 ? height / LINES_A_STEP : 1;
    columns = width / (GLYPH_WIDTH * scale);
    rows = height / (GLYPH_HEIGHT * scale);
    if (columns > COLUMNS_MAX)
        columns = COLUMNS_MAX;
    row_pixels = memory_pages((size_t)width * GLYPH_HEIGHT * scale * sizeof(*row_pixels), 4096);
    if (!row_pixels || rows < 4)
        return false;
    memset(&progress, 0, sizeof(progress));
    clear();
    draw_status();
    return true;
}

void panel_describe(char *text, size_t bytes)
{
    fmt(text, bytes, "panel %ux%u on %ux%u", columns, rows,
        (unsigned)graphics->Mode->Info->HorizontalResolution,
        (unsigned)graphics->Mode->Info->VerticalResolution);
}

static void body_line(const char *line, size_t bytes, enum colour colour)
{
    do {
        size_t part = bytes < columns ? bytes : columns;

        if (at_row >= rows)
            at_row = 1;
        draw_row(at_row++, line, part, colour);
        line += part;
        bytes -= part;
    } while (bytes > 0);
    draw_row(at_row < rows ? at_row : 1, "", 0, INK);
}

static const char *behind(const char *line, size_t bytes, const char *word)
{
    size_t length = strlen(word);

    return bytes >= length && memcmp(line, word, length) == 0 ? line + length : NULL;
}

static void keep(char *to, const char *from, const char *end)
{
    fmt(to, sizeof(progress.step), "%.*s", (int)(end - from), from);
}

static void end_screen(const char *line, size_t bytes)
{
    /* What follows are the failures once more: they and the verdict share the screen. */
    clear();
    progress.step[0] = progress.group[0] = 0;
    draw_status();
    body_line(line, bytes, progress.bad > 0 ? BAD : GOOD);
    for (unsigned i = 0; i < KEPT; i++)
        if (kept[i][0])
            body_line(kept[i], strlen(kept[i]), INK);
    body_line("", 0, INK);
}

/* Passed checks are counted; everything else is worth a line. */
static void take_line(const char *line, size_t bytes)
{
    const char *rest, *end = line + bytes;

    for (unsigned i = 0; i < KEPT; i++)
        if (behind(line, bytes, kept_words[i]))
            fmt(kept[i], sizeof(kept[i]), "%.*s", (int)bytes, line);
    if ((rest = behind(line, bytes, "# step "))) {
        keep(progress.step, rest, end);
        draw_status();
    } else if ((rest = behind(line, bytes, "# group "))) {
        keep(progress.group, rest, end);
    } else if ((rest = behind(line, bytes, "1.."))) {
        for (progress.planned = 0; rest < end && *rest >= '0' && *rest <= '9'; rest++)
            progress.planned = progress.planned * 10 + (unsigned)(*rest - '0');
        body_line(line, bytes, INK);
    } else if (behind(line, bytes, "ok ")) {
        bool skipped = false;

        for (const char *c = line; c + 7 <= end; c++)
            skipped |= memcmp(c, "# SKIP ", 7) == 0;
        progress.skip += skipped;
        progress.pass += !skipped;
        if (skipped)
            body_line(line, bytes, INK);
    } else if (behind(line, bytes, "not ok ")) {
        progress.bad++;
        body_line(line, bytes, BAD);
    } else if (behind(line, bytes, "# waymark end ")) {
        end_screen(line, bytes);
    } else if (!behind(line, bytes, "# observe ")) {
        body_line(line, bytes, INK);
    }
}

void panel_write(const char *text, size_t bytes)
{
    while (bytes > 0) {
        size_t length = 0;

        while (length < bytes && text[length] != '\n')
            length++;
        take_line(text, length);
        text += length;
        bytes -= length;
        if (bytes > 0) {
            text++;
            bytes--;
        }
    }
}
