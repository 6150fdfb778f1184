/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guest/files*.c: an archive made by tar itself, names found and not found, content written
 * over given bytes against a plain array, and every page given back at the end.
 */
#include "guest/errors.h"
#include "guest/files.h"
#include "harness/tests/fakes/unit.h"
#include "hw/paging.h"

#include <unistd.h>

static size_t pages_out; /* not given back */
static size_t pages_left = SIZE_MAX;

void *page_alloc(void)
{
    void *page = pages_left ? aligned_alloc(PAGE_BYTES, PAGE_BYTES) : NULL;

    if (!page)
        return NULL;
    pages_left--;
    pages_out++;
    return memset(page, 0, PAGE_BYTES);
}

void page_free(void *page)
{
    pages_out--;
    free(page);
}

static struct files f;
static uint8_t archive[1 << 16];

/* In the current folder, by the system's tar. */
static size_t make_archive(void)
{
    FILE *made = popen("d=$(mktemp -d) && cd $d && mkdir -p a/b && printf hello > a/b/c && "
                       "printf x > top && tar --format=ustar -cf - top a && rm -r $d",
                       "r");
    size_t count = made ? fread(archive, 1, sizeof archive, made) : 0;

    if (made)
        pclose(made);
    return count;
}

static int find(const char *path)
{
    struct file_node *node;

    return files_find(&f, f.folder, path, &node);
}

static struct file_node *node_of(const char *path)
{
    struct file_node *node;

    return files_find(&f, f.folder, path, &node) ? NULL : node;
}

static void from_tar(void)
{
    size_t count = make_archive();
    char text[16] = "";

    ASSERT(count > 1024 && files_begin(&f));
    ASSERT(!files_unpack(&f, archive, count));
    ASSERT(node_of("/a/b/c"));
    EXPECT_EQ(files_read(node_of("/a/b/c"), 0, text, sizeof text), 5);
    EXPECT_STR(text, "hello");
    EXPECT_EQ(files_read(node_of("top"), 1, text, 5), 0);
    EXPECT_EQ(find("a/./b/../b//c"), 0);
    EXPECT_EQ(find("/../a"), 0);
    EXPECT_EQ(find("a/b/c/"), PROGRAM_ENOTDIR);
    EXPECT_EQ(find("top/x"), PROGRAM_ENOTDIR);
    EXPECT_EQ(find("a/x"), PROGRAM_ENOENT);
    EXPECT_EQ(find(""), PROGRAM_ENOENT);
    files_end(&f);
    EXPECT_EQ(pages_out, 0);
}

/* Cut, or with any byte of a header changed: refused or read, never a byte outside. */
static void spoilt(void)
{
    size_t count = make_archive();
    unsigned refused = 0;

    for (size_t bytes = 0; bytes < 4096; bytes += 100) {
        uint8_t *exact = malloc(bytes + 1);

        memcpy(exact, archive, bytes);
        ASSERT(files_begin(&f));
        files_unpack(&f, exact, bytes);
        files_end(&f);
        free(exact);
    }
    for (size_t at = 0; at < 512; at++) {
        uint8_t byte = archive[at];

        archive[at] ^= 0x11;
        ASSERT(files_begin(&f));
        refused += !!files_unpack(&f, archive, count);
        files_end(&f);
        archive[at] = byte;
    }
    EXPECT(refused > 250);
    EXPECT_EQ(pages_out, 0);
}

static void names(void)
{
    struct file_node *folder, *node, *inner;
    char name[FILES_NAME_BYTES], path[64], longest[400];

    ASSERT(files_begin(&f));
    folder = files_make(&f, f.root, "d", FILE_FOLDER, 0755);
    node = files_make(&f, f.root, "n", FILE_REGULAR, 0644);
    inner = files_make(&f, folder, "i", FILE_REGULAR, 0644);
    EXPECT_EQ(files_path(inner, path, sizeof path), 5);
    EXPECT_STR(path, "/d/i");
    EXPECT_EQ(files_path(inner, path, 4), 0);
    EXPECT_EQ(files_path(f.root, path, 2), 2);
    EXPECT_STR(path, "/");
    EXPECT_EQ(files_split(&f, f.root, "d/new/", &folder, name), 0);
    EXPECT_STR(name, "new");
    EXPECT_EQ(files_split(&f, f.root, "x/new", &folder, name), PROGRAM_ENOENT);
    folder = node_of("d");
    EXPECT_EQ(files_remove(&f, folder), PROGRAM_ENOTEMPTY);
    EXPECT_EQ(files_rename(&f, folder, folder, "self"), PROGRAM_EINVAL);
    EXPECT_EQ(files_rename(&f, node, f.root, "d"), PROGRAM_EISDIR);
    EXPECT_EQ(files_rename(&f, node, folder, "i"), 0);
    EXPECT(node_of("d/i") == node && !node_of("n"));
    EXPECT_EQ(f.count, 3);
    EXPECT(files_next(f.root) == folder && files_next(folder) == node && !files_next(node));
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    EXPECT_EQ(find(longest), PROGRAM_ENAMETOOLONG);
    node->opens = 1;
    EXPECT_EQ(files_remove(&f, node), 0);
    EXPECT_EQ(f.count, 3);
    files_release(&f, node);
    EXPECT_EQ(f.count, 2);
    files_end(&f);
    EXPECT_EQ(pages_out, 0);
}

#define BYTES 40000u

static void content(void)
{
    static uint8_t given[BYTES / 2], want[BYTES], got[BYTES];
    struct file_node *node;
    uint32_t state = 7;
    size_t length = sizeof given;

    ASSERT(files_begin(&f));
    node = files_make(&f, f.root, "n", FILE_REGULAR, 0644);
    for (size_t i = 0; i < sizeof given; i++)
        want[i] = given[i] = (uint8_t)(i * 7);
    node->given = given;
    node->bytes = node->given_bytes = sizeof given;
    for (unsigned round = 0; round < 2000; round++) {
        size_t at, count;

        state = state * 1664525u + 1013904223u;
        at = (state >> 8) % (BYTES - 5000);
        count = (state >> 20) % 5000;
        if (round % 5 == 0) {
            EXPECT_EQ(files_resize(node, at), 0);
            if (at < length)
                memset(want + at, 0, length - at);
            length = at;
        } else {
            memset(got, (int)round, count);
            memcpy(want + at, got, count);
            if (files_write(node, at, got, count) != count)
                break;
            length = count && at + count > length ? at + count : length;
        }
        if (node->bytes != length || files_read(node, 0, got, BYTES) != length ||
            memcmp(got, want, length) != 0)
            break;
        EXPECT(round < 2000);
    }
    EXPECT_EQ(node->bytes, length);
    EXPECT(memcmp(got, want, length) == 0);
    EXPECT_EQ(files_resize(node, FILES_LARGEST + 1), PROGRAM_EFBIG);
    EXPECT_EQ(files_write(node, FILES_LARGEST - 1, "ab", 2), 1);
    files_end(&f);
    EXPECT_EQ(pages_out, 0);
}

/* Whichever allocation fails, something says no and nothing is lost. */
static void no_pages(void)
{
    for (size_t limit = 0; limit < 12; limit++) {
        struct file_node *node = NULL;

        pages_left = limit;
        if (files_begin(&f))
            node = files_make(&f, f.root, "n", FILE_REGULAR, 0644);
        if (node)
            EXPECT(files_write(node, 4000, archive, 30000) <= limit * PAGE_BYTES);
        files_end(&f);
        EXPECT_EQ(pages_out, 0);
    }
    pages_left = SIZE_MAX;
}

int main(void)
{
    RUN(from_tar);
    RUN(spoilt);
    RUN(names);
    RUN(content);
    RUN(no_pages);
    UNIT_END();
}
